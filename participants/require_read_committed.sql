-- Refuses (GR001) to work under any isolation level but READ COMMITTED.
--
-- Called by:  every function that writes, claims or looks up what decides.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     lock and check, insert and read-back are separate statements, each of which needs a
--             snapshot of its own. Under REPEATABLE READ the second would see the world before the
--             lock, and a caller with an old routing would pass the fence.
create or replace function giro.require_read_committed() returns void
language plpgsql volatile security invoker
as $$
begin
    if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'transactions of Giro run under read committed, not %',
            pg_catalog.current_setting('transaction_isolation')
            using errcode = 'GR001';
    end if;
end
$$;

revoke execute on function giro.require_read_committed from public;
