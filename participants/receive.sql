-- Inserts the receipts of a credit batch: what became of each saga's credit here.
--
-- Called by:  the credit stage, after apply in the same transaction; the commit makes the credit
--             entries and their receipts durable together.
-- Idempotent: no, and on purpose: a receipt that stands already is a 23505 that fails the
--             transaction, and with it a second credit. The lock stage looked for it before.
-- Locks:      the receipts' keys, ascending by transfer; waits for a tombstone under way.
-- Safety:     the first receipt of a transfer decides. A late credit meets the tombstone. A refused
--             credit leaves its receipt too, or a later one could still apply after the refund. A
--             crash before the commit leaves nothing.
create or replace function giro.receive(
    p_batch uuid, p_ids uuid[], p_accounts text[], p_routes bytea[], p_refusals text[])
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
as $$
begin
    perform giro.require_read_committed();

    insert into receipts (transfer, credit_account, credit_route, outcome, refusal, batch, at)
    select r.id, r.account, r.route, case when r.refusal is null then 'applied' else 'refused' end,
           r.refusal, p_batch, clock_timestamp()
    from unnest(p_ids, p_accounts, p_routes, p_refusals) r (id, account, route, refusal)
    order by r.id;
end
$$;

revoke execute on function giro.receive from public;
