#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# LTTng's snapshot of a 16 MiB user-space ring over the network, for bench_snapshot: prints
# "median_ms N", or one line that says why there is no figure.
#
#   bench/snapshot_lttng.sh RUNS PROGRAM     PROGRAM: snapshot_peer
#
# Private daemons and folder, loopback only; all of it is ended and removed.
set -u
runs=$1 program=$2

quit() {
    echo "$*"
    exit 0
}
for tool in lttng lttng-sessiond lttng-relayd; do
    command -v $tool >/dev/null || quit "not installed (\`tools/deps.sh --bench\` installs it)"
done
wrapper=$(ldconfig -p | sed -n 's/.*liblttng-ust-libc-wrapper\.so[.0-9]* .*=> //p' | head -n 1)
[ -n "$wrapper" ] || quit "its malloc wrapper is not installed"
pgrep -x lttng-sessiond >/dev/null && quit "another lttng-sessiond runs on this machine; it is left alone"

folder=$(mktemp -d "${TMPDIR:-/tmp}/skein-lttng.XXXXXX")
export LTTNG_HOME=$folder
pids=()
cleanup() {
    exec 3>&- 4<&- 2>/dev/null
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
    done
    rm -rf "$folder"
}
trap cleanup EXIT

port=$((23000 + RANDOM % 8000))
lttng-sessiond --no-kernel >"$folder/sessiond.log" 2>&1 &
pids+=($!)
lttng-relayd -C tcp://127.0.0.1:$port -D tcp://127.0.0.1:$((port + 1)) \
    -L tcp://127.0.0.1:$((port + 2)) -o "$folder/out" >"$folder/relayd.log" 2>&1 &
pids+=($!)
for _ in {1..100}; do
    lttng --no-sessiond list >/dev/null 2>&1 && break
    sleep 0.1
done
for _ in {1..100}; do
    (exec 5<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
    sleep 0.1
done
cpus=$(nproc)
{
    lttng --no-sessiond create skein --snapshot --set-url="net://127.0.0.1:$port:$((port + 1))" &&
        lttng --no-sessiond enable-channel --userspace --overwrite --subbuf-size=1M \
            --num-subbuf=$((16 / cpus > 2 ? 16 / cpus : 2)) ring &&
        lttng --no-sessiond enable-event --userspace --channel=ring 'lttng_ust_libc:*' &&
        lttng --no-sessiond start
} >"$folder/lttng.log" 2>&1 || quit "no session: $(tail -n 1 "$folder/lttng.log")"

mkfifo "$folder/in" "$folder/filled"
LTTNG_UST_REGISTER_TIMEOUT=5000 LD_PRELOAD=$wrapper "$program" <"$folder/in" >"$folder/filled" &
pids+=($!)
exec 3>"$folder/in" 4<"$folder/filled"

times=()
for ((i = 0; i < runs; i++)); do
    echo fill >&3
    read -r -t 30 <&4 || quit "its service did not fill the ring"
    began=$(date +%s%N)
    lttng --no-sessiond snapshot record >"$folder/lttng.log" 2>&1 ||
        quit "no snapshot: $(tail -n 1 "$folder/lttng.log")"
    times+=($((($(date +%s%N) - began) / 1000)))
done
bytes=$(du -sb "$folder/out" 2>/dev/null | cut -f1)
[ "${bytes:-0}" -gt $((runs * 1000000)) ] || quit "its snapshots held no events"
printf '%s\n' "${times[@]}" | sort -n | sed -n "$((runs / 2 + 1))p" |
    awk '{ printf "median_ms %.2f\n", $1 / 1000 }'
