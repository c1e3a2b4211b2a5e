-- Creates an account, or finds it: outcome 'created', 'exists' (same currency, and floor if one was
-- given), 'conflict', 'stale_route' or 'partition_moving', and the account as it stands (for the
-- first three).
--
-- Called by:  POST /v1/accounts. Without a given floor it is 0; a given null is no limit.
-- Idempotent: the account's key; a repeat finds what the first call made.
-- Locks:      the partition's advisory lock (shared, try), then the account's key: waits for a twin
--             under way, at most lock_timeout (55P03).
-- Safety:     the accounts row decides; insert and read-back are separate statements. A crash
--             before the commit leaves nothing. What was found is durable once this transaction
--             commits.
create or replace function giro.account_create(
    p_partition int, p_epoch bigint, p_id text, p_route bytea, p_currency text, p_floor bigint,
    p_floor_given boolean, p_metadata text)
returns giro.account_answer
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_trouble text[] :=
        giro.fence(array[p_partition], array[p_epoch], array[p_route], array[p_partition], true);
    v_answer giro.account_answer;
begin
    if v_trouble[1] is not null then
        return giro.account_answer(v_trouble[1], null);
    end if;

    insert into accounts (id, route, currency, floor, metadata)
    values (p_id, p_route, p_currency, case when p_floor_given then p_floor else 0 end,
            coalesce(p_metadata, '{}')::jsonb)
    on conflict (id) do nothing;
    if found then
        return giro.account_answer('created', p_id);
    end if;

    v_answer := giro.account_answer('exists', p_id);
    if v_answer.currency <> p_currency
       or (p_floor_given and v_answer.floor is distinct from p_floor) then
        v_answer.outcome := 'conflict';
    end if;
    perform giro.force_durability();
    return v_answer;
end
$$;

revoke execute on function giro.account_create from public;
