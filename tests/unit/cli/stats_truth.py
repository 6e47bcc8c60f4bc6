# SPDX-License-Identifier: Apache-2.0
"""What `skein stats --json` says beside sums made here of the lines of `skein cat --json`.

Own time is found another way than Skein does: regions of a thread are sorted by their begin and
walked from the outermost inward, with all of them at hand.

  stats_truth.py SKEIN MAKE_TRACE FOLDER FILE...
"""
import collections
import json
import math
import os
import subprocess
import sys


def lines(skein, path, options):
    out = subprocess.run([skein, "cat", "--json", *options, path], check=True, stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in out.splitlines()]


def own_times(regions):
    """regions: (begin, dur, place in the file, name) of one thread; yields name and own time."""
    stack = []
    for begin, dur, place, name in sorted(regions, key=lambda r: (r[0], -r[1], -r[2])):
        while stack and not (begin >= stack[-1][0] and begin + dur <= stack[-1][0] + stack[-1][1]
                             and begin < stack[-1][0] + stack[-1][1] + (dur == 0)):
            done = stack.pop()
            yield done[2], max(0, done[1] - done[3])
        if stack:
            stack[-1][3] += dur
        stack.append([begin, dur, name, 0])
    while stack:
        done = stack.pop()
        yield done[2], max(0, done[1] - done[3])


def near(told, exact, what):
    assert abs(told - exact) <= exact / 32 + 1e-9, f"{what}: {told} for {exact}"


def compare(skein, path, options):
    stats = json.loads(subprocess.run([skein, "stats", "--json", *options, path], check=True,
                                      stdout=subprocess.PIPE).stdout)
    regions, names = collections.defaultdict(list), collections.defaultdict(list)
    logs, counters, lost, instants = collections.Counter(), collections.defaultdict(list), 0, collections.Counter()
    for place, row in enumerate(lines(skein, path, options)):
        key = (row["pid"], row["name"])
        if row.get("evidence"):
            continue
        if row["type"] == "region":
            begin, dur = int(row["ts_ns"]), int(row["dur_ns"])
            regions[row["pid"], row["tid"]].append((begin, dur, place, row["name"]))
            names[key].append(dur)
        elif row["type"] == "log":
            logs[row["pid"]] += 1
        elif row["type"] == "counter":
            counters[key].append(float(next(iter(row["args"].values()))))
        elif row["type"] == "instant":
            instants[key] += 1
        elif row["type"] == "loss":
            lost += int(row["args"]["events"])
    own = collections.Counter()
    for (pid, _), of_thread in regions.items():
        for name, ns in own_times(of_thread):
            own[pid, name] += ns
    told = {(n["pid"], n["name"]): n for n in stats["names"] if n["count"] > 0 and n["group"] < 256}
    assert told.keys() == names.keys(), (told.keys(), names.keys())
    for key, durs in names.items():
        row = told[key]
        durs.sort()
        assert int(row["count"]) == len(durs), key
        assert int(row["total_ns"]) == sum(durs), key
        off = abs(int(row["self_ns"]) - own[key])
        assert off <= int(row["unsure_ns"]), f"{key}: own {row['self_ns']}, not {own[key]}"
        for member, share in (("p50_ns", .5), ("p90_ns", .9), ("p99_ns", .99), ("p99_9_ns", .999)):
            near(int(row["lasted"][member]), durs[max(0, math.ceil(share * len(durs)) - 1)], f"{key} {member}")
        assert (int(row["lasted"]["min_ns"]), int(row["lasted"]["max_ns"])) == (durs[0], durs[-1])
    for n in stats["names"]:
        if n["group"] >= 256:
            assert n["count"] == instants[n["pid"], n["name"]], n["name"]
    assert sum(r["count"] for r in stats["logs"]) == sum(logs.values())
    for c in stats["counters"]:
        values = counters.get((c.get("pid"), c["name"]))
        if values:
            assert (c["count"], c["least"], c["most"]) == (len(values), min(values), max(values)), c
            assert math.isclose(c["sum"], sum(values)) and c["last"] == values[-1], c
    assert sum(int(r["records"]) for r in stats["losses"]) == lost
    return sum(len(d) for d in names.values())


def main():
    skein, make, folder, *files = sys.argv[1:]
    made = os.path.join(folder, "stats_truth.skein")
    subprocess.run([make, made], check=True)
    for path in [*files, made]:
        for options in ([], ["-p", "100"]) if path == made else ([],):
            assert compare(skein, path, options) > 0, path
    os.unlink(made)


main()
