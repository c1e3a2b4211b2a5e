/*
 * Two-phase commit with the decision at home. The labels of Girod are the stages of the code
 * (`girod --print-stages`, 2pc), its jumps the edges of that table; run.sh compares both.
 *
 * One debit account at home, one credit account on the remote shard. ATTEMPTS batches want the same
 * transfer: twins of its key over several coordinators, or a retry beside its forerunner that is
 * paused. RECOVERERS coordinators look for what is left behind, all the time.
 *
 * Everything may happen at any time: a coordinator waits for ever, or crashes, between any two of
 * its messages; an answer is lost (a coordinator stops waiting whenever it likes); a request that
 * nobody waits for any more is executed all the same; Postgres ends a session and rolls it back
 * (time-out, crash, pg_terminate_backend); PREPARE fails; ROLLBACK PREPARED comes late; once, a DBA
 * rolls a leg back by hand (DBA). Shards keep what they have committed.
 *
 * Checked: COMMIT PREPARED only under a commit verdict and our ROLLBACK PREPARED never under one;
 * at most one debit and one credit; no answer is contradicted, "nothing happened" included; an
 * alarm only where somebody meddled; at the end debit = credit, and no lock, no leg and no
 * unfinished batch is left.
 *
 * One program is made of this file; what it explores is said by the environment (see run.sh):
 * ATTEMPTS (1 or 2), RECOVERERS, DBA, MISTAKE, and BOUNDED: failures end, so that an end can be
 * asked for.
 */

/* Mistakes, each of which must lead to a counter-example. */
#define DOES_NOT_EXIST_IS_DONE 1          /* COMMIT PREPARED finds nothing: taken for success */
#define ROLL_BACK_BY_AGE 2                /* an old leg is rolled back, and the home not asked */
#define DELETE_VERDICT 3                  /* the abort row goes once its leg is gone */
#define DELETE_REMOTE_ROW 4               /* the remote row goes once the batch is finished */
#define REUSE_BATCH_ID 5                  /* another transfer comes under an id of before */
#define LOOK_INSTEAD_OF_ASK 6             /* no commit row is seen: taken for an abort */
#define UNKNOWN_IS_FAILED 7               /* no answer to the decision: "nothing happened" */
#define RESEND_COMMIT 8                   /* … sent again on a new session, which says COMMIT */
#define DECIDE_EARLY 9                    /* the decision does not wait for PREPARE */
#define REDO_WITHOUT_RECEIPT 10           /* a missing leg is credited anew, unmarked */
#define EFFECT_NONE_SPEAKS_FOR_THE_KEY 11 /* … although it speaks of its own attempt only */
#define LOOK_AT_THE_ROW_FIRST 12          /* and at the prepared transactions afterwards */
#define NO_SESSION_TIMEOUT 13             /* Postgres never ends a session whose client is stuck */
#define NOBODY_RECOVERS 14                /* what is left behind waits for its own coordinator */

