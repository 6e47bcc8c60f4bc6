#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""What is no trace is refused with a sentence by every command that reads one, and none waits for it,
ends by a signal or leaves something behind. What cannot be written is told, once.

    odd_files.py SKEIN TRACE
"""
import os
import shutil
import subprocess
import sys
import tempfile

DEADLINE_S = max(60, int(os.environ.get("SKEIN_TEST_DEADLINE_MS", "0")) / 1000)
skein, sound = sys.argv[1:]
READ = [["info"], ["check"], ["cat"], ["cat", "--longest", "3"], ["what"], ["report"], ["report", "--html", "out"], ["stats"],
        ["sched"], ["vitals"], ["threads"], ["diff", "--before", "-1s"], ["sql", "FILE", "select 1 from event"],
        *(["import", kind, "FILE"] for kind in ("perf", "go", "ctf", "fxt", "perf-script")),
        *(["export", "--to", form, "-o", "out"] for form in ("perfetto", "pprof", "folded", "chrome", "ctf", "fxt", "otlp"))]
WRITE = [["info"], ["check"], ["cat"], ["cat", "-j"], ["what"], ["report"], ["report", "-o", "json"], ["report", "--html", "-"],
         ["stats"], ["stats", "--json"], ["sched"], ["vitals"], ["sql", "FILE", "select * from event"],
         ["sql", "--csv", "FILE", "select * from event"], ["export", "--to", "fxt", "-o", "-"], ["diff", "FILE", "FILE"]]


def words_of(words, file):
    if "FILE" in words:
        return [skein, *(file if word == "FILE" else word for word in words)]
    return [skein, words[0], file, *words[1:]]


def run(words, **how):
    how.setdefault("stdout", subprocess.PIPE)
    return subprocess.run(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=DEADLINE_S, check=False, **how)


def refused(folder):
    os.mkfifo("fifo")
    os.mkdir("folder")
    os.symlink("loop", "loop")
    with open("text", "w") as text:
        text.write("no trace\n" * 9)
    with open("zeros", "wb") as zeros:
        zeros.truncate(8 << 20)
    open("empty", "wb").close()
    there = sorted(os.listdir(folder))
    for file in (*there, "missing", "/dev/null", "/dev/zero", "/proc/self/mem"):
        for words in READ:
            done = run(words_of(words, file))
            assert done.returncode == 1 and file.encode() in done.stderr, (words, file, done)
            assert sorted(os.listdir(folder)) == there, (words, file, os.listdir(folder))


def told_once():
    for words in WRITE:
        with open("/dev/full", "wb") as full:
            done = run(words_of(words, sound), stdout=full)
        assert done.returncode == 1 and done.stderr.count(b"No space left") == 1, (words, done)
        done = run(["sh", "-c", 'exec "$@" >&-', "sh", *words_of(words, sound)])
        assert done.returncode == 1 and done.stderr, (words, done)
        done = run(["bash", "-c", '"$@" | head -c 1 >&2; exit ${PIPESTATUS[0]}', "sh", *words_of(words, sound)])
        assert done.returncode in (0, 1, 141) and b"skein: " not in done.stderr, (words, done)


def without_surroundings():
    """Neither home nor terminal nor language is needed."""
    for words in WRITE:
        bare = run(words_of(words, sound), env={"PATH": os.environ["PATH"]})
        full = run(words_of(words, sound), env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"})
        assert bare.stdout == full.stdout and bare.returncode == full.returncode == 0, (words, bare)


def odd_options():
    for words in (["stats", sound, "--top", "0"], ["report", sound, "--top", "0"], ["report", sound, "--html", "x", "-o", "json"],
                  ["report", sound, "--from", "x"], ["report", sound, "--from", "-1s", "--to", "-2s"], ["cat", sound, "--groups", "x"],
                  ["report"], ["nothing"], [""], ["sql", "select 1"], ["diff", sound, sound, sound], ["export", sound, "--to", "x"]):
        done = run([skein, *words])
        assert done.returncode == 2 and done.stderr.startswith(b"skein: ") and not done.stdout, (words, done)
    for words in (["cat", sound, "-p", "nobody"], ["stats", sound, "-p", "nobody"]):
        done = run([skein, *words])
        assert done.returncode == 1 and b"no process of the trace is nobody" in done.stderr, (words, done)
    for words in (["stats", sound, "--top", "1"], ["stats", sound, "-t", "["], ["cat", sound, "--limit", "0"], ["sql", sound, ""]):
        assert run([skein, *words]).returncode == 0, words


with tempfile.TemporaryDirectory() as place:
    os.chdir(place)
    sound = shutil.copy(os.path.join("/", sound), os.path.join(place, "sound.skein"))
    told_once()
    without_surroundings()
    odd_options()
    os.unlink(sound)
    refused(place)
