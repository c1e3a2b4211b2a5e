-- postpone: what it notes, where, and that it never waits.
select * from no_plan();
call test.reset();
call test.run(test.record_call(1, 1, 'saga', 'alice', 'x', 5, 'pending'));
call test.run(test.record_call(2, 2, 'saga', 'alice', 'x', 5, 'pending', null, 2000));
call test.run(test.record_call(3, 3, '2pc', 'alice', 'x', 5));
call test.run(test.record_call(4, 4, 'saga', 'alice', 'x', 5, 'pending'));
update giro.transfers set deadline_at = clock_timestamp() - interval '1 s' where id = test.id(4);

select is(giro.postpone(test.ids(1, 2, 3, 4, 99), 60000, 'shard-2 is down', null), 3,
          'the pending ones are counted');
select test.same(
    $$select id, last_error, attention, next_attempt_at > clock_timestamp() + interval '50 s',
             next_attempt_at = deadline_at
      from giro.transfers order by id$$,
    $$values (test.id(1), 'shard-2 is down', null, true, null::boolean),
             (test.id(2), 'shard-2 is down', null, false, true),
             (test.id(3), null, null, null, null),
             (test.id(4), 'shard-2 is down', null, true, false)$$,
    'they are due later, but no later than a deadline to come; a final one is left alone');
select is(giro.postpone(test.ids(1), 0, null, 'look'), 1, 'a note may say that a person is needed');
select test.same($$select last_error, attention, next_attempt_at <= clock_timestamp()
                   from giro.transfers where id = test.id(1)$$,
                 $$values (null, 'look', true)$$, 'the last one stands');
select is(giro.postpone(test.ids(1), 0, 'x', null), 1, 'also one that says nothing of that');
select is(attention, null, 'which is forgotten then') from giro.transfers where id = test.id(1);
select is(giro.postpone('{}', 1, 'x', null), 0, 'nothing asked, nothing done');
update giro.transfers set created_at = clock_timestamp() - interval '2 min' where id = test.id(4);
update giro.transfers set coordinator = 'girod-1' where state = 'pending';
update giro.transfers set next_attempt_at = clock_timestamp(), attention = 'leg-lost: y'
where id = test.id(3);
select is(giro.postpone(test.ids(3, 4), 60000, 'down', null), 2, 'a lost credit may wait too');
select test.same($$select id, attention, coordinator from giro.transfers
                   where id in (test.id(3), test.id(4)) order by id$$,
                 $$values (test.id(3), 'leg-lost: y', null),
                          (test.id(4), 'credit-waits: it waits for shard shard-2', null)$$,
                 'it keeps its reason, and what is old gets one; nobody works at either');

call test.open('a');
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.settle_call('{1}', array['alice'], array[null]));
set lock_timeout = '1s';
select is(giro.postpone(test.ids(1, 2), 10, 'later', null), 1,
          'one whose end is under way is skipped');
call test.execute('a', 'commit');
select is(giro.postpone(test.ids(1), 10, 'later', null), 0, 'and is final then');
call test.close('a');
select * from finish();
