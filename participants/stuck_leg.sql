-- Notes on the posted transfers of an unfinished batch that its remote leg is prepared and cannot
-- be finished, with the reason; answers on how many. Of a finished batch the leg stands: what is
-- prepared under its name is a stranger's, and nobody would take the note away.
--
-- Called by:  the stuck stage, on the batch's home shard.
-- Idempotent: the last reason stands; other reasons for attention stay.
-- Locks:      the transfers' rows, ascending by id; waits at most lock_timeout.
-- Safety:     words for people; settled_leg takes them away. Changes no state and moves no money.
create or replace function giro.stuck_leg(p_batch uuid, p_reason text) returns int
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_noted int;
begin
    perform giro.require_read_committed();
    perform giro.require_unfenced();

    update transfers
    set attention = 'leg-stuck: ' || p_reason
    where id = any (array(
        select t.id
        from transfers t
        where t.batch = p_batch and t.mode = '2pc' and t.state = 'posted'
          and (t.attention is null or t.attention like 'leg-stuck:%')
          and exists (select from batches b where b.batch = p_batch and b.finished_at is null)
        order by t.id
        for update));
    get diagnostics v_noted = row_count;
    return v_noted;
end
$$;

revoke execute on function giro.stuck_leg from public;
