-- The functions of the directory: what coordinators may read (read_*), what `girod init` sets up
-- (setup_*: the owner only), and check_cover.
--
-- setup_* functions are idempotent: what stands as asked is left alone, what is absent is added,
-- and GR010 says what stands differently. Each raises cluster.version if it changed what
-- coordinators read. They lock the single row of cluster first, so that two set-ups go one after
-- the other.

create function giro_directory.read_cluster()
returns table (name text, format_version int, version bigint)
language sql stable security definer
set search_path = pg_catalog, giro_directory, pg_temp
as 'select c.name, c.format_version, c.version from cluster c';

-- Ascending by ordinal, the lock order.
create function giro_directory.read_shards()
returns table (name text, ordinal int, dsn text)
language sql stable security definer
set search_path = pg_catalog, giro_directory, pg_temp
as 'select s.name, s.ordinal, s.dsn from shards s order by s.ordinal';

-- Ascending by prefix.
create function giro_directory.read_keyspaces()
returns table (prefix text, kind text, default_mode text)
language sql stable security definer
set search_path = pg_catalog, giro_directory, pg_temp
as 'select k.prefix, k.kind, k.default_mode from keyspaces k order by k.prefix';

-- Ascending by keyspace and lo.
create function giro_directory.read_partitions()
returns table (partition int, keyspace text, lo bytea, hi bytea, shard text, epoch bigint)
language sql stable security definer
set search_path = pg_catalog, giro_directory, pg_temp
as 'select p.partition, p.keyspace, p.lo, p.hi, p.shard, p.epoch
    from partitions p order by p.keyspace, p.lo';

-- Every place where the ranges of a keyspace do not meet: 'gap' or 'overlap' before lo. The
-- constraints leave only one possible finding, a gap at the start; this looks for all.
create function giro_directory.check_cover()
returns table (keyspace text, lo bytea, hi bytea, problem text)
language sql stable security invoker
set search_path = pg_catalog, giro_directory, pg_temp
as $$
    with chain as (
        select k.prefix as keyspace, p.lo, p.hi,
               row_number() over in_order as place,
               lag(p.hi) over in_order as previous_hi,
               lead(p.partition) over in_order is null as is_last
        from keyspaces k
        left join partitions p on p.keyspace = k.prefix
        window in_order as (partition by k.prefix order by p.lo)
    )
    select c.keyspace, c.lo, c.hi,
           case
               when c.lo is null then 'gap'
               when c.place = 1 then 'gap'
               when c.previous_hi is null or c.previous_hi > c.lo then 'overlap'
               else 'gap'
           end
    from chain c
    where c.lo is null
       or (c.place = 1 and c.lo <> '')
       or (c.place > 1 and c.previous_hi is distinct from c.lo)
    union all
    select c.keyspace, c.hi, null, 'gap'
    from chain c
    where c.is_last and c.hi is not null
    order by 1, 2 nulls first
$$;

-- Locks the cluster's row for an edit; raises the version if the edit changed anything.
create function giro_directory.raise_version(p_changed boolean) returns void
language plpgsql volatile security invoker
set search_path = pg_catalog, giro_directory, pg_temp
as $$
begin
    update cluster set version = version + p_changed::int;
    if not found then
        raise exception 'this directory has no cluster yet' using errcode = 'GR010';
    end if;
end
$$;

create function giro_directory.setup_cluster(p_name text) returns void
language plpgsql volatile security invoker
set search_path = pg_catalog, giro_directory, pg_temp
as $$
declare
    v_name text;
begin
    insert into cluster (name) values (p_name) on conflict (singleton) do nothing;

    select c.name into strict v_name from cluster c;
    if v_name <> p_name then
        raise exception 'this directory is of cluster %, not of %', v_name, p_name
            using errcode = 'GR010';
    end if;
end
$$;

-- The DSN and the tags of a shard may change with its description; what it is may not.
create function giro_directory.setup_shard(
    p_name text, p_ordinal int, p_dsn text, p_tags text, p_system_identifier text)
returns void
language plpgsql volatile security invoker
set search_path = pg_catalog, giro_directory, pg_temp
as $$
declare
    v_tags jsonb := coalesce(p_tags, '{}')::jsonb;
    v_shard giro_directory.shards;
