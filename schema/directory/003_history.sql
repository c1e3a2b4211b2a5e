-- What the directory knows of the past of each shard: under which epoch and on which timeline its
-- history goes on, and marks: identities of batches that it acknowledged recently. A server that
-- lacks a mark, or goes on otherwise, has lost history (coordinator/shard/history.h).
--
-- A mark belongs to the epoch under which it was acknowledged. Readmission takes over those that
-- have survived; any other one, also one that a coordinator notes too late, means nothing any more.

alter table giro_directory.shards
    add column epoch    bigint not null default 1,
    add column timeline text not null default '', -- '' until `girod init` has noted it
    add constraint shards_epoch_is_positive check (epoch >= 1),
    add constraint shards_timeline_is_one check (timeline ~ '^([0-9A-F]{8})?$');

create table giro_directory.marks
(
    shard       text collate "C" not null,
    batch       uuid not null,
    epoch       bigint not null,
    coordinator text not null, -- the instance that got the acknowledgement
    noted_at    timestamptz not null default clock_timestamp(),
    constraint marks_key primary key (shard, batch),
    constraint marks_shard_exists foreign key (shard) references giro_directory.shards (name)
);

-- What operators have decided about lost history. Append-only.
create table giro_directory.readmissions
(
    shard         text collate "C" not null,
    epoch         bigint not null, -- the new one
    timeline      text not null,
    fenced        text,            -- why it was fenced off, if it was
    missing_marks uuid[] not null,
    reason        text not null,   -- the operator's
    at            timestamptz not null default clock_timestamp(),
    constraint readmissions_key primary key (shard, epoch),
    constraint readmissions_shard_exists
        foreign key (shard) references giro_directory.shards (name),
    constraint readmissions_say_why check (reason <> '')
);

drop function giro_directory.read_shards();

-- Ascending by ordinal, the lock order.
create function giro_directory.read_shards()
returns table (name text, ordinal int, dsn text, system_identifier text, epoch bigint,
               timeline text)
language sql stable security definer
set search_path = pg_catalog, giro_directory, pg_temp
as 'select s.name, s.ordinal, s.dsn, s.system_identifier, s.epoch, s.timeline
    from shards s order by s.ordinal';

-- The marks that count, newest first within a shard.
create function giro_directory.read_marks()
returns table (shard text, batch uuid, coordinator text, noted_at timestamptz)
language sql stable security definer
set search_path = pg_catalog, giro_directory, pg_temp
as 'select m.shard, m.batch, m.coordinator, m.noted_at
    from marks m
    join shards s on s.name = m.shard and s.epoch = m.epoch
    order by m.shard, m.noted_at desc, m.batch';

-- Notes acknowledged batches, one element per batch, the newest last, and keeps the newest 32 marks
-- of each shard. Called by every coordinator about once a second while something new is
-- acknowledged. Notes never wait for one another; only one of those that come at once sweeps.
create function giro_directory.note_marks(
    p_coordinator text, p_shards text[], p_epochs bigint[], p_batches uuid[])
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, giro_directory, pg_temp
as $$
begin
    insert into marks (shard, batch, epoch, coordinator)
    select n.shard, n.batch, n.epoch, p_coordinator
    from unnest(p_shards, p_epochs, p_batches) with ordinality n (shard, epoch, batch, place)
    join shards s on s.name = n.shard and s.epoch = n.epoch
    order by n.place
    on conflict (shard, batch) do nothing;

    if pg_try_advisory_xact_lock(1195987535, -2) then
        delete from marks m
        using (select r.shard, r.batch,
                      row_number() over (partition by r.shard
                                         order by r.epoch desc, r.noted_at desc, r.batch) as place
               from marks r) o
        where o.place > 32 and m.shard = o.shard and m.batch = o.batch;
    end if;
end
$$;

-- Notes how a shard's history goes on, the first time; later it must be what was noted. A part of
-- `girod init`, after setup_shard.
create function giro_directory.setup_history(p_shard text, p_epoch bigint, p_timeline text)
returns void
language plpgsql volatile security invoker
set search_path = pg_catalog, giro_directory, pg_temp
as $$
declare
    v_shard giro_directory.shards;
begin
    update shards set epoch = p_epoch, timeline = p_timeline
    where name = p_shard and timeline = '';

    select * into strict v_shard from shards s where s.name = p_shard;
    if (v_shard.epoch, v_shard.timeline) <> (p_epoch, p_timeline) then
        raise exception 'shard % is at epoch %, timeline %, and this server at %, % (see girod '
                        'readmit)',
            p_shard, v_shard.epoch, v_shard.timeline, p_epoch, p_timeline
            using errcode = 'GR010';
    end if;
end
$$;

-- From now on the history of the shard goes on at this server, under a new epoch, which is
-- answered: higher than any that the directory or the server has had. The marks that it lacks are
-- forgotten, the others taken over. The first half of `girod readmit`; giro.readmit on the shard is
-- the other.
create function giro_directory.readmit(
    p_shard text, p_dsn text, p_system_identifier text, p_epoch bigint, p_timeline text,
    p_fenced text, p_missing uuid[], p_reason text)
returns bigint
language plpgsql volatile security invoker
set search_path = pg_catalog, giro_directory, pg_temp
as $$
declare
    v_before bigint;
    v_epoch bigint;
begin
    perform giro_directory.raise_version(true);

    select s.epoch into strict v_before from shards s where s.name = p_shard;
    v_epoch := greatest(v_before, p_epoch) + 1;
    update shards
    set dsn = p_dsn, system_identifier = p_system_identifier, epoch = v_epoch, timeline = p_timeline
    where name = p_shard;
    update marks set epoch = v_epoch
    where shard = p_shard and epoch = v_before and batch <> all (p_missing);
    delete from marks where shard = p_shard and epoch <> v_epoch;
    insert into readmissions (shard, epoch, timeline, fenced, missing_marks, reason)
    values (p_shard, v_epoch, p_timeline, p_fenced, p_missing, p_reason);
    return v_epoch;
end
$$;

revoke execute on all functions in schema giro_directory from public;
