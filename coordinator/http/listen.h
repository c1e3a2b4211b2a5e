/* A listening TCP socket, non-blocking and close-on-exec. */
#ifndef GIRO_LISTEN_H
#define GIRO_LISTEN_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct ListenAddress
{
    const char *host; /* numeric, IPv4 or IPv6 */
    uint16_t port;    /* 0 picks a free one */
} ListenAddress;

/* Sets *ret_port to the port in use.
 * False with ERROR_CONFIG. The caller owns the descriptor. */
bool listen_open(const ListenAddress *address, int *ret_fd, uint16_t *ret_port,
                 Error *error) ATTR_MUST_USE;

/* Is this a numeric address that only this machine can reach? */
bool listen_is_loopback(const char *host);

#endif
