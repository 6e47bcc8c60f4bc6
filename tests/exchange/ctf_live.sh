#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# LTTng records a program, with room for all of its events and with too little; babeltrace2 says what is
# in there, and so must the import.  ctf_live.sh PYTHON SKEIN BUILD
set -eu
python=$1 skein=$2 build=$3
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$build"
if ! cc -O1 -I"$here/lttng" "$here/lttng/traced.c" -o "$build/traced" -llttng-ust -lpthread 2>"$build/traced.log"; then
    echo "SKIPPED: liblttng-ust-dev is not installed (tools/deps.sh --bench)" >&2
    exit 77
fi
"$here/lttng_record.sh" "$build/traced" "$build/ctf-all" 500
DISCARD=1 "$here/lttng_record.sh" "$build/traced" "$build/ctf-some" 5000
for trace in all some; do
    "$python" -B "$here/ctf_judge.py" text "$build/ctf-$trace" "$build/ctf-$trace.txt"
    "$python" -B "$here/ctf_judge.py" compare "$build/ctf-$trace.txt" "$skein" "$build/ctf-$trace" >"$build/ctf-$trace.said"
    cat "$build/ctf-$trace.said"
done
if grep -q ', 0 discarded:' "$build/ctf-some.said"; then
    echo "SKIPPED: LTTng discarded no event, so that what is said of discarded ones was not judged" >&2
    exit 77
fi
