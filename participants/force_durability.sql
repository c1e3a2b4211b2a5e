-- Makes the commit of the running transaction wait as long as that of a writing one: until the WAL
-- up to here is on disk and, where synchronous standbys are configured, confirmed by them.
--
-- Called by:  every function that reports an outcome which it found rather than wrote. The outcome
--             may be acted upon only once the transaction that reported it has committed.
-- Idempotent: the message means nothing to anybody.
-- Locks:      none.
-- Safety:     a row can be visible before a standby has confirmed it (its writer's wait may have
--             been cancelled, or cut by a crash). WAL is flushed in order, so confirming this
--             message confirms the row. A crash here leaves nothing.
create or replace function giro.force_durability() returns void
language plpgsql volatile security invoker
as $$
begin
    perform pg_catalog.pg_logical_emit_message(true, 'giro', '');
end
$$;

revoke execute on function giro.force_durability from public;
