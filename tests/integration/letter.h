/*
 * A request on its way while the test does something else: sent now, its answer read later.
 */
#ifndef GIRO_TESTS_LETTER_H
#define GIRO_TESTS_LETTER_H

#include "client.h"

typedef struct Letter Letter;

/* Sends a request with a body, on a connection of its own. Ends the test if nobody listens. */
Letter *letter_send(const Client *client, const Request *request);
/* Has its answer come, or its connection ended? */
bool letter_is_answered(const Letter *letter);
/* Waits for the answer, at most timeout_ms after its last byte, and frees the letter. Status 0 if
 * there is none. Accepts NULL, to which there is none. */
void letter_receive(Letter *letter, int timeout_ms, Response *ret_response);

#endif
