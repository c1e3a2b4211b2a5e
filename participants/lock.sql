-- Fences partitions and locks accounts for a batch. Answers a row per account asked for:
--   locked            held until the end of the transaction; the values are those under the lock
--   busy              exists, but is locked by another transaction: see wait_for
--   missing           no such account
--   stale_route       not this shard's, or asked for under another epoch: refresh the routing
--   partition_moving  its partition is being moved: try again soon
-- place is the 1-based index into p_accounts. Locked ones come first; if any was not locked, a row
-- for each of all accounts follows, in which existing ones are called busy: the first row of an
-- account counts.
--
-- Called by:  the lock stage of every batch, first thing in its transaction on each shard, shards
--             ascending.
-- Arguments:  partitions distinct and ascending; accounts distinct and ascending by bytes.
-- Idempotent: writes nothing; locks already held are had again.
-- Locks:      advisory locks of the partitions (shared, try, ascending), then the account rows,
--             ascending by id, SKIP LOCKED: it never waits, so what is locked here is never held up
--             by a row that is not.
-- Safety:     fence, lock and look for what was not locked are statements of their own. The judge
--             works on the values returned here, and apply refuses a batch whose accounts have
--             moved on since. A crash here leaves nothing; a client that stops here holds the locks
--             until idle_in_transaction_session_timeout.
create or replace function giro.lock(
    p_partitions int[], p_epochs bigint[], p_accounts text[], p_routes bytea[],
    p_account_partitions int[])
returns table (place int, state text, currency text, balance bigint, version bigint, floor bigint,
               status text)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_nestloop = off
as $$
#variable_conflict use_column
declare
    v_fence text[] := giro.fence(p_partitions, p_epochs, p_routes, p_account_partitions, true);
    v_passed text[] := p_accounts;
    v_locked int;
    v_existing text[];
begin
    if v_fence is not null then
        v_passed := array(
            select a.id from unnest(p_accounts, v_fence) a (id, trouble) where a.trouble is null);
    end if;

    return query
        select w.place::int, 'locked', l.currency, l.balance, l.version, l.floor, l.status
        from (select * from accounts a where a.id = any (v_passed) order by a.id
              for update skip locked) l
        join unnest(p_accounts) with ordinality w (id, place) on w.id = l.id;
    get diagnostics v_locked = row_count;
    if v_locked = cardinality(p_accounts) then
        return;
    end if;

    v_existing := array(select a.id from accounts a where a.id = any (v_passed));
    return query
        select w.place::int,
               coalesce(w.trouble, case when e.id is not null then 'busy' else 'missing' end),
               null::text, null::bigint, null::bigint, null::bigint, null::text
        from unnest(p_accounts, v_fence) with ordinality w (id, trouble, place)
        left join unnest(v_existing) e (id) on e.id = w.id;
end
$$;

revoke execute on function giro.lock from public;
