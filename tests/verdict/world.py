# SPDX-License-Identifier: Apache-2.0
"""The product's programs as a user starts them, and the program whose account is the truth."""
import json
import mmap
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from ports import port_give, port_take

BUILD = os.environ.get("SKEIN_BUILD", "build/release")
SKEIND = os.path.join(BUILD, "server/skeind")
AGENT = os.path.join(BUILD, "agent/skein-agent")
SUBJECT = os.path.join(BUILD, "tests/verdict_subject")
PLAIN = os.path.join(BUILD, "tests/verdict_plain")
PRELOAD = os.path.join(BUILD, "client-lib/preload/libskein-preload.so")
STEP = os.path.join(BUILD, "tests/libclock_step.so")
DEADLINE_S = float(os.environ.get("SKEIN_TEST_DEADLINE_MS", "20000")) / 1000
CAPACITY = 1 << 20
MEMORY = "/dev/shm"


class Failed(Exception):
    """The test itself could not be carried out."""


def wait_for(what, check, deadline_s=None):
    end = time.monotonic() + (deadline_s or DEADLINE_S)
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed("waited in vain for " + what)
        time.sleep(0.01)


def merged(base, more):
    for key, value in (more or {}).items():
        if isinstance(value, dict):
            base[key] = merged(base.get(key, {}), value)
        else:
            base[key] = value
    return base


class Daemon:
    def __init__(self, program, config, log, env=None):
        self.log = log
        with open(log, "ab") as out:
            self.process = subprocess.Popen([program, "--config", config], stdout=out, stderr=out,
                                            stdin=subprocess.DEVNULL, env=env,
                                            restore_signals=False)  # SIGXFSZ stays ignored

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(DEADLINE_S)
            except subprocess.TimeoutExpired:
                self.kill()
                raise Failed("a daemon did not end: see " + self.log) from None


def settled(w, capture, c):
    """What arrives late changes a verdict: the capture once it has stood still for half a second."""
    end = time.monotonic() + 10
    still = time.monotonic()
    while time.monotonic() < end and time.monotonic() - still < 0.5:
        time.sleep(0.1)
        now = w.get("/captures/" + capture)
        if now["ledger"] != c["ledger"] or now["verdict"] != c["verdict"]:
            c, still = now, time.monotonic()
    return c


