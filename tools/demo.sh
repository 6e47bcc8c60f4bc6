#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The whole path on one machine: a Redis stalls, its health check fails, and the seconds before are
# in your hand. Called by `make demo`.
#
#   tools/demo.sh [BUILD_FOLDER]     default: build/release
#   ONCE=1                           end after the findings
#   DEMO_OUT=FOLDER                  default: demo-out
#
# Needs redis-server, redis-cli and redis-benchmark. Uses free ports of the loopback interface and
# one folder, and ends every process that it started.
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$root/build/release}
out=${DEMO_OUT:-$root/demo-out}
state=$out/state
stall_s=2
began=$(date +%s%N)

# ---- telling ----

say() {
    local ms=$((($(date +%s%N) - began) / 1000000))
    printf '[%3d.%d s] %s\n' $((ms / 1000)) $((ms % 1000 / 100)) "$*"
}

fail() {
    printf '\ndemo: %s\n' "$*" >&2
    printf 'demo: the logs are in %s\n' "$out" >&2
    exit 1
}

# ---- processes ----

pids=()

# start NAME COMMAND...: in the background, output to NAME.log.
start() {
    local name=$1
    shift
    "$@" >"$out/$name.log" 2>&1 9>&- &
    pids+=($!)
}

stop_all() {
    local i pid
    trap - EXIT INT TERM
    for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
        pid=${pids[i]}
        kill "$pid" 2>/dev/null || continue
        for _ in {1..100}; do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
        kill -9 "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    [ -n "${run:-}" ] && rm -rf "$run"
}
trap stop_all EXIT
trap 'stop_all; echo; exit 130' INT
trap 'stop_all; exit 143' TERM

# wait_for SECONDS WHAT COMMAND...: until the command succeeds.
wait_for() {
    local deadline=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $deadline ] || fail "$what did not happen in time"
        for pid in "${pids[@]}"; do
            kill -0 "$pid" 2>/dev/null || fail "a process of the demo has ended before $what"
        done
        sleep 0.1
    done
}

ports=()
# Adds a port on which nobody listens to ports.
free_port() {
    local port used
    while :; do
        port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
        used=" ${ports[*]-} "
        [[ $used == *" $port "* ]] && continue
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && continue
        ports+=("$port")
        return
    done
}

# json_member NAME: the first member of that name in the JSON on standard input.
json_member() {
    sed -nE 's/.*"'"$1"'":[[:space:]]*"?([^",}]*)"?.*/\1/p' | head -n 1
}

# ---- preparation ----

for program in redis-server redis-cli redis-benchmark; do
    command -v $program >/dev/null || fail "$program is missing; \`make deps\` installs it"
done
for program in server/skeind agent/skein-agent cli/skein client-lib/preload/libskein-preload.so; do
    [ -e "$build/$program" ] || fail "$build/$program is missing; \`make build\` builds it"
