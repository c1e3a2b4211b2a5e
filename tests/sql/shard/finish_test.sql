-- finish: which batches it changes, and that it never waits.
select * from no_plan();
call test.reset();
call test.account('alice', 100);
do $$
begin
    for n in 1..3 loop
        call test.run(test.apply_call(n, 'home', '2pc', array[test.leg('alice', n, -1)]));
    end loop;
    call test.run(test.apply_call(4, 'remote', '2pc', array[test.leg('alice', 4, 1)]));
    perform giro.verdict(test.id(5), '2pc', 'shard-1', 'shard-2', 'girod-1');
end
$$;
create temporary table before as select batch, finished_at from giro.batches;
call test.open('a');
call test.execute('a', 'begin isolation level read committed');
select is(test.ask('a', format('select giro.finish(%L::uuid[])', array[test.id(2)])), '(1)',
          'another session finishes one');
select is(giro.finish(array[test.id(5), test.id(4), test.id(3), test.id(2), test.id(1),
                            test.id(9)]), 2,
          'it finishes the others meanwhile, and no remote, aborted or unknown one');
call test.execute('a', 'commit');
select is(giro.finish(array[test.id(1), test.id(2), test.id(3)]), 0,
          'finishing again does nothing');
select is(giro.finish('{}'), 0, 'nothing to finish is fine');
select is_empty('select * from giro.batches where finished_at is null', 'all are finished');
select test.same(
    $$select n.batch from giro.batches n join before b using (batch)
      where n.finished_at is distinct from b.finished_at order by batch$$,
    $$select test.id(n) from generate_series(1, 3) n$$, 'and only the home commits were changed');
select is_empty('select * from test.faults', 'the books balance');
call test.close('a');
select * from finish();
