/*
 * The fault matrix, run: every cell of matrix.h, in rounds. A cell fails if anything is wrong
 * afterwards; it is a hole if its fault has not happened, so that nothing is shown by it.
 *
 *   FAULTS_FILTER   a regular expression for names of cells, like '2pc.*before/crash'
 *   FAULTS_QUICK    1: a third of the cells, and no longer standstill than time-outs need
 *   FAULTS_JOBS     coordinators at once (40)
 *
 * Nothing is random. The last lines count; the exit code is 1 if there are failures or holes.
 */
#include "books.h"
#include "ids.h"
#include "round.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum
{
    AT_ONCE = 40,
    AT_ONCE_MAX = 100,
    STANDSTILL_MS = 60000,
    STANDSTILL_QUICK_MS = 33000, /* beyond the longest session time-out, 30 s */
};

typedef struct Totals
{
    size_t cells;
    size_t failures;
    size_t holes;
    int64_t slowest_ms[FAULT_COUNT]; /* from the fault to the final answer */
    size_t by_fault[FAULT_COUNT];
} Totals;

static bool is_quick(void)
{
    const char *quick = getenv("FAULTS_QUICK");
    return quick != NULL && strcmp(quick, "1") == 0;
}

static size_t jobs(void)
{
    const char *text = getenv("FAULTS_JOBS");
    long number = text != NULL ? strtol(text, NULL, 10) : AT_ONCE;
    return number < 1 ? 1 : number > AT_ONCE_MAX ? AT_ONCE_MAX : (size_t)number;
}

static void show_progress(size_t done, size_t total, const char *doing)
{
    if (isatty(STDOUT_FILENO))
        printf("\r%-78s\r%zu of %zu cells; now %s", "", done, total, doing);
    fflush(stdout);
}

static void end_progress(void)
{
    if (isatty(STDOUT_FILENO))
        printf("\r%-78s\r", "");
}

static void count_cell(Totals *totals, const Cell *cell)
{
    Fault fault = cell->plan->fault;
    totals->cells++;
    totals->by_fault[fault]++;
    if (cell->settled_after_ms > totals->slowest_ms[fault])
        totals->slowest_ms[fault] = cell->settled_after_ms;
    if (!cell->struck)
    {
        printf("HOLE %s: the fault did not happen\n", cell->plan->name);
        totals->holes++;
    }
    if (cell->trouble[0] != '\0')
    {
        printf("FAILED %s: %s (%s, %s to %s)\n", cell->plan->name, cell->trouble, cell->key,
               cell->payment.debit, cell->payment.credit);
        totals->failures++;
    }
}

/* The books are those of all cells so far. */
static void look_at_books(const World *world, Totals *totals, const char *name)
{
    size_t findings = books_look(world->cluster);
    if (findings == 0)
        return;
    printf("FAILED the books, after %s: %zu findings\n", name, findings);
    totals->failures++;
}

static void run_round(World *world, const CellPlan *plans, size_t count, Totals *totals)
{
    Cell *cells = base_calloc(count, sizeof *cells);
    for (size_t i = 0; i < count; i++)
    {
        cells[i].cluster = world->cluster;
        cell_open(&cells[i], &plans[i], totals->cells + i + 1, girod_client(world->bystander));
    }
    round_run(world, cells, count);
    end_progress();
    for (size_t i = 0; i < count; i++)
        count_cell(totals, &cells[i]);
    look_at_books(world, totals, plans[count - 1].name);
    free(cells);
}

static void look_at_ids(const World *world, Totals *totals)
{
    size_t batches = 0;
    size_t findings = ids_look(world->cluster, &batches);
    printf("%zu coordinators have used %zu batch ids, %zu of them wrongly\n", world->girods,
           batches, findings);
    totals->failures += findings > 0 || batches == 0 ? 1 : 0;
}

static int report(const Totals *totals)
{
    for (Fault fault = 0; fault < FAULT_COUNT; fault++)
    {
        if (totals->by_fault[fault] > 0)
            printf("%-12s %3zu cells, the slowest answered finally after %.1f s\n",
                   fault_name(fault), totals->by_fault[fault],
                   (double)totals->slowest_ms[fault] / 1000);
    }
    size_t bad = totals->failures + totals->holes;
    printf("faults: %zu cells, %zu failures, %zu holes\n", totals->cells, totals->failures,
           totals->holes);
    printf("%zu passed, %zu failed\n", bad < totals->cells ? totals->cells - bad : 0, bad);
    return bad == 0 && totals->cells > 0 ? 0 : 1;
}

int main(void)
{
    MatrixOptions options = {.filter = getenv("FAULTS_FILTER"), .quick = is_quick()};
    World world = {.at_once = jobs(),
                   .standstill_ms = options.quick ? STANDSTILL_QUICK_MS : STANDSTILL_MS};
    Totals totals = {0};
    size_t count = 0;
    CellPlan *plans = matrix_new(&options, &count);
    if (plans == NULL || count == 0)
    {
        fprintf(stderr, "faults: FAULTS_FILTER fits no cell\n");
        return 2;
    }
    world.cluster = cluster_new(&(ClusterOptions){
        .shards = 3,
        .postgres_settings = "max_connections = 1000\n", /* each coordinator has a few */
    });
    world_start(&world);
    for (size_t done = 0, size; done < count; done += size)
    {
        size = round_size(&world, &plans[done], count - done);
        show_progress(done, count, plans[done].name);
        run_round(&world, &plans[done], size, &totals);
    }
    look_at_ids(&world, &totals);
    world_stop(&world);
    free(plans);
    return report(&totals);
}
