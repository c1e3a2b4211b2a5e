-- session: what it sets, what it reports, and what it leaves alone.
select * from no_plan();
call test.reset();
call test.open('plain');
call test.open('odd', p_options => '-c synchronous_commit=off '
               '-c default_transaction_isolation=serializable -c default_transaction_read_only=on '
               '-c lock_timeout=7min');
call test.open('strong', p_options => '-c synchronous_commit=remote_apply');
call test.open('weak', p_options => '-c synchronous_commit=remote_write');
\set report 'select cluster, name, ordinal, epoch, format_version, timeline, in_recovery, role, database, read_only, isolation, synchronous_commit, lock_timeout_ms, statement_timeout_ms, idle_timeout_ms, max_prepared_transactions from giro.session(1000, 3000, 20000)'

select is(test.ask('plain', :'report'),
          '(demo,shard-1,1,1,1,00000001,f,giro_coordinator,shard,f,"read committed",on,1000,3000,'
          '20000,64)', 'a session is set up and reported');
select is(test.ask('plain', 'select current_setting(''lock_timeout''), '
          'current_setting(''statement_timeout''), '
          'current_setting(''idle_in_transaction_session_timeout''), '
          'current_setting(''client_min_messages''), current_setting(''search_path'')'),
          '(1s,3s,20s,warning,"""$user"", public")',
          'the settings stay after the call, the search_path of the function does not');
select test.same(
    $$select test.ask('plain', 'select backend_pid, backend_start, system_identifier '
                      'from giro.session(1000, 3000, 20000)')$$,
    $$select (pid, backend_start, system_identifier)::text
      from pg_stat_activity, pg_control_system()
      where pid = (select p from dblink('plain', 'select pg_backend_pid()') x (p int))$$,
    'the coordinator learns its own backend and the system identifier');
select is(test.ask('plain', 'select lock_timeout_ms, statement_timeout_ms, idle_timeout_ms '
                   'from giro.session(0, 0, 0)'), '(0,0,0)', 'zero is no limit');
select is(test.ask('odd', :'report'),
          '(demo,shard-1,1,1,1,00000001,f,giro_coordinator,shard,t,"read committed",on,1000,3000,'
          '20000,64)',
          'a weak commit and a strict isolation are put right, read-only is only reported');
select is(test.ask('odd', 'select current_setting(''transaction_isolation'')'),
          '("read committed")', 'and later transactions have them');
select is(test.ask('strong', 'select synchronous_commit from giro.session(1000, 3000, 20000)'),
          '(remote_apply)', 'a stronger commit is kept');
select is(test.ask('weak', 'select synchronous_commit from giro.session(1000, 3000, 20000)'),
          '(on)', 'remote_write is not enough');
truncate giro.shard;
select is(test.ask('plain', 'select cluster is null, name is null, epoch is null, role '
                   'from giro.session(1000, 3000, 20000)'), '(t,t,t,giro_coordinator)',
          'before the shard is set up there is still a report');
call test.close('plain');
call test.close('odd');
call test.close('strong');
call test.close('weak');
select * from finish();
