#!/usr/bin/env bash
# Creates and starts a Giro cluster on this machine: a directory database, shards, coordinators.
#
#   GIRO_DIR            where it lives (var, or a place under /var/tmp)
#   GIRO_PORT           of the first coordinator; the second has the next one        (8080)
#   GIRO_PG_PORT        of the directory's Postgres; shard N has GIRO_PG_PORT + N    (6000)
#   GIRO_SHARDS         how many shards; decided when the cluster is created         (3)
#   GIRO_COORDINATORS   how many coordinators                                        (1)
#   GIRO_PROXY_OFFSET   for tests: coordinators reach shards at the shard's port + this (0)
#   GIRO_BIN, GIRO_GIROD_FLAGS   the program, and more flags for `girod serve`
#   GIRO_POSTGRES_SETTINGS       more lines for the postgresql.conf of new databases
#
# Safe to repeat: what runs is left alone, what is missing is started, data is found again. Returns
# when every coordinator is ready. Variables that are not set keep what the cluster was made with.
# With --databases only Postgres servers are started. With --only NAME (shard-2, girod-1) only that
# is started, of a cluster that exists; a coordinator is not waited for then.
set -euo pipefail
# shellcheck source=docker/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

START_SECONDS=60

make_secrets() {
    if [[ ! -f $GIRO_DIR/secrets ]]; then
        printf 'OWNER_PASSWORD=%s\nCOORDINATOR_PASSWORD=%s\n' \
            "$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" \
            "$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')" |
            replace_file "$GIRO_DIR/secrets" 600
    fi
    # shellcheck source=/dev/null
    . "$GIRO_DIR/secrets"
}

check_settings() {
    local shards=${MADE_WITH[GIRO_SHARDS]:-$GIRO_SHARDS}
    local port=${MADE_WITH[GIRO_PG_PORT]:-$GIRO_PG_PORT}
    ((port == GIRO_PG_PORT)) || fail "the cluster in $GIRO_DIR was made with" \
        "GIRO_PG_PORT=$port; choose another GIRO_DIR for other ports"
    ((shards >= GIRO_SHARDS)) || fail "the cluster in $GIRO_DIR was made with $shards shards;" \
        "partitions cannot be moved in this version, so a new shard would own none." \
        "Choose another GIRO_DIR for GIRO_SHARDS=$GIRO_SHARDS"
    ((shards <= GIRO_SHARDS)) || fail "the cluster in $GIRO_DIR was made with $shards shards;" \
        "they cannot be taken away. Choose another GIRO_DIR for GIRO_SHARDS=$GIRO_SHARDS"
    [[ -x $GIRO_BIN ]] || fail "there is no program $GIRO_BIN; run make first"
    [[ -x $POSTGRES_BIN/initdb ]] || fail "there is no PostgreSQL 15 in $POSTGRES_BIN;" \
        "run docker/packages.sh, or set GIRO_POSTGRES_BIN"
}

# Before anything is written: what is refused here can be asked for otherwise.
check_ports() {
    local name number port
    for name in $(database_names); do
        port=$(database_port "$name")
        if [[ -z $(postmaster_pid "$GIRO_DIR/$name/data") ]] && port_answers "$port"; then
            fail_port "$port" "$name" GIRO_PG_PORT
        fi
    done
    for ((number = 1; number <= GIRO_COORDINATORS; number++)); do
        port=$(coordinator_port "$number")
        if [[ -n $(coordinator_pid "$number") ]]; then
            read_coordinator "$number"
            [[ $RUNS_ON == "$port" ]] ||
                fail "girod $number runs on port $RUNS_ON and not on $port; run $DOWN first"
        elif port_answers "$port"; then
            fail_port "$port" "girod $number" GIRO_PORT
        fi
    done
}

# The ports of databases are fixed when they are created.
fail_port() { # port whose variable
    local advice="set $3"
    if [[ $3 == GIRO_PG_PORT ]] && cluster_exists; then
        advice="stop that, or choose another GIRO_DIR for other ports"
    fi
    fail "port $1, meant for $2, is taken by another program; $advice"
}

# Says what runs otherwise than was asked for and is left alone all the same.
compare_coordinators() {
    local number program flags=() restart="run $DOWN first to change that"
    read -r -a flags <<<"${GIRO_GIROD_FLAGS:-}"
    for number in $(coordinator_numbers); do
        [[ -n $(coordinator_pid "$number") ]] || continue
        read_coordinator "$number"
        program=$(readlink "/proc/$(coordinator_pid "$number")/exe" || true)
        if ((number > GIRO_COORDINATORS)); then
            say "girod $number goes on on port $RUNS_ON, beyond" \
                "GIRO_COORDINATORS=$GIRO_COORDINATORS; $restart"
        elif [[ $program == "$(readlink -f "$GIRO_BIN") (deleted)" ]]; then
            say "girod $number runs an earlier build of $GIRO_BIN; $restart"
        elif [[ -n $program && $program != "$(readlink -f "$GIRO_BIN")" ]]; then
            say "girod $number runs another program, $program; $restart"
        fi
        if [[ -n ${GIRO_GIROD_FLAGS+set} && $RUNS_WITH != "${flags[*]}" ]]; then
            say "girod $number runs with other flags ('$RUNS_WITH'); $restart"
        fi
    done
}

