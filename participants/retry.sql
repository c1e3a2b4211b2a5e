-- Makes an unfinished transfer due at once: a pending saga, or a posted 2PC transfer whose credit
-- was lost and is being done again. Answers one row: outcome 'noted', 'final' (it waits for no next
-- try), 'missing', 'stale_route' or 'partition_moving', and the state that stands.
--
-- Called by:  the actions retry and resolve of operators, on the debit account's shard.
-- Idempotent: due is due.
-- Locks:      the partition's advisory lock (shared, try), then the transfer's row.
-- Safety:     moves a time and nothing else: whoever claims it goes on as ever, and every step may
--             be done twice.
create or replace function giro.retry(
    p_partition int, p_epoch bigint, p_account text, p_route bytea, p_id uuid)
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
    v_transfer transfers;
begin
    if v_trouble[1] is not null then
        return query select v_trouble[1], null::text;
        return;
    end if;

    select * into v_transfer
    from transfers t where t.id = p_id and t.debit_account = p_account for update;
    if v_transfer.next_attempt_at is not null then
        update transfers t
        set next_attempt_at = least(t.next_attempt_at, clock_timestamp())
        where t.id = p_id;
    end if;
    return query select case when v_transfer.next_attempt_at is not null then 'noted'
                             when v_transfer.id is null then 'missing'
                             else 'final'
                        end, v_transfer.state;
end
$$;

revoke execute on function giro.retry from public;
