/* See matrix.h. */
#include "matrix.h"

#include "base/base.h"
#include "protocol/stage.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const points[] = {"before", "sent", "after"};

static const struct
{
    const char *name;
    const char *action;
} faults[FAULT_COUNT] = {
    [FAULT_ERROR] = {"error", "error"},       [FAULT_CUT] = {"cut", "drop"},
    [FAULT_RESTART] = {"crash", "crash"},     [FAULT_TAKEOVER] = {"takeover", "crash"},
    [FAULT_SHARD] = {"shard-killed", "stop"}, [FAULT_STOP] = {"stop", "stop"},
    [FAULT_PAUSE] = {"pause", "pause"},
};

#define SAGA "\"mode\":\"saga\""

/* A deadline of 1 ms passes in the pause. */
static const Way ways[] = {
    {"local", "ask", "", {{"local.decide.home.after", "error", 0}}},
    {"2pc", "ask", "", {{"2pc.decide.home.after", "error", 0}}},
    {"2pc", "cancel", "", {{"2pc.prepare.remote.after", "error", 0}}},
    {"2pc", "look", "", {{"2pc.apply.remote.after", "error", 0}}},
    {"2pc", "finish", "", {{"2pc.apply.remote.after", "error", 0}}},
    {"2pc", "stuck", "", {{"2pc.apply.remote.before", "error", 0, 9}}},
    {"2pc", "ask", "heir", {{"2pc.decide.home.before", "crash", 0}}, .is_inherited = true},
    {"2pc", "cancel", "heir", {{"2pc.decide.home.before", "crash", 0}}, .is_inherited = true},
    {"2pc", "apply", "heir", {{"2pc.apply.remote.before", "crash", 0}}, .is_inherited = true},
    {"2pc", "look", "heir", {{"2pc.apply.remote.after", "crash", 0}}, .is_inherited = true},
    {"2pc", "finish", "heir", {{"2pc.apply.remote.before", "crash", 0}}, .is_inherited = true},
    {"2pc", "missing", "", {{"2pc.apply.remote.before", "stop", 0}}, .leg_is_taken_away = true},
    {"saga", "ask", "", {{"saga.hold.home.after", "error", 0}}},
    {"saga",
     "cancel",
     "",
     {{"saga.lock.remote.before", "pause", 20}, {"saga.credit.remote.before", "error", 0}},
     .fields = SAGA ",\"deadline_ms\":1",
     .refusal = "deadline-passed"},
    {"saga", "refund", "", .credit_is_closed = true, .refusal = "account-closed"},
    {"saga", "lock", "refund", .skip = 1, .credit_is_closed = true, .refusal = "account-closed"},
};

static const Way usual[] = {{.name = ""}, {.name = "", .fields = SAGA}};

const char *fault_name(Fault fault)
{
    return faults[fault].name;
}

const char *fault_action(Fault fault)
{
    return faults[fault].action;
}

typedef struct Matrix
{
    CellPlan *cells;
    size_t count;
    size_t places;
    const MatrixOptions *options;
    regex_t filter;
    /* whose cells are made */
    bool with_heir;
    Fault fault;
} Matrix;

/* All six ordered pairs of three shards take turns. In FAULT_SHARD the victim is on the side. */
static void choose_shards(CellPlan *cell, size_t turn)
{
    static const int pairs[][2] = {{1, 2}, {2, 1}, {1, 3}, {3, 1}, {2, 3}, {3, 2}};
    const int *pair = pairs[turn % ARRAY_LENGTH(pairs)];
    bool at_home = strcmp(cell->side, "home") == 0;
    int other = turn % 2 == 0 ? 1 : 3;
    cell->home = pair[0];
    cell->remote = pair[1];
    if (cell->fault == FAULT_SHARD)
    {
        cell->home = at_home ? MATRIX_VICTIM : other;
        cell->remote = at_home ? other : MATRIX_VICTIM;
    }
    if (strcmp(cell->mode, "local") == 0)
        cell->remote = cell->home;
}

static void add(Matrix *matrix, const CellPlan *place, const Way *way, size_t point)
{
    CellPlan cell = *place;
    cell.fault = matrix->fault;
    cell.way = way;
    snprintf(cell.point, sizeof cell.point, "%s", points[point]);
    snprintf(cell.place, sizeof cell.place, "%s.%s.%s.%s", cell.mode, cell.stage, cell.side,
             cell.point);
    snprintf(cell.name, sizeof cell.name, "%s%s%s/%s", cell.place, way->name[0] != '\0' ? ":" : "",
             way->name, fault_name(cell.fault));
    choose_shards(&cell, matrix->places + point + cell.fault);
    bool chosen =
        !matrix->options->quick || (matrix->places + cell.fault) % ARRAY_LENGTH(points) == point;
    if (!chosen ||
        (matrix->options->filter != NULL && regexec(&matrix->filter, cell.name, 0, NULL, 0) != 0))
        return;
    matrix->cells = base_realloc(matrix->cells, (matrix->count + 1) * sizeof *matrix->cells);
    matrix->cells[matrix->count++] = cell;
}

static void add_points(Matrix *matrix, const CellPlan *place, const Way *way)
{
    matrix->places++;
    for (size_t point = 0; point < ARRAY_LENGTH(points); point++)
        add(matrix, place, way, point);
}

/* Does the way lead to this place? A refund locks at home only. */
static bool leads_to(const Way *way, const CellPlan *place)
{
    return strcmp(way->mode, place->mode) == 0 && strcmp(way->stage, place->stage) == 0 &&
           (way->skip == 0 || strcmp(place->side, "home") == 0);
}

/* An heir meets errors, cuts and crashes: for the rest it does not matter whose batch it is. */
static void add_way(Matrix *matrix, const CellPlan *place, const Way *way)
{
    if (way->is_inherited == matrix->with_heir &&
        (!way->is_inherited || matrix->fault <= FAULT_RESTART))
        add_points(matrix, place, way);
}

static void visit(void *context, const char *mode, const char *stage, const char *side)
{
    Matrix *matrix = context;
    CellPlan place = {0};
    bool has_usual_way = true;
    snprintf(place.mode, sizeof place.mode, "%s", mode);
    snprintf(place.stage, sizeof place.stage, "%s", stage);
    snprintf(place.side, sizeof place.side, "%s", side);
    for (size_t i = 0; i < ARRAY_LENGTH(ways); i++)
    {
        if (!leads_to(&ways[i], &place))
            continue;
        has_usual_way = has_usual_way && ways[i].name[0] != '\0';
        add_way(matrix, &place, &ways[i]);
    }
    if (has_usual_way)
        add_way(matrix, &place, &usual[strcmp(mode, "saga") == 0 ? 1 : 0]);
}

static void visit_all(Matrix *matrix)
{
    for (matrix->fault = 0; matrix->fault < FAULT_COUNT; matrix->fault++)
    {
        matrix->places = 0;
        stage_visit_places(visit, matrix);
    }
}

CellPlan *matrix_new(const MatrixOptions *options, size_t *ret_count)
{
    Matrix matrix = {.options = options, .cells = base_calloc(1, sizeof *matrix.cells)};
    const char *filter = options->filter != NULL ? options->filter : "";
    if (regcomp(&matrix.filter, filter, REG_EXTENDED | REG_NOSUB) != 0)
    {
        free(matrix.cells);
        return NULL;
    }
    visit_all(&matrix);
    matrix.with_heir = true;
    visit_all(&matrix);
    regfree(&matrix.filter);
    *ret_count = matrix.count;
    return matrix.cells;
}
