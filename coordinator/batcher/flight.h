/*
 * Transfers in flight and the clients that wait for them.
 *
 * Concurrent twins of a key wait for one transfer and get one answer. A twin with other content (a
 * rival) waits too, with its own copy of what it asked for: only against the record that comes to
 * stand under the key can be said in what it differs.
 */
#ifndef GIRO_FLIGHT_H
#define GIRO_FLIGHT_H

#include "batcher/batcher.h"
#include "protocol/batch.h"

/* Copies the request into one block. The locations are the caller's to fill in. */
Transfer *flight_new(const uint8_t id[16], const TransferRequest *request);
/* Notes that its debit is durable (a saga): the record says pending from now on. created_at_us as
 * its row says. */
void flight_hold(Transfer *transfer, int64_t created_at_us);
/* Notes that it was decided before and that its lost credit is to be done again: the record says
 * posted, whatever comes of that. */
void flight_redo(Transfer *transfer, int64_t decided_at_us);
/* Nobody may wait for it. */
void flight_free(Transfer *transfer);

/* A transfer stands in one queue at most. */
void flight_enqueue(Transfer *transfer, struct TransferList *queue);
void flight_dequeue(Transfer *transfer);

/* Attaches a client: to the transfer itself, or to a rival of it if `request` differs in content.
 */
void flight_attach(Transfer *transfer, const TransferRequest *request, TransferWaiter *waiter);
bool flight_is_awaited(const Transfer *transfer);

/* Tell every client, and forget them. */
void flight_tell_recorded(Transfer *transfer);
void flight_tell_not_accepted(Transfer *transfer, ErrorCode code, const char *detail);
/* Tells those who want to hear as soon as the transfer is accepted. */
void flight_tell_accepted(Transfer *transfer);
/* Tells those whose deadline has passed by now_ms; returns how many. */
size_t flight_tell_late(Transfer *transfer, uint64_t now_ms, const TransferOutcome *outcome);

#endif
