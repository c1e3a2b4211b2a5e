/*
 * make bench: starts clusters, measures round by round, prints the table and writes bench.json. See
 * docs/performance.md for what the lines mean.
 *
 * Every line is measured once per round, all lines in the same order, and what is compared is
 * compared within a round: a machine that gets slower or faster in between does not matter. A
 * filter picks lines; what they refer to is measured along with them. Clusters are torn down by
 * their guardians, however this program ends.
 */
#include "bench.h"

#include "base/base.h"
#include "check.h"
#include "cli/options.h"
#include "clock.h"
#include "measures.h"
#include "report.h"
#include "runs.h"
#include "shard/route.h"

#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
    MEASURES_MAX = 128,
};

/* About what it takes to make a world: a part for its servers, a part per row. */
static const double WORLD_S = 6;
static const double WORLD_S_PER_ROW = 3e-5;

typedef struct Selection
{
    bool alone; /* without what the lines are compared with */
    bool lines[MEASURES_MAX];
    bool worlds[WORLD_COUNT];
} Selection;

/* ---- options --------------------------------------------------------------------------------- */

static const char *text_option(const char *name, const char *usual)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : usual;
}

static double number_option(const char *name, double usual, double least, double most)
{
    const char *text = text_option(name, "");
    char *end = NULL;
    double value = *text == '\0' ? usual : strtod(text, &end);
    if (value < least || value > most || (end != NULL && *end != '\0'))
    {
        fprintf(stderr, "bench: %s must be a number from %g to %g, not '%s'\n", name, least, most,
                text);
        exit(2);
    }
    return value;
}

/* What girod makes of its flags. */
static void read_girod_flags(BenchOptions *options)
{
    static const char *const start[] = {"girod", "serve", "--config", "any"};
    char flags[sizeof options->girod_flags];
    char *words[32];
    int count = ARRAY_LENGTH(start);
    Options girod;
    Error error = {0};
    memcpy(words, start, sizeof start);
    snprintf(flags, sizeof flags, "%s", options->girod_flags);
    char *rest = NULL;
    for (char *word = strtok_r(flags, " ", &rest); word != NULL && count < 32;
         word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    if (!options_parse(count, words, &girod, &error))
    {
        fprintf(stderr, "bench: BENCH_GIROD_FLAGS: %s\n", error.text);
        exit(2);
    }
    options->girod_sessions = girod.sessions;
    options->girod_batch = girod.batch;
}

static void read_options(BenchOptions *options)
{
    *options = (BenchOptions){
        .seconds = number_option("BENCH_SECONDS", 2, 0.2, 600),
        .rounds = (int)number_option("BENCH_ROUNDS", 5, 1, FIGURE_ROUNDS_MAX),
        .filter = text_option("BENCH_FILTER", ""),
        .accounts = (size_t)number_option("BENCH_ACCOUNTS", 100000, 2000, 1e7),
        .history = (size_t)number_option("BENCH_HISTORY", 100000, 0, 1e8),
        .shared_buffers = text_option("BENCH_SHARED_BUFFERS", "1GB"),
        .output = text_option("BENCH_JSON", "bench.json"),
        .alone = *text_option("BENCH_ALONE", "") != '\0',
        .details = *text_option("BENCH_DETAILS", "") != '\0',
    };
    const char *more = text_option("BENCH_GIROD_FLAGS", "");
    /* A proof of the books now and then would hit one line and spare its neighbour. */
    int length = snprintf(options->girod_flags, sizeof options->girod_flags,
                          "--reconcile-every 0%s%s", *more != '\0' ? " " : "", more);
    ASSERT(length < (int)sizeof options->girod_flags);
    length = snprintf(options->postgres_settings, sizeof options->postgres_settings,
                      "shared_buffers = %s\n"
                      "max_wal_size = 8GB\n"
                      "shared_preload_libraries = pg_stat_statements\n"
                      "pg_stat_statements.track = none\n",
                      options->shared_buffers);
    ASSERT(length < (int)sizeof options->postgres_settings);
    read_girod_flags(options);
}

/* ---- what to measure ------------------------------------------------------------------------- */

static size_t place_of(const Measure *measure)
{
    return (size_t)(measure - measure_at(0));
}

static void select_figures(Selection *selection, const char *figures);

static void select_line(Selection *selection, const Measure *measure)
{
    if (selection->lines[place_of(measure)])
        return;
    selection->lines[place_of(measure)] = true;
    selection->worlds[measure->world] = true;
    if (!selection->alone)
        select_figures(selection, measure->references);
    select_figures(selection, measure->needs);
}

static void select_figures(Selection *selection, const char *figures)
{
    char name[FIGURE_NAME_MAX];
    int taken = 0;
    for (const char *at = figures == NULL ? "" : figures; sscanf(at, "%63s%n", name, &taken) == 1;
         at += taken)
    {
        const Measure *measure = measure_of_figure(name);
        ASSERT(measure != NULL);
        select_line(selection, measure);
    }
}

static void select_lines(Selection *selection, const BenchOptions *options)
{
    regex_t wanted;
    const char *filter = options->filter;
    ASSERT(measure_count() <= MEASURES_MAX);
    *selection = (Selection){.alone = options->alone};
    if (regcomp(&wanted, filter, REG_EXTENDED | REG_NOSUB) != 0)
    {
        fprintf(stderr, "bench: BENCH_FILTER is no regular expression: %s\n", filter);
        exit(2);
    }
    for (size_t i = 0; i < measure_count(); i++)
    {
        if (regexec(&wanted, measure_at(i)->name, 0, NULL, 0) == 0)
            select_line(selection, measure_at(i));
    }
    regfree(&wanted);
}

/* ---- progress -------------------------------------------------------------------------------- */

static double world_seconds(const WorldOptions *world)
{
    return WORLD_S + WORLD_S_PER_ROW * (double)(world->accounts + world->history);
}

static double round_seconds(const Bench *bench, const Selection *selection)
{
    double seconds = 0;
    for (size_t i = 0; i < measure_count(); i++)
        seconds += selection->lines[i] ? measure_cost_s(bench, measure_at(i)) : 0;
    return seconds;
}

/* One line that is written over on a terminal; nothing elsewhere. */
static void show(const Bench *bench, const char *what, double left_s)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[Kround %d of %d, %d:%02d left: %s", bench->round + 1,
                bench->options.rounds, (int)left_s / 60, (int)left_s % 60, what);
}

