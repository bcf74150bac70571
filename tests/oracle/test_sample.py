"""pcgpu sample against NumPy: the same indices, distances and records."""
import numpy as np

import oracle
from common import (check, data, equal, finish, part_skipped, passed, read_bin, run, scratch, testdata, write_bin)

f32 = np.float32


def sample(folder, path, *options, fields=4, stdin=None):
    """Returns records, indices and distances of one run."""
    out, indices, distances = (folder / name for name in ('out.bin', 'out.i32', 'out.f32'))
    for old in (out, indices, distances):
        old.unlink(missing_ok=True)
    run('sample', path, '--fields', fields, '-o', out, '--indices', indices, '--distances', distances, *options,
        stdin=stdin)
    return read_bin(out, fields), np.fromfile(indices, '<i4'), np.fromfile(distances, '<f4')


def compare(folder, label, path, points, options, expected):
    records, indices, distances = sample(folder, path, *options, fields=points.shape[1])
    equal(f'{label}: indices', indices, expected[0])
    equal(f'{label}: distances', distances, expected[1])
    check(records.tobytes() == points[expected[0]].tobytes(), f'{label}: records are those of the input')
    passed(f'{label}: {len(indices)} indices, distances and records')


def test_scans(folder):
    """4096 of a whole scan: the numbers that PointNet++ and PV-RCNN ask for."""
    scans = [('kitti/000001.bin', data('kitti/000001.bin'), 4), ('nuscenes', data('nuscenes/n015.pcd.bin'), 5),
             ('street.bin', testdata('street.bin'), 4)]
    for label, path, fields in scans:
        if not path:
            part_skipped(label, 'the file is not here')
            continue
        points = read_bin(path, fields)
        expected = oracle.farthest(points, 4096)
        check(len(set(expected[0])) == 4096, f'{label}: 4096 distinct indices')
        compare(folder, label, path, points, ['-m', 4096], expected)


def test_start(folder, path, points):
    compare(folder, 'start 4321', path, points, ['-m', 300, '--start', 4321], oracle.farthest(points, 300, 4321))
    start = oracle.center_start(points)
    compare(folder, 'start center', path, points, ['-m', 300, '--start', 'center'], oracle.farthest(points, 300, start))
    first = []
    for seed in (1, 2, 3):
        options = ['-m', 300, '--start', 'random', '--seed', seed]
        first.append(int(sample(folder, path, *options)[1][0]))
        compare(folder, f'start random, seed {seed}', path, points, options, oracle.farthest(points, 300, first[-1]))
    check(len(set(first)) > 1, 'seeds give different starts', first)


