#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Incidents: programs of Debian are made to stand still, a health check fails, and what an engineer
types afterwards must name the cause (docs/incidents). Each incident knows its cause by itself: it
has made it.

  run_incidents.py [--only NAME] [--keep]     SKEIN_BUILD: the build's folder
"""
import argparse
import json
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


def incident_with(**agent):
    """One whose agent has more in its configuration."""
    def add(function):
        function.agent = agent
        return incident(function)
    return add


def need(*programs):
    for program in programs:
        if not shutil.which(program) and not os.access(program, os.X_OK):
            raise Skipped("no %s here" % program)


class Scene:
    """A collector, an agent, and the services of one incident."""

    def __init__(self, **agent):
        agent["evidence"] = {"deadline_ms": 8000}  # on a busy machine all takes longer
        self.world = World(agent=agent).start()
        self.processes, self.ports, self.undo = [], [], []
        os.chmod(self.world.folder, 0o755)

    def port(self):
        self.ports.append(port_take())
        return self.ports[-1]

    def start(self, *command, service=None, **more):
        within = more.pop("within", ())
        if service:
            command = (*within, SKEIN, "run", "--service", service, "--", *command)
        with open(self.world.path("out.log"), "ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                       env=dict(os.environ, SKEIN_SOCKET=self.world.socket), **more)
        self.processes.append(process)
        return process

    def client(self, *command):
        """One that waits, in vain."""
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.undo.append(lambda: (process.kill(), process.wait()))

    def rule(self, service, when, **capture):
        capture.setdefault("pre_ms", 5000)
        capture.setdefault("post_ms", 500)
        status, body = self.world.request("PUT", "/api/v1/rules/incident", {
            "name": "incident", "selector": "service=" + service, "when": when, "capture": capture})
        if status not in (200, 201):
            raise Failed("the rule: %d %s" % (status, body[:300]))
        wait_for("the agent to have the rule", self.rule_is_known, 60)

    def rule_is_known(self):
        state = self.world.get("/rules/incident")["state"]
        return state["agents"] == state["agents_current"] == 1

    def check(self, *command, timeout_ms=500, every_ms=300):
        """Of a command that the agent then allows."""
        more = self.world.agent_more
        more["checks"] = {"exec_allow": ["'%s'" % "' '".join(w.replace("'", "'\"'\"'") for w in command)]}
        self.world.configure()
        self.world.agent.process.send_signal(signal.SIGHUP)
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
    r"""Each is there; \N is what Perl calls so, a character of the same line."""
    for pattern in patterns:
        pattern = pattern.replace(r"\N", "[^\n]")
        if not re.search(pattern, text, re.S):
            raise AssertionError("%r is not in:\n%s" % (pattern, text))


def first_finding(s, file, rule, *patterns):
    """The report of a capture names the cause in its first sentence."""
    report = json.loads(s.say("report", "-o", "json", file))
    first = report["findings"][0] if report["findings"] else {"rule": "none", "text": "", "severity": "none"}
    if first["rule"] != rule or first["severity"] == "note":
        raise AssertionError("the first finding is of %s:\n%s" % (
            first["rule"], "\n".join("%(severity)s %(rule)s: %(text)s" % one for one in report["findings"])))
    expect(first["text"], *patterns)


def redis(s, *options, folder=None, **more):
    """It, and the command line of a ping."""
    need("redis-server", "redis-cli")
    port = s.port()
    server = s.start(shutil.which("redis-server"), "--port", str(port), "--save", "",
                     "--enable-debug-command", "yes", "--dir", folder or s.world.folder, *options,
                     service="redis", **more)
    ping = [shutil.which("redis-cli"), "-p", str(port), "ping"]
    wait_for("redis", lambda: subprocess.run(ping, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                             check=False).stdout == b"PONG\n")
    s.world.wait_live(1, "service=redis")
    return server, ping


@incident
def stopped(s):
    """Somebody stops Redis (kill -STOP), and it answers nobody."""
    server, ping = redis(s)
    os.kill(server.pid, signal.SIGSTOP)
    s.rule("redis", s.check(*ping))
    file = s.captured()
    os.kill(server.pid, signal.SIGCONT)
    first_finding(s, file, "held_back", r"redis\[%d\] on \S+ was stopped for at least" % server.pid)
    expect(s.say("threads", file), r"redis-server\S* stopped")
    expect(s.say("vitals", file), r"stopped")
    expect(s.say("cat", "--longest", "1", "--thread", "redis-server", file),
           r"epoll_wait\N*\n +at \S+ stopped in epoll_wait\(")


@incident
def crashed(s):
    """Redis writes to memory that may only be read (DEBUG SEGFAULT). It has a handler for that, which
    writes a log and ends Redis by the same signal: the page that it wrote to stands in its own log. Its
    test of all memory is left out: it writes over what the kernel reads of a thread (rseq), which ends
    Redis before its log where it loses the CPU meanwhile."""
    server, ping = redis(s, "--crash-memcheck-enabled", "no")
    s.rule("redis", {"crash": {}}, post_ms=0)
    subprocess.run([*ping[:-1], "debug", "segfault"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    file = s.captured()
    first_finding(s, file, "crash", r"redis\[%d\] on \S+ died of SIGSEGV" % server.pid)
    expect(s.say("what", file), r"SIGSEGV|signal 11")
    if not os.access("/sys/kernel/tracing/events/signal/signal_deliver/id", os.R_OK):
        raise Skipped("this kernel does not tell of signals")
    with open(s.world.path("out.log"), encoding="utf-8", errors="replace") as log:
        address = re.search(r"Accessing address: (0x[0-9a-f]+)", log.read()).group(1)
    text = s.say("threads", file)
    expect(text, r'thread %d "redis-server" died of SIGSEGV' % server.pid,
           r"in its own handler, because of SIGSEGV \(access not allowed\), write at %s, in debugCommand" % address,
           r"at call\b", r"at main\b",
           r"redis\[%d\] on \N*: its last words, 20 of \d+ lines of %s;\N* -o json has all" %
           (server.pid, re.escape(s.world.path("out.log"))),
           r"\n +\| =+ REDIS BUG REPORT END\.")
    words = [row for row in json.loads(s.say("threads", file, "-o", "json")) if row.get("end") == "words"]
    with open(s.world.path("out.log"), encoding="utf-8", errors="replace", newline="") as log:
        if len(words) != 1 or words[0]["text"] != log.read()[-len(words[0]["text"]):]:
            raise AssertionError("not the end of its log: %r" % words)


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
    s.client(*sql, "update t set a = 4")
    waits = [*sql, "select pid from pg_stat_activity where wait_event_type = 'Lock'"]
    waiter = wait_for("an update that waits",
                      lambda: subprocess.run(waits, stdout=subprocess.PIPE, check=True, text=True).stdout.strip())
    s.rule("postgres", s.check(*sql, "update t set a = 3", timeout_ms=1000, every_ms=2000),
           include="service=postgres", threads=True)
    file = s.captured()
    text = s.say("threads", file)
    expect(text, r"UPDATE waiting", r"ProcSleep", r"idle in transaction")
    expect(text, r"\[%s\] on \N*\n\N*UPDATE waiting\n" % waiter)
    first_finding(s, file, "database_wait", r"postgres\[\d+\] on \S+ says that it waits\N*UPDATE waiting")
    expect(s.say("cat", "--longest", "1", "-p", waiter, file), r"epoll_wait\N*\n +(later, )?at \S+ sleeping in epoll_wait\(",
           r"at ProcSleep", r"at heap_update")


class SlowDisk:
    """A file system of ours that holds up syncs (slow_disk.py), and how to start what sees it."""

    def __init__(self, s):
        need("nsenter")
        self.folder = s.world.path("disk")
        os.mkdir(self.folder)
        self.server = subprocess.Popen([sys.executable, os.path.join(HERE, "slow_disk.py"), self.folder],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        s.undo.append(self.end)
        answer = self.server.stdout.readline().strip()
        if answer != "ready":
            raise Skipped(answer or "no file system of our own")
        user = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
        self.within = (shutil.which("nsenter"), "-t", str(self.server.pid), "--mount", *user, "--")
        # Nobody may write into a folder of which the kernel does not know yet whose it is.
        subprocess.run([*self.within, shutil.which("stat"), self.folder], stdout=subprocess.DEVNULL, check=True)

    def say(self, word):
        self.server.stdin.write(word + "\n")
        answer = self.server.stdout.readline().strip()
        if answer != word:
            raise Failed("the slow disk: %s: %r" % (word, answer))

    def ask(self):
        """How many syncs it holds up."""
        self.server.stdin.write("held\n")
        return int(self.server.stdout.readline())

    def end(self):
        self.server.kill()
        self.server.communicate()


@incident
def stalled_disk(s):
    """The disk of Redis does not end a sync."""
    disk = SlowDisk(s)
    _, ping = redis(s, "--appendonly", "yes", "--appendfsync", "always", folder=disk.folder, within=disk.within)
    disk.say("hold")
    s.client(*ping[:-1], "set", "a", "1")
    wait_for("a write that waits for the disk", lambda: disk.ask() > 0)
    s.rule("redis", s.check(*ping[:-1], "set", "check", "1"))
    file = s.captured()
    disk.say("go")
    aof = r"\[file /\S*/disk/appendonlydir/appendonly\.aof\.1\.incr\.aof\]"
    first_finding(s, file, "slow_disk", r"main thread of redis\N*waited for its disk\N*`f\w+sync` \(/\S*/disk/appendonlydir/")
    expect(s.say("threads", file), r'"redis-server"/\d+ \w+ in fdatasync\(0x[0-9a-f]+\) ' + aof,
           r"at \S*fdatasync\N*\n\N*at flushAppendOnlyFile")
    expect(s.say("cat", "--longest", "1", "--type", "open", "--thread", "redis-server", file),
           r"loop\N*\n +at \S+ \w+ in fdatasync\(0x[0-9a-f]+\) " + aof, r"at flushAppendOnlyFile")


# A check of Redis that takes some 100 ms of a CPU.
COUNT = "local n = 0 for i = 1, 2e7 do n = n + i end return n"


def threads_of(pid):
    return [int(tid) for tid in os.listdir("/proc/%d/task" % pid)]


def urgent(tid, nice):
    """Of the normal class, whatever the test's is; else the neighbour, or we, would wait as well."""
    if os.sched_getscheduler(tid) != os.SCHED_OTHER:
        os.sched_setscheduler(tid, os.SCHED_OTHER, os.sched_param(0))
    if os.getpriority(os.PRIO_PROCESS, tid) > nice:
        os.setpriority(os.PRIO_PROCESS, tid, nice)


