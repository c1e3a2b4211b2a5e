/*
 * See measure.h. Final means: no shard holds a pending or prepared transfer from before; and where
 * a coordinator was killed, the clients have a final answer to each order that was in flight there.
 * What was told to have no effect while a shard was away is nothing that could be unfinished. And
 * an account that is held by a leg whose home is away has to wait for it, as two-phase commit has
 * it: payments of those are no payments between the others.
 */
#include "measure.h"

#include "bank.h"
#include "processes.h"
#include "sql.h"

#include "base/base.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum
{
    TARGET_S = 2,
    WARM_MS = 1500,
    LOOK_MS = 20,
    USUAL_RETRY_MS = 100,
    AWAY_RETRY_MS = 1000, /* what cannot be paid now must not be most of the load */
    HELD_MAX = 256,
    HELD_LOOKS = 3,
    HELD_PAUSE_MS = 100,
};

/* ---- what is open ---------------------------------------------------------------------------- */

typedef struct Open
{
    int girod;    /* in flight there */
    int survivor; /* another one */
    size_t *orders;
    size_t count;
    size_t size;
    size_t next; /* those before are settled */
    size_t last; /* the one that was settled last */
} Open;

static bool is_in_flight(const Order *order, int girod)
{
    for (size_t i = 0; i < order->count; i++)
    {
        const Answer *answer = &order->answers[i];
        if (answer->verdict == VERDICT_AWAITED && answer->girod == girod && verb_pays(answer->verb))
        {
            return true;
        }
    }
    return false;
}

static void note_open(void *context, size_t number, const Order *order)
{
    Open *open = context;
    if (order_is_settled(order) || !is_in_flight(order, open->girod))
    {
        return;
    }
    if (open->count == open->size)
    {
        open->size = 2 * open->size + 256;
        open->orders = base_realloc(open->orders, open->size * sizeof(open->orders[0]));
    }
    open->orders[open->count++] = number;
}

/* Orders come in ascending numbers, and so do the open ones. */
static void drop_settled(void *context, size_t number, const Order *order)
{
    Open *open = context;
    while (open->next < open->count && open->orders[open->next] < number)
    {
        open->next++;
    }
    if (open->next < open->count && open->orders[open->next] == number && order_is_settled(order))
    {
        open->last = number;
        memmove(&open->orders[open->next], &open->orders[open->next + 1],
                (open->count - open->next - 1) * sizeof(open->orders[0]));
        open->count--;
    }
}

static bool all_are_settled(Mixture *mixture, Open *open)
{
    if (open->count > 0)
    {
        open->next = 0;
        mixture_each(mixture, open->orders[0], drop_settled, open);
    }
    return open->count == 0;
}

/* ---- what the shards hold -------------------------------------------------------------------- */

typedef struct Shards
{
    int count;
    int64_t moment_us; /* by the clock of this machine, since 1970 */
    SqlSession *sessions[CLUSTER_SHARDS_MAX];
} Shards;

static Shards shards_open(const Cluster *cluster)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    Shards shards = {.count = cluster_shard_count(cluster),
                     .moment_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000};
    for (int i = 0; i < shards.count; i++)
    {
        shards.sessions[i] = sql_session_new(cluster_dsn(cluster, i + 1));
    }
    return shards;
}

static void shards_close(Shards *shards)
{
    for (int i = 0; i < shards->count; i++)
    {
        sql_session_free(shards->sessions[i]);
    }
}

/* How much is there that was pending or prepared before the moment? -1 where a shard is away. */
static long shards_left(const Shards *shards)
{
    char query[400];
    long left = 0;
    snprintf(query, sizeof(query),
             "select 1 from giro.transfers where state = 'pending'"
             " and created_at < to_timestamp(%" PRId64 " / 1e6)"
             " union all select 1 from pg_prepared_xacts where database = current_database()"
             " and prepared < to_timestamp(%" PRId64 " / 1e6)",
             shards->moment_us, shards->moment_us);
    for (int i = 0; i < shards->count && left >= 0; i++)
    {
        char sqlstate[6] = "08006";
        char tag[40] = "";
        if (shards->sessions[i] != NULL)
        {
            sql_session_run(shards->sessions[i], query, NULL, sqlstate, tag);
        }
        left = sqlstate[0] == '\0' ? left + strtol(tag + strcspn(tag, "0123456789"), NULL, 10) : -1;
    }
    return left;
}

