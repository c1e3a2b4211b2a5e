-- recovery and the functions that it is made of: what was left behind is found, and only that.
select * from no_plan();
call test.reset();
call test.account('alice', 100);
call test.account('bob', 100);
call test.open('a');
call test.open('b');
\set presence 'select role from giro.session(1000, 3000, 20000, ''girod-1'')'
\set presence_2 'select role from giro.session(1000, 3000, 20000, ''girod-2'')'

-- What girod-2 is told, with the age in ms from which on the work of the living counts as left.
create function pg_temp.found(p_age_ms bigint, p_usable text[] default '{shard-1,shard-2}',
                              p_skip uuid[] default '{}', p_cluster text default 'demo',
                              p_limit int default 10)
returns setof text
language sql
as $$
    select test.ask('b', format('select kind, coalesce(split_part(gid, '':'', 4), count::text) '
                                'from giro.recovery(%L, ''girod-2'', %s, %L, ''{}'', %L, %s)',
                                p_cluster, p_age_ms, p_usable, p_skip, p_limit))
$$;
create function pg_temp.row(p_kind text, p_batch int) returns text
language sql
as $$ select format('(%s,%s)', p_kind, test.id(p_batch)) $$;

-- Legs: girod-1 prepares one and is present, girod-9 never was.
call test.execute('a', :'presence');
call test.execute('b', :'presence_2');
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.lock_call(array['bob']));
call test.execute('a', test.apply_call(1, 'remote', '2pc', array[test.leg('bob', 1, 25)]));
call test.execute('a', format('prepare transaction %L',
                              'giro:demo:girod-1:' || test.id(1) || ':shard-2:shard-1'));
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', 'select giro.lock(''{}'', ''{}'', ''{}'', ''{}'', ''{}'')');
call test.execute('a', format('prepare transaction %L',
                              'giro:demo:girod-9:' || test.id(2) || ':shard-2:shard-1'));
select results_eq('select pg_temp.found(60000)', array[pg_temp.row('leg', 2)],
                  'a leg of an absent coordinator is found at once, that of a present one is not');
select results_eq('select pg_temp.found(0) order by 1',
                  array[pg_temp.row('leg', 1), pg_temp.row('leg', 2)], 'unless it is old enough');
select is_empty('select pg_temp.found(0, p_cluster => ''dem_'')',
                'nothing of another cluster, however alike its name');
select is_empty('select pg_temp.found(0, ''{shard-1}'')', 'nor whose home is away');
select results_eq(format('select pg_temp.found(0, p_skip => %L)', test.ids(1)),
                  array[pg_temp.row('leg', 2)], 'nor what the caller knows of');
select is((select count(*) from pg_temp.found(0, p_limit => 1)), 1::bigint, 'nor more than asked');

-- Names that are nearly ours: no batch, not as we write one, of another shard, one part more.
create temp table alike as
    select 'giro:demo:girod-9:' || name as gid
    from unnest(array['none:shard-2:shard-1',
                      'A' || substr(test.id(3)::text, 2) || ':shard-2:shard-1',
                      test.id(3) || ':shard-2:shard-9', test.id(3) || ':shard-2:shard-1:']) name;
do $$
declare
    v_gid text;
begin
    for v_gid in select gid from alike loop
        call test.execute('a', 'begin');
        call test.execute('a', format('prepare transaction %L', v_gid));
    end loop;
end
$$;
select is((select count(*) from pg_prepared_xacts x join alike a on a.gid = x.gid), 4::bigint,
          'others have prepared as well');
select is_empty('select pg_temp.found(0, p_skip => test.ids(1, 2))',
                'and nothing of that is found');
do $$
declare
    v_gid text;
begin
    for v_gid in select gid from alike loop
        call test.execute('a', format('rollback prepared %L', v_gid));
    end loop;
end
$$;

-- Unfinished batches.
call test.run(test.apply_call(11, 'home', '2pc', array[test.leg('alice', 11, -5)]));
call test.run(test.apply_call(12, 'home', '2pc', array[test.leg('alice', 12, -5)]));
call test.run(test.apply_call(13, 'home', 'saga', array[test.leg('alice', 13, -5)]));
call test.run(test.apply_call(14, 'home', '2pc', array[test.leg('alice', 14, -5)]));
select giro.finish(test.ids(14));
select giro.verdict(test.id(15), '2pc', 'shard-1', 'shard-2', 'girod-9');
update giro.batches set coordinator = 'girod-9' where batch = test.id(12);
select results_eq('select pg_temp.found(60000) order by 1',
                  array[pg_temp.row('batch', 12), pg_temp.row('leg', 2)],
                  'a decided batch of an absent coordinator is found while it is not finished');
select results_eq('select pg_temp.found(0, ''{shard-2}'') order by 1',
                  array[pg_temp.row('batch', 11), pg_temp.row('batch', 12),
                        pg_temp.row('leg', 1), pg_temp.row('leg', 2)], 'others when they are old');
select results_eq('select pg_temp.found(0, ''{shard-1}'')', '{}'::text[],
                  'not while the remote shard is away');
