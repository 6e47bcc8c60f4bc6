#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""What of docs/dialect.md can be seen without a compiler, over the sources that git knows. Prints each place; a second at most."""
import collections
import pathlib
import re
import subprocess
import sys

# Words that are only ever verbs here: `list_free` frees a list, and `set_add` adds to a set, so those are not among them.
VERBS = """add allow announce apply append ask await become begin bind bring build check choose clear collect compare complete compute
copy create decode delete deliver describe dial drain drop emit encode ensure enter estimate evict extend fail fetch fill find finish
follow forbid forget free gather get give go grow handle hide init insert join judge keep know learn leave load make merge move note
parse pass pick prepare publish purge push put raise read rebuild receive recover refuse release remember remove resolve restore
retire revoke save say seek send settle show skip spawn split start stop store swap sweep sync take tell touch try undo unlink update
verify wake write""".split()
ENDS = {*VERBS, "assert", "free", "list", "open", "run"}  # `push_find`: what ends with a verb may begin with a noun
STATIC = re.compile(r"^static (?:inline |_Noreturn )*(?!const struct \w+ \w+\[)[^=;(]*?\b(\w+)\((?!\()", re.M)
PUBLIC = re.compile(r"^(?!static|typedef|#| |\}|//|/\*)[^=;({\n]*?\b(\w+)\(", re.M)
TYPE = r"(?:struct|union|enum|const|unsigned|signed|char|int|short|long|float|double|void|bool|siginfo_t|cJSON|\w+_t|Elf\w+)\b"
LINES = (
    (re.compile(r"\((?:unsigned )?long long\)|%[-+ #0-9.*]*ll[udxX]"), "64 bits are printed by PRIu64 and its like"),
    (re.compile(r"!(?:\w+(?:->|\.))*status\b(?!\s*[(.\[]|->)"), "a status is compared with SKEIN_OK"),
    (re.compile(r"^(?!\s*#|.*\\$).*\bsizeof\((?!" + TYPE + r")[\w.>*\[\]-]+\)(?!->)"), "sizeof has parentheses only around a type"),
    (re.compile(r'^(?!\s*[#*])[^"/]*?(?:\w<\w|\w> )'), "clang-format took a comparison for a template: write it the other way round"),
)


def main():
    files = subprocess.run(["git", "ls-files", "*.c", "*.h"], check=True, text=True, stdout=subprocess.PIPE).stdout.split()
    files = [f for f in files if not f.startswith(("tests/", "bench/", "examples/", "client-lib/include/"))]
    texts = {f: pathlib.Path(f).read_text() for f in files if pathlib.Path(f).exists()}
    public = {name for f, text in texts.items() if f.endswith(".h") for name in PUBLIC.findall(text)}
    found, alone = [], collections.defaultdict(set)
    for file, text in texts.items():
        for number, line in enumerate(text.split("\n"), 1):
            found += [f"{file}:{number}: {words}" for pattern, words in LINES if pattern.search(line)]
        for at in STATIC.finditer(text):
            name, where = at.group(1), f"{file}:{text.count(chr(10), 0, at.start(1)) + 1}"
            first, *rest = name.removesuffix("_locked").split("_")
            if rest and first in VERBS and rest[-1] not in ENDS:
                found.append(f"{where}: {name} begins with its verb")
            if name in public and file.endswith(".c"):
                found.append(f"{where}: {name} is the name of a public function, too")
            if not rest:
                alone[name].add(where)
    found += [f"{', '.join(sorted(w))}: {n} has no noun" for n, w in alone.items() if len({x.split(':')[0] for x in w}) > 1]
    print(*sorted(found), sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
