-- Stores the transfers of a home batch with their states, refused ones too, and answers the times
-- that stand in their rows. A pending one is not decided yet.
--
-- Called by:  the decide stage at home and local batches, after apply in the same transaction; the
--             transaction's commit makes apply's batch row and these rows durable together.
-- Idempotent: no, and on purpose: the key of transfers is the idempotency check, and a twin that
--             got past the look-up under the debit account's lock is a 23505 that fails the
--             transaction.
-- Locks:      the transfers' keys, ascending by id; would wait for an open twin.
-- Safety:     the transfers row answers every later request with the same key, for ever. A crash
--             before the commit leaves nothing.
create or replace function giro.record(
    p_batch uuid, p_mode text, p_home text, p_remote text, p_ids uuid[], p_debit_accounts text[],
    p_debit_routes bytea[], p_credit_accounts text[], p_credit_routes bytea[], p_keys text[],
    p_amounts bigint[], p_currencies text[], p_states text[], p_refusals text[],
    p_references text[], p_metadata text[], p_deadlines_ms bigint[],
    p_coordinator text default null)
returns table (created_at timestamptz, decided_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
begin
    perform giro.require_read_committed();

    insert into transfers (id, home, remote, debit_account, debit_route, credit_account,
                           credit_route, idempotency_key, amount, currency, mode, state, refusal,
                           batch, reference, metadata, created_at, decided_at,
                           deadline_at, next_attempt_at, coordinator)
    select t.id, p_home, p_remote, t.debit_account, t.debit_route, t.credit_account, t.credit_route,
           t.key, t.amount, t.currency, p_mode, t.state, t.refusal, p_batch,
           t.reference, coalesce(t.metadata, '{}')::jsonb, transaction_timestamp(),
           case when t.state <> 'pending' then v_now end,
           v_now + t.deadline_ms * interval '1 ms',
           case when t.state = 'pending' then v_now + giro.patience() end,
           case when t.state = 'pending' then p_coordinator end
    from unnest(p_ids, p_debit_accounts, p_debit_routes, p_credit_accounts, p_credit_routes,
                p_keys, p_amounts, p_currencies, p_states, p_refusals, p_references, p_metadata,
                p_deadlines_ms)
        t (id, debit_account, debit_route, credit_account, credit_route,
           key, amount, currency, state, refusal, reference, metadata,
           deadline_ms)
    order by t.id;

    return query select transaction_timestamp(), v_now;
end
$$;

revoke execute on function giro.record from public;