# Databases outlive an up that fails later on.
say_what_runs() {
    local status=$?
    if ((status != 0)) && cluster_runs; then
        say "what has started in $GIRO_DIR goes on running; it is stopped by: $DOWN" >&2
    fi
}

make_directories() {
    mkdir -p "$GIRO_DIR"
    take_lock
    mkdir -p "$SOCKETS"
    [[ -O $SOCKETS || $(stat -c %U "$SOCKETS") == "$RUN_USER" ]] ||
        fail "$SOCKETS belongs to another user"
    ((EUID != 0)) || chown "$RUN_USER" "$SOCKETS"
}

# ---- Postgres ------------------------------------------------------------------------------------

postgres_configuration() { # name
    cat <<CONF
# Written by docker/up.sh when the cluster was created; durability is left switched on.
listen_addresses = '127.0.0.1'
port = $(database_port "$1")
unix_socket_directories = '$SOCKETS'
max_connections = 200
max_prepared_transactions = 256
shared_buffers = 128MB
max_wal_size = 2GB
jit = off
tcp_keepalives_idle = 10
tcp_keepalives_interval = 5
tcp_keepalives_count = 3
tcp_user_timeout = 15000
# Shorter than the coordinators' lock_timeout, so that a deadlock shows as one.
deadlock_timeout = 200ms
log_lock_waits = on
log_line_prefix = '%m %p '
log_timezone = 'UTC'
timezone = 'UTC'
${GIRO_POSTGRES_SETTINGS:-}
CONF
}

# A data directory appears under its name only when it is complete.
create_database_cluster() { # name
    local home=$GIRO_DIR/$1 password
    mkdir -p "$home"
    ((EUID != 0)) || chown "$RUN_USER" "$home"
    if [[ -d $home/data ]]; then
        return 0
    fi
    say "$1: creating its Postgres cluster"
    cd "$home"
    rm -rf "$home/data.new"
    password=$home/password
    printf '%s\n' "$OWNER_PASSWORD" | replace_file "$password" 600
    ((EUID != 0)) || chown "$RUN_USER" "$password"
    "${as_user[@]}" "$POSTGRES_BIN/initdb" --pgdata="$home/data.new" --username="$OWNER" \
        --pwfile="$password" --auth=scram-sha-256 --encoding=UTF8 --no-locale \
        >"$home/initdb.log" 2>&1 </dev/null 9>&- || {
        cat "$home/initdb.log" >&2
        fail "$1: initdb failed"
    }
    rm -f "$password" "$home/initdb.log"
    postgres_configuration "$1" >>"$home/data.new/postgresql.conf"
    mv "$home/data.new" "$home/data"
}

# A postmaster that was killed leaves a pid file, a socket, and sometimes a stopped child.
clear_remains() { # name
    local data=$GIRO_DIR/$1/data socket pids tries
    socket=$SOCKETS/.s.PGSQL.$(database_port "$1")
    for ((tries = 0; tries < 50; tries++)); do
        pids=$(postgres_pids "$data")
        [[ -n $pids ]] || break
        sleep 0.1
    done
    if [[ -n $pids ]]; then
        say "$1: ending what its killed Postgres left behind"
        # shellcheck disable=SC2086
        kill -KILL $pids 2>/dev/null || true
        sleep 0.2
    fi
    rm -f "$data/postmaster.pid" "$socket" "$socket.lock"
}

# It may be in the middle of crash recovery.
await_database_cluster() { # name
    local deadline=$((SECONDS + START_SECONDS))
    until "$POSTGRES_BIN/pg_isready" -q -t 3 -h 127.0.0.1 -p "$(database_port "$1")"; do
        ((SECONDS < deadline)) ||
            fail "$1: Postgres runs but does not answer, see $GIRO_DIR/$1/postgres.log"
        sleep 0.1
    done
}

start_database_cluster() { # name
    local home=$GIRO_DIR/$1 port
    port=$(database_port "$1")
    if [[ -n $(postmaster_pid "$home/data") ]]; then
        await_database_cluster "$1"
        return 0
    fi
    if port_answers "$port"; then
        fail_port "$port" "$1" GIRO_PG_PORT
    fi
    create_database_cluster "$1"
    clear_remains "$1"
    cd "$home"
    "${as_user[@]}" "$POSTGRES_BIN/pg_ctl" start --silent --wait --timeout="$START_SECONDS" \
        --pgdata="$home/data" --log="$home/postgres.log" \
        >"$home/start.log" 2>&1 </dev/null 9>&- || {
        tail -n 5 "$home/postgres.log" "$home/start.log" >&2
        fail "$1: Postgres does not start, see $home/postgres.log"
    }
    rm -f "$home/start.log"
    say "$1: Postgres started on port $port"
}

