-- The coordinator's role executes the participants and touches no table; nobody else does either.
select * from no_plan();
call test.reset();
select test.same(
    $$select p.proname from pg_proc p
      where p.pronamespace = 'giro'::regnamespace
        and has_function_privilege('giro_coordinator', p.oid, 'execute')
      order by p.proname collate "C"$$,
    $$select unnest(array[
        'account_create', 'account_entries', 'account_get', 'account_list', 'account_patch',
        'acknowledge', 'apply', 'batches_in_doubt', 'be_present', 'books', 'claim',
        'coordinator_is_present', 'coordinators_present', 'end_session',
        'end_stopped_sessions', 'fence_off', 'finish', 'fold_clearing', 'give_up', 'identity',
        'leg_exists', 'legs_in_doubt', 'lock', 'missing_leg', 'note_waiting', 'postpone',
        'prepared_exists', 'prepared_list', 'receipts_by_id', 'receive',
        'reconcile_accounts', 'reconcile_batches', 'reconcile_claim', 'reconcile_credits',
        'reconcile_end', 'reconcile_forget', 'reconcile_ids', 'reconcile_note',
        'reconcile_prepared', 'reconcile_transfers', 'reconcile_verdicts', 'record', 'recovery',
        'register_coordinator', 'replication_state', 'retry', 'session', 'settle',
        'settled_leg', 'shard_report', 'shard_state',
        'steps_home', 'steps_remote', 'stuck_leg', 'take_over', 'tombstone',
        'transfer_get', 'transfers_by_id', 'transfers_list', 'transfers_summary', 'verdict',
        'verdicts_by_id',
        'wait_for'])$$,
    'the coordinator executes these functions and no others');
select is_empty(
    $$select p.proname from pg_proc p
      where p.pronamespace = 'giro'::regnamespace
        and has_function_privilege('giro_stranger', p.oid, 'execute')$$,
    'a stranger executes none');
select is_empty(
    $$select r, c.relname, p
      from pg_class c, unnest(array['giro_coordinator', 'giro_stranger']) r,
           unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references',
                        'trigger']) p
      where c.relnamespace = 'giro'::regnamespace and c.relkind in ('r', 'v', 'm', 'p')
        and has_table_privilege(r, c.oid, p)$$, 'nobody has a right on any table');
select is_empty(
    $$select c.relname, p from pg_class c, unnest(array['select', 'insert', 'update']) p
      where c.relnamespace = 'giro'::regnamespace and c.relkind = 'r'
        and has_any_column_privilege('giro_coordinator', c.oid, p)$$, 'nor on any column');
select is(has_schema_privilege('giro_coordinator', 'giro', 'create'), false,
          'nor may create anything');
select is(has_schema_privilege('giro_stranger', 'giro', 'usage'), false,
          'a stranger may not use the schema');
call test.open('a');
select throws_ok(format('call test.execute(''a'', %L)', s), '42501', null, s)
from unnest(array['select * from giro.accounts', 'select * from giro.shard',
                  'insert into giro.migrations (number, name) values (9, ''x'')',
                  'update giro.accounts set balance = 1', 'delete from giro.batches',
                  'select giro.grant_coordinator(''giro_coordinator'')',
                  'select giro.setup_shard(''demo'', ''shard-1'', 1)',
                  'select giro.readmit(9)',
                  'select giro.fence(''{}'', ''{}'', ''{}'', ''{}'', true)']) s;

-- grant_coordinator converges
grant select on giro.accounts to giro_coordinator;
grant execute on function giro.setup_shard to giro_coordinator;
select lives_ok($$select giro.grant_coordinator('giro_coordinator')$$, 'granting may be repeated');
select is(has_table_privilege('giro_coordinator', 'giro.accounts', 'select'), false,
          'and takes what is too much');
select is(has_function_privilege('giro_coordinator', 'giro.setup_shard(text, text, int)',
                                 'execute'), false, 'functions too');

-- the functions themselves
select is_empty(
    $$select p.proname from pg_proc p
      where p.pronamespace = 'giro'::regnamespace and p.prosecdef
        and not 'search_path=pg_catalog, giro, pg_temp' = any (coalesce(p.proconfig, '{}'))$$,
    'all that run with their owner''s rights have a search_path of their own');
select is_empty(
    $$select p.proname from pg_proc p
      where p.pronamespace = 'giro'::regnamespace and p.provolatile <> 'v'
        and p.proname not in ('books', 'fence_class', 'is_listed', 'patience',
                            'patience_is_over', 'presence_class', 'waits_for')$$,
    'all that lock or decide are volatile');
call test.execute('a', 'create temporary table accounts (id text)');
call test.account('alice', 5);
select is(test.ask('a', test.lock_call(array['alice'])), '(1,locked,EUR,5,1,0,open)',
          'tables of the caller do not stand in for ours');
call test.close('a');
select * from finish();
