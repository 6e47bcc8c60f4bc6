# SPDX-License-Identifier: Apache-2.0
"""Programs and their rings: what is written, lost, and by whom."""
import os
import shutil
import signal
import time

from case import KIB, MIB, ONESHOT, SLEEPS, case, rfc3339, shots
from judge import ns_of
from world import Failed, SUBJECT, wait_for


# ---- nothing is lost ----

@case(2)
def steady(m):
    w = m.world()
    s = w.subject("hum %d %d" % (m.rng.randrange(1, 30), m.rng.randrange(10, 300)))
    shots(m, w, [s], 4)


@case(1)
def several_processes(m):
    w = m.world()
    subjects = [w.subject() for _ in range(m.rng.randrange(2, 7))]
    for s in subjects:
        s.say("hum %d %d" % (m.rng.randrange(1, 8), m.rng.randrange(5, 200)))
    shots(m, w, subjects, 3)


@case(1)
def overlapping_and_deleted(m):
    w = m.world()
    s = w.subject("hum 6 200")
    time.sleep(1)
    captures = [w.capture(pre_ms=m.rng.randrange(300, 2500), post_ms=m.rng.randrange(0, 900))
                for _ in range(4)]
    for c in captures:
        w.final(c)
    if w.request("DELETE", "/api/v1/captures/" + captures.pop(m.rng.randrange(3)))[0] != 204:
        raise Failed("DELETE")
    for c in captures:
        m.judge(w, c, [s])


@case(1)
def record_and_post(m):
    w = m.world()
    s = w.subject("hum 4 1500", attach=(256 * KIB, 0))
    m.judge(w, w.capture(kind="record", for_ms=m.rng.randrange(300, 3000)), [s])
    m.judge(w, w.capture(pre_ms=200, post_ms=m.rng.randrange(300, 2500)), [s])


@case(1)
def idle_neighbour(m):
    """A process of the service that does nothing at all in the window is no loss."""
    w = m.world()
    busy, idle = w.subject(), w.subject()
    idle.say("hold 3 10")
    busy.say("hum 3 100")
    time.sleep(2.5)
    shots(m, w, [busy, idle], 3, 1500)


@case(1)
def forks(m):
    w = m.world()
    s = w.subject("stay %d" % m.rng.randrange(20, 500), "hum 2 50")
    w.wait_live(2)
    time.sleep(1)
    shots(m, w, [s], 2, 800)


# ---- the ring is too small for the window ----

@case(3)
def ring_wraps(m):
    w = m.world()
    s = w.subject("hum %d %d" % (m.rng.randrange(1, 6), m.rng.randrange(1, 30)),
                  attach=(m.rng.choice([64, 128, 256, 1024]) * KIB, 0))
    s.tell("burst %d %d" % (m.rng.randrange(1, 5), m.rng.randrange(5000, 60000)))
    shots(m, w, [s], 4)


@case(3)
def slow_and_fast(m):
    """Chunks of slow threads reach far back; those of fast ones go quickly."""
    w = m.world()
    s = w.subject("hum %d %d" % (m.rng.randrange(2, 20), m.rng.randrange(1, 10)),
                  "hum 2 %d" % m.rng.randrange(1000, 4000),
                  attach=(m.rng.choice([128, 256, 512]) * KIB, 0))
    time.sleep(m.rng.uniform(1, 3))
    shots(m, w, [s], 4, 6000)


@case(4)
def ended_threads(m):
    """Threads that live for a while and end: their chunks are used again."""
    w = m.world()
    s = w.subject(attach=(m.rng.choice([256, 512, 1024]) * KIB, 0))
    life_ms, rate = m.rng.randrange(200, 3000), m.rng.randrange(10, 100)
    s.say("churn %d %d %d 7000" % (m.rng.randrange(2000, 25000), life_ms, rate))
    time.sleep(3)
    shots(m, w, [s], 4, 6000)
    s.say("churned")


@case(1)
def ended_threads_default_ring(m):
    w = m.world()
    s = w.subject("churn 20000 6000 20 14000")
    time.sleep(11)
    for pre_ms in (2000, 5000, 10000):
        m.judge(w, w.capture(pre_ms=pre_ms), [s])


