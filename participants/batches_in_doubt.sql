-- Lists home batches that are decided and whose remote leg nobody has seen yet, as the GIDs of
-- those legs: those of coordinators that are not present at once, others when they are old.
--
-- Called by:  recovery; the caller looks for the leg on the remote shard. Those whose remote shard
--             it cannot reach are not listed.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     presence and age are politeness only; see finish. What is listed is committed, maybe
--             not on a standby yet: nothing is concluded from that but where to look.
create or replace function giro.batches_in_doubt(
    p_cluster text, p_present int[], p_age interval, p_remotes text[], p_skip uuid[], p_limit int)
returns table (gid text)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    perform giro.require_read_committed();
    perform giro.require_unfenced();

    return query
        select concat_ws(':', 'giro', p_cluster, b.coordinator, b.batch, b.home, b.remote)
        from batches b
        where b.role = 'home' and b.mode = '2pc' and b.verdict = 'commit'
          and b.finished_at is null
          and (hashtext(b.coordinator) <> all (p_present)
               or b.created_at <= clock_timestamp() - p_age)
          and b.remote = any (p_remotes) and b.batch <> all (p_skip)
        order by b.created_at
        limit p_limit;
    if found then
        perform giro.force_durability();
    end if;
end
$$;

revoke execute on function giro.batches_in_doubt from public;
