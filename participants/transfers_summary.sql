-- Counts the transfers whose home this is, by state, mode, shard of the credit and currency: kind
-- 'unfinished', exactly: those that are pending, need attention, or are decided with a leg that
-- nobody has seen yet; kind 'recent': the newest p_walk ones, whatever their state. Amounts end at
-- the greatest exact integer.
--
-- Called by:  GET /v1/transfers/summary, on every shard.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing. What is unfinished is found by partial indexes and read from end to
--             end; of the history no more than p_walk transfers are. Plans are pinned as in
--             transfers_list.
create or replace function giro.transfers_summary(p_walk int)
returns table (kind text, state text, mode text, remote text, currency text, count bigint,
               attention bigint, amount bigint, oldest_at timestamptz, oldest_ms bigint)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
set enable_hashjoin = off
set jit = off
as $$
#variable_conflict use_column
begin
    perform giro.require_read_committed();

    return query
        with unfinished as materialized (
            select t.id from transfers t where t.state = 'pending'
            union
            select t.id from transfers t where t.attention is not null
            union
            select l.id
            from batches b, lateral (
                select t.id from transfers t
                where t.batch = b.batch and t.mode = '2pc' and t.state = 'posted'
                offset 0) l
            where b.role = 'home' and b.mode = '2pc' and b.verdict = 'commit'
              and b.finished_at is null
        ),
        recent as materialized (
            select t from transfers t order by t.created_at desc, t.id desc
            limit greatest(p_walk, 1)
        ),
        counted (kind, t) as (
            select 'unfinished', t from unfinished u join transfers t on t.id = u.id
            union all
            select 'recent', r.t from recent r
        )
        select c.kind, (c.t).state, (c.t).mode, (c.t).remote, (c.t).currency, count(*),
               count(coalesce((c.t).attention, giro.patience_is_over(c.t))),
               least(sum((c.t).amount), 9007199254740991)::bigint, min((c.t).created_at),
               greatest(0, extract(epoch from clock_timestamp() - min((c.t).created_at)) * 1000)
                   ::bigint
        from counted c
        group by 1, 2, 3, 4, 5
        order by 1, 2, 3, 4, 5;
end
$$;

revoke execute on function giro.transfers_summary from public;
