#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What Skein takes from a program's throughput: Debian's programs beside themselves.

    bench_overhead [--json] [--pairs N] [--only NAME[,NAME]] [--profiles continuous,profile]

Each load runs in turn against the plain program on a host without an agent, and against the one
under `skein run` with an agent of each profile: `continuous` is the agent's defaults, `profile` is
config/agent.profile.json. The agent is started for its turn and ended after it, as samples and
scheduler records cost the whole host; the servers run all the time. The order turns round from one
round to the next. Printed is the median of the rounds' ratios to plain, with the quartiles, and the
medians of both; and the same of the CPU time that the program took for as much work (`CPU`), which
knows nothing of the scheduler's choice of processor, of who waits for whom, or of the agent. Loads of many short programs run once more with a preloaded library that has
nothing in it: that is the floor of whatever is preloaded. What is not installed is left out, with a
word. Loopback only; all processes and files are its own and gone at the end.
"""
import argparse
import contextlib
import json
import os
import pwd
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DEADLINE_S = 30
PYTHON_SERVER = """
import socketserver, sys
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        data = self.request.recv(4096)
        words = {}
        for i in range(200):
            words[str(i)] = words.get(str(i % 7), 0) + i
        self.request.sendall(("%d END\\r\\n" % len(words)).encode())
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    request_queue_size = 128
    daemon_threads = True
Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
NGINX = """daemon off; master_process on; worker_processes 1; pid {folder}/nginx.pid;
error_log {folder}/error.log; events {{ worker_connections 256; }}
http {{ access_log off; keepalive_requests 1000000;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  server {{ listen 127.0.0.1:{port}; root {folder}; }} }}
"""
SH_LOOP = 'i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i+1)); done'
SH_PIPES = 'i=0; while [ $i -lt 100 ]; do x=$(echo $i | cat | wc -l); i=$((i+1)); done'


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def await_port(port, process):
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError("%s ended with %d" % (process.args[0], process.returncode))
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise RuntimeError("%s does not listen" % process.args[0])


def cpu_of(roots):
    """Seconds that the processes and all that they began have been on a CPU."""
    parents, ticks = {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError), open("/proc/%s/stat" % entry) as f:
                words = f.read().rpartition(")")[2].split()
                parents[int(entry)], ticks[int(entry)] = int(words[1]), sum(map(int, words[11:15]))
    total = 0
    for pid in ticks:
        at = pid
        while at in parents and at not in roots:
            at = parents[at]
        total += ticks[pid] if at in roots else 0
    return total / os.sysconf("SC_CLK_TCK")


def rings_of(pid):
    """How many rings a process has mapped: the agent those of others, a program its own."""
    with contextlib.suppress(OSError), open("/proc/%d/maps" % pid) as maps:
        return sum("skein-ring" in line or "memfd:skein" in line for line in maps)
    return 0


class Bench:
    """The agent, the folder, and the processes that must end with them."""

    def __init__(self, options):
        self.options, self.children = options, []
        self.folder = tempfile.mkdtemp(prefix="skein-overhead.")
        os.chmod(self.folder, 0o755)
        self.socket = self.folder + "/agent.sock"
        self.agent, self.profile, self.running, self.roots = None, None, [], {}
        for profile in options.profiles:
            self.config_write(profile)

    def config_write(self, profile):
        config = {}
        if profile != "continuous":
            with open(os.path.join(HERE, "../config/agent.%s.json" % profile)) as f:
                config = json.load(f)
        config.update({"collector": {"control": "tcp://127.0.0.1:%d" % free_port(),
                                     "data": "tcp://127.0.0.1:%d" % free_port()},
                       "socket": self.socket, "state_dir": self.folder + "/agent",
                       "log": {"level": "error"}})
        with open("%s/%s.json" % (self.folder, profile), "w") as f:
            json.dump(config, f)

    def agent_turn(self, profile):
        """Ends the agent that there is, and starts that of a profile, if one is meant. Returns when
        it records the servers that are traced."""
        if profile == self.profile:
            return
        if self.agent is not None:
            self.agent.terminate()
            self.agent.wait(DEADLINE_S)
        self.agent, self.profile = None, profile
        if profile is None:
            return
        self.agent = subprocess.Popen(
            [self.options.agent, "--config", "%s/%s.json" % (self.folder, profile)],
            stdout=subprocess.DEVNULL)
        self.rings_await()

    def rings_await(self):
        """Until the agent records each traced server, and for half a second no further process."""
        deadline, count, since = time.monotonic() + DEADLINE_S, -1, 0
        while True:
            now = time.monotonic()
            if now > deadline or self.agent.poll() is not None:
                raise RuntimeError("the agent does not record %d servers" % len(self.running))
            for port in self.running:  # a process that sleeps looks for its agent when it wakes
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), 1).close()
            if (have := rings_of(self.agent.pid)) != count:
                count, since = have, now
            if os.path.exists(self.socket) and count >= len(self.running) and now - since > 0.5:
                return
            time.sleep(0.05)

    def start(self, command, **how):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 cwd="/", **how)
        self.children.append(child)
        return child

    def traced(self, command, service):
        return [self.options.skein, "run", "-q", "--socket", self.socket, "-s", service,
                "--"] + command

    def command_of(self, kind, command, service):
        if kind in self.options.profiles:
            return self.traced(command, service)
        return ["env", "LD_PRELOAD=" + self.options.nothing] * (kind == "preloaded") + command

    def servers_end(self):
        for child in reversed(self.children):
            with contextlib.suppress(OSError):
                child.send_signal(signal.SIGINT if "postgres" in child.args[-1] else signal.SIGTERM)
        for child in reversed(self.children):
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self.children, self.running, self.roots = [], [], {}

    def cpu(self, kind):
        """Seconds of CPU time so far of the server, or of the commands that have run."""
        if self.roots:
            return cpu_of(self.roots["plain" if kind == "plain" else "traced"])
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def end(self):
        self.servers_end()
        self.agent_turn(None)
        shutil.rmtree(self.folder, ignore_errors=True)

    def servers(self, service, command, **how):
        """A plain and a traced server; command(port) makes the words. Returns a port for each kind."""
        ports = {}
        self.agent_turn(self.options.profiles[0])
        for kind in ("plain", "traced"):
            port = ports[kind] = free_port()
            words = command(port, kind)
            child = self.start(words if kind == "plain" else self.traced(words, service), **how)
            self.roots[kind] = [child.pid]
            await_port(port, child)
        self.running.append(ports["traced"])
        self.rings_await()
        return {"plain": ports["plain"],
                **{profile: ports["traced"] for profile in self.options.profiles}}

    def ask(self, ports, connections, requests, per_connection, text):
        def run(kind):
            return float(subprocess.run(
                [self.options.load, "ask", str(ports[kind]), str(connections), str(requests),
                 str(per_connection), text], capture_output=True, check=True, text=True).stdout)
        return run


