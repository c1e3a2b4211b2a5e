/*
 * A batch: transfers of one ordered pair (home, remote) that are locked, judged and decided
 * together.
 *
 * This is the data that the stages work on. A batch has one side per shard, in ascending order of
 * the shards' ordinals (the lock order); each side knows its session, its slice of the accounts,
 * and the last answer it got. Every attempt is a new batch with a fresh random id: an id that was
 * ever sent is never sent again.
 */
#ifndef GIRO_BATCH_H
#define GIRO_BATCH_H

#include "protocol/answer.h"
#include "protocol/judge.h"
#include "protocol/kind.h"
#include "protocol/stage.h"
#include "protocol/transfer.h"

#include <sys/queue.h>

enum
{
    BATCH_TRANSFERS_MAX = 1000,
    BATCH_PARTITIONS_MAX = 256,    /* per side; each costs a lock that a prepared leg keeps */
    BATCH_BYTES_MAX = 1024 * 1024, /* of the requests' texts */
    BATCH_PARAMETER_BYTES = 8 * 1024 * 1024, /* what the above can grow to in one message */
};

typedef struct Protocol Protocol;

TAILQ_HEAD(TransferWaiterList, TransferWaiter);
TAILQ_HEAD(TransferList, Transfer);

/* What an attempt came to, for one transfer. */
typedef enum TransferResult
{
    RESULT_NONE,
    RESULT_RECORDED,       /* `record` stands durably at home */
    RESULT_RECEIVED,       /* `receipt` stands durably on the credit account's shard */
    RESULT_REFUND_REFUSED, /* the money cannot be paid back now; `failure` says why */
    RESULT_NO_DEBIT_ACCOUNT,
    RESULT_CLOSED, /* new, and nothing new is taken there; `failure` says why */
    RESULT_BUSY,
    RESULT_STALE,
    RESULT_MOVING,
    RESULT_EXHAUSTED, /* the shard had no room: nothing recorded; `failure` says more */
    RESULT_FAILED,    /* definitely nothing recorded; `failure` says why */
} TransferResult;

/* The outcome of a saga's credit: the first receipt decides. */
typedef enum Receipt
{
    RECEIPT_NONE,
    RECEIPT_APPLIED,
    RECEIPT_REFUSED,
    RECEIPT_CANCELLED,
    RECEIPT_COUNT,
} Receipt;

/* A transfer in flight: filed by the batcher, worked on by one batch at a time. */
typedef struct Transfer
{
    uint8_t id[16];
    TransferRequest request; /* strings follow the struct in the same block */
    size_t bytes;
    Location debit;
    Location credit;
    int64_t routed_version; /* of the directory copy that the locations are from */

    BatchKind work; /* what is to be done next */

    /* of a saga */
    bool held;              /* its debit is durable: it cannot be "not accepted" any more */
    ErrorCode giving_up;    /* why it is to be reversed; ERROR_NONE while it is not */
    uint64_t give_up_at_ms; /* its deadline; 0 = never */
    Receipt receipt;
    ErrorCode receipt_refusal;
    int32_t attempts; /* claims so far */
    bool redo;        /* it is posted, by 2PC; its credit was lost, and is done again */

    /* the last attempt */
    TransferResult result;
    bool replayed;         /* the record was there before this attempt */
    TransferRecord record; /* strings point into this block, or into `found` */
    TransferRecord *found; /* a record that stood already; owned */
    Error failure;
    bool debit_is_busy; /* RESULT_BUSY: which account was locked */
    bool credit_is_busy;
    size_t debit_index; /* into the batch's accounts */
    size_t credit_index;

    /* the batcher's */
    uint64_t asked_at_us; /* for measuring; 0: it was claimed */
    TAILQ_ENTRY(Transfer) link;
    struct TransferList *queue; /* that it stands in; NULL while it is in a batch */
    struct TransferWaiterList waiters;
    struct TransferList rivals; /* twins of the key with other content: never sent */
    struct Transfer *claim;     /* what to go on with when this repeat has landed; NULL, or owned */
    uint32_t debit_place;       /* at the gate */
    uint32_t credit_place;
    int failures;
    uint64_t busy_since_ms;  /* 0 while it is not */
    uint64_t stale_since_ms; /* the same */
    uint64_t exhausted_since_ms;
} Transfer;

typedef enum SideRole
{
    SIDE_HOME = 1,
    SIDE_REMOTE = 2,
} SideRole;
const char *side_role_name(SideRole role); /* "home", "remote" */

typedef struct Batch Batch;
typedef struct Side Side;

/* Adds a stage's messages to the side's session. */
typedef void (*SideCompose)(Side *side);
/* Records what the answers say: side->outcome, and data into the batch. */
typedef void (*SideRead)(Side *side, const PgAnswer *answers, size_t count);

