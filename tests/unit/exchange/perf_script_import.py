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


def beyond(folder):
    """Times that no trace can hold are told, one by one."""
    event = "a 1/1 %d.000000: 1 cycles:\n\t 401000 f+0x0 (x)\n\n"
    _, said = imported(folder, event % 4611686100 + event % 4611686200)
    rule(said["clamped"] == 2 and "146 years" in said["why"], said)
    switch = "a 1/1 [000] %d.000000: sched:sched_switch: prev_comm=a prev_pid=%d prev_prio=120 prev_state=R ==> next_comm=a next_pid=%d next_prio=120\n"
    _, said = imported(folder, switch % (100, 0, 1) + switch % (4611686200, 1, 0))
    rule(said["clamped"] == 1, said)


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
            a b    77 [002] 10.000013: PERF_RECORD_EXIT(1:1):(2:2)
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


def sample(who, at, *frames, event="1000000 cpu-clock: ", indent="\t"):
    return f"{who} {at}.000000: {event}\n" + "".join(f"{indent}{frame}\n" for frame in frames) + "\n"


def stacks_of(rows):
    """Of each record that has one, its frames as (address, function, file)."""
    return [[(int(f["address"], 16) if "address" in f else None, f.get("function", ""), f.get("file", ""))
             for f in r["frames"]] for r in rows if "frames" in r]


def sql(folder, question):
    return json.loads(ran("sql", "-j", os.path.join(folder, "a.skein"), question))


def who(folder):
    """A process is its pid, also where its main thread has no line; heads of other fields and odd names."""
    text = (sample("java  700/701 [001]", 1, "7f0012 a (/b)") + sample("java worker [2] 700/702 [001]", 2, "7f0012 a (/b)") +
            sample("redis 800/801", 3, "7f0012 r (/b)") + sample("redis-server 800/800", 4) +
            sample("(sd-pam) 900/900 [003] U", 5) + sample("a/b:1 12 7/8", 6) + sample("x 910/-1 [000]", 7) +
            sample("x -1/-1 [000]", 8) + sample("700/703", 9))
    rows, said = imported(folder, text)
    rule([(r["service"], r["pid"], r["thread"], r["tid"]) for r in rows][:6] ==
         [("java", 700, "java", 701), ("java", 700, "java worker [2]", 702), ("redis-server", 800, "redis", 801),
          ("redis-server", 800, "redis-server", 800), ("(sd-pam)", 900, "(sd-pam)", 900), ("a/b:1 12", 7, "a/b:1 12", 8)], rows)
    rule(said["samples"] == 9 and said["lines_left"] == 0 and not said["no_pids"], said)
    # A thread that has ended, which perf calls -1, is still one of its process; that is not called so.
    text = (sample("            :-1 700/-1 [001]", 1) + sample("           java 700/701 [001]", 2) +
            sample("            :-1 700/-1 [001]", 3) + sample("            :-1 701/-1 [001]", 4))
    for blanks in ("\n\n", "\n"):  # with and without lines for frames
        rows, said = imported(folder, text.replace("\n\n", blanks))
        rule([(r["service"], r["pid"], r["thread"], r["tid"]) for r in rows[:3]] ==
             [("java", 700, ":-1", 0), ("java", 700, "java", 701), ("java", 700, ":-1", 0)], rows)
        rule([r["pid"] for r in rows] == [700, 700, 700, 701] and said["left_out"] == 0, rows, said)


