#!/usr/bin/env bash
# Explores the models of the protocols with spin, and sees that every known mistake is found.
#
#   tests/model/run.sh                    what takes seconds: part of `make test`
#   tests/model/run.sh --all              larger bounds, minutes: `make model`
#   tests/model/run.sh --show MODEL NAME  the counter-example of a mistake, step by step
#
# Every exploration is exhaustive within its bounds, and is one line: model, bounds, states, depth,
# seconds, result. A model holds if all its states were visited and none was wrong; a mistake passes
# if spin finds a counter-example. Besides, the stages of the models and what may follow what are
# held against `girod --print-stages`. GIRO_BIN is the girod; what is built goes beside it.
set -euo pipefail
cd "$(dirname "$0")"
GIRO_BIN=${GIRO_BIN:-$PWD/../../build/release/girod}
out=$(dirname "$GIRO_BIN")/model
memory_mb=8000
passed=0 failed=0

count() { # ok?, line
    if [[ $1 == yes ]]; then
        passed=$((passed + 1))
        echo "  $2"
    else
        failed=$((failed + 1))
        echo "  $2   <== FAILED"
    fi
}

# ---- stages: those of a mode, "from to" in every line, without what only repeats itself -------

edges_of_code() { # mode
    "$GIRO_BIN" --print-stages | awk -v mode="$1" '
        /^[^ ]/ { here = $1 == mode; next }
        here { print $1, "is a stage"; sub(/.*->/, "x " $1); from = $2
               for (i = 3; i <= NF; i++)
                   if ($i != "|" && $i != from && $i != "-") print from, $i }' |
        sort -u
}

# The labels of Girod; those that are no stages say how a model begins, crashes and recovers.
edges_of_model() { # model
    awk '
        /^proctype Girod/ { here = 1 }
        /^}/ { here = 0 }
        here && /^[a-z_]+:$/ { from = substr($1, 1, length($1) - 1); print from, "is a stage" }
        here { line = $0
               while (match(line, /goto [a-z_]+/)) {
                   to = substr(line, RSTART + 5, RLENGTH - 5)
                   if (to != from) print from, to
                   line = substr(line, RSTART + RLENGTH) } }' "$1.pml" |
        awk 'BEGIN { split("scan left redo next crash out end", names)
                     for (i in names) outside[names[i]] = 1 }
             $1 != "" && !($1 in outside) && !($2 in outside)' | sort -u
}

compare_stages() { # model, mode
    local difference
    if difference=$(diff <(edges_of_code "$2") <(edges_of_model "$1")); then
        count yes "$1: its stages are those of $2"
    else
        count no "$1: its stages are not those of $2 (<: girod, >: model)"
        echo "$difference"
    fi
}

# ---- explorations -----------------------------------------------------------------------------

