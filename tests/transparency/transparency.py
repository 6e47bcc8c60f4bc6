#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A program under `skein run` behaves as it does alone.

Runs programs and scripts of Debian, and those of subject.c, alone and under the tracer, with and
without an agent, and compares what they print, leave behind and end with. The ground truth is the
run alone, which must agree with itself. A case that needs a program that is not installed is told
and left out. With --again, what differs runs once more when nothing else does: what differs once is
told as flaky, what differs twice has failed.

    transparency.py --skein S --preload P --agent A --subject T [--quick] [--rounds N] [--only NAME] [--again]
"""

import argparse
import concurrent.futures
import hashlib
import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

from cases import CASES, Case

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from ports import port_take

DEADLINE_S = 120
WORKERS = 6 * len(os.sched_getaffinity(0))  # five sixths of a case's time are spent in waiting
# Everything that can be an event is one, and carries its words and its stack.
THRESHOLDS = '{"io_ns":1,"lock_ns":1,"stack_ns":1}'
RUN_SAYS = r"\Askein: warning: no agent at .*\n"  # skein run's own word, before the program begins
PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/postgresql/15/bin"


def tree(folder):
    """Every file below: name, kind, mode, content."""
    found = {}
    for path, folders, files in os.walk(folder):
        for name in sorted(folders + files):
            full = os.path.join(path, name)
            st = os.lstat(full)
            kind = stat.S_IFMT(st.st_mode)
            content = ""
            if stat.S_ISLNK(st.st_mode):
                content = os.readlink(full)
            elif stat.S_ISREG(st.st_mode):
                with open(full, "rb") as file:
                    content = hashlib.sha256(file.read()).hexdigest()[:16]
            found[os.path.relpath(full, folder)] = (oct(kind), oct(stat.S_IMODE(st.st_mode)), content)
    return found


class Run:
    """Where and how cases run; one folder of one name for all runs of a worker."""

    def __init__(self, options, folder):
        self.options = options
        os.makedirs(folder, mode=0o755, exist_ok=True)
        self.work = os.path.join(folder, "work")
        self.port = port_take()
        self.runs = 0
        self.cpu_s = 0.0  # of all that the runs began and waited for

    def wait(self, child):
        """Its exit status, or None after the deadline. Not Popen.wait: that looks now and then."""
        end = os.pidfd_open(child.pid)
        try:
            poll = select.poll()
            poll.register(end, select.POLLIN)
            if not poll.poll(DEADLINE_S * 1000):
                return None
        finally:
            os.close(end)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.runs += 1
        self.cpu_s += used.ru_utime + used.ru_stime
        return child.returncode

    def once(self, case, mode):
        shutil.rmtree(self.work, ignore_errors=True)
        os.mkdir(self.work)
        os.chmod(self.work, 0o755)
        environment = {
            "PATH": PATH,
            "HOME": self.work,
            "LANG": "C.UTF-8",
            "PORT": str(self.port),
            "SUBJECT": self.options.subject,
        }
        command = ["bash", "-c", case.script]
        if mode is not None:
            at, where = mode
            if at is not None:
                environment["SKEIN_ATTACH_MS"] = str(at)
            command = [self.options.skein, "run", "--preload", self.options.preload, "--socket", where, "--"] + command
        out = os.path.join(os.path.dirname(self.work), "out")
        with open(out, "w+b") as printed, open(out + ".err", "w+b") as complained:
            child = subprocess.Popen(
                command, cwd=self.work, env=environment, stdin=subprocess.DEVNULL, stdout=printed, stderr=complained,
                start_new_session=True)
            try:
                status = self.wait(child)
                if status is None:
                    status = "hangs"
            finally:
                try:
                    os.killpg(child.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                child.wait()
            texts = []
            for file in (printed, complained):
                file.seek(0)
                text = file.read(1 << 20).decode("utf-8", "replace")
                text = re.sub(RUN_SAYS, "", text)
                for pattern, other in case.unlike:
                    text = re.sub(pattern, other, text, flags=re.M)
                texts.append("\n".join(sorted(text.splitlines())) if case.unordered else text)
        files = {name: what for name, what in tree(self.work).items() if not any(re.search(p, name) for p in case.ignore)}
        return {"status": status, "printed": texts[0], "complained": texts[1], "files": files}


def difference(alone, traced):
    lines = []
    for key, was in alone.items():
        now = traced[key]
        if was == now:
            continue
        if key == "files":
            for name in sorted(set(was) | set(now)):
                if was.get(name) != now.get(name):
                    lines.append(f"    file {name}: alone {was.get(name)}, traced {now.get(name)}")
        else:
            lines.append(f"    {key}: alone {str(was)[-600:]!r}\n    {' ' * len(key)}  traced {str(now)[-600:]!r}")
    return "\n".join(lines)


def agent_start(options, folder, thresholds):
    os.makedirs(folder, mode=0o755, exist_ok=True)
    where = os.path.join(folder, "agent.sock")
    config = os.path.join(folder, "agent.json")
    with open(config, "w", encoding="utf-8") as file:
        file.write(
            '{"collector":{"control":"tcp://127.0.0.1:1","data":"tcp://127.0.0.1:1"},"socket":"%s","state_dir":"%s/state",'
            '"ring":{"bytes":1048576},"processes":{"max":4096},"thresholds":%s}' % (where, folder, thresholds))
    with open(os.path.join(folder, "agent.log"), "wb") as log:
        agent = subprocess.Popen([options.agent, "--config", config], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while not os.path.exists(where):
        if agent.poll() is not None or time.monotonic() > until:
            with open(os.path.join(folder, "agent.log"), encoding="utf-8") as log:
                sys.exit("the agent does not start: " + log.read()[-1000:])
        time.sleep(0.02)
    return agent, where


CANARY = Case("canary", """/usr/bin/python3 -c '
import time
for i in range(1500):
    time.sleep(0.02)
    if "memfd:skein" in open("/proc/self/maps").read():
        print("traced")
        break
