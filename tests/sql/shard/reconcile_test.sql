-- The reads of reconciliation: what is to be proved, page by page, and what the rows say of a
-- transfer; its notes and its claim.
select * from no_plan();
call test.reset();
call test.account('alice', 100);
call test.account('bob', 50);

create function pg_temp.page(p_full boolean, p_account text, p_seq bigint, p_balance bigint,
                             p_accounts int default 100, p_rows int default 100)
returns setof text
language sql
as $$
    select concat_ws(' ', r.account, r.version, r.balance, r.start_seq, r.seq, r.step, r.amount,
                     r.entry_balance, r.has_transfer, 'compared ' || r.compared)
    from giro.reconcile_accounts(p_full, p_account, p_seq, p_balance, p_accounts, p_rows) r
$$;

-- pages of accounts
select test.same($$select * from pg_temp.page(false, '', null, null)$$,
    $$select unnest(array['alice 1 100 0 1 credit 100 100 f', 'bob 1 50 0 1 credit 50 50 f',
                          'world:EUR 2 -150 0 1 debit -100 -100 f',
                          'world:EUR 2 -150 0 2 debit -50 -150 f', 'world:EUR compared 3'])$$,
    'every account with its entries, and at the end how many were compared');
select test.same($$select * from pg_temp.page(false, 'world:EUR', null, null)$$,
    $$select 'compared 0'$$, 'nothing behind the last one');
select test.same($$select * from pg_temp.page(false, '', null, null, 2)$$,
    $$select unnest(array['alice 1 100 0 1 credit 100 100 f', 'bob 1 50 0 1 credit 50 50 f',
                          'bob compared 2'])$$, 'a page has a number of accounts');
select test.same($$select * from pg_temp.page(false, '', null, null, 100, 3)$$,
    $$select unnest(array['alice 1 100 0 1 credit 100 100 f', 'bob 1 50 0 1 credit 50 50 f',
                          'world:EUR 2 -150 0 1 debit -100 -100 f', 'world:EUR compared 3'])$$,
    'and of rows');
select test.same($$select * from pg_temp.page(false, 'world:EUR', 1, -100)$$,
    $$select unnest(array['world:EUR 2 -150 1 2 debit -50 -150 f', 'world:EUR compared 0'])$$,
    'a page that was cut goes on inside the account');

-- notes
select lives_ok($$select giro.reconcile_note(array['world:EUR', 'alice'], array[2, 1],
                  array[-150, 100], test.ids(7, 5), test.ids(9))$$, 'notes are taken');
select test.same($$select * from pg_temp.page(false, '', null, null)$$,
    $$select unnest(array['bob 1 50 0 1 credit 50 50 f', 'world:EUR compared 3'])$$,
    'what is proved and has not changed since is not read again');
select is((select count(*) from pg_temp.page(true, '', null, null)), 5::bigint,
          'but by a full pass');
update giro.accounts set balance = balance + 1 where id = 'alice';
select test.same($$select * from pg_temp.page(false, '', null, null, 1)$$,
    $$select unnest(array['alice 1 101 1 f', 'alice compared 1'])$$,
    'a balance that differs from the proved one is told');
update giro.accounts set balance = balance - 1 where id = 'alice';
select test.same($$select id from giro.reconcile_ids(true, null, 10)$$,
    $$select unnest(test.ids(5, 7))$$, 'transfers are carried over');
select test.same($$select id from giro.reconcile_ids(true, test.id(5), 10)$$,
    $$select test.id(7)$$, 'and listed by pages');
select lives_ok($$select giro.reconcile_note('{}', '{}', '{}', test.ids(5), test.ids(7))$$,
    'a note may be repeated');
select test.same($$select id from giro.reconcile_ids(true, null, 10)$$, $$select test.id(5)$$,
    'what is settled is let go of');


-- proofs that do not fit are forgotten
select is(giro.reconcile_forget(array['alice', 'bob', 'world:EUR']), 0, 'what fits stays');
select lives_ok($$select giro.reconcile_note(array['alice', 'bob'], array[2, 1], array[100, 49],
                  '{}', '{}')$$, 'two proofs that fit no entry');
select is(giro.reconcile_forget(array['alice']), 1, 'are forgotten');
select is(giro.reconcile_forget(array['alice', 'bob', 'world:EUR']), 1, 'where that is asked for');
select test.same('select account from giro.reconciled', $$values ('world:EUR')$$,
    'and no others');
select lives_ok($$select giro.reconcile_note(array['alice'], array[1], array[100], '{}', '{}')$$,
    'alice is proved again');

-- transfers at home
call test.run(test.apply_call(1, 'home', '2pc', array[test.leg('alice', 1, -30, 'remote')]));
call test.run(test.record_call(1, 1, '2pc', 'alice', 'remote', 30));
call test.run(test.apply_call(2, 'home', 'local', array[test.leg('alice', 2, -20, 'bob'),
                                                        test.leg('bob', 2, 20, 'alice')]));
