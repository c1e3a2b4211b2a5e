/*
 * A saga: hold, credit, close, cancel, refund. The labels of Girod are the stages of the code
 * (`girod --print-stages`, saga), its jumps the edges of that table; run.sh compares both.
 *
 * GIRODS coordinators work on one transfer at once: each may get the request (twins of its key) and
 * each claims the transfer whenever it finds it pending, to go forward or to give it up. The credit
 * account may refuse at one time and not at another. The partition of the credit account (MOVE) or
 * of the debit account (HOME_MOVE) may move to another shard, once; coordinators learn of it only
 * by being refused, and the old copy of the rows stays behind.
 *
 * Everything may happen at any time: a coordinator waits for ever between any two of its messages,
 * or crashes and starts again without memory; an answer is lost; a message that nobody waits for
 * any more is executed all the same, late, or not at all; Postgres ends a session and rolls it
 * back. Shards keep what they have committed.
 *
 * Checked at every instant: at most one debit, one credit, one refund; no refund beside a credit,
 * and neither without the debit; posted only with the credit applied, reversed only without it; no
 * answer is contradicted. At the end: not pending, and debit = credit + refund.
 *
 * One program is made of this file; what it explores is said by the environment (see run.sh):
 * GIRODS (1 or 2), MOVE, HOME_MOVE, MISTAKE, and BOUNDED: failures end, so that an end can be asked
 * for.
 */

/* Mistakes, each of which must lead to a counter-example. */
#define REFUND_FIRST 1                    /* given up: the refund, and no tombstone before it */
#define LOOK_INSTEAD_OF_TOMBSTONE 2       /* no receipt is seen: the credit is taken for given up */
#define READ_BACK_TOO_EARLY 3             /* the tombstone's insert is not read back */
#define SOFT_REFUSAL 4                    /* a refused credit leaves no receipt */
#define DELETE_RECEIPT 5                  /* receipts go once their transfer is final */
#define DELETE_VERDICT 6                  /* the abort row of a hold goes */
#define UNKNOWN_IS_FAILED 7               /* no answer to the hold: "nothing happened" */
#define REFUND_WHATEVER_THE_STATE 8       /* … of the transfer is */
#define UNFENCED_CREDIT 9
#define UNFENCED_TOMBSTONE 10
#define UNFENCED_CLOSE 11                 /* and refund */
#define RECEIPTS_STAY_BEHIND 12           /* a move does not take them along */
#define NOBODY_CLAIMS 13                  /* what is pending waits for its own coordinator */

