# SPDX-License-Identifier: Apache-2.0
"""What cases share. Each case is a function that makes a world, lets programs work and lose events in
one way, captures, and gives what it captured to the judge. Numbers are drawn from the case's own
random generator, so that a seed repeats them. `m` is the Matrix of run_matrix.py.
"""
import os
import time

KIB, MIB = 1 << 10, 1 << 20
ONESHOT = 1  # enum skein_mode
SLEEPS = ("sleep", 1000000)  # the events of verdict_plain.c
CASES = []


def case(weight):
    """weight: how often the case is run in a full round."""
    def mark(function):
        CASES.append((function.__name__, function, weight))
        return function
    return mark


def shots(m, w, subjects, count=3, longest_ms=4000, **how):
    """Some captures at random moments, of random windows."""
    for _ in range(count):
        time.sleep(m.rng.uniform(0.05, 0.6))
        m.judge(w, w.capture(pre_ms=m.rng.randrange(100, longest_ms)), subjects, **how)


def rfc3339(seconds):
    whole = int(seconds)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + ".%03dZ" % ((seconds - whole) * 1000)


def spooled(folder):
    """Files that hold partitions."""
    found = []
    for d, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(d, name)
            if name.startswith("tmp-") or not os.path.isfile(path):
                continue  # being written, or a socket
            try:
                with open(path, "rb") as f:
                    if b"skein\r\n\x1a" in f.read(4096):
                        found.append(path)
            except FileNotFoundError:
                pass
    return sorted(found)


def flip(path, place):
    with open(path, "r+b") as f:
        whole = f.read()
        at = int(len(whole) * place)
        f.seek(at)
        f.write(bytes([whole[at] ^ 0x5A]))


def fill(path, leave):
    """Takes all room of the disk but `leave` bytes."""
    room = os.statvfs(os.path.dirname(path))
    left = room.f_bavail * room.f_frsize - leave
    with open(path, "wb", buffering=0) as f:  # what is left in a buffer would be tried again by its close
        try:
            while left > 0:
                left -= f.write(b"\0" * min(left, 1 << 16))
        except OSError:
            pass


def is_said(log, what, capture):
    with open(log, encoding="utf-8") as f:
        return "%s capture=%s" % (what, capture) in f.read()
