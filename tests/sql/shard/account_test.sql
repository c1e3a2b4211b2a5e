-- account_create, account_get, account_patch, account_entries: every outcome.
select * from no_plan();
call test.reset();
create function pg_temp.make(p_id text, p_floor bigint default null, p_given boolean default false,
                             p_currency text default 'EUR', p_epoch bigint default 1)
returns giro.account_answer
language sql
as $$
    select * from giro.account_create(test.partition(p_id), p_epoch, p_id, test.route(p_id),
                                      p_currency, p_floor, p_given, '{"a": "b"}')
$$;
create function pg_temp.get(p_id text, p_epoch bigint default 1) returns giro.account_answer
language sql
as $$ select * from giro.account_get(test.partition(p_id), p_epoch, p_id, test.route(p_id)) $$;
create function pg_temp.patch(p_id text, p_status text default null, p_floor bigint default null,
                              p_given boolean default false, p_epoch bigint default 1)
returns giro.account_answer
language sql
as $$
    select * from giro.account_patch(test.partition(p_id), p_epoch, p_id, test.route(p_id),
                                     p_status, p_floor, p_given)
$$;
create function pg_temp.page(p_id text, p_before bigint, p_limit int, p_epoch bigint default 1)
returns table (outcome text, seq bigint, transfer uuid, amount bigint, balance bigint,
               counterparty text, reference text, at timestamptz)
language sql
as $$
    select * from giro.account_entries(test.partition(p_id), p_epoch, p_id, test.route(p_id),
                                       p_before, p_limit)
$$;
call test.open('a');
call test.open('mover', 'giro_test');

-- create
select test.same(
    $$select outcome, id, currency, balance, floor, status, version, in_transit, metadata
      from pg_temp.make('alice')$$,
    $$values ('created', 'alice', 'EUR', 0, 0, 'open', 0, 0, '{"a": "b"}')$$,
    'a new account is created, with floor 0 unless one is given');
select is((pg_temp.make('alice')).outcome, 'exists', 'the same again exists');
select is((pg_temp.make('alice', 0, true)).outcome, 'exists', 'the floor it has may be given');
select is((pg_temp.make('alice', -5, true)).outcome, 'conflict', 'another floor conflicts');
select is((pg_temp.make('alice', null, true)).outcome, 'conflict', 'no floor conflicts');
select is((pg_temp.make('alice', null, false, 'USD')).outcome, 'conflict',
          'another currency conflicts');
select is((pg_temp.make('alice', null, false, 'USD')).currency, 'EUR',
          'a conflict shows what stands');
select is((pg_temp.make('credit', -100, true)).floor, -100::bigint, 'a floor can be given');
select is((pg_temp.make('credit')).outcome, 'exists', 'and need not be given again');
select is((pg_temp.make('endless', null, true)).floor, null, 'a given null is no limit');
select is((pg_temp.make('endless', null, true)).outcome, 'exists', 'and is found again');
select throws_ok($$select pg_temp.make('wrong', 1, true)$$, '23514', null,
                 'a floor above zero is caught by a constraint');
select test.same($$select * from pg_temp.make('stale', p_epoch => 2)$$,
                 $$values ('stale_route', null, null, null, null, null, null, null, null, null)$$,
                 'an old routing creates nothing');
