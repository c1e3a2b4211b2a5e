-- Folding: the sum stays in every snapshot, nobody waits, and few rows are left alone.
select * from no_plan();
call test.reset();
call test.account('alice', 1000);
call test.account('yen', 1000, 0, 'JPY');
do $$
begin
    for i in 1..30 loop
        call test.run(test.apply_call(i, 'home', '2pc', array[test.leg('alice', i, -i)]));
        call test.run(test.apply_call(100 + i, 'home', '2pc', array[test.leg('yen', 100 + i, -1)]));
    end loop;
end
$$;
create view pg_temp.sums as
    select currency, sum(amount) as amount, count(*) as rows from giro.clearing group by currency;
select test.same('select * from pg_temp.sums order by 1',
    $$values ('EUR', 465::numeric, 30::bigint), ('JPY', 30, 30)$$, 'thirty rows of each currency');
select is(giro.fold_clearing(61, 10), 0, 'few rows are left alone');
select is(giro.fold_clearing(60, 20), 20, 'a step takes so many');
select test.same('select currency, amount from pg_temp.sums order by 1',
    $$values ('EUR', 465::numeric), ('JPY', 30)$$, 'and keeps the sums');
select is(giro.fold_clearing(2, 1000) > 2, true, 'the next one takes the rest');
select test.same('select * from pg_temp.sums order by 1',
    $$values ('EUR', 465::numeric, 1::bigint), ('JPY', 30, 1)$$, 'one row of each is left');
select test.same('select distinct step from giro.clearing', $$values ('fold')$$, 'which says so');
select is_empty('select * from test.faults', 'the books balance');

-- a sum of 0 leaves no row
call test.run(test.apply_call(200, 'remote', '2pc', array[test.leg('alice', 200, 465)]));
select is(giro.fold_clearing(2, 1000), 3, 'all rows are folded');
select test.same('select currency from giro.clearing', $$values ('JPY')$$,
    'what adds up to 0 is gone');
select is_empty('select * from test.faults', 'the books balance still');

-- nobody waits
call test.run(test.apply_call(201, 'home', '2pc', array[test.leg('alice', 201, -1)]));
call test.run(test.apply_call(202, 'home', '2pc', array[test.leg('alice', 202, -1)]));
call test.open('a');
call test.execute('a', 'begin');
select is(test.ask('a', 'select giro.fold_clearing(1, 2)'), '(2)', 'another folder is at two rows');
select is(giro.fold_clearing(1, 1000), 1, 'this one takes the third without waiting');
select is_empty('select * from test.faults', 'the books balance in between');
call test.execute('a', 'commit');
select is((select sum(amount) from giro.clearing where currency = 'EUR'), 2::numeric,
          'and nothing was lost');
select is_empty('select * from test.faults', 'the books balance at the end');
call test.close('a');
select * from finish();
