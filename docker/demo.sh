#!/usr/bin/env bash
# A walk through what Giro does, on a cluster that it brings up and leaves running.
#
# It shows every request as a curl line that can be repeated by hand, and checks every answer; the
# first one that is not as it should be ends the walk with exit status 1.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source=docker/lib.sh
. "$here/lib.sh"

CURRENCY=EUR
RUN=$(date +%s)-$$
NAMES=(alice bob carol dave erin frank grace heidi ivan judy karl laura mallory nina oscar peggy
    quentin rosa sybil trent ursula victor wendy xavier yvonne zoe)

# ---- requests ------------------------------------------------------------------------------------

title() {
    if [[ -t 1 ]]; then
        printf '\n\033[1m%s\033[0m\n' "$*"
    else
        printf '\n%s\n' "$*"
    fi
}

# Sets STATUS, HEADERS and BODY.
call() { # method path [body [idempotency key [another header]]]
    local words=(curl -sS -m 60 -X "$1" "$GIRO_URL$2") answer
    [[ -z ${3:-} ]] || words+=(-H 'Content-Type: application/json' -d "$3")
    [[ -z ${4:-} ]] || words+=(-H "Idempotency-Key: $4")
    [[ -z ${5:-} ]] || words+=(-H "$5")
    LINE="curl -X $1 \$GIRO_URL$2"
    [[ -z ${4:-} ]] || LINE+=" -H 'Idempotency-Key: $4'"
    [[ -z ${5:-} ]] || LINE+=" -H '$5'"
    [[ -z ${3:-} ]] || LINE+=" -H 'Content-Type: application/json' -d '$3'"
    answer=$("${words[@]}" -D - -w '\n%{http_code}') || fail "no answer to: $LINE"
    answer=${answer//$'\r'/}
    STATUS=${answer##*$'\n'}
    answer=${answer%$'\n'*}
    # An interim answer may stand before the real one.
    while [[ $answer == 'HTTP/1.1 100'* ]]; do
        answer=${answer#*$'\n\n'}
    done
    HEADERS=${answer%%$'\n\n'*}
    BODY=${answer#*$'\n\n'}
}

show() {
    local picked
    picked=$(jq -c "${1:-.}" <<<"$BODY" 2>/dev/null) || picked=$BODY
    printf '  $ %s\n  %s %s\n' "$LINE" "$STATUS" "$picked"
}

# giroctl, as one would type it; its exit code must be the wanted one.
ctl() { # exit code, words
    local wanted=$1 status=0 output
    shift
    printf '  $ giroctl %s\n' "$*"
    output=$(GIRO_SERVER=$GIRO_URL "$GIROCTL" "$@" 2>&1) || status=$?
    printf '  %s\n' "${output//$'\n'/$'\n'  }"
    expect "the exit code of giroctl $1" "$status" "$wanted"
}

field() { jq -r "$1" <<<"$BODY"; }

expect() { # what value wanted
    if [[ $2 != "$3" ]]; then
        printf '  last answer: %s %s\n' "$STATUS" "$BODY" >&2
        fail "demo: $1 should be '$3' but is '$2'"
    fi
}

expect_status() { # one or more
    local wanted
    for wanted in "$@"; do
        [[ $STATUS != "$wanted" ]] || return 0
    done
    expect "the status of: $LINE" "$STATUS" "$*"
}

transfer_body() { # debit credit amount [mode]
    printf '{"debit_account":"%s","credit_account":"%s","amount":%s,"currency":"%s"%s}' \
        "$1" "$2" "$3" "$CURRENCY" "${4:+,\"mode\":\"$4\"}"
}

transfer() { # key debit credit amount
    call POST /v1/transfers "$(transfer_body "$2" "$3" "$4")" "$1"
}

balance() { # account
    call GET "/v1/accounts/$1"
    expect_status 200
    field .balance
}

# ---- the walk ------------------------------------------------------------------------------------

# Creates an account, or finds it, and sets SHARD to where it lives.
open_account() { # id [floor]
    call POST /v1/accounts "{\"id\":\"$1\",\"currency\":\"$CURRENCY\"${2:+,\"floor\":$2}}"
    expect_status 200 201
    SHARD=$(field .route.shard)
}

# Where an id lives is decided by its hash, so names are tried until every shard has its accounts.
find_worlds() {
    local number
    for ((number = 1; ${#WORLD[@]} < OWNING && number <= 60 * OWNING; number++)); do
        open_account "world:$number" null
        if [[ -z ${WORLD[$SHARD]:-} ]]; then
            WORLD[$SHARD]=world:$number
            show '{id, floor, shard: .route.shard}'
        fi
    done
    expect 'the number of shards with an account' "${#WORLD[@]}" "$OWNING"
}

# Two people on the first shard that has two, and one on another shard.
find_people() {
    local name
    declare -A first=()
    for name in "${NAMES[@]}"; do
        open_account "$name"
        show '{id, balance, shard: .route.shard}'
        PEOPLE+=("$name")
        HOME_OF[$name]=$SHARD
        if [[ -z ${first[$SHARD]:-} ]]; then
            first[$SHARD]=$name
        elif [[ -z $PAYER ]]; then
            PAYER=${first[$SHARD]}
            NEIGHBOUR=$name
        fi
        if [[ -n $PAYER ]] && ((${#first[@]} == OWNING || ${#first[@]} >= 3)); then
            break
        fi
    done
    for name in "${PEOPLE[@]}"; do
        if [[ -z $FAR && ${HOME_OF[$name]} != "${HOME_OF[$PAYER]}" ]]; then
            FAR=$name
        fi
    done
    [[ -n $FAR || $OWNING == 1 ]] || fail 'demo: no two of the names live on different shards'
}

# Ids that start with r: or t: belong to keyspaces of their own, see up.sh.
open_others() {
    local name
    for name in "${OTHERS[@]}"; do
        open_account "$name"
        show '{id, balance} + .route'
        PEOPLE+=("$name")
        HOME_OF[$name]=$SHARD
        PART_OF[$name]=$(field .route.partition)
        KEYSPACES["keyspace $(field .route.keyspace)"]=1
    done
    if ((${#KEYSPACES[@]} < 2)); then
        printf '  This cluster was made with one keyspace only: they are hashed like all others.\n'
        return 0
    fi
    expect 'the partition of t:acme:cash' "${PART_OF[t:acme:cash]}" "${PART_OF[t:acme:sales]}"
}

total() {
    local sum=0 account
    for account in "${WORLD[@]}" "${PEOPLE[@]}"; do
        sum=$((sum + $(balance "$account")))
    done
    echo "$sum"
}

fund() {
    local name
    for name in "${PEOPLE[@]}"; do
        transfer "demo-$RUN-fund-$name" "${WORLD[${HOME_OF[$name]}]}" "$name" 10000
        expect_status 201
        expect 'the mode' "$(field .mode)" local
    done
    show '{state, mode, debit_account, credit_account, amount}'
}

pay_locally() {
    local before
    before=$(balance "$NEIGHBOUR")
    transfer "demo-$RUN-local" "$PAYER" "$NEIGHBOUR" 1500
    show '{id, state, mode, debit_shard, credit_shard}'
    expect_status 201
    expect 'the mode' "$(field .mode)" local
    expect "the balance of $NEIGHBOUR" "$(balance "$NEIGHBOUR")" "$((before + 1500))"
}

pay_across() {
    local payer_before far_before
    payer_before=$(balance "$PAYER")
    far_before=$(balance "$FAR")
    transfer "demo-$RUN-2pc" "$PAYER" "$FAR" 2500
    show '{id, state, mode, debit_shard, credit_shard}'
    expect_status 201
    expect 'the mode' "$(field .mode)" 2pc
    TRANSFER=$(field .id)
    expect "the balance of $PAYER" "$(balance "$PAYER")" "$((payer_before - 2500))"
    expect "the balance of $FAR" "$(balance "$FAR")" "$((far_before + 2500))"
    call GET "/v1/accounts/$FAR/entries?limit=1"
    show '.items[0]'
    expect 'the newest entry' "$(field '.items[0].transfer_id')" "$TRANSFER"
}

be_refused() {
    local target=${FAR:-$NEIGHBOUR} amount
    amount=$(($(balance "$target") + 1))
    transfer "demo-$RUN-refused" "$target" "$PAYER" "$amount"
    show '{status, code, state, transfer_id, detail}'
    expect_status 422
    expect 'the refusal' "$(field .code)" insufficient-funds
    TRANSFER=$(field .transfer_id)
    printf '  Now %s gets what was missing, and the same request is sent again:\n' "$target"
    transfer "demo-$RUN-late" "${WORLD[${HOME_OF[$target]}]}" "$target" 1
    expect_status 201
    transfer "demo-$RUN-refused" "$target" "$PAYER" "$amount"
    show '{status, code, state, transfer_id}'
    expect_status 422
    expect 'the transfer' "$(field .transfer_id)" "$TRANSFER"
}

replay() {
    local target=${FAR:-$NEIGHBOUR} key=2pc amount=2500 before
    if [[ -z $FAR ]]; then
        key=local amount=1500
    fi
    before=$(balance "$target")
    transfer "demo-$RUN-$key" "$PAYER" "$target" "$amount"
    show '{id, state}'
    expect_status 200
    grep -q -i '^Idempotent-Replayed: true$' <<<"$HEADERS" ||
        fail 'demo: the answer does not say Idempotent-Replayed: true'
    printf '  Idempotent-Replayed: true\n'
    expect "the balance of $target" "$(balance "$target")" "$before"
    transfer "demo-$RUN-$key" "$PAYER" "$target" 1
    show '{status, code, differing_fields}'
    expect_status 422
    expect 'the code' "$(field .code)" idempotency-key-reused
}

# Between keyspaces; the one of the debit account says how, where the client does not.
pay_between_keyspaces() {
    local before
    before=$(balance t:acme:cash)
    transfer "demo-$RUN-between" r:hugo t:acme:cash 700
    show '{state, mode, debit_account, debit_shard, credit_account, credit_shard}'
    expect_status 201
    expect 'the balance of t:acme:cash' "$(balance t:acme:cash)" "$((before + 700))"
    transfer "demo-$RUN-tenants" t:acme:cash t:initech:cash 300
    show '{state, mode, debit_account, debit_shard, credit_account, credit_shard}'
    expect_status 201
    if ((${#KEYSPACES[@]} > 1 && OWNING > 1)); then
        expect 'the mode' "$(field .mode)" saga
    fi
}

# ---- a shard that stands still -------------------------------------------------------------------

PAUSED=''

signal_shard() { # shard signal
    # shellcheck disable=SC2046
    kill "-$2" $(postgres_pids "$GIRO_DIR/$1/data")
}

pause_shard() { # shard
    PAUSED=$1
    trap resume_shard EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    signal_shard "$1" STOP
}

resume_shard() {
    [[ -z $PAUSED ]] || signal_shard "$PAUSED" CONT
    PAUSED=''
}

await() { # jq expression, wanted, seconds; of the transfer
    local deadline=$((SECONDS + $3))
    until call GET "/v1/transfers/$TRANSFER" && [[ $(field "$1") == "$2" ]]; do
        ((SECONDS < deadline)) || expect "$1 of the transfer" "$(field "$1")" "$2"
        sleep 0.1
    done
}

wait_in_transit() {
    local shard=${HOME_OF[$FAR]} far_before
    far_before=$(balance "$FAR")
    pause_shard "$shard"
    printf '  $ kill -STOP # every process of the Postgres of %s\n' "$shard"
    call POST /v1/transfers "$(transfer_body "$PAYER" "$FAR" 400 saga)" "demo-$RUN-saga" \
        'Prefer: wait=1'
    show '{id, state, mode, debit_shard, credit_shard}'
    expect_status 202
    TRANSFER=$(field .id)
    call GET "/v1/accounts/$PAYER"
    show '{id, balance, in_transit}'
    expect 'what is in transit' "$(field .in_transit)" 400
    printf '  In a few seconds the transfer says what it waits for:\n'
    await "(.last_error // \"\") | contains(\"$shard\")" true 30
    show '{state, final, credit_shard, last_error}'
    expect 'the state' "$(field .state)" pending
    printf '  Whoever is on call asks whether money is stuck (9: it is, and what it waits for):\n'
    ctl 9 stuck --older-than 0s
    resume_shard
    printf '  $ kill -CONT # %s goes on\n' "$shard"
    await .state posted 10
    show '{state, final, mode, decided_at}'
    call GET "/v1/accounts/$PAYER"
    show '{id, balance, in_transit}'
    expect 'what is in transit' "$(field .in_transit)" 0
    expect "the balance of $FAR" "$(balance "$FAR")" "$((far_before + 400))"
    ctl 0 transfer steps "$TRANSFER"
}

# On every shard what accounts hold and what is clearing with other shards add up to nothing.
show_books() {
    local number dsn row clearing=0 psql=$POSTGRES_BIN/psql
    local query='select currency, balances, clearing, difference from giro.books() order by 1'
    printf '  %-10s %s\n' shard "$query"
    for ((number = 1; number <= GIRO_SHARDS; number++)); do
        dsn=GIRO_SHARD_${number}_DSN
        while IFS='|' read -r -a row; do
            printf '  %-10s %-8s %14s %14s %10s\n' "shard-$number" "${row[@]}"
            expect "the difference on shard-$number" "${row[3]}" 0
            [[ ${row[0]} != "$CURRENCY" ]] || clearing=$((clearing + row[2]))
        done < <("$psql" -X -A -t -d "${!dsn}" -c "$query")
    done
    printf '  in transit (the sum of all clearing in %s): %d\n' "$CURRENCY" "$clearing"
    expect 'what is in transit' "$clearing" 0
}

choose_user
choose_directory
export GIRO_DIR
"$here/up.sh"
load_settings
# shellcheck source=/dev/null
. "$GIRO_DIR/env"

GIROCTL=${GIRO_BIN%/*}/giroctl
[[ -x $GIROCTL ]] || fail "demo: there is no program $GIROCTL; run make first"

# Only a shard that owns partitions can have accounts.
OWNING=$("$POSTGRES_BIN/psql" -X -A -t -d "$GIRO_DIRECTORY_DSN" \
    -c 'select count(distinct shard) from giro_directory.partitions')

OTHERS=(r:anna r:hugo t:acme:cash t:acme:sales t:initech:cash)
declare -A WORLD=() HOME_OF=() PART_OF=() KEYSPACES=()
PEOPLE=() PAYER='' NEIGHBOUR='' FAR='' TRANSFER=''

printf '\nGIRO_URL=%s\n' "$GIRO_URL"
title "1. Money comes from accounts without a floor, one on each shard"
find_worlds
title "2. Accounts: the shard of each follows from its name, the answer says which"
find_people
title "3. More accounts: r: sorts them by name, t: keeps the accounts of a tenant together"
open_others
TOTAL=$(total)
title "4. Funding: 10,000 for each of them, from the world of their own shard"
fund
title "5. $PAYER pays $NEIGHBOUR 1,500: one shard (${HOME_OF[$PAYER]}), one local transaction"
pay_locally
if [[ -n $FAR ]]; then
    title "6. $PAYER pays $FAR 2,500: ${HOME_OF[$PAYER]} to ${HOME_OF[$FAR]}, by two-phase commit"
    pay_across
fi
title "7. Who has too little is refused, and the refusal sticks to its key"
be_refused
title "8. A repeated key moves nothing and gets the stored answer; for other content it is refused"
replay
title "9. From keyspace to keyspace: r:hugo pays t:acme:cash, and that one another tenant"
pay_between_keyspaces
if [[ -n $FAR ]]; then
    title "10. A saga while ${HOME_OF[$FAR]} stands still: $PAYER pays $FAR 400"
    wait_in_transit
fi
title "11. The books: on each shard in SQL, proved leg by leg, and over the accounts used here"
show_books
ctl 0 reconcile run --full
expect 'the total over all accounts of this walk' "$(total)" "$TOTAL"
printf '  total over all accounts of this walk: %s before, %s now\n' "$TOTAL" "$(total)"

title "All is as it should be. Giro goes on running:"
cat <<END
  is money stuck?                      $GIROCTL stuck --server $GIRO_URL
  is it ready?                         curl $GIRO_URL/readyz
  what can it do?                      curl $GIRO_URL/openapi.json
  URLs, DSNs and pids for the shell:   . $GIRO_DIR/env
  stop it (make up finds the data):    $DOWN
END
