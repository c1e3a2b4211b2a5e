/*
 * `transfer create`. The idempotency key is made, unless one is given, and told before anything is
 * sent: whatever happens then, to the network, the server or this process, the order can be
 * repeated under it, and happens once. Until the deadline giroctl repeats it itself.
 */
#include "commands.h"
#include "context.h"
#include "field.h"
#include "order.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

enum
{
    BODY_BYTES_MAX = 1024 * 1024,
    TIMEOUT_MS = 60000,
};

/* "giroctl-" and 128 random bits. */
typedef char MadeKey[sizeof "giroctl-" + 32];

static void make_key(MadeKey ret_key)
{
    unsigned char bytes[16];
    ASSERT(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
    int length = snprintf(ret_key, sizeof(MadeKey), "giroctl-");
    for (size_t i = 0; i < sizeof bytes; i++)
        length += snprintf(ret_key + length, sizeof(MadeKey) - (size_t)length, "%02x", bytes[i]);
}

static bool put_amount(const Context *context, JsonWriter *writer)
{
    int64_t amount;
    if (!arguments_integer(context_operand(context, 2), &amount))
    {
        say("an amount is a whole number of the smallest unit, not \"%.40s\"",
            context_operand(context, 2));
        return false;
    }
    json_put_integer(writer, "amount", amount);
    return true;
}

static bool put_deadline(const Context *context, JsonWriter *writer)
{
    const char *text = context_value(context, OPTION_DEADLINE);
    int64_t deadline_ms;
    if (text == NULL)
        return true;
    if (!arguments_duration(text, &deadline_ms))
    {
        say("--deadline takes a time like 30s, 5m or 2h, not \"%.40s\"", text);
        return false;
    }
    json_put_integer(writer, "deadline_ms", deadline_ms);
    return true;
}

static void put_if_given(const Context *context, JsonWriter *writer, OptionId option)
{
    if (context_has(context, option))
        json_put_string(writer, option_row(option)->name, context_value(context, option));
}

static char *make_body(const Context *context)
{
    JsonWriter *writer = json_writer_new(BODY_BYTES_MAX);
    json_begin_object(writer, NULL);
    json_put_string(writer, "debit_account", context_operand(context, 0));
    json_put_string(writer, "credit_account", context_operand(context, 1));
    json_put_string(writer, "currency", context_operand(context, 3));
    put_if_given(context, writer, OPTION_MODE);
    put_if_given(context, writer, OPTION_REFERENCE);
    bool good = put_amount(context, writer) && put_deadline(context, writer) &&
                order_put_metadata(context, writer);
    json_end_object(writer);
    char *body = json_writer_take(writer, NULL);
    if (good)
        return body;
    free(body);
    return NULL;
}

static void tell_result(const Context *context, const Answer *answer, const char *key)
{
    if (answer->in_doubt || answer->interrupted)
        say("repeat it with --key %s: that is always safe, and tells what became of it", key);
    if (!answer_is_good(answer))
        return;
    if (answer->replayed)
        say("there was a transfer under this key; this is it");
    output_record(context->output, answer->document);
    if (field_is(answer->document, "state", "pending"))
        say("accepted, not final yet; to follow it: giroctl transfer watch %s",
            field_string(answer->document, "id"));
}

ExitCode run_transfer_create(Context *context)
{
    const char *key = context_value(context, OPTION_KEY);
    MadeKey made;
    char prefer[ORDER_PREFER_MAX];
    char *body = make_body(context);
    if (body == NULL || !order_prefer(context, prefer))
    {
        free(body);
        return EXIT_CODE_USAGE;
    }
    if (key == NULL)
    {
        make_key(made);
        key = made;
    }
    say("idempotency key: %s", key);
    Answer answer;
    ServiceRequest request = {
        .method = "POST",
        .path = "/v1/transfers",
        .body = body,
        .key = key,
        .prefer = prefer[0] != '\0' ? prefer : NULL,
        .timeout_ms = context->timeout_ms > 0 ? context->timeout_ms : TIMEOUT_MS,
    };
    service_call(context->service, &request, &answer);
    ExitCode code = answer_report(&answer);
    tell_result(context, &answer, key);
    answer_done(&answer);
    free(body);
    return code;
}
