-- Gives credits up: inserts a cancelled receipt for each transfer unless one stands, and answers
-- what stands then. A row for each id: outcome 'applied', 'refused' or 'cancelled', or, with
-- nothing done for it, 'stale_route' or 'partition_moving'. Where a credit stands without a
-- receipt, it gets one: applied.
--
-- Called by:  the cancel stage of a saga, before any refund.
-- Arguments:  partitions distinct and ascending; one element per transfer in the other arrays.
-- Idempotent: the first receipt stays; a repeat reads it.
-- Locks:      the partitions' advisory locks (shared, try), then the receipts' keys, ascending;
--             waits for a credit under way, at most lock_timeout.
-- Safety:     only a cancelled or refused receipt permits the refund; insert and read-back are
--             statements of their own, so that a credit which came first is seen. After the
--             tombstone no credit can apply, on this shard or wherever the receipt moves to.
create or replace function giro.tombstone(
    p_partitions int[], p_epochs bigint[], p_batch uuid, p_ids uuid[], p_accounts text[],
    p_routes bytea[], p_id_partitions int[])
returns table (transfer uuid, outcome text, refusal text)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_fence text[] := giro.fence(p_partitions, p_epochs, p_routes, p_id_partitions, true);
begin
    insert into receipts (transfer, credit_account, credit_route, outcome, batch, at)
    select w.id, w.account, w.route,
           -- A credit without a receipt: of a 2PC transfer that its home has forgotten.
           case when exists (select from entries e where e.transfer = w.id and e.step = 'credit')
                    then 'applied'
                else 'cancelled' end,
           p_batch, clock_timestamp()
    from unnest(p_ids, p_accounts, p_routes, v_fence) w (id, account, route, trouble)
    where w.trouble is null
    order by w.id
    on conflict (transfer) do nothing;

    return query
        select w.id, coalesce(w.trouble, r.outcome), r.refusal
        from unnest(p_ids, v_fence) w (id, trouble)
        left join receipts r on r.transfer = w.id and r.transfer = any (p_ids);
    perform giro.force_durability();
end
$$;

revoke execute on function giro.tombstone from public;
