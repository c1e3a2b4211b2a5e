/* See answers.h. */
#include "answers.h"

#include "shard/route.h"

#include <stdio.h>
#include <string.h>

static const char *text_field(const Json *document, const char *name)
{
    const Json *value = document != NULL && json_kind(document) == JSON_KIND_OBJECT
                            ? json_field(document, name)
                            : NULL;
    return value != NULL && json_kind(value) == JSON_KIND_STRING ? json_as_string(value) : "";
}

static Verdict verdict_of_state(const char *state)
{
    static const struct
    {
        const char *state;
        Verdict verdict;
    } rows[] = {
        {"pending", VERDICT_PENDING},
        {"posted", VERDICT_POSTED},
        {"refused", VERDICT_REFUSED},
        {"reversed", VERDICT_REVERSED},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
    {
        if (strcmp(rows[i].state, state) == 0)
        {
            return rows[i].verdict;
        }
    }
    return VERDICT_WRONG;
}

/* 429 and 503: what they say about their own request. */
static Verdict verdict_of_effect(const char *effect)
{
    if (strcmp(effect, "none") == 0)
    {
        return VERDICT_NONE;
    }
    return strcmp(effect, "unknown") == 0 ? VERDICT_MAYBE : VERDICT_WRONG;
}

static Verdict verdict_of_failure(Verb verb, int status, const Json *problem)
{
    const char *code = text_field(problem, "code");
    switch (status)
    {
    case 404:
        if (verb_pays(verb))
        {
            return strcmp(code, "debit-account-not-found") == 0 ? VERDICT_NONE : VERDICT_WRONG;
        }
        return strcmp(code, "transfer-not-found") == 0 ? VERDICT_ABSENT : VERDICT_WRONG;
    case 409:
        return verb == VERB_CANCEL && strcmp(code, "state-conflict") == 0 ? VERDICT_NONE
                                                                          : VERDICT_WRONG;
    case 429:
    case 503:
        return verdict_of_effect(text_field(problem, "effect"));
    default:
        return VERDICT_WRONG;
    }
}

static Verdict verdict_of(Verb verb, int status, const Json *document)
{
    Verdict stated = verdict_of_state(text_field(document, "state"));
    switch (status)
    {
    case 0:
        return VERDICT_MAYBE;
    case 200:
        return verb_pays(verb) && stated != VERDICT_POSTED ? VERDICT_WRONG : stated;
    case 201:
        return verb_pays(verb) && stated == VERDICT_POSTED ? stated : VERDICT_WRONG;
    case 202:
        return stated == VERDICT_PENDING ? stated : VERDICT_WRONG;
    case 422:
        return stated == VERDICT_REFUSED || stated == VERDICT_REVERSED ? stated : VERDICT_WRONG;
    default:
        return verdict_of_failure(verb, status, document);
    }
}

/* The document is a transfer or a problem: the id and the reason have other names in each. */
static Answer answer_of(Verb verb, int status, const Json *document)
{
    Answer answer = {.verdict = verdict_of(verb, status, document), .status = status};
    bool is_object = document != NULL && json_kind(document) == JSON_KIND_OBJECT;
    bool is_problem = status >= 400;
    const Json *refusal = is_object && !is_problem ? json_field(document, "refusal") : NULL;
    const char *id = text_field(document, is_problem ? "transfer_id" : "id");
    snprintf(answer.code, sizeof(answer.code), "%s",
             is_problem ? text_field(document, "code") : text_field(refusal, "code"));
    answer.has_id = id[0] != '\0' && uuid_parse(id, answer.id);
    return answer;
}

Answer answer_of_response(Verb verb, const Response *response)
{
    char replayed[16];
    Answer answer = answer_of(verb, response->status, response->json);
    answer.replayed = response_header(response, "Idempotent-Replayed", replayed, sizeof(replayed));
    return answer;
}

Answer answer_of_item(const Response *response, size_t index)
{
    char path[64];
    if (response->status != 200)
    {
        return answer_of(VERB_BATCH, response->status, response->json);
    }
    snprintf(path, sizeof(path), "results.%zu.status", index);
    int64_t status = response_integer(response, path);
    snprintf(path, sizeof(path), "results.%zu.%s", index, status >= 400 ? "problem" : "transfer");
    /* Without a result the item was not answered though its batch was: status 200, no state. */
    Answer answer =
        answer_of(VERB_BATCH, status < 0 ? 200 : (int)status, response_value(response, path));
    snprintf(path, sizeof(path), "results.%zu.replayed", index);
    const Json *replayed = response_value(response, path);
    answer.replayed =
        replayed != NULL && json_kind(replayed) == JSON_KIND_BOOL && json_as_bool(replayed);
    return answer;
}
