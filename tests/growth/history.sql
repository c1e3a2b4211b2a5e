-- Makes finished transfers on one shard, as if they had gone through it: every row that the stages
-- would have left, in books that balance and legs that fit those made on the other shards.
--
--   psql -v shards=3 -v shard=1 -v mode=2pc -v count=100000 -f history.sql
--
-- So many have their home on this shard, with the credit on the next one (local: on the same), and
-- so many from the shard before have their credit here. Payers and payees: accounts.sql. A hundred
-- transfers are one batch. Rows come in the order of time, so that tables and indexes grow as they
-- would; a saga is inserted pending and updated, and vacuumed by the way, as happens to it.
\set ON_ERROR_STOP on
set synchronous_commit = off;
set jit = off;
set client_min_messages = warning;

create schema if not exists growth;

-- The same on every shard.
create or replace function growth.transfer_id(p_account text, p_key text) returns uuid
language sql immutable
as $$
    select encode(set_byte(set_byte(u.bytes, 6, get_byte(u.bytes, 6) & 15 | 128),
                           8, get_byte(u.bytes, 8) & 63 | 128), 'hex')::uuid
    from (select substring(sha256(convert_to(p_account, 'UTF8')) from 1 for 4)
                 || substring(sha256(convert_to(p_account, 'UTF8') || '\x00'::bytea
                                     || convert_to(p_key, 'UTF8')) from 1 for 12)) u (bytes)
$$;

create or replace function growth.batch_id(p_kind text, p_mode text, p_shard int, p_number bigint)
returns uuid
language sql immutable
as $$ select md5(p_kind || p_mode || p_shard || '-' || p_number)::uuid $$;

create or replace function growth.route(p_account text) returns bytea
language sql immutable
as $$ select substring(sha256(convert_to(p_account, 'UTF8')) from 1 for 8) $$;

-- Transfers n of a home and mode, in [p_from, p_to); the nth is in batch n / 100 of them.
create or replace function growth.transfers(
    p_mode text, p_shards int, p_home int, p_from bigint, p_to bigint)
returns table (n bigint, id uuid, debit text, credit text, amount bigint, at timestamptz,
               batch bigint)
language sql stable
as $$
    select i.n, growth.transfer_id(d.name, p_mode || i.n), d.name, c.name, 1 + i.n % 7,
           timestamptz '2026-01-01' + i.n * interval '20 ms', i.n / 100
    from generate_series(p_from, p_to - 1) i (n)
    join growth.names d on d.shard = p_home and d.role = 'payer' and d.number = i.n % 2000
    join growth.names c
        on c.role = 'payee' and c.number = i.n * 7 % 2000
           and c.shard = case p_mode when 'local' then p_home else p_home % p_shards + 1 end
$$;

-- Entries that go on from where each account stands.
create or replace procedure growth.enter(
    p_step text, p_mode text, p_shards int, p_home int, p_from bigint, p_to bigint)
language plpgsql
as $$
declare
    v_sign int := case p_step when 'debit' then -1 else 1 end;
begin
    insert into giro.entries (account, seq, transfer, step, amount, balance, counterparty,
                              reference, at)
    select a.id, a.version + row_number() over w, m.id, p_step, v_sign * m.amount,
           a.balance + v_sign * sum(m.amount) over w, m.counterparty, 'growth', m.at
    from (select t.*, case p_step when 'debit' then t.debit else t.credit end as account,
                 case p_step when 'debit' then t.credit else t.debit end as counterparty
          from growth.transfers(p_mode, p_shards, p_home, p_from, p_to) t) m
    join giro.accounts a on a.id = m.account
    window w as (partition by a.id order by m.n)
    order by m.n;
    update giro.accounts a
    set balance = a.balance + s.amount, version = a.version + s.entries
    from (select e.account, sum(e.amount)::bigint as amount, count(*) as entries
          from growth.transfers(p_mode, p_shards, p_home, p_from, p_to) t
          join giro.entries e on e.transfer = t.id and e.step = p_step
          group by e.account) s
    where a.id = s.account;
end
$$;

