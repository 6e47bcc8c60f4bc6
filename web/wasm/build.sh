#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles the reader, the analysis and web/wasm to WebAssembly: trace.wasm reads and draws, analysis.wasm
# does that, too, and makes reports, summaries and differences.
#   web/wasm/build.sh FOLDER      does nothing where FOLDER/inputs tells that no input has changed
# Debian's clang, lld, wasi-libc and libclang-rt-dev-wasm32 do it; CLANG names another clang. Of other
# libraries two headers are taken: xxhash.h, whose functions are inline, and cJSON.h (cjson_subset.c).
# Sources are listed in sources.txt; what a module does not use, the linker leaves out.
set -eu
[ $# -eq 1 ] || {
    echo "usage: web/wasm/build.sh FOLDER" >&2
    exit 2
}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
clang=${CLANG:-$(command -v clang-14 || command -v clang)}
inputs=$({
    "$clang" --version
    cat "$here/build.sh" "$here/sources.txt" "$here"/*.[ch] "$root"/format/*.[ch] "$root"/format/include/skein/*.h \
        "$root"/analysis/*.[ch] "$root"/sched/*.[ch] "$root"/common/*.[ch] "$root"/client-lib/include/skein/*.h \
        "$root"/client-lib/src/status.c
} | sha256sum)
if [ -f "$out/trace.wasm" ] && [ -f "$out/analysis.wasm" ] && [ "$inputs" = "$(cat "$out/inputs" 2>/dev/null)" ]; then
    exit 0
fi
rm -f "$out/inputs"
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

mkdir "$objects/include" "$objects/include/cjson"
cp /usr/include/xxhash.h "$objects/include/"
cp /usr/include/cjson/cJSON.h "$objects/include/cjson/"

flags="--target=wasm32-wasi -DNDEBUG -D_GNU_SOURCE -DXXH_INLINE_ALL -std=gnu11 -Wall -Wextra -Werror
    -Wno-unused-command-line-argument -Wno-unknown-pragmas -fno-strict-overflow -ffunction-sections -fdata-sections
    -I$here -I$root/format -I$root/format/include -I$root/analysis -I$root/sched -I$root/common
    -I$root/client-lib/include -isystem $objects/include"

# shellcheck disable=SC2086 # flags are words
compile()
{
    "$clang" $flags "$2" -c "$root/$1" -o "$objects/$(basename "$1" .c).o"
}

jobs=$(nproc 2>/dev/null || echo 1)
running=0
pids=
while read -r source speed; do
    case $source in '' | '#'*) continue ;; esac
    compile "$source" "${speed:--Oz}" &
    pids="$pids $!"
    running=$((running + 1))
    if [ "$running" -ge "$jobs" ]; then
        for pid in $pids; do wait "$pid"; done
        pids=
        running=0
    fi
done <"$here/sources.txt"
for pid in $pids; do wait "$pid"; done

# The stack lies below all data, so that one that overflows traps. 2 GiB at most: what is asked for
# beyond is no memory, and a status.
link()
{
    module=$1
    shift
    "$clang" --target=wasm32-wasi -mexec-model=reactor "$@" -o "$objects/$module" -Wl,--gc-sections \
        -Wl,--strip-all -Wl,--stack-first -Wl,-z,stack-size=1048576 -Wl,--max-memory=2147483648
    mv "$objects/$module" "$out/$module"
}

link analysis.wasm "$objects"/*.o
rm "$objects/jobs_api.o"
link trace.wasm "$objects"/*.o
echo "$inputs" >"$out/inputs"
