-- What keeps the hot path fast: balance updates stay HOT, and tables are reached by index only,
-- also by plans that were made while they were empty.
select * from no_plan();
call test.reset();
call test.open('a');
-- plans of session a are made on empty tables
call test.execute('a', test.lock_call(array['nobody']));
call test.execute('a', 'select giro.transfers_by_id(''{}'')');
call test.execute('a', $$select giro.apply(test_id, 'home', '2pc', 'shard-1', 'shard-2', 'g', 0,
    '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')
    from (select gen_random_uuid() as test_id) i$$);
insert into giro.accounts (id, route, currency, floor)
select id, test.route(id), 'EUR', null
from (select 'account-' || i as id from generate_series(1, 20000) i) n;

create function pg_temp.counts(out seq_scans bigint, out updates bigint, out hot_updates bigint)
language plpgsql
as $$
begin
    perform pg_stat_clear_snapshot();
    select sum(seq_scan) filter (where relname <> 'shard'),
           sum(n_tup_upd) filter (where relname = 'accounts'),
           sum(n_tup_hot_upd) filter (where relname = 'accounts')
    into seq_scans, updates, hot_updates
    from pg_stat_user_tables
    where schemaname = 'giro';
end
$$;
-- both sessions report what they did until here
call test.execute('a', 'select pg_stat_force_next_flush()');
select pg_stat_force_next_flush();
select seq_scans as seq_before, updates as updates_before, hot_updates as hot_before
from pg_temp.counts() \gset

-- 60 batches on the same 20 accounts, one transaction each; the state is computed here, without
-- reading tables
create procedure pg_temp.batch(p_round int)
language plpgsql
as $$
declare
    v_ids text[] := array(select 'account-' || i from generate_series(11, 30) i);
    v_places int[] := array(select generate_series(1, 20));
    v_transfers uuid[] := array(
        select test.id(1000 * p_round + i) from generate_series(1, 20) i);
begin
    call test.execute('a', 'begin isolation level read committed');
    call test.execute('a', test.lock_call(v_ids));
    call test.execute('a', format('select giro.transfers_by_id(%L)', array[test.id(p_round)]));
    call test.execute('a', format(
        'select giro.apply(%L, ''remote'', ''2pc'', ''shard-2'', ''shard-1'', ''g'', 20, %L, %L, '
        '%L, %L, %L, %L, %L, %L, %L, %L, %L)', test.id(p_round), v_ids,
        array_fill(p_round - 1, array[20]), array_fill(p_round * 5, array[20]),
        v_places, v_transfers,
        array_fill('credit'::text, array[20]), array_fill(5, array[20]),
        array_fill(p_round, array[20]), array_fill(p_round * 5, array[20]),
        array_fill('other'::text, array[20]), array_fill(null::text, array[20])));
    call test.execute('a', test.record_call(p_round, p_round, '2pc', 'account-11', 'other', 5));
    call test.execute('a', format('select giro.finish(%L::uuid[])', array[test.id(p_round)]));
    call test.execute('a', 'commit');
end
$$;
select format('call pg_temp.batch(%s)', round) from generate_series(1, 60) round \gexec
call test.execute('a', 'select pg_stat_force_next_flush()');
call test.wait_until(format('(select updates from pg_temp.counts()) >= %s',
                            :updates_before + 1200));
select is(updates - :updates_before, 1200::bigint, '1200 balances were updated')
from pg_temp.counts();
select ok(hot_updates - :hot_before >= 1140, 'at least 95 of 100 of these updates were HOT: '
          || hot_updates - :hot_before)
from pg_temp.counts();
select is(seq_scans, :seq_before::bigint, 'and no table was read from end to end')
from pg_temp.counts();
select is_empty('select * from test.faults', 'the books balance');
call test.close('a');
select * from finish();
