#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the Go program against this build's libskein, without a network, and judges what it records.
#   go.sh GO SOURCE BUILD JUDGE...
set -eu
go=$1 source=$2 build=$3
shift 3
out=$build/tests/bindings
mkdir -p "$out"
cat >"$out/skein.pc" <<END
Name: skein
Description: this build's
Version: 0
Libs: -L$build/client-lib -lskein
Cflags: -I$source/client-lib/include
END
export PKG_CONFIG_PATH="$out" GOPROXY=off GOFLAGS=-mod=mod GOCACHE="$out/go-cache" GOPATH="$out/go-path" CGO_ENABLED=1
(cd "$source/tests/bindings/go" && "$go" vet . && "$go" build -o "$out/go_subject" .)
exec "$@" go "$out/go_subject"
