# SPDX-License-Identifier: Apache-2.0
"""skein cat --longest finds regions by their times, and reads only the partitions that have them: it must
give what sorting all that skein cat prints gives. Of lengths that several regions have, it is enough to
give as many.

  longest_truth.py SKEIN MAKE_TRACE
"""
import json
import os
import subprocess
import sys
import tempfile

skein, make = sys.argv[1:]
ASKED = [[], ["--min-dur", "50us"], ["--from", "+5ms", "--to", "+12ms"], ["--groups", "io"], ["--type", "region"],
         ["--type", "open"], ["--name", "*e*"], ["--thread", "*"]]


def lines(*words):
    done = subprocess.run([skein, "cat", "-j", *words], stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def place(row):
    return row["pid"], row.get("tid"), row["name"], row["ts_ns"], row["dur_ns"]


def main(folder):
    trace = os.path.join(folder, "trace.skein")
    subprocess.run([make, trace], check=True)
    found = 0
    for asked in ASKED:
        timed = [row for row in lines(trace, *asked) if row["type"] in ("region", "open")]
        timed = [row for row in timed if "evidence" not in row]
        there = {place(row) for row in timed}
        for count in (1, 3, 20, 400):
            got = lines(trace, *asked, "--longest", str(count))
            got = [row for row in got if "evidence" not in row]
            lengths = sorted((int(row["dur_ns"]) for row in timed), reverse=True)[:count]
            assert [int(row["dur_ns"]) for row in got] == lengths, f"{asked} {count}"
            assert {place(row) for row in got} <= there, f"{asked} {count}"
            found += len(got)
    assert found > 1000, found


with tempfile.TemporaryDirectory() as place_of_all:
    main(place_of_all)