build() { # model
    local here=$out/$1 flags=(-O2 -w -DCOLLAPSE -DVECTORSZ=512 "-DMEMLIM=$memory_mb")
    mkdir -p "$here"
    cp "$1.pml" "$here/"
    (cd "$here" && rm -f ./*.trail && spin -a "$1.pml" > spin.log &&
        nice -n 5 gcc "${flags[@]}" -DSAFETY -DNOCLAIM -o safety pan.c &&
        nice -n 5 gcc "${flags[@]}" -DNFAIR=4 -o end pan.c)
}

# Runs one; its log is then in $log. `safety` looks for wrong states, `end` for ways never to end.
explore() { # model, safety|end, choices …
    local model=$1 what=$2 options=(-m2000000 -w22)
    shift 2
    [[ $what == end ]] && options+=(-a -f) && set -- "$@" BOUNDED=1
    log=$out/$model/$(printf '%s_' "$what" "$@").log
    (cd "$out/$model" && env "$@" nice -n 5 "./$what" "${options[@]}") > "$log" 2>&1 || true
}

summary() {
    awk '/states, stored/ { states = $1 }
         /^State-vector/ { depth = $6; sub(",", "", depth) }
         /elapsed time/ { seconds = $4 }
         END { printf "%9d states, depth %6d, %6.1f s", states, depth, seconds }' "$log"
}

holds() { # model, safety|end, choices …
    local ok=yes
    explore "$@"
    grep -q 'errors: 0' "$log" || ok=no
    ! grep -qE 'Search not completed|search depth too small|out of memory' "$log" || ok=no
    count $ok "$(printf '%-9s %-6s %-36s %s: %s' "$1" "$2" "${*:3}" "$(summary)" \
        "$([[ $ok == yes ]] && echo holds || echo 'does not hold')")"
    [[ $ok == yes ]] || grep -E '^pan|error' "$log" || true
}

number_of() { # model, mistake
    awk -v name="$2" '$1 == "#define" && $2 == name { print $3 }' "$1.pml"
}

mistakes_of() { # model
    awk '$1 == "#define" && $3 ~ /^[0-9]+$/ && $2 != "ATTEMPTS_MAX" && $2 != "GIRODS_MAX" \
         { print $2 }' "$1.pml"
}

# The smallest bounds in which a mistake shows itself.
bounds_of() { # model, mistake
    case $1/$2 in
        two_phase/REUSE_BATCH_ID | two_phase/EFFECT_NONE_SPEAKS_FOR_THE_KEY)
            echo safety ATTEMPTS=2 RECOVERERS=1 ;;
        two_phase/NO_SESSION_TIMEOUT | two_phase/NOBODY_RECOVERS)
            echo end ATTEMPTS=1 RECOVERERS=1 ;;
        two_phase/*) echo safety ATTEMPTS=1 RECOVERERS=2 DBA=1 ;;
        saga/UNFENCED_CREDIT | saga/UNFENCED_TOMBSTONE) echo safety GIRODS=2 MOVE=1 ;;
        saga/RECEIPTS_STAY_BEHIND) echo safety GIRODS=2 MOVE=1 ;;
        saga/UNFENCED_CLOSE) echo safety GIRODS=2 HOME_MOVE=1 ;;
        saga/UNKNOWN_IS_FAILED | saga/DELETE_VERDICT) echo safety GIRODS=1 ;;
        saga/NOBODY_CLAIMS) echo end GIRODS=1 ;;
        saga/*) echo safety GIRODS=2 ;;
    esac
}

explore_mistake() { # model, mistake
    local bounds
    read -ra bounds < <(bounds_of "$1" "$2")
    explore "$1" "${bounds[@]}" "MISTAKE=$(number_of "$1" "$2")"
}

is_found() { # model, mistake
    local ok=no found
    explore_mistake "$1" "$2"
    found=$(grep -oE 'assertion violated .*[^ ] \(at|acceptance cycle|invalid end state' "$log" |
        head -n 1)
    grep -q 'errors: 1' "$log" && [[ -n $found ]] && ok=yes
    count $ok "$(printf '%-9s with   %-36s %s: %s' "$1" "$2" "$(summary)" \
        "$([[ $ok == yes ]] && echo "is found: ${found% (at}" || echo 'IS NOT FOUND')")"
}

if [[ ${1:-} == --show ]]; then
    build "$2"
    explore_mistake "$2" "$3"
    read -r what rest < <(bounds_of "$2" "$3")
    # shellcheck disable=SC2086
    (cd "$out/$2" && env $rest BOUNDED="$([[ $what == end ]] && echo 1 || echo 0)" \
        MISTAKE="$(number_of "$2" "$3")" "./$what" -r)
    exit
fi

for model in two_phase saga; do
    build $model
done
compare_stages two_phase 2pc
compare_stages saga saga

echo "the protocols, all states within these bounds:"
holds two_phase safety ATTEMPTS=1 RECOVERERS=2 DBA=1
holds two_phase end    ATTEMPTS=1 RECOVERERS=2 DBA=1
holds saga safety GIRODS=1 MOVE=1 HOME_MOVE=1
holds saga safety GIRODS=2
holds saga end    GIRODS=1 MOVE=1 HOME_MOVE=1
if [[ ${1:-} == --all ]]; then
    holds two_phase safety ATTEMPTS=1 RECOVERERS=3 DBA=1
    holds two_phase safety ATTEMPTS=2 RECOVERERS=1 DBA=1
    holds two_phase end    ATTEMPTS=2 RECOVERERS=1
    holds saga safety GIRODS=2 MOVE=1
    holds saga safety GIRODS=2 HOME_MOVE=1
    holds saga end    GIRODS=2
    holds saga end    GIRODS=2 MOVE=1
fi

echo "the mistakes:"
for model in two_phase saga; do
    while read -r mistake; do
        is_found $model "$mistake"
    done < <(mistakes_of $model)
done

echo "$passed passed, $failed failed"
[[ $failed -eq 0 ]]
