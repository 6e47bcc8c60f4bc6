#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# That docs/sql.md names every column of every table, and no other table, and that what it shows is
# what `skein sql` prints: page.py SKEIN MAKE_SQL_TRACE PAGE [--write]
import os
import re
import shlex
import subprocess
import sys
import tempfile

SKEIN, MAKE, PAGE = sys.argv[1:4]


def run(folder, words):
    out = subprocess.run([SKEIN, *words], cwd=folder, stdout=subprocess.PIPE)
    if out.returncode != 0:
        sys.exit(f"{words}: status {out.returncode}")
    return out.stdout.decode().replace("\r\n", "\n")


def blocks_shown(text, folder):
    """The page, with what each command prints behind it."""
    def shown(block):
        commands = [line for line in block.group(1).splitlines() if line.startswith("$ ")]
        return "```console\n" + "".join(c + "\n" + run(folder, shlex.split(c[2:])[1:]) for c in commands) + "```"
    return re.sub(r"```console\n(.*?)```", shown, text, flags=re.S)


def columns_named(text, folder):
    """Each section tells of one table, or each of its tables of one: `Column of `NAME``."""
    common = text[text.index("Columns that most tables have"):text.index("## What is read")]
    for line in run(folder, ["sql", "shop.skein", ".schema"]).splitlines():
        table, columns = re.match(r"create table (\w+)\((.*)\);", line).groups()
        found = re.findall(rf"(?:^### {table}$|Column of `{table}` )(.*?)(?=^#|Column of `|\Z)", text, flags=re.S | re.M)
        if not found:
            sys.exit(f"docs/sql.md does not tell of table {table}")
        words = set(re.findall(r"`(\w+)`", " ".join(found) + common))
        for column in columns.split(", "):
            if column.split(" ")[0] not in words:
                sys.exit(f"docs/sql.md does not tell of {table}.{column}")


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([MAKE, os.path.join(folder, "shop.skein")], check=True)
    text = open(PAGE, encoding="utf-8").read()
    columns_named(text, folder)
    wanted = blocks_shown(text, folder)
    if sys.argv[4:] == ["--write"]:
        open(PAGE, "w", encoding="utf-8").write(wanted)
    elif wanted != text:
        for a, b in zip(text.splitlines(), wanted.splitlines()):
            if a != b:
                sys.exit(f"docs/sql.md shows '{a}', skein prints '{b}'")
        sys.exit("docs/sql.md shows less or more than skein prints")