def indents(folder):
    """However far a frame is indented, it is one; what is none is counted, with the first one's line."""
    frames = ["b3cea6c4\tLock::unlock() (/system/lib/libc.so)", "0xb3cea535 main+0x1f (/system/bin/app)"]
    wanted = [(0xb3cea6c4, "Lock::unlock()", "/system/lib/libc.so"), (0xb3cea535, "main", "/system/bin/app")]
    for indent in ("", " ", "  ", "    ", "        ", " " * 16, "\t", "\t\t  ", " \t"):
        rows, said = imported(folder, sample("Gecko\t25122 [007]", 1, *frames, indent=indent))
        rule(stacks_of(rows) == [wanted] and said["lines_left"] == 0, repr(indent), rows, said)
    rows, said = imported(folder, sample("a 1", 1, "main (/a)", "start", indent=" " * 8))
    rule(stacks_of(rows) == [[(None, "main", "/a"), (None, "start", "")]], rows)
    text = ("app 100/100 [000] 10.000000: 1 cpu-clock: \n\t 401000 a (/b)\n instruction trace error type 1 time 62709.7 cpu -1\n"
            " some other text\nnot an event\n\tAX:0x12 BX:0x0\n add to this\n\n" + sample("app 100/100 [000]", 11, "401000 a (/b)"))
    rows, said = imported(folder, text)
    rule(stacks_of(rows) == [[(0x401000, "a", "/b")]] * 2, rows)
    rule((said["lines_left"], said["first_left"], said["left_out"]) == (5, 3, 5), said)
    shown = ran("import", "perf-script", os.path.join(folder, "a.txt"), "-o", os.path.join(folder, "a.skein"))
    rule("5 lines are left out, the first is line 3" in shown, shown)
    places = "  a.c:12", "  ??:0", "  libc.so.6[12ab]"
    rows, said = imported(folder, "a 1/1 1.5: 9 cpu-clock: \n" + "".join(f"\t  7f0{i} f{i} (/x)\n{p}\n" for i, p in enumerate(places)))
    rule([(f["file"], f.get("line")) for f in rows[0]["frames"]] == [("a.c", 12), ("/x", None), ("/x", None)] and
         said["lines_left"] == 0, rows, said)


def files(folder):
    """Which bracket holds the file, whatever is in the names of both."""
    cases = [("[unknown] (/memfd:doublemapper (deleted))", "", "/memfd:doublemapper (deleted)"),
             ("void Foo(int) (/tmp/a b (deleted))", "void Foo(int)", "/tmp/a b (deleted)"),
             ("std::function<void (int)>::operator()(int) const (/usr/lib/x.so (deleted))",
              "std::function<void (int)>::operator()(int) const", "/usr/lib/x.so (deleted)"),
             ("operator new(unsigned long) (/usr/lib/libstdc++.so.6)", "operator new(unsigned long)", "/usr/lib/libstdc++.so.6"),
             ("(anonymous namespace)::f() (/usr/bin/a)", "(anonymous namespace)::f()", "/usr/bin/a"),
             ("f(int) (/opt/x (1)/lib (2).so)", "f(int)", "/opt/x (1)/lib (2).so"), ("g (/tmp/a)b)", "g", "/tmp/a)b"),
             ("h (/tmp/a(b)", "h", "/tmp/a(b"), ("[unknown] ([unknown])", "", ""), ("a+b+0x1f ([kernel.kallsyms])", "a+b", "[kernel.kallsyms]"),
             ("Lx;->y (/tmp/perf-7.map)", "Lx;->y", "/tmp/perf-7.map"), ("x+0xzz (/a)", "x+0xzz", "/a")]
    rows, said = imported(folder, sample("a 7/7", 1, *(f"{0x7f0012 + i:x} {c[0]}" for i, c in enumerate(cases))))
    got = stacks_of(rows)[0]
    rule(len(got) == len(cases) and said["lines_left"] == 0, got, said)
    for i, (one, (_, function, file)) in enumerate(zip(got, cases)):
        rule(one == (0x7f0012 + i, function, file), one, cases[i])


