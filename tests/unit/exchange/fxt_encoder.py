# SPDX-License-Identifier: Apache-2.0
"""An encoder of Fuchsia's trace format, written from its public description alone
(fuchsia.dev/fuchsia-src/reference/tracing/trace-format). Shares no code with Skein."""
import struct

KOID = 8
POINTER = 7


class Koid(int):
    """Kernel object id, as an argument."""


class Pointer(int):
    """An address, as an argument."""


def words(*values):
    return struct.pack("<%dQ" % len(values), *(v & (1 << 64) - 1 for v in values))


def stream(text):
    data = text if isinstance(text, bytes) else text.encode()
    return data + bytes(-len(data) % 8)


class Writer:
    def __init__(self, ticks=1000000000, provider="maker", number=7):
        self.data = words(0x0016547846040010)
        self.strings, self.threads = {}, {}
        self.provider(provider, number)
        self.record(1, 0, words(ticks))

    def record(self, kind, high, body=b""):
        """`high`: the header's bits from 16 on, where they stand."""
        assert len(body) % 8 == 0
        self.data += words(kind | (1 + len(body) // 8) << 4 | high) + body

    def provider(self, name, number):
        self.record(0, 1 << 16 | number << 20 | len(name) << 52, stream(name))
        self.strings, self.threads = {}, {}

    def section(self, number):
        self.record(0, 2 << 16 | number << 20)

    def lost(self, number=7):
        self.record(0, 3 << 16 | number << 20)

    def string(self, text):
        """Registers it; its reference."""
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            self.record(2, self.strings[text] << 16 | len(text.encode()) << 32, stream(text))
        return self.strings[text]

    def thread(self, process, koid):
        if (process, koid) not in self.threads:
            self.threads[process, koid] = len(self.threads) + 1
            self.record(3, self.threads[process, koid] << 16, words(process, koid))
        return self.threads[process, koid]

    @staticmethod
    def inline(text):
        data = text if isinstance(text, bytes) else text.encode()
        return 0x8000 | len(data) if data else 0

    def argument(self, name, value):
        head, body = self.inline(name) << 16, stream(name)
        if value is None:
            kind = 0
        elif isinstance(value, bool):
            kind, head = 9, head | value << 32
        elif isinstance(value, (Koid, Pointer)):
            kind, body = KOID if isinstance(value, Koid) else POINTER, body + words(value)
        elif isinstance(value, float):
            kind, body = 5, body + struct.pack("<d", value)
        elif isinstance(value, (str, bytes)):
            kind, head, body = 6, head | self.inline(value) << 32, body + stream(value)
        elif -2 ** 31 <= value < 2 ** 31:
            kind, head = 1, head | (value & 0xffffffff) << 32
        elif 0 <= value < 2 ** 32:
            kind, head = 2, head | value << 32
        elif -2 ** 63 <= value < 2 ** 63:
            kind, body = 3, body + words(value)
        else:
            kind, body = 4, body + words(value)
        return words(kind | (1 + len(body) // 8) << 4 | head) + body

    def event(self, kind, at, place, category, name, args=(), last=None, inline=False):
        """`inline`: thread and texts stand in the record itself."""
        head = kind << 16 | len(args) << 20
        if inline:
            body = words(at, *place) + stream(category) + stream(name)
            head |= self.inline(category) << 32 | self.inline(name) << 48
        else:
            head |= self.thread(*place) << 24 | self.string(category) << 32 | self.string(name) << 48
            body = words(at)
        body += b"".join(self.argument(n, v) for n, v in args)
        self.record(4, head, body + (words(last) if last is not None else b""))

    def named(self, kind, koid, name, args=()):
        self.record(7, kind << 16 | self.inline(name) << 24 | len(args) << 40,
                    words(koid) + stream(name) + b"".join(self.argument(n, v) for n, v in args))

    def switch(self, at, cpu, out, state, into, args=()):
        self.record(8, len(args) << 16 | cpu << 20 | state << 36 | 1 << 60,
                    words(at, out, into) + b"".join(self.argument(n, v) for n, v in args))

    def switch_old(self, at, cpu, out, state, into, priorities):
        head = cpu << 16 | state << 24 | self.thread(*out) << 28 | self.thread(*into) << 36
        self.record(8, head | priorities[0] << 44 | priorities[1] << 52, words(at))

    def wakeup(self, at, cpu, koid):
        self.record(8, cpu << 20 | 2 << 60, words(at, koid))

    def log(self, at, place, text):
        self.record(9, len(text.encode()) << 16 | self.thread(*place) << 32, words(at) + stream(text))

    def blob(self, name, data):
        ref = self.string(name)
        self.record(5, ref << 16 | len(data) << 32, stream(data))

    def large_blob(self, data):
        body = words(len(data)) + stream(data)
        self.data += words(15 | (1 + len(body) // 8) << 4 | 1 << 40) + body
