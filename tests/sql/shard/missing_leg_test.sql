-- missing_leg: marks the posted 2PC transfers of one batch, once.
select * from no_plan();
call test.reset();
call test.run(test.record_call(1, 11, '2pc', 'a', 'b', 5));
call test.run(test.record_call(1, 12, '2pc', 'a', 'c', 6));
call test.run(test.record_call(1, 13, '2pc', 'a', 'd', 7, 'refused', 'account-closed'));
call test.run(test.record_call(2, 14, '2pc', 'a', 'e', 8));
call test.run(test.record_call(3, 15, 'local', 'a', 'e', 8));
update giro.transfers set attention = 'an older reason' where id = test.id(12);

select is(giro.missing_leg(test.id(1), 'leg lost'), 1, 'only posted ones without a mark count');
select test.same('select id, attention, state from giro.transfers order by id',
    $$values (test.id(11), 'leg lost', 'posted'), (test.id(12), 'an older reason', 'posted'),
             (test.id(13), null, 'refused'), (test.id(14), null, 'posted'),
             (test.id(15), null, 'posted')$$,
    'an older reason stays, refused ones and other batches are left alone, no state changes');
select is(giro.missing_leg(test.id(1), 'again'), 0, 'marking again does nothing');
select is(giro.missing_leg(test.id(3), 'x'), 0, 'a local batch has no leg to miss');
select is(giro.missing_leg(test.id(9), 'x'), 0, 'nor has an unknown one');
select * from finish();
