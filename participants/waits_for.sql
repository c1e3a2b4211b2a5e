-- The shard that an unfinished transfer waits for; null for one that waits for none. A saga waits
-- for the shard of its credit, a refund that is refused for its own home; a 2PC transfer for the
-- shard of a leg that is decided and that nobody has seen there yet, or that was lost. p_batch is
-- the row of the batch that recorded it, of posted 2PC transfers only.
--
-- Called by:  transfer_get, transfers_list. Has no settings of its own, so that it is inlined.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     words for people; nothing is decided by them.
create or replace function giro.waits_for(p_transfer giro.transfers, p_batch giro.batches)
returns text
language sql stable security invoker
as $$
    select case when pg_catalog.starts_with(p_transfer.attention, 'refund-refused')
                    then p_transfer.home
                when p_transfer.next_attempt_at is not null then p_transfer.remote
                when p_batch.role = 'home' and p_batch.finished_at is null then p_batch.remote
           end
$$;

revoke execute on function giro.waits_for from public;
