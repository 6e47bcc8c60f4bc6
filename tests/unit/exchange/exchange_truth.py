# SPDX-License-Identifier: Apache-2.0
"""What make_exchange_trace wrote, for those who judge an export of it. Shares no code with Skein."""
import collections
import json
import os
import struct
import subprocess
import sys
import tempfile

U64, I64, F64, BOOL, PTR, STR, SEQ = range(1, 8)

Record = collections.namedtuple(
    "Record", "kind process tid thread evidence name begin dur args stack")
Argument = collections.namedtuple("Argument", "type name value cut")


def rule(holds, *what):
    if not holds:
        sys.exit("%s: %s" % (os.path.basename(sys.argv[0]), " ".join(str(w) for w in what)))


def text(digits):
    """A text as every export must have it: valid, whatever was written."""
    return bytes.fromhex(digits).decode("utf-8", "replace")


def value(kind, written):
    if kind in (U64, I64, PTR):
        return int(written)
    if kind == BOOL:
        return written != "0"
    if kind == F64:
        return struct.unpack(">d", bytes.fromhex(written))[0]
    if kind == SEQ:
        return tuple(int(v) for v in written)
    return text(written)


def counted(skein, path, said):
    """What an import said of its events is what whoever asks finds: rows of SQL, without losses and opens."""
    asked = subprocess.run([skein, "sql", "-j", path, "select count(*) as n from event where kind not in ('open', 'loss')"],
                           check=True, stdout=subprocess.PIPE, text=True).stdout
    rule(int(json.loads(asked)[0]["n"]) == int(said["events"]), "said", said["events"], "in SQL", asked)


def load(path):
    records = []
    with open(path, encoding="ascii") as lines:
        for line in lines:
            r = json.loads(line)
            args = tuple(Argument(kind, text(name), value(kind, written), cut)
                         for kind, name, written, cut in r["args"])
            records.append(Record(r["kind"], r["process"], r["tid"], text(r["thread"]),
                                  r["evidence"], text(r["name"]), r["begin"], r["dur"], args,
                                  r["stack"]))
    return records


def differ(got, wanted):
    """Both are Counters of what the same things come to; says what is in one alone."""
    for what, count in sorted((got - wanted).items(), key=str)[:8]:
        print("not written, but there %d times: %.400s" % (count, what))
    for what, count in sorted((wanted - got).items(), key=str)[:8]:
        print("written %d times, and not there: %.400s" % (count, what))
    rule(got == wanted, "the export differs from what was written")


def made(skein, make_trace, form, name):
    """A folder with the trace, its list and its export; the paths of the last two."""
    folder = tempfile.TemporaryDirectory()
    trace = os.path.join(folder.name, "made.skein")
    truth = os.path.join(folder.name, "truth")
    to = os.path.join(folder.name, name)
    subprocess.run([make_trace, trace, truth], check=True)
    said = subprocess.run([skein, "export", trace, "--to", form, "-o", to], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return folder, truth, to, said
