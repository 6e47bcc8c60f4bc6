#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""The console that was built names the licence of everything that its sources import and that the reader is made
of, and of no package that is for building or testing alone; and a package without a licence stops the build.

usage: console_licences.py SOURCES NODE
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCES, NODE = sys.argv[1:]
WEB = os.path.join(SOURCES, "web")
MADE_TO_BUILD = {"vite"}  # a few lines of it load pages


def read(*names):
    with open(os.path.join(*names), encoding="utf-8") as file:
        return file.read()


def titles(text):
    return set(re.findall(r"^== (\S+)", text, re.M))


def imported():
    """Packages that the sources import, with what these depend on themselves."""
    found = set()
    for folder, _, names in os.walk(os.path.join(WEB, "src")):
        for name in names:
            if name.endswith((".ts", ".tsx")):
                text = re.sub(r"^import type .*?;$", "", read(folder, name), flags=re.M | re.S)
                found |= set(re.findall(r"""\b(?:from|import|import\() ?"((?:@[a-z0-9-]+/)?[a-z0-9][a-z0-9.-]*)[/"]""", text))
    packages = json.loads(read(WEB, "package-lock.json"))["packages"]
    found = {name for name in found if f"node_modules/{name}" in packages}  # the rest is text
    more = set(found)
    while more:
        more = {name for one in more for name in packages[f"node_modules/{one}"].get("dependencies", {})} - found
        found |= more
    return found, {key.removeprefix("node_modules/") for key, value in packages.items() if value.get("dev")}


def named():
    text = read(SOURCES, "build", "web", "dist", "assets", "licences.txt")
    wanted, building = imported()
    assert {"preact", "preact-iso", "@preact/signals"} <= wanted, wanted
    missing = wanted - titles(text)
    assert not missing, f"licences.txt lacks {missing}"
    assert not (titles(text) & building) - MADE_TO_BUILD, titles(text) & building
    for part in text.split("\n== ")[1:]:
        assert len(part) > 100, f"no licence: {part}"
    assets = os.listdir(os.path.join(SOURCES, "build", "web", "dist", "assets"))
    if any(name.endswith(".wasm") for name in assets):
        assert {"xxHash", "cJSON", "wasi-libc", "musl", "compiler-rt"} <= titles(text), titles(text)


def refused():
    """A package that brings no licence."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(os.path.join(WEB, "licences"), os.path.join(folder, "licences"))
        package = os.path.join(folder, "node_modules", "bare")
        dist = os.path.join(folder, "dist")
        os.makedirs(package)
        os.makedirs(os.path.join(dist, "assets"))
        with open(os.path.join(package, "package.json"), "w", encoding="utf-8") as file:
            file.write('{"version": "1.0.0", "license": "MIT"}')
        with open(os.path.join(folder, "shipped"), "w", encoding="utf-8") as file:
            file.write("bare\nbare\n")
        command = [NODE, os.path.join(folder, "licences", "licences.mjs"), dist, os.path.join(folder, "shipped")]
        ran = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        assert ran.returncode != 0 and "bare has no licence" in ran.stderr, ran
        with open(os.path.join(package, "LICENCE.txt"), "w", encoding="utf-8") as file:
            file.write("Do what you like.\n")
        subprocess.run(command, check=True)
        text = read(dist, "assets", "licences.txt")
        assert "== bare 1.0.0 (MIT) ==\n\nDo what you like.\n" in text and "xxHash" not in text, text
        with open(os.path.join(dist, "assets", "a.wasm"), "w", encoding="utf-8"):
            pass
        subprocess.run(command, check=True)
        assert {"bare", "xxHash"} <= titles(read(dist, "assets", "licences.txt"))


named()
refused()
