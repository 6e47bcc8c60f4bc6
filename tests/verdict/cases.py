# SPDX-License-Identifier: Apache-2.0
"""The matrix: each case is a function that makes a world, lets programs work and lose events in one
way, captures, and gives what it captured to the judge. Numbers are drawn from the case's own random
generator, so that a seed repeats them. `m` is the Matrix of run_matrix.py.
"""
import os
import signal
import time

from world import Failed, wait_for

KIB, MIB = 1 << 10, 1 << 20
ONESHOT = 1  # enum skein_mode
CASES = []


def case(weight):
    """weight: how often the case is run in a full round."""
    def mark(function):
        CASES.append((function.__name__, function, weight))
        return function
    return mark


def shots(m, w, subjects, count=3, longest_ms=4000, **more):
    """Some captures at random moments, of random windows."""
    for _ in range(count):
        time.sleep(m.rng.uniform(0.05, 0.6))
        capture = w.capture(pre_ms=m.rng.randrange(100, longest_ms), **more)
        m.judge(w, capture, subjects)


# ---- nothing is lost ----

@case(2)
def steady(m):
    w = m.world()
    s = w.subject()
    s.say("hum %d %d" % (m.rng.randrange(1, 30), m.rng.randrange(10, 300)))
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
    s = w.subject()
    s.say("hum 6 200")
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
    s = w.subject(attach=(256 * KIB, 0))
    s.say("hum 4 1500")
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
    s = w.subject()
    s.say("stay %d" % m.rng.randrange(20, 500))
    s.say("hum 2 50")
    w.wait_live(2)
    time.sleep(1)
    shots(m, w, [s], 2, 800)


# ---- the ring is too small for the window ----

@case(3)
def ring_wraps(m):
    w = m.world()
    s = w.subject(attach=(m.rng.choice([64, 128, 256, 1024]) * KIB, 0))
    s.say("hum %d %d" % (m.rng.randrange(1, 6), m.rng.randrange(1, 30)))
    s.tell("burst %d %d" % (m.rng.randrange(1, 5), m.rng.randrange(5000, 60000)))
    shots(m, w, [s], 4)


@case(3)
def slow_and_fast(m):
    """Chunks of slow threads reach far back; those of fast ones go quickly."""
    w = m.world()
    s = w.subject(attach=(m.rng.choice([128, 256, 512]) * KIB, 0))
    s.say("hum %d %d" % (m.rng.randrange(2, 20), m.rng.randrange(1, 10)))
    s.say("hum 2 %d" % m.rng.randrange(1000, 4000))
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
    s = w.subject()
    s.say("churn 20000 6000 20 14000")
    time.sleep(11)
    for pre_ms in (2000, 5000, 10000):
        m.judge(w, w.capture(pre_ms=pre_ms), [s])


@case(1)
def short_threads(m):
    """A thread for each connection."""
    w = m.world()
    s = w.subject(attach=(m.rng.choice([256, 1024, 4096]) * KIB, 0))
    s.say("churn %d %d %d 5000" % (m.rng.randrange(1000, 4000), m.rng.randrange(1, 30), 1000))
    time.sleep(2)
    shots(m, w, [s], 3, 4000)


@case(3)
def more_threads_than_chunks(m):
    w = m.world()
    s = w.subject(attach=(64 * KIB, 0))
    s.say("hum %d %d" % (m.rng.randrange(18, 60), m.rng.randrange(20, 200)))
    time.sleep(1)
    shots(m, w, [s], 3, 2500)


@case(1)
def more_threads_than_slots(m):
    w = m.world()
    s = w.subject()
    s.say("hum %d %d" % (m.rng.randrange(1100, 1700), m.rng.randrange(2, 10)))
    time.sleep(1)
    shots(m, w, [s], 2, 3000)


@case(2)
def full_before_the_window(m):
    """Losses that lie before the window are none in it."""
    w = m.world()
    s = w.subject(attach=(64 * KIB, 0))
    s.say("hold %d %d" % (m.rng.randrange(20, 50), m.rng.randrange(2, 60)))
    s.say("quiet")
    s.say("hum 2 100")
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
    s = w.subject(attach=(m.rng.choice([64, 256]) * KIB, ONESHOT))
    s.say("hum 3 %d" % m.rng.randrange(20, 200))
    s.say("burst 2 %d" % m.rng.randrange(3000, 20000))
    time.sleep(1)
    for _ in range(4):
        m.judge(w, w.capture(pre_ms=m.rng.randrange(300, 5000)), [s])


@case(1)
def handlers(m):
    w = m.world()
    s = w.subject(attach=(4 * MIB, 0))
    s.say("nest %d" % m.rng.randrange(20000, 120000))
    m.judge(w, w.capture(pre_ms=20000), [s])


