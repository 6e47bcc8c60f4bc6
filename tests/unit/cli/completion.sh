#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Presses the tab key in bash, as its completion does, and in fish where it is installed; zsh must
# take its script. Argument: the program.
set -eu
skein=$1
shopt -s expand_aliases
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$skein" "$folder/skein"
export PATH="$folder:$PATH"
cd "$folder"
touch 'a trace.skein'

fail() {
    echo "$1: '$2' instead of '$3'" >&2
    exit 1
}

# What the words before "=>" complete to, sorted.
wants() {
    local words=() wanted got
    while [ "$1" != "=>" ]; do
        words+=("$1")
        shift
    done
    shift
    wanted=$*
    COMP_WORDS=("${words[@]}")
    COMP_CWORD=$((${#words[@]} - 1))
    COMPREPLY=()
    _skein skein "${words[COMP_CWORD]}" "${words[COMP_CWORD - 1]}" || true # compopt fails outside of readline
    got=$(printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' ')
    [ "$got" = "$wanted" ] || fail "${words[*]}" "$got" "$wanted"
}

# shellcheck disable=SC1090 # made a moment ago
source <(skein completion bash)
wants skein snap "=>" snapshot
wants skein capture '' "=>" delete show stop update
wants skein help captu "=>" capture captures
wants skein fetch --format '' "=>" folded perfetto pprof skein
wants skein fetch --format=pe "=>" --format=perfetto
wants skein ps --output = js "=>" json # bash makes three words of it
wants skein ps -o '' "=>" json table
wants skein captures --sta "=>" --status
wants skein rule --js "=>" --json # the first action is meant
wants skein cat a "=>" 'a trace.skein'
wants skein cat x "=>" ''
wants skein run -- --js "=>" '' # it is the program's own
wants skein nonsense '' "=>" ''

if command -v fish >/dev/null; then
    got=$(HOME=$folder fish -c 'skein completion fish | source; complete -C "skein fetch -f "' | cut -f1 | paste -sd' ')
    [ "$got" = "folded perfetto pprof skein" ] || fail fish "$got" "folded perfetto pprof skein"
fi
if command -v zsh >/dev/null; then
    got=$(HOME=$folder zsh -fc 'autoload -Uz compinit; compinit -u -D; source <(skein completion zsh); echo $_comps[skein]')
    [ "$got" = _skein ] || fail zsh "$got" _skein
fi
