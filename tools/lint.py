#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy with the rules of .clang-tidy over the C sources that git knows and the build compiles.

usage: tools/lint.py [FILE...]    FILEs alone, where given; needs a configured build (BUILD, build/clang)

A file that was clean is not read again until what the compiler sees of it is another: its text and that of
its headers with their comments, its flags, the rules, the version of clang-tidy. What was clean is noted in
$XDG_CACHE_HOME/skein-lint (a month, then it is read anew); remove that folder, and all is.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

KEEP_S = 30 * 86400
NOISE = ("Suppressed ", "Use -header-filter", "Use -system-headers")


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def seen(entry):
    """What the compiler sees of a file, comments too: NOLINT is one. None: it does not compile."""
    words = shlex.split(entry["command"])
    flags = next(i for i, word in enumerate(words) if word.startswith("-"))  # a launcher may stand in front
    at = words.index("-o")
    words = [word for word in words[flags - 1:at] + words[at + 2:] if word != "-c"]
    ran = subprocess.run([*words, "-E", "-CC", "-w"], cwd=entry["directory"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return None if ran.returncode else ran.stdout + "\0".join(words).encode()


def lint(entry, build, rules, notes):
    """The warnings of a file, "": none. Notes one that has none."""
    text = seen(entry)
    root = os.getcwd().encode()
    note = notes / hashlib.sha256(rules + (text or b"").replace(root, b"")).hexdigest()
    if text is not None and note.exists():
        return ""
    ran = subprocess.run(["clang-tidy", "--quiet", "-p", build, entry["file"]], check=False, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = [line for line in ran.stdout.splitlines(keepends=True)
             if not line.startswith(NOISE) and not line.endswith((" warning generated.\n", " warnings generated.\n"))]
    if ran.returncode == 0 and not lines:
        if text is not None:
            note.touch()
        return ""
    return "".join(lines) or f"{entry['file']}: clang-tidy ended with {ran.returncode}\n"


def main():
    os.chdir(pathlib.Path(__file__).parent.parent)
    build = os.environ.get("BUILD", "build/clang")
    commands = pathlib.Path(build, "compile_commands.json")
    if not commands.exists():
        sys.exit(f"lint: no {commands}: configure first, cmake --preset clang")
    notes = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "skein-lint")
    notes.mkdir(parents=True, exist_ok=True)
    for old in notes.iterdir():
        if old.stat().st_mtime < time.time() - KEEP_S:
            old.unlink(missing_ok=True)
    wanted = sys.argv[1:] or output("git", "ls-files", "*.c").decode().split()
    wanted = {os.path.realpath(file) for file in wanted}
    entries = {entry["file"]: entry for entry in json.loads(commands.read_text()) if entry["file"] in wanted}
    rules = output("clang-tidy", "--version") + pathlib.Path(".clang-tidy").read_bytes()
    bad = False
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for text in pool.map(lambda entry: lint(entry, build, rules, notes), entries.values()):
            bad = bad or text != ""
            print(text, end="", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
