-- What is unfinished on this shard, in one row: how many, counted up to p_most, and since when the
-- oldest of them waits (null where there is none):
--   pending     sagas that are not final
--   attention   transfers that wait for a person
--   unfinished  decided 2PC batches whose remote leg nobody has seen yet
-- and how many prepared transactions the server has, of how many that it can have.
--
-- Called by:  every coordinator, every few seconds, for metrics.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing. It looks at partial indexes only, whatever the history. Those of
--             what waits for a person and of what is unfinished are in the order of age, so that
--             the oldest is exact. The oldest pending one is exact up to p_most; beyond, it is the
--             oldest of those counted and of those that wait for a person.
create or replace function giro.shard_state(p_most int)
returns table (asked_at timestamptz, pending bigint, pending_since timestamptz, attention bigint,
               attention_since timestamptz, unfinished bigint, unfinished_since timestamptz,
               prepared bigint, prepared_max int)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_pending bigint;
    v_pending_since timestamptz;
    v_attention bigint;
    v_attention_since timestamptz;
    v_unfinished bigint;
    v_unfinished_since timestamptz;
begin
    perform giro.require_read_committed();

    select count(*), min(p.created_at) into strict v_pending, v_pending_since
    from (select t.created_at from transfers t
          where t.state = 'pending' and t.next_attempt_at is not null limit p_most) p;
    if v_pending = p_most then
        v_pending_since := least(v_pending_since,
                                 (select t.created_at from transfers t
                                  where t.attention is not null and t.state = 'pending'
                                  order by t.created_at limit 1));
    end if;
    select count(*), min(a.created_at) into strict v_attention, v_attention_since
    from (select t.created_at from transfers t
          where t.attention is not null order by t.created_at limit p_most) a;
    select count(*), min(u.created_at) into strict v_unfinished, v_unfinished_since
    from (select b.created_at from batches b
          where b.role = 'home' and b.mode = '2pc' and b.verdict = 'commit'
            and b.finished_at is null
          order by b.created_at limit p_most) u;

    return query
        select clock_timestamp(), v_pending, v_pending_since, v_attention, v_attention_since,
               v_unfinished, v_unfinished_since, (select count(*) from pg_prepared_xacts),
               current_setting('max_prepared_transactions')::int;
end
$$;

revoke execute on function giro.shard_state from public;
