-- Refuses (GR004) to work while this shard is fenced off because it has lost history.
--
-- Called by:  every function that begins a write, a claim or a verdict, or from whose answer one
--             concludes that something is not here: fence, verdict, claim, postpone, finish,
--             leg_exists, missing_leg, stuck_leg, fold_clearing; and what recovery begins with.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     has no settings of its own: they cost more than the look. Its callers have them.
--             This is the second wall. The first is that no new session is used before its
--             coordinator has compared the shard with the marks; the second stops those who were
--             connected before another coordinator found that some are missing.
create or replace function giro.require_unfenced() returns void
language plpgsql volatile security invoker
as $$
declare
    v_fenced text;
begin
    select s.fenced into v_fenced from giro.shard s where s.singleton;
    if v_fenced is not null then
        raise exception 'this shard is fenced off: %', v_fenced using errcode = 'GR004';
    end if;
end
$$;

revoke execute on function giro.require_unfenced from public;
