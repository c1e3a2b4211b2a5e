#!/usr/bin/env bash
# Runs the SQL tests: starts a private Postgres cluster that is reachable only through a socket in
# a directory of its own, makes a shard and a directory database from the files of schema/ and
# participants/, compares them with golden/, runs every test by pg_prove, and takes all down again.
#
#   tests/sql/run.sh [--update-golden] [test file ...]
#
# PG_BINDIR names the binaries of Postgres 15 or later; GIRO_TEST_USER the unprivileged user that
# runs them when the caller is root (default: postgres).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
bindir=${PG_BINDIR:-$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)}
update_golden=no
tests=()
for argument in "$@"; do
    case $argument in
        --update-golden) update_golden=yes ;;
        *) tests+=("$(realpath "$argument")") ;;
    esac
done

work=$(mktemp -d /tmp/giro-sql.XXXXXX)
as_server=()
if [ "$(id -u)" = 0 ]; then
    server_user=${GIRO_TEST_USER:-postgres}
    chown "$server_user" "$work"
    as_server=(runuser -u "$server_user" --)
fi

stop()
{
    status=$?
    trap - EXIT
    (cd "$work" && "${as_server[@]}" "$bindir/pg_ctl" -D "$work/data" -m immediate -w stop) \
        >/dev/null 2>&1 || true
    if [ $status -ne 0 ] && [ -f "$work/log" ]; then
        grep -E 'PANIC|deadlock' "$work/log" | tail -5 >&2 || true
    fi
    rm -rf "$work"
    exit $status
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

start()
{
    cd "$work"
    "${as_server[@]}" "$bindir/initdb" -D "$work/data" -U giro_test -A trust -E UTF8 \
        --locale=C --no-sync >"$work/initdb.log"
    cat >>"$work/data/postgresql.conf" <<CONF
listen_addresses = ''
unix_socket_directories = '$work'
port = 5432
max_prepared_transactions = 64
fsync = off
timezone = 'UTC'
statement_timeout = '30s'
log_line_prefix = '%m %p '
CONF
    "${as_server[@]}" "$bindir/pg_ctl" -D "$work/data" -l "$work/log" -w start >/dev/null
    cd "$root"
}

# psql that stops at the first error, settings of the caller's psqlrc ignored
sql()
{
    "$bindir/psql" -X -q -v ON_ERROR_STOP=1 "$@"
}

load() # database, file ...: each file as the owner, in one transaction
{
    local database=$1 file
    shift
    for file in "$@"; do
        sql -U giro_owner -d "$database" -1 -f "$file"
    done
}

# What a reader wants to compare: no versions, settings, comments or random keys.
dump()
{
    "$bindir/pg_dump" -d "$1" -n "$2" --schema-only --no-owner |
        grep -v -E '^(--|SET |SELECT pg_catalog.set_config|\\(un)?restrict)' | cat -s
}

functions() # the interface: names, parameters, results, rights and settings, not the bodies
{
    sql -d "$1" -At -F '' <<'SQL'
select p.oid::regprocedure::text, E'\n    returns ', pg_get_function_result(p.oid), E'\n    ',
       case p.provolatile when 'v' then 'volatile' when 's' then 'stable' else 'immutable' end,
       case when p.prosecdef then ' security definer' else ' security invoker' end,
       (select string_agg(E'\n    set ' || c, '' order by place)
        from unnest(p.proconfig) with ordinality s (c, place))
from pg_proc p
where p.pronamespace = 'giro'::regnamespace
order by p.proname;
SQL
}

golden() # file, its new content on stdin
{
    if [ $update_golden = yes ]; then
        cat >"$here/golden/$1"
    elif ! diff -u "$here/golden/$1" -; then
        echo "golden/$1 differs; if that is meant: tests/sql/run.sh --update-golden" >&2
        return 1
    fi
}

start
export PGHOST=$work PGPORT=5432 PGUSER=giro_test PGOPTIONS='-c client_min_messages=warning'
unset PGDATABASE PGSERVICE PGPASSWORD

schema_shard=("$root"/schema/shard/*.sql)
schema_directory=("$root"/schema/directory/*.sql)
participants=("$root"/participants/*.sql)
mapfile -t participants_reversed < <(printf '%s\n' "${participants[@]}" | LC_ALL=C sort -r)

sql -d postgres <<'SQL'
create role giro_owner login;
create role giro_coordinator login;
create role giro_stranger login;
create database shard owner giro_owner;
create database shard_reversed owner giro_owner;
create database directory owner giro_owner;
SQL
failed=0

load shard "${schema_shard[@]}"
dump shard giro | golden shard.sql || failed=1
load shard "${participants[@]}"
functions shard | golden functions.txt || failed=1

# The files of participants/ need no order, and may be loaded again.
load shard_reversed "${schema_shard[@]}" "${participants_reversed[@]}" "${participants[@]}"
diff -u <(functions shard) <(functions shard_reversed) || failed=1

load directory "${schema_directory[@]}"
dump directory giro_directory | golden directory.sql || failed=1

sql -U giro_owner -d shard -c "select giro.grant_coordinator('giro_coordinator')" >/dev/null
sql -U giro_owner -d directory \
    -c "select giro_directory.grant_coordinator('giro_coordinator')" >/dev/null
for database in shard directory; do
    sql -d "$database" -c 'create extension pgtap' -c 'create extension dblink' \
        -f "$here/helpers.sql"
done
sql -d shard -f "$here/helpers_shard.sql"

[ ${#tests[@]} -gt 0 ] || tests=("$here"/shard/*_test.sql "$here"/directory/*_test.sql)
for database in shard directory; do
    chosen=()
    for test in "${tests[@]}"; do
        [[ $test != */"$database"/* ]] || chosen+=("$test")
    done
    [ ${#chosen[@]} -eq 0 ] ||
        pg_prove --psql-bin "$bindir/psql" -d "$database" "${chosen[@]}" || failed=1
done
exit $failed
