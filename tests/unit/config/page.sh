#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A daemon's man page raises no warning and names every setting. Arguments: the program, and a
# linter with its options.
set -eu
program=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
page=$folder/$(basename "$program").8
"$program" --print-man >"$page"
found=$("$@" "$page" 2>&1 || true)
[ -z "$found" ] || { printf '%s\n' "$found" >&2; exit 1; }
# shellcheck disable=SC2016 # backticks of Markdown
"$program" --print-markdown | sed -n 's/^| `\([^`]*\)`.*/\1/p' >"$folder/settings"
[ -s "$folder/settings" ]
while read -r setting; do
    grep -qF "\\fB$(printf %s "$setting" | sed 's/-/\\-/g')\\fR" "$page" ||
        { echo "no word of $setting" >&2; exit 1; }
done <"$folder/settings"
