#!/usr/bin/env bash
# What a machine can check of the house style: layout, sizes, who includes what, banned calls,
# clang-tidy. Prints every finding; the last line counts them. The exit code is 1 if there are any.
set -uo pipefail
cd "$(dirname "$0")/.."

findings=0
finding() {
    echo "$*"
    findings=$((findings + 1))
}

mapfile -t sources < <(git ls-files '*.c' '*.h')
mapfile -t texts < <(git ls-files '*.c' '*.h' '*.sql' '*.sh' | grep -v '^tests/sql/golden/')

while read -r line; do finding "layout: $line"; done \
    < <(clang-format --dry-run "${sources[@]}" 2>&1 | grep 'warning:')

for file in "${texts[@]}"; do
    lines=$(wc -l < "$file")
    [ "$lines" -le 600 ] || finding "size: $file has $lines lines (600 at most)"
    # psql knows no way to continue a line that starts with a backslash.
    while read -r number; do finding "width: $file:$number is wider than 100 columns"; done \
        < <(expand -t4 "$file" | LC_ALL=C.UTF-8 grep -nE '^[^\\].{100,}' | cut -d: -f1)
done

# A third-party header belongs to one module (one folder for libpq, which the pg layer wraps).
one_home() {
    local header=$1 home=$2 file
    while read -r file; do
        case $file in
            $home) ;;
            *) finding "include: $file includes $header, which belongs to $home" ;;
        esac
    done < <(git grep -lE "^#include <$header>" -- 'coordinator/*.[ch]' 'operator/*.[ch]')
}
one_home 'libpq-fe\.h' 'coordinator/pg/*'
one_home 'uv\.h' 'coordinator/loop/loop.c'
one_home 'microhttpd\.h' 'coordinator/http/http.c'
one_home 'jansson\.h' 'coordinator/json/json.c'
one_home 'sodium\.h' 'coordinator/shard/route.c'
one_home 'uthash\.h' 'coordinator/base/map.c'
one_home 'curl/.*\.h' 'operator/service.c'
one_home 'libsmartcols/.*\.h' 'operator/table.c'

# Dependencies point one way: a layer includes itself and the layers before it.
layers=(base json loop pg shard protocol batcher reconcile http api cluster cli)
for i in "${!layers[@]}"; do
    for upper in "${layers[@]:i+1}"; do
        while read -r line; do finding "layers: $line"; done \
            < <(git grep -nE "^#include \"$upper/" -- "coordinator/${layers[i]}/*" |
                grep -v 'cluster/embedded.h')
    done
done

# giroctl knows the API and no coordinator: of that it takes base and json only.
while read -r line; do finding "layers: $line"; done \
    < <(git grep -nE '^#include "[a-z]+/' -- 'operator/*' | grep -vE '"(base|json)/')

while read -r line; do finding "banned: $line"; done \
    < <(git grep -nwE '(sprintf|strcpy|strcat|strtok|atoi|atol|gets|rand|alloca)\(' \
        -- 'coordinator/*.[ch]' 'operator/*.[ch]')
while read -r line; do finding "unfinished: $line"; done \
    < <(git grep -nE '\b(TODO|FIXME|XXX|HACK)\b' -- '*.c' '*.h' '*.sql' '*.sh' Makefile \
        ':!tests/lint.sh')

# A document that names tests names such as there are: sentences_with_underscores, mistakes of the
# models, and pgTAP's sentences, all in `…`.
while read -r name; do
    git grep -qF -- "$name" -- tests || finding "names: docs/failure-modes.md names no test: $name"
done < <(grep -oE '`[^`]+`' docs/failure-modes.md | tr -d '`' | sort -u |
    grep -E '^[a-z0-9]+(_[a-z0-9]+){2,}$|^[A-Z]+(_[A-Z]+)+$|^[a-z]+ .* ')

# What clang-tidy has passed once, in the same words, need not be passed again.
flags="-std=c17 -D_GNU_SOURCE -DGIRO_VERSION=\"0\" -Icoordinator $(pkg-config --cflags libpq)"
passed=build/lint
mkdir -p "$passed"
tidy() { # file
    local words trouble
    # shellcheck disable=SC2086
    words=$({ cat .clang-tidy; gcc -E $flags "$1"; } | sha256sum | cut -c1-32)
    [ -e "$passed/$words" ] && return
    # shellcheck disable=SC2086
    trouble=$(clang-tidy --quiet "$1" -- $flags 2> /dev/null | grep -E 'error:|warning:')
    if [ -n "$trouble" ]; then echo "$trouble"; else touch "$passed/$words"; fi
}
export -f tidy
export flags passed
while read -r line; do finding "tidy: $line"; done < <(
    git ls-files 'coordinator/*.c' 'operator/*.c' | xargs -P "$(nproc)" -I{} bash -c 'tidy {}')

echo "lint: ${#sources[@]} files, $findings findings"
[ "$findings" -eq 0 ]
