-- The tables of a shard: accounts and what happened to them, transfers, and the rows that decide.
--
-- Three invariants hold in every snapshot:
--   * Σ accounts.balance + Σ clearing.amount = 0 per currency (giro.books() shows it);
--   * an account's balance is that of its last entry, and its version that entry's seq, no gaps;
--   * whoever inserts a row of batches, receipts or transfers first decides; others read it.
-- Rows of batches, receipts, transfers and entries are never deleted and never get another key: a
-- late message of a dead coordinator must always meet the row that answers it.
--
-- Text keys are collated "C", so that every coordinator and every shard sort and lock alike. Money
-- is bigint within ±(2^53-1), sums are numeric. There are no foreign keys: rows of one transfer
-- live on several shards, and inside a shard the functions write both sides in one transaction.

create schema giro;

-- Which files of this folder have been applied; `girod init` writes it.
create table giro.migrations
(
    number     int primary key,
    name       text not null,
    applied_at timestamptz not null default clock_timestamp()
);

-- Who this shard is. The epoch is raised by an operator after a failover that may have lost data.
create table giro.shard
(
    singleton      boolean not null default true,
    cluster        text not null,
    name           text not null,
    ordinal        int not null,
    format_version int not null default 1,
    epoch          bigint not null default 1,
    created_at     timestamptz not null default clock_timestamp(),
    constraint shard_has_one_row primary key (singleton),
    constraint shard_singleton_is_true check (singleton),
    constraint shard_cluster_is_a_name check (cluster ~ '^[a-z0-9-]{1,40}$'),
    constraint shard_name_is_a_name check (name ~ '^[a-z0-9-]{1,40}$'),
    constraint shard_ordinal_is_not_negative check (ordinal >= 0),
    constraint shard_epoch_is_positive check (epoch >= 1)
);

-- The ranges of routes that this shard owns, is about to own or has given away. The fence checks
-- every write against it; see participants/fence.sql.
create table giro.partitions
(
    partition int not null,
    keyspace  text collate "C" not null, -- the keyspace's prefix
    kind      text not null,
    lo        bytea not null,
    hi        bytea,                     -- null: no upper end
    epoch     bigint not null,
    state     text not null default 'owned',
    constraint partitions_key primary key (partition),
    constraint partitions_kind_is_known check (kind in ('hash', 'range', 'compound')),
    constraint partitions_range_is_not_empty check (lo < hi),
    constraint partitions_epoch_is_positive check (epoch >= 1),
    constraint partitions_state_is_known check (state in ('owned', 'incoming', 'released'))
);

-- The hot rows. A balance update touches no indexed column and finds room on its page, so it stays
-- HOT (heap-only); large metadata is kept out of line so that it is not copied with every update.
create table giro.accounts
(
    id         text collate "C" not null,
    route      bytea not null,
    currency   text collate "C" not null,
    balance    bigint not null default 0,
    version    bigint not null default 0, -- the seq of the last entry
    floor      bigint default 0,          -- null: no limit
    status     text not null default 'open',
    metadata   jsonb not null default '{}',
    created_at timestamptz not null default clock_timestamp(),
    constraint accounts_key primary key (id),
    constraint accounts_id_has_1_to_96_bytes check (octet_length(id) between 1 and 96),
    constraint accounts_currency_has_3_to_8_bytes check (octet_length(currency) between 3 and 8),
    constraint accounts_balance_within_limits
        check (balance between -9007199254740991 and 9007199254740991),
    constraint accounts_balance_not_below_floor check (balance >= floor),
    constraint accounts_floor_not_above_zero check (floor between -9007199254740991 and 0),
    constraint accounts_version_is_not_negative check (version >= 0),
    constraint accounts_status_is_known check (status in ('open', 'frozen', 'closed')),
    constraint accounts_closed_is_empty check (status <> 'closed' or balance = 0),
    constraint accounts_metadata_is_an_object check (jsonb_typeof(metadata) = 'object')
)
with (
    fillfactor = 60,
    toast_tuple_target = 256,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.05
);

