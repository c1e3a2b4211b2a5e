/*
 * Accounts: `account create|get|list|entries` and, for operators, `freeze|unfreeze|close|floor`.
 */
#include "change.h"
#include "commands.h"
#include "list.h"
#include "order.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    BODY_BYTES_MAX = 1024 * 1024,
    TITLE_MAX = 256,
};

static const Column account_rows[] = {
    {"ID", "id", COLUMN_TEXT},
    {"BALANCE", "balance", COLUMN_NUMBER},
    {"", "currency", COLUMN_TEXT},
    {"IN TRANSIT", "in_transit", COLUMN_NUMBER},
    {"FLOOR", "floor", COLUMN_NUMBER},
    {"STATUS", "status", COLUMN_STATE},
    {"SHARD", "route.shard", COLUMN_TEXT},
    {"CREATED", "created_at", COLUMN_TIME},
    {"", "version", COLUMN_WIDE},
    {"", "route.keyspace", COLUMN_WIDE},
    {"", "route.partition", COLUMN_WIDE},
};
static const Columns account_columns = {account_rows, ARRAY_LENGTH(account_rows)};

static const Column entry_rows[] = {
    {"SEQ", "seq", COLUMN_NUMBER},
    {"AT", "at", COLUMN_TIME},
    {"AMOUNT", "amount", COLUMN_NUMBER},
    {"BALANCE", "balance", COLUMN_NUMBER},
    {"COUNTERPARTY", "counterparty", COLUMN_TEXT},
    {"TRANSFER", "transfer_id", COLUMN_TEXT},
    {"REFERENCE", "reference", COLUMN_LONG},
};
static const Columns entry_columns = {entry_rows, ARRAY_LENGTH(entry_rows)};

/* ---- creating and looking ------------------------------------------------------------------- */

static char *make_body(const Context *context)
{
    const char *floor = context_value(context, OPTION_FLOOR);
    JsonWriter *writer = json_writer_new(BODY_BYTES_MAX);
    json_begin_object(writer, NULL);
    json_put_string(writer, "id", context_operand(context, 0));
    json_put_string(writer, "currency", context_operand(context, 1));
    bool good =
        (floor == NULL || order_put_floor(floor, writer)) && order_put_metadata(context, writer);
    json_end_object(writer);
    char *body = json_writer_take(writer, NULL);
    if (good)
        return body;
    free(body);
    return NULL;
}

ExitCode run_account_create(Context *context)
{
    char *body = make_body(context);
    Answer answer;
    if (body == NULL)
        return EXIT_CODE_USAGE;
    ServiceRequest request = {
        .method = "POST", .path = "/v1/accounts", .body = body, .timeout_ms = context->timeout_ms};
    service_call(context->service, &request, &answer);
    ExitCode code = answer_report(&answer);
    if (code == EXIT_CODE_DONE)
    {
        if (answer.status == 200)
            say("it was there already");
        output_record(context->output, answer.document);
    }
    else if (answer.in_doubt)
        say("repeat it: that is always safe");
    answer_done(&answer);
    free(body);
    return code;
}

ExitCode run_account_get(Context *context)
{
    Address address;
    context_path(&address, "/v1/accounts", context_operand(context, 0), "");
    return context_show(context, address.text);
}

ExitCode run_account_list(Context *context)
{
    List list = {.path = "/v1/accounts",
                 .parameters = {{"prefix", context_value(context, OPTION_PREFIX)}}};
    return list_show(context, &list, &account_columns);
}

ExitCode run_account_entries(Context *context)
{
    Address address;
    context_path(&address, "/v1/accounts", context_operand(context, 0), "/entries");
    List list = {.path = address.text};
    return list_show(context, &list, &entry_columns);
}

/* ---- changing ------------------------------------------------------------------------------- */

typedef struct AccountChange
{
    const char *verb;
    const char *effect;
    void (*put)(const Context *context, JsonWriter *body);
} AccountChange;

static ExitCode change_account(const Context *context, const AccountChange *wanted)
{
    char title[TITLE_MAX];
    Address address;
    context_path(&address, "/v1/accounts", context_operand(context, 0), "");
    snprintf(title, sizeof title, "%s account %s", wanted->verb, context_operand(context, 0));
    const Change change = {
        .title = title,
        .effect = wanted->effect,
        .look_path = address.text,
        .method = "PATCH",
        .path = address.text,
        .put = wanted->put,
        .shown = {"balance", "currency", "in_transit", "floor", "status", "route.shard"},
    };
    return change_run(context, &change, NULL);
}

static void put_frozen(const Context *context, JsonWriter *body)
{
    (void)context;
    json_put_string(body, "status", "frozen");
}

static void put_open(const Context *context, JsonWriter *body)
{
    (void)context;
    json_put_string(body, "status", "open");
}

static void put_closed(const Context *context, JsonWriter *body)
{
    (void)context;
    json_put_string(body, "status", "closed");
}

static void put_floor(const Context *context, JsonWriter *body)
{
    bool good = order_put_floor(context_operand(context, 1), body);
    ASSERT(good);
}

ExitCode run_account_freeze(Context *context)
{
    return change_account(context,
                          &(AccountChange){"freeze",
                                           "it pays nothing until it is unfrozen; credits and "
                                           "refunds still arrive",
                                           put_frozen});
}

ExitCode run_account_unfreeze(Context *context)
{
    return change_account(context, &(AccountChange){"unfreeze", "it may pay again", put_open});
}

ExitCode run_account_close(Context *context)
{
    return change_account(context,
                          &(AccountChange){"close",
                                           "it neither pays nor takes any more, for ever; refused "
                                           "unless its balance is 0 and nothing is in transit",
                                           put_closed});
}

static bool floor_is_sane(const char *text)
{
    JsonWriter *writer = json_writer_new(64);
    json_begin_object(writer, NULL);
    bool sane = order_put_floor(text, writer);
    json_end_object(writer);
    json_writer_free(writer);
    return sane;
}

ExitCode run_account_floor(Context *context)
{
    const char *floor = context_operand(context, 1);
    char effect[TITLE_MAX];
    if (!floor_is_sane(floor))
        return EXIT_CODE_USAGE;
    snprintf(effect, sizeof effect, "its balance may fall to %.40s and no lower", floor);
    if (strcmp(floor, "none") == 0)
        snprintf(effect, sizeof effect, "its balance may fall without limit: money can be made");
    return change_account(context, &(AccountChange){"change the floor of", effect, put_floor});
}
