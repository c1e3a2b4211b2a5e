-- settle: every outcome, the refund, and two of them at once.
select * from no_plan();
call test.reset();
call test.account('alice', 100);
create procedure pg_temp.holds(p_first int, p_last int)
language plpgsql
as $$
begin
    for n in p_first..p_last loop
        call test.run(test.apply_call(n, 'home', 'saga', array[test.leg('alice', n, -5)]));
        call test.run(test.record_call(n, n, 'saga', 'alice', 'x', 5, 'pending'));
    end loop;
end
$$;
call pg_temp.holds(11, 18);
update giro.transfers set attention = 'look', last_error = 'lost' where id = test.id(11);

-- close
select test.same(
    'select transfer, state, refusal, decided_at is not null from ('
        || test.settle_call('{12,11,99}', array['alice', 'alice', 'alice'], array[null, null, null])
        || ') s order by transfer',
    $$values (test.id(11), 'posted', null, true), (test.id(12), 'posted', null, true),
             (test.id(99), null, null, false)$$,
    'pending ones are posted, and what is not here is not');
select test.same(
    $$select state, refusal, decided_at is not null, next_attempt_at, attention, last_error
      from giro.transfers where id = test.id(11)$$,
    $$values ('posted', null, true, null::timestamptz, null, 'lost')$$,
    'nothing is due any more, and nobody is needed');
select decided_at as decided_11 from giro.transfers where id = test.id(11) \gset
select test.same('select state, decided_at from ('
                     || test.settle_call('{11}', array['alice'], array['cancelled']) || ') s',
                 format('values (''posted'', %L::timestamptz)', :'decided_11'),
                 'what was posted is never reversed');
select test.same('select state, decided_at from ('
                     || test.settle_call('{11}', array['alice'], array[null]) || ') s',
                 format('values (''posted'', %L::timestamptz)', :'decided_11'),
                 'repeat ' || n || ' changes nothing')
from generate_series(1, 50) n;

-- a lost credit
call test.run(test.record_call(31, 31, '2pc', 'alice', 'x', 5));
call test.run(test.record_call(32, 32, '2pc', 'alice', 'x', 5));
update giro.transfers set next_attempt_at = clock_timestamp(), coordinator = 'girod-1',
                          attention = 'leg-lost: y'
where id in (test.id(31), test.id(32));
select decided_at as decided_31 from giro.transfers where id = test.id(31) \gset
select test.same('select transfer, state, refusal, decided_at = '
                     || quote_literal(:'decided_31') || ' and transfer = test.id(31) from ('
                     || test.settle_call('{31,32}', array['alice', 'alice'],
                                         array[null, 'account-closed']) || ') s order by transfer',
                 $$values (test.id(31), 'posted', null, true),
                          (test.id(32), 'posted', null, false)$$,
                 'what was decided stays posted, also when its credit is refused');
select test.same($$select id, state, refusal, next_attempt_at, coordinator, attention
                   from giro.transfers where id in (test.id(31), test.id(32)) order by id$$,
                 $$values (test.id(31), 'posted', null, null::timestamptz, null, null),
                          (test.id(32), 'posted', null, null, null,
                           'credit-refused: account-closed')$$,
                 'it is not due any more; a refused one needs a person from then on');
select test.same('select state from ('
                     || test.settle_call('{32}', array['alice'], array[null]) || ') s',
                 $$values ('posted')$$, 'settling it again');
select is(attention, 'credit-refused: account-closed', 'changes nothing')
from giro.transfers where id = test.id(32);

-- refund: the money and the state in one transaction
begin;
call test.run(test.apply_call(40, 'home', 'saga',
                              array[test.leg('alice', 13, 5, 'x', 'refund')]));
select test.same('select state, refusal from ('
                     || test.settle_call('{13}', array['alice'], array['account-frozen']) || ') s',
                 $$values ('reversed', 'account-frozen')$$, 'a refusal reverses');
commit;
select is(balance, 65::bigint, 'the money is back') from giro.accounts where id = 'alice';
select test.same('select state, refusal from ('
                     || test.settle_call('{13}', array['alice'], array[null]) || ') s',
                 $$values ('reversed', 'account-frozen')$$, 'what was reversed stays so');
select throws_ok(test.apply_call(41, 'home', 'saga',
                                 array[test.leg('alice', 13, 5, 'x', 'refund')]),
                 '23505', null, 'and is not paid back twice');

-- the fence
select test.same('select transfer, state from (' || test.settle_call('{14}', array['alice'],
                                                                     array[null], 2) || ') s',
                 $$values (test.id(14), 'stale_route')$$, 'an old routing settles nothing');
call test.open('mover', 'giro_test');
call test.execute('mover', 'begin');
call test.execute('mover', format('select pg_advisory_xact_lock(giro.fence_class(), %s)',
                                  test.partition('alice')));
select test.same('select transfer, state from (' || test.settle_call('{14}', array['alice'],
                                                                     array[null]) || ') s',
                 $$values (test.id(14), 'partition_moving')$$, 'nor does one meanwhile');
call test.execute('mover', 'rollback');
call test.close('mover');
select is(state, 'pending', 'it is still pending') from giro.transfers where id = test.id(14);

-- two at once
call test.open('a');
call test.open('b');
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.settle_call('{14,15}', array['alice', 'alice'], array[null, null]));
call test.send('b', 'select state, refusal from ('
                    || test.settle_call('{15,14}', array['alice', 'alice'],
                                        array['cancelled', 'cancelled']) || ') s');
call test.wait_until($$exists (select from pg_stat_activity where wait_event_type = 'Lock'
                               and query like '%giro.settle%')$$);
call test.execute('a', 'commit');
select results_eq('select test.answer(''b'')', array['(posted,)', '(posted,)'],
                  'the second waits for the first and reads what stands');
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.settle_call('{16}', array['alice'], array[null]));
call test.send('b', 'select state from ('
                    || test.settle_call('{16}', array['alice'], array[null]) || ') s');
call test.wait_until($$exists (select from pg_stat_activity where wait_event_type = 'Lock'
                               and query like '%giro.settle%')$$);
call test.execute('a', 'rollback');
select is(test.answer('b'), '(posted)', 'or settles what the first left');
call test.close('a');
call test.close('b');
select is_empty('select * from test.faults', 'the books balance');
select * from finish();