-- What happened to an account. Append-only. The second key is a wall against any double effect of a
-- transfer, whatever else goes wrong.
create table giro.entries
(
    account      text collate "C" not null,
    seq          bigint not null,
    transfer     uuid not null,
    step         text not null,
    amount       bigint not null, -- signed
    balance      bigint not null, -- after this entry
    counterparty text collate "C" not null,
    reference    text,
    at           timestamptz not null,
    constraint entries_key primary key (account, seq),
    constraint entries_one_effect_per_step unique (transfer, step),
    constraint entries_seq_is_positive check (seq >= 1),
    constraint entries_step_is_known check (step in ('debit', 'credit', 'refund')),
    constraint entries_amount_within_limits
        check (amount between -9007199254740991 and 9007199254740991),
    constraint entries_sign_follows_step
        check (case step when 'debit' then amount < 0 else amount > 0 end),
    constraint entries_balance_within_limits
        check (balance between -9007199254740991 and 9007199254740991)
)
with (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

-- The transfers whose debit account is at home here. The primary key is the idempotency check: the
-- id is made from the debit account and the idempotency key.
create table giro.transfers
(
    id              uuid not null,
    home            text not null,
    remote          text collate "C" not null, -- the credit account's shard then; a hint later
    debit_account   text collate "C" not null,
    debit_route     bytea not null,
    credit_account  text collate "C" not null,
    credit_route    bytea not null,
    idempotency_key text collate "C" not null,
    amount          bigint not null,
    currency        text collate "C" not null,
    mode            text not null,
    state           text not null,
    refusal         text,
    batch           uuid not null, -- the home batch that recorded it
    reference       text,
    metadata        jsonb not null default '{}',
    deadline_at     timestamptz,   -- a saga that has not applied by then is given up
    giving_up       text,          -- why a pending saga is to be reversed, once that is asked for
    attempts        int not null default 0,
    next_attempt_at timestamptz,
    last_error      text,
    attention       text,          -- why a person is needed
    created_at      timestamptz not null,
    decided_at      timestamptz,
    constraint transfers_key primary key (id),
    constraint transfers_amount_is_positive check (amount between 1 and 9007199254740991),
    constraint transfers_mode_is_known check (mode in ('local', '2pc', 'saga')),
    constraint transfers_state_is_known
        check (state in ('pending', 'posted', 'refused', 'reversed')),
    constraint transfers_only_sagas_wait_or_reverse
        check (mode = 'saga' or state in ('posted', 'refused')),
    constraint transfers_final_ones_are_decided check ((state = 'pending') = (decided_at is null)),
    constraint transfers_failures_say_why
        check ((state in ('refused', 'reversed')) = (refusal is not null)),
    constraint transfers_same_account_is_refused
        check (debit_account <> credit_account or state = 'refused'),
    constraint transfers_metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
    constraint transfers_only_sagas_are_given_up
        check (mode = 'saga' or (giving_up is null and deadline_at is null)),
    constraint transfers_pending_ones_are_due
        check (state <> 'pending' or next_attempt_at is not null),
    constraint transfers_attempts_are_counted check (attempts >= 0)
)
with (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

-- What is due towards a shard, is in transit from an account, or needs a person: all small.
create index transfers_due on giro.transfers (remote, next_attempt_at) where state = 'pending';
create index transfers_in_transit on giro.transfers (debit_account) where state = 'pending';
create index transfers_need_attention on giro.transfers (created_at) where attention is not null;

-- The way from a batch whose remote leg is missing to its transfers (missing_leg). Only posted 2PC
-- transfers can miss a leg, so local, saga and refused ones do not pay for it; the transfers of a
-- batch go to one place of the index and share one posting list there.
create index transfers_of_2pc_batch on giro.transfers (batch)
    where mode = '2pc' and state = 'posted';

-- The outcome of a saga's credit, and of a 2PC leg that had to be done again; moves with the credit
-- account's partition.
create table giro.receipts
(
    transfer       uuid not null,
    credit_account text collate "C" not null,
    credit_route   bytea not null,
    outcome        text not null,
    refusal        text,
    batch          uuid not null,
    at             timestamptz not null,
    constraint receipts_key primary key (transfer),
    constraint receipts_outcome_is_known check (outcome in ('applied', 'refused', 'cancelled')),
    constraint receipts_refused_ones_say_why check ((outcome = 'refused') = (refusal is not null))
);

-- The verdicts (role home) and the visible legs (role remote). Every home transaction inserts one.
create table giro.batches
(
    batch          uuid not null,
    role           text not null,
    mode           text not null,
    verdict        text not null,
    home           text not null,
    remote         text not null,
    coordinator    text not null, -- the instance that wrote the row
    transfer_count int not null,
    created_at     timestamptz not null,
    finished_at    timestamptz,
    constraint batches_first_row_wins primary key (batch),
    constraint batches_role_is_known check (role in ('home', 'remote')),
    constraint batches_mode_is_known check (mode in ('local', '2pc', 'saga')),
    constraint batches_verdict_is_known check (verdict in ('commit', 'abort')),
    constraint batches_only_home_decides check (role = 'home' or verdict = 'commit'),
    constraint batches_local_has_no_remote
        check (mode <> 'local' or (role = 'home' and home = remote)),
    constraint batches_only_home_2pc_commits_stay_open
        check (finished_at is not null or (role = 'home' and mode = '2pc' and verdict = 'commit')),
    constraint batches_transfers_are_counted check (transfer_count >= 0)
)
with (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);

-- Decided 2PC batches whose remote leg has not been seen yet: all that recovery has to look at.
create index batches_unfinished on giro.batches (created_at)
    where role = 'home' and mode = '2pc' and verdict = 'commit' and finished_at is null;

-- What left or came to this shard: the counterweight of the balances. Insert-only; may be folded.
create table giro.clearing
(
    batch    uuid not null,
    step     text not null,
    currency text collate "C" not null,
    amount   numeric not null,
    peer     text not null, -- the other shard, for information
    constraint clearing_key primary key (batch, step, currency),
    constraint clearing_step_is_known
        check (step in ('debit', 'credit', 'refund', 'move', 'fold')),
    constraint clearing_amount_is_not_zero check (amount <> 0)
);

-- What the account functions answer: the outcome, and the account as it stands (null where there is
-- none to show).
create type giro.account_answer as
(
    outcome    text,
    id         text,
    currency   text,
    balance    bigint,
    floor      bigint,
    status     text,
    version    bigint,
    in_transit bigint,
    metadata   text,
    created_at timestamptz
);
