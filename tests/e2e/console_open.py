#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`skein console` on a terminal with a display opens the browser, and no argument of a program has the code.

console_open.py SKEIN TOKEN_FILE    SKEIN_COLLECTOR, SKEIN_CA: as for skein
"""
import os
import pty
import re
import stat
import subprocess
import sys
import tempfile

skein, token = sys.argv[1:]
folder = tempfile.mkdtemp()
tools, runtime, told = (os.path.join(folder, name) for name in ("bin", "run", "told"))
os.mkdir(tools)
os.mkdir(runtime, 0o700)
with open(os.path.join(tools, "xdg-open"), "w", encoding="utf-8") as script:
    script.write(f"#!/bin/sh\necho \"$@\" > {told}\n")
os.chmod(script.name, 0o755)


def console(**more):
    """What it printed on a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "DISPLAY": ":0", "PATH": tools + ":/usr/bin:/bin", "XDG_RUNTIME_DIR": runtime, **more}
    done = subprocess.run([skein, "console", "--token-file", token], stdout=theirs, stderr=subprocess.PIPE,
                          env=environment, timeout=30, check=True)
    os.close(theirs)
    return os.read(ours, 4096).decode(), done.stderr.decode()


page = os.path.join(runtime, "skein-console.html")
code = None
for _ in range(2):  # the second replaces the first's page
    link, words = console()
    with open(told, encoding="utf-8") as pipe:
        argument = pipe.read().strip()
    assert argument == "file://" + page, argument
    assert "the browser opens it" in words, words
    assert stat.S_IMODE(os.stat(page).st_mode) == 0o600
    found = re.search(r"login#c=([\w-]{43})", link)[1]
    assert found != code
    code = found
    with open(page, encoding="utf-8") as html:
        assert f'content="0;url={link.strip()}"' in html.read()

os.chmod(runtime, 0o755)
link, words = console()
assert "login#c=" in link and "opens" not in words, words
os.chmod(runtime, 0o700)
link, words = console(DISPLAY="", WAYLAND_DISPLAY="")
assert "login#c=" in link and "opens" not in words, words