#define ATTEMPTS_MAX 2
hidden byte mistake, attempts, recoverers, dba, bounded;
c_decl { \#define CHOICE(name) (getenv(name) != NULL ? (unsigned char) atoi(getenv(name)) : 0) }

#define ID(a) ((a) * (mistake != REUSE_BATCH_ID))
#define KEY(a) ((a) * (mistake == REUSE_BATCH_ID))

mtype = { NONE, LOCK, PREPARE, DECIDE,            /* requests */
          OK, FOUND, FAILED,                      /* answers */
          OPEN, INSERTED, ENDED,                  /* transactions of sessions */
          PREPARED, FINISHING,                    /* prepared transactions */
          COMMIT, ABORT,                          /* verdicts */
          POSTED, REFUSED, NOTHING_HAPPENED,      /* transfers, and what clients are told */
          APPLIED };

/* The home shard: sessions by attempt, rows by batch id and by key. */
mtype home[ATTEMPTS_MAX] = NONE;
mtype home_request[ATTEMPTS_MAX] = NONE;
mtype home_answer[ATTEMPTS_MAX] = NONE;
byte debit_lock;                          /* attempt + 1 */
mtype verdict[ATTEMPTS_MAX] = NONE;           /* batches */
bool finished[ATTEMPTS_MAX];
mtype transfer[ATTEMPTS_MAX] = NONE;
bool due[ATTEMPTS_MAX];                       /* its leg is missing: to be credited anew */
byte debit[ATTEMPTS_MAX];

/* The remote shard. */
mtype leg[ATTEMPTS_MAX] = NONE;
mtype leg_request[ATTEMPTS_MAX] = NONE;
mtype leg_answer[ATTEMPTS_MAX] = NONE;
byte credit_lock;                         /* attempt + 1 of a session; IN_DOUBT of a prepared leg */
#define IN_DOUBT (ATTEMPTS_MAX + 1)
mtype gid[ATTEMPTS_MAX] = NONE;               /* pg_prepared_xacts */
byte content[ATTEMPTS_MAX];                   /* the attempt that prepared it */
bool row[ATTEMPTS_MAX];                       /* batches, role remote */
mtype receipt[ATTEMPTS_MAX] = NONE;           /* of a leg that is credited anew */
byte credit[ATTEMPTS_MAX];

bool judged_refused[ATTEMPTS_MAX];
mtype told[ATTEMPTS_MAX] = NONE;
bool over[ATTEMPTS_MAX];                      /* the coordinator of this attempt has ended */
bool late_cancel[ATTEMPTS_MAX];               /* ROLLBACK PREPARED under way, nobody waits for it */
bool meddled;
bool deleted;

/* ---- Postgres ------------------------------------------------------------------------------- */

inline home_ends(a)
{
    if :: debit_lock == a + 1 -> debit_lock = 0 :: else fi;
    home[a] = ENDED
}

inline home_replies(a, answer)
{
    home_request[a] = NONE;
    home_answer[a] = answer
}

/* The session of an attempt at home. */
proctype Home(byte a)
{
end:
    do
    :: atomic { home_request[a] == LOCK && debit_lock == 0 && home[a] == NONE ->
           debit_lock = a + 1;
           home[a] = OPEN;
           if
           :: transfer[KEY(a)] == NONE -> home_replies(a, OK)
           :: else -> home_replies(a, FOUND)
           fi
       }
    :: atomic { home_request[a] == LOCK && (debit_lock != 0 || home[a] != NONE) ->
           home_ends(a); home_replies(a, FAILED)
       }
    :: atomic { home_request[a] == DECIDE && home[a] == OPEN && verdict[ID(a)] == NONE ->
           home[a] = INSERTED                     /* apply and record; others wait for the key */
       }
    :: atomic { home_request[a] == DECIDE && home[a] == OPEN && verdict[ID(a)] != NONE ->
           home_ends(a); home_replies(a, FAILED)  /* 23505 */
       }
    :: atomic { home_request[a] == DECIDE && home[a] == ENDED -> home_replies(a, FAILED) }
    :: atomic { home_request[a] == DECIDE && home[a] == INSERTED ->
           assert(verdict[ID(a)] == NONE && transfer[KEY(a)] == NONE);
           assert(told[a] != NOTHING_HAPPENED);
           verdict[ID(a)] = COMMIT;
           if
           :: judged_refused[a] -> transfer[KEY(a)] = REFUSED; finished[ID(a)] = true
           :: else ->
                transfer[KEY(a)] = POSTED;
                debit[KEY(a)]++;
                assert(debit[KEY(a)] == 1)
           fi;
           home_ends(a); home_replies(a, OK)
       }
    :: atomic { (home[a] == OPEN || home[a] == INSERTED) && mistake != NO_SESSION_TIMEOUT ->
           home_ends(a);
           if :: home_request[a] != NONE -> home_replies(a, FAILED) :: else fi
       }
    :: atomic { mistake == DELETE_VERDICT && verdict[ID(a)] == ABORT && gid[ID(a)] == NONE &&
                !deleted ->
           verdict[ID(a)] = NONE; deleted = true
       }
    od
}

inline leg_ends(a)
{
    if :: credit_lock == a + 1 -> credit_lock = 0 :: else fi;
    leg[a] = ENDED
}

inline leg_replies(a, answer)
{
    leg_request[a] = NONE;
    leg_answer[a] = answer
}

inline roll_back_prepared(id)
{
    if
    :: gid[id] == PREPARED -> gid[id] = NONE; content[id] = 0; credit_lock = 0
    :: else
    fi
}

/* The session of an attempt on the remote shard. */
proctype Leg(byte a)
{
end:
    do
    :: atomic { leg_request[a] == LOCK && credit_lock == 0 && leg[a] == NONE ->
           credit_lock = a + 1;
           leg[a] = OPEN;
           leg_replies(a, OK)
       }
    :: atomic { leg_request[a] == LOCK && (credit_lock != 0 || leg[a] != NONE) ->
           leg_ends(a); leg_replies(a, FAILED)
       }
    :: atomic { leg_request[a] == PREPARE && leg[a] == OPEN && gid[ID(a)] == NONE ->
           gid[ID(a)] = PREPARED;
           content[ID(a)] = a;
           leg[a] = ENDED;
           credit_lock = IN_DOUBT;
           leg_replies(a, OK)
       }
    :: atomic { leg_request[a] == PREPARE ->      /* deferred constraint, no slot, lost session */
           leg_ends(a); leg_replies(a, FAILED)
       }
    :: atomic { leg[a] == OPEN && mistake != NO_SESSION_TIMEOUT ->
           leg_ends(a);
           if :: leg_request[a] != NONE -> leg_replies(a, FAILED) :: else fi
       }
    :: atomic { late_cancel[a] ->
           late_cancel[a] = false;
           assert(gid[ID(a)] != PREPARED || verdict[ID(a)] != COMMIT);
           roll_back_prepared(ID(a))
       }
    :: atomic { dba && gid[ID(a)] == PREPARED && !meddled ->
           meddled = true;
           roll_back_prepared(ID(a))
       }
    :: atomic { mistake == DELETE_REMOTE_ROW && finished[ID(a)] && row[ID(a)] ->
           row[ID(a)] = false
       }
    od
}

/* ---- girod ---------------------------------------------------------------------------------- */

inline tell(what)
{
    atomic {
        if
        :: is_recovered || told[b] != NONE -> skip
        :: else ->
             told[b] = what;
             assert(what != NOTHING_HAPPENED || verdict[ID(b)] != COMMIT);
             assert(what != POSTED || debit[KEY(b)] == 1);
             assert(what != REFUSED || transfer[KEY(b)] == REFUSED)
        fi
    }
}

#define IS_UNFINISHED(x) (verdict[ID(x)] == COMMIT && !finished[ID(x)])
#define LAST (attempts - 1)
/* An end can only be asked for if recovery is not killed, and answers are not lost, for ever. */
#define MAY_FAIL (!bounded || !is_recovered)
#define MAY_REPEAT (!bounded)
#define SESSIONS_OVER(x) (home[x] != OPEN && home[x] != INSERTED && leg[x] != OPEN && \
                          home_request[x] == NONE && leg_request[x] == NONE && !late_cancel[x])
