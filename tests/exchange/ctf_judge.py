# SPDX-License-Identifier: Apache-2.0
"""What babeltrace2 says of a trace, beside what `skein import ctf` has made of it.

    ctf_judge.py text FOLDER TEXT           what babeltrace2 prints, and what it says was discarded
    ctf_judge.py compare TEXT PROGRAM FOLDER

Compared are all events: times to the nanosecond, names, process, thread and CPU, and all fields with
their values."""
import json
import os
import re
import subprocess
import sys
import tempfile

PLAIN = 5  # fields that are arguments of their own where there are more than six


def bare(text, at):
    end = at
    while end < len(text) and text[end] not in " ,}])":
        end += 1
    return text[at:end], end


def value_of(text, at):
    """One value: a number or text as it is shown, a list of pairs, or a list."""
    if text[at] == '"':
        end = at + 1
        while text[end] != '"':
            end += 2 if text[end] == "\\" else 1
        return json.loads(text[at:end + 1]), end + 1
    if text.startswith('( "', at):  # of an enumeration, its (first) label
        label, _ = value_of(text, at + 2)
        return label, text.index(" )", at) + 2
    if text.startswith("( <unknown> : container = ", at):
        number, end = bare(text, at + len("( <unknown> : container = "))
        return number, end + 2
    if text[at] == "{":
        return pairs_of(text, at + 1, "}")
    if text[at] == "[":
        pairs, end = pairs_of(text, at + 1, "]")
        return [value for _, value in pairs], end
    return bare(text, at)


def pairs_of(text, at, close):
    pairs = []
    while True:
        while text[at] in " ,":
            at += 1
        if text[at] == close:
            return pairs, at + 1
        name, at = text[at:text.index(" = ", at)], text.index(" = ", at) + 3
        value, at = value_of(text, at)
        pairs.append((name, value))


def shown(value):
    return "[" + ", ".join(shown(one) for one in value) + "]" if isinstance(value, list) else value


def expected_of(path):
    events, discarded = [], 0
    for line in open(path, encoding="utf-8"):
        lost = re.search(r"Tracer discarded (\d+) event", line)
        if lost:
            # A counter that went back for a moment (LTTng's are read without a lock) is shown modulo 2^64.
            discarded += int(lost[1]) - (2**64 if int(lost[1]) >= 2**63 else 0)
        if not line.startswith("timestamp = "):
            continue
        (day, clock, fraction) = re.match(r"timestamp = (\d+)\.(\d{9})()", line).groups()
        pairs = dict(pairs_of(line.rstrip("\n") + " }", 0, "}")[0])
        context = dict(pairs.get("stream.event.context", []))
        fields = [(name, shown(value)) for name, value in pairs["event.fields"]]
        # babeltrace2 2.0.4 shows the characters of the text before instead of an empty sequence's.
        lengths = dict(fields)
        fields = [(name, "" if lengths.get(f"_{name}_length") == "0" and value != "[]" else value)
                  for name, value in fields]
        events.append({"ts": int(day) * 10**9 + int(clock), "name": pairs["name"],
                       "cpu": dict(pairs["stream.packet.context"])["cpu_id"],
                       "pid": int(context["vpid"]), "tid": int(context["vtid"]),
                       "service": context["procname"], "fields": fields})
    return events, discarded


def same(mine, theirs):
    if str(mine) == theirs:
        return True
    try:  # babeltrace2 rounds floats
        return f"{float(mine):g}" == f"{float(theirs):g}" and "." in theirs + str(mine)
    except ValueError:
        return False


def split(more, names):
    """`a=1, b=2` into its values, by the names that must be there."""
    values = []
    for number, name in enumerate(names):
        assert more.startswith(name + "="), (more, names)
        more = more[len(name) + 1:]
        end = more.index(f", {names[number + 1]}=") if number + 1 < len(names) else len(more)
        values.append(more[:end])
        more = more[end + 2:]
    return values


def wrong_in(row, event):
    fields = event["fields"] + [("cpu_id", event["cpu"])]
    mine = list(row.get("args", {}).items())
    if len(fields) > 6:
        names = [name for name, _ in fields[PLAIN:]]
        mine = mine[:PLAIN] + list(zip(names, split(row["args"]["more"], names)))
    if (int(row["ts_ns"]), row["name"], row["pid"], row["tid"], row["service"]) != (
            event["ts"], event["name"], event["pid"], event["tid"], event["service"]):
        return "head"
    if [name for name, _ in mine] != [name for name, _ in fields]:
        return "fields"
    for (name, value), (_, theirs) in zip(mine, fields):
        if not same(value, theirs):
            return name
    return None


def text(folder, out):
    got = subprocess.run(["babeltrace2", "--clock-seconds", "--clock-gmt", "--no-delta", "--names", "all", folder],
                         check=True, capture_output=True, text=True)
    with open(out, "w", encoding="utf-8") as file:
        file.write(got.stdout)
        file.writelines(line + "\n" for line in got.stderr.splitlines() if "discarded" in line)


def compare(path, program, folder):
    events, discarded = expected_of(path)
    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(work, "out.skein")
        said = json.loads(subprocess.run([program, "import", "ctf", folder, "-o", out, "--json"],
                                         check=True, capture_output=True).stdout)
        subprocess.run([program, "check", out], check=True, capture_output=True)
        rows = subprocess.run([program, "cat", "--json", out], check=True, capture_output=True,
                              text=True).stdout
    rows = [json.loads(row) for row in rows.splitlines()]
    lost = sum(row["args"]["events"] for row in rows if row["type"] == "loss")
    rows = [row for row in rows if row["type"] != "loss"]
    key = lambda row: (row["ts"] if "ts" in row else int(row["ts_ns"]), row["tid"])
    rows.sort(key=key)
    events.sort(key=key)
    wrong = [f"{len(rows)} events, babeltrace2 has {len(events)}"] if len(rows) != len(events) else []
    if said["discarded"] != discarded or lost != discarded:
        wrong.append(f'discarded {said["discarded"]}, told {lost}, babeltrace2 says {discarded}')
    for row, event in zip(rows, events):
        what = wrong_in(row, event)
        if what:
            wrong.append(f"{what}: {row}\n    babeltrace2: {event}")
    for line in wrong[:5]:
        print(line, file=sys.stderr)
    print(f"{len(events)} events, {discarded} discarded: "
          + ("not as babeltrace2 says" if wrong else "as babeltrace2 says"))
    return 1 if wrong or not events else 0


words = sys.argv[1:]
sys.exit(text(*words[1:]) if words[0] == "text" else compare(*words[1:]))
