# shellcheck shell=bash
# What up.sh, down.sh and demo.sh share: where a cluster lives, and how to tell what of it runs.
#
# A cluster is a directory, GIRO_DIR:
#   settings           the numbers it was made with (shards, coordinators, ports)
#   secrets            the passwords of its two roles
#   cluster.json       the cluster description that `girod init` and `girod serve` read
#   env                a shell file for other programs: URLs, DSNs, pids (see write_env)
#   directory/, shard-N/   data/ (PGDATA) and postgres.log
#   girod-N.log, girod-N.pid
#
# Nothing is believed about a process because of a pid file: after a crash or a reboot the number
# may be anybody's. A process is ours when /proc says that it works in our PGDATA, or that it was
# started with our cluster.json.

REPOSITORY=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
# shellcheck disable=SC2034 # the scripts use it
POSTGRES_BIN=${GIRO_POSTGRES_BIN:-/usr/lib/postgresql/15/bin}

OWNER=giro_owner
COORDINATOR=giro_coordinator
SOCKET_PATH_MAX=100 # the kernel allows 107 bytes

# How to stop this cluster, to be said before choose_directory: a place that was found by default
# is found again.
# shellcheck disable=SC2034 # the scripts use it
DOWN="make down${GIRO_DIR:+ GIRO_DIR=$GIRO_DIR}"

say() { printf 'giro: %s\n' "$*"; }

fail() {
    printf 'giro: %s\n' "$*" >&2
    exit 1
}

# ---- the user that Postgres runs as --------------------------------------------------------------

# Postgres refuses to run as root.
choose_user() {
    RUN_USER=$(id -un)
    as_user=()
    if ((EUID == 0)); then
        RUN_USER=${GIRO_USER:-postgres}
        id "$RUN_USER" >/dev/null 2>&1 ||
            fail "there is no user '$RUN_USER' to run Postgres as (set GIRO_USER)"
        as_user=(setpriv "--reuid=$RUN_USER" "--regid=$(id -g "$RUN_USER")" --init-groups
            --reset-env --)
    fi
}

# Can that user enter this directory, or the nearest one above it that exists?
is_reachable() { # directory
    local directory=$1
    until [[ -e $directory ]]; do
        directory=$(dirname "$directory")
    done
    (cd / && "${as_user[@]}" test -x "$directory")
}

# ---- where, and with which numbers ---------------------------------------------------------------

