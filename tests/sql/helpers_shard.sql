-- Helpers of the tests of a shard.
--
-- The shard is shard-1 of cluster demo and owns two partitions: 1 is ['', 0x80), 2 is [0x80, end).
-- Calls of participant functions are made as text (test.*_call), to be run in this session or in
-- another one. Transfers and batches are named by small numbers (test.id).

-- Everything gone, nothing prepared.
create procedure test.reset()
language plpgsql
as $$
begin
    truncate giro.shard, giro.coordinators, giro.partitions, giro.accounts, giro.entries,
             giro.transfers, giro.receipts, giro.batches, giro.clearing;
    perform giro.setup_shard('demo', 'shard-1', 1);
    perform giro.setup_partitions(array[1, 2], array['', ''], array['hash', 'hash'],
                                  array['\x', '\x80']::bytea[], array['\x80', null]::bytea[],
                                  array[1, 1]);
end
$$;

create function test.id(p_number int) returns uuid
language sql immutable
as $$ select ('00000000-0000-8000-8000-' || lpad(p_number::text, 12, '0'))::uuid $$;

create function test.route(p_account text) returns bytea
language sql immutable
as $$ select substr(sha256(convert_to(p_account, 'UTF8')), 1, 8) $$;

create function test.partition(p_account text) returns int
language sql immutable
as $$ select case when test.route(p_account) < '\x80' then 1 else 2 end $$;

create function test.lock_call(p_accounts text[], p_epoch bigint default 1)
returns text
language sql stable
as $$
    select format('select * from giro.lock(%L::int[], %L::bigint[], %L::text[], %L::bytea[], '
                  '%L::int[])',
                  (select array_agg(distinct test.partition(a)) from unnest(p_accounts) a),
                  (select array_agg(p_epoch)
                   from (select distinct test.partition(a) from unnest(p_accounts) a) p),
                  array_agg(a order by a collate "C"),
                  array_agg(test.route(a) order by a collate "C"),
                  array_agg(test.partition(a) order by a collate "C"))
    from unnest(p_accounts) a
$$;

create type test.leg as (account text, transfer uuid, amount bigint, counterparty text, step text);

create function test.leg(p_account text, p_transfer int, p_amount bigint,
                         p_counterparty text default 'other', p_step text default null)
returns test.leg
language sql immutable
as $$
    select (p_account, test.id(p_transfer), p_amount, p_counterparty,
            coalesce(p_step, case when p_amount < 0 then 'debit' else 'credit' end))::test.leg
$$;

-- The call of apply for these legs, as the judge would make it from the accounts as they stand.
create function test.apply_call(p_batch int, p_role text, p_mode text, p_legs test.leg[])
returns text
language sql stable
as $$
    with legs as (
        select l.*, a.version, a.balance, n.place,
               dense_rank() over (order by l.account collate "C") as account_place,
               a.version + row_number() over per_account as seq,
               a.balance + sum(l.amount) over per_account as balance_after
        from unnest(p_legs) with ordinality n (account, transfer, amount, counterparty, step, place)
        cross join lateral (select n.account, n.transfer, n.amount, n.counterparty, n.step) l
        join giro.accounts a on a.id = l.account
        window per_account as (partition by l.account order by n.place)
    ),
    touched as (
        select account, version, balance + sum(amount) as balance from legs
        group by account, version, balance
    )
    select format(
        'select giro.apply(%L, %L, %L, %L, %L, ''girod-1'', %s, %L::text[], %L::bigint[], '
        '%L::bigint[], %L::int[], %L::uuid[], %L::text[], %L::bigint[], %L::bigint[], '
        '%L::bigint[], %L::text[], %L::text[])',
        test.id(p_batch), p_role, p_mode,
        case p_role when 'home' then 'shard-1' else 'shard-2' end,
        case when p_mode = 'local' then 'shard-1' when p_role = 'home' then 'shard-2'
             else 'shard-1' end,
        count(distinct l.transfer),
        coalesce((select array_agg(account order by account collate "C") from touched), '{}'),
        coalesce((select array_agg(version order by account collate "C") from touched), '{}'),
        coalesce((select array_agg(balance order by account collate "C") from touched), '{}'),
        coalesce(array_agg(l.account_place order by l.place), '{}'),
        coalesce(array_agg(l.transfer order by l.place), '{}'),
        coalesce(array_agg(l.step order by l.place), '{}'),
        coalesce(array_agg(l.amount order by l.place), '{}'),
        coalesce(array_agg(l.seq order by l.place), '{}'),
        coalesce(array_agg(l.balance_after order by l.place), '{}'),
        coalesce(array_agg(l.counterparty order by l.place), '{}'),
        coalesce(array_agg('ref ' || l.place order by l.place), '{}'))
    from legs l
$$;

-- The call of record for one transfer.
create function test.record_call(p_batch int, p_transfer int, p_mode text, p_debit text,
                                 p_credit text, p_amount bigint, p_state text default 'posted',
                                 p_refusal text default null, p_deadline_ms bigint default null)
