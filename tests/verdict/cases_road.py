# SPDX-License-Identifier: Apache-2.0
"""The road from the ring to the file: agents, collectors, disks, links, clocks, and the windows asked for."""
import json
import os
import resource
import signal
import time

from case import KIB, MIB, case, fill, flip, is_said, rfc3339, shots, spooled
from judge import ns_of
from world import Failed, settled, wait_for


# ---- the agent and the collector ----

@case(2)
def agent_killed(m):
    w = m.world()
    s = w.subject("hum 4 200")
    time.sleep(1)
    capture = w.capture(pre_ms=1500, post_ms=1500, deadline_ms=6000) if m.rng.random() < .5 else None
    time.sleep(m.rng.uniform(0, 1.0))
    m.rng.choice([w.agent.kill, w.agent.stop])()
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
    s = w.subject("hum 4 500")
    time.sleep(1)
    capture = w.capture(pre_ms=1500, post_ms=500, deadline_ms=8000)
    time.sleep(m.rng.uniform(0, 0.8))
    w.collector.kill()
    time.sleep(m.rng.uniform(0, 1.0))
    w.start_collector()
    m.judge(w, capture, [s])


@case(2)
def all_killed(m):
    """A process ends while neither daemon runs; another one lives on."""
    w = m.world()
    one, two = w.subject("hum 2 100"), w.subject("hum 2 100")
    w.wait_live(2)
    time.sleep(1.5)
    w.agent.kill()
    w.collector.kill()
    one.tell(m.rng.choice(["kill", "exit 0", "exit 1"]))
    one.wait()
    w.start_collector()
    if m.rng.random() < .3:
        time.sleep(0.5)
        m.judge(w, w.capture(pre_ms=5000, deadline_ms=1000), [one, two])
    w.start_agent()
    wait_for("the other one", lambda: [p for p in w.processes() if p["status"] == "live"])
    for pre_ms in (6000, m.rng.randrange(5000, 12000)):  # one was there
        m.judge(w, w.capture(pre_ms=pre_ms), [one, two])


@case(1)
def no_answer(m):
    w = m.world()
    s = w.subject("hum 2 100")
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
    one, two = w.subject("hum 2 300"), w.subject("hum 2 300")
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
    s = w.subject("noisy", "burst 4 %d" % m.rng.randrange(50000, 110000), attach=(8 * MIB, 0))
    capture = w.capture(pre_ms=20000, deadline_ms=6000)
    if m.rng.random() < .7:
        time.sleep(m.rng.uniform(0, 0.05))
        w.collector.kill()
        time.sleep(m.rng.uniform(1, 2))
        w.start_collector()
    w.final(capture)
    w.wait_drained()
    m.judge(w, capture, [s])


def stored_or_gone(w, capture):
    """What is stored of a capture that has ended. It may be evicted as soon as it has: then what was there last."""
    last = [0]

    def ended():
        status, body = w.request("GET", "/api/v1/captures/" + capture)
        c = json.loads(body) if status == 200 else {"status": "gone"}
        if status == 200:
            last[0] = c["ledger"]["stored"]
        return c["status"] != "running"
    wait_for("the end of a capture", ended)
    return last[0]


@case(1)
def evicted_by_quota(m):
    w = m.world(collector={"retention": {"services": {"truth": 300000}}})
    s = w.subject("noisy", "hum 2 100", attach=(4 * MIB, 0))
    time.sleep(1)
    first = w.capture(pre_ms=5000)
    stored = stored_or_gone(w, first)
    def evicted():
        return w.request("GET", "/api/v1/captures/" + first)[0] == 404

    for i in range(20):  # how much of a burst a window has is the machine's
        if i >= 3 and evicted():
            break
        s.say("burst 2 40000")
        stored_or_gone(w, w.capture(pre_ms=300))
    wait_for("the eviction", evicted)
    told = {i["reason"]: i["events"] for i in w.get("/loss?by=reason")["items"]}
    m.expect("what was evicted is told", told.get("evicted", 0) >= stored, "%d of %s" % (stored, told))
    m.reasons.add("evicted")


@case(2)
def damaged_on_disk(m):
    """A byte of a stored partition changes."""
    w = m.world(collector={"store": {"segment_bytes": MIB}})
    s = w.subject("burst 2 5000")
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
    m.judge(w, capture, [s])


# ---- clocks ----

@case(2)
def collector_steps(m):
    w = m.world(steps=True)
    s = w.subject("hum 3 100")
    time.sleep(1.2)
    step_s = m.rng.choice([-60, -20, -3, 2, 20, 45])
    w.step("collector", step_s)
    time.sleep(m.rng.uniform(0, 1.2))
    for _ in range(3):
        m.judge(w, w.capture(pre_ms=m.rng.randrange(300, 1100)), [s], ahead_ns=step_s * 10**9)
        time.sleep(m.rng.uniform(0, 1))


