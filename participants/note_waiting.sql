-- Notes on pending sagas that have waited for more than a minute for a shard that is away that a
-- person should look, at most p_limit of each shard; answers on how many it did.
--
-- Called by:  recovery, with the shards that the caller cannot reach: what is due towards the
--             others is claimed, and noted by that.
-- Idempotent: a transfer that is noted keeps its reason.
-- Locks:      rows of transfers, SKIP LOCKED: never waits.
-- Safety:     words for people; nothing is decided by them.
create or replace function giro.note_waiting(p_away text[], p_limit int) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_noted bigint;
begin
    perform giro.require_read_committed();
    perform giro.require_unfenced();

    -- What is due was let go of some seconds after it began; it is looked at a little early.
    update transfers t
    set attention = giro.patience_is_over(t)
    where t.id = any (array(
        select d.id
        from unnest(p_away) r (remote),
             lateral (
                 select t.id
                 from transfers t
                 where t.remote = r.remote and (t.attention is null) = true
                   and t.next_attempt_at <= clock_timestamp() - interval '45 s'
                   and giro.patience_is_over(t) is not null
                 order by t.next_attempt_at
                 limit p_limit
                 for update skip locked) d));
    get diagnostics v_noted = row_count;
    return v_noted;
end
$$;

revoke execute on function giro.note_waiting from public;
