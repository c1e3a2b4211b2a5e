-- Notes why transfers could not go on, and when they are to be tried again; nobody works at them
-- until then. Answers how many are due at all.
--
-- Called by:  a coordinator that lets go of them; for a saga that waits for a person too
--             (attention). A lost credit keeps the reason that it has.
-- Idempotent: the last note stands.
-- Locks:      rows of transfers, SKIP LOCKED: never waits; a note that is lost costs nothing.
-- Safety:     changes nothing that decides anything.
create or replace function giro.postpone(
    p_ids uuid[], p_delay_ms bigint, p_error text, p_attention text)
returns int
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_pending int;
begin
    perform giro.require_read_committed();
    perform giro.require_unfenced();

    update transfers t
    set next_attempt_at = least(clock_timestamp() + p_delay_ms * interval '1 ms',
                                case when t.deadline_at > clock_timestamp()
                                     then t.deadline_at end),
        coordinator = null, last_error = p_error,
        attention = coalesce(p_attention, case when t.state = 'posted' then t.attention end,
                             giro.patience_is_over(t))
    where t.id = any (array(
        select d.id from transfers d
        where d.id = any (p_ids) and d.next_attempt_at is not null
        order by d.id
        for update skip locked));
    get diagnostics v_pending = row_count;
    return v_pending;
end
$$;

revoke execute on function giro.postpone from public;
