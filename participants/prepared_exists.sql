-- Says whether a prepared transaction with this GID waits in this database.
--
-- Called by:  whoever was told that a prepared transaction does not exist or is busy; recovery. It
--             is asked before leg_exists, in a statement of its own: the list is live, whereas rows
--             are seen as of the statement's snapshot, so the other order can miss both.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing. False proves nothing by itself: a PREPARE may still be under way.
create or replace function giro.prepared_exists(p_gid text) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
as $$
begin
    return exists (
        select from pg_prepared_xacts x where x.gid = p_gid and x.database = current_database());
end
$$;

revoke execute on function giro.prepared_exists from public;
