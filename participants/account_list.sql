-- Reads the accounts of this shard whose ids begin with p_prefix and follow p_after, ascending by
-- id, at most p_limit (and 1001): what account_get answers of each, with its keyspace and
-- partition.
--
-- Called by:  GET /v1/accounts, on every shard; the coordinator merges. '' begins every id and
--             comes before all of them.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing. An account is listed where its partition is owned, so that a row
--             that a move has left behind is not. An id belongs to the keyspace with the longest
--             prefix that it begins with, as far as this shard knows keyspaces: those that it ever
--             had a partition of, which includes those of all accounts that ever were here. '~'
--             follows every character of an id. No compilation (jit): reading the few partitions
--             from end to end looks expensive where that is disabled, and is not.
create or replace function giro.account_list(p_prefix text, p_after text, p_limit int)
returns table (outcome text, id text, currency text, balance bigint, floor bigint, status text,
               version bigint, in_transit bigint, metadata text, created_at timestamptz,
               keyspace text, partition int)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_keyspaces text[] := array(
        select distinct p.keyspace from partitions p
        where starts_with(p.keyspace, p_prefix) or starts_with(p_prefix, p.keyspace));
begin
    perform giro.require_read_committed();

    return query
        select 'found', l.id, l.currency, l.balance, l.floor, l.status, l.version,
               (select coalesce(sum(t.amount), 0)::bigint
                from transfers t where t.debit_account = l.id and t.state = 'pending'),
               l.metadata::text, l.created_at, l.keyspace, l.partition
        from (
            select a.*, p.keyspace, p.partition
            from accounts a
            cross join lateral (
                select k.keyspace
                from unnest(v_keyspaces) k (keyspace)
                where starts_with(a.id, k.keyspace)
                order by length(k.keyspace) desc
                limit 1) k
            join partitions p on p.keyspace = k.keyspace and p.state = 'owned'
                and p.lo <= a.route and (p.hi is null or a.route < p.hi)
            where a.id > p_after and a.id >= p_prefix and a.id < p_prefix || '~'
            order by a.id
            limit least(greatest(p_limit, 0), 1001)) l
        order by l.id;
end
$$;

revoke execute on function giro.account_list from public;
