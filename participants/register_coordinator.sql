-- Notes that a coordinator may have work here, so that others look for it when it is gone.
--
-- Called by:  recovery, in every round of the coordinator itself, hence after its session has been
--             verified.
-- Idempotent: a row that stands stays.
-- Locks:      the key of coordinators, for a new row.
-- Safety:     decides nothing; see the table.
create or replace function giro.register_coordinator(p_instance text) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
as $$
begin
    perform giro.require_read_committed();
    perform giro.require_unfenced();

    if not exists (select from coordinators c where c.instance = p_instance) then
        insert into coordinators (instance) values (p_instance) on conflict do nothing;
    end if;
end
$$;

revoke execute on function giro.register_coordinator from public;
