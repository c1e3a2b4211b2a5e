-- fence: who passes, who does not, and what it keeps from happening.
select * from no_plan();
call test.reset();
call test.open('a');
call test.open('mover', 'giro_test');
call test.execute('mover', 'set lock_timeout = ''100ms''');

select is(giro.fence(array[1, 2], array[1, 1], array['\x', '\x7fff', '\x80', '\xff']::bytea[],
                     array[1, 1, 2, 2], true),
          null::text[], 'routes inside their ranges pass, lo included');
select is(giro.fence(array[1, 2], array[1, 1], array['\x80', '\x7fff']::bytea[], array[1, 2], true),
          array['stale_route', 'stale_route'], 'hi is excluded, and nothing below lo passes');
select is(giro.fence(array[1, 2], array[1, 7], array['\x01', '\x81']::bytea[], array[1, 2], true),
          array[null, 'stale_route'],
          'a wrong epoch is stale, the other partition is not concerned');
select is(giro.fence(array[1, 9], array[1, 1], array['\x01', '\x01']::bytea[], array[1, 9], true),
          array[null, 'stale_route'], 'a partition that does not stand here is stale');
select is(giro.fence(array[1], array[1], array['\x01', '\x81']::bytea[], array[1, 2], true),
          array[null, 'stale_route'], 'a route whose partition was not named does not pass');
select is(giro.fence(array[1], array[1], array[null]::bytea[], array[1], true),
          array['stale_route'], 'no route does not pass');
select is(giro.fence('{}', '{}', '{}', '{}', true), null::text[],
          'nothing asked, nothing answered');

update giro.partitions set state = 'incoming' where partition = 1;
update giro.partitions set state = 'released' where partition = 2;
select is(giro.fence(array[1, 2], array[1, 1], array['\x01', '\x81']::bytea[], array[1, 2], true),
          array['stale_route', 'stale_route'], 'neither incoming nor released ones pass');
update giro.partitions set state = 'owned';

-- a claim keeps a mover out until the transaction ends
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.lock_call(array['alice']));
select is(test.ask('mover', format('select pg_try_advisory_xact_lock(1195987535, %s)',
                                   test.partition('alice'))),
          '(f)', 'a mover cannot have a claimed partition');
select is(test.ask('mover', format('select pg_try_advisory_xact_lock(1195987535, %s)',
                                   3 - test.partition('alice'))),
          '(t)', 'but any other');
call test.execute('a', 'prepare transaction ''fence''');
select is(test.ask('mover', format('select pg_try_advisory_xact_lock(1195987535, %s)',
                                   test.partition('alice'))),
          '(f)', 'also while the claim is prepared');
call test.execute('a', 'rollback prepared ''fence''');
select is(test.ask('mover', format('select pg_try_advisory_xact_lock(1195987535, %s)',
                                   test.partition('alice'))),
          '(t)', 'and not longer');

-- looking claims nothing, and is not kept out
call test.execute('mover', 'begin');
call test.execute('mover', 'select pg_advisory_xact_lock(1195987535, 1)');
select is(giro.fence(array[1], array[1], array['\x01']::bytea[], array[1], false),
          null::text[], 'who only looks is not stopped by a mover');
select is(giro.fence(array[1], array[1], array['\x01']::bytea[], array[1], true),
          array['partition_moving'], 'who claims is');

-- the mover's edit, seen by a claim that starts after it
call test.execute('mover', 'update giro.partitions set state = ''released'', epoch = 2 '
                  'where partition = 1');
call test.execute('mover', 'commit');
select is(giro.fence(array[1], array[1], array['\x01']::bytea[], array[1], true),
          array['stale_route'], 'after the move the old routing is stale');
select is(giro.fence_class(), x'4749524F'::int, 'the class of the locks is GIRO');
call test.close('a');
call test.close('mover');
select * from finish();
