#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds exports of a real capture against what the second decoder of .skein files reads of it.

CTF as Babeltrace 2 reads it, Chrome's JSON as Python does, Fuchsia's format as the decoder of the
unit tests does: each record of the capture must be there once, with its time and its first number.

    exports.py SKEIN CAPTURE SOURCES
"""
import collections
import decimal
import json
import os
import subprocess
import sys
import tempfile

SKEIN, CAPTURE, SOURCES = sys.argv[1:]
sys.path += [os.path.join(SOURCES, "tests/verdict"), os.path.join(SOURCES, "tests/unit/exchange")]

import bt2  # noqa: E402
import fxt_decoder  # noqa: E402
import skein_file  # noqa: E402

RANGE, STACK, NUMBERS = 2, 6, (1, 2)


def rule(holds, *what):
    if not holds:
        sys.exit("exports: " + " ".join(str(w) for w in what))


def unsigned(value):
    """The second decoder gives the values of some columns modulo 2^64."""
    return value % (1 << 64) if value is not None else None


def truth():
    """Records as they were made: (name, ns, first number or None), and names of ranges."""
    classes, firsts = collections.defaultdict(set), collections.defaultdict(set)
    read_types = skein_file.read_types

    def noted(payload):
        types = read_types(payload)
        for name, klass, arguments in types:
            classes[name].add(klass)
            firsts[name].add(arguments[0] if arguments else None)
        return types

    skein_file.read_types = noted
    with open(CAPTURE, "rb") as file:
        partitions = skein_file.read_file(file.read())
    records = collections.Counter()
    for p in partitions:
        for name, ns, first in p.records:
            if name is None or STACK in classes[name]:
                continue  # an end, of which the export says its begin, or a stack
            number = firsts[name] <= set(NUMBERS)
            records[name, ns, unsigned(first) if number else None] += 1
    ranges = {name for name, kinds in classes.items() if RANGE in kinds}
    return records, ranges, {name for name, kinds in firsts.items() if kinds <= set(NUMBERS)}


def made(name, begin, end, first, numbers, ranges):
    """The record that the event was made of: that of the begin, if it is a range's."""
    first = None if first is None or name not in numbers else unsigned(first)
    return (name, begin if name in ranges else end, first)


def compare(form, got, records):
    """Each record must be there. A span's end is begin + length, each rounded: it may be 1 ns less.
    What is there besides is in progress: it has no record, or none of its end."""
    left, others = collections.Counter(records), 0
    for name, ns, first in got:
        late = (name, ns + 1, first)
        key = (name, ns, first) if left[name, ns, first] > 0 else late
        others += left[key] <= 0
        left[key] -= left[key] > 0
    missing = +left
    rule(not missing, form, "lacks", sum(missing.values()), "as", list(missing.items())[:3])
    rule(others < 50, form, "has more:", others)
    print("%s: %d records, %d in progress" % (form, sum(records.values()), others))


def ctf(folder, ranges, numbers):
    for message in bt2.TraceCollectionMessageIterator(folder):
        if not isinstance(message, bt2._EventMessageConst):
            continue
        event = message.event
        end = begin = message.default_clock_snapshot.ns_from_origin
        if event.specific_context_field:
            begin = int(event.specific_context_field["begin"])
            end = begin + int(event.specific_context_field["duration"])
        fields = list(event.payload_field.values())
        first = int(fields[0]) if fields and isinstance(fields[0], bt2._IntegerFieldConst) else None
        yield made(event.name, begin, end, first, numbers, ranges)


def chrome(path, ranges, numbers):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file, parse_float=decimal.Decimal)
    base = int(trace["otherData"]["ts_0_ns"])
    for e in trace["traceEvents"]:
        if e["ph"] == "M":
            continue
        begin = base + int(e["ts"] * 1000)
        end = begin + int(e.get("dur", 0) * 1000)
        first = next(iter(e["args"].values()), None)
        first = int(first) if e["name"] in numbers and first is not None else None
        yield made(e["name"], begin, end, first, numbers, ranges)


def fxt(path, ranges, numbers):
    with open(path, "rb") as file:
        trace = fxt_decoder.Trace(file.read())
    for _kind, name, _category, _place, begin, end, args in trace.events:
        first = args[0][2] if args and name in numbers else None
        yield made(name, begin, end if end is not None else begin, first, numbers, ranges)


def main():
    records, ranges, numbers = truth()
    rule(sum(records.values()) > 1000, "hardly anything is in the capture")
    with tempfile.TemporaryDirectory() as folder:
        for form, read in (("ctf", ctf), ("chrome", chrome), ("fxt", fxt)):
            to = os.path.join(folder, form)
            subprocess.run([SKEIN, "export", CAPTURE, "--to", form, "-o", to], check=True,
                           stdout=subprocess.PIPE)
            compare(form, read(to, ranges, numbers), records)


main()
