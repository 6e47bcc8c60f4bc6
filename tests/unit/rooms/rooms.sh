#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# That the rooms of the daemons have walls: rooms.sh SOURCES CC ROOM=FOLDER,FOLDER... [ROOM=...]
# ROOM is a folder below SOURCES, the FOLDERs are where its files may look for headers.
set -eu -o pipefail
sources=$1 cc=$2
shift 2
fail() {
    echo "rooms: $*" >&2
    exit 1
}

declare -A looks
for room; do looks[${room%%=*}]=${room#*=}; done

# Whether a file of the room finds the header, as the compiler sees it.
compiles() { # ROOM HEADER
    local flags=()
    IFS=, read -ra folders <<<"${looks[$1]}"
    for folder in "${folders[@]}"; do flags+=("-I$folder"); done
    printf '#include "%s"\n' "$2" | "$cc" -E -o /dev/null "${flags[@]}" -x c - 2>/dev/null
}

# A planted include: what stands above is not found, an inside is not found from outside, a door is.
may() { compiles "$1" "$2" || fail "$1 does not find $2"; }
may_not() { ! compiles "$1" "$2" || fail "$1 may include $2"; }
may server/index store.h
may_not server/store index.h
may_not server/index store_int.h
may_not server/capture rules.h
may_not server/base capture.h
may_not server/api collector.h
may agent/cut process.h
may_not agent/ring cut_chain.h
may_not agent/uplink spool_int.h

# Each include of each room: of its own, or through a door; "_int.h" of its own alone.
for room in "${!looks[@]}"; do
    while read -r header; do
        [ -e "$sources/$room/$header" ] && continue
        case $header in *_int.h) fail "$room includes $header of another room" ;; esac
        case $(compgen -G "$sources/*/*/$header" || true) in
        "$sources"/server/* | "$sources"/agent/*) may "$room" "$header" ;;
        esac
    done < <(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$sources/$room"/*.[ch] | sort -u)
done

# Base names are unique, so that a header is the same for whoever includes it.
names=$(find "$sources"/{agent,server,protocol,common,format,rules,config,analysis,exchange,sql,cli,client-lib,bench,tests} \
    -name node_modules -prune -o -name '*.[ch]' -printf '%f\n' | sort | uniq -d)
[ -z "$names" ] || fail "more than one file is called" $names
