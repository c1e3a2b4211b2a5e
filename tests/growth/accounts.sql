-- Makes payers and payees on one shard, 2000 of each, and the same list of all of them everywhere
-- (growth.names), from which partitions are owned by whom.
--
--   psql -v shard=1 -f accounts.sql < owners.csv
--
-- The CSV has lo and hi (hex) of every partition of the default keyspace, and its shard's number.
\set ON_ERROR_STOP on
create schema growth;
create table growth.owners (lo text, hi text, shard int);
\copy growth.owners from pstdin with (format csv)

create table growth.names as
    with candidates as (
        select name, substring(sha256(convert_to(name, 'UTF8')) from 1 for 8) as route, i
        from (select 'growth-' || i as name, i from generate_series(1, 40000) i) n)
    select shard, case place % 2 when 0 then 'payer' else 'payee' end as role,
           place / 2 as number, name, route
    from (select o.shard, c.name, c.route,
                 row_number() over (partition by o.shard order by c.i) - 1 as place
          from candidates c
          join growth.owners o
              on c.route >= decode(o.lo, 'hex') and (o.hi is null or c.route < decode(o.hi, 'hex'))
         ) placed
    where place < 4000;
create unique index on growth.names (shard, role, number);
analyze growth.names;

insert into giro.accounts (id, route, currency, floor)
select name, route, 'EUR', null from growth.names where shard = :shard;
