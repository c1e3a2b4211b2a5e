
CREATE SCHEMA giro;

CREATE TYPE giro.account_answer AS (
	outcome text,
	id text,
	currency text,
	balance bigint,
	floor bigint,
	status text,
	version bigint,
	in_transit bigint,
	metadata text,
	created_at timestamp with time zone
);

CREATE TABLE giro.accounts (
    id text NOT NULL COLLATE pg_catalog."C",
    route bytea NOT NULL,
    currency text NOT NULL COLLATE pg_catalog."C",
    balance bigint DEFAULT 0 NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    floor bigint DEFAULT 0,
    status text DEFAULT 'open'::text NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT accounts_balance_not_below_floor CHECK ((balance >= floor)),
    CONSTRAINT accounts_balance_within_limits CHECK (((balance >= '-9007199254740991'::bigint) AND (balance <= '9007199254740991'::bigint))),
    CONSTRAINT accounts_closed_is_empty CHECK (((status <> 'closed'::text) OR (balance = 0))),
    CONSTRAINT accounts_currency_has_3_to_8_bytes CHECK (((octet_length(currency) >= 3) AND (octet_length(currency) <= 8))),
    CONSTRAINT accounts_floor_not_above_zero CHECK (((floor >= '-9007199254740991'::bigint) AND (floor <= 0))),
    CONSTRAINT accounts_id_has_1_to_96_bytes CHECK (((octet_length(id) >= 1) AND (octet_length(id) <= 96))),
    CONSTRAINT accounts_metadata_is_an_object CHECK ((jsonb_typeof(metadata) = 'object'::text)),
    CONSTRAINT accounts_status_is_known CHECK ((status = ANY (ARRAY['open'::text, 'frozen'::text, 'closed'::text]))),
    CONSTRAINT accounts_version_is_not_negative CHECK ((version >= 0))
)
WITH (fillfactor='60', toast_tuple_target='256', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='1000', autovacuum_analyze_scale_factor='0.05');

