/*
 * What an answer of the API says about a transfer: the one place where statuses and documents are
 * turned into verdicts. What the contract has no place for is VERDICT_WRONG.
 */
#ifndef GIRO_CHAOS_ANSWERS_H
#define GIRO_CHAOS_ANSWERS_H

#include "client.h"
#include "history.h"

/* To a request for one transfer: a payment, a look or a cancel. */
Answer answer_of_response(Verb verb, const Response *response);
/* Item `index` of an answer to a batch, which may have been answered as a whole. */
Answer answer_of_item(const Response *response, size_t index);

#endif
