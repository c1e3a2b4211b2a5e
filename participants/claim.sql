-- Claims transfers towards these shards that are due, and answers what it takes to go on with them;
-- at most p_limit for each shard of those that need a person's attention, and as many others. They
-- are pending sagas, and posted 2PC transfers whose credit was lost: those have decided_at.
-- giving_up says why a saga is to be reversed: asked for, or its deadline has passed.
--
-- Called by:  every coordinator, all the time, with the shards that it can reach.
-- Idempotent: a claim only moves next_attempt_at on, so that others leave the transfer alone for a
--             while; what is claimed and not done is claimed again.
-- Locks:      rows of transfers, SKIP LOCKED: never waits.
-- Safety:     only database time is compared. A claim has no other effect, so it needs no fence:
--             the steps that follow are fenced, and a stale copy of a row left behind by a move is
--             settled, or not, on the shard that owns the account now.
create or replace function giro.claim(p_remotes text[], p_limit int, p_instance text)
returns table (id uuid, debit_account text, credit_account text, amount bigint, currency text,
               idempotency_key text, reference text, metadata text, giving_up text, attempts int,
               created_at timestamptz, decided_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    perform giro.require_read_committed();
    perform giro.require_unfenced();

    return query
        update transfers t
        set next_attempt_at = clock_timestamp() + giro.patience(),
            attempts = t.attempts + 1, coordinator = p_instance,
            attention = coalesce(t.attention, giro.patience_is_over(t)),
            giving_up = coalesce(t.giving_up, case when t.deadline_at <= clock_timestamp()
                                                   then 'deadline-passed' end)
        where t.id = any (array(
            select d.id
            from unnest(p_remotes) r (remote), unnest(array[true, false]) n (new),
                 lateral (
                     select t.id
                     from transfers t
                     where t.remote = r.remote and (t.attention is null) = n.new
                       and t.next_attempt_at <= clock_timestamp()
                     order by t.next_attempt_at
                     limit p_limit
                     for update skip locked) d))
        returning t.id, t.debit_account, t.credit_account, t.amount, t.currency,
                  t.idempotency_key, t.reference, t.metadata::text, t.giving_up, t.attempts,
                  t.created_at, t.decided_at;
end
$$;

revoke execute on function giro.claim from public;
