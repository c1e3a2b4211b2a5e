-- verdict: first come, first served; it waits for an open decision; a zombie meets it.
select * from no_plan();
call test.reset();
call test.account('alice', 100);
call test.open('a');
call test.open('b');
create function pg_temp.verdict_call(p_batch int) returns text
language sql
as $$
    select format('select giro.verdict(%L, ''2pc'', ''shard-1'', ''shard-2'', ''girod-2'')',
                  test.id(p_batch))
$$;

-- nothing decided: given up, for ever
select results_eq(pg_temp.verdict_call(1), array['abort'], 'what is not decided is given up');
select results_eq(pg_temp.verdict_call(1), array['abort'], 'and stays given up');
select test.same(
    $$select role, mode, verdict, home, remote, coordinator, transfer_count,
             finished_at is not null from giro.batches where batch = test.id(1)$$,
    $$values ('home', '2pc', 'abort', 'shard-1', 'shard-2', 'girod-2', 0, true)$$,
    'by a row that says who did it');

-- decided: found, for ever
call test.run(test.apply_call(2, 'home', '2pc', array[test.leg('alice', 2, -1)]));
select results_eq(pg_temp.verdict_call(2), array['commit'], 'what is decided is answered');
select is((select coordinator from giro.batches where batch = test.id(2)), 'girod-1',
          'and not changed');
begin;
select giro.verdict(test.id(2), '2pc', 'shard-1', 'shard-2', 'girod-2') as found \gset
select pg_current_xact_id_if_assigned() is null as no_xid, pg_current_wal_insert_lsn() as lsn \gset
commit;
select is(:'found'::text, 'commit', 'a verdict that was found');
select is(:'no_xid'::text, 'f', 'forces a commit');
select ok(pg_current_wal_flush_lsn() >= :'lsn'::pg_lsn, 'and is durable with it');

-- open: waited for, then committed
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.apply_call(3, 'home', '2pc', array[test.leg('alice', 3, -1)]));
call test.execute('b', 'set lock_timeout = ''100ms''');
select throws_ok(format('select test.ask(''b'', %L)', pg_temp.verdict_call(3)), '55P03', null,
                 'an open decision is waited for, at most lock_timeout');
call test.execute('b', 'set lock_timeout = ''10s''');
call test.send('b', pg_temp.verdict_call(3));
select pg_sleep(0.1);
select is(dblink_is_busy('b'), 1, 'until it ends');
call test.execute('a', 'commit');
select is(test.answer('b'), '(commit)', 'if it commits, that is the verdict');

-- open: waited for, then rolled back
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.apply_call(4, 'home', '2pc', array[test.leg('alice', 4, -1)]));
call test.send('b', pg_temp.verdict_call(4));
select pg_sleep(0.1);
select is(dblink_is_busy('b'), 1, 'an open decision is waited for');
call test.execute('a', 'rollback');
select is(test.answer('b'), '(abort)', 'if it rolls back, the batch is given up');

-- a zombie decides after it was given up
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.lock_call(array['alice']));
select results_eq(pg_temp.verdict_call(5), array['abort'], 'a slow batch is given up');
select throws_ok(
    format('call test.execute(''a'', %L)',
           test.apply_call(5, 'home', '2pc', array[test.leg('alice', 5, -1)])),
    '23505', null, 'its own decision collides');
select is(dblink_exec('a', 'commit'), 'ROLLBACK', 'and its commit is a rollback');
select is((select balance from giro.accounts where id = 'alice'), 98::bigint,
          'nothing of it is applied');

-- a zombie that waits for the verdict of another session
call test.execute('b', 'begin isolation level read committed');
call test.execute('b', pg_temp.verdict_call(6));
call test.execute('a', 'begin isolation level read committed');
call test.send('a', test.apply_call(6, 'home', '2pc', array[test.leg('alice', 6, -1)]));
select pg_sleep(0.1);
select is(dblink_is_busy('a'), 1, 'a decision waits for an open verdict');
call test.execute('b', 'commit');
select throws_ok('select test.answer(''a'')', '23505', null, 'and collides with it');
call test.close('a');

select throws_ok($$select giro.verdict(test.id(7), '2pc', 'shard-2', 'shard-1', 'girod-2')$$,
                 'GR003', null, 'only the home shard is asked');
select is_empty($$select from giro.batches where batch = test.id(7)$$, 'nothing is decided then');
select throws_ok($$select giro.verdict(test.id(8), 'local', 'shard-1', 'shard-2', 'girod-2')$$,
                 '23514', null, 'a local batch has no remote');
select is(giro.verdict(test.id(9), 'local', 'shard-1', 'shard-1', 'girod-2'), 'abort',
          'local batches have verdicts');
select is(giro.verdict(test.id(10), 'saga', 'shard-1', 'shard-2', 'girod-2'), 'abort',
          'and so have holds');
select is_empty('select * from test.faults', 'the books balance');
call test.close('b');
select * from finish();