def test_how_many(folder, path, points):
    n = len(points)
    compare(folder, 'ratio 0.01', path, points, ['--ratio', 0.01], oracle.farthest(points, n // 100))
    expected = oracle.farthest(points, n, min_distance=2.0)
    check(1 < len(expected[0]) < n, 'the distance ends the sampling')
    compare(folder, 'min-distance 2', path, points, ['--min-distance', 2], expected)
    compare(folder, 'min-distance 2, at most 20', path, points, ['--min-distance', 2, '-m', 20],
            oracle.farthest(points, 20, min_distance=2.0))
    compare(folder, 'min-distance 2, at most 5000', path, points, ['--min-distance', 2, '-m', 5000], expected)
    compare(folder, 'min-distance 2, at most half', path, points, ['--min-distance', 2, '--ratio', 0.5], expected)


def hostile_clouds():
    rng = np.random.default_rng(3)
    yield 'one point', rng.normal(size=(1, 4)), 1
    grid = np.stack(np.meshgrid(*[np.arange(8)] * 3), axis=-1).reshape(-1, 3)
    yield 'a grid full of ties, all of it', np.hstack([grid, grid[:, :1]]), 512
    yield 'the same point 100 times', np.tile([[1.5, -2, 3, 4]], (100, 1)), 100
    duplicates = rng.normal(size=(700, 4))[rng.integers(0, 700, 2000)]
    yield 'duplicates, more picks than places', duplicates, 1500
    yield 'on a line', np.linspace(-50, 50, 999)[:, None] * [1, 0, 0, 1], 400
    yield 'squares that overflow', rng.normal(size=(600, 4)) * 1e25, 200
    yield 'squares below the normal numbers', rng.normal(size=(600, 4)) * 1e-22, 200
    broken = rng.normal(size=(3000, 4))
    broken[rng.integers(1, 3000, 300), rng.integers(0, 3, 300)] = rng.choice([np.nan, np.inf, -np.inf], 300)
    broken[1:, 3] = np.nan  # only coordinates count
    broken[rng.integers(1, 3000, 200), :3] = 0
    yield 'NaN, infinities and the origin', broken, 900
    yield 'minus zero', np.where(rng.random((500, 4)) < 0.5, -0.0, rng.normal(size=(500, 4))), 100


def test_hostile(folder):
    path = folder / 'hostile.bin'
    for label, points, count in hostile_clouds():
        points = points.astype(f32)
        write_bin(path, points)
        compare(folder, label, path, points, ['-m', count], oracle.farthest(points, count))
        if 'origin' in label:
            compare(folder, f'{label} dropped', path, points, ['-m', count, '--drop-origin'],
                    oracle.farthest(points, count, drop_origin=True))


def test_batch(folder):
    """Several inputs, which CUDA runs at the same time, give what each gives alone."""
    rng = np.random.default_rng(4)
    paths, out = [], folder / 'batch'
    out.mkdir()
    for i, n in enumerate((5000, 300, 1, 20000)):
        paths.append(folder / f'cloud{i}.bin')
        write_bin(paths[-1], rng.normal(size=(n, 4)))
    run('sample', *paths, '--ratio', 0.1, '-o', f'{out}/')
    for path in paths:
        points = read_bin(path)
        picks = oracle.farthest(points, max(1, len(points) // 10))[0]
        equal(f'batch: {path.name}', read_bin(out / path.name), points[picks])
    check(len(list(out.iterdir())) == len(paths), 'batch: one output per input')
    passed('batch of 4 clouds')


def test_random(folder, path, points):
    records, indices, _ = sample_random(folder, path, 1000, 1)
    check(len(set(indices.tolist())) == 1000, 'random: no record twice')
    check(0 <= indices.min() and indices.max() < len(points), 'random: records of the input')
    check(records.tobytes() == points[indices].tobytes(), 'random: records are those of the input')
    check((indices != sample_random(folder, path, 1000, 2)[1]).any(), 'random: the seed matters')
    equal('random: the seed decides', sample_random(folder, path, 1000, 1)[1], indices)
    everything = sample_random(folder, path, len(points), 7)[1]
    equal('random: all records, each once', np.sort(everything), np.arange(len(points), dtype=np.int32))
    # The mean rank of 1000 draws has a standard deviation of n/sqrt(12000); 6 of them never happen by chance.
    for part in (indices, everything[:1000]):
        off = abs(part.mean() / len(points) - 0.5) * np.sqrt(12 * 1000)
        check(off < 6, 'random: uniform', f'{off:.1f} standard deviations off')
    passed('method random')


def sample_random(folder, path, count, seed):
    out, indices = folder / 'out.bin', folder / 'out.i32'
    run('sample', path, '-m', count, '--method', 'random', '--seed', seed, '-f', '-o', out, '--indices', indices)
    return read_bin(out), np.fromfile(indices, '<i4'), None


def test_utm(folder):
    """Coordinates too large for float32: differences are still exact, and so are the records of the output."""
    rng = np.random.default_rng(5)
    local = rng.integers(0, 4096, (3000, 3)) / 64.0
    points = local + [333_000.25, 4_770_000.5, 120.0]
    np.save(folder / 'utm.npy', points)
    run('sample', folder / 'utm.npy', '-m', 500, '-o', folder / 'utm_out.npy', '--indices', folder / 'utm.i32')
    indices = np.fromfile(folder / 'utm.i32', '<i4')
    equal('utm: indices', indices, oracle.farthest(local.astype(f32), 500)[0])
    equal('utm: records', np.load(folder / 'utm_out.npy'), points[indices])
    passed('float64 coordinates')


def main():
    with scratch() as folder:
        points = np.random.default_rng(6).normal(size=(8000, 4)).astype(f32) * f32([20, 20, 2, 1])
        write_bin(folder / 'cloud.bin', points)
        test_start(folder, folder / 'cloud.bin', points)
        test_how_many(folder, folder / 'cloud.bin', points)
        test_hostile(folder)
        test_batch(folder)
        test_random(folder, folder / 'cloud.bin', points)
        test_utm(folder)
        test_scans(folder)
    finish()


main()
