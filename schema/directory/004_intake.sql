-- What takes no new transfers for now, by an operator's wish: everything, a shard, an account. All
-- coordinators read it about once a second (coordinator/shard/intake.h); what was accepted goes on.

create table giro_directory.paused_intake
(
    scope  text collate "C" not null, -- 'all', 'shard:<name>' or 'account:<id>'
    reason text not null,             -- the operator's, of the last pause
    since  timestamptz not null default clock_timestamp(),
    constraint paused_intake_key primary key (scope),
    constraint paused_intake_scope_is_one
        check (scope ~ '^(all|shard:[a-z0-9-]{1,40}|account:[A-Za-z0-9._:@-]{1,96})$'),
    constraint paused_intake_says_why check (octet_length(reason) between 1 and 1000)
);

create function giro_directory.read_intake()
returns table (scope text, reason text, since timestamptz)
language sql stable security definer
set search_path = pg_catalog, giro_directory, pg_temp
as 'select p.scope, p.reason, p.since from paused_intake p order by p.scope';

-- Pauses the intake of a scope; again: with the new reason, since the first time. False if 64
-- scopes are paused and this is another one. Those that pause at once wait for one another.
create function giro_directory.pause_intake(p_scope text, p_reason text) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, giro_directory, pg_temp
as $$
begin
    lock table paused_intake in share row exclusive mode;
    if not exists (select from paused_intake p where p.scope = p_scope)
        and (select count(*) from paused_intake) >= 64
    then
        return false;
    end if;
    insert into paused_intake (scope, reason)
    values (p_scope, p_reason)
    on conflict (scope) do update set reason = excluded.reason;
    return true;
end
$$;

-- Resumes the intake of exactly this scope; false if it was not paused.
create function giro_directory.resume_intake(p_scope text) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, giro_directory, pg_temp
as $$
begin
    delete from paused_intake p where p.scope = p_scope;
    return found;
end
$$;

revoke execute on all functions in schema giro_directory from public;
