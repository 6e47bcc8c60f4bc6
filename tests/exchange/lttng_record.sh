#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Has LTTng record a program: its folder of CTF 1.8 is OUT. Exit 77: it cannot be done here, and why.
# Private daemon and folder; it is ended at the end. A tiny buffer (DISCARD=1) makes it lose events.
#   lttng_record.sh PROGRAM OUT COUNT
set -u
program=$1 out=$2 count=$3
quit() {
    echo "SKIPPED: $*" >&2
    exit 77
}
for tool in lttng lttng-sessiond babeltrace2; do
    command -v $tool >/dev/null || quit "$tool is not installed (tools/deps.sh --bench)"
done
pgrep -x lttng-sessiond >/dev/null && quit "another lttng-sessiond runs on this machine; it is left alone"
folder=$(mktemp -d "${TMPDIR:-/tmp}/skein-ctf.XXXXXX")
export LTTNG_HOME=$folder
lttng-sessiond --no-kernel >"$folder/sessiond.log" 2>&1 &
daemon=$!
trap 'kill $daemon 2>/dev/null; wait $daemon 2>/dev/null; rm -rf "$folder"' EXIT
deadline=$((SECONDS + 60))
until lttng --no-sessiond list >/dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || quit "lttng-sessiond does not answer"
    sleep 0.1
done
size=(--subbuf-size=256K --num-subbuf=8)
[ -n "${DISCARD:-}" ] && size=(--discard --subbuf-size=4K --num-subbuf=2)
{
    lttng --no-sessiond create skein --output="$folder/out" &&
        lttng --no-sessiond enable-channel --userspace "${size[@]}" ring &&
        lttng --no-sessiond add-context --userspace --channel=ring --type=vpid --type=vtid --type=procname &&
        lttng --no-sessiond enable-event --userspace --channel=ring 'skein_exchange:*' &&
        lttng --no-sessiond start
} >"$folder/lttng.log" 2>&1 || quit "no session: $(tail -n 1 "$folder/lttng.log")"
LTTNG_UST_REGISTER_TIMEOUT=20000 "$program" "$count" || quit "the program did not run"
lttng --no-sessiond destroy >"$folder/lttng.log" 2>&1 || quit "$(tail -n 1 "$folder/lttng.log")"
rm -rf "$out"
cp -r "$folder/out" "$out"
