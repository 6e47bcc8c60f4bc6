#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds `skein import fxt` against files of an independent encoder, and against our own export, read by an
independent decoder before and after.

    fxt_import.py SKEIN MAKE_TRACE
"""
import collections
import json
import os
import struct
import subprocess
import sys
import tempfile

from exchange_truth import counted, differ, rule
from fxt_decoder import Trace
from fxt_encoder import Koid, Pointer, Writer

skein, make = sys.argv[1:]
T0 = 1795254000000000000
P, Q = (500, 501), (500, 502)
IDLE = ("outgoing_weight", -2 ** 31), ("incoming_weight", -2 ** 31)


def ran(*words, status=0):
    done = subprocess.run([skein, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    rule(done.returncode == status, words, done.returncode, done.stderr.decode())
    return done.stdout.decode() + done.stderr.decode()


def imported(folder, data, *words):
    """The rows, as `cat --json` has them, and what import said."""
    fxt, to = os.path.join(folder, "a.fxt"), os.path.join(folder, "a.skein")
    with open(fxt, "wb") as file:
        file.write(data)
    said = json.loads(ran("import", "fxt", fxt, "-o", to, "-j", *words))
    ran("check", to)
    counted(skein, to, said)
    return [json.loads(line) for line in ran("cat", "--evidence", "-j", to).splitlines()], said


def brief(row):
    return (row["type"], row["name"], row["thread"], int(row["ts_ns"]) - T0, row.get("dur_ns"),
            tuple(sorted((k, str(v)) for k, v in row.get("args", {}).items())))


def events(w):
    """Every kind of event, and what it must become."""
    w.named(1, 500, "server")
    w.named(2, 501, "main", [("process", Koid(500))])
    w.event(2, T0 + 100, P, "net", "outer", [("a", 1), ("b", "x")])
    w.event(2, T0 + 200, P, "net", "inner")
    w.event(3, T0 + 300, P, "net", "inner", [("result", -5)])
    w.event(0, T0 + 250, P, "cat", "tick", [("n", None), ("u", 2 ** 32 - 1), ("t", True)], inline=True)
    w.event(3, T0 + 400, P, "net", "outer")
    w.event(4, T0 + 120, Q, "io", "whole", [("f", 0.5), ("p", Pointer(0xffff)), ("k", Koid(2 ** 63))], T0 + 180)
    w.event(1, T0 + 500, P, "cat", "queue", [("depth", 2 ** 63 - 1), ("big", 2 ** 64 - 1)], 0)
    w.event(1, T0 + 510, P, "cat", "queue", [("depth", 7)], 3)
    w.event(5, T0 + 600, P, "rpc", "call", [("to", "b")], 77)
    w.event(6, T0 + 610, Q, "rpc", "call", (), 77)
    w.event(5, T0 + 620, P, "rpc", "call", (), 78)
    w.event(7, T0 + 700, Q, "rpc", "call", [("ok", False)], 77)
    w.event(8, T0 + 710, P, "rpc", "message", (), 9)
    w.event(9, T0 + 720, Q, "rpc", "message", (), 9)
    w.event(10, T0 + 730, P, "rpc", "message", (), 9)
    w.event(0, T0 + 740, P, "cat", "many", [("a%d" % i, i) for i in range(8)])
    w.log(T0 + 750, Q, "said so")
    w.event(2, T0 + 760, P, "cat", "left open", [("fd", 4)])
    w.event(3, T0 + 770, Q, "cat", "never begun")
    return [
        ("instant", "tick", "main", 250, None, (("n", ""), ("t", "True"), ("u", str(2 ** 32 - 1)))),
        ("region", "inner", "main", 200, 100, (("result", "-5"),)),
        ("region", "outer", "main", 100, 300, (("a", "1"), ("b", "x"))),
        ("region", "whole", None, 120, 60, (("f", "0.5"), ("k", str(2 ** 63)), ("p", "0xffff"))),
        ("counter", "queue", "main", 500, None, (("big", str(2 ** 64 - 1)), ("depth", str(2 ** 63 - 1)))),
        ("counter", "queue:3", "main", 510, None, (("depth", "7"),)),
        ("instant", "call", None, 610, None, (("id", "0x4d"),)),
        ("region", "call", "main", 600, 100, (("id", "0x4d"), ("ok", "False"), ("to", "b"))),
        ("region", "call", "main", 620, 150, (("cut", "end"), ("id", "0x4e"))),
        ("instant", "message", "main", 710, None, (("flow begin", "0x9"),)),
        ("instant", "message", None, 720, None, (("flow", "0x9"),)),
        ("instant", "message", "main", 730, None, (("flow end", "0x9"),)),
        ("instant", "many", "main", 740, None,
         tuple(("a%d" % i, str(i)) for i in range(5)) + (("more", "a5=5, a6=6, a7=7"),)),
        ("log", "log", None, 750, None, (("level", "0"), ("text", "said so"))),
    ]


def of_all_kinds(folder):
    w = Writer()
    wanted = events(w)
    w.blob("image", b"x" * 100)
    w.large_blob(b"y" * 100000)
    rows, said = imported(folder, w.data)
    opens = [r for r in rows if r["type"] == "open"]
    rule([r["name"] for r in opens] == ["left open"] and opens[0]["args"] == {"fd": 4}, opens)
    got = [brief({**r, "thread": r["thread"] or None}) for r in rows if r["type"] != "open"]
    differ(collections.Counter(got), collections.Counter(wanted))
    rule({r["service"] for r in rows} == {"server"} and {r["pid"] for r in rows} == {500}, "whose")
    rule(said["left_out"] == 1 and "begins are not in it" in said["why"], said)
    rule((said["blobs"], said["not_read"], said["providers"]) == (2, 0, 1) and said["blob_bytes"] > 100000, said)


def scheduling(folder):
    """Two threads on a CPU: what they did, by hand."""
    w = Writer(ticks=1000)  # a millisecond, since boot
    w.named(1, 500, "server")
    for koid in (501, 502):
        w.named(2, koid, "t%d" % koid, [("process", Koid(500))])
    w.switch(1000, 3, 900, 0, 501, [IDLE[0]])
    w.wakeup(1010, 3, 502)
    w.switch(1030, 3, 501, 3, 502)
    w.switch_old(1070, 3, Q, 2, (500, 501), (10, 10))
    w.switch(1100, 3, 501, 0, 900, [IDLE[1]])
    w.switch(1101, 65535, 501, 0, 900, [IDLE[1]])  # of a CPU that no machine has
    rows, said = imported(folder, w.data)
    rule(said["left_out"] == 1 and "name CPUs from" in said["why"], said)
    base = min(int(r["ts_ns"]) for r in rows)
    got = {(r["name"], r["thread"], (int(r["ts_ns"]) - base) // 1000000, r["dur_ns"] // 1000000,
            r["args"].get("state")) for r in rows}
    for one in [("sched.run", "t501", 0, 30, None), ("sched.runnable", "t502", 10, 20, None),
                ("sched.run", "t502", 30, 40, None), ("sched.run", "t501", 70, 30, None)]:
        rule(one in got, one, got)
    rule(("sched.blocked", "t501", 30, 40, "S") in got, got)
    rule(any(g[0] == "sched.blocked" and g[1] == "t502" and g[4] == "T" for g in got), got)
    rule(said["time_guessed"] and said["fixed_up"] == 0, said)


def scheduling_alone(folder):
    """Where nothing but the scheduler's records is there, their times say what the clock is, too."""
    w = Writer()
    w.switch(T0 + 10, 0, 900, 0, 501, [IDLE[0]])
    w.switch(T0 + 30, 0, 501, 0, 900, [IDLE[1]])
    w.event(4, T0 + 20, P, "cat", "back", (), T0 + 10)
    rows, said = imported(folder, w.data)
    rule([(int(r["ts_ns"]) - T0, r["dur_ns"]) for r in rows if r["name"] == "sched.run"] == [(10, 20)], rows)
    rule(not said["time_guessed"] and said["left_out"] == 1 and "ends before it begins" in said["why"], said)
    w = Writer()
    w.event(0, T0 + 1, P, "cat", "here")
    w.event(13, T0 + 2, P, "cat", "of a kind from the future")
    rows, said = imported(folder, w.data)
    rule((len(rows), said["not_read"], said["left_out"]) == (1, 1, 0), said)


