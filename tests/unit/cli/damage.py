# SPDX-License-Identifier: Apache-2.0
"""Every command that reads a trace file ends with 1 where bytes of the file belong to no partition or a
partition is broken, and gives all the rest.

  damage.py SKEIN MAKE_TRACE
"""
import os
import shutil
import subprocess
import sys
import tempfile

skein, make = sys.argv[1:]
COMMANDS = [
    ["report"], ["report", "-o", "json"], ["report", "--html", "OUT"], ["stats"], ["stats", "--json"],
    ["diff", "--before", "MIDDLE"], ["diff", "--before", "MIDDLE", "--json"], ["cat"], ["cat", "--longest", "3"],
    ["what"], ["sched"], ["vitals"], ["sql", "select count(*) from event"],
    *(["export", "--to", form, "-o", "OUT"] for form in ("perfetto", "pprof", "folded", "chrome", "ctf", "fxt", "otlp")),
]
MIDDLE = "2026-11-21T09:40:00.0064Z"


def write(name, data):
    with open(name, "wb") as file:
        file.write(data)
    return name


def ran(words, file, out):
    words = [{"OUT": out, "MIDDLE": MIDDLE}.get(word, word) for word in words]
    done = subprocess.run([skein, words[0], file, *words[1:]], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout, done.stderr.decode()


def parts_of(data):
    """Where partitions begin: the head of each says how long it is (docs/format.md, F-8)."""
    at, found = 0, []
    while at < len(data):
        found.append(at)
        at += int.from_bytes(data[at + 16:at + 20], "little")
    return found


def judged(file, out, status, *sentences):
    for words in COMMANDS:
        got, printed, told = ran(words, file, out)
        assert got == status, f"{words} of {file}: {got}: {told}"
        made = os.path.exists(out)
        assert made if "OUT" in words else printed, f"{words} of {file} gave nothing"
        for sentence in sentences:
            assert sentence in told, f"{words} of {file}: {told}"
        if made:
            shutil.rmtree(out) if os.path.isdir(out) else os.unlink(out)


def main(folder):
    whole, out = os.path.join(folder, "whole.skein"), os.path.join(folder, "out")
    subprocess.run([make, whole], check=True)
    with open(whole, "rb") as file:
        data = file.read()
    parts = parts_of(data)
    assert len(parts) == 6
    judged(whole, out, 0)
    torn = write(os.path.join(folder, "torn.skein"), data[:-5])
    judged(torn, out, 1, "belong to no whole partition")
    for words in (["info"], ["info", "-o", "json"]):  # it reads footers alone, and says what else there is
        got, printed, told = ran(words, torn, out)
        assert got == 1 and printed and "belong to no whole partition" in told, (words, got, told)
    broken = bytearray(data)
    broken[parts[1] + 32 + 24] ^= 1  # of INFO, behind both heads
    judged(write(os.path.join(folder, "broken.skein"), broken), out, 1, "F-9")
    # Twice torn by as much: both are told of.
    junk = b"torn"
    twice = write(os.path.join(folder, "twice.skein"), data[:parts[1]] + junk + data[parts[1]:] + junk)
    for words in (["stats"], ["report"], ["sql"]):
        got, _, told = ran([*words, *(["select count(*) from event"] if words == ["sql"] else [])], twice, out)
        assert got == 1 and told.count("belong to no whole partition") == 2, f"{words}: {got}: {told}"


with tempfile.TemporaryDirectory() as place:
    main(place)
