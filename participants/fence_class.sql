-- The class (first int) of the advisory locks that fence partitions: 0x4749524F, "GIRO".
--
-- Called by:  fence; whatever moves a partition. Has no settings of its own, so that it is inlined.
-- Idempotent: a constant.
-- Locks:      none; names them. The second int is the partition's number.
create or replace function giro.fence_class() returns int
language sql immutable parallel safe security invoker
as 'select 1195987535';

revoke execute on function giro.fence_class from public;
