#!/usr/bin/env bash
# Shows that history costs nothing later: on a cluster of its own, measures start-up, the recovery
# of a dead coordinator's work, what an idle girod reads, and an increment of reconciliation, first
# on a young cluster and then with GROWTH_TRANSFERS finished transfers (1000000, a third of each
# kind) in the same tables. Prints the figures, and what a million transfers take on disk per table
# and index. Exit code 1 if the old cluster is slower than the young one by more than noise.
#
#   tests/growth/run.sh          GIRO_BIN names girod
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
shards=2
total=${GROWTH_TRANSFERS:-1000000}
each=$((total / 3 / shards)) # transfers of a kind with their home on a shard
modes=(local 2pc saga)

: "${GIRO_BIN:=$root/build/release/girod}"
GIRO_DIR=$(mktemp -d /var/tmp/giro-growth.XXXXXX)
chmod 755 "$GIRO_DIR"
GIRO_PG_PORT=$((20000 + RANDOM % 10000))
GIRO_PORT=$((GIRO_PG_PORT + 20))
GIRO_SHARDS=$shards GIRO_GIROD_FLAGS="--enable-failpoints --reconcile-every 0"
export GIRO_BIN GIRO_DIR GIRO_PG_PORT GIRO_PORT GIRO_SHARDS GIRO_GIROD_FLAGS

