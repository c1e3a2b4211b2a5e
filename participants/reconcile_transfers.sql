-- Says what the rows of this shard tell of transfers at home here: a row for each that stands. Of
-- an entry: null = there is none, else whether it has the amount and the account that the transfer
-- names. is_decided: the batch that recorded it stands committed (or is the business of another
-- shard, where the transfer was at home before). is_due: somebody goes on with it.
--
-- Called by:  reconciliation.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing. One statement, hence one snapshot: a transfer, its batch and its
--             entries at home are seen together.
create or replace function giro.reconcile_transfers(p_ids uuid[])
returns table (id uuid, state text, mode text, amount bigint, currency text, batch uuid,
               debit_account text, credit_account text, is_decided boolean, debit boolean,
               refund boolean, credit_entry_account text, credit_amount bigint,
               has_debit_account boolean, has_credit_account boolean, is_due boolean)
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
    v_here text := (select s.name from shard s);
begin
    perform giro.require_read_committed();

    return query
        select t.id, t.state, t.mode, t.amount, t.currency, t.batch, t.debit_account,
               t.credit_account, b.batch is not null or t.home <> v_here,
               d.amount = -t.amount and d.account = t.debit_account,
               r.amount = t.amount and r.account = t.debit_account,
               c.account, c.amount, da.id is not null, ca.id is not null,
               t.next_attempt_at is not null
        from unnest(p_ids) w (id)
        join transfers t on t.id = w.id
        left join batches b
            on b.batch = t.batch and b.role = 'home' and b.verdict = 'commit'
        left join entries d on d.transfer = t.id and d.step = 'debit'
        left join entries r on r.transfer = t.id and r.step = 'refund'
        left join entries c on c.transfer = t.id and c.step = 'credit'
        left join accounts da on da.id = t.debit_account
        left join accounts ca on ca.id = c.account;
end
$$;

revoke execute on function giro.reconcile_transfers from public;
