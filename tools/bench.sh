#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs every bench (bench/NAME.cmake makes bench_NAME) of the release build, one after the other, so that none disturbs another.
#   tools/bench.sh [--json]    --json: one array of result objects for each bench
set -eu
cd "$(dirname "$0")/.."
found=
for source in bench/*.cmake; do
    name=$(basename "$source" .cmake)
    program=build/release/bench/bench_$name
    [ -x "$program" ] || continue
    found=1
    [ "${1-}" = --json ] || echo "== $name"
    "$program" "$@"
done
[ -n "$found" ] || { echo "bench: none is built below build/release/bench" >&2; exit 1; }
