#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What programs did through a binding, against what their capture holds, read by the second decoder
(tests/verdict/skein_file.py) and, for all arguments, by `skein cat --json`.

  test_bindings.py python|go PROGRAM...      SKEIN_BUILD: the build's folder
"""
import collections
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../verdict"))
from skein_file import read_file
from world import BUILD, World

LIBRARY = os.path.abspath(os.path.join(BUILD, "client-lib/libskein.so"))
LANGUAGE, PROGRAM = sys.argv[1], sys.argv[2:]


class Binding(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World().start()
        cls.process = subprocess.Popen(
            PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=dict(os.environ, SKEIN_SOCKET=cls.world.socket, SKEIN_LIBRARY=LIBRARY,
                     LD_LIBRARY_PATH=os.path.dirname(LIBRARY)))
        line = cls.process.stdout.readline()
        if not line:
            raise AssertionError("the program ended: %s" % cls.process.wait())
        cls.said = json.loads(line)
        cls.world.wait_live(1, "service=bound")
        capture = cls.world.capture(selector="service=bound", pre_ms=30000)
        cls.final = cls.world.final(capture)
        status, data = cls.world.trace(capture)
        assert status == 200, data[:300]
        cls.records = [r for p in read_file(data) for r in p.records]
        file = cls.world.path("bound.skein")
        with open(file, "wb") as out:
            out.write(data)
        lines = subprocess.run([os.path.join(BUILD, "cli/skein"), "cat", "--json", file],
                               stdout=subprocess.PIPE, check=True).stdout.splitlines()
        cls.events = [json.loads(line) for line in lines]

    @classmethod
    def tearDownClass(cls):
        cls.process.stdin.close()
        status = cls.process.wait()
        cls.process.stdout.close()
        problems = cls.world.end()
        assert status == 0 and not problems, (status, problems)

    def named(self, name):
        return [e for e in self.events if e.get("name") == name]

    def firsts(self, name):
        return sorted(first for n, _, first in self.records if n == name)

    def test_capture_is_complete(self):
        self.assertEqual(self.final["verdict"]["complete"], True, self.final["verdict"])

    def test_every_event_is_there_once(self):
        self.assertEqual(self.firsts("py.mark" if LANGUAGE == "python" else "go.mark"),
                         list(range(self.said["marks"])))

    def test_regions_end_where_they_began(self):
        begins = collections.Counter()
        depth = 0
        for name, _, _ in self.records:
            if name in ("py.called", "py.left", "py.slow"):
                begins[name] += 1
                depth += 1
            depth -= name is None
        if LANGUAGE == "python":
            self.assertEqual(begins, {"py.called": 3, "py.left": 1, "py.slow": self.said["slow"]})
        self.assertEqual(depth, 0)

    def test_spans_interleave(self):
        name = "py.fetch" if LANGUAGE == "python" else "go.task"
        self.assertEqual(self.firsts(name), list(range(self.said.get("tasks", 10))))


class Python(Binding):
    def test_arguments_keep_their_types(self):
        mark = [e for e in self.named("py.mark") if e["args"]["n"] == 3][0]
        self.assertEqual(mark["args"], {"n": 3, "share": 3 / 500, "even": False, "name": "n3"})
        odd = self.named("py.odd")[0]["args"]
        self.assertEqual(int(odd["big"]), 1 << 63)
        self.assertEqual(odd["huge"], str(1 << 70))
        self.assertEqual(odd["nothing"], "None")
        self.assertEqual(odd["nul"], "a\N{REPLACEMENT CHARACTER}b")
        self.assertEqual(int(odd["low"]), -(1 << 63))

    def test_exceptions_are_named(self):
        self.assertEqual([e["args"]["error"] for e in self.named("py.fails")], ["KeyError"])
        self.assertEqual(len(self.named("py.coroutine")), 1)

    def test_what_lasts_carries_its_threads_stack(self):
        slow = self.named("py.slow")
        self.assertEqual(sorted(e["args"]["n"] for e in slow), list(range(self.said["slow"])))
        for event in slow:
            self.assertEqual(event["stack_end"], "whole")
            modules = [os.path.basename(frame["module"]) for frame in event["frames"]]
            self.assertTrue([m for m in modules if m.startswith("python")], modules)
            self.assertEqual(modules[-1], "libc.so.6")  # which has made the thread

    def test_counters_and_log(self):
        self.assertEqual(self.firsts("py.depth"), list(range(20)))
        self.assertTrue([e for e in self.events if "a line, \N{SNOWMAN}" in json.dumps(e, ensure_ascii=False)])

    def test_child_is_another_process(self):
        self.assertEqual(self.firsts("py.child"), [])

    def test_an_event_within_the_making_of_a_type(self):
        self.assertEqual((self.firsts("py.within"), self.firsts("py.around")), ([0], [0]))
        self.assertEqual(self.firsts("py.child_within"), [])

    def test_types_beyond_the_limit_are_counted(self):
        there = sum(1 for n, _, _ in self.records if n and n.startswith("py.type."))
        self.assertEqual(there + self.said["refused"], 4096)
        self.assertGreater(self.said["refused"], 0)


class Go(Binding):
    def test_arguments_keep_their_types(self):
        mark = [e for e in self.named("go.mark") if e["args"]["n"] == 3][0]
        self.assertEqual(mark["args"], {"n": 3, "share": 0.5, "even": False, "name": "n3"})

    def test_counters_and_log(self):
        self.assertEqual(self.firsts("go.depth"), list(range(20)))
        self.assertTrue([e for e in self.events if "a line, \N{SNOWMAN}" in json.dumps(e, ensure_ascii=False)])


class Without(unittest.TestCase):
    """Without libskein.so a program runs as it would."""

    def test_nothing_fails(self):
        code = ("import skein\n"
                "assert not skein.start(service='x') and not skein.attached() and skein.why\n"
                "with skein.region('a', n=1), skein.span('b'):\n"
                "    skein.instant('c'); skein.counter('d', 1); skein.log('e')\n"
                "@skein.region('f')\n"
                "def f(): return 7\n"
                "assert f() == 7 and not skein.health(True) and not skein.snapshot('g')\n")
        done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE,
                              env=dict(os.environ, SKEIN_LIBRARY="/nowhere/libskein.so"))
        self.assertEqual((done.returncode, done.stderr), (0, b""))


class Layout(unittest.TestCase):
    """The structs that Python declares lie as the compiler lays them."""

    def test_offsets(self):
        import skein
        said = json.loads(subprocess.run([os.path.join(BUILD, "tests/binding_layout")],
                                         stdout=subprocess.PIPE, check=True).stdout)
        for name, struct in (("site", skein._Site), ("arg", skein._ArgDesc), ("options", skein._Options)):
            have = {field[0]: getattr(struct, field[0]).offset for field in struct._fields_}
            have["sizeof"] = __import__("ctypes").sizeof(struct)
            self.assertEqual(have, said[name], name)


def main():
    cases = [Python, Without, Layout] if LANGUAGE == "python" else [Go]
    load = unittest.defaultTestLoader.loadTestsFromTestCase
    suite = unittest.TestSuite(load(case) for case in cases)
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())


main()
