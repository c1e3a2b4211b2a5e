-- Ends a pass of reconciliation: lets go of the claim, and notes that it went through.
--
-- Called by:  whoever ran the pass, on the shard with the lowest ordinal. p_complete: it came to
--             its end on all shards, whatever it found; p_full: it was a full one.
-- Idempotent: the last note stands.
-- Locks:      the single row of reconciliation.
-- Safety:     decides nothing. If this is never called the claim runs out by itself.
create or replace function giro.reconcile_end(
    p_holder text, p_complete boolean, p_full boolean)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
as $$
declare
    v_now timestamptz := clock_timestamp();
begin
    perform giro.require_read_committed();

    update reconciliation r
    set holder = case when r.holder <> p_holder then r.holder end,
        held_until = case when r.holder <> p_holder then r.held_until end,
        finished_at = case when p_complete then v_now else r.finished_at end,
        full_finished_at = case when p_complete and p_full then v_now else r.full_finished_at end;
end
$$;

revoke execute on function giro.reconcile_end from public;