#define IS_SETTLED(x) (over[x] && SESSIONS_OVER(x) && gid[ID(x)] == NONE && \
                       !IS_UNFINISHED(x) && !due[KEY(x)])
#define SETTLED (IS_SETTLED(0) && IS_SETTLED(LAST))

/* A coordinator with the batch b, or, recovering, with whatever batch it finds left behind. */
proctype Girod(byte b; bool is_recovered)
{
    bool found, accepted, on_remote, is_prepared, stands, is_done;
    mtype answer = NONE;

    if :: is_recovered -> goto scan :: else fi;

acquire:
    if :: goto lock :: goto release fi;

lock:
    if
    :: !on_remote -> home_request[b] = LOCK
    :: else -> leg_request[b] = LOCK
    fi;
    if
    :: atomic { !on_remote && home_answer[b] != NONE ->
           answer = home_answer[b]; home_answer[b] = NONE }
    :: atomic { on_remote && leg_answer[b] != NONE ->
           answer = leg_answer[b]; leg_answer[b] = NONE }
    :: answer = FAILED                            /* lost, or the deadline passed */
    :: MAY_FAIL -> goto crash
    fi;
    found = found || answer == FOUND;
    if
    :: answer == FAILED -> goto release
    :: answer != FAILED && !on_remote -> on_remote = true; answer = NONE; goto lock
    :: answer != FAILED && on_remote -> answer = NONE; goto judge
    fi;

judge:
    if
    :: found -> goto decide
    :: !found -> accepted = true; goto prepare
    :: !found -> judged_refused[b] = true; goto decide
    :: goto release                               /* an account is busy */
    fi;

prepare:
    leg_request[b] = PREPARE;
    if
    :: mistake == DECIDE_EARLY -> goto decide
    :: atomic { leg_answer[b] == OK -> leg_answer[b] = NONE }; goto decide
    :: atomic { leg_answer[b] == FAILED -> leg_answer[b] = NONE }; goto release
    :: goto ask                                   /* unknown */
    :: MAY_FAIL -> goto crash
    fi;

decide:
    if
    :: found ->                                   /* COMMIT with nothing recorded */
         if
         :: transfer[KEY(b)] == POSTED -> tell(POSTED)
         :: transfer[KEY(b)] == REFUSED -> tell(REFUSED)
         fi;
         goto release
    :: else -> home_request[b] = DECIDE
    fi;
    if
    :: atomic { home_answer[b] == OK -> home_answer[b] = NONE };
         if
         :: accepted -> goto apply
         :: else -> tell(REFUSED); goto release
         fi
    :: atomic { home_answer[b] == FAILED -> home_answer[b] = NONE };
         if
         :: accepted -> goto ask
         :: else -> goto release
         fi
    :: goto ask                                   /* unknown */
    :: mistake == UNKNOWN_IS_FAILED -> goto release
    :: mistake == RESEND_COMMIT -> tell(POSTED); goto ask
    :: MAY_FAIL -> goto crash
    fi;

ask:
    if
    :: atomic { verdict[ID(b)] != NONE -> answer = verdict[ID(b)] }
    :: atomic { verdict[ID(b)] == NONE && mistake == LOOK_INSTEAD_OF_ASK -> answer = ABORT }
    :: atomic { verdict[ID(b)] == NONE && mistake != LOOK_INSTEAD_OF_ASK && home[b] != INSERTED ->
           verdict[ID(b)] = ABORT; answer = ABORT }
    :: MAY_FAIL && is_recovered -> goto stuck
    :: MAY_FAIL && !is_recovered -> goto crash
    fi;
    if
    :: answer == COMMIT && (accepted || is_recovered) -> answer = NONE; goto apply
    :: answer == COMMIT && !(accepted || is_recovered) ->
         answer = NONE; tell(REFUSED); goto release
    :: answer == ABORT && (accepted || is_recovered) -> answer = NONE; goto cancel
    :: answer == ABORT && !(accepted || is_recovered) -> answer = NONE; goto release
    fi;

apply:
    tell(POSTED);
    if
    :: atomic { gid[ID(b)] == PREPARED ->
           assert(verdict[ID(b)] == COMMIT);
           gid[ID(b)] = FINISHING;
           row[ID(b)] = true;
           credit_lock = 0;
           credit[KEY(content[ID(b)])]++;
           assert(credit[KEY(content[ID(b)])] == 1) };
         gid[ID(b)] = NONE;                       /* visible first, off the list then */
         if
         :: is_recovered -> goto finish
         :: !is_recovered -> is_done = true; goto release
         :: goto apply                            /* the answer is lost */
         fi
    :: atomic { gid[ID(b)] == NONE -> is_done = (mistake == DOES_NOT_EXIST_IS_DONE) };
         if
         :: is_done -> goto release
         :: else -> goto look
         fi
    :: MAY_FAIL -> goto stuck
    fi;

/* In two statements, the list first: what leaves it is visible by then. */
look:
    if
    :: mistake != LOOK_AT_THE_ROW_FIRST ->
         is_prepared = gid[ID(b)] != NONE;
         stands = row[ID(b)]
    :: mistake == LOOK_AT_THE_ROW_FIRST ->
         stands = row[ID(b)];
         is_prepared = gid[ID(b)] != NONE
    fi;
    if
    :: stands -> is_prepared = false; goto finish
    :: !stands && is_prepared -> is_prepared = false; goto apply
    :: !stands && !is_prepared -> goto missing
    :: MAY_FAIL -> is_prepared = false; goto stuck
    fi;

missing:
    atomic {
        assert(meddled);
        if
        :: !finished[ID(b)] -> finished[ID(b)] = true; due[KEY(b)] = true
        :: else
        fi
    };
    if
    :: goto release
    :: MAY_FAIL -> goto stuck                     /* its answer is lost */
    fi;

finish:
    finished[ID(b)] = true;
    goto release;

/* It does not get on; whatever is left is found again. */
stuck:
    goto release;

cancel:
    tell(NOTHING_HAPPENED);
    if
    :: atomic { leg[b] == OPEN && !is_recovered ->           /* end_session */
           leg_ends(b);
           if :: leg_request[b] != NONE -> leg_replies(b, FAILED) :: else fi }
    :: atomic { leg[b] != OPEN || is_recovered -> skip }
    :: MAY_FAIL -> goto stuck
    fi;
    if
    :: atomic { skip ->
           assert(gid[ID(b)] != PREPARED || verdict[ID(b)] != COMMIT);
           roll_back_prepared(ID(b)) }
    :: MAY_REPEAT -> late_cancel[b] = true; goto cancel      /* sent, and its answer is lost */
    fi;
    goto release;

/* A missing leg is credited anew: under a receipt, whose first row decides, as a saga's credit. */
redo:
    if
    :: atomic { receipt[KEY(b)] != NONE && mistake != REDO_WITHOUT_RECEIPT -> skip }
    :: atomic { receipt[KEY(b)] == NONE && credit_lock == 0 -> receipt[KEY(b)] = REFUSED }
    :: atomic { (receipt[KEY(b)] == NONE || mistake == REDO_WITHOUT_RECEIPT) && credit_lock == 0 ->
           receipt[KEY(b)] = APPLIED;
           credit[KEY(b)]++; assert(credit[KEY(b)] == 1) }
    :: MAY_FAIL -> goto crash
    fi;
    due[KEY(b)] = false;
    goto release;

release:
    atomic {
        if :: is_done && verdict[ID(b)] == COMMIT -> finished[ID(b)] = true :: else fi;
        is_done = false; stands = false; answer = NONE
    };
    if
    :: is_recovered -> goto scan
    :: else -> tell(NOTHING_HAPPENED); goto out
    fi;

crash:
    if
    :: is_recovered -> goto scan
    :: else -> goto out
    fi;

/* Prepared legs, unfinished batches, credits to be done anew. Those of the dead, or old ones, says
 * the code: politeness, not safety. */
scan:
    if
    :: atomic { gid[ID(0)] == PREPARED -> b = 0 }; goto left
    :: atomic { gid[ID(LAST)] == PREPARED -> b = LAST }; goto left
    :: atomic { IS_UNFINISHED(0) -> b = 0 }; goto look
    :: atomic { IS_UNFINISHED(LAST) -> b = LAST }; goto look
    :: atomic { due[KEY(0)] -> b = 0 }; goto redo
    :: atomic { due[KEY(LAST)] -> b = LAST }; goto redo
    :: SETTLED -> goto out
    fi;
left:
    if
    :: mistake == ROLL_BACK_BY_AGE -> goto cancel
    :: mistake != ROLL_BACK_BY_AGE -> goto ask
    fi;

out:
    if
    :: is_recovered -> skip
    :: else -> over[b] = true
    fi
}

