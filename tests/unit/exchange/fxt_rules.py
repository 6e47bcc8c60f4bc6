#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds an export to Fuchsia's trace format, as fxt_decoder.py reads it, against what was written.

    fxt_rules.py SKEIN MAKE_TRACE
"""
import collections
import sys

from exchange_truth import BOOL, F64, I64, PTR, SEQ, STR, differ, load, made, rule
from fxt_decoder import Trace

EPOCH, MS = 1795254000000000000, 1000000
KINDS = {BOOL: (9,), F64: (5,), I64: (1, 3), PTR: (7,), STR: (6,)}
STACK = "take(lock*)\npay\"\ufffd(order const&)\nloop()\nlibdb.so.5+0x3233\n0x99\n..."


def wanted_args(r):
    """(name, kinds that the value may have, value)"""
    args = []
    for a in r.args:
        if r.kind == "counter" and a.type == STR:
            continue  # no curve
        if a.type == SEQ:
            args.append((a.name + ".resource", (7,), a.value[0]))
            args.append((a.name + ".number", (2, 4), a.value[1]))
        else:
            args.append((a.name, KINDS.get(a.type, (2, 4)), a.value))
    return args


def wanted_event(r):
    name, args, kind, end = r.name, wanted_args(r), 0, None
    if r.kind in ("region", "open"):
        kind, end = 4, r.begin + r.dur
    elif r.kind == "counter":
        kind = 1
    elif r.kind == "loss":
        name = "records lost"
        args = [("reason", (6,), r.name), ("records", (2, 4), r.args[0].value),
                ("ns", (2, 4), r.dur)]
    elif r.kind == "end":
        name, args = "unknown", [("skein.state", (6,), "its begin is lost")]
    if r.kind == "open":
        if not r.args:
            args.append(("skein.detail", (1, 3), -9))
        args.append(("skein.state", (6,), "in progress"))
    if r.stack:
        args.append(("skein.stack", (6,), STACK))
    thread = ("evidence: " if r.evidence else "") + r.thread
    return (kind, name, r.process, thread, r.begin, end,
            tuple((n, k, repr(v)) for n, k, v in args))


def got_events(trace, processes):
    """The same form: a kind of argument is given as those that would do as well."""
    same = {k: ks for ks in ((1, 3), (2, 4)) for k in ks}
    for kind, name, _category, place, ticks, end, args in trace.events:
        rule(trace.process_of[place[1]] == place[0], place)
        thread = trace.names[place[1]]
        if name == "records lost" and place[1] & 0xffffffff == place[0] & 0xffffffff:
            thread = ""  # of the process
        yield (kind, name, processes[place[0]], thread, ticks, end,
               tuple((n, same.get(k, (k,)), repr(v)) for n, k, v in args))


def scheduling(trace):
    """Of each process: thread 4711 ran on CPU 3, was taken off it, slept, and ran on CPU 1."""
    def at(ms):
        return EPOCH + ms * MS
    for n in (1, 2):
        koid = n << 32 | 4711
        rule(trace.names[koid] == "main", trace.names)
        switches = sorted(s for s in trace.switches if koid in s[2:4])
        rule(switches == [
            (at(100), 3, None, koid, 0), (at(150), 3, koid, None, 0),  # ready
            (at(160), 3, None, koid, 0), (at(200), 3, koid, None, 3),  # blocked
            (at(705), 1, None, koid, 0), (at(800), 1, koid, None, 0)], "switches:", switches)
        rule([w for w in trace.wakeups if w[2] == koid] == [(at(700), 1, koid)], trace.wakeups)
    rule(len(trace.switches) == 12 and len(trace.wakeups) == 2, "more of them")


def main():
    folder, truth, to, _said = made(sys.argv[1], sys.argv[2], "fxt", "out.fxt")
    with folder, open(to, "rb") as file:
        trace = Trace(file.read())
        records = load(truth)
        rule(trace.provider == (1, "skein") and trace.ticks == 10 ** 9, trace.provider)
        names = sorted(trace.processes.items())
        rule(names[0] == (4711, "shop (host-a)") and len(names) == 2, names)
        processes = {names[0][0]: 1, names[1][0]: 2}
        differ(collections.Counter(got_events(trace, processes)),
               collections.Counter(wanted_event(r) for r in records))
        categories = {e[2] for e in trace.events if e[1] in ("read", "query", "sched.run")}
        rule(categories == {"io", "16", "evidence"}, categories)
        rule(collections.Counter((t, p[1] & 0xffffffff, m) for t, p, m in trace.logs) ==
             collections.Counter((r.begin, r.tid, r.args[1].value)
                                 for r in records if r.kind == "log"), trace.logs)
        rule(trace.drops == sum(r.kind == "loss" for r in records), "drops:", trace.drops)
        scheduling(trace)


main()
