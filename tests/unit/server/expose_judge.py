#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what test_series writes for Prometheus, by the rules of the two formats, and promtool reads the
older one: expose_judge.py TEST FOLDER. Nothing here is shared with the writer."""
import math
import os
import re
import shutil
import subprocess
import sys

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


def labels_of(text, at):
    """The labels from "{" on, and where they end."""
    labels = {}
    assert text[at] == "{", text
    at += 1
    while text[at] != "}":
        name = LABEL.match(text, at)
        assert name and name.group() not in labels, text
        at = name.end()
        assert text[at:at + 2] == '="', text
        at += 2
        value = ""
        while text[at] != '"':
            if text[at] == "\\":
                value += {"\\": "\\", '"': '"', "n": "\n"}[text[at + 1]]
                at += 2
            else:
                value += text[at]
                at += 1
        labels[name.group()] = value
        at += 1
        if text[at] == ",":
            at += 1
        else:
            assert text[at] == "}", text
    return labels, at + 1


def parse(text, openmetrics):
    """{family: (type, {sample name: [(labels, value)]})}"""
    lines = text.split("\n")
    assert lines.pop() == "", "the last line has no end"
    if openmetrics:
        assert lines.pop() == "# EOF"
    families, family = {}, None
    for line in lines:
        if line.startswith("# "):
            _, word, name, rest = line.split(" ", 3)
            assert NAME.fullmatch(name) and word in ("HELP", "TYPE", "UNIT"), line
            if name != family:
                assert name not in families, "not together: " + line
                family = name
                families[name] = {"samples": {}}
            assert word not in families[name], line
            families[name][word] = rest
            if word == "UNIT":
                assert openmetrics and name.endswith("_" + rest), line
            continue
        name = NAME.match(line)
        labels, at = labels_of(line, name.end())
        assert line[at] == " ", line
        value = float(line[at + 1:])
        assert value >= 0 and math.isfinite(value), line
        kind = families[family]["TYPE"]
        suffixes = {"histogram": ("_bucket", "_sum", "_count"),
                    "counter": ("_total",) if openmetrics else ("",)}[kind]
        assert name.group() in [family + s for s in suffixes], line
        samples = families[family]["samples"].setdefault(name.group(), [])
        assert all(labels != other for other, _ in samples), "twice: " + line
        samples.append((labels, value))
    for name, f in families.items():
        assert "HELP" in f and "TYPE" in f, name
    return families


def histograms_check(name, samples):
    rows = {}
    for labels, value in samples.get(name + "_bucket", []):
        le = float(labels.pop("le"))
        rows.setdefault(tuple(sorted(labels.items())), []).append((le, value))
    counts = {tuple(sorted(labels.items())): v for labels, v in samples.get(name + "_count", [])}
    sums = {tuple(sorted(labels.items())): v for labels, v in samples.get(name + "_sum", [])}
    assert rows.keys() == counts.keys() == sums.keys() and rows
    for key, buckets in rows.items():
        assert buckets == sorted(buckets) and buckets[-1] == (math.inf, counts[key]), key
        values = [v for _, v in buckets]
        assert values == sorted(values), key
        least = sum((b - a) * (buckets[i - 1][0] if i else 0)
                    for i, (a, b) in enumerate(zip([0] + values, values)))
        assert sums[key] >= least, key
    return rows


def main():
    test, folder = sys.argv[1:]
    folder = os.path.join(folder, "expose-%d" % os.getpid())
    os.makedirs(folder)
    env = dict(os.environ, SKEIN_EXPOSE_FOLDER=folder, CK_RUN_CASE="expose")
    subprocess.run([test], env=env, check=True, stdout=subprocess.DEVNULL)
    texts = [open(os.path.join(folder, "expose-%d.txt" % i)).read() for i in range(2)]
    plain, opened = parse(texts[0], False), parse(texts[1], True)
    name = "skein_sampled_region_seconds"
    rows = histograms_check(name, opened[name]["samples"])
    assert rows == histograms_check(name, plain[name]["samples"])
    weird = tuple(sorted({"service": 'we"ird\\', "name": 'a\\n"b"{}=,?', "group": "17"}.items()))
    # what the test put there: 1000 ns times powers of 3, up to 200 s
    put = [1000 * 3 ** i for i in range(40) if 1000 * 3 ** i < 200 * 10 ** 9]
    for le, value in rows[weird]:
        assert value == sum(ns < le * 1e9 for ns in put), (le, value)
    for family, f in opened.items():
        other = plain[family + "_total" if f["TYPE"] == "counter" else family]
        assert sorted(map(str, sum(f["samples"].values(), []))) == \
            sorted(map(str, sum(other["samples"].values(), []))), family
    if shutil.which("promtool") is None:
        print("promtool is not installed: not asked")
    else:
        said = subprocess.run(["promtool", "check", "metrics"], input=texts[0], text=True,
                              capture_output=True)
        assert said.returncode == 0 and said.stdout == "" and said.stderr == "", said
    shutil.rmtree(folder)


main()
