-- Says what the rows of the credit's shard tell of the stages of a transfer: its receipt, the leg
-- of its batch, prepared or visible, and the credit entry. Always one row; null is what is not
-- here.
--
-- Called by:  GET /v1/transfers/{id}/steps, after steps_home, with the batch that recorded it.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing. The list of prepared transactions is live, rows are seen as of a
--             statement's snapshot: so the list is read first, as prepared_exists says.
create or replace function giro.steps_remote(p_id uuid, p_batch uuid)
returns table (receipt text, refusal text, receipt_batch uuid, receipt_at timestamptz,
               receipt_coordinator text, is_prepared boolean, leg_coordinator text,
               leg_at timestamptz, credited_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_prepared boolean;
begin
    perform giro.require_read_committed();

    v_prepared := exists (
        select from pg_prepared_xacts x
        where x.database = current_database() and x.gid like 'giro:%'
          and split_part(x.gid, ':', 4) = p_batch::text);

    return query
        select r.outcome, r.refusal, r.batch, r.at, c.coordinator, v_prepared, b.coordinator,
               b.created_at, e.at
        from (select) one
        left join receipts r on r.transfer = p_id
        left join batches c on c.batch = r.batch and c.role = 'remote'
        left join batches b on b.batch = p_batch and b.role = 'remote'
        left join entries e on e.transfer = p_id and e.step = 'credit';
    perform giro.force_durability();
end
$$;

revoke execute on function giro.steps_remote from public;
