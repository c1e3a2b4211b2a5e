-- patience and patience_is_over: how long a saga is left to its coordinator, and to all of them.
select * from no_plan();
call test.reset();
call test.run(test.record_call(1, 1, 'saga', 'alice', 'x', 5, 'pending'));
select is(giro.patience(), interval '10 s', 'a coordinator has ten seconds');
select is(giro.patience_is_over(t), null, 'a saga that has just begun needs nobody')
from giro.transfers t;
update giro.transfers set created_at = clock_timestamp() - interval '59 s';
select is(giro.patience_is_over(t), null, 'nor within a minute') from giro.transfers t;
update giro.transfers set created_at = clock_timestamp() - interval '61 s';
select is(giro.patience_is_over(t), 'credit-waits: it waits for shard shard-2',
          'after a minute a person should look at that shard') from giro.transfers t;
select is(attention, 'credit-waits: it waits for shard shard-2', 'which a look-up says')
from giro.transfers_by_id(test.ids(1));
update giro.transfers set attention = 'the refund exceeds a limit';
select is(attention, 'the refund exceeds a limit', 'unless something else is known')
from giro.transfers_by_id(test.ids(1));
call test.run(test.settle_call('{1}', array['alice'], array[null]));
select is(attention, null, 'a final one needs nobody') from giro.transfers_by_id(test.ids(1));
select * from finish();