@case(1)
def scribbled(m):
    """A program that overwrites its own ring may lie about itself; the judge asks that what is gone
    is not called whole."""
    w = m.world()
    s = w.subject(attach=(256 * KIB, 0))
    s.say("hum 3 400")
    time.sleep(1)
    s.say("scribble")
    m.judge(w, w.capture(pre_ms=3000), [s], only=("complete, but",))


# ---- who was there ----

@case(2)
def ended_before_the_capture(m):
    w = m.world()
    one, two = w.subject(), w.subject()
    for s in (one, two):
        s.say("hum 3 100")
    time.sleep(1)
    one.tell(m.rng.choice(["exit 0", "exit 3", "kill", "abort"]))
    one.wait()
    time.sleep(m.rng.uniform(0, 1))
    m.judge(w, w.capture(pre_ms=4000), [one, two])


@case(1)
def all_have_ended(m):
    w = m.world()
    s = w.subject()
    s.say("hum 3 100")
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
    two.say("hum 2 100")
    two.tell("attach 0 0")
    one.say("hum 2 100")
    time.sleep(1.5)
    m.judge(w, w.capture(pre_ms=1200), [one, two])


@case(1)
def attached_late(m):
    """The window begins before the program was attached."""
    w = m.world(start=False)
    w.start_collector()
    s = w.subject(attach=None)
    s.say("hum 3 100")
    time.sleep(m.rng.uniform(0.5, 2))
    w.start_agent()
    s.say("attach 0 0")
    w.wait_live(1)
    time.sleep(0.7)
    m.judge(w, w.capture(pre_ms=400), [s])
    m.judge(w, w.capture(pre_ms=4000), [s])


@case(1)
def executed_anew(m):
    w = m.world()
    s = w.subject()
    s.say("hum 2 100")
    time.sleep(1)
    s.say("again")
    s.say("attach 0 0")
    s.say("hum 2 100")
    time.sleep(1)
    m.judge(w, w.capture(pre_ms=m.rng.randrange(300, 700)), [s])
    m.judge(w, w.capture(pre_ms=5000), [s])


@case(1)
def smaller_rings_after_a_restart(m):
    w = m.world()
    s = w.subject(attach=(4 * MIB, 0))
    s.say("hum 3 300")
    time.sleep(1)
    w.agent.kill()
    w.agent_more = {"ring": {"max_bytes": MIB, "bytes": MIB}}
    w.configure()
    time.sleep(0.5)
    w.start_agent()
    w.wait_live(1)
    time.sleep(m.rng.uniform(0.3, 1.5))
    m.judge(w, w.capture(pre_ms=6000), [s])


# ---- the agent and the collector ----

@case(2)
def agent_killed(m):
    w = m.world()
    s = w.subject()
    s.say("hum 4 200")
    time.sleep(1)
    capture = w.capture(pre_ms=1500, post_ms=1500, deadline_ms=6000) if m.rng.random() < .5 else None
    time.sleep(m.rng.uniform(0, 1.0))
    w.agent.kill()
    time.sleep(m.rng.uniform(0, 1.0))
    w.start_agent()
    w.wait_live(1)
    if capture:
        m.judge(w, capture, [s])
    time.sleep(1)
    m.judge(w, w.capture(pre_ms=m.rng.randrange(500, 5000)), [s])


@case(1)
def collector_killed(m):
    w = m.world()
    s = w.subject()
    s.say("hum 4 500")
    time.sleep(1)
    capture = w.capture(pre_ms=1500, post_ms=500, deadline_ms=8000)
    time.sleep(m.rng.uniform(0, 0.8))
    w.collector.kill()
    time.sleep(m.rng.uniform(0, 1.0))
    w.start_collector()
    m.judge(w, capture, [s])


@case(1)
def no_answer(m):
    w = m.world()
    s = w.subject()
    s.say("hum 2 100")
    time.sleep(1)
    os.kill(w.agent.process.pid, signal.SIGSTOP)
    capture = w.capture(pre_ms=800, deadline_ms=1000)
    w.final(capture)
    m.judge(w, capture, [s], wait=False)
    os.kill(w.agent.process.pid, signal.SIGCONT)
    w.wait_drained()
    wait_for("late truth", lambda: w.get("/captures/" + capture)["ledger"]["stored"])
    m.judge(w, capture, [s])


@case(1)
def killed_while_capturing(m):
    w = m.world()
    one, two = w.subject(), w.subject()
    for s in (one, two):
        s.say("hum 2 300")
    time.sleep(1)
    capture = w.capture(pre_ms=800, post_ms=1200)
    time.sleep(m.rng.uniform(0.1, 0.9))
    one.tell(m.rng.choice(["kill", "abort", "exit 1"]))
    one.wait()
    m.judge(w, capture, [one, two])


