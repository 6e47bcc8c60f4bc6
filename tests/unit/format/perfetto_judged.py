#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An export to Perfetto, as its importer reads it (perfetto_judge.py), against what the trace's maker says is
in it, and against `skein sql`.

    perfetto_judged.py SKEIN MAKE_TRACE PROTOC FOLDER_OF_THE_PROTO
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

from perfetto_judge import Judge

SLACK = 60  # ns: a tick


def rule(holds, *what):
    if not holds:
        sys.exit("perfetto: " + " ".join(str(w) for w in what))


def asked(skein, trace, statement):
    out = subprocess.run([skein, "sql", "--json", trace, statement], check=True, stdout=subprocess.PIPE).stdout
    rows = json.loads(out)
    return [tuple(int(v) if isinstance(v, str) and v.lstrip("-").isdigit() else v for v in row.values()) for row in rows]


def match(wanted, got, what):
    """Rows of (key, times…): as many, and all times of a pair nearly equal."""
    left = collections.defaultdict(list)
    for key, *times in got:
        left[key].append(times)
    for key, *times in wanted:
        near = [t for t in left[key] if all(abs(a - b) <= SLACK for a, b in zip(t, times))]
        rule(near, what, "lacks", key, times, "; near:", sorted(left[key], key=lambda t: abs(t[0] - times[0]))[:2])
        left[key].remove(min(near, key=lambda t: sum(abs(a - b) for a, b in zip(t, times))))
    more = {key: rows for key, rows in left.items() if rows}
    rule(not more, what, "has more:", list(more.items())[:2])


def truth_test(judge, truth):
    pids = {"shop": 4001, "cart": 5001, "away": 6001}
    evidence = ("sched.run", "cpu.sample")
    got = {"slice": [], "open": [], "instant": []}
    for row in judge.slices + judge.instants:
        if row["name"] in evidence:
            continue
        kind = "instant" if row["type"] == 3 else "slice" if row["dur"] is not None else "open"
        got[kind].append(((*judge.owner(row["uuid"]), row["name"]), judge.realtime(row["ts"]), row["dur"] or 0))
    wanted = {"slice": [], "open": [], "instant": []}
    for line in truth:
        kind, service, tid, name, ts, dur = line.split()
        wanted[kind].append(((pids[service], int(tid), name), int(ts), int(dur)))
    for kind in wanted:
        match(wanted[kind], got[kind], kind)
    rule(any(judge.names[r["uuid"]].endswith("crossing 1") for r in judge.slices), "nothing crosses")


def nesting_test(judge, skein, trace):
    """A region whose range is around it lies in that one, wherever both are on one track."""
    around = {}
    for pid, tid, ts, dur, name, parent, parent_ts in asked(
            skein, trace, "select s.pid, s.tid, s.ts, s.dur, s.name, p.name, p.ts from slice s left join slice p "
            "on p.id = s.parent_id where s.is_open = 0"):
        around.setdefault((pid, tid, name, ts, dur), set()).add((parent, parent_ts))
    keys, checked = collections.defaultdict(list), 0
    for key in around:
        keys[key[:3]].append(key)
    for row in judge.slices:
        key = [k for k in keys[(*judge.owner(row["uuid"]), row["name"])] if row["dur"] is not None and
               abs(k[3] - judge.realtime(row["ts"])) <= SLACK and abs(k[4] - row["dur"]) <= SLACK]
        if not key or judge.names[row["uuid"]].find("crossing") >= 0:
            continue
        above, at = [], row["parent"]
        while at is not None:
            above.append(at)
            at = at["parent"]
        parents = {p for k in key for p in around[k] if p[0] is not None}
        rule(not parents or any(a["name"] == p[0] and abs(judge.realtime(a["ts"]) - p[1]) <= 2 * SLACK
                                for a in above for p in parents), "a region is not in its range:", row, parents)
        checked += bool(parents)
    rule(checked > 50, "too few regions lie in ranges:", checked)


def ends_test(judge, skein, trace):
    """What ends at one tick ends at one time, however long it was."""
    ends = [collections.Counter(asked(skein, trace, f"select process_id, tid, ts + dur from slice where name = '{name}'"))
            for name in ("span", "twin")]
    rule(ends[0] == ends[1] and len(ends[0]) > 500, "ends of one tick:", list((ends[0] - ends[1]).items())[:3])


def counters_test(judge, skein, trace):
    wanted = []
    for pid, tid, ts, name, value in asked(skein, trace, "select pid, tid, ts, name, value from counter where evidence = 0"):
        wanted.append(((pid, None, name, value), ts))
    for pid, tid, ts, name, arg, value in asked(
            skein, trace, "select pid, tid, ts, event_name, name, value from args where event_name = 'thread.load'"):
        wanted.append(((pid, tid, f"{name}.{arg}", value), ts))
    hosts = {(host, ts, value) for host, ts, value in asked(
        skein, trace, "select host, ts, value from counter where name = 'host.load'")}
    rule(len(hosts) == 12, "hosts:", hosts)
    wanted += [((None, "host " + host, "host.load", value), ts) for host, ts, value in hosts]
    got = [((*judge.owner(row["uuid"]), judge.names[row["uuid"]], row["value"]), judge.realtime(row["ts"]))
           for row in judge.counters]
    match(wanted, got, "counters")


