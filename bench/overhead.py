#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `skein run` takes from a program's throughput: Debian's programs beside themselves.

    bench_overhead [--json] [--pairs N] [--only NAME[,NAME]]

Each load runs against the plain program and the traced one in turn, the first of a round changing
places; both servers run all the time, and an agent records. Printed is the median of the rounds'
ratios, traced to plain, with the quartiles, and the medians of both. Loads of many short programs
run a third time, with a preloaded library that has nothing in it: that is the floor of whatever is
preloaded. What is not installed is left out, with a word. Loopback only; all processes and files are
its own and gone at the end.
"""
import argparse
import contextlib
import json
import os
import pwd
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

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


def is_recorded(pid):
    with contextlib.suppress(OSError), open("/proc/%d/maps" % pid) as maps:
        return "skein-ring" in (text := maps.read()) or "memfd:skein" in text
    return False


class Bench:
    """The agent, the folder, and the processes that must end with them."""

    def __init__(self, options):
        self.options, self.children = options, []
        self.folder = tempfile.mkdtemp(prefix="skein-overhead.")
        os.chmod(self.folder, 0o755)
        self.socket = self.folder + "/agent.sock"
        config = {"collector": {"control": "tcp://127.0.0.1:%d" % free_port(),
                                "data": "tcp://127.0.0.1:%d" % free_port()},
                  "socket": self.socket, "state_dir": self.folder + "/agent",
                  "log": {"level": "error"}}
        with open(self.folder + "/agent.json", "w") as f:
            json.dump(config, f)
        self.start([options.agent, "--config", self.folder + "/agent.json"])
        deadline = time.monotonic() + DEADLINE_S
        while not os.path.exists(self.socket):
            if time.monotonic() > deadline:
                raise RuntimeError("no agent")
            time.sleep(0.02)

    def start(self, command, **how):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 cwd="/", **how)
        self.children.append(child)
        return child

    def traced(self, command, service):
        return [self.options.skein, "run", "-q", "--socket", self.socket, "-s", service,
                "--"] + command

    def kinds(self, command, service):
        return {"plain": command, "traced": self.traced(command, service),
                "preloaded": ["env", "LD_PRELOAD=" + self.options.nothing] + command}

    def end(self):
        for child in reversed(self.children):
            with contextlib.suppress(OSError):
                child.send_signal(signal.SIGINT if "postgres" in child.args[-1] else signal.SIGTERM)
        for child in reversed(self.children):
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def servers(self, service, command, **how):
        """A plain and a traced server; command(port) makes the words. Returns their ports."""
        ports = {}
        for kind in ("plain", "traced"):
            port = ports[kind] = free_port()
            words = command(port, kind)
            child = self.start(words if kind == "plain" else self.traced(words, service), **how)
            await_port(port, child)
            deadline = time.monotonic() + DEADLINE_S
            while kind == "traced" and not is_recorded(child.pid):
                if time.monotonic() > deadline:
                    raise RuntimeError("%s is not recorded" % service)
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), 1).close()
                time.sleep(0.02)
        return ports

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
    return bench.ask(ports, 4, 8000, 1000000, "get k\r\n")


def nginx(bench, per_connection=1000000, requests=5000):
    program = shutil.which("nginx") or "/usr/sbin/nginx"

    def command(port, kind):
        folder = "%s/nginx-%d-%s" % (bench.folder, per_connection, kind)
        os.mkdir(folder)
        with open(folder + "/index.html", "w") as f:
            f.write("x" * 600 + "END\r\n")
        with open(folder + "/nginx.conf", "w") as f:
            f.write(NGINX.format(folder=folder, port=port))
        return [program, "-c", folder + "/nginx.conf"]
    ports = bench.servers("nginx", command)
    return bench.ask(ports, 4, requests, per_connection, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")


def nginx_connections(bench):
    return nginx(bench, 1, 2500)


def python_threads(bench):
    ports = bench.servers("python", lambda port, kind: [
        "/usr/bin/python3", "-c", PYTHON_SERVER, str(port)])
    return bench.ask(ports, 4, 600, 1, "hello\r\n")


def postgres_c(bench):
    place = sorted(os.path.join("/usr/lib/postgresql", v, "bin")
                   for v in os.listdir("/usr/lib/postgresql"))[-1]
    how = {"user": "postgres"} if os.geteuid() == 0 else {}
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}

    def command(port, kind):
        folder = "%s/postgres-%s" % (bench.folder, kind)
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
            [pgbench, "-C", "-S", "-n", "-c", "4", "-j", "2", "-t", "75", "-h", "127.0.0.1", "-p",
             str(ports[kind]), "-U", "bench", "postgres"], capture_output=True, check=True,
            text=True).stdout
        return next(float(line.split()[2]) for line in out.splitlines()
                    if line.startswith("tps"))
    return run


def command_rate(bench, service, command):
    """Runs a second of a command that is traced from its beginning, of many short programs."""
    commands = bench.kinds(command, service)

    def run(kind):
        began = time.monotonic()
        subprocess.run(commands[kind], check=True, stdout=subprocess.DEVNULL)
        return 1 / (time.monotonic() - began)
    run.has_floor = True
    return run


def sh_loop(bench):
    return command_rate(bench, "sh", ["/bin/sh", "-c", SH_LOOP])


def sh_pipes(bench):
    return command_rate(bench, "sh", ["/bin/sh", "-c", SH_PIPES])


def load_rate(bench, *words):
    commands = bench.kinds([bench.options.load, *words], "load")
    return lambda kind: float(subprocess.run(commands[kind], check=True, capture_output=True,
                                             text=True).stdout)


def mutex(bench):
    return load_rate(bench, "mutex", "20000000")


def threads(bench):
    return load_rate(bench, "threads", "10000")


LOADS = {  # name: what is measured, the maker of its run, the program it needs
    "memcached": ("requests over 4 kept connections", memcached, "memcached"),
    "nginx": ("requests over 4 kept connections", nginx, "nginx"),
    "nginx_connections": ("requests with a connection each", nginx_connections, "nginx"),
    "postgres_c": ("transactions with a connection each (pgbench -C -S)", postgres_c, "pgbench"),
    "python_threads": ("connections with a thread each", python_threads, "/usr/bin/python3"),
    "sh_loop": ("shell loops of 300 programs", sh_loop, "sh"),
    "sh_pipes": ("shell loops of 100 pipelines", sh_pipes, "sh"),
    "mutex": ("free mutexes, in a program with two threads", mutex, "sh"),
    "threads": ("threads that do nothing, one after the other", threads, "sh"),
}


def measure(run, rounds):
    """Rates of each kind in alternating rounds, after one that does not count."""
    rates = {"plain": [], "traced": []}
    if getattr(run, "has_floor", False):
        rates["preloaded"] = []
    for kind in rates:
        run(kind)
    for i in range(rounds):
        for kind in list(rates)[::1 if i % 2 else -1]:
            rates[kind].append(run(kind))
    return rates


def ratios_of(rates, kind):
    return sorted(r / p for r, p in zip(rates[kind], rates["plain"]))


def result_of(name, rates):
    ratios = ratios_of(rates, "traced")
    quarter = len(ratios) // 4
    result = {"name": name, "value": round(statistics.median(rates["traced"]), 3), "unit": "1/s",
              "floor": "the same, not traced",
              "floor_value": round(statistics.median(rates["plain"]), 3),
              "ratio": round(statistics.median(ratios), 3),
              "ratio_quartiles": [round(ratios[quarter], 3), round(ratios[-1 - quarter], 3)],
              "pairs": len(ratios)}
    if "preloaded" in rates:
        result["preloaded_ratio"] = round(statistics.median(ratios_of(rates, "preloaded")), 3)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--only", default=",".join(LOADS))
    for tool in ("skein", "agent", "load", "nothing"):
        parser.add_argument("--" + tool, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    results = []
    bench = Bench(options)
    try:
        for name in options.only.split(","):
            what, make, program = LOADS[name]
            if not (shutil.which(program) or os.path.exists("/usr/sbin/" + program)):
                print("%s: %s is not installed" % (name, program), file=sys.stderr)
                continue
            result = result_of(name, measure(make(bench), options.pairs))
            results.append(result)
            if not options.json:
                floor = result.get("preloaded_ratio")
                print("%-18s %10.1f /s  plain %10.1f /s  ratio %.3f (%.3f to %.3f)  %s%s" % (
                    name, result["value"], result["floor_value"], result["ratio"],
                    *result["ratio_quartiles"], what,
                    "; with an empty library preloaded: %.3f" % floor if floor else ""),
                    flush=True)
    finally:
        bench.end()
    if options.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
