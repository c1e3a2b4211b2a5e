-- How long the pending sagas of a coordinator are left to it before another one takes them: 10 s.
--
-- Called by:  record, claim. Has no settings of its own, so that it is inlined.
-- Idempotent: a constant.
-- Locks:      none.
-- Safety:     politeness, not safety: every step of a saga may be done twice, by anybody.
create or replace function giro.patience() returns interval
language sql immutable parallel safe security invoker
as 'select interval ''10 s''';

revoke execute on function giro.patience from public;
