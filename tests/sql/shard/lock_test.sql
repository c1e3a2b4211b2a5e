-- lock: the states it answers, in which order, and what it holds.
select * from no_plan();
call test.reset();
-- not in the order of their ids, so that the order of locking is not that of the heap by chance
call test.account('carol');
call test.account('bob', 50, -20);
call test.account('alice', 100);
call test.open('a');
call test.open('b');
select test.lock_call(array['nobody', 'bob', 'alice', 'carol']) as lock_all,
       test.lock_call(array['bob']) as lock_bob \gset

select test.same(
    'select distinct on (place) place, state, currency, balance, version, floor, status '
    'from (select *, row_number() over () as row from (' || :'lock_all' || ') l) l '
    'order by place, row',
    $$values (1, 'locked', 'EUR', 100::bigint, 1::bigint, 0::bigint, 'open'),
             (2, 'locked', 'EUR', 50, 1, -20, 'open'),
             (3, 'locked', 'EUR', 0, 0, 0, 'open'),
             (4, 'missing', null, null, null, null, null)$$,
    'every account asked for is answered by its place, with the values under the lock');
select is_empty('select * from giro.lock(''{}'', ''{}'', ''{}'', ''{}'', ''{}'')',
                'nothing asked, nothing answered');
update giro.accounts set status = 'frozen' where id = 'carol';
select test.same('select status from (' || test.lock_call(array['carol']) || ') l',
                 'select ''frozen''', 'the status is answered, it is no reason not to lock');

-- busy and missing
call test.execute('a', 'begin isolation level read committed');
select is(test.ask('a', :'lock_bob'), '(1,locked,EUR,50,1,-20,open)', 'one session locks bob');
select test.same(
    'select distinct on (place) place, state, balance '
    'from (select *, row_number() over () as row from (' || :'lock_all' || ') l) l '
    'order by place, row',
    $$values (1, 'locked', 100::bigint), (2, 'busy', null), (3, 'locked', 0),
             (4, 'missing', null)$$,
    'a locked row is busy, without waiting and without values; an absent one is missing');

-- wait_for: stands in the row's queue, at most lock_timeout, and holds nothing afterwards
set lock_timeout = '100ms';
select throws_ok('select giro.wait_for(''bob'')', '55P03', null,
                 'it waits for a locked row at most lock_timeout');
call test.send('b', 'select giro.wait_for(''bob'')');
call test.wait_until('exists (select from pg_locks where not granted)');
call test.execute('a', test.apply_call(1, 'home', '2pc', array[test.leg('bob', 1, -30)]));
call test.execute('a', 'commit');
select is((select count(*) from test.answer('b')), 1::bigint, 'it returns when the row is free');
select is(test.ask('a', :'lock_bob'), '(1,locked,EUR,20,2,-20,open)',
          'and holds nothing: lock has the row, as the other one left it');
select lives_ok('select giro.wait_for(''nobody'')', 'a missing account is not waited for');

-- opposite orders of asking do not deadlock, since the order of locking is one
call test.execute('a', 'begin isolation level read committed');
select is((select count(*) from test.ask('a', test.lock_call(array['alice', 'bob', 'carol'])) r
           where r like '%locked%'), 3::bigint, 'all three are locked by one');
select is((select count(*) from test.ask('b', test.lock_call(array['alice', 'bob', 'carol'])) r
           where r like '%busy%'), 3::bigint, 'all three are busy for another');
call test.execute('a', 'rollback');

-- the fence
select test.same(
    'select place, state, balance from (' || test.lock_call(array['alice', 'bob'], 2)
    || ') l order by place',
    $$values (1, 'stale_route', null::bigint), (2, 'stale_route', null)$$,
    'accounts asked for under another epoch are stale');
call test.execute('a', 'begin');
call test.open('mover', 'giro_test');
call test.execute('mover', 'begin');
call test.execute('mover', format('select pg_advisory_xact_lock(1195987535, %s)',
                                  test.partition('bob')));
select test.same(
    'select distinct on (place) place, state '
    'from (select *, row_number() over () as row from ('
    || test.lock_call(array['alice', 'bob', 'carol']) || ') l) l order by place, row',
    format($$select place::int, case test.partition(id) when %s then 'partition_moving'
             else 'locked' end
             from unnest(array['alice', 'bob', 'carol']) with ordinality a (id, place)$$,
           test.partition('bob')),
    'accounts of a partition that is being moved are answered as such, the others are locked');
call test.execute('mover', 'commit');
call test.execute('a', 'rollback');

select isnt(test.partition('alice'), test.partition('bob'),
            'the accounts of this test are in both partitions');
select is_empty('select * from test.faults', 'the books balance');
call test.close('a');
call test.close('b');
call test.close('mover');
select * from finish();