def session_nice(pid, nice):
    """Where the kernel weighs sessions against each other, those of a process count in its own alone."""
    try:
        with open("/proc/%s/autogroup" % (pid or "self"), "w", encoding="ascii") as file:
            file.write(str(nice))
    except OSError:
        pass  # it does not; or it says no, and then it is as nice as any


def cpu_alone(s):
    """A CPU that we and the agent keep away from, where there is another."""
    cpus, policy, nice = os.sched_getaffinity(0), os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)
    cpu = max(cpus)

    def back():
        os.sched_setaffinity(0, cpus)
        os.sched_setscheduler(0, policy, os.sched_param(0))
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    s.undo.append(back)
    for pid in (os.getpid(), s.world.agent.process.pid, s.world.collector.process.pid):
        for tid in threads_of(pid):
            urgent(tid, 0)
            os.sched_setaffinity(tid, cpus - {cpu} or cpus)
    return cpu


def neighbours(s, cpu):
    """Busy processes on that CPU, which nothing else of the host outdoes there; their pids. Root's is
    one above all others, else they are three."""
    root = os.geteuid() == 0

    def settle():
        os.sched_setaffinity(0, {cpu})
        urgent(0, -10 if root else 0)
        session_nice(0, -10 if root else 0)
    started = []
    for _ in range(1 if root else 3):
        started.append(subprocess.Popen([shutil.which("sha256sum"), "/dev/zero"], preexec_fn=settle,
                                        start_new_session=True))
        s.undo.append(lambda process=started[-1]: (process.kill(), process.wait()))
    return [process.pid for process in started]


