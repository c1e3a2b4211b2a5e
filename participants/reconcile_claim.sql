-- Asks to run a pass of reconciliation. is_granted: go on; is_first: no full pass has ever gone
-- through, so this one has to be full.
--
-- Called by:  whoever begins a pass, and again while it runs, on the shard with the lowest ordinal.
--             p_every_ms null: run by request, which is always granted, and holds the claim unless
--             another one has it. Else: by schedule, granted if nobody else is at it and the last
--             pass ended that long ago.
-- Idempotent: a repeat by the same holder extends its claim by p_hold_ms from now.
-- Locks:      the single row of reconciliation, if the claim seems to be free: of two that see
--             it free, the second finds it taken.
-- Safety:     politeness only, by database time: two passes at once cost twice as much and find the
--             same.
create or replace function giro.reconcile_claim(
    p_holder text, p_hold_ms bigint, p_every_ms bigint)
returns table (is_granted boolean, is_first boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
as $$
declare
    v_now timestamptz := clock_timestamp();
    v_row giro.reconciliation;
    v_mine boolean;
begin
    perform giro.require_read_committed();

    select * into strict v_row from reconciliation;
    v_mine := (v_row.holder is null or v_row.holder = p_holder or v_row.held_until < v_now)
              and (p_every_ms is null or v_row.finished_at is null
                   or v_row.finished_at <= v_now - p_every_ms * interval '1 ms');
    if v_mine then
        update reconciliation r
        set holder = p_holder, held_until = v_now + p_hold_ms * interval '1 ms'
        where r.holder is not distinct from v_row.holder
          and r.finished_at is not distinct from v_row.finished_at;
        v_mine := found;
    end if;
    return query select p_every_ms is null or v_mine, v_row.full_finished_at is null;
end
$$;

revoke execute on function giro.reconcile_claim from public;
