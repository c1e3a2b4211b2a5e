/* See round.h. */
#include "round.h"

#include "blocked.h"
#include "processes.h"

#include <stdio.h>
#include <stdlib.h>

enum
{
    END_MS = 30000,
    STARTING_MAX = 4,
};

typedef struct Round
{
    World *world;
    Cell *cells;
    size_t count;
} Round;

/* ---- coordinators ---------------------------------------------------------------------------- */

/* Under a name and on a port that none has had before. */
static Girod *new_girod(World *world)
{
    char instance[32];
    snprintf(instance, sizeof instance, "f-%zu", ++world->girods);
    return girod_new(world->cluster, instance);
}

static void start_bystander(World *world)
{
    world->bystander = new_girod(world);
    if (!girod_await_ready(world->bystander))
    {
        fprintf(stderr, "faults: no coordinator can be started\n");
        exit(1);
    }
}

static void end_bystander(World *world)
{
    girod_free(world->bystander);
    world->bystander = NULL;
}

void world_start(World *world)
{
    cluster_signal_girod(world->cluster, 1, SIGKILL);
    start_bystander(world);
}

void world_stop(World *world)
{
    end_bystander(world);
    cluster_free(world->cluster);
}

static void start_girods(const Round *round)
{
    for (size_t i = 0; i < round->count + STARTING_MAX; i++)
    {
        if (i < round->count)
            round->cells[i].girod = new_girod(round->world);
        if (i >= STARTING_MAX && !girod_await_ready(round->cells[i - STARTING_MAX].girod))
            cell_blame(&round->cells[i - STARTING_MAX], "its coordinator does not come up");
    }
}

static void end_girods(Round *round)
{
    for (size_t i = 0; i < round->count; i++)
    {
        girod_free(round->cells[i].girod);
        round->cells[i].girod = NULL;
    }
}

static void continue_girods(Round *round)
{
    for (size_t i = 0; i < round->count; i++)
        girod_signal(round->cells[i].girod, SIGCONT);
}

/* ---- what all rounds do ---------------------------------------------------------------------- */

static void strike(Round *round, size_t i)
{
    Cell *cell = &round->cells[i];
    cell_strike(cell, cell->girod, round->world->standstill_ms);
}

/* The same request goes to the bystander. */
static void send_twin(Round *round, size_t i)
{
    cell_send_twin(&round->cells[i], girod_client(round->world->bystander));
}

/* The twin follows at once, and may overtake what has only been sent. */
static void strike_beside_twins(Round *round)
{
    for (size_t i = 0; i < round->count; i++)
    {
        strike(round, i);
        send_twin(round, i);
    }
}

static void collect(Round *round)
{
    for (size_t i = 0; i < round->count; i++)
        cell_collect(&round->cells[i]);
}

static void settle_at_bystander(Round *round)
{
    for (size_t i = 0; i < round->count; i++)
        cell_settle(&round->cells[i], girod_client(round->world->bystander));
}

static void settle_at_their_own(Round *round)
{
    for (size_t i = 0; i < round->count; i++)
        cell_settle(&round->cells[i], girod_client(round->cells[i].girod));
}

static void check_all(Round *round)
{
    for (size_t i = 0; i < round->count; i++)
        cell_check(&round->cells[i]);
}

/* ---- the kinds of rounds --------------------------------------------------------------------- */

static void run_passing(Round *round)
{
    start_girods(round);
    for (size_t i = 0; i < round->count; i++)
        strike(round, i);
    collect(round);
    settle_at_their_own(round);
    settle_at_bystander(round);
    check_all(round);
    end_girods(round);
}

static void restart(Cell *cell)
{
    girod_signal(cell->girod, SIGKILL); /* if its fault did not strike */
    if (!girod_await_killed(cell->girod, END_MS))
        cell_blame(cell, "its coordinator has ended by itself");
    girod_start(cell->girod);
    if (!girod_await_ready(cell->girod))
        cell_blame(cell, "its coordinator does not come up again");
}

/* The same coordinator, again and again, and nobody else. It meets the next fault while it is still
 * at work on what the last one left. */
static void run_restarts(Round *round)
{
    World *world = round->world;
    end_bystander(world);
    Girod *alone = new_girod(world);
    girod_await_ready(alone);
    for (size_t i = 0; i < round->count; i++)
    {
        cell_strike(&round->cells[i], alone, 0);
        cell_collect(&round->cells[i]);
        restart(&round->cells[i]);
    }
    settle_at_their_own(round);
    start_bystander(world);
    settle_at_bystander(round);
    check_all(round);
    girod_free(alone);
}

