#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# What the tables of `skein sql` hold, against sums that this program makes by itself from what
# `skein cat --json` prints of the same trace: truth.py SKEIN MAKE_SQL_TRACE [...], or of a capture of a
# real program: truth.py SKEIN capture FILE
import collections
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

SKEIN, MAKE = sys.argv[1:3]


def sql(statement, *files, form="--json"):
    out = subprocess.run([SKEIN, "sql", form, *files, statement], stdout=subprocess.PIPE, check=True)
    return json.loads(out.stdout) if form == "--json" else out.stdout


def number(value):
    return int(value) if isinstance(value, str) and value.lstrip("-").isdigit() else value


def rows(statement, *files):
    return [tuple(number(v) for v in row.values()) for row in sql(statement, *files)]


def same(got, wanted, what):
    got, wanted = sorted(got, key=repr), sorted(wanted, key=repr)
    if got != wanted:
        strange, lacking = [r for r in got if r not in wanted], [r for r in wanted if r not in got]
        sys.exit(f"{what}: {len(got)} rows, {len(wanted)} wanted; strange {strange[:4]}, lacking {lacking[:4]}")


def printed(file):
    lines = subprocess.run([SKEIN, "cat", "--json", file], stdout=subprocess.PIPE, check=True).stdout
    return [json.loads(line) for line in lines.splitlines()]


def database(events):
    """SQLite of Python's own, over what cat prints."""
    db = sqlite3.connect(":memory:")
    db.execute("create table event(ts, dur, kind, name, process, pid, service, thread, tid, depth, n)")
    for e in events:
        dur = e.get("dur_ns", e.get("open_ns"))
        if dur is None and e["type"] != "end":
            dur = number(e["args"]["to_ts_ns"]) - number(e["ts_ns"]) if e["type"] == "loss" else 0
        db.execute("insert into event values(?,?,?,?,?,?,?,?,?,?,?)",
                   (number(e["ts_ns"]), dur, e["type"], None if e["type"] == "loss" else e["name"],
                    e["process"], e["pid"], e["service"], e["thread"], e["tid"], e.get("depth", 0),
                    number(e["args"].get("n"))))
    return db


