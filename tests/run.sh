#!/usr/bin/env bash
# Runs test programs, two at a time, and adds up what they say.
#
#   tests/run.sh NAME LOGS PROGRAM …
#
# A program that succeeds is one line: its runner's closing line and the time it took. One that
# fails is printed whole. The last line is `NAME: N passed, N failed`; the exit code is 1 if
# anything failed, also a program that ended without a closing line. GIRO_TEST_JOBS says how many
# run at once (2).
set -uo pipefail
name=$1 logs=$2
shift 2
mkdir -p "$logs"

# The last words of cmocka, of pg_prove, and of what counts for itself.
closings='^\[  (PASSED|FAILED)  \] [0-9]+ test|^Result: |^All tests successful'
closings+='|^[0-9]+ passed, [0-9]+ failed$'

# Did the program end well, and did its runner say so?
ended_well() { # log
    tail -n 1 "$1" | grep -qx 'exit 0' && grep -qaE "$closings" "$1"
}

run_one() {
    local program=$1 log started closing
    log=$logs/$(basename "$program").log
    started=$(date +%s)
    timeout --kill-after=30 "${GIRO_TEST_SECONDS:-600}" "$program" > "$log" 2>&1
    echo "exit $?" >> "$log"
    closing=$(tr '\n' ' ' < <(grep -aE "$closings" "$log"))
    if ended_well "$log"; then
        printf '%-32s %4d s  %s\n' "$(basename "$program")" "$(($(date +%s) - started))" "$closing"
    else
        printf '%s\n' "---- $program" "$(cat "$log")" "----"
    fi
}
export -f run_one ended_well
export logs closings
printf '%s\n' "$@" | xargs -P "${GIRO_TEST_JOBS:-2}" -I{} bash -c 'run_one {}'

passed=0 failed=0
for program in "$@"; do
    log=$logs/$(basename "$program").log
    ok=$(awk '/^\[       OK \]/ { n++ }
              /^Files=/ { sub(".*Tests=", ""); n += $0 + 0 }
              /^[0-9]+ passed, [0-9]+ failed$/ { n += $1 }
              END { print n + 0 }' "$log")
    bad=$(awk '/^\[  FAILED  \] [a-z_0-9]+$/ || /Failed test/ { n++ }
               /^[0-9]+ passed, [0-9]+ failed$/ { counted += $3 }
               END { print int((n + 1) / 2) + counted }' "$log")
    ended_well "$log" || [ "$bad" -gt 0 ] || bad=1
    passed=$((passed + ok))
    failed=$((failed + bad))
done
echo "$name: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
