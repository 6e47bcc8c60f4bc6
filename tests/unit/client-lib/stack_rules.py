#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stack_rules.py PRINTER READELF: the rules that the stack walker follows in the libraries of this
system, beside what readelf makes of the same tables, in each row of each function.

A rule that is not followed (5) is right wherever readelf shows one that is not simple; where it shows a
simple one, the walker has to follow it."""
import random
import re
import subprocess
import sys

NONE, RSP, RBP, AT_RBP, OUTERMOST, STRANGE = range(6)
ROWS = 40000  # of a library that are compared at most, drawn by chance


def libraries(printer):
    said = subprocess.run(["ldd", printer], capture_output=True, text=True, check=True).stdout
    for name in ("libc.so", "ld-linux"):
        yield next(word for line in said.splitlines() if name in line for word in line.split()
                   if word.startswith("/"))
    said = subprocess.run(["ldd", sys.executable], capture_output=True, text=True, check=True).stdout
    for name in ("libm.so", "libexpat.so", "libz.so"):
        yield from (word for line in said.splitlines() if name in line for word in line.split()
                    if word.startswith("/"))


def rows_of(readelf, path):
    """{(address, end of the row): (cfa, rbp, ra)} as texts, and the entries of signal frames."""
    # Its status is 1 also for a file of debug information that it misses.
    said = subprocess.run([readelf, "-wF", path], capture_output=True, text=True, check=False).stdout
    strange, columns, end, cie, rows = set(), [], 0, None, []
    for line in said.splitlines():
        head = re.match(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ CIE \"(\w*)\"", line)
        if head:
            cie = None
            if "S" in head.group(2):
                strange.add(head.group(1))
            continue
        head = re.match(r"[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=([0-9a-f]+) "
                        r"pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
        if head:
            cie, end = head.group(1), int(head.group(3), 16)
            continue
        words = re.sub(r" \(\w+\)", "", line).split()  # "r10 (r10)": in a register
        if words[:2] == ["LOC", "CFA"]:
            columns = words[1:]
        elif cie is not None and re.match(r"[0-9a-f]{16} ", line):
            # A CFA or place that is an expression is one word: "exp".
            place = dict(zip(columns, words[1:]))
            rows.append((int(words[0], 16), end, cie, place))
    for i, (address, end, cie, place) in enumerate(rows):
        following = rows[i + 1][0] if i + 1 < len(rows) and rows[i + 1][1] == end else end
        if address < following:
            yield address, following, cie in strange, place


def agrees(rule, signal, place):
    cfa, cfa_offset, rbp, rbp_offset = rule
    said, ra, saved = place["CFA"], place.get("ra", "u"), place.get("rbp", "u")
    if signal:
        return cfa == STRANGE
    if ra == "u":
        return cfa == OUTERMOST
    simple = re.fullmatch(r"(rsp|rbp)([+-]\d+)", said)
    if ra != "c-8" or (simple is None and said != "exp"):
        return cfa == STRANGE
    if simple is None:
        return cfa in (STRANGE, AT_RBP)
    if (cfa, cfa_offset) != (RSP if simple.group(1) == "rsp" else RBP, int(simple.group(2))):
        return False
    at = re.fullmatch(r"c([+-]\d+)", saved)
    if at:
        return (rbp, rbp_offset) == (1, int(at.group(1)))
    return rbp in ((0,) if saved in ("u", "s") else (2, 3))


def main():
    printer, readelf = sys.argv[1:3]
    compared = 0
    for path in libraries(printer):
        rows = list(rows_of(readelf, path))
        assert len(rows) > 100, f"{path}: only {len(rows)} rows found"
        rows = random.sample(rows, min(len(rows), ROWS))
        asked = [random.choice((first, behind - 1)) for first, behind, _, _ in rows]
        said = subprocess.run([printer, path], input="\n".join(f"{a:x}" for a in asked), text=True,
                              capture_output=True, check=True).stdout.splitlines()
        assert len(said) == len(rows)
        for line, (first, _, signal, place) in zip(said, rows):
            address, *rule = line.split()
            assert agrees([int(number) for number in rule], signal, place), \
                f"{path} at {address} (row {first:x}): {rule}, readelf: {place}, signal: {signal}"
        compared += len(rows)
        print(f"{path}: {len(rows)} rows agree")
    assert compared > 10000


if __name__ == "__main__":
    main()