'""")


def traces(run, mode):
    """Whether programs are really recorded here: else this test would prove nothing."""
    return run.once(CANARY, mode)["printed"] == "traced\n"


def lacks(case):
    """What a case needs and this machine has not."""
    missing = [p for p in case.needs if shutil.which(p, path=PATH) is None]
    return " ".join(missing) or ("root" if case.root and os.geteuid() != 0 else "")


def judge(case, run, modes, rounds):
    """A sentence about what differs, or None."""
    alone = run.once(case, None)
    again = run.once(case, None)
    if alone != again:
        return "does not agree with itself:\n" + difference(alone, again)
    if alone["status"] == "hangs":
        return "hangs when it is alone"
    for name, mode in modes:
        for i in range(-(-rounds // len(modes))):
            traced = run.once(case, mode)
            if traced != alone:
                return f"{name}, run {i + 1}:\n" + difference(alone, traced)
    return None


def main():
    parser = argparse.ArgumentParser()
    for name in ("skein", "preload", "agent", "subject"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    parser.add_argument("--quick", action="store_true", help="what a change must not break; else all of it")
    parser.add_argument("--rounds", type=int, default=100, help="of the racy ones, over all ways of tracing")
    parser.add_argument("--only")
    parser.add_argument("--again", action="store_true", help="what differs runs once more, alone")
    options = parser.parse_args()
    wrong = left_out = done = 0
    folder = tempfile.mkdtemp(prefix="skein-transparency-")
    os.chmod(folder, 0o755)
    for name in ("preload", "subject"):  # other users have to reach them, too
        copy = os.path.join(folder, os.path.basename(getattr(options, name)))
        shutil.copy(getattr(options, name), copy)
        os.chmod(copy, 0o755)
        setattr(options, name, copy)
    agents = []
    agent, where = agent_start(options, os.path.join(folder, "each"), THRESHOLDS)
    agents.append(agent)
    agent, usual = agent_start(options, os.path.join(folder, "usual"), "{}")
    agents.append(agent)
    nobody = os.path.join(folder, "nobody.sock")
    modes = [("with an agent, at once", (0, where))]
    if not options.quick:
        modes += [("with an agent", (None, where)), ("with an agent, in the midst", (1, where)), ("without an agent, at once", (0, nobody)), ("without an agent", (None, nobody))]
    try:
        run = Run(options, folder)
        if not traces(run, modes[0][1]):
            sys.exit("nothing is traced here")
        chosen = [case for case in CASES if case.name == options.only or not (options.only or options.quick and not case.quick)]
        for case in [case for case in chosen if lacks(case)]:
            print(f"{case.name}: left out, needs {lacks(case)}")
            chosen.remove(case)
            left_out += 1
        own = threading.local()

        def rounds_of(case):
            ways = 1 if case.heavy else len(modes)
            return max(ways, options.rounds if case.racy and not options.quick else 1)

        def work(case):
            if not hasattr(own, "run"):
                own.run = Run(options, os.path.join(folder, f"worker{threading.get_ident()}"))
            own.run.runs, own.run.cpu_s = 0, 0.0
            started = time.monotonic()
            mine = [(name, (at, usual if case.usual and at_where == where else at_where)) for name, (at, at_where) in modes]
            problem = judge(case, own.run, mine[:1] if case.heavy else mine, rounds_of(case))
            print(f"{case.name}: {'DIFFERS ' + problem if problem else 'same'} ({time.monotonic() - started:.1f} s, {own.run.runs} runs, {own.run.cpu_s:.1f} s of CPU)", flush=True)
            return problem is not None

        chosen.sort(key=lambda case: -case.run_s * (2 + rounds_of(case)))
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as workers:
            differ = [case for case, differs in zip(chosen, workers.map(work, chosen)) if differs]
        wrong = len(differ)
        for case in differ if options.again else []:
            if not work(case):
                print(f"flaky: transparency {case.name}")
                wrong -= 1
        done = len(chosen)
        for agent in agents:
            if agent.poll() is not None:
                print(f"the agent ended: {agent.returncode}")
                wrong += 1
    finally:
        for agent in agents:
            agent.terminate()
            agent.wait()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{done} programs, {wrong} differ, {left_out} left out")
    sys.exit(1 if wrong or not done else 0)


main()
