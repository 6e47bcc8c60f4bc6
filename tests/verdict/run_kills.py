#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A campaign of kills: agents, collectors and services end at bad moments, and each capture that was
asked for around that is judged by the programs' own account (judge.py). Prints the seed, what was
wrong, and counts: of false claims, which must be none, and of captures with a gap in which nothing is
missing, of which there may be one in EMPTY_IN.

  run_kills.py --rounds 2000            the whole campaign
  run_kills.py --rounds 12 --seed 1     as the test runs it

A round lets three services work, asks for captures, ends somebody (ENDS), starts what is to run again,
and asks for more. A few rounds share a world, so that what one leaves is there in the next.
"""
import argparse
import collections
import concurrent.futures
import os
import random
import re
import sys
import time
import traceback

from judge import judge, ns_of
from world import Failed, World, settled

EMPTY_IN = 200
ROUNDS_A_WORLD = 10
SERVICES = 3
LONGEST_MS = 5000
# A false claim, or a file that is not what was written.
FALSE = (r"complete, but", r"\d+ missing events are in no gap", r"event \d+ of \d+ is in the file twice",
         r"event \d+ of \d+ is in the file and was never written", r"the file does not decode")


class Lane:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.world = World(agent={"vitals": {"host": False, "top": False}}, no_disk=True).start()
        self.subjects = []

    # ---- services ----

    def live(self):
        return [s for s in self.subjects if s.process.poll() is None]

    def fill(self):
        while len(self.live()) < SERVICES:
            self.subjects.append(self.world.subject("hum 2 %d" % self.rng.randrange(20, 150)))
        recent = self.subjects[-4 * SERVICES:]
        self.subjects = [s for s in self.subjects if s in recent or s.process.poll() is None]

    def service_end(self):
        s = self.rng.choice(self.live())
        s.tell(self.rng.choice(["kill", "kill", "exit 0", "exit 3", "abort"]))
        s.wait()

    def pause(self, longest):
        time.sleep(self.rng.choice([0, self.rng.uniform(0, longest / 20), self.rng.uniform(0, longest)]))

    # ---- who ends, and comes again ----

    def agent_killed(self):
        self.world.agent.kill()
        self.pause(1)
        self.world.start_agent()

    def agent_stopped(self):
        self.world.agent.stop()
        self.pause(1)
        self.world.start_agent()

    def agent_killed_twice(self):
        for _ in range(2):
            self.world.agent.kill()
            self.pause(0.3)
            self.world.start_agent()
            self.pause(0.5)

    def service_dies_while_the_agent_is_away(self):
        self.world.agent.kill()
        self.pause(0.3)
        self.service_end()
        self.pause(1)
        self.world.start_agent()

    def service_dies_just_before_the_agent(self):
        self.service_end()
        self.pause(0.2)
        self.world.agent.kill()
        self.pause(1)
        self.world.start_agent()

    def service_dies(self):
        self.service_end()

    def collector_killed(self):
        self.world.collector.kill()
        self.pause(1)
        if self.rng.random() < 0.3:
            self.service_end()
        self.world.start_collector()

    def both_killed(self):
        first, second = self.rng.sample([self.world.agent, self.world.collector], 2)
        first.kill()
        self.pause(0.2)
        second.kill()
        if self.rng.random() < 0.5:
            self.service_end()
        self.pause(0.5)
        self.world.start_collector()
        self.world.start_agent()

    ENDS = (agent_killed, agent_stopped, agent_killed_twice, service_dies_while_the_agent_is_away,
            service_dies_while_the_agent_is_away, service_dies_just_before_the_agent, service_dies,
            collector_killed, both_killed)

    # ---- a round ----

    def capture(self, captures, **how):
        """A collector that has just been started may say that nobody is there: then nothing is claimed."""
        try:
            captures.append(self.world.capture(pre_ms=self.rng.randrange(100, LONGEST_MS),
                                               deadline_ms=10000, **how))
        except Failed as failed:
            if "POST /captures: 422" not in str(failed):
                raise

    def round(self, verdicts):
        self.fill()
        time.sleep(self.rng.uniform(0.1, 0.8))
        captures = []
        if self.rng.random() < 0.4:
            self.capture(captures, post_ms=self.rng.choice([0, 300, 1500]))
            self.pause(0.3)
        end = self.rng.choice(self.ENDS)
        end(self)
        self.pause(1.5)
        self.capture(captures)
        if self.rng.random() < 0.5:
            self.pause(1)
            self.capture(captures, post_ms=self.rng.choice([0, 300]))
        for c in captures:
            verdicts.append((end.__name__, self.judged(end.__name__, c)))

    def judged(self, name, capture):
        w = self.world
        c = settled(w, capture, w.final(capture))
        begins = [ns_of(e["window"]["from"]) for e in w.get("/captures?limit=100")["items"]
                  if e["capture"] < capture]
        end = time.monotonic() + 5
        while True:  # on a busy machine partitions come after the deadline, and are counted a moment later
            status, trace = w.trace(capture)
            if status not in (200, 404, 409):
                raise Failed("trace: %d" % status)
            verdict = judge(name, c, trace if status == 200 else b"", self.subjects, begins=begins,
                            unknowable=frozenset())
            now = w.final(capture)
            counted = not any(s.startswith("stored says") for s in verdict.wrong)
            if now["ledger"]["stored"] == c["ledger"]["stored"] and (counted or time.monotonic() > end):
                return verdict
            c = now


def world_run(seed, rounds, keep):
    """[(what ended, verdict)], and what could not be carried out. `keep`: the daemons' logs also where a gap is
    empty."""
    verdicts, problems, lane = [], [], None
    try:
        lane = Lane(seed)
        for _ in range(rounds):
            lane.round(verdicts)
    except Failed as failed:
        problems.append("could not be carried out: %s" % failed)
    except Exception:  # pylint: disable=broad-except # told, and counted as failed
        problems.append(traceback.format_exc())
    if lane is not None:
        wrong = problems or any(is_false(v) or (keep and v.wrong) for _, v in verdicts)
        problems += lane.world.end(keep=bool(wrong))
        if wrong:
            problems.append("      daemons' logs of %s are in %s" % (seed, lane.world.folder))
    return verdicts, problems


def is_false(verdict):
    return any(re.match(words, sentence) for sentence in verdict.wrong for words in FALSE)


class Count:
    def __init__(self):
        self.captures = self.rounds = self.false = self.empty = self.other = self.problems = 0
        self.reasons = collections.Counter()

    def take(self, seed, rounds, verdicts, problems):
        self.rounds += rounds
        for name, verdict in verdicts:
            self.captures += 1
            false, empty = is_false(verdict), bool(verdict.empty)
            self.false += false
            self.empty += empty
            self.other += bool(verdict.wrong) and not false and not empty
            self.reasons.update(set(verdict.empty))
            if verdict.wrong:
                word = "FALSE" if false else "EMPTY" if empty else "WRONG"
                print("%s %s %s: %s | %s" % (word, seed, name, "; ".join(verdict.wrong), verdict.note), flush=True)
        for problem in problems:
            self.problems += not problem.startswith(" ")
            print(problem, flush=True)

    def text(self):
        return ("%d rounds, %d captures: %d false, %d with an empty gap%s, %d wrong otherwise, %d not carried out"
                % (self.rounds, self.captures, self.false, self.empty,
                   " (%s)" % ", ".join("%s %d" % r for r in self.reasons.most_common()) if self.reasons else "",
                   self.other, self.problems))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--keep", action="store_true", help="keep the logs of worlds with an empty gap, too")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 2))  # they mostly wait
    options = parser.parse_args()
    print("kills: seed %d" % options.seed, flush=True)
    count = Count()
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        worlds = {}
        for n in range(0, options.rounds, ROUNDS_A_WORLD):
            rounds = min(ROUNDS_A_WORLD, options.rounds - n)
            seed = "%d.%d" % (options.seed, n)
            worlds[pool.submit(world_run, seed, rounds, options.keep)] = (seed, rounds)
        for n, future in enumerate(concurrent.futures.as_completed(worlds)):
            count.take(*worlds[future], *future.result())
            if n % 10 == 9:
                print("... " + count.text(), flush=True)
    print("kills: " + count.text())
    few = count.empty * EMPTY_IN <= max(count.captures, EMPTY_IN)
    sys.exit(0 if not count.false and not count.other and not count.problems and few else 1)


if __name__ == "__main__":
    main()
