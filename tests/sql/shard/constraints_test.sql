-- Every constraint of the schema refuses what its name says, and none is without a case here.
select * from no_plan();
call test.reset();
call test.account('alice', 100);
call test.run(test.record_call(1, 1, '2pc', 'alice', 'x', 5));
insert into giro.migrations (number, name) values (1, 'x') on conflict do nothing;
insert into giro.receipts values (test.id(1), 'x', '\x', 'applied', null, test.id(1), now());
insert into giro.clearing values (test.id(1), 'fold', 'ABC', 1, 'x'),
                                 (test.id(2), 'fold', 'ABC', -1, 'x');

create function pg_temp.account(p_set text) returns text
language sql
as $$ select 'update giro.accounts set ' || p_set || ' where id = ''alice''' $$;
create function pg_temp.entry(p_set text) returns text
language sql
as $$ select 'update giro.entries set ' || p_set || ' where account = ''alice''' $$;
create function pg_temp.transfer(p_set text) returns text
language sql
as $$ select 'update giro.transfers set ' || p_set $$;
create function pg_temp.batch(p_values text) returns text
language sql
as $$
    select 'insert into giro.batches (batch, role, mode, verdict, home, remote, transfer_count, '
           'finished_at, coordinator, created_at) values (' || p_values || ', ''g'', now())'