@case(1)
def short_threads(m):
    """A thread for each connection."""
    w = m.world()
    s = w.subject("churn %d %d %d 5000" % (m.rng.randrange(1000, 4000), m.rng.randrange(1, 30), 1000),
                  attach=(m.rng.choice([256, 1024, 4096]) * KIB, 0))
    time.sleep(2)
    shots(m, w, [s], 3, 4000)


def ring_grow(w, s, size):
    """Writes until the agent has given the ring all of its memory: it goes ahead of the writer, and is behind a
    fast one where it has no processor."""
    def backed():
        folder = "/proc/%d/fd" % w.agent.process.pid
        for fd in os.listdir(folder):
            try:
                about = os.stat(os.path.join(folder, fd))
            except FileNotFoundError:
                continue  # the listing's own, or just closed
            if about.st_nlink == 0 and about.st_size >= size and about.st_blocks * 512 >= size - MIB:
                return True
        s.say("visits 4000 1 8")
        return False
    wait_for("all of the ring's memory", backed, 60)


@case(1)
def many_short_threads(m):
    """Tens of thousands of them, of ten events, are all in a ring of the default size: a thread takes
    256 bytes at most, and they may have three quarters of it."""
    w = m.world()
    s = w.subject()
    threads = 16 * MIB // 4 * 3 // 256
    ring_grow(w, s, 16 * MIB)
    begin = time.time()
    s.say("visits %d 10 %d" % (threads, m.rng.randrange(1, 9)))
    capture = w.capture(**{"from": rfc3339(begin), "to": rfc3339(time.time())})
    m.judge(w, capture, [s])
    told = w.final(capture)["verdict"]
    m.expect("%d threads are remembered" % threads, told["complete"], told["text"])
    s.say("visits %d 10 %d" % (threads // 2, m.rng.randrange(1, 20)))  # its account has room for a million events
    shots(m, w, [s], 2, 300000)


@case(3)
def more_threads_than_chunks(m):
    w = m.world()
    s = w.subject("hum %d %d" % (m.rng.randrange(18, 60), m.rng.randrange(20, 200)), attach=(64 * KIB, 0))
    time.sleep(1)
    shots(m, w, [s], 3, 2500)


@case(1)
def more_threads_than_slots(m):
    w = m.world()
    s = w.subject("hum %d %d" % (m.rng.randrange(1100, 1700), m.rng.randrange(2, 10)))
    time.sleep(1)
    shots(m, w, [s], 2, 3000)


@case(2)
def full_before_the_window(m):
    """Losses that lie before the window are none in it."""
    w = m.world()
    s = w.subject("hold %d %d" % (m.rng.randrange(20, 50), m.rng.randrange(2, 60)),
                  "quiet",
                  "hum 2 100",
                  attach=(64 * KIB, 0))
    time.sleep(2)
    m.judge(w, w.capture(pre_ms=m.rng.randrange(300, 1500)), [s])
    m.judge(w, w.capture(pre_ms=4000), [s])
    s.say("quiet")
    s.say("hold 40 20")
    s.say("quiet")
    m.judge(w, w.capture(pre_ms=500), [s])
    m.judge(w, w.capture(pre_ms=5000), [s])


@case(2)
def oneshot(m):
    w = m.world()
    s = w.subject("hum 3 %d" % m.rng.randrange(20, 200),
                  "burst 2 %d" % m.rng.randrange(3000, 20000),
                  attach=(m.rng.choice([64, 256]) * KIB, ONESHOT))
    time.sleep(1)
    for _ in range(4):
        m.judge(w, w.capture(pre_ms=m.rng.randrange(300, 5000)), [s])


@case(1)
def handlers(m):
    w = m.world(agent={"ring": {"max_bytes": 256 * MIB}})
    s = w.subject("nest %d" % m.rng.randrange(5000, 30000), attach=(256 * MIB, 0))
    m.judge(w, w.capture(pre_ms=20000), [s])
    s.say("steps 1")
    m.judge(w, w.capture(pre_ms=20000), [s])


@case(1)
def more_than_a_cut_may_hold(m):
    w = m.world(agent={"ring": {"max_bytes": 32 * MIB}, "capture": {"partition_bytes": 64 * KIB}})
    s = w.subject("bulky 1000", attach=(32 * MIB, 0))
    for _ in range(8):  # a ring has memory for twice of what was ever written, after a look of the agent
        s.say("burst 4 300")
        time.sleep(0.2)
    s.say("burst 4 1500")
    m.judge(w, w.capture(pre_ms=20000, deadline_ms=15000), [s])


@case(1)
def more_captures_than_the_agent_makes(m):
    w = m.world(agent={"capture": {"max_targets": 1}})
    s = w.subject("hum 3 100")
    time.sleep(0.5)
    for c in [w.capture(pre_ms=400, post_ms=600) for _ in range(2)]:
        m.judge(w, c, [s])


@case(1)
def scribbled(m):
    """A program that overwrites its own ring may lie about itself; the judge asks that what is gone
    is not called whole."""
    w = m.world()
    for where in (0, 1):
        s = w.subject("hum 3 400", service="truth%d" % where, attach=(256 * KIB, 0))
        time.sleep(1)
        s.say("scribble %d" % where)
        m.judge(w, w.capture(selector="service=truth%d" % where, pre_ms=3000), [s], only=("complete, but",))


# ---- who was there ----

@case(2)
def ended_before_the_capture(m):
    w = m.world()
    one, two = w.subject("hum 3 100"), w.subject("hum 3 100")
    time.sleep(1)
    one.tell(m.rng.choice(["exit 0", "exit 3", "kill", "abort"]))
    one.wait()
    time.sleep(m.rng.uniform(0, 1))
    m.judge(w, w.capture(pre_ms=4000), [one, two])


@case(1)
def rings_of_the_ended_are_gone(m):
    w = m.world(agent={"ring": {"linger_ms": 0}})
    one, two = w.subject("hum 3 100"), w.subject("hum 3 100")
    time.sleep(1)
    one.tell("exit 0")
    one.wait()
    time.sleep(m.rng.uniform(0.05, 0.5))
    m.judge(w, w.capture(pre_ms=3000), [one, two])


@case(1)
def all_have_ended(m):
    w = m.world()
    s = w.subject("hum 3 100")
    time.sleep(1)
    s.tell(m.rng.choice(["exit 0", "exit 7", "kill"]))
    s.wait()
    time.sleep(0.5)
    status, body = w.request("POST", "/api/v1/captures", {"selector": "service=truth", "pre_ms": 5000})
    if status == 422:
        m.skip("nobody is there: refused, nothing claimed")
        return
    m.judge(w, w.capture(pre_ms=5000), [s])


@case(1)
def refused(m):
    """More processes than the agent takes."""
    w = m.world(agent={"processes": {"max": 1}})
    one = w.subject()
    two = w.subject(attach=None)
    two.say("start 0 0")
    two.say("hum 2 100")
    one.say("hum 2 100")
    time.sleep(1.5)
    m.judge(w, w.capture(pre_ms=1200), [one, two])


@case(1)
def attached_late(m):
    """The window begins before the program was attached."""
    w = m.world(start=False)
    w.start_collector()
    s = w.subject("start 0 0", "hum 3 100", attach=None)
    time.sleep(m.rng.uniform(0.5, 2))
    w.start_agent()
    w.wait_live(1)
    time.sleep(0.7)
    m.judge(w, w.capture(pre_ms=400), [s])
    m.judge(w, w.capture(pre_ms=4000), [s])


@case(1)
def executed_anew(m):
    w = m.world()
    s = w.subject("hum 2 100")
    time.sleep(1)
    s.say("again")
    s.say("attach 0 0")
    s.say("hum 2 100")
    time.sleep(1)
    m.judge(w, w.capture(pre_ms=m.rng.randrange(300, 700)), [s])
    m.judge(w, w.capture(pre_ms=5000), [s])


@case(1)
def executed_and_not_recorded_for_a_while(m):
    """Windows that begin behind the last record of the ring before lack nothing."""
    w = m.world()
    s = w.subject("hum 2 %d" % m.rng.randrange(20, 200))
    time.sleep(m.rng.uniform(0.2, 1))
    s.say("again")
    executed, waits = time.monotonic(), m.rng.uniform(0.1, 2.5)  # its entry is kept for a second
    time.sleep(waits)
    s.say("attach 0 0")
    s.say("hum 2 100")
    time.sleep(0.3)
    for part in (0.1, 0.5, 0.9):
        m.judge(w, w.capture(pre_ms=int((time.monotonic() - executed - waits * part) * 1000)), [s])
    m.judge(w, w.capture(pre_ms=5000), [s])


@case(1)
def executed_anew_and_its_agent_restarted(m):
    """What the ring before the exec had is lacked also as an agent says that never saw it."""
    w = m.world()
    s = w.subject("hum 2 100")
    time.sleep(m.rng.uniform(0.1, 0.8))
    s.say("again")
    s.say("attach 0 0")
    s.say("hum 2 100")
    time.sleep(m.rng.uniform(0.1, 0.8))
    w.agent.kill()
    time.sleep(m.rng.uniform(0, 0.5))
    w.start_agent()
    w.wait_live(1)
    time.sleep(m.rng.uniform(0.1, 1.5))
    m.judge(w, w.capture(pre_ms=5000), [s])
    shots(m, w, [s], 2, 3000)


@case(1)
def executed_anew_while_its_agent_was_away(m):
    """The agent that comes knows by its file that there was a ring."""
    w = m.world()
    s = w.subject("hum 2 100")
    time.sleep(m.rng.uniform(0.3, 0.8))
    w.agent.kill()
    s.say("again")
    s.say("start 0 0")
    if m.rng.random() < 0.5:
        s.say("hum 2 100")
        time.sleep(m.rng.uniform(0, 0.5))
    w.start_agent()
    w.wait_live(1)
    s.say("hum 1 100")
    time.sleep(m.rng.uniform(0.1, 1.5))
    for _ in range(2):
        m.judge(w, w.capture(pre_ms=5000), [s])


@case(1)
def smaller_rings_after_a_restart(m):
    w = m.world()
    s = w.subject("hum 3 300", attach=(4 * MIB, 0))
    time.sleep(1)
    w.agent.kill()
    w.agent_more = {"ring": {"max_bytes": MIB, "bytes": MIB}}
    w.configure()
    time.sleep(0.5)
    w.start_agent()
    w.wait_live(1)
    time.sleep(m.rng.uniform(0.3, 1.5))
    m.judge(w, w.capture(pre_ms=6000), [s])


@case(2)
def executed_in_the_window(m):
    """The capture runs on the ring before; what comes after is in one that it is not of."""
    w = m.world()
    s = w.subject("hum 2 100")
    time.sleep(1)
    captures = [w.capture(pre_ms=m.rng.randrange(100, 1500), post_ms=m.rng.randrange(700, 2500)),
                w.capture(kind="record", for_ms=m.rng.randrange(700, 2500)),
                w.capture(kind="stream", max_ms=m.rng.randrange(700, 2500))]
    time.sleep(m.rng.uniform(0.05, 0.5))
    s.say("again")
    s.say("attach 0 0")
    s.say("hum 2 100")
    captures.append(w.capture(pre_ms=m.rng.randrange(100, 3000)))
    for c in captures:
        m.judge(w, c, [s])


@case(1)
def started_anew_in_the_window(m):
    """All that a capture has have ended, and the next one begins, before its window is over."""
    w = m.world(agent={"crash": {"capture": False}})
    one = w.subject("hum 2 100")
    time.sleep(1)
    captures = [w.capture(pre_ms=800, post_ms=8500), w.capture(kind="record", for_ms=8000)]
    one.tell(m.rng.choice(["kill", "exit 0", "abort"]))
    one.wait()
    time.sleep(m.rng.choice([0.5, 6]))
    two = w.subject("hum 2 100")
    for c in captures:
        m.judge(w, c, [one, two])


@case(1)
def attached_in_the_window(m):
    """Children that write from their first moment on, and are attached while captures run: when a
    ring was begun is said a little later than it is there. Without the host's numbers, of which each of
    hundreds of targets has a copy: four million records, where the programs wrote forty thousand. Nor is
    there a disk, on which the agent would sync thousands of files."""
    w = m.world(agent={"vitals": {"host": False, "top": False}}, no_disk=True)
    s = w.subject("hum 1 50")
    captures = []
    for _ in range(4):
        captures.append(w.capture(pre_ms=200, post_ms=2500))
        s.tell("storm %d %d %d 1500" % (m.rng.randrange(4000, 9000), m.rng.randrange(300, 900),
                                        m.rng.randrange(50, 200)))
        time.sleep(0.6)
    for c in captures:
        m.judge(w, c, [s])


@case(2)
def a_process_for_each_client(m):
    """Children of a database: each lacks its begin, until it has its ring. The verdict tells these apart,
    and speaks of the rest."""
    w = m.world(agent={"vitals": {"host": False, "top": False}}, no_disk=True)
    s = w.subject("hum 2 50")
    s.tell("storm %d %d %d 3000" % (m.rng.randrange(60000, 120000), m.rng.randrange(300, 900),
                                    m.rng.randrange(50, 200)))
    wait_for("some children", lambda: len(w.processes()) > 8)
    for _ in range(2):
        capture = w.capture(pre_ms=m.rng.randrange(500, 1400))
        m.judge(w, capture, [s])
        c = w.final(capture)
        begins = c["verdict"].get("begins", {})
        late = [t for t in c["targets"] if any(g["reason"] == "attached_late" for g in t["ledger"]["gaps"])]
        if any(g["reason"] != "attached_late" or ns_of(g["to"]) - ns_of(g["from"]) > 900 * 10**6
               for t in c["targets"] for g in t["ledger"]["gaps"]) or not late:
            m.skip("on a busy machine some wait for longer, or none is there")
            continue
        m.expect("the rest is told to be complete", begins.get("rest_complete") and not c["verdict"]["complete"] and
                 c["verdict"]["text"].startswith("complete but for begins: "), c["verdict"]["text"])
        m.expect("those that begin late are counted", begins.get("late") == len(late) <= begins.get("young", 0),
                 "%s, %d have such a gap" % (begins, len(late)))
        time.sleep(0.3)


@case(1)
def attached_late_is_no_begin(m):
    """Who ran for long before it was recorded does not begin late."""
    w = m.world(start=False)
    w.start_collector()
    s = w.subject("start 0 0", "hum 3 100", attach=None)
    time.sleep(m.rng.uniform(1.5, 2.5))
    w.start_agent()
    w.wait_live(1)
    time.sleep(0.3)
    capture = w.capture(pre_ms=m.rng.choice([1000, 10000]))
    m.judge(w, capture, [s])
    verdict = w.final(capture)["verdict"]
    m.expect("it is incomplete", "begins" not in verdict and not verdict["complete"], verdict["text"])


@case(1)
def ended_before_its_agent_came(m):
    """Children that ask to be recorded, and end while their agent stands still."""
    w = m.world()
    s = w.subject("hum 1 50")
    c = w.capture(pre_ms=200, post_ms=2000)
    time.sleep(0.3)
    w.agent.process.send_signal(signal.SIGSTOP)
    s.tell("storm %d 250 %d 500" % (m.rng.randrange(15000, 40000), m.rng.randrange(50, 200)))
    time.sleep(m.rng.uniform(0.9, 1.1))
    w.agent.process.send_signal(signal.SIGCONT)
    m.judge(w, c, [s])


# ---- programs of other kinds ----

@case(1)
def fork_storm(m):
    """Children that write from their first moment on, and are attached a little later."""
    w = m.world()
    s = w.subject()
    s.tell("storm %d %d %d 4000" % (m.rng.randrange(20000, 80000), m.rng.randrange(300, 900),
                                    m.rng.randrange(20, 200)))
    time.sleep(2)
    shots(m, w, [s], 3, 3000)


@case(1)
def cancelled_threads(m):
    """Threads that are cancelled wherever they are, in the middle of a record too."""
    w = m.world()
    s = w.subject("cancel %d %d %d 3000" % (m.rng.randrange(2000, 10000), m.rng.randrange(1, 40), 20000),
                  attach=(m.rng.choice([64, 256, 4096]) * KIB, 0))
    time.sleep(1.5)
    shots(m, w, [s], 3, 3000)


@case(1)
def left_by_a_jump(m):
    w = m.world()
    s = w.subject("leap %d" % m.rng.randrange(20000, 150000), attach=(m.rng.choice([1, 8]) * MIB, 0))
    m.judge(w, w.capture(pre_ms=20000), [s])


@case(2)
def bulky_records(m):
    w = m.world()
    s = w.subject("bulky %d" % m.rng.choice([100, 700, 1500]),
                  "hum %d %d" % (m.rng.randrange(1, 30), m.rng.randrange(5, 300)),
                  attach=(m.rng.choice([64, 256, 1024]) * KIB, m.rng.choice([0, 0, ONESHOT])))
    shots(m, w, [s], 3, 2000)


@case(1)
def another_user_in_an_empty_root(m):
    w = m.world()
    s = w.subject("hum 3 100")
    time.sleep(0.7)
    for command in m.rng.choice([["user 65534"], ["root"], ["root", "user 65534"]]):
        s.say(command)
    shots(m, w, [s], 2, 2500)
    time.sleep(1)
    m.judge(w, w.capture(pre_ms=5000), [s])


@case(1)
def pid_namespace(m):
    w = m.world()
    s = w.subject("hum 3 100", within=["unshare", "--pid", "--fork", "--kill-child"])
    s.say("stay 50")
    w.wait_live(2)
    time.sleep(1)
    shots(m, w, [s], 2, 2500)


@case(1)
def stopped_and_started(m):
    """It ends recording, and begins anew."""
    w = m.world()
    s = w.subject("hum 3 100")
    time.sleep(1)
    s.say("quiet")
    s.say("stop")
    time.sleep(m.rng.uniform(0, 0.6))
    s.say("attach 0 0")
    s.say("hum 3 100")
    time.sleep(1)
    m.judge(w, w.capture(pre_ms=700), [s])
    m.judge(w, w.capture(pre_ms=5000), [s])


@case(1)
def executed_many_times(m):
    w = m.world()
    s = w.subject()
    for _ in range(3):
        s.say("hum 2 100")
        time.sleep(m.rng.uniform(0.1, 0.5))
        s.say("again")
        s.say("attach 0 0")
    s.say("hum 2 100")
    shots(m, w, [s], 3, 3000)


@case(1)
def watched(m):
    """A process that is only watched from outside, beside one with a ring: all that it does is a gap."""
    w = m.world(start=False)
    program = shutil.copy(SUBJECT, w.path("watched_subject"))  # by its whole path: other worlds have theirs
    w.agent_more = {"watch": {"select": ["truth exe=%s" % program]}}
    w.configure()
    w.start()
    traced = w.subject("hum 2 100", program=program)
    outside = w.subject("hum %d 100" % m.rng.randrange(1, 9), attach=None, program=program)
    w.wait_live(2)
    time.sleep(1)
    shots(m, w, [traced, outside], 3, 1500)


@case(2)
def unmodified_program(m):
    """Sleeps of a program that knows nothing of the tracer."""
    mode, number = m.rng.choice([("threads", m.rng.randrange(1, 20)), ("brief", m.rng.randrange(5, 40)),
                                 ("forks", m.rng.randrange(40, 200)), ("daemon", 3),
                                 ("again", m.rng.randrange(100, 500))])
    ring = m.rng.choice([64 * KIB, 512 * KIB, 16 * MIB])
    w = m.world(agent={"ring": {"bytes": ring, "max_bytes": 16 * MIB}})
    s = w.plain(mode, number)
    w.wait_live(1)
    time.sleep(1)
    shots(m, w, [s], 3, 3000, event=SLEEPS)
