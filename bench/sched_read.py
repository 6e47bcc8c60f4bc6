#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reading scheduler records: what two seconds of a host hold that switches as fast as it can.

    bench_sched_read [--json] [ROUNDS]

`perf sched record` takes them; `skein import perf` makes a trace file of the same records. Then in
turn `skein check` (every byte of every event), `skein sched` (who waited, for whom) and, of perf's
own file, `perf script` (every event) and `perf sched timehist` (who waited). Printed are medians of
the records read in a second and the ratios to perf's reader of the same; and bytes for a record in
both files. Without perf there is nothing to read.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SECONDS = 2


def switching():
    """A pair of processes that pass a byte to and fro."""
    there, back = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(there[1])
        while os.read(there[0], 1):
            os.write(back[1], b"x")
        os._exit(0)
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        os.write(there[1], b"x")
        os.read(back[0], 1)
    os.close(there[1])
    os.waitpid(pid, 0)


def seconds_of(command):
    began = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("rounds", nargs="?", type=int, default=10)
    parser.add_argument("--skein", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if shutil.which("perf") is None:
        sys.exit("bench_sched_read: perf is not installed")
    with tempfile.TemporaryDirectory(prefix="skein-bench.") as folder:
        data, trace = folder + "/perf.data", folder + "/trace.skein"
        recorder = subprocess.Popen(
            ["perf", "sched", "record", "-q", "--clockid", "CLOCK_MONOTONIC", "-o", data, "--",
             sys.executable, __file__, "--skein", "switch"], stdout=subprocess.DEVNULL)
        if recorder.wait() != 0:
            sys.exit("bench_sched_read: perf sched record failed")
        subprocess.run([options.skein, "import", "perf", data, "-o", trace], check=True,
                       stdout=subprocess.DEVNULL)
        records = subprocess.run(["perf", "script", "-i", data, "-F", "event"], check=True,
                                 capture_output=True).stdout.count(b"\n")
        readers = {"check": [options.skein, "check", trace],
                   "perf_script": ["perf", "script", "-i", data],
                   "sched": [options.skein, "sched", trace],
                   "perf_timehist": ["perf", "sched", "timehist", "-i", data]}
        times = {name: [] for name in readers}
        for i in range(-1, options.rounds):
            for name in list(readers)[::1 if i % 2 else -1]:
                took = seconds_of(readers[name])
                if i >= 0:
                    times[name].append(took)
        results = [{"name": "sched_read_" + name, "unit": "records/s",
                    "value": round(records / statistics.median(times[name])), "peer": peer,
                    "peer_value": round(records / statistics.median(times[peer])),
                    "ratio": round(statistics.median(
                        b / a for a, b in zip(times[name], times[peer])), 2)}
                   for name, peer in (("check", "perf_script"), ("sched", "perf_timehist"))]
        sizes = os.path.getsize(trace) / records, os.path.getsize(data) / records
    if options.json:
        print(json.dumps(results, indent=1))
        return
    print("%d records; %.1f bytes each, perf %.1f" % (records, *sizes))
    for result in results:
        print("%-18s %11d records/s  %s %11d records/s  ratio %.2f" % (
            result["name"], result["value"], result["peer"], result["peer_value"],
            result["ratio"]))


if __name__ == "__main__":
    if sys.argv[1:] == ["--skein", "switch"]:
        switching()
    else:
        main()
