-- The fence: says of each route whether this shard owns it now, and keeps it so until the end of
-- the transaction. Answers null if all pass, else one element per route: null = passed,
-- 'partition_moving' or 'stale_route'. GR004 while the shard is fenced off as a whole.
--
-- Called by:  lock, settle, tombstone, give_up, account_create, account_patch with p_claim;
--             account_get and account_entries without (they only look). With their settings and
--             rights: more of its own would cost as much as the check. (But no nested loop: the
--             plan that the first call of a session makes, maybe for one route, serves them all.)
-- Arguments:  p_partitions and p_epochs: what the caller believes, distinct, ascending;
--             p_routes and p_route_partitions: the routes and the partition of each.
-- Idempotent: writes nothing.
-- Locks:      the shared transaction-level advisory lock of each partition, ascending; never waits.
--             PREPARE TRANSACTION keeps it, also over a crash.
-- Safety:     a move changes the partitions row under the exclusive lock. The row is read in a
--             statement that begins after the lock is held: what it says stays true until we end. A
--             partition that cannot be locked is moving; one that is not owned, or under another
--             epoch, or does not hold the route, was asked for with an old routing. Nothing happens
--             for either. A crash here leaves nothing.
create or replace function giro.fence(
    p_partitions int[], p_epochs bigint[], p_routes bytea[], p_route_partitions int[],
    p_claim boolean)
returns text[]
language plpgsql volatile security invoker
set enable_nestloop = off
as $$
declare
    v_held boolean[];
begin
    perform giro.require_read_committed();

    if p_claim then
        v_held := array(
            select pg_try_advisory_xact_lock_shared(giro.fence_class(), n.partition)
            from unnest(p_partitions) with ordinality n (partition, place)
            order by n.place);
    else
        v_held := array_fill(true, array[cardinality(p_partitions)]);
    end if;

    -- One look says that all is well; what is wrong is found out when something is.
    if not exists (select from giro.shard s where s.singleton and s.fenced is not null)
       and not exists (
        select
        from unnest(p_routes, p_route_partitions) r (route, partition)
        left join (
            select p.partition, p.lo, p.hi
            from unnest(p_partitions, p_epochs, v_held) n (partition, epoch, held)
            join giro.partitions p on p.partition = n.partition and p.partition = any (p_partitions)
            where n.held and p.epoch = n.epoch and p.state = 'owned'
        ) f on f.partition = r.partition
        where (f.lo <= r.route and (f.hi is null or r.route < f.hi)) is not true)
    then
        return null;
    end if;

    perform giro.require_unfenced();
    return array(
        select case
                   when f.held and f.owned and f.lo <= r.route and (f.hi is null or r.route < f.hi)
                       then null
                   when not f.held then 'partition_moving'
                   else 'stale_route'
               end
        from unnest(p_routes, p_route_partitions) with ordinality r (route, partition, place)
        left join (
            select n.partition, n.held, p.lo, p.hi, p.state = 'owned' and p.epoch = n.epoch as owned
            from unnest(p_partitions, p_epochs, v_held) n (partition, epoch, held)
            left join giro.partitions p on p.partition = n.partition
                                           and p.partition = any (p_partitions)
        ) f on f.partition = r.partition
        order by r.place);
end
$$;

revoke execute on function giro.fence from public;
