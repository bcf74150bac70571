"""What a .png of pcgpu view shows: picture.py FILE prints "WIDTH HEIGHT BACKGROUND", where BACKGROUND is the number of pixels
that are empty; picture.py FILE RRGGBB... prints for each colour the number of its pixels and their mean column and row. Pixels
that are darker by the lighting have the hue of the colour, and count. picture.py FILE --against OTHER prints how far colours are
apart in the mean. FILE may hold what a terminal shows as sixels."""
import collections
import itertools
import re
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


def read_sixels(text):
    """What a terminal would show: runs of columns of six rows in one colour, by colours in percent."""
    body = text.split('\033Pq', 1)[1].split('\033\\', 1)[0]
    width, height = map(int, re.match(r'"1;1;(\d+);(\d+)', body).groups())
    rows, colours, top, x, colour = [[None] * width for _ in range(height)], {}, 0, 0, None
    for number, percent, length, bits, mark in re.findall(r'#(\d+)((?:;\d+)*)|(?:!(\d+))?([?-~])|([$-])', body[body.index('#'):]):
        if percent:
            colours[number] = tuple(round(int(v) * 2.55) for v in percent.split(';')[2:])
        elif number:
            colour = colours[number]
        elif mark:
            top, x = top + (6 if mark == '-' else 0), 0
        for x in range(x, x + int(length or 1)) if bits else ():
            for y in range(6):
                if (ord(bits) - 63) >> y & 1:
                    assert rows[top + y][x] is None, 'a pixel with two colours'
                    rows[top + y][x] = colour
        x += 1 if bits else 0
    assert all(p is not None for row in rows for p in row), 'a pixel without a colour'
    return width, height, rows


def read_any(path):
    data = open(path, 'rb').read()
    return read_sixels(data.decode()) if b'\033Pq' in data else read(path)


width, height, rows = read_any(sys.argv[1])
if sys.argv[2:3] == ['--against']:
    other = read_any(sys.argv[3])
    assert (width, height) == other[:2], 'other sizes'
    print(sum(abs(a - b) for one, two in zip(rows, other[2]) for p, q in zip(one, two) for a, b in zip(p, q)) // (3 * width * height))
    sys.exit()
counts = [collections.Counter(row) for row in rows]  # a picture has few colours, and a row fewer
if len(sys.argv) == 2:
    print(width, height, sum(c[0x12, 0x16, 0x1b] for c in counts))
for wanted in sys.argv[2:]:
    colour = bytes.fromhex(wanted)
    found = {p for p in set().union(*counts) if is_of(p, colour)}
    places = [(x, y) for y, row in enumerate(rows) if not found.isdisjoint(counts[y]) for x, p in enumerate(row) if p in found]
    n = max(len(places), 1)
    print(len(places), sum(x for x, _ in places) // n, sum(y for _, y in places) // n)
