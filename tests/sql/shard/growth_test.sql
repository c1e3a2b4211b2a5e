-- Recovery does not get slower with history: what is finished is never looked at, and plans made
-- while the tables were empty find what is not.
select * from no_plan();
call test.reset();
call test.open('a');
create function pg_temp.found() returns setof text
language sql
as $$
    select test.ask('a', format('select kind, count(*), max(count) from giro.recovery(''demo'', '
        '''girod-1'', 0, ''{shard-2}'', ''{shard-3}'', %L, 1000) group by kind order by kind',
        array(select gen_random_uuid() from generate_series(1, 1000))))
$$;
create function pg_temp.claimed() returns setof text
language sql
as $$ select test.ask('a', 'select count(*) from giro.claim(''{shard-2}'', 1000, ''girod-1'')') $$;
select is_empty('select pg_temp.found()', 'nothing is there');
select is(pg_temp.claimed(), '(0)', 'and nothing is due');

insert into giro.batches (batch, role, mode, verdict, home, remote, coordinator, transfer_count,
                          created_at, finished_at)
select test.id(n), 'home', '2pc', 'commit', 'shard-1', 'shard-2', 'girod-' || n % 20, 1,
       now() - interval '1 h', case when n > 5 then now() end
from generate_series(1, 100000) n;
insert into giro.transfers (id, home, remote, debit_account, debit_route, credit_account,
                            credit_route, idempotency_key, amount, currency, mode, state, batch,
                            created_at, decided_at, next_attempt_at, coordinator)
select test.id(n), 'shard-1', case when n % 2 = 0 then 'shard-2' else 'shard-3' end, 'a', '\x00',
       'b', '\x00', n::text, 1, 'EUR', 'saga', case when n > 8 then 'posted' else 'pending' end,
       test.id(n), now() - interval '1 h', case when n > 8 then now() end,
       case when n <= 8 then now() - interval '50 min' end,
       case when n <= 2 then 'girod-9' end
from generate_series(1, 100000) n;
insert into giro.coordinators (instance) values ('girod-9');
create function pg_temp.reads() returns bigint
language plpgsql
as $$
begin
    perform pg_stat_clear_snapshot();
    return (select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))
            from pg_stat_user_tables
            where schemaname = 'giro' and relname in ('batches', 'transfers'));
end
$$;
select pg_stat_force_next_flush();
call test.execute('a', 'select pg_stat_force_next_flush()');
select pg_temp.reads() as before \gset
select results_eq('select pg_temp.found()', array['(batch,5,)', '(sagas,1,2)'],
                  'all that is not finished is found');
select is(pg_temp.claimed(), '(4)', 'what is due is claimed');
call test.execute('a', 'select pg_stat_force_next_flush()');
call test.wait_until(format('pg_temp.reads() > %s', :before));
select ok(pg_temp.reads() - :before < 200,
          'and hardly a row besides is read: ' || pg_temp.reads() - :before);
select is((select count(*) from giro.transfers where attention like 'credit-waits:%'), 8::bigint,
          'what waits for a shard that is away is noted, and what is claimed after so long');
call test.close('a');
select * from finish();