returns text
language sql stable
as $$
    select format(
        'select * from giro.record(%L, %L, ''shard-1'', %L, %L::uuid[], %L::text[], %L::bytea[], '
        '%L::text[], %L::bytea[], %L::text[], %L::bigint[], ''{EUR}'', %L::text[], %L::text[], '
        '%L::text[], %L::text[], %L::bigint[])',
        test.id(p_batch), p_mode, case when p_mode = 'local' then 'shard-1' else 'shard-2' end,
        array[test.id(p_transfer)], array[p_debit],
        array[test.route(p_debit)], array[p_credit], array[test.route(p_credit)],
        array['key-' || p_transfer], array[p_amount], array[p_state], array[p_refusal],
        array['ref'], array[null::text], array[p_deadline_ms])
$$;

-- The partitions of these accounts and the epoch of each, as the fence wants them.
create function test.partitions(p_accounts text[]) returns int[]
language sql immutable
as $$ select array_agg(distinct test.partition(a)) from unnest(p_accounts) a $$;

-- The first arguments of a fenced call: partitions and epochs.
create function test.fence_arguments(p_accounts text[], p_epoch bigint) returns text
language sql immutable
as $$
    select format('%L::int[], %L::bigint[]', p, array_fill(p_epoch, array[cardinality(p)]))
    from test.partitions(p_accounts) p
$$;

create function test.ids(variadic p_numbers int[]) returns uuid[]
language sql immutable
as $$
    select array_agg(test.id(n) order by place)
    from unnest(p_numbers) with ordinality u (n, place)
$$;

-- The calls of the steps of a saga; the accounts are the credit's for receive and tombstone, the
-- debit's for settle and give_up.
create function test.receive_call(p_batch int, p_transfers int[], p_accounts text[],
                                  p_refusals text[])
returns text
language sql stable
as $$
    select format('select giro.receive(%L, %L::uuid[], %L::text[], %L::bytea[], %L::text[])',
                  test.id(p_batch), test.ids(variadic p_transfers), p_accounts,
                  array(select test.route(a) from unnest(p_accounts) a), p_refusals)
$$;

create function test.tombstone_call(p_batch int, p_transfers int[], p_accounts text[],
                                    p_epoch bigint default 1)
returns text
language sql stable
as $$
    select format('select * from giro.tombstone(%s, %L, %L::uuid[], %L::text[], %L::bytea[], '
                  '%L::int[])', test.fence_arguments(p_accounts, p_epoch), test.id(p_batch),
                  test.ids(variadic p_transfers), p_accounts,
                  array(select test.route(a) from unnest(p_accounts) a),
                  array(select test.partition(a) from unnest(p_accounts) a))
$$;

create function test.settle_call(p_transfers int[], p_accounts text[], p_refusals text[],
                                 p_epoch bigint default 1)
returns text
language sql stable
as $$
    select format('select * from giro.settle(%s, %L::uuid[], %L::bytea[], %L::int[], %L::text[])',
                  test.fence_arguments(p_accounts, p_epoch), test.ids(variadic p_transfers),
                  array(select test.route(a) from unnest(p_accounts) a),
                  array(select test.partition(a) from unnest(p_accounts) a), p_refusals)
$$;

create function test.give_up_call(p_transfer int, p_account text, p_reason text default 'cancelled',
                                  p_epoch bigint default 1)
returns text
language sql stable
as $$
    select format('select * from giro.give_up(%s, %s, %L, %L, %L, %L)', test.partition(p_account),
                  p_epoch, p_account, test.route(p_account), test.id(p_transfer), p_reason)
$$;

create procedure test.run(p_sql text)
language plpgsql
as $$
begin
    execute p_sql;
end
$$;

-- An account with this balance, which comes from an account without a floor.
create procedure test.account(p_id text, p_balance bigint default 0, p_floor bigint default 0,
                              p_currency text default 'EUR')
language plpgsql
as $$
declare
    v_number int := (select 900000 + count(*) from giro.batches);
begin
    insert into giro.accounts (id, route, currency, floor)
    values ('world:' || p_currency, test.route('world:' || p_currency), p_currency, null)
    on conflict do nothing;
    insert into giro.accounts (id, route, currency, floor)
    values (p_id, test.route(p_id), p_currency, p_floor);
    if p_balance <> 0 then
        call test.run(test.apply_call(v_number, 'home', 'local', array[
            test.leg('world:' || p_currency, v_number, -p_balance, p_id),
            test.leg(p_id, v_number, p_balance, 'world')]));
    end if;
end
$$;

-- Rows of this are faults: no books that differ, no gap, no balance that is not the last entry's.
create view test.faults as
    select 'books' as fault, b.currency as place from giro.books() b where b.difference <> 0
    union all
    select 'balance', a.id
    from giro.accounts a
    left join (select account, sum(amount) as amount, max(seq) as last, count(*) as entries
               from giro.entries group by account) e on e.account = a.id
    left join giro.entries l on l.account = a.id and l.seq = a.version
    where a.balance <> coalesce(e.amount, 0) or a.version <> coalesce(e.last, 0)
       or a.version <> coalesce(e.entries, 0) or a.balance <> coalesce(l.balance, 0)
    union all
    select 'running balance', e.account || ' ' || e.seq
    from (select account, seq, balance, sum(amount) over (partition by account order by seq) as sum
          from giro.entries) e
    where e.balance <> e.sum
    union all
    select 'prepared', gid from pg_prepared_xacts;
