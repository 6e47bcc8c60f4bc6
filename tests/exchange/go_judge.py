# SPDX-License-Identifier: Apache-2.0
"""What Go's own tool says of a trace, beside what `skein import go` has made of it.

    go_judge.py digest TEXT DIGEST        TEXT: what `go tool trace -d=parsed` printed (-d=1 before 1.24)
    go_judge.py compare DIGEST PROGRAM TRACE
                                          PROGRAM: skein. It is imported, and read back with skein cat.

Compared are: how often and how long each goroutine was in each state; regions, tasks, logs, ranges of
the runtime, counters and samples with their times; functions and lines of the stacks of regions and of
waits. Of two events with equal times either may go first, so times may differ by what that makes."""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

SLACK_NS = 2000
STATES = {"Running", "Runnable", "Syscall", "Waiting"}
METRICS = {"/sched/gomaxprocs:threads": "go.maxprocs",
           "/gc/heap/goal:bytes": "go.heap.goal",
           "/memory/classes/heap/objects:bytes": "go.heap.alloc"}
RANGES = {"GC concurrent mark phase": "go.gc", "GC mark assist": "go.gc.assist",
          "GC incremental sweep": "go.gc.sweep"}


def events_of(path):
    """Lines that begin an event, each with the frames behind it: {of what: [[function, file:line]]}."""
    event, stacks, of = None, {}, None
    for line in open(path, encoding="utf-8", errors="replace"):
        line = line.rstrip("\n")
        if line.startswith("M="):
            if event is not None:
                yield event, stacks
            event, stacks, of = line, {}, None
        elif line.endswith("Stack="):
            of = stacks.setdefault(line[:-1], [])
        elif line.startswith("\t\t") and of is not None:
            of[-1].append(line.strip())
        elif line.startswith("\t") and of is not None:
            of.append([line.strip().rsplit(" @ ", 1)[0]])
    if event is not None:
        yield event, stacks


def digest(path):
    got = {"regions": [], "tasks": [], "logs": [], "ranges": [], "metrics": [], "samples": [],
           "waits": [], "labels": 0}
    spent = collections.defaultdict(lambda: [0, 0])
    state, regions, tasks, ranges = {}, collections.defaultdict(list), {}, {}
    first = last = None

    def left(g, now):
        name, since, reason, frames = state.pop(g)
        spent[f"{g} {name}"][0] += 1
        spent[f"{g} {name}"][1] += now - since
        if name == "Waiting":
            got["waits"].append([g, reason, since - first, now - since, frames])

    for line, stacks in events_of(path):
        kind = line.split()[3]
        now = int(re.search(r"\bTime=(\d+)", line)[1])
        g = int(re.search(r"\bG=(-?\d+)", line)[1])
        if kind == "Sync":
            continue
        first = now if first is None else first
        last = now
        text = {key: json.loads('"' + value + '"') for key, value in
                re.findall(r'\b(\w+)="((?:[^"\\]|\\.)*)"', line)}
        number = dict(re.findall(r"\b(\w+)=(\d+)\b", line))
        frames = stacks.get("Stack", [])
        if kind == "StateTransition":
            change = re.search(r"\b(\w+)->(\w+)", line)
            if "GoID" not in number or change[1] == change[2]:
                continue
            one = int(number["GoID"])
            if one in state:
                left(one, now)
            if change[2] in STATES:
                waits = stacks.get("TransitionStack", frames) if change[2] == "Waiting" else []
                state[one] = (change[2], now, text.get("Reason", ""), waits)
        elif kind == "RegionBegin":
            regions[g].append((text["Type"], int(number["Task"]), now, frames))
        elif kind == "RegionEnd":
            name, task, since, frames = regions[g].pop()
            got["regions"].append([g, name, task, since - first, now - since, frames])
        elif kind == "TaskBegin":
            tasks[number["ID"]] = (g, now)
        elif kind == "TaskEnd":
            begun, since = tasks.pop(number["ID"], (g, first))
            got["tasks"].append([begun, text["Type"], int(number["ID"]), since - first, now - since])
        elif kind == "Log":
            got["logs"].append([g, text["Category"], text["Message"], now - first])
        elif kind in ("RangeBegin", "RangeActive"):
            ranges[(text["Name"], line.split("Scope=")[1].split()[0])] = now
        elif kind == "RangeEnd":
            since = ranges.pop((text["Name"], line.split("Scope=")[1].split()[0]))
            got["ranges"].append([text["Name"], since - first, now - since])
        elif kind == "Metric":
            value = int(re.search(r"Uint64\((\d+)\)", line)[1])
            got["metrics"].append([METRICS[text["Name"]], value, now - first])
        elif kind == "StackSample":
            got["samples"].append([g, frames])
        elif kind == "Label":
            got["labels"] += 1
    for g in list(state):
        left(g, last)
    got["states"] = spent
    for name in ("regions", "tasks", "logs", "ranges", "metrics", "samples", "waits"):
        got[name].sort()
    return got


