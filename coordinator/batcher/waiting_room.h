/*
 * Where transfers wait that met a locked account: per account, and holding nothing.
 *
 * For each such account one statement (wait_for) stands in the queue of its row, so that a hot
 * account is served in turn, also between coordinators; when the row is free, or has stayed locked
 * for lock_timeout, the account's transfers are tried again. They wait without any lock: whoever
 * waited inside a batch would hold that batch's other accounts, and one locked account would stop
 * innocents (tried: 938 transfers on a neighbouring account became 27).
 *
 * At most WAITING_ROOM_ASKING statements per shard wait at a time. Who finds no place in a queue is
 * tried again after WAITING_ROOM_REST_MS: an account that was busy for a moment must not wait for
 * those that stay locked.
 */
#ifndef GIRO_WAITING_ROOM_H
#define GIRO_WAITING_ROOM_H

#include "protocol/batch.h"
#include "shard/call.h"

typedef struct WaitingRoom WaitingRoom;

enum
{
    WAITING_ROOM_ASKING = 4,
    WAITING_ROOM_REST_MS = 50,
};

/* `leave` takes over a transfer that stands in no queue any more. */
WaitingRoom *waiting_room_new(Loop *loop, Caller *caller,
                              void (*leave)(void *context, Transfer *transfer), void *context);
void waiting_room_free(WaitingRoom *room); /* nobody may wait; accepts NULL */
/* For the account that it found busy (debit_is_busy or credit_is_busy). */
void waiting_room_enter(WaitingRoom *room, Transfer *transfer);

#endif
