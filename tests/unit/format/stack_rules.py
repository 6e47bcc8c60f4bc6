#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the exports of a trace with stacks against what is in it, read by others' programs.

pprof: `go tool pprof`; Perfetto: protobuf's own decoder and the rules of its importer; folded
stacks: the form that flamegraph.pl takes.

    stack_rules.py SKEIN MAKE_TRACE PROTOC FOLDER_OF_THE_PROTO [GO]
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

MS = 1000000
PAY = ["main", "loop()", "pay(order const&)", "take(lock*)"]  # outermost first
LOAD = ["main", "libdb.so.5+0x3233"]
SPIN = ["main", "operator;(int)"]


def rule(holds, *what):
    if not holds:
        sys.exit("stacks: " + " ".join(str(w) for w in what))


def told(*words, env=None):
    return subprocess.run(words, check=True, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout


def folded(skein, trace):
    told(skein, "export", trace, "--to", "folded", "-o", trace + ".folded")
    with open(trace + ".folded") as file:
        lines = sorted(file.read().splitlines())
    rule(lines == ["shop[77];worker:1;[...];main;libdb.so.5+0x3233 1",
                   "shop[77];worker:1;main;operator:(int) 4"], "samples:", lines)
    waits = told(skein, "export", trace, "--to", "folded", "--of", "waits", "-o", "-")
    rule(sorted(waits.splitlines()) ==
         ["shop[77];main;[...];main;libdb.so.5+0x3233 500000",
          "shop[77];main;main;loop();pay(order const&);take(lock*)_[i] 80000"], "waits:", waits)
    wall = told(skein, "export", trace, "--to", "folded", "--of", "wall", "-o", "-")
    rule(sorted(wall.splitlines()) ==
         ["shop[77];main;[...];main;libdb.so.5+0x3233 500000",
          "shop[77];main;main;loop();pay(order const&);take(lock*)_[i] 80000",
          "shop[77];worker:1;[...];main;libdb.so.5+0x3233 10000",
          "shop[77];worker:1;main;operator:(int) 40000"], "wall:", wall)
    locks = told(skein, "export", trace, "--to", "folded", "--of", "contention", "-o", "-")
    rule(locks.splitlines() == ["shop[77];main;main;loop();pay(order const&);take(lock*)_[i] 80000"],
         "contention:", locks)


def pprof(skein, go, trace, folder):
    told(skein, "export", trace, "--to", "pprof", "-o", trace + ".pb.gz")
    env = dict(os.environ, HOME=folder, PPROF_TMPDIR=folder, GOFLAGS="", GOPROXY="off")
    raw = told(go, "tool", "pprof", "-symbolize=none", "-raw", trace + ".pb.gz", env=env)
    rule(re.search(r"^Time: \S+ 09:40:00\.05 .*\nDuration: 450m", raw, re.M),
         "not when CPUs were sampled:", raw)  # the waits go on until 0.7 s
    rule("samples/count cpu/nanoseconds[dflt] waits/count wait/nanoseconds "
         "contentions/count contention/nanoseconds wall/nanoseconds" in raw, raw)
    samples, _, rest = raw.partition("\nLocations\n")
    locations, _, mappings = rest.partition("\nMappings\n")
    names = {}
    for line in locations.splitlines():
        found = re.match(r"\s+(\d+): (0x[0-9a-f]+) M=(\d+) ?(.*)", line)
        if found:
            at = int(found[1])
            names[at] = [found[4].strip() or found[2]]
        elif line.strip():
            names[at].append(line.strip())
    got = collections.Counter()
    for values, stack in re.findall(r"^ +((?:\d+ +){6}\d+): ([\d ]+)$", samples, re.M):
        frames = [name.split(" /")[0] for at in stack.split() for name in names[int(at)]]
        got[tuple(int(v) for v in values.split()), tuple(reversed(frames))] += 1
    rule(got == {((0, 0, 2, 80 * MS, 2, 80 * MS, 80 * MS), tuple(PAY)): 1,
                 ((0, 0, 1, 500 * MS, 0, 0, 500 * MS), ("main", "0x7f0000001233")): 1,
                 ((4, 40 * MS, 0, 0, 0, 0, 40 * MS), tuple(SPIN)): 1,
                 ((1, 10 * MS, 0, 0, 0, 0, 10 * MS), ("main", "0x7f0000001233")): 1}, "pprof:", got, raw)
    rule("/lib/libdb.so.5 cdef" in mappings and "/usr/bin/shop ab [FN]" in mappings, mappings)
    rule(re.search(r"thread:\[worker;1\]", samples) and re.search(r"tid:\[77", samples), raw)
    top = told(go, "tool", "pprof", "-symbolize=none", "-top", "-cum", "-sample_index=wait",
               trace + ".pb.gz", env=env)
    rule(re.search(r"580ms +100% +main$", top, re.M), top)
    rule(re.search(r"80ms +13\.79% +take\(lock\*\)(?: \(inline\))?$", top, re.M), top)


class Sequence:
    def __init__(self):
        self.stacks, self.frames, self.functions = {}, {}, {}
        self.mappings, self.paths, self.builds, self.sources = {}, {}, {}, {}

    def take(self, data):
        tables = ((data.function_names, self.functions), (data.mapping_paths, self.paths),
                  (data.build_ids, self.builds), (data.source_paths, self.sources))
        for rows, table in tables:
            table.update({row.iid: row.str for row in rows})
        for rows, table in ((data.mappings, self.mappings), (data.frames, self.frames),
                            (data.callstacks, self.stacks)):
            table.update({row.iid: row for row in rows})

    def names(self, iid):
        rule(iid in self.stacks, "a callstack that the sequence was not told")
        for frame in (self.frames[f] for f in self.stacks[iid].frame_ids):
            name = self.functions[frame.function_name_id].decode()
            if name.startswith("libdb"):
                mapping = self.mappings[frame.mapping_id]
                rule(self.paths[mapping.path_string_ids[0]] == b"/lib/libdb.so.5", "a path")
                rule(self.builds[mapping.build_id] == b"\xcd\xef", "a build id")
                rule(frame.rel_pc == 0x3233, "an offset", hex(frame.rel_pc))
            if name == "loop()":
                rule(self.sources[frame.source_path_iid] == b"/src/main.cc", "a source")
                rule(frame.line_number == 70, "a line")
            yield name


def perfetto(skein, protoc, source, trace, folder):
    told(skein, "export", trace, "--to", "perfetto", "-o", trace + ".pf")
    told(protoc, "-I", source, "--python_out", folder, "perfetto.proto")
    sys.path.insert(0, folder)
    import perfetto_pb2  # noqa: made by protoc above
    with open(trace + ".pf", "rb") as file:
        decoded = perfetto_pb2.Trace.FromString(file.read())
    whole = decoded.ByteSize()
    decoded.DiscardUnknownFields()
    rule(decoded.ByteSize() == whole, "fields that Perfetto does not have here")
    sequences, events, samples, counts = {}, [], [], {}
    sampled_on = set()
    for packet in decoded.packet:
        if packet.sequence_flags & 1:
            sequences[packet.trusted_packet_sequence_id] = Sequence()
        sequence = sequences.get(packet.trusted_packet_sequence_id)
        if packet.HasField("interned_data"):
            sequence.take(packet.interned_data)
        if packet.track_event.HasField("callstack_iid"):
            events.append((packet.track_event.type, packet.track_event.callstack_weight,
                           list(sequence.names(packet.track_event.callstack_iid))))
        if packet.HasField("perf_sample"):
            s = packet.perf_sample
            sampled_on.add(packet.trusted_packet_sequence_id)
            # What a sample stands for is how its CPU's count went on.
            weight = s.timebase_count - counts.get(s.cpu, 0)
            counts[s.cpu] = s.timebase_count
            samples.append((packet.timestamp, s.pid, s.tid, s.cpu, weight, list(sequence.names(s.callstack_iid))))
    rule(sorted(events) == [(1, 30.0 * MS, PAY), (1, 50.0 * MS, PAY), (2, 500.0 * MS, LOAD)], "events:", events)
    rule([s[1:] for s in sorted(samples)] ==
         [(77, 78, i % 2, 10 * MS, SPIN) for i in range(4)] + [(77, 78, 0, 10 * MS, LOAD)], samples)
    rule(len(sampled_on) == 1, "samples are one profile:", sampled_on)


def main():
    skein, make, protoc, source = sys.argv[1:5]
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "shop.skein")
        told(make, trace)
        told(skein, "check", trace)
        folded(skein, trace)
        perfetto(skein, protoc, source, trace, folder)
        if len(sys.argv) > 5:
            pprof(skein, sys.argv[5], trace, folder)
    print("folded stacks, Perfetto" + (", pprof" if len(sys.argv) > 5 else "; no go for pprof"))


main()
