"""Packs pictures of pcgpu of one height side by side, without filters and as small as zlib does: repack.py OUT.png FILE.png...; the pixels stay.
pcgpu writes them in a tenth of the time, and half as large again, which matters in a repository."""
import itertools
import struct
import sys
import zlib


def chunks(data):
    at = 8
    while at < len(data):
        size, kind = struct.unpack('>I4s', data[at:at + 8])
        yield kind, data[at + 8:at + 8 + size]
        at += 12 + size


def chunk(kind, body):
    return struct.pack('>I', len(body)) + kind + body + struct.pack('>I', zlib.crc32(kind + body))


def without_filter(row):
    assert row[0] in (0, 1), 'another filter than none and that of the pixel on the left'
    if row[0] == 0:
        return row[1:]
    out = bytearray(len(row))
    for k in (1, 2, 3):
        out[k::3] = bytes(itertools.accumulate(row[k::3], lambda a, b: (a + b) & 255))
    return bytes(out[1:])


whole, widths = [], 0
for path in sys.argv[2:]:
    parts = dict()
    for kind, body in chunks(open(path, 'rb').read()):
        parts[kind] = parts.get(kind, b'') + body
    width, height, bits, colour = struct.unpack('>IIBB', parts[b'IHDR'][:10])
    assert (bits, colour) == (8, 2), 'not 8-bit RGB'
    raw, pitch = zlib.decompress(parts[b'IDAT']), 3 * width + 1
    rows = [without_filter(raw[y * pitch:(y + 1) * pitch]) for y in range(height)]
    whole = [a + b for a, b in zip(whole, rows)] if whole else rows
    widths += width
header = struct.pack('>II', widths, height) + parts[b'IHDR'][8:]
with open(sys.argv[1], 'wb') as out:
    out.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + chunk(b'IDAT', zlib.compress(b''.join(b'\0' + row for row in whole), 9)) + chunk(b'IEND', b''))
