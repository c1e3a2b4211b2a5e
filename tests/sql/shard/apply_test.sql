-- apply: what it writes for each kind of batch, and what it refuses.
select * from no_plan();
call test.reset();
call test.account('alice', 100);
call test.account('bob', 50);
call test.account('dollar', 10, 0, 'USD');
call test.account('limitless', 0, null);

-- a local batch
select test.apply_call(1, 'home', 'local', array[
    test.leg('alice', 1, -30, 'bob'), test.leg('bob', 1, 30, 'alice'),
    test.leg('bob', 2, -70, 'alice'), test.leg('alice', 2, 70, 'bob')]) as local \gset
select lives_ok(:'local', 'a local batch applies');
select test.same(
    $$select account, seq, transfer, step, amount, balance, counterparty, reference
      from giro.entries where seq > 1 and account not like 'world%' order by account, seq$$,
    $$values ('alice', 2::bigint, test.id(1), 'debit', -30::bigint, 70::bigint, 'bob', 'ref 1'),
             ('alice', 3, test.id(2), 'credit', 70, 140, 'bob', 'ref 4'),
             ('bob', 2, test.id(1), 'credit', 30, 80, 'alice', 'ref 2'),
             ('bob', 3, test.id(2), 'debit', -70, 10, 'alice', 'ref 3')$$,
    'its entries stand as they were judged');
select test.same(
    $$select id, balance, version from giro.accounts where id in ('alice', 'bob') order by id$$,
    $$values ('alice', 140::bigint, 3::bigint), ('bob', 10, 3)$$,
    'balances and versions are those of the last entries');
select is_empty('select * from giro.clearing', 'nothing left the shard, so clearing is empty');
select test.same(
    $$select role, mode, verdict, home, remote, coordinator, transfer_count,
             finished_at is not null from giro.batches where batch = test.id(1)$$,
    $$values ('home', 'local', 'commit', 'shard-1', 'shard-1', 'girod-1', 2, true)$$,
    'its batch row is a finished home commit');
select is((select count(distinct at) from giro.entries where transfer in (test.id(1), test.id(2))),
          1::bigint, 'all entries of a batch carry one time');

-- the two halves of 2PC
select test.apply_call(2, 'home', '2pc', array[
    test.leg('alice', 3, -40), test.leg('bob', 4, -5), test.leg('dollar', 5, -3)]) as home \gset
begin;
select :'home' \gexec
select ok(now() <= at and at <= clock_timestamp(), 'the answer is the time of the entries')
from giro.entries where transfer = test.id(3);
commit;
select test.same(
    $$select step, currency, amount, peer from giro.clearing where batch = test.id(2)
      order by currency$$,
    $$values ('debit', 'EUR', 45::numeric, 'shard-2'), ('debit', 'USD', 3, 'shard-2')$$,
    'what left the shard stands in clearing, per currency');
select is(finished_at, null, 'a home 2PC commit is not finished')
from giro.batches where batch = test.id(2);
select test.apply_call(3, 'remote', '2pc', array[
    test.leg('alice', 6, 11), test.leg('bob', 7, 12)]) as remote \gset
select lives_ok(:'remote', 'a remote half applies');
select test.same(
    $$select step, currency, amount, peer from giro.clearing where batch = test.id(3)$$,
    $$values ('credit', 'EUR', -23::numeric, 'shard-2')$$,
    'what came to the shard stands in clearing, with its sign');
select test.same(
    $$select role, home, remote, finished_at is not null from giro.batches
      where batch = test.id(3)$$,
    $$values ('remote', 'shard-2', 'shard-1', true)$$, 'a remote row is finished at once');
select is_empty('select * from test.faults', 'the books balance after both halves');

-- sums may cancel per currency without being local
select lives_ok(test.apply_call(4, 'home', 'saga', array[test.leg('alice', 8, -1)]),
                'a hold is a home batch of one step');
select is(finished_at is not null, true, 'which is finished at once')
from giro.batches where batch = test.id(4);
select lives_ok(test.apply_call(5, 'home', 'saga', array[
                    test.leg('alice', 8, 1, 'other', 'refund')]), 'and a refund is another');
select test.same(
    $$select batch, step, amount from giro.clearing where batch in (test.id(4), test.id(5))
      order by batch$$,
    $$values (test.id(4), 'debit', 1::numeric), (test.id(5), 'refund', -1)$$,
    'clearing names their steps');

-- everything refused
select lives_ok(
    $$select giro.apply(test.id(6), 'home', '2pc', 'shard-1', 'shard-2', 'girod-1', 7, '{}', '{}',
                        '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')$$,
    'a batch without legs applies');
select test.same(
    $$select verdict, transfer_count, finished_at is not null from giro.batches
      where batch = test.id(6)$$,
    $$values ('commit', 7, true)$$, 'and is finished at once');
select lives_ok(
    $$select giro.apply(test.id(60), 'home', '2pc', 'shard-1', 'shard-2', 'girod-1', 1, null, null,
                        null, null, null, null, null, null, null, null, null)$$,
    'null arrays are empty ones');
select is(finished_at is not null, true, 'so such a batch is finished too')
from giro.batches where batch = test.id(60);

