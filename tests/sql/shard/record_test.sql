-- record: what it stores, and that a key is taken once.
select * from no_plan();
call test.reset();
begin;
create temporary table answer as
    select * from giro.record(
        test.id(1), '2pc', 'shard-1', 'shard-2', array[test.id(12), test.id(11), test.id(13)],
        array['a', 'b', 'c'], array['\x01', '\x02', '\x03']::bytea[], array['x', 'y', 'c'],
        array['\x81', '\x82', '\x03']::bytea[], array['k-a', 'k-b', 'k-c'],
        array[10, 20, 30]::bigint[], array['EUR', 'USD', 'EUR'],
        array['posted', 'refused', 'refused'], array[null, 'insufficient-funds', 'same-account'],
        array['rent', null, null], array['{"for": "may"}', null, '{}'],
        array[null, null, null]::bigint[]);
select is(created_at, now(), 'created_at is the time of the transaction') from answer;
select ok(decided_at >= now() and decided_at <= clock_timestamp(), 'decided_at is now') from answer;
commit;
select test.same(
    $$select id, home, remote, debit_account, debit_route, credit_account, credit_route,
             idempotency_key, amount, currency, mode, state, refusal, batch, reference,
             metadata::text, attempts, attention, deadline_at, next_attempt_at
      from giro.transfers order by id$$,
    $$values (test.id(11), 'shard-1', 'shard-2', 'b', '\x02'::bytea, 'y', '\x82'::bytea, 'k-b',
              20::bigint, 'USD', '2pc', 'refused', 'insufficient-funds', test.id(1), null, '{}', 0,
              null, null::timestamptz, null::timestamptz),
             (test.id(12), 'shard-1', 'shard-2', 'a', '\x01', 'x', '\x81', 'k-a', 10, 'EUR', '2pc',
              'posted',
              null, test.id(1), 'rent', '{"for": "may"}', 0, null, null, null),
             (test.id(13), 'shard-1', 'shard-2', 'c', '\x03', 'c', '\x03', 'k-c', 30, 'EUR', '2pc',
              'refused',
              'same-account', test.id(1), null, '{}', 0, null, null, null)$$,
    'posted and refused transfers are stored with all that was asked');
select ok(bool_and(t.created_at = a.created_at and t.decided_at = a.decided_at),
          'their times are those that were answered') from giro.transfers t, answer a;
select throws_ok(test.record_call(2, 11, '2pc', 'b', 'y', 20), '23505', null,
                 'a transfer that stands is not stored again');
select throws_ok(test.record_call(2, 14, '2pc', 'b', 'y', 0), '23514', null,
                 'a constraint is a wall besides the checks of the caller');
select lives_ok(test.record_call(3, 15, 'saga', 'b', 'y', 20, 'pending'), 'a saga may be pending');
select is(decided_at, null, 'and is not decided then') from giro.transfers where id = test.id(15);
select is(deadline_at, null, 'it has no deadline unless one is given')
from giro.transfers where id = test.id(15);
select ok(next_attempt_at between clock_timestamp() + giro.patience() - interval '5 s'
                              and clock_timestamp() + giro.patience(),
          'and is left to its coordinator for a while') from giro.transfers where id = test.id(15);
select lives_ok(test.record_call(7, 16, 'saga', 'b', 'y', 20, 'pending', null, 90000),
                'a saga may have a deadline');
select ok(deadline_at between clock_timestamp() + interval '85 s'
                          and clock_timestamp() + interval '90 s',
          'which counts from now, on the shard''s clock')
from giro.transfers where id = test.id(16);
select lives_ok($$select giro.record(test.id(4), '2pc', 'shard-1', 'shard-2', '{}', '{}', '{}',
                                     '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')$$,
                'nothing to store is fine');

-- a twin under way
call test.open('a');
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.record_call(5, 20, '2pc', 'b', 'y', 1));
set lock_timeout = '100ms';
select throws_ok(test.record_call(6, 20, '2pc', 'b', 'y', 1), '55P03', null,
                 'it waits for an open twin, at most lock_timeout');
call test.execute('a', 'commit');
select throws_ok(test.record_call(6, 20, '2pc', 'b', 'y', 1), '23505', null,
                 'and collides with it once it is committed');
call test.close('a');
select * from finish();
