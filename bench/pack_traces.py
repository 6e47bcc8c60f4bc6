#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The forms that a trace could have, on records of Debian's Redis, nginx and PostgreSQL.

    bench_pack_traces [--json] [--only NAME[,NAME]] [--keep FOLDER]

Each program runs under `skein run` with the agent's defaults and the load of bench_overhead, and a
snapshot of its last seconds becomes a trace file. bench_pack_forms then packs its records in every
form and prints bytes an event, and what packing and unpacking take, beside a copy of the ring's own
bytes. What is not installed is left out, with a word. Loopback only; all processes and files are
its own and gone at the end, but for the traces that --keep asks for.
"""
import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time

import overhead

LOADS = {"redis": ("redis-benchmark", overhead.redis), "nginx": ("nginx", overhead.nginx),
         "postgres": ("pgbench", overhead.postgres_kept)}
LOAD_S = 10


class Fleet(overhead.Bench):
    """An agent with a collector, and the program of one load."""

    def __init__(self, options):
        self.ports = [overhead.free_port() for _ in range(3)]
        super().__init__(options)
        data, control, http = self.ports
        with open(self.folder + "/collector.json", "w") as f:
            json.dump({"listen": {"data": "tcp://127.0.0.1:%d" % data,
                                  "control": "tcp://127.0.0.1:%d" % control,
                                  "http": "127.0.0.1:%d" % http},
                       "data_dir": self.folder + "/collector", "log": {"level": "error"}}, f)
        self.collector = subprocess.Popen(
            [options.skeind, "--config", self.folder + "/collector.json"],
            stdout=subprocess.DEVNULL)
        overhead.await_port(http, self.collector)

    def config_write(self, profile):
        super().config_write(profile)
        path = "%s/%s.json" % (self.folder, profile)
        with open(path) as f:
            config = json.load(f)
        config["collector"] = {"data": "tcp://127.0.0.1:%d" % self.ports[0],
                               "control": "tcp://127.0.0.1:%d" % self.ports[1]}
        with open(path, "w") as f:
            json.dump(config, f)

    def end(self):
        self.servers_end()
        self.agent_turn(None)
        self.collector.terminate()
        self.collector.wait(overhead.DEADLINE_S)
        shutil.rmtree(self.folder, ignore_errors=True)

    def snapshot(self, name, path):
        """The last seconds of a service, asked for until its records are there."""
        deadline = time.monotonic() + overhead.DEADLINE_S
        while True:
            done = subprocess.run(
                [self.options.skein, "snapshot", "--collector",
                 "http://127.0.0.1:%d" % self.ports[2], "-l", "service=" + name, "--pre",
                 "%ds" % LOAD_S, "--evidence", "none", "-o", path], capture_output=True, text=True)
            if os.path.exists(path) or time.monotonic() > deadline:
                return done.stderr
            time.sleep(0.1)


def trace_make(options, name, make, path):
    fleet = Fleet(options)
    try:
        run = make(fleet)
        done = threading.Event()

        def load():
            while not done.is_set():
                with contextlib.suppress(subprocess.CalledProcessError):
                    run("continuous")
        thread = threading.Thread(target=load)
        thread.start()
        time.sleep(LOAD_S)  # of load, to be recorded
        said = fleet.snapshot(name, path)
        done.set()
        thread.join()
        if not os.path.exists(path):
            raise RuntimeError("no trace of %s: %s" % (name, said))
    finally:
        fleet.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", default=",".join(LOADS))
    parser.add_argument("--keep", help="a folder in which the traces stay")
    for tool in ("skein", "agent", "skeind", "load", "forms"):
        parser.add_argument("--" + tool, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.profiles = ["continuous"]
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    with overhead.tempfile.TemporaryDirectory(prefix="skein-pack.") as folder:
        traces = []
        for name in options.only.split(","):
            program, make = LOADS[name]
            if not (shutil.which(program) or os.path.exists("/usr/sbin/" + program)):
                print("%s: %s is not installed" % (name, program), file=sys.stderr)
                continue
            path = os.path.join(options.keep or folder, name + ".skein")
            with contextlib.suppress(OSError):
                os.unlink(path)
            trace_make(options, name, make, path)
            traces.append("%s=%s" % (name, path))
            if not options.json:
                print("%s: `skein run` of it under the load of bench_overhead, then `skein snapshot "
                      "-l service=%s --pre %ds --evidence none -o %s`" % (name, name, LOAD_S, path),
                      flush=True)
        sys.exit(subprocess.run([options.forms] + ["--json"] * options.json + traces).returncode)


if __name__ == "__main__":
    main()
