-- Lists transfers whose home this is, newest first, in the order of (created_at, id): those before
-- (p_before, p_before_id), null: all, that are older than p_older_ms and that is_listed wants; at
-- most p_limit (and 1001). What transfer_get says of each. p_unfinished: only what is pending,
-- needs attention, or is decided with a leg that nobody has seen yet.
--
-- History is walked for at most p_walk transfers. If it goes on where the walk ended, and the page
-- is not full, a last row says so: without a state, with the created_at and id up to which, and
-- including which, nothing is missing. What is unfinished is found by partial indexes, whatever the
-- history, and read from end to end.
--
-- Called by:  GET /v1/transfers, on every shard; the coordinator merges.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing. The key of a transfer never changes, so that what was committed
--             before the first page was asked for stands on exactly one page. What commits later
--             may carry an earlier created_at, that of its transaction's start: if the pages are
--             past it already, it is on none of them. What was found may be told to a client once
--             this transaction has committed. Plans are pinned to walks along
--             indexes and look-ups by key, so that one made while the table was small still serves.
create or replace function giro.transfers_list(
    p_before timestamptz, p_before_id uuid, p_older_ms bigint, p_limit int, p_walk int,
    p_state text, p_mode text, p_shard text, p_account text, p_reference text,
    p_attention boolean, p_unfinished boolean)
returns table (id uuid, home text, state text, mode text, debit_account text, credit_account text,
               amount bigint, currency text, idempotency_key text, reference text, metadata text,
               refusal text, attention text, attempts int, next_attempt_at timestamptz,
               last_error text, created_at timestamptz, decided_at timestamptz, waits_for text)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_here text := (select s.name from shard s);
    v_limit int := least(greatest(p_limit, 0), 1001);
    v_old timestamptz := clock_timestamp() - p_older_ms * interval '1 ms';
    v_before timestamptz := coalesce(p_before, 'infinity');
    v_before_id uuid := coalesce(p_before_id, '00000000-0000-0000-0000-000000000000');
    -- Null, no end, if nothing is looked for.
    v_walk int := case when coalesce(p_state, p_mode, p_shard, p_account, p_reference,
                                     p_attention::text) is not null then greatest(p_walk, 1) end;
    v_count bigint;
begin
    perform giro.require_read_committed();

    if p_older_ms > 0 and v_old < v_before then
        v_before := v_old;
        v_before_id := '00000000-0000-0000-0000-000000000000';
    end if;

    if p_unfinished or p_attention or p_state = 'pending' then
        return query
            with unfinished as materialized (
                select t.id, t.created_at from transfers t
                where t.state = 'pending'
                  and giro.is_listed(t, v_here, giro.patience_is_over(t), p_state, p_mode, p_shard,
                                     p_account, p_reference, p_attention)
                union
                select t.id, t.created_at from transfers t
                where t.attention is not null
                  and giro.is_listed(t, v_here, giro.patience_is_over(t), p_state, p_mode, p_shard,
                                     p_account, p_reference, p_attention)
                union
                select l.id, l.created_at
                from batches b, lateral (
                    select t.id, t.created_at from transfers t
                    where t.batch = b.batch and t.mode = '2pc' and t.state = 'posted'
                      and giro.is_listed(t, v_here, giro.patience_is_over(t), p_state, p_mode,
                                         p_shard, p_account, p_reference, p_attention)
                    offset 0) l
                where b.role = 'home' and b.mode = '2pc' and b.verdict = 'commit'
                  and b.finished_at is null
            ),
            page as materialized (
                select u.id, u.created_at from unfinished u
                where (u.created_at, u.id) < (v_before, v_before_id)
                order by u.created_at desc, u.id desc
                limit v_limit
            )
            select t.id, t.home, t.state, t.mode, t.debit_account, t.credit_account, t.amount,
                   t.currency, t.idempotency_key, t.reference, t.metadata::text, t.refusal,
                   coalesce(t.attention, giro.patience_is_over(t)),
                   t.attempts, t.next_attempt_at, t.last_error, t.created_at, t.decided_at,
                   giro.waits_for(t, b)
            from page p
            join transfers t on t.id = p.id
            left join batches b on b.batch = t.batch and t.mode = '2pc' and t.state = 'posted'
            order by p.created_at desc, p.id desc;
        if found then
            perform giro.force_durability();
        end if;
        return;
    end if;

    return query
        with page as materialized (
            select (w.t).id, (w.t).created_at
            from (select t from transfers t
                  where (t.created_at, t.id) < (v_before, v_before_id)
                  order by t.created_at desc, t.id desc
                  limit v_walk) w
            where giro.is_listed(w.t, v_here, giro.patience_is_over(w.t), p_state, p_mode,
                                 p_shard, p_account, p_reference, p_attention)
            limit v_limit
        )
        select t.id, t.home, t.state, t.mode, t.debit_account, t.credit_account, t.amount,
               t.currency, t.idempotency_key, t.reference, t.metadata::text, t.refusal,
               coalesce(t.attention, giro.patience_is_over(t)),
               t.attempts, t.next_attempt_at, t.last_error, t.created_at, t.decided_at,
               giro.waits_for(t, b)
        from page p
        join transfers t on t.id = p.id
        left join batches b on b.batch = t.batch and t.mode = '2pc' and t.state = 'posted'
        order by p.created_at desc, p.id desc;
    get diagnostics v_count = row_count;
    if v_count < v_limit and v_walk is not null then
        -- What has come since makes this place newer than where the walk ended, never older.
        return query
            select t.id, null, null, null, null, null, null::bigint, null, null, null, null,
                   null, null, null::int, null::timestamptz, null, t.created_at,
                   null::timestamptz, null
            from transfers t
            where (t.created_at, t.id) < (v_before, v_before_id)
            order by t.created_at desc, t.id desc
            offset v_walk - 1 limit 1;
    end if;
    if v_count > 0 then
        perform giro.force_durability();
    end if;
end
$$;

revoke execute on function giro.transfers_list from public;
