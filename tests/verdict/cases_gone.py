# SPDX-License-Identifier: Apache-2.0
"""Who stands still, who is gone: programs, agents and collectors that stop or end at bad moments."""
import os
import signal
import time

from case import KIB, case, is_said, shots
from world import wait_for


@case(1)
def stopped_across_the_trigger(m):
    w = m.world()
    s = w.subject("hum 3 1000", attach=(m.rng.choice([128, 1024]) * KIB, 0))
    time.sleep(0.5)
    os.kill(s.pid, signal.SIGSTOP)
    time.sleep(m.rng.uniform(0, 0.3))
    captures = [w.capture(pre_ms=1000), w.capture(pre_ms=300, post_ms=m.rng.randrange(100, 900))]
    time.sleep(m.rng.uniform(0, 1))
    os.kill(s.pid, signal.SIGCONT)
    for c in captures:
        m.judge(w, c, [s])
    m.judge(w, w.capture(pre_ms=1500), [s])


@case(1)
def collector_stands_still(m):
    w = m.world()
    s = w.subject("hum 3 300", attach=(m.rng.choice([128, 1024]) * KIB, 0))
    time.sleep(1)
    capture = w.capture(pre_ms=800, post_ms=m.rng.choice([0, 800]), deadline_ms=9000)
    time.sleep(m.rng.uniform(0, 0.1))
    os.kill(w.collector.process.pid, signal.SIGSTOP)
    time.sleep(m.rng.uniform(0.5, 4))
    os.kill(w.collector.process.pid, signal.SIGCONT)
    m.judge(w, capture, [s])
    m.judge(w, w.capture(pre_ms=1500), [s])


@case(2)
def ended_while_the_agent_was_away(m):
    """It is known up to when the process may have run: later windows lack nothing."""
    w = m.world()
    one, two = w.subject("hum 2 100"), w.subject("hum 2 100")
    w.wait_live(2)
    time.sleep(1)
    m.rng.choice([w.agent.kill, w.agent.stop])()
    time.sleep(m.rng.uniform(0, 0.5))
    one.tell(m.rng.choice(["kill", "exit 0", "exit 1"]))
    one.wait()
    w.start_agent()
    # Before its agent has come back, the collector still says that both live.
    wait_for("the agent's list", lambda: [p["pid"] for p in w.processes() if p["status"] == "live"]
             == [two.pid])
    captures = [w.capture(pre_ms=m.rng.randrange(2500, 6000))]
    time.sleep(1.2)
    captures.append(w.capture(pre_ms=m.rng.randrange(300, 1000)))
    for c in captures:
        m.judge(w, c, [one, two])


@case(1)
def idle_and_ended_while_the_agent_was_away(m):
    """It wrote nothing for long before it died: nothing is missing, and the holder knows that."""
    w = m.world()
    one, two = w.subject("hum 2 100"), w.subject("hum 2 100")
    time.sleep(m.rng.uniform(0.5, 1))
    one.say("quiet")
    time.sleep(m.rng.uniform(0.2, 0.6))
    w.agent.kill()
    time.sleep(m.rng.uniform(0.1, 0.6))
    one.tell(m.rng.choice(["kill", "abort", "exit 0", "exit 3"]))
    one.wait()
    time.sleep(m.rng.uniform(0, 0.5))
    w.start_agent()
    wait_for("the agent's list", lambda: [p["pid"] for p in w.processes() if p["status"] == "live"]
             == [two.pid])
    shots(m, w, [one, two], 2, 5000)


@case(1)
def executed_and_ended_while_the_agent_was_away(m):
    """Its last program has no ring, and nobody but the holder was there."""
    w = m.world()
    one, two = w.subject("hum 2 100"), w.subject("hum 2 100")
    time.sleep(m.rng.uniform(0.5, 1))
    w.agent.kill()
    time.sleep(m.rng.uniform(0, 0.3))
    one.say("again")
    one.say("start 0 0")
    one.say("hum 2 100")
    time.sleep(m.rng.uniform(0.05, 1))  # one that lives for less nobody speaks of (V-33)
    one.tell(m.rng.choice(["kill", "abort", "exit 0", "exit 3"]))
    one.wait()
    w.start_agent()
    wait_for("the agent's list", lambda: [p["pid"] for p in w.processes() if p["status"] == "live"]
             == [two.pid])
    shots(m, w, [one, two], 2, 5000)


@case(1)
def agent_ends_with_a_window_open(m):
    """In order: what it has is sent, and of the rest nobody knows."""
    w = m.world()
    s = w.subject("hum 3 200")
    time.sleep(0.5)
    capture = w.capture(pre_ms=400, post_ms=5000, deadline_ms=9000)
    wait_for("the agent to begin", lambda: is_said(w.path("agent.log"), "begun", capture))
    w.agent.stop()
    w.start_agent()
    w.wait_live(1)
    m.judge(w, capture, [s])


@case(1)
def ended_before_the_collector_came_back(m):
    w = m.world()
    one, two = w.subject("hum 3 100"), w.subject("hum 3 100")
    time.sleep(1)
    away = m.rng.random() < .5
    if away:
        w.collector.kill()
    one.tell(m.rng.choice(["exit 0", "kill"]))
    one.wait()
    if not away:
        w.collector.kill()
    w.start_collector()
    w.wait_live(1)
    m.judge(w, w.capture(pre_ms=4000), [one, two])


@case(1)
def crashed(m):
    """What the agent captures by itself when a process dies."""
    w = m.world()
    s = w.subject("hum 3 %d" % m.rng.choice([100, 3000]), attach=(m.rng.choice([128, 4096]) * KIB, 0))
    time.sleep(m.rng.uniform(0.3, 1.5))
    s.tell(m.rng.choice(["kill", "abort", "exit 3"]))
    s.wait()
    wait_for("a capture of the crash", lambda: w.captures_of("crash"))
    m.judge(w, w.captures_of("crash")[0], [s])


@case(1)
def asked_for_by_the_program(m):
    w = m.world()
    s = w.subject("hum 3 %d" % m.rng.choice([100, 3000]), attach=(m.rng.choice([128, 4096]) * KIB, 0))
    time.sleep(m.rng.uniform(0.3, 1.5))
    s.say("snapshot")
    wait_for("its capture", lambda: w.captures_of("application"))
    m.judge(w, w.captures_of("application")[0], [s])
