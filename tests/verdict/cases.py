# SPDX-License-Identifier: Apache-2.0
"""The matrix: each case is a function that makes a world, lets programs work and lose events in one
way, captures, and gives what it captured to the judge. Numbers are drawn from the case's own random
generator, so that a seed repeats them. `m` is the Matrix of run_matrix.py.
"""
import os
import signal
import time

from world import Failed, settled, wait_for

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
    s = w.subject(attach=None)
    s.say("start 0 0")
    s.say("hum 3 100")
    time.sleep(m.rng.uniform(0.5, 2))
    w.start_agent()
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
    with open(segments[0], "rb") as f:
        whole = f.read()
    start = whole.find(b"skein\r\n\x1a")
    length = int.from_bytes(whole[start + 16:start + 24], "little")
    flip(segments[0], (start + length * m.rng.choice([0.3, 0.5, 0.7])) / len(whole))
    status, again = w.trace(capture)
    m.expect("damage", status != 200 or len(again) < len(trace),
             "damaged bytes were served with %d" % status)
    c = settled(w, capture, w.get("/captures/" + capture))
    m.expect("damage is told", not c["verdict"]["complete"], "the verdict stays complete")


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
        m.judge(w, w.capture(pre_ms=m.rng.randrange(300, 1100)), [s], ahead_ns=step_s * 10**9)
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
        m.judge(w, w.capture(pre_ms=m.rng.randrange(300, 1100)), [s])
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


# ---- what the agent had, and could not keep or send ----

@case(1)
def agent_never_comes_back(m):
    """Listed, or not even that, and then its host is gone."""
    w = m.world()
    s = w.subject(attach=(4 * MIB, 0))
    s.say("noisy")
    s.say("burst 3 50000")
    capture = w.capture(pre_ms=5000, deadline_ms=2000)
    time.sleep(m.rng.uniform(0, 0.15))
    w.agent.kill()
    m.judge(w, capture, [s])


@case(1)
def damaged_in_the_spool(m):
    """The agent's disk changes a byte of what waits for the collector."""
    w = m.world(agent={"capture": {"partition_bytes": 64 * KIB}})
    s = w.subject(attach=(4 * MIB, 0))
    s.say("noisy")
    s.say("burst 2 40000")
    capture = w.capture(pre_ms=5000, post_ms=200, deadline_ms=6000)
    time.sleep(0.05)
    w.collector.kill()
    folder = w.path("agent")
    wait_for("partitions in the spool", lambda: len(spooled(folder)) > 2)
    w.agent.kill()
    files = spooled(folder)
    for path in m.rng.sample(files, min(2, len(files))):
        flip(path, 0.6)
    w.start_collector()
    w.start_agent()
    w.final(capture)
    w.wait_drained()
    m.judge(w, capture, [s])


@case(1)
def disk_of_the_agent_is_full(m):
    with m.small_disk() as disk:
        if disk is None:
            m.skip("no right to mount a small disk")
            return
        w = m.world(agent={"state_dir": disk, "capture": {"partition_bytes": 64 * KIB}})
        s = w.subject(attach=(8 * MIB, 0))
        s.say("noisy")
        s.say("burst 4 %d" % m.rng.randrange(60000, 110000))
        os.kill(w.collector.process.pid, signal.SIGSTOP)
        time.sleep(0.2)
        os.kill(w.collector.process.pid, signal.SIGCONT)
        capture = w.capture(pre_ms=20000, deadline_ms=6000)
        w.final(capture)
        w.wait_drained()
        m.judge(w, capture, [s])


@case(1)
def disk_of_the_collector_is_full(m):
    with m.small_disk(40) as disk:
        if disk is None:
            m.skip("no right to mount a small disk")
            return
        w = m.world(collector={"data_dir": disk, "store": {"min_free_bytes": 2 * MIB, "segment_bytes": MIB}})
        s = w.subject(attach=(8 * MIB, 0))
        s.say("noisy")
        s.say("burst 4 %d" % m.rng.randrange(60000, 110000))
        capture = w.capture(pre_ms=20000, deadline_ms=3000)
        fill(os.path.join(disk, "ballast"), m.rng.choice([0, MIB]))
        w.final(capture)
        m.judge(w, capture, [s])
        os.unlink(os.path.join(disk, "ballast"))
        w.wait_drained()
        m.judge(w, capture, [s])


@case(1)
def stream_while_things_die(m):
    w = m.world()
    s = w.subject(attach=(256 * KIB, 0))
    s.say("hum 4 400")
    capture = w.capture(kind="stream", max_ms=6000, deadline_ms=4000)
    time.sleep(m.rng.uniform(0.5, 2))
    victim = m.rng.choice(["agent", "collector", "none"])
    if victim == "agent":
        w.agent.kill()
        w.start_agent()
    elif victim == "collector":
        w.collector.kill()
        time.sleep(m.rng.uniform(0, 1))
        w.start_collector()
    time.sleep(1)
    w.request("POST", "/api/v1/captures/%s:stop" % capture, {})
    m.judge(w, capture, [s])


@case(1)
def agent_stands_still(m):
    """The agent is stopped for a while (a host that swaps) while the ring runs over the window."""
    w = m.world()
    s = w.subject(attach=(128 * KIB, 0))
    s.say("hum 3 %d" % m.rng.randrange(500, 3000))
    time.sleep(0.5)
    os.kill(w.agent.process.pid, signal.SIGSTOP)
    capture = w.capture(pre_ms=400, post_ms=m.rng.choice([0, 500]), deadline_ms=9000)
    time.sleep(m.rng.uniform(0.5, 4))
    os.kill(w.agent.process.pid, signal.SIGCONT)
    m.judge(w, capture, [s])


@case(1)
def window_in_the_past_and_future(m):
    """Absolute windows: one that is over, and one that begins before the program and ends later."""
    w = m.world()
    began = time.time()
    time.sleep(0.5)
    s = w.subject()
    s.say("hum 3 150")
    time.sleep(1.5)
    now = time.time()
    m.judge(w, w.capture(**{"from": rfc3339(now - 1.0), "to": rfc3339(now - 0.3)}), [s])
    m.judge(w, w.capture(**{"from": rfc3339(began), "to": rfc3339(now + 0.5)}), [s])


# ---- helpers of the cases ----

def rfc3339(seconds):
    whole = int(seconds)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + ".%03dZ" % ((seconds - whole) * 1000)


def spooled(folder):
    """Files that hold partitions."""
    found = []
    for d, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(d, name)
            try:
                with open(path, "rb") as f:
                    if b"skein\r\n\x1a" in f.read(4096):
                        found.append(path)
            except FileNotFoundError:
                pass
    return sorted(found)


def flip(path, place):
    with open(path, "r+b") as f:
        whole = f.read()
        at = int(len(whole) * place)
        f.seek(at)
        f.write(bytes([whole[at] ^ 0x5A]))


def fill(path, leave):
    """Takes all room of the disk but `leave` bytes."""
    room = os.statvfs(os.path.dirname(path))
    left = room.f_bavail * room.f_frsize - leave
    with open(path, "wb") as f:
        try:
            while left > 0:
                left -= f.write(b"\0" * min(left, 1 << 16))
            f.flush()
        except OSError:
            pass
