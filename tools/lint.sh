#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clang-tidy with the rules of .clang-tidy over the sources that git knows and the build compiles.
#   tools/lint.sh [FILE...]    FILEs alone, where given; needs a configured build (BUILD, build/clang)
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build/clang}
commands=$build/compile_commands.json
[ -f "$commands" ] || { echo "lint: no $commands: configure first, cmake --preset clang" >&2; exit 2; }
# shellcheck disable=SC2046 # our names have no spaces
[ $# -gt 0 ] || set -- $(git ls-files '*.c')
for file in "$@"; do
    # A file that no target compiles has no flags to be read with.
    ! grep -q "/$file\"" "$commands" || echo "$file"
done | xargs -r -P "$(nproc)" -n 4 clang-tidy --quiet -p "$build" 2>&1 |
    sed -e '/warnings generated\.$/d' -e '/^Suppressed /d' -e '/^Use -header-filter/d' >"$build/lint.txt"
if grep -qE '(warning|error):' "$build/lint.txt"; then
    cat "$build/lint.txt"
    exit 1
fi
