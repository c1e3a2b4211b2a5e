-- Looks receipts up by transfer; answers a row for each that stands here, in the order of the ids.
--
-- Called by:  the lock stage of a credit batch, after lock in a statement of its own.
-- Idempotent: writes nothing.
-- Locks:      none of its own. Two credits of one transfer share the credit account: under its row
--             lock, what is not found here cannot come to stand before the caller's transaction
--             ends. Where there is no such account, the receipt's key decides between them.
-- Safety:     the receipt decides a saga, for ever: applied, refused or cancelled. What was found
--             may be acted upon once this transaction has committed.
create or replace function giro.receipts_by_id(p_ids uuid[])
returns table (transfer uuid, outcome text, refusal text)
language plpgsql volatile security definer
set search_path = pg_catalog, giro, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    perform giro.require_read_committed();

    return query
        select r.transfer, r.outcome, r.refusal
        from receipts r
        where r.transfer = any (p_ids)
        union all
        -- The credit of a 2PC transfer that its home has forgotten, and is asked for again.
        select e.transfer, 'applied', null
        from entries e
        where e.transfer = any (p_ids) and e.step = 'credit'
          and not exists (select from receipts r where r.transfer = e.transfer);
    if found then
        perform giro.force_durability();
    end if;
end
$$;

revoke execute on function giro.receipts_by_id from public;
