# SPDX-License-Identifier: Apache-2.0
"""PNG pictures of pages made smaller: 64 shades a colour are enough for text on a plain ground, and a
palette of what is left takes a byte a dot. Reads what Chromium writes (8 bits, RGB or RGBA)."""
import struct
import zlib


def chunks(data):
    at = 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + size]
        at += 12 + size


def rows_of(data):
    """Width, and of each row its dots as R, G, B in a row of bytes."""
    parts = list(chunks(data))
    width, height, bits, colour, _, _, interlaced = struct.unpack(">IIBBBBB", parts[0][1])
    assert bits == 8 and colour in (2, 6) and not interlaced, "another kind of PNG"
    each = 3 if colour == 2 else 4
    packed = zlib.decompress(b"".join(part for kind, part in parts if kind == b"IDAT"))
    size, before, rows = width * each, bytearray(width * each), []
    for y in range(height):
        start = y * (size + 1)
        filtered, row = packed[start], bytearray(packed[start + 1:start + 1 + size])
        for i in range(size):
            left = row[i - each] if i >= each else 0
            up, corner = before[i], before[i - each] if i >= each else 0
            if filtered == 1:
                row[i] = (row[i] + left) & 255
            elif filtered == 2:
                row[i] = (row[i] + up) & 255
            elif filtered == 3:
                row[i] = (row[i] + (left + up) // 2) & 255
            elif filtered == 4:
                a, b, c = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
                row[i] = (row[i] + (left if a <= b and a <= c else up if b <= c else corner)) & 255
        before = row
        rows.append(bytes(row) if each == 3 else bytes(b for i, b in enumerate(row) if i % 4 != 3))
    return width, rows


def near(dot, step):
    return tuple(min(255, (c + step // 2) // step * step) for c in dot)


def png_smaller(data):
    width, rows = rows_of(data)
    counts = {}
    for row in rows:
        for i in range(0, len(row), 3):
            counts[row[i:i + 3]] = counts.get(row[i:i + 3], 0) + 1
    step = 1
    while len({near(dot, step) for dot in counts}) > 192:
        step += 1
    exact = sorted(counts, key=counts.get, reverse=True)[:64]  # grounds and lines stay as they are
    palette, place = [tuple(dot) for dot in exact], {}
    for dot in counts:
        colour = tuple(dot) if dot in exact else near(dot, step)
        if colour not in palette:
            palette.append(colour)
        place[dot] = palette.index(colour)
    assert len(palette) <= 256
    plain = b"".join(b"\0" + bytes(place[row[i:i + 3]] for i in range(0, len(row), 3)) for row in rows)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    head = struct.pack(">IIBBBBB", width, len(rows), 8, 3, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"PLTE", bytes(c for colour in palette for c in colour)) +
            chunk(b"IDAT", zlib.compress(plain, 9)) + chunk(b"IEND", b""))
