#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds an export to OTLP/JSON against OTLP's field names and forms, and against what was written.

    otlp_rules.py SKEIN MAKE_TRACE
"""
import collections
import json
import re
import subprocess
import sys

from exchange_truth import I64, STR, U64, differ, load, made, rule

# opentelemetry-proto as JSON: field names in lowerCamelCase, ids in hex, 64-bit integers as text.
SPAN = {"traceId": r"[0-9a-f]{32}", "spanId": r"[0-9a-f]{16}", "name": None, "kind": int,
        "startTimeUnixNano": r"\d+", "endTimeUnixNano": r"\d+", "attributes": list,
        "droppedAttributesCount": int, "droppedEventsCount": int, "droppedLinksCount": int,
        "status": dict}
VALUES = {"stringValue": str, "boolValue": bool, "intValue": str, "doubleValue": (float, int, str)}


def attributes(items):
    got = {}
    for item in items:
        rule(set(item) == {"key", "value"} and len(item["value"]) == 1, item)
        (form, value), = item["value"].items()
        rule(form in VALUES and isinstance(value, VALUES[form]), item)
        rule(form != "intValue" or re.fullmatch(r"-?\d+", value), item)
        rule(item["key"] not in got, "a key twice:", items)
        got[item["key"]] = int(value) if form == "intValue" else value
    return got


def span_shape(span):
    rule(set(span) - {"parentSpanId"} == set(SPAN), "fields:", span)
    for key, form in SPAN.items():
        if isinstance(form, str):
            rule(isinstance(span[key], str) and re.fullmatch(form, span[key]), key, "of", span)
        elif form is not None:
            rule(isinstance(span[key], form), key, "of", span)
    rule(set(span["traceId"]) != {"0"} and set(span["spanId"]) != {"0"}, "no id:", span)
    rule(span["kind"] == 1 and int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]), span)
    rule(set(span["status"]) <= {"code", "message"}, span)


def read(path):
    """[(process, span, attributes)]"""
    spans = []
    with open(path, encoding="utf-8") as file:
        request = json.load(file)
    rule(set(request) == {"resourceSpans"}, request.keys())
    for group in request["resourceSpans"]:
        rule(set(group) == {"resource", "scopeSpans"}, group.keys())
        resource = attributes(group["resource"]["attributes"])
        rule(resource["process.pid"] == 4711 and resource["skein.labels"] == "zone=a", resource)
        for scope in group["scopeSpans"]:
            rule(scope["scope"]["name"] == "skein", scope["scope"])
            for span in scope["spans"]:
                span_shape(span)
                spans.append((int(resource["service.instance.id"], 16), span,
                              attributes(span["attributes"])))
    return spans


def trace_of(r):
    for a in r.args:
        if a.name == "trace_id" and re.fullmatch("[0-9A-Fa-f]{32}", a.value):
            return a.value.lower()
    return None


def wanted_span(r):
    args = {a.name: a.value for a in r.args if a.type in (U64, I64)}
    error = {-111: "ECONNREFUSED"}.get(args.get("result"))
    if r.kind == "open":
        args["skein.in_progress"] = True
    if r.name == "query":
        args.update({"code.file.path": "src/db.c", "code.line.number": 17})
    args.update({"thread.id": r.tid, "thread.name": r.thread})
    return (r.process, trace_of(r), r.name, r.begin, r.begin + r.dur, error,
            tuple(sorted(args.items(), key=str)))


def got_span(process, span, args):
    return (process, span["traceId"], span["name"], int(span["startTimeUnixNano"]),
            int(span["endTimeUnixNano"]),
            span["status"].get("message") if span["status"].get("code") == 2 else None,
            tuple(sorted(args.items(), key=str)))


def parents(spans):
    """The parent of each span is the shortest range around it on its thread."""
    by_place = collections.defaultdict(list)
    for process, span, args in spans:
        by_place[process, args["thread.id"]].append(
            (int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]), span))
    with_one = 0
    for place in by_place.values():
        ranges = sorted((s for s in place if s[2]["name"] == "query"), key=lambda s: s[0])
        for begin, end, span in place:
            around = [(e - b, s["spanId"]) for b, e, s in ranges
                      if b <= begin and end <= e and s is not span]
            wanted = min(around)[1] if around else None
            rule(span.get("parentSpanId") == wanted, "the parent of", span, "is", wanted)
            with_one += wanted is not None
    return with_one


def main():
    skein, make = sys.argv[1:3]
    folder, truth, to, said = made(skein, make, "otlp", "out.json")
    with folder:
        records = [r for r in load(truth) if r.kind in ("region", "open") and trace_of(r)]
        spans = read(to)
        differ(collections.Counter(got_span(*s) for s in spans),
               collections.Counter(wanted_span(r) for r in records))
        ids = [s["spanId"] for _, s, _ in spans]
        rule(len(set(ids)) == len(ids), "an id twice")
        rule(parents(spans) > len(spans) / 3, "hardly a parent")
        rule("not in it: " in said and "counts" in said, said)
        again = subprocess.run([skein, "export", folder.name + "/made.skein", "--to", "otlp",
                                "-o", "-"], check=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        with open(to, "rb") as file:
            rule(file.read() == again.stdout, "not the same again")


main()
