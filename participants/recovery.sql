-- One look at what others may have left behind on this shard. Registers the caller, ends sessions
-- that hold locks and wait for a client that does not go on, lets go of the sagas of coordinators
-- that are gone, notes which sagas wait for a person, and answers rows of these kinds:
--   leg       a prepared leg that nobody seems to work at: gid
--   batch     a decided batch whose remote leg nobody has seen yet: gid
--   sagas     how many transfers were let go of: they are due now
--   sessions  how many sessions were ended
--
-- Called by:  every coordinator, all the time, on every shard that it can reach. What it answers is
--             settled apart from this call, each by itself.
-- Arguments:  p_usable: the shards that the caller can reach, p_away: those that it cannot; p_skip:
--             batches that it works at, or that do not get on for now; p_limit: of each kind.
-- Idempotent: a repeat finds what is still so.
-- Locks:      rows of transfers and coordinators, SKIP LOCKED: never waits.
-- Safety:     decides nothing. Who is present, and how old something is, is politeness towards the
--             living: the work of the dead is taken at once, other work when it is old. The
--             caller's rights are needed to see and end sessions of its role.
create or replace function giro.recovery(
    p_cluster text, p_instance text, p_age_ms bigint, p_usable text[], p_away text[],
    p_skip uuid[], p_limit int)
returns table (kind text, gid text, count bigint)
language plpgsql volatile security invoker
set search_path = pg_catalog, giro, pg_temp
as $$
#variable_conflict use_column
declare
    v_age interval := p_age_ms * interval '1 ms';
    v_present int[];
begin
    perform giro.register_coordinator(p_instance);
    v_present := giro.coordinators_present();

    return query select 'sessions', null::text, s.count
                 from giro.end_stopped_sessions() s (count) where s.count > 0;
    return query select 'sagas', null::text, t.count
                 from giro.take_over(v_present, p_limit) t (count) where t.count > 0;
    perform giro.note_waiting(p_away, p_limit);
    return query select 'leg', l.gid, null::bigint
                 from giro.legs_in_doubt(p_cluster, v_present, v_age, p_usable, p_skip, p_limit) l;
    return query select 'batch', b.gid, null::bigint
                 from giro.batches_in_doubt(p_cluster, v_present, v_age, p_usable, p_skip,
                                            p_limit) b;
end
$$;

revoke execute on function giro.recovery from public;