def addresses(folder):
    """An address is shown as it stands there, whatever else is called by it; where there is none, none is."""
    texts = [["401000 alpha_leaf (/bin/a)", "402000 alpha_main (/bin/a)"], ["401000 jit_one (/tmp/perf-7.map)", "1 tiny (/bin/a)"],
             ["401000 alpha_leaf (/bin/a)", "402000 [unknown] ([unknown])"], ["2 tiny_too (/bin/a)", "ffffffff81000000 k ([k])"],
             ["0 [unknown] ([unknown])", "ffffffff81000000 other ([k])"], ["401000 in_two (inlined)", "401000 in_one (inlined)", "401000 around (/bin/a)"],
             ["401000 recursive (/bin/a)"] * 3, ["401000 alpha_leaf (inlined)", "402000 alpha_main (/bin/a)"]]
    rows, said = imported(folder, "".join(sample("a 7/7", i + 1, *t) for i, t in enumerate(texts)) +
                          sample("a 7/7", 90, "\tmain (/a)") + sample("a 7/7", 91, "acc0000000000001 f (/a)") +
                          sample("a 7/7", 92, "6f6c6c6568202020 [unknown] ([unknown])"))
    got = stacks_of(rows)
    for i, t in enumerate(texts):
        wanted = []
        for line in t:
            address, name, file = re.fullmatch(r"(\w+) (\S+) \((.*)\)", line).groups()
            wanted.append((int(address, 16), "" if name == "[unknown]" else name, "" if file in ("inlined", "[unknown]") else file))
        rule(got[i] == wanted, i, got[i], wanted)
    rule(got[-3] == [(None, "main", "/a")] and got[-2] == [(None, "f", "/a")] and "none that a processor has" in said["why"], got[-2:], said)
    rule(got[-1] == [(0x6f6c6c6568202020, "", "")], got[-1])
    rule([f.get("inlined", False) for f in rows[5]["frames"]] == [True, True, False], rows[5])
    frames = sql(folder, "select event_id, position, function, address from frame order by event_id, position")
    wanted = [[int(t.split()[0], 16) for t in one] for one in texts] + [[None], [None], [0x6f6c6c6568202020]]
    flat = [a for one in wanted for a in one]
    rule([int(r["address"]) if r["address"] is not None else None for r in frames] == flat, frames, flat)
    rule(len({r["stack_id"] for r in sql(folder, "select stack_id from stack")}) == 11, "stacks")
    many = "".join(sample("a 7/7", i + 1, f"401000 name{i} (/b)") for i in range(40))
    rows, said = imported(folder, many)
    got = stacks_of(rows)
    rule([g[0][:2] for g in got[:32]] == [(0x401000, f"name{i}") for i in range(32)], got)
    rule([g[0][:2] for g in got[32:]] == [(None, f"name{i}") for i in range(32, 40)] and "32 names" in said["why"], got, said)


def lives(folder):
    """What a process was before it ran another program, or before its pid was given away, stays what it was."""
    def seen(text):
        rows, said = imported(folder, text)
        rule(said["lines_left"] == 0, said)
        return [(r["service"], r["pid"], r["thread"]) for r in rows if r["name"] == "cpu.sample"], len({r["process"] for r in rows}), said

    leaf = "401000 f (/b)"
    alpha, beta = sample("alpha 100/100", 1, leaf), sample("beta 100/100", 2, leaf)
    got, count, _ = seen(alpha + beta)
    rule(got == [("alpha", 100, "alpha"), ("beta", 100, "beta")] and count == 2, got)
    # another thread goes on: that was a name, and no program
    got, count, _ = seen(sample("work 100/101", 0, leaf) + alpha + beta + sample("work 100/101", 3, leaf))
    rule(got == [("beta", 100, "work"), ("beta", 100, "beta"), ("beta", 100, "beta"), ("beta", 100, "work")] and count == 1, got)
    # a new thread does not: it is the new program's
    got, count, _ = seen(sample("alpha-io 100/101", 0, leaf) + alpha + beta + sample("beta-io 100/102", 3, leaf))
    rule([g[0] for g in got] == ["alpha", "alpha", "beta", "beta"] and count == 2, got)
    # the kernel's own records: exec, a new name, fork
    record = "%s 100/100 1.5: %s\n"
    got, count, said = seen(alpha + record % ("alpha", "PERF_RECORD_COMM exec: alpha:100/100") + sample("alpha 100/100", 2, leaf))
    rule(count == 2 and said["not_read"] == 0, got, said)
    got, count, _ = seen(alpha + record % ("beta", "PERF_RECORD_COMM: beta:100/100") + beta)
    rule(count == 1 and got[0][0] == "beta", got)
    got, count, _ = seen(alpha + record % ("alpha", "PERF_RECORD_FORK(100:100):(1:1)") + sample("alpha 100/100", 2, leaf))
    rule(count == 2, got, count)
    for line in ("sched:sched_process_exec: filename=/bin/alpha pid=100 old_pid=100", "sched:sched_process_fork: comm=sh pid=1 child_comm=sh child_pid=100",
                 "task:task_newtask: pid=100 comm=sh clone_flags=1200011 oom_score_adj=0"):
        got, count, _ = seen(alpha + "sh 1/1 1.5: " + line + "\n\n" + sample("alpha 100/100", 2, leaf))
        rule(count == 3, line, got, count)
    # a pid that another process gets
    wake = "sh 1/1 [000] 1.5: sched:sched_wakeup_new: comm=sh pid=100 prio=120 target_cpu=000\n"
    got, count, _ = seen(alpha + wake + sample("alpha 100/100", 2, leaf))
    rule(count == 2 and [g[0] for g in got] == ["alpha", "alpha"], got)
    dead = "alpha 100/100 [000] 1.5: sched:sched_switch: prev_comm=alpha prev_pid=100 prev_prio=120 prev_state=X ==> next_comm=sh next_pid=1 next_prio=120\n"
    got, count, _ = seen(alpha + dead + sample("alpha 100/100", 2, leaf) + sample("sh 1/1", 3, leaf))
    rule(count == 3, got)
    # a thread's number that a thread of another process gets, and without processes
    got, _, _ = seen(sample("a 10/10", 1, leaf) + sample("a1 10/50", 2, leaf) + sample("b 20/20", 3, leaf) + sample("b1 20/50", 4, leaf))
    rule(got == [("a", 10, "a"), ("a", 10, "a1"), ("b", 20, "b"), ("b", 20, "b1")], got)
    got, count, _ = seen(sample("alpha 100", 1, leaf) + sample("beta 100", 2, leaf))
    rule([g[2] for g in got] == ["alpha", "beta"] and count == 1, got)


