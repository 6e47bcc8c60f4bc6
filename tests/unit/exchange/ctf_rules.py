#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds an export to CTF 1.8, as Babeltrace 2 reads it, against what was written.

    ctf_rules.py SKEIN MAKE_TRACE
"""
import collections
import os
import subprocess
import sys

import bt2
from exchange_truth import BOOL, PTR, SEQ, differ, load, made, rule

STATES = {"ended": "region", "in progress": "open"}
LOSS, END = "skein: records lost", "skein: end of something unknown"


def plain(field):
    if isinstance(field, bt2._EnumerationFieldConst):
        return tuple(field.labels)[0]
    if isinstance(field, bt2._IntegerFieldConst):
        return int(field)
    if isinstance(field, bt2._RealFieldConst):
        return float(field)
    if isinstance(field, bt2._StringFieldConst):
        return str(field)
    if isinstance(field, bt2._ArrayFieldConst):
        return tuple(plain(one) for one in field)
    return {name: plain(one) for name, one in field.items()}


def read(folder):
    """(events, discarded events, environment)"""
    events, discarded, env = [], 0, {}
    for message in bt2.TraceCollectionMessageIterator(folder):
        if isinstance(message, bt2._DiscardedEventsMessageConst):
            discarded += message.count
        elif isinstance(message, bt2._EventMessageConst):
            event = message.event
            if not env:
                env = {k: v for k, v in message.event.stream.trace.environment.items()}
            events.append({
                "name": event.name, "id": event.cls.id,
                "ns": message.default_clock_snapshot.ns_from_origin,
                "packet": plain(event.packet.context_field),
                "context": plain(event.common_context_field),
                "region": plain(event.specific_context_field) if event.specific_context_field
                else {}, "fields": plain(event.payload_field)})
    return events, discarded, env


def wanted_value(a):
    if a.type == BOOL:
        return "true" if a.value else "false"
    if a.type == SEQ:
        return (("number", a.value[1]), ("resource", a.value[0]))
    return a.value


# Of make_exchange_trace: names that are no identifiers, and one that is another's.
RENAMED = {"int": "int", "a b": "a_b", "h\"o\\s\nt\x01\x7f\ufffd*/ \u00e9 \ufffd\ufffd\ufffd":
           "h_o_s_t" + "_" * 12}


def wanted_fields(r):
    fields = {}
    for i, a in enumerate(r.args):
        name = RENAMED.get(a.name, a.name)
        if name in fields:
            name = "%s__%d" % (name, i)
        if r.name.startswith("h\"o") and a.name == "a_b" and i == 3:
            name = "a_b__3_"  # as a_b__3 is an argument's own
        fields[name] = wanted_value(a)
    return frozenset(fields.items())


def wanted_event(r):
    kind, name, fields, begin, dur = r.kind, r.name, wanted_fields(r), r.begin, r.dur
    if kind == "loss":
        name = LOSS
        fields = frozenset({"begin": begin, "duration": dur, "reason": r.name,
                            "records": r.args[0].value}.items())
    if kind == "end":
        name = END
    if kind == "open" and not r.args:
        fields = frozenset({"detail": -9}.items())
    if kind in ("log", "counter"):
        kind = "instant"
    if kind not in ("region", "open"):
        begin, dur = r.begin + (r.dur if kind == "loss" else 0), 0
    return (kind, r.process, r.tid, r.thread, r.evidence, name, begin, dur, fields, r.stack)


def got_event(e):
    fields = {k: tuple(sorted(v.items())) if isinstance(v, dict) else v
              for k, v in e["fields"].items()}
    kind, begin, dur = "instant", e["ns"], 0
    if e["region"]:
        kind = STATES[e["region"]["state"]]
        begin, dur = e["region"]["begin"], e["region"]["duration"]
        rule(e["ns"] == begin + dur, "a region's event is not at its end:", e)
    if e["name"] in (LOSS, END):
        kind = "loss" if e["name"] == LOSS else "end"
    c = e["context"]
    return (kind, int(e["packet"]["process"], 16), c["tid"], c["thread"], bool(c["flags"] & 8),
            e["name"], begin, dur, frozenset(fields.items()), c["stack_length"] > 0)


def main():
    folder, truth, to, _said = made(sys.argv[1], sys.argv[2], "ctf", "out.ctf")
    with folder:
        rule(sorted(os.listdir(to)) == ["metadata", "stream_0", "stream_1"], os.listdir(to))
        events, discarded, env = read(to)
        records = load(truth)
        differ(collections.Counter(got_event(e) for e in events),
               collections.Counter(wanted_event(r) for r in records))
        lost = sum(r.args[0].value for r in records if r.kind == "loss")
        rule(discarded == lost and env["lost_records"] == lost, "discarded:", discarded, env)
        for e in events:
            if e["context"]["stack_length"] > 0:
                rule(e["context"]["stack"] ==
                     ("take(lock*)", "pay\"\ufffd(order const&)", "loop()", "libdb.so.5+0x3233",
                      "0x99", "..."), e)
        rule(any(v == "a b" for v in env.values()), "names as they were:", env)
        rule(all(e["packet"]["pid"] == 4711 for e in events), "pids")
        hosts = {e["packet"]["host"] for e in events}
        rule(len(hosts) == 2 and "host-a" in hosts, hosts)
        text = subprocess.run(["babeltrace2", to], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
        rule(len(text.stdout.splitlines()) >= len(events), "babeltrace2 prints less:", text.stderr)
        again = subprocess.run([sys.argv[1], "export", os.path.join(folder.name, "made.skein"),
                                "--to", "ctf", "-o", to], stderr=subprocess.PIPE, text=True)
        rule(again.returncode == 1 and "is there already" in again.stderr, again)
        rule(not os.path.exists(to + ".part"), "a folder is left behind")


main()
