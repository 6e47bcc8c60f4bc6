#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds an export to Chrome's trace JSON against its format, and against what was written.

    chrome_rules.py SKEIN MAKE_TRACE
"""
import collections
import decimal
import json
import os
import subprocess
import sys

from exchange_truth import BOOL, F64, I64, PTR, SEQ, STR, U64, differ, load, made, rule

EXACT = 2 ** 53
PLACES = {"query": ("src/db.c", 17)}  # of the types that make_exchange_trace.c made
NUMBER = (int, decimal.Decimal)
# What the format asks of each phase, and may be there besides.
COMMON = {"ph": str, "pid": int, "tid": int, "name": str, "args": dict}
PHASES = {"X": {"ts": NUMBER, "dur": NUMBER, "cat": str}, "B": {"ts": NUMBER, "cat": str},
          "i": {"ts": NUMBER, "cat": str, "s": str}, "C": {"ts": NUMBER, "cat": str},
          "P": {"ts": NUMBER, "cat": str}, "M": {}}
OTHER = {"tool", "clock", "ts_0", "ts_0_ns", "fixed_up", "unordered", "lost_records",
         "losses_of_unknown_size", "gaps", "processes"}


def only_once(pairs):
    rule(len(dict(pairs)) == len(pairs), "a key twice:", pairs)
    return dict(pairs)


def shape(trace):
    rule(set(trace) == {"traceEvents", "stackFrames", "displayTimeUnit", "otherData"}, set(trace))
    rule(trace["displayTimeUnit"] == "ns" and set(trace["otherData"]) == OTHER, trace["otherData"])
    for event in trace["traceEvents"]:
        wanted = dict(COMMON, **PHASES[event["ph"]])
        for key, kind in wanted.items():
            rule(isinstance(event.get(key), kind), key, "of", event)
        rule(set(event) <= set(wanted) | {"sf"} | ({"id"} if event["ph"] == "C" else set()), "more keys than there are:", event)
        rule(event["ph"] != "i" or event["s"] in ("t", "p"), event)
        if "sf" in event:
            rule(str(event["sf"]) in trace["stackFrames"], "no such frame:", event)
    for frame in trace["stackFrames"].values():
        rule(set(frame) <= {"name", "category", "parent"}, frame)
        rule("parent" not in frame or str(frame["parent"]) in trace["stackFrames"], frame)


def stack_of(trace, event):
    names, at = [], event.get("sf")
    while at is not None:
        names.append(trace["stackFrames"][str(at)]["name"])
        at = trace["stackFrames"][str(at)].get("parent")
    return tuple(names)


def number(n):
    return str(n) if abs(n) > EXACT else n


def wanted_args(record):
    """As the format has them; a key that is taken gets a # behind it."""
    args = {}
    if record.kind == "counter":  # curves alone, as numbers
        return {a.name: a.value for a in record.args if a.type in (U64, I64, F64)}
    for a in record.args:
        key = a.name
        while key in args:
            key += "#"
        args[key] = {U64: number, I64: number, F64: float, BOOL: bool, STR: str,
                     PTR: lambda v: "0x%x" % v,
                     SEQ: lambda v: {"resource": "0x%x" % v[0], "number": number(v[1])},
                     }[a.type](a.value)
    cut = [a.name for a in record.args if a.cut]
    if cut:
        args["skein.cut"] = cut
    if record.name in PLACES:
        args["skein.file"], args["skein.line"] = PLACES[record.name]
    return args


def frozen(args):
    return json.dumps(args, sort_keys=True, default=float)


def kind_of(event):
    if event["cat"] == "skein" and event["name"] == "records lost":
        return "loss"
    if "skein.begin_lost" in event["args"]:
        return "end"
    return {"X": "region", "B": "open", "C": "counter", "i": "instant", "P": "instant"}[event["ph"]]


