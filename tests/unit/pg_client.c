/* See pg_client.h. */
#include "pg_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int client_set_up(void **state, const char *dsn)
{
    Client *client = calloc(1, sizeof *client);
    client->loop = loop_new();
    client_connect(client, dsn, DEADLINE_MS);
    if (!client->connected)
        fail_msg("%s", client->text);
    *state = client;
    return 0;
}

int client_tear_down(void **state)
{
    Client *client = *state;
    pg_close(client->pg);
    loop_free(client->loop);
    free(client);
    return 0;
}

void client_connected(void *context, bool connected, const char *text)
{
    Client *client = context;
    assert_false(client->told);
    client->told = true;
    client->connected = connected;
    snprintf(client->text, sizeof client->text, "%s", text != NULL ? text : "");
}

void client_answered(void *context, const PgAnswer *answers, size_t count,
                     PgTransaction transaction)
{
    Client *client = context;
    assert_false(client->in_send);
    assert_false(client->answered);
    client->answered = true;
    client->count = count;
    client->transaction = transaction;
    memcpy(client->answers, answers, count * sizeof *answers);
    if (client->check != NULL)
        client->check(answers[0].rows);
    client->check = NULL;
}

void client_connect(Client *client, const char *dsn, uint64_t deadline_ms)
{
    client->told = false;
    client->pg = pg_connect(client->loop, dsn, deadline_ms, client_connected, client);
    assert_false(client->told);
    assert_true(loop_run_until(client->loop, &client->told, 2 * DEADLINE_MS));
}

void client_send(Client *client, uint64_t deadline_ms)
{
    client->answered = false;
    client->in_send = true;
    pg_group_send(client->pg, deadline_ms, client_answered, client);
    client->in_send = false;
    assert_true(loop_run_until(client->loop, &client->answered, 2 * DEADLINE_MS));
}

void client_run(Client *client, const char *sql)
{
    pg_group_begin(client->pg);
    pg_group_sql(client->pg, sql, NULL);
    client_send(client, DEADLINE_MS);
}

void assert_kinds(const Client *client, const char *kinds)
{
    static const char letters[] = {
        [PG_DONE] = 'd', [PG_ERROR] = 'e', [PG_SKIPPED] = 's', [PG_LOST] = 'l'};
    char actual[PG_GROUP_MAX + 1] = "";
    for (size_t i = 0; i < client->count; i++)
        actual[i] = letters[client->answers[i].kind];
    assert_string_equal(actual, kinds);
}

void client_reconnect(Client *client, const char *dsn, uint64_t deadline_ms)
{
    pg_close(client->pg);
    client_connect(client, dsn, deadline_ms);
}

int hanging_listener(int *ret_port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}
