-- retry and acknowledge: every outcome, and that they move a time and a note, and nothing else.
select * from no_plan();
call test.reset();
create function pg_temp.act(p_function text, p_transfer int, p_account text default 'alice',
                            p_epoch bigint default 1)
returns text
language sql
as $$
    select format('select * from giro.%I(%s, %s, %L, %L, %L)', p_function,
                  test.partition(p_account), p_epoch, p_account, test.route(p_account),
                  test.id(p_transfer))
$$;
call test.run(test.record_call(1, 1, 'saga', 'alice', 'x', 5, 'pending'));
call test.run(test.record_call(2, 2, '2pc', 'alice', 'x', 5));
call test.run(test.record_call(3, 3, '2pc', 'alice', 'x', 5));
call test.run(test.record_call(4, 4, 'saga', 'alice', 'x', 5, 'pending'));
update giro.transfers set next_attempt_at = '2100-01-01Z', coordinator = 'girod-1', attempts = 3
where id in (test.id(1), test.id(3));
update giro.transfers set next_attempt_at = '2026-01-01Z' where id = test.id(4);
update giro.transfers set attention = 'leg-lost: x' where id = test.id(3);

select test.same(pg_temp.act('retry', 1), $$values ('noted', 'pending')$$, 'a pending saga is due');
select test.same($$select state, giving_up, coordinator, attempts,
                          next_attempt_at between now() - interval '1 min' and clock_timestamp()
                   from giro.transfers where id = test.id(1)$$,
                 $$values ('pending', null, 'girod-1', 3, true)$$, 'and nothing else has changed');
select test.same(pg_temp.act('retry', 3), $$values ('noted', 'posted')$$, 'a lost credit too');
select is(next_attempt_at <= clock_timestamp(), true, 'it is due')
from giro.transfers where id = test.id(3);
select test.same(pg_temp.act('retry', 4), $$values ('noted', 'pending')$$, 'what is due already');
select is(next_attempt_at, '2026-01-01Z', 'stays due as it is')
from giro.transfers where id = test.id(4);
select test.same(pg_temp.act('retry', 2), $$values ('final', 'posted')$$,
                 'what waits for no try is final');
select test.same(pg_temp.act('retry', 99), $$values ('missing', null)$$, 'what is not, is missing');
select test.same(pg_temp.act('retry', 1, 'bob'), $$values ('missing', null)$$,
                 'and so is another account''s');
select test.same(pg_temp.act('retry', 1, 'alice', 2), $$values ('stale_route', null)$$,
                 'an old routing retries nothing');

select test.same(pg_temp.act('acknowledge', 3), $$values ('final', 'posted')$$,
                 'what is being done again is not acknowledged');
select test.same(pg_temp.act('acknowledge', 1), $$values ('final', 'pending')$$,
                 'nor is what is pending');
update giro.transfers
set attention = 'credit-refused: account-closed', next_attempt_at = null, coordinator = null
where id = test.id(3);
select test.same(pg_temp.act('acknowledge', 3, 'alice', 2), $$values ('stale_route', null)$$,
                 'nor anything under an old routing');
select test.same(pg_temp.act('acknowledge', 3), $$values ('noted', 'posted')$$,
                 'a credit that never will apply is');
select test.same($$select state, attention, next_attempt_at from giro.transfers
                   where id = test.id(3)$$, $$values ('posted', null, null::timestamptz)$$,
                 'its note is gone');
select test.same(pg_temp.act('acknowledge', 3), $$values ('final', 'posted')$$, 'once');
update giro.transfers set attention = 'leg-stuck: 42501' where id = test.id(2);
select test.same(pg_temp.act('acknowledge', 2), $$values ('final', 'posted')$$,
                 'other notes stay');
select is(attention, 'leg-stuck: 42501', 'as they are') from giro.transfers where id = test.id(2);
select test.same(pg_temp.act('acknowledge', 99), $$values ('missing', null)$$,
                 'what is not, is missing');
select is_empty('select * from test.faults', 'the books balance');
select * from finish();