call test.run(test.record_call(2, 2, 'local', 'alice', 'bob', 20));
call test.run(test.record_call(3, 3, '2pc', 'alice', 'remote', 5, 'refused', 'account-closed'));
create function pg_temp.home(variadic p_numbers int[]) returns setof text
language sql
as $$
    select concat_ws(' ', r.state, r.mode, r.amount, r.currency, r.is_decided::text,
                     coalesce(r.debit::text, '-'), coalesce(r.refund::text, '-'),
                     r.credit_entry_account, r.credit_amount, r.has_debit_account::text,
                     r.has_credit_account::text)
    from giro.reconcile_transfers(test.ids(variadic p_numbers)) r
    order by r.id
$$;
select test.same($$select * from pg_temp.home(1, 2, 3, 4)$$,
    $$select unnest(array['posted 2pc 30 EUR true true - true false',
                          'posted local 20 EUR true true - bob 20 true true',
                          'refused 2pc 5 EUR false - - true false'])$$,
    'a transfer, its batch and its entries at home');
update giro.entries set amount = amount - 1 where transfer = test.id(1);
select test.same($$select * from pg_temp.home(1)$$,
    $$select 'posted 2pc 30 EUR true false - true false'$$, 'a wrong amount is seen');
update giro.entries set amount = amount + 1 where transfer = test.id(1);
select test.same($$select id from giro.reconcile_ids(false, null, 2)$$,
    $$select unnest(test.ids(1, 2))$$, 'a full pass lists all transfers');
select test.same($$select has_transfer from giro.reconcile_accounts(true, 'alice', 1, 100, 1, 1)
                   where seq is not null$$,
    'values (true)', 'an entry knows whether its transfer is beside it');

-- credits of transfers that are at home elsewhere
call test.run(test.apply_call(10, 'remote', '2pc', array[test.leg('bob', 10, 7, 'far')]));
call test.run(test.apply_call(11, 'remote', 'saga', array[test.leg('bob', 11, 8, 'far')]));
call test.run(test.receive_call(11, array[11], array['bob'], array[null::text]));
call test.open('a');
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.lock_call(array['bob']));
call test.execute('a', test.apply_call(12, 'remote', '2pc', array[test.leg('bob', 12, 9, 'far')]));
call test.execute('a', format('prepare transaction %L',
                              'giro:demo:girod-1:' || test.id(12) || ':shard-2:shard-1'));
create function pg_temp.credits(variadic p_numbers int[]) returns setof text
language sql
as $$
    select concat_ws(' ', r.is_prepared::text, r.has_leg::text, coalesce(r.receipt, '-'),
                     r.credit_entry_account, r.credit_amount, r.has_account::text)
    from giro.reconcile_credits(test.ids(variadic p_numbers), test.ids(variadic p_numbers)) r
    order by r.id
$$;
select test.same($$select * from pg_temp.credits(10, 11, 12, 13)$$,
    $$select unnest(array['false true - bob 7 true', 'false true applied bob 8 true',
                          'true false - false', 'false false - false'])$$,
    'a leg is visible, prepared or not there');
select is(test.ask('a', 'select gid from giro.reconcile_prepared(0, 10)'),
          '(giro:demo:girod-1:' || test.id(12) || ':shard-2:shard-1)', 'a prepared leg is named');
select is_empty('select gid from giro.reconcile_prepared(0, 10)', 'and is none of another role''s');
select is_empty($$select test.ask('a', 'select gid from giro.reconcile_prepared(3600000, 10)')$$,
                'if it is old enough');
call test.execute('a', format('rollback prepared %L',
                              'giro:demo:girod-1:' || test.id(12) || ':shard-2:shard-1'));

-- batches and verdicts
select test.same($$select batch from giro.reconcile_batches(null, 100) where leg_of = 'shard-2'$$,
    $$select test.id(10)$$, 'only 2PC legs have a shard that decided them');
select test.same($$select batch from giro.reconcile_verdicts(test.ids(1, 10, 99))$$,
    $$select test.id(1)$$, 'only what is committed at home has a verdict');
select is_empty($$select from giro.batches where batch = test.id(99)$$, 'and none was given');

-- the claim
create function pg_temp.claim(p_holder text, p_every_ms bigint) returns text
language sql
as $$ select r.is_granted || ' ' || r.is_first from giro.reconcile_claim(p_holder, 60000,
                                                                         p_every_ms) r $$;
select is(pg_temp.claim('a', 1000), 'true true', 'the first one is granted, and must be full');
select is(pg_temp.claim('b', 1000), 'false true', 'a second one waits for its turn');
select is(pg_temp.claim('b', null), 'true true', 'unless somebody asked for it');
select is((select holder from giro.reconciliation), 'a', 'which takes nothing from the first');
select is(pg_temp.claim('a', 1000), 'true true', 'the holder extends its claim');
select lives_ok($$select giro.reconcile_end('b', true, false)$$, 'the other one ends');
select is((select holder from giro.reconciliation), 'a', 'and leaves the claim');
select lives_ok($$select giro.reconcile_end('a', true, true)$$, 'the holder ends');
select is(pg_temp.claim('b', 3600000), 'false false', 'the next one is not due yet');
select is(pg_temp.claim('b', 0), 'true false', 'or is, and need not be full');
update giro.reconciliation set held_until = now() - interval '1 s';
select is(pg_temp.claim('c', 0), 'true false', 'the claim of the dead runs out');
call test.close('a');
select * from finish();
