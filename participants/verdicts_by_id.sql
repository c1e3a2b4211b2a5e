-- Looks verdicts up by batch; answers a row for each that stands at this home.
--
-- Called by:  GET /v1/prepared, and for metrics, about legs that are prepared elsewhere.
-- Idempotent: writes nothing; in particular it gives no verdict, as verdict does.
-- Locks:      none.
-- Safety:     decides nothing. What was found may be told to people once this transaction has
--             committed. What was not found may be decided at any moment.
create or replace function giro.verdicts_by_id(p_batches uuid[])
returns table (batch uuid, verdict text)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    perform giro.require_read_committed();

    return query
        select b.batch, b.verdict
        from batches b
        where b.batch = any (p_batches) and b.role = 'home';
    if found then
        perform giro.force_durability();
    end if;
end
$$;

revoke execute on function giro.verdicts_by_id from public;
