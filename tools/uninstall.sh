#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Takes away what an installation has put there, and the folders of Skein that are then empty.
# Settings below etc/ and data stay: they are the operator's.
#   tools/uninstall.sh MANIFEST [DESTDIR]     the manifest: build/install/install_manifest.txt
set -eu
manifest=$1
root=${2:-}

if ! [ -f "$manifest" ]; then
    echo "uninstall: $manifest is not there: nothing was installed from this folder" >&2
    exit 1
fi
# Folders of Skein's own, the innermost first.
folders()
{
    sed -n 's|\(.*/skein\)/.*|\1|p' "$manifest" | sort -ru
}

count=0
while IFS= read -r file || [ -n "$file" ]; do
    [ -n "$file" ] || continue
    rm -f "$root$file"
    count=$((count + 1))
done <"$manifest"
folders | while IFS= read -r folder; do
    rmdir "$root$folder" 2>/dev/null || true
done
rm -f "$manifest"
echo "uninstall: $count files are gone; settings and data stay"
