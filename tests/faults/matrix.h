/*
 * The fault matrix: every place where a failpoint can strike, generated from the stage tables,
 * times {before, sent, after}, times every kind of fault. Each of these is a cell.
 *
 * Most stages are passed by any transfer of their mode. The others lie behind something that goes
 * wrong first: their *way* says what. A stage that several kinds of batches pass has several ways,
 * each with cells of its own. A new stage without a way that leads there shows as holes.
 */
#ifndef GIRO_TESTS_MATRIX_H
#define GIRO_TESTS_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

typedef enum Fault
{
    FAULT_ERROR,    /* the shard answers an error, or its answer is lost */
    FAULT_CUT,      /* the connection to the shard is lost */
    FAULT_RESTART,  /* the coordinator crashes and is started again, alone */
    FAULT_TAKEOVER, /* it crashes and does not come back: another one takes over */
    FAULT_SHARD,    /* the shard is killed and started again */
    FAULT_STOP,     /* the coordinator stops, beyond all time-outs, and goes on */
    FAULT_PAUSE, /* the batch pauses, beyond all time-outs, all else in the coordinator goes on */
    FAULT_COUNT,
} Fault;

const char *fault_name(Fault fault);
const char *fault_action(Fault fault); /* of the failpoint */

enum
{
    WAY_ARMS_MAX = 2,
};

/* How a transfer gets to a place. */
typedef struct Way
{
    const char *mode;
    const char *stage;
    const char *name; /* "" for the only one, or the usual one */
    struct
    {
        const char *place;
        const char *action;
        int ms;
        int more;           /* strokes after the first */
    } arms[WAY_ARMS_MAX];   /* what goes wrong first */
    int skip;               /* how often the place is passed before it is the one that is meant */
    const char *fields;     /* of the request; NULL = those of its mode */
    const char *refusal;    /* not NULL: it ends reversed, and why */
    bool credit_is_closed;  /* the credit account is */
    bool leg_is_taken_away; /* the first arm stops; somebody rolls back the prepared leg */
    bool is_inherited;      /* the first arm crashes another coordinator, whose heir gets there */
} Way;

typedef struct CellPlan
{
    char mode[8];
    char stage[16];
    char side[8];
    char point[8];
    char place[64]; /* name of the failpoint */
    char name[96];  /* place[:way]/fault */
    Fault fault;
    const Way *way;
    int home; /* shards */
    int remote;
} CellPlan;

typedef struct MatrixOptions
{
    const char *filter; /* a regular expression for names of cells; NULL = all */
    bool quick;         /* a third of them: every place with every fault, and every point */
} MatrixOptions;

/* The cells; those with an heir come last, and those of a fault together; free() them. NULL if the
 * filter is no regular expression. */
CellPlan *matrix_new(const MatrixOptions *options, size_t *ret_count);

enum
{
    /* The one that is killed in cells with FAULT_SHARD: the side that they are about is there. */
    MATRIX_VICTIM = 2,
};

#endif
