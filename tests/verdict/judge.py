# SPDX-License-Identifier: Apache-2.0
"""Holds what a capture says against what the programs wrote down themselves."""
import calendar
import collections

from skein_file import Damaged, read_file

MS = 1000000
SHOWN = 2 * MS      # times in JSON are whole milliseconds
CLOCK = 5 * MS      # how far a time may be from the true one, besides what its target says (V-20)
DOUBT = 50 * MS     # no target is believed more
BORDER = 20 * MS    # events so near to the window's ends are nobody's proof
COUNTED = 400 * MS  # of losses so near to the window's ends the ring tells an estimate (V-9)
# Reasons that nobody can count; docs/verdict.md.
UNCOUNTED = {"overwritten", "corrupt", "agent_failed", "agent_restarted", "no_answer", "unknown",
             "attached_late", "attach_refused", "ring_replaced", "ring_released", "watched"}
# Nobody can know whether something was there: such a gap may cover nothing.
UNKNOWABLE = {"agent_restarted", "no_answer"}
# Parts of something longer that the window cuts off: the part may hold nothing (V-2, V-6, V-9).
CUT_OFF = {"ring_full", "attached_late", "overwritten"}
EDGE = 100 * MS     # how long such a part may be
# Before the process had a ring, between two, or until its agent saw that it had ended: longer where it
# stood still.
WITHOUT_RING = {"attached_late", "attach_refused", "ring_replaced", "watched"}
# What a process lacks of its begin, where that is all it lacks (V-34), and how long it is young.
BEGINS = {"attached_late", "ring_replaced"}
YOUNG = 1000 * MS
BOUND = 1.25        # how far a number that is told as a bound may be above all that there was (V-35)


def ns_of(text):
    """RFC 3339 with milliseconds."""
    seconds, rest = text.split(".")
    year, month, day = (int(x) for x in seconds[:10].split("-"))
    hour, minute, second = (int(x) for x in seconds[11:19].split(":"))
    whole = calendar.timegm((year, month, day, hour, minute, second))
    return whole * 1000000000 + int(rest.rstrip("Z").ljust(9, "0"))


class Gap:
    def __init__(self, json, ahead_ns, shown=SHOWN):
        self.first = ns_of(json["from"]) - ahead_ns
        self.last = ns_of(json["to"]) - ahead_ns
        self.reason = json["reason"]
        self.shown = shown

    def holds(self, before, after, slack=0):
        slack = max(slack, self.shown)
        return after >= self.first - slack and before <= self.last + slack


class Verdict:
    """What the judge found: a list of sentences, empty where the capture is right."""

    def __init__(self, name):
        self.name, self.wrong, self.note = name, [], ""
        self.empty = []  # the reasons of gaps that cover nothing, and may not

    def say(self, sentence):
        self.wrong.append(sentence)


def is_doubtful(capture):
    """Whether a target says of its clock that it may be off by more than DOUBT."""
    return any(t.get("clock_error_ns", 0) > DOUBT for t in capture["targets"])


def clock_errors(capture, doubt):
    """{pid: ns}: how far its times may be off, as the capture says. Where a pid is in no target nobody
    can know whose clock it was: the greatest."""
    errors = {t["pid"]: min(t.get("clock_error_ns", 0), doubt) for t in capture["targets"]}
    greatest = max(errors.values(), default=0)
    return collections.defaultdict(lambda: greatest, errors)


def stored_events(data, event, verdict):
    """{(pid, id): ns} of the trace, the number of its records, and of each cut that brought some its
    process, when it looked at the clock, and its last record. `event`: the name of those that count,
    and the argument of number 0."""
    events, records, cuts = {}, 0, []
    try:
        partitions = read_file(data) if data else []
    except Damaged as damage:
        verdict.say("the file does not decode: %s" % damage)
        partitions = []
    for p in partitions:
        records += len(p.records)
        cuts += [(p.pid, p.cut_ns, max(ns for _, ns, _ in p.records))] if p.records else []
        for name, ns, value in p.records:
            if name != event[0] or value is None or value < event[1]:
                continue
            key = (p.pid, value - event[1])
            if key in events:
                verdict.say("event %d of %d is in the file twice" % (key[1], p.pid))
                return events, records, cuts
            events[key] = ns
    return events, records, cuts