create or replace procedure growth.insert_batches(
    p_kind text, p_role text, p_mode text, p_shards int, p_home int, p_from bigint, p_to bigint)
language sql
as $$
    insert into giro.batches (batch, role, mode, verdict, home, remote, coordinator,
                              transfer_count, created_at, finished_at)
    select growth.batch_id(p_kind, p_mode, p_home, b.number), p_role, p_mode, 'commit',
           'shard-' || p_home,
           'shard-' || case p_mode when 'local' then p_home else p_home % p_shards + 1 end,
           'cgrowth', 100, timestamptz '2026-01-01' + b.number * interval '2 s',
           timestamptz '2026-01-01' + b.number * interval '2 s'
    from generate_series(p_from / 100, (p_to - 1) / 100) b (number)
$$;

create or replace procedure growth.home(
    p_mode text, p_shards int, p_shard int, p_from bigint, p_to bigint)
language plpgsql
as $$
begin
    call growth.enter('debit', p_mode, p_shards, p_shard, p_from, p_to);
    insert into giro.transfers (id, home, remote, debit_account, debit_route, credit_account,
                                credit_route, idempotency_key, amount, currency, mode, state,
                                batch, reference, created_at, decided_at, next_attempt_at)
    select t.id, 'shard-' || p_shard,
           'shard-' || case p_mode when 'local' then p_shard else p_shard % p_shards + 1 end,
           t.debit, growth.route(t.debit), t.credit, growth.route(t.credit), p_mode || t.n,
           t.amount, 'EUR', p_mode, case p_mode when 'saga' then 'pending' else 'posted' end,
           growth.batch_id('home', p_mode, p_shard, t.batch), 'growth', t.at,
           case when p_mode <> 'saga' then t.at end, case when p_mode = 'saga' then t.at end
    from growth.transfers(p_mode, p_shards, p_shard, p_from, p_to) t
    order by t.n;
    call growth.insert_batches('home', 'home', p_mode, p_shards, p_shard, p_from, p_to);
    if p_mode = 'local' then
        call growth.enter('credit', p_mode, p_shards, p_shard, p_from, p_to);
    elsif p_mode = 'saga' then
        update giro.transfers set state = 'posted', decided_at = created_at, next_attempt_at = null
        where state = 'pending' and reference = 'growth';
    end if;
end
$$;

create or replace procedure growth.credit(
    p_mode text, p_shards int, p_shard int, p_from bigint, p_to bigint)
language plpgsql
as $$
declare
    v_home int := (p_shard + p_shards - 2) % p_shards + 1;
begin
    call growth.enter('credit', p_mode, p_shards, v_home, p_from, p_to);
    call growth.insert_batches(case p_mode when '2pc' then 'home' else 'credit' end, 'remote',
                               p_mode, p_shards, v_home, p_from, p_to);
    if p_mode = 'saga' then
        insert into giro.receipts (transfer, credit_account, credit_route, outcome, batch, at)
        select t.id, t.credit, growth.route(t.credit), 'applied',
               growth.batch_id('credit', p_mode, v_home, t.batch), t.at
        from growth.transfers(p_mode, p_shards, v_home, p_from, p_to) t
        order by t.n;
    end if;
end
$$;

-- One folded row of clearing is what is left of all.
create or replace procedure growth.balance()
language sql
as $$
    delete from giro.clearing;
    insert into giro.clearing (batch, step, currency, amount, peer)
    select gen_random_uuid(), 'fold', currency, -sum(balance), (select name from giro.shard)
    from giro.accounts group by currency having sum(balance) <> 0;
$$;

-- Piece by piece, each of whole batches and with a vacuum behind it.
select format('call growth.home(%L, %s, %s, %s, %s)', :'mode', :shards, :shard, f,
              least(f + 20000, :count)), 'vacuum giro.transfers'
from generate_series(0, :count - 1, 20000) f \gexec
select format('call growth.credit(%L, %s, %s, %s, %s)', :'mode', :shards, :shard, f,
              least(f + 20000, :count)), 'vacuum giro.accounts'
from generate_series(0, :count - 1, 20000) f where :'mode' <> 'local' \gexec
call growth.balance();
