-- tombstone: every outcome, and its races with the credit.
select * from no_plan();
call test.reset();
call test.account('alice');
call test.run(test.receive_call(1, '{11,12}', array['alice', 'bob'],
                                array[null, 'account-not-found']));
select test.same(
    test.tombstone_call(2, '{13,12,11,14}', array['alice', 'bob', 'alice', 'nobody'])
        || ' order by transfer',
    $$values (test.id(11), 'applied', null), (test.id(12), 'refused', 'account-not-found'),
             (test.id(13), 'cancelled', null), (test.id(14), 'cancelled', null)$$,
    'the first receipt stays, and where there is none the credit is given up');
select test.same(
    $$select transfer, credit_account, credit_route, outcome, refusal, batch
      from giro.receipts where batch = test.id(2) order by transfer$$,
    $$values (test.id(13), 'alice', test.route('alice'), 'cancelled', null, test.id(2)),
             (test.id(14), 'nobody', test.route('nobody'), 'cancelled', null, test.id(2))$$,
    'which stands in receipts of their own, for accounts that are not there too');
select test.same(test.tombstone_call(round, '{13}', array['alice']),
                 $$values (test.id(13), 'cancelled', null)$$,
                 'round ' || round || ' reads it again')
from generate_series(3, 52) round;
select is(count(*), 1::bigint, 'fifty repeats leave one receipt')
from giro.receipts where transfer = test.id(13);

-- the fence
select test.same(test.tombstone_call(4, '{15}', array['alice'], 2),
                 $$values (test.id(15), 'stale_route', null)$$, 'an old routing gives nothing up');
select test.same(test.tombstone_call(4, '{11}', array['alice'], 2),
                 $$values (test.id(11), 'stale_route', null)$$,
                 'and hears nothing of a receipt that may have moved away');
call test.open('mover', 'giro_test');
call test.execute('mover', 'begin');
call test.execute('mover', format('select pg_advisory_xact_lock(giro.fence_class(), %s)',
                                  test.partition('alice')));
select test.same(test.tombstone_call(4, '{15}', array['alice']),
                 $$values (test.id(15), 'partition_moving', null)$$, 'nor does one meanwhile');
call test.execute('mover', 'rollback');
call test.close('mover');
select is_empty('select from giro.receipts where transfer = test.id(15)', 'nothing stands then');

-- a credit under way
call test.open('credit');
call test.open('cancel');
call test.execute('cancel', 'set lock_timeout = ''100ms''');
call test.execute('credit', 'begin isolation level read committed');
call test.execute('credit', test.lock_call(array['alice']));
call test.execute('credit', test.apply_call(5, 'remote', 'saga', array[test.leg('alice', 20, 7)]));
call test.execute('credit', test.receive_call(5, '{20}', array['alice'], array[null]));
select throws_ok(format('call test.execute(''cancel'', %L)',
                        test.tombstone_call(6, '{20}', array['alice'])),
                 '55P03', null, 'a tombstone waits for an open credit, at most lock_timeout');
call test.execute('cancel', 'set lock_timeout = ''20s''');
call test.send('cancel', test.tombstone_call(6, '{20}', array['alice']));
call test.wait_until($$exists (select from pg_stat_activity where wait_event_type = 'Lock'
                               and query like '%giro.tombstone%')$$);
call test.execute('credit', 'commit');
select is(test.answer('cancel'), format('(%s,applied,)', test.id(20)),
          'and finds the credit that came first');
select is(balance, 7::bigint, 'whose money is there') from giro.accounts where id = 'alice';

call test.execute('credit', 'begin isolation level read committed');
call test.execute('credit', test.apply_call(7, 'remote', 'saga', array[test.leg('alice', 21, 7)]));
call test.execute('credit', test.receive_call(7, '{21}', array['alice'], array[null]));
call test.send('cancel', test.tombstone_call(8, '{21}', array['alice']));
call test.wait_until($$exists (select from pg_stat_activity where wait_event_type = 'Lock'
                               and query like '%giro.tombstone%')$$);
call test.execute('credit', 'rollback');
select is(test.answer('cancel'), format('(%s,cancelled,)', test.id(21)),
          'or takes the place of one that was rolled back');

-- a credit that stands without a receipt: its home has forgotten the 2PC transfer
call test.run(test.apply_call(30, 'remote', '2pc', array[test.leg('alice', 31, 5)]));
select test.same(format('select * from giro.receipts_by_id(array[%L::uuid])', test.id(31)),
                 $$values (test.id(31), 'applied', null)$$,
                 'a credit that stands is as good as its receipt');
select is(test.ask('cancel', test.tombstone_call(32, '{31}', array['alice'])),
          format('(%s,applied,)', test.id(31)), 'and is never given up');

-- two tombstones
call test.execute('credit', 'begin isolation level read committed');
call test.execute('credit', test.tombstone_call(9, '{22,23}', array['alice', 'bob']));
call test.send('cancel', test.tombstone_call(10, '{23,22}', array['bob', 'alice']));
call test.wait_until($$exists (select from pg_stat_activity where wait_event_type = 'Lock'
                               and query like '%giro.tombstone%')$$);
call test.execute('credit', 'commit');
select results_eq('select test.answer(''cancel'') order by 1',
                  array[format('(%s,cancelled,)', test.id(22)),
                        format('(%s,cancelled,)', test.id(23))],
                  'two tombstones agree, in whatever order they were asked for');
select is(count(*), 2::bigint, 'and the first of them stands')
from giro.receipts where batch = test.id(9);
call test.close('credit');
call test.close('cancel');
select is_empty('select * from test.faults', 'the books balance');
select * from finish();
