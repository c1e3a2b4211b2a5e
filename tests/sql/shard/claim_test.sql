-- claim: who gets which sagas, once.
select * from no_plan();
call test.reset();
create procedure pg_temp.sagas(p_first int, p_last int)
language plpgsql
as $$
begin
    for n in p_first..p_last loop
        call test.run(test.record_call(n, n, 'saga', 'alice', 'x', n, 'pending'));
    end loop;
end
$$;
call pg_temp.sagas(11, 16);
select is_empty($$select * from giro.claim(array['shard-2'], 10, 'girod-1')$$,
                'what was just held is left to its coordinator');
update giro.transfers set next_attempt_at = clock_timestamp() - (17 - amount) * interval '1 s'
where id <> test.id(16);
update giro.transfers set deadline_at = clock_timestamp() where id = test.id(12);
update giro.transfers set deadline_at = clock_timestamp() + interval '1 h', attempts = 4
where id = test.id(13);
update giro.transfers set deadline_at = clock_timestamp(), giving_up = 'cancelled',
                          metadata = '{"k": "v"}'
where id = test.id(14);
update giro.transfers set remote = 'shard-3' where id = test.id(15);
select is_empty($$select * from giro.claim(array['shard-4'], 10, 'girod-1')$$,
                'nothing is claimed towards other shards');
select is_empty($$select * from giro.claim('{}', 10, 'girod-1')$$, 'nor towards none');
select test.same(
    $$select id, debit_account, credit_account, amount, currency, idempotency_key, reference,
             metadata, giving_up, attempts, created_at is not null
      from giro.claim(array['shard-2', 'shard-3'], 2, 'girod-1') order by id$$,
    $$values (test.id(11), 'alice', 'x', 11, 'EUR', 'key-11', 'ref', '{}', null, 1, true),
             (test.id(12), 'alice', 'x', 12, 'EUR', 'key-12', 'ref', '{}', 'deadline-passed', 1,
              true),
             (test.id(15), 'alice', 'x', 15, 'EUR', 'key-15', 'ref', '{}', null, 1, true)$$,
    'of each shard the first that are due, with what it takes to go on');
select test.same(
    $$select id, metadata, giving_up, attempts
      from giro.claim(array['shard-2', 'shard-3'], 2, 'girod-1') order by id$$,
    $$values (test.id(13), '{}', null, 5), (test.id(14), '{"k": "v"}', 'cancelled', 1)$$,
    'then the next ones; a deadline to come is none, and the first reason stays');
select is_empty($$select * from giro.claim(array['shard-2', 'shard-3'], 10, 'girod-1')$$,
                'what is claimed is not due for a while');
select ok(bool_and(next_attempt_at > clock_timestamp() + giro.patience() - interval '5 s'),
          'as long as patience says')
from giro.transfers where id <> test.id(16);
select test.same($$select state, giving_up, last_error from giro.transfers where id = test.id(12)$$,
                 $$values ('pending', 'deadline-passed', null)$$, 'a passed deadline is noted');
select is_empty($$select from giro.transfers
                  where coordinator is distinct from case when id <> test.id(16) then 'girod-1'
                                                     end$$,
                'and so is who works at it');
update giro.transfers set next_attempt_at = clock_timestamp();
call test.run(test.settle_call('{11}', array['alice'], array[null]));
select is(count(*), 4::bigint, 'claimed and not done is claimed again, and what is final is not')
from giro.claim(array['shard-2'], 10, 'girod-1');

-- two coordinators at once
update giro.transfers set next_attempt_at = clock_timestamp() - (17 - amount) * interval '1 s'
where state = 'pending';
call test.open('a');
call test.open('b');
call test.execute('b', 'set lock_timeout = ''1s''');
call test.execute('a', 'begin isolation level read committed');
select results_eq($$select test.ask('a', 'select amount
                      from giro.claim(array[''shard-2''], 2, ''a'') order by 1')$$,
                  array['(12)', '(13)'], 'one claims some');
select results_eq($$select test.ask('b', 'select amount
                      from giro.claim(array[''shard-2''], 2, ''b'') order by 1')$$,
                  array['(14)', '(16)'], 'another one does not wait, and claims others');
call test.execute('a', 'commit');
select is_empty($$select test.ask('b', 'select * from giro.claim(array[''shard-2''], 10, ''b'')')$$,
                'none is claimed twice');
call test.close('a');
call test.close('b');

-- what needs a person, and lost credits
update giro.transfers set next_attempt_at = clock_timestamp() - interval '1 s'
where state = 'pending';
update giro.transfers set created_at = clock_timestamp() - interval '61 s' where id = test.id(12);
update giro.transfers set attention = 'look' where id in (test.id(13), test.id(14));
call test.run(test.record_call(21, 21, '2pc', 'alice', 'x', 21));
update giro.transfers set next_attempt_at = clock_timestamp(), attention = 'leg-lost: x'
where id = test.id(21);
select test.same($$select count(*) filter (where amount in (13, 14)),
                          count(*) filter (where amount in (12, 16))
                   from giro.claim(array['shard-2'], 2, 'girod-1')$$,
                 'values (2, 2)', 'those that need a person do not keep the others waiting');
select test.same($$select id, attention from giro.transfers
                   where state = 'pending' and remote = 'shard-2' order by id$$,
                 $$values (test.id(12), 'credit-waits: it waits for shard shard-2'),
                          (test.id(13), 'look'), (test.id(14), 'look'), (test.id(16), null)$$,
                 'what has waited for a minute needs one from then on');
select test.same($$select id, decided_at is not null from giro.claim(array['shard-2'], 9, 'g')$$,
                 'values (test.id(21), true)', 'a lost credit is claimed as what is decided');
select * from finish();
