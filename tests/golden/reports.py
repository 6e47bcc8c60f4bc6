#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""What `skein` says of fixed traces, beside what it said when somebody last looked: tests/golden/reports.

  reports.py SKEIN FOLDER MAKE_INCIDENT MAKE_SUMMARY MAKE_SHOP TRACE...            compares
  reports.py SKEIN FOLDER MAKE_INCIDENT MAKE_SUMMARY MAKE_SHOP TRACE... --renew    writes them anew

README.md beside this file says how to renew and review.
"""
import difflib
import html.parser
import os
import re
import shutil
import subprocess
import sys
import tempfile

SHOWN = 60  # lines of a difference

QUESTIONS = {
    "names": "select name, count(*) as n, sum(dur) as total, sum(self_dur) as own, max(dur) as most"
             " from slice group by name order by total desc, name",
    "threads": "select service, thread, tid, count(*) as n, min(ts) as first, max(ts + dur) as last"
               " from slice group by 1, 2, 3 order by 1, 3, 2",
    "stats": "select name, pid, value from stats where value != 0 order by name, pid",
    "loss": "select reason, service, ts, dur, records, what from loss order by ts, service",
}


class Outline(html.parser.HTMLParser):
    """A page as its elements and texts, a line each, and a line for each row of a table. Style and script are left out, and coordinates of
    drawings: how a page looks is judged by eyes and tests/page."""

    KEPT = {"id", "class", "href", "scope", "role", "aria-label", "tabindex", "lang", "content", "http-equiv"}

    INLINE = {"bdi", "b", "tspan"}  # their text is enough
    VOID = {"meta", "br"}

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.lines, self.depth, self.skipped, self.cells = [], 0, None, None

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.cells = []
        elif tag in ("td", "th") and self.cells is not None:
            self.cells.append("")
        elif self.skipped is None and self.cells is None and tag not in self.INLINE:
            kept = "".join(f' {k}="{self.shortened(v)}"' for k, v in attrs if k in self.KEPT)
            self.lines.append("  " * self.depth + f"<{tag}{kept}>")
        if tag in ("style", "script"):
            self.skipped = tag
        self.depth += tag not in self.VOID

    @staticmethod
    def shortened(value):
        return re.sub(r"sha256-[^']*", "sha256-", value or "")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.depth -= tag not in self.VOID

    def handle_endtag(self, tag):
        self.depth -= 1
        if tag == "tr":
            self.lines.append("  " * self.depth + "| " + " | ".join(cell.strip() for cell in self.cells))
            self.cells = None
        if tag == self.skipped:
            self.skipped = None

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data.replace("\n", " ")
        elif self.skipped is None and data.strip():
            self.lines.extend("  " * self.depth + line for line in data.strip("\n").split("\n"))


def outline(page):
    reader = Outline()
    reader.feed(page)
    reader.close()
    return "\n".join(reader.lines) + "\n"


def cases(names):
    """NAME, what it runs, of which it is the result."""
    for trace in names:
        yield f"{trace}.report.txt", ["report", f"{trace}.skein"]
        yield f"{trace}.report.json", ["report", f"{trace}.skein", "-o", "json"]
        yield f"{trace}.stats.txt", ["stats", f"{trace}.skein"]
        if trace != "summary":  # the others are small
            yield f"{trace}.page.txt", ["report", f"{trace}.skein", "--html", "-"]
            yield f"{trace}.stats.json", ["stats", f"{trace}.skein", "--json"]
        for question, statement in QUESTIONS.items():
            yield f"{trace}.sql-{question}.txt", ["sql", f"{trace}.skein", statement]
    yield "incident.diff.txt", ["diff", "well.skein", "incident.skein"]
    yield "incident.diff.json", ["diff", "well.skein", "incident.skein", "--json"]
    yield "incident.sql.csv", ["sql", "--csv", "incident.skein", "select * from slice where dur > 100000000"]
    yield "incident.sql.json", ["sql", "--json", "incident.skein", "select * from counter order by ts limit 4"]


def said(skein, folder, words):
    environment = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": os.environ["PATH"],
                   **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}}
    ran = subprocess.run([skein, *words], cwd=folder, env=environment, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, check=False)
    text = ran.stdout.decode()
    if "--html" in words:
        text = outline(text)
    elif text.startswith(("{", "[")) and text.count("\n") < 9:  # a member a line, for reviews
        text = re.sub(r'(?<=[}\]"\w]),(?=["{])', ",\n", text)
    for line in ran.stderr.decode().splitlines():
        text += f"standard error: {line}\n"
    return text + (f"exit status: {ran.returncode}\n" if ran.returncode else "")


def compared(name, was, now):
    lines = list(difflib.unified_diff(was.splitlines(), now.splitlines(), "golden/reports/" + name, "now", n=1, lineterm=""))
    print("\n".join(lines[:SHOWN]))
    if len(lines) > SHOWN:
        print(f"and {len(lines) - SHOWN} lines more")


def main(skein, golden, make_incident, make_summary, make_shop, *traces):
    renew = traces[-1:] == ("--renew",)
    traces = traces[:-1] if renew else traces
    os.makedirs(golden, exist_ok=True)
    wrong, seen = 0, set()
    with tempfile.TemporaryDirectory() as folder:
        made = {"incident": [make_incident], "well": [make_incident, "WELL"], "summary": [make_summary],
                "shop": [make_shop]}
        for name, words in made.items():
            subprocess.run([words[0], os.path.join(folder, name + ".skein"), *words[1:]], check=True)
        for trace in traces:
            shutil.copy(trace, folder)
        names = [*made, *(os.path.basename(trace).removesuffix(".skein") for trace in traces)]
        for name, words in cases(names):
            now, path = said(skein, folder, words), os.path.join(golden, name)
            seen.add(name)
            was = open(path, encoding="utf-8", newline="").read() if os.path.exists(path) else None
            if renew:
                with open(path, "w", encoding="utf-8", newline="") as file:
                    file.write(now)
            elif was != now:
                wrong += 1
                compared(name, was or "", now)
    for name in sorted(set(os.listdir(golden)) - seen):
        if renew:
            os.unlink(os.path.join(golden, name))
        else:
            wrong += 1
            print(f"golden/reports/{name}: no command makes it any more")
    if wrong:
        sys.exit(f"{wrong} of {len(seen)} reports are not as they were: tests/golden/README.md says what to do")


main(*sys.argv[1:])
