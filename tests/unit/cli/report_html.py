#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""`skein report --html` writes the findings of `skein report -o json` as a page that page_judge.py finds
whole, and leaves nothing behind where it cannot.

  report_html.py SKEIN MAKE_TRACE JUDGE FILE...
"""
import html
import json
import os
import subprocess
import sys
import tempfile


def told(skein, judge, trace, folder):
    page = os.path.join(folder, "page.html")
    subprocess.run([skein, "report", trace, "--html", page], check=True)
    subprocess.run([judge, page], check=True)
    text = html.unescape(open(page, encoding="utf-8").read())
    said = json.loads(subprocess.run([skein, "report", trace, "-o", "json"], check=True,
                                     stdout=subprocess.PIPE).stdout)
    records = f"{said['totals']['records']:,}"  # neither counts what the other leaves out
    assert f"Records</dt><dd><bdi>{records}</bdi>" in text, records
    at = 0
    for finding in said["findings"]:
        assert finding["text"].isascii(), finding["text"]
        at = text.index(finding["text"], at)
    assert sorted(os.listdir(folder)) == ["page.html", *(["trace.skein"] if trace.startswith(folder) else [])]
    return len(said["findings"])


def main(skein, make_trace, judge, *files):
    findings = 0
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace.skein")
        subprocess.run([make_trace, trace], check=True)
        findings += told(skein, judge, trace, folder)
        nowhere = os.path.join(folder, "not", "page.html")
        ran = subprocess.run([skein, "report", trace, "--html", nowhere], check=False, stderr=subprocess.PIPE)
        assert ran.returncode == 1 and nowhere.encode() in ran.stderr, ran
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            findings += told(skein, judge, file, folder)
    print(f"{findings} findings")


main(*sys.argv[1:])
