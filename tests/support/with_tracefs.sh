#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a test where tracefs is there: systemd mounts it, a bare container or virtual machine may not.
# Mounted for the test alone, in a mount namespace of its own; who may not mount runs without.
#   with_tracefs.sh PROGRAM [ARGUMENT...]
set -eu
place=/sys/kernel/tracing
if [ -d "$place/events" ] || ! unshare --mount --propagation slave mount -t tracefs tracefs "$place" 2>/dev/null; then
    exec "$@"
fi
# shellcheck disable=SC2016 # the inner shell's words
exec unshare --mount --propagation slave sh -c 'mount -t tracefs tracefs "$0" && exec "$@"' "$place" "$@"
