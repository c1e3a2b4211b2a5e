#!/usr/bin/env bash
# Starts a cluster of its own, compares all that its girod answers with the description that it
# serves (openapi_test.py), and takes the cluster down again. Its last line counts the requests.
#
#   GIRO_BIN          the program                      (build/release/girod)
#   GIRO_TEST_PORT    first of 24 ports to use         (a block that is free)
#   GIRO_TEST_SEED    chooses the mutations            (a fixed number)
#   GIRO_TEST_KEEP    if set, the directory stays
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
PORT_BLOCK=24
COORDINATOR_OFFSET=20

is_free() # first port of a block
{
    local port
    for port in "$1" $(($1 + 1)) $(($1 + 2)) $(($1 + 3)) $(($1 + COORDINATOR_OFFSET)); do
        ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || return 1
    done
}

choose_ports()
{
    local tries first
    for ((tries = 0; tries < 100; tries++)); do
        first=$((10000 + PORT_BLOCK * (RANDOM % 900)))
        if is_free "$first"; then
            echo "$first"
            return 0
        fi
    done
    echo "contract: no free ports" >&2
    return 1
}

first_port=${GIRO_TEST_PORT:-$(choose_ports)}
GIRO_DIR=$(mktemp -d "${TMPDIR:-/tmp}/giro-contract.XXXXXX")
chmod 755 "$GIRO_DIR" # Postgres runs as another user
export GIRO_DIR
export GIRO_PG_PORT=$first_port GIRO_PORT=$((first_port + COORDINATOR_OFFSET))
export GIRO_SHARDS=3 GIRO_COORDINATORS=1 GIRO_GIROD_FLAGS=--enable-failpoints
export GIRO_BIN=${GIRO_BIN:-$root/build/release/girod}

stop()
{
    local status=$?
    trap - EXIT
    trap '' INT TERM
    if ((status != 0)) && [[ -f $GIRO_DIR/girod-1.log ]]; then
        tail -n 5 "$GIRO_DIR/girod-1.log" >&2
    fi
    if ! bash "$root/docker/down.sh" >"$GIRO_DIR/down.log" 2>&1; then
        cat "$GIRO_DIR/down.log" >&2
        exit 1
    fi
    [[ -n ${GIRO_TEST_KEEP:-} ]] || rm -rf "$GIRO_DIR"
    exit $status
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

bash "$root/docker/up.sh"
# Debian's own interpreter: another one may lack python3-jsonschema.
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$here/openapi_test.py" "127.0.0.1:$GIRO_PORT" \
    "$GIRO_DIR"
