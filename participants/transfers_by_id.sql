-- Looks transfers up by id; answers a row for each that stands here, in the order of the ids.
--
-- Called by:  the lock stage at home, after lock in a statement of its own, to find what stands
--             under the keys asked for; GET of a transfer; whoever asks after an unknown outcome.
-- Idempotent: writes nothing.
-- Locks:      none of its own. Twins of a key share the debit account: under its row lock, what is
--             not found here cannot come to stand before the caller's transaction ends.
-- Safety:     the transfers row answers for the key, for ever. What was found may be told to a
--             client once this transaction has committed. Not found proves something only under
--             that lock.
create or replace function giro.transfers_by_id(p_ids uuid[])
returns table (id uuid, home text, state text, mode text, debit_account text, credit_account text,
               amount bigint, currency text, idempotency_key text, reference text, metadata text,
               refusal text, attention text, attempts int, next_attempt_at timestamptz,
               last_error text, created_at timestamptz, decided_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    perform giro.require_read_committed();

    return query
        select t.id, t.home, t.state, t.mode, t.debit_account, t.credit_account, t.amount,
               t.currency, t.idempotency_key, t.reference, t.metadata::text, t.refusal,
               coalesce(t.attention, giro.patience_is_over(t)),
               t.attempts, t.next_attempt_at, t.last_error, t.created_at, t.decided_at
        from transfers t
        where t.id = any (p_ids)
        order by t.id;
    if found then
        perform giro.force_durability();
    end if;
end
$$;

revoke execute on function giro.transfers_by_id from public;
