#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each Go from 1.22 on that is installed builds a program, which traces itself; its own tool says what
# is in there, and so must the import. SKEIN_GO: more of them ("/path/to/go /path/to/another").
#   go_live.sh PYTHON SKEIN BUILD
set -eu
python=$1 skein=$2 build=$3
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$build"
export GOPROXY=off GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPATH="$build/go-path" CGO_ENABLED=0
judged=0 seen=
for go in ${SKEIN_GO:-} "$(command -v go || true)" /usr/lib/go-1.*/bin/go; do
    [ -x "$go" ] || continue
    root=$(cd "$(dirname "$(readlink -f "$go")")/.." && pwd)
    version=$(GOROOT=$root "$go" env GOVERSION)
    minor=${version#go1.} minor=${minor%%[!0-9]*}
    if [ "$minor" -lt 22 ] || [ "$minor" -gt 26 ]; then
        seen="$seen $version"
        continue
    fi
    export GOROOT="$root" GOCACHE="$build/go-cache-$minor"
    (cd "$here/go" && "$go" build -o "$build/traced-$minor" .)
    "$build/traced-$minor" "$build/go-$minor.trace" 1.5
    "$go" tool trace -d=parsed "$build/go-$minor.trace" >"$build/go-$minor.txt" 2>/dev/null ||
        "$go" tool trace -d=1 "$build/go-$minor.trace" >"$build/go-$minor.txt"
    "$python" -B "$here/go_judge.py" digest "$build/go-$minor.txt" "$build/go-$minor.json"
    "$python" -B "$here/go_judge.py" compare "$build/go-$minor.json" "$skein" "$build/go-$minor.trace"
    judged=$((judged + 1))
done
if [ "$judged" -eq 0 ]; then
    echo "SKIPPED: no Go from 1.22 to 1.26 is here (found:${seen:- none}); its format cannot be judged live." >&2
    echo "         Debian: bookworm-backports has golang-1.23-go. What they said is in tests/exchange/traces." >&2
    exit 77
fi
