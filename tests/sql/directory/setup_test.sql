-- The directory: set-up that may be repeated, ranges that always form a chain, rights.
select * from no_plan();
create function pg_temp.version() returns bigint
language sql
as 'select version from giro_directory.read_cluster()';
create function pg_temp.split(p_keyspace text, p_ends bytea[], p_shards text[]) returns int
language sql
as $$
    select giro_directory.setup_partitions(p_keyspace, array_prepend('\x'::bytea, p_ends),
                                           array_append(p_ends, null), p_shards)
$$;

select throws_ok($$select giro_directory.setup_shard('s1', 1, 'x', null, '1')$$, 'GR010',
                 'this directory has no cluster yet', 'the cluster comes first');
select lives_ok($$select giro_directory.setup_cluster('demo')$$, 'a cluster is set up');
select lives_ok($$select giro_directory.setup_cluster('demo')$$, 'again');
select throws_ok($$select giro_directory.setup_cluster('other')$$, 'GR010',
                 'this directory is of cluster demo, not of other', 'another one is refused');
select test.same('select * from giro_directory.read_cluster()', $$values ('demo', 1, 1)$$,
                 'and read');

-- shards
select lives_ok($$select giro_directory.setup_shard('s2', 2, 'host=b', '{"zone": "x"}', '22')$$,
                'a shard is set up');
select lives_ok($$select giro_directory.setup_shard('s1', 1, 'host=a', null, '11')$$, 'another');
select test.same('select name, ordinal, dsn from giro_directory.read_shards()',
                 $$values ('s1', 1, 'host=a'), ('s2', 2, 'host=b')$$,
                 'they are read in lock order');
select pg_temp.version() as version \gset
select lives_ok($$select giro_directory.setup_shard('s1', 1, 'host=a', '{}', '11')$$, 'again');
select is(pg_temp.version(), :version::bigint, 'what changes nothing leaves the version');
select lives_ok($$select giro_directory.setup_shard('s1', 1, 'host=c', '{}', '11')$$,
                'a shard may be found elsewhere');
select is(pg_temp.version(), :version::bigint + 1, 'what changes something raises it');
select is((select dsn from giro_directory.read_shards() limit 1), 'host=c', 'and is read');
select throws_ok($$select giro_directory.setup_shard('s1', 3, 'host=a', '{}', '11')$$, 'GR010',
                 'shard s1 has ordinal 1, which never changes, not 3', 'ordinals never change');
select throws_ok($$select giro_directory.setup_shard('s3', 1, 'host=a', '{}', '11')$$, 'GR010',
                 'ordinal 1 of shard s3 belongs to another shard', 'nor are they shared');
select throws_ok($$select giro_directory.setup_shard('s1', 1, 'host=a', '{}', '12')$$, 'GR010',
                 'shard s1 is the Postgres cluster with system identifier 11, not 12',
                 'another Postgres is refused');

-- keyspaces
select lives_ok($$select giro_directory.setup_keyspace('', 'hash', '2pc'),
                         giro_directory.setup_keyspace('t:', 'compound', 'saga')$$,
                'keyspaces are set up');
select lives_ok($$select giro_directory.setup_keyspace('', 'hash', '2pc')$$, 'again');
select test.same('select * from giro_directory.read_keyspaces()',
                 $$values ('', 'hash', '2pc'), ('t:', 'compound', 'saga')$$, 'and read');
select throws_ok($$select giro_directory.setup_keyspace('', 'range', '2pc')$$, 'GR010',
                 'keyspace "" is of kind hash, which never changes, not range',
                 'a kind never changes');
select lives_ok($$select giro_directory.setup_keyspace('', 'hash', 'saga')$$, 'a mode may');
select is((select default_mode from giro_directory.read_keyspaces() limit 1), 'saga', 'it does');
select test.same('select * from giro_directory.check_cover()',
                 $$values ('', null::bytea, null::bytea, 'gap'), ('t:', null, null, 'gap')$$,
                 'a keyspace without partitions is a gap');

-- partitions
select is(pg_temp.split('', array['\x40', '\x80']::bytea[], array['s1', 's2', 's1']), 3,
          'a keyspace is split');
select pg_temp.version() as version \gset
select is(pg_temp.split('', array['\x40', '\x80']::bytea[], array['s1', 's2', 's1']), 0, 'once');
select is(pg_temp.split('', array['\x77']::bytea[], array['s1', 's2']), 0,
          'what has partitions is left as it is');
