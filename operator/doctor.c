/*
 * `doctor`: a line for each thing that should be as it should: ok, warn, fail. It judges what the
 * server says of itself and of each shard, and changes nothing. A shard that does not answer fails,
 * and is judged no further. A shard that girod uses has passed its own checks of every session:
 * cluster, name, history, role and rights, and the settings that it can set itself.
 *
 * The settings that girod insists on are fails, those that cost time or comfort are warnings; why,
 * says docs/operating.md.
 */
#include "commands.h"
#include "field.h"
#include "finding.h"
#include "list.h"
#include "say.h"
#include "survey.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
    TEXT_MAX = 512,
    SKEW_WARN_MS = 1000,
    SKEW_FAIL_MS = 10000,
    LAG_WARN_MS = 10000,
    LEG_WARN_MS = 60000,
    PREPARED_SLOTS_MIN = 8,
    USED_WARN_PERCENT = 80,
    VERSION_MIN = 15,
};

typedef enum Verdict
{
    VERDICT_OK,
    VERDICT_WARN,
    VERDICT_FAIL,
} Verdict;

typedef struct Doctor
{
    const Context *context;
    Survey survey;
    const char *part; /* what is being looked at */
    int fails;
} Doctor;

static void find(Doctor *doctor, const char *check, Verdict verdict, const char *format, ...)
    ATTR_PRINTF(4, 5);

static void find(Doctor *doctor, const char *check, Verdict verdict, const char *format, ...)
{
    static const char *const names[] = {"ok", "warn", "fail"};
    char detail[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    doctor->fails += verdict == VERDICT_FAIL;
    finding_put(doctor->context->output, &(Finding){doctor->part, check, names[verdict], detail});
}

/* ---- the server and the directory ----------------------------------------------------------- */

static void check_server(Doctor *doctor)
{
    const Json *ready = doctor->survey.readiness.document;
    const char *status = field_string(ready, "status");
    const char *version = field_string(doctor->survey.version.document, "version");
    doctor->part = "girod";
    find(doctor, "ready", strcmp(status, "ready") == 0 ? VERDICT_OK : VERDICT_FAIL, "%s", status);
    find(doctor, "version", strcmp(version, GIRO_VERSION) == 0 ? VERDICT_OK : VERDICT_WARN,
         "%s; giroctl is %s", version, GIRO_VERSION);
    size_t paused = field_count(doctor->survey.directory.document, "intake.paused");
    find(doctor, "intake", paused == 0 ? VERDICT_OK : VERDICT_WARN, "%zu scopes are paused",
         paused);
    doctor->part = "directory";
    bool reachable = field_bool(ready, "directory.reachable");
    find(doctor, "reachable", reachable ? VERDICT_OK : VERDICT_FAIL,
         "cluster %s, routing version %" PRId64 "%s", field_string(ready, "directory.cluster"),
         field_integer(ready, "directory.version"),
         reachable ? "" : "; money moves on, but no new girod would serve");
}

/* ---- a shard --------------------------------------------------------------------------------- */

typedef struct SettingRule
{
    const char *name;
    const char *wanted; /* one of these words, with blanks between */
    Verdict otherwise;
    const char *why;
} SettingRule;

static const SettingRule rules[] = {
    {"fsync", "on", VERDICT_FAIL, "a crash of the machine loses answered transfers"},
    {"full_page_writes", "on", VERDICT_FAIL, "a crash of the machine loses answered transfers"},
    {"synchronous_commit", "on remote_apply", VERDICT_WARN, "commits are not as durable as said"},
    {"autovacuum", "on", VERDICT_WARN, "accounts are updated in place: their table grows"},
};

static bool is_one_of(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; *at != '\0'; at += strspn(at, " "))
    {
        size_t size = strcspn(at, " ");
        if (size == length && memcmp(at, word, size) == 0)
            return true;
        at += size;
    }
    return false;
}

static void check_settings(Doctor *doctor, const Json *shard)
{
    bool good = true;
    for (size_t i = 0; i < ARRAY_LENGTH(rules); i++)
    {
        const char *value = field_string(field_at(shard, "settings"), rules[i].name);
        if (is_one_of(rules[i].wanted, value))
            continue;
        find(doctor, "settings", rules[i].otherwise, "%s is %s: %s", rules[i].name, value,
             rules[i].why);
        good = false;
    }
    if (good)
        find(doctor, "settings", VERDICT_OK, "as they should be");
}

