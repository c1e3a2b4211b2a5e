-- Sets up a coordinator's session and reports what it is connected to and what is in force; one
-- row, the shard's columns null before it is set up.
--
-- Called by:  every new session of a coordinator, outside of a transaction, before anything else.
--             The coordinator compares the report with what it wants and closes the session
--             otherwise.
-- Arguments:  p_marks: batches whose commit this shard has acknowledged; see missing_marks.
-- Idempotent: setting twice is setting once.
-- Locks:      none but be_present's, which waits for nobody.
-- Safety:     the report is read back in a statement after the settings were made. A commit must
--             mean durable: synchronous_commit is raised to on where it is weaker and kept where it
--             is remote_apply. Read-only is reported and not lifted: somebody meant it. Runs with
--             the caller's rights, for only those show the start of its own backend.
create or replace function giro.session(
    p_lock_timeout_ms int, p_statement_timeout_ms int, p_idle_timeout_ms int,
    p_instance text default null, p_marks uuid[] default '{}')
returns table (cluster text, name text, ordinal int, epoch bigint, format_version int,
               system_identifier text, timeline text, in_recovery boolean, backend_pid int,
               backend_start timestamptz, role text, database text, read_only boolean,
               isolation text, synchronous_commit text, lock_timeout_ms int,
               statement_timeout_ms int, idle_timeout_ms int, max_prepared_transactions int,
               fenced text, missing_marks int)
language plpgsql volatile security invoker
set search_path = pg_catalog, giro, pg_temp
as $$
#variable_conflict use_column
declare
    v_timeline text := '';
begin
    perform set_config('lock_timeout', p_lock_timeout_ms::text, false),
            set_config('statement_timeout', p_statement_timeout_ms::text, false),
            set_config('idle_in_transaction_session_timeout', p_idle_timeout_ms::text, false),
            set_config('default_transaction_isolation', 'read committed', false),
            set_config('client_min_messages', 'warning', false),
            set_config('jit', 'off', false);
    if current_setting('synchronous_commit') not in ('on', 'remote_apply') then
        perform set_config('synchronous_commit', 'on', false);
    end if;
    if p_instance is not null then
        perform giro.be_present(p_instance);
    end if;
    if not pg_is_in_recovery() then
        v_timeline := left(pg_walfile_name(pg_current_wal_lsn()), 8);
    end if;

    return query
        select i.cluster, i.name, i.ordinal, i.epoch, i.format_version, i.system_identifier,
               v_timeline, pg_is_in_recovery(), pg_backend_pid(), b.backend_start,
               session_user::text, current_database()::text,
               current_setting('transaction_read_only')::boolean
               or current_setting('default_transaction_read_only')::boolean,
               current_setting('default_transaction_isolation'),
               current_setting('synchronous_commit'),
               (select s.setting::int from pg_settings s where s.name = 'lock_timeout'),
               (select s.setting::int from pg_settings s where s.name = 'statement_timeout'),
               (select s.setting::int from pg_settings s
                where s.name = 'idle_in_transaction_session_timeout'),
               current_setting('max_prepared_transactions')::int, i.fenced, i.missing_marks
        from pg_stat_get_activity(pg_backend_pid()) b
        left join giro.identity(p_marks) i on true;
end
$$;

revoke execute on function giro.session from public;
