-- Those of these batches that have not committed here, as far as this shard remembers.
--
-- Called by:  identity, for a new session; the owner, from `girod readmit`.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     a mark is a batch whose commit was acknowledged, and rows of batches are never
--             deleted. So one that is missing, or given up, proves that the shard has forgotten
--             what it has answered.
create or replace function giro.missing_marks(p_marks uuid[]) returns uuid[]
language plpgsql volatile security invoker
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
    return array(
        select m.batch from unnest(p_marks) m (batch)
        except
        select b.batch from batches b where b.batch = any (p_marks) and b.verdict = 'commit');
end
$$;

revoke execute on function giro.missing_marks from public;
