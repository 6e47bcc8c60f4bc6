#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How the console comes into skeind: the same files make the same bytes, what cannot be served right stops the
# build, and a machine without npm is told what to do.
#   console_embed.sh SOURCES CMAKE
set -eu
sources=$1
cmake=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail()
{
    echo "console_embed: $*" >&2
    exit 1
}

embed() # DIST OUT
{
    "$cmake" -DDIST="$1" -DWORK="$2.files" -DOUT="$2.c" -P "$sources/server/console/console_embed.cmake" >"$folder/log" 2>&1
}

cp -r "$sources/tests/unit/server/console_dist" "$folder/dist"
embed "$folder/dist" "$folder/one" || fail "$(cat "$folder/log")"
find "$folder/dist" -exec touch -d 2001-02-03 {} +
embed "$folder/dist" "$folder/two" || fail "$(cat "$folder/log")"
diff -r "$folder/one.files" "$folder/two.files" || fail "other bytes of the same files"
sed s,/two.files,/one.files, "$folder/two.c" | cmp - "$folder/one.c" || fail "another table of the same files"

refuses() # WORDS
{
    ! embed "$folder/dist" "$folder/three" || fail "it takes what it should not: $1"
    tr '\n' ' ' <"$folder/log" | tr -s ' ' | grep -qF "$1" || fail "not \"$1\": $(cat "$folder/log")"
}
touch "$folder/dist/assets/what.xyz"
refuses "no media type for .xyz"
mv "$folder/dist/assets/what.xyz" "$folder/dist/assets/a\"b.js"
refuses "a name with other characters"
rm "$folder/dist/assets/a\"b.js" "$folder/dist/index.html"
refuses "holds no console"

# ---- no npm ----
mkdir -p "$folder/tree/web/wasm" "$folder/tree/tools" "$folder/bin"
cp "$sources/web/package.json" "$sources/web/package-lock.json" "$folder/tree/web/"
cp "$sources/tools/web.sh" "$folder/tree/tools/"
for part in analysis common format sched client-lib/include client-lib/src server/api; do
    mkdir -p "$folder/tree/$part"
done
touch "$folder/tree/server/api/openapi.json"
for program in bash cat cmp date dirname env find flock mkdir rm sha256sum sort xargs; do
    ln -s "$(command -v $program)" "$folder/bin/"
done
! PATH=$folder/bin "$folder/tree/tools/web.sh" >"$folder/log" 2>&1 || fail "it builds without npm"
for words in npm tools/deps.sh -DSKEIN_WEB=OFF -DSKEIN_WEB_DIST=FOLDER; do
    grep -qF -e "$words" "$folder/log" || fail "not \"$words\": $(cat "$folder/log")"
done
