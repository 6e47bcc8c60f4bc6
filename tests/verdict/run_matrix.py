#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The verdict matrix: captures over every way in which events can be lost, judged by an account that
the programs keep themselves. Prints the seed, a line for each capture, and ends with what was judged
wrong, again, and "N passed, N failed"; exit status 1 where one is.

  run_matrix.py                         one round of all cases with a random seed
  run_matrix.py --seed 7 --only ring    the cases whose name holds "ring", as drawn from seed 7
  run_matrix.py --captures 200          rounds until so many captures are judged, one at least
  run_matrix.py --short                 a few cases alone, for every build
  run_matrix.py --again                 what was judged wrong runs once more, alone: what is wrong once is
                                        a line "flaky: …", what is wrong twice has failed
"""
import argparse
import concurrent.futures
import contextlib
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback

import cases  # pylint: disable=unused-import # they are in the list then
import cases_gone  # pylint: disable=unused-import
import cases_road  # pylint: disable=unused-import
from case import CASES
from judge import DOUBT, is_doubtful, judge, ns_of
from world import Failed, World, settled

SHORT = {"steady", "ring_wraps", "ended_threads", "more_threads_than_chunks", "oneshot",
         "full_before_the_window", "ended_before_the_capture", "attached_late", "idle_neighbour",
         "watched"}
# They are begun first: ten seconds and more, where most take five.
LONGEST = ("attached_in_the_window", "many_short_threads", "ended_threads_default_ring",
           "disk_of_the_collector_is_full", "started_anew_in_the_window")
# On a busy machine a round trip takes long, and the capture says so. So much is believed of one, if there are few
# such: else a product that always says so would be held to nothing.
BUSY_DOUBT = 20 * DOUBT
DOUBTFUL_IN = 20
# A newer agent's, and 320 cuts of one target: tests/unit/agent/test_capture_job.c.
NOT_HERE = {"unknown", "report_full"}


def reasons_of_losses():
    """All of common/loss.h."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../common/loss.h"),
              encoding="utf-8") as f:
        return set(re.findall(r'^ +X\([A-Z_]+, [A-Z]+, "([a-z_]+)"\)', f.read(), re.M))


class Matrix:
    """What a case is given: random numbers, worlds, and the judge."""

    def __init__(self, name, seed):
        self.name, self.seed = name, seed
        self.rng = random.Random("%s/%s" % (seed, name))
        self.worlds, self.lines, self.judged, self.failed = [], [], 0, 0
        self.broken = False
        self.reasons = set()
        self.doubtful = 0  # captures that say that their clock is off by more than DOUBT

    def world(self, start=True, **options):
        w = World(**options)
        self.worlds.append(w)
        return w.start() if start else w

    @contextlib.contextmanager
    def small_disk(self, mebibytes=2):
        """A folder on a disk of its own; None where we may not mount one."""
        folder = tempfile.mkdtemp(prefix="skein-disk-")
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dm" % mebibytes, "tmpfs", folder],
                                 capture_output=True, check=False).returncode == 0
        try:
            yield folder if mounted else None
        except BaseException:
            self.broken = True
            raise
        finally:
            if mounted:
                self.end()
                # The holder listens there for some seconds more than there is an agent.
                subprocess.run(["umount", "--lazy", folder], check=False)
            os.rmdir(folder)

    def end(self):
        """Ends the worlds; what did not end well counts as failed."""
        worlds, self.worlds = self.worlds, []
        keep = self.broken or self.failed > 0
        for w in worlds:
            if keep:
                self.lines.append("      daemons' logs are in %s" % w.folder)
            try:
                for problem in w.end(keep=keep):
                    self.line(False, problem)
            except Exception:  # pylint: disable=broad-except # told, and counted as failed
                self.line(False, traceback.format_exc())

    def line(self, good, text):
        self.judged += 1
        self.failed += not good
        self.lines.append("%s %-28s %s" % ("ok   " if good else "WRONG", self.name, text))

    def expect(self, what, good, why):
        self.line(good, what if good else "%s: %s" % (what, why))

    def skip(self, why):
        self.lines.append("-     %-28s %s" % (self.name, why))

    def judge(self, w, capture, subjects, wait=True, only=None, **how):
        c = w.final(capture)
        if wait:
            c = settled(w, capture, c)
        self.reasons |= {g["reason"] for g in c["ledger"]["gaps"]} | set(c["ledger"]["reasons"])
        self.reasons |= {"name"} if c["ledger"].get("unnamed") else set()
        begins = [ns_of(e["window"]["from"]) for e in w.get("/captures?limit=100")["items"]
                  if e["capture"] < capture]
        end = time.monotonic() + 5
        while True:  # on a busy machine partitions come after the deadline, and are counted a moment later
            status, trace = w.trace(capture, skip=True)
            if status not in (200, 404, 409):
                raise Failed("trace: %d" % status)
            verdict = judge(self.name, c, trace if status == 200 else b"", subjects, begins=begins,
                            doubt=BUSY_DOUBT, **how)
            now = w.final(capture)
            counted = not any(s.startswith("stored says") for s in verdict.wrong)
            if now["ledger"]["stored"] == c["ledger"]["stored"] and (counted or time.monotonic() > end):
                break
            c = now
        self.doubtful += is_doubtful(c)
        wrong = [s for s in verdict.wrong if only is None or s.startswith(only)]
        self.line(not wrong, "; ".join(wrong) + (" | " if wrong else "") + verdict.note)

    def run(self, function):
        started = time.monotonic()
        try:
            function(self)
        except Failed as failed:
            self.line(False, "could not be carried out: %s" % failed)
        except Exception:  # pylint: disable=broad-except # told, and counted as failed
            self.line(False, traceback.format_exc())
        self.end()
        self.lines.append("      %s: %.1f s" % (self.name, time.monotonic() - started))
        return self


