#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""leftovers.py with commands that leave nothing, something for a moment, and something for good."""

import os
import subprocess
import sys
import tempfile

LEFTOVERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "leftovers.py")
# As daemons do it: a session of its own, no environment, no output, a parent that has ended.
HIDDEN = "(setsid env -i /bin/sh -c 'echo $$ >pid; %s' </dev/null >/dev/null 2>&1 &) ; until [ -s pid ]; do :; done; exit %d"


def run(folder, within, script):
    if os.path.exists(os.path.join(folder, "pid")):
        os.remove(os.path.join(folder, "pid"))
    done = subprocess.run([sys.executable, "-B", LEFTOVERS, "--within", str(within), "bash", "-c", script],
                          cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def pid_of(folder):
    with open(os.path.join(folder, "pid"), encoding="utf-8") as file:
        return int(file.read())


def is_there(pid):
    return os.path.exists(f"/proc/{pid}")


def main():
    with tempfile.TemporaryDirectory(prefix="skein-leftovers-") as folder:
        assert run(folder, 60, "exit 7") == (7, "")
        assert run(folder, 60, "kill -TERM $$")[0] == 128 + 15
        assert run(folder, 60, HIDDEN % ("exec sleep 0.3", 5)) == (5, "")
        assert not is_there(pid_of(folder))
        for child, status in (("exec sleep 1000", 0), ("sleep 1000 & exec sleep 2000", 4)):
            code, words = run(folder, 0.2, HIDDEN % (child, status))
            assert code == 99, (code, words)
            assert "LEFT RUNNING" in words and f"{pid_of(folder)} sleep" in words, words
            assert words.count("sleep ") >= child.count("sleep "), words
            assert not is_there(pid_of(folder))
        # What it runs ignores no signal that it did not ignore before.
        assert run(folder, 60, "[ $((0x$(sed -n 's/^SigIgn:.//p' /proc/$$/status) & 0x1000)) -eq 0 ]") == (0, "")
    print("all is found that is left, and nothing else")


main()
