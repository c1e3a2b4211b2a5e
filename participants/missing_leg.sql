-- Makes the posted transfers of a batch due again as credits, because the batch is decided and its
-- remote leg is neither visible nor prepared; notes that on them, and takes the batch off the list
-- of unfinished ones. Answers how many transfers that concerns.
--
-- Called by:  the missing stage, after look; on the batch's home shard. From then on they go the
--             way of pending sagas, claim, credit and close; but they stay posted.
-- Idempotent: a batch that is finished is left alone: its leg was seen, or this was done before.
-- Locks:      the batch's row, then the transfers' rows, ascending by id; waits at most
--             lock_timeout.
-- Safety:     moves no money. What decides whether a credit is done again is its receipt, on the
--             shard that owns the account then, and not a row here: so it may be done by several at
--             once, and after a move. No leg can come to stand later: it was prepared before the
--             batch was decided, so one that is neither visible nor prepared is gone. A crash
--             before the commit leaves the finding to be made again.
create or replace function giro.missing_leg(p_batch uuid, p_reason text) returns int
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_lost int;
begin
    perform giro.require_read_committed();
    perform giro.require_unfenced();

    update batches b
    set finished_at = clock_timestamp()
    where b.batch = p_batch and b.role = 'home' and b.mode = '2pc' and b.verdict = 'commit'
      and b.finished_at is null;
    if not found then
        return 0;
    end if;

    update transfers
    set next_attempt_at = clock_timestamp(), attention = 'leg-lost: ' || p_reason
    where id = any (array(
        select t.id
        from transfers t
        where t.batch = p_batch and t.mode = '2pc' and t.state = 'posted'
        order by t.id
        for update));
    get diagnostics v_lost = row_count;
    return v_lost;
end
$$;

revoke execute on function giro.missing_leg from public;
