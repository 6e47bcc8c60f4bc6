#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A statically linked Go service, unchanged and without a ring: what its captures hold, against what
it says of itself.

  test_outside_go.py PROGRAM GO      SKEIN_BUILD: the build's folder
"""
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../verdict"))
sys.path.append(os.path.join(HERE, "../support"))
from ports import port_take
from world import BUILD, World, wait_for

SKEIN = os.path.join(BUILD, "cli/skein")
PROGRAM, GO = sys.argv[1:3]


def listens(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Go(unittest.TestCase):
    """One agent, with a selector of its own for each copy of the program."""

    @classmethod
    def setUpClass(cls):
        cls.ports = {name: port_take() for name in ("good", "moved", "huge", "other")}
        good = cls.ports["good"]
        flights = {"good": (good, "flight"), "moved": (cls.ports["moved"], "moved"),
                   "huge": (cls.ports["huge"], "huge"), "other": (good, "flight")}
        cls.programs, cls.said = [], {}
        cls.addClassCleanup(cls.end)
        # Four processes at once, and a large program to name: more than the default allows a busy host.
        cls.world = World(agent={"evidence": {"deadline_ms": 30000}, "checks": {"startup_grace_ms": 0}, "watch": {"select": [
            "%s port=%d go_flight=127.0.0.1:%d/%s%s" % (
                name, cls.ports[name], port, path,
                " go_pprof=127.0.0.1:%d" % good if name == "good" else "")
            for name, (port, path) in flights.items()]}})
        cls.world.start()
        for name, port in cls.ports.items():
            program = subprocess.Popen(
                [PROGRAM, str(port), *(["burn"] if name == "good" else [])], stdout=subprocess.PIPE)
            cls.programs.append(program)
            cls.said[name] = json.loads(program.stdout.readline())
        for name in cls.ports:
            cls.world.wait_live(1, "service=" + name)
        # The program is asked before it listens otherwise; the agent looks each second.
        wait_for("the services to listen", lambda: all(map(listens, cls.ports.values())))
        cls.capture = cls.world.capture(selector="service in (good,moved,huge,other)", pre_ms=2000,
                                        post_ms=1000, threads=True, deadline_ms=30000)
        cls.final = cls.world.final(cls.capture)
        status, data = cls.world.trace(cls.capture)
        assert status == 200, data[:300]
        cls.file = cls.world.path("go.skein")
        with open(cls.file, "wb") as f:
            f.write(data)

    @classmethod
    def end(cls):
        for program in cls.programs:
            program.kill()
            program.wait()
            program.stdout.close()
        for problem in cls.world.end():
            raise AssertionError(problem)

    def evidence(self, service, kind, final=None):
        target = [t for t in (final or self.final)["targets"] if t["service"] == service][0]
        self.assertEqual(target["status"], "watched", target)
        found = [e for e in target.get("evidence", []) if e["kind"] == kind]
        self.assertEqual(len(found), 1, target)
        return found[0]

    def export(self, *arguments, file=None):
        out = self.world.path("out")
        done = subprocess.run([SKEIN, "export", file or self.file, "-o", out, *arguments],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            return None, done.stdout.decode()
        with open(out, "rb") as f:
            return f.read(), done.stdout.decode()

    def test_the_capture_says_that_it_has_no_ring(self):
        self.assertEqual(self.final["status"], "incomplete")
        self.assertEqual(self.final["target_counts"], {"watched": 4})
        self.assertFalse(self.final["verdict"]["complete"])
        for target in self.final["targets"]:
            self.assertEqual({g["reason"] for g in target["ledger"]["gaps"]}, {"watched"})

    def test_threads_and_samples_are_there(self):
        self.assertIn(self.evidence("good", "threads")["state"], ("taken", "partial"))
        samples = self.evidence("good", "samples")
        self.assertGreater(samples["events"], 0, samples)
        folded, said = self.export("--to", "folded")
        self.assertIsNotNone(folded, said)
        if samples["state"] != "refused":
            self.assertIn(b"main.burn", folded)

    def test_what_led_to_it_is_kept_as_it_was(self):
        pid = str(self.said["good"]["pid"])
        kept, said = self.export("--to", "go-trace", "--of", "before", "--process", pid)
        self.assertIsNotNone(kept, said)
        self.assertEqual(len(kept), self.said["good"]["bytes"])
        self.assertEqual(hashlib.sha256(kept).hexdigest(), self.said["good"]["sha256"])
        self.opens(kept)

    def test_the_runtime_is_traced_from_the_capture_on(self):
        note = self.evidence("good", "go")
        self.assertEqual(note["state"], "taken", note)
        kept, said = self.export("--to", "go-trace", "--of", "after")
        self.assertIsNotNone(kept, said)
        self.assertTrue(kept.startswith(b"go 1."), kept[:16])
        self.assertIn("after: %d bytes" % len(kept), note["reason"])
        self.opens(kept)

    def test_a_rule_that_fires_fetches_it(self):
        closed = port_take()
        rule = {"name": "deaf", "selector": "service=good",
                "when": {"health": {"every_ms": 200, "timeout_ms": 5000, "failures": 1,
                                    "tcp": {"address": "127.0.0.1:%d" % closed}}},
                "capture": {"pre_ms": 1000, "post_ms": 1000}}
        status, body = self.world.request("PUT", "/api/v1/rules/deaf", rule)
        self.assertEqual(status, 201, body)
        captures = wait_for("the rule's capture", lambda: self.world.captures_of("health"))
        final = self.world.final(captures[0])
        note = self.evidence("good", "go", final)
        self.assertEqual(note["state"], "taken", note)
        status, data = self.world.trace(captures[0])
        self.assertEqual(status, 200)
        file = self.world.path("rule.skein")
        with open(file, "wb") as f:
            f.write(data)
        kept, said = self.export("--to", "go-trace", "--of", "after", file=file)
        self.assertIsNotNone(kept, said)
        self.opens(kept)

    def opens(self, kept):
        """Go's own reader understands it, and it has what ran then."""
        file = self.world.path("kept.trace")
        with open(file, "wb") as f:
            f.write(kept)
        done = subprocess.run([GO, "tool", "trace", "-pprof=sched", file], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(len(done.stdout), 0)

    def test_info_and_cat_say_what_is_not_there(self):
        info = subprocess.run([SKEIN, "info", self.file], stdout=subprocess.PIPE, check=True).stdout
        self.assertIn(b"no ring: nothing here is a process's own record", info)
        self.assertNotIn(b"0 lost", info)
        done = subprocess.run([SKEIN, "cat", self.file], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=True)
        self.assertIn(b"go.trace", done.stdout)
        self.assertNotIn(b"go.trace.part", done.stdout)
        self.assertIn(b"parts of kept files are left out", done.stderr)

    def test_a_reload_takes_an_address_away(self):
        with open(self.world.path("agent.json"), encoding="utf-8") as f:
            config = json.load(f)
        config["watch"]["select"] = [
            " ".join(word for word in text.split() if not word.startswith("go_"))
            if text.startswith("moved") else text for text in config["watch"]["select"]]
        with open(self.world.path("agent.json"), "w", encoding="utf-8") as f:
            json.dump(config, f)
        self.world.agent.process.send_signal(signal.SIGHUP)

        def asked_no_more():
            capture = self.world.capture(selector="service=moved", pre_ms=1, threads=True,
                                         deadline_ms=30000)
            target = self.world.final(capture)["targets"][0]
            return "go" not in [e["kind"] for e in target["evidence"]]
        wait_for("the agent to have read its config again", asked_no_more)

    def test_one_of_several_must_be_chosen(self):
        kept, said = self.export("--to", "go-trace")
        self.assertIsNone(kept)
        self.assertIn("--process %d --of before (good" % self.said["good"]["pid"], said)
        kept, said = self.export("--to", "go-trace", "--process", "1")
        self.assertIsNone(kept)

    def test_no_redirect_is_followed(self):
        note = self.evidence("moved", "go")
        self.assertEqual((note["state"], note["events"]), ("refused", 0), note)
        self.assertIn("302", note["reason"])

    def test_too_large_a_trace_is_refused_whole(self):
        note = self.evidence("huge", "go")
        self.assertEqual((note["state"], note["events"]), ("refused", 0), note)
        self.assertIn("larger than", note["reason"])

    def test_nobody_else_is_asked(self):
        note = self.evidence("other", "go")
        self.assertEqual((note["state"], note["events"]), ("refused", 0), note)
        self.assertIn("does not listen", note["reason"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
