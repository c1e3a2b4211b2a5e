-- transfers_by_id: what it answers, in which order, and that what it finds is durable.
select * from no_plan();
call test.reset();
call test.run(test.record_call(1, 11, '2pc', 'a', 'b', 5));
call test.run(test.record_call(2, 12, 'local', 'a', 'c', 6, 'refused', 'insufficient-funds'));
call test.run(test.record_call(3, 13, 'saga', 'a', 'd', 7, 'pending'));
update giro.transfers
set attention = 'look', attempts = 3, next_attempt_at = '2030-01-01Z', last_error = 'lost',
    metadata = '{"k": "v"}'
where id = test.id(13);

select test.same(
    $$select id, home, state, mode, debit_account, credit_account, amount, currency,
             idempotency_key, reference, metadata, refusal, attention, attempts, next_attempt_at,
             last_error
      from giro.transfers_by_id(array[test.id(13), test.id(99), test.id(11), test.id(12)])$$,
    $$values (test.id(11), 'shard-1', 'posted', '2pc', 'a', 'b', 5, 'EUR', 'key-11', 'ref', '{}',
              null, null, 0, null::timestamptz, null),
             (test.id(12), 'shard-1', 'refused', 'local', 'a', 'c', 6, 'EUR', 'key-12', 'ref', '{}',
              'insufficient-funds', null, 0, null, null),
             (test.id(13), 'shard-1', 'pending', 'saga', 'a', 'd', 7, 'EUR', 'key-13', 'ref',
              '{"k": "v"}', null, 'look', 3, '2030-01-01Z', 'lost')$$,
    'what stands is answered whole, in the order of the ids');
select test.same(
    $$select created_at, decided_at from giro.transfers_by_id(array[test.id(11)])$$,
    $$select created_at, decided_at from giro.transfers where id = test.id(11)$$,
    'with its times');
begin;
select count(*) as found_98 from giro.transfers_by_id(array[test.id(98)]) \gset
select pg_current_xact_id_if_assigned() is null as no_xid_98 \gset
select count(*) as found_11 from giro.transfers_by_id(array[test.id(11)]) \gset
select pg_current_xact_id_if_assigned() is null as no_xid_11 \gset
commit;
select is(:'found_98'::text, '0', 'what is not, is not');
select is(:'no_xid_98'::text, 't', 'and costs no commit');
select is(:'found_11'::text, '1', 'what is');
select is(:'no_xid_11'::text, 'f', 'forces a commit that is durable');
select is_empty('select * from giro.transfers_by_id(''{}'')', 'nothing asked, nothing answered');

-- under the lock of the debit account the look-up sees what a twin committed before
call test.account('alice', 10);
call test.open('a');
call test.open('b');
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.lock_call(array['alice']));
call test.execute('b', 'begin isolation level read committed');
select is(test.ask('b', test.lock_call(array['alice'])), '(1,busy,,,,,)',
          'a twin does not get the lock while the first has it');
call test.execute('a', test.apply_call(20, 'home', '2pc', array[test.leg('alice', 20, -1)]));
call test.execute('a', test.record_call(20, 20, '2pc', 'alice', 'x', 1));
call test.execute('a', 'commit');
select is(test.ask('b', test.lock_call(array['alice'])), '(1,locked,EUR,9,2,0,open)',
          'it gets the lock after the first');
select is(test.ask('b', format('select state from giro.transfers_by_id(%L)', array[test.id(20)])),
          '(posted)', 'and sees what the first has stored');
call test.execute('b', 'rollback');
call test.close('a');
call test.close('b');
select is_empty('select * from test.faults', 'the books balance');
select * from finish();
