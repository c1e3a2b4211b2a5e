/* See context.h. */
#include "context.h"

#include "say.h"

const char *context_operand(const Context *context, size_t index)
{
    return arguments_operand(context->arguments, index);
}

const char *context_value(const Context *context, OptionId option)
{
    return arguments_value(context->arguments, option);
}

bool context_has(const Context *context, OptionId option)
{
    return arguments_has(context->arguments, option);
}

void context_get(const Context *context, const char *path, Answer *ret_answer)
{
    ServiceRequest request = {.path = path, .timeout_ms = context->timeout_ms};
    service_call(context->service, &request, ret_answer);
}

ExitCode context_show(const Context *context, const char *path)
{
    Answer answer;
    context_get(context, path, &answer);
    ExitCode code = answer_report(&answer);
    if (code == EXIT_CODE_DONE && answer.document != NULL)
        output_record(context->output, answer.document);
    answer_done(&answer);
    return code;
}

bool context_is_id(const char *text, const char *noun)
{
    if (arguments_is_uuid(text))
        return true;
    say("\"%.80s\" is no id of a %s", text, noun);
    return false;
}

void context_path(Address *ret_address, const char *collection, const char *id, const char *rest)
{
    address_begin(ret_address, collection);
    address_segment(ret_address, id);
    address_path(ret_address, rest);
}
