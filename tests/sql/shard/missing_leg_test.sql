-- missing_leg, stuck_leg and settled_leg: what becomes of the transfers of a batch whose leg is
-- lost, cannot be finished, or is visible after all.
select * from no_plan();
call test.reset();
call test.account('a', 100);
call test.run(test.apply_call(1, 'home', '2pc', array[test.leg('a', 11, -5),
                                                    test.leg('a', 12, -6)]));
call test.run(test.record_call(1, 11, '2pc', 'a', 'b', 5));
call test.run(test.record_call(1, 12, '2pc', 'a', 'c', 6));
call test.run(test.record_call(1, 13, '2pc', 'a', 'd', 7, 'refused', 'account-closed'));
call test.run(test.apply_call(2, 'home', '2pc', array[test.leg('a', 14, -8)]));
call test.run(test.record_call(2, 14, '2pc', 'a', 'e', 8));
call test.run(test.record_call(3, 15, 'local', 'a', 'e', 8));
create view pg_temp.seen as
    select id, attention, state, next_attempt_at <= clock_timestamp() as due
    from giro.transfers order by id;

-- stuck
select is(giro.stuck_leg(test.id(1), '42501'), 2, 'the posted ones of the batch are noted');
select is(giro.stuck_leg(test.id(1), '0A000'), 2, 'the last reason stands');
select test.same('select id, attention, state, due from pg_temp.seen',
    $$values (test.id(11), 'leg-stuck: 0A000', 'posted', null::boolean),
             (test.id(12), 'leg-stuck: 0A000', 'posted', null),
             (test.id(13), null, 'refused', null), (test.id(14), null, 'posted', null),
             (test.id(15), null, 'posted', null)$$, 'no state changes and nothing becomes due');
update giro.transfers set attention = 'look' where id = test.id(12);
select is(giro.stuck_leg(test.id(1), 'x'), 1, 'another reason for attention stays');
select giro.settled_leg(test.id(2));
select is((select finished_at is not null from giro.batches where batch = test.id(2)), true,
          'a settled batch is finished');
select is(giro.stuck_leg(test.id(2), 'x'), 0, 'and has no leg that could be stuck');
update giro.batches set finished_at = null where batch = test.id(2);
select is(giro.stuck_leg(test.id(2), 'x'), 1, 'one that is not finished has');
select giro.settled_leg(test.id(2));
select test.same($$select id, attention from giro.transfers where attention is not null
                   order by id$$,
                 $$values (test.id(11), 'leg-stuck: x'), (test.id(12), 'look')$$,
                 'settling takes the note away, from that batch only');

-- missing
select is(giro.missing_leg(test.id(1), 'gone'), 2, 'the posted ones of the batch become due');
select test.same('select id, attention, state, due from pg_temp.seen',
    $$values (test.id(11), 'leg-lost: gone', 'posted', true),
             (test.id(12), 'leg-lost: gone', 'posted', true),
             (test.id(13), null, 'refused', null), (test.id(14), null, 'posted', null),
             (test.id(15), null, 'posted', null)$$,
    'with a reason for attention; refused ones and other batches are left alone');
select is((select finished_at is not null from giro.batches where batch = test.id(1)), true,
          'the batch is no longer among the unfinished ones');
update giro.transfers set next_attempt_at = null, attention = null;
select is(giro.missing_leg(test.id(1), 'again'), 0, 'a second finding does nothing');
select is(giro.missing_leg(test.id(2), 'x'), 0, 'nor does one about a batch that is finished');
select is(giro.missing_leg(test.id(3), 'x'), 0, 'a local batch has no leg to miss');
select is(giro.missing_leg(test.id(9), 'x'), 0, 'nor has an unknown one');
select is_empty('select from pg_temp.seen where attention is not null or due',
                'none of them changes anything');
select * from finish();
