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

# A planted include: what stands above is not found, an inside is not found from outside, a door is.
compiles() { # ROOM HEADER, as the compiler sees it
    local flags=()
    IFS=, read -ra folders <<<"${looks[$1]}"
    for folder in "${folders[@]}"; do flags+=("-I$folder"); done
    printf '#include "%s"\n' "$2" | "$cc" -E -o /dev/null "${flags[@]}" -x c - 2>/dev/null
}
may() { compiles "$1" "$2" || fail "$1 does not find $2"; }
may_not() { ! compiles "$1" "$2" || fail "$1 may include $2"; }
may server/index store.h
may_not server/store index.h
may_not server/index store_int.h
may_not server/capture rules.h
may_not server/base capture.h
may_not server/api collector.h
may_not server/analyst analyst_serve.h
may agent/cut process.h
may_not agent/ring cut_chain.h
may_not agent/uplink spool_int.h

# What the compiler does not see: a path leads through any wall, and a library without a door shows all
# that its folder has. So a header is included by its name alone (skein/… but), "_int.h" in its folder.
sources_of() { find "$1" \( -name node_modules -o -name build \) -prune -o -name '*.[ch]' -printf '%P\n'; }
through_walls() { # FOLDER: such includes, one a line; tests may look anywhere
    local file header
    sources_of "$1" | (cd "$1" && grep -v '^tests/' | xargs grep -HE '^ *# *include "([^"]*/|[^"]*_int\.h")') |
        sed 's/: *# *include "/ /; s/".*//' | while read -r file header; do
        case $header in
        skein/*) continue ;;
        */*) ;;
        *) [ ! -e "$1/${file%/*}/$header" ] || continue ;;
        esac
        echo "$file includes $header"
    done
}
planted=$(mktemp -d)
trap 'rm -r "$planted"' EXIT
mkdir -p "$planted"/agent/{spool,uplink}
touch "$planted"/agent/spool/spool_int.h
printf '#include "%s"\n' spool_int.h skein/status.h >"$planted"/agent/spool/spool.c
printf '#include "%s"\n' ../spool/spool_int.h spool_int.h ../spool/spool.h >"$planted"/agent/uplink/uplink.c
[ "$(through_walls "$planted" | wc -l)" -eq 3 ] || fail "a planted include through a wall is not seen"
walls=$(through_walls "$sources")
[ -z "$walls" ] || fail "through a wall: $walls"

# Modules' names are unique, so that a header is the same for whoever includes it: a name is that of the
# .c and .h of one folder (those that are installed lie in another one).
names=$(sources_of "$sources" | sed 's,^client-lib/include/skein/,client-lib/src/,; s/\.[ch]$//' | sort -u | sed 's,.*/,,' | sort | uniq -d)
[ -z "$names" ] || fail "more than one module is called" $names

# What the room says at its entrance: four things, in 15 lines at most.
for room in "${!looks[@]}"; do
    [ "$room" != seal ] || continue # in the folder of protocol
    readme=$sources/$room/README.md
    mapfile -t lines <"$readme" && [ "${#lines[@]}" -le 15 ] || fail "$room has no README.md of 15 lines at most"
    for word in '**Owns**' '**Threads**' '**Never**' '**Open first**'; do
        case ${lines[*]} in *"$word"*) ;; *) fail "$readme does not say: $word" ;; esac
    done
done

# Each link is used: a file of the room includes a header of that room's door.
for room in "${!links[@]}"; do
    included=$(cd "$sources/${room/#seal/protocol}" && grep -hso '^#include "[^"]*"' ${files[$room]//,/ } ./*.h)
    for link in ${links[$room]//,/ }; do
        used=
        for folder in ${looks[$room]//,/ }; do
            case $folder in */doors/*_"$link") ;; *) continue ;; esac
            for header in "$folder"/*.h; do
                case $included in *"\"${header##*/}\""*) used=1 ;; esac
            done
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