select is_empty($$select from giro.accounts where id in ('stale', 'wrong')$$, 'nothing at all');
begin;
select (pg_temp.make('alice')).outcome as found \gset
select pg_current_xact_id_if_assigned() is null as no_xid \gset
commit;
select is(:'found'::text, 'exists', 'an account that was found');
select is(:'no_xid'::text, 'f', 'forces a commit that is durable');
call test.execute('a', 'begin isolation level read committed');
select is(test.ask('a', format('select outcome from giro.account_create(%s, 1, ''twin'', %L, '
          '''EUR'', null, false, null)', test.partition('twin'), test.route('twin'))), '(created)',
          'a twin under way');
set lock_timeout = '100ms';
select throws_ok($$select pg_temp.make('twin')$$, '55P03', null, 'is waited for');
call test.execute('a', 'commit');
select is((pg_temp.make('twin')).outcome, 'exists', 'and found then');

-- get
select test.same(
    $$select outcome, id, currency, balance, floor, status, version, in_transit, metadata
      from pg_temp.get('alice')$$,
    $$values ('found', 'alice', 'EUR', 0, 0, 'open', 0, 0, '{"a": "b"}')$$,
    'an account is found');
select isnt((pg_temp.get('alice')).created_at, null, 'with its time of creation');
select test.same($$select * from pg_temp.get('nobody')$$,
                 $$values ('missing', null, null, null, null, null, null, null, null, null)$$,
                 'an account that is not there is missing');
select is((pg_temp.get('alice', 2)).outcome, 'stale_route', 'an old routing finds nothing');
call test.account('bob', 100);
call test.run(test.record_call(1, 1, 'saga', 'bob', 'x', 30, 'pending'));
call test.run(test.record_call(2, 2, 'saga', 'bob', 'x', 12, 'pending'));
call test.run(test.record_call(3, 3, '2pc', 'bob', 'x', 5));
select is((pg_temp.get('bob')).in_transit, 42::bigint, 'in transit is what pending sagas took');

-- patch
select test.same(
    $$select outcome, status, floor, version from pg_temp.patch('alice', 'frozen')$$,
    $$values ('changed', 'frozen', 0, 0)$$, 'a status is changed, the version is not');
select test.same(
    $$select outcome, status, floor from pg_temp.patch('alice', null, -7, true)$$,
    $$values ('changed', 'frozen', -7)$$, 'a floor is changed, the status is kept');
select test.same(
    $$select outcome, status, floor from pg_temp.patch('alice', 'open', null, true)$$,
    $$values ('changed', 'open', null)$$, 'both are changed, and a given null is no limit');
select test.same($$select status, floor, version from giro.accounts where id = 'alice'$$,
                 $$values ('open', null, 0)$$, 'and stand so');
select is((pg_temp.patch('alice')).outcome, 'changed', 'to change nothing is harmless');
select is((pg_temp.patch('nobody', 'open')).outcome, 'missing', 'nobody is missing');
select is((pg_temp.patch('alice', 'open', p_epoch => 2)).outcome, 'stale_route',
          'an old routing changes nothing');
select is((pg_temp.patch('bob', 'closed')).outcome, 'not_empty',
          'an account with money is not closed');
select is((pg_temp.patch('bob', 'closed')).status, 'open', 'and is shown as it stands');
call test.account('poor', 0);
call test.run(test.record_call(4, 4, 'saga', 'poor', 'x', 1, 'pending'));
select is((pg_temp.patch('poor', 'closed')).outcome, 'in_transit',
          'nor one that may get a refund');
call test.account('debtor', 0, -100);
call test.run(test.apply_call(5, 'home', '2pc', array[test.leg('debtor', 5, -50)]));
select is((pg_temp.patch('debtor', null, -49, true)).outcome, 'below_floor',
          'no floor above the balance');
select is((pg_temp.patch('debtor', null, -50, true)).outcome, 'changed', 'but at it');
select is((pg_temp.patch('alice', 'closed')).outcome, 'changed', 'an empty account is closed');
select is((pg_temp.patch('alice', 'closed')).outcome, 'changed', 'closing it again is harmless');
select is((pg_temp.patch('alice')).outcome, 'changed', 'and so is to change nothing');
select is((pg_temp.patch('alice', 'open')).outcome, 'closed', 'but it is not opened again');
select is((pg_temp.patch('alice', null, -1, true)).outcome, 'closed', 'nor gets another floor');
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.lock_call(array['bob']));
select throws_ok($$select pg_temp.patch('bob', 'frozen')$$, '55P03', null,
                 'a row that is locked is waited for, at most lock_timeout');
call test.execute('a', 'rollback');

call test.account('racer', 5);
call test.open('b');
call test.execute('a', 'begin isolation level read committed');
call test.execute('a', test.lock_call(array['racer']));
call test.execute('a', test.apply_call(7, 'home', 'saga', array[test.leg('racer', 7, -5)]));
call test.execute('a', test.record_call(7, 7, 'saga', 'racer', 'x', 5, 'pending'));
call test.send('b', format('select outcome from giro.account_patch(%s, 1, ''racer'', %L, '
                           '''closed'', null, false)',
                           test.partition('racer'), test.route('racer')));
call test.wait_until('exists (select from pg_locks where not granted)');
call test.execute('a', 'commit');
select is(test.answer('b'), '(in_transit)', 'and judged as it stands under the lock');
call test.close('b');

-- entries
call test.run(test.apply_call(6, 'home', '2pc', array[
    test.leg('bob', 60, -1, 'x'), test.leg('bob', 61, -2, 'y'), test.leg('bob', 62, -3, 'z')]));
select test.same(
    $$select outcome, seq, transfer, amount, balance, counterparty, reference, at is not null
      from pg_temp.page('bob', null, 2)$$,
    $$values ('entry', 4, test.id(62), -3, 94, 'z', 'ref 3', true),
             ('entry', 3, test.id(61), -2, 97, 'y', 'ref 2', true)$$, 'the newest come first');
select test.same($$select outcome, seq from pg_temp.page('bob', 3, 10)$$,
                 $$values ('entry', 2), ('entry', 1)$$, 'and go on before a seq');
select test.same($$select * from pg_temp.page('bob', 1, 10)$$,
                 $$values ('none', null, null, null, null, null, null, null)$$,
                 'until none is left');
select is((select outcome from pg_temp.page('alice', null, 10)), 'none',
          'an account without entries has none');
select is((select outcome from pg_temp.page('nobody', null, 10)), 'missing', 'nobody is missing');
select is((select outcome from pg_temp.page('bob', null, 10, 2)), 'stale_route',
          'an old routing shows nothing');
call test.account('busy', 0, null);
select format('call test.run(%L)', test.apply_call(100, 'remote', '2pc', array(
    select test.leg('busy', 1000 + i, 1) from generate_series(1, 1200) i))) \gexec
select is((select count(*) from pg_temp.page('busy', null, 5000)), 1000::bigint,
          'a page has at most 1000 rows');

-- a partition that is being moved
call test.execute('mover', 'begin');
call test.execute('mover', format('select pg_advisory_xact_lock(1195987535, %s)',
                                  test.partition('bob')));
select is((pg_temp.make('bob')).outcome, 'partition_moving', 'nothing is created meanwhile');
select is((pg_temp.patch('bob', 'frozen')).outcome, 'partition_moving', 'nothing is changed');
select is((pg_temp.get('bob')).outcome, 'found', 'but read');
select is((select outcome from pg_temp.page('bob', 2, 1)), 'entry', 'entries too');
call test.execute('mover', 'rollback');
select is_empty('select * from test.faults', 'the books balance');
call test.close('a');
call test.close('mover');
select * from finish();
