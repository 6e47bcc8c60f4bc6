#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is installed: configured without anything that only tests need (no C++ compiler, no check),
# installed with its man pages, and taken away again but for the settings.
#   install.sh SOURCE BUILD CMAKE
set -eu
source=$1
build=$2
cmake=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail()
{
    echo "install: $*" >&2
    exit 1
}

# ---- nothing of the tests' ----
mkdir "$folder/packages"
pkg-config --variable pc_path pkg-config | tr : '\n' | while IFS= read -r place; do
    for file in "$place"/*.pc; do
        case $file in
        */check.pc) ;;
        *) [ ! -e "$file" ] || ln -sf "$file" "$folder/packages/" ;;
        esac
    done
done
PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$folder/packages CXX=/bin/false "$cmake" -S "$source" \
    -B "$folder/build" -G Ninja -DSKEIN_TESTS=OFF -DSKEIN_BENCH=OFF >"$folder/log" 2>&1 ||
    { cat "$folder/log" >&2; fail "it cannot be configured without the tests' packages"; }
ninja -C "$folder/build" -t targets all >"$folder/targets"
! grep -E '^(tests|bench|examples)/' "$folder/targets" >&2 || fail "these are built"
# ---- there, and gone ----
cp "$build/install_manifest.txt" "$folder/before" 2>/dev/null || true
DESTDIR=$folder/root "$cmake" --install "$build" >"$folder/log"
prefix=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$build/CMakeCache.txt")
for file in bin/skein bin/skeind bin/skein-agent bin/skein-analyst bin/skein-symbolizer include/skein/skein.h share/man/man1/skein.1 \
    share/man/man1/skein-what.1 share/man/man8/skeind.8 share/man/man8/skein-agent.8 \
    lib/systemd/system/skein-agent.service lib/sysusers.d/skein.conf; do
    [ -s "$folder/root$prefix/$file" ] || fail "$file is missing"
done
cp "$build/install_manifest.txt" "$folder/manifest"
[ ! -e "$folder/before" ] || cp "$folder/before" "$build/install_manifest.txt"
"$source/tools/uninstall.sh" "$folder/manifest" "$folder/root"
left=$(find "$folder/root" ! -type d ! -path '*/etc/skein/*')
[ -z "$left" ] || fail "left behind: $left"
[ -e "$folder/root$prefix/etc/skein/agent.json" ] || [ -e "$folder/root/etc/skein/agent.json" ] ||
    fail "the settings are gone"
[ ! -e "$folder/root$prefix/include/skein" ] || fail "an empty folder of ours is left"
! "$source/tools/uninstall.sh" "$folder/manifest" "$folder/root" 2>/dev/null ||
    fail "a second uninstall has something to do"
