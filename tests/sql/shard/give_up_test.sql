-- give_up: every outcome, and that it is a wish only.
select * from no_plan();
call test.reset();
call test.run(test.record_call(1, 1, 'saga', 'alice', 'x', 5, 'pending'));
call test.run(test.record_call(2, 2, '2pc', 'alice', 'x', 5));
call test.run(test.record_call(3, 3, 'saga', 'alice', 'x', 5, 'reversed', 'account-closed'));
call test.run(test.record_call(4, 4, 'saga', 'alice', 'x', 5, 'refused', 'insufficient-funds'));

select test.same(test.give_up_call(1, 'alice'), $$values ('noted', 'pending')$$,
                 'a pending saga takes note');
select test.same($$select state, giving_up, next_attempt_at <= clock_timestamp(), attempts
                   from giro.transfers where id = test.id(1)$$,
                 $$values ('pending', 'cancelled', true, 0)$$,
                 'it is due at once, and nothing else has changed');
select test.same(test.give_up_call(1, 'alice', 'deadline-passed'), $$values ('noted', 'pending')$$,
                 'and again');
select is(giving_up, 'cancelled', 'the first reason stays')
from giro.transfers where id = test.id(1);
select test.same(test.give_up_call(2, 'alice'), $$values ('final', 'posted')$$,
                 'a 2pc transfer is final');
select test.same(test.give_up_call(3, 'alice'), $$values ('final', 'reversed')$$,
                 'a reversed one too');
select test.same(test.give_up_call(4, 'alice'), $$values ('final', 'refused')$$,
                 'a refused one too');
select is_empty('select from giro.transfers where id <> test.id(1) and giving_up is not null',
                'none of which changes');
select test.same(test.give_up_call(99, 'alice'), $$values ('missing', null)$$,
                 'what is not, is missing');
select test.same(test.give_up_call(1, 'bob'), $$values ('missing', null)$$,
                 'and so is another account''s');
select test.same(test.give_up_call(1, 'alice', 'cancelled', 2), $$values ('stale_route', null)$$,
                 'an old routing gives nothing up');
call test.open('mover', 'giro_test');
call test.execute('mover', 'begin');
call test.execute('mover', format('select pg_advisory_xact_lock(giro.fence_class(), %s)',
                                  test.partition('alice')));
select test.same(test.give_up_call(1, 'alice'), $$values ('partition_moving', null)$$,
                 'nor does one meanwhile');
call test.execute('mover', 'rollback');
call test.close('mover');

-- its end under way
call test.open('a');
call test.open('b');
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.settle_call('{1}', array['alice'], array[null]));
call test.send('b', test.give_up_call(1, 'alice'));
call test.wait_until($$exists (select from pg_stat_activity where wait_event_type = 'Lock'
                               and query like '%giro.give_up%')$$);
call test.execute('a', 'commit');
select is(test.answer('b'), '(final,posted)',
          'it waits for an end under way, and is too late then');
call test.close('a');
call test.close('b');
select * from finish();
