-- Says whether any session of a coordinator lives on this shard.
--
-- Called by:  people and tests; recovery asks coordinators_present once instead.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     politeness, not safety: see be_present.
create or replace function giro.coordinator_is_present(p_instance text) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
as $$
begin
    return hashtext(p_instance) = any (giro.coordinators_present());
end
$$;

revoke execute on function giro.coordinator_is_present from public;