def truth_of(subjects):
    """{(pid, id): (before, after)} of finished events, and the keys of those that were not."""
    done, open_keys = {}, set()
    for subject in subjects:
        for n, (before, after, pid, _thread) in enumerate(subject.truth()):
            if after:
                done[pid, n] = (before, after)
            elif before:
                open_keys.add((pid, n))
    return done, open_keys


def others_of(subjects):
    """{pid: [span]}; of what did not end the moment in which it began."""
    spans = collections.defaultdict(list)
    for subject in subjects:
        for before, after, pid in getattr(subject, "others", ()):
            spans[pid].append((before, after or before))
    return spans


def lives_of(subjects):
    """{pid: [ns]}, when each process with the pid wrote its first, as far as the programs say."""
    lives = collections.defaultdict(list)
    for subject in subjects:
        for pid, began in getattr(subject, "lives", ()):
            lives[pid].append(began)
    return lives


def gaps_of(capture, ahead_ns, errors):
    """{pid: [Gap]}, and those of the whole capture."""
    by_pid = collections.defaultdict(list)
    for target in capture["targets"]:
        for gap in target.get("ledger", {}).get("gaps", []):
            by_pid[target["pid"]].append(Gap(gap, ahead_ns, SHOWN + errors[target["pid"]]))
    return by_pid, [Gap(g, ahead_ns, SHOWN + errors[None]) for g in capture["ledger"].get("gaps", [])]


def check_times(stored, truth, open_keys, ahead_ns, errors, verdict):
    worst = 0
    for key, ns in stored.items():
        if key in open_keys:
            continue
        if key not in truth:
            verdict.say("event %d of %d is in the file and was never written" % (key[1], key[0]))
            return
        before, after = truth[key]
        ns -= ahead_ns
        off = max(before - ns, ns - after, 0) - errors[key[0]]
        worst = max(worst, off)
    if worst > CLOCK:
        verdict.say("a time is off by %.1f ms" % (worst / MS))


def is_rest(gap, spans, window):
    """Whether it is what the window leaves of a longer one, and the process wrote nothing in this part."""
    began = gap.first < window[0] + SHOWN and any(after < window[0] for _, after in spans)
    goes_on = gap.last > window[1] - SHOWN and any(before > window[1] for before, _ in spans)
    return (gap.reason in WITHOUT_RING and (began or goes_on) and
            not any(after > gap.first + SHOWN and before < gap.last - SHOWN for before, after in spans))


def is_before_shared(gap, spans, window, begins):
    """Whether it goes from the window's or the process's begin to where the window of an earlier capture
    began: what was overwritten since may have reached back behind that (V-6)."""
    first = max(window[0], min((before for before, _ in spans), default=window[0]))
    return (gap.reason == "overwritten" and gap.first < first + SHOWN and
            any(abs(gap.last - begin) <= SHOWN for begin in begins))


def is_taken_later(gap, cuts):
    """Whether it begins where a cut looked at the clock that still brought what was written at its end:
    what the next cut found gone may all be in that one (V-2)."""
    return gap.reason == "overwritten" and any(
        abs(gap.first - looked) <= gap.shown and last > looked and last >= gap.last - SHOWN
        for looked, last in cuts)


def spans_by_pid(events):
    """{pid: [span]}, made once: there are hundreds of processes with tens of thousands of events."""
    spans = collections.defaultdict(list)
    for (pid, _), span in events.items():
        spans[pid].append(span)
    return spans


def lacks_other(gap, others):
    """Whether something was done in it that is recorded and has no number in the account."""
    return gap.reason in WITHOUT_RING and any(
        after >= gap.first - gap.shown and before < gap.last for before, after in others)