def made_of(program, trace):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.skein")
        said = json.loads(subprocess.run([program, "import", "go", trace, "-o", out, "--json"],
                                         check=True, capture_output=True).stdout)
        subprocess.run([program, "check", out], check=True, capture_output=True)
        rows = subprocess.run([program, "cat", "--json", "--evidence", out], check=True,
                              capture_output=True, text=True).stdout
    return said, [json.loads(row) for row in rows.splitlines()]


def frames_of(row):
    return [[frame["function"], f'{frame["file"]}:{frame["line"]}']
            for frame in row.get("frames", [])]


def digest_of_rows(rows):
    got = {"regions": [], "tasks": [], "logs": [], "ranges": [], "metrics": [], "samples": [],
           "waits": [], "labels": 0}
    spent = collections.defaultdict(lambda: [0, 0])
    names = {"go.running": "Running", "go.runnable": "Runnable", "go.syscall": "Syscall"}
    for row in rows:
        name, g, args = row["name"], row["tid"], row.get("args", {})
        at, lasted = int(row["ts_ns"]), row.get("dur_ns", 0)
        if row["type"] == "open":
            continue
        if name in names or name.startswith("go.wait."):
            key = f"{g} {names.get(name, 'Waiting')}"
            spent[key][0] += 1
            spent[key][1] += lasted
            if name not in names:
                reason = "" if args["reason"] == "unspecified" else args["reason"]
                got["waits"].append([g, reason, at, lasted, frames_of(row)])
        elif name == "go.log":
            got["logs"].append([g, args["category"], args["text"], at])
        elif name == "go.stw":
            got["ranges"].append([f'stop-the-world ({args["kind"]})', at, lasted])
        elif name in RANGES.values():
            got["ranges"].append([{v: k for k, v in RANGES.items()}[name], at, lasted])
        elif name in METRICS.values():
            got["metrics"].append([name, args["value"], at])
        elif name == "cpu.sample":
            got["samples"].append([g if g != 0 else -1, frames_of(row)])
        elif name == "go.label":
            got["labels"] += 1
        elif "parent" in args:
            got["tasks"].append([g, name, args["task"], at, lasted])
        elif name not in ("go.create", "go.unblock"):
            got["regions"].append([g, name, args["task"], at, lasted, frames_of(row)])
    got["states"] = spent
    for name in ("regions", "tasks", "logs", "ranges", "metrics", "samples", "waits"):
        got[name].sort()
    return got


def shift(got, by):
    for name, at in (("regions", 3), ("tasks", 3), ("logs", 3), ("ranges", 1), ("metrics", 2),
                     ("waits", 2)):
        for row in got[name]:
            row[at] -= by
        got[name].sort()


def near(a, b):
    if isinstance(a, int) and isinstance(b, int):
        return abs(a - b) <= SLACK_NS
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(near(x, y) for x, y in zip(a, b))
    return a == b


def compare(expected, said, rows):
    got = digest_of_rows(rows)
    # The same instant on both lines of time: the first change of a counter.
    shift(got, min(row[2] for row in got["metrics"]) - min(row[2] for row in expected["metrics"]))
    wrong = []
    for name in ("regions", "tasks", "logs", "ranges", "metrics", "samples", "waits"):
        if len(got[name]) != len(expected[name]):
            wrong.append(f"{name}: {len(got[name])}, Go says {len(expected[name])}")
        for mine, theirs in zip(got[name], expected[name]):
            if not near(mine, theirs):
                wrong.append(f"{name}: {mine}, Go says {theirs}")
                break
    if got["labels"] != expected["labels"]:
        wrong.append(f'labels: {got["labels"]}, Go says {expected["labels"]}')
    for key in sorted(set(got["states"]) | set(expected["states"])):
        mine, theirs = got["states"].get(key, [0, 0]), expected["states"].get(key, [0, 0])
        if mine[0] != theirs[0] or abs(mine[1] - theirs[1]) > SLACK_NS + theirs[0] * 4:
            wrong.append(f"goroutine {key}: {mine[0]} times {mine[1]} ns, Go says {theirs}")
    if said["left_out"] != 0 or said["cut_bytes"] != 0:
        wrong.append(f"left out: {said}")
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    spans = sum(count for count, _ in expected["states"].values())
    print(f'{spans} stretches of {len(expected["states"])} states, {len(expected["regions"])} regions, '
          f'{len(expected["tasks"])} tasks, {len(expected["ranges"])} ranges, '
          f'{len(expected["metrics"])} counters, {len(expected["samples"])} samples: '
          + ("not as Go says" if wrong else "as Go says"))
    return 1 if wrong else 0


def main(words):
    if words[0] == "digest":
        with open(words[2], "w", encoding="utf-8") as out:
            json.dump(digest(words[1]), out, indent=None, separators=(",", ":"))
            out.write("\n")
        return 0
    with open(words[1], encoding="utf-8") as file:
        expected = json.load(file)
    return compare(expected, *made_of(words[2], words[3]))


sys.exit(main(sys.argv[1:]))
