-- Ends sessions of the caller's role in this database whose transaction is older than the idle
-- time-out and that wait for their client; answers how many. A coordinator that is stopped in the
-- middle of a message group holds its locks, and no timer of the server's runs.
--
-- Called by:  recovery.
-- Idempotent: a session that is gone stays gone.
-- Locks:      none.
-- Safety:     decides nothing: what such a session has not committed is gone with it, and if its
--             client wakes up it asks for the verdict. Coordinators send each group in one write
--             that ends it, so a session of a living one never waits in the middle for that long.
--             Runs with the caller's rights, who may see and end sessions of its own role.
create or replace function giro.end_stopped_sessions() returns bigint
language plpgsql volatile security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
    v_limit interval := current_setting('idle_in_transaction_session_timeout')::interval;
begin
    if v_limit <= interval '0' then
        return 0;
    end if;
    return (
        select count(*) filter (where pg_terminate_backend(a.pid))
        from pg_stat_activity a
        where a.datname = current_database() and a.usename = session_user
          and a.pid <> pg_backend_pid() and a.xact_start < clock_timestamp() - v_limit
          and (a.state like 'idle in transaction%'
               or (a.state = 'active' and a.wait_event in ('ClientRead', 'ClientWrite'))));
end
$$;

revoke execute on function giro.end_stopped_sessions from public;
