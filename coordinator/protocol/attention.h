/*
 * Why a transfer needs a person, and what that person should do. A reason begins with one of a few
 * words (`leg-lost: …`), which rows at home carry and people may look for; the rest of it says
 * more.
 *
 *   credit-waits     pending for more than a minute
 *   refund-refused   the credit is refused or given up, and the money cannot be paid back now
 *   leg-stuck        decided, and the leg on the other shard is prepared and cannot be finished
 *   leg-lost         decided, and somebody took that leg away: its credit is being done again
 *   credit-refused   the same, and the credit can no longer apply
 */
#ifndef GIRO_ATTENTION_H
#define GIRO_ATTENTION_H

/* For the reason of a row. Never NULL: what begins with no such word gets general advice. */
const char *attention_advice(const char *reason);

#endif
