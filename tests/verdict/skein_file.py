# SPDX-License-Identifier: Apache-2.0
"""A second reader of .skein files, written from docs/format.md alone.

It shares no code with Skein, so that what it reads can judge what Skein wrote. It gives what the
judge needs: each partition's key and clocks, and of each record its type, time and first integer
argument. Raises Damaged where a rule of the document does not hold. Checksums are left to
`skein check`.
"""
import struct

import lz4.frame

HEAD, TAIL, SECTION = 32, 32, 24
MAGIC = b"skein\r\n\x1a"
PARTITION, TABLE = 1, 2
INFO, TYPES, BLOCK, LOSS, FOOTER = 1, 2, 7, 9, 10
SPAN = 3
SIGNED, SEQUENCE = 2, 7


class Damaged(Exception):
    pass


class Bytes:
    """A cursor over bytes (F-1)."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def u8(self):
        self.at += 1
        return self.data[self.at - 1]

    def uleb(self):
        value = shift = 0
        data, at = self.data, self.at
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.at = at
                return value
            shift += 7

    def sleb(self):
        value = self.uleb()
        return (value >> 1) ^ -(value & 1)

    def take(self, count):
        if count > len(self.data) - self.at:
            raise Damaged("bytes are missing")
        self.at += count
        return self.data[self.at - count:self.at]

    def text(self):
        return self.take(self.uleb()).decode("utf-8", "replace")

    def entry(self):
        return Bytes(self.take(self.uleb()))


class Partition:
    """records: (type name or None for an end, time ns by the collector, first argument or None)."""

    def __init__(self):
        self.process = ""
        self.epoch = self.sequence = self.pid = 0
        self.cut_ns = 0  # when its cut looked at the clock, by the collector
        self.records = []
        self.lost = []


def ulebs(data, count):
    values, at = [], 0
    for _ in range(count):
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        values.append(value)
    if at != len(data):
        raise Damaged("a column is not used up (F-25, F-26)")
    return values


def column(encoding, data, count, signed):
    """F-27."""
    if encoding == 2:
        return list(struct.unpack("<%dQ" % count, data))
    values = ulebs(data, count)
    if encoding == 0 and signed:
        return [(value >> 1) ^ -(value & 1) for value in values]
    if encoding == 1:
        last = 0
        for i, value in enumerate(values):
            last = (last + ((value >> 1) ^ -(value & 1))) & 0xFFFFFFFFFFFFFFFF
            values[i] = last
    return values


class Clock:
    """F-17, with the collector's offset."""

    def __init__(self, begin, end, offset):
        slope_ns = end[1] - begin[1]
        self.slope = ((slope_ns << 40) // (end[0] - begin[0]))
        self.ticks, self.real = end[0], end[3] + offset

    def ns(self, ticks):
        return self.real + (((ticks - self.ticks) * self.slope) >> 40)


def read_info(payload, p):
    b = Bytes(payload)
    p.process = b.take(16).hex()
    p.epoch, p.sequence, _generation, p.pid, _start = (b.uleb() for _ in range(5))
    b.take(3)
    begin = [b.uleb() for _ in range(4)]
    end = [b.uleb() for _ in range(4)]
    if end[0] <= begin[0]:
        raise Damaged("F-16")
    clock = Clock(begin, end, b.sleb())
    p.cut_ns = clock.real
    return clock


def read_types(payload):
    b, types = Bytes(payload), []
    for _ in range(b.uleb()):
        e = b.entry()
        klass = e.u8()
        e.u8()
        e.uleb()
        name = e.text()
        e.text()
        e.text()
        arguments = []
        for _ in range(e.u8()):
            kind = e.u8()
            e.text()
            e.text()
            arguments.append(kind)
        types.append((name, klass, arguments))
    return types


def read_batch(b, types, clock, p):
    h = b.entry()
    h.uleb()  # thread
    h.uleb()  # flags
    h.uleb()  # generation
    h.uleb()  # sequence
    h.uleb()  # span
    base = h.uleb()
    h.uleb()  # ticks to the last record
    count, code_bytes, time_bytes = h.uleb(), h.uleb(), h.uleb()
    for _ in range(h.uleb()):
        h.uleb()
        h.sleb()
    used = []
    for _ in range(h.uleb()):
        kind, records = h.uleb(), h.uleb()
        used.append((kind, records, [(h.u8(), h.uleb()) for _ in range(h.uleb())]))
    codes = ulebs(b.take(code_bytes), count)
    ticks = ulebs(b.take(time_bytes), count)
    firsts = []
    for kind, records, columns in used:
        name, klass, arguments = types[kind]
        wanted = 1 if klass == SPAN else 0
        first = [None] * records
        for i, (encoding, size) in enumerate(columns):
            data = b.take(size)
            if i == wanted and arguments and arguments[0] != SEQUENCE:
                first = column(encoding, data, records, arguments[0] == SIGNED)
        firsts.append((name, iter(first)))
    for code, delta in zip(codes, ticks):
        base += delta
        if code == 0:
            p.records.append((None, clock.ns(base), None))
        else:
            name, first = firsts[code - 1]
            p.records.append((name, clock.ns(base), next(first)))


def read_losses(payload):
    b, losses = Bytes(payload), []
    for _ in range(b.uleb()):
        e = b.entry()
        losses.append(tuple(e.uleb() for _ in range(5)))
    return losses


def read_partition(data):
    p, at, clock, types = Partition(), HEAD, None, []
    while at < len(data) - TAIL:
        kind, packing, _flags, raw, length, _sum = struct.unpack_from("<HBBIQQ", data, at)
        payload = data[at + SECTION:at + SECTION + length]
        if len(payload) != length:
            raise Damaged("F-9: a section ends behind its partition")
        if packing == 1:
            payload = lz4.frame.decompress(payload)
        if len(payload) != raw:
            raise Damaged("F-9: raw bytes")
        if kind == INFO:
            clock = read_info(payload, p)
        elif kind == TYPES:
            types = read_types(payload)
        elif kind == BLOCK:
            b = Bytes(payload)
            while b.at < len(payload):
                read_batch(b, types, clock, p)
        elif kind == LOSS:
            p.lost = read_losses(payload)
        at += SECTION + length
    return p


def read_file(data):
    """All partitions of a trace file; every byte must belong to one or to a table."""
    at, partitions = 0, []
    while at < len(data):
        if data[at:at + 8] != MAGIC:
            raise Damaged("no magic at byte %d" % at)
        major, _minor, kind, _flags = data[at + 8:at + 12]
        length, = struct.unpack_from("<Q", data, at + 16)
        if major != 1 or length < 64 or at + length > len(data):
            raise Damaged("F-8 at byte %d" % at)
        if kind == PARTITION:
            partitions.append(read_partition(data[at:at + length]))
        at += length
    return partitions