select is(test.ask('b', format('select gid from giro.recovery(''demo'', ''girod-2'', 0, '
                               '''{shard-2}'', ''{}'', %L, 9) where kind = ''batch''',
                               test.ids(12))),
          format('(giro:demo:girod-1:%s:shard-1:shard-2)', test.id(11)),
          'it is told by the name of its leg');

-- Sagas: who is gone is let go of, in steps.
do $$
begin
    for n in 21..26 loop
        call test.run(test.record_call(n, n, 'saga', 'alice', 'x', 5, 'pending'));
    end loop;
end
$$;
update giro.transfers
set coordinator = case when id < test.id(24) then 'girod-9' else 'girod-1' end;
select is_empty('select f from pg_temp.found(60000) f where f like ''(sagas%''',
                'nobody misses a coordinator that never was');
insert into giro.coordinators (instance) values ('girod-1'), ('girod-9');
select results_eq('select f from pg_temp.found(60000, p_limit => 2) f where f like ''(sagas%''',
                  array['(sagas,2)'], 'sagas of one that is gone are let go of');
select is(count(*), 2::bigint, 'and due at once') from giro.transfers
where next_attempt_at <= clock_timestamp() and coordinator is null;
select results_eq('select f from pg_temp.found(60000, p_limit => 2) f where f like ''(sagas%''',
                  array['(sagas,1)'], 'all of them, step by step');
select is(string_agg(instance, ' ' order by instance), 'girod-1 girod-2',
          'then it is forgotten; the caller is registered') from giro.coordinators;
call test.open('c');
call test.execute('c', 'begin isolation level read committed');
insert into giro.coordinators (instance) values ('girod-8');
update giro.transfers set coordinator = 'girod-8' where id in (test.id(24), test.id(25));
call test.execute('c', format('select giro.give_up(%s, 1, ''alice'', %L, %L, ''cancelled'')',
                              test.partition('alice'), test.route('alice'), test.id(24)));
select results_eq('select f from pg_temp.found(60000) f where f like ''(sagas%''',
                  array['(sagas,1)'], 'one that is locked is passed');
call test.execute('c', 'commit');
call test.close('c');
select is(count(*), 1::bigint, 'and its coordinator remembered') from giro.coordinators
where instance = 'girod-8';
select results_eq('select f from pg_temp.found(60000) f where f like ''(sagas%''',
                  array['(sagas,1)'], 'so it is found the next time');

-- Attention.
update giro.transfers set created_at = clock_timestamp() - interval '2 min',
                          next_attempt_at = clock_timestamp() - interval '1 min'
where id in (test.id(21), test.id(22), test.id(23));
update giro.transfers set attention = 'look' where id = test.id(22);
update giro.transfers set remote = 'shard-3' where id = test.id(23);
select is(giro.note_waiting('{shard-1}', 9), 0::bigint, 'nothing waits for a shard that is near');
select is(giro.note_waiting('{shard-2}', 9), 1::bigint, 'what waits for one that is away is noted');
select is(giro.note_waiting('{shard-2}', 9), 0::bigint, 'once');
select test.same('select id, attention from giro.transfers where attention is not null order by id',
                 $$values (test.id(21), 'credit-waits: it waits for shard shard-2'),
                          (test.id(22), 'look')$$, 'an older reason stays');

-- The end of girod-1 leaves its leg and its batch at once.
call test.close('a');
call test.wait_until('not giro.coordinator_is_present(''girod-1'')');
select results_eq('select f from pg_temp.found(60000) f where f like ''(leg%'' or f like ''(batch%''
                   order by 1',
                  array[pg_temp.row('batch', 11), pg_temp.row('batch', 12),
                        pg_temp.row('leg', 1), pg_temp.row('leg', 2)],
                  'when a coordinator is gone all that it left is found at once');
select results_eq('select f from pg_temp.found(60000) f where f like ''(sagas%''', '{}'::text[],
                  'and its sagas have been let go of');
select is_empty($$select from giro.transfers where coordinator is not null$$, 'all of them');

-- Sessions that wait for their client in the middle of a transaction.
call test.open('idle');
call test.open('stranger', 'giro_stranger');
call test.execute('idle', 'begin');
call test.execute('stranger', 'begin');
select test.ask('idle', 'select 1');
select is(test.ask('b', 'select giro.end_stopped_sessions()'), '(0)', 'a young one is let be');
call test.execute('b', 'set idle_in_transaction_session_timeout = 0');
select is(test.ask('b', 'select giro.end_stopped_sessions()'), '(0)', 'so are all without a limit');
call test.execute('b', 'set idle_in_transaction_session_timeout = ''10ms''');
select pg_sleep(0.02);
select results_eq('select f from pg_temp.found(60000) f where f like ''(sessions%''',
                  array['(sessions,1)'], 'an old one is ended');
call test.wait_until('(select count(*) from pg_stat_activity where usename = ''giro_coordinator'' '
                     'and state = ''idle in transaction'') = 0');
select is(test.ask('stranger', 'select 1'), '(1)', 'one of another role lives on');

select dblink_exec('b', format('rollback prepared %L', gid)) from pg_prepared_xacts;
select is_empty('select * from test.faults', 'the books balance');
call test.close('b');
call test.close('stranger');
select dblink_disconnect('idle');
select * from finish();
