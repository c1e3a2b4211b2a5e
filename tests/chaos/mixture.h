/*
 * What clients do next: new payments of all modes, alone and in batches; repeats of those that have
 * no final answer yet; twins and repeats of any; looks, cancels; new accounts. Its parts are chosen
 * by chance, and all that is sent and answered is in the history.
 *
 * Thread-safe.
 */
#ifndef GIRO_CHAOS_MIXTURE_H
#define GIRO_CHAOS_MIXTURE_H

#include "errand.h"

typedef struct Mixture Mixture;

Mixture *mixture_new(History *history, Roster *roster, uint64_t seed);
void mixture_free(Mixture *mixture); /* accepts NULL */

/* The next request to this coordinator. */
void mixture_make(Mixture *mixture, int girod, Errand *ret_errand, Request *ret_request);
/* Instead: repeats of these orders, in one batch, whatever is due. */
void mixture_repeat(Mixture *mixture, int girod, const size_t *orders, size_t count,
                    Errand *ret_errand, Request *ret_request);
/* Its answer has come; ends the errand. */
void mixture_take(Mixture *mixture, Errand *errand, const Response *response);

/* How long an order without a final answer waits until it is sent again. */
void mixture_set_retry(Mixture *mixture, int retry_ms);

/* Calls `look` for each order, from the number `first` on, while nobody adds or answers any. */
void mixture_each(Mixture *mixture, size_t first,
                  void (*look)(void *context, size_t number, const Order *order), void *context);
size_t mixture_count(Mixture *mixture); /* of orders */

#endif
