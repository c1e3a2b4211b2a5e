-- Presence: a coordinator is present at a shard as long as one of its sessions lives there.
select * from no_plan();
call test.reset();
select is(giro.coordinator_is_present('girod-1'), false, 'nobody is present at first');
call test.open('a');
call test.open('b');
call test.open('c');
call test.execute('a', 'select role from giro.session(1000, 3000, 20000, ''girod-1'')');
call test.execute('a', 'select role from giro.session(1000, 3000, 20000, ''girod-1'')');
call test.execute('b', 'select role from giro.session(1000, 3000, 20000, ''girod-1'')');
call test.execute('c', 'select role from giro.session(1000, 3000, 20000)');
select is(giro.coordinator_is_present('girod-1'), true, 'a session makes its instance present');
select is(giro.coordinators_present(), array[hashtext('girod-1')],
          'and nobody else; a session without a name makes nobody present');
select is(test.ask('b', 'select giro.coordinator_is_present(''girod-1'')'), '(t)',
          'a coordinator may ask, also about itself');
select is(giro.coordinator_is_present('girod-2'), false, 'another one is not present');

select is((select count(distinct sign(hashtext('girod-' || i))) from generate_series(1, 20) i),
          2::bigint, 'the names below have hashes of either sign');
do $$
begin
    for i in 1..20 loop
        call test.execute('c', format('select role from giro.session(1000, 3000, 20000, %L)',
                                      'girod-' || i));
    end loop;
end
$$;
select is_empty($$select i from generate_series(1, 20) i
                  where not giro.coordinator_is_present('girod-' || i)$$, 'all of them are seen');
call test.close('c');
call test.wait_until('not giro.coordinator_is_present(''girod-2'')');
select pass('the end of its only session makes an instance absent');

-- The lock of a session does not stand in the way of PREPARE TRANSACTION, nor stay with it.
call test.account('bob', 10);
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.lock_call(array['bob']));
select is(dblink_exec('a', 'prepare transaction ''giro:demo:girod-1:b1:shard-2:shard-1'''),
          'PREPARE TRANSACTION', 'a session that is present prepares');
call test.close('a');
select is(giro.coordinator_is_present('girod-1'), true, 'one session left is enough');
call test.close('b');
call test.wait_until('not giro.coordinator_is_present(''girod-1'')');
select pass('without any the instance is absent, whatever it has left prepared');
rollback prepared 'giro:demo:girod-1:b1:shard-2:shard-1';
select is_empty('select * from test.faults', 'the books balance');
select * from finish();
