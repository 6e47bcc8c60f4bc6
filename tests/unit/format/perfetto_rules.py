#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads an export as Perfetto's importer does, and compares it with what is in the trace.

Shares no code with the exporter: protobuf's own decoder, a .proto written from Perfetto's field
numbers, and the rules by which the importer drops or misplaces what is wrong.

    perfetto_rules.py SKEIN MAKE_TRACE PROTOC FOLDER_OF_THE_PROTO
"""
import collections
import os
import subprocess
import sys
import tempfile

REALTIME, MONOTONIC, BOOTTIME = 1, 3, 6
CLEARED, NEEDS_STATE = 1, 2


def rule(holds, *what):
    if not holds:
        sys.exit("perfetto: " + " ".join(str(w) for w in what))


class Sequence:
    def __init__(self):
        self.valid = False
        self.track = None
        self.names = {}
        self.places = {}


class Import:
    """What an importer keeps: tracks, and events by track."""

    def __init__(self):
        self.sequences = collections.defaultdict(Sequence)
        self.clocks = {}
        self.boot_less_utc = None
        self.tracks = {}
        self.threads = {}
        self.processes = {}
        self.events = collections.defaultdict(list)
        self.places = set()
        self.drops = 0

    def snapshot(self, snapshot):
        rule(snapshot.primary_trace_clock == BOOTTIME, "another primary clock")
        now = {c.clock_id: c.timestamp for c in snapshot.clocks}
        rule(len(now) == len(snapshot.clocks), "a clock twice in a snapshot")
        for clock, ns in now.items():
            rule(ns >= self.clocks.get(clock, 0), "invalid_clock_snapshots: clock", clock,
                 "goes back from", self.clocks.get(clock), "to", ns)
        self.clocks.update(now)
        if self.boot_less_utc is None:
            self.boot_less_utc = now[BOOTTIME] - now[REALTIME]

    def track(self, d):
        rule(d.uuid != 0 and d.uuid not in self.tracks, "track", d.uuid, "is described twice")
        self.tracks[d.uuid] = d
        if d.HasField("process"):
            rule(d.process.pid not in self.processes, "two processes of pid", d.process.pid)
            self.processes[d.process.pid] = d
        elif d.HasField("thread"):
            key = (d.thread.pid, d.thread.tid)
            rule(not d.HasField("parent_uuid"), "a thread with a parent")
            rule(d.thread.pid in self.processes, "a thread before its process")
            rule(key not in self.threads, "two tracks of thread", key)
            self.threads[key] = d
        elif d.HasField("parent_uuid"):
            rule(d.parent_uuid in self.tracks, "a track before its parent")

    def interned(self, sequence, data):
        for kind in ("event_names", "debug_annotation_names"):
            for name in getattr(data, kind):
                rule(name.iid > 0, "iid 0")
                sequence.names[kind, name.iid] = name.name
        for place in data.source_locations:
            sequence.places[place.iid] = (place.file_name, place.line_number)

    def event(self, packet, sequence, e):
        uuid = e.track_uuid if e.HasField("track_uuid") else sequence.track
        rule(uuid in self.tracks, "an event on a track that was not described:", uuid)
        name = e.name
        if e.HasField("name_iid"):
            rule(sequence.valid, "a name by number where the state is lost")
            rule(("event_names", e.name_iid) in sequence.names, "a slice loses its name: iid",
                 e.name_iid)
            name = sequence.names["event_names", e.name_iid]
        for a in e.debug_annotations:
            rule(a.name or ("debug_annotation_names", a.name_iid) in sequence.names,
                 "an argument loses its name")
        if e.HasField("source_location_iid"):
            rule(e.source_location_iid in sequence.places, "a place loses its text")
            self.places.add((name,) + sequence.places[e.source_location_iid])
        if e.HasField("source_location"):
            rule(not e.HasField("source_location_iid"), "two places")
            self.places.add((name, e.source_location.file_name, e.source_location.line_number))
        rule(name or e.type in (e.TYPE_SLICE_END, e.TYPE_COUNTER), "an event without a name")
        rule(packet.HasField("timestamp"), "an event without a time")
        self.events[uuid].append((packet.timestamp, e.type, name))

    def packet(self, packet):
        rule(packet.trusted_packet_sequence_id > 0, "a packet without a sequence")
        sequence = self.sequences[packet.trusted_packet_sequence_id]
        if packet.previous_packet_dropped:
            self.drops += 1
            sequence.valid = False
        if packet.sequence_flags & CLEARED:
            self.sequences[packet.trusted_packet_sequence_id] = sequence = Sequence()
            sequence.valid = True
        if packet.sequence_flags & NEEDS_STATE:
            rule(sequence.valid, "a packet that needs a state which is not there is dropped")
        if packet.HasField("trace_packet_defaults"):
            rule(packet.trace_packet_defaults.timestamp_clock_id == BOOTTIME, "another clock")
            sequence.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        if packet.HasField("interned_data"):
            self.interned(sequence, packet.interned_data)
        if packet.HasField("clock_snapshot"):
            self.snapshot(packet.clock_snapshot)
        if packet.HasField("track_descriptor"):
            self.track(packet.track_descriptor)
        if packet.HasField("track_event"):
            self.event(packet, sequence, packet.track_event)

    def owner(self, track):
        """Service and thread id of a track; host-b's pid is taken, so its tracks are plain."""
        if track.HasField("thread"):
            return self.processes[track.thread.pid].process.process_name, track.thread.tid
        if track.HasField("process"):
            return track.process.process_name, 0
        parent = self.tracks[track.parent_uuid]
        plain = parent.name.split(" on ")[0]
        service = parent.process.process_name if parent.HasField("process") else plain
        return service, int(track.name.split()[-1])

    def lines(self):
        """Slices, those without an end, and instants, as the list of the truth has them; sorted by time, as importers do."""
        for uuid, events in self.events.items():
            track, stack = self.tracks[uuid], []
            if track.HasField("counter"):
                continue
            service, tid = self.owner(track)
            for ns, kind, name in sorted(events, key=lambda e: e[0]):
                utc = ns - self.boot_less_utc
                if kind == 1:
                    stack.append((name, utc))
                elif kind == 2:
                    rule(stack, "an end without a begin on", service, tid)
                    name, began = stack.pop()
                    yield f"slice {service} {tid} {name} {began} {utc - began}"
                elif name != "records lost":
                    yield f"instant {service} {tid} {name} {utc} 0"
            for name, began in stack:
                yield f"open {service} {tid} {name} {began} 0"