owner_sql() { # name database sql
    PGPASSWORD=$OWNER_PASSWORD PGCONNECT_TIMEOUT=10 "$POSTGRES_BIN/psql" -X -At -q \
        -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$(database_port "$1")" -U "$OWNER" -d "$2" -c "$3" \
        </dev/null 9>&-
}

create_database() { # name
    local there
    there=$(owner_sql "$1" postgres "select count(*) from pg_database where datname = 'giro'")
    if [[ $there == 0 ]]; then
        owner_sql "$1" postgres 'create database giro'
    fi
}

start_databases() {
    local name pids=() failed=0 pid
    for name in $(database_names); do
        (start_database_cluster "$name" && create_database "$name") &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || failed=1
    done
    ((failed == 0)) || exit 1
}

# ---- the cluster ---------------------------------------------------------------------------------

cluster_description() {
    local number
    printf '{"cluster":"%s",\n' "$CLUSTER"
    printf ' "directory":%s,\n "shards":[' "$(description_of directory)"
    for ((number = 1; number <= GIRO_SHARDS; number++)); do
        ((number == 1)) || printf ','
        printf '\n  {"name":"shard-%d","ordinal":%d,"tags":{},%s' "$number" "$number" \
            "$(description_of "shard-$number" | cut -c 2-)"
    done
    printf '],\n'
    keyspaces_description
}

# One of each kind. A cluster keeps those that it was made with: none can be added to it.
keyspaces_description() {
    if [[ -f $GIRO_CONFIG ]] && grep -q '^ "keyspaces":' "$GIRO_CONFIG"; then
        sed -n '/^ "keyspaces":/,$p' "$GIRO_CONFIG"
        return 0
    fi
    cat <<'KEYSPACES'
 "keyspaces":[
  {"prefix":"","kind":"hash","partitions":64,"default_mode":"2pc"},
  {"prefix":"r:","kind":"range","splits":["r:g","r:n","r:t"],"default_mode":"2pc"},
  {"prefix":"t:","kind":"compound","splits":["t:g","t:n","t:t"],"default_mode":"saga"}]}
KEYSPACES
}

description_of() { # name
    printf '{"dsn":"%s","owner_dsn":"%s"}' \
        "$(database_dsn "$1" "$COORDINATOR")" "$(database_dsn "$1" "$OWNER")"
}

# ---- girod ---------------------------------------------------------------------------------------

start_coordinator() { # number
    local port flags=()
    port=$(coordinator_port "$1")
    if [[ -n $(coordinator_pid "$1") ]]; then
        return 0
    fi
    if port_answers "$port"; then
        fail_port "$port" "girod $1" GIRO_PORT
    fi
    read -r -a flags <<<"${GIRO_GIROD_FLAGS:-}"
    cd "$GIRO_DIR"
    setsid nohup "$GIRO_BIN" serve --config "$GIRO_CONFIG" --listen "127.0.0.1:$port" \
        "${flags[@]}" >>"$GIRO_DIR/girod-$1.log" 2>&1 </dev/null 9>&- &
    echo $! >"$GIRO_DIR/girod-$1.pid"
    say "girod $1: started on port $port"
}

await_coordinator() { # number
    local url deadline=$((SECONDS + START_SECONDS))
    url=http://127.0.0.1:$(coordinator_port "$1")/readyz
    until [[ $(curl -s -o /dev/null -m 2 -w '%{http_code}' "$url") == 200 ]]; do
        if [[ -z $(coordinator_pid "$1") ]]; then
            tail -n 20 "$GIRO_DIR/girod-$1.log" >&2
            fail "girod $1 has ended, see $GIRO_DIR/girod-$1.log"
        fi
        if ((SECONDS >= deadline)); then
            tail -n 5 "$GIRO_DIR/girod-$1.log" >&2
            fail "girod $1 is not ready after $START_SECONDS s, see $GIRO_DIR/girod-$1.log"
        fi
        sleep 0.1
    done
}

start_coordinators() {
    local number
    for ((number = 1; number <= GIRO_COORDINATORS; number++)); do
        start_coordinator "$number"
    done
    for ((number = 1; number <= GIRO_COORDINATORS; number++)); do
        await_coordinator "$number"
    done
}

start_only() { # name
    case $1 in
        girod-*) start_coordinator "${1#girod-}" ;;
        *) (start_database_cluster "$1") || exit 1 ;;
    esac
    write_env
}

choose_user
choose_directory
load_settings
check_settings
make_directories
if [[ ${1:-} == --only ]]; then
    make_secrets
    start_only "$2"
    exit 0
fi
check_ports
make_secrets
settings_text | replace_file "$GIRO_DIR/settings" 644
trap say_what_runs EXIT
start_databases
[[ ${1:-} != --databases ]] || exit 0
cluster_description | replace_file "$GIRO_CONFIG" 600
"$GIRO_BIN" init --config "$GIRO_CONFIG" 9>&- || fail "girod init failed"
compare_coordinators
start_coordinators
write_env
say "ready: http://127.0.0.1:$GIRO_PORT (all of it: $GIRO_DIR/env)"