/* Asks for what is open once more, as a client in a hurry would; returns whether nothing is. */
static bool repeat_open(const Measuring *measuring, Client *client, Open *open)
{
    Errand errand;
    Request request;
    Response response;
    if (all_are_settled(measuring->mixture, open))
    {
        return true;
    }
    mixture_repeat(measuring->mixture, open->survivor, open->orders, open->count, &errand,
                   &request);
    client_call(client, &request, &response);
    mixture_take(measuring->mixture, &errand, &response);
    response_done(&response);
    return all_are_settled(measuring->mixture, open);
}

static void print_last(void *context, size_t number, const Order *order)
{
    const Open *open = context;
    if (number == open->last)
    {
        order_print(order, stdout);
    }
}

/* What took long: the order that was final last, unless the shards took longer still. */
static void explain(const Measuring *measuring, Open *open, double orders_s, double all_s)
{
    if (all_s > TARGET_S && orders_s > 0)
    {
        printf("the orders took %.2f s; the last one:\n", orders_s);
        mixture_each(measuring->mixture, open->last, print_last, open);
    }
}

static double seconds_since(const Measuring *measuring, int64_t start_us)
{
    return (double)(history_now_us(measuring->history) - start_us) / 1e6;
}

/* Waits until all of it is final; returns the seconds since start_us, or less than 0. */
static double await_final(const Measuring *measuring, Open *open, int64_t start_us,
                          long *ret_unfinished)
{
    Shards shards = shards_open(measuring->cluster);
    Client *client = client_new(cluster_url(measuring->cluster, open->survivor));
    double orders_s = open->count == 0 ? 0 : -1;
    double all_s = -1;
    *ret_unfinished = shards_left(&shards);
    while (all_s < 0 && seconds_since(measuring, start_us) < MEASURE_PATIENCE_MS / 1e3)
    {
        bool settled = repeat_open(measuring, client, open);
        orders_s = settled && orders_s < 0 ? seconds_since(measuring, start_us) : orders_s;
        all_s = settled && shards_left(&shards) == 0 ? seconds_since(measuring, start_us) : -1;
        processes_pause_ms(LOOK_MS);
    }
    explain(measuring, open, orders_s, all_s);
    for (size_t i = 0; all_s < 0 && i < open->count && i < 3; i++)
    {
        printf("not final: order %zu\n", open->orders[i]);
    }
    client_free(client);
    shards_close(&shards);
    free(open->orders);
    return all_s;
}

/* ---- coordinators ---------------------------------------------------------------------------- */

static bool measure_kill(const Measuring *measuring, int girod, Measures *measures)
{
    Open open = {.girod = girod, .survivor = girod == 1 ? 2 : 1};
    processes_pause_ms(WARM_MS);
    int64_t start_us = history_now_us(measuring->history);
    cluster_signal_girod(measuring->cluster, girod, SIGSTOP);
    mixture_each(measuring->mixture, 0, note_open, &open);
    size_t in_flight = open.count;
    cluster_signal_girod(measuring->cluster, girod, SIGKILL);
    cluster_begin_girod(measuring->cluster, girod);
    long unfinished = 0;
    double seconds = await_final(measuring, &open, start_us, &unfinished);
    cluster_await_girod_begun(measuring->cluster, girod);
    printf("%9.3f s  girod %d was killed with %zu in flight: final after %.2f s\n",
           (double)history_now_us(measuring->history) / 1e6, girod, in_flight, seconds);
    measures->in_flight[measures->kills] = in_flight;
    measures->final_seconds[measures->kills++] = seconds;
    return seconds >= 0 &&
           cluster_await_girod_ready(measuring->cluster, girod, MEASURE_PATIENCE_MS);
}

