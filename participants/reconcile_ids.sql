-- Lists transfers that reconciliation is to look at, ascending by id behind p_after: those that an
-- earlier pass has carried over, or, in a full pass, all that have their home here.
--
-- Called by:  reconciliation. p_after null: from the first on.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing. A transfer that is recorded while a full pass goes on may be missed:
--             its entries are new, and the next pass comes to it by them.
create or replace function giro.reconcile_ids(p_carried boolean, p_after uuid, p_limit int)
returns table (id uuid)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    v_after uuid := coalesce(p_after, '00000000-0000-0000-0000-000000000000');
begin
    perform giro.require_read_committed();

    if p_carried then
        return query
            select c.transfer from reconciliation_carried c where c.transfer > v_after
            order by c.transfer limit p_limit;
    else
        return query
            select t.id from transfers t where t.id > v_after order by t.id limit p_limit;
    end if;
end
$$;

revoke execute on function giro.reconcile_ids from public;
