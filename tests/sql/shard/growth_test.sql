-- History costs nothing: what runs all the time (recovery, claims, samples, folding, an increment
-- of reconciliation) and what is asked by key reads a handful of rows of tables that hold many
-- finished ones, also with plans that were made while they were empty.
select * from no_plan();
call test.reset();
call test.open('a');

create temporary table calls (name text, call text, rows int); -- how many it may read
insert into calls
values ('recovery', $$select * from giro.recovery('demo', 'girod-1', 0, array['shard-2'],
                      array['shard-3'], '{}', 64)$$, 20),
       ('claim', $$select * from giro.claim(array['shard-2'], 64, 'girod-1')$$, 0),
       ('shard_state', 'select * from giro.shard_state(10000)', 2),
       ('fold_clearing', 'select giro.fold_clearing(100, 1000)', 3500),
       ('identity', $$select * from giro.identity(array[md5('b1')::uuid])$$, 2),
       ('transfers_by_id', $$select * from giro.transfers_by_id(array[md5('t1')::uuid])$$, 2),
       ('verdicts_by_id', $$select * from giro.verdicts_by_id(array[md5('b1')::uuid])$$, 2),
       ('steps_home', $$select * from giro.steps_home(md5('t1')::uuid)$$, 5),
       ('steps_remote', $$select * from giro.steps_remote(md5('t1')::uuid, md5('b1')::uuid)$$, 8),
       ('reconcile_ids', 'select * from giro.reconcile_ids(true, null, 500)', 1),
       ('reconcile_accounts', $$select * from giro.reconcile_accounts(false, '', null, null, 100,
                                1000)$$, 700),
       ('reconcile_transfers', $$select * from giro.reconcile_transfers(
                                 array[md5('t1')::uuid, md5('t2')::uuid])$$, 20),
       ('reconcile_credits', $$select * from giro.reconcile_credits(array[md5('t1')::uuid],
                               array[md5('b1')::uuid])$$, 10),
       ('reconcile_batches', 'select * from giro.reconcile_batches(null, 100)', 100),
       ('reconcile_verdicts', $$select * from giro.reconcile_verdicts(array[md5('b1')::uuid])$$, 1),
       ('reconcile_forget', $$select giro.reconcile_forget(array['account-1'])$$, 3);
-- plans of session a are made on empty tables
do $$
declare
    v_call text;
begin
    for v_call in select call from calls loop
        for i in 1..2 loop
            call test.execute('a', v_call);
        end loop;
    end loop;
end
$$;

insert into giro.accounts (id, route, currency, floor, balance, version)
select 'account-' || i, test.route('account-' || i), 'EUR', null, -20, 20
from generate_series(1, 1000) i;
insert into giro.transfers (id, home, remote, debit_account, debit_route, credit_account,
                            credit_route, idempotency_key, amount, currency, mode, state, batch,
                            created_at, decided_at)
select md5('t' || i)::uuid, 'shard-1', 'shard-2', 'account-' || i % 1000 + 1, '\x00', 'x', '\x00',
       'key-' || i, 1, 'EUR', (array['2pc', 'saga'])[i % 2 + 1], 'posted', md5('b' || i)::uuid,
       now(), now()
from generate_series(1, 20000) i;
insert into giro.entries (account, seq, transfer, step, amount, balance, counterparty, at)
select 'account-' || i % 1000 + 1, (i - 1) / 1000 + 1, md5('t' || i)::uuid, 'debit', -1,
       -((i - 1) / 1000 + 1), 'x', now()
from generate_series(1, 20000) i;
insert into giro.batches (batch, role, mode, verdict, home, remote, coordinator, transfer_count,
                          created_at, finished_at)
select md5('b' || i)::uuid, 'home', (array['2pc', 'saga'])[i % 2 + 1], 'commit', 'shard-1',
       'shard-2', 'girod-gone', 1, now(), now()
from generate_series(1, 20000) i;
insert into giro.receipts (transfer, credit_account, credit_route, outcome, batch, at)
select md5('r' || i)::uuid, 'x', '\x00', 'applied', md5('rb' || i)::uuid, now()
from generate_series(1, 20000) i;
insert into giro.clearing (batch, step, currency, amount, peer)
select md5('b' || i)::uuid, 'debit', 'EUR', 1, 'shard-2' from generate_series(1, 20000) i;
insert into giro.reconciled (account, seq, balance)
select id, version, balance from giro.accounts;

create function pg_temp.counts(out seq_scans bigint, out rows_read bigint)
language plpgsql
as $$
begin
    call test.execute('a', 'select pg_stat_force_next_flush()');
    perform pg_stat_clear_snapshot();
    select sum(s.seq_scan),
           sum(s.seq_tup_read + coalesce(s.idx_tup_fetch, 0))
           + (select sum(i.idx_tup_read) from pg_stat_user_indexes i
              where i.schemaname = 'giro' and i.relname = 'clearing')
    into seq_scans, rows_read
    from pg_stat_user_tables s
    where s.schemaname = 'giro'
      and s.relname in ('accounts', 'entries', 'transfers', 'batches', 'receipts', 'clearing',
                        'reconciled', 'reconciliation_carried');
end
$$;

create function pg_temp.watch(p_name text, p_call text, p_rows int) returns setof text
language plpgsql
as $$
declare
    v_before record;
    v_after record;
begin
    v_before := pg_temp.counts();
    call test.execute('a', p_call);
    v_after := pg_temp.counts();
    return next is(v_after.seq_scans, v_before.seq_scans,
                   p_name || ' reads no table from end to end');
    return next cmp_ok(v_after.rows_read - v_before.rows_read, '<=', p_rows::bigint,
                       p_name || ' reads few rows');
end
$$;
select pg_temp.watch(name, call, rows) from calls;
select is((select count(*) from giro.clearing), 19001::bigint, 'a thousand rows were folded');
select is((select sum(amount) from giro.clearing), 20000::numeric, 'and add up as before');
call test.close('a');
select * from finish();
