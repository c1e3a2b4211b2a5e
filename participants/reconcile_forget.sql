-- Forgets proofs that fit no entry (any more) of accounts whose chain is sound: somebody has put
-- the account right behind reconciliation's back. The next pass proves it from its first entry on.
--
-- Called by:  a full pass of reconciliation, which proves anew and notes no proofs itself.
-- Idempotent: what fits is left alone.
-- Locks:      rows of reconciled, ascending by account.
-- Safety:     decides nothing.
create or replace function giro.reconcile_forget(p_accounts text[]) returns int
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_unfit text[];
    v_forgotten int;
begin
    perform giro.require_read_committed();

    v_unfit := array(
        select r.account
        from reconciled r
        left join entries e on e.account = r.account and e.seq = r.seq
        where r.account = any (p_accounts)
          and case when r.seq = 0 then r.balance <> 0
                   else e.balance is distinct from r.balance end);
    if cardinality(v_unfit) = 0 then
        return 0;
    end if;
    perform from reconciled r where r.account = any (v_unfit) order by r.account for update;
    delete from reconciled r where r.account = any (v_unfit);
    get diagnostics v_forgotten = row_count;
    return v_forgotten;
end
$$;

revoke execute on function giro.reconcile_forget from public;