def in_any_order(folder):
    """Threads write in pieces: an event may stand behind later ones. Tables are each provider's own."""
    w = Writer()
    w.event(4, T0 + 5000, P, "c", "late", (), T0 + 6000)
    w.provider("other", 8)
    w.event(0, T0 + 10, (600, 601), "d", "early")
    w.section(7)
    w.threads = {P: 1}
    w.strings = {"c": 1, "late": 2}
    w.event(0, T0 + 20, P, "c", "late")
    w.lost()
    rows, said = imported(folder, w.data)
    rule([(r["name"], int(r["ts_ns"]) - T0) for r in rows if r["type"] != "loss"] ==
         [("early", 10), ("late", 20), ("late", 5000)], rows)
    rule(said["fixed_up"] == 0 and said["dropped"] == 1 and said["providers"] == 2, said)
    rule([r["args"]["reason"] for r in rows if r["type"] == "loss"] == ["ring_full"], rows)


def koids(folder):
    """Koids have 64 bits, and pid 0 may be one: each process has its own events."""
    w = Writer()
    for koid in (0, 2 ** 32, 7, 2 ** 32 + 7, 2 ** 40):
        w.event(0, T0 + 1, (koid, koid + 1), "cat", "here")
    rows, said = imported(folder, w.data)
    rule(said["events"] == 5 and len({r["process"] for r in rows}) == 5, said, rows)
    w = Writer()
    for koid in (5, 2 ** 32 + 5, 2 ** 33 + 5):  # threads that nothing names
        w.event(0, T0 + 1, (7, koid), "cat", "here")
    imported(folder, w.data)
    asked = json.loads(ran("sql", "-j", os.path.join(folder, "a.skein"), "select count(*) as n from thread"))
    rule(int(asked[0]["n"]) == 3, asked)