bool measure_coordinators(const Measuring *measuring, int kills, Measures *ret_measures)
{
    bool good = true;
    load_set_pace(measuring->load, measuring->per_second);
    for (int i = 0; i < kills && i < MEASURE_RUNS_MAX && good; i++)
    {
        int girod = 1 + i % cluster_coordinator_count(measuring->cluster);
        good = measure_kill(measuring, girod, ret_measures);
    }
    return good;
}

/* ---- a shard --------------------------------------------------------------------------------- */

/* Accounts whose rows cannot be locked, look after look. */
typedef struct Held
{
    AccountName ids[HELD_MAX];
    size_t count;
} Held;

static bool is_held(const Held *held, const char *id)
{
    bool found = false;
    for (size_t i = 0; i < held->count && !found; i++)
    {
        found = strcmp(held->ids[i], id) == 0;
    }
    return found;
}

static void look_for_held(const Measuring *measuring, int away, Held *ret_held)
{
    ret_held->count = 0;
    for (int shard = 1; shard <= cluster_shard_count(measuring->cluster); shard++)
    {
        SqlRows *rows =
            shard == away
                ? NULL
                : sql_rows(cluster_dsn(measuring->cluster, shard),
                           "with free as materialized"
                           " (select id from giro.accounts order by id for update skip locked)"
                           " select id from giro.accounts a"
                           " where not exists (select from free where free.id = a.id)");
        for (size_t i = 0; rows != NULL && i < sql_row_count(rows); i++)
        {
            ASSERT(ret_held->count < HELD_MAX);
            snprintf(ret_held->ids[ret_held->count++], sizeof(AccountName), "%s",
                     sql_field(rows, i, 0));
        }
        sql_rows_free(rows);
    }
}

static void find_held(const Measuring *measuring, int away, Held *ret_held)
{
    Held held;
    look_for_held(measuring, away, &held);
    for (int look = 1; look < HELD_LOOKS; look++)
    {
        Held again;
        size_t still = 0;
        processes_pause_ms(HELD_PAUSE_MS);
        look_for_held(measuring, away, &again);
        for (size_t i = 0; i < held.count; i++)
        {
            if (is_held(&again, held.ids[i]))
            {
                memmove(held.ids[still++], held.ids[i], sizeof(AccountName));
            }
        }
        held.count = still;
    }
    *ret_held = held;
}

/* How long first answers to single payments between other shards took. */
typedef struct Window
{
    Held held;
    int64_t from_us;
    int64_t to_us;
    int shard;
    double *ms;
    size_t count;
    size_t size;
} Window;

static void note_latency(void *context, size_t number, const Order *order)
{
    Window *window = context;
    const Answer *first = order->count == 0 ? NULL : &order->answers[0];
    (void)number;
    if (first == NULL || first->verb != VERB_PAY || first->verdict == VERDICT_AWAITED ||
        first->sent_us < window->from_us || first->answered_us > window->to_us ||
        order->debit_shard == 0 || order->credit_shard == 0 ||
        order->debit_shard == order->credit_shard || order->debit_shard == window->shard ||
        order->credit_shard == window->shard || is_held(&window->held, order->debit) ||
        is_held(&window->held, order->credit))
    {
        return;
    }
    if (window->count == window->size)
    {
        window->size = 2 * window->size + 256;
        window->ms = base_realloc(window->ms, window->size * sizeof(window->ms[0]));
    }
    window->ms[window->count++] = (double)(first->answered_us - first->sent_us) / 1e3;
}

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Looks on for a while, while the shard is there or away. */
static double p99_of(const Measuring *measuring, int shard, bool is_away, int seconds,
                     size_t *ret_samples)
{
    Window window = {.shard = shard, .from_us = history_now_us(measuring->history)};
    size_t first = mixture_count(measuring->mixture);
    processes_pause_ms(seconds * 1000);
    window.to_us = history_now_us(measuring->history);
    if (is_away)
    {
        find_held(measuring, shard, &window.held);
        printf("%9.3f s  %zu accounts are held by legs whose home is away\n",
               (double)window.to_us / 1e6, window.held.count);
    }
    mixture_each(measuring->mixture, first, note_latency, &window);
    qsort(window.ms, window.count, sizeof(window.ms[0]), compare_doubles);
    double p99 = window.count == 0 ? 0 : window.ms[window.count * 99 / 100];
    *ret_samples = window.count;
    free(window.ms);
    return p99;
}

