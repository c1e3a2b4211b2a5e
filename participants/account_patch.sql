-- Changes the status or the floor of an account; outcome and the account as it stands then:
--   changed           as asked (also if it was so before)
--   missing           no such account
--   not_empty         cannot be closed: its balance is not 0
--   in_transit        cannot be closed: a saga may yet have to refund it
--   below_floor       its balance is below the floor asked for
--   closed            a closed account changes no more; closing it again is harmless
--   stale_route, partition_moving
--
-- Called by:  PATCH /v1/accounts/{id}. p_status null keeps the status; the floor changes only if
--             p_floor_given, null = no limit.
-- Idempotent: setting what is set changes nothing. The version stays: it counts entries.
-- Locks:      the partition's advisory lock (shared, try), then the account's row: waits at most
--             lock_timeout (55P03).
-- Safety:     whoever moves money holds the row lock, and a saga's hold inserts its pending
--             transfer under it: so what is in transit, read in a following statement, is
--             complete. A crash before the commit leaves nothing.
create or replace function giro.account_patch(
    p_partition int, p_epoch bigint, p_id text, p_route bytea, p_status text, p_floor bigint,
    p_floor_given boolean)
returns giro.account_answer
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_trouble text[] :=
        giro.fence(array[p_partition], array[p_epoch], array[p_route], array[p_partition], true);
    v_now giro.account_answer;
    v_status text;
    v_floor bigint;
begin
    if v_trouble[1] is not null then
        return giro.account_answer(v_trouble[1], null);
    end if;

    perform from accounts a where a.id = p_id for update;
    v_now := giro.account_answer('missing', p_id);
    if v_now.id is null then
        return v_now;
    end if;

    v_status := coalesce(p_status, v_now.status);
    v_floor := case when p_floor_given then p_floor else v_now.floor end;
    v_now.outcome := case
        when v_now.status = 'closed'
             and (v_status <> 'closed' or v_floor is distinct from v_now.floor) then 'closed'
        when v_status = 'closed' and v_now.balance <> 0 then 'not_empty'
        when v_status = 'closed' and v_now.in_transit <> 0 then 'in_transit'
        when v_now.balance < v_floor then 'below_floor'
        else 'changed'
    end;
    if v_now.outcome = 'changed' then
        update accounts a set status = v_status, floor = v_floor where a.id = p_id;
        v_now.status := v_status;
        v_now.floor := v_floor;
    end if;
    return v_now;
end
$$;

revoke execute on function giro.account_patch from public;