def memcached(bench):
    program = shutil.which("memcached")
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    ports = bench.servers("memcached", lambda port, kind: [
        program, "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-t", "2"] + user)
    for port in ports.values():
        with socket.create_connection(("127.0.0.1", port)) as s:
            s.sendall(b"set k 0 0 100\r\n" + b"x" * 100 + b"\r\n")
            s.recv(100)
    return bench.ask(ports, 4, 32000, 1000000, "get k\r\n")


def redis(bench):
    program, asker = shutil.which("redis-server"), shutil.which("redis-benchmark")
    ports = bench.servers("redis", lambda port, kind: [
        program, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"])

    def run(kind):
        out = subprocess.run([asker, "-p", str(ports[kind]), "-t", "get", "-n", "150000", "-c", "20",
                              "--csv"], capture_output=True, check=True, text=True).stdout
        return next(float(line.split(",")[1].strip('"')) for line in out.splitlines()
                    if line.startswith('"GET"'))
    return run


def nginx(bench, per_connection=1000000, requests=20000):
    program = shutil.which("nginx") or "/usr/sbin/nginx"

    def command(port, kind):
        folder = "%s/nginx-%d" % (bench.folder, port)
        os.mkdir(folder)
        with open(folder + "/index.html", "w") as f:
            f.write("x" * 600 + "END\r\n")
        with open(folder + "/nginx.conf", "w") as f:
            f.write(NGINX.format(folder=folder, port=port))
        return [program, "-c", folder + "/nginx.conf"]
    ports = bench.servers("nginx", command)
    return bench.ask(ports, 4, requests, per_connection, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")


def nginx_connections(bench):
    return nginx(bench, 1, 5000)


def python_threads(bench):
    ports = bench.servers("python", lambda port, kind: [
        "/usr/bin/python3", "-c", PYTHON_SERVER, str(port)])
    return bench.ask(ports, 4, 600, 1, "hello\r\n")


def postgres(bench, words):
    place = sorted(os.path.join("/usr/lib/postgresql", v, "bin")
                   for v in os.listdir("/usr/lib/postgresql"))[-1]
    how = {"user": "postgres"} if os.geteuid() == 0 else {}
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}

    def command(port, kind):
        folder = "%s/postgres-%d" % (bench.folder, port)
        os.mkdir(folder, 0o700)
        if how:
            os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
        subprocess.run([place + "/initdb", "-D", folder, "-A", "trust", "-U", "bench", "-N"],
                       check=True, capture_output=True, cwd="/", env=environment, **how)
        return [place + "/postgres", "-D", folder, "-p", str(port), "-k", "",
                "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
    ports = bench.servers("postgres", command, env=environment, **how)
    pgbench = shutil.which("pgbench")
    for port in ports.values():
        subprocess.run([pgbench, "-i", "-q", "-h", "127.0.0.1", "-p", str(port), "-U", "bench",
                        "postgres"], check=True, capture_output=True)

    def run(kind):
        out = subprocess.run(
            [pgbench, *words, "-n", "-c", "4", "-j", "2", "-h", "127.0.0.1", "-p",
             str(ports[kind]), "-U", "bench", "postgres"], capture_output=True, check=True,
            text=True).stdout
        return next(float(line.split()[2]) for line in out.splitlines()
                    if line.startswith("tps"))
    return run


def postgres_kept(bench):
    return postgres(bench, ["-t", "1500"])


def postgres_c(bench):
    return postgres(bench, ["-C", "-S", "-t", "75"])


def command_rate(bench, service, command):
    """Runs a second of a command that is traced from its beginning, of many short programs."""

    def run(kind):
        words = bench.command_of(kind, command, service)
        began = time.monotonic()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        return 1 / (time.monotonic() - began)
    run.has_floor = True
    return run


def sh_loop(bench):
    return command_rate(bench, "sh", ["/bin/sh", "-c", SH_LOOP])


def sh_pipes(bench):
    return command_rate(bench, "sh", ["/bin/sh", "-c", SH_PIPES])


def load_rate(bench, *words):
    return lambda kind: float(subprocess.run(
        bench.command_of(kind, [bench.options.load, *words], "load"), check=True,
        capture_output=True, text=True).stdout)


def mutex(bench):
    return load_rate(bench, "mutex", "20000000")


def threads(bench):
    return load_rate(bench, "threads", "10000")


LOADS = {  # name: what is measured, the maker of its run, the program it needs
    "redis": ("redis-benchmark, GET over 20 kept connections", redis, "redis-benchmark"),
    "memcached": ("requests over 4 kept connections", memcached, "memcached"),
    "nginx": ("requests over 4 kept connections", nginx, "nginx"),
    "nginx_connections": ("requests with a connection each", nginx_connections, "nginx"),
    "postgres": ("transactions over 4 kept connections (pgbench)", postgres_kept, "pgbench"),
    "postgres_c": ("transactions with a connection each (pgbench -C -S)", postgres_c, "pgbench"),
    "python_threads": ("connections with a thread each", python_threads, "/usr/bin/python3"),
    "sh_loop": ("shell loops of 300 programs", sh_loop, "sh"),
    "sh_pipes": ("shell loops of 100 pipelines", sh_pipes, "sh"),
    "mutex": ("free mutexes, in a program with two threads", mutex, "sh"),
    "threads": ("threads that do nothing, one after the other", threads, "sh"),
}


def measure(bench, run, rounds):
    """Rates of each kind, and CPU times, in alternating rounds, after one that does not count."""
    kinds = ["plain", *bench.options.profiles] + ["preloaded"] * getattr(run, "has_floor", False)
    rates, times = {kind: [] for kind in kinds}, {kind: [] for kind in kinds}
    for i in range(-1, rounds):
        for kind in kinds[::1 if i % 2 else -1]:
            bench.agent_turn(kind if kind in bench.options.profiles else None)
            before = bench.cpu(kind)
            rate = run(kind)
            if i >= 0:
                rates[kind].append(rate)
                times[kind].append(bench.cpu(kind) - before)
    return rates, times


def middle(values, plain):
    """The median of the ratios, and their quartiles."""
    ratios = sorted(v / p for v, p in zip(values, plain))
    quarter = len(ratios) // 4
    return (round(statistics.median(ratios), 3),
            [round(ratios[quarter], 3), round(ratios[-1 - quarter], 3)])


def result_of(name, kind, rates, times):
    ratio, quartiles = middle(rates[kind], rates["plain"])
    cpu, cpu_quartiles = middle(times[kind], times["plain"])
    return {"name": name, "profile": kind, "value": round(statistics.median(rates[kind]), 3),
            "unit": "1/s", "floor": "the same, no agent on the host",
            "floor_value": round(statistics.median(rates["plain"]), 3),
            "ratio": ratio, "ratio_quartiles": quartiles,
            "cpu_ratio": cpu, "cpu_ratio_quartiles": cpu_quartiles, "pairs": len(rates[kind])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--only", default=",".join(LOADS))
    parser.add_argument("--profiles", default="continuous,profile")
    for tool in ("skein", "agent", "load", "nothing"):
        parser.add_argument("--" + tool, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.profiles = options.profiles.split(",")
    results = []
    bench = Bench(options)
    try:
        for name in options.only.split(","):
            what, make, program = LOADS[name]
            if not (shutil.which(program) or os.path.exists("/usr/sbin/" + program)):
                print("%s: %s is not installed" % (name, program), file=sys.stderr)
                continue
            rates, times = measure(bench, make(bench), options.pairs)
            bench.servers_end()
            for kind in list(rates)[1:]:
                result = result_of(name, kind, rates, times)
                results.append(result)
                if not options.json:
                    print("%-18s %-10s %10.1f /s  plain %10.1f /s  ratio %.3f (%.3f to %.3f)  "
                          "CPU %.3f (%.3f to %.3f)  %s" % (
                              name, kind, result["value"], result["floor_value"], result["ratio"],
                              *result["ratio_quartiles"], result["cpu_ratio"],
                              *result["cpu_ratio_quartiles"], what), flush=True)
    finally:
        bench.end()
    if options.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
