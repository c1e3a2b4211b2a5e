-- Marks the posted transfers of a batch as needing a person's attention, because the batch is
-- decided and its remote leg is neither visible nor prepared; answers how many it marked.
--
-- Called by:  the coordinator that found the leg missing; on the batch's home shard.
-- Idempotent: a transfer that is marked keeps its first reason.
-- Locks:      the transfers' rows, ascending by id; waits at most lock_timeout.
-- Safety:     changes no state and moves no money; a posted transfer stays posted. A crash before
--             the commit leaves the finding to be made again, since the batch is not finished.
create or replace function giro.missing_leg(p_batch uuid, p_reason text) returns int
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_marked int;
begin
    perform giro.require_read_committed();

    update transfers
    set attention = p_reason
    where id = any (array(
        select t.id
        from transfers t
        where t.batch = p_batch and t.mode = '2pc' and t.state = 'posted' and t.attention is null
        order by t.id
        for update));
    get diagnostics v_marked = row_count;
    return v_marked;
end
$$;

revoke execute on function giro.missing_leg from public;