@case(2)
def spool_is_full(m):
    """More than the spool takes while the collector is away."""
    w = m.world(agent={"spool": {"max_bytes": MIB}, "capture": {"partition_bytes": 64 * KIB}})
    s = w.subject(attach=(8 * MIB, 0))
    s.say("noisy")
    s.say("burst 4 %d" % m.rng.randrange(50000, 110000))
    capture = w.capture(pre_ms=20000, deadline_ms=6000)
    if m.rng.random() < .7:
        time.sleep(m.rng.uniform(0, 0.05))
        w.collector.kill()
        time.sleep(m.rng.uniform(1, 2))
        w.start_collector()
    w.final(capture)
    w.wait_drained()
    m.judge(w, capture, [s])


@case(1)
def evicted_by_quota(m):
    w = m.world(collector={"retention": {"services": {"truth": 300000}}})
    s = w.subject(attach=(4 * MIB, 0))
    s.say("hum 2 100")
    time.sleep(1)
    first = w.capture(pre_ms=5000)
    w.final(first)
    for _ in range(3):
        s.say("burst 2 40000")
        w.final(w.capture(pre_ms=300))
    time.sleep(m.rng.uniform(0.5, 2))
    status, body = w.request("GET", "/api/v1/captures/" + first)
    if status == 404:
        m.skip("the capture is gone as a whole: nothing claimed")
        return
    m.judge(w, first, [s])


@case(2)
def damaged_on_disk(m):
    """A byte of a stored partition changes."""
    w = m.world(collector={"store": {"segment_bytes": MIB}})
    s = w.subject()
    s.say("burst 2 5000")
    capture = w.capture(pre_ms=5000)
    w.final(capture)
    s.say("burst 3 90000")  # closes the segment
    w.final(w.capture(pre_ms=500))
    w.wait_drained()
    status, trace = w.trace(capture)
    folder = w.path("collector")
    segments = sorted(os.path.join(d, f) for d, _, files in os.walk(folder)
                      for f in files if f.endswith(".seg"))
    if status != 200 or not segments:
        raise Failed("no segments in " + folder)
    hit = m.rng.choice([0.3, 0.5, 0.7])
    with open(segments[0], "r+b") as f:
        # somewhere inside of the first partition's bytes
        whole = f.read()
        start = whole.find(b"skein\r\n\x1a")
        length = int.from_bytes(whole[start + 16:start + 24], "little")
        place = start + int(length * hit)
        f.seek(place)
        f.write(bytes([whole[place] ^ 0x5A]))
    status, again = w.trace(capture)
    now = w.get("/captures/" + capture)
    m.expect("damage", status != 200 or len(again) < len(trace),
             "damaged bytes were served with %d" % status)
    wait_for("a verdict that knows", lambda: not w.get("/captures/" + capture)["verdict"]["complete"]
             or None, 3) if now["verdict"]["complete"] else None
    m.expect("damage is told", not w.get("/captures/" + capture)["verdict"]["complete"],
             "the verdict stays complete")


# ---- clocks ----

@case(2)
def collector_steps(m):
    w = m.world(steps=True)
    s = w.subject()
    s.say("hum 3 100")
    time.sleep(1.2)
    step_s = m.rng.choice([-60, -20, -3, 2, 20, 45])
    w.step("collector", step_s)
    time.sleep(m.rng.uniform(0, 1.2))
    for _ in range(3):
        m.judge(w, w.capture(pre_ms=m.rng.randrange(300, 1100)), [s], ahead_ns=step_s * 10**9,
                lasting=("clock_unknown", "unknown"))
        time.sleep(m.rng.uniform(0, 1))


@case(2)
def host_steps(m):
    w = m.world(steps=True)
    s = w.subject()
    s.say("hum 3 100")
    time.sleep(1.2)
    w.step("agent", m.rng.choice([-60, -30, -2, 5, 30]))
    time.sleep(m.rng.uniform(0, 1.2))
    for _ in range(3):
        m.judge(w, w.capture(pre_ms=m.rng.randrange(300, 1100)), [s],
                lasting=("clock_unknown", "unknown"))
        time.sleep(m.rng.uniform(0, 1))


@case(1)
def host_is_off(m):
    w = m.world(steps=True, start=False)
    w.step("agent", m.rng.choice([-3600, -7, 11, 900]))
    w.start()
    s = w.subject()
    s.say("hum 3 100")
    time.sleep(1.5)
    shots(m, w, [s], 3, 1200)
