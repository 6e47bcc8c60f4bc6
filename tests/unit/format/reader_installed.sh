#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The installed library by itself: the header alone, and the example of docs/reading.md, compiled
# outside of the tree against what was installed, on a trace that is known.
#   reader_installed.sh SOURCE BUILD CMAKE
set -eu -o pipefail
source=$1 build=$2 cmake=$3
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
fail() {
    echo "reader_installed: $*" >&2
    exit 1
}
for component in headers reader; do
    "$cmake" --install "$build" --prefix "$folder/root" --component $component >"$folder/log" ||
        { cat "$folder/log" >&2; fail "cannot install $component"; }
done
pc=$(find "$folder/root" -name skein-format.pc)
[ -n "$pc" ] || fail "no skein-format.pc"
export PKG_CONFIG_PATH=${pc%/*}${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
flags() { pkg-config --define-variable=prefix="$folder/root" "$@" skein-format | sed "s/\$/ /"; }
cd "$folder"

# ---- the header, alone and everywhere ----
echo '#include <skein/trace.h>' >alone.c
tried=0
for compiler in gcc clang clang-19; do
    command -v $compiler >/dev/null || continue
    for dialect in "-std=c11" "-x c++ -std=c++17"; do
        # shellcheck disable=SC2046,SC2086 # several words
        $compiler $dialect -Wall -Wextra -pedantic -Werror $(flags --cflags) -c alone.c -o alone.o ||
            fail "the header with $compiler $dialect"
        tried=$((tried + 1))
    done
done
[ $tried -gt 0 ] || fail "no compiler"
[ "$(wc -l <"$source/format/include/skein/trace.h")" -lt 300 ] || fail "the header is too long"

# ---- the example ----
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$source/docs/reading.md" >regions.c
[ -s regions.c ] || fail "no example in docs/reading.md"
golden=$source/tests/golden/partition-v1-3
expected=$(grep -c '"type":"region"' "$golden.jsonl")
# shellcheck disable=SC2046
gcc -std=gnu11 -Wall -Wextra -Werror regions.c -o regions $(flags --cflags --libs)
library=$(dirname "$(find "$folder/root" -name libskein-format.a)")
# shellcheck disable=SC2046
gcc -std=gnu11 -Wall -Wextra -Werror regions.c -o regions_static $(flags --cflags) \
    "$library/libskein-format.a" $(flags --libs --static | sed 's/-lskein-format//')
! readelf -dW regions_static | grep -q skein || fail "the static program needs the shared library"
for program in regions regions_static; do
    LD_LIBRARY_PATH=$library ./$program "$golden.skein" >out || fail "$program: $?"
    [ "$(wc -l <out)" = "$expected" ] || fail "$program: $(wc -l <out) regions of $expected"
    grep -q ' select\| query$' out || fail "$program: no query"
    grep -o '"type":"region","name":"[a-z]*"' "$golden.jsonl" | sed 's/.*"name":"//;s/"//' | sort >names
    awk '{ print $NF }' out | sort | diff names - || fail "$program: other names"
    ! LD_LIBRARY_PATH=$library ./$program regions.c 2>err || fail "$program reads what is no trace"
    grep -q regions.c err || fail "$program does not say which file"
done
echo "$tried compilers and dialects, $expected regions"
