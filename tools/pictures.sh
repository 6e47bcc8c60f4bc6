#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the pictures of docs/analysis.md anew: the demo takes a capture of a real Redis that stalls, and
# Chromium draws the page of its report. Look at each picture before it is committed.
#
#   tools/pictures.sh [CAPTURE.skein]      default: one that the demo takes now (a quiet machine is best)
#   SKEIN_BUILD=FOLDER                     default: build/release
#
# Needs chromium (tools/deps.sh --ci) and what the demo needs.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=${SKEIN_BUILD:-$root/build/release}
capture=${1:-}
place=
trap '[ -z "$place" ] || rm -rf "$place"' EXIT
if [ -z "$capture" ]; then
    place=$(mktemp -d "${TMPDIR:-/tmp}/skein-pictures.XXXXXX")
    ONCE=1 DEMO_OUT=$place "$root/tools/demo.sh" "$build"
    capture=$place/redis.skein
fi
/usr/bin/python3 -B "$root/tests/page/make_pictures.py" "$build/cli/skein" "$capture" "$root/docs/pictures"