@case(2)
def begun_just_after_the_collector_was_set(m):
    """A capture that is begun in the moment after has all of its time, and also those that have ended."""
    w = m.world(steps=True)
    one, two = w.subject("hum 2 100"), w.subject("hum 2 100")
    w.wait_live(2)
    time.sleep(1.2)
    one.tell("exit 0")
    one.wait()
    wait_for("its end", lambda: any(p["status"] != "live" for p in w.processes()))
    step_s = m.rng.choice([-3600, -3600, 3600, -40])
    w.step("collector", step_s)
    time.sleep(m.rng.choice([0, 0, 0.001, 0.02, 0.3]))
    m.judge(w, w.capture(pre_ms=m.rng.randrange(900, 3000)), [one, two], ahead_ns=step_s * 10**9)


@case(2)
def host_steps(m):
    w = m.world(steps=True)
    s = w.subject("hum 3 100")
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
    s = w.subject("hum 3 100")
    time.sleep(1.5)
    shots(m, w, [s], 3, 1200)


# ---- what the agent had, and could not keep or send ----

@case(1)
def agent_never_comes_back(m):
    """Listed, or not even that, and then its host is gone."""
    w = m.world()
    s = w.subject("noisy", "burst 3 50000", attach=(4 * MIB, 0))
    capture = w.capture(pre_ms=5000, deadline_ms=2000)
    time.sleep(m.rng.uniform(0, 0.15))
    w.agent.kill()
    m.judge(w, capture, [s])


@case(1)
def data_link_is_cut(m):
    """What the agent lists does not arrive, until it can send again."""
    w = m.world(agent={"collector": {"data": "tcp://127.0.0.1:1"}})
    s = w.subject("hum 3 %d" % m.rng.randrange(100, 1000))
    time.sleep(0.5)
    capture = w.capture(pre_ms=2000, deadline_ms=1500)
    m.judge(w, capture, [s])
    w.agent.kill()
    w.agent_more = {}
    w.configure()
    w.start_agent()
    w.wait_drained()
    m.judge(w, capture, [s])


def expect_counts(m, w, capture, s, at_most=False):
    """What did not arrive is counted as far as it lies in the window: exactly, but for events near its ends,
    unless a bound is told."""
    c = w.final(capture)
    window = [ns_of(c["window"][end]) for end in ("from", "to")]
    inside = sum(1 for before, after, _, _ in s.truth() if after and before >= window[0] and after <= window[1])
    near = sum(1 for before, after, _, _ in s.truth() if after and min(abs(before - e) for e in window) < 50 * 10**6)
    lost, ledger = sum(c["ledger"]["lost"].values()), c["ledger"]
    if any(g["reason"] == "no_answer" for g in ledger["gaps"]):
        m.skip("on a busy machine the agent had not listed what it has")
        return
    bound = bool(ledger.get("at_most"))
    m.expect("what lies in the window is counted", inside - near <= lost and
             lost <= (inside * 1.25 if bound else inside) + near and (at_most or not bound),
             "%d lost%s, %d are in the window, %d near its ends" % (lost, " at most" if bound else "", inside, near))


@case(1)
def what_did_not_arrive_of_shared_cuts(m):
    """Captures of one chain: a short window lists partitions of long ones, and lacks of them only its own."""
    w = m.world(agent={"collector": {"data": "tcp://127.0.0.1:1"}})
    s = w.subject("hum 3 %d" % m.rng.randrange(100, 800))
    time.sleep(3)
    at = rfc3339(time.time() + 0.3)
    captures = [w.capture(at=at, pre_ms=pre_ms, deadline_ms=3000) for pre_ms in (3000, 700)]
    for c, shares in zip(captures, (False, True)):
        m.judge(w, c, [s])
        expect_counts(m, w, c, s, at_most=shares)
    late = w.capture(pre_ms=m.rng.randrange(1200, 2000), deadline_ms=3000)  # joins what was cut by then
    m.judge(w, late, [s])
    expect_counts(m, w, late, s, at_most=True)


@case(1)
def disk_of_the_agent_fails(m):
    """It takes no file as large as a partition, for another reason than room."""
    w = m.world()
    s = w.subject("noisy", "burst 3 %d" % m.rng.randrange(5000, 20000))
    resource.prlimit(w.agent.process.pid, resource.RLIMIT_FSIZE, (64 * KIB, 64 * KIB))
    m.judge(w, w.capture(pre_ms=2000, deadline_ms=2000), [s])


def waiting_in_the_spool(m):
    """A capture whose partitions the collector is not there for, and their files."""
    w = m.world(agent={"capture": {"partition_bytes": 64 * KIB}})
    s = w.subject("noisy", "burst 2 40000", attach=(4 * MIB, 0))
    capture = w.capture(pre_ms=5000, post_ms=200, deadline_ms=6000)
    # The log keeps the word; the collector's "capturing" may be over before anybody asks.
    wait_for("the agent to begin", lambda: is_said(w.path("agent.log"), "begun", capture))
    w.collector.kill()
    wait_for("partitions in the spool", lambda: len(spooled(w.path("agent"))) > 4)
    return w, s, capture, m.rng.sample(spooled(w.path("agent")), 2)


