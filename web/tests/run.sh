#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The console's tests; tools/web.sh calls it once what they are of is built.
#   web/tests/run.sh unit [NAME]...          what needs no page: web/tests/unit, in Node
#   web/tests/run.sh pages [--only WORD]...  pages in Chromium, of a real skeind (web/tests/pages/run.mjs)
#   web/tests/run.sh budgets                 sizes, paint times, frames and memory beside what they may be
#   web/tests/run.sh pictures [--make] [--only NAME]...   pages of recorded answers beside docs/pictures; --make: anew
#   web/tests/run.sh shots                   records anew, and makes the pictures: look at them before a commit
#   SKEIN_BUILD=FOLDER                       programs: build/release
set -eu -o pipefail
cd "$(dirname "$0")/../.."

case ${1:-} in
unit) node web/tests/unit/run.mjs "${@:2}" ;;
pages) node web/tests/pages/run.mjs "${@:2}" ;;
budgets) node web/tests/pages/budgets.mjs ;;
pictures) node web/tests/pages/pictures.mjs "${@:2}" ;;
shots) node web/tests/pages/shots.mjs && node web/tests/pages/pictures.mjs --make ;;
*)
    sed -n 's/^#   //p' "$0" >&2
    exit 2
    ;;
esac
