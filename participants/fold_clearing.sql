-- Folds up to p_limit rows of clearing into one per currency (step 'fold'); answers how many rows
-- went into it. Does nothing while there are fewer than p_min, so that an idle shard is left alone.
--
-- Called by:  every coordinator, once a second, on every shard.
-- Idempotent: a repeat folds what has come since.
-- Locks:      rows of clearing, SKIP LOCKED: never waits, and nobody waits for it, since batches
--             only insert. Coordinators that fold at the same time take different rows.
-- Safety:     one statement takes the rows away and puts their sum in their place, so that in every
--             snapshot Σ balances + Σ clearing = 0. Nothing is lost by it: what was cleared for
--             whom stands in batches, transfers, receipts and entries, which carry the comparison
--             of shards; a batch is walled off from a second run by its row in batches.
create or replace function giro.fold_clearing(p_min int, p_limit int) returns int
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_nestloop = off
as $$
declare
    v_folded int;
begin
    perform giro.require_read_committed();
    perform giro.require_unfenced();

    if (select count(*) from (select from clearing c order by c.batch limit p_min) n) < p_min then
        return 0;
    end if;

    with picked as materialized (
        select c.ctid as place from clearing c
        order by c.batch, c.step, c.currency
        limit p_limit
        for update skip locked
    ),
    taken as (
        delete from clearing c
        where c.ctid = any (array(select p.place from picked p))
        returning c.currency, c.amount
    ),
    put as (
        insert into clearing (batch, step, currency, amount, peer)
        select gen_random_uuid(), 'fold', t.currency, sum(t.amount), (select s.name from shard s)
        from taken t
        group by t.currency
        having sum(t.amount) <> 0
    )
    select count(*) into v_folded from taken;
    return v_folded;
end
$$;

revoke execute on function giro.fold_clearing from public;
