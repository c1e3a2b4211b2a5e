-- Asks for a pending saga to be reversed, and makes it due at once. Answers one row: outcome
-- 'noted', 'final' (too late, or not a saga), 'missing', 'stale_route' or 'partition_moving', and
-- the state that stands.
--
-- Called by:  the cancel action of clients and operators, on the debit account's shard.
-- Idempotent: the first reason stays.
-- Locks:      the partition's advisory lock (shared, try), then the transfer's row.
-- Safety:     a wish only: whether the money comes back is decided by the receipt on the credit's
--             shard. If its credit came first, the saga ends as posted all the same.
create or replace function giro.give_up(
    p_partition int, p_epoch bigint, p_account text, p_route bytea, p_id uuid, p_reason text)
returns table (outcome text, state text)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_trouble text[] :=
        giro.fence(array[p_partition], array[p_epoch], array[p_route], array[p_partition], true);
    v_state text;
begin
    if v_trouble[1] is not null then
        return query select v_trouble[1], null::text;
        return;
    end if;

    select t.state into v_state
    from transfers t where t.id = p_id and t.debit_account = p_account for update;
    if v_state = 'pending' then
        update transfers t
        set giving_up = coalesce(t.giving_up, p_reason), next_attempt_at = clock_timestamp()
        where t.id = p_id;
    end if;
    return query select case when v_state = 'pending' then 'noted'
                             when v_state is null then 'missing'
                             else 'final'
                        end, v_state;
end
$$;

revoke execute on function giro.give_up from public;
