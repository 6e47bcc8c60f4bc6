#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs in real memory cgroups that hardly have more than they need: traced, they end as they do
alone, and pay nothing for their rings; nor does an agent of little memory get itself killed. Each
version of cgroups whose memory this machine counts is tried (77: neither is).

  memory_cgroup.py [--measure]     --measure: prints what each takes, and judges nothing. SKEIN_BUILD: the build
"""
import contextlib
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../verdict"))
from world import BUILD, World, wait_for

SKEIN = os.path.abspath(os.path.join(BUILD, "cli/skein"))
SUBJECT = os.path.abspath(os.path.join(BUILD, "tests/memory_subject"))
MEASURE = "--measure" in sys.argv
MIB = 1 << 20
V1, V2 = "/sys/fs/cgroup/memory", ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")
OWN_MOST = 768 << 10       # of a service of some threads: threads' memory, page tables, the visitor
OWN_MOST_CHILD = 192 << 10  # of each forked process


def read(*path):
    with open(os.path.join(*path)) as file:
        return file.read()


def write(text, *path):
    with open(os.path.join(*path), "w") as file:
        file.write(text)


class Group:
    """One cgroup, and what the kernel says of it."""

    def __init__(self, folder, v1, limit):
        self.folder, self.v1 = folder, v1
        os.mkdir(folder)
        write(str(limit), folder, "memory.limit_in_bytes" if v1 else "memory.max")

    def number(self, v1, v2):
        return int(read(self.folder, v1 if self.v1 else v2))

    def used(self):
        return self.number("memory.usage_in_bytes", "memory.current")

    def peak(self):
        return self.number("memory.max_usage_in_bytes", "memory.peak")

    def stat(self, name):
        return dict(line.split() for line in read(self.folder, "memory.stat").splitlines())[name]

    def own(self):
        """All but pages of files, which it may have been the first to read."""
        files = int(self.stat("cache" if self.v1 else "file")) - self.shared()
        return self.used() - files

    def shared(self):
        return int(self.stat("shmem"))

    def killed(self):
        text = read(self.folder, "memory.oom_control" if self.v1 else "memory.events")
        return int(dict(line.split() for line in text.splitlines())["oom_kill"])

    def join(self, pid):
        write(str(pid), self.folder, "cgroup.procs")

    def enter(self):
        """For a process that is just about to become the program."""
        return lambda: self.join(os.getpid())

    def remove(self):
        for pid in read(self.folder, "cgroup.procs").split():  # where a test has failed
            with contextlib.suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)
        with contextlib.suppress(OSError):
            wait_for("the cgroup to be empty", lambda: read(self.folder, "cgroup.procs") == "")
        os.rmdir(self.folder)


@contextlib.contextmanager
def group(version, limit):
    folder, v1 = version
    made = Group(os.path.join(folder, "skein-test-%d" % os.getpid()), v1, limit)
    try:
        yield made
    finally:
        made.remove()


def versions():
    """(folder below which groups are made, whether it is version 1) of each that counts memory."""
    found = []
    if os.access(os.path.join(V1, "memory.usage_in_bytes"), os.R_OK):
        found.append((V1, True))
    for root in V2:
        if os.path.exists(os.path.join(root, "cgroup.controllers")):
            if "memory" in read(root, "cgroup.controllers").split():
                with contextlib.suppress(OSError):
                    write("+memory", root, "cgroup.subtree_control")
                if "memory" in read(root, "cgroup.subtree_control").split():
                    found.append((root, False))
            break
    able = []
    for version in found:
        with contextlib.suppress(OSError):
            with group(version, 64 * MIB):
                able.append(version)
    return able


failures = []


def hold(true, what):
    if MEASURE:
        return
    if not true:
        failures.append(what)
        print("wrong:", what, flush=True)


def process_start(world, of, *command, env=None):
    return subprocess.Popen(command, preexec_fn=of.enter(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            env=dict(os.environ, **(env or {})))


def ring_of(world, service):
    items = world.get("/processes?selector=service=%s&gone=false&fresh=true&limit=1000" % service)["items"]
    return items


def naps_try(world, version, traced):
    """Sixteen threads under 6 MiB. Returns what it took of its own."""
    command = (SUBJECT, "naps", "16", "40000")
    if traced:
        command = (SKEIN, "run", "--service", "naps", "--") + command
    with group(version, 6 * MIB) as of:
        process = process_start(world, of, *command, env={"SKEIN_SOCKET": world.socket})
        ready = process.stdout.readline()
        hold(ready == b"ready\n", "naps, traced %s: they do not end" % traced)
        own, shared = of.own(), of.shared()
        if traced and ready:
            last = wait_for("the process to be listed", lambda: ring_of(world, "naps"))[0]
            hold(int(last["ring_bytes"]) <= 6 * MIB // 4, "its ring is larger than its cgroup bears: %s" % last)
            hold("cgroup" in last.get("ring_why", ""), "the reason of its ring's size is not told: %s" % last)
            capture = world.final(world.capture(selector="service=naps", pre_ms=1000))["targets"][0]
            hold(capture.get("ring", {}).get("why") == last["ring_why"], "the capture does not say it: %s" % capture)
        process.communicate(b"\n")
        hold(process.returncode == 0, "naps, traced %s: ended with %d" % (traced, process.returncode))
        hold(of.killed() == 0, "naps, traced %s: the kernel has killed it" % traced)
        hold(shared == 0, "naps, traced %s: pays for %d bytes of shared memory" % (traced, shared))
        return own


def forks_try(world, version, traced, children=100):
    """A hundred processes at once under 48 MiB, which have a megabyte of events each."""
    with group(version, 48 * MIB) as of:
        env = {"SKEIN_SOCKET": world.socket} if traced else {}
        process = process_start(world, of, SUBJECT, "forks", str(children), "250000", env=env)
        ready = process.stdout.readline()
        hold(ready == b"ready\n", "forks, traced %s: they do not write" % traced)
        own, shared = of.own(), of.shared()
        if traced:
            rings = wait_for("all children to be listed", lambda: len(ring_of(world, "forks")) >= children
                             and ring_of(world, "forks"))
            size = sum(int(p["ring_bytes"]) for p in rings)
            hold(all(int(p["ring_bytes"]) >= 65536 for p in rings), "a child has no ring")
            hold(size <= 2 * 48 * MIB, "their rings are of %d bytes" % size)
            print("  %d rings of %.1f MiB, the smallest %d KiB" % (
                len(rings), size / MIB, min(int(p["ring_bytes"]) for p in rings) >> 10))
        process.communicate(b"\n")
        hold(process.returncode == 0, "forks, traced %s: ended with %d" % (traced, process.returncode))
        hold(of.killed() == 0, "forks, traced %s: the kernel has killed one" % traced)
        hold(shared == 0, "forks, traced %s: pay for %d bytes of shared memory" % (traced, shared))
        return own


def agent_try(world, version, children=40):
    """An agent of 96 MiB, and processes that would fill 170 MiB of rings."""
    with group(version, 96 * MIB) as of, group_free() as free:
        of.join(world.agent.process.pid)
        process = process_start(world, free, SUBJECT, "forks", str(children), "1000000",
                                env={"SKEIN_SOCKET": world.socket})
        process.stdout.readline()
        wait_for("a ring that gets no more memory", lambda: any(
            "agent may use" in p.get("ring_why", "") for p in ring_of(world, "forks")))
        process.communicate(b"\n")
        hold(process.returncode == 0, "the agent of little memory: the processes ended with %d" % process.returncode)
        hold(of.killed() == 0 and world.agent.process.poll() is None, "the agent got itself killed")
        peak = of.peak()
        write(str(world.agent.process.pid), os.path.dirname(of.folder), "cgroup.procs")
        return peak


class Free:
    def enter(self):
        return None


def group_free():
    return contextlib.nullcontext(Free())


def version_try(version):
    print("cgroups of version %d" % (1 if version[1] else 2), flush=True)
    world = World().start()
    try:
        alone, traced = naps_try(world, version, False), naps_try(world, version, True)
        print("  naps: %d KiB alone, %d KiB traced" % (alone >> 10, traced >> 10), flush=True)
        hold(traced - alone < OWN_MOST, "naps: tracing takes %d bytes of it" % (traced - alone))
        children = 100
        alone, traced = (forks_try(world, version, of, children) for of in (False, True))
        print("  forks: %d KiB alone, %d KiB traced" % (alone >> 10, traced >> 10), flush=True)
        hold(traced - alone < children * OWN_MOST_CHILD, "forks: tracing takes %d bytes" % (traced - alone))
        print("  agent of 96 MiB: %d KiB at most" % (agent_try(world, version) >> 10), flush=True)
    finally:
        world.end()


def main():
    able = versions()
    if not able:
        print("skipped: no memory cgroup can be made here (needs root, and a hierarchy that counts memory)")
        return 77
    for version in able:
        version_try(version)
    return 1 if failures else 0


sys.exit(main())
