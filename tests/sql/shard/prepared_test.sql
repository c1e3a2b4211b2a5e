-- prepared_exists and leg_exists around the life of a prepared leg of the coordinator's role.
select * from no_plan();
call test.reset();
call test.account('bob', 10);
call test.open('a');
call test.open('b');
\set gid giro:demo:girod-1:b1:shard-2:shard-1

call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.lock_call(array['bob']));
call test.execute('a', test.apply_call(1, 'remote', '2pc', array[test.leg('bob', 1, 25)]));
select is(giro.prepared_exists(:'gid'), false, 'nothing is prepared yet');
select is(dblink_exec('a', 'prepare transaction ' || quote_literal(:'gid')),
          'PREPARE TRANSACTION', 'the coordinator prepares its leg');
select is(test.ask('b', format('select giro.prepared_exists(%L)', :'gid')), '(t)',
          'another session sees that it is prepared');
select is(giro.leg_exists(test.id(1)), false, 'the leg is not visible');
select is(balance, 10::bigint, 'nor is its effect') from giro.accounts where id = 'bob';
select is(test.ask('b', test.lock_call(array['bob'])), '(1,busy,,,,,)',
          'the account is busy while it is in doubt');
select is_empty('select * from giro.books() where difference <> 0',
                'the books balance while it is prepared');
select is(dblink_exec('b', 'commit prepared ' || quote_literal(:'gid')), 'COMMIT PREPARED',
          'another session of the role finishes it');
select is(test.ask('b', format('select giro.prepared_exists(%L)', :'gid')), '(f)',
          'it is prepared no longer');
select is(test.ask('b', format('select giro.leg_exists(%L)', test.id(1))), '(t)',
          'the leg is visible');
select is(balance, 35::bigint, 'with its effect') from giro.accounts where id = 'bob';
select throws_ok(format('call test.execute(''b'', %L)',
                        'commit prepared ' || quote_literal(:'gid')),
                 '42704', null, 'finishing it again says that it does not exist');
begin;
select giro.leg_exists(test.id(9)) as found_9 \gset
select pg_current_xact_id_if_assigned() is null as no_xid_9 \gset
select giro.leg_exists(test.id(1)) as found_1 \gset
select pg_current_xact_id_if_assigned() is null as no_xid_1 \gset
commit;
select is(:'found_9'::text, 'f', 'a leg that never was is not visible');
select is(:'no_xid_9'::text, 't', 'and costs no commit');
select is(:'found_1'::text, 't', 'one that was found');
select is(:'no_xid_1'::text, 'f', 'forces a commit that is durable');

-- rolled back, and found missing
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.apply_call(2, 'remote', '2pc', array[test.leg('bob', 2, 5)]));
call test.execute('a', 'prepare transaction ''other''');
call test.execute('a', 'rollback prepared ''other''');
select is(giro.leg_exists(test.id(2)), false, 'a leg that was rolled back is not visible');
select is(giro.leg_exists(test.id(1)), true, 'and concerns no other');
select lives_ok(test.apply_call(3, 'home', '2pc', array[test.leg('bob', 3, -5)]), 'a home batch');
select is(giro.leg_exists(test.id(3)), false, 'is no leg');

-- the list of another database is not ours
create database other;
select dblink_connect('other', format('host=%s port=%s dbname=other user=giro_coordinator',
       current_setting('unix_socket_directories'), current_setting('port')));
call test.execute('other', 'begin');
call test.execute('other', 'prepare transaction ''elsewhere''');
select is(giro.prepared_exists('elsewhere'), false, 'nor are those of another database ours');
call test.execute('other', 'rollback prepared ''elsewhere''');
call test.close('other');
drop database other;
select is_empty('select * from test.faults', 'the books balance');
call test.close('a');
call test.close('b');
select * from finish();
