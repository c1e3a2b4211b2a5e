-- Helpers of all SQL tests, in a schema of their own that is no part of Giro.
create schema test;

-- A query whose rows come as one text each.
create function test.wrapped(p_sql text) returns text
language sql immutable
as $$ select 'select r::text from (' || p_sql || ') r' $$;

-- Both queries answer the same rows in the same order, compared as text.
create function test.same(p_have text, p_want text, p_description text) returns text
language sql
as $$ select public.results_eq(test.wrapped(p_have), test.wrapped(p_want), p_description) $$;

-- The constraint that a statement violates, deferred ones included; '' if none. It leaves nothing.
create function test.violated(p_sql text) returns text
language plpgsql
as $$
declare
    v_constraint text := '';
begin
    begin
        execute p_sql;
        set constraints all immediate;
        raise exception using errcode = 'TEST0';
    exception
        when sqlstate 'TEST0' then
            null;
        when integrity_constraint_violation then
            get stacked diagnostics v_constraint = constraint_name;
    end;
    return v_constraint;
end
$$;

-- Second sessions, by dblink.
create procedure test.open(p_session text, p_user text default 'giro_coordinator',
                           p_options text default '')
language plpgsql
as $$
begin
    perform public.dblink_connect(p_session, format(
        'host=%s port=%s dbname=%s user=%s options=''%s''',
        current_setting('unix_socket_directories'), current_setting('port'), current_database(),
        p_user, p_options));
end
$$;

create procedure test.close(p_session text)
language plpgsql
as $$
begin
    perform public.dblink_disconnect(p_session);
end
$$;

-- The rows that a query answers in the other session.
create function test.ask(p_session text, p_sql text) returns setof text
language plpgsql
as $$
begin
    return query select * from public.dblink(p_session, test.wrapped(p_sql)) x (row text);
end
$$;

-- Runs a statement in the other session for its effect.
create procedure test.execute(p_session text, p_sql text)
language plpgsql
as $$
begin
    if p_sql like 'select%' then
        perform test.ask(p_session, p_sql);
    else
        perform public.dblink_exec(p_session, p_sql);
    end if;
end
$$;

-- Starts a query in the other session; answer waits for what it answers.
create procedure test.send(p_session text, p_sql text)
language plpgsql
as $$
begin
    if public.dblink_send_query(p_session, test.wrapped(p_sql)) <> 1 then
        raise exception 'cannot send to session %', p_session;
    end if;
end
$$;

create function test.answer(p_session text) returns setof text
language plpgsql
as $$
begin
    return query select * from public.dblink_get_result(p_session) x (row text);
    perform * from public.dblink_get_result(p_session) x (row text);
end
$$;

-- Waits until a condition holds, at most ten seconds.
create procedure test.wait_until(p_condition text)
language plpgsql
as $$
declare
    v_holds boolean;
begin
    for i in 1..1000 loop
        perform pg_stat_clear_snapshot();
        execute 'select ' || p_condition into v_holds;
        exit when v_holds;
        perform pg_sleep(0.01);
    end loop;
    if v_holds is not true then
        raise exception 'not within ten seconds: %', p_condition;
    end if;
end
$$;
