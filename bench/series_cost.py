#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What summing captures up costs a collector, on captures that are real.

    bench/series_cost.py BUILD_FOLDER DATA_DIR

Copies the data_dir of a collector that is stopped, without its analysis.db, starts skeind on the copy,
waits until every capture is summed up, and prints: CPU time of skeind and of its analysts, for each
capture and for a million events; bytes of a report, of a summary and of a row of the series.
"""
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read().decode()


def captures(base):
    cursor, items = "", []
    while True:
        page = json.loads(get(f"{base}/api/v1/captures?limit=200{cursor}"))
        items += page["items"]
        if not page.get("next_cursor"):
            return items
        cursor = "&cursor=" + page["next_cursor"]


def metric(text, name):
    for line in text.splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    return 0.0


def cpu_s(pid):
    """Of the process, and of the children that it has waited for."""
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    ticks = os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) / ticks, (int(fields[13]) + int(fields[14])) / ticks


def wait_done(base, want):
    """Returns the longest that a small request took meanwhile."""
    slowest = 0.0
    while True:
        began = time.monotonic()
        text = get(f"{base}/metrics")
        slowest = max(slowest, time.monotonic() - began)
        done = metric(text, "skein_analysis_done_total") + metric(text, "skein_analysis_refused_total")
        if done >= want and metric(text, "skein_analysis_queue") == 0:
            return slowest
        time.sleep(0.2)


def sizes_print(path):
    db = sqlite3.connect(path)
    for kind, name in ((0, "reports"), (1, "summaries")):
        count, raw, packed = db.execute(
            "select count(*), total(raw), total(packed) from answer where kind=?", (kind,)).fetchone()
        if count:
            print(f"{name}: {count}, {raw / count:.0f} bytes each, {packed / count:.0f} as stored")
    count, byte_sum = db.execute("select count(*), total(length(bytes)) from row").fetchone()
    if count:
        print(f"rows of the series: {count}, {byte_sum / count:.0f} bytes each without their key")
    print(f"analysis.db: {os.path.getsize(path)} bytes")


def main():
    build, data = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "collector")
        shutil.copytree(data, copy, ignore=shutil.ignore_patterns("analysis.db*"))
        http = port()
        config = os.path.join(folder, "collector.json")
        with open(config, "w") as out:
            json.dump({"listen": {"data": f"tcp://127.0.0.1:{port()}",
                                  "control": f"tcp://127.0.0.1:{port()}",
                                  "http": f"127.0.0.1:{http}"}, "data_dir": copy}, out)
        log = open(os.path.join(folder, "log"), "w")
        began = time.monotonic()
        daemon = subprocess.Popen([f"{build}/server/skeind", "--config", config], stderr=log, stdout=log)
        base = f"http://127.0.0.1:{http}"
        try:
            while True:
                try:
                    get(f"{base}/readyz")
                    break
                except OSError:
                    if daemon.poll() is not None:
                        sys.exit(open(log.name).read())
                    time.sleep(0.1)
            ended = [c for c in captures(base) if c["status"] != "running"]
            slowest = wait_done(base, len(ended))
            took = time.monotonic() - began
            own, children = cpu_s(daemon.pid)
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()
        events = sum(c["ledger"]["stored"] for c in ended)
        print(f"captures: {len(ended)}, events: {events}, {took:.1f} s in all")
        print(f"CPU: {own:.2f} s of skeind, its start included, {children:.2f} s of its analysts: "
              f"{(own + children) / len(ended) * 1000:.1f} ms a capture, "
              f"{(own + children) / events * 1e6:.2f} s a million events, "
              f"{(own + children) / took * 100:.0f} % of one processor")
        print(f"slowest answer of GET /metrics meanwhile: {slowest * 1000:.0f} ms")
        sizes_print(os.path.join(copy, "analysis.db"))


if __name__ == "__main__":
    main()
