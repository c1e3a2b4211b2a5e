-- Is this transfer one of those that a list asks for? Null asks for no such thing. p_here is the
-- name of this shard, to which all its transfers belong; p_over is what patience_is_over says.
--
-- Called by:  transfers_list. Has no settings of its own, so that it is inlined.
-- Idempotent: writes nothing.
-- Locks:      none.
-- Safety:     decides nothing.
create or replace function giro.is_listed(
    p_transfer giro.transfers, p_here text, p_over text, p_state text, p_mode text, p_shard text,
    p_account text, p_reference text, p_attention boolean)
returns boolean
language sql stable security invoker
as $$
    select (p_state is null or p_transfer.state = p_state)
       and (p_mode is null or p_transfer.mode = p_mode)
       and (p_shard is null or p_shard = p_here or p_transfer.remote = p_shard)
       and (p_account is null or p_transfer.debit_account = p_account
            or p_transfer.credit_account = p_account)
       and (p_reference is null or p_transfer.reference = p_reference)
       and (p_attention is null
            or p_attention = (coalesce(p_transfer.attention, p_over) is not null))
$$;

revoke execute on function giro.is_listed from public;
