-- Makes the transfers due at once that coordinators worked at which are not present any more, at
-- most p_limit of each, and forgets a coordinator when nothing is left of it. Answers how many
-- transfers that were.
--
-- Called by:  recovery; then whoever claims next goes on with them.
-- Idempotent: a transfer that was let go of is nobody's; a repeat finds the rest.
-- Locks:      rows of transfers and of coordinators, SKIP LOCKED: never waits.
-- Safety:     decides nothing: being due early is no more than being due. A coordinator that lives
--             and was not seen goes on beside the new one, and the first receipt decides.
create or replace function giro.take_over(p_present int[], p_limit int) returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_gone text[] := array(select c.instance from coordinators c
                           where hashtext(c.instance) <> all (p_present));
    v_taken bigint;
begin
    perform giro.require_read_committed();
    perform giro.require_unfenced();

    if cardinality(v_gone) = 0 then
        return 0;
    end if;

    update transfers t
    set coordinator = null, next_attempt_at = least(t.next_attempt_at, clock_timestamp())
    where t.id = any (array(
        select d.id
        from unnest(v_gone) g (instance),
             lateral (
                 select t.id from transfers t
                 where t.coordinator = g.instance
                 limit p_limit
                 for update skip locked) d));
    get diagnostics v_taken = row_count;

    delete from coordinators c
    where c.instance = any (array(
        select d.instance from coordinators d where d.instance = any (v_gone)
        for update skip locked))
      and not exists (select from transfers t where t.coordinator = c.instance);
    return v_taken;
end
$$;

revoke execute on function giro.take_over from public;
