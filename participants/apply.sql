-- Applies the accepted legs of a batch on this shard exactly as they were judged, and inserts the
-- batch row: on the home shard that row, once committed, is the decision. Answers the time that the
-- entries carry.
--
-- Called by:  the prepare stage on the remote shard (followed by PREPARE TRANSACTION), the decide
--             stage at home (followed by record and COMMIT), local batches; always after lock in
--             the same transaction.
-- Arguments:  p_accounts: those that at least one entry touches, with the version that lock
--             answered and the balance after the batch; p_entry_accounts: 1-based index into
--             p_accounts; seqs go on from the account's version. All steps of a 2PC or saga batch
--             are the same. Without accounts (everything refused) only the batch row is written.
-- Idempotent: no, and on purpose: a second call with the same batch is a plain 23505, as is one
--             whose batch was given up by verdict. The transaction fails with it.
-- Locks:      the batch key (waits for a verdict under way), then account rows that lock holds.
-- Safety:     the batches row decides. An account whose version or balance is not the judged one
--             makes the whole batch fail with GR002; entries (account, seq) and (transfer, step)
--             are walls besides. What leaves the shard or comes to it stands in clearing, so that
--             the books balance in every snapshot; a batch of both steps must balance by itself
--             (GR003). A crash before the commit or PREPARE leaves nothing; after it, everything.
create or replace function giro.apply(
    p_batch uuid, p_role text, p_mode text, p_home text, p_remote text, p_coordinator text,
    p_transfer_count int, p_accounts text[], p_versions bigint[], p_balances bigint[],
    p_entry_accounts int[], p_entry_transfers uuid[], p_entry_steps text[],
    p_entry_amounts bigint[], p_entry_seqs bigint[], p_entry_balances bigint[],
    p_entry_counterparties text[], p_entry_references text[])
returns timestamptz
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_nestloop = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_accounts bigint := coalesce(cardinality(p_accounts), 0);
    v_open boolean := p_role = 'home' and p_mode = '2pc' and v_accounts > 0;
    v_updated bigint;
    v_currencies text[];
    v_totals numeric[];
begin
    perform giro.require_read_committed();

    insert into batches (batch, role, mode, verdict, home, remote, coordinator, transfer_count,
                         created_at, finished_at)
    values (p_batch, p_role, p_mode, 'commit', p_home, p_remote, p_coordinator, p_transfer_count,
            transaction_timestamp(), case when not v_open then v_now end);

    if v_accounts + coalesce(cardinality(p_entry_accounts), 0) = 0 then
        return v_now;
    end if;

    with judged as (
        select p_accounts[e.account] as id, p_versions[e.account] as version,
               p_balances[e.account] as balance, sum(e.amount) as amount, count(*) as entries,
               min(e.seq) as first_seq, max(e.seq) as last_seq
        from unnest(p_entry_accounts, p_entry_amounts, p_entry_seqs) e (account, amount, seq)
        group by e.account
    ),
    updated as (
        update accounts a
        set balance = j.balance, version = j.last_seq
        from judged j
        where a.id = j.id and a.id = any (p_accounts)
          and a.version = j.version and a.balance + j.amount = j.balance
          and j.first_seq = j.version + 1 and j.last_seq = j.version + j.entries
        returning a.currency, j.amount
    )
    select coalesce(sum(c.accounts), 0), array_agg(c.currency), array_agg(c.amount)
    into v_updated, v_currencies, v_totals
    from (select u.currency, count(*) as accounts, sum(u.amount) as amount
          from updated u group by u.currency) c;

    if v_updated <> v_accounts then
        raise exception 'the judged state no longer holds'
            using errcode = 'GR002',
                  detail = format('%s of %s accounts', v_updated, v_accounts);
    end if;

    insert into entries (account, seq, transfer, step, amount, balance, counterparty, reference, at)
    select p_accounts[e.account], e.seq, e.transfer, e.step, e.amount, e.balance, e.counterparty,
           e.reference, v_now
    from unnest(p_entry_accounts, p_entry_seqs, p_entry_transfers, p_entry_steps, p_entry_amounts,
                p_entry_balances, p_entry_counterparties, p_entry_references)
        e (account, seq, transfer, step, amount, balance, counterparty, reference)
    order by e.account, e.seq;

    if 0 <> any (v_totals) then
        if p_mode = 'local' or p_entry_steps[1] <> any (p_entry_steps) then
            raise exception 'the entries of the batch do not balance' using errcode = 'GR003';
        end if;
        insert into clearing (batch, step, currency, amount, peer)
        select p_batch, p_entry_steps[1], t.currency, -t.amount,
               case p_role when 'home' then p_remote else p_home end
        from unnest(v_currencies, v_totals) t (currency, amount)
        where t.amount <> 0
        order by t.currency;
    end if;
    return v_now;
end
$$;

revoke execute on function giro.apply from public;
