/* See gate.h. */
#include "batcher/gate.h"

#include <stdlib.h>

enum
{
    PLACES = 1 << 16, /* many times the accounts that are worked on at once */
};

typedef struct Place
{
    const Batch *batch; /* NULL: free */
    size_t transfers;   /* of the batch, that name it */
} Place;

struct Gate
{
    Place places[PLACES];
};

Gate *gate_new(void)
{
    return base_calloc(1, sizeof(Gate));
}

void gate_free(Gate *gate)
{
    free(gate);
}

/* FNV-1a. */
static uint32_t place_of(const char *account)
{
    uint32_t hash = 2166136261U;
    for (; *account != '\0'; account++)
        hash = (hash ^ (uint8_t)*account) * 16777619U;
    return (hash ^ hash >> 16) % PLACES;
}

void gate_name_places(Transfer *transfer)
{
    transfer->debit_place = place_of(transfer->request.debit_account);
    transfer->credit_place = place_of(transfer->request.credit_account);
}

static bool is_free_for(const Place *place, const Batch *batch)
{
    return place->batch == NULL || place->batch == batch;
}

bool gate_admits(const Gate *gate, const Transfer *transfer, const Batch *batch)
{
    const BatchKindRow *kind = batch_kind_row(transfer->work);
    if (!kind->locks)
        return true;
    return (!kind->debit || is_free_for(&gate->places[transfer->debit_place], batch)) &&
           (!kind->credit || is_free_for(&gate->places[transfer->credit_place], batch));
}

static void enter(Place *place, const Batch *batch)
{
    ASSERT(is_free_for(place, batch));
    place->batch = batch;
    place->transfers++;
}

void gate_enter(Gate *gate, const Transfer *transfer, const Batch *batch)
{
    const BatchKindRow *kind = batch_kind_row(batch->kind);
    if (kind->locks && kind->debit)
        enter(&gate->places[transfer->debit_place], batch);
    if (kind->locks && kind->credit)
        enter(&gate->places[transfer->credit_place], batch);
}

static void leave(Place *place, const Batch *batch)
{
    ASSERT(place->batch == batch && place->transfers > 0);
    if (--place->transfers == 0)
        place->batch = NULL;
}

void gate_leave(Gate *gate, const Batch *batch)
{
    const BatchKindRow *kind = batch_kind_row(batch->kind);
    for (size_t i = 0; kind->locks && i < batch->count; i++)
    {
        const Transfer *transfer = batch->transfers[i];
        if (kind->debit)
            leave(&gate->places[transfer->debit_place], batch);
        if (kind->credit)
            leave(&gate->places[transfer->credit_place], batch);
    }
}
