"""What the tests share: running pcgpu, reading its files, and checks that print what they checked."""
import contextlib
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np

SKIP = 77
DATA = pathlib.Path(os.environ.get('PCGPU_DATA', '/nonexistent'))
SOURCE = pathlib.Path(os.environ.get('PCGPU_SOURCE', pathlib.Path(__file__).resolve().parents[2]))
PROGRAM = os.environ.get('PCGPU', 'pcgpu')
# Set by tests/gpu/run to send every operation to the GPU; empty: the program's own choice.
DEVICE = os.environ.get('PCGPU_DEVICE', '')

checks = 0
skips = []


def fail(what, detail=''):
    sys.exit(f'FAIL: {what}' + (f': {detail}' if detail else ''))


def check(condition, what, detail=''):
    global checks
    if not condition:
        fail(what, detail)
    checks += 1


def equal(what, got, expected):
    """Same shape, type and values; on a difference says where the first one is."""
    got, expected = np.asarray(got), np.asarray(expected)
    check(got.dtype == expected.dtype, what, f'type {got.dtype}, expected {expected.dtype}')
    check(got.shape == expected.shape, what, f'shape {got.shape}, expected {expected.shape}')
    both_nan = (got != got) & (expected != expected)
    wrong = np.argwhere((got != expected) & ~both_nan)
    if len(wrong):
        at = tuple(int(i) for i in wrong[0])
        fail(what, f'{len(wrong)} of {got.size} values differ, first at {at}: {got[at]!r}, expected {expected[at]!r}')


def passed(what):
    print(f'ok: {what}', flush=True)


def part_skipped(what, why):
    skips.append(what)
    print(f'skipped: {what}: {why}', flush=True)


def finish():
    """Ends a test: 77 when every part of it was skipped."""
    if checks == 0:
        print('nothing was checked: ' + (', '.join(skips) or 'no test ran'))
        sys.exit(SKIP if skips else 1)
    print(f'{checks} checks passed' + (f', skipped: {", ".join(skips)}' if skips else ''))


def data(name):
    """A file of the real data, or None when it is absent on this machine."""
    path = DATA / name
    return path if path.exists() else None


def testdata(name):
    path = SOURCE / 'testdata' / name
    return path if path.exists() else None


def run(*args, code=0, stdin=None, cwd=None):
    """Runs pcgpu; fails unless it exits with `code` (None: whatever it is). stdout is bytes."""
    command = [PROGRAM, *map(str, args)]
    if DEVICE and args[0] in ('sample', 'voxelize', 'filter', 'register', 'odometry', 'fuse'):
        command[2:2] = ['--device', DEVICE]
    result = subprocess.run(command, input=stdin or b'', capture_output=True, cwd=cwd, timeout=300)
    if code is not None and result.returncode != code:
        fail(' '.join(command), f'exit code {result.returncode}, expected {code}; stderr:\n{result.stderr.decode()}')
    return result


def read_json(path):
    lines = pathlib.Path(path).read_text().splitlines()
    check(len(lines) == 1, f'{path} holds one JSON object', f'{len(lines)} lines')
    return json.loads(lines[0])


def find(tree, key):
    """The value of `key` wherever it is in a JSON object, or None."""
    if isinstance(tree, dict):
        if key in tree and not isinstance(tree[key], dict):
            return tree[key]
        for value in tree.values():
            found = find(value, key)
            if found is not None:
                return found
    return None


def read_bin(path, fields=4):
    return np.fromfile(path, '<f4').reshape(-1, fields)


def write_bin(path, points):
    np.ascontiguousarray(points, '<f4').tofile(path)


def read_ply(path):
    """The vertices of a binary little-endian .ply as a structured array."""
    kinds = {'float': '<f4', 'double': '<f8', 'uchar': 'u1', 'char': 'i1', 'ushort': '<u2', 'short': '<i2',
             'uint': '<u4', 'int': '<i4', 'float32': '<f4', 'float64': '<f8'}
    content = pathlib.Path(path).read_bytes()
    end = content.index(b'end_header\n') + len(b'end_header\n')
    header = content[:end].decode().splitlines()
    check(header[1] == 'format binary_little_endian 1.0', f'{path} is binary little endian', header[1])
    count = int(next(line for line in header if line.startswith('element vertex')).split()[2])
    columns = [line.split()[1:] for line in header if line.startswith('property') and 'property list' not in line]
    return np.frombuffer(content[end:], np.dtype([(name, kinds[kind]) for kind, name in columns]), count)


