#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What programs that were compiled yesterday rely on (docs/reading.md): exported symbols with their
# versions, sizes, offsets and values, beside reader_abi.txt.
#   reader_abi.sh [--renew] BUILD
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
golden=$here/reader_abi.txt
renew=
[ "$1" != --renew ] || { renew=1; shift; }
build=$1
library=$build/format/libskein-format.so
now=$(mktemp)
trap 'rm "$now"' EXIT
{
    readelf -dW "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'
    nm -D --defined-only --with-symbol-versions "$library" | awk '{ print $2, $3 }' | LC_ALL=C sort
    "$build/tests/reader_abi"
} >"$now"
if [ -n "$renew" ]; then
    cp "$now" "$golden"
    exit
fi
diff -u "$golden" "$now" || {
    echo "the library's interface is another one: see the end of docs/reading.md" >&2
    exit 1
}
# The archive gives the same names and keeps all others to itself.
diff <(awk '$1 == "T" { sub("@.*", "", $2); print $2 }' "$golden") \
    <(nm -g --defined-only "$build/format/libskein-format.a" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort)
# A library never ends the program that it is in.
names=$(nm -D -u "$library" | awk '$2 ~ /^(abort|exit|_exit|__assert)/ { print $2 }')
[ -z "$names" ] || { echo "the library calls $names" >&2; exit 1; }
wc -l <"$golden"
