-- Answers which of these batches are committed at home here.
--
-- Called by:  a full pass of reconciliation, about legs that are visible elsewhere.
-- Idempotent: writes nothing; in particular it gives no verdict, as verdict would.
-- Locks:      none.
-- Safety:     decides nothing.
create or replace function giro.reconcile_verdicts(p_batches uuid[])
returns table (batch uuid)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    perform giro.require_read_committed();

    return query
        select b.batch
        from batches b
        where b.batch = any (p_batches) and b.role = 'home' and b.verdict = 'commit';
end
$$;

revoke execute on function giro.reconcile_verdicts from public;
