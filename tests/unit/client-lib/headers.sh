#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The public headers compile wherever people include them, without a warning, and stay short:
# headers.sh INCLUDE_FOLDER
set -eu
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cat >"$folder/use.c" <<'END'
#include <skein/skein.h>
static struct skein_string text = SKEIN_STRING("GET");
int main(int argc, char **argv)
{
    struct skein_sequence sequence = {1, 0};
    skein_sequence_next(&sequence);
    SKEIN_REGION("region", (str, "a", argv[0]), (u64, "n", argc));
    SKEIN_REGION("plain");
    SKEIN_INSTANT("instant");
    SKEIN_INSTANT("all", (i64, "a", -1), (f64, "b", 1.5), (boolean, "c", 1), (ptr, "d", argv),
                  (sym, "e", &text), (seq, "f", &sequence));
    SKEIN_COUNTER("counter", 3);
    SKEIN_COUNTER_F64("counter", 3.5);
    SKEIN_LOG(SKEIN_WARN, "line");
    SKEIN_BEGIN("begin");
    SKEIN_END();
    return skein_attached();
}
END
tried=0
for compiler in gcc clang clang-19; do
    command -v "$compiler" >/dev/null || continue
    for dialect in "-std=c11" "-x c++ -std=c++17"; do
        # shellcheck disable=SC2086 # a dialect is several words
        "$compiler" $dialect -Wall -Wextra -pedantic -Werror -I"$1" -c "$folder/use.c" -o "$folder/use.o"
        tried=$((tried + 1))
    done
done
[ "$tried" -gt 0 ]
for header in "$1"/skein/*.h; do
    [ "$(wc -l <"$header")" -le 300 ] || { echo "$header has more than 300 lines" >&2; exit 1; }
done
echo "$tried compilers and dialects"
