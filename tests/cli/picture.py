"""What a .png of pcgpu view shows: picture.py FILE prints "WIDTH HEIGHT BACKGROUND", where BACKGROUND is the number of pixels
that are empty; picture.py FILE RRGGBB... prints for each colour the number of its pixels and their mean column and row. Pixels
that are darker by the lighting have the hue of the colour, and count."""
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
    raw, rows = zlib.decompress(packed), []
    for y in range(height):
        line = bytearray(raw[y * (3 * width + 1) + 1:(y + 1) * (3 * width + 1)])
        filtered = raw[y * (3 * width + 1)]
        assert filtered in (0, 1), 'another filter than none and sub'
        for i in range(3, 3 * width) if filtered else ():
            line[i] = (line[i] + line[i - 3]) & 255
        rows.append(line)
    return width, height, rows


def is_of(pixel, colour):
    """A scaled copy of the colour, at least a quarter of it."""
    most = max(range(3), key=lambda k: colour[k])
    gain = pixel[most] / colour[most]
    return gain > 0.25 and all(abs(pixel[k] - gain * colour[k]) <= 6 for k in range(3))


width, height, rows = read(sys.argv[1])
pixels = [(x, y, tuple(rows[y][3 * x:3 * x + 3])) for y in range(height) for x in range(width)]
if len(sys.argv) == 2:
    print(width, height, sum(p == (0x12, 0x16, 0x1b) for _, _, p in pixels))
for wanted in sys.argv[2:]:
    colour = bytes.fromhex(wanted)
    found = [(x, y) for x, y, p in pixels if is_of(p, colour)]
    n = max(len(found), 1)
    print(len(found), sum(x for x, _ in found) // n, sum(y for _, y in found) // n)
