#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""What `skein` says of the console: `skein open`, and the page that a capture's commands name, against a
collector that is made up here, on a terminal and without one, with a browser and without.

usage: links.py SKEIN
"""
import http.server
import json
import os
import pty
import subprocess
import sys
import tempfile
import threading

SKEIN = sys.argv[1]
ID = "0193a5c0e1f27d3b8c4e5f60718293a4"
TIME = "2026-11-21T09:40:00.000Z"
NAMED = "https://skein.example/captures/" + ID


class Collector(http.server.BaseHTTPRequestHandler):
    url = None  # what it says of the capture's page

    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.path == "/api/v1/whoami":
            self.answer(200, {"name": "local", "login_needed": False, "url": self.url})
            return
        capture = {"capture": ID, "incident": ID, "kind": "snapshot", "status": "complete", "at": TIME, "pre_ms": 1,
                   "post_ms": 0, "window": {"from": TIME, "to": TIME}, "created": TIME, "deadline": TIME,
                   "target_counts": {}, "ledger": {"produced": 1, "stored": 1, "reasons": {}, "gaps": []},
                   "verdict": {"complete": True, "text": "complete"}}
        if self.url is not None:
            capture["url"] = self.url
        listing = self.path.startswith("/api/v1/captures?")
        found = listing or self.path == "/api/v1/captures/" + ID
        self.answer(200 if found else 404, {"items": [capture]} if listing else capture if found else
                    {"type": "urn:skein:problem:not-found", "status": 404, "detail": "no such capture"})

    def answer(self, status, said):
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def ask(*words, status=0, **environment):
    """What it prints, without a terminal."""
    ran = subprocess.run([SKEIN, *words], env={"PATH": "/nowhere", **environment}, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert ran.returncode == status, f"{words}: {ran.returncode}: {ran.stdout}"
    return ran.stdout


def ask_on_terminal(*words, **environment):
    """What it prints on one."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(SKEIN, [SKEIN, *words], {"PATH": "/nowhere", **environment})
    text = b""
    try:
        while part := os.read(terminal, 4096):
            text += part
    except OSError:  # Linux says so of the end
        pass
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, text
    return text.decode().replace("\r\n", "\n")


def browser_make(folder, status):
    """xdg-open that writes down what it was given."""
    path = os.path.join(folder, "xdg-open")
    with open(path, "w", encoding="utf-8") as out:
        out.write(f'#!/bin/sh\necho "$*" >>{folder}/opened\necho noise\nexit {status}\n')
    os.chmod(path, 0o755)


def opened(folder):
    try:
        with open(os.path.join(folder, "opened"), encoding="utf-8") as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def captures(at):
    own = f"{at}/captures/{ID}"
    Collector.url = None
    assert ask("open", ID, SKEIN_COLLECTOR=at) == own + "\n"
    assert ask("open", ID[:8], "--print", SKEIN_COLLECTOR=at + "/") == own + "\n"
    assert f"page       {own}\n" in ask("capture", "show", ID, SKEIN_COLLECTOR=at)
    assert json.loads(ask("capture", "show", "-o", "json", ID, SKEIN_COLLECTOR=at))["url"] == own
    Collector.url = NAMED
    assert ask("open", ID, SKEIN_COLLECTOR=at) == NAMED + "\n"
    assert f"page       {NAMED}\n" in ask("capture", "show", ID, SKEIN_COLLECTOR=at)
    Collector.url = "https://x/\x1b[2J\u202e"
    assert "\x1b" not in ask("open", ID, SKEIN_COLLECTOR=at)
    Collector.url = NAMED
    assert "no such capture" in ask("open", "f" * 32, status=1, SKEIN_COLLECTOR=at)


def files(at, folder):
    path = os.path.join(folder, "a.skein")
    with open(path, "wb"):
        pass
    said = ask("open", path, SKEIN_COLLECTOR=at)
    assert said.startswith(f"{at}/open\n") and path in said and "nothing is uploaded" in said, said
    assert ask("open", "--print", path, SKEIN_COLLECTOR=at) == f"{at}/open\n"
    assert "No such file" in ask("open", os.path.join(folder, "b.skein"), status=1, SKEIN_COLLECTOR=at)


def browsers(at, folder):
    """Only on a terminal of a desktop that has one."""
    everything = {"PATH": folder, "DISPLAY": ":7", "SKEIN_COLLECTOR": at}
    browser_make(folder, 0)
    assert ask("open", ID, **everything) == NAMED + "\n"
    assert ask_on_terminal("open", "--print", ID, **everything) == NAMED + "\n"
    assert ask_on_terminal("open", ID, **{**everything, "DISPLAY": ""}) == NAMED + "\n"
    assert ask_on_terminal("open", ID, **{**everything, "PATH": "/nowhere"}) == NAMED + "\n"
    assert opened(folder) == []
    assert ask_on_terminal("open", ID, **everything) == f"opened {NAMED}\n"
    assert ask_on_terminal("open", ID, **{**everything, "DISPLAY": "", "WAYLAND_DISPLAY": "w"}) == f"opened {NAMED}\n"
    assert opened(folder) == [NAMED, NAMED]
    for wrong in "file:///a.desktop", "smb://x/a", "javascript:alert(1)", "--version", "httpx://a", "":
        Collector.url = wrong
        os.unlink(os.path.join(folder, "opened"))
        assert not ask_on_terminal("open", ID, **everything).startswith("opened")
        assert opened(folder) == []
        assert ask_on_terminal("console", **everything).startswith(f"{at}/\n")
        assert opened(folder) == [at + "/"]
    Collector.url = NAMED
    assert ask_on_terminal("console", **everything).startswith(f"{NAMED}/\n")
    browser_make(folder, 4)  # it could not
    assert ask_on_terminal("open", ID, **everything) == NAMED + "\n"


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    at = f"http://127.0.0.1:{server.server_address[1]}"
    with tempfile.TemporaryDirectory() as folder:
        captures(at)
        files(at, folder)
        browsers(at, folder)
    server.shutdown()


main()