/* The bystander takes over, and is killed itself; a newcomer says the same. */
static void run_takeovers(Round *round)
{
    start_girods(round);
    strike_beside_twins(round);
    collect(round);
    settle_at_bystander(round);
    end_bystander(round->world);
    start_bystander(round->world);
    settle_at_bystander(round);
    check_all(round);
    end_girods(round);
}

/* All stop where their fault is, the shard is killed, they go on without it, and it comes back. */
static void run_killed_shards(Round *round)
{
    const World *world = round->world;
    start_girods(round);
    strike_beside_twins(round);
    cluster_signal_postgres(world->cluster, MATRIX_VICTIM, SIGKILL);
    continue_girods(round);
    cluster_start_postgres(world->cluster);
    collect(round);
    settle_at_their_own(round);
    settle_at_bystander(round);
    check_all(round);
    end_girods(round);
}

/* What was sent has been done by the time that the twins come. The bystander settles all while they
 * stand still; then they go on, and have to agree. */
static void run_standstills(Round *round)
{
    start_girods(round);
    Watch *watch = watch_new(round->cells, round->count);
    for (size_t i = 0; i < round->count; i++)
    {
        strike(round, i);
        watch_look(watch);
    }
    for (size_t i = 0; i < round->count; i++)
        send_twin(round, i);
    int64_t until = now_ms() + round->world->standstill_ms;
    watch_out(watch);
    watch_free(watch);
    settle_at_bystander(round);
    if (now_ms() < until)
        processes_pause_ms((int)(until - now_ms()));
    continue_girods(round);
    collect(round);
    settle_at_their_own(round);
    settle_at_bystander(round);
    check_all(round);
    end_girods(round);
}

/* One heir, alone but for the one that crashes; each cell is over before the next one begins, for
 * the heir's fault strikes whatever is left behind. */
static void run_inheritances(Round *round)
{
    World *world = round->world;
    end_bystander(world);
    Girod *heir = new_girod(world);
    girod_await_ready(heir);
    for (size_t i = 0; i < round->count; i++)
    {
        Cell *cell = &round->cells[i];
        Girod *other = new_girod(world);
        girod_await_ready(other);
        cell_strike_heir(cell, heir, other);
        girod_free(other);
        if (cell->plan->fault == FAULT_RESTART)
            restart(cell);
        cell_settle(cell, girod_client(heir));
        cell_check(cell);
    }
    start_bystander(world);
    settle_at_bystander(round);
    girod_free(heir);
}

typedef enum KindName
{
    KIND_PASSING,
    KIND_RESTARTS,
    KIND_TAKEOVERS,
    KIND_KILLED_SHARDS,
    KIND_STANDSTILLS,
    KIND_INHERITANCES,
} KindName;

typedef struct Kind
{
    void (*run)(Round *round);
    bool has_one_girod; /* for all of its cells */
} Kind;

static const Kind *kind_of(const CellPlan *plan)
{
    static const Kind kinds[] = {
        [KIND_PASSING] = {run_passing},         [KIND_RESTARTS] = {run_restarts, true},
        [KIND_TAKEOVERS] = {run_takeovers},     [KIND_KILLED_SHARDS] = {run_killed_shards},
        [KIND_STANDSTILLS] = {run_standstills}, [KIND_INHERITANCES] = {run_inheritances, true},
    };
    static const KindName by_fault[FAULT_COUNT] = {
        [FAULT_ERROR] = KIND_PASSING,       [FAULT_CUT] = KIND_PASSING,
        [FAULT_RESTART] = KIND_RESTARTS,    [FAULT_TAKEOVER] = KIND_TAKEOVERS,
        [FAULT_SHARD] = KIND_KILLED_SHARDS, [FAULT_STOP] = KIND_STANDSTILLS,
        [FAULT_PAUSE] = KIND_STANDSTILLS,
    };
    return &kinds[plan->way->is_inherited ? KIND_INHERITANCES : by_fault[plan->fault]];
}

size_t round_size(const World *world, const CellPlan *plans, size_t count)
{
    const Kind *kind = kind_of(&plans[0]);
    size_t size = 1;
    while (size < count && kind_of(&plans[size]) == kind &&
           (kind->has_one_girod || size < world->at_once))
        size++;
    return size;
}

void round_run(World *world, Cell *cells, size_t count)
{
    Round round = {world, cells, count};
    kind_of(cells[0].plan)->run(&round);
}
