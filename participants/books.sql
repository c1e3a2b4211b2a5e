-- The books of this shard: per currency the sum of the balances, the counterweight in clearing, and
-- their difference, which is 0 in every snapshot.
--
-- Called by:  operators, tests, reconciliation. Reads everything: not for the hot path.
-- Idempotent: writes nothing.
-- Locks:      none; a single statement, hence a single snapshot.
create or replace function giro.books()
returns table (currency text, balances numeric, clearing numeric, difference numeric)
language plpgsql stable security definer
set search_path = pg_catalog, giro, pg_temp
as $$
#variable_conflict use_column
begin
    return query
        select s.currency, sum(s.balance), sum(s.cleared), sum(s.balance) + sum(s.cleared)
        from (select a.currency, a.balance::numeric as balance, 0::numeric as cleared
              from accounts a
              union all
              select c.currency, 0, c.amount
              from clearing c) s
        group by s.currency
        order by s.currency;
end
$$;

revoke execute on function giro.books from public;