def runs_over_exec(folder):
    """Time on a CPU before an exec is the old program's, and behind it the new one's."""
    switch = "%s [000] %s: sched:sched_switch: prev_comm=%s prev_pid=%d prev_prio=120 prev_state=%s ==> next_comm=%s next_pid=%d next_prio=120\n"
    text = (switch % ("swapper 0/0", "1.0", "swapper/0", 0, "R", "bash", 100) +
            "ls 100/100 [000] 1.2: PERF_RECORD_COMM exec: ls:100/100\n" +
            switch % ("ls 100/100", "1.5", "ls", 100, "S", "swapper/0", 0) + switch % ("swapper 0/0", "2.0", "swapper/0", 0, "R", "ls", 100) +
            switch % ("ls 100/100", "2.5", "ls", 100, "X", "swapper/0", 0))
    rows, said = imported(folder, "bash 100/100 [000] 0.9: 9 page-faults: \n" + text)
    runs = [(r["service"], r["dur_ns"], r["args"]["cut"]) for r in rows if r["name"] == "sched.run"]
    rule(runs == [("bash", 200000000, ""), ("ls", 300000000, ""), ("ls", 500000000, "")] and said["left_out"] == 0, runs, rows)


def left_out(folder):
    """What cannot be read is counted, with its line; the rest is there."""
    text = "what is this\nls 12 1.5: 9 cpu-clock: \n\tffff main (/x)\n\n" + "x" * 70000 + "\nls 12 2.5: 9 cpu-clock: \n"
    rows, said = imported(folder, text)
    rule(len(rows) == 2 and said["left_out"] == 2 and said["why"].startswith("line 1: "), said)
    # One of which the thread cannot be read is no frame, however far it is indented.
    rows, said = imported(folder, "ls 12 1.5: 9 cpu-clock: \n            :-9 700/-9 [000] 2.5: 9 cpu-clock: \n")
    rule(len(rows) == 1 and "frames" not in rows[0] and said["lines_left"] == 1 and said["first_left"] == 2, rows, said)
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


def large_names(folder):
    """Names of more bytes than a part of a trace has room for: further ones are left out, and that is told."""
    path, to = os.path.join(folder, "large.txt"), os.path.join(folder, "large.skein")
    samples_of, frames_of = 9000, 8
    with open(path, "w", encoding="ascii") as file:
        for i in range(samples_of):
            file.write(sample("x 7/7", 10 + i, *(f"{4096 + (i * frames_of + j) * 16:x} f{i}_{j}_{'x' * 950} (/x)"
                                                 for j in range(frames_of))))
    said = json.loads(ran("import", "perf-script", path, "-o", to, "-j"))
    rule(said["events"] == samples_of and "24 MiB" in said["why"] and said["left_out"] == 0, said)
    ran("check", to)
    named = ran("sql", "--csv", to, "select count(distinct function) from frame").split()[-1]
    rule(20000 < int(named) < samples_of * frames_of, named)
    os.unlink(path)


with tempfile.TemporaryDirectory() as place:
    for test in (samples, scheduling, plain, words, beyond, who, indents, files, addresses, lives, runs_over_exec, left_out, late, large_names):
        test(place)
        print(test.__name__, "holds")
