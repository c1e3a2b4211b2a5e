-- Ends sagas at home: pending becomes the final state, posted, or reversed where a refusal is
-- given. A posted transfer whose lost credit was to be done again stays posted: its credit stands
-- now, or, with a refusal, never will, which needs a person. Answers a row for each id with what
-- stands now, by this call or from before: state, refusal, decided_at; 'stale_route' or
-- 'partition_moving' with nothing done; null if it is not here.
--
-- Called by:  the close stage (posted, under an applied receipt) and the refund stage (reversed, in
--             the transaction that pays the money back, after lock and apply).
-- Idempotent: what is final stays as it is.
-- Locks:      the transfers' rows, ascending by id; for close the partitions' advisory locks
--             (shared, try) before them.
-- Safety:     the caller has seen the receipt. Under the fence there is one home, and pending rows
--             change only here and under their row lock: one that has lost its place among those
--             due while the lock was waited for is not settled twice. A crash before the commit
--             leaves them pending: whoever claims them next asks the receipt again.
create or replace function giro.settle(
    p_partitions int[], p_epochs bigint[], p_ids uuid[], p_routes bytea[], p_id_partitions int[],
    p_refusals text[])
returns table (transfer uuid, state text, refusal text, decided_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_fence text[] := giro.fence(p_partitions, p_epochs, p_routes, p_id_partitions, true);
    v_passed uuid[] := p_ids;
    v_due uuid[];
begin
    if v_fence is not null then
        v_passed := array(
            select w.id from unnest(p_ids, v_fence) w (id, trouble) where w.trouble is null);
    end if;

    v_due := array(
        select t.id
        from transfers t
        where t.id = any (v_passed) and t.next_attempt_at is not null
        order by t.id
        for update);

    return query
        update transfers t
        set state = case when w.refusal is null or t.state = 'posted' then 'posted'
                         else 'reversed' end,
            refusal = case when t.state = 'pending' then w.refusal end,
            decided_at = coalesce(t.decided_at, clock_timestamp()),
            next_attempt_at = null, coordinator = null,
            attention = case when t.state = 'posted' then 'credit-refused: ' || w.refusal end
        from unnest(p_ids, p_refusals) w (id, refusal)
        where t.id = w.id and t.id = any (v_due)
        returning t.id, t.state, t.refusal, t.decided_at;

    if cardinality(v_due) < cardinality(p_ids) then
        return query
            select w.id, coalesce(w.trouble, t.state), t.refusal, t.decided_at
            from unnest(p_ids, v_fence) w (id, trouble)
            left join transfers t on t.id = w.id and t.id = any (p_ids)
            where w.id <> all (v_due);
        perform giro.force_durability();
    end if;
end
$$;

revoke execute on function giro.settle from public;
