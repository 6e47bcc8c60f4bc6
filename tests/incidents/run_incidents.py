#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Incidents: programs of Debian are made to stand still, a health check fails, and what an engineer
types afterwards must name the cause (docs/incidents.md). Each incident knows its cause by itself: it
has made it.

  run_incidents.py [--only NAME] [--keep]     SKEIN_BUILD: the build's folder
"""
import argparse
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../verdict"))
sys.path.append(os.path.join(HERE, "../support"))
from ports import port_give, port_take
from world import BUILD, Failed, World, wait_for

SKEIN = os.path.abspath(os.path.join(BUILD, "cli/skein"))
INCIDENTS = []


class Skipped(Exception):
    """This machine cannot carry it out, and why."""


def incident(function):
    INCIDENTS.append(function)
    return function


def need(*programs):
    for program in programs:
        if not shutil.which(program) and not os.access(program, os.X_OK):
            raise Skipped("no %s here" % program)


class Scene:
    """A collector, an agent, and the services of one incident."""

    def __init__(self, **agent):
        agent.setdefault("checks", {"exec_allow": ["redis-cli", "psql"]})
        self.world = World(agent=agent).start()
        self.processes, self.ports, self.undo = [], [], []
        os.chmod(self.world.folder, 0o755)

    def port(self):
        self.ports.append(port_take())
        return self.ports[-1]

    def start(self, *command, service=None, **more):
        if service:
            command = (SKEIN, "run", "--service", service, "--", *command)
        with open(self.world.path("out.log"), "ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                       env=dict(os.environ, SKEIN_SOCKET=self.world.socket), **more)
        self.processes.append(process)
        return process

    def rule(self, service, when, **capture):
        capture.setdefault("pre_ms", 5000)
        capture.setdefault("post_ms", 500)
        status, body = self.world.request("PUT", "/api/v1/rules/incident", {
            "name": "incident", "selector": "service=" + service, "when": when, "capture": capture})
        if status not in (200, 201):
            raise Failed("the rule: %d %s" % (status, body[:300]))

    def check(self, *command, timeout_ms=500, every_ms=300):
        return {"health": {"every_ms": every_ms, "timeout_ms": timeout_ms, "failures": 1,
                           "exec": {"command": list(command)}}}

    def captured(self):
        """The file of the capture that the rule has made."""
        def made():
            for item in self.world.get("/captures?limit=10")["items"]:
                if item["trigger"].get("rule") == "incident":
                    return item["capture"]
            return None
        capture = wait_for("the rule's capture", made, 60)
        self.world.final(capture)
        file = self.world.path("incident.skein")
        status, data = self.world.trace(capture)
        if status != 200:
            raise Failed("the trace: %d %s" % (status, data[:300]))
        with open(file, "wb") as out:
            out.write(data)
        return file

    def say(self, *arguments):
        done = subprocess.run([SKEIN, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)
        text = done.stdout.decode(errors="replace")
        if done.returncode not in (0, 3):
            raise Failed("skein %s: %d\n%s" % (" ".join(arguments), done.returncode, text))
        return text

    def end(self, keep):
        for step in reversed(self.undo):
            step()
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        for port in self.ports:
            port_give(port)
        self.world.end(keep)


def expect(text, *patterns):
    for pattern in patterns:
        if not re.search(pattern, text, re.S):
            raise AssertionError("%r is not in:\n%s" % (pattern, text))


def redis(s, *before):
    need("redis-server", "redis-cli")
    port = s.port()
    server = s.start(*before, shutil.which("redis-server"), "--port", str(port), "--save", "",
                     "--enable-debug-command", "yes", "--dir",
                     s.world.folder, service="redis")
    ping = [shutil.which("redis-cli"), "-p", str(port), "ping"]
    wait_for("redis", lambda: subprocess.run(ping, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                             check=False).stdout == b"PONG\n")
    s.world.wait_live(1, "service=redis")
    return server, ping


@incident
def stopped(s):
    """Somebody stops Redis (kill -STOP), and it answers nobody."""
    server, ping = redis(s)
    s.rule("redis", s.check(*ping))
    wait_for("a check that passes", lambda: "pass" in str(s.world.request("GET", "/api/v1/rules/incident")[1]))
    os.kill(server.pid, signal.SIGSTOP)
    file = s.captured()
    os.kill(server.pid, signal.SIGCONT)
    expect(s.say("threads", file), r"redis-server\S* stopped")
    expect(s.say("vitals", file), r"stopped")


@incident
def crashed(s):
    """Redis writes to address nothing (DEBUG SEGFAULT)."""
    _, ping = redis(s)
    s.rule("redis", {"crash": {}}, post_ms=0)
    subprocess.run([*ping[:-1], "debug", "segfault"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    file = s.captured()
    expect(s.say("what", file), r"SIGSEGV|signal 11")


def postgres(s):
    binaries = sorted(p for p in ("/usr/lib/postgresql/%d/bin" % v for v in range(9, 30)) if os.path.isdir(p))
    if not binaries:
        raise Skipped("no PostgreSQL here")
    need("setpriv")
    if os.geteuid() != 0:
        raise Skipped("PostgreSQL is started as its own user, by root")
    try:
        user = pwd.getpwnam("postgres")
    except KeyError:
        raise Skipped("no user postgres here") from None
    as_user = (shutil.which("setpriv"), "--reuid=%d" % user.pw_uid, "--regid=%d" % user.pw_gid, "--clear-groups")
    data, port = s.world.path("pg"), s.port()
    os.mkdir(data, 0o700)
    os.chown(data, user.pw_uid, user.pw_gid)
    subprocess.run([*as_user, binaries[-1] + "/initdb", "-D", data, "-A", "trust", "--no-sync"],
                   stdout=subprocess.DEVNULL, check=True, cwd="/")
    s.start(*as_user, binaries[-1] + "/postgres", "-D", data, "-p", str(port), "-k", "", "-c", "fsync=off", service="postgres", cwd="/")
    sql = [shutil.which("psql"), "-qAt", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-c"]
    wait_for("PostgreSQL", lambda: subprocess.run([*sql, "select 1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                                  check=False).returncode == 0)
    return sql


@incident
def row_lock(s):
    """A client keeps a row locked; the check's update of it waits."""
    sql = postgres(s)
    subprocess.run([*sql, "create table t(a int); insert into t values(1)"], check=True)
    holder = subprocess.Popen([*sql[:-1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    s.undo.append(lambda: (holder.kill(), holder.wait()))
    holder.stdin.write(b"begin; update t set a = 2; select 'held';\n")
    holder.stdin.flush()
    assert holder.stdout.readline() == b"held\n"
    s.rule("postgres", s.check(*sql, "update t set a = 3", timeout_ms=1000, every_ms=2000),
           include="service=postgres")
    file = s.captured()
    text = s.say("threads", file)
    expect(text, r"UPDATE waiting", r"ProcSleep", r"idle in transaction")


def run(function, keep):
    began = time.monotonic()
    scene = None
    try:
        scene = Scene()
        function(scene)
        result = "ok"
    except Skipped as skipped:
        result = "skipped: %s" % skipped
    except (Failed, AssertionError, subprocess.CalledProcessError) as failed:
        result = "FAILED: %s" % failed
    finally:
        if scene is not None:
            scene.end(keep)
    print("%-12s %s (%.1f s)" % (function.__name__, result, time.monotonic() - began), flush=True)
    if keep and scene is not None:
        print("  kept: " + scene.world.folder)
    return result.split(":")[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    chosen = [i for i in INCIDENTS if options.only in (None, i.__name__)]
    results = [run(function, options.keep) for function in chosen]
    print("%d incidents, %d failed" % (len(results), results.count("FAILED")))
    if set(results) == {"skipped"}:
        sys.exit(77)
    sys.exit("FAILED" in results)


main()