CREATE TABLE giro.batches (
    batch uuid NOT NULL,
    role text NOT NULL,
    mode text NOT NULL,
    verdict text NOT NULL,
    home text NOT NULL,
    remote text NOT NULL,
    coordinator text NOT NULL,
    transfer_count integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT batches_local_has_no_remote CHECK (((mode <> 'local'::text) OR ((role = 'home'::text) AND (home = remote)))),
    CONSTRAINT batches_mode_is_known CHECK ((mode = ANY (ARRAY['local'::text, '2pc'::text, 'saga'::text]))),
    CONSTRAINT batches_only_home_2pc_commits_stay_open CHECK (((finished_at IS NOT NULL) OR ((role = 'home'::text) AND (mode = '2pc'::text) AND (verdict = 'commit'::text)))),
    CONSTRAINT batches_only_home_decides CHECK (((role = 'home'::text) OR (verdict = 'commit'::text))),
    CONSTRAINT batches_role_is_known CHECK ((role = ANY (ARRAY['home'::text, 'remote'::text]))),
    CONSTRAINT batches_transfers_are_counted CHECK ((transfer_count >= 0)),
    CONSTRAINT batches_verdict_is_known CHECK ((verdict = ANY (ARRAY['commit'::text, 'abort'::text])))
)
WITH (autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.02');

CREATE TABLE giro.clearing (
    batch uuid NOT NULL,
    step text NOT NULL,
    currency text NOT NULL COLLATE pg_catalog."C",
    amount numeric NOT NULL,
    peer text NOT NULL,
    CONSTRAINT clearing_amount_is_not_zero CHECK ((amount <> (0)::numeric)),
    CONSTRAINT clearing_step_is_known CHECK ((step = ANY (ARRAY['debit'::text, 'credit'::text, 'refund'::text, 'move'::text, 'fold'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='50000');

CREATE TABLE giro.coordinators (
    instance text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT coordinators_instance_is_a_name CHECK ((instance ~ '^[a-z0-9-]{1,40}$'::text))
);

CREATE TABLE giro.entries (
    account text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    transfer uuid NOT NULL,
    step text NOT NULL,
    amount bigint NOT NULL,
    balance bigint NOT NULL,
    counterparty text NOT NULL COLLATE pg_catalog."C",
    reference text,
    at timestamp with time zone NOT NULL,
    CONSTRAINT entries_amount_within_limits CHECK (((amount >= '-9007199254740991'::bigint) AND (amount <= '9007199254740991'::bigint))),
    CONSTRAINT entries_balance_within_limits CHECK (((balance >= '-9007199254740991'::bigint) AND (balance <= '9007199254740991'::bigint))),
    CONSTRAINT entries_seq_is_positive CHECK ((seq >= 1)),
    CONSTRAINT entries_sign_follows_step CHECK (
CASE step
    WHEN 'debit'::text THEN (amount < 0)
    ELSE (amount > 0)
END),
    CONSTRAINT entries_step_is_known CHECK ((step = ANY (ARRAY['debit'::text, 'credit'::text, 'refund'::text])))
)
WITH (autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.02');

CREATE TABLE giro.migrations (
    number integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE giro.partitions (
    partition integer NOT NULL,
    keyspace text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    lo bytea NOT NULL,
    hi bytea,
    epoch bigint NOT NULL,
    state text DEFAULT 'owned'::text NOT NULL,
    CONSTRAINT partitions_epoch_is_positive CHECK ((epoch >= 1)),
    CONSTRAINT partitions_kind_is_known CHECK ((kind = ANY (ARRAY['hash'::text, 'range'::text, 'compound'::text]))),
    CONSTRAINT partitions_range_is_not_empty CHECK ((lo < hi)),
    CONSTRAINT partitions_state_is_known CHECK ((state = ANY (ARRAY['owned'::text, 'incoming'::text, 'released'::text])))
);

CREATE TABLE giro.receipts (
    transfer uuid NOT NULL,
    credit_account text NOT NULL COLLATE pg_catalog."C",
    credit_route bytea NOT NULL,
    outcome text NOT NULL,
    refusal text,
    batch uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT receipts_outcome_is_known CHECK ((outcome = ANY (ARRAY['applied'::text, 'refused'::text, 'cancelled'::text]))),
    CONSTRAINT receipts_refused_ones_say_why CHECK (((outcome = 'refused'::text) = (refusal IS NOT NULL)))
);

CREATE TABLE giro.reconciled (
    account text NOT NULL COLLATE pg_catalog."C",
    seq bigint NOT NULL,
    balance bigint NOT NULL
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.05');

CREATE TABLE giro.reconciliation (
    singleton boolean DEFAULT true NOT NULL,
    holder text,
    held_until timestamp with time zone,
    finished_at timestamp with time zone,
    full_finished_at timestamp with time zone,
    CONSTRAINT reconciliation_singleton_is_true CHECK (singleton)
);

CREATE TABLE giro.reconciliation_carried (
    transfer uuid NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');

CREATE TABLE giro.shard (
    singleton boolean DEFAULT true NOT NULL,
    cluster text NOT NULL,
    name text NOT NULL,
    ordinal integer NOT NULL,
    format_version integer DEFAULT 1 NOT NULL,
    epoch bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    fenced text,
    fenced_at timestamp with time zone,
    CONSTRAINT shard_cluster_is_a_name CHECK ((cluster ~ '^[a-z0-9-]{1,40}$'::text)),
    CONSTRAINT shard_epoch_is_positive CHECK ((epoch >= 1)),
    CONSTRAINT shard_fence_says_why_and_when CHECK ((((fenced IS NULL) = (fenced_at IS NULL)) AND (fenced <> ''::text))),
    CONSTRAINT shard_name_is_a_name CHECK ((name ~ '^[a-z0-9-]{1,40}$'::text)),
    CONSTRAINT shard_ordinal_is_not_negative CHECK ((ordinal >= 0)),
    CONSTRAINT shard_singleton_is_true CHECK (singleton)
);

CREATE TABLE giro.transfers (
    id uuid NOT NULL,
    home text NOT NULL,
    remote text NOT NULL COLLATE pg_catalog."C",
    debit_account text NOT NULL COLLATE pg_catalog."C",
    debit_route bytea NOT NULL,
    credit_account text NOT NULL COLLATE pg_catalog."C",
    credit_route bytea NOT NULL,
    idempotency_key text NOT NULL COLLATE pg_catalog."C",
    amount bigint NOT NULL,
    currency text NOT NULL COLLATE pg_catalog."C",
    mode text NOT NULL,
    state text NOT NULL,
    refusal text,
    batch uuid NOT NULL,
    reference text,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    deadline_at timestamp with time zone,
    giving_up text,
    attempts integer DEFAULT 0 NOT NULL,
    next_attempt_at timestamp with time zone,
    last_error text,
    attention text,
    created_at timestamp with time zone NOT NULL,
    decided_at timestamp with time zone,
    coordinator text COLLATE pg_catalog."C",
    CONSTRAINT transfers_amount_is_positive CHECK (((amount >= 1) AND (amount <= '9007199254740991'::bigint))),
    CONSTRAINT transfers_attempts_are_counted CHECK ((attempts >= 0)),
    CONSTRAINT transfers_failures_say_why CHECK (((state = ANY (ARRAY['refused'::text, 'reversed'::text])) = (refusal IS NOT NULL))),
    CONSTRAINT transfers_final_ones_are_decided CHECK (((state = 'pending'::text) = (decided_at IS NULL))),
    CONSTRAINT transfers_metadata_is_an_object CHECK ((jsonb_typeof(metadata) = 'object'::text)),
    CONSTRAINT transfers_mode_is_known CHECK ((mode = ANY (ARRAY['local'::text, '2pc'::text, 'saga'::text]))),
    CONSTRAINT transfers_only_due_ones_are_worked_at CHECK (((coordinator IS NULL) OR (next_attempt_at IS NOT NULL))),
    CONSTRAINT transfers_only_pending_and_lost_ones_are_due CHECK (((next_attempt_at IS NULL) OR (state = 'pending'::text) OR ((state = 'posted'::text) AND (mode = '2pc'::text)))),
    CONSTRAINT transfers_only_sagas_are_given_up CHECK (((mode = 'saga'::text) OR ((giving_up IS NULL) AND (deadline_at IS NULL)))),
    CONSTRAINT transfers_only_sagas_wait_or_reverse CHECK (((mode = 'saga'::text) OR (state = ANY (ARRAY['posted'::text, 'refused'::text])))),
    CONSTRAINT transfers_pending_ones_are_due CHECK (((state <> 'pending'::text) OR (next_attempt_at IS NOT NULL))),
    CONSTRAINT transfers_same_account_is_refused CHECK (((debit_account <> credit_account) OR (state = 'refused'::text))),
    CONSTRAINT transfers_state_is_known CHECK ((state = ANY (ARRAY['pending'::text, 'posted'::text, 'refused'::text, 'reversed'::text])))
)
WITH (autovacuum_vacuum_insert_scale_factor='0.05', autovacuum_analyze_scale_factor='0.02');

ALTER TABLE ONLY giro.accounts
    ADD CONSTRAINT accounts_key PRIMARY KEY (id);

ALTER TABLE ONLY giro.batches
    ADD CONSTRAINT batches_first_row_wins PRIMARY KEY (batch);

ALTER TABLE ONLY giro.clearing
    ADD CONSTRAINT clearing_key PRIMARY KEY (batch, step, currency);

ALTER TABLE ONLY giro.coordinators
    ADD CONSTRAINT coordinators_key PRIMARY KEY (instance);

ALTER TABLE ONLY giro.entries
    ADD CONSTRAINT entries_key PRIMARY KEY (account, seq);

ALTER TABLE ONLY giro.entries
    ADD CONSTRAINT entries_one_effect_per_step UNIQUE (transfer, step);

ALTER TABLE ONLY giro.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (number);

ALTER TABLE ONLY giro.partitions
    ADD CONSTRAINT partitions_key PRIMARY KEY (partition);

ALTER TABLE ONLY giro.receipts
    ADD CONSTRAINT receipts_key PRIMARY KEY (transfer);

ALTER TABLE ONLY giro.reconciled
    ADD CONSTRAINT reconciled_key PRIMARY KEY (account);

ALTER TABLE ONLY giro.reconciliation_carried
    ADD CONSTRAINT reconciliation_carried_key PRIMARY KEY (transfer);

ALTER TABLE ONLY giro.reconciliation
    ADD CONSTRAINT reconciliation_has_one_row PRIMARY KEY (singleton);

ALTER TABLE ONLY giro.shard
    ADD CONSTRAINT shard_has_one_row PRIMARY KEY (singleton);

ALTER TABLE ONLY giro.transfers
    ADD CONSTRAINT transfers_key PRIMARY KEY (id);

CREATE INDEX batches_unfinished ON giro.batches USING btree (created_at) WHERE ((role = 'home'::text) AND (mode = '2pc'::text) AND (verdict = 'commit'::text) AND (finished_at IS NULL));

CREATE INDEX transfers_at_work ON giro.transfers USING btree (coordinator) WHERE (coordinator IS NOT NULL);

CREATE INDEX transfers_due ON giro.transfers USING btree (remote, ((attention IS NULL)), next_attempt_at) WHERE (next_attempt_at IS NOT NULL);

CREATE INDEX transfers_in_transit ON giro.transfers USING btree (debit_account) WHERE (state = 'pending'::text);

CREATE INDEX transfers_listed ON giro.transfers USING btree (created_at, id);

CREATE INDEX transfers_need_attention ON giro.transfers USING btree (created_at) WHERE (attention IS NOT NULL);

CREATE INDEX transfers_of_2pc_batch ON giro.transfers USING btree (batch) WHERE ((mode = '2pc'::text) AND (state = 'posted'::text));

