-- Says whether the remote leg of a batch is visible here.
--
-- Called by:  whoever was told that a prepared transaction does not exist, after prepared_exists
--             has answered false, in a new statement; recovery.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     the batches row of role remote is part of the leg: it is visible if and only if the
--             leg was committed. False proves nothing by itself (the leg may still be prepared, or
--             about to be). True may be acted upon once this transaction has committed.
create or replace function giro.leg_exists(p_batch uuid) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
as $$
begin
    perform giro.require_read_committed();
    perform giro.require_unfenced();

    if not exists (select from batches b where b.batch = p_batch and b.role = 'remote') then
        return false;
    end if;
    perform giro.force_durability();
    return true;
end
$$;

revoke execute on function giro.leg_exists from public;
