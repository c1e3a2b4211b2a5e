-- Says which shard this is: the single row of the table shard, or nothing before it is set up; and
-- how many of these marks it lacks.
--
-- Called by:  session, which runs with the coordinator's rights and may not read tables.
-- Idempotent: writes nothing.
-- Locks:      none.
create or replace function giro.identity(p_marks uuid[])
returns table (cluster text, name text, ordinal int, epoch bigint, format_version int,
               system_identifier text, fenced text, missing_marks int)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
as $$
#variable_conflict use_column
begin
    return query
        select s.cluster, s.name, s.ordinal, s.epoch, s.format_version,
               c.system_identifier::text, s.fenced, cardinality(giro.missing_marks(p_marks))
        from shard s
        cross join pg_control_system() c;
end
$$;

revoke execute on function giro.identity from public;
