-- transfers_list: which transfers, in which order, how far a walk goes, and that history is not
-- read for what is unfinished.
select * from no_plan();
call test.reset();
create function pg_temp.list(
    p_before int default null, p_limit int default 100, p_walk int default 1000,
    p_state text default null, p_mode text default null, p_shard text default null,
    p_account text default null, p_reference text default null,
    p_attention boolean default null, p_unfinished boolean default false,
    p_older_ms bigint default 0)
returns text
language sql
as $$
    select coalesce(string_agg(case when l.state is null then '>' else '' end
                               || right(l.id::text, 12)::bigint, ' ' order by place), '')
    from giro.transfers_list(
             (select t.created_at from giro.transfers t where t.id = test.id(p_before)),
             test.id(p_before), p_older_ms, p_limit, p_walk, p_state, p_mode, p_shard, p_account,
             p_reference, p_attention, p_unfinished)
         with ordinality l (id, h, state, m, d, c, a, cu, k, r, me, re, at, an, na, le, ca, de, wf,
                            place)
$$;
select is(pg_temp.list(), '', 'a shard without transfers lists none');

call test.run(test.record_call(1, 1, '2pc', 'a', 'b', 5));
call test.run(test.record_call(2, 2, 'local', 'a', 'c', 6, 'refused', 'insufficient-funds'));
call test.run(test.record_call(3, 3, 'saga', 'a', 'd', 7, 'pending'));
call test.run(test.record_call(4, 4, 'saga', 'b', 'a', 8, 'pending'));
call test.run(test.record_call(5, 5, '2pc', 'b', 'x', 9));
call test.run(test.record_call(6, 6, '2pc', 'c', 'x', 9));
call test.run(test.record_call(7, 7, '2pc', 'c', 'x', 9));
update giro.transfers set created_at = '2026-01-01Z', reference = null where id <> test.id(7);
update giro.transfers set created_at = '2025-01-01Z', reference = 'r' where id = test.id(7);
update giro.transfers set attention = 'credit-refused: x' where id = test.id(5);
insert into giro.batches (batch, role, mode, verdict, home, remote, coordinator, transfer_count,
                          created_at, finished_at)
values (test.id(1), 'home', '2pc', 'commit', 'shard-1', 'shard-3', 'girod-1', 1, now(), null),
       (test.id(6), 'home', '2pc', 'commit', 'shard-1', 'shard-2', 'girod-1', 1, now(), now()),
       (test.id(7), 'home', '2pc', 'commit', 'shard-1', 'shard-2', 'girod-1', 1, now(), now());

-- order and pages
select is(pg_temp.list(), '6 5 4 3 2 1 7', 'the newest first, and among equals the greatest id');
select is(pg_temp.list(p_limit => 3), '6 5 4', 'not more than asked for');
select is(pg_temp.list(4, p_limit => 3), '3 2 1', 'those before one');
select is(pg_temp.list(1), '7', 'to the oldest');
select is(pg_temp.list(7), '', 'before which there is none');
select is(pg_temp.list(p_limit => -1), '', 'a limit below zero is zero');
select is(pg_temp.list(p_older_ms => 1000), '6 5 4 3 2 1 7', 'all of them are old');
update giro.transfers set created_at = clock_timestamp() where id = test.id(6);
select is(pg_temp.list(p_older_ms => 3600000), '5 4 3 2 1 7', 'but for one');
select is(pg_temp.list(p_older_ms => 3600000, p_unfinished => true), '5 4 3 1', 'here too');

-- what is listed
select is(pg_temp.list(p_state => 'posted'), '6 5 1 7', 'by state');
select is(pg_temp.list(p_state => 'refused'), '2', 'also a rare one');
select is(pg_temp.list(p_state => 'pending'), '4 3', 'and what is pending');
select is(pg_temp.list(p_mode => 'local'), '2', 'by mode');
select is(pg_temp.list(p_shard => 'shard-2'), '6 5 4 3 1 7', 'by the other shard');
select is(pg_temp.list(p_shard => 'shard-1'), '6 5 4 3 2 1 7', 'and by this one');
select is(pg_temp.list(p_shard => 'shard-9'), '', 'or one that has none');
select is(pg_temp.list(p_account => 'a'), '4 3 2 1', 'by an account on either side');
select is(pg_temp.list(p_account => 'a', p_state => 'pending'), '4 3', 'and state');
select is(pg_temp.list(p_reference => 'r'), '7', 'by reference');
select is(pg_temp.list(p_attention => true), '5 4 3', 'what needs attention, soon or by its age');
select is(pg_temp.list(p_attention => false), '6 2 1 7', 'what does not');
select is(pg_temp.list(p_unfinished => true), '5 4 3 1',
          'what is not finished: pending, in need of a person, or decided and not seen');
