-- What the directory knows of the past of the shards: epochs, timelines, marks, readmissions. All
-- in one transaction that is rolled back, so that it leaves nothing to other tests.
begin;
select * from no_plan();
create function pg_temp.id(p_number int) returns uuid
language sql immutable
as $$ select ('00000000-0000-8000-8000-' || lpad(p_number::text, 12, '0'))::uuid $$;
create function pg_temp.note(p_coordinator text, p_shard text, p_epoch bigint, p_from int, p_to int)
returns void
language sql
as $$
    select giro_directory.note_marks(p_coordinator, array_agg(p_shard), array_agg(p_epoch),
                                     array_agg(pg_temp.id(n) order by n))
    from generate_series(p_from, p_to) n
$$;
select giro_directory.setup_cluster('demo');
select giro_directory.setup_shard('h1', 91, 'host=a', null, '11');
select giro_directory.setup_shard('h2', 92, 'host=b', null, '22');

-- noted once, by init
select lives_ok($$select giro_directory.setup_history('h1', 1, '00000001')$$, 'a history is noted');
select lives_ok($$select giro_directory.setup_history('h1', 1, '00000001')$$, 'again');
select lives_ok($$select giro_directory.setup_history('h2', 5, '00000003')$$,
                'a shard may have a past before the directory');
select test.same($$select * from giro_directory.read_shards() where name in ('h1', 'h2')$$,
    $$values ('h1', 91, 'host=a', '11', 1, '00000001'), ('h2', 92, 'host=b', '22', 5, '00000003')$$,
    'and read');
select throws_ok($$select giro_directory.setup_history('h1', 1, '00000002')$$, 'GR010',
    'shard h1 is at epoch 1, timeline 00000001, and this server at 1, 00000002 (see girod readmit)',
    'init takes no other timeline');
select throws_ok($$select giro_directory.setup_history('h1', 2, '00000001')$$, 'GR010', null,
                 'nor another epoch');

-- marks
select pg_temp.note('g1', 'h1', 1, 1, 3);
select pg_temp.note('g1', 'h1', 1, 2, 4);
select pg_temp.note('g2', 'h2', 5, 1, 1);
select pg_temp.note('g2', 'h2', 4, 2, 2);
select pg_temp.note('g2', 'h9', 1, 3, 3);
select test.same($$select shard, batch, coordinator from giro_directory.read_marks()
                   order by shard, batch$$,
    $$values ('h1', pg_temp.id(1), 'g1'), ('h1', pg_temp.id(2), 'g1'), ('h1', pg_temp.id(3), 'g1'),
             ('h1', pg_temp.id(4), 'g1'), ('h2', pg_temp.id(1), 'g2')$$,
    'marks are noted once; those of other epochs and of unknown shards are not');
select is((select batch from giro_directory.read_marks() where shard = 'h1' limit 1),
          pg_temp.id(4), 'the newest is the first');
select lives_ok($$select giro_directory.note_marks('g', '{}', '{}', '{}')$$,
                'nothing may be noted too');
select pg_temp.note('g2', 'h1', 1, 100, 139);
select is((select count(*) from giro_directory.read_marks() where shard = 'h1'), 32::bigint,
          'of a shard the newest 32 are kept');
select is((select count(*) from giro_directory.read_marks() where shard = 'h2'), 1::bigint,
          'others keep theirs');

-- readmission
select version as version from giro_directory.read_cluster() \gset
select is(giro_directory.readmit('h1', 'host=c', '12', 1, '00000002', 'an older copy',
                                 array[pg_temp.id(139), pg_temp.id(138)], 'we know'), 2::bigint,
          'the epoch rises');
select test.same($$select dsn, system_identifier, epoch, timeline from giro_directory.read_shards()
                   where name = 'h1'$$, $$values ('host=c', '12', 2::bigint, '00000002')$$,
                 'what was found is noted');
select is((select version from giro_directory.read_cluster()), :version::bigint + 1,
          'and coordinators see that there is news');
select test.same($$select count(*), bool_or(batch in (pg_temp.id(138), pg_temp.id(139)))
                   from giro_directory.read_marks() where shard = 'h1'$$, $$values (30, false)$$,
                 'marks that are missing are forgotten, the others stay');
select is((select count(*) from giro_directory.marks where shard = 'h1'), 30::bigint,
          'for good');
select test.same($$select shard, epoch, timeline, fenced, missing_marks, reason
                   from giro_directory.readmissions$$,
    $$values ('h1', 2, '00000002', 'an older copy', array[pg_temp.id(139), pg_temp.id(138)],
              'we know')$$, 'it is recorded');
select pg_temp.note('g1', 'h1', 1, 139, 139);
select is_empty($$select from giro_directory.read_marks() where batch = pg_temp.id(139)$$,
                'a mark of the lost history that is noted too late means nothing');
select is(giro_directory.readmit('h1', 'host=c', '12', 8, '00000002', null, '{}', 'again'),
          9::bigint, 'a server may have had a higher epoch than the directory');
select throws_ok($$select giro_directory.readmit('h9', 'x', '1', 1, '00000001', null, '{}', 'x')$$,
                 'P0002', null, 'an unknown shard is refused');
select * from finish();
rollback;
