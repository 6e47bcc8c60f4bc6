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
    # A page on standard output is the page in a file.
    assert run("report", trace, "--html", new).returncode == 0
    done = run("report", trace, "--html", "-")
    with open(new, "rb") as file:
        assert done.returncode == 0 and done.stdout == file.read()
    os.remove(new)
    # Names of files are text, whatever they hold: none makes a line, or steers a terminal.
    name = os.path.join(folder, "a\nskein: fine\x1b[2J\u009b1m\u202egnp")
    shutil.copy(sound, name)
    shown = b"a\\x0askein: fine\\x1b[2J\\u{9b}1m\\u{202e}gnp"
    for words in (["check", name], ["info", name], ["diff", name, name], *([*form, "-o", name + "2", name] for form in EXPORTS),
                  ["check", name + "3"], ["cat", name + "3"], ["sql", name + "3", "select 1"], ["report", name + "3"]):
        done = run(*words)
        said = done.stdout + done.stderr
        assert shown in said and not any(c in said for c in (b"\x1b", b"\xc2\x9b", b"\xe2\x80\xae", b"\nskein: fine")), (words, said)
    done = run("check", "-o", "json", name)
    assert b"\\u009b" in done.stdout and b"\xc2\x9b" not in done.stdout, done