done
mkdir -p "$out"
exec 9>"$out/.lock"
flock -n 9 || fail "another demo runs in $out"
rm -rf "$state" "$out"/*.log "$out/redis.skein" "$out/redis.pftrace" "$out"/redis.skein.part*
mkdir -p "$state/collector" "$state/agent" "$state/redis"
run=$(mktemp -d "${TMPDIR:-/tmp}/skein-demo.XXXXXX") # short: a socket's path has at most 107 bytes
for _ in 1 2 3 4; do free_port; done
data=${ports[0]} control=${ports[1]} http=${ports[2]} redis=${ports[3]}
export SKEIN_COLLECTOR=http://127.0.0.1:$http
export SKEIN_SOCKET=$run/agent.sock
skein=$build/cli/skein

cat >"$state/collector.json" <<JSON
{"listen": {"data": "tcp://127.0.0.1:$data", "control": "tcp://127.0.0.1:$control",
            "http": "127.0.0.1:$http"},
 "data_dir": "$state/collector", "agents": {"heartbeat_ms": 1000, "lease_ms": 5000}}
JSON
cat >"$state/agent.json" <<JSON
{"collector": {"data": "tcp://127.0.0.1:$data", "control": "tcp://127.0.0.1:$control"},
 "socket": "$SKEIN_SOCKET", "state_dir": "$state/agent", "heartbeat_ms": 1000,
 "checks": {"exec_allow": ["redis-cli -p $redis ping"]}}
JSON
cat >"$state/redis-ping.json" <<JSON
{"name": "redis-ping", "description": "Redis answers a ping within half a second",
 "selector": "service=redis",
 "when": {"health": {"every_ms": 1000, "timeout_ms": 500, "failures": 1,
                     "exec": {"command": ["redis-cli", "-p", "$redis", "ping"], "expect": "PONG"}}},
 "capture": {"pre_ms": 10000, "post_ms": 3000},
 "limits": {"cooldown_ms": 2000}}
JSON

# ---- the fleet: one collector, one agent, one Redis ----

say "The collector starts: $SKEIN_COLLECTOR"
start skeind "$build/server/skeind" --config "$state/collector.json"
wait_for 30 "the collector's start" "$skein" health
say "The agent of this host starts and connects to it."
start skein-agent "$build/agent/skein-agent" --config "$state/agent.json"
wait_for 30 "the agent's start" test -S "$SKEIN_SOCKET"
agent_online() { "$skein" health -o json | grep -q '"online"'; }
wait_for 30 "the agent's hello" agent_online

say "Debian's redis-server starts under \`skein run\`, unchanged."
start redis-server "$skein" run --service redis -- redis-server --port "$redis" --bind 127.0.0.1 \
    --save '' --appendonly no --enable-debug-command local --dir "$state/redis"
redis_pid=${pids[-1]}
ping() { [ "$(redis-cli -p "$redis" ping)" = PONG ]; }
wait_for 30 "Redis's first answer" ping
attached() { "$skein" ps -l service=redis -o json | grep -q '"live"'; }
wait_for 30 "the recording of Redis" attached
recorded_since=$(date +%s%N)

"$skein" rule apply "$state/redis-ping.json" >/dev/null || fail "the rule was refused"
say "A rule watches it: \`redis-cli ping\` every second must answer within 500 ms; else the 10 s"
say "before and 3 s after are captured."

# What it began ends with it: redis-benchmark alone goes on for ever once its Redis is gone.
traffic() {
    # shellcheck disable=SC2046 # words
    trap 'kill $(jobs -p) 2>/dev/null; exit' TERM
    while :; do
        redis-benchmark -p "$redis" -c 8 -n 4000 -t set,get,lpush -q &
        wait $! || sleep 1
        sleep 0.2
    done
}
start redis-benchmark traffic
say "redis-benchmark makes traffic."
echo
"$skein" ps
echo
passing() { "$skein" rule show redis-ping -o json | grep -q '"passing"'; }
wait_for 60 "the first passing check" passing
say "The check passes. The recorder fills; 10 s of the past will be worth having."
while [ $((($(date +%s%N) - recorded_since) / 1000000)) -lt 11500 ]; do sleep 0.5; done

# ---- the stall ----

stall() {
    stall_at=$(date +%s%N)
    say "Redis is made to stall for $stall_s s now, once: redis-cli DEBUG SLEEP $stall_s"
    redis-cli -p "$redis" debug sleep $stall_s >"$out/stall.log" 2>&1 9>&- &
    pids+=($!)
}

capture=
# The first capture that a health check took after the stall began.
find_capture() {
    local found
    found=$("$skein" captures --from "$(date -u -d "@$((stall_at / 1000000000))" +%FT%TZ)" -o json |
        json_member capture)
    [ "$found" != "$early" ] && capture=$found && [ -n "$capture" ]
}

# A check that failed sooner than the stall can make one fail was failed by the machine: its capture may
# end before the stall does.
early=
for ((stalls = 1; ; stalls++)); do
    stall
    deadline=$((SECONDS + 30))
    until find_capture 2>/dev/null; do
        [ $SECONDS -lt $deadline ] || fail "no capture was taken within 30 s of the stall"
        sleep 0.1
    done
    "$skein" capture show "$capture" -o json >"$state/capture.json"
    failed_ns=$(date -d "$(json_member at <"$state/capture.json")" +%s%N)
    [ $((failed_ns - stall_at)) -lt 400000000 ] && [ $stalls -lt 3 ] || break
    early=$capture
    say "Redis did not answer before that already: this machine was busy with something else. Once more."
    "$skein" capture show --wait "$capture" >/dev/null 2>&1
    wait "${pids[-1]}" # the stall's, which ends by itself and is not missed
    unset 'pids[-1]'
    sleep $((2 * stall_s))
    wait_for 60 "a passing check" passing
done
say "The health check fails: $(json_member reason <"$state/capture.json")"
say "The agent has saved the past at once, and the collector has capture $capture."
"$skein" capture show --wait "$capture" -o json >"$state/capture.json" 2>/dev/null || [ $? = 3 ] ||
    fail "the capture did not become final"
status=$(json_member status <"$state/capture.json")
say "The capture is $status. Verdict: $(sed -nE 's/.*"text":[[:space:]]*"([^"]*)".*/\1/p' "$state/capture.json" | head -n 1)"
"$skein" fetch "$capture" -o "$out/redis.skein" >/dev/null || fail "the download failed"
say "Fetched over HTTP: $SKEIN_COLLECTOR/api/v1/captures/$capture/trace"
"$skein" check "$out/redis.skein" >"$out/check.log" 2>&1 || fail "the file is damaged: $(cat "$out/check.log")"
"$skein" export "$out/redis.skein" --to perfetto -o "$out/redis.pftrace" >/dev/null ||
    fail "the export failed"