def read_cloud(path, *options, warned=''):
    """What pcgpu reads from a file, as a structured array."""
    out = pathlib.Path(f'{path}.out.ply')
    result = run('convert', path, '-f', '-o', out, *options)
    check(warned in result.stderr.decode() and (warned or not result.stderr), f'messages of {path}', result.stderr.decode())
    return read_ply(out)


def write_ply(path, points):
    """A structured array as binary little-endian .ply."""
    kinds = {'f4': 'float', 'f8': 'double', 'u1': 'uchar', 'i1': 'char', 'u2': 'ushort', 'i2': 'short', 'u4': 'uint',
             'i4': 'int'}
    names = ''.join(f'property {kinds[points.dtype[name].str[1:]]} {name}\n' for name in points.dtype.names)
    header = f'ply\nformat binary_little_endian 1.0\nelement vertex {len(points)}\n{names}end_header\n'
    pathlib.Path(path).write_bytes(header.encode() + points.tobytes())


def expand_lzf(packed, size):
    """LZF: runs of literals, and copies of what was just written."""
    out, i = bytearray(), 0
    while len(out) < size:
        control = packed[i]
        i += 1
        if control < 32:
            out += packed[i:i + control + 1]
            i += control + 1
            continue
        count = (control >> 5) + 2
        if count == 9:
            count += packed[i]
            i += 1
        back = len(out) - ((control & 31) << 8 | packed[i]) - 1
        i += 1
        while count > 0:  # the copy may overlap itself
            piece = out[back:back + count]
            out += piece
            count -= len(piece)
    return bytes(out)


def read_pcd(path):
    """The points of a binary or compressed .pcd as a structured array."""
    content = pathlib.Path(path).read_bytes()
    end = content.index(b'\n', content.index(b'\nDATA') + 1) + 1
    header = dict(line.split(maxsplit=1) for line in content[:end].decode().splitlines() if line[0] != '#')
    columns = zip(header['FIELDS'].split(), header['TYPE'].split(), header['SIZE'].split())
    dtype = np.dtype([(name, '<' + kind.lower() + size) for name, kind, size in columns])
    points = np.zeros(int(header['POINTS']), dtype)
    if header['DATA'] == 'binary':
        points[:] = np.frombuffer(content[end:], dtype, len(points))
        return points
    check(header['DATA'] == 'binary_compressed', f'{path} is binary', header['DATA'])
    packed, size = np.frombuffer(content[end:end + 8], '<u4')
    column = expand_lzf(content[end + 8:end + 8 + int(packed)], int(size))
    for name in dtype.names:  # one after the other
        width = points[name].nbytes
        points[name] = np.frombuffer(column[:width], dtype[name])
        column = column[width:]
    return points


def write_pcd(path, points):
    """A structured array as binary .pcd."""
    types = [points.dtype[name] for name in points.dtype.names]
    header = ['VERSION 0.7', 'FIELDS ' + ' '.join(points.dtype.names),
              'SIZE ' + ' '.join(str(t.itemsize) for t in types), 'TYPE ' + ' '.join(t.kind.upper() for t in types),
              'COUNT' + ' 1' * len(types), f'WIDTH {len(points)}',
              'HEIGHT 1', f'POINTS {len(points)}', 'DATA binary\n']
    pathlib.Path(path).write_bytes('\n'.join(header).encode() + points.tobytes())


def write_pgm(path, depth):
    """A 2-D uint16 array as binary .pgm."""
    height, width = depth.shape
    pathlib.Path(path).write_bytes(f'P5\n{width} {height}\n65535\n'.encode() + depth.astype('>u2').tobytes())


def paeth(a, b, c):
    """The neighbour (left, above, above left) nearest to a + b - c; of arrays."""
    left, up, corner = abs(b - c), abs(a - c), abs(a + b - 2 * c)
    return np.where((left <= up) & (left <= corner), a, np.where(up <= corner, b, c))


def guesses(a, b, c):
    """What each filter takes a byte for."""
    return 0 * a, a, b, (a + b) // 2, paeth(a, b, c)


