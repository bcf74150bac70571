"""Pictures against NumPy: where points are, which of them is seen, and their colours."""
import struct
import zlib

import numpy as np

from common import check, finish, passed, run, scratch, write_bin

BACKGROUND = (0x12, 0x16, 0x1b)
WIDTH, HEIGHT = 200, 150  # below the size from which a picture has a legend
EDGE = 0.02 * HEIGHT


def read_rgb(path):
    """An 8-bit RGB .png whose rows have no filter or that of the pixel on the left."""
    content, at, packed = path.read_bytes(), 8, b''
    width, height = struct.unpack('>II', content[16:24])
    while at < len(content):
        size, kind = struct.unpack('>I4s', content[at:at + 8])
        packed += content[at + 8:at + 8 + size] if kind == b'IDAT' else b''
        at += 12 + size
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)
    check(np.isin(rows[:, 0], (0, 1)).all(), 'filters of rows')
    pixels = rows[:, 1:].reshape(height, width, 3)
    return np.where(rows[:, 0, None, None] == 1, np.cumsum(pixels, 1, dtype=np.uint8), pixels)


def quantile(values, fraction):
    return np.sort(values)[int(fraction * (len(values) - 1) + 0.5)].astype(float)


def limits(values):
    """From the first to the last percentile and an eighth more, but not beyond the values."""
    a, b = quantile(values, 0.01), quantile(values, 0.99)
    return max(values.min(), a - 0.125 * (b - a)), min(values.max(), b + 0.125 * (b - a))


def pixels_of(right, up):
    """Columns and rows of points by the two axes of a view without perspective."""
    (x0, x1), (y0, y1) = limits(right), limits(up)
    wide, high = WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE
    scale = min(wide / (x1 - x0), high / (y1 - y0))
    return EDGE + wide / 2 + (right - (x0 + x1) / 2) * scale, EDGE + high / 2 - (up - (y0 + y1) / 2) * scale


def test_places(folder):
    rng = np.random.default_rng(5)
    points = np.zeros((700, 4), np.float32)
    points[:, :3] = rng.normal(0, (8, 5, 2), (700, 3)) + (1000, -50, 3)
    write_bin(folder / 'a.bin', points)
    axes = {'top': (0, 1), 'front': (0, 2), 'side': (1, 2)}
    for name, (right, up) in axes.items():
        run('view', '--from', name, '--size', f'{WIDTH}x{HEIGHT}', '--point-size', '1', folder / 'a.bin', '-f', '-o', folder / 'a.png')
        drawn = (read_rgb(folder / 'a.png') != BACKGROUND).any(2)
        column, row = pixels_of(points[:, right], points[:, up])
        inside = (column > 1) & (column < WIDTH - 1) & (row > 1) & (row < HEIGHT - 1)
        check(inside.mean() > 0.95, f'{name}: points in the picture', inside.mean())
        seen = drawn[row[inside].astype(int), column[inside].astype(int)]
        check(seen.all(), f'{name}: a pixel for each point', f'{(~seen).sum()} of {len(seen)} are missing')
        near = np.zeros_like(drawn)
        for dy in (-1, 0, 1):  # a point of one pixel covers at most parts of its neighbours
            for dx in (-1, 0, 1):
                y, x = row.astype(int) + dy, column.astype(int) + dx
                keep = (y >= 0) & (y < HEIGHT) & (x >= 0) & (x < WIDTH)
                near[y[keep], x[keep]] = True
        check(not (drawn & ~near).any(), f'{name}: no pixel without a point')
        passed(f'{name}: {inside.sum()} points are in their pixels')


def test_heights(folder):
    """A dense plane in steps, seen from above: the colour of the highest step at each pixel, by the table of the colours."""
    x, y = np.meshgrid(np.arange(0, 12, 0.02), np.arange(0, 9, 0.02))
    low = np.stack([x, y, 0 * x, 0 * x], -1).reshape(-1, 4)
    high = low[(low[:, 0] > 4) & (low[:, 1] > 3)] + np.float32((0, 0, 2, 0))
    points = np.concatenate([high[::2], low, high[1::2]])
    write_bin(folder / 'b.bin', points)
    run('view', '--from', 'top', '--colormap', 'grey', '--size', f'{WIDTH}x{HEIGHT}', folder / 'b.bin', '-f', '-o', folder / 'b.png')
    picture = read_rgb(folder / 'b.png').astype(int)
    for what, place, wanted in (('low', (2, 1), 64), ('high', (8, 6), 255)):
        column, row = pixels_of(np.append(points[:, 0], place[0]), np.append(points[:, 1], place[1]))
        got = picture[int(row[-1]), int(column[-1])]
        check((abs(got - wanted) <= 2).all(), f'the {what} step is {wanted}', got)
    edge = pixels_of(np.append(points[:, 0], 3.9), np.append(points[:, 1], 6.0))
    shaded = picture[int(edge[1][-1]), int(edge[0][-1])]
    check((shaded < 60).all(), 'what lies behind the step beside it is darker', shaded)
    passed('the higher points hide the lower ones')


with scratch() as scratch_folder:
    test_places(scratch_folder)
    test_heights(scratch_folder)
finish()
