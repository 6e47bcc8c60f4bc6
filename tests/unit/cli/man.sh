#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The man pages raise no warning, and there is one for each command. Arguments: the program, and a
# linter with its options.
set -eu
skein=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$skein" help --man "$folder"
for page in "$folder"/*.1; do
    found=$("$@" "$page" 2>&1 || true)
    [ -z "$found" ] || { printf '%s\n' "$page" "$found" >&2; exit 1; }
done
"$skein" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' >"$folder/names"
[ -s "$folder/names" ]
while read -r name; do
    [ -s "$folder/skein-$name.1" ] || { echo "no page of $name" >&2; exit 1; }
done <"$folder/names"
