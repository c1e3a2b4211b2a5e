/* See nemesis.h. */
#include "nemesis.h"

#include "check.h"
#include "processes.h"
#include "sql.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Nemesis
{
    Cluster *cluster;
    const History *history;
    NemesisCounts *counts;
    const ProxyRule *rules[CLUSTER_SHARDS_MAX]; /* in force */
    bool killed[CLUSTER_COORDINATORS_MAX];
    bool *skipped; /* by the number of the step: it came too late, and so does not happen */
} Nemesis;

enum
{
    LATE_MS = 700, /* a trouble that begins later would be over at once */
};

ATTR_PRINTF(2, 3)
static void say(const Nemesis *nemesis, const char *format, ...)
{
    va_list arguments;
    printf("%9.3f s  ", (double)history_now_us(nemesis->history) / 1e6);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

/* ---- Postgres -------------------------------------------------------------------------------- */

static void signal_postgres(Nemesis *nemesis, const PlanStep *step)
{
    static const struct
    {
        const char *word;
        int signal_number;
    } rows[DEED_COUNT] = {
        [DEED_KILL_POSTGRES] = {"kill", SIGKILL},
        [DEED_STOP_POSTGRES] = {"stop", SIGSTOP},
        [DEED_CONTINUE_POSTGRES] = {"continue", SIGCONT},
    };
    cluster_await_postgres_begun(nemesis->cluster, step->target);
    say(nemesis, "%s %s%d", rows[step->deed].word, step->target == 0 ? "directory " : "shard ",
        step->target);
    cluster_signal_postgres(nemesis->cluster, step->target, rows[step->deed].signal_number);
    nemesis->counts->kills += step->deed == DEED_KILL_POSTGRES ? 1 : 0;
    nemesis->counts->stops += step->deed == DEED_STOP_POSTGRES ? 1 : 0;
}

static void storm(Nemesis *nemesis, const PlanStep *step)
{
    char dsn[512];
    char sqlstate[6];
    snprintf(dsn, sizeof(dsn), "%s connect_timeout=2", cluster_dsn(nemesis->cluster, step->target));
    sql_state(dsn,
              "select pg_terminate_backend(pid) from pg_stat_activity"
              " where usename = 'giro_coordinator' and random() < 0.7",
              sqlstate);
    say(nemesis, "storm on shard %d %s", step->target, sqlstate);
    nemesis->counts->storms++;
}

/* ---- girod ----------------------------------------------------------------------------------- */

static void look_after_girod(Nemesis *nemesis, int coordinator)
{
    if (!nemesis->killed[coordinator - 1] &&
        cluster_await_girod_end(nemesis->cluster, coordinator, 0))
    {
        say(nemesis, "girod %d has ended by itself, see %s", coordinator,
            cluster_girod_log(nemesis->cluster, coordinator));
        nemesis->counts->deaths++;
    }
}

static void signal_girod(Nemesis *nemesis, const PlanStep *step)
{
    cluster_await_girod_begun(nemesis->cluster, step->target);
    look_after_girod(nemesis, step->target);
    switch (step->deed)
    {
    case DEED_KILL_GIROD:
        say(nemesis, "kill girod %d", step->target);
        cluster_signal_girod(nemesis->cluster, step->target, SIGKILL);
        nemesis->killed[step->target - 1] = true;
        nemesis->counts->kills++;
        return;
    case DEED_STOP_GIROD:
        say(nemesis, "stop girod %d", step->target);
        cluster_signal_girod(nemesis->cluster, step->target, SIGSTOP);
        nemesis->counts->stops++;
        return;
    default:
        say(nemesis, "continue girod %d", step->target);
        cluster_signal_girod(nemesis->cluster, step->target, SIGCONT);
    }
}

static void start(Nemesis *nemesis, const PlanStep *step)
{
    if (step->deed == DEED_START_POSTGRES)
    {
        say(nemesis, "start %s%d", step->target == 0 ? "directory " : "shard ", step->target);
        cluster_begin_postgres(nemesis->cluster, step->target);
        return;
    }
    say(nemesis, "start girod %d", step->target);
    cluster_begin_girod(nemesis->cluster, step->target);
    nemesis->killed[step->target - 1] = false;
}

/* ---- proxies --------------------------------------------------------------------------------- */

static void set_rule(Nemesis *nemesis, const PlanStep *step)
{
    static const char *const actions[] = {
        [PROXY_SWALLOW] = "swallows the reply to",
        [PROXY_CUT_BEFORE] = "cuts before",
        [PROXY_CUT_AFTER] = "cuts after",
        [PROXY_DELAY] = "delays",
        [PROXY_DELAY_REPLY] = "delays the reply to",
    };
    const ProxyRule *rule = &step->rule;
    char by[32] = "";
    if (rule->action == PROXY_DELAY || rule->action == PROXY_DELAY_REPLY)
    {
        snprintf(by, sizeof(by), " by %d ms", rule->ms);
    }
    say(nemesis, "proxy %d %s %s%s, %d times", step->target, actions[rule->action],
        rule->tag == NULL ? rule->statement : rule->tag, by, rule->count);
    proxy_set_rule(cluster_proxy(nemesis->cluster, step->target), rule);
    nemesis->rules[step->target - 1] = rule;
}

static void take_rule_away(Nemesis *nemesis, const PlanStep *step)
{
    Proxy *proxy = cluster_proxy(nemesis->cluster, step->target);
    const ProxyRule *rule = nemesis->rules[step->target - 1];
    int hits = proxy_hits(proxy);
    proxy_set_rule(proxy, NULL);
    say(nemesis, "proxy %d did it %d times", step->target, hits);
    bool cuts = rule->action == PROXY_CUT_BEFORE || rule->action == PROXY_CUT_AFTER;
    nemesis->counts->swallowed += rule->action == PROXY_SWALLOW ? hits : 0;
    nemesis->counts->cuts += cuts ? hits : 0;
    nemesis->counts->delays += rule->action != PROXY_SWALLOW && !cuts ? hits : 0;
}

static void trouble_proxy(Nemesis *nemesis, const PlanStep *step)
{
    Proxy *proxy = cluster_proxy(nemesis->cluster, step->target);
    if (step->deed == DEED_CUT_ALL)
    {
        say(nemesis, "proxy %d cuts all %d connections", step->target, proxy_connections(proxy));
        nemesis->counts->cuts += proxy_connections(proxy);
        proxy_cut_all(proxy);
        return;
    }
    bool opens = step->deed == DEED_HOLE;
    say(nemesis, "proxy %d %s", step->target, opens ? "is a black hole" : "forwards again");
    proxy_set_black_hole(proxy, opens);
    nemesis->counts->cuts += opens ? 1 : 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void take_step(Nemesis *nemesis, const PlanStep *step)
{
    static void (*const deeds[DEED_COUNT])(Nemesis * nemesis, const PlanStep *step) = {
        [DEED_KILL_POSTGRES] = signal_postgres,
        [DEED_START_POSTGRES] = start,
        [DEED_STOP_POSTGRES] = signal_postgres,
        [DEED_CONTINUE_POSTGRES] = signal_postgres,
        [DEED_STORM] = storm,
        [DEED_KILL_GIROD] = signal_girod,
        [DEED_START_GIROD] = start,
        [DEED_STOP_GIROD] = signal_girod,
        [DEED_CONTINUE_GIROD] = signal_girod,
        [DEED_RULE] = set_rule,
        [DEED_NO_RULE] = take_rule_away,
        [DEED_CUT_ALL] = trouble_proxy,
        [DEED_HOLE] = trouble_proxy,
        [DEED_NO_HOLE] = trouble_proxy,
    };
    deeds[step->deed](nemesis, step);
}

/* The step that ends a trouble follows the one that begins it, by number; it is done, however late
 * it comes, unless its trouble has been skipped. */
static bool is_skipped(Nemesis *nemesis, const PlanStep *step, int64_t late_us)
{
    bool late = late_us > (int64_t)LATE_MS * 1000;
    if (plan_ends_trouble(step))
    {
        return nemesis->skipped[step->number - 1];
    }
    nemesis->skipped[step->number] = late;
    nemesis->counts->skipped += late ? 1 : 0;
    return late;
}

static void bring_up(Nemesis *nemesis)
{
    Cluster *cluster = nemesis->cluster;
    for (int i = 0; i <= cluster_shard_count(cluster); i++)
    {
        cluster_await_postgres_begun(cluster, i);
    }
    for (int i = 1; i <= cluster_coordinator_count(cluster); i++)
    {
        cluster_await_girod_begun(cluster, i);
        look_after_girod(nemesis, i);
    }
    cluster_up(cluster);
    say(nemesis, "all is up again");
}

void nemesis_run(Cluster *cluster, const Plan *plan, const History *history,
                 NemesisCounts *ret_counts)
{
    Nemesis nemesis = {.cluster = cluster, .history = history, .counts = ret_counts};
    int64_t start_us = history_now_us(history);
    *ret_counts = (NemesisCounts){0};
    nemesis.skipped = base_calloc(plan_count(plan) + 1, sizeof(bool));
    for (size_t i = 0; i < plan_count(plan); i++)
    {
        const PlanStep *step = plan_step(plan, i);
        int64_t left_us = start_us + (int64_t)step->at_ms * 1000 - history_now_us(history);
        if (left_us > 0)
        {
            processes_pause_ms((int)(left_us / 1000));
        }
        if (!is_skipped(&nemesis, step, -left_us))
        {
            take_step(&nemesis, step);
        }
    }
    bring_up(&nemesis);
    free(nemesis.skipped);
}
