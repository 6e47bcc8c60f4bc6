# SPDX-License-Identifier: Apache-2.0
"""What Perfetto's importer makes of a trace: tables of slices, counters, samples, runs on CPUs and flows.

Shares no code with the exporter: protobuf's own decoder, and the importer's rules as its source has them.
Packets are sorted by time, those of one time in the order of the file; an end closes the newest slice of its
track that is open; a counter has a track; the first switch of a CPU is skipped; the time of day before the
first snapshot is that snapshot's.
"""
import bisect
import collections

REALTIME, BOOTTIME = 1, 6
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


class Sequence:
    def __init__(self):
        self.track = 0
        self.of = collections.defaultdict(dict)  # what was interned, by field and iid

    def take(self, data):
        for field, rows in data.ListFields():
            self.of[field.name].update((row.iid, row) for row in rows)

    def text(self, field, iid):
        return self.of[field][iid].name

    def stack(self, iid):
        """Frames as (function, file of the module), innermost first."""
        if not iid:
            return None
        names = []
        for frame in (self.of["frames"][i] for i in self.of["callstacks"][iid].frame_ids):
            mapping = self.of["mappings"].get(frame.mapping_id)
            path = self.of["mapping_paths"][mapping.path_string_ids[0]].str.decode() if mapping else None
            names.append((self.of["function_names"][frame.function_name_id].str.decode(), path))
        return tuple(reversed(names))


