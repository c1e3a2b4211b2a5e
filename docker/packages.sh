#!/usr/bin/env bash
# Installs what building and testing Giro needs and this machine lacks (Debian 12).
#
#   docker/packages.sh           compiler, libraries, PostgreSQL 15, test tools
#   docker/packages.sh --lint    also what `make lint` uses
#
# When nothing is missing it does nothing and needs no rights. Otherwise it uses root, or sudo.
# Debian starts a cluster of its own whenever PostgreSQL is installed for the first time; Giro's
# clusters are private ones, so that is switched off before (and only if) PostgreSQL is new here.
set -euo pipefail

packages=(
    gcc libc6-dev make pkg-config
    libpq-dev libuv1-dev libmicrohttpd-dev libjansson-dev libsodium-dev
    uthash-dev libcmocka-dev libcurl4-openssl-dev libsmartcols-dev
    postgresql-15 postgresql-15-pgtap libtap-parser-sourcehandler-pgtap-perl
    python3 python3-jsonschema
    spin
    curl jq procps
)
if [[ ${1:-} == --lint ]]; then
    packages+=(clang-format clang-tidy shellcheck)
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "packages: this is no Debian; please see to these yourself: ${packages[*]}" >&2
    exit 0
fi

is_installed() { # package
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

missing=()
for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
    exit 0
fi

as_root=()
if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
        echo "packages: root or sudo is needed to install: ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi

echo "packages: installing ${missing[*]}"
if ! is_installed postgresql-common; then
    "${as_root[@]}" mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' |
        "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
fi
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Options::=--force-confold "${missing[@]}"
