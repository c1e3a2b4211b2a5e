-- Answers what transfers_by_id answers of one transfer, and the shard that it waits for.
--
-- Called by:  GET of a transfer, and its actions, on every shard that may be its home.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     as transfers_by_id: what was found may be told to a client once this transaction has
--             committed.
create or replace function giro.transfer_get(p_id uuid)
returns table (id uuid, home text, state text, mode text, debit_account text, credit_account text,
               amount bigint, currency text, idempotency_key text, reference text, metadata text,
               refusal text, attention text, attempts int, next_attempt_at timestamptz,
               last_error text, created_at timestamptz, decided_at timestamptz, waits_for text)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
begin
    perform giro.require_read_committed();

    return query
        select t.id, t.home, t.state, t.mode, t.debit_account, t.credit_account, t.amount,
               t.currency, t.idempotency_key, t.reference, t.metadata::text, t.refusal,
               coalesce(t.attention, giro.patience_is_over(t)),
               t.attempts, t.next_attempt_at, t.last_error, t.created_at, t.decided_at,
               giro.waits_for(t, b)
        from transfers t
        left join batches b on b.batch = t.batch and t.mode = '2pc' and t.state = 'posted'
        where t.id = p_id;
    if found then
        perform giro.force_durability();
    end if;
end
$$;

revoke execute on function giro.transfer_get from public;
