-- Notes that the remote leg of a home batch is visible, as finish does, and takes away what
-- stuck_leg has noted on its transfers.
--
-- Called by:  the finish stage of recovered batches.
-- Idempotent: noting it twice is noting it once.
-- Locks:      the batch's row, skipped if it is locked; then the transfers' rows, ascending by id;
--             waits at most lock_timeout.
-- Safety:     decides nothing; see finish.
create or replace function giro.settled_leg(p_batch uuid) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
    perform giro.finish(array[p_batch]);

    update transfers
    set attention = null
    where id = any (array(
        select t.id
        from transfers t
        where t.batch = p_batch and t.mode = '2pc' and t.state = 'posted'
          and t.attention like 'leg-stuck:%'
        order by t.id
        for update));
end
$$;

revoke execute on function giro.settled_leg from public;