def may_be_empty(by_pid, truth, others, cuts, window, begins):
    """Of the gaps those that docs/verdict.md allows to cover nothing, whatever their length; and those in
    which nothing is missing that has a number."""
    allowed = []
    spans_of = spans_by_pid(truth)
    for pid, gaps in by_pid.items():
        spans, own = spans_of[pid], [c[1:] for c in cuts if c[0] == pid]
        allowed += [g for g in gaps if is_rest(g, spans, window) or is_taken_later(g, own) or
                    is_before_shared(g, spans, window, begins) or lacks_other(g, others[pid])]
    return allowed


def check_gaps(by_pid, allowed, gone, window, verdict, unknowable):
    """A gap lies in the window and covers something that is not there, at its very ends too."""
    lost_of = spans_by_pid(gone)
    for pid, gaps in by_pid.items():
        lost = lost_of[pid]
        for gap in gaps:
            at_edge = gap.last - gap.first < EDGE and gap.reason in CUT_OFF and (
                gap.first < window[0] + SHOWN or gap.last > window[1] - SHOWN)
            outside = gap.last < window[0] - SHOWN or gap.first > window[1] + SHOWN
            if outside:
                verdict.say("gap of %s lies outside of the window" % gap.reason)
            elif gap.reason not in unknowable and not at_edge and gap not in allowed and not any(
                    gap.holds(*span) for span in lost):
                verdict.empty.append(gap.reason)
                verdict.say("gap of %s for %d (%.3f s, to %.3f s before the end) covers nothing that is missing"
                            % (gap.reason, pid, (gap.last - gap.first) / 1e9,
                               (window[1] - gap.last) / 1e9))


def check_bounds(bounds, gaps, missing, lying, estimated, verdict):
    """A number that is told as at most so many is no less than what is lost by its reason alone, and no
    more than what there was in the window, but for a quarter (V-35)."""
    for reason, most in bounds.items():
        by_it = sum(1 for span in missing.values() if any(g.holds(*span) for g in gaps if g.reason == reason)
                    and not any(g.holds(*span) for g in gaps if g.reason != reason))
        if most + estimated < by_it:
            verdict.say("at most %d lost by %s, but %d are, %d near the ends" % (most, reason, by_it, estimated))
        if most > lying * BOUND + estimated:
            verdict.say("at most %d lost by %s, but %d were in the window" % (most, reason, lying))


def check_begins(missing, by_pid, all_gaps, truth, lives, verdict):
    """`rest_complete` is a claim as `complete` is: nothing is missing but what young processes lack of their
    first second, and no other gap is told."""
    spans_of = spans_by_pid(truth)
    firsts = {pid: lives[pid] or [s[0] for s in sorted(spans_of[pid])[:1]] for pid in by_pid}

    def began(pid, g):
        """When the process wrote its first that the gap is of: of those with its pid the last one by then."""
        by_then = [ns for ns in firsts[pid] if ns <= g.last + g.shown]
        return max(by_then, default=g.last)

    begins = {pid: [g for g in gaps if g.reason in BEGINS and g.last <= began(pid, g) + YOUNG + g.shown]
              for pid, gaps in by_pid.items()}
    beside = [key for key, span in missing.items()
              if not any(g.holds(*span) for g in begins.get(key[0], []))]
    if beside:
        verdict.say("all but begins is complete, but %d events beside these are missing" % len(beside))
    others = {g.reason for g in all_gaps} - BEGINS
    others |= {g.reason for pid, gaps in by_pid.items() for g in gaps if g not in begins[pid]}
    if others:
        verdict.say("all but begins is complete, but gaps are told of %s" % ", ".join(sorted(others)))


