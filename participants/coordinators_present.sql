-- The coordinators that have a session on this shard: the hashes of their instances' names.
--
-- Called by:  coordinator_is_present; recovery, once per round.
-- Idempotent: writes nothing.
-- Locks:      none: it looks at the list of locks and disturbs nobody.
-- Safety:     politeness, not safety: see be_present. A coordinator that has just lost all its
--             sessions here looks dead and is not; its work may be done twice without harm.
create or replace function giro.coordinators_present() returns int[]
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
as $$
begin
    return array(
        select distinct (l.objid::bigint - (l.objid::bigint >> 31 << 32))::int
        from pg_locks l
        where l.locktype = 'advisory' and l.objsubid = 2 and l.granted
          and l.classid::bigint = giro.presence_class()
          and l.database = (select d.oid from pg_database d where d.datname = current_database()));
end
$$;

revoke execute on function giro.coordinators_present from public;
