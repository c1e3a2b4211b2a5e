-- Routes and transfer ids as SQL computes them are those of tests/vectors/, which the unit test of
-- the coordinator's route.c reads too: so both halves agree on where an account lives.
select * from no_plan();
create temporary table routes (kind text, prefix text, id text, route text);
\copy routes from 'tests/vectors/routes.csv' with (format csv, header, force_not_null (prefix))
create temporary table transfers (debit_account text, idempotency_key text, id uuid);
\copy transfers from 'tests/vectors/transfers.csv' with (format csv, header)

create function pg_temp.hash(p_id text) returns bytea
language sql
as $$ select substring(sha256(convert_to(p_id, 'UTF8')) from 1 for 8) $$;

create function pg_temp.route(p_kind text, p_prefix text, p_id text) returns bytea
language sql
as $$
    select case p_kind
               when 'hash' then pg_temp.hash(p_id)
               when 'range' then convert_to(p_id, 'UTF8')
               when 'compound' then
                   convert_to(p_prefix || split_part(substr(p_id, length(p_prefix) + 1), ':', 1),
                              'UTF8')
                   || '\x00'::bytea || pg_temp.hash(p_id)
           end
$$;

-- UUIDv8: 4 bytes of one hash, 12 of the other, the version and the variant.
create function pg_temp.transfer_id(p_account text, p_key text) returns uuid
language sql
as $$
    select encode(set_byte(set_byte(u.bytes, 6, get_byte(u.bytes, 6) & 15 | 128),
                           8, get_byte(u.bytes, 8) & 63 | 128), 'hex')::uuid
    from (select substring(sha256(convert_to(p_account, 'UTF8')) from 1 for 4)
                 || substring(sha256(convert_to(p_account, 'UTF8') || '\x00'::bytea
                                     || convert_to(p_key, 'UTF8')) from 1 for 12)) u (bytes)
$$;

select cmp_ok((select count(distinct kind) from routes), '=', 3::bigint,
              'there are vectors of every kind');
select cmp_ok((select count(*) from transfers), '>=', 10::bigint, 'and of transfers');
select is(encode(pg_temp.route(kind, prefix, id), 'hex'), route,
          format('%s route of %s in "%s"', kind, left(id, 20), prefix))
from routes;
select is(pg_temp.transfer_id(debit_account, idempotency_key), id,
          format('transfer id of %s and %s', left(debit_account, 20), left(idempotency_key, 20)))
from transfers;

-- The order of routes is that of bytea: a tenant is one piece of it, whatever its neighbours.
select is_empty(
    $$with tenants as (
          select tenant, format('t:%s:%s', tenant, n) as id
          from unnest('{a,a-,a.b,a0,aa,A,a_,b}'::text[]) tenant, generate_series(1, 40) n),
      placed as (
          select tenant, lag(tenant) over (order by pg_temp.route('compound', 't:', id)) as before
          from tenants)
      select tenant from placed where tenant is distinct from before
      group by tenant having count(*) > 1$$,
    'a tenant is contiguous in a compound keyspace');
select * from finish();
