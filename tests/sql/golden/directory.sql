
CREATE SCHEMA giro_directory;

CREATE FUNCTION giro_directory.check_cover() RETURNS TABLE(keyspace text, lo bytea, hi bytea, problem text)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$
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

CREATE FUNCTION giro_directory.grant_coordinator(p_role name) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION giro_directory.note_marks(p_coordinator text, p_shards text[], p_epochs bigint[], p_batches uuid[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$
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

CREATE FUNCTION giro_directory.pause_intake(p_scope text, p_reason text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$
begin
    lock table paused_intake in share row exclusive mode;
    if not exists (select from paused_intake p where p.scope = p_scope)
        and (select count(*) from paused_intake) >= 64
    then
        return false;
    end if;
    insert into paused_intake (scope, reason)
    values (p_scope, p_reason)
    on conflict (scope) do update set reason = excluded.reason;
    return true;
end
$$;

CREATE FUNCTION giro_directory.raise_version(p_changed boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$
begin
    update cluster set version = version + p_changed::int;
    if not found then
        raise exception 'this directory has no cluster yet' using errcode = 'GR010';
    end if;
end
$$;

CREATE FUNCTION giro_directory.read_cluster() RETURNS TABLE(name text, format_version integer, version bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$select c.name, c.format_version, c.version from cluster c$$;

CREATE FUNCTION giro_directory.read_intake() RETURNS TABLE(scope text, reason text, since timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$select p.scope, p.reason, p.since from paused_intake p order by p.scope$$;

CREATE FUNCTION giro_directory.read_keyspaces() RETURNS TABLE(prefix text, kind text, default_mode text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$select k.prefix, k.kind, k.default_mode from keyspaces k order by k.prefix$$;

CREATE FUNCTION giro_directory.read_marks() RETURNS TABLE(shard text, batch uuid, coordinator text, noted_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$select m.shard, m.batch, m.coordinator, m.noted_at
    from marks m
    join shards s on s.name = m.shard and s.epoch = m.epoch
    order by m.shard, m.noted_at desc, m.batch$$;

CREATE FUNCTION giro_directory.read_partitions() RETURNS TABLE(partition integer, keyspace text, lo bytea, hi bytea, shard text, epoch bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$select p.partition, p.keyspace, p.lo, p.hi, p.shard, p.epoch
    from partitions p order by p.keyspace, p.lo$$;

CREATE FUNCTION giro_directory.read_shards() RETURNS TABLE(name text, ordinal integer, dsn text, system_identifier text, epoch bigint, timeline text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$select s.name, s.ordinal, s.dsn, s.system_identifier, s.epoch, s.timeline
    from shards s order by s.ordinal$$;

CREATE FUNCTION giro_directory.readmit(p_shard text, p_dsn text, p_system_identifier text, p_epoch bigint, p_timeline text, p_fenced text, p_missing uuid[], p_reason text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$
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

CREATE FUNCTION giro_directory.resume_intake(p_scope text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$
begin
    delete from paused_intake p where p.scope = p_scope;
    return found;
end
$$;

CREATE FUNCTION giro_directory.setup_cluster(p_name text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$
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

CREATE FUNCTION giro_directory.setup_history(p_shard text, p_epoch bigint, p_timeline text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$
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

CREATE FUNCTION giro_directory.setup_keyspace(p_prefix text, p_kind text, p_default_mode text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$
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

CREATE FUNCTION giro_directory.setup_partitions(p_keyspace text, p_los bytea[], p_his bytea[], p_shards text[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$
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

CREATE FUNCTION giro_directory.setup_shard(p_name text, p_ordinal integer, p_dsn text, p_tags text, p_system_identifier text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'giro_directory', 'pg_temp'
    AS $$
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

CREATE TABLE giro_directory.cluster (
    singleton boolean DEFAULT true NOT NULL,
    name text NOT NULL,
    format_version integer DEFAULT 1 NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    CONSTRAINT cluster_name_is_a_name CHECK ((name ~ '^[a-z0-9-]{1,40}$'::text)),
    CONSTRAINT cluster_singleton_is_true CHECK (singleton)
);

CREATE TABLE giro_directory.keyspaces (
    prefix text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    default_mode text DEFAULT '2pc'::text NOT NULL,
    CONSTRAINT keyspaces_default_mode_is_known CHECK ((default_mode = ANY (ARRAY['2pc'::text, 'saga'::text]))),
    CONSTRAINT keyspaces_kind_is_known CHECK ((kind = ANY (ARRAY['hash'::text, 'range'::text, 'compound'::text]))),
    CONSTRAINT keyspaces_prefix_is_part_of_an_id CHECK ((prefix ~ '^[A-Za-z0-9._:@-]{0,96}$'::text))
);

CREATE TABLE giro_directory.marks (
    shard text NOT NULL COLLATE pg_catalog."C",
    batch uuid NOT NULL,
    epoch bigint NOT NULL,
    coordinator text NOT NULL,
    noted_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE giro_directory.migrations (
    number integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

CREATE TABLE giro_directory.partitions (
    partition integer NOT NULL,
    keyspace text NOT NULL COLLATE pg_catalog."C",
    lo bytea NOT NULL,
    hi bytea,
    shard text NOT NULL COLLATE pg_catalog."C",
    epoch bigint DEFAULT 1 NOT NULL,
    CONSTRAINT partitions_epoch_is_positive CHECK ((epoch >= 1)),
    CONSTRAINT partitions_range_is_not_empty CHECK ((lo < hi))
);

ALTER TABLE giro_directory.partitions ALTER COLUMN partition ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME giro_directory.partitions_partition_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE giro_directory.paused_intake (
    scope text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL,
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT paused_intake_says_why CHECK (((octet_length(reason) >= 1) AND (octet_length(reason) <= 1000))),
    CONSTRAINT paused_intake_scope_is_one CHECK ((scope ~ '^(all|shard:[a-z0-9-]{1,40}|account:[A-Za-z0-9._:@-]{1,96})$'::text))
);

CREATE TABLE giro_directory.readmissions (
    shard text NOT NULL COLLATE pg_catalog."C",
    epoch bigint NOT NULL,
    timeline text NOT NULL,
    fenced text,
    missing_marks uuid[] NOT NULL,
    reason text NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT readmissions_say_why CHECK ((reason <> ''::text))
);

CREATE TABLE giro_directory.shards (
    name text NOT NULL COLLATE pg_catalog."C",
    ordinal integer NOT NULL,
    dsn text NOT NULL,
    tags jsonb DEFAULT '{}'::jsonb NOT NULL,
    system_identifier text NOT NULL,
    epoch bigint DEFAULT 1 NOT NULL,
    timeline text DEFAULT ''::text NOT NULL,
    CONSTRAINT shards_epoch_is_positive CHECK ((epoch >= 1)),
    CONSTRAINT shards_name_is_a_name CHECK ((name ~ '^[a-z0-9-]{1,40}$'::text)),
    CONSTRAINT shards_ordinal_is_not_negative CHECK ((ordinal >= 0)),
    CONSTRAINT shards_system_identifier_is_not_empty CHECK ((system_identifier <> ''::text)),
    CONSTRAINT shards_tags_are_an_object CHECK ((jsonb_typeof(tags) = 'object'::text)),
    CONSTRAINT shards_timeline_is_one CHECK ((timeline ~ '^([0-9A-F]{8})?$'::text))
);

ALTER TABLE ONLY giro_directory.cluster
    ADD CONSTRAINT cluster_has_one_row PRIMARY KEY (singleton);

ALTER TABLE ONLY giro_directory.keyspaces
    ADD CONSTRAINT keyspaces_key PRIMARY KEY (prefix);

ALTER TABLE ONLY giro_directory.marks
    ADD CONSTRAINT marks_key PRIMARY KEY (shard, batch);

ALTER TABLE ONLY giro_directory.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (number);

ALTER TABLE ONLY giro_directory.partitions
    ADD CONSTRAINT partitions_key PRIMARY KEY (partition);

ALTER TABLE ONLY giro_directory.partitions
    ADD CONSTRAINT partitions_lower_ends_differ UNIQUE (keyspace, lo);

ALTER TABLE ONLY giro_directory.partitions
    ADD CONSTRAINT partitions_upper_ends_differ UNIQUE NULLS NOT DISTINCT (keyspace, hi) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY giro_directory.paused_intake
    ADD CONSTRAINT paused_intake_key PRIMARY KEY (scope);

ALTER TABLE ONLY giro_directory.readmissions
    ADD CONSTRAINT readmissions_key PRIMARY KEY (shard, epoch);

ALTER TABLE ONLY giro_directory.shards
    ADD CONSTRAINT shards_key PRIMARY KEY (name);

ALTER TABLE ONLY giro_directory.shards
    ADD CONSTRAINT shards_ordinal_is_unique UNIQUE (ordinal);

ALTER TABLE ONLY giro_directory.marks
    ADD CONSTRAINT marks_shard_exists FOREIGN KEY (shard) REFERENCES giro_directory.shards(name);

ALTER TABLE ONLY giro_directory.partitions
    ADD CONSTRAINT partitions_keyspace_exists FOREIGN KEY (keyspace) REFERENCES giro_directory.keyspaces(prefix);

ALTER TABLE ONLY giro_directory.partitions
    ADD CONSTRAINT partitions_shard_exists FOREIGN KEY (shard) REFERENCES giro_directory.shards(name);

ALTER TABLE ONLY giro_directory.partitions
    ADD CONSTRAINT partitions_upper_end_is_the_next_lower_end FOREIGN KEY (keyspace, hi) REFERENCES giro_directory.partitions(keyspace, lo) DEFERRABLE INITIALLY DEFERRED;

ALTER TABLE ONLY giro_directory.readmissions
    ADD CONSTRAINT readmissions_shard_exists FOREIGN KEY (shard) REFERENCES giro_directory.shards(name);

REVOKE ALL ON FUNCTION giro_directory.check_cover() FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.grant_coordinator(p_role name) FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.note_marks(p_coordinator text, p_shards text[], p_epochs bigint[], p_batches uuid[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.pause_intake(p_scope text, p_reason text) FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.raise_version(p_changed boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.read_cluster() FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.read_intake() FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.read_keyspaces() FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.read_marks() FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.read_partitions() FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.read_shards() FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.readmit(p_shard text, p_dsn text, p_system_identifier text, p_epoch bigint, p_timeline text, p_fenced text, p_missing uuid[], p_reason text) FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.resume_intake(p_scope text) FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.setup_cluster(p_name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.setup_history(p_shard text, p_epoch bigint, p_timeline text) FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.setup_keyspace(p_prefix text, p_kind text, p_default_mode text) FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.setup_partitions(p_keyspace text, p_los bytea[], p_his bytea[], p_shards text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION giro_directory.setup_shard(p_name text, p_ordinal integer, p_dsn text, p_tags text, p_system_identifier text) FROM PUBLIC;

