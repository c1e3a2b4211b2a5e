-- Gives a role what a coordinator needs, and takes everything else of the schema from it: USAGE on
-- the schema and EXECUTE on the functions that run with their owner's rights, and on session,
-- end_session, recovery and end_stopped_sessions, which need the caller's own.
--
-- Called by:  the owner, from `girod init`, after all functions of this folder are loaded.
-- Idempotent: the rights are the same after every call.
-- Locks:      catalog rows only.
create or replace function giro.grant_coordinator(p_role name) returns void
language plpgsql volatile security invoker
set search_path = pg_catalog, pg_temp
as $$
declare
    v_functions text;
begin
    select string_agg(p.oid::regprocedure::text, ', ' order by p.proname)
    into strict v_functions
    from pg_proc p
    where p.pronamespace = 'giro'::regnamespace
      and (p.prosecdef or p.proname in ('session', 'end_session', 'recovery',
                                         'end_stopped_sessions'));

    execute format('revoke all on schema giro from %I', p_role);
    execute format('revoke all on all tables in schema giro from %I', p_role);
    execute format('revoke all on all functions in schema giro from %I', p_role);
    execute format('grant usage on schema giro to %I', p_role);
    execute format('grant execute on function %s to %I', v_functions, p_role);
end
$$;

revoke execute on function giro.grant_coordinator from public;
