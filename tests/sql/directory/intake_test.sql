-- Intake: scopes are paused and resumed, are what they may be, and are bounded.
select * from no_plan();
select is_empty('select * from giro_directory.read_intake()', 'at first everything is taken');
select ok(giro_directory.pause_intake('shard:shard-1', 'maintenance'), 'a shard is paused');
select ok(giro_directory.pause_intake('all', 'an incident'), 'and everything');
select is(string_agg(scope || ': ' || reason, ', ' order by place),
          'all: an incident, shard:shard-1: maintenance', 'both are read, by scope')
from giro_directory.read_intake() with ordinality r (scope, reason, since, place);
select since from giro_directory.read_intake() where scope = 'all' \gset
select ok(giro_directory.pause_intake('all', 'another reason'), 'again');
select is(reason || ' ' || since, 'another reason ' || :'since', 'the newer reason, since then')
from giro_directory.read_intake() where scope = 'all';
select throws_ok(format('select giro_directory.pause_intake(%L, ''x'')', scope), '23514', null,
                 'not a scope: ' || scope)
from unnest(array['', 'everything', 'shard:', 'shard:A', 'account:', 'account:a b', 'al',
                  'account:' || repeat('a', 97)]) scope;
select throws_ok($$select giro_directory.pause_intake('all', '')$$, '23514', null,
                 'a reason is needed');
select is(count(*), 62::bigint, 'sixty-two more')
from generate_series(1, 62) n where giro_directory.pause_intake('account:a' || n, 'x');
select is(giro_directory.pause_intake('account:b', 'x'), false, 'and no more');
select ok(giro_directory.pause_intake('all', 'x'), 'but what is paused may be paused again');
select ok(giro_directory.resume_intake('account:a7'), 'one is resumed');
select is(giro_directory.resume_intake('account:a7'), false, 'once');
select ok(giro_directory.pause_intake('account:b', 'x'), 'so that another one has room');
select is(has_function_privilege('giro_coordinator', f, 'execute'), true, 'granted: ' || f)
from unnest(array['giro_directory.read_intake()', 'giro_directory.pause_intake(text, text)',
                  'giro_directory.resume_intake(text)']) f;
select is(has_table_privilege('giro_coordinator', 'giro_directory.paused_intake', 'select'), false,
          'the table is not');
truncate giro_directory.paused_intake;
select * from finish();
