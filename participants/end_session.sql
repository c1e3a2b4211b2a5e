-- Ends a session of the caller's own role; answers true once it is gone, false after having told it
-- to go: ask again.
--
-- Called by:  a coordinator that lost a connection in the middle of a stage, before it asks for the
--             verdict, so that what the old session still does cannot delay it.
-- Idempotent: a session that is gone stays gone.
-- Locks:      none.
-- Safety:     decides nothing, only hurries. The session is named by its pid and its start, so that
--             a new backend with the same pid is safe. It runs with the caller's rights, who may
--             end, and see the start of, sessions of its own role only. A backend leaves the list
--             after its transaction has ended.
create or replace function giro.end_session(p_pid int, p_started timestamptz) returns boolean
language plpgsql volatile security invoker
set search_path = pg_catalog, pg_temp
as $$
begin
    perform pg_stat_clear_snapshot();
    if not exists (
        select from pg_stat_get_activity(p_pid) a
        where a.pid = p_pid and a.backend_start = p_started) then
        return true;
    end if;
    perform pg_terminate_backend(p_pid);
    return false;
end
$$;

revoke execute on function giro.end_session from public;