@case(1)
def damaged_in_the_spool(m):
    """The agent's disk changes a byte of what waits for the collector."""
    w, s, capture, files = waiting_in_the_spool(m)
    # Else it is cut anew from the ring, by the next agent.
    wait_for("the end of its capture", lambda: is_said(w.path("agent.log"), "done", capture))
    w.agent.kill()
    for path, place in zip(files, (0.6, 0.001)):
        flip(path, place)
    w.start_collector()
    w.start_agent()
    w.final(capture)
    w.wait_drained()
    m.judge(w, capture, [s])


@case(1)
def lost_in_the_spool(m):
    """Files of it are gone, or too short, while the agent runs."""
    w, s, capture, files = waiting_in_the_spool(m)
    time.sleep(0.5)  # its capture is over
    os.unlink(files[0])
    os.truncate(files[1], 300)
    w.start_collector()
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
    s = w.subject("hum 4 400", attach=(256 * KIB, 0))
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
    s = w.subject("hum 3 %d" % m.rng.randrange(500, 3000), attach=(128 * KIB, 0))
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
    s = w.subject("hum 3 150")
    time.sleep(1.5)
    now = time.time()
    m.judge(w, w.capture(**{"from": rfc3339(now - 1.0), "to": rfc3339(now - 0.3)}), [s])
    m.judge(w, w.capture(**{"from": rfc3339(began), "to": rfc3339(now + 0.5)}), [s])


# ---- other windows ----

@case(1)
def longer_than_it_lived(m):
    w = m.world()
    s = w.subject("hum 3 200", attach=(m.rng.choice([64, 4096]) * KIB, 0))
    time.sleep(m.rng.uniform(0, 1))
    m.judge(w, w.capture(pre_ms=m.rng.choice([60000, 600000, 80000000])), [s])


@case(1)
def past_windows_of_a_small_ring(m):
    w = m.world()
    s = w.subject("hum 4 %d" % m.rng.randrange(300, 2500), attach=(m.rng.choice([128, 256]) * KIB, 0))
    time.sleep(3)
    for _ in range(3):
        to = time.time() - m.rng.uniform(0.1, 2)
        m.judge(w, w.capture(**{"from": rfc3339(to - m.rng.uniform(0.1, 2)), "to": rfc3339(to)}), [s])


@case(2)
def many_windows_at_once(m):
    """Windows that overlap in any way share cuts."""
    w = m.world()
    s = w.subject("hum 3 %d" % m.rng.randrange(100, 2500), attach=(m.rng.choice([128, 512, 4096]) * KIB, 0))
    s.tell("churn %d %d 50 4000" % (m.rng.randrange(3000, 30000), m.rng.randrange(10, 800)))
    captures = []
    for _ in range(6):
        time.sleep(m.rng.uniform(0, 0.7))
        captures.append(w.capture(pre_ms=m.rng.randrange(100, 4000), post_ms=m.rng.choice([0, 0, 300, 1500])))
    for c in captures:
        m.judge(w, c, [s])


@case(1)
def record_of_a_small_ring(m):
    w = m.world()
    s = w.subject("hum 4 %d" % m.rng.randrange(200, 4000), attach=(m.rng.choice([64, 128, 512]) * KIB, 0))
    s.tell("churn %d %d 50 4000" % (m.rng.randrange(3000, 30000), m.rng.randrange(10, 800)))
    m.judge(w, w.capture(kind="record", for_ms=m.rng.randrange(1000, 3000)), [s])


@case(1)
def stream_of_a_small_ring(m):
    w = m.world()
    s = w.subject("hum 4 %d" % m.rng.randrange(200, 4000), attach=(m.rng.choice([64, 128, 512]) * KIB, 0))
    s.tell("churn %d %d 50 4000" % (m.rng.randrange(3000, 30000), m.rng.randrange(10, 800)))
    capture = w.capture(kind="stream", max_ms=20000)
    time.sleep(m.rng.uniform(1, 4))
    w.request("POST", "/api/v1/captures/%s:stop" % capture, {})
    m.judge(w, capture, [s])


@case(1)
def agent_killed_with_windows_open(m):
    w = m.world()
    s = w.subject("hum 4 500", attach=(m.rng.choice([256, 4096]) * KIB, 0))
    time.sleep(1)
    captures = [w.capture(pre_ms=m.rng.randrange(100, 1500), post_ms=m.rng.choice([0, 600, 2000]),
                          deadline_ms=6000) for _ in range(3)]
    captures.append(w.capture(kind="record", for_ms=1500, deadline_ms=6000))
    time.sleep(m.rng.uniform(0, 0.5))
    m.rng.choice([w.agent.kill, w.agent.stop])()
    time.sleep(m.rng.uniform(0, 0.5))
    w.start_agent()
    w.wait_live(1)
    captures.append(w.capture(pre_ms=m.rng.randrange(100, 3000)))
    for c in captures:
        m.judge(w, c, [s])
