"""What a .png of pcgpu view shows: picture.py FILE prints "WIDTH HEIGHT BACKGROUND", where BACKGROUND is the number of pixels
that are empty; picture.py FILE RRGGBB... prints for each colour the number of its pixels and their mean column and row. Pixels
that are darker by the lighting have the hue of the colour, and count."""
import collections
import itertools
import struct
import sys
import zlib


def read(path):
    data = open(path, 'rb').read()
    assert data[:8] == b'\x89PNG\r\n\x1a\n', 'not a .png'
    at, packed, header = 8, b'', None
    while at < len(data):
        size, kind = struct.unpack('>I4s', data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert struct.unpack('>I', data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body), 'a wrong checksum'
        header = body if kind == b'IHDR' else header
        packed += body if kind == b'IDAT' else b''
        at += 12 + size
    width, height, bits, colour = struct.unpack('>IIBB', header[:10])
    assert (bits, colour, kind) == (8, 2, b'IEND'), 'not 8-bit RGB'
    raw, rows, pitch = zlib.decompress(packed), [], 3 * width + 1
    for y in range(height):
        line = raw[y * pitch:(y + 1) * pitch]
        assert line[0] in (0, 1), 'another filter than none and sub'
        channels = [line[k::3] for k in (1, 2, 3)]
        if line[0]:
            channels = [bytes(map((255).__and__, itertools.accumulate(c))) for c in channels]
        rows.append(list(zip(*channels)))
    return width, height, rows


def is_of(pixel, colour):
    """A scaled copy of the colour, at least a quarter of it."""
    most = max(range(3), key=lambda k: colour[k])
    gain = pixel[most] / colour[most]
    return gain > 0.25 and all(abs(pixel[k] - gain * colour[k]) <= 6 for k in range(3))


width, height, rows = read(sys.argv[1])
counts = [collections.Counter(row) for row in rows]  # a picture has few colours, and a row fewer
if len(sys.argv) == 2:
    print(width, height, sum(c[0x12, 0x16, 0x1b] for c in counts))
for wanted in sys.argv[2:]:
    colour = bytes.fromhex(wanted)
    found = {p for p in set().union(*counts) if is_of(p, colour)}
    places = [(x, y) for y, row in enumerate(rows) if not found.isdisjoint(counts[y]) for x, p in enumerate(row) if p in found]
    n = max(len(places), 1)
    print(len(places), sum(x for x, _ in places) // n, sum(y for _, y in places) // n)
