# SPDX-License-Identifier: Apache-2.0
"""Uses all of the Python binding, and prints what it did: one JSON line. Ends with its stdin."""
import asyncio
import json
import os
import sys
import threading

import skein

EACH, THREADS = 500, 4


def work(thread):
    skein.thread_name("worker-%d" % thread)
    for i in range(EACH):
        skein.instant("py.mark", n=thread * EACH + i, share=i / EACH, even=i % 2 == 0, name="n%d" % i)


@skein.region("py.called", kind="decorator")
def called(depth):
    return called(depth - 1) if depth else 0


async def fetch(number, gate):
    async with skein.span("py.fetch", n=number):
        await gate.wait()


@skein.region("py.coroutine")
async def coroutine():
    await asyncio.sleep(0)


async def interleaved():
    gate = asyncio.Event()
    tasks = [asyncio.ensure_future(fetch(i, gate)) for i in range(10)]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*tasks)
    await coroutine()


def fails():
    try:
        with skein.span("py.fails"):
            raise KeyError("nothing")
    except KeyError:
        pass
    try:
        with skein.region("py.left"):
            raise KeyError("nothing")
    except KeyError:
        return


def slow(thread):
    """Lasts for longer than the agent's thresholds.stack_ns, in a thread that nobody has seen made."""
    with skein.region("py.slow", n=thread):
        threading.Event().wait(0.02)


def refuses(error, call):
    try:
        call()
    except error:
        return
    raise SystemExit("%s was taken" % call)


class Speaks(str):
    """Asked for its text while its event's type is being made, as a signal's handler may come then."""

    def __str__(self):
        skein.instant("py.within", n=0)
        child = os.fork()
        if child == 0:
            skein.instant("py.child_within")
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        return "py.around"


def main():
    assert skein.start(service="bound", labels={"zone": "a"}), skein.why
    assert skein.wait_attached(20000)
    threads = [threading.Thread(target=work, args=(t,)) for t in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for t in range(THREADS):  # one after the other: where two end at once, one may go without a stack
        thread = threading.Thread(target=slow, args=(t,))
        thread.start()
        thread.join()
    called(2)
    asyncio.run(interleaved())
    fails()
    for i in range(20):
        skein.counter("py.depth", i)
    skein.log("a line, \N{SNOWMAN}", level=skein.WARN)
    skein.instant("py.odd", big=1 << 63, huge=1 << 70, nothing=None, nul="a\0b", low=-(1 << 63))
    refuses(ValueError, lambda: skein.instant("x", group="nobody"))
    refuses(ValueError, lambda: skein.instant("x", a=1, b=2, c=3, d=4, e=5, f=6, g=7))
    refuses(TypeError, lambda: skein.counter("x", "many"))
    skein.instant(Speaks("py.around"), n=0)
    for i in range(skein.TYPES_MAX):
        skein.instant("py.type.%d" % i)
    child = os.fork()
    if child == 0:  # a process of its own: nothing of it may come into this one's ring
        skein.instant("py.child", n=1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    print(json.dumps({"marks": EACH * THREADS, "slow": THREADS, "refused": skein.refused}), flush=True)
    sys.stdin.read()


main()
