#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Files that are packed by gzip and zstd (their own programs, and Python's gzip) are imported as what is in them.

    unpack_import.py SKEIN SOURCES
"""
import gzip
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

from exchange_truth import rule

skein, sources = sys.argv[1:]
traces = os.path.join(sources, "tests/exchange/traces")
TEXT = os.path.join(traces, "perf_script/samples.txt")


def ran(*words, status=0):
    done = subprocess.run([skein, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    rule(done.returncode == status, words, done.returncode, done.stderr.decode())
    return done.stdout.decode() + (done.stderr.decode() if status else "")


def packed(form, data, *words):
    if form == "gzip":
        return gzip.compress(data)
    return subprocess.run(["zstd", "-q", "-c", *words], input=data, stdout=subprocess.PIPE, check=True).stdout


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    os.utime(path, (1700000000, 1700000000))
    return path


def imported(tool, path, *words):
    to = os.path.join(os.path.dirname(path) if os.path.isfile(path) else path + "-out", "to.skein")
    os.makedirs(os.path.dirname(to), exist_ok=True)
    said = json.loads(ran("import", tool, path, "-o", to, "-j", *words))
    ran("check", to)
    rows = [json.loads(line) for line in ran("cat", "--evidence", "-j", to).splitlines()]
    for row in rows:
        row.pop("process", None) # by the bytes and their place
    return rows, said


def tools(folder):
    """Each importer, by the content and not by the name."""
    perf = os.path.join(sources, "tests/fuzz/corpus/perf_data/sched")
    for tool, path in (("perf-script", TEXT), ("go", os.path.join(traces, "go1.26.trace")), ("perf", perf),
                       ("fxt", os.path.join(sources, "tests/fuzz/corpus/import_fxt/events")),
                       ("perfetto", os.path.join(sources, "tests/fuzz/corpus/import_perfetto/events"))):
        plain, _ = imported(tool, write(os.path.join(folder, "plain"), read(path)))
        rule(len(plain) > 0, tool)
        for form in ("gzip", "zstd"):
            rows, said = imported(tool, write(os.path.join(folder, "plain"), packed(form, read(path))))
            rule(rows == plain, tool, form, said)
            rule(said.get("why", "") == "" or tool != "perf-script", said)


def ctf(folder):
    """Files of a folder may be packed, one by one."""
    plain, packed_ = os.path.join(folder, "ctf"), os.path.join(folder, "ctfz")
    shutil.copytree(os.path.join(traces, "lttng"), plain)
    shutil.copytree(plain, packed_)
    for top, _, names in os.walk(packed_):
        for i, name in enumerate(sorted(names)):
            path = os.path.join(top, name)
            write(path, packed("gzip" if i % 2 else "zstd", read(path)))
    one, other = (imported("ctf", p, "--service", "s")[0] for p in (plain, packed_))
    rule(len(one) > 0 and len(one) == len(other), len(one), len(other))


def names(folder):
    """The service and the output are called like what is in the file."""
    for name, form, service, to in (("app.perf.txt.gz", "gzip", "app.perf", "app.perf.txt.skein"), ("b.txt.zst", "zstd", "b", "b.txt.skein"),
                                    ("c.gz", None, "c", "c.gz.skein"), (".gz", "gzip", ".gz", ".gz.skein"), ("d", "zstd", "d", "d.skein")):
        data = b"ls 12 1.5: 9 cpu-clock: \n\tffff main (/x)\n\n"
        path = write(os.path.join(folder, name), packed(form, data) if form else data)
        said = json.loads(ran("import", "perf-script", path, "-j"))
        rule(said["file"] == os.path.join(folder, to), said)
        rule(json.loads(ran("cat", "--evidence", "-j", said["file"]).splitlines()[0])["service"] == service, name)


def members(folder):
    """Several members, frames to be passed over, and padding are one file; packed twice is unpacked twice."""
    data = read(TEXT)
    half = data.index(b"\n\n") + 2
    skipped = b"\x5a\x2a\x4d\x18\x05\0\0\0hello"
    plain, _ = imported("perf-script", write(os.path.join(folder, "plain"), data))
    for form in ("gzip", "zstd"):
        one, other = packed(form, data[:half]), packed(form, data[half:])
        for bytes_ in (one + other, one + (skipped if form == "zstd" else b"") + other, one + other + b"\0" * 70000,
                       packed("gzip", packed(form, data)), packed("zstd", one + other)):
            rows, said = imported("perf-script", write(os.path.join(folder, "plain"), bytes_))
            rule(len(rows) == len(plain) and said["cut_bytes"] == 0 and said["why"] == "", said)


def broken(folder):
    """What lies behind is told, a cut file is given as far as it goes, and one that is damaged, too."""
    chance = random.Random(7)
    data = "".join(f"ls 12 {at}.5: 9 cpu-clock: \n\t{chance.getrandbits(44):x} f{chance.getrandbits(32)} (/x)\n\n" for at in range(5000)).encode()
    plain, _ = imported("perf-script", write(os.path.join(folder, "plain"), data))
    for form in ("gzip", "zstd"):
        whole = packed(form, data)
        rows, said = imported("perf-script", write(os.path.join(folder, "plain"), whole + b"junk behind it"))
        rule(len(rows) == len(plain) and said["cut_bytes"] == 14 and "something else" in said["why"], said)
        for n in (1, 9, len(whole) // 2):
            rows, said = imported("perf-script", write(os.path.join(folder, "plain"), whole[:-n]))
            rule("what is packed is cut" in said["why"] and len(plain) // 3 < len(rows) <= len(plain), n, len(rows), said)
    whole = bytearray(packed("gzip", data))
    whole[len(whole) // 2] ^= 0xff
    rows, said = imported("perf-script", write(os.path.join(folder, "plain"), bytes(whole)))
    rule(0 < len(rows) < len(plain) and said["why"] != "", len(rows), said)
    for tail in (b"", b"\x08", b"\x08\0\0\0\0\0\0\0\x03"):
        text = ran("import", "perf-script", write(os.path.join(folder, "plain"), b"\x1f\x8b" + tail), status=1)
        rule("plain: " in text, text)


def places(folder):
    """The same bytes in two places are of different processes, whatever has made them."""
    for tool, path in (("perf-script", TEXT), ("go", os.path.join(traces, "go1.26.trace")),
                       ("perf", os.path.join(sources, "tests/fuzz/corpus/perf_data/sched")),
                       ("fxt", os.path.join(sources, "tests/fuzz/corpus/import_fxt/events")),
                       ("perfetto", os.path.join(sources, "tests/fuzz/corpus/import_perfetto/events"))):
        found = []
        for name in ("here", "there", "here"):
            to = os.path.join(folder, "to.skein")
            ran("import", tool, write(os.path.join(folder, name), read(path)), "-o", to)
            found.append({json.loads(line)["process"] for line in ran("cat", "--evidence", "-j", to).splitlines()})
        rule(found[0] == found[2] and not found[0] & found[1] and found[0], tool, found)


def bombs(folder):
    """What grows beyond measure is refused with a sentence, and leaves nothing."""
    zeros = os.path.join(folder, "bomb.gz")
    piece = gzip.compress(b"\0" * (64 << 20))
    write(zeros, piece * 6)
    text = ran("import", "go", zeros, status=1)
    rule("500 times" in text and "256 MiB" in text, text)
    rule(not os.path.exists(os.path.join(folder, "bomb.skein")), os.listdir(folder))
    often = b"go 1.22 trace" + bytes(99)
    for _ in range(5):
        often = gzip.compress(often)
    text = ran("import", "go", write(zeros, often), status=1)
    rule("packed more than 4 times" in text, text)
    with open(zeros, "wb") as file:
        subprocess.run(["zstd", "-q", "-c", "-1", "--long=30"], input=os.urandom(1 << 20), stdout=file, check=True)
    text = ran("import", "go", zeros, status=1)
    rule("window of more than 128 MiB" in text, text)


def ordinary(folder):
    """A file of perf that holds no scheduling says how it is read."""
    perf = bytearray(read(os.path.join(sources, "tests/fuzz/corpus/perf_data/sched")))
    perf[72] &= ~2 & 0xff # without its tracing data
    for data in (bytes(perf), packed("gzip", bytes(perf)), b"PERFILE2" + (16).to_bytes(8, "little") + b"\0" * 200):
        path = write(os.path.join(folder, "perf.data"), data)
        text = ran("import", "perf", path, status=1)
        rule("perf script -i " + path + " -F +pid > TEXT && skein import perf-script TEXT" in text, text)


with tempfile.TemporaryDirectory() as place:
    for test in (tools, ctf, names, members, broken, places, bombs, ordinary):
        under = os.path.join(place, test.__name__)
        os.mkdir(under)
        test(under)
        print(test.__name__, "holds")
