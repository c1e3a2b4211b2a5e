-- Makes the row that the account functions answer: an outcome and the account as it stands, with
-- what is in transit from it. The account's columns are null if there is none.
--
-- Called by:  account_create, account_get, account_patch; with their settings and rights.
-- Idempotent: writes nothing.
-- Locks:      none.
create or replace function giro.account_answer(p_outcome text, p_id text)
returns giro.account_answer
language plpgsql volatile security invoker
as $$
declare
    v_answer giro.account_answer;
begin
    select p_outcome, a.id, a.currency, a.balance, a.floor, a.status, a.version,
           (select coalesce(sum(t.amount), 0)
            from giro.transfers t
            where t.debit_account = p_id and t.state = 'pending'),
           a.metadata::text, a.created_at
    into v_answer
    from giro.accounts a
    where a.id = p_id;
    v_answer.outcome := p_outcome;
    return v_answer;
end
$$;

revoke execute on function giro.account_answer from public;
