-- Lists prepared legs of this cluster in this database that nobody seems to work at: those of
-- coordinators that are not present at once, others when they are old.
--
-- Called by:  recovery; the caller asks the home of each for the verdict, and then applies or
--             cancels the leg. Those whose home it cannot reach are not listed.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     presence and age are politeness only: the verdict row decides, whoever is at work,
--             also if that is the caller itself. A leg of another cluster or database is none of
--             ours, nor is one whose GID is not exactly of our form or names another shard: it must
--             not take the place of those that are. One of another role is ours, though it takes
--             that role to finish it.
create or replace function giro.legs_in_doubt(
    p_cluster text, p_present int[], p_age interval, p_homes text[], p_skip uuid[], p_limit int)
returns table (gid text)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
as $$
#variable_conflict use_column
begin
    return query
        select x.gid
        from pg_prepared_xacts x
        where x.database = current_database()
          and split_part(x.gid, ':', 1) = 'giro' and split_part(x.gid, ':', 2) = p_cluster
          and split_part(x.gid, ':', 6) = (select s.name from shard s)
          and x.gid ~ ('^giro(:[a-z0-9-]+){2}:[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}'
                       '(:[a-z0-9-]+){2}$')
          and (hashtext(split_part(x.gid, ':', 3)) <> all (p_present)
               or x.prepared <= clock_timestamp() - p_age)
          and split_part(x.gid, ':', 4) <> all (p_skip::text[])
          and split_part(x.gid, ':', 5) = any (p_homes)
        order by x.prepared
        limit p_limit;
end
$$;

revoke execute on function giro.legs_in_doubt from public;
