-- Whatever writes, claims or looks up what decides refuses any isolation but READ COMMITTED.
select * from no_plan();
call test.reset();
call test.account('alice', 100);
create temporary table calls (name text, call text);
insert into calls
values ('lock', test.lock_call(array['alice'])),
       ('wait_for', $$select giro.wait_for('alice')$$),
       ('fence', $$select giro.fence('{}', '{}', '{}', '{}', false)$$),
       ('apply', test.apply_call(1, 'home', '2pc', array[test.leg('alice', 1, -1)])),
       ('record', test.record_call(1, 1, '2pc', 'alice', 'x', 1)),
       ('finish', $$select giro.finish('{}')$$),
       ('verdict', $$select giro.verdict(test.id(1), '2pc', 'shard-1', 'shard-2', 'girod-1')$$),
       ('fence_off', $$select giro.fence_off(7, 'x')$$),
       ('readmit', $$select giro.readmit(1)$$),
       ('leg_exists', $$select giro.leg_exists(test.id(1))$$),
       ('missing_leg', $$select giro.missing_leg(test.id(1), 'x')$$),
       ('stuck_leg', $$select giro.stuck_leg(test.id(1), 'x')$$),
       ('settled_leg', $$select giro.settled_leg(test.id(1))$$),
       ('recovery', $$select giro.recovery('demo', 'girod-1', 0, '{}', '{}', '{}', 1)$$),
       ('register_coordinator', $$select giro.register_coordinator('girod-1')$$),
       ('take_over', $$select giro.take_over('{}', 1)$$),
       ('note_waiting', $$select giro.note_waiting('{}', 1)$$),
       ('batches_in_doubt', $$select giro.batches_in_doubt('demo', '{}', '0', '{}', '{}', 1)$$),
       ('receive', $$select giro.receive(test.id(1), '{}', '{}', '{}', '{}')$$),
       ('receipts_by_id', $$select giro.receipts_by_id(array[test.id(1)])$$),
       ('tombstone', $$select giro.tombstone('{}', '{}', test.id(1), '{}', '{}', '{}', '{}')$$),
       ('settle', $$select giro.settle('{}', '{}', '{}', '{}', '{}', '{}')$$),
       ('claim', $$select giro.claim(array['shard-2'], 1, 'girod-1')$$),
       ('postpone', $$select giro.postpone('{}', 1, null, null)$$),
       ('give_up', $$select giro.give_up(1, 1, 'alice', '\x01', test.id(1), 'cancelled')$$),
       ('retry', $$select giro.retry(1, 1, 'alice', '\x01', test.id(1))$$),
       ('acknowledge', $$select giro.acknowledge(1, 1, 'alice', '\x01', test.id(1))$$),
       ('transfers_by_id', $$select giro.transfers_by_id(array[test.id(1)])$$),
       ('transfer_get', $$select giro.transfer_get(test.id(1))$$),
       ('transfers_summary', 'select giro.transfers_summary(1)'),
       ('transfers_list', $$select giro.transfers_list(null, null, 0, 1, 1, null, null, null, null,
                            null, null, false)$$),
       ('account_create', $$select giro.account_create(1, 1, 'bob', '\x01', 'EUR', null, false,
                            null)$$),
       ('account_get', $$select giro.account_get(1, 1, 'alice', '\x01')$$),
       ('account_patch', $$select giro.account_patch(1, 1, 'alice', '\x01', 'frozen', null,
                           false)$$),
       ('account_entries', $$select giro.account_entries(1, 1, 'alice', '\x01', null, 1)$$),
       ('account_list', $$select giro.account_list('', '', 1)$$),
       ('steps_home', $$select giro.steps_home(test.id(1))$$),
       ('steps_remote', $$select giro.steps_remote(test.id(1), test.id(1))$$),
       ('reconcile_accounts', $$select giro.reconcile_accounts(false, '', null, null, 1, 1)$$),
       ('reconcile_ids', 'select giro.reconcile_ids(false, null, 1)'),
       ('reconcile_transfers', $$select giro.reconcile_transfers('{}')$$),
       ('reconcile_credits', $$select giro.reconcile_credits('{}', '{}')$$),
       ('reconcile_batches', 'select giro.reconcile_batches(null, 1)'),
       ('reconcile_verdicts', $$select giro.reconcile_verdicts('{}')$$),
       ('reconcile_note', $$select giro.reconcile_note('{}', '{}', '{}', '{}', '{}')$$),
       ('reconcile_forget', $$select giro.reconcile_forget('{}')$$),
       ('reconcile_claim', $$select giro.reconcile_claim('girod-1', 1, null)$$),
       ('reconcile_end', $$select giro.reconcile_end('girod-1', true, false)$$),
       ('fold_clearing', 'select giro.fold_clearing(1, 1)'),
       ('verdicts_by_id', $$select giro.verdicts_by_id(test.ids(1))$$),
       ('shard_report', 'select giro.shard_report()'),
       ('shard_state', 'select giro.shard_state(1)'),
       ('replication_state', 'select giro.replication_state()'),
       ('setup_shard', $$select giro.setup_shard('demo', 'shard-1', 1)$$),
       ('setup_partitions', $$select giro.setup_partitions('{}', '{}', '{}', '{}', '{}', '{}')$$),
       ('require_read_committed', 'select giro.require_read_committed()');
select lives_ok(call, name || ' runs under read committed')
from calls where name in ('fence', 'finish', 'leg_exists', 'account_get', 'setup_shard');
begin isolation level repeatable read;
select throws_ok(call, 'GR001', null, name || ' refuses repeatable read') from calls;
commit;
begin isolation level serializable;
select throws_ok(call, 'GR001', null, name || ' refuses serializable') from calls;
commit;
select is_empty(
    $$select p.proname from pg_proc p
      where p.pronamespace = 'giro'::regnamespace
        and p.proname not in (select name from calls)
        and p.proname not in ('account_answer', 'be_present', 'books', 'coordinator_is_present',
                              'coordinators_present', 'end_session', 'end_stopped_sessions',
                              'fence_class', 'force_durability',
                              'grant_coordinator', 'identity', 'is_listed',
                              'legs_in_doubt', 'missing_marks',
                              'patience', 'patience_is_over',
                              'prepared_exists', 'prepared_list',
                              'presence_class',
                              'reconcile_prepared',
                              'require_unfenced', 'session', 'waits_for')$$,
    'every other function needs no snapshot of its own');
select is_empty($$select from giro.batches where batch = test.id(1)
                  union all select from giro.transfers$$, 'nothing was applied');
select is_empty('select * from test.faults', 'the books balance');
select * from finish();