stop() {
    status=$?
    trap - EXIT
    bash "$root/docker/down.sh" >/dev/null 2>&1 || true
    rm -rf "$GIRO_DIR"
    exit $status
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

up() {
    bash "$root/docker/up.sh" >"$GIRO_DIR/up.log" 2>&1 || {
        cat "$GIRO_DIR/up.log" >&2
        exit 1
    }
    # shellcheck source=/dev/null
    . "$GIRO_DIR/env"
}

dsn() { # shard
    local name=GIRO_SHARD_$1_DSN
    printf '%s' "${!name}"
}

sql() { # shard, psql arguments …
    psql -XqAt -v ON_ERROR_STOP=1 "$(dsn "$1")" "${@:2}"
}

now_ms() { date +%s%3N; }

# ---- what is measured --------------------------------------------------------------------------

kill_girod() {
    kill -KILL "$GIRO_PID"
    while kill -0 "$GIRO_PID" 2>/dev/null; do sleep 0.02; done
}

start_girod() {
    "$GIRO_BIN" serve --config "$GIRO_DIR/cluster.json" --listen "127.0.0.1:$GIRO_PORT" \
        $GIRO_GIROD_FLAGS >>"$GIRO_DIR/girod-1.log" 2>&1 &
    GIRO_PID=$!
    disown
}

start_up_ms() { # from exec until ready
    local started
    kill_girod
    started=$(now_ms)
    start_girod
    until curl -sf "$GIRO_URL/readyz" >/dev/null; do sleep 0.01; done
    echo $(($(now_ms) - started)) >"$GIRO_DIR/result"
}

rows_read() { # tuples that were read in any way on all shards
    local shard sum=0
    for ((shard = 1; shard <= shards; shard++)); do
        sum=$((sum + $(sql $shard -c "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint
                                      from pg_stat_user_tables where schemaname = 'giro'")))
    done
    echo $sum
}

idle_rows() { # read by a girod that has nothing to do, in ten seconds
    local before
    sleep 2
    before=$(rows_read)
    sleep 10
    echo $(($(rows_read) - before)) >"$GIRO_DIR/result"
}

pay() { # key
    curl -s "$GIRO_URL/v1/transfers" -H 'Content-Type: application/json' -H "Idempotency-Key: $1" \
        -d "{\"debit_account\":\"$payer\",\"credit_account\":\"$payee\",\"amount\":1,
             \"currency\":\"EUR\",\"mode\":\"$2\"}" >/dev/null
}

# A coordinator dies with a leg prepared and decided; the time from the next one's start until the
# leg is applied.
recovery_ms() {
    local started
    curl -sf -X PUT "$GIRO_URL/v1/failpoints/2pc.apply.remote.before" \
        -H 'Content-Type: application/json' -d '{"action":"crash","count":1}' >/dev/null
    pay "recovery-$RANDOM$RANDOM" 2pc || true
    while kill -0 "$GIRO_PID" 2>/dev/null; do sleep 0.02; done
    [ "$(sql 2 -c 'select count(*) from pg_prepared_xacts')" = 1 ]
    started=$(now_ms)
    start_girod
    until [ "$(sql 2 -c 'select count(*) from pg_prepared_xacts')" = 0 ]; do sleep 0.02; done
    echo $(($(now_ms) - started)) >"$GIRO_DIR/result"
    until curl -sf "$GIRO_URL/readyz" >/dev/null; do sleep 0.01; done
}

reconcile_ms() { # flags …
    local started
    started=$(now_ms)
    "$GIRO_BIN" reconcile --config "$GIRO_DIR/cluster.json" "$@" >"$GIRO_DIR/report" 2>&1 || {
        cat "$GIRO_DIR/report" >&2
        exit 1
    }
    echo $(($(now_ms) - started)) >"$GIRO_DIR/result"
}

increment_ms() { # after a hundred new transfers
    local i
    for ((i = 0; i < 50; i++)); do
        pay "increment-$RANDOM$RANDOM-$i" 2pc
        pay "increment-$RANDOM$RANDOM-$i" saga
    done
    sleep 1
    reconcile_ms
}

declare -A young old
measure() { # array
    local -n into=$1
    local what
    for what in start_up_ms idle_rows recovery_ms increment_ms; do
        $what
        into[$what]=$(cat "$GIRO_DIR/result")
        printf '%-6s %-14s %8d\n' "$1" "$what" "${into[$what]}"
    done
}

# ---- sizes --------------------------------------------------------------------------------------

sizes() { # file: every relation of the schema, bytes over all shards
    local shard
    for ((shard = 1; shard <= shards; shard++)); do
        sql $shard -F ' ' -c "
            select coalesce(t.relname, c.relname) || ' ' || c.relname, pg_relation_size(c.oid)
            from pg_class c left join pg_index i on i.indexrelid = c.oid
            left join pg_class t on t.oid = i.indrelid
            where c.relnamespace = 'giro'::regnamespace and c.relkind in ('r', 'i')"
    done | awk '{ sum[$1 " " $2] += $3 } END { for (name in sum) print name, sum[name] }' |
        sort >"$1"
}

table_of_sizes() {
    echo
    echo "MB of a million transfers      local      2pc     saga"
    join -j 1 <(sed 's/ /\//' "$GIRO_DIR/sizes-local") <(sed 's/ /\//' "$GIRO_DIR/sizes-2pc") |
        join -j 1 - <(sed 's/ /\//' "$GIRO_DIR/sizes-saga") |
        join -j 1 - <(sed 's/ /\//' "$GIRO_DIR/sizes-none") |
        awk -v count=$((each * shards)) '{
            l = ($2 - $5) / count; t = ($3 - $2) / count; s = ($4 - $3) / count
            if (l + t + s < 0.05) next
            split($1, name, "/")
            label = name[1] == name[2] ? name[1] : "  " name[2]
            printf "%-28s %7.0f  %7.0f  %7.0f\n", label, l, t, s
            a += l; b += t; c += s
        } END { printf "%-28s %7.0f  %7.0f  %7.0f\n", "all", a, b, c }'
}

# ---- the run ------------------------------------------------------------------------------------

up
psql -XqAt -v ON_ERROR_STOP=1 --csv "$GIRO_DIRECTORY_DSN" -c "
    select encode(lo, 'hex'), encode(hi, 'hex'), substr(shard, 7)
    from giro_directory.partitions where keyspace = ''" >"$GIRO_DIR/owners.csv"
for ((shard = 1; shard <= shards; shard++)); do
    sql $shard -v shard=$shard -f "$here/accounts.sql" <"$GIRO_DIR/owners.csv"
done
payer=$(sql 1 -c "select name from growth.names where shard = 1 and role = 'payer' and number = 0")
payee=$(sql 1 -c "select name from growth.names where shard = 2 and role = 'payee' and number = 0")
reconcile_ms --full
measure young

sizes "$GIRO_DIR/sizes-none"
for mode in "${modes[@]}"; do
    started=$(now_ms)
    for ((shard = 1; shard <= shards; shard++)); do
        sql $shard -v shards=$shards -v shard=$shard -v mode="$mode" -v count=$each \
            -f "$here/history.sql" >/dev/null &
        jobs[shard]=$!
    done
    for ((shard = 1; shard <= shards; shard++)); do wait "${jobs[shard]}"; done
    sizes "$GIRO_DIR/sizes-$mode"
    echo "made $((each * shards)) $mode transfers in $((($(now_ms) - started) / 1000)) s"
done
for ((shard = 1; shard <= shards; shard++)); do sql $shard -c 'analyze' -c 'checkpoint'; done
for flag in '' --full; do
    reconcile_ms $flag
    echo "all of it: $(sed -n 1p "$GIRO_DIR/report")"
done
measure old
table_of_sizes

failed=0
check() { # what, the most that the old cluster may take
    if [ "${old[$1]}" -gt "$2" ]; then
        echo "FAILED: $1 went from ${young[$1]} to ${old[$1]}"
        failed=1
    fi
}
check start_up_ms $((young[start_up_ms] + 1000))
check idle_rows $((2 * young[idle_rows] + 500))
check recovery_ms $((young[recovery_ms] + 2000))
check increment_ms $((2 * young[increment_ms] + 1000))
[ $failed = 1 ] || echo "an old cluster is as fast as a young one"
exit $failed