$$;
create temporary table cases (violates text, statement text);
insert into cases
values
    ('migrations_pkey', $$insert into giro.migrations values (1, 'again')$$),
    ('shard_has_one_row', $$insert into giro.shard (cluster, name, ordinal) values ('d', 'x', 2)$$),
    ('shard_singleton_is_true', 'update giro.shard set singleton = false'),
    ('shard_cluster_is_a_name', $$update giro.shard set cluster = 'Demo'$$),
    ('shard_name_is_a_name', $$update giro.shard set name = repeat('x', 41)$$),
    ('shard_ordinal_is_not_negative', 'update giro.shard set ordinal = -1'),
    ('shard_epoch_is_positive', 'update giro.shard set epoch = 0'),
    ('shard_fence_says_why_and_when', $$update giro.shard set fenced = 'x'$$),
    ('shard_fence_says_why_and_when', 'update giro.shard set fenced_at = now()'),
    ('shard_fence_says_why_and_when', $$update giro.shard set fenced = '', fenced_at = now()$$),
    ('coordinators_key', $$insert into giro.coordinators values ('g'), ('g')$$),
    ('coordinators_instance_is_a_name', $$insert into giro.coordinators values ('G')$$),
    ('partitions_key', 'update giro.partitions set partition = 1'),
    ('partitions_kind_is_known', $$update giro.partitions set kind = 'list'$$),
    ('partitions_range_is_not_empty', 'update giro.partitions set hi = lo'),
    ('partitions_epoch_is_positive', 'update giro.partitions set epoch = 0'),
    ('partitions_state_is_known', $$update giro.partitions set state = 'lost'$$),
    ('accounts_key', $$update giro.accounts set id = 'alice'$$),
    ('accounts_id_has_1_to_96_bytes', pg_temp.account($$id = ''$$)),
    ('accounts_id_has_1_to_96_bytes', pg_temp.account($$id = repeat('x', 97)$$)),
    ('accounts_currency_has_3_to_8_bytes', pg_temp.account($$currency = 'EU'$$)),
    ('accounts_balance_within_limits', pg_temp.account('balance = 9007199254740992')),
    ('accounts_balance_within_limits',
     pg_temp.account('balance = -9007199254740992, floor = null')),
    ('accounts_balance_not_below_floor', pg_temp.account('balance = -1')),
    ('accounts_floor_not_above_zero', pg_temp.account('floor = 1')),
    ('accounts_floor_not_above_zero', pg_temp.account('floor = -9007199254740992')),
    ('accounts_version_is_not_negative', pg_temp.account('version = -1')),
    ('accounts_status_is_known', pg_temp.account($$status = 'lost'$$)),
    ('accounts_closed_is_empty', pg_temp.account($$status = 'closed'$$)),
    ('accounts_metadata_is_an_object', pg_temp.account($$metadata = '[]'$$)),
    ('entries_key', $$insert into giro.entries values ('alice', 1, test.id(77), 'credit', 1, 1, 'x',
                      null, now())$$),
    ('entries_one_effect_per_step', $$insert into giro.entries select 'other', 1, transfer, step, 1,
                                      1, 'x', null, now()
                                      from giro.entries where account = 'alice'$$),
    ('entries_seq_is_positive', pg_temp.entry('seq = 0')),
    ('entries_step_is_known', pg_temp.entry($$step = 'fee'$$)),
    ('entries_amount_within_limits', pg_temp.entry('amount = 9007199254740992')),
    ('entries_sign_follows_step', pg_temp.entry('amount = 0')),
    ('entries_sign_follows_step', pg_temp.entry('amount = -1')),
    ('entries_sign_follows_step', pg_temp.entry($$step = 'debit'$$)),
    ('entries_balance_within_limits', pg_temp.entry('balance = 9007199254740992')),
    ('transfers_key', test.record_call(2, 1, '2pc', 'alice', 'x', 5)),
    ('transfers_amount_is_positive', pg_temp.transfer('amount = 0')),
    ('transfers_amount_is_positive', pg_temp.transfer('amount = 9007199254740992')),
    ('transfers_mode_is_known', pg_temp.transfer($$mode = 'auto'$$)),
    ('transfers_state_is_known',
     pg_temp.transfer($$mode = 'saga', state = 'lost', refusal = null$$)),
    ('transfers_only_sagas_wait_or_reverse',
     pg_temp.transfer($$state = 'pending', decided_at = null$$)),
    ('transfers_final_ones_are_decided', pg_temp.transfer('decided_at = null')),
    ('transfers_final_ones_are_decided', pg_temp.transfer($$mode = 'saga', state = 'pending'$$)),
    ('transfers_failures_say_why', pg_temp.transfer($$state = 'refused'$$)),
    ('transfers_failures_say_why', pg_temp.transfer($$refusal = 'cancelled'$$)),
    ('transfers_same_account_is_refused', pg_temp.transfer('credit_account = debit_account')),
    ('transfers_metadata_is_an_object', pg_temp.transfer($$metadata = '1'$$)),
    ('transfers_only_sagas_are_given_up', pg_temp.transfer($$giving_up = 'cancelled'$$)),
    ('transfers_only_sagas_are_given_up', pg_temp.transfer('deadline_at = now()')),
    ('transfers_pending_ones_are_due',
     pg_temp.transfer($$mode = 'saga', state = 'pending', decided_at = null$$)),
    ('transfers_only_pending_and_lost_ones_are_due',
     pg_temp.transfer($$mode = 'local', next_attempt_at = now()$$)),
    ('transfers_only_pending_and_lost_ones_are_due',
     pg_temp.transfer($$state = 'refused', refusal = 'cancelled', next_attempt_at = now()$$)),
    ('transfers_only_due_ones_are_worked_at', pg_temp.transfer($$coordinator = 'g'$$)),
    ('transfers_attempts_are_counted', pg_temp.transfer('attempts = -1')),
    ('receipts_key', 'insert into giro.receipts select * from giro.receipts'),
    ('receipts_outcome_is_known', $$update giro.receipts set outcome = 'lost'$$),
    ('receipts_refused_ones_say_why', $$update giro.receipts set outcome = 'refused'$$),
    ('receipts_refused_ones_say_why', $$update giro.receipts set refusal = 'account-closed'$$),
    ('batches_first_row_wins', 'insert into giro.batches select * from giro.batches'),
    ('batches_role_is_known', pg_temp.batch($$test.id(9), 'x', '2pc', 'commit', 'a', 'b', 1,
                                            now()$$)),
    ('batches_mode_is_known', pg_temp.batch($$test.id(9), 'home', 'x', 'commit', 'a', 'b', 1,
                                            now()$$)),
    ('batches_verdict_is_known', pg_temp.batch($$test.id(9), 'home', '2pc', 'x', 'a', 'b', 1,
                                               now()$$)),
    ('batches_only_home_decides', pg_temp.batch($$test.id(9), 'remote', '2pc', 'abort', 'a', 'b',
                                                1, now()$$)),
    ('batches_local_has_no_remote', pg_temp.batch($$test.id(9), 'home', 'local', 'commit', 'a',
                                                  'b', 1, now()$$)),
    ('batches_local_has_no_remote', pg_temp.batch($$test.id(9), 'remote', 'local', 'commit', 'a',
                                                  'a', 1, now()$$)),
    ('batches_only_home_2pc_commits_stay_open',
     pg_temp.batch($$test.id(9), 'home', 'saga', 'commit', 'a', 'b', 1, null$$)),
    ('batches_only_home_2pc_commits_stay_open',
     pg_temp.batch($$test.id(9), 'remote', '2pc', 'commit', 'a', 'b', 1, null$$)),
    ('batches_only_home_2pc_commits_stay_open',
     pg_temp.batch($$test.id(9), 'home', '2pc', 'abort', 'a', 'b', 1, null$$)),
    ('batches_transfers_are_counted', pg_temp.batch($$test.id(9), 'home', '2pc', 'commit', 'a',
                                                    'b', -1, now()$$)),
    ('clearing_key', 'insert into giro.clearing select * from giro.clearing'),
    ('clearing_step_is_known', $$update giro.clearing set step = 'fee'$$),
    ('clearing_amount_is_not_zero', 'update giro.clearing set amount = 0'),
    ('reconciled_key', $$insert into giro.reconciled values ('a', 1, 1), ('a', 2, 1)$$),
    ('reconciliation_carried_key',
     'insert into giro.reconciliation_carried values (test.id(1)), (test.id(1))'),
    ('reconciliation_has_one_row', 'insert into giro.reconciliation default values'),
    ('reconciliation_singleton_is_true', 'update giro.reconciliation set singleton = false');