def names_of_then(folder):
    """A process that is called otherwise from some record on keeps its name for what came before."""
    w = Writer()
    w.named(1, 500, "sh")
    w.event(0, T0 + 10, P, "cat", "before")
    w.named(1, 500, "sh")
    w.event(0, T0 + 20, P, "cat", "before")
    w.named(1, 500, "server")
    w.event(0, T0 + 30, P, "cat", "after")
    w.log(T0 + 40, P, "after")
    rows, said = imported(folder, w.data)
    got = [(r["service"], r["pid"], int(r["ts_ns"]) - T0) for r in rows]
    rule(got == [("sh", 500, 10), ("sh", 500, 20), ("server", 500, 30), ("server", 500, 40)], got)
    rule(said["processes"] == 2, said)


def threads_of_then(folder):
    """Threads of a process that is called otherwise keep their names, and take those that come later."""
    w = Writer()
    w.named(1, 500, "sh")
    w.named(2, 501, "main", [("process", Koid(500))])
    w.named(2, 502, "helper", [("process", Koid(500))])
    w.event(0, T0 + 10, P, "cat", "here")
    w.named(1, 500, "server")
    w.event(0, T0 + 20, P, "cat", "here")
    w.named(2, 502, "worker", [("process", Koid(500))])
    w.event(0, T0 + 30, (500, 502), "cat", "here")
    w.switch(T0 + 40, 0, 900, 0, 501, [IDLE[0]])
    w.switch(T0 + 50, 0, 501, 0, 900, [IDLE[1]])
    rows, _ = imported(folder, w.data)
    got = {(r["service"], r["thread"], r["tid"], int(r["ts_ns"]) - T0) for r in rows}
    rule(got == {("sh", "main", 501, 10), ("server", "main", 501, 20), ("server", "worker", 502, 30),
                 ("server", "main", 501, 40)}, got)


def in_front_of_providers(folder):
    """Texts and threads that come in front of the first provider are its own; words say what is wrong."""
    w = Writer()
    head, rest = w.data[:8], w.data[8:]
    early = Writer()
    early.data = b""
    early.strings, early.threads = {}, {}
    early.thread(500, 501)
    early.string("named")
    late = Writer()
    late.data = b""
    late.strings, late.threads = dict(early.strings), dict(early.threads)
    late.event(0, T0 + 5, P, "named", "named")
    rows, said = imported(folder, head + early.data + rest + late.data)
    rule([(r["name"], int(r["ts_ns"]) - T0) for r in rows] == [("named", 5)], rows)
    rule((said["providers"], said["left_out"], said["why"]) == (1, 0, ""), said)
    late.data = b""
    late.event(0, T0 + 6, P, "named", "named")
    path = os.path.join(folder, "none.fxt")
    with open(path, "wb") as file:
        file.write(head + rest + late.data)
    said = ran("import", "fxt", path, "-o", os.path.join(folder, "none.skein"), status=1)
    rule("names a thread that no record in front of it has" in said, said)


def losses(folder):
    """Each provider's full buffer is a loss of its own, between its own events."""
    w = Writer(number=7)
    w.event(0, T0 + 100, P, "cat", "a")
    w.event(0, T0 + 200, P, "cat", "a")
    w.provider("other", 8)
    w.event(0, T0 + 900, (600, 601), "cat", "b")
    w.lost(7)
    w.lost(8)
    rows, said = imported(folder, w.data)
    got = sorted((r["pid"], int(r["ts_ns"]) - T0, int(r["args"]["to_ts_ns"]) - T0) for r in rows if r["type"] == "loss")
    rule(got == [(500, 100, 200), (600, 900, 900)] and said["dropped"] == 2, got, said)