-- refusals: nothing of the batch is applied
create temporary table before as
    select (select array_agg(a order by id) from giro.accounts a) as accounts,
           (select count(*) from giro.entries) as entries,
           (select count(*) from giro.batches) as batches;
prepare unchanged as
    select b.accounts = (select array_agg(a order by id) from giro.accounts a)
           and b.entries = (select count(*) from giro.entries)
           and b.batches = (select count(*) from giro.batches) as unchanged
    from before b;

select throws_ok(:'home', '23505', null, 'the same batch again collides');
select throws_ok(replace(:'home', test.id(2)::text, test.id(20)::text), 'GR002',
                 'the judged state no longer holds', 'an old version is refused');
select test.apply_call(7, 'home', 'local', array[
    test.leg('alice', 9, -1, 'bob'), test.leg('bob', 9, 1, 'alice')]) as good \gset
-- the second account's version, balance, seqs
select version as bob_version, balance as bob_balance from giro.accounts where id = 'bob' \gset
select version as alice_version, balance as alice_balance
from giro.accounts where id = 'alice' \gset
select format('{%s,%s}', :alice_version, :bob_version) as versions,
       format('{%s,%s}', :alice_version, :bob_version + 1) as wrong_versions,
       format('{%s,%s}', :alice_balance - 1, :bob_balance + 1) as balances,
       format('{%s,%s}', :alice_balance - 1, :bob_balance + 2) as wrong_balances,
       format('{%s,%s}', :alice_version + 1, :bob_version + 1) as seqs,
       format('{%s,%s}', :alice_version + 1, :bob_version + 2) as wrong_seqs \gset
select ok(position(:'versions' in :'good') > 0 and position(:'seqs' in :'good') > 0
          and position(:'balances' in :'good') > 0, 'the call can be spoilt');
select throws_ok(replace(:'good', :'versions', :'wrong_versions'), 'GR002', null,
                 'one wrong version spoils the batch');
select throws_ok(regexp_replace(:'good', replace(replace(:'balances', '{', '\{'), '}', '\}'),
                                :'wrong_balances'), 'GR002', null,
                 'one wrong balance spoils the batch');
select throws_ok(replace(:'good', :'seqs', :'wrong_seqs'), 'GR002', null,
                 'a gap in the seqs spoils the batch');
select throws_ok(replace(:'good', '{alice,bob}', '{alice,nobody}'), 'GR002', null,
                 'an account that is not there spoils the batch');
select throws_ok(replace(:'good', '{alice,bob}', '{alice,alice}'), 'GR002', null,
                 'an account named twice spoils the batch');
select throws_ok(replace(:'good', '{1,2}', '{1,1}'), 'GR002', null,
                 'an account without an entry spoils the batch');
select throws_ok(replace(:'good', '{1,2}', '{1,3}'), 'GR002', null,
                 'an entry without an account spoils the batch');
select throws_ok(
    test.apply_call(8, 'home', 'local', array[test.leg('alice', 10, -1), test.leg('bob', 10, 2)]),
    'GR003', 'the entries of the batch do not balance', 'a local batch that does not balance');
select throws_ok(
    test.apply_call(8, 'home', '2pc', array[test.leg('alice', 10, -1), test.leg('bob', 10, 2)]),
    'GR003', null, 'and any other of several steps');
select throws_ok(
    test.apply_call(8, 'home', '2pc', array[test.leg('alice', 1, -1)]),
    '23505', null, 'a transfer has no second effect of the same step');
select throws_ok(
    test.apply_call(8, 'home', '2pc', array[test.leg('bob', 11, -1000)]),
    '23514', null, 'the floor is a wall besides the judge');
select throws_ok(
    test.apply_call(8, 'remote', '2pc', array[
        test.leg('limitless', 12, 9007199254740991), test.leg('limitless', 13, 1)]),
    '23514', null, 'and so is the limit of a balance');
select results_eq('unchanged', array[true], 'all of these left no trace');
do $$
begin
    call test.run(test.apply_call(30, 'home', '2pc', array[test.leg('bob', 30, -1)]));
    call test.run(test.apply_call(31, 'remote', '2pc', array[test.leg('bob', 31, 1)]));
end
$$;
truncate before;
insert into before
    select (select array_agg(a order by id) from giro.accounts a),
           (select count(*) from giro.entries), (select count(*) from giro.batches);
select throws_ok(:'good', 'GR002', null,
                 'an account that moved on is refused, even with the balance it had');
select results_eq('unchanged', array[true], 'nor did this');

-- many legs, totals beyond a bigint
do $$
begin
    for i in 1..1100 loop
        insert into giro.accounts (id, route, currency) values ('many-' || i, '\x', 'BIG');
    end loop;
end
$$;
select lives_ok(test.apply_call(9, 'remote', '2pc', array(
    select test.leg('many-' || i, 1000 + i, 9007199254740991) from generate_series(1, 1100) i)),
    'totals of a batch may exceed a bigint');
select is(amount, -1100 * 9007199254740991::numeric, 'and stand in clearing as they are')
from giro.clearing where batch = test.id(9);
select is_empty('select * from test.faults', 'the books balance');
select * from finish();