select is(test.violated(statement), violates, regexp_replace(statement, '\s+', ' ', 'g'))
from cases;

-- What the constraints must let through.
select is(test.violated(statement), '', regexp_replace(statement, '\s+', ' ', 'g'))
from unnest(array[
    pg_temp.account('balance = 9007199254740991'),
    pg_temp.account('balance = -9007199254740991, floor = null'),
    pg_temp.account('balance = -5, floor = -5'),
    pg_temp.account($$balance = 0, status = 'closed'$$),
    pg_temp.transfer('amount = 9007199254740991'),
    pg_temp.transfer($$mode = 'saga', state = 'pending', decided_at = null,
                       next_attempt_at = now(), deadline_at = now(), giving_up = 'cancelled'$$),
    pg_temp.transfer($$next_attempt_at = now(), coordinator = 'g'$$),
    pg_temp.transfer($$mode = 'saga', state = 'reversed', refusal = 'cancelled'$$),
    pg_temp.transfer($$state = 'refused', refusal = 'same-account',
                       credit_account = debit_account$$),
    pg_temp.batch($$test.id(9), 'home', '2pc', 'commit', 'a', 'b', 1, null$$),
    'update giro.partitions set hi = null',
    $$update giro.clearing set amount = 1e30$$]) statement;

select is_empty(
    $$select c.conname from pg_constraint c
      where c.connamespace = 'giro'::regnamespace
        and c.conname not in (select violates from cases)$$,
    'every constraint has a case');
select is_empty(
    $$select c.conname from pg_constraint c
      where c.connamespace = 'giro'::regnamespace and c.contype in ('f', 't')$$,
    'there are no foreign keys and no constraint triggers');
select is_empty(
    $$select a.attrelid::regclass, a.attname
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      join pg_index i on i.indrelid = c.oid and a.attnum = any (i.indkey)
      where c.relnamespace = 'giro'::regnamespace and a.atttypid = 'text'::regtype
        and a.attcollation <> '"C"'::regcollation and a.attname <> 'step'$$,
    'all text keys but the words of steps are collated by bytes');
select * from finish();
