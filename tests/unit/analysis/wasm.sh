#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# analysis/ compiles for WebAssembly: it asks its C library for nothing that a browser's has not. The
# headers of cJSON are looked for behind those of that library.
#   wasm.sh SOURCE FOLDER
set -eu
command -v clang >/dev/null && [ -e /usr/include/wasm32-wasi/stdlib.h ] || {
    echo "clang or wasi-libc is not installed"
    exit 77
}
cd "$1"
mkdir -p "$2/include"
ln -sfn /usr/include/cjson "$2/include/cjson"
for file in analysis/*.c; do
    clang --target=wasm32-wasi -std=gnu11 -D_GNU_SOURCE -DSKEIN_VERSION_TEXT='"0"' -fsyntax-only \
        -Werror=implicit-function-declaration -Ianalysis -Isched -Iformat -Iformat/include -Icommon \
        -Iclient-lib -Iclient-lib/include -idirafter "$2/include" "$file"
done
