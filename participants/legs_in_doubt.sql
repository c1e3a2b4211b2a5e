-- Lists prepared legs of this cluster that nobody seems to be working on: prepared at least
-- p_age_ms ago, here in this database, by this role.
--
-- Called by:  every coordinator, all the time; for each it asks the home for the verdict and then
--             applies or cancels the leg.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     the age is politeness only: the verdict row decides, whoever is at work, also if that
--             is the caller itself. The GID is
--             compared part by part. A leg of another cluster, role or database is none of ours.
create or replace function giro.legs_in_doubt(
    p_cluster text, p_age_ms bigint, p_limit int)
returns table (gid text)
language plpgsql volatile security invoker
set search_path = pg_catalog, giro, pg_temp
as $$
#variable_conflict use_column
begin
    return query
        select x.gid
        from pg_prepared_xacts x
        where x.database = current_database() and x.owner = session_user
          and split_part(x.gid, ':', 1) = 'giro' and split_part(x.gid, ':', 2) = p_cluster
          and x.prepared <= clock_timestamp() - p_age_ms * interval '1 ms'
        order by x.prepared
        limit p_limit;
end
$$;

revoke execute on function giro.legs_in_doubt from public;
