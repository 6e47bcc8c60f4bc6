#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the web console into build/web/dist, which skeind takes its pages from; the build of skeind calls it.
#   tools/web.sh            builds, where an input has changed; else it is done in a moment
#   tools/web.sh --force    builds in any case
#   tools/web.sh --unit | --pages [--only WORD]... | --budgets | --pictures [--make] | --shots
#                           builds, then runs web/tests/run.sh; all but --unit and --pictures want skeind, agent
#                           and CLI built as well (make build)
# What it was built of is in build/web/inputs, which stays untouched while that is the same. All that build
# at once take turns.
set -eu -o pipefail
cd "$(dirname "$0")/.."
out=build/web
mode=${1:-}
tests=
case $mode in
"" | --force) ;;
--unit | --pages | --budgets | --pictures | --shots) tests=${mode#--} ;;
*)
    echo "usage: tools/web.sh [--force | --unit | --pages | --budgets | --pictures | --shots]" >&2
    exit 2
    ;;
esac

fail()
{
    echo "web: $*" >&2
    exit 1
}

# Names, each with a NUL behind it, to one line of what they hold.
digest() { LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum; }

# Of all that the console is made of: its sources, the API's document that its types come from, the reader.
console_files()
{
    find web -name node_modules -prune -o -path web/tests -prune -o -path web/src/api/schema.d.ts -prune -o \
        -type f -print0
    printf '%s\0' tools/web.sh server/api/openapi.json
    find analysis common format sched client-lib/include client-lib/src -name '*.[ch]' -print0
}

# quietly WHAT COMMAND...: its output is shown if it fails.
quietly()
{
    local what=$1 log=$out/build.log
    shift
    "$@" >"$log" 2>&1 || {
        cat "$log" >&2
        fail "$what failed"
    }
}

# What package-lock.json names, into node_modules beside it.
packages()
{
    ! cmp -s web/package-lock.json web/node_modules/installed.json || return 0
    command -v npm >/dev/null ||
        fail "the console needs Node and npm (Debian: tools/deps.sh --build). Without them, configure with
     -DSKEIN_WEB=OFF (skeind serves a page that says so), or with -DSKEIN_WEB_DIST=FOLDER (a console that
     was built elsewhere)"
    quietly "npm, which installs what web/package-lock.json names," \
        npm ci --prefix web --no-audit --no-fund --loglevel=error
    cp web/package-lock.json web/node_modules/installed.json
}

build()
{
    packages
    quietly "making types of server/api/openapi.json" npm --prefix web run --silent api
    quietly "WebAssembly (clang, lld, wasi-libc and libclang-rt-dev-wasm32: tools/deps.sh --build)" \
        web/wasm/build.sh "$out/wasm" # does nothing where its own inputs have not changed
    quietly "tsc" npm --prefix web run --silent check
    rm -rf "$out/dist.new" "$out/shipped"
    quietly "vite" env SKEIN_WEB_OUT="$PWD/$out/dist.new" SKEIN_WEB_SHIPPED="$PWD/$out/shipped" \
        npm --prefix web run --silent build -- --logLevel warn
    quietly "listing licences" node web/licences/licences.mjs "$out/dist.new" "$out/shipped"
    rm -rf "$out/dist"
    mv "$out/dist.new" "$out/dist"
}

# The tests that were asked for, if any, outside of the lock.
finish()
{
    [ -n "$tests" ] || exit 0
    exec web/tests/run.sh "$tests" "$@" 9>&-
}

mkdir -p "$out"
exec 9>"$out/lock"
flock 9
now=$(console_files | digest)
if [ "$mode" != --force ] && [ -f "$out/dist/index.html" ] && [ "$now" = "$(cat "$out/inputs" 2>/dev/null)" ]; then
    finish "${@:2}"
fi
began=$(date +%s%N)
rm -f "$out/inputs"
build
echo "$now" >"$out/inputs"
echo "web: built the console in $((($(date +%s%N) - began) / 1000000)) ms"
finish "${@:2}"