#define GIRODS_MAX 2
hidden byte mistake, girods, move, home_move, bounded;
c_decl { \#define CHOICE(name) (getenv(name) != NULL ? (unsigned char) atoi(getenv(name)) : 0) }

mtype = { NONE,
          HOLD, CREDIT, CLOSE, CANCEL, REFUND,    /* batches, as the code calls their kinds */
          PENDING, POSTED, REVERSED,              /* transfers */
          APPLIED, REFUSED, CANCELLED,            /* receipts */
          COMMIT, ABORT,                          /* verdicts */
          NOTHING_HAPPENED,                       /* told */
          FAILED };

/* By shard: 0, and where the partition moves to, 1. */
mtype transfer[2] = NONE;
mtype receipt[2] = NONE;
bit home_owner, credit_owner;

mtype verdict[GIRODS_MAX] = NONE;     /* batches of holds, which coordinators may have to ask for */
mtype told[GIRODS_MAX] = NONE;
bool requested[GIRODS_MAX];
bool home_open[GIRODS_MAX];       /* a transaction that holds fence and locks of the home */
bool credit_open[GIRODS_MAX];     /* one that holds those of the credit account's shard */
byte debits, credits, refunds;

/* Messages that nobody waits for any more. Those of open transactions hold the fence. */
bool late_hold[GIRODS_MAX];
bool late_credit, late_refusal, late_refund;
bit late_credit_at, late_refund_at;
bool late_cancel, late_close;
bit late_cancel_at, late_close_at;
bool deleted;

byte failures;                    /* 2 if bounded, else always 1 */
#define MAY_FAIL (failures > 0)
#define FAIL failures = failures - bounded

/* ---- what runs inside the shards; each is one transaction ------------------------------------ */

#define FENCED_HOME(s) (home_owner == s)
#define FENCED_CREDIT(s) (credit_owner == s)
#define FENCED_RECEIVE(s) (FENCED_CREDIT(s) || mistake == UNFENCED_CREDIT)
#define FENCED_TOMBSTONE(s) (FENCED_CREDIT(s) || mistake == UNFENCED_TOMBSTONE)
#define FENCED_SETTLE(s) (FENCED_HOME(s) || mistake == UNFENCED_CLOSE)

/* apply and record: both keys are unique. */
inline hold_at_home(me, s, ret)
{
    if
    :: verdict[me] == NONE && transfer[s] == NONE ->
         assert(told[me] != NOTHING_HAPPENED);
         verdict[me] = COMMIT;
         transfer[s] = PENDING;
         debits++;
         assert(debits == 1);
         ret = PENDING
    :: else -> ret = FAILED
    fi
}

/* apply and receive: the receipt's key is unique. */
inline receive(s, what, ret)
{
    if
    :: receipt[s] == NONE ->
         if
         :: what == APPLIED ->
              credits++;
              assert(credits == 1 && refunds == 0 && debits == 1);
              receipt[s] = APPLIED
         :: what == REFUSED && mistake != SOFT_REFUSAL -> receipt[s] = REFUSED
         :: what == REFUSED && mistake == SOFT_REFUSAL -> skip
         fi;
         ret = what
    :: else -> ret = FAILED
    fi
}

inline set_tombstone(s, ret)
{
    if :: receipt[s] == NONE -> receipt[s] = CANCELLED :: else fi;
    if
    :: mistake == READ_BACK_TOO_EARLY -> ret = CANCELLED
    :: else -> ret = receipt[s]
    fi
}

inline settle_as_posted(s, ret)
{
    if
    :: transfer[s] == PENDING -> assert(credits == 1); transfer[s] = POSTED
    :: else
    fi;
    ret = transfer[s]
}

inline settle_as_reversed(s, ret)
{
    if
    :: transfer[s] == PENDING ||
       (transfer[s] != NONE && mistake == REFUND_WHATEVER_THE_STATE) ->
         transfer[s] = REVERSED;
         refunds++;
         assert(refunds == 1 && credits == 0 && debits == 1)
    :: else
    fi;
    ret = transfer[s]
}

#define IS_FINAL (transfer[home_owner] == POSTED || transfer[home_owner] == REVERSED)

/* Executes what is late, or loses it, and ends sessions. */
proctype Postgres()
{
    mtype ignored = NONE;
end:
    do
    :: atomic { late_hold[0] ->
           if :: skip -> hold_at_home(0, home_owner, ignored) :: skip fi;
           late_hold[0] = false; ignored = NONE }
    :: atomic { late_hold[girods - 1] ->
           if :: skip -> hold_at_home(girods - 1, home_owner, ignored) :: skip fi;
           late_hold[girods - 1] = false; ignored = NONE }
    :: atomic { late_credit ->
           if :: skip -> receive(late_credit_at, APPLIED, ignored) :: skip fi;
           late_credit = false; late_credit_at = 0; ignored = NONE }
    :: atomic { late_refusal ->
           if :: skip -> receive(late_credit_at, REFUSED, ignored) :: skip fi;
           late_refusal = false; late_credit_at = 0; ignored = NONE }
    :: atomic { late_refund ->
           if :: skip -> settle_as_reversed(late_refund_at, ignored) :: skip fi;
           late_refund = false; late_refund_at = 0; ignored = NONE }
    :: atomic { late_cancel ->
           if
           :: FENCED_TOMBSTONE(late_cancel_at) -> set_tombstone(late_cancel_at, ignored)
           :: skip
           fi;
           late_cancel = false; late_cancel_at = 0; ignored = NONE }
    :: atomic { late_close ->
           if
           :: FENCED_SETTLE(late_close_at) -> settle_as_posted(late_close_at, ignored)
           :: skip
           fi;
           late_close = false; late_close_at = 0; ignored = NONE }
    :: atomic { home_open[0] && MAY_FAIL -> FAIL; home_open[0] = false }
    :: atomic { home_open[girods - 1] && MAY_FAIL -> FAIL; home_open[girods - 1] = false }
    :: atomic { credit_open[0] && MAY_FAIL -> FAIL; credit_open[0] = false }
    :: atomic { credit_open[girods - 1] && MAY_FAIL -> FAIL; credit_open[girods - 1] = false }
    :: atomic { mistake == DELETE_RECEIPT && IS_FINAL -> receipt[credit_owner] = NONE }
    :: atomic { mistake == DELETE_VERDICT && verdict[0] == ABORT && !deleted ->
           deleted = true; verdict[0] = NONE }
    od
}

/* A move takes the exclusive lock, hence waits for everybody that holds the fence. */
#define NOBODY_AT_HOME (!home_open[0] && !home_open[girods - 1] && !late_refund && \
                        !late_hold[0] && !late_hold[girods - 1])
