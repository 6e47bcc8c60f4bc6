# SPDX-License-Identifier: Apache-2.0
"""A decoder of Fuchsia's trace format, written from its public description alone
(fuchsia.dev/fuchsia-src/reference/tracing/trace-format). It checks every word: sizes, reserved bits,
references to what was registered, padding. Raises Malformed where the description does not hold."""
import struct

MAGIC = 0x0016547846040010
IDLE = -2 ** 31


class Malformed(Exception):
    pass


def need(holds, *what):
    if not holds:
        raise Malformed(" ".join(str(w) for w in what))


def bits(word, first, last):
    return word >> first & (1 << (last - first + 1)) - 1


class Words:
    """A cursor over the words of one record."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def word(self):
        need(self.at + 8 <= len(self.data), "a word is missing")
        self.at += 8
        return struct.unpack_from("<Q", self.data, self.at - 8)[0]

    def stream(self, size):
        padded = (size + 7) // 8 * 8
        need(self.at + padded <= len(self.data), "a stream is missing")
        part = self.data[self.at:self.at + padded]
        self.at += padded
        need(not any(part[size:]), "padding is not zero")
        return part[:size].decode("utf-8", "strict")

    def end(self):
        need(self.at == len(self.data), "words are left in a record")


class Trace:
    """events: (type, name, category, (process, thread), ticks, end ticks or None, args)"""

    def __init__(self, data):
        self.provider, self.ticks = None, None
        self.strings, self.threads = {0: ""}, {}
        self.events, self.logs, self.switches, self.wakeups, self.drops = [], [], [], [], 0
        self.processes, self.names, self.process_of = {}, {}, {}
        need(len(data) % 8 == 0 and len(data) >= 8, "not of words")
        need(struct.unpack_from("<Q", data)[0] == MAGIC, "the magic number")
        at = 8
        while at < len(data):
            head, = struct.unpack_from("<Q", data, at)
            size = bits(head, 4, 15) * 8
            need(size > 0 and at + size <= len(data), "a record of", size, "bytes at", at)
            record = Words(data[at:at + size])
            kind = record.word() & 15
            need(kind == 0 or self.provider is not None, "a record of no provider at", at)
            read = {0: self.metadata, 1: self.initialization, 2: self.string, 3: self.thread,
                    4: self.event, 7: self.kernel_object, 8: self.scheduling, 9: self.log}
            need(kind in read, "a record of kind", kind, "at", at)
            read[kind](head, record)
            record.end()
            at += size

    def metadata(self, head, r):
        kind = bits(head, 16, 19)
        need(kind in (1, 3), "metadata of kind", kind)
        if kind == 1:
            need(bits(head, 60, 63) == 0, "reserved bits")
            self.provider = (bits(head, 20, 51), r.stream(bits(head, 52, 59)))
        else:
            need(bits(head, 52, 63) == 0 and bits(head, 20, 51) == self.provider[0], "an event")
            self.drops += 1

    def initialization(self, head, r):
        need(bits(head, 16, 63) == 0, "reserved bits")
        self.ticks = r.word()

    def string(self, head, r):
        at = bits(head, 16, 30)
        need(at > 0 and bits(head, 31, 31) == 0 and bits(head, 47, 63) == 0, "a string", hex(head))
        self.strings[at] = r.stream(bits(head, 32, 46))

    def thread(self, head, r):
        at = bits(head, 16, 23)
        need(at > 0 and bits(head, 24, 63) == 0, "a thread", hex(head))
        self.threads[at] = (r.word(), r.word())

    def text(self, ref, r):
        if ref & 0x8000:
            return r.stream(ref & 0x7fff)
        need(ref in self.strings, "no string", ref)
        return self.strings[ref]

    def place(self, ref, r):
        if ref == 0:
            return (r.word(), r.word())
        need(ref in self.threads, "no thread", ref)
        return self.threads[ref]

    def argument(self, r):
        begin = r.at
        head = r.word()
        kind, high = bits(head, 0, 3), bits(head, 32, 63)
        name = self.text(bits(head, 16, 31), r)
        if kind in (0, 3, 4, 5, 7, 8):
            need(high == 0, "reserved bits of an argument")
        if kind == 1:
            value = struct.unpack("<i", struct.pack("<I", high))[0]
        elif kind == 2:
            value = high
        elif kind == 6:
            need(high >> 16 == 0, "reserved bits of a text")
            value = self.text(high & 0xffff, r)
        elif kind == 9:
            need(high in (0, 1), "a truth of", high)
            value = bool(high)
        else:
            need(kind in (0, 3, 4, 5, 7, 8), "an argument of kind", kind)
            value = None if kind == 0 else r.word()
            if kind == 3:
                value = struct.unpack("<q", struct.pack("<Q", value))[0]
            elif kind == 5:
                value = struct.unpack("<d", struct.pack("<Q", value))[0]
        need(r.at - begin == bits(head, 4, 15) * 8, "the size of an argument")
        return (name, kind, value)

    def event(self, head, r):
        ticks = r.word()
        kind = bits(head, 16, 19)
        need(kind in (0, 1, 4), "an event of kind", kind)
        place = self.place(bits(head, 24, 31), r)
        category = self.text(bits(head, 32, 47), r)
        name = self.text(bits(head, 48, 63), r)
        args = [self.argument(r) for _ in range(bits(head, 20, 23))]
        end = r.word() if kind in (1, 4) else None
        need(kind != 4 or end >= ticks, "an event that ends before it begins")
        self.events.append((kind, name, category, place, ticks, end if kind == 4 else None, args))

    def kernel_object(self, head, r):
        kind = bits(head, 16, 23)
        koid = r.word()
        name = self.text(bits(head, 24, 39), r)
        args = {n: (k, v) for n, k, v in (self.argument(r) for _ in range(bits(head, 40, 43)))}
        need(kind in (1, 2) and bits(head, 44, 63) == 0, "a kernel object", hex(head))
        if kind == 1:
            self.processes[koid] = name
        else:
            need(args["process"][0] == 8 and args["process"][1] in self.processes, "whose?", args)
            self.names[koid] = name
            self.process_of[koid] = args["process"][1]

    def scheduling(self, head, r):
        kind, cpu = bits(head, 60, 63), bits(head, 20, 35)
        ticks = r.word()
        need(bits(head, 40, 59) == 0, "reserved bits")
        if kind == 2:
            need(bits(head, 36, 39) == 0, "reserved bits")
            self.wakeups.append((ticks, cpu, r.word()))
            need(bits(head, 16, 19) == 0, "arguments of a wakeup")
            return
        need(kind == 1, "scheduling of kind", kind)
        out, into = r.word(), r.word()
        args = {n: v for n, k, v in (self.argument(r) for _ in range(bits(head, 16, 19)))}
        self.switches.append((ticks, cpu, out if args.get("outgoing_weight") != IDLE else None,
                              into if args.get("incoming_weight") != IDLE else None,
                              bits(head, 36, 39)))

    def log(self, head, r):
        ticks = r.word()
        need(bits(head, 31, 31) == 0 and bits(head, 40, 63) == 0, "reserved bits")
        self.logs.append((ticks, self.place(bits(head, 32, 39), r), r.stream(bits(head, 16, 30))))
