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


def aligned_errors(estimate, truth):
    """Distances of positions after the best rigid motion (Umeyama 1991)."""
    a, b = estimate - estimate.mean(0), truth - truth.mean(0)
    u, _, v = np.linalg.svd(b.T @ a)
    return np.linalg.norm(a @ (u @ np.diag((1, 1, np.linalg.det(u @ v))) @ v).T - b, axis=1)


def round_length(most):
    return max(length for k in range(-9, 9) for length in (1 * 10.0 ** k, 2 * 10.0 ** k, 5 * 10.0 ** k) if length <= most)


def test_plot(folder):
    """The curve of the first chart, read from its pixels by the lines at round numbers."""
    n = 300
    s = np.linspace(0, 240, n)
    truth = np.stack([60 * np.sin(s / 60), 60 * np.cos(s / 60), 0 * s], -1)
    estimate = truth + np.stack([0.3 * np.sin(s / 15), 0.002 * s, 0.5 * (s > 150)], -1)
    for name, positions in (('truth', truth), ('estimate', estimate)):
        np.savetxt(folder / f'{name}.txt', [np.hstack([np.eye(3), p[:, None]]).ravel() for p in positions], '%.12g')
    run('evaluate', folder / 'estimate.txt', '--ground-truth', folder / 'truth.txt', '--plot', folder / 'plot.png')
    chart = read_rgb(folder / 'plot.png')[:480, :640].astype(int)
    path = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(truth, axis=0), axis=1))])
    errors = aligned_errors(estimate, truth)
    axis, grid, curve = ((abs(chart - colour) <= 3).all(2) for colour in ((0x6b, 0x76, 0x80), (0x2b, 0x33, 0x3c), (0xff, 0xb0, 0)))
    left, bottom = axis.sum(0).argmax(), axis.sum(1).argmax()
    across, up = round_length(path[-1] / 4), round_length(1.05 * errors.max() / 3)
    lines = np.flatnonzero(grid.sum(0) > 200), np.flatnonzero(grid.sum(1) > 200)
    check(len(lines[0]) == int(path[-1] / across) and len(lines[1]) == int(1.05 * errors.max() / up), 'lines at round numbers',
          [len(x) for x in lines])
    drawn = 0
    for column in range(left + 3, left + int((lines[0][-1] - left) / len(lines[0]) * path[-1] / across)):
        at = (column - left) / (lines[0][-1] - left) * len(lines[0]) * across
        rows = np.flatnonzero(curve[90:, column]) + 90
        near = np.interp(np.linspace(at - 1, at + 1, 21), path, errors)  # metres
        y = bottom - near / (len(lines[1]) * up) * (bottom - lines[1][0])
        check(len(rows) > 0 and y.min() - 3 <= rows.min() and rows.max() <= y.max() + 3, 'the error along the path', (column, at, rows, y))
        drawn += 1
    check(drawn > 400, 'columns of the curve', drawn)
    passed('the error along the path is that of NumPy')


with scratch() as scratch_folder:
    test_plot(scratch_folder)
    test_places(scratch_folder)
    test_heights(scratch_folder)
finish()
