#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The systemd units are valid, and no more exposed than docs/operations.md says.
#   units.sh ANALYZE UNIT THRESHOLD    threshold: tenths of systemd's score, 0 (safe) to 100
set -eu
analyze=$1 unit=$2 threshold=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The programs are not installed where the unit looks for them.
sed 's|^ExecStart=[^ ]*|ExecStart=/bin/true|' "$unit" >"$folder/$(basename "$unit")"
"$analyze" verify "$folder/$(basename "$unit")"
"$analyze" security --offline=true --no-pager --threshold="$threshold" "$folder/$(basename "$unit")" \
    >"$folder/report" || { cat "$folder/report"; exit 1; }