select is(pg_temp.version(), :version::bigint, 'and the version too');
select is(pg_temp.split('t:', '{}', array['s2']), 1, 'one partition may be all');
select test.same('select partition, keyspace, lo, hi, shard, epoch
                  from giro_directory.read_partitions()',
    $$values (1, '', '\x'::bytea, '\x40'::bytea, 's1', 1), (2, '', '\x40', '\x80', 's2', 1),
             (3, '', '\x80', null, 's1', 1), (4, 't:', '\x', null, 's2', 1)$$,
    'partitions are read by keyspace and range');
select is_empty('select * from giro_directory.check_cover()', 'all is covered');
select throws_ok($$select giro_directory.setup_keyspace('u:', 'hash', '2pc')$$, 'GR010',
                 'keyspace "u:" would take ids from keyspace "", which is in use',
                 'no keyspace takes ids from another');
select is(pg_temp.version(), :version::bigint + 1, 'a refusal changes nothing');

-- the chain: every kind of break is refused by a constraint
create temporary table cases (violates text, statement text);
insert into cases
values
    ('migrations_pkey', $$insert into giro_directory.migrations values (1, 'x'), (1, 'y')$$),
    ('partitions_lower_ends_differ',
     $$insert into giro_directory.partitions (keyspace, lo, hi, shard)
       values ('', '\x40', '\x50', 's1')$$),
    ('partitions_upper_ends_differ',
     $$insert into giro_directory.partitions (keyspace, lo, hi, shard)
       values ('', '\x20', '\x40', 's1')$$),
    ('partitions_upper_ends_differ',
     $$insert into giro_directory.partitions (keyspace, lo, hi, shard)
       values ('', '\x90', null, 's1')$$),
    ('partitions_upper_end_is_the_next_lower_end',
     $$insert into giro_directory.partitions (keyspace, lo, hi, shard)
       values ('', '\x20', '\x30', 's1')$$),
    ('partitions_upper_end_is_the_next_lower_end',
     $$delete from giro_directory.partitions where partition = 2$$),
    ('partitions_upper_end_is_the_next_lower_end',
     $$delete from giro_directory.partitions where partition = 3$$),
    ('partitions_upper_end_is_the_next_lower_end',
     $$update giro_directory.partitions set hi = '\x50' where partition = 1$$),
    ('partitions_range_is_not_empty',
     $$update giro_directory.partitions set hi = lo where partition = 1$$),
    ('partitions_epoch_is_positive', 'update giro_directory.partitions set epoch = 0'),
    ('partitions_key', $$insert into giro_directory.partitions overriding system value
                        values (1, '', '\x01', '\x40', 's1', 1)$$),
    ('partitions_keyspace_exists',
     $$insert into giro_directory.partitions (keyspace, lo, shard) values ('z:', '\x', 's1')$$),
    ('partitions_shard_exists', $$update giro_directory.partitions set shard = 's9'$$),
    ('cluster_has_one_row', $$insert into giro_directory.cluster (name) values ('x')$$),
    ('cluster_singleton_is_true', 'update giro_directory.cluster set singleton = false'),
    ('cluster_name_is_a_name', $$update giro_directory.cluster set name = ''$$),
    ('shards_key', $$insert into giro_directory.shards values ('s1', 7, 'x', '{}', '1')$$),
    ('shards_ordinal_is_unique',
     $$insert into giro_directory.shards values ('s7', 1, 'x', '{}', '1')$$),
    ('shards_name_is_a_name',
     $$insert into giro_directory.shards values ('S', 7, 'x', '{}', '1')$$),
    ('shards_ordinal_is_not_negative',
     $$insert into giro_directory.shards values ('s', -1, 'x', '{}', '1')$$),
    ('shards_tags_are_an_object',
     $$insert into giro_directory.shards values ('s', 7, 'x', '1', '1')$$),
    ('shards_system_identifier_is_not_empty',
     $$insert into giro_directory.shards values ('s', 7, 'x', '{}', '')$$),
    ('shards_epoch_is_positive', 'update giro_directory.shards set epoch = 0'),
    ('shards_timeline_is_one', $$update giro_directory.shards set timeline = '1'$$),
    ('marks_key', $$insert into giro_directory.marks
                    select 's1', gen_random_uuid(), 1, 'g' union all
                    select 's1', '00000000-0000-8000-8000-000000000001', 1, 'g'
                    from generate_series(1, 2)$$),
    ('marks_shard_exists',
     $$insert into giro_directory.marks values ('s9', gen_random_uuid(), 1, 'g')$$),
    ('readmissions_key', $$insert into giro_directory.readmissions
                           select 's1', 2, '00000001', null, '{}', 'x'
                           from generate_series(1, 2)$$),
    ('readmissions_shard_exists', $$insert into giro_directory.readmissions
                                    values ('s9', 2, '00000001', null, '{}', 'x')$$),
    ('readmissions_say_why', $$insert into giro_directory.readmissions
                               values ('s1', 2, '00000001', null, '{}', '')$$),
    ('paused_intake_key', $$insert into giro_directory.paused_intake
                            select 'all', 'x' from generate_series(1, 2)$$),
    ('paused_intake_scope_is_one',
     $$insert into giro_directory.paused_intake values ('some', 'x')$$),
    ('paused_intake_says_why', $$insert into giro_directory.paused_intake values ('all', '')$$),
    ('keyspaces_key', $$insert into giro_directory.keyspaces values ('', 'hash')$$),
    ('keyspaces_kind_is_known', $$insert into giro_directory.keyspaces values ('k', 'list')$$),
    ('keyspaces_default_mode_is_known',
     $$insert into giro_directory.keyspaces values ('k', 'hash', 'auto')$$),
    ('keyspaces_prefix_is_part_of_an_id',
     $$insert into giro_directory.keyspaces values ('k k', 'hash')$$);