proctype Monitor()
{
    byte k = 0;
    timeout ->
    assert(SETTLED);
    assert(debit_lock == 0 && credit_lock == 0);
    do
    :: k < attempts ->
         assert(debit[k] == credit[k] + (receipt[k] == REFUSED));
         assert(receipt[k] == NONE || meddled);
         assert(told[k] != POSTED || debit[KEY(k)] == 1);
         assert(told[k] != REFUSED || debit[KEY(k)] == 0);
         assert(told[k] != NOTHING_HAPPENED || debit[KEY(k)] == 0 ||
                mistake != EFFECT_NONE_SPEAKS_FOR_THE_KEY);
         k++
    :: else -> break
    od
}

init
{
    byte i = 0;
    c_code {
        mistake = CHOICE("MISTAKE");
        attempts = CHOICE("ATTEMPTS");
        recoverers = CHOICE("RECOVERERS");
        dba = CHOICE("DBA");
        bounded = CHOICE("BOUNDED");
    };
    atomic {
        do
        :: i < attempts -> run Home(i); run Leg(i); run Girod(i, false); i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < recoverers && mistake != NOBODY_RECOVERS -> run Girod(0, true); i++
        :: else -> break
        od;
        if :: !bounded -> run Monitor() :: else fi
    }
}

#define settled SETTLED
ltl everything_ends { <> settled }
