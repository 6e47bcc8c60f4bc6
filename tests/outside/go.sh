#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the Go service, statically and without a network, and judges what is captured of it.
#   go.sh GO SOURCE BUILD JUDGE...
set -eu
go=$1 source=$2 build=$3
shift 3
out=$build/tests/outside
mkdir -p "$out"
export GOPROXY=off GOFLAGS=-mod=mod GOCACHE="$out/go-cache" GOPATH="$out/go-path" CGO_ENABLED=0
(cd "$source/tests/outside/go" && "$go" build -o "$out/outside_go" .)
exec "$@" "$out/outside_go" "$go"