static void hide(void)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
}

/* ---- worlds ---------------------------------------------------------------------------------- */

static WorldOptions world_options_of(const Bench *bench, WorldKind kind)
{
    static const char *const names[WORLD_COUNT] = {"main", "small", "wide", "large", "three"};
    const BenchOptions *options = &bench->options;
    WorldOptions world = {
        .name = names[kind],
        .shards = kind == WORLD_THREE ? 3 : 2,
        .coordinators = kind == WORLD_MAIN ? 2 : 1, /* the second one serves the crowd */
        .accounts = options->accounts,
        .history = options->history,
        .plain = kind == WORLD_MAIN,
        .girod_flags = options->girod_flags,
        .postgres_settings = options->postgres_settings,
    };
    if (kind == WORLD_SMALL)
    {
        world.accounts /= 10;
        world.history = 0;
    }
    if (kind == WORLD_WIDE || kind == WORLD_LARGE)
        world.accounts *= 10;
    if (kind == WORLD_LARGE)
        world.history *= 50;
    return world;
}

static double worlds_seconds(const Bench *bench, const Selection *selection)
{
    double seconds = 0;
    for (WorldKind kind = 0; kind < WORLD_COUNT; kind++)
    {
        WorldOptions world = world_options_of(bench, kind);
        seconds += selection->worlds[kind] ? world_seconds(&world) : 0;
    }
    return seconds;
}

static void make_world(Bench *bench, WorldKind kind)
{
    WorldOptions options = world_options_of(bench, kind);
    double start = clock_now();
    World *world = bench->worlds[kind] = world_new(&options);
    const Cluster *cluster = world_cluster(world);
    fprintf(stderr, "%-6s ready in %.0f s: %s, girod pid %d, %s\n", options.name,
            clock_now() - start, cluster_url(cluster, 1), cluster_girod_pid(cluster, 1),
            cluster_directory(cluster));
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void run_round(Bench *bench, const Selection *selection)
{
    double rounds_left = bench->options.rounds - bench->round - 1;
    double left_s = (rounds_left + 1) * round_seconds(bench, selection);
    for (size_t i = 0; i < measure_count(); i++)
    {
        const Measure *measure = measure_at(i);
        if (!selection->lines[i])
            continue;
        show(bench, measure->name, left_s);
        run_measure(bench, measure);
        left_s -= measure_cost_s(bench, measure);
    }
}

static void run_all(Bench *bench, const Selection *selection)
{
    double expected =
        worlds_seconds(bench, selection) + bench->options.rounds * round_seconds(bench, selection);
    double start = clock_now();
    fprintf(stderr, "this takes about %.1f minutes\n", expected / 60);
    for (WorldKind kind = 0; kind < WORLD_COUNT; kind++)
    {
        if (selection->worlds[kind])
            make_world(bench, kind);
    }
    for (bench->round = 0; bench->round < bench->options.rounds; bench->round++)
        run_round(bench, selection);
    hide();
    fprintf(stderr, "measured in %.1f minutes\n", (clock_now() - start) / 60);
}

static void *free_world(void *world)
{
    world_free(world);
    return NULL;
}

/* At the same time: each waits for its servers to stop. */
static void free_worlds(Bench *bench)
{
    pthread_t threads[WORLD_COUNT];
    for (WorldKind kind = 0; kind < WORLD_COUNT; kind++)
    {
        if (bench->worlds[kind] != NULL)
            world_check_books(bench->worlds[kind]);
    }
    for (WorldKind kind = 0; kind < WORLD_COUNT; kind++)
        pthread_create(&threads[kind], NULL, free_world, bench->worlds[kind]);
    for (WorldKind kind = 0; kind < WORLD_COUNT; kind++)
        pthread_join(threads[kind], NULL);
}

int main(void)
{
    Bench bench = {0};
    Selection selection;
    route_library_init();
    signal(SIGPIPE, SIG_IGN);
    read_options(&bench.options);
    select_lines(&selection, &bench.options);
    if (round_seconds(&bench, &selection) <= 0)
    {
        fprintf(stderr, "bench: no line matches BENCH_FILTER=%s\n", bench.options.filter);
        return 2;
    }
    machine_look(&bench.machine, "/tmp");
    bench.figures = figures_new();
    run_all(&bench, &selection);
    report_print(&bench, stdout);
    report_write(&bench, bench.options.output);
    printf("\nwritten to %s\n", bench.options.output);
    fflush(stdout);
    free_worlds(&bench);
    figures_free(bench.figures);
    return 0;
}
