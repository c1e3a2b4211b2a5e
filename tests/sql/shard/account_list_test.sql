-- account_list: which accounts, in which order, and only those that are at home here.
select * from no_plan();
call test.reset();
create function pg_temp.list(p_prefix text, p_after text default '', p_limit int default 10)
returns text
language sql
as $$
    select coalesce(string_agg(id, ' ' order by place), '')
    from giro.account_list(p_prefix, p_after, p_limit)
         with ordinality l (o, id, c, b, f, s, v, i, m, a, k, p, place)
$$;
select is(pg_temp.list(''), '', 'a shard without accounts lists none');
insert into giro.accounts (id, route, currency)
select id, test.route(id), 'EUR'
from unnest(array['t:a', 't:b', 'T:a', 't', 't.x', 't:aa', 'u', 't:z', 't_', 't@']) id;
select is(pg_temp.list(''), 'T:a t t.x t:a t:aa t:b t:z t@ t_ u',
          'all of them, ascending by bytes');
select is(pg_temp.list('t:'), 't:a t:aa t:b t:z', 'those that begin with a prefix');
select is(pg_temp.list('t:a'), 't:a t:aa', 'the prefix itself included');
select is(pg_temp.list('x'), '', 'none begins so');
select is(pg_temp.list('', 't:a', 3), 't:aa t:b t:z', 'those after an id, not more than asked for');
select is(pg_temp.list('t:', 't:z'), '', 'none comes after the last one');
select is(pg_temp.list('t:', 'A'), 't:a t:aa t:b t:z', 'what comes before the prefix is no limit');
select is(pg_temp.list('', '', -1), '', 'a limit below zero is zero');

-- whole rows
call test.account('rich', 100, -7);
update giro.accounts set metadata = '{"k": "v"}', status = 'frozen' where id = 'rich';
call test.run(test.record_call(1, 1, 'saga', 'rich', 'x', 30, 'pending'));
call test.run(test.record_call(2, 2, 'saga', 'rich', 'x', 12, 'pending'));
call test.run(test.record_call(3, 3, '2pc', 'rich', 'x', 5));
select test.same(
    $$select outcome, id, currency, balance, floor, status, version, in_transit, metadata, keyspace,
             partition, created_at is not null
      from giro.account_list('rich', '', 1)$$,
    $$values ('found', 'rich', 'EUR', 100, -7, 'frozen', 1, 42, '{"k": "v"}', '',
              test.partition('rich'), true)$$,
    'what account_get says of each, and its place');
select test.same(
    format('select outcome, id, currency, balance, floor, status, version, in_transit, metadata, '
           'created_at from giro.account_list(''rich'', '''', 1)'),
    format('select * from giro.account_get(%s, 1, ''rich'', %L)', test.partition('rich'),
           test.route('rich')), 'to the letter');

-- only what is owned
update giro.partitions set state = 'released';
select is(pg_temp.list(''), '', 'what a move has left behind is not listed');
update giro.partitions set state = 'incoming';
select is(pg_temp.list(''), '', 'nor what is about to come');
update giro.partitions set state = 'owned' where partition = test.partition('t:a');
select is(pg_temp.list('t'),
          (select string_agg(id, ' ' order by id collate "C")
           from unnest(array['t', 't.x', 't:a', 't:aa', 't:b', 't:z', 't@', 't_']) id
           where test.partition(id) = test.partition('t:a')), 'but what is owned is');
update giro.partitions set state = 'owned';

-- several keyspaces side by side
truncate giro.accounts, giro.partitions, giro.transfers, giro.entries, giro.batches;
select is(giro.setup_partitions(
    array[1, 2, 3, 4], array['', 'r:', 'r:', 'c:'], array['hash', 'range', 'range', 'compound'],
    array['\x', '\x', 'r:m', '\x']::bytea[], array[null, 'r:m', null, null]::bytea[],
    array[1, 1, 1, 1]), 4, 'a shard with partitions of three keyspaces');
insert into giro.accounts (id, route, currency)
values ('h', test.route('h'), 'EUR'), ('r:a', 'r:a', 'EUR'), ('r:z', 'r:z', 'EUR'),
       ('c:t', 'c'::bytea || '\x00' || test.route('c:t'), 'EUR');
select test.same($$select id, keyspace, partition from giro.account_list('', '', 10)$$,
                 $$values ('c:t', 'c:', 4), ('h', '', 1), ('r:a', 'r:', 2), ('r:z', 'r:', 3)$$,
                 'an id belongs to the longest prefix, though the others'' ranges hold its route');
update giro.partitions set state = 'released' where partition = 2;
select is(pg_temp.list(''), 'c:t h r:z', 'also when that one is owned elsewhere');
select is(pg_temp.list('r:'), 'r:z', 'whatever was asked for');
select is(pg_temp.list('r'), 'r:z', 'also by less than the keyspace''s prefix');
select is(pg_temp.list('r:a'), '', 'or by more');

-- by the primary key
update giro.partitions set state = 'owned';
insert into giro.accounts (id, route, currency)
select 'n:' || n, test.route('n:' || n), 'EUR' from generate_series(1, 3000) n;
call test.open('a');
call test.execute('a', 'select pg_stat_force_next_flush()');
select pg_stat_force_next_flush();
select pg_stat_clear_snapshot();
select seq_scan as seq_scans, idx_tup_fetch as fetched
from pg_stat_user_tables where relid = 'giro.accounts'::regclass \gset before_
select is(test.ask('a', $$select count(*), min(id), max(id)
                          from giro.account_list('n:', 'n:20', 1001)$$),
          '(1001,n:200,n:2900)', 'a page in the middle');
call test.execute('a', 'select pg_stat_force_next_flush()');
call test.wait_until(format('(select idx_tup_fetch >= %s from pg_stat_user_tables
                              where relid = ''giro.accounts''::regclass)',
                            :before_fetched + 1001));
select is(seq_scan, :before_seq_scans::bigint, 'reads no table from end to end')
from pg_stat_user_tables where relid = 'giro.accounts'::regclass;
select ok(idx_tup_fetch - :before_fetched < 1100, 'and no more than the page')
from pg_stat_user_tables where relid = 'giro.accounts'::regclass;
call test.close('a');
select * from finish();
