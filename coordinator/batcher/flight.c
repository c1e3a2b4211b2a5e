/* See flight.h. */
#include "batcher/flight.h"

#include "batcher/gate.h"

#include <stdlib.h>
#include <string.h>

static size_t text_size(const char *text)
{
    return text != NULL ? strlen(text) + 1 : 0;
}

static const char *copy_text(char **at, const char *text)
{
    size_t size = text_size(text);
    if (size == 0)
        return NULL;
    char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

Transfer *flight_new(const uint8_t id[16], const TransferRequest *request)
{
    size_t bytes = text_size(request->debit_account) + text_size(request->credit_account) +
                   text_size(request->currency) + text_size(request->idempotency_key) +
                   text_size(request->reference) + text_size(request->metadata);
    Transfer *transfer = base_malloc(sizeof *transfer + bytes);
    char *at = (char *)(transfer + 1);
    *transfer = (Transfer){.bytes = bytes};
    memcpy(transfer->id, id, sizeof transfer->id);
    transfer->request = (TransferRequest){
        .debit_account = copy_text(&at, request->debit_account),
        .credit_account = copy_text(&at, request->credit_account),
        .amount = request->amount,
        .currency = copy_text(&at, request->currency),
        .idempotency_key = copy_text(&at, request->idempotency_key),
        .reference = copy_text(&at, request->reference),
        .metadata = copy_text(&at, request->metadata),
        .mode = request->mode,
        .deadline_ms = request->deadline_ms,
    };
    gate_name_places(transfer);
    TAILQ_INIT(&transfer->waiters);
    TAILQ_INIT(&transfer->rivals);
    return transfer;
}

void flight_hold(Transfer *transfer, int64_t created_at_us)
{
    transfer->held = true;
    transfer_record_start(&transfer->record, transfer->id, &transfer->request);
    transfer->record.mode = MODE_SAGA;
    transfer->record.created_at_us = created_at_us;
}

void flight_redo(Transfer *transfer, int64_t decided_at_us)
{
    transfer->redo = true;
    transfer->replayed = true;
    transfer->record.state = TRANSFER_POSTED;
    transfer->record.mode = MODE_2PC;
    transfer->record.decided_at_us = decided_at_us;
}

void flight_free(Transfer *transfer)
{
    Transfer *rival;
    ASSERT(TAILQ_EMPTY(&transfer->waiters));
    while ((rival = TAILQ_FIRST(&transfer->rivals)) != NULL)
    {
        TAILQ_REMOVE(&transfer->rivals, rival, link);
        flight_free(rival);
    }
    free(transfer->found);
    free(transfer);
}

void flight_enqueue(Transfer *transfer, struct TransferList *queue)
{
    ASSERT(transfer->queue == NULL);
    TAILQ_INSERT_TAIL(queue, transfer, link);
    transfer->queue = queue;
}

void flight_dequeue(Transfer *transfer)
{
    ASSERT(transfer->queue != NULL);
    TAILQ_REMOVE(transfer->queue, transfer, link);
    transfer->queue = NULL;
}

/* What a record of this request would say of the fields that identify it. */
static TransferRecord expected_record(const TransferRequest *request)
{
    return (TransferRecord){
        .credit_account = request->credit_account,
        .amount = request->amount,
        .currency = request->currency,
        .reference = request->reference,
    };
}

static Transfer *add_rival(Transfer *transfer, const TransferRequest *request)
{
    Transfer *rival = flight_new(transfer->id, request);
    TAILQ_INSERT_TAIL(&transfer->rivals, rival, link);
    return rival;
}

void flight_attach(Transfer *transfer, const TransferRequest *request, TransferWaiter *waiter)
{
    TransferRecord expected = expected_record(&transfer->request);
    Transfer *joined =
        transfer_differences(request, &expected) == 0 ? transfer : add_rival(transfer, request);
    TAILQ_INSERT_TAIL(&joined->waiters, waiter, link);
}

bool flight_is_awaited(const Transfer *transfer)
{
    const Transfer *rival;
    if (!TAILQ_EMPTY(&transfer->waiters))
        return true;
    TAILQ_FOREACH (rival, &transfer->rivals, link)
    {
        if (!TAILQ_EMPTY(&rival->waiters))
            return true;
    }
    return false;
}

static void tell_all(Transfer *transfer, const TransferOutcome *outcome)
{
    TransferWaiter *waiter;
    while ((waiter = TAILQ_FIRST(&transfer->waiters)) != NULL)
    {
        TAILQ_REMOVE(&transfer->waiters, waiter, link);
        waiter->told(waiter, outcome);
    }
}

/* One who asked for `asked` is told of the record: as its own, or as somebody else's under the same
 * key. */
static void tell_of_record(Transfer *asked, const TransferRecord *record, bool replayed)
{
    unsigned differing = transfer_differences(&asked->request, record);
    TransferOutcome outcome = {
        .kind = differing == 0 ? OUTCOME_RECORDED : OUTCOME_KEY_REUSED,
        .replayed = replayed,
        .record = record,
        .differing = differing,
        .detail = "",
    };
    memcpy(outcome.id, record->id, sizeof outcome.id);
    tell_all(asked, &outcome);
}

void flight_tell_recorded(Transfer *transfer)
{
    Transfer *rival;
    tell_of_record(transfer, &transfer->record, transfer->replayed);
    TAILQ_FOREACH (rival, &transfer->rivals, link)
    {
        tell_of_record(rival, &transfer->record, true);
    }
}

void flight_tell_not_accepted(Transfer *transfer, ErrorCode code, const char *detail)
{
    Transfer *rival;
    TransferOutcome outcome = {.kind = OUTCOME_NOT_ACCEPTED, .code = code, .detail = detail};
    memcpy(outcome.id, transfer->id, sizeof outcome.id);
    tell_all(transfer, &outcome);
    TAILQ_FOREACH (rival, &transfer->rivals, link)
    {
        tell_all(rival, &outcome);
    }
}

/* A waiter's turn has come when `due` says so. */
typedef bool (*IsDue)(const TransferWaiter *waiter, uint64_t now_ms);

static bool is_late(const TransferWaiter *waiter, uint64_t now_ms)
{
    return waiter->deadline_at_ms <= now_ms;
}

static bool is_content_with_acceptance(const TransferWaiter *waiter, uint64_t now_ms)
{
    (void)now_ms;
    return waiter->respond_async;
}

static size_t tell_due(Transfer *transfer, IsDue due, uint64_t now_ms,
                       const TransferOutcome *outcome)
{
    TransferWaiter *waiter = TAILQ_FIRST(&transfer->waiters);
    size_t told = 0;
    while (waiter != NULL)
    {
        TransferWaiter *next = TAILQ_NEXT(waiter, link);
        if (due(waiter, now_ms))
        {
            TAILQ_REMOVE(&transfer->waiters, waiter, link);
            waiter->told(waiter, outcome);
            told++;
        }
        waiter = next;
    }
    return told;
}

void flight_tell_accepted(Transfer *transfer)
{
    TransferOutcome outcome = {.kind = OUTCOME_RECORDED, .record = &transfer->record, .detail = ""};
    memcpy(outcome.id, transfer->id, sizeof outcome.id);
    (void)tell_due(transfer, is_content_with_acceptance, 0, &outcome);
}

size_t flight_tell_late(Transfer *transfer, uint64_t now_ms, const TransferOutcome *outcome)
{
    Transfer *rival;
    size_t told = tell_due(transfer, is_late, now_ms, outcome);
    TAILQ_FOREACH (rival, &transfer->rivals, link)
    {
        told += tell_due(rival, is_late, now_ms, outcome);
    }
    return told;
}
