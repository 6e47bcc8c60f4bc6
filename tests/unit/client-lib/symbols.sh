#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the libraries export, that they never end their process, and that a program may use every name that is ours inside:
# symbols.sh LIBSKEIN_A LIBSKEIN_SO PRELOAD_SO LIBSKEIN_INTERNAL_A INCLUDE_FOLDER CC [FLAGS...]
set -eu -o pipefail
archive=$1 shared=$2 preload=$3 internal=$4 include=$5
shift 5
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"

fail() {
    echo "symbols: $*" >&2
    exit 1
}

# ---- what is exported ----
strangers() { grep -v '^skein_' || true; }
names=$(nm -g --defined-only "$archive" | awk 'NF == 3 { print $3 }' | strangers)
[ -z "$names" ] || fail "libskein.a defines" $names
names=$(nm -D --defined-only "$shared" | awk '{ print $3 }' | strangers)
[ -z "$names" ] || fail "libskein.so exports" $names

# The preload library exports what it stands before: functions of the C library (and one of libaio),
# and nothing else.
libc=$(ldd "$preload" | awk '/libc\.so/ { print $3 }')
names=$(comm -23 <(nm -D --defined-only "$preload" | awk '{ print $3 }' | sort -u) \
    <(nm -D --defined-only "$libc" | awk '{ print $3 }' | sed 's/@.*//' | sort -u) | grep -v '^io_getevents$' || true)
[ -z "$names" ] || fail "libskein-preload.so exports" $names

# ---- what runs in somebody else's process never ends it: no check, no assertion, no abort ----
! nm "$archive" "$shared" "$preload" | grep skein_check || fail "a library of services has skein_check"
names=$(nm -D -u "$shared" "$preload" | awk '$2 ~ /^(abort|__assert)/ { print $2 }')
[ -z "$names" ] || fail "a library of services calls" $names
names=$(grep -rlE 'skein_check|include <assert.h>' "$include/.." || true)
[ -z "$names" ] || fail "for agents, collectors and the CLI alone, but not for" $names

# ---- each program of a shell loop loads it: little to map, to relocate and to look up ----
relocations() { readelf -rW "$preload" | awk -v kind="$1" '$3 == kind' | wc -l; }
if ! nm -D "$preload" | grep -q -e __asan -e __tsan -e __ubsan; then
    [ "$(readelf -lW "$preload" | grep -c ' LOAD ')" = 2 ] || fail "libskein-preload.so has more than two segments"
    bytes=$(($(readelf -lW "$preload" | awk '$1 == "LOAD" && $7 == "RW" { print $5 }')))
    [ "$bytes" -le 4096 ] || fail "libskein-preload.so has $bytes bytes of initialised data, more than a page"
    [ "$(relocations R_X86_64_RELATIVE)" -le 20 ] || fail "$(relocations R_X86_64_RELATIVE) pointers are relocated"
    # Three are data, three what an event needs and may not bind on a handler's stack (bound.h).
    [ "$(relocations R_X86_64_GLOB_DAT)" -le 6 ] || fail "$(relocations R_X86_64_GLOB_DAT) names are looked up at each start"
    bound='mem(cpy|move|set|cmp|chr)|strnlen|strcmp|sigaltstack|prctl'
    "$@" --version | grep -q clang || bound="$bound|__errno_location|clock_gettime|pthread_setspecific"
    lazy=$(readelf -rW "$preload" | awk '$3 ~ /JUMP_SLO/ { print $5 }' | sed 's/@.*//' | grep -xE "$bound" || true)
    [ -z "$lazy" ] || fail "an event would bind" $lazy
fi

# ---- the visitor's thread has no thread-local storage of its own, so that it may call no libc ----
mkdir objects
(cd objects && ar x "$internal" visitor.c.o session_map.c.o ring_layout.c.o)
names=$(comm -23 <(nm -u objects/*.o | awk '/ U / { print $2 }' | sort -u) \
    <({ nm -g --defined-only objects/*.o | awk 'NF == 3 { print $3 }' && nm -D --defined-only "$shared" | awk '{ print $3 }'; } | sort -u) |
    grep -v -e '^_GLOBAL_OFFSET_TABLE_$' -e '^session_page_bytes$' || true)
[ -z "$names" ] || fail "the visitor calls" $names

# ---- a program that has all the inner names itself ----
nm "$archive" | awk 'NF == 3 && $2 ~ /[tdbr]/ { print $3 }' |
    grep -E '^[a-zA-Z_][a-zA-Z0-9_]*$' | grep -v -e '^skein_' -e '^main$' -e '^__' | sort -u >inner
[ "$(wc -l <inner)" -gt 50 ] || fail "only $(wc -l <inner) inner names found"
{
    echo 'void abort(void);'
    sed 's/.*/int &(void);int &(void){abort();return 0;}/' inner
} >names.c
cat >program.c <<'END'
#include <pthread.h>
#include <skein/skein.h>
#include <unistd.h>
static void *work(void *unused)
{
    static struct skein_string text = SKEIN_STRING("text");
    for (int i = 0; i < 1000; i++) {
        SKEIN_REGION("region", (u64, "i", i), (sym, "s", &text));
        SKEIN_LOG(SKEIN_INFO, "line");
    }
    return unused;
}
int main(void)
{
    pthread_t thread;
    struct skein_options options = {.size = sizeof options, .agent_socket = "/nonexistent/socket"};
    if (skein_start(&options) != SKEIN_OK || skein_wait_attached(1) != SKEIN_TIMEOUT)
        return 1;
    if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
        return 2;
    if (skein_snapshot("x") != SKEIN_CLOSED || fork() < 0)
        return 3;
    skein_stop();
    return 0;
}
END
"$@" -w -fno-builtin -c names.c -o names.o
"$@" -I"$include" -c program.c -o program.o
"$@" -rdynamic program.o names.o "$archive" -pthread -o program_static
"$@" -rdynamic program.o names.o "$shared" -Wl,-rpath,"$(dirname "$shared")" -pthread -o program_shared
./program_static || fail "statically linked: $?"
./program_shared || fail "dynamically linked: $?"
LD_PRELOAD=$preload SKEIN_ATTACH_MS=0 SKEIN_SOCKET=/nonexistent ./program_shared || fail "under the tracer: $?"
echo "$(wc -l <inner) inner names, none in the way"
