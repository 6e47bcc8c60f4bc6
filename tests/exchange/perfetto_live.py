#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Chromium traces itself in Perfetto's format; protobuf's decoder and `skein import perfetto` must find the same
slices, instants and counters, by name. Exits 77 where there is no Chromium.

    perfetto_live.py SKEIN PROTOC FOLDER_OF_THE_PROTO
"""
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

skein, protoc, protos = sys.argv[1:]
chromium = shutil.which("chromium")
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
POINTS = "IiRnTpstfP"


def told(path):
    """Names of begins and instants, and how many numbers of counters there are."""
    with open(path, "rb") as file:
        trace = pb.Trace.FromString(file.read())
    names = collections.defaultdict(dict)  # of each sequence
    begins, instants, counters = collections.Counter(), collections.Counter(), 0
    for p in trace.packet:
        known = names[p.trusted_packet_sequence_id]
        if p.sequence_flags & 1:
            known.clear()
        known.update((n.iid, n.name) for n in p.interned_data.event_names)
        e = p.track_event
        name = e.name or known.get(e.name_iid) or "(no name)"
        counters += len(e.extra_counter_values) + (e.type == COUNTER)
        if e.type == BEGIN:
            begins[name] += 1
        elif e.type == INSTANT or (not e.type and e.HasField("legacy_event") and chr(e.legacy_event.phase) in POINTS):
            instants[name] += 1
    return begins, instants, counters


def shown(path):
    rows = subprocess.run([skein, "cat", "--evidence", "-j", path], check=True, stdout=subprocess.PIPE).stdout
    begins, instants, counters = collections.Counter(), collections.Counter(), 0
    for line in rows.splitlines():
        row = json.loads(line)
        begins[row["name"]] += row["type"] in ("region", "open")
        instants[row["name"]] += row["type"] == "instant"
        counters += row["type"] == "counter"
    return +begins, +instants, counters


def main(folder):
    trace, to = os.path.join(folder, "a.pftrace"), os.path.join(folder, "a.skein")
    words = ["--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + os.path.join(folder, "profile"),
             "--trace-startup=*", "--trace-startup-duration=1", "--trace-startup-format=proto", "--trace-startup-file=" + trace,
             "--dump-dom", "about:blank"]
    try:
        subprocess.run([chromium, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=240, check=False)
    except subprocess.TimeoutExpired:
        pass
    if not os.path.exists(trace) or os.path.getsize(trace) == 0:
        print("Chromium wrote no trace here")
        sys.exit(77)
    subprocess.run([skein, "import", "perfetto", trace, "-o", to], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([skein, "check", to], check=True, stdout=subprocess.DEVNULL)
    for wanted, got, what in zip(told(trace), shown(to), ("slices", "instants", "numbers of counters")):
        if wanted != got:
            sys.exit("%s: %s" % (what, (wanted - got, got - wanted) if what != "numbers of counters" else (wanted, got)))
        print(what, sum(got.values()) if isinstance(got, dict) else got)


if chromium is None:
    print("there is no chromium")
    sys.exit(77)
with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
    subprocess.run([protoc, "--proto_path=" + protos, "--python_out=" + made, "perfetto_import.proto"], check=True)
    sys.path.insert(0, made)
    import perfetto_import_pb2 as pb  # pylint: disable=import-error
    main(made)
