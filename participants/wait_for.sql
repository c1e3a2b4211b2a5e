-- Waits until the row of an account is free, at most lock_timeout (55P03), and lets go of it again.
--
-- Called by:  a coordinator that met the account locked, in a transaction that holds nothing else.
--             Then its transfers are tried again.
-- Idempotent: writes nothing.
-- Locks:      the account's row, for a moment. Whoever waits stands in the row's queue, so that a
--             hot account is served in turn, and holds nothing, so that nobody waits for it.
-- Safety:     decides nothing.
create or replace function giro.wait_for(p_account text) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
    perform giro.require_read_committed();

    perform from accounts a where a.id = p_account for update;
end
$$;

revoke execute on function giro.wait_for from public;