@incident_with(sched={"buffer_kib": 16384})
def starved(s):
    """A batch job takes the CPU on which Redis is to run when nobody else wants it."""
    need("sha256sum")
    # After five seconds Redis would look at its sockets, in the middle of the script, and end its round.
    server, ping = redis(s, "--lua-time-limit", "0", start_new_session=True)
    s.undo.append(server.kill)
    try:
        cpu = cpu_alone(s)
    except PermissionError:
        raise Skipped("this test runs at a low priority, and may not leave it") from None
    for tid in threads_of(server.pid):
        os.sched_setaffinity(tid, {cpu})
        os.sched_setscheduler(tid, os.SCHED_IDLE, os.sched_param(0))
    session_nice(server.pid, 19)
    pids = neighbours(s, cpu)
    s.rule("redis", s.check(*ping[:-1], "eval", COUNT, "0", timeout_ms=1000, every_ms=1500))
    file = s.captured()
    if os.access("/sys/kernel/tracing/instances", os.W_OK):
        first_finding(s, file, "cpu_neighbour", r"main thread of redis\N*ready to run but not running\N*`sha256sum`")
    dump = json.loads(s.say("threads", "-o", "json", file))[0]
    cpu_time = dump.get("cpu", {})
    users = {user["pid"] for user in cpu_time.get("others", []) + cpu_time.get("top", [])}
    if users.isdisjoint(pids):
        raise AssertionError("%s is none of those that used CPUs: %s" % (pids, cpu_time))
    if not os.access("/sys/kernel/tracing/instances", os.W_OK):
        return  # nobody knows who ran when
    one = "(?:%s)" % "|".join(str(pid) for pid in pids)
    # Now and then it has its turn, and a dump may come upon that.
    expect(s.say("threads", file), r"  CPU time in ",
           r'\n"redis-server"/%d (?:ready, but not running: it waited \N* for CPU %d, where sha256sum \(%s\) ran|running or ready)'
           % (server.pid, cpu, one))
    expect(s.say("cat", "--longest", "3", "--thread", str(server.pid), file),
           r'sched\.runnable\N*instead="sha256sum"',
           r"\n +for \N* of it ready, and without a CPU: sha256sum \(%s\) ran instead" % one)
    expect(s.say("sched", file), r"\nredis-server +%d \N*instead: sha256sum \(%s\)" % (server.pid, one))


