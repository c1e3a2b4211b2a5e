-- Fences this shard off: from now on nothing is written, claimed or given a verdict on, until
-- readmit.
--
-- Called by:  a coordinator whose new session found that the shard has lost history, in a
--             transaction of its own, before it closes the session.
-- Arguments:  p_epoch: the epoch that the session has reported. Another one by now means that the
--             shard was readmitted in between, and that the finding is of the past.
-- Idempotent: the first reason stands.
-- Locks:      the single row of shard.
-- Safety:     takes nothing away that readmit does not give back.
create or replace function giro.fence_off(p_epoch bigint, p_reason text) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
as $$
begin
    perform giro.require_read_committed();

    update shard
    set fenced = p_reason, fenced_at = clock_timestamp()
    where epoch = p_epoch and fenced is null;
end
$$;

revoke execute on function giro.fence_off from public;
