#!/usr/bin/env bash
# Stops the cluster in GIRO_DIR: coordinators first (they finish what they began), then Postgres.
# The data stays; up.sh finds it again.
set -euo pipefail
# shellcheck source=docker/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

DRAIN_SECONDS=40

stop_coordinator() { # number
    local pid deadline=$((SECONDS + DRAIN_SECONDS))
    pid=$(coordinator_pid "$1")
    [[ -n $pid ]] || return 0
    kill -TERM "$pid" 2>/dev/null || true
    kill -CONT "$pid" 2>/dev/null || true
    while [[ -n $(coordinator_pid "$1") ]]; do
        if ((SECONDS >= deadline)); then
            say "girod $1 has not ended in $DRAIN_SECONDS s and is killed"
            kill -KILL "$pid" 2>/dev/null || true
        fi
        sleep 0.1
    done
    rm -f "$GIRO_DIR/girod-$1.pid"
    say "girod $1: stopped"
}

stop_database_cluster() { # name
    local data=$GIRO_DIR/$1/data pid
    pid=$(postmaster_pid "$data")
    [[ -n $pid ]] || return 0
    # A paused process would wait for ever.
    # shellcheck disable=SC2046
    kill -CONT $(postgres_pids "$data") 2>/dev/null || true
    cd /
    "${as_user[@]}" "$POSTGRES_BIN/pg_ctl" stop --silent --wait --mode=fast --timeout=60 \
        --pgdata="$data" </dev/null 9>&- || fail "$1: Postgres does not stop"
    say "$1: Postgres stopped"
}

# Nothing was there to stop: another place may be meant.
name_other_clusters() {
    local place
    for place in $(other_clusters); do
        say "another cluster runs in $place; it is stopped by: make down GIRO_DIR=$place"
    done
}

choose_user
choose_directory
if [[ ! -d $GIRO_DIR ]]; then
    say "there is no cluster in $GIRO_DIR"
    name_other_clusters
    exit 0
fi
# First the lock: an up that is still at work may be about to start something.
take_lock
if [[ ! -f $GIRO_DIR/settings ]]; then
    say "there is no cluster in $GIRO_DIR"
    name_other_clusters
    exit 0
fi
# What runs counts, not what this call's environment says.
unset GIRO_PORT GIRO_PG_PORT GIRO_SHARDS GIRO_COORDINATORS GIRO_PROXY_OFFSET
load_settings

if ! cluster_runs; then
    say "nothing of the cluster in $GIRO_DIR runs"
    name_other_clusters
fi
for number in $(coordinator_numbers); do
    stop_coordinator "$number" &
done
wait

failed=0
pids=()
for name in $(database_names); do
    stop_database_cluster "$name" &
    pids+=($!)
done
for pid in "${pids[@]}"; do
    wait "$pid" || failed=1
done
if [[ -f $GIRO_DIR/secrets ]]; then
    # shellcheck source=/dev/null
    . "$GIRO_DIR/secrets"
    write_env
fi
exit "$failed"
