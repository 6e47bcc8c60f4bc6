# SPDX-License-Identifier: Apache-2.0
"""skein stats and skein diff as they are typed: what is left out is counted, parts of a time add up to
the whole, a trace beside itself has no change, and wrong usage is refused.

  stats_diff.py SKEIN MAKE_TRACE FOLDER PERF_DATA
"""
import json
import os
import subprocess
import sys

skein, make, folder, perf = sys.argv[1:]
trace = os.path.join(folder, "stats_diff.skein")
subprocess.run([make, trace], check=True)


def run(status, *words):
    done = subprocess.run([skein, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == status, f"{words}: {done.returncode}: {done.stderr}"
    return done.stdout + done.stderr


def names(*words):
    rows = json.loads(run(0, "stats", "--json", trace, *words))["names"]
    return {(r["pid"], r["name"]): r["count"] for r in rows}


whole = names()
middle = "2026-11-21T09:40:00.0064Z"
one, other = names("--to", middle), names("--from", middle)
assert {k: one.get(k, 0) + other.get(k, 0) for k in whole} == whole and one and other
assert {pid for pid, _ in names("--process", "111")} == {111}
of_thread = names("--process", "111", "--thread", "worker-1")
assert 0 < of_thread[111, "read"] < whole[111, "read"]
text = run(0, "stats", trace, "--top", "2")
assert f"and {len(whole) - 2} more rows (--top {len(whole)} lists them" in text, text
assert "worker-0" in run(0, "stats", trace)

same = run(0, "diff", trace, trace)
assert "nothing changed that is more than chance" in same, same
halves = json.loads(run(0, "diff", trace, "--before", middle, "--json"))
assert halves["version"] == 2 and halves["outcome"] in ("same", "changed") and halves["tests"] > 20 and not [c for c in halves["changes"] if c["sure"]]
assert int(halves["before"]["to_ns"]) < int(halves["after"]["to_ns"])
window = json.loads(run(0, "diff", trace, "--before", middle, "--window", "3ms", "--json"))
assert int(window["after"]["to_ns"]) - int(window["before"]["from_ns"]) <= 6_000_000
narrow = json.loads(run(0, "diff", trace, "--before", middle, "--window", "3ms", "--json",
                        "--from", "2026-11-21T09:40:00.0054Z", "--to", "2026-11-21T09:40:00.0074Z"))
assert 0 < int(narrow["after"]["to_ns"]) - int(narrow["before"]["from_ns"]) <= 2_000_000, narrow
assert not names("--to", "1970-01-01T00:00:00Z")
pair = run(0, "diff", trace, "--process", "100", "--against", "111")
assert f"before: {trace}, 111, 1 process, from" in pair and f"after:  {trace}, 100, 1 process, from" in pair, pair

# A failure beside its baseline: there is one other process of the service "even", and none of "odd".
beside = json.loads(run(0, "diff", trace, "--baseline", "neighbours", "--process", "100", "--json"))
assert beside["baseline"]["chosen"] == "neighbours" and beside["baseline"]["asked"] == "neighbours", beside
assert beside["before"]["processes"] == 1 and beside["after"]["processes"] == 1
assert "baseline: neighbours: the other processes of its service (1)" in run(
    0, "diff", trace, "--process", "100")  # auto: the trace has too little of a time before
assert "only process of its service" in run(1, "diff", trace, "--baseline", "neighbours", "--process", "111")
assert "--process names it" in run(1, "diff", trace, "--baseline", "neighbours")
assert "a file has no samples" in run(1, "diff", trace, "--baseline", "sample")
assert "of the record before the onset" in run(1, "diff", trace, "--baseline", "earlier")
assert "--baseline and --at find" in run(2, "diff", trace, trace, "--baseline", "earlier")
assert "must be a time" in run(2, "diff", trace, "--at", "soon")

# The slowest of a region: by sums that the events themselves make.
slowest = json.loads(run(0, "diff", trace, "--slowest", "read", "--json"))
lengths = [e["dur_ns"] for e in map(json.loads, run(0, "cat", trace, "--json").splitlines())
           if e.get("name") == "read" and e["type"] == "region"]
assert slowest["slow"] + slowest["rest"] == len(lengths), (slowest, len(lengths))
assert slowest["slow"] == sum(int(n) > int(slowest["slow_ns"]) for n in lengths)
assert "took longer than" in run(0, "diff", trace, "--slowest", "read")
assert "no region of that name" in run(1, "diff", trace, "--slowest", "nothing")
assert "--slowest is of one file" in run(2, "diff", trace, trace, "--slowest", "read")

# Scheduling, by what `skein sched` finds in the same file with other code.
run(0, "import", "perf", perf, "-o", trace)
sched = json.loads(run(0, "sched", trace, "-o", "json"))
stats = json.loads(run(0, "stats", trace, "--json"))
threads = {(t["pid"], t["tid"]): t for t in stats["threads"]}
assert len(sched["threads"]) == len(threads) > 5
for t in sched["threads"]:
    s = threads[t["pid"], t["tid"]]
    for member in ("run_ns", "runnable_ns", "runs", "preempted"):
        assert s[member] == t[member], (member, s, t)
    for state, ns in t["blocked_ns"].items():
        assert s[f"blocked_{state.lower()}_ns"] == ns, (state, s, t)
    for which in ("longest_runnable", "longest_blocked"):
        assert s.get(which, {}).get("dur_ns") == t.get(which, {}).get("dur_ns"), (which, s, t)
assert {(u["pid"], u["comm"], u["cpu_ns"]) for u in sched["cpu_users"]} == {
    (n["pid"], n["name"], n["cpu_ns"]) for n in stats["neighbours"]}

assert "no --before or --against" in run(2, "diff", trace, trace, "--before", "-1s")
assert "--against needs --process" in run(2, "diff", trace, "--against", "100")
assert "--window needs --before" in run(2, "diff", trace, trace, "--window", "1s")
assert "has nothing on one side" in run(1, "diff", trace, "--before", "-1000s")
assert "must be a time" in run(2, "diff", trace, "--before", "soon")
assert "no process of the trace is 77" in run(1, "stats", trace, "--process", "77")
assert "must be a time" in run(2, "stats", trace, "--from", "soon")
for words in (["stats", trace], ["report", trace], ["cat", trace], ["diff", trace, trace]):
    told = run(2, *words, "--from", "+5ms", "--to", "+1ms")
    assert words[0] + ": the time that is asked for begins at" in told and "would end before that" in told, told
for from_to in (["--from", "+5ms"], ["--to", "+500us"]):
    assert "would end before that" in run(2, "diff", trace, "--before", "+1ms", *from_to)
assert "must be at least 1" in run(2, "report", trace, "--top", "0")
assert run(1, "stats", os.path.join(folder, "nothing.skein"))
os.unlink(trace)
