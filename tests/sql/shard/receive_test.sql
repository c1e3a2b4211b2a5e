-- receive and receipts_by_id: what became of the credits of sagas, and that the first receipt
-- stays.
select * from no_plan();
call test.reset();
call test.account('alice');
call test.run(test.receive_call(1, '{12,11,13}', array['alice', 'bob', 'alice'],
                                array[null, 'account-not-found', null]));
select test.same(
    $$select transfer, credit_account, credit_route, outcome, refusal, batch
      from giro.receipts order by transfer$$,
    $$values (test.id(11), 'bob', test.route('bob'), 'refused', 'account-not-found', test.id(1)),
             (test.id(12), 'alice', test.route('alice'), 'applied', null, test.id(1)),
             (test.id(13), 'alice', test.route('alice'), 'applied', null, test.id(1))$$,
    'a credit leaves a receipt, a refused one too');
select throws_ok(test.receive_call(2, '{14,12}', array['alice', 'alice'], array[null, null]),
                 '23505', null, 'a second receipt of a transfer fails its transaction');
select is_empty('select from giro.receipts where transfer = test.id(14)', 'all of it');
select throws_ok(test.receive_call(2, '{11}', array['bob'], array[null]), '23505', null,
                 'also where the first one was refused');
select lives_ok(test.receive_call(2, '{}', '{}', '{}'), 'nothing to store is fine');

-- a credit that comes after the tombstone takes its entries with it
call test.run(test.tombstone_call(3, '{20}', array['alice']));
begin;
call test.run(test.apply_call(4, 'remote', 'saga', array[test.leg('alice', 20, 5)]));
select throws_ok(test.receive_call(4, '{20}', array['alice'], array[null]), '23505', null,
                 'a late credit meets the tombstone');
rollback;
select is(balance, 0::bigint, 'and takes its entry back') from giro.accounts where id = 'alice';

-- look-ups
select test.same(
    'select * from giro.receipts_by_id(test.ids(13, 99, 20, 11))',
    $$values (test.id(11), 'refused', 'account-not-found'), (test.id(13), 'applied', null),
             (test.id(20), 'cancelled', null)$$,
    'receipts are found in the order of the ids; what is not, is not');
select is_empty('select * from giro.receipts_by_id(''{}'')', 'nothing asked, nothing answered');
begin;
select count(*) from giro.receipts_by_id(test.ids(99)) \gset none_
select pg_current_xact_id_if_assigned() is null as no_xid \gset none_
select count(*) from giro.receipts_by_id(test.ids(11)) \gset one_
select pg_current_xact_id_if_assigned() is null as no_xid \gset one_
commit;
select is(:'none_no_xid'::text, 't', 'what is not found costs no commit');
select is(:'one_no_xid'::text, 'f', 'what is found forces a commit that is durable');

-- a tombstone under way
call test.open('a');
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.tombstone_call(5, '{30}', array['alice']));
set lock_timeout = '100ms';
select throws_ok(test.receive_call(6, '{30}', array['alice'], array[null]), '55P03', null,
                 'a credit waits for an open tombstone, at most lock_timeout');
call test.execute('a', 'rollback');
select lives_ok(test.receive_call(6, '{30}', array['alice'], array[null]),
                'and goes on if it was rolled back');
call test.close('a');
select is_empty('select * from test.faults', 'the books balance');
select * from finish();