def plan(options):
    chosen = [(n, f, wt) for n, f, wt in CASES
              if (not options.only or any(o in n for o in options.only)) and
              (not options.short or n in SHORT)]
    if not chosen:
        sys.exit("no such case; there are: " + " ".join(n for n, _, _ in CASES))
    chosen.sort(key=lambda case: case[0] not in LONGEST)
    rounds = 0
    while True:
        for name, function, weight in chosen:
            for i in range(1 if options.short or options.only else weight):
                if rounds and options.enough():
                    return
                yield name, function, "%s.%d.%d" % (options.seed, rounds, i)
        rounds += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--captures", type=int, default=0)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--jobs", type=int, default=3 * (os.cpu_count() or 2))  # they mostly wait
    options = parser.parse_args()
    print("verdict matrix: seed %d" % options.seed, flush=True)
    judged = failed = doubtful = 0
    reasons, wrong, once = set(), [], []
    options.enough = lambda: judged >= options.captures
    todo = plan(options)
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        running = {}
        while True:
            while len(running) < options.jobs:
                item = next(todo, None)
                if item is None:
                    break
                running[pool.submit(run_one, item[0], item[2])] = item[0], item[2]
            if not running:
                break
            done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                item = running.pop(future)
                lines, count, bad, seen, unsure = future.result()
                reasons |= seen
                doubtful += unsure
                print("\n".join(lines), flush=True)
                if bad and options.again:
                    once.append(item)
                    continue
                judged += count
                failed += bad
                wrong += [line for line in lines if line.startswith("WRONG")]
    for name, seed in once:
        lines, count, bad, seen, _ = run_one(name, seed)
        judged, failed, reasons = judged + count, failed + bad, reasons | seen
        wrong += [line for line in lines if line.startswith("WRONG")]
        print("\n".join(lines + ([] if bad else ["flaky: verdict %s, seed %s" % (name, seed)])), flush=True)
    unseen = reasons_of_losses() - reasons - NOT_HERE
    if unseen and not options.only and not options.short:
        wrong.append("WRONG reasons that no capture has told: " + " ".join(sorted(unseen)))
        judged, failed = judged + 1, failed + 1
    if doubtful * DOUBTFUL_IN > max(judged, 2 * DOUBTFUL_IN):
        wrong.append("WRONG %d captures say that their clock is off by more than %d ms" % (doubtful, DOUBT // 10**6))
        judged, failed = judged + 1, failed + 1
    print("\n".join(wrong + ["seed %d" % options.seed]))
    print("%d passed, %d failed" % (judged - failed, failed))
    sys.exit(1 if failed or not judged else 0)


def run_one(name, seed):
    function = {n: f for n, f, _ in CASES}[name]
    m = Matrix(name, seed).run(function)
    return m.lines, m.judged, m.failed, m.reasons, m.doubtful


if __name__ == "__main__":
    main()