#define NOBODY_AT_CREDIT (!credit_open[0] && !credit_open[girods - 1] && \
                          !late_credit && !late_refusal)

proctype HomeMover()
{
    if
    :: atomic { NOBODY_AT_HOME -> transfer[1] = transfer[0]; home_owner = 1 }
    :: skip
    fi
}

proctype CreditMover()
{
    if
    :: atomic { NOBODY_AT_CREDIT ->
           if
           :: mistake != RECEIPTS_STAY_BEHIND -> receipt[1] = receipt[0]
           :: else
           fi;
           credit_owner = 1 }
    :: skip
    fi
}

/* ---- girod ---------------------------------------------------------------------------------- */

inline tell(what)
{
    atomic {
        if
        :: told[me] == NONE && requested[me] ->
             told[me] = what;
             assert(what != NOTHING_HAPPENED || verdict[me] != COMMIT);
             assert(what == NOTHING_HAPPENED || transfer[home_owner] == what)
        :: else
        fi
    }
}

#define OTHER (girods - 1 - me)

/* A shard answers "stale route": the routing is read again. */
inline refresh()
{
    home_at = home_owner;
    credit_at = credit_owner
}

proctype Girod(byte me)
{
    bit home_at, credit_at;       /* the routing as it is believed to be */
    mtype kind = NONE;            /* what the next batch does; NONE = the transfer is let go */
    mtype found = NONE;           /* under the locks */
    mtype outcome = NONE;         /* of the batch: a state, a receipt, FAILED */

end:
    do
    :: atomic { !requested[me] -> requested[me] = true; kind = HOLD }; goto acquire
    :: atomic { (transfer[home_at] == PENDING || transfer[home_owner] == PENDING) &&
                mistake != NOBODY_CLAIMS ->
           if
           :: kind = CREDIT
           :: mistake != REFUND_FIRST -> kind = CANCEL
           :: mistake == REFUND_FIRST -> kind = REFUND
           fi }; goto acquire
    od;

acquire:
    if
    :: kind == CLOSE -> goto close
    :: kind == CANCEL -> goto cancel
    :: kind != CLOSE && kind != CANCEL -> goto lock
    :: atomic { MAY_FAIL -> FAIL }; goto release
    fi;

lock:
    if
    :: atomic { kind == CREDIT ->
           if
           :: FENCED_RECEIVE(credit_at) && !credit_open[OTHER] ->
                credit_open[me] = true; found = receipt[credit_at]
           :: else -> refresh(); outcome = FAILED
           fi }
    :: atomic { kind == HOLD ->
           if
           :: FENCED_HOME(home_at) && !home_open[OTHER] ->
                home_open[me] = true; found = transfer[home_at]
           :: else -> refresh(); outcome = FAILED
           fi }
    :: atomic { kind == REFUND ->
           if
           :: FENCED_SETTLE(home_at) && !home_open[OTHER] ->
                home_open[me] = true; found = transfer[home_at]
           :: else -> refresh(); outcome = FAILED
           fi }
    :: atomic { MAY_FAIL -> FAIL }; outcome = FAILED
    fi;
    if
    :: outcome == FAILED -> goto release
    :: else -> goto judge
    fi;

judge:
    if
    :: kind == HOLD -> goto hold
    :: kind == CREDIT -> goto credit
    :: kind == REFUND && found == PENDING -> goto refund
    :: kind == REFUND && found != PENDING -> outcome = found; goto release
    fi;

hold:
    if
    :: found != NONE -> outcome = found; goto release        /* a twin was first */
    :: atomic { found == NONE && home_open[me] ->
           hold_at_home(me, home_at, outcome); home_open[me] = false }; goto release
    :: atomic { found == NONE && home_open[me] && MAY_FAIL -> FAIL;
           home_open[me] = false; late_hold[me] = true };
         if
         :: mistake == UNKNOWN_IS_FAILED -> outcome = FAILED; goto release
         :: mistake != UNKNOWN_IS_FAILED -> goto ask
         :: atomic { MAY_FAIL -> FAIL }; goto crash
         fi
    :: atomic { found == NONE && !home_open[me] -> outcome = FAILED }; goto release
    fi;

ask:
    if
    :: atomic { verdict[me] == NONE -> verdict[me] = ABORT; outcome = FAILED }
    :: atomic { verdict[me] == ABORT -> outcome = FAILED }
    :: atomic { verdict[me] == COMMIT -> outcome = PENDING }
    fi;
    goto release;

credit:
    if
    :: atomic { found != NONE -> outcome = found }; goto release
    :: atomic { found == NONE && credit_open[me] ->
           if
           :: skip -> receive(credit_at, APPLIED, outcome)
           :: skip -> receive(credit_at, REFUSED, outcome)
           fi;
           credit_open[me] = false }; goto release
    :: atomic { found == NONE && credit_open[me] && MAY_FAIL && !late_credit && !late_refusal ->
           FAIL;
           if :: late_credit = true :: late_refusal = true fi;
           late_credit_at = credit_at;
           credit_open[me] = false; outcome = FAILED }; goto release
    :: atomic { found == NONE && !credit_open[me] -> outcome = FAILED }; goto release
    fi;

close:
    if
    :: atomic { FENCED_SETTLE(home_at) -> settle_as_posted(home_at, outcome) }
    :: atomic { !FENCED_SETTLE(home_at) -> refresh(); outcome = FAILED }
    :: atomic { MAY_FAIL && !late_close -> FAIL;
           late_close = true; late_close_at = home_at; outcome = FAILED }
    fi;
    goto release;

cancel:
    if
    :: atomic { mistake == LOOK_INSTEAD_OF_TOMBSTONE ->
           outcome = receipt[credit_at];
           if :: outcome == NONE -> outcome = CANCELLED :: else fi }
    :: atomic { FENCED_TOMBSTONE(credit_at) -> set_tombstone(credit_at, outcome) }
    :: atomic { !FENCED_TOMBSTONE(credit_at) -> refresh(); outcome = FAILED }
    :: atomic { MAY_FAIL && !late_cancel -> FAIL;
           late_cancel = true; late_cancel_at = credit_at; outcome = FAILED }
    fi;
    goto release;

refund:
    if
    :: atomic { home_open[me] ->
           settle_as_reversed(home_at, outcome); home_open[me] = false }
    :: atomic { home_open[me] && MAY_FAIL && !late_refund -> FAIL;
           late_refund = true; late_refund_at = home_at;
           home_open[me] = false; outcome = FAILED }
    :: atomic { !home_open[me] -> outcome = FAILED }
    fi;
    goto release;

/* What the batcher makes of a result: the next step, or letting go until it is claimed again. */
release:
    atomic {
        home_open[me] = false;
        credit_open[me] = false;
        found = NONE;
        if
        :: kind == HOLD && outcome == PENDING -> kind = CREDIT
        :: kind == HOLD && (outcome == NONE || outcome == FAILED) ->
             tell(NOTHING_HAPPENED); kind = NONE
        :: (outcome == POSTED || outcome == REVERSED) -> tell(outcome); kind = NONE
        :: kind == CREDIT && outcome == APPLIED -> kind = CLOSE
        :: kind == CREDIT && (outcome == REFUSED || outcome == CANCELLED) -> kind = REFUND
        :: kind == CANCEL && outcome == APPLIED -> kind = CLOSE
        :: kind == CANCEL && (outcome == REFUSED || outcome == CANCELLED) -> kind = REFUND
        :: else -> kind = NONE
        fi;
        outcome = NONE
    };
    goto next;

next:
    if
    :: kind != NONE -> goto acquire
    :: kind == NONE -> goto end
    :: atomic { MAY_FAIL -> FAIL }; goto crash
    fi;

/* What was open stays so until Postgres ends the session. */
crash:
    atomic { kind = NONE; found = NONE; outcome = NONE; goto end }
}

proctype Monitor()
{
    byte k = 0;
    timeout ->
    assert(transfer[home_owner] != PENDING);
    assert(debits == credits + refunds);
    do
    :: k < girods ->
         assert(told[k] != POSTED || transfer[home_owner] == POSTED);
         assert(told[k] != REVERSED || transfer[home_owner] == REVERSED);
         k++
    :: else -> break
    od
}

init
{
    byte i = 0;
    c_code {
        mistake = CHOICE("MISTAKE");
        girods = CHOICE("GIRODS");
        move = CHOICE("MOVE");
        home_move = CHOICE("HOME_MOVE");
        bounded = CHOICE("BOUNDED");
    };
    atomic {
        if :: bounded -> failures = 2 :: else -> failures = 1; run Monitor() fi;
        run Postgres();
        if :: move -> run CreditMover() :: else fi;
        if :: home_move -> run HomeMover() :: else fi;
        do
        :: i < girods -> run Girod(i); i++
        :: else -> break
        od
    }
}

ltl every_saga_ends { [] (transfer[home_owner] == PENDING -> <> IS_FINAL) }
