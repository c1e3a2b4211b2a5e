-- Gives this shard the partitions that the directory says it owns; answers how many were added.
-- GR010, and nothing added, if one of them stands here with another range, epoch or state.
--
-- Called by:  the owner, from `girod init`, with rows of giro_directory.read_partitions().
-- Idempotent: what stands as asked is left alone.
-- Locks:      the partitions' keys, ascending.
create or replace function giro.setup_partitions(
    p_partitions int[], p_keyspaces text[], p_kinds text[], p_los bytea[], p_his bytea[],
    p_epochs bigint[])
returns int
language plpgsql volatile security invoker
set search_path = pg_catalog, giro, pg_temp
as $$
declare
    v_added int;
    v_different text;
begin
    perform giro.require_read_committed();

    insert into partitions (partition, keyspace, kind, lo, hi, epoch)
    select n.partition, n.keyspace, n.kind, n.lo, n.hi, n.epoch
    from unnest(p_partitions, p_keyspaces, p_kinds, p_los, p_his, p_epochs)
        n (partition, keyspace, kind, lo, hi, epoch)
    order by n.partition
    on conflict (partition) do nothing;
    get diagnostics v_added = row_count;

    select string_agg(n.partition::text, ', ' order by n.partition)
    into v_different
    from unnest(p_partitions, p_keyspaces, p_kinds, p_los, p_his, p_epochs)
        n (partition, keyspace, kind, lo, hi, epoch)
    join partitions p on p.partition = n.partition
    where (p.keyspace, p.kind, p.lo, p.hi, p.epoch, p.state)
          is distinct from (n.keyspace, n.kind, n.lo, n.hi, n.epoch, 'owned');
    if v_different is not null then
        raise exception 'partitions % stand on this shard with another range, epoch or state',
            v_different
            using errcode = 'GR010';
    end if;
    return v_added;
end
$$;

revoke execute on function giro.setup_partitions from public;
