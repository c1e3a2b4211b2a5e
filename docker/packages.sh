#!/usr/bin/env bash
# Installs what building and testing Giro needs and this machine lacks (Debian 12).
#
#   docker/packages.sh           compiler, libraries, PostgreSQL 15, test tools, promtool
#   docker/packages.sh --lint    also what `make lint` uses
#
# When nothing is missing it does nothing and needs no rights. Otherwise it uses root, or sudo.
# Debian starts a cluster of its own whenever PostgreSQL is installed for the first time; Giro's
# clusters are private ones, so that is switched off before (and only if) PostgreSQL is new here.
#
# promtool, which checks metrics and alert rules, comes in Debian's package prometheus, together
# with a server that starts at once, and a dozen packages for its pages. So that package is fetched, by
# apt and with its checks, and this one program of it is put into /usr/local/bin.
set -euo pipefail

packages=(
    gcc libc6-dev make pkg-config
    libpq-dev libuv1-dev libmicrohttpd-dev libjansson-dev libsodium-dev
    uthash-dev libcmocka-dev libcurl4-openssl-dev libsmartcols-dev
    postgresql-15 postgresql-15-pgtap libtap-parser-sourcehandler-pgtap-perl
    python3 python3-jsonschema python3-yaml
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
lacks_promtool=no
command -v promtool >/dev/null || lacks_promtool=yes
if ((${#missing[@]} == 0)) && [[ $lacks_promtool == no ]]; then
    exit 0
fi

as_root=()
if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
        echo "packages: root or sudo is needed to install: ${missing[*]:-promtool}" >&2
        exit 1
    fi
    as_root=(sudo)
fi

install_packages()
{
    if ! is_installed postgresql-common; then
        "${as_root[@]}" mkdir -p /etc/postgresql-common
        echo 'create_main_cluster = false' |
            "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends -o Dpkg::Options::=--force-confold "${missing[@]}"
}

install_promtool() # in a directory of its own, which goes with the subshell
(
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work"
    apt-get download -qq -o APT::Sandbox::User=root prometheus
    dpkg-deb --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool
    "${as_root[@]}" install -m 755 usr/bin/promtool /usr/local/bin/promtool
)

echo "packages: installing ${missing[*]:-promtool}"
"${as_root[@]}" apt-get update -qq
((${#missing[@]} == 0)) || install_packages
[[ $lacks_promtool == no ]] || install_promtool
