#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `skein series` makes of answers that no collector of ours gives: texts that would reach the
terminal, and numbers that are no times. A sanitizer says what cannot be seen here.

    hostile_series.py SKEIN
"""
import http.server
import json
import os
import pty
import subprocess
import sys
import threading

HOSTILE = "\x1b]0;owned\x07\x9b31m\u202e2026"
NUMBERS = (-5, -1e308, 1e308, 0, 1e-300, 18.4e9, 1e11)


def rule(holds, *what):
    if not holds:
        sys.exit("hostile_series: " + " ".join(str(w) for w in what))


def points():
    return [{"at": "2026-11-21T0%d:00:00.000Z" % i, "value": v, "seen_s": 1} for i, v in enumerate(NUMBERS)]


def answer(path):
    metric = path.split("metric=")[1].split("&")[0]
    lines = [] if "service=none" in path else [
        {"service": HOSTILE, "name": HOSTILE, "points": points()},
        {"service": "shop", "points": [dict(p, value=1e308 * 10) for p in points()]}]
    return {"metric": metric, "unit": "", "quantile": 1e300, "from": "2026-11-21T00:00:00.000Z" + HOSTILE,
            "to": HOSTILE, "step_s": 600, "coarsest_s": 600, "series": lines, "left_out": {}}


class Collector(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        # Infinity is no JSON; a number that is too large is, and becomes it.
        body = json.dumps(answer(self.path)).replace("Infinity", "1e999").encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def on_terminal(command, environment):
    """What it writes where a person looks: with the little pictures."""
    ours, its = pty.openpty()
    process = subprocess.Popen(command, stdout=its, stderr=subprocess.STDOUT, env=environment)
    os.close(its)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            piece = b""
        if not piece:
            break
        seen += piece
    os.close(ours)
    return process.wait(), seen


def check(what, status, seen):
    rule(status == 0, what, "ends with", status, seen)
    for byte in (b"\x1b]", b"\x07", b"\xc2\x9b", b"\xe2\x80\xae"):
        rule(byte not in seen, what, "lets", byte, "through:", seen)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = dict(os.environ, SKEIN_COLLECTOR="http://127.0.0.1:%d" % server.server_port)
    for metric in ("latency", "self", "count", "rate", "sampled", "wait"):
        for service in ("shop", "none"):
            command = [sys.argv[1], "series", "-m", metric, "-s", service]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
            check(command[2:], done.returncode, done.stdout)
            check(command[2:], *on_terminal(command, environment))
    rule(b"2026-11-21T00:00:00.000Z\\x1b" in done.stdout, "the time is not shown:", done.stdout)
    server.shutdown()


main()
