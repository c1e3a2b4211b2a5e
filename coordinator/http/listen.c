/* See listen.h. */
#include "http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum
{
    BACKLOG = 1024,
};

typedef union SocketAddress
{
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} SocketAddress;

/* The length of the address, 0 if the host is not numeric. */
static socklen_t read_address(const ListenAddress *address, SocketAddress *ret_socket)
{
    memset(ret_socket, 0, sizeof *ret_socket);
    if (inet_pton(AF_INET, address->host, &ret_socket->v4.sin_addr) == 1)
    {
        ret_socket->v4.sin_family = AF_INET;
        ret_socket->v4.sin_port = htons(address->port);
        return sizeof ret_socket->v4;
    }
    if (inet_pton(AF_INET6, address->host, &ret_socket->v6.sin6_addr) == 1)
    {
        ret_socket->v6.sin6_family = AF_INET6;
        ret_socket->v6.sin6_port = htons(address->port);
        return sizeof ret_socket->v6;
    }
    return 0;
}

static bool bind_and_listen(int fd, const SocketAddress *address, socklen_t length)
{
    int on = 1;
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
           bind(fd, &address->any, length) == 0 && listen(fd, BACKLOG) == 0;
}

bool listen_open(const ListenAddress *address, int *ret_fd, uint16_t *ret_port, Error *error)
{
    SocketAddress bound;
    socklen_t length = read_address(address, &bound);
    if (length == 0)
        return error_set(error, ERROR_CONFIG, "not a numeric address: %s", address->host);
    int fd = socket(bound.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(error, ERROR_CONFIG, "no socket: %s", strerror(errno));
    if (!bind_and_listen(fd, &bound, length) || getsockname(fd, &bound.any, &length) != 0)
    {
        error_set(error, ERROR_CONFIG, "cannot listen on %s port %u: %s", address->host,
                  address->port, strerror(errno));
        close(fd);
        return false;
    }
    *ret_fd = fd;
    *ret_port = ntohs(bound.any.sa_family == AF_INET ? bound.v4.sin_port : bound.v6.sin6_port);
    return true;
}

bool listen_is_loopback(const char *host)
{
    SocketAddress address;
    if (read_address(&(ListenAddress){host, 0}, &address) == 0)
        return false;
    if (address.any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&address.v6.sin6_addr);
    return ntohl(address.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}