def stacks_test(judge, skein, trace):
    frames = collections.defaultdict(dict)
    for event, position, function, module in asked(skein, trace, "select event_id, position, function, module from frame"):
        frames[event][position] = (function, module)
    stacks = {event: tuple(f[i] for i in sorted(f)) for event, f in frames.items()}
    wanted = [((pid, tid, name, stacks[event], dur), ts) for event, pid, tid, ts, dur, name in asked(
        skein, trace, "select event_id, pid, tid, ts, dur, name from stack where kind = 'region'")]
    got = [((*judge.owner(row["uuid"]), row["name"], row["stack"], row["weight"]), judge.realtime(row["ts"]))
           for row in judge.slices if row["stack"]]
    rule(len(wanted) > 50, "too few stacks:", len(wanted))
    match(wanted, got, "stacks")
    wanted = [((pid, tid, cpu, weight, stacks[event]), ts) for event, pid, tid, cpu, weight, ts in asked(
        skein, trace, "select id, pid, tid, cpu, weight, ts from sample")]
    got = [((pid, tid, cpu, weight, stack), judge.realtime(ts)) for ts, pid, tid, cpu, weight, stack in judge.weights()]
    match(wanted, got, "samples")
    rule(len(judge.sessions) == 2, "a profile for each host:", judge.sessions)


def threads_test(judge, skein, trace):
    rule({k: judge.names[u] for k, u in judge.thread_of.items()} == {
        (pid, pid + i): name for pid in (4001, 5001, 6001)
        for i, name in enumerate(["main", "second", "pool", "quiet"])}, "names of threads:",
        {k: judge.names[u] for k, u in judge.thread_of.items()})
    told = set(asked(skein, trace, "select pid, tid, name from thread where tid != 0"))
    rule(told == {(pid, pid + i, name) for pid in (4001, 5001, 6001)
                  for i, name in enumerate(["main", "second", "pool", "quiet"])} |
         {(pid, pid + i, name) for pid in (4001, 5001, 6001) for i, name in ((0, "main"), (1, "second"), (2, ""))},
         "names of threads in SQL:", told)
    for name in ("main", "second"):
        rows = asked(skein, trace, f"select distinct thread from event where evidence = 0 and tid = 4001 + {name == 'second':d}")
        rule(rows == [(name,)], "a thread has one name:", rows)
    rule({r[0] for r in asked(skein, trace, "select distinct thread from counter where name = 'host.load'")} == {"host"},
         "a host is no thread")


def sched_test(judge, skein, trace):
    wanted = [((cpu, tid), ts, dur) for cpu, tid, ts, dur in
              asked(skein, trace, "select cpu, tid, ts, dur from sched where host = 'host-a'")]
    got = [((cpu, tid), judge.realtime(ns), dur) for cpu, ns, dur, tid, _, _ in judge.sched if tid != 0]
    rule(len(wanted) == 20, "runs:", len(wanted))
    match(wanted, got, "runs on CPUs")


def groups_test(judge, skein, trace):
    wanted = collections.Counter(asked(skein, trace, "select name, event_group, count(*) from event where evidence = 0 "
                                       "and kind in ('region', 'open', 'instant') group by 1, 2"))
    got = collections.Counter((row["name"], row["category"]) for row in judge.slices + judge.instants
                              if row["category"] != "evidence")
    rule({(name, group): n for name, group, n in wanted} == got, "categories:", got)
    rule({row["name"] for row in judge.slices + judge.instants if row["category"] == "evidence"} == {"sched.run"},
         "evidence is a category")


def flows_test(judge, skein, trace):
    tasks = collections.defaultdict(list)
    for task, argument, process, ts, name in asked(skein, trace, "select task, argument, process, ts, name from task"):
        tasks[task, argument, process if argument != "trace_id" else ""].append((ts, name))
    wanted = collections.Counter()
    for rows in tasks.values():
        rows.sort()
        wanted.update((a[1], b[1]) for a, b in zip(rows, rows[1:]))
    got = collections.Counter((a["name"], b["name"]) for a, b in judge.flows)
    rule(got == wanted and wanted["lock", "lock"] > 50 and wanted["mark", "mark"] > 5, "flows:", got, wanted)


def one(folder, seed, pb):
    skein, make = sys.argv[1:3]
    trace, truth = os.path.join(folder, f"{seed}.skein"), os.path.join(folder, "truth")
    subprocess.run([make, trace, truth, str(seed)], check=True)
    subprocess.run([skein, "export", trace, "--to", "perfetto", "-o", trace + ".pf"], check=True, stdout=subprocess.DEVNULL)
    with open(trace + ".pf", "rb") as file:
        decoded = pb.Trace.FromString(file.read())
    whole = decoded.ByteSize()
    decoded.DiscardUnknownFields()
    rule(decoded.ByteSize() == whole, "fields that Perfetto does not have here")
    judge = Judge(decoded)
    rule(not judge.errors, judge.errors[:3])
    with open(truth) as file:
        truth_test(judge, file.read().splitlines())
    for test in (nesting_test, ends_test, counters_test, stacks_test, threads_test, sched_test, groups_test, flows_test):
        test(judge, skein, trace)
    return len(judge.slices)


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[3], "-I", sys.argv[4], "--python_out", folder, "perfetto.proto"], check=True)
        sys.path.insert(0, folder)
        import perfetto_pb2  # noqa: made by protoc above
        slices = sum(one(folder, seed, perfetto_pb2) for seed in range(1, 4))
    print(f"{slices} slices")


main()