def mariadb(s, *options, within=()):
    """The command line of a query."""
    program = "/usr/sbin/mariadbd"
    need(program, "mariadb")
    data = s.world.path("db")
    os.mkdir(data)
    socket = os.path.join(data, "s")
    s.start(program, "--no-defaults", "--datadir=" + data, "--socket=" + socket, "--skip-networking",
                     "--skip-grant-tables", "--user=" + pwd.getpwuid(os.geteuid()).pw_name,
                     "--innodb-log-file-size=4M", "--innodb-buffer-pool-size=8M", *options, service="mariadb", within=within)
    query = [shutil.which("mariadb"), "--no-defaults", "-S", socket, "-BNe"]
    wait_for("MariaDB", lambda: subprocess.run([*query, "select 1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                               check=False).returncode == 0, 60)
    s.world.wait_live(1, "service=mariadb")
    return query


@incident
def held_mutex(s):
    """A commit waits for the disk of the binary log, and holds the log's mutex meanwhile."""
    disk = SlowDisk(s)
    query = mariadb(s, "--log-bin=%s/bin" % disk.folder, "--sync-binlog=1", "--server-id=1", within=disk.within)
    subprocess.run([*query, "create database shop; create table shop.t(a int) engine=innodb"], check=True)
    disk.say("hold")
    s.client(*query, "insert into shop.t values(1)")
    wait_for("a commit that waits for the disk", lambda: disk.ask() > 0)
    s.client(*query, "insert into shop.t values(2)")
    both = [*query, "select count(*) from information_schema.processlist where info like 'insert%'"]
    wait_for("two commits", lambda: subprocess.run(both, stdout=subprocess.PIPE, check=True).stdout == b"2\n")
    s.rule("mariadb", s.check(*query, "insert into shop.t values(3)"))
    file = s.captured()
    disk.say("go")
    first_finding(s, file, "slow_disk", r"mariadb\[\d+\]\N*waited for its disk\N*`fsync` \(%s/bin\.\d+\)" % disk.folder)
    threads = s.say("threads", file)
    held = re.search(r'\n"[^"\n]*"/(\d+) [^\n]*waits for mutex (0x[0-9a-f]+) held by "[^"\n]*"/(\d+), which is '
                     r'\w+ in fdatasync\(0x[0-9a-f]+\) \[file %s/bin\.\d+\]\n' % disk.folder, threads)
    if not held:
        raise AssertionError("nobody waits for who waits for the disk:\n" + threads)
    waiter, mutex, holder = held.groups()
    expect(threads, r'\n"[^"\n]*"/%s \N*in fdatasync\N*(?:\n    at \N*)+MYSQL_BIN_LOG::\w+' % holder)
    expect(s.say("cat", "--longest", "1", "--thread", waiter, "--name", "mutex_lock", file),
           r'mutex_lock +lock=%s\n\N* waiting for "[^"\n]*"/%s, which is ' % (mutex, holder), r"MYSQL_BIN_LOG::")
    expect(s.say("cat", "--longest", "1", "--thread", holder, "--name", "fsync", file),
           r"fsync +fd=\d+ \[file %s/bin\.\d+\]" % disk.folder, r"MYSQL_BIN_LOG::")


def run(function, keep):
    began = time.monotonic()
    scene = None
    try:
        scene = Scene(**getattr(function, "agent", {}))
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
