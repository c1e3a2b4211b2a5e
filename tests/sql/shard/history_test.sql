-- Lost history: missing marks, the fence of the whole shard and what it stops, readmission.
select * from no_plan();
call test.reset();
call test.account('alice', 100);
call test.open('a');
call test.run(test.apply_call(1, 'home', '2pc', array[test.leg('alice', 1, -1)]));
call test.run(test.apply_call(2, 'remote', '2pc', array[test.leg('alice', 2, 1)]));
select is(giro.verdict(test.id(3), '2pc', 'shard-1', 'shard-2', 'girod-1'), 'abort',
          'a batch that is given up');

-- marks
select is(giro.missing_marks('{}'), '{}'::uuid[], 'nothing is asked, nothing is missing');
select is(giro.missing_marks(test.ids(1, 2)), '{}'::uuid[],
          'commits of either role are remembered');
select is(giro.missing_marks(test.ids(1, 3, 4)), test.ids(3, 4),
          'what is given up or unknown was never acknowledged here');
select is(test.ask('a', format('select fenced, missing_marks from giro.session(0, 0, 0, null, %L)',
                               test.ids(1, 2))), '(,0)', 'a session reports that all is well');
select is(test.ask('a', format('select fenced, missing_marks from giro.session(0, 0, 0, null, %L)',
                               test.ids(1, 4, 5))), '(,2)', 'and how many marks are missing');
select is(test.ask('a', 'select missing_marks from giro.session(0, 0, 0)'), '(0)',
          'it need not be asked');

-- fencing off, as the coordinator
call test.execute('a', $$select giro.fence_off(7, 'of another epoch')$$);
select is((select fenced from giro.shard), null, 'a finding about another epoch does nothing');
call test.execute('a', $$select giro.fence_off(1, 'it is an older copy')$$);
call test.execute('a', $$select giro.fence_off(1, 'something else')$$);
select is((select fenced from giro.shard), 'it is an older copy', 'the first reason stands');
select is((select fenced_at between now() - interval '1 min' and clock_timestamp()
           from giro.shard), true, 'with its time');
select is(test.ask('a', 'select fenced from giro.session(0, 0, 0)'), '("it is an older copy")',
          'a session reports it');

-- what stops: all that begins a write, a claim or a verdict
create temporary table stopped (name text, call text);
insert into stopped
values ('lock', test.lock_call(array['alice'])),
       ('verdict', $$select giro.verdict(test.id(9), '2pc', 'shard-1', 'shard-2', 'girod-1')$$),
       ('verdict', $$select giro.verdict(test.id(1), '2pc', 'shard-1', 'shard-2', 'girod-1')$$),
       ('finish', $$select giro.finish(test.ids(1))$$),
       ('leg_exists', $$select giro.leg_exists(test.id(2))$$),
       ('missing_leg', $$select giro.missing_leg(test.id(1), 'x')$$),
       ('tombstone', $$select giro.tombstone('{}', '{}', test.id(1), '{}', '{}', '{}', '{}')$$),
       ('settle', $$select giro.settle('{}', '{}', '{}', '{}', '{}', '{}')$$),
       ('stuck_leg', $$select giro.stuck_leg(test.id(1), 'x')$$),
       ('settled_leg', $$select giro.settled_leg(test.id(1))$$),
       ('recovery', $$select giro.recovery('demo', 'girod-1', 0, '{}', '{}', '{}', 1)$$),
       ('register_coordinator', $$select giro.register_coordinator('girod-1')$$),
       ('take_over', $$select giro.take_over('{}', 1)$$),
       ('note_waiting', $$select giro.note_waiting('{}', 1)$$),
       ('batches_in_doubt', $$select giro.batches_in_doubt('demo', '{}', '0', '{}', '{}', 1)$$),
       ('fold_clearing', 'select giro.fold_clearing(1, 1)'),
       ('claim', $$select giro.claim(array['shard-2'], 1, 'girod-1')$$),
       ('postpone', $$select giro.postpone('{}', 1, null, null)$$),
       ('give_up', $$select giro.give_up(1, 1, 'alice', '\x01', test.id(1), 'cancelled')$$),
       ('account_create', $$select giro.account_create(1, 1, 'bob', '\x01', 'EUR', null, false,
                            null)$$),
       ('account_get', $$select giro.account_get(1, 1, 'alice', '\x01')$$),
       ('account_patch', $$select giro.account_patch(1, 1, 'alice', '\x01', 'frozen', null,
                           false)$$),
       ('account_entries', $$select giro.account_entries(1, 1, 'alice', '\x01', null, 1)$$);
select throws_ok(call, 'GR004', 'this shard is fenced off: it is an older copy',
                 name || ' is stopped')
from stopped;
select is_empty($$select from giro.batches where batch = test.id(9)$$,
                'no verdict was left behind');

-- readmission
select is(giro.readmit(1), false, 'the same epoch readmits nothing');
select is((select fenced from giro.shard), 'it is an older copy', 'and lifts nothing');
select is(giro.readmit(3), true, 'a higher one does');
select test.same('select epoch, fenced, fenced_at from giro.shard',
                 $$values (3::bigint, null::text, null::timestamptz)$$, 'and is taken over');
select is(giro.readmit(3), false, 'once');
call test.execute('a', $$select giro.fence_off(1, 'late')$$);
select is((select fenced from giro.shard), null, 'a finding from before it comes too late');
select lives_ok(call, name || ' goes on') from stopped
where name in ('lock', 'finish', 'leg_exists', 'claim', 'account_get');
select is(giro.verdict(test.id(1), '2pc', 'shard-1', 'shard-2', 'girod-1'), 'commit',
          'and so do verdicts');
call test.close('a');
select is_empty('select * from test.faults', 'the books balance');
select * from finish();
