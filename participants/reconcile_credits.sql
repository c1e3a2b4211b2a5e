-- Says what this shard, the credit account's, has of transfers that have their home elsewhere: a
-- row for each id. is_prepared: the leg of its batch waits in a prepared transaction; has_leg: the
-- row of its batch is visible; receipt: the outcome, null if there is none; the credit entry's
-- account and amount, null if there is none.
--
-- Called by:  reconciliation, after reconcile_transfers at home. p_batches: the batch of each id.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing. The list of prepared transactions is live, rows are seen as of a
--             statement's snapshot: so the list is read first and the rows in a new statement. What
--             is in neither is not there: a leg whose transfer was seen posted was prepared before.
create or replace function giro.reconcile_credits(p_ids uuid[], p_batches uuid[])
returns table (id uuid, is_prepared boolean, has_leg boolean, receipt text,
               credit_entry_account text, credit_amount bigint, has_account boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
    v_cluster text := (select s.cluster from shard s);
    v_prepared uuid[];
begin
    perform giro.require_read_committed();

    v_prepared := array(
        select b.batch
        from pg_prepared_xacts x
        join unnest(p_batches) b (batch) on b.batch::text = split_part(x.gid, ':', 4)
        where x.database = current_database() and split_part(x.gid, ':', 1) = 'giro'
          and split_part(x.gid, ':', 2) = v_cluster);

    return query
        select w.id, w.batch = any (v_prepared), b.batch is not null, r.outcome, c.account,
               c.amount, a.id is not null
        from unnest(p_ids, p_batches) w (id, batch)
        left join batches b on b.batch = w.batch and b.role = 'remote'
        left join receipts r on r.transfer = w.id
        left join entries c on c.transfer = w.id and c.step = 'credit'
        left join accounts a on a.id = c.account;
end
$$;

revoke execute on function giro.reconcile_credits from public;