class World:
    """One folder with a collector and an agent. `steps` preloads a clock that steps into both; `no_disk`:
    the folder is in memory, where there is some, for a case that would wait for the disk above all."""

    def __init__(self, collector=None, agent=None, steps=False, no_disk=False):
        memory = MEMORY if no_disk and os.access(MEMORY, os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="skein-verdict-", dir=memory)
        self.data, self.control, self.http = (port_take() for _ in range(3))
        self.socket = os.path.join(self.folder, "agent.sock")
        self.collector_more, self.agent_more = collector or {}, agent or {}
        self.steps = steps
        self.collector = self.agent = None
        self.subjects = []
        self.configure()

    def path(self, name):
        return os.path.join(self.folder, name)

    def configure(self):
        links = {"data": "tcp://127.0.0.1:%d" % self.data,
                 "control": "tcp://127.0.0.1:%d" % self.control}
        collector = merged({"listen": dict(links, http="127.0.0.1:%d" % self.http),
                            "data_dir": self.path("collector"),
                            "agents": {"heartbeat_ms": 200, "lease_ms": 1500}}, self.collector_more)
        agent = merged({"collector": dict(links), "socket": self.socket,
                        "state_dir": self.path("agent"), "heartbeat_ms": 200}, self.agent_more)
        for name, config in (("collector", collector), ("agent", agent)):
            with open(self.path(name + ".json"), "w", encoding="utf-8") as f:
                json.dump(config, f)

    def env(self, who):
        if not self.steps:
            return None
        return dict(os.environ, LD_PRELOAD=os.path.abspath(STEP), SKEIN_TEST_STEP=self.path(who + ".step"))

    def step(self, who, seconds):
        """The wall clock of `who` is so many seconds ahead from now on."""
        with open(self.path(who + ".step.new"), "wb") as f:
            f.write(struct.pack("<q", int(seconds * 1e9)))
        os.rename(self.path(who + ".step.new"), self.path(who + ".step"))

    def start_collector(self):
        self.collector = Daemon(SKEIND, self.path("collector.json"), self.path("collector.log"),
                                self.env("collector"))
        wait_for("the collector", lambda: self.request("GET", "/readyz")[0])

    def start_agent(self):
        self.agent = Daemon(AGENT, self.path("agent.json"), self.path("agent.log"),
                            self.env("agent"))

    def start(self):
        self.start_collector()
        self.start_agent()
        wait_for("the agent", lambda: [a for a in self.get("/agents")["items"]
                                       if a["status"] == "online"])
        return self

    def end(self, keep=False):
        problems = []
        for subject in self.subjects:
            subject.end()
        for daemon in (self.agent, self.collector):
            try:
                if daemon:
                    daemon.stop()
            except Failed as failed:
                problems.append(str(failed))
        for port in (self.data, self.control, self.http):
            port_give(port)
        if not problems and not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
        return problems

    # ---- HTTP ----

    def request(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request("http://127.0.0.1:%d%s" % (self.http, path), data, method=method)
        if data:
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError:
            return 0, b""

    def get(self, path):
        status, body = self.request("GET", "/api/v1" + path)
        if status != 200:
            raise Failed("GET %s: %d %s" % (path, status, body[:200]))
        return json.loads(body)

    def capture(self, **request):
        request.setdefault("selector", "service=truth")
        request.setdefault("deadline_ms", 8000)
        status, body = self.request("POST", "/api/v1/captures", request)
        if status != 202:
            raise Failed("POST /captures: %d %s" % (status, body[:300]))
        return json.loads(body)["capture"]

    def final(self, capture):
        """The capture once it has ended."""
        def ended():
            c = self.get("/captures/" + capture)
            return c if c["status"] != "running" else None
        return wait_for("the end of a capture", ended, DEADLINE_S + 20)

    def trace(self, capture, skip=False):
        """`skip`: without what is damaged on the collector's disk."""
        return self.request("GET", "/api/v1/captures/%s/trace%s" % (capture, "?damaged=skip" if skip else ""))

    def captures_of(self, trigger):
        """The ids of those that an agent has begun for this reason."""
        return [c["capture"] for c in self.get("/captures?limit=100")["items"]
                if c["trigger"]["type"] == trigger]

    def processes(self, selector="service=truth"):
        return self.get("/processes?limit=1000&selector=" + urllib.parse.quote(selector))["items"]

    def wait_live(self, count, selector="service=truth"):
        wait_for("%d live processes" % count,
                 lambda: len([p for p in self.processes(selector) if p["status"] == "live"]) >= count)

    def wait_drained(self):
        wait_for("an empty spool", lambda: all(
            a["status"] == "online" and a.get("spool", {}).get("bytes", 0) == 0
            for a in self.get("/agents")["items"]))

    def subject(self, *commands, service="truth", attach=(0, 0), within=(), program=SUBJECT):
        """A program, attached unless attach is None, that has obeyed the commands. `within`: the
        command line that runs it; `program`: a copy of it."""
        s = Subject(self, service, within, (program, service))
        self.subjects.append(s)
        if attach is not None:
            s.say("attach %d %d" % attach)
            wait_for("the collector to know the program",
                     lambda: any(p["pid"] == s.pid or within for p in self.processes("service=" + service)))
        for command in commands:
            s.say(command)
        return s

    def plain(self, mode, number):
        """A program that knows nothing of the tracer."""
        s = Subject(self, "truth", (), (PLAIN, mode, str(number)), preload=os.path.abspath(PRELOAD))
        self.subjects.append(s)
        return s


class Subject:
    """verdict_subject.c or verdict_plain.c, and its account."""

    count = 0

    def __init__(self, world, service, within, command, preload=""):
        Subject.count += 1
        self.world, self.service = world, service
        self.file = world.path("truth-%d" % Subject.count)
        program, *more = command
        self.process = subprocess.Popen(
            [*within, program, self.file, str(CAPACITY), *more], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, bufsize=0,
            env=dict(os.environ, SKEIN_SOCKET=world.socket, SKEIN_SERVICE=service,
                     LD_PRELOAD=preload))
        self.pid = self.process.pid

    def tell(self, command):
        self.process.stdin.write((command + "\n").encode())

    def say(self, command, deadline_s=60):
        self.tell(command)
        ready, _, _ = select.select([self.process.stdout], [], [], deadline_s)
        answer = self.process.stdout.readline() if ready else b"(nothing)"
        if answer != b"ok\n":
            raise Failed("subject: %s: %r" % (command, answer))

    def wait(self):
        self.process.wait(DEADLINE_S)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            pipe.close()

    def truth(self):
        """[(before_ns, after_ns, pid, thread)] by event id; none where it is an other's, which are kept
        in `others`: what is recorded and not looked for. `lives`: [(pid, ns)], when each process wrote its
        first, as a busy machine gives a pid again within seconds."""
        with open(self.file, "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
            _magic, used, capacity, _r = struct.unpack_from("<QQQQ", m, 0)
            used = min(used, capacity)
            rows = list(struct.iter_unpack("<QQIIQ", m[32:32 + 32 * used]))
        self.others = [(before, after, pid) for before, after, pid, _, mark in rows if mark == 1]
        lives = {(pid, mark) for _, _, pid, _, mark in rows if mark > 1}
        self.lives = [(pid, began) for pid, began in sorted(lives)]
        return [(0, 0, *e[2:4]) if e[4] == 1 else e[:4] for e in rows]