def unknown(message):
    """Fields that the .proto does not know, anywhere."""
    known = message.ByteSize()
    message.DiscardUnknownFields()
    return known - message.ByteSize()


def main():
    skein, make, protoc, source = sys.argv[1:5]
    with tempfile.TemporaryDirectory() as folder:
        trace, truth = os.path.join(folder, "fleet.skein"), os.path.join(folder, "truth")
        subprocess.run([protoc, "-I", source, "--python_out", folder, "perfetto.proto"], check=True)
        sys.path.insert(0, folder)
        import perfetto_pb2  # noqa: made by protoc above
        subprocess.run([make, trace, truth], check=True)
        subprocess.run([skein, "export", trace, "--to", "perfetto", "-o", trace + ".pf"], check=True)
        with open(trace + ".pf", "rb") as file:
            decoded = perfetto_pb2.Trace.FromString(file.read())
        with open(truth) as file:
            wanted = collections.Counter(file.read().splitlines())
    rule(unknown(decoded) == 0, "fields that Perfetto does not have here")
    seen = Import()
    for packet in decoded.packet:
        seen.packet(packet)
    got = collections.Counter(seen.lines())
    missing, more = wanted - got, got - wanted
    rule(not missing and not more, "missing:", *list(missing)[:3], "; not in the trace:", *list(more)[:3])
    rule(seen.drops == 2 * 3 * 4, "losses:", seen.drops)
    rule(seen.places == {("query", "src/db.c", 17), ("recv", "src/net.c", 9)}, "places:", seen.places)
    rule(len(seen.processes) == 3, "processes:", len(seen.processes))
    print(f"{sum(got.values())} slices and instants on {len(seen.tracks)} tracks")


main()
