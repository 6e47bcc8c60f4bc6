#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The judge says each of its sentences: what it lets pass was looked at. Captures are made by hand; of
their window of ten seconds a program wrote an event every 100 ms."""
import unittest

import judge as judge_module
from judge import MS, judge

START = 1700000000 * 10**9
PID = 7
SECOND = 10**9


class Program:
    """An account as world.Subject gives it."""

    def truth(self):
        return [(at, at + 10000, PID, 1) for at in events()]


def events():
    return [START + n * 100 * MS + 50 * MS for n in range(100)]


def text(ns):
    seconds = (ns - START) / SECOND
    return "2023-11-14T22:13:%06.3fZ" % (20 + seconds)


def gap(first_s, last_s, reason):
    return {"from": text(START + int(first_s * SECOND)), "to": text(START + int(last_s * SECOND)),
            "reason": reason}


class Partition:
    def __init__(self, numbers, late_ns=0, cut_s=10):
        self.pid = PID
        self.cut_ns = START + int(cut_s * SECOND)
        self.records = [("ev", events()[n] + late_ns, n) for n in numbers]


def verdict(numbers, complete=False, gaps=(), stored=None, ring=0, late_ns=0, until_s=10, begins=(),
            error_ns=0, cut_s=10, at_most=None, rest_complete=None, store=0):
    """What the judge says of a capture that holds these events of the program."""
    lost = {"ring": ring, "spool": 0, "wire": 0, "quota": 0, "store": store}
    ledger = {"gaps": list(gaps), "lost": lost, "stored": len(numbers) if stored is None else stored}
    if at_most is not None:
        ledger.update(at_most=list(at_most), reasons=at_most)
        lost["spool"] = sum(at_most.values())
    says = {"complete": complete, "text": "by hand"}
    if rest_complete is not None:
        says["begins"] = {"late": 1, "young": 1, "longest_ms": 1, "rest_complete": rest_complete}
    capture = {"window": {"from": text(START), "to": text(START + int(until_s * SECOND))}, "ledger": ledger,
               "targets": [{"pid": PID, "ledger": ledger, "clock_error_ns": error_ns}],
               "verdict": says}
    judge_module.read_file = lambda data: [Partition(numbers, late_ns, cut_s)]
    return judge("by hand", capture, b"by hand", [Program()], begins=begins).wrong


ALL = range(100)
WITHOUT = [n for n in ALL if not 40 <= n < 60]  # two seconds are missing, from 4 s on


class Judge(unittest.TestCase):
    def says(self, sentences, part):
        self.assertTrue(any(part in s for s in sentences), sentences)

    def test_whole_and_complete_is_right(self):
        self.assertEqual(verdict(ALL, complete=True), [])

    def test_missing_and_told_is_right(self):
        self.assertEqual(verdict(WITHOUT, gaps=[gap(4, 6, "overwritten")]), [])
        self.assertEqual(verdict(WITHOUT, gaps=[gap(4, 6, "ring_full")], ring=20), [])

    def test_what_the_disk_did_not_keep_is_counted(self):
        gaps = [gap(4, 6, "damaged")]
        self.assertEqual(verdict(WITHOUT, gaps=gaps, store=20), [])
        self.says(verdict(WITHOUT, gaps=gaps, store=40), "40 counted as lost, 20 are")
        self.says(verdict(WITHOUT, gaps=gaps), "0 counted as lost, 20 are")

    def test_complete_and_missing(self):
        self.says(verdict(WITHOUT, complete=True), "complete, but 20 of 100")

    def test_missing_beside_the_gap(self):
        self.says(verdict(WITHOUT, gaps=[gap(4, 5.5, "overwritten")]), "5 missing events are in no gap")

    def test_incomplete_and_whole(self):
        self.says(verdict(ALL), "incomplete, but nothing is missing")

    def test_gap_over_nothing(self):
        gaps = [gap(4, 6, "overwritten"), gap(8, 9, "overwritten")]
        self.says(verdict(WITHOUT, gaps=gaps), "covers nothing that is missing")

    def test_gap_at_the_very_end(self):
        gaps = [gap(9.950, 9.951, "spool_full")]
        self.assertEqual(verdict(range(99), gaps=gaps, ring=1, until_s=9.951), [])
        self.says(verdict(ALL, gaps=gaps, until_s=9.951), "covers nothing that is missing")

    def test_gap_that_began_before_the_window(self):
        """Of a process that wrote before it, and then stood still until it had its ring at 4 s."""
        kept = Program.truth
        account = [(0, 0, 0, 0)] * 40 + kept(Program())[40:]
        late, early = gap(0, 4, "attached_late"), (START - SECOND, START - SECOND + 1, PID, 1)
        try:
            Program.truth = lambda self: account + [early]
            self.assertEqual(verdict(range(42, 100), gaps=[late, gap(4, 4.2, "overwritten")]), [])
            self.says(verdict(range(42, 100), gaps=[gap(0, 3.9, "overwritten"), gap(4, 4.2, "overwritten")]),
                      "covers nothing that is missing")
            Program.truth = lambda self: account
            self.says(verdict(range(42, 100), gaps=[late, gap(4, 4.2, "overwritten")]), "covers nothing")
            Program.truth = lambda self: kept(self) + [early]
            self.says(verdict(range(100), gaps=[late]), "covers nothing that is missing")
        finally:
            Program.truth = kept

    def test_gap_in_which_a_thread_began(self):
        """That is recorded, but has no number: a gap of a ring that came late lacks it, and no other."""
        late = gap(4, 4.05, "attached_late")
        try:
            Program.others = [(START + 4 * SECOND + 10 * MS, START + 4 * SECOND + 20 * MS, PID)]
            self.assertEqual(verdict(ALL, gaps=[late]), [])
            self.says(verdict(ALL, gaps=[gap(4, 4.05, "corrupt")]), "covers nothing")
            Program.others = [(START + 5 * SECOND, START + 5 * SECOND, PID)]
            self.says(verdict(ALL, gaps=[late]), "covers nothing")
        finally:
            del Program.others

    def test_gap_that_goes_on_behind_the_window(self):
        """Of a process that left its ring at 8 s, and wrote again after the window."""
        kept = Program.truth
        account = [(0, 0, 0, 0)] * 20 + kept(Program())[20:80] + [(0, 0, 0, 0)] * 20
        left, later = gap(8, 10, "ring_replaced"), (START + 11 * SECOND, START + 11 * SECOND + 1, PID, 1)
        try:
            Program.truth = lambda self: account + [later]
            self.assertEqual(verdict(range(20, 80), gaps=[left]), [])
            self.says(verdict(range(20, 80), gaps=[gap(8, 10, "corrupt")]), "covers nothing")
            self.says(verdict(range(20, 80), gaps=[gap(7.5, 10, "ring_replaced")]), "covers nothing")
            Program.truth = lambda self: account
            self.says(verdict(range(20, 80), gaps=[left]), "covers nothing")
        finally:
            Program.truth = kept

    def test_gap_before_what_is_shared(self):
        begins = [START + 4 * SECOND]
        self.assertEqual(verdict(ALL, gaps=[gap(0, 4, "overwritten")], begins=begins), [])
        self.says(verdict(ALL, gaps=[gap(0, 3, "overwritten")], begins=begins), "covers nothing")
        self.says(verdict(ALL, gaps=[gap(1, 4, "overwritten")], begins=begins), "covers nothing")
        self.says(verdict(ALL, gaps=[gap(0, 4, "overwritten")]), "covers nothing")
        self.says(verdict(ALL, gaps=[gap(0, 4, "corrupt")], begins=begins), "covers nothing")

    def test_gap_of_what_the_cut_before_still_took(self):
        late = gap(9.5, 9.6, "overwritten")
        self.assertEqual(verdict(ALL, gaps=[late], cut_s=9.5), [])
        self.says(verdict(ALL, gaps=[late], cut_s=9.4), "covers nothing")
        self.says(verdict(ALL, gaps=[late], cut_s=9.6), "covers nothing")
        self.says(verdict(range(96), gaps=[gap(9.5515, 9.5525, "overwritten")], cut_s=9.5515, until_s=9.6),
                  "covers nothing")
        self.says(verdict(ALL, gaps=[gap(9.5, 9.6, "spool_full")], cut_s=9.5), "covers nothing")
        gaps = [gap(4, 6, "overwritten"), gap(9.5, 10, "overwritten")]
        self.says(verdict(WITHOUT, gaps=gaps, cut_s=9.5), "covers nothing")

    def test_gap_outside_of_the_window(self):
        gaps = [gap(4, 6, "overwritten"), gap(11, 12, "overwritten")]
        self.says(verdict(WITHOUT, gaps=gaps), "outside of the window")

    def test_counts_that_are_wrong_both_ways(self):
        for told in (10, 30):
            self.says(verdict(WITHOUT, gaps=[gap(4, 6, "ring_full")], ring=told), "%d counted as lost" % told)

    def test_bounds_that_are_wrong_both_ways(self):
        lost = [gap(4, 6, "spool_full")]
        for most in (20, 60, 100, 125):
            self.assertEqual(verdict(WITHOUT, gaps=lost, at_most={"spool_full": most}), [])
        for most in (0, 11):
            self.says(verdict(WITHOUT, gaps=lost, at_most={"spool_full": most}),
                      "at most %d lost by spool_full, but 20 are" % most)
        for most in (140, 1000000):
            self.says(verdict(WITHOUT, gaps=lost, at_most={"spool_full": most}),
                      "but 100 were in the window")
        two = [gap(4, 5, "spool_full"), gap(5, 6, "not_arrived")]
        self.assertEqual(verdict(WITHOUT, gaps=two, at_most={"spool_full": 12, "not_arrived": 12}), [])
        self.says(verdict(WITHOUT, gaps=two, at_most={"spool_full": 1, "not_arrived": 100}),
                  "at most 1 lost by spool_full")

    def test_all_but_begins(self):
        late = [gap(0, 0.3, "attached_late")]
        self.assertEqual(verdict(range(3, 100), gaps=late, rest_complete=True), [])
        self.assertEqual(verdict(WITHOUT[3:], gaps=late + [gap(4, 6, "overwritten")], rest_complete=False), [])
        self.says(verdict(WITHOUT[3:], gaps=late + [gap(4, 6, "overwritten")], rest_complete=True),
                  "20 events beside these are missing")
        self.says(verdict(WITHOUT[3:], gaps=late, rest_complete=True), "20 events beside these are missing")
        self.says(verdict(range(3, 100), gaps=late + [gap(9.95, 9.951, "spool_full")], rest_complete=True),
                  "gaps are told of spool_full")
        self.says(verdict(WITHOUT, gaps=[gap(4, 6, "attached_late")], rest_complete=True),
                  "20 events beside these are missing")

    def test_begin_of_a_process_that_got_a_pid_again(self):
        """The one before wrote from 0 s on; this one, by its own word, from 4 s on."""
        late = [gap(4, 4.3, "attached_late")]
        without = [n for n in ALL if not 40 <= n < 43]
        self.says(verdict(without, gaps=late, rest_complete=True), "3 events beside these are missing")
        try:
            Program.lives = [(PID, START), (PID, START + 4 * SECOND)]
            self.assertEqual(verdict(without, gaps=late, rest_complete=True), [])
            self.says(verdict(WITHOUT, gaps=[gap(4, 6, "attached_late")], rest_complete=True), "20 events beside")
        finally:
            del Program.lives

    def test_stored_beside_the_file(self):
        self.says(verdict(ALL, complete=True, stored=99), "stored says 99, the file has 100")

    def test_times_that_are_off(self):
        self.says(verdict(ALL, complete=True, late_ns=30 * MS), "a time is off by")
        self.assertEqual(verdict(ALL, complete=True, late_ns=30 * MS, error_ns=26 * MS), [])
        self.says(verdict(ALL, complete=True, late_ns=3 * SECOND, error_ns=4 * SECOND), "a time is off by")
        self.says(verdict(WITHOUT, complete=True, error_ns=20 * SECOND), "complete, but")

    def test_event_twice(self):
        self.says(verdict(list(ALL) + [5], complete=True), "in the file twice")

    def test_event_that_nobody_wrote(self):
        Program.truth, kept = lambda self: [(a, a + 10000, PID, 1) for a in events()[:50]], Program.truth
        try:
            self.says(verdict(ALL, complete=True), "was never written")
        finally:
            Program.truth = kept


if __name__ == "__main__":
    unittest.main()