choose_directory() {
    if [[ -z ${GIRO_DIR:-} ]]; then
        GIRO_DIR=$REPOSITORY/var
        if ! is_reachable "$GIRO_DIR" || ! [[ -w $REPOSITORY ]]; then
            GIRO_DIR=/var/tmp/giro-$(printf '%s' "$REPOSITORY" | cksum | cut -d ' ' -f 1)
        fi
    fi
    [[ $GIRO_DIR == /* ]] || GIRO_DIR=$PWD/$GIRO_DIR
    is_reachable "$GIRO_DIR" ||
        fail "user '$RUN_USER', which Postgres runs as, cannot enter $GIRO_DIR; set GIRO_DIR"
}

is_number_between() { # value low high
    [[ $1 =~ ^[0-9]{1,5}$ ]] && ((10#$1 >= $2 && 10#$1 <= $3))
}

# A cluster exists as soon as one of its data directories does.
cluster_exists() {
    compgen -G "$GIRO_DIR/*/data" >/dev/null
}

# A number comes from the environment, else from what the cluster was made with, else by default.
# What a first run noted before it created anything binds nobody.
load_settings() {
    local name wanted
    declare -gA MADE_WITH=()
    if [[ -f $GIRO_DIR/settings ]] && cluster_exists; then
        while IFS='=' read -r name wanted; do
            MADE_WITH[$name]=$wanted
        done <"$GIRO_DIR/settings"
    fi
    choose_number GIRO_PORT 8080 1 65000
    choose_number GIRO_SHARDS 3 1 64
    choose_number GIRO_COORDINATORS 1 1 16
    choose_number GIRO_PG_PORT 6000 1 65000
    choose_number GIRO_PROXY_OFFSET 0 0 65000
    CLUSTER=${GIRO_CLUSTER:-${MADE_WITH[GIRO_CLUSTER]:-demo}}
    GIRO_BIN=${GIRO_BIN:-$REPOSITORY/build/release/girod}
    [[ $GIRO_BIN == /* ]] || GIRO_BIN=$PWD/$GIRO_BIN
    GIRO_CONFIG=$GIRO_DIR/cluster.json
    SOCKETS=$GIRO_DIR/sockets
    if ((${#SOCKETS} + 16 > SOCKET_PATH_MAX)) || [[ $SOCKETS =~ [^A-Za-z0-9_./-] ]]; then
        SOCKETS=/tmp/giro-sockets-$GIRO_PG_PORT
    fi
}

choose_number() { # variable default low high
    local value=${!1:-${MADE_WITH[$1]:-$2}}
    is_number_between "$value" "$3" "$4" || fail "$1 must be a number from $3 to $4, not '$value'"
    printf -v "$1" '%d' "$((10#$value))"
}

settings_text() {
    local name
    for name in GIRO_PORT GIRO_SHARDS GIRO_COORDINATORS GIRO_PG_PORT GIRO_PROXY_OFFSET; do
        printf '%s=%s\n' "$name" "${!name}"
    done
    printf 'GIRO_CLUSTER=%s\n' "$CLUSTER"
}

# One run of up or down at a time; daemons must not inherit the lock (9>&-).
take_lock() {
    exec 9>"$GIRO_DIR/lock"
    flock -w 120 9 || fail "another up or down has been at work on $GIRO_DIR for two minutes"
}

replace_file() { # path mode; the text is read from stdin
    local fresh=$1.new
    (umask 077 && cat >"$fresh")
    chmod "$2" "$fresh"
    mv -f "$fresh" "$1"
}

# ---- Postgres ------------------------------------------------------------------------------------

# The databases in the order of their ports.
database_names() {
    local number
    echo directory
    for ((number = 1; number <= GIRO_SHARDS; number++)); do
        echo "shard-$number"
    done
}

database_port() { # name
    case $1 in
    directory) echo "$GIRO_PG_PORT" ;;
    shard-*) echo $((GIRO_PG_PORT + ${1#shard-})) ;;
    esac
}

database_dsn() { # name role
    local port password=$OWNER_PASSWORD
    port=$(database_port "$1")
    if [[ $2 == "$COORDINATOR" ]]; then
        password=$COORDINATOR_PASSWORD
        [[ $1 == directory ]] || port=$((port + GIRO_PROXY_OFFSET))
    fi
    echo "host=127.0.0.1 port=$port dbname=giro user=$2 password=$password"
}

# Processes of the Postgres in this data directory: each of them works in it.
postgres_pids() { # data directory
    local link
    find /proc -mindepth 2 -maxdepth 2 -name cwd -lname "$1" 2>/dev/null |
        while read -r link; do
            link=${link%/cwd}
            [[ $(readlink "$link/exe" 2>/dev/null) != */postgres* ]] || echo "${link#/proc/}"
        done
}

# The pid of its postmaster, if that lives.
postmaster_pid() { # data directory
    local pid=''
    [[ -r $1/postmaster.pid ]] && read -r pid <"$1/postmaster.pid"
    if [[ $pid =~ ^[0-9]+$ && $(readlink "/proc/$pid/cwd" 2>/dev/null) == "$1" ]]; then
        echo "$pid"
    fi
}

port_answers() { # port
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# ---- girod ---------------------------------------------------------------------------------------

coordinator_port() { # number
    echo $((GIRO_PORT + $1 - 1))
}

# The pid of coordinator N of this cluster, if it lives.
coordinator_pid() { # number
    local pid='' words=()
    [[ -r $GIRO_DIR/girod-$1.pid ]] && read -r pid <"$GIRO_DIR/girod-$1.pid"
    [[ $pid =~ ^[0-9]+$ && -r /proc/$pid/cmdline ]] || return 0
    mapfile -d '' -t words <"/proc/$pid/cmdline" 2>/dev/null || return 0
    if [[ " ${words[*]} " == *" serve "*" $GIRO_CONFIG "* ]]; then
        echo "$pid"
    fi
}

# Those that have run since the cluster was last stopped, whatever GIRO_COORDINATORS says now.
coordinator_numbers() {
    local file number
    for file in "$GIRO_DIR"/girod-*.pid; do
        number=${file##*/girod-}
        [[ ! -e $file ]] || echo "${number%.pid}"
    done
}

# Does any of its processes live?
cluster_runs() {
    local name
    for name in $(database_names); do
        [[ -z $(postmaster_pid "$GIRO_DIR/$name/data") ]] || return 0
    done
    for name in $(coordinator_numbers); do
        [[ -z $(coordinator_pid "$name") ]] || return 0
    done
    return 1
}

# Reads the command line of coordinator N, which up.sh ends with --listen ADDRESS and the flags of
# its user: sets RUNS_ON to its port and RUNS_WITH to those flags.
# shellcheck disable=SC2034 # up.sh uses both
read_coordinator() { # number
    local words=() at=0
    mapfile -d '' -t words <"/proc/$(coordinator_pid "$1")/cmdline"
    while ((at < ${#words[@]})) && [[ ${words[at]} != --listen ]]; do
        at=$((at + 1))
    done
    RUNS_ON=${words[at + 1]##*:}
    RUNS_WITH=${words[*]:at+2}
}

# The places of other clusters that up.sh made and whose girods run on this machine.
other_clusters() {
    local file words at place
    for file in /proc/[0-9]*/cmdline; do
        words=()
        { mapfile -d '' -t words <"$file"; } 2>/dev/null || continue
        [[ ${words[1]:-} == serve && ${words[0]##*/} == girod* ]] || continue
        for ((at = 2; at + 1 < ${#words[@]}; at++)); do
            place=${words[at + 1]%/cluster.json}
            if [[ ${words[at]} == --config && $place != "$GIRO_DIR" && -f $place/settings ]]; then
                echo "$place"
            fi
        done
    done | sort -u
}

# ---- what other programs read --------------------------------------------------------------------

write_env() {
    local number suffix name variable
    {
        echo "# Of the cluster in $GIRO_DIR. Written by docker/up.sh; read it with: . $GIRO_DIR/env"
        for ((number = 1; number <= GIRO_COORDINATORS; number++)); do
            suffix=''
            ((number == 1)) || suffix=_$number
            printf 'GIRO_URL%s=%q\n' "$suffix" "http://127.0.0.1:$(coordinator_port "$number")"
            printf 'GIRO_PID%s=%s\n' "$suffix" "$(coordinator_pid "$number")"
            printf 'GIRO_LOG%s=%q\n' "$suffix" "$GIRO_DIR/girod-$number.log"
        done
        printf 'GIRO_BIN=%q\n' "$GIRO_BIN"
        printf 'GIRO_CONFIG=%q\n' "$GIRO_CONFIG"
        for name in $(database_names); do
            variable=${name^^}
            variable=GIRO_${variable//-/_}
            printf "%s_DSN='%s'\n" "$variable" "$(database_dsn "$name" "$OWNER")"
            printf "%s_COORD_DSN='%s'\n" "$variable" "$(database_dsn "$name" "$COORDINATOR")"
            printf '%s_PGDATA=%q\n' "$variable" "$GIRO_DIR/$name/data"
            printf '%s_LOG=%q\n' "$variable" "$GIRO_DIR/$name/postgres.log"
        done
    } | replace_file "$GIRO_DIR/env" 600
}
