-- transfers_summary: what is unfinished is counted exactly, of the history the newest.
select * from no_plan();
call test.reset();
select is_empty('select * from giro.transfers_summary(10)', 'nothing to count');
call test.run(test.record_call(1, 1, '2pc', 'a', 'b', 5));
call test.run(test.record_call(2, 2, 'local', 'a', 'c', 6, 'refused', 'insufficient-funds'));
call test.run(test.record_call(3, 3, 'saga', 'a', 'd', 7, 'pending'));
call test.run(test.record_call(4, 4, 'saga', 'b', 'a', 8, 'pending'));
call test.run(test.record_call(5, 5, '2pc', 'b', 'x', 9));
update giro.transfers set created_at = '2026-01-01Z';
update giro.transfers set created_at = '2026-01-02Z' where id in (test.id(4), test.id(5));
update giro.transfers set attention = 'credit-refused: x' where id = test.id(5);
insert into giro.batches (batch, role, mode, verdict, home, remote, coordinator, transfer_count,
                          created_at, finished_at)
values (test.id(1), 'home', '2pc', 'commit', 'shard-1', 'shard-2', 'girod-1', 1, now(), null);
select test.same(
    $$select state, mode, remote, currency, count, attention, amount, oldest_at,
             oldest_ms > 1000
      from giro.transfers_summary(1) where kind = 'unfinished'$$,
    $$values ('pending', 'saga', 'shard-2', 'EUR', 2, 2, 15, '2026-01-01Z'::timestamptz, true),
             ('posted', '2pc', 'shard-2', 'EUR', 2, 1, 14, '2026-01-01Z', true)$$,
    'all that is unfinished, whatever is walked');
select test.same(
    $$select state, mode, remote, count, amount
      from giro.transfers_summary(10) where kind = 'recent'$$,
    $$values ('pending', 'saga', 'shard-2', 2, 15), ('posted', '2pc', 'shard-2', 2, 14),
             ('refused', 'local', 'shard-1', 1, 6)$$, 'and all of a short history');
select test.same(
    $$select state, count, amount from giro.transfers_summary(2) where kind = 'recent'$$,
    $$values ('pending', 1, 8), ('posted', 1, 9)$$, 'of a longer one the newest');
update giro.transfers set amount = 9007199254740991 where mode = 'saga';
select is(amount, 9007199254740991, 'an amount ends where integers are exact')
from giro.transfers_summary(1) where kind = 'unfinished' and state = 'pending';
select * from finish();
