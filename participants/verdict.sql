-- Settles a batch whose outcome is not known: gives it up unless it is decided, and answers what
-- stands then, 'commit' or 'abort'.
--
-- Called by:  a coordinator that lost the answer to PREPARE or to the decision, and recovery; on
--             the batch's home shard (GR003 on any other), in a transaction
--             of its own. GR004 while the shard is fenced off: that is no answer.
-- Idempotent: every call answers the same, for ever.
-- Locks:      the batch key: waits for an open home transaction, at most lock_timeout (55P03: ask
--             again). No partition fence: the batch's place is part of its GID.
-- Safety:     the batches row decides, first come. If abort goes in first, the batch's own insert
--             (plain, in apply) collides and its transaction fails, however late it comes. If it
--             was first, the insert here finds it and a following statement reads it. The answer
--             may be acted upon once this transaction has committed. A crash before that leaves
--             nothing.
create or replace function giro.verdict(
    p_batch uuid, p_mode text, p_home text, p_remote text, p_coordinator text)
returns text
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
as $$
declare
    v_verdict text;
begin
    perform giro.require_read_committed();
    perform giro.require_unfenced();

    if not exists (select from shard s where s.name = p_home) then
        raise exception 'batch % is not at home on this shard', p_batch using errcode = 'GR003';
    end if;

    insert into batches (batch, role, mode, verdict, home, remote, coordinator, transfer_count,
                         created_at, finished_at)
    values (p_batch, 'home', p_mode, 'abort', p_home, p_remote, p_coordinator, 0,
            transaction_timestamp(), clock_timestamp())
    on conflict (batch) do nothing;
    if found then
        return 'abort';
    end if;

    select b.verdict into strict v_verdict from batches b where b.batch = p_batch;
    perform giro.force_durability();
    return v_verdict;
end
$$;

revoke execute on function giro.verdict from public;
