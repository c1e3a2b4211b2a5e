-- steps_home and steps_remote: what rows say of the stages of a transfer.
select * from no_plan();
call test.reset();
call test.account('alice', 100);
call test.account('bob');

-- at home
call test.run(test.apply_call(1, 'home', '2pc', array[test.leg('alice', 11, -5)]));
call test.run(test.record_call(1, 11, '2pc', 'alice', 'x', 5));
call test.run(test.apply_call(2, 'home', 'saga', array[test.leg('alice', 12, -5)]));
call test.run(test.record_call(2, 12, 'saga', 'alice', 'y', 5, 'pending'));
call test.run(test.record_call(3, 13, 'local', 'alice', 'z', 5, 'refused', 'account-closed'));
select test.same(
    $$select mode, state, refusal, remote, credit_account, giving_up, attempts, last_error, batch,
             coordinator, finished_at, refunded_at
      from giro.steps_home(test.id(11))$$,
    $$values ('2pc', 'posted', null, 'shard-2', 'x', null, 0, null, test.id(1), 'girod-1',
              null::timestamptz, null::timestamptz)$$,
    'a decided batch whose leg has not been seen yet');
select ok(s.created_at = t.created_at and s.decided_at = t.decided_at, 'with the transfer''s times')
from giro.steps_home(test.id(11)) s, giro.transfers t where t.id = test.id(11);
select giro.finish(test.ids(1)) \g /dev/null
select isnt(finished_at, null, 'and one whose leg has been seen') from giro.steps_home(test.id(11));
select is((giro.postpone(test.ids(12), 1, 'lost', null)), 1, 'a saga has a setback');
call test.run(test.give_up_call(12, 'alice'));
select test.same(
    $$select mode, state, remote, giving_up, attempts, last_error, batch, coordinator, decided_at
      from giro.steps_home(test.id(12))$$,
    $$values ('saga', 'pending', 'shard-2', 'cancelled', 0, 'lost', test.id(2), 'girod-1',
              null::timestamptz)$$,
    'and is to be given up');
begin;
call test.run(test.apply_call(4, 'home', 'saga', array[test.leg('alice', 12, 5, 'y', 'refund')]));
call test.run(test.settle_call('{12}', array['alice'], array['cancelled']));
commit;
select is(s.refunded_at, e.at, 'a refund shows when the money came back')
from giro.steps_home(test.id(12)) s, giro.entries e
where e.transfer = test.id(12) and e.step = 'refund';
select test.same(
    $$select mode, state, refusal, remote, batch, coordinator from giro.steps_home(test.id(13))$$,
    $$values ('local', 'refused', 'account-closed', 'shard-1', test.id(3), null)$$,
    'a batch row that is not here leaves the transfer''s row to speak alone');
select is_empty('select * from giro.steps_home(test.id(99))', 'what is not here is not');

-- at the credit's shard
create function pg_temp.remote(p_transfer int, p_batch int) returns setof text
language sql
as $$
    select concat_ws(' ', coalesce(receipt, '-'), coalesce(refusal, '-'),
                     coalesce(right(receipt_batch::text, 2), '-'),
                     case when receipt_at is null then '-' else 'at' end,
                     coalesce(receipt_coordinator, '-'), is_prepared,
                     coalesce(leg_coordinator, '-'),
                     case when leg_at is null then '-' else 'at' end,
                     case when credited_at is null then '-' else 'at' end)
    from giro.steps_remote(test.id(p_transfer), test.id(p_batch))
$$;
select is(pg_temp.remote(31, 31), '- - - - - f - - -', 'nothing is here yet');
select format('giro:demo:girod-1:%s:shard-2:shard-1', test.id(31)) as gid \gset
call test.open('a');
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.apply_call(31, 'remote', '2pc', array[test.leg('bob', 31, 5)]));
call test.execute('a', format('prepare transaction %L', :'gid'));
select is(pg_temp.remote(31, 31), '- - - - - t - - -', 'a leg that is prepared');
select is(pg_temp.remote(31, 32), '- - - - - f - - -', 'is one of its own batch only');
call test.execute('a', format('commit prepared %L', :'gid'));
call test.close('a');
select is(pg_temp.remote(31, 31), '- - - - - f girod-1 at at', 'a leg that is visible');
begin;
call test.run(test.apply_call(40, 'remote', 'saga', array[test.leg('bob', 41, 5)]));
call test.run(test.receive_call(40, '{41,42}', array['bob', 'bob'], array[null, 'account-closed']));
commit;
call test.run(test.receive_call(43, '{43}', array['nobody'], array['account-not-found']));
call test.run(test.tombstone_call(44, '{44}', array['bob']));
select is(pg_temp.remote(41, 1), 'applied - 40 at girod-1 f - - at', 'a credit that was applied');
select is(pg_temp.remote(42, 1), 'refused account-closed 40 at girod-1 f - - -',
          'one that was refused beside it');
select is(pg_temp.remote(43, 1), 'refused account-not-found 43 at - f - - -',
          'one that was refused alone, by nobody who left a name');
select is(pg_temp.remote(44, 1), 'cancelled - 44 at - f - - -', 'one that was given up');
select is_empty('select * from test.faults', 'the books balance');
select * from finish();