say "Checked, and exported for ui.perfetto.dev:"
say "$out/redis.skein and redis.pftrace"

# ---- the findings, and what this demo claims, verified ----

echo
say "Findings: skein report $capture"
echo
"$skein" report "$capture" --top 5 | sed 's/^/  /'
echo

# The longest region of the main thread, and what of the record lies before it.
regions() { "$skein" cat "$out/redis.skein" --json --type region --thread "$redis_pid" "$@"; }
from_ns=$(regions --limit 1 2>/dev/null | json_member ts_ns)
stall=$(regions --longest 1)
stall_ns=$(json_member ts_ns <<<"$stall")
stall_dur=$(json_member dur_ns <<<"$stall")
# utc NS: as an option of `skein cat` takes it.
utc() { date -u -d "@$(($1 / 1000000000)).$(printf %09d $(($1 % 1000000000)))" +%FT%T.%NZ; }

[ -n "$from_ns$stall_dur" ] || fail "the trace has no region of Redis's main thread"
before=$(regions --name loop --to "$(utc $((stall_ns - 1000000)))" | wc -l)
"$skein" what "$capture" -o json >"$state/what.json"
"$skein" report "$capture" -o json >"$state/report.json"
finding=$(json_member text <"$state/report.json")
grep -q 'loop > sleep' "$state/what.json" || fail "Redis was not found inside of the stall"
[[ $finding == "the main thread of redis["*"was in \`sleep\` for"* ]] ||
    fail "the first finding does not name the stall: $finding"
[ "$status" = complete ] || fail "the capture is $status, not complete"
[ $((failed_ns - from_ns)) -ge 5000000000 ] || fail "the trace begins less than 5 s before the failure"
[ "$stall_dur" -ge 1500000000 ] || fail "no region of 1.5 s or more is in Redis's main thread"
[ "$before" -ge 20 ] || fail "there is no ordinary work before the stall"
[ "$stall_ns" -lt "$failed_ns" ] || fail "the stall begins after the failure"

# The same in the console, which the collector serves out of itself.
page=$("$skein" open --print "$capture") || fail "the capture has no page"
exec 3<>"/dev/tcp/127.0.0.1/$http"
printf 'GET /captures/%s HTTP/1.0\r\nHost: localhost\r\nAccept: text/html\r\n\r\n' "$capture" >&3
[[ $(cat <&3) == "HTTP/1."?" 200 "*"<title>Skein"* ]] || fail "$page is not the console"
exec 3>&-

if [ "${ONCE:-}" = 1 ]; then
    say "Everything that was claimed is in the file, and the capture has its page in the console."
    exit 0
fi

cat <<TEXT
  The capture in the console:

    $page

  Look further (everything stays up until Ctrl-C):

    export SKEIN_COLLECTOR=$SKEIN_COLLECTOR PATH=$build/cli:\$PATH
    skein ps
    skein report $capture
    skein what $capture --at -1s
    skein snapshot -l service=redis --pre 5s -o now.skein
    skein cat now.skein --longest 10
    skein cat $out/redis.skein --from -8s --min-dur 1ms
    skein info $out/redis.skein
    skein rule show redis-ping
    skein captures
    redis-cli -p $redis debug sleep 2
    curl $SKEIN_COLLECTOR/api/v1/captures/$capture

  Open $out/redis.pftrace at https://ui.perfetto.dev
TEXT
wait "${pids[@]}"
