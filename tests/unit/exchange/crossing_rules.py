#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Regions that cross, in each form: all of them with their own times, and on a track where they nest, as
importers read it. The truth is the maker's of the trace (make_crossing_trace), and sums of `skein sql`.

Importers of Chrome's JSON and of Fuchsia's format take complete events by their begins, those of one time in
the order of the file, and leave out one that begins inside another of its thread and ends behind it.

    crossing_rules.py SKEIN MAKE_TRACE
"""
import collections
import json
import os
import struct
import subprocess
import sys
import tempfile

SLACK = 60
PIDS = {"shop": 4001, "cart": 5001, "away": 6001}


def rule(holds, *what):
    if not holds:
        sys.exit("crossing: " + " ".join(str(w) for w in what))


def exported(skein, trace, form):
    to = f"{trace}.{form}"
    subprocess.run([skein, "export", trace, "--to", form, "-o", to], check=True, stdout=subprocess.DEVNULL)
    with open(to, "rb") as file:
        return file.read()


def nest(events, what):
    """Whether importers keep all events of each thread: (thread, begin, end), in the order of the file."""
    threads = collections.defaultdict(list)
    for thread, begin, end in events:
        threads[thread].append((begin, end))
    for thread, rows in threads.items():
        stack = []
        for begin, end in sorted(rows, key=lambda r: r[0]):
            while stack and (stack[-1] < begin or stack[-1] == begin < end):
                stack.pop()
            rule(not stack or end <= stack[-1], what, "is left out:", thread, begin, end, "; in one until", stack[-1:])
            stack.append(end)


def match(wanted, got, what):
    left = collections.defaultdict(list)
    for key, begin, dur in got:
        left[key].append((begin, dur))
    for key, begin, dur in wanted:
        near = [t for t in left[key] if abs(t[0] - begin) <= SLACK and abs(t[1] - dur) <= SLACK]
        rule(near, what, "lacks", key, begin, dur)
        left[key].remove(min(near, key=lambda t: abs(t[0] - begin) + abs(t[1] - dur)))
    rule(not any(left.values()), what, "has more:", [k for k, v in left.items() if v][:3])


def chrome_test(skein, trace, wanted):
    doc = json.loads(exported(skein, trace, "chrome"))
    base = int(doc["otherData"]["ts_0_ns"])
    tids, names, got, drawn = {}, {}, [], []
    for e in doc["traceEvents"]:
        if e["ph"] == "M" and e["name"] == "thread_name":
            tids[e["pid"], e["tid"]], names[e["pid"], e["tid"]] = e["args"]["skein.tid"], e["args"]["name"]
    for e in doc["traceEvents"]:
        if e["ph"] == "X":
            begin, dur = (round(e[k] * 1000) for k in ("ts", "dur"))
            drawn.append(((e["pid"], e["tid"]), begin, begin + dur))
            if e["cat"] != "evidence":
                got.append(((e["pid"], tids[e["pid"], e["tid"]], e["name"]), base + begin, dur))
    match(wanted, got, "chrome")
    nest(drawn, "chrome")
    rule(any(n.endswith("main: crossing 1") for n in names.values()), "threads:", set(names.values()))


def fxt_events(data):
    """Complete events: (process koid, thread koid, name, begin, end)."""
    strings, threads, at = {0: ""}, {}, 0
    while at < len(data):
        w = struct.unpack_from("<Q", data, at)[0]
        kind, words = w & 15, w >> 4 & 0xfff
        if kind == 2:
            strings[w >> 16 & 0x7fff] = data[at + 8:at + 8 + (w >> 32 & 0x7fff)].decode()
        elif kind == 3:
            threads[w >> 16 & 0xff] = struct.unpack_from("<QQ", data, at + 8)
        elif kind == 4 and w >> 16 & 15 == 4:
            begin, end = struct.unpack_from("<Q", data, at + 8)[0], struct.unpack_from("<Q", data, at + 8 * words - 8)[0]
            yield (*threads[w >> 24 & 0xff], strings[w >> 32 & 0x7fff], strings[w >> 48], begin, end)
        at += 8 * words


def fxt_test(skein, trace, wanted, open_rows):
    events = list(fxt_events(exported(skein, trace, "fxt")))
    nest([((p, t), begin, end) for p, t, _, _, begin, end in events], "fxt")
    got = [((p, name), begin, end - begin) for p, _, category, name, begin, end in events if category != "evidence"]
    left = [r for r in got if r[0][1] != "range"]
    match([((k[0], k[2]), begin, dur) for k, begin, dur in wanted if k[2] != "range"], left, "fxt")
    rule(len(got) == len(wanted) + open_rows, "fxt has", len(got), "of", len(wanted), open_rows)


def sums_test(skein, trace, wanted):
    """SQL, stats and profiles: sums do not care for what crosses."""
    out = subprocess.run([skein, "sql", "--json", trace, "select pid, tid, name, count(*) n, sum(dur) d from slice "
                          "where is_open = 0 group by 1, 2, 3"], check=True, stdout=subprocess.PIPE).stdout
    told = {(r["pid"], r["tid"], r["name"]): (r["n"], int(r["d"])) for r in json.loads(out)}
    sums = collections.defaultdict(lambda: [0, 0])
    for key, _, dur in wanted:
        sums[key][0] += 1
        sums[key][1] += dur
    rule(told.keys() == sums.keys() and all(told[k][0] == n and abs(told[k][1] - d) <= SLACK * n for k, (n, d) in sums.items()),
         "sql:", told)
    longest = subprocess.run([skein, "cat", "--longest", "40", "--json", trace], check=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL).stdout
    rows = sorted((row["dur_ns"] for row in map(json.loads, longest.splitlines()) if row["type"] == "region"), reverse=True)
    truth = sorted((dur for _, _, dur in wanted), reverse=True)
    rule(all(abs(a - b) <= SLACK for a, b in zip(rows, truth)) and len(rows) > 10, "longest:", rows[:3], truth[:3])


def main():
    skein, make = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        trace, truth = os.path.join(folder, "t.skein"), os.path.join(folder, "truth")
        subprocess.run([make, trace, truth, "11"], check=True)
        with open(truth) as file:
            rows = [line.split() for line in file]
        wanted = [((PIDS[service], int(tid), name), int(ts), int(dur)) for kind, service, tid, name, ts, dur in rows
                  if kind == "slice"]
        chrome_test(skein, trace, wanted)
        fxt_test(skein, trace, wanted, sum(row[0] == "open" for row in rows))
        sums_test(skein, trace, wanted)
    print(f"{len(wanted)} regions")


main()