select is(test.violated(statement), violates, regexp_replace(statement, '\s+', ' ', 'g'))
from cases;
select is_empty(
    $$select c.conname from pg_constraint c
      where c.connamespace = 'giro_directory'::regnamespace
        and c.conname not in (select violates from cases)$$,
    'every constraint has a case');

-- edits that keep it
begin;
update giro_directory.partitions set hi = '\x20', epoch = epoch + 1 where partition = 1;
insert into giro_directory.partitions (keyspace, lo, hi, shard) values ('', '\x20', '\x40', 's2');
commit;
select is_empty('select * from giro_directory.check_cover()', 'a split keeps the chain');
begin;
delete from giro_directory.partitions where keyspace = '' and lo = '\x20';
update giro_directory.partitions set hi = '\x40', epoch = epoch + 1 where partition = 1;
commit;
select is_empty('select * from giro_directory.check_cover()', 'and so does a merge');

-- what the constraints leave to check_cover
begin;
update giro_directory.partitions set lo = '\x10' where partition = 1;
select test.same('select * from giro_directory.check_cover()',
                 $$values ('', '\x10'::bytea, '\x40'::bytea, 'gap')$$,
                 'a start that is not covered');
rollback;
begin;
alter table giro_directory.partitions drop constraint partitions_upper_end_is_the_next_lower_end;
update giro_directory.partitions set hi = '\x50' where partition = 1;
update giro_directory.partitions set hi = '\x70' where partition = 2;
update giro_directory.partitions set hi = '\xff' where partition = 4;
select test.same('select * from giro_directory.check_cover()',
    $$values ('', '\x40'::bytea, '\x70'::bytea, 'overlap'), ('', '\x80', null, 'gap'),
             ('t:', '\xff', null, 'gap')$$, 'and all else, without the constraints');
rollback;
delete from giro_directory.partitions where keyspace = 't:';
select throws_ok($$select giro_directory.setup_partitions('t:', array['\x10']::bytea[],
                   array[null]::bytea[], array['s1'])$$, 'GR010',
                 'the partitions of keyspace "t:" do not cover it: gap at \x10',
                 'a set-up must cover its keyspace');

-- rights
select test.same(
    $$select p.proname from pg_proc p
      where p.pronamespace = 'giro_directory'::regnamespace
        and has_function_privilege('giro_coordinator', p.oid, 'execute')
      order by p.proname collate "C"$$,
    $$values ('note_marks'), ('pause_intake'), ('read_cluster'), ('read_intake'),
             ('read_keyspaces'), ('read_marks'),
             ('read_partitions'), ('read_shards'), ('resume_intake')$$,
    'the coordinator reads, notes marks, and pauses and resumes intake');
select is_empty(
    $$select p.proname from pg_proc p
      where p.pronamespace = 'giro_directory'::regnamespace
        and has_function_privilege('giro_stranger', p.oid, 'execute')$$, 'a stranger does nothing');
select is_empty(
    $$select c.relname, p
      from pg_class c,
           unnest(array['select', 'insert', 'update', 'delete', 'truncate', 'references']) p
      where c.relnamespace = 'giro_directory'::regnamespace and c.relkind = 'r'
        and has_table_privilege('giro_coordinator', c.oid, p)$$, 'nobody has a right on any table');
call test.open('a');
select is((select count(*) from test.ask('a', 'select * from giro_directory.read_partitions()')),
          3::bigint, 'the coordinator reads partitions');
select throws_ok(format('call test.execute(''a'', %L)', s), '42501', null, s)
from unnest(array['select * from giro_directory.shards',
                  'delete from giro_directory.partitions',
                  'select giro_directory.setup_cluster(''demo'')',
                  'select giro_directory.raise_version(true)']) s;
call test.close('a');
select * from finish();
