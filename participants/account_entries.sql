-- Reads a page of an account's entries, newest first: rows of outcome 'entry', or a single row of
-- outcome 'none' (no entries before p_before), 'missing' or 'stale_route'.
--
-- Called by:  GET /v1/accounts/{id}/entries. p_before: only entries with a smaller seq; null: from
--             the newest. At most 1000 rows, whatever p_limit says.
-- Idempotent: writes nothing.
-- Locks:      none: it looks at the fence without claiming.
create or replace function giro.account_entries(
    p_partition int, p_epoch bigint, p_id text, p_route bytea, p_before bigint, p_limit int)
returns table (outcome text, seq bigint, transfer uuid, amount bigint, balance bigint,
               counterparty text, reference text, at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_trouble text[] :=
        giro.fence(array[p_partition], array[p_epoch], array[p_route], array[p_partition], false);
    v_before bigint := coalesce(p_before, 9223372036854775807);
    v_outcome text := 'none';
begin
    if v_trouble[1] is not null then
        v_outcome := v_trouble[1];
    elsif not exists (select from accounts a where a.id = p_id) then
        v_outcome := 'missing';
    else
        return query
            select 'entry', e.seq, e.transfer, e.amount, e.balance, e.counterparty, e.reference,
                   e.at
            from entries e
            where e.account = p_id and e.seq < v_before
            order by e.seq desc
            limit least(greatest(p_limit, 0), 1000);
        if found then
            return;
        end if;
    end if;
    return query
        select v_outcome, null::bigint, null::uuid, null::bigint, null::bigint, null::text,
               null::text, null::timestamptz;
end
$$;

revoke execute on function giro.account_entries from public;
