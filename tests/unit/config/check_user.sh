#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# systemd-sysusers makes the user by whom checks run by default, and nobody else; that user has no
# shell to log in by.
#   check_user.sh SYSUSERS FILE AGENT
set -eu
sysusers=$1 file=$2 agent=$3
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
fail()
{
    echo "check_user: $*" >&2
    exit 1
}
mkdir "$root/etc"
# On a standing root of its own, where there is not even a root yet.
"$sysusers" --root="$root" "$file" >"$root/said" 2>&1 || { cat "$root/said" >&2; fail "it makes none"; }
name=$("$agent" --print-schema | python3 -c '
import json, sys
print(json.load(sys.stdin)["properties"]["checks"]["properties"]["user"]["default"])')
[ "$(cut -d: -f1 "$root/etc/passwd")" = "$name" ] ||
    fail "checks.user is $name by default, made is: $(cat "$root/etc/passwd")"
IFS=: read -r _ _ uid _ _ home shell <"$root/etc/passwd"
[ "$uid" -gt 0 ] && [ "$uid" -lt 1000 ] || fail "uid $uid is no system user's"
[ "$home" = / ] || fail "home $home"
case $shell in */nologin) ;; *) fail "shell $shell" ;; esac