static void await_return(const Measuring *measuring, int shard)
{
    char sqlstate[6] = "?";
    for (int waited = 0; waited < MEASURE_PATIENCE_MS && sqlstate[0] != '\0'; waited += LOOK_MS)
    {
        sql_state(cluster_dsn(measuring->cluster, shard), "select 1", sqlstate);
        processes_pause_ms(sqlstate[0] == '\0' ? 0 : LOOK_MS);
    }
}

bool measure_shard(const Measuring *measuring, int shard, int away_seconds, Measures *ret_measures)
{
    Open open = {.survivor = 1};
    Measures *m = ret_measures;
    m->away_seconds = away_seconds;
    mixture_set_retry(measuring->mixture, AWAY_RETRY_MS);
    load_set_pace(measuring->load, measuring->per_second);
    processes_pause_ms(WARM_MS);
    m->p99_before_ms =
        p99_of(measuring, shard, false, away_seconds < 10 ? away_seconds : 10, &m->samples_before);
    cluster_signal_postgres(measuring->cluster, shard, SIGKILL);
    m->p99_during_ms = p99_of(measuring, shard, true, away_seconds, &m->samples_during);
    cluster_begin_postgres(measuring->cluster, shard);
    await_return(measuring, shard);
    int64_t start_us = history_now_us(measuring->history);
    m->settled_seconds = await_final(measuring, &open, start_us, &m->unfinished);
    mixture_set_retry(measuring->mixture, USUAL_RETRY_MS);
    cluster_await_postgres_begun(measuring->cluster, shard);
    printf("%9.3f s  shard %d was away for %d s; %ld were unfinished: settled after %.2f s\n",
           (double)history_now_us(measuring->history) / 1e6, shard, away_seconds, m->unfinished,
           m->settled_seconds);
    return m->settled_seconds >= 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void print_line(const char *what, double figure, const char *unit, double target)
{
    printf("  %-62s %8.2f %-2s  <= %4.1f  %s\n", what, figure, unit, target,
           figure >= 0 && figure <= target ? "MET" : "MISSED");
}

void measures_print(const Measures *measures)
{
    double worst = -1;
    size_t in_flight = 0;
    char what[100];
    for (int i = 0; i < measures->kills; i++)
    {
        worst = measures->final_seconds[i] > worst ? measures->final_seconds[i] : worst;
        in_flight += measures->in_flight[i];
    }
    snprintf(what, sizeof(what), "girod killed %d times (%zu in flight): final, at worst",
             measures->kills, in_flight);
    print_line(what, worst, "s", TARGET_S);
    printf("  p99 between two shards, third up                               %8.2f ms  (%zu)\n",
           measures->p99_before_ms, measures->samples_before);
    snprintf(what, sizeof(what), "  third killed, for %d s", measures->away_seconds);
    printf("  %-62s %8.2f ms  (%zu)\n", what, measures->p99_during_ms, measures->samples_during);
    print_line("  ratio",
               measures->p99_before_ms == 0 ? -1
                                            : measures->p99_during_ms / measures->p99_before_ms,
               "", 2);
    snprintf(what, sizeof(what), "its return (%ld unfinished): settled", measures->unfinished);
    print_line(what, measures->settled_seconds, "s", TARGET_S);
}
