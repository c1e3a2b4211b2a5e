-- Makes a coordinator present at this shard for as long as the calling session lives.
--
-- Called by:  session, in the set-up of every session of a coordinator.
-- Idempotent: being present twice is being present; the end of the session ends both.
-- Locks:      a shared session-level advisory lock on the instance's name, in a class of its own,
--             so that PREPARE TRANSACTION never meets it (it refuses locks that are held on both
--             levels, and the fence's are transaction-level in another class). Tries only: nobody
--             takes these locks exclusively.
-- Safety:     politeness, not safety. Presence says who may still be at work; what is true is said
--             by the deciding rows alone. If two names share a hash, work is taken over later.
create or replace function giro.be_present(p_instance text) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
as $$
begin
    perform pg_try_advisory_lock_shared(giro.presence_class(), hashtext(p_instance));
end
$$;

revoke execute on function giro.be_present from public;