struct Side
{
    Batch *batch;
    SideRole role;
    Shard *shard;
    Session *session; /* NULL while none is held */
    ShardWaiter waiter;

    /* its slice of the batch's accounts and its partitions, both ascending */
    size_t account_first;
    size_t account_count;
    int32_t partitions[BATCH_PARTITIONS_MAX];
    int64_t epochs[BATCH_PARTITIONS_MAX];
    size_t partition_count;

    /* the exchange under way, and its answer */
    SideCompose compose;
    SideRead read;
    uint64_t sent_at_ms;
    uint64_t sent_at_us; /* the same, for measuring only */
    bool own_session;    /* the exchange needs the session that holds the transaction */
    bool lose_answer;    /* a failpoint asked for it */
    bool locked;         /* its accounts are: a transaction is open */
    AnswerClass outcome;
    char sqlstate[6];
    char text[160];

    /* the backend that PREPARE was sent to, in case its answer never comes */
    int backend_pid;
    int64_t backend_start_us;
};

typedef enum BatchOutcome
{
    BATCH_UNDECIDED,
    BATCH_COMMITTED, /* the home row says commit, durably */
    BATCH_FAILED,    /* it definitely did not and will not commit */
} BatchOutcome;

struct Batch
{
    Protocol *protocol;
    uint8_t id[16];
    char gid[GID_MAX + 1];
    BatchKind kind;

    Stage stage;
    int pending;      /* answers, sessions and pauses still waited for */
    int tries;        /* of this stage */
    LoopTimer *timer; /* back-off of a self-edge, or a failpoint's pause */
    void (*after_pause)(Batch *batch);
    Side *paused;            /* whose exchange goes on after the pause */
    LoopTimer *visible;      /* when to tell the clients though the remote leg does not show yet */
    bool driven;             /* the driver is at it */
    bool ready;              /* stands in the list of those to be driven */
    TAILQ_ENTRY(Batch) link; /* ready, or pooled */

    Side sides[2];
    int side_count;
    Side *home;   /* NULL in a batch that works on the credit accounts' shard only */
    Side *remote; /* NULL in one that works on the debit accounts' shard only */

    Transfer **transfers; /* in order of arrival */
    Transfer **sorted;    /* by id; filled when first needed */
    bool is_sorted;
    size_t count;
    size_t capacity;
    size_t bytes;
    JudgeAccount *accounts; /* the first side's, then the second side's */
    JudgeTransfer *judged;
    JudgeEntry *entries;
    size_t entry_count;
    size_t accepted; /* transfers to post */
    size_t refused;
    size_t replays;

    bool is_recovered; /* a batch that was left behind: its transfers are not known here */
    bool judged_once;
    bool prepare_unknown; /* a PREPARE may still arrive */
    bool backend_gone;    /* no: the backend that it was sent to has ended */
    bool leg_is_prepared; /* what `look` saw */
    bool leg_stands;
    bool leg_is_missing;
    bool leg_is_settled; /* applied, found visible, cancelled, or made due as credits */
    bool is_finished;    /* its home row says that nothing is left to do */
    Side *last;          /* of the last exchange */
    BatchOutcome outcome;
    Error cause; /* of the first thing that went wrong; code ERROR_NONE: nothing has */
    int64_t created_at_us;
    int64_t decided_at_us;
    uint8_t (*finishing)[16]; /* batches whose finish rides with this decide */
    size_t finishing_count;
    bool reported;

    void *lane; /* the batcher's */
    int lane_kind;
};

typedef struct BatchPlan
{
    BatchKind kind;
    Shard *home;   /* NULL if the kind does not work there */
    Shard *remote; /* the same */
} BatchPlan;

/* Takes a batch from the pool. */
Batch *batch_new(Protocol *protocol, const BatchPlan *plan);
/* Adds a transfer whose accounts live on the plan's shards; false when the batch is full. */
bool batch_add(Batch *batch, Transfer *transfer) ATTR_MUST_USE;
/* Sorts out accounts and partitions, names the batch, and enters its first stage. */
void batch_start(Batch *batch);

/* Instead of add and start: takes a batch that was left behind to its end, from `look` on if it is
 * known to be decided, from `ask` on otherwise. */
void batch_recover(Batch *batch, const char *gid, bool decided);

/* The member with this id. It must be one. */
Transfer *batch_find(Batch *batch, const uint8_t id[16]);
/* The names of the shards of the debit and of the credit accounts; "*" for several. */
const char *batch_home_name(const Batch *batch);
const char *batch_remote_name(const Batch *batch);

/* For the stages: the accounts of a side with a leg to apply. */
bool batch_account_is_touched(const JudgeAccount *account);

/* For the protocol's pool. */
void batch_dispose(Batch *batch);
void batch_recycle(Batch *batch);

#endif
