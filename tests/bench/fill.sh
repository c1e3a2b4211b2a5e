#!/usr/bin/env bash
# Fills all shards of a cluster at the same time: fill.sh SHARDS ACCOUNTS HISTORY FILES…
# with the lines of $GIRO_DIR/env as variables. See fill.sql and plain.sql.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
shards=$1 accounts=$2 history=$3
shift 3

fill_shard() { # shard files
    local shard=$1 dsn=GIRO_SHARD_$1_DSN file
    shift
    for file in "$@"; do
        "${GIRO_POSTGRES_BIN:-/usr/lib/postgresql/15/bin}/psql" -XqAt -v ON_ERROR_STOP=1 \
            -d "${!dsn}" -v shard="$shard" -v shards="$shards" -v accounts="$accounts" \
            -v history="$history" -f "$file" </dev/null
    done
}

pids=()
for ((shard = 1; shard <= shards; shard++)); do
    fill_shard "$shard" "$@" &
    pids+=($!)
done
for pid in "${pids[@]}"; do
    wait "$pid" || exit 1
done
