-- Recovery knows the living from the dead, and does lost credits of decided transfers again.

-- The coordinators that may have left work here, see participants/recovery.sql. A row goes when its
-- coordinator is gone and nothing is left of it. Who is not listed loses nothing but time: its
-- transfers are taken over when they are due.
create table giro.coordinators
(
    instance text collate "C" not null,
    since    timestamptz not null default clock_timestamp(),
    constraint coordinators_key primary key (instance),
    constraint coordinators_instance_is_a_name check (instance ~ '^[a-z0-9-]{1,40}$')
);

-- Who works at a transfer that is due or will be; null when it was let go of. next_attempt_at says
-- when it is taken up again: a pending saga, or a posted 2PC transfer whose credit was lost and has
-- to be done again; it is null for all others.
alter table giro.transfers add column coordinator text collate "C";
alter table giro.transfers
    add constraint transfers_only_pending_and_lost_ones_are_due
        check (next_attempt_at is null or state = 'pending'
               or (state = 'posted' and mode = '2pc')),
    add constraint transfers_only_due_ones_are_worked_at
        check (coordinator is null or next_attempt_at is not null);

-- What is due towards a shard; those that nobody has been told of apart from the others, so that
-- each is found without a look at the other ones. Small, whatever the history.
drop index giro.transfers_due;
create index transfers_due on giro.transfers (remote, (attention is null), next_attempt_at)
    where next_attempt_at is not null;
create index transfers_at_work on giro.transfers (coordinator) where coordinator is not null;

-- Functions whose parameters or results change; participants/ has the new ones.
drop function if exists giro.record(uuid, text, text, text, uuid[], text[], bytea[], text[],
                                    bytea[], text[], bigint[], text[], text[], text[], text[],
                                    text[], bigint[]);
drop function if exists giro.claim(text[], int);
drop function if exists giro.legs_in_doubt(text, bigint, int);
