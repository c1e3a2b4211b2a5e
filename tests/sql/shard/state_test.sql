-- shard_state, replication_state, prepared_list and verdicts_by_id: what is unfinished.
select * from no_plan();
call test.reset();
call test.account('alice', 100);
call test.account('bob', 10);
call test.open('a');
call test.open('b');

-- shard_state
create function pg_temp.state(p_most int default 100, out pending text, out attention text,
                              out unfinished text, out prepared bigint)
language sql
as $$
    select concat_ws(' ', pending, round(extract(epoch from asked_at - pending_since) / 60)),
           concat_ws(' ', attention, round(extract(epoch from asked_at - attention_since) / 60)),
           concat_ws(' ', unfinished, round(extract(epoch from asked_at - unfinished_since) / 60)),
           prepared
    from giro.shard_state(p_most)
$$;
select test.same('select * from pg_temp.state()', $$values ('0', '0', '0', 0::bigint)$$,
                 'nothing is unfinished at first');
select is(prepared_max, current_setting('max_prepared_transactions')::int, 'what can be prepared')
from giro.shard_state(1);
do $$
begin
    for n in 11..14 loop
        call test.run(test.record_call(n, n, 'saga', 'alice', 'x', n, 'pending'));
    end loop;
    call test.run(test.record_call(15, 15, '2pc', 'alice', 'x', 5));
    call test.run(test.record_call(16, 16, 'local', 'alice', 'bob', 5));
    call test.run(test.record_call(17, 17, '2pc', 'alice', 'x', 5, 'refused', 'account-closed'));
    for n in 2..4 loop
        call test.run(test.apply_call(n, 'home', '2pc', array[test.leg('alice', 20 + n, -1)]));
    end loop;
    call test.run(test.apply_call(5, 'home', 'saga', array[test.leg('alice', 25, -1)]));
    perform giro.verdict(test.id(6), '2pc', 'shard-1', 'shard-2', 'girod-1');
end
$$;
update giro.transfers set created_at = clock_timestamp() - (amount - 10) * interval '1 min';
update giro.batches set created_at = clock_timestamp() - interval '7 min' where batch = test.id(3);
select giro.finish(test.ids(4)) \g /dev/null
select test.same('select pending, attention, unfinished from pg_temp.state()',
                 $$values ('4 4', '0', '2 7')$$,
                 'sagas that are pending and batches that are unfinished are counted, no others');
update giro.transfers set attention = 'look' where id in (test.id(13), test.id(15));
update giro.transfers set created_at = clock_timestamp() - interval '9 min' where id = test.id(15);
select test.same('select pending, attention, unfinished from pg_temp.state()',
                 $$values ('4 4', '2 9', '2 7')$$, 'and what waits for a person');
select test.same('select pending, attention, unfinished from pg_temp.state(1)',
                 $$values ('1 3', '1 9', '1 7')$$,
                 'up to a limit, and the oldest is told all the same, if it waits for a person');
update giro.transfers set state = 'posted', decided_at = created_at, next_attempt_at = null,
                          attention = null
where state = 'pending';
select test.same('select pending, attention from pg_temp.state()', $$values ('0', '1 9')$$,
                 'what is final is not counted');

-- replication_state: this server has no standby; a slot in use holds WAL back
select test.same('select * from giro.replication_state()',
                 $$values (0, null::bigint, null::bigint)$$,
                 'without a standby nothing is known of its lag');

-- it reads no index that grows with the history
create function pg_temp.scans() returns setof text
language plpgsql
as $$
begin
    perform pg_stat_clear_snapshot();
    return query select indexrelname || ' ' || idx_scan from pg_stat_user_indexes
                 where schemaname = 'giro' and relname in ('transfers', 'batches')
                   and indexrelname not in ('transfers_due', 'transfers_in_transit',
                                            'transfers_need_attention', 'batches_unfinished')
                 order by indexrelname;
end
$$;
select pg_stat_force_next_flush();
create temporary table before as select s from pg_temp.scans() s;
select count(*) from generate_series(1, 5), giro.shard_state(10) \g /dev/null
select pg_stat_force_next_flush();
select test.same('select s from pg_temp.scans() s', 'select s from before',
                 'no index that grows with the history is read');

-- prepared_list
\set gid giro:demo:girod-1:00000000-0000-0000-0000-000000000007:shard-2:shard-1
select is_empty('select * from giro.prepared_list(10)', 'nothing is prepared');
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.lock_call(array['bob']));
call test.execute('a', test.apply_call(7, 'remote', '2pc', array[test.leg('bob', 27, 25)]));
call test.execute('a', 'prepare transaction ' || quote_literal(:'gid'));
begin;
insert into giro.migrations values (99, 'by hand');
prepare transaction 'by hand';
create database other;
select dblink_connect('other', format('host=%s port=%s dbname=other user=giro_coordinator',
       current_setting('unix_socket_directories'), current_setting('port')));
call test.execute('other', 'begin');
call test.execute('other', 'prepare transaction ''elsewhere''');
select test.same(
    $$select * from test.ask('a', 'select gid, owner, database, is_here, is_own, is_present
                                   from giro.prepared_list(10)')$$,
    format($$values ('(%s,giro_coordinator,shard,t,t,f)'), ('("by hand",giro_test,shard,t,f,f)'),
                    ('(elsewhere,giro_coordinator,other,f,t,f)')$$, :'gid'),
    'all of the server are listed, the oldest first, with database and role');
select test.same('select gid from giro.prepared_list(1)', format('values (%L)', :'gid'),
                 'up to a limit');
select ok(p.prepared_at = x.prepared and p.age_ms between 0 and 600000, 'with time and age')
from giro.prepared_list(1) p join pg_prepared_xacts x on x.gid = p.gid;
select is(prepared, 3::bigint, 'all of them take a place') from pg_temp.state();
call test.execute('b', 'select role from giro.session(1000, 3000, 20000, ''girod-1'')');
select is(is_present, true, 'a coordinator with a session here is present')
from giro.prepared_list(1);
call test.execute('other', 'rollback prepared ''elsewhere''');
call test.close('other');
drop database other;
rollback prepared 'by hand';
call test.execute('b', 'commit prepared ' || quote_literal(:'gid'));

-- verdicts_by_id
select test.same(
    $$select batch, verdict from giro.verdicts_by_id(test.ids(2, 6, 7, 8)) order by batch$$,
    $$values (test.id(2), 'commit'), (test.id(6), 'abort')$$,
    'verdicts are found; a leg is none, and what is not there is not given one');
select is_empty('select from giro.batches where batch = test.id(8)', 'nothing was written');
begin;
select count(*) from giro.verdicts_by_id(test.ids(8)) \g /dev/null
select pg_current_xact_id_if_assigned() is null as no_xid_8 \gset
select count(*) from giro.verdicts_by_id(test.ids(2)) \g /dev/null
select pg_current_xact_id_if_assigned() is null as no_xid_2 \gset
commit;
select is(:'no_xid_8'::text, 't', 'what is not found costs no commit');
select is(:'no_xid_2'::text, 'f', 'what is found forces a commit that is durable');
select is_empty('select * from test.faults', 'the books balance');
call test.close('a');
call test.close('b');
select * from finish();
