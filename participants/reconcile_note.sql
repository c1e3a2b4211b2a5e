-- Notes how far reconciliation has come here: up to which entry these accounts are proved, which
-- transfers the next pass must look at again, and which it need not any more.
--
-- Called by:  reconciliation, after each page of accounts or transfers was settled.
-- Idempotent: the last note stands. A lost or an older one makes the next pass look at more.
-- Locks:      rows of reconciled, ascending by account, then of reconciliation_carried, ascending
--             by transfer; waits for another pass's note, at most lock_timeout.
-- Safety:     decides nothing; touches no row that traffic touches.
create or replace function giro.reconcile_note(
    p_accounts text[], p_seqs bigint[], p_balances bigint[], p_carried uuid[], p_settled uuid[])
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
begin
    perform giro.require_read_committed();

    insert into reconciled as r (account, seq, balance)
    select n.account, n.seq, n.balance
    from unnest(p_accounts, p_seqs, p_balances) n (account, seq, balance)
    order by n.account collate "C"
    on conflict (account) do update
    set seq = excluded.seq, balance = excluded.balance
    where (r.seq, r.balance) is distinct from (excluded.seq, excluded.balance);

    insert into reconciliation_carried (transfer)
    select n.transfer from unnest(p_carried) n (transfer)
    order by n.transfer
    on conflict (transfer) do nothing;

    delete from reconciliation_carried c
    where c.transfer = any (array(
        select d.transfer from reconciliation_carried d
        where d.transfer = any (p_settled)
        order by d.transfer
        for update));
end
$$;

revoke execute on function giro.reconcile_note from public;