def nested(events):
    """(process, tid, n): (n of the region around it, own time), by looking at all pairs."""
    threads = collections.defaultdict(list)
    for e in events:
        if e["type"] == "region":
            ts = number(e["ts_ns"])
            threads[e["pid"], e["tid"]].append((ts, ts + e["dur_ns"], e["name"] != "s", e.get("depth", 0),
                                                e["args"]["n"], number(e["ts_ns"]) // 10**9))
    found = {}
    for key, regions in threads.items():
        for at, (begin, end, is_range, depth, n, cut) in enumerate(regions):
            around = [r for r in regions if r[2] and r[3] < depth and r[0] <= begin and end <= r[1]]
            around = [r for r in around if r[3] == max(r[3] for r in around)]
            # What ended before it and began no earlier is in it, but not what lies in one that crosses it:
            # in one that had ended, or, of a span, in a range that had begun.
            crossing = [r for i, r in enumerate(regions)
                        if i < at and r[0] < begin < r[1] or not is_range and r[2] and begin < r[0] < end < r[1]]
            inside = sorted((r[0], r[1]) for r in regions[:at] if begin <= r[0] and r[1] <= end and
                            not any(q[0] <= r[0] and r[1] <= q[1] for q in crossing))
            covered, reached = 0, begin
            for b, e in inside:
                covered += max(0, e - max(b, reached))
                reached = max(reached, e)
            found[(*key, cut, n)] = (around[0][4] if around else None, end - begin - covered)
    return found


def wood_test(folder, seed):
    file = os.path.join(folder, f"wood-{seed}.skein")
    subprocess.run([MAKE, file, str(seed), "60"], check=True)
    events = printed(file)
    db = database(events)
    for question in (
            "select kind, count(*), sum(dur), min(ts), max(ts) from event group by kind",
            "select name, tid, count(*), sum(dur) from event where name = 's' group by name, tid",
            "select pid, tid, thread, name, count(*) from event group by 1, 2, 3, 4",
            "select ts, dur, name from event where tid = 511 and kind = 'region'",
            "select count(*), sum(ts % 1000) from event where ts between 1800000001000100000 and 1800000001000200000",
            "select ts, name from event where thread = 'tree-1' and ts > 1800000002000000000",
            "select name, ts from event where ts = (select max(ts) from event) and service = 'wood'",
            "select count(*) from event where name = 'S' collate nocase",
            "select count(*) from event where pid in (50, 52) and name in ('a', 'i') and tid <> 500",
            "select count(*) from event where process = '" + "33" * 16 + "' and depth > 2",
            "select count(*) from event where tid = null or name is null"):
        same(rows(question, file), db.execute(question).fetchall(), question)
    truth = nested(events)
    got = rows("select s.pid, s.tid, s.ts / 1000000000, json_extract(s.args, '$.n'), json_extract(p.args, '$.n'), "
               "s.self_dur from slice s left join slice p on p.id = s.parent_id", file)
    same([(r[:4], r[4:]) for r in got], truth.items(), "parents and own time")
    ids = rows("select id, thread_id, pid, tid, ts, name from event", file)
    if len({r[0] for r in ids}) != len(ids) or any(r[0] // 10**10 != r[1] for r in ids):
        sys.exit("ids are not unique, or not of their threads")
    # The same ids, whatever else is asked for.
    by_id = {r[0]: r for r in ids}
    for where in ("tid = 501", "name = 's'", "ts > 1800000001000000000", "thread = 'tree-2' and pid = 52"):
        for row in rows("select id, thread_id, pid, tid, ts, name from event where " + where, file):
            if by_id[row[0]] != row:
                sys.exit(f"another event has id {row[0]} where {where}")
    row = ids[len(ids) // 2]
    same(rows(f"select id, thread_id, pid, tid, ts, name from event where id = {row[0]}", file), [row], "one id")
    same(rows("select e.name, a.name, sum(a.value) from event e join args a on a.event_id = e.id group by 1, 2", file),
         [(n, "n", s) for n, s in db.execute("select name, sum(n) from event group by 1")], "joined arguments")


def cut_test(folder):
    """A file that ends too early: what there is, with a status and a row for what is not."""
    file = os.path.join(folder, "cut.skein")
    subprocess.run([MAKE, file], check=True)
    whole = open(file, "rb").read()
    open(file, "wb").write(whole[:-10])
    out = subprocess.run([SKEIN, "sql", "--json", file, "select count(*) n from event"], capture_output=True)
    if out.returncode != 1 or json.loads(out.stdout)[0]["n"] != 10 or b"left out" not in out.stderr:
        sys.exit(f"cut: {out}")
    out = subprocess.run([SKEIN, "sql", "--json", file, "select reason, bytes > 100 b from loss where reason = 'bytes_torn'"],
                         capture_output=True)
    if json.loads(out.stdout) != [{"reason": "bytes_torn", "b": 1}]:
        sys.exit(f"cut: {out}")
    out = subprocess.run([SKEIN, "sql", "--json", file,
                          "select name from stats where severity = 'data_loss' and value != 0 order by 1"],
                         capture_output=True)
    if [r["name"] for r in json.loads(out.stdout)] != ["bytes_torn", "lost_ring_full"]:
        sys.exit(f"cut: {out}")


def capture_test(file):
    """Of a real program: all groups, all arguments, all stacks."""
    events = printed(file)
    db = database(events)
    if not any(e["type"] == "region" and "frames" in e for e in events):
        sys.exit("the capture has no region with a stack")
    for question in (
            "select kind, name, pid, tid, thread, count(*), sum(dur), min(ts), max(ts) from event group by 1, 2, 3, 4, 5",
            "select ts, dur, name from event where kind = 'region' and dur > 1000000 and service = 'redis'",
            "select name, count(*), sum(dur) from event where thread = 'redis-server' group by 1",
            "select count(*) from event where ts >= (select (min(ts) + max(ts)) / 2 from event)"):
        same(rows(question, file), db.execute(question).fetchall(), question)
    arguments = collections.Counter((e["name"], name) for e in events
                                    if e["type"] != "loss" for name in e["args"] if name != "detail")
    same(rows("select event_name, name, count(*) from args group by 1, 2", file),
         [(*k, n) for k, n in arguments.items()], "arguments")
    stacks = collections.Counter(e["name"] for e in events if "frames" in e)
    same(rows("select name, count(*) from stack group by 1", file), stacks.items(), "stacks")
    frames = collections.Counter()
    for e in events:
        frames[e["name"]] += len(e.get("frames", []))
    same(rows("select name, count(*) from frame group by 1", file), [i for i in frames.items() if i[1]], "frames")
    got = rows("select sum(weight) from sample union all select sum(dur) from sched", file)
    weights = [number(e["args"]["weight"]) for e in events if e["name"] == "cpu.sample"]
    ran = [e["dur_ns"] for e in events if e["name"] == "sched.run"]
    same([g[0] for g in got], [sum(weights) or None, sum(ran) or None], "samples and scheduling")


if MAKE == "capture":
    capture_test(sys.argv[3])
    sys.exit(0)
with tempfile.TemporaryDirectory() as folder:
    for seed in (1, 2, 77):
        wood_test(folder, seed)
    cut_test(folder)
