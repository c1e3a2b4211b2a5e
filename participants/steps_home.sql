-- Says what the home shard's rows tell of the stages of a transfer: its own row, the row of the
-- batch that recorded it, and the entry of a refund. No row if the transfer is not here.
--
-- Called by:  GET /v1/transfers/{id}/steps, on every shard that may be its home.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing. The batch row stays where it was written when the debit account
--             moves to another shard: its columns are null then, and the transfer's row speaks
--             alone. What was found may be told to a client once this transaction has committed.
create or replace function giro.steps_home(p_id uuid)
returns table (mode text, state text, refusal text, remote text, credit_account text,
               giving_up text, attempts int, last_error text, created_at timestamptz,
               decided_at timestamptz, batch uuid, coordinator text, finished_at timestamptz,
               refunded_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    perform giro.require_read_committed();

    return query
        select t.mode, t.state, t.refusal, t.remote, t.credit_account, t.giving_up, t.attempts,
               t.last_error, t.created_at, t.decided_at, t.batch, b.coordinator, b.finished_at, e.at
        from transfers t
        left join batches b on b.batch = t.batch and b.role = 'home'
        left join entries e on e.transfer = t.id and e.step = 'refund'
        where t.id = p_id;
    if found then
        perform giro.force_durability();
    end if;
end
$$;

revoke execute on function giro.steps_home from public;
