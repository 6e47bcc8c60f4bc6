#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds `skein import perfetto` against files that protobuf's own encoder has made, and against our own export.

    perfetto_import.py SKEIN MAKE_TRACE PROTOC FOLDER_OF_THE_PROTO
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

from google.protobuf import json_format

from exchange_truth import counted, differ, rule

skein, make, protoc, protos = sys.argv[1:]
MONOTONIC, BOOTTIME, REALTIME = 3, 6, 1
T0 = 1795254000000000000  # UTC at boot + 1000
BOOT = 1000
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def ran(*words, status=0):
    done = subprocess.run([skein, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    rule(done.returncode == status, words, done.returncode, done.stderr.decode())
    return done.stdout.decode() + (done.stderr.decode() if status else "")


def imported(folder, data, *words):
    path, to = os.path.join(folder, "a.pftrace"), os.path.join(folder, "a.skein")
    if not isinstance(data, bytes):
        data = data.SerializeToString()
    with open(path, "wb") as file:
        file.write(data)
    said = json.loads(ran("import", "perfetto", path, "-o", to, "-j", *words))
    ran("check", to)
    counted(skein, to, said)
    return [json.loads(line) for line in ran("cat", "--evidence", "-j", to).splitlines()], said


def brief(row):
    return (row["type"], row["name"], row["thread"] or None, int(row["ts_ns"]) - T0, row.get("dur_ns"),
            tuple(sorted((k, str(v)) for k, v in row.get("args", {}).items())))


class Maker:
    """A trace of one process with two threads, its clocks and a sequence for each thread."""

    def __init__(self):
        self.trace = pb.Trace()
        self.packet(clock_snapshot={"clocks": [
            {"clock_id": BOOTTIME, "timestamp": BOOT}, {"clock_id": MONOTONIC, "timestamp": BOOT - 300},
            {"clock_id": REALTIME, "timestamp": T0}], "primary_trace_clock": BOOTTIME})
        self.packet(track_descriptor={"uuid": 1, "process": {"pid": 50, "process_name": "server"}})
        for n in (1, 2):
            self.packet(track_descriptor={"uuid": 10 + n, "parent_uuid": 1,
                                          "thread": {"pid": 50, "tid": 50 + n, "thread_name": "t%d" % n}})

    def packet(self, **fields):
        self.trace.packet.append(pb.TracePacket(**fields))

    def start(self, sequence, track, clock=0, **more):
        defaults = {"track_event_defaults": {"track_uuid": track, **more}}
        if clock:
            defaults["timestamp_clock_id"] = clock
        self.packet(trusted_packet_sequence_id=sequence, sequence_flags=1, trace_packet_defaults=defaults)

    def event(self, sequence, at, interned=None, dropped=False, **fields):
        self.packet(timestamp=at, trusted_packet_sequence_id=sequence, sequence_flags=2, track_event=fields,
                    **({"interned_data": interned} if interned else {}),
                    **({"previous_packet_dropped": True} if dropped else {}))


def events(folder):
    m = Maker()
    m.start(7, 11)
    m.start(8, 12)
    names = {"event_categories": [{"iid": 1, "name": "net"}], "event_names": [{"iid": 1, "name": "outer"}, {"iid": 2, "name": "inner"}],
             "debug_annotation_names": [{"iid": 5, "name": "rows"}],
             "debug_annotation_string_values": [{"iid": 3, "str": b"interned"}],
             "source_locations": [{"iid": 4, "file_name": "a.c", "line_number": 12}]}
    m.event(7, BOOT + 100, names, type=BEGIN, name_iid=1, category_iids=[1],
            debug_annotations=[{"name_iid": 5, "int_value": -4}, {"name": "s", "string_value_iid": 3}])
    # The other thread's packets stand behind, though they are earlier.
    m.event(7, BOOT + 200, type=BEGIN, name_iid=2, flow_ids=[0xabc], source_location_iid=4)
    m.event(7, BOOT + 300, type=END, debug_annotations=[{"name": "late", "bool_value": True}])
    m.event(7, BOOT + 400, type=END)
    m.event(8, BOOT + 50, type=INSTANT, name="tick", categories=["app"], terminating_flow_ids=[0xabc],
            debug_annotations=[{"name": "d", "double_value": 0.5}, {"name": "p", "pointer_value": 255},
                               {"name": "u", "uint_value": 2 ** 64 - 1}, {"name": "t", "string_value": "x\"y"},
                               {"name": "nested", "dict_entries": [
                                   {"name": "a", "int_value": 1},
                                   {"name": "b", "array_values": [{"int_value": 2}, {"string_value": "z"}]}]}])
    # Named tracks: one of the process, one of the thread; each nests by itself.
    m.packet(track_descriptor={"uuid": 100, "parent_uuid": 1, "name": "request 1"})
    m.packet(track_descriptor={"uuid": 101, "parent_uuid": 11, "static_name": "request 2"})
    m.event(7, BOOT + 500, type=BEGIN, track_uuid=100, name="async")
    m.event(7, BOOT + 510, type=BEGIN, track_uuid=101, name="async")
    m.event(7, BOOT + 520, type=END, track_uuid=100)
    m.event(7, BOOT + 530, type=END, track_uuid=101)
    # Counters, one that adds up beside events.
    m.packet(track_descriptor={"uuid": 200, "parent_uuid": 1, "name": "queue", "counter": {"unit": 2}})
    m.packet(track_descriptor={"uuid": 201, "parent_uuid": 12, "name": "time",
                               "counter": {"is_incremental": True, "unit_multiplier": 1000, "unit_name": "ns"}})
    m.event(7, BOOT + 600, type=COUNTER, track_uuid=200, counter_value=-7)
    m.event(7, BOOT + 610, type=COUNTER, track_uuid=200, double_counter_value=1.5)
    m.packet(track_descriptor={"uuid": 202, "parent_uuid": 1, "name": "load", "counter": {}})
    m.event(8, BOOT + 615, type=INSTANT, name="beside", extra_double_counter_track_uuids=[202], extra_double_counter_values=[0.25])
    m.start(8, 12, extra_counter_track_uuids=[201], extra_double_counter_track_uuids=[202])
    m.event(8, BOOT + 616, type=INSTANT, name="beside", extra_double_counter_values=[0.5, 4.0])
    m.event(8, BOOT + 620, type=BEGIN, name="work", extra_counter_values=[10])
    m.event(8, BOOT + 640, type=END, extra_counter_values=[5])
    # Chromium's of before.
    m.event(8, BOOT + 700, name="complete", legacy_event={"phase": ord("X"), "duration_us": 2})
    m.event(8, BOOT + 710, name="op", legacy_event={"phase": ord("b"), "global_id": 9})
    m.event(7, BOOT + 720, name="op", legacy_event={"phase": ord("e"), "global_id": 9})
    m.event(8, BOOT + 5000, type=BEGIN, name="left open")
    m.event(8, BOOT + 5000, type=END)
    m.event(8, BOOT + 5001, type=END)
    rows, said = imported(folder, m.trace)
    wanted = [
        ("instant", "tick", "t2", 50, None, (("d", "0.5"), ("flow end", "0xabc"), ("nested", "{a: 1, b: [2, z]}"),
                                             ("p", "0xff"), ("t", 'x"y'), ("u", str(2 ** 64 - 1)))),
        ("region", "inner", "t1", 200, 100, (("flow", "0xabc"), ("late", "True"), ("source", "a.c:12"))),
        ("region", "outer", "t1", 100, 300, (("rows", "-4"), ("s", "interned"))),
        ("region", "async", "request 1", 500, 20, ()), ("region", "async", "request 2", 510, 20, ()),
        ("counter", "queue", "process", 600, None, (("value", "-7"),)),
        ("counter", "queue", "process", 610, None, (("value", "1.5"),)),
        ("instant", "beside", "t2", 615, None, ()), ("counter", "load", "process", 615, None, (("value", "0.25"),)),
        ("instant", "beside", "t2", 616, None, ()), ("counter", "load", "process", 616, None, (("value", "0.5"),)),
        ("counter", "time", "t2", 620, None, (("value", "10000"),)),
        ("counter", "time", "t2", 640, None, (("value", "15000"),)),
        ("region", "work", "t2", 620, 20, ()),
        ("region", "complete", "t2", 700, 2000, ()), ("region", "op", "t2", 710, 10, ()),
        ("region", "left open", "t2", 5000, 0, ()),
    ]
    differ(collections.Counter(brief(r) for r in rows), collections.Counter(wanted))
    rule({(r["service"], r["pid"]) for r in rows} == {("server", 50)}, "whose")
    rule({r["thread"]: r["tid"] for r in rows}["t2"] == 52, "tids")
    # An end without a begin, and a counter's value without a track.
    rule(said["left_out"] == 2 and said["fixed_up"] == 0 and not said["time_guessed"], said)


def clocks(folder):
    """A sequence's own clock of 64 ns that counts from packet to packet, and the monotonic one."""
    m = Maker()
    m.packet(trusted_packet_sequence_id=7, sequence_flags=1,
             trace_packet_defaults={"timestamp_clock_id": 64, "track_event_defaults": {"track_uuid": 11}},
             clock_snapshot={"clocks": [
                 {"clock_id": 64, "timestamp": 1000, "is_incremental": True, "unit_multiplier_ns": 64},
                 {"clock_id": MONOTONIC, "timestamp": BOOT - 300 + 5000}]})
    for delta in (1, 2, 3):
        m.event(7, delta, type=INSTANT, name="tick")
    m.start(8, 12, clock=MONOTONIC)
    m.event(8, BOOT - 300 + 70, type=INSTANT, name="mono")
    m.packet(timestamp=BOOT + 80, timestamp_clock_id=BOOTTIME, trusted_packet_sequence_id=8, sequence_flags=2,
             track_event={"type": INSTANT, "name": "boot"})
    m.packet(timestamp=5, timestamp_clock_id=99, trusted_packet_sequence_id=8, track_event={"type": INSTANT, "name": "none"})
    rows, said = imported(folder, m.trace)
    got = [(r["name"], int(r["ts_ns"]) - T0) for r in rows]
    rule(got == [("mono", 70), ("boot", 80), ("tick", 5064), ("tick", 5192), ("tick", 5384)], got)
    rule(said["left_out"] == 1 and "clock is in no snapshot" in said["why"], said)


def old_times(folder):
    """Times of events themselves: from event to event, and one by itself; of the monotonic clock."""
    m = Maker()
    base = (BOOT - 300) // 1000
    m.packet(trusted_packet_sequence_id=7, sequence_flags=1,
             thread_descriptor={"pid": 50, "tid": 51, "reference_timestamp_us": base + 1})
    for fields in ({"timestamp_delta_us": 10}, {"timestamp_absolute_us": base + 5}, {"timestamp_delta_us": 20}):
        m.packet(trusted_packet_sequence_id=7, sequence_flags=2, track_event={"type": INSTANT, "name": "old", **fields})
    m.packet(trusted_packet_sequence_id=8, sequence_flags=1, track_event={"type": INSTANT, "name": "lost", "timestamp_delta_us": 1})
    rows, said = imported(folder, m.trace)
    rest = base * 1000 - (BOOT - 300)
    got = [(r["name"], r["thread"], int(r["ts_ns"]) - T0 - rest) for r in rows]
    rule(got == [("old", "t1", 5000), ("old", "t1", 11000), ("old", "t1", 31000)], got)
    rule(said["left_out"] == 1 and "without a time" in said["why"], said)


def early_clocks(folder):
    """Packets in front of the first snapshot of their sequence's clock; one that counts says nothing there."""
    m = Maker()
    m.packet(trusted_packet_sequence_id=7, sequence_flags=1,
             trace_packet_defaults={"timestamp_clock_id": 65, "track_event_defaults": {"track_uuid": 11}})
    m.event(7, 1010, type=INSTANT, name="early")
    m.packet(trusted_packet_sequence_id=7, clock_snapshot={"clocks": [
        {"clock_id": 65, "timestamp": 1020, "unit_multiplier_ns": 100}, {"clock_id": BOOTTIME, "timestamp": BOOT + 9000}]})
    m.event(7, 1030, type=INSTANT, name="late")
    m.packet(trusted_packet_sequence_id=8, sequence_flags=1,
             trace_packet_defaults={"timestamp_clock_id": 65, "track_event_defaults": {"track_uuid": 12}})
    m.event(8, 5, type=INSTANT, name="counted")
    m.packet(trusted_packet_sequence_id=8, clock_snapshot={"clocks": [
        {"clock_id": 65, "timestamp": 0, "is_incremental": True}, {"clock_id": BOOTTIME, "timestamp": BOOT + 9000}]})
    rows, said = imported(folder, m.trace)
    got = [(r["name"], int(r["ts_ns"]) - T0) for r in rows]
    rule(got == [("early", 8000), ("late", 10000)], got)
    rule(said["left_out"] == 1 and "clock is in no snapshot" in said["why"], said)


def bounds(folder):
    """Before 1970 all is moved and told; what no trace can hold is counted and told."""
    trace = pb.Trace()
    trace.packet.append(pb.TracePacket(clock_snapshot={"clocks": [
        {"clock_id": BOOTTIME, "timestamp": 5 * 10 ** 9}, {"clock_id": REALTIME, "timestamp": 10 ** 9}]}))
    trace.packet.append(pb.TracePacket(track_descriptor={"uuid": 1, "thread": {"pid": 10, "tid": 10}}))
    for at in (1000, 6 * 10 ** 9):
        trace.packet.append(pb.TracePacket(timestamp=at, trusted_packet_sequence_id=1,
                                           track_event={"type": INSTANT, "name": "e", "track_uuid": 1}))
    rows, said = imported(folder, trace)
    rule([int(r["ts_ns"]) for r in rows] == [0, 6 * 10 ** 9 - 1000] and said["clamped"] == 0, rows)
    rule("before 1970" in said["why"], said)
    trace.packet[-1].timestamp = 2 ** 63
    rows, said = imported(folder, trace)
    rule(said["clamped"] == 1 and said["events"] == 2, said)
    # A clock that would go round, one that counts in large units, microseconds that are no nanoseconds.
    for clock, at in ((MONOTONIC, 2 ** 64 - 1), (64, 2 ** 60), (64, 2 ** 63)):
        m = Maker()
        m.packet(trusted_packet_sequence_id=7, sequence_flags=1, clock_snapshot={"clocks": [
            {"clock_id": BOOTTIME, "timestamp": BOOT}, {"clock_id": 64, "timestamp": 1, "unit_multiplier_ns": 1000}]})
        m.event(7, BOOT + 5, type=INSTANT, name="in time", track_uuid=11)
        m.packet(timestamp=at, timestamp_clock_id=clock, trusted_packet_sequence_id=7,
                 track_event={"type": INSTANT, "name": "late", "track_uuid": 11})
        rows, said = imported(folder, m.trace)
        rule(said["clamped"] == 1 and [r["name"] for r in rows] == ["in time", "late"], clock, at, said, rows)
    for fields in ({"timestamp_absolute_us": 2 ** 62}, {"timestamp_delta_us": 2 ** 62}, {"timestamp_absolute_us": -2 ** 62}):
        m = Maker()
        m.packet(trusted_packet_sequence_id=7, sequence_flags=1, thread_descriptor={"pid": 50, "tid": 51, "reference_timestamp_us": 9})
        m.packet(trusted_packet_sequence_id=7, track_event={"type": INSTANT, "name": "late", "track_uuid": 11, **fields})
        rows, said = imported(folder, m.trace)
        rule(said["clamped"] == 1 and len(rows) == 1, fields, said)
    m = Maker()
    m.trace.packet[0].clock_snapshot.clocks[2].timestamp = 2 ** 63
    m.start(7, 11)
    m.event(7, BOOT + 5, type=INSTANT, name="here", track_uuid=11)
    _, said = imported(folder, m.trace)
    rule("time of day that no trace can hold" in said["why"] and said["time_guessed"], said)


def statistics(folder):
    """What the tracer and the kernel say of themselves that they lost is in the trace, with its bounds."""
    m = Maker()
    m.start(7, 11)
    m.event(7, BOOT + 10, type=INSTANT, name="first")
    for phase, overrun in ((1, 100), (2, 130)):
        m.packet(ftrace_stats={"phase": phase, "cpu_stats": [{"cpu": 0, "overrun": overrun}, {"cpu": 1, "dropped_events": phase}]})
    m.event(7, BOOT + 500, type=INSTANT, name="last")
    m.packet(trace_stats={"buffer_stats": [{"chunks_overwritten": 3}]})
    m.packet(trace_stats={"buffer_stats": [{"chunks_overwritten": 5}, {"chunks_discarded": 2}], "chunks_discarded": 1})
    for at, lost in ((600, False), (900, True)):
        m.packet(ftrace_events={"cpu": 2, "lost_events": lost, "event": [
            {"timestamp": BOOT + at, "pid": 51, "sched_switch": {"prev_pid": 51, "next_pid": 0}}]})
    rows, said = imported(folder, m.trace)
    got = sorted((int(r["ts_ns"]) - T0, int(r["args"]["to_ts_ns"]) - T0, r["args"]["events"])
                 for r in rows if r["type"] == "loss")
    rule(got == [(10, 900, 0), (10, 900, 31), (600, 900, 0)], got)
    rule((said["overwritten"], said["kernel_lost"], said["kernel_gaps"]) == (8, 31, 1), said)


def losses(folder):
    """State that is lost stays lost until it is cleared; a gap is a loss of that thread's process."""
    m = Maker()
    m.start(7, 11)
    m.event(7, BOOT + 10, {"event_names": [{"iid": 1, "name": "named"}]}, type=INSTANT, name_iid=1)
    m.event(7, BOOT + 20, dropped=True, type=INSTANT, name_iid=1)
    m.event(7, BOOT + 30, type=INSTANT, name_iid=1)
    m.packet(timestamp=BOOT + 40, trusted_packet_sequence_id=7, sequence_flags=1, previous_packet_dropped=True,
             track_event={"type": INSTANT, "name": "anew", "track_uuid": 11})
    m.packet(something_else=b"x")
    m.packet(compressed_packets=b"x" * 20)
    m.packet(trace_stats={"buffer_stats": [{"chunks_overwritten": 3, "trace_writer_packet_loss": 1}]})
    rows, said = imported(folder, m.trace)
    got = [(r["type"], r["name"], int(r["ts_ns"]) - T0) for r in rows]
    rule(sorted(got) == [("instant", "anew", 40), ("instant", "named", 10), ("loss", "records lost", 10),
                         ("loss", "records lost", 10)], got)
    rule((said["stateless"], said["not_read"], said["overwritten"], said["left_out"]) == (2, 1, 4, 3), said)
    rule("needs what its sequence had said before" in said["why"], said)


def scheduling(folder):
    """The same run, once in events of their own and once compact: two threads on CPU 1."""
    ours = {(r["name"], r["tid"], int(r["ts_ns"]) - T0, r["dur_ns"], r["args"].get("state")) for r in single(folder)}
    rows = compact(folder)
    packed = {(r["name"], r["tid"], int(r["ts_ns"]) - T0, r["dur_ns"], r["args"].get("state")) for r in rows}
    for one in [("sched.run", 51, 10, 40, None), ("sched.runnable", 52, 20, 30, None), ("sched.run", 52, 50, 30, None),
                ("sched.run", 51, 80, 20, None)]:
        rule(one in ours, "single", one, ours)
        rule(one in packed, "compact", one, packed)
    rule(("sched.blocked", 51, 50, 30, "S") in ours and any(o[0] == "sched.blocked" and o[4] == "D" for o in ours), ours)
    rule({r["service"] for r in rows} == {"server", "other"}, rows)


def tree(m):
    m.packet(process_tree={"processes": [{"pid": 50, "ppid": 1, "cmdline": ["/usr/bin/server", "-x"]}],
                           "threads": [{"tid": 51, "tgid": 50, "name": "t1"}]})


def single(folder, track=None):
    """track: uuid of a track that is there besides, and says nothing."""
    m = Maker()
    tree(m)
    switch = [(10, 0, "swapper", 0, 51, "t1"), (50, 51, "t1", 1, 52, "other"), (80, 52, "other", 2, 51, "t1"),
              (100, 51, "t1", 0, 0, "swapper")]
    ftrace = [{"timestamp": BOOT + at, "pid": prev, "sched_switch": {
        "prev_comm": comm, "prev_pid": prev, "prev_state": state, "next_pid": into, "next_comm": name}}
              for at, prev, comm, state, into, name in switch]
    ftrace.insert(1, {"timestamp": BOOT + 20, "pid": 51, "sched_waking": {"comm": "other", "pid": 52, "target_cpu": 1}})
    ftrace.insert(2, {"timestamp": BOOT + 21, "pid": 51, "sched_wakeup": {"comm": "other", "pid": 52, "target_cpu": 1}})
    ftrace.insert(3, {"timestamp": BOOT + 22, "pid": 51, "print": {"buf": "C|1|x|2"}})
    m.packet(ftrace_events={"cpu": 1, "event": ftrace})
    del m.trace.packet[3]  # 52 is of no process that the file names
    if track is not None:
        m.packet(track_descriptor={"uuid": track, "parent_uuid": 1, "name": "mine"})
    rows, said = imported(folder, m.trace)
    rule(said["not_read"] == 1 and said["left_out"] == 0, said)
    return rows


def compact(folder):
    m = Maker()
    tree(m)
    del m.trace.packet[3]
    bundle = {"switch_timestamp": [BOOT + 10, 40, 30, 20], "switch_prev_state": [0, 1, 2, 0], "switch_next_pid": [51, 52, 51, 0],
              "switch_next_prio": [120] * 4, "intern_table": ["t1", "other", "swapper"], "switch_next_comm_index": [0, 1, 0, 2],
              "waking_timestamp": [BOOT + 20], "waking_pid": [52], "waking_target_cpu": [1], "waking_prio": [120], "waking_comm_index": [1]}
    first = {k: v[:2] if k.startswith("switch") else v for k, v in bundle.items()}
    second = {k: v[2:] for k, v in bundle.items() if k.startswith("switch")}
    second["switch_timestamp"] = [BOOT + 80, 20]
    second["intern_table"] = bundle["intern_table"]
    for one in (first, second):  # who leaves first in a bundle came last in the one before
        m.packet(ftrace_events={"cpu": 1, "compact_sched": one})
    rows, said = imported(folder, m.trace)
    rule(said["left_out"] == 0, said)
    return rows


def foreign(folder):
    """Switches of others are read whatever their tracks are called, and also behind our own in one file."""
    plain, named = ([brief(r) + (r["tid"],) for r in single(folder, track)] for track in (None, 0x536b65696e000001))
    rule(any(one[1] == "sched.run" for one in plain), plain)
    rule(named == plain, "a track hides the switches of its file", named)
    paths = [os.path.join(folder, n) for n in ("1.skein", "truth", "1.pftrace")]
    subprocess.run([make, *paths[:2]], check=True)
    ran("export", paths[0], "--to", "perfetto", "-o", paths[2])
    with open(paths[2], "rb") as file:
        both = pb.Trace.FromString(file.read())
    runs = sum(r["name"] == "sched.run" for r in imported(folder, both)[0])
    last = max(p.timestamp for p in both.packet)
    both.packet.add(ftrace_events={"cpu": 77, "event": [
        {"timestamp": last + at, "pid": before, "sched_switch": {"prev_comm": "x", "prev_pid": before, "prev_state": 0,
                                                                 "next_pid": into, "next_comm": "x"}}
        for at, before, into in ((10, 0, 999901), (20, 999901, 0))]}, trusted_packet_sequence_id=3)
    rows = imported(folder, both)[0]
    rule(sum(r["name"] == "sched.run" for r in rows) == runs + 1, "the switches behind ours")
    rule(any(r["name"] == "sched.run" and r["tid"] == 999901 and r["dur_ns"] == 10 for r in rows), "who ran")


def samples(folder):
    m = Maker()
    m.packet(trusted_packet_sequence_id=9, sequence_flags=1,
             trace_packet_defaults={"perf_sample_defaults": {"timebase": {"frequency": 100}}},
             interned_data={"function_names": [{"iid": 1, "str": b"main"}, {"iid": 2, "str": b"inner"}],
                            "mapping_paths": [{"iid": 1, "str": b"/bin/server"}], "mappings": [{"iid": 1, "start": 4096, "path_string_ids": [1]}],
                            "frames": [{"iid": 1, "function_name_id": 1, "mapping_id": 1, "rel_pc": 16},
                                       {"iid": 2, "function_name_id": 2, "mapping_id": 1, "rel_pc": 32}],
                            "callstacks": [{"iid": 1, "frame_ids": [1, 2]}]})
    for at in (10, 20):
        m.packet(timestamp=BOOT + at, trusted_packet_sequence_id=9, sequence_flags=2,
                 perf_sample={"cpu": 1, "pid": 50, "tid": 51, "callstack_iid": 1})
    rows, _ = imported(folder, m.trace)
    rule([(r["name"], r["tid"], r["args"]) for r in rows] == [("cpu.sample", 51, {"cpu": 1, "weight": 10000000})] * 2, rows)
    folded = ran("export", os.path.join(folder, "a.skein"), "--to", "folded", "-o", "-").strip()
    rule(folded == "server[50];t1;main;inner 2", folded)


class Kernel:
    """What the kernel says of one CPU, and scrapes of /proc."""

    def __init__(self):
        self.maker = Maker()
        self.on = 0, "swapper"

    def event(self, at, pid, **what):
        self.maker.packet(ftrace_events={"cpu": 0, "event": [{"timestamp": BOOT + at, "pid": pid, **what}]})

    def switch(self, at, tid, comm, state=1, leaver=None):
        before, called = self.on
        self.event(at, before, sched_switch={"prev_comm": leaver or called, "prev_pid": before, "prev_state": state,
                                             "next_pid": tid, "next_comm": comm})
        self.on = tid, comm

    def scrape(self, at, pid, *cmdline, threads=(), **more):
        self.maker.packet(timestamp=BOOT + at, process_tree={
            "processes": [{"pid": pid, "cmdline": cmdline, **more}],
            "threads": [{"tid": tid, "tgid": pid, "name": name} for tid, name in threads]})

    def runs(self, folder):
        rows, said = imported(folder, self.maker.trace)
        rule(said["left_out"] == 0, said)
        return sorted((int(r["ts_ns"]) - T0, r["dur_ns"], r["service"], r["pid"], r["thread"])
                      for r in rows if r["name"] == "sched.run"), rows


def lives_of_the_kernel(folder):
    """A pid is whose it was then: exec, and a new process with an old pid, leave the past its name."""
    k = Kernel()
    k.scrape(40, 60, "/usr/bin/server", "-x")  # the file's order is not that of time
    k.scrape(5, 60, "sh", "-c", "server")
    k.switch(10, 60, "sh")
    k.event(30, 60, sched_process_exec={"filename": "/usr/bin/server", "pid": 60, "old_pid": 60})
    k.switch(50, 0, "swapper", leaver="server")
    k.switch(60, 60, "server")
    k.switch(70, 0, "swapper", state=32)
    k.event(80, 1, task_newtask={"pid": 60, "comm": "cron", "clone_flags": 0x1200000})
    k.switch(90, 60, "cron")
    k.switch(95, 0, "swapper")
    k.event(97, 1, sched_process_free={"comm": "cron", "pid": 60})
    k.scrape(98, 60, "cron")
    k.switch(100, 60, "cron")
    k.switch(105, 0, "swapper")
    got, rows = k.runs(folder)
    waits = {(r["thread"], int(r["ts_ns"]) - T0, r["dur_ns"]) for r in rows if r["name"] == "sched.runnable"}
    rule(("cron", 80, 10) in waits, "one that is new waits from then on", waits)
    rule(not any(thread == "server" and at < 30 for thread, at, _ in waits), "who waits before it is there", waits)
    rule(got == [(10, 20, "sh", 60, "sh"), (30, 20, "server", 60, "server"), (60, 10, "server", 60, "server"),
                 (90, 5, "cron", 60, "cron"), (100, 5, "cron", 60, "cron")], got)
    rule(len({r["process"] for r in rows}) == 4, rows)
    # A thread is of its maker's process, also where that is told later; and a tid may be another process's.
    k = Kernel()
    k.event(10, 71, task_newtask={"pid": 72, "comm": "made", "clone_flags": 0x10000})
    k.event(11, 72, task_newtask={"pid": 73, "comm": "of made", "clone_flags": 0x10000})
    k.switch(12, 72, "made")
    k.switch(14, 73, "of made")
    k.switch(16, 0, "swapper")
    k.scrape(20, 70, "maker", threads=[(71, "first")])
    k.event(30, 60, task_newtask={"pid": 73, "comm": "other's", "clone_flags": 0x10000})
    k.switch(32, 73, "other's")
    k.switch(34, 0, "swapper")
    k.scrape(40, 60, "other")
    got, _ = k.runs(folder)
    rule(got == [(12, 2, "maker", 70, "made"), (14, 2, "maker", 70, "of made"), (32, 2, "other", 60, "other's")], got)
    # Without the kernel's word, another name of a main thread is one, unless a thread of before goes on.
    for goes_on in (False, True):
        k = Kernel()
        k.scrape(1, 60, "old", threads=[(60, "old"), (61, "helper")])
        for at, tid, comm in ((10, 60, "old"), (20, 61, "helper"), (30, 60, "fresh"), (40, 61 if goes_on else 60, "helper" if goes_on else "fresh")):
            k.switch(at, tid, comm)
        k.switch(50, 0, "swapper")
        got, rows = k.runs(folder)
        rule([g[2] for g in got] == ["old", "old"] + ["old" if goes_on else "fresh"] * 2, got)
        rule(len({r["process"] for r in rows}) == 2 - goes_on, rows)


def lives_of_who_renames_itself(folder):
    """A program that calls itself otherwise again and again is one."""
    k = Kernel()
    for at in range(10, 400, 10):
        k.switch(at, 60, "step %d" % at)
    got, rows = k.runs(folder)
    rule(len(got) == 38 and len({r["process"] for r in rows}) == 1, got)


def lives_by_scrapes(folder):
    """Samples and scrapes alone: the name of then; when it began tells a new process from the same one."""
    m = Maker()
    for at, pid, name, began in ((5, 60, "/bin/first", 3), (6, 70, "same", 2), (100, 60, "/bin/second -v", 90), (101, 70, "same", 95)):
        m.packet(timestamp=BOOT + at, process_tree={"processes": [{"pid": pid, "cmdline": [name], "process_start_from_boot": BOOT + began}]})
    m.packet(timestamp=BOOT + 7, process_tree={"processes": [{"pid": 80, "cmdline": ["kworker/0:1"], "cmdline_is_comm": True}]})
    m.packet(timestamp=BOOT + 94, trusted_packet_sequence_id=9, perf_sample={"cpu": 0, "kernel_records_lost": 12})
    for at, pid in ((10, 60), (80, 60), (92, 60), (10, 70), (99, 70), (10, 80), (10, 91)):
        m.packet(timestamp=BOOT + at, trusted_packet_sequence_id=9, perf_sample={"cpu": 0, "pid": pid, "tid": pid})
    rows, said = imported(folder, m.trace)
    rule([(int(r["ts_ns"]) - T0, r["args"]["events"]) for r in rows if r["type"] == "loss"] == [(94, 12)], rows)
    rows = [r for r in rows if r["type"] != "loss"]
    got = sorted((r["pid"], int(r["ts_ns"]) - T0, r["service"]) for r in rows)
    rule(got == [(60, 10, "first"), (60, 80, "first"), (60, 92, "second"), (70, 10, "same"), (70, 99, "same"),
                 (80, 10, "kworker/0:1"), (91, 10, "a")], got)
    rule(len({r["process"] for r in rows if r["pid"] == 70}) == 2 and said["processes"] == 7, rows)


def lives_of_tracks(folder):
    """Two worlds have a process 1 each, at one time; and a process has a command line and a name of its own."""
    m = Maker()
    for sequence, uuid, name in ((7, 31, "nginx"), (8, 32, "redis")):
        m.packet(timestamp=BOOT + uuid, trusted_packet_sequence_id=sequence, sequence_flags=1,
                 track_descriptor={"uuid": uuid, "process": {"pid": 1, "process_name": name}})
        m.packet(trusted_packet_sequence_id=sequence, track_descriptor={
            "uuid": uuid + 10, "parent_uuid": uuid, "thread": {"pid": 1, "tid": 1, "thread_name": name + " main"}})
    for at, track in ((100, 41), (110, 42), (120, 41), (130, 32), (140, 31)):
        m.event(7, BOOT + at, type=INSTANT, name="here", track_uuid=track)
    m.packet(timestamp=BOOT + 8, process_tree={"processes": [{"pid": 50, "cmdline": ["/opt/chrome", "--type=browser"]}]})
    m.packet(timestamp=BOOT + 9, track_descriptor={"uuid": 1, "process": {"pid": 50, "cmdline": ["/opt/chrome"], "process_name": "Browser"}})
    m.event(7, BOOT + 4, type=INSTANT, name="here", track_uuid=11)
    m.event(7, BOOT + 200, type=INSTANT, name="here", track_uuid=11)
    del m.trace.packet[1]
    rows, _ = imported(folder, m.trace)
    got = sorted((int(r["ts_ns"]) - T0, r["service"], r["pid"], r["thread"]) for r in rows)
    rule(got == [(4, "Browser", 50, "t1"), (100, "nginx", 1, "nginx main"), (110, "redis", 1, "redis main"),
                 (120, "nginx", 1, "nginx main"), (130, "redis", 1, "process"), (140, "nginx", 1, "process"),
                 (200, "Browser", 50, "t1")], got)
    rule(len({r["process"] for r in rows}) == 3, rows)
    m = Maker()
    m.start(7, 11)
    m.event(7, BOOT + 1, type=INSTANT, name="here")
    _, said = imported(folder, m.trace)
    rule(said["why"] == "", said)
    m.packet(timestamp=BOOT + 2, machine_id=9, process_tree={"processes": [{"pid": 50, "cmdline": ["guest"]}]})
    _, said = imported(folder, m.trace)
    rule("several machines" in said["why"], said)


def clocks_that_count(folder):
    """A clock that counts from packet to packet counts those of no event, too."""
    m = Maker()
    m.packet(trusted_packet_sequence_id=7, sequence_flags=1, trace_packet_defaults={
        "timestamp_clock_id": 64, "track_event_defaults": {"track_uuid": 11}},
             clock_snapshot={"clocks": [{"clock_id": BOOTTIME, "timestamp": BOOT + 100},
                                        {"clock_id": 64, "timestamp": 0, "is_incremental": True}]})
    m.event(7, 10, type=INSTANT, name="first")
    m.packet(timestamp=20, trusted_packet_sequence_id=7, track_descriptor={"uuid": 99, "parent_uuid": 1, "name": "more"})
    m.event(7, 30, type=INSTANT, name="second")
    rows, _ = imported(folder, m.trace)
    got = [(r["name"], int(r["ts_ns"]) - T0) for r in rows]
    rule(got == [("first", 110), ("second", 160)], got)


def broken(folder):
    m = Maker()
    m.start(7, 11)
    m.event(7, BOOT + 1, type=INSTANT, name="first")
    good = m.trace.SerializeToString()
    bad = good + b"\x0a\x03\x58\xff\xff"  # a varint that does not end
    m2 = Maker()
    m2.event(7, BOOT + 2, type=INSTANT, name="second", track_uuid=11)
    last = m2.trace.packet[-1].SerializeToString()
    whole = bad + b"\x0a" + bytes([len(last)]) + last
    rows, said = imported(folder, whole)
    rule([r["name"] for r in rows] == ["first", "second"] and said["left_out"] == 1, rows, said)
    rule("at byte %d: a packet is broken" % len(good) in said["why"], said)
    rows, said = imported(folder, whole[:-3])
    rule([r["name"] for r in rows] == ["first"] and said["cut_bytes"] == len(last) + 2 - 3, said)
    for data, why in [(b"hello world", "no packet of Perfetto's"), (b"\x1f\x8b\x08" + b"x" * 20, "no packet of Perfetto's"),
                      (Maker().trace.SerializeToString(), "no event that is read; 0 packets")]:
        path = os.path.join(folder, "no")
        with open(path, "wb") as file:
            file.write(data)
        rule(why in ran("import", "perfetto", path, status=1), why)


def round_trip(folder):
    """Our own export comes back: names, times, lengths and arguments of all that Perfetto's format carries."""
    paths = [os.path.join(folder, n) for n in ("1.skein", "truth", "1.pftrace", "2.skein")]
    subprocess.run([make, *paths[:2]], check=True)
    ran("export", paths[0], "--to", "perfetto", "-o", paths[2])
    ran("import", "perfetto", paths[2], "-o", paths[3])
    ran("check", paths[3])
    sides = []
    for path in (paths[0], paths[3]):
        rows = [json.loads(line) for line in ran("cat", "--evidence", "-j", path).splitlines()]
        sides.append(collections.Counter(
            (r["name"], r["tid"] if r["name"].startswith("sched.") else None, int(r["ts_ns"]), r["dur_ns"])
            for r in rows if r["type"] == "region"))
    differ(sides[1], sides[0])


def switches(folder):
    """Who had a CPU by the switches of our own export, as importers follow them, is who had it by the trace."""
    paths = [os.path.join(folder, n) for n in ("1.skein", "truth", "1.pftrace")]
    subprocess.run([make, *paths[:2]], check=True)
    ran("export", paths[0], "--to", "perfetto", "-o", paths[2])
    with open(paths[2], "rb") as file:
        trace = pb.Trace.FromString(file.read())
    json_format.MessageToJson(trace)  # which refuses texts that are no UTF-8
    clock = {c.clock_id: c.timestamp for p in trace.packet if p.HasField("clock_snapshot") for c in p.clock_snapshot.clocks}
    ahead = clock[REALTIME] - clock[BOOTTIME]
    on, runs, wakings = {}, set(), set()
    for bundle in (p.ftrace_events for p in trace.packet if p.HasField("ftrace_events")):
        c, at = bundle.compact_sched, 0
        columns = (c.switch_timestamp, c.switch_prev_state, c.switch_next_pid, c.switch_next_prio, c.switch_next_comm_index)
        rule(len({len(one) for one in columns}) == 1, "columns of different lengths")
        for delta, state, into, _, index in zip(*columns):
            at += delta
            rule(delta >= 0 and index < len(c.intern_table), "a switch")
            before, since, _ = on.get(bundle.cpu, (0, 0, ""))
            if before:
                runs.add((bundle.cpu, before, since + ahead, at - since, state))
            on[bundle.cpu] = into, at, c.intern_table[index]
        at = 0
        for delta, tid, cpu in zip(c.waking_timestamp, c.waking_pid, c.waking_target_cpu):
            at += delta
            wakings.add((cpu, tid, at + ahead))
    rule(all(one[0] == 0 for one in on.values()) and on, "a CPU that nobody leaves", on)
    rows = [json.loads(line) for line in ran("cat", "--evidence", "-j", paths[0]).splitlines()]
    rows = [r for r in rows if r["name"] and r["name"].startswith("sched.")]
    wanted = {(r["args"]["cpu"], r["tid"], int(r["ts_ns"]), r["dur_ns"]) for r in rows if r["name"] == "sched.run"}
    rule({one[:4] for one in runs} == wanted and wanted, runs, wanted)
    woken = {(r["args"]["cpu"], r["tid"], int(r["ts_ns"])) for r in rows if r["args"].get("why") == "woken"}
    rule(wakings == woken, wakings, woken)
    for r in rows:
        ended = [one for one in runs if one[1] == r["tid"] and one[2] + one[3] == int(r["ts_ns"])]
        if r["name"] == "sched.blocked" and r["args"]["state"] in "SD":
            rule(all(one[4] == {"S": 1, "D": 2}[r["args"]["state"]] for one in ended), r, ended)


def main(folder):
    for test in (events, clocks, old_times, early_clocks, bounds, losses, statistics, scheduling, foreign, samples, lives_of_the_kernel, lives_of_who_renames_itself, lives_by_scrapes,
                 lives_of_tracks, clocks_that_count, broken, round_trip, switches):
        test(folder)
        print(test.__name__, "holds")


with tempfile.TemporaryDirectory() as made:
    subprocess.run([protoc, "--proto_path=" + protos, "--python_out=" + made, "perfetto_import.proto"], check=True)
    sys.path.insert(0, made)
    import perfetto_import_pb2 as pb  # pylint: disable=import-error
    main(made)
