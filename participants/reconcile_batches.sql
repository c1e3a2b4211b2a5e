-- Reads a page of batches, ascending by id behind p_after; of visible legs (role remote, 2PC) with
-- the shard that must have decided them, null for all others.
--
-- Called by:  a full pass of reconciliation. p_after null: from the first on.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing. A leg is visible only after its home has committed, so whoever asks
--             there now must find the verdict.
create or replace function giro.reconcile_batches(p_after uuid, p_limit int)
returns table (batch uuid, leg_of text)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
begin
    perform giro.require_read_committed();

    return query
        select b.batch, case when b.role = 'remote' and b.mode = '2pc' then b.home end
        from batches b
        where b.batch > coalesce(p_after, '00000000-0000-0000-0000-000000000000')
        order by b.batch
        limit p_limit;
end
$$;

revoke execute on function giro.reconcile_batches from public;
