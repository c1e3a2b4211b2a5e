-- What reconciliation remembers between its passes, so that a pass costs what is new and not what
-- ever was. None of it decides anything: rows may be lost or emptied, which makes the next pass
-- longer and nothing else.

-- Up to which entry an account's statement has been proved, and the balance there. An account that
-- has no row, or whose proof failed, is proved from its first entry on.
create table giro.reconciled
(
    account text collate "C" not null,
    seq     bigint not null,
    balance bigint not null,
    constraint reconciled_key primary key (account)
)
with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

-- Transfers of this home whose check has not come to an end: in flight when a pass saw them, or
-- wrong. The next pass looks at them first.
create table giro.reconciliation_carried
(
    transfer uuid not null,
    constraint reconciliation_carried_key primary key (transfer)
)
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Who is at it, and when the last passes ended; used on the shard with the lowest ordinal.
create table giro.reconciliation
(
    singleton        boolean not null default true,
    holder           text,
    held_until       timestamptz,
    finished_at      timestamptz, -- of the last pass of either kind that went through
    full_finished_at timestamptz, -- of the last full pass that did; null: the next one is full
    constraint reconciliation_has_one_row primary key (singleton),
    constraint reconciliation_singleton_is_true check (singleton)
);

insert into giro.reconciliation default values;

-- Folding deletes rows as fast as batches insert them: what is dead is taken away by count, since a
-- share of a table that is always nearly empty means nothing.
alter table giro.clearing
    set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
         autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 50000);