def beyond(folder):
    """What no trace can hold is counted and told; the rest is as it was."""
    w = Writer()
    w.event(0, T0, P, "cat", "near")
    w.event(0, 2 ** 63, P, "cat", "far")
    rows, said = imported(folder, w.data)
    rule(said["clamped"] >= 1 and "146 years" in said["why"] and said["events"] == 2, said)
    rule(int(rows[0]["ts_ns"]) == T0, rows)


def broken(folder):
    w = Writer()
    w.event(0, T0, P, "c", "first")
    good = w.data
    w.record(4, 0 << 16 | 3 << 20 | 1 << 24, (1).to_bytes(8, "little"))  # arguments that are not there
    w.event(0, T0 + 1, P, "c", "second")
    rows, said = imported(folder, w.data)
    rule([r["name"] for r in rows] == ["first", "second"] and said["left_out"] == 1, rows, said)
    rule("at byte %d:" % len(good) in said["why"], said)
    for cut in range(1, 16):  # of the last record, two words
        rows, said = imported(folder, w.data[:-cut])
        rule([r["name"] for r in rows] == ["first"] and said["cut_bytes"] == 16 - cut, cut, said)
    with open(os.path.join(folder, "no.fxt"), "wb") as file:
        file.write(b"PERFILE2" * 9)
    told = ran("import", "fxt", os.path.join(folder, "no.fxt"), status=1)
    rule("not Fuchsia's magic number" in told and "at byte 0" in told, told)
    with open(os.path.join(folder, "no.fxt"), "wb") as file:
        file.write(Writer().data)
    rule("it has no event" in ran("import", "fxt", os.path.join(folder, "no.fxt"), status=1), "empty")


def bounded(folder):
    """More than may be open: what is left out leaves with its end, and takes no other's. Small records that name
    long texts do not fill the memory."""
    w, deep = Writer(), 1030
    for i in range(deep):
        w.event(2, T0 + i, P, "c", "r%d" % i)
    for i in reversed(range(deep)):
        w.event(3, T0 + 3000 - i, P, "c", "r%d" % i)
    rows, said = imported(folder, w.data)
    differ(collections.Counter((r["name"], int(r["ts_ns"]) - T0, r["dur_ns"]) for r in rows),
           collections.Counter(("r%d" % i, i, 3000 - 2 * i) for i in range(1024)))
    rule(said["left_out"] == 12 and "1,024" in said["why"], said)
    w = Writer()
    long, name = w.string("x" * 1024), w.string("a")
    arguments = struct.pack("<Q", 6 | 1 << 4 | name << 16 | long << 32) * 15
    for i in range(10000):
        head = 2 << 16 | 15 << 20 | w.thread(500, 501 + i // 1000) << 24 | name << 32 | name << 48
        w.record(4, head, struct.pack("<Q", T0 + i) + arguments)
    rows, said = imported(folder, w.data)
    rule(said["left_out"] == 10000 - len(rows) and 8000 < len(rows) < 9000 and "128 MiB" in said["why"], len(rows), said)


def shown(trace):
    """What the decoder reads, by names; numbers that are made up are left out."""
    names = {k: n for k, n in trace.names.items()}
    out = collections.Counter()
    for kind, name, category, place, begin, end, args in trace.events:
        args = [a for a in args if a[0] not in ("skein.state", "skein.detail")]
        flat = [(n, repr(v)) for n, _, v in args if n != "skein.stack"]
        if len(flat) > 6 or (flat and flat[-1][0] == "more"):
            flat = flat[:5]
        category = "app" if name == "unknown" else category  # its type is lost, and so is its group
        thread = names[place[1]]
        if name == "records lost":  # of the process now
            flat, thread = flat[:1], None
        out[(kind, name, category, trace.processes[place[0]].rsplit(" (")[0], thread, begin,
             None if end is None else end - begin, tuple(flat))] += 1
    return out


def round_trip(folder):
    """Our own export, imported and exported again, says the same to the decoder."""
    paths = [os.path.join(folder, name) for name in ("1.skein", "truth", "1.fxt", "2.skein", "2.fxt")]
    subprocess.run([make, *paths[:2]], check=True)
    ran("export", paths[0], "--to", "fxt", "-o", paths[2])
    ran("import", "fxt", paths[2], "-o", paths[3])
    ran("check", paths[3])
    ran("export", paths[3], "--to", "fxt", "-o", paths[4])
    traces = []
    for path in (paths[2], paths[4]):
        with open(path, "rb") as file:
            traces.append(shown(Trace(file.read())))
    differ(traces[1], traces[0])


with tempfile.TemporaryDirectory() as place:
    for test in (of_all_kinds, koids, names_of_then, threads_of_then, in_front_of_providers, losses, beyond, scheduling, scheduling_alone, in_any_order, broken, bounded, round_trip):
        test(place)
        print(test.__name__, "holds")