def check_counts(capture, gaps, gone, missing, lying, window, verdict):
    lost = capture["ledger"]["lost"]
    told = sum(lost[place] for place in ("ring", "spool", "wire", "quota", "store"))
    at_most = {reason: capture["ledger"]["reasons"][reason] for reason in capture["ledger"].get("at_most", [])}
    bounds = sum(at_most.values())
    gone = gone.values()
    possible = sum(1 for span in gone if any(g.holds(*span, slack=BORDER) for g in gaps))
    estimated = sum(1 for span in gone
                    if min(abs(span[0] - window[0]), abs(span[0] - window[1])) < COUNTED)
    check_bounds(at_most, gaps, missing, lying, estimated, verdict)
    if told - bounds > possible + estimated:
        verdict.say("%d counted as lost, %d are, %d near the ends" % (told - bounds, possible, estimated))
    if told + estimated < len(missing) and not any(
            g.reason in UNCOUNTED for g in gaps):
        verdict.say("%d counted as lost, %d are, %d near the ends" % (told, len(missing), estimated))


def judge(name, capture, trace, subjects, ahead_ns=0, lasting=None, event=("ev", 0), begins=(),
          unknowable=frozenset(UNKNOWABLE), doubt=DOUBT):
    """One capture, ended, with its trace's bytes. ahead_ns: the collector's clock beside the true
    one. `lasting`: reasons for which a capture may be incomplete although nothing is missing.
    `begins`: of the windows of captures before it, in ns of the collector's clock. `unknowable`: reasons
    whose gaps may cover nothing. `doubt`: so much is believed of what a target says of its clock."""
    verdict = Verdict(name)
    truth, open_keys = truth_of(subjects)
    stored, records, cuts = stored_events(trace, event, verdict)
    cuts = [(pid, looked - ahead_ns, last - ahead_ns) for pid, looked, last in cuts]
    errors = clock_errors(capture, doubt)
    window = (ns_of(capture["window"]["from"]) - ahead_ns, ns_of(capture["window"]["to"]) - ahead_ns)
    by_pid, all_gaps = gaps_of(capture, ahead_ns, errors)
    gone = {key: span for key, span in truth.items() if key not in stored}
    missing = {key: span for key, span in gone.items()
               if span[0] >= window[0] + SHOWN + errors[key[0]] and
               span[1] <= window[1] - SHOWN - errors[key[0]]}
    pids = {t["pid"] for t in capture["targets"]}
    bare = [(key, span) for key, span in missing.items()
            if not any(g.holds(*span) for g in (by_pid[key[0]] if key[0] in pids else all_gaps))]
    says = capture["verdict"]["complete"]
    inside = sum(1 for span in truth.values() if span[0] >= window[0] and span[1] <= window[1])
    verdict.note = "%d of %d events in the window missing; %s" % (
        len(missing), inside, capture["verdict"]["text"])
    if says and missing:
        verdict.say("complete, but %d of %d events are missing" % (len(missing), inside))
    elif bare:
        ends = [span[1] for _, span in bare]
        verdict.say("%d missing events are in no gap (%.3f to %.3f s before the end)" % (
            len(bare), (window[1] - max(ends)) / 1e9, (window[1] - min(ends)) / 1e9))
    near = any(span[1] >= window[0] - SHOWN - errors[key[0]] and
               span[0] <= window[1] + SHOWN + errors[key[0]] for key, span in gone.items())
    allowed = may_be_empty(by_pid, truth, others_of(subjects), cuts, window, [b - ahead_ns for b in begins])
    of_targets = [g for gaps in by_pid.values() for g in gaps]
    explained = of_targets and all(g in allowed for g in of_targets)
    if not says and not near and not explained and not ({g.reason for g in all_gaps} & (unknowable | set(lasting or ()))):
        verdict.empty.append("all")
        verdict.say("incomplete, but nothing is missing")
    check_gaps(by_pid, allowed, gone, window, verdict, unknowable)
    if capture["verdict"].get("begins", {}).get("rest_complete"):
        check_begins(missing, by_pid, all_gaps, truth, lives_of(subjects), verdict)
    lying = sum(1 for span in truth.values() if span[1] >= window[0] - SHOWN and span[0] <= window[1] + SHOWN)
    check_counts(capture, all_gaps, gone, missing, lying, window, verdict)
    check_times(stored, truth, open_keys, ahead_ns, errors, verdict)
    if capture["ledger"]["stored"] != records:
        verdict.say("stored says %d, the file has %d records" % (capture["ledger"]["stored"], records))
    return verdict
