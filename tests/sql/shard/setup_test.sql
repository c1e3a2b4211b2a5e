-- setup_shard and setup_partitions: repeatable, and refusing what differs. books and identity.
select * from no_plan();
call test.reset();
select lives_ok($$select giro.setup_shard('demo', 'shard-1', 1)$$, 'set-up may be repeated');
select throws_ok($$select giro.setup_shard('other', 'shard-1', 1)$$, 'GR010',
    'this database is shard shard-1 (ordinal 1) of cluster demo, '
    'not shard shard-1 (ordinal 1) of cluster other',
    'a shard of another cluster is refused');
select throws_ok($$select giro.setup_shard('demo', 'shard-2', 1)$$, 'GR010', null, 'another name');
select throws_ok($$select giro.setup_shard('demo', 'shard-1', 2)$$, 'GR010', null,
                 'another ordinal');
select test.same('select cluster, name, ordinal, epoch, format_version from giro.identity(''{}'')',
                 $$values ('demo', 'shard-1', 1, 1, 1)$$, 'what stands is not changed');

\set args 'array[2, 3], array['''', ''r:''], array[''hash'', ''range''], array[''\\x80'', ''\\x'']::bytea[], array[null, ''\\x61'']::bytea[], array[1, 5]'
select is(giro.setup_partitions(:args), 1, 'what is absent is added');
select is(giro.setup_partitions(:args), 0, 'what stands is left alone');
select test.same('select partition, keyspace, kind, lo, hi, epoch, state from giro.partitions
                  order by partition',
    $$values (1, '', 'hash', '\x'::bytea, '\x80'::bytea, 1, 'owned'),
             (2, '', 'hash', '\x80', null, 1, 'owned'),
             (3, 'r:', 'range', '\x', '\x61', 5, 'owned')$$, 'and all stand as asked');
select throws_ok($$select giro.setup_partitions(array[1, 4], array['', ''], array['hash', 'hash'],
                   array['\x', '\x']::bytea[], array['\x80', null]::bytea[], array[2, 1])$$,
    'GR010', 'partitions 1 stand on this shard with another range, epoch or state',
    'another epoch is refused');
select throws_ok($$select giro.setup_partitions(array[2], array[''], array['hash'],
                   array['\x80']::bytea[], array['\xff']::bytea[], array[1])$$,
    'GR010', null, 'and so is another upper end');
update giro.partitions set state = 'released' where partition = 2;
select throws_ok($$select giro.setup_partitions(array[2], array[''], array['hash'],
                   array['\x80']::bytea[], array[null]::bytea[], array[1])$$,
    'GR010', null, 'and one that was given away');
select is(count(*), 3::bigint, 'a refusal adds nothing') from giro.partitions;
select is(giro.setup_partitions('{}', '{}', '{}', '{}', '{}', '{}'), 0, 'no partitions are fine');

-- books
call test.account('alice', 100);
call test.account('usd', 5, 0, 'USD');
call test.run(test.apply_call(1, 'home', '2pc', array[test.leg('alice', 1, -40)]));
select test.same('select * from giro.books()',
                 $$values ('EUR', -40, 40, 0), ('USD', 0, 0, 0)$$,
                 'balances and clearing cancel out, per currency');
insert into giro.accounts (id, route, currency, balance) values ('forged', '\x', 'EUR', 7);
select test.same('select * from giro.books()',
                 $$values ('EUR', -33, 40, 7), ('USD', 0, 0, 0)$$, 'money from nothing is seen');
select * from finish();