def png_lines(path):
    """The filters of the rows of a 16-bit greyscale .png, not interlaced, and the rows, filtered: height x width x 2 bytes."""
    content, at, packed, header = pathlib.Path(path).read_bytes(), 8, b'', b''
    check(content[:8] == b'\x89PNG\r\n\x1a\n', f'{path} is a .png')
    while at < len(content):
        size, kind = struct.unpack('>I4s', content[at:at + 8])
        body = content[at + 8:at + 8 + size]
        check(zlib.crc32(kind + body) == struct.unpack('>I', content[at + 8 + size:at + 12 + size])[0], 'checksum')
        header, packed = (body if kind == b'IHDR' else header), packed + (body if kind == b'IDAT' else b'')
        at += size + 12
    width, height, *kinds = struct.unpack('>IIBBBBB', header)
    check(kinds == [16, 0, 0, 0, 0], f'{path} is 16-bit greyscale', kinds)
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 2 * width + 1)
    return lines[:, :1], lines[:, 1:].reshape(height, width, 2)


def read_pngs(paths):
    """Images of one size as arrays of uint16 (PNG specification, third edition, section 9)."""
    filters, rows = (np.stack(part, axis=-2) for part in zip(*map(png_lines, paths)))
    height, width, count, _ = rows.shape
    out = np.zeros((height + 1, width + 1, count, 2), np.int32)  # a row of zeros above, a pixel of zeros at the left
    for diagonal in range(width + height - 1):  # a pixel needs only those of the two diagonals before
        y = np.arange(max(0, diagonal - width + 1), min(height, diagonal + 1))
        x = diagonal - y
        out[y + 1, x + 1] = (rows[y, x] + np.choose(filters[y], guesses(out[y + 1, x], out[y, x + 1], out[y, x]))) & 255
    return np.moveaxis(out[1:, 1:, :, 0] << 8 | out[1:, 1:, :, 1], 2, 0).astype(np.uint16)


def read_png(path):
    return read_pngs([path])[0]


def png(width, height, kinds, lines):
    def chunk(name, body):
        return struct.pack('>I', len(body)) + name + body + struct.pack('>I', zlib.crc32(name + body))
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', struct.pack('>II', width, height) + bytes([*kinds, 0, 0, 0])) +
            chunk(b'IDAT', zlib.compress(lines)) + chunk(b'IEND', b''))


def write_png(path, depth, kinds=(0,)):
    """A 2-D uint16 array as .png; the filters of its rows are `kinds`, over and over."""
    height, width = depth.shape
    rows = np.zeros((height + 1, 2 * width + 2), np.int64)
    rows[1:, 2:] = depth.astype('>u2').view(np.uint8)
    guess = guesses(rows[1:, :-2], rows[:-1, 2:], rows[:-1, :-2])
    used = [kinds[y % len(kinds)] for y in range(height)]
    pathlib.Path(path).write_bytes(png(width, height, (16, 0), b''.join(
        bytes([kind]) + ((rows[y + 1, 2:] - guess[kind][y]) & 255).astype(np.uint8).tobytes() for y, kind in enumerate(used))))


def write_rgb(path, image):
    """An array of height x width x 3 uint8 as .png."""
    height, width, _ = image.shape
    pathlib.Path(path).write_bytes(png(width, height, (8, 2), b''.join(b'\0' + row.tobytes() for row in image)))


@contextlib.contextmanager
def scratch():
    """A folder of its own, removed at the end."""
    with tempfile.TemporaryDirectory(prefix='pcgpu-test-') as name:
        yield pathlib.Path(name)


def error(got, truth):
    """Metres and degrees between two rigid transforms."""
    difference = np.linalg.inv(truth) @ got
    # of the skew part, which is exact for small angles, where arccos of the trace is not
    r = difference[:3, :3]
    sine = np.linalg.norm([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]) / 2
    return np.linalg.norm(got[:3, 3] - truth[:3, 3]), np.degrees(np.arctan2(sine, (np.trace(r) - 1) / 2))


def points_of_depth(path, *camera):
    return points_of_image(read_png(path), *camera)


def points_of_image(image, fx, fy, cx, cy):
    """x, y, z of every second row and column of a depth image in millimetres, to 8 m."""
    depth = image[::2, ::2] / 1000
    v, u = np.nonzero((depth > 0) & (depth <= 8))
    z = depth[v, u]
    return np.column_stack([(2 * u - cx) / fx * z, (2 * v - cy) / fy * z, z]).astype(np.float32)
