#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Formats the sources that git knows; --check only says which differ, and fails.
set -eu
cd "$(dirname "$0")/.."
mode=-i
[ "${1-}" != --check ] || mode="--dry-run -Werror"
# shellcheck disable=SC2086 # $mode is words
git ls-files -z '*.c' '*.h' '*.cc' '*.hpp' | xargs -0 -r clang-format $mode
