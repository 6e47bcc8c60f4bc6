#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing on Debian 12, and what the console and the contract tests have from npm into
# their folders: nothing is said, asked or fetched where nothing is.
#   tools/deps.sh --build    to build and install libraries and programs, and nothing else
#   tools/deps.sh            that, and to test and run the demo
#   tools/deps.sh --bench    and to compare with LTTng, and programs with themselves untraced; Chromium, for its traces
#   tools/deps.sh --ci       and for .ci/run: clang and its tools
# SKEIN_WEB=OFF: nothing for the web console, which is not built then (cmake -DSKEIN_WEB=OFF)
set -eu
cd "$(dirname "$0")/.."

packages="gcc make cmake ninja-build pkg-config libc6-dev
    libmicrohttpd-dev libgnutls28-dev libnanomsg-dev liblz4-dev zlib1g-dev libzstd-dev libcjson-dev libsqlite3-dev libcurl4-openssl-dev
    libxxhash-dev libsodium-dev libdw-dev libiberty-dev libdebuginfod-dev libedit-dev"
# C for the browser
wasm="clang lld wasi-libc libclang-rt-dev-wasm32"
tests="g++ lld check openssl redis-server redis-tools protobuf-compiler python3 python3-protobuf python3-lz4 golang-go babeltrace2
    python3-bt2 zstd"
npm="web tests/contract"
if [ "${SKEIN_WEB:-ON}" = OFF ]; then
    npm=tests/contract
else
    packages="$packages $wasm"
fi

if [ "${1:-}" = --build ] && [ $# -eq 1 ]; then
    npm=${npm%tests/contract}
    set --
else
    packages="$packages $tests"
fi

for group in "$@"; do
    case $group in
    --bench) packages="$packages lttng-tools liblttng-ust-dev babeltrace2 libunwind-dev linux-perf memcached nginx-light chromium
        postgresql uftrace" ;;
    --ci) packages="$packages git ccache clang clang-format clang-tidy clang-tools
        libclang-rt-14-dev shellcheck prometheus-alertmanager prometheus groff-base mandoc
        nginx-light postgresql mariadb-server memcached haproxy rsync strace default-jdk-headless netcat-openbsd
        socat sqlite3 tcl bc jq ed patch xz-utils bsdutils curl openssh-client chromium chromium-headless-shell
        fonts-dejavu-core musl-tools libc6-i386 bubblewrap busybox-static zsh tcsh yash expect gawk mawk m4 cpio pigz
        fakeroot faketime tini moreutils inotify-tools libcap2-bin dbus-bin dbus-daemon" ;;
    *)
        echo "usage: tools/deps.sh [--build | [--bench] [--ci]]" >&2
        exit 2
        ;;
    esac
done

# What package-lock.json of each folder names, into node_modules beside it.
install_npm()
{
    for folder in $npm; do
        ! cmp -s "$folder/package-lock.json" "$folder/node_modules/installed.json" || continue
        log=$(mktemp)
        if ! npm ci --prefix "$folder" --no-audit --no-fund --loglevel=error >"$log" 2>&1; then
            cat "$log" >&2
            rm -f "$log"
            echo "deps: npm could not install what $folder/package.json names" >&2
            exit 1
        fi
        cp "$folder/package-lock.json" "$folder/node_modules/installed.json"
        rm -f "$log"
    done
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    # shellcheck disable=SC2086 # words, on one line
    echo "deps: this is no Debian; these packages of Debian 12 are needed, by whatever name:" $packages >&2
    install_npm
    exit 0
fi

[ -z "$npm" ] || command -v npm >/dev/null || packages="$packages nodejs npm"

missing=
for package in $packages; do
    case $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true) in
    *" installed") ;;
    *) missing="$missing $package" ;;
    esac
done
if [ -z "$missing" ]; then
    install_npm
    exit 0
fi

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "deps: missing, and there is no sudo to install them with:$missing" >&2
        exit 1
    fi
    as_root=sudo
fi

echo "deps: installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A list of packages that is old or absent is fetched first; a failing install prints why.
# shellcheck disable=SC2086 # $missing is words
if ! { $as_root apt-get -qq update &&
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -y --no-install-recommends install $missing; } >"$log" 2>&1; then
    cat "$log" >&2
    echo "deps: could not install$missing" >&2
    exit 1
fi
install_npm
echo "deps: done"