begin
    perform giro_directory.raise_version(false);

    select * into v_shard from shards s where s.name = p_name;
    if not found then
        if exists (select from shards s where s.ordinal = p_ordinal) then
            raise exception 'ordinal % of shard % belongs to another shard', p_ordinal, p_name
                using errcode = 'GR010';
        end if;
        insert into shards (name, ordinal, dsn, tags, system_identifier)
        values (p_name, p_ordinal, p_dsn, v_tags, p_system_identifier);
        perform giro_directory.raise_version(true);
        return;
    end if;

    if v_shard.ordinal <> p_ordinal then
        raise exception 'shard % has ordinal %, which never changes, not %',
            p_name, v_shard.ordinal, p_ordinal
            using errcode = 'GR010';
    end if;
    if v_shard.system_identifier <> p_system_identifier then
        raise exception 'shard % is the Postgres cluster with system identifier %, not %',
            p_name, v_shard.system_identifier, p_system_identifier
            using errcode = 'GR010';
    end if;
    update shards s
    set dsn = p_dsn, tags = v_tags
    where s.name = p_name and (s.dsn, s.tags) is distinct from (p_dsn, v_tags);
    perform giro_directory.raise_version(found);
end
$$;

-- A keyspace is added only to a directory without one that could hold its ids already: the edit of
-- a covering keyspace needs the partitions' locks and is not a set-up.
create function giro_directory.setup_keyspace(p_prefix text, p_kind text, p_default_mode text)
returns void
language plpgsql volatile security invoker
set search_path = pg_catalog, giro_directory, pg_temp
as $$
declare
    v_keyspace giro_directory.keyspaces;
    v_covering text;
begin
    perform giro_directory.raise_version(false);

    select * into v_keyspace from keyspaces k where k.prefix = p_prefix;
    if not found then
        select k.prefix into v_covering
        from keyspaces k
        join partitions p on p.keyspace = k.prefix
        where starts_with(p_prefix, k.prefix)
        limit 1;
        if found then
            raise exception 'keyspace "%" would take ids from keyspace "%", which is in use',
                p_prefix, v_covering
                using errcode = 'GR010';
        end if;
        insert into keyspaces (prefix, kind, default_mode)
        values (p_prefix, p_kind, p_default_mode);
        perform giro_directory.raise_version(true);
        return;
    end if;

    if v_keyspace.kind <> p_kind then
        raise exception 'keyspace "%" is of kind %, which never changes, not %',
            p_prefix, v_keyspace.kind, p_kind
            using errcode = 'GR010';
    end if;
    update keyspaces k
    set default_mode = p_default_mode
    where k.prefix = p_prefix and k.default_mode <> p_default_mode;
    perform giro_directory.raise_version(found);
end
$$;

-- Splits a keyspace that has no partitions yet; answers how many were made. One that has some is
-- left as it is, since they are edited (split, merged, moved) later; every keyspace must be covered
-- at the end.
create function giro_directory.setup_partitions(
    p_keyspace text, p_los bytea[], p_his bytea[], p_shards text[])
returns int
language plpgsql volatile security invoker
set search_path = pg_catalog, giro_directory, pg_temp
as $$
declare
    v_made int;
    v_problem text;
begin
    perform giro_directory.raise_version(false);

    insert into partitions (keyspace, lo, hi, shard)
    select p_keyspace, n.lo, n.hi, n.shard
    from unnest(p_los, p_his, p_shards) n (lo, hi, shard)
    where not exists (select from partitions p where p.keyspace = p_keyspace)
    order by n.lo;
    get diagnostics v_made = row_count;

    select format('%s at %s', c.problem, c.lo)
    into v_problem
    from giro_directory.check_cover() c
    where c.keyspace = p_keyspace
    limit 1;
    if found then
        raise exception 'the partitions of keyspace "%" do not cover it: %', p_keyspace, v_problem
            using errcode = 'GR010';
    end if;
    perform giro_directory.raise_version(v_made > 0);
    return v_made;
end
$$;

-- Gives a role what a coordinator needs, the functions read_*, and takes everything else from it.
create function giro_directory.grant_coordinator(p_role name) returns void
language plpgsql volatile security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
    v_functions text;
begin
    select string_agg(p.oid::regprocedure::text, ', ' order by p.proname)
    into strict v_functions
    from pg_proc p
    where p.pronamespace = 'giro_directory'::regnamespace and p.prosecdef;

    execute format('revoke all on schema giro_directory from %I', p_role);
    execute format('revoke all on all tables in schema giro_directory from %I', p_role);
    execute format('revoke all on all functions in schema giro_directory from %I', p_role);
    execute format('grant usage on schema giro_directory to %I', p_role);
    execute format('grant execute on function %s to %I', v_functions, p_role);
end
$$;

revoke execute on all functions in schema giro_directory from public;