select is(pg_temp.list(4, p_limit => 1, p_unfinished => true), '3', 'by pages too');

-- how far a walk goes
select is(pg_temp.list(p_state => 'refused', p_walk => 3), '>4', 'a walk ends, and says where');
select is(pg_temp.list(4, p_state => 'refused', p_walk => 3), '2 >1', 'the next one goes on there');
select is(pg_temp.list(1, p_state => 'refused', p_walk => 3), '', 'to the end');
select is(pg_temp.list(p_state => 'posted', p_walk => 3, p_limit => 2), '6 5',
          'a full page says nothing of the walk');
select is(pg_temp.list(p_walk => 1), '6 5 4 3 2 1 7', 'what looks for nothing needs no walk');

-- whole rows
select test.same(
    $$select l.* from giro.transfers t, giro.transfer_get(t.id) l
      order by l.created_at desc, l.id desc$$,
    $$select * from giro.transfers_list(null, null, 0, 100, 100, null, null, null, null, null, null,
                                        false)$$, 'what transfer_get says of each');
select test.same(
    $$select id, waits_for from giro.transfers_list(null, null, 0, 100, 100, null, null, null, null,
                                                    null, null, true)$$,
    $$values (test.id(5), null), (test.id(4), 'shard-2'), (test.id(3), 'shard-2'),
             (test.id(1), 'shard-3')$$, 'a shard that is waited for is named');
update giro.transfers set attention = 'refund-refused: balance-limit' where id = test.id(3);
select is((select waits_for from giro.transfer_get(test.id(3))), 'shard-1',
          'a refund waits for its home');
select is_empty('select giro.transfer_get(test.id(99))', 'what is not, is not');

-- whatever the history
insert into giro.transfers (id, home, remote, debit_account, debit_route, credit_account,
                            credit_route, idempotency_key, amount, currency, mode, state, batch,
                            created_at, decided_at)
select test.id(n), 'shard-1', 'shard-2', 'h', '\x01', 'i', '\x02', n::text, 1, 'EUR', '2pc',
       'posted', test.id(8), '2026-06-01Z'::timestamptz + n % 7 * interval '1 s', now()
from generate_series(1000, 20999) n;
call test.open('a');
create procedure pg_temp.fetched(p_call text, p_most bigint, p_what text)
language plpgsql
as $$
declare
    v_scans bigint;
    v_fetched bigint;
    v_done bigint := 0;
begin
    call test.execute('a', 'select pg_stat_force_next_flush()');
    perform pg_sleep(0.1);
    perform pg_stat_clear_snapshot();
    select seq_scan, idx_tup_fetch into v_scans, v_fetched
    from pg_stat_user_tables where relid = 'giro.transfers'::regclass;
    call test.execute('a', p_call);
    call test.execute('a', 'select pg_stat_force_next_flush()');
    for i in 1 .. 100 loop
        perform pg_stat_clear_snapshot();
        select idx_tup_fetch - v_fetched into v_done
        from pg_stat_user_tables where relid = 'giro.transfers'::regclass;
        exit when v_done > 0;
        perform pg_sleep(0.05);
    end loop;
    insert into pg_temp.readings
    select p_what, v_done, v_done between 1 and p_most,
           (select seq_scan from pg_stat_user_tables where relid = 'giro.transfers'::regclass)
           = v_scans;
end
$$;
create temporary table readings (what text, fetched bigint, few boolean, by_index boolean);
call pg_temp.fetched(
    $$select from giro.transfers_list(null, null, 0, 101, 10000, null, null, null, null, null, null,
                                      false)$$, 300, 'a page of history');
call pg_temp.fetched(
    $$select from giro.transfers_list('2026-06-01 00:00:03Z',
                                      '00000000-0000-8000-8000-000000009000', 0, 101, 10000, null,
                                      null, null, null, null, null, false)$$, 300,
    'a page in the middle of equal times');
call pg_temp.fetched(
    $$select from giro.transfers_list(null, null, 0, 101, 10000, 'pending', null, null, null, null,
                                      null, false)$$, 50, 'what is pending');
call pg_temp.fetched(
    $$select from giro.transfers_list(null, null, 0, 101, 10000, null, null, null, null, null, true,
                                      false)$$, 50, 'what needs attention');
call pg_temp.fetched(
    $$select from giro.transfers_list(null, null, 0, 101, 10000, null, null, null, null, null, null,
                                      true)$$, 50, 'what is unfinished');
call pg_temp.fetched(
    $$select from giro.transfers_list(null, null, 0, 101, 1000, 'refused', null, null, null, null,
                                      null, false)$$, 2100, 'a walk for something rare');
select ok(few, what || ' reads few rows: ' || fetched) from readings;
select ok(by_index, what || ' reads no table from end to end') from readings;
call test.close('a');
select * from finish();
