#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# That the rooms of the daemons have walls: rooms.sh SOURCES CC ROOM=FOLDER,FOLDER...:LINK,LINK...:FILE,FILE... [ROOM=...]
# ROOM is a folder below SOURCES (seal: a room in that of protocol), the FOLDERs are where its files may
# look for headers, the LINKs are the rooms that it names, the FILEs what it is built of.
set -eu -o pipefail
sources=$1 cc=$2
shift 2
fail() {
    echo "rooms: $*" >&2
    exit 1
}

declare -A looks links files
for given; do
    room=${given%%=*}
    IFS=: read -r looks["$room"] links["$room"] files["$room"] <<<"${given#*=}"
done

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
    [ "$room" != seal ] || continue # in the folder of protocol
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

# What the room says at its entrance: four things, in 15 lines at most.
for room in "${!looks[@]}"; do
    [ "$room" != seal ] || continue
    readme=$sources/$room/README.md
    [ -e "$readme" ] && [ "$(wc -l <"$readme")" -le 15 ] || fail "$room has no README.md of 15 lines at most"
    for word in '**Owns**' '**Threads**' '**Never**' '**Open first**'; do
        grep -qF "$word" "$readme" || fail "$readme does not say: $word"
    done
done

# Each link is used: a file of the room includes a header of that room's door.
for room in "${!links[@]}"; do
    for link in ${links[$room]//,/ }; do
        door=${looks[$room]}
        door=$(tr , '\n' <<<"$door" | grep -m 1 "/doors/[a-z_]*_$link\$")
        used=
        for header in "$door"/*.h; do
            (cd "$sources/${room/#seal/protocol}" && grep -qsF "#include \"${header##*/}\"" ${files[$room]//,/ } ./*.h) &&
                used=1 && break
        done
        [ -n "$used" ] || fail "$room links $link and includes nothing of it"
    done
done

# docs/architecture.md: the list of arrows is that of the LINK lines, each points down in it, and each
# room stands in the picture above it.
page=$sources/docs/architecture.md
fenced() { awk -v first="$1" '/^```/ { inside = !inside; n = 0; next } inside && !n++ { on = index($0, first) == 1 } inside && on' "$page"; }
picture=$(fenced 'server/   every line')
arrows=$(fenced server/collector)
[ "$(wc -l <<<"$arrows")" -eq ${#looks[@]} ] || fail "docs/architecture.md lists other rooms than there are"
above=()
while read -r room to; do
    [ -n "${looks[$room]+is}" ] || fail "docs/architecture.md lists $room, which is no room"
    [ "$(tr ' ' '\n' <<<"$to" | sort)" = "$(tr , '\n' <<<"${links[$room]}" | sort)" ] ||
        fail "docs/architecture.md: $room uses '$to', its LINK line says '${links[$room]//,/ }'"
    [ "$room" = seal ] || grep -qw "${room##*/}" <<<"$picture" || fail "docs/architecture.md draws no $room"
    above+=("${room##*/}")
    for used in $to; do
        case " ${above[*]} " in *" $used "*) fail "docs/architecture.md: the arrow from $room to $used points up" ;; esac
    done
    case $room in agent/agent) above=(agent) ;; esac # the other house
done <<<"$arrows"
