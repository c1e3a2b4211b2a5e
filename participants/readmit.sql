-- Takes over the epoch under which the directory goes on with this shard, and lifts the fence that
-- fence_off has set. False if the shard has that epoch or a later one already: nothing is changed.
--
-- Called by:  the owner, from `girod readmit`, after the directory has decided the epoch.
-- Idempotent: each epoch is taken over once.
-- Locks:      the single row of shard.
-- Safety:     the epoch tells this server from every other one that has been this shard, and from
--             its own older copies: they have lower ones, and the directory names this one.
create or replace function giro.readmit(p_epoch bigint) returns boolean
language plpgsql volatile security invoker
set search_path = pg_catalog, giro, pg_temp
as $$
begin
    perform giro.require_read_committed();

    update shard set epoch = p_epoch, fenced = null, fenced_at = null where epoch < p_epoch;
    return found;
end
$$;

revoke execute on function giro.readmit from public;