def got_events(trace):
    base = int(trace["otherData"]["ts_0_ns"])
    processes = {p["shown_as"]: int(p["process"], 16) for p in trace["otherData"]["processes"]}
    names, tids = {}, {}
    for event in trace["traceEvents"]:
        if event["ph"] == "M" and event["name"] == "thread_name":
            names[event["pid"], event["tid"]] = event["args"]["name"]
            tids[event["pid"], event["tid"]] = event["args"]["skein.tid"]
    for event in trace["traceEvents"]:
        if event["ph"] == "M":
            continue
        kind, place, args = kind_of(event), (event["pid"], event["tid"]), dict(event["args"])
        of_process = event.get("s") == "p"
        dur = event.get("dur", 0) * 1000
        if kind == "open":
            dur = args.pop("skein.open_ns")
            args.pop("skein.detail", None)
        if kind == "loss":
            dur = args["ns"]
        if kind == "end":
            args = {}
        yield (kind, processes[event["pid"]], 0 if of_process else tids[place],
               "" if of_process else names[place], event["name"], int(event["ts"] * 1000) + base,
               int(dur), frozen(args)), event


def wanted_event(r):
    kind = "instant" if r.kind == "log" else r.kind
    name, args, thread = r.name, wanted_args(r), r.thread
    if r.evidence:
        thread = "evidence: " + thread
    if kind == "loss":
        args = {"reason": r.name, "records": r.args[0].value or "unknown", "ns": r.dur}
        name = "records lost"
    if kind == "end":
        name = "unknown" if not name else name
    return (kind, r.process, r.tid, thread, name, r.begin, r.dur, frozen(args))


def command_rules(skein, folder, to):
    """Standard output, JSON, and a trace of which a part cannot be read."""
    made_trace, broken = folder + "/made.skein", folder + "/broken.skein"

    def export(trace, *words):
        return subprocess.run([skein, "export", trace, "--to", *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)

    with open(to, "rb") as file:
        rule(export(made_trace, "chrome", "-o", "-").stdout == file.read(), "standard output")
    said = json.loads(export(made_trace, "chrome", "-o", to, "-j").stdout)
    rule(said["file"] == to and "regions" in said["told"], said)
    rule(export(made_trace, "ctf", "-o", "-").returncode == 2, "a folder to standard output")
    with open(made_trace, "rb") as file:
        whole = bytearray(file.read())
    whole[300] ^= 1
    with open(broken, "wb") as file:
        file.write(whole)
    result = export(broken, "chrome", "-o", to)
    rule(result.returncode == 1 and b"broken.skein: " in result.stderr, result)
    with open(to, encoding="utf-8") as file:
        trace = json.load(file)
    rule(len(trace["otherData"]["gaps"]) == 1 and len(trace["traceEvents"]) > 5000,
         trace["otherData"]["gaps"])
    rule(not os.path.exists(to + ".part"), "a part is left behind")


def main():
    folder, truth, to, said = made(sys.argv[1], sys.argv[2], "chrome", "out.json")
    with folder, open(to, encoding="utf-8") as file:
        trace = json.load(file, parse_float=decimal.Decimal, object_pairs_hook=only_once)
        records = load(truth)
        shape(trace)
        events = list(got_events(trace))
        differ(collections.Counter(e for e, _ in events),
               collections.Counter(wanted_event(r) for r in records))
        stacks = [(stack_of(trace, e), e) for _, e in events if "sf" in e]
        rule(len(stacks) == sum(r.stack for r in records), "stacks:", len(stacks))
        for names, event in stacks:
            rule(names == ("take(lock*)", "pay\"\ufffd(order const&)", "loop()",
                           "libdb.so.5+0x3233", "0x99", "..."), "a stack:", names)
            rule(event["ph"] == "P" or event["name"] == "query", "whose stack?", event)
        other = trace["otherData"]
        rule(other["lost_records"] == {"ring_full": 24}, other)
        rule(other["losses_of_unknown_size"] == {"overwritten": 2}, other)
        categories = {e["cat"] for _, e in events if e["name"] in ("read", "query", "sched.run")}
        rule(categories == {"io", "16", "evidence"}, categories)
        ids = {e["name"]: e.get("id") for _, e in events if e["ph"] == "C"}
        rule(ids == {"queue_depth": None, "heat": None, "load": "4712"}, ids)
        rule("not in it: 2 arguments" in said, said)
        rule("%d regions" % sum(r.kind == "region" for r in records) in said, said)
        command_rules(sys.argv[1], folder.name, to)


main()