class Judge:
    def __init__(self, trace):
        self.tracks, self.names, self.thread_of, self.process_of = {}, {}, {}, {}
        self.snapshots, self.slices, self.instants, self.counters = [], [], [], []
        self.samples, self.sessions, self.sched, self.flows = [], set(), [], []
        self.errors = []
        events, switches, sequences = [], collections.defaultdict(list), {}
        for at, packet in enumerate(trace.packet):
            self.packet(at, packet, sequences, events, switches)
        self.run_tracks(sorted(events, key=lambda e: e[:2]))
        self.run_cpus(switches)

    # ---- packets ----

    def packet(self, at, packet, sequences, events, switches):
        seq = packet.trusted_packet_sequence_id
        if packet.sequence_flags & 1:
            sequences[seq] = Sequence()
        elif packet.sequence_flags & 2 and seq not in sequences:
            self.errors.append("a packet that needs a state")
        s = sequences.setdefault(seq, Sequence())
        if packet.HasField("trace_packet_defaults"):
            s.track = packet.trace_packet_defaults.track_event_defaults.track_uuid
        if packet.HasField("interned_data"):
            s.take(packet.interned_data)
        if packet.HasField("clock_snapshot"):
            clocks = {c.clock_id: c.timestamp for c in packet.clock_snapshot.clocks}
            self.snapshots.append((clocks[BOOTTIME], clocks[REALTIME]))
        if packet.HasField("track_descriptor"):
            self.describe(packet.track_descriptor)
        if packet.HasField("track_event"):
            events.append((packet.timestamp, at, self.event(packet, s)))
        if packet.HasField("perf_sample"):
            p = packet.perf_sample
            self.sessions.add(seq)
            self.samples.append((packet.timestamp, p.pid, p.tid, seq, p.cpu, p.timebase_count, s.stack(p.callstack_iid)))
        if packet.HasField("ftrace_events"):
            compact, ns = packet.ftrace_events.compact_sched, 0
            for delta, state, tid, name in zip(compact.switch_timestamp, compact.switch_prev_state,
                                               compact.switch_next_pid, compact.switch_next_comm_index):
                ns += delta
                switches[packet.ftrace_events.cpu].append((ns, tid, state, compact.intern_table[name]))

    def describe(self, d):
        before = self.tracks.get(d.uuid)
        if before is not None and (before.parent_uuid, before.thread.tid, before.HasField("counter")) != (
                d.parent_uuid, d.thread.tid, d.HasField("counter")):
            self.errors.append(f"track {d.uuid} is another than before")
        self.tracks[d.uuid] = d
        self.names[d.uuid] = d.name
        if d.HasField("thread"):
            key = (d.thread.pid, d.thread.tid)
            if self.thread_of.setdefault(key, d.uuid) != d.uuid:
                self.errors.append(f"two tracks of thread {key}")
            if d.thread.HasField("thread_name"):
                self.names[d.uuid] = d.thread.thread_name
        if d.HasField("process") and self.process_of.setdefault(d.process.pid, d.uuid) != d.uuid:
            self.errors.append(f"two processes of pid {d.process.pid}")

    def event(self, packet, s):
        e = packet.track_event
        name = e.name if e.HasField("name") else s.text("event_names", e.name_iid) if e.name_iid else None
        category = [s.text("event_categories", i) for i in e.category_iids] + list(e.categories)
        value = e.double_counter_value if e.HasField("double_counter_value") else e.counter_value
        return {"uuid": e.track_uuid if e.HasField("track_uuid") else s.track, "type": e.type, "name": name,
                "category": ",".join(category) or None, "value": value, "flows": list(e.flow_ids),
                "stack": s.stack(e.callstack_iid), "weight": e.callstack_weight if e.HasField("callstack_weight") else None}

    # ---- by time ----

    def run_tracks(self, events):
        open_on, last_of_flow = collections.defaultdict(list), {}
        for ts, _, e in events:
            if e["uuid"] not in self.tracks:
                self.errors.append(f"an event on track {e['uuid']}, which nobody has described")
            stack = open_on[e["uuid"]]
            row = {**e, "ts": ts, "dur": None, "end_stack": None, "parent": stack[-1] if stack else None}
            if e["type"] == COUNTER:
                self.counters.append(row)
                continue
            if e["type"] == END:
                if not stack:
                    self.errors.append(f"an end without a begin at {ts}")
                    continue
                closed = stack.pop()
                closed["dur"], closed["end_stack"] = ts - closed["ts"], e["stack"]
                closed["end_weight"] = e["weight"]
                continue
            if e["type"] == BEGIN:
                stack.append(row)
                self.slices.append(row)
            else:
                self.instants.append(row)
            for flow in e["flows"]:
                if flow in last_of_flow:
                    self.flows.append((last_of_flow[flow], row))
                last_of_flow[flow] = row

    def run_cpus(self, switches):
        for cpu, rows in switches.items():
            rows.sort(key=lambda r: r[0])
            for (ns, tid, _, name), behind in zip(rows[1:], rows[2:]):  # the first one is skipped
                self.sched.append((cpu, ns, behind[0] - ns, tid, name, behind[2]))

    # ---- answers ----

    def realtime(self, ns):
        at = bisect.bisect_left([s[0] for s in self.snapshots], ns)
        if at == len(self.snapshots):
            return self.snapshots[-1][1] + ns - self.snapshots[-1][0]
        if at == 0 or self.snapshots[at][0] == ns:
            return self.snapshots[at][1]
        return min(self.snapshots[at - 1][1] + ns - self.snapshots[at - 1][0], self.snapshots[at][1])

    def owner(self, uuid):
        """(pid, tid); tid None: of the process; (None, NAME): of no process."""
        d = self.tracks[uuid]
        if d.HasField("thread"):
            return d.thread.pid, d.thread.tid
        if d.HasField("process"):
            return d.process.pid, None
        if d.parent_uuid:
            return self.owner(d.parent_uuid)
        return None, d.name

    def weights(self):
        """Samples with what each stands for: by how much its CPU's count went on."""
        counts = {}
        for ts, pid, tid, seq, cpu, count, stack in sorted(self.samples, key=lambda r: r[0]):
            yield ts, pid, tid, cpu, count - counts.get((seq, cpu), 0), stack
            counts[seq, cpu] = count
