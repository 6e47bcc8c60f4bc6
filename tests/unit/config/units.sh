#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The systemd units are valid, no more exposed than docs/operations.md says, and let the daemon do
# what it is for; and the drop-ins for a unit that the page tells are valid beside it.
#   units.sh ANALYZE UNIT THRESHOLD [PAGE WORD...]
#     threshold: tenths of systemd's score, 0 (safe) to 100. PAGE: its blocks ```ini are drop-ins.
#     WORD: the unit must allow it (a system call, a family of addresses, a capability)
set -eu
analyze=$1 unit=$2 threshold=$3
shift 3
name=$(basename "$unit")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The programs are not installed where the unit looks for them.
sed 's|^ExecStart=[^ ]*|ExecStart=/bin/true|' "$unit" >"$folder/$name"

valid() { # FOLDER WHAT: systemd only warns of what it does not understand
    "$analyze" verify "$1/$name" >"$folder/said" 2>&1 && [ ! -s "$folder/said" ] || {
        echo "$2 is not valid:"
        cat "$folder/said"
        exit 1
    }
}
valid "$folder" "$name"
"$analyze" security --offline=true --no-pager --threshold="$threshold" "$folder/$name" \
    >"$folder/report" || { cat "$folder/report"; exit 1; }
[ $# -gt 0 ] || exit 0

page=$1
shift
for word; do
    grep -Eq "^(SystemCallFilter|RestrictAddressFamilies|CapabilityBoundingSet)=[^~]*\b$word\b" "$folder/$name" ||
        { echo "$name does not allow $word"; exit 1; }
done
awk -v to="$folder/drop-in" '/^```ini$/ { n++; on = 1; next } /^```/ { on = 0 }
    on { print > (to n ".conf") }' "$page"
count=0
for conf in "$folder"/drop-in*.conf; do
    [ -s "$conf" ] || { echo "$page tells of no drop-in"; exit 1; }
    count=$((count + 1))
    mkdir -p "$folder/$count/$name.d"
    cp "$folder/$name" "$folder/$count/"
    cp "$conf" "$folder/$count/$name.d/local.conf"
    valid "$folder/$count" "$(cat "$conf")"
done
echo "$name: $count drop-ins"
