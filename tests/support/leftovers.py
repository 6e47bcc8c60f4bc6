#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command, and says what it leaves running.

All that the command begins stays below this process, also what gave up its parent, its session and its
environment: it is their reaper, as init else is. What is still there some seconds after the command's end
is listed and ended, and the status is then 99; else it is the command's own.

    leftovers.py [--within SECONDS] COMMAND [ARGUMENT...]
"""

import argparse
import ctypes
import os
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
AT_A_TIME_S = 0.05
LEFT_RUNNING = 99


def below(top):
    """[(process, command line)] of all that descend from this process and have not ended."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                comm, _, rest = file.read().partition("(")[2].rpartition(")")
            with open(f"/proc/{name}/cmdline", encoding="utf-8", errors="replace") as file:
                words = file.read().replace("\0", " ").strip()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
        state, parent = rest.split()[:2]
        found[int(name)] = (int(parent), state, words or f"[{comm}]")
    family = {top}
    while True:
        more = {pid for pid, (parent, _, _) in found.items() if parent in family} - family
        if not more:
            break
        family |= more
    return sorted((pid, found[pid][2]) for pid in family - {top} if found[pid][1] != "Z")


def reap():
    """Takes what has ended. False: there is no child any more."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        return False
    return True


def run(command):
    """The command's exit status. What ends before it, and is nobody else's, is taken on the way."""
    # Python ignores some signals, which its children would do then, too.
    child = os.posix_spawnp(command[0], command, os.environ, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ])
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def all_end(deadline_s):
    end = time.monotonic() + deadline_s
    while reap():
        if time.monotonic() > end:
            return False
        time.sleep(AT_A_TIME_S)
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--within", type=float, default=10, metavar="SECONDS")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not options.command:
        parser.error("no command")
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("leftovers: prctl: " + os.strerror(ctypes.get_errno()))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    status = run(options.command)
    if all_end(options.within):
        return status
    print(f"LEFT RUNNING by {' '.join(options.command)}:", file=sys.stderr)
    for pid, words in below(os.getpid()):
        print(f"    {pid} {words}", file=sys.stderr)
    while reap():  # the children of what is ended here come to us, and are next
        for pid, _ in below(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(AT_A_TIME_S)
    return LEFT_RUNNING


if __name__ == "__main__":
    sys.exit(main())
