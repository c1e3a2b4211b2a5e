-- Notes that the remote legs of these home batches are visible, so that recovery need not look at
-- them; answers how many rows it changed.
--
-- Called by:  the decide stage, for batches that ended before (it rides on that message), or by
--             itself when nothing is decided for a while; settled_leg.
-- Idempotent: finished, foreign and unknown batches are left alone.
-- Locks:      the batches rows, ascending; skips what is locked, so it never waits.
-- Safety:     decides nothing: the verdict stays. The caller has seen the tag COMMIT PREPARED or
--             the remote row. A crash here leaves the batch to be looked at once more.
create or replace function giro.finish(p_batches uuid[]) returns int
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_finished int;
begin
    perform giro.require_read_committed();
    perform giro.require_unfenced();

    update batches
    set finished_at = clock_timestamp()
    where batch = any (array(
        select b.batch
        from batches b
        where b.batch = any (p_batches)
          and b.role = 'home' and b.verdict = 'commit' and b.finished_at is null
        order by b.batch
        for update skip locked));
    get diagnostics v_finished = row_count;
    return v_finished;
end
$$;

revoke execute on function giro.finish from public;
