-- Reads a page of accounts for reconciliation: those of which something is to be proved, each with
-- its entries behind the proved ones, ascending by account and seq. An account that is proved up to
-- its version with its balance has no row; one that has nothing new but differs has a single row
-- without an entry. The last row of a page has no balance: it names the last account that the page
-- came to and how many it compared, or none at the end of all.
--
-- Called by:  reconciliation. p_full: prove from the first entry on, whatever was proved before.
--             p_seq null: begin behind p_account ('' comes before all); else go on inside that
--             account, behind this seq, where the balance was p_balance. If a page has p_rows rows
--             beside the last, it was cut: go on behind the last entry.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing. An account and its entries are seen in one snapshot, the second
--             statement's; entries are never changed, so what the next page adds fits on. At most
--             p_accounts accounts and p_rows rows are visited by a statement.
create or replace function giro.reconcile_accounts(
    p_full boolean, p_account text, p_seq bigint, p_balance bigint, p_accounts int, p_rows int)
returns table (account text, balance bigint, version bigint, start_seq bigint,
               start_balance bigint, seq bigint, step text, amount bigint, entry_balance bigint,
               transfer uuid, counterparty text, has_transfer boolean, compared bigint)
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
    v_last text;
    v_compared bigint;
    v_rows int := 0;
    v_cut text;
begin
    perform giro.require_read_committed();

    select max(n.id), count(*)
    into v_last, v_compared
    from (select a.id from accounts a where a.id > p_account order by a.id limit p_accounts) n;
    if v_last is null and p_seq is not null then
        v_last := p_account;
    end if;

    for account, balance, version, start_seq, start_balance, seq, step, amount, entry_balance,
        transfer, counterparty, has_transfer in
        select a.id, a.balance, a.version, s.seq, s.balance, e.seq, e.step, e.amount, e.balance,
               e.transfer, e.counterparty, t.id is not null
        from accounts a
        left join reconciled r on r.account = a.id and not p_full
        cross join lateral (
            select case when a.id = p_account then p_seq else coalesce(r.seq, 0) end as seq,
                   case when a.id = p_account then p_balance else coalesce(r.balance, 0) end
                       as balance) s
        left join lateral (
            select *
            from entries e
            where e.account = a.id and e.seq > s.seq
              and (p_full or a.version <> s.seq or a.balance <> s.balance)
            order by e.seq
            limit p_rows) e on true
        left join transfers t on t.id = e.transfer
        where a.id >= p_account and a.id <= v_last and (a.id > p_account or p_seq is not null)
          and (e.seq is not null or a.version <> s.seq or a.balance <> s.balance)
        order by a.id, e.seq
        limit p_rows
    loop
        v_rows := v_rows + 1;
        v_cut := account;
        return next;
    end loop;

    if v_rows = p_rows then
        v_last := v_cut;
        v_compared := (select count(*) from accounts a where a.id > p_account and a.id <= v_cut);
    end if;
    return query
        select v_last, null::bigint, null::bigint, null::bigint, null::bigint, null::bigint,
               null::text, null::bigint, null::bigint, null::uuid, null::text, null::boolean,
               v_compared;
end
$$;

revoke execute on function giro.reconcile_accounts from public;
