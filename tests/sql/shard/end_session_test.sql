-- end_session: ends sessions of the caller's role, and no others.
select * from no_plan();
call test.reset();
call test.account('alice', 10);
call test.open('a');
call test.open('b');
call test.open('stranger', 'giro_stranger');
create function pg_temp.end_call(p_session text, p_shift interval default '0') returns text
language sql
as $$
    select format('select giro.end_session(%s, %L)', pid, backend_start + p_shift)
    from pg_stat_activity
    where pid = (select r from dblink(p_session, 'select pg_backend_pid()') x (r int))
$$;
select pg_temp.end_call('a') as end_a, pg_temp.end_call('a', '1 microsecond') as end_later,
       pg_temp.end_call('stranger') as end_stranger,
       format('select giro.end_session(%s, %L)', pid, backend_start) as end_owner
from pg_stat_activity where pid = pg_backend_pid() \gset

select is(test.ask('b', :'end_later'), '(t)', 'a session of that pid and start is gone');
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.apply_call(1, 'home', '2pc', array[test.leg('alice', 1, -1)]));
select is(test.ask('b', :'end_a'), '(f)', 'a living one is told to go');
call test.wait_until(format('test.ask(''b'', %L) = ''(t)''', :'end_a'));
select pass('and is gone soon');
select is(giro.verdict(test.id(1), '2pc', 'shard-1', 'shard-2', 'girod-2'), 'abort',
          'what it had under way is gone with it');
select is(test.ask('b', :'end_a'), '(t)', 'ending it again does nothing');
select is(test.ask('b', :'end_owner'), '(t)', 'a session of a stronger role is not seen');
select is(test.ask('b', :'end_stranger'), '(t)', 'nor is one of another role');
select is(test.ask('stranger', 'select 1'), '(1)', 'and lives on');
select is(test.ask('b', 'select giro.end_session(1, now())'), '(t)', 'no such pid at all');
select is_empty('select * from test.faults', 'the books balance');
call test.close('a');
call test.close('b');
call test.close('stranger');
select * from finish();