static void check_server_of(Doctor *doctor, const Json *shard)
{
    const char *version = field_string(shard, "server_version");
    bool usable = field_bool(shard, "usable");
    find(doctor, "usable", usable ? VERDICT_OK : VERDICT_FAIL, "%s",
         usable ? "cluster, name, history, role and rights are as they should be"
                : field_string(shard, "trouble"));
    find(doctor, "version", strtol(version, NULL, 10) >= VERSION_MIN ? VERDICT_OK : VERDICT_FAIL,
         "PostgreSQL %s", version);
    find(doctor, "role", field_is(shard, "role", "primary") ? VERDICT_OK : VERDICT_FAIL,
         "%s, timeline %s, epoch %" PRId64, field_string(shard, "role"),
         field_string(shard, "timeline"), field_integer(shard, "epoch"));
}

static void check_clock(Doctor *doctor, const Json *shard)
{
    int64_t skew_ms = field_integer(shard, "clock_skew_ms");
    int64_t size_ms = skew_ms < 0 ? -skew_ms : skew_ms;
    Verdict verdict = size_ms >= SKEW_FAIL_MS   ? VERDICT_FAIL
                      : size_ms >= SKEW_WARN_MS ? VERDICT_WARN
                                                : VERDICT_OK;
    find(doctor, "clock", verdict, "%" PRId64 " ms from girod's", skew_ms);
}

static bool is_nearly_full(int64_t used, int64_t most)
{
    return used * 100 >= most * USED_WARN_PERCENT;
}

static void check_room(Doctor *doctor, const Json *shard)
{
    int64_t used = field_integer(shard, "prepared.used");
    int64_t most = field_integer(shard, "prepared.max");
    bool few = most < PREPARED_SLOTS_MIN;
    find(doctor, "prepared slots",
         few                          ? VERDICT_FAIL
         : is_nearly_full(used, most) ? VERDICT_WARN
                                      : VERDICT_OK,
         "%" PRId64 " of %" PRId64 " (max_prepared_transactions)", used, most);
    used = field_integer(shard, "sessions.server_used");
    most = field_integer(shard, "sessions.server_max");
    find(doctor, "sessions", is_nearly_full(used, most) ? VERDICT_WARN : VERDICT_OK,
         "%" PRId64 " of %" PRId64 " (max_connections)", used, most);
}

/* Without standbys there is nothing to lag. */
static void check_replication(Doctor *doctor, const Json *shard)
{
    int64_t standbys = field_integer(shard, "replication.standbys");
    int64_t lag_ms = field_integer(shard, "replication.lag_ms");
    find(doctor, "replication", lag_ms >= LAG_WARN_MS ? VERDICT_WARN : VERDICT_OK,
         "%" PRId64 " standbys, %" PRId64 " ms behind", standbys, lag_ms);
}

/* What is prepared there by others, or for too long. */
static void check_prepared(Doctor *doctor, const char *shard)
{
    bool good = true;
    for (size_t i = 0; i < doctor->survey.tally_count; i++)
    {
        const Tally *tally = &doctor->survey.tallies[i];
        bool foreign = strcmp(tally->class, "foreign") == 0;
        if (strcmp(tally->shard, shard) != 0 || (!foreign && tally->oldest_ms < LEG_WARN_MS))
            continue;
        find(doctor, "prepared", VERDICT_WARN,
             "%" PRId64 " %s, the oldest for %" PRId64 " s: giroctl prepared list", tally->count,
             tally->class, tally->oldest_ms / 1000);
        good = false;
    }
    if (good)
        find(doctor, "prepared", VERDICT_OK, "nothing foreign, nothing old");
}

static bool check_shard(void *closure, const Json *shard)
{
    Doctor *doctor = closure;
    doctor->part = field_string(shard, "name");
    if (!field_bool(shard, "reachable"))
    {
        find(doctor, "reachable", VERDICT_FAIL, "%s", field_string(shard, "trouble"));
        return true;
    }
    check_server_of(doctor, shard);
    check_settings(doctor, shard);
    check_room(doctor, shard);
    check_replication(doctor, shard);
    check_clock(doctor, shard);
    check_prepared(doctor, doctor->part);
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

ExitCode run_doctor(Context *context)
{
    Doctor doctor = {.context = context};
    List shards = {.path = "/v1/shards", .is_whole = true};
    ExitCode code = survey_read(context, &doctor.survey);
    if (code == EXIT_CODE_DONE)
    {
        finding_begin(context->output);
        check_server(&doctor);
        if (field_bool(doctor.survey.readiness.document, "directory.loaded"))
            code = list_each(context, &shards, check_shard, &doctor, NULL);
        finding_end(context->output);
    }
    survey_done(&doctor.survey);
    if (code == EXIT_CODE_DONE && doctor.fails > 0)
        code = EXIT_CODE_PROBLEMS;
    return code;
}
