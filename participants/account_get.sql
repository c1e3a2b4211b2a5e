-- Reads an account: outcome 'found', 'missing' or 'stale_route', and the account as it stands.
--
-- Called by:  GET /v1/accounts/{id}.
-- Idempotent: writes nothing.
-- Locks:      none: it looks at the fence without claiming. The answer may be old when it arrives.
create or replace function giro.account_get(
    p_partition int, p_epoch bigint, p_id text, p_route bytea)
returns giro.account_answer
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_trouble text[] :=
        giro.fence(array[p_partition], array[p_epoch], array[p_route], array[p_partition], false);
    v_answer giro.account_answer;
begin
    if v_trouble[1] is not null then
        return giro.account_answer(v_trouble[1], null);
    end if;
    v_answer := giro.account_answer('found', p_id);
    if v_answer.id is null then
        v_answer.outcome := 'missing';
    end if;
    return v_answer;
end
$$;

revoke execute on function giro.account_get from public;
