-- Takes the note away that a posted transfer has a credit which was lost and can no longer apply: a
-- person has seen it and paid the amount by another transfer. Answers one row: outcome 'noted',
-- 'final' (there is no such note), 'missing', 'stale_route' or 'partition_moving', and the state
-- that stands.
--
-- Called by:  the action resolve of operators, on the debit account's shard, after the refused
--             receipt was seen on the credit's.
-- Idempotent: a note that is gone is gone.
-- Locks:      the partition's advisory lock (shared, try), then the transfer's row.
-- Safety:     words for people; nothing is decided by them. The refused receipt stays.
create or replace function giro.acknowledge(
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
    v_is_noted boolean;
begin
    if v_trouble[1] is not null then
        return query select v_trouble[1], null::text;
        return;
    end if;

    select * into v_transfer
    from transfers t where t.id = p_id and t.debit_account = p_account for update;
    v_is_noted := v_transfer.state = 'posted' and v_transfer.next_attempt_at is null
                  and starts_with(v_transfer.attention, 'credit-refused');
    if v_is_noted then
        update transfers t set attention = null where t.id = p_id;
    end if;
    return query select case when v_is_noted then 'noted'
                             when v_transfer.id is null then 'missing'
                             else 'final'
                        end, v_transfer.state;
end
$$;

revoke execute on function giro.acknowledge from public;
