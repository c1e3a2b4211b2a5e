-- The class (first int) of the advisory locks by which coordinators are present: 0x47495250,
-- "GIRP".
--
-- Called by:  be_present, coordinators_present. Has no settings of its own, so that it is inlined.
-- Idempotent: a constant.
-- Locks:      none; names them. The second int is the hash of the instance's name.
create or replace function giro.presence_class() returns int
language sql immutable parallel safe security invoker
as 'select 1195987536';

revoke execute on function giro.presence_class from public;
