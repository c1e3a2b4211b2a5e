-- Why a person should look at a saga that has been pending for more than a minute; null for others.
--
-- Called by:  transfer_get, transfers_by_id, transfers_list, claim, postpone, note_waiting. Has no
--             settings of its own, and is no less volatile than what it calls, so that
--             it is inlined.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     words for people; nothing is decided by them.
create or replace function giro.patience_is_over(p_transfer giro.transfers) returns text
language sql volatile security invoker
as $$
    select case when p_transfer.state = 'pending'
                     and p_transfer.created_at < pg_catalog.clock_timestamp() - interval '60 s'
                then 'credit-waits: it waits for shard ' || p_transfer.remote
           end
$$;

revoke execute on function giro.patience_is_over from public;
