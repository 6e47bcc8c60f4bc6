#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds `skein import perf-script` against what perf 6.1 printed (tests/exchange/traces/perf_script), read here in
another way, and against lines that perf prints elsewhere: other fields, locales, names.

    perf_script_import.py SKEIN TRACES
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

from exchange_truth import counted, differ, rule

skein, traces = sys.argv[1:]


def ran(*words, status=0):
    done = subprocess.run([skein, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    rule(done.returncode == status, words, done.returncode, done.stderr.decode())
    return done.stdout.decode() + (done.stderr.decode() if status else "")


def imported(folder, text, *words):
    path, to = os.path.join(folder, "a.txt"), os.path.join(folder, "a.skein")
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    said = json.loads(ran("import", "perf-script", path, "-o", to, "-j", *words))
    ran("check", to)
    counted(skein, to, said)
    return [json.loads(line) for line in ran("cat", "--evidence", "-j", to).splitlines()], said


def read(name):
    with open(os.path.join(traces, name), encoding="utf-8") as file:
        return file.read()


def relative(times):
    """Times as far as they lie from the last one: the file does not say the time of day."""
    return [t - max(times) for t in times]


def ns(text):
    seconds, fraction = text.split(".")
    return int(seconds) * 10 ** 9 + int(fraction.ljust(9, "0"))


def samples(folder):
    """Stacks as flamegraphs fold them, times and periods of each sample."""
    text = read("samples.txt")
    heads = re.findall(r"^(\S+) +(\d+)/(\d+) +([\d.]+): +(\d+) cpu-clock:pppH: *$", text, re.M)
    rows, said = imported(folder, text)
    got = [r for r in rows if r["name"] == "cpu.sample"]
    rule(len(heads) == 12 == len(got) == said["samples"] and said["left_out"] == 0, len(heads), said)
    wanted = relative([ns(h[3]) for h in heads])
    rule(relative([int(r["ts_ns"]) for r in got]) == wanted, "times")
    rule([(r["service"], r["pid"], r["tid"], r["args"]["weight"]) for r in got] ==
         [(c, int(p), int(t), int(n)) for c, p, t, _, n in heads], got)
    folded = collections.Counter()
    for block in text.strip().split("\n\n"):
        names = [line.split(None, 1)[1].rsplit(" (", 1)[0].rsplit("+0x", 1)[0]
                 for line in block.split("\n")[1:]]
        names = [n for n in names if n != "[unknown]"]
        folded[";".join(reversed(names))] += 1
    ours = collections.Counter()
    for line in ran("export", os.path.join(folder, "a.skein"), "--to", "folded", "-o", "-").splitlines():
        stack, count = line.rsplit(" ", 1)
        ours[";".join(f for f in stack.split(";")[2:] if not re.match(r"0x[0-9a-f]+$|\S+\.so\S*\+0x", f))] += int(count)
    differ(ours, folded)


def scheduling(folder):
    """How long each thread ran between a switch to it and the next one away from it, both on one CPU."""
    text = read("sched.txt")
    on, runs = {}, collections.Counter()
    for cpu, at, rest in re.findall(r"\[(\d+)\] ([\d.]+): +sched:sched_switch: (.*)$", text, re.M):
        prev, into = (int(re.search(w + r"_pid=(\d+)", rest)[1]) for w in ("prev", "next"))
        if on.get(cpu, (None, 0))[0] == prev and prev != 0:
            runs[prev, ns(at) - on[cpu][1]] += 1
        on[cpu] = into, ns(at)
    rows, said = imported(folder, text)
    got = collections.Counter((r["tid"], r["dur_ns"]) for r in rows
                              if r["name"] == "sched.run" and r["args"]["cut"] == "")
    differ(got, runs)
    rule(sum(runs.values()) > 10 and said["left_out"] == 0, runs, said)
    rule(said["switches"] == len(re.findall("sched_switch:", text)) and not said["no_pids"], said)


def plain(folder):
    """Without -g the frame stands in the line, and without +pid there is no process."""
    rows, said = imported(folder, read("plain.txt"), "--service", "ls", "--pid", "7")
    rule(said["no_pids"] and said["samples"] == 5 and said["left_out"] == 0, said)
    rule({(r["service"], r["pid"]) for r in rows} == {("ls", 7)}, rows)
    folded = ran("export", os.path.join(folder, "a.skein"), "--to", "folded", "-o", "-")
    rule("iowrite16 " in folded and "malloc_consolidate " in folded, folded)


def words(folder):
    """Names with spaces, digits and colons; locales; fields that are there or not; libtraceevent's own words."""
    text = """# hostname : box-1
# a comment
      Web Content  1234/1235  [002]  10,000001:     250000 cpu-clock:u: \n\t    7f00 main loop(int, char)+0x1f (/opt/a b/prog)
\t         7f00 inner (inlined)
\t       0 [unknown] ([unknown])

 kworker/2:1-ev 5    [002] 10.000002:          1 sched:sched_waking: comm=a b pid=77 prio=120 target_cpu=002
 kworker/2:1-ev 5    [002] 10.000003: sched:sched_switch: kworker/2:1-ev:5 [120] S ==> a b:77 [120]
a 12 b 78 10.000004: 3 page-faults: 0 zero (/x)
:-1    -1 [000] 10.000005: 9 cycles:P: ffff idle ([k])

            a b    77 [002] 10.000010: sched:sched_switch: prev_comm=a b prev_pid=77 prev_prio=120 prev_state=R+ ==> next_comm=swapper/2 next_pid=0 next_prio=120
            a b    77 [002] 10.000011: syscalls:sys_enter_read: fd: 0x00000003, 12 1.5: no head
            a b    77 [002] 10.000012: PERF_RECORD_LOST lost 44
            a b    77 [002] 10.000013: PERF_RECORD_FORK(1:1):(2:2)
"""
    rows, said = imported(folder, text, "--hz", "1000")
    base = max(int(r["ts_ns"]) for r in rows) - 12000
    got = {(r["name"], r["thread"], int(r["ts_ns"]) - base) for r in rows}
    for one in [("cpu.sample", "Web Content", 1000), ("page-faults", "a 12 b", 4000),
                ("sched.run", "a b", 3000), ("sched.runnable", "a b", 2000), ("records lost", None, 12000),
                ("syscalls:sys_enter_read", "a b", 11000)]:
        rule(one in got, one, got)
    weights = {r["thread"]: r["args"]["weight"] for r in rows if r["name"] == "cpu.sample"}
    rule(weights["Web Content"] == 250000 and 1000000 in weights.values(), weights)
    cpus = {(r["name"], r["thread"]): r["args"].get("cpu") for r in rows if r["name"] in ("cpu.sample", "page-faults")}
    rule(cpus["cpu.sample", "Web Content"] == 2 and cpus["page-faults", "a 12 b"] is None, cpus)
    reads = [r["args"]["text"] for r in rows if r["name"] == "syscalls:sys_enter_read"]
    rule(reads == ["fd: 0x00000003, 12 1.5: no head"], reads)
    rule([r["args"]["events"] for r in rows if r["type"] == "loss"] == [44], rows)
    rule(said["left_out"] == 0 and said["not_read"] == 1 and not said["no_pids"], said)
    info = ran("info", "-j", os.path.join(folder, "a.skein"))
    rule('"box-1"' in info, info[:400])
    folded = ran("export", os.path.join(folder, "a.skein"), "--to", "folded", "-o", "-")
    rule("inner;main loop(int, char) 1" in folded, folded)


def left_out(folder):
    """What cannot be read is counted, with its line; the rest is there."""
    text = "what is this\nls 12 1.5: 9 cpu-clock: \n\tffff main (/x)\n\n" + "x" * 70000 + "\nls 12 2.5: 9 cpu-clock: \n"
    rows, said = imported(folder, text)
    rule(len(rows) == 2 and said["left_out"] == 2 and said["why"].startswith("line 1: "), said)
    rows, said = imported(folder, text[13:])
    rule(said["why"] == "line 4: is longer than 64 KiB", said)
    for text, why in [("no\nlines\n", "line 1: "), ("", "no line is an event"), ("PERFILE2" + "\0" * 99, "skein import perf")]:
        path = os.path.join(folder, "no.txt")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        rule(why in ran("import", "perf-script", path, status=1), why)


def late(folder):
    """The window holds 100,000 events: one that comes later than these is raised, and counted."""
    line = "ls 12 %d.0: 9 page-faults: \n"
    for behind, raised in ((99999, 0), (100001, 1)):
        path, to = os.path.join(folder, "late.txt"), os.path.join(folder, "late.skein")
        with open(path, "w", encoding="ascii") as file:
            file.write("".join(line % (at + 10) for at in range(behind)) + line % 1)
        said = json.loads(ran("import", "perf-script", path, "-o", to, "-j"))
        rule((said["events"], said["fixed_up"]) == (behind + 1, raised), said)
        ran("check", to)


with tempfile.TemporaryDirectory() as place:
    for test in (samples, scheduling, plain, words, left_out, late):
        test(place)
        print(test.__name__, "holds")
