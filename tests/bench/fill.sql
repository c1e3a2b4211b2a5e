-- Fills one shard with accounts and with finished two-phase transfers, as if girod had moved them.
--
--   psql -v shard=N -v shards=N -v accounts=N -v history=N -f tests/bench/fill.sql
--
-- `accounts` and `history` count those of all shards. Every shard is home to the same number of
-- transfers, each to the next shard; transfer i debits the home's account i and credits the next
-- shard's account i (modulo their numbers). So account after account pays 1 and gets 1, and seqs
-- and balances are known without looking: odd seqs are debits that leave -1, even ones are credits
-- that leave 0. Keys and constraints are put back as they were after the rows are in. Nothing is
-- fsynced meanwhile; whoever calls this runs sync afterwards.
\set QUIET on
set client_min_messages = warning;
set work_mem = '256MB';
set maintenance_work_mem = '512MB';
alter system set fsync = off;
select pg_reload_conf() \g /dev/null

-- Hash partitions are dealt out to the shards in turn.
create temp table places as
select shard, (row_number() over (partition by shard order by number) - 1)::bigint as place, id,
       route
from (select number, id, substr(sha256(id::bytea), 1, 8) as route,
             get_byte(sha256(id::bytea), 0) / 4 % :shards + 1 as shard
      from (select number, 'acct-' || lpad(number::text, 8, '0') as id
            from generate_series(1, :accounts) number) numbers) ids;
analyze places;
select :shard % :shards + 1 as next, (:shard + :shards - 2) % :shards + 1 as previous,
       :history / :shards as transfers \gset
select count(*) filter (where shard = :shard) as accounts_here,
       count(*) filter (where shard = :next) as accounts_next,
       count(*) filter (where shard = :previous) as accounts_previous
from places \gset
create temp table constraints as
select conrelid::regclass::text as relation, conname as name, pg_get_constraintdef(oid) as text
from pg_constraint
where conrelid in ('giro.accounts'::regclass, 'giro.entries'::regclass, 'giro.transfers'::regclass,
                   'giro.batches'::regclass, 'giro.clearing'::regclass)
  and contype in ('p', 'u');
create temp table indexes as
select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as text
from pg_index
where indrelid in ('giro.entries'::regclass, 'giro.transfers'::regclass, 'giro.batches'::regclass)
  and not indisunique;

create function pg_temp.batch_id(p_home int, p_number bigint) returns uuid
language sql immutable parallel safe
as $$
    select md5('history batch ' || p_number || ' of shard-' || p_home)::uuid
$$;

select format('alter table %s drop constraint %I', relation, name) from constraints \gexec
select format('drop index %s', name) from indexes \gexec

begin;

insert into giro.accounts (id, route, currency, floor, version)
select id, route, 'EUR', -1000000000000,
       2 * (:transfers / :accounts_here +
            case when place < :transfers % :accounts_here then 1 else 0 end)
from places
where shard = :shard
order by place;

-- Both legs that are here of the transfers that are at home here or on the shard before. The id of
-- a transfer is made as everywhere: see the vectors of tests/vectors. (offset 0: once per row.)
create temp table legs as
select i, step, account, route, counterparty, peer_route, home, remote,
       encode(set_byte(set_byte(hash, 6, get_byte(hash, 6) & 15 | 128),
                       8, get_byte(hash, 8) & 63 | 128), 'hex')::uuid as transfer
from (select pairs.*,
             substr(sha256(debit::bytea), 1, 4) ||
             substr(sha256(debit::bytea || '\x00'::bytea || ('history-' || i)::bytea),
                    1, 12) as hash
      from (select i, 'debit' as step, d.id as debit, d.id as account, d.route,
                   c.id as counterparty, c.route as peer_route, :shard as home, :next as remote
            from generate_series(0, :transfers - 1) i
            join places d on d.shard = :shard and d.place = i % :accounts_here
            join places c on c.shard = :next and c.place = i % :accounts_next
            union all
            select i, 'credit', d.id, c.id, c.route, d.id, d.route, :previous, :shard
            from generate_series(0, :transfers - 1) i
            join places d on d.shard = :previous and d.place = i % :accounts_previous
            join places c on c.shard = :shard and c.place = i % :accounts_here) pairs
      offset 0) hashed;

insert into giro.entries (account, seq, transfer, step, amount, balance, counterparty, at)
select account, 2 * (i / :accounts_here) + case step when 'debit' then 1 else 2 end, transfer, step,
       case step when 'debit' then -1 else 1 end, case step when 'debit' then -1 else 0 end,
       counterparty, now()
from legs
order by i, step desc;

insert into giro.transfers (id, home, remote, debit_account, debit_route, credit_account,
                            credit_route, idempotency_key, amount, currency, mode, state, batch,
                            created_at, decided_at)
select transfer, 'shard-' || home, 'shard-' || remote, account, route, counterparty, peer_route,
       'history-' || i, 1, 'EUR', '2pc', 'posted', pg_temp.batch_id(home, i / 500), now(), now()
from legs
where step = 'debit'
order by i;

create temp table batches_made as
select i / 500 as number, step, home, remote, count(*)::int as transfers
from legs
group by i / 500, step, home, remote;

insert into giro.batches (batch, role, mode, verdict, home, remote, coordinator, transfer_count,
                          created_at, finished_at)
select pg_temp.batch_id(home, number), case step when 'debit' then 'home' else 'remote' end,
       '2pc', 'commit', 'shard-' || home, 'shard-' || remote, 'history', transfers, now(), now()
from batches_made
order by number, step desc;

insert into giro.clearing (batch, step, currency, amount, peer)
select pg_temp.batch_id(home, number), step, 'EUR',
       case step when 'debit' then transfers else -transfers end,
       'shard-' || case step when 'debit' then remote else home end
from batches_made
order by number, step desc;

commit;
drop table legs, batches_made;

select format('alter table %s add constraint %I %s', relation, name, text) from constraints \gexec
select text from indexes \gexec

do $$
begin
    if exists (select from giro.accounts a
               where not exists (select from giro.partitions p
                                 where p.keyspace = '' and p.lo <= a.route
                                   and (p.hi is null or a.route < p.hi))) then
        raise exception 'an account is on a shard that does not own it';
    end if;
end
$$;

alter system reset fsync;
select pg_reload_conf() \g /dev/null
vacuum (freeze, analyze) giro.accounts;
vacuum (freeze, analyze) giro.entries;
vacuum (freeze, analyze) giro.transfers;
vacuum (freeze, analyze) giro.batches;
vacuum (freeze, analyze) giro.clearing;
checkpoint;
