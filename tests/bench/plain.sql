-- What Giro is compared with, on one shard: tables of accounts, entries and transfers as one would
-- have them without Giro, with as many accounts as the world has, and the same transfer as one
-- function call.
--
--   psql -v accounts=N -f tests/bench/plain.sql
\set QUIET on
create extension if not exists pg_stat_statements;
create schema plain;

create table plain.accounts
(
    id      bigint primary key,
    balance bigint not null
)
with (fillfactor = 60);

create table plain.transfers
(
    id     bigint primary key, -- random, like an idempotency key
    debit  bigint not null,
    credit bigint not null,
    amount bigint not null,
    at     timestamptz not null default now()
);

create table plain.entries
(
    id       bigint generated always as identity primary key,
    account  bigint not null,
    transfer bigint not null,
    amount   bigint not null
);
create index entries_of_account on plain.entries (account);

create function plain.transfer(p_id bigint, p_debit bigint, p_credit bigint) returns void
language plpgsql
as $$
begin
    update plain.accounts set balance = balance - 1 where id = p_debit;
    update plain.accounts set balance = balance + 1 where id = p_credit;
    insert into plain.transfers (id, debit, credit, amount)
    values (p_id, p_debit, p_credit, 1);
    insert into plain.entries (account, transfer, amount)
    values (p_debit, p_id, -1), (p_credit, p_id, 1);
end
$$;

insert into plain.accounts select id, 0 from generate_series(1, :accounts) id;
insert into plain.transfers (id, debit, credit, amount)
select (i * 2654435761) % 9007199254740991, i % :accounts + 1, (i + 1) % :accounts + 1, 1
from generate_series(1::bigint, least(:history, 100000)) i;
insert into plain.entries (account, transfer, amount)
select (i + side) % :accounts + 1, (i * 2654435761) % 9007199254740991, 2 * side - 1
from generate_series(1::bigint, least(:history, 100000)) i, generate_series(0, 1) side;
vacuum (freeze, analyze) plain.accounts;
vacuum (freeze, analyze) plain.transfers;
vacuum (freeze, analyze) plain.entries;
