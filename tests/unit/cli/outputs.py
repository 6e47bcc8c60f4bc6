#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Where commands write: never over what they read, into a pipe or device itself, else whole or not at all.

    outputs.py SKEIN TRACE
"""
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading

skein, sound = sys.argv[1:]
EXPORTS = [["export", "--to", form] for form in ("chrome", "fxt", "otlp", "perfetto", "pprof", "folded")]


def run(*words):
    return subprocess.run([skein, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)


def writing(words, trace, to):
    """A command that reads the trace and writes to `to`."""
    return [*words, trace, "--html" if words[0] == "report" else "-o", to]


with tempfile.TemporaryDirectory() as folder:
    trace, fifo = os.path.join(folder, "a.skein"), os.path.join(folder, "fifo")
    shutil.copy(sound, trace)
    with open(trace, "rb") as file:
        was = file.read()
    link = os.path.join(folder, "link")
    os.symlink(trace, link)
    os.mkfifo(fifo)
    for words in [*EXPORTS, ["report"]]:
        for name in (trace, link):
            done = run(*writing(words, trace, name))
            assert done.returncode == 1 and b"is what is read" in done.stderr, (words, done)
            with open(trace, "rb") as file:
                assert file.read() == was, words
        said = []
        reader = threading.Thread(target=lambda said=said: said.append(open(fifo, "rb").read()))
        reader.start()
        done = run(*writing(words, trace, fifo))
        reader.join()
        assert done.returncode == 0 and said[0] and stat.S_ISFIFO(os.stat(fifo).st_mode), (words, done)
        done = run(*writing(words, trace, "/dev/full"))
        assert done.returncode == 1 and b"No space left" in done.stderr, (words, done)
        assert stat.S_ISCHR(os.stat("/dev/full").st_mode), words
        new = os.path.join(folder, "new")
        done = run(*writing(words, trace, new))
        assert done.returncode == 0 and os.path.getsize(new) == len(said[0]), (words, done)
        assert sorted(os.listdir(folder)) == ["a.skein", "fifo", "link", "new"], os.listdir(folder)
        done = run(*writing(words, "/dev/null", new))
        assert done.returncode != 0 and os.path.getsize(new) == len(said[0]), (words, done)
        os.remove(new)

    # An import of a folder: not into it, under whatever name.
    read, beside = os.path.join(folder, "ctf"), os.path.join(folder, "beside")
    os.mkdir(read)
    with open(os.path.join(read, "metadata"), "w", encoding="ascii") as file:
        file.write("kept")
    os.symlink(read, beside)
    os.symlink(os.path.join(read, "metadata"), os.path.join(folder, "x.part"))
    os.symlink(os.path.join(read, "metadata"), os.path.join(folder, "y"))
    for name in (f"{read}/metadata", f"{read}/new", f"{beside}/metadata", f"{folder}/x", f"{folder}/y"):
        done = run("import", "ctf", read, "-o", name)
        assert done.returncode == 1 and b"lies in the folder that is read" in done.stderr, (name, done)
        with open(os.path.join(read, "metadata"), encoding="ascii") as file:
            assert file.read() == "kept" and os.listdir(read) == ["metadata"], name
