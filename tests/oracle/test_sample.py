"""pcgpu sample against NumPy: the same indices, distances and records."""
import numpy as np

import oracle
from common import (check, data, equal, finish, part_skipped, passed, read_bin, read_json, run, scratch, testdata,
                    write_bin)

f32 = np.float32


def sample(folder, path, *options, fields=4, stdin=None):
    """Returns records, indices and distances of one run; its report is in out.json."""
    out, indices, distances, report = (folder / name for name in ('out.bin', 'out.i32', 'out.f32', 'out.json'))
    for old in (out, indices, distances, report):
        old.unlink(missing_ok=True)
    run('sample', path, '--fields', fields, '-o', out, '--indices', indices, '--distances', distances, '--json', report,
        *options, stdin=stdin)
    return read_bin(out, fields), np.fromfile(indices, '<i4'), np.fromfile(distances, '<f4')


def check_coverage(folder, label, points, picked):
    reported = read_json(folder / 'out.json')['result']['coverage']
    wanted = oracle.coverage(points, picked)
    equal(f'{label}: coverage', f32(np.inf if reported is None else reported), wanted)  # JSON knows no infinity


def compare(folder, label, path, points, options, expected, seeds=()):
    records, indices, distances = sample(folder, path, *options, fields=points.shape[1])
    equal(f'{label}: indices', indices, expected[0])
    equal(f'{label}: distances', distances, expected[1])
    check(records.tobytes() == points[expected[0]].tobytes(), f'{label}: records are those of the input')
    check_coverage(folder, label, points, np.concatenate([np.array(seeds, int), expected[0]]))
    passed(f'{label}: {len(indices)} indices, distances and records')


def test_scans(folder):
    """1024 of a whole scan; bytes.list has 4096."""
    scans = [('kitti/000001.bin', data('kitti/000001.bin'), 4), ('nuscenes', data('nuscenes/n015.pcd.bin'), 5),
             ('street.bin', testdata('street.bin'), 4)]
    for label, path, fields in scans:
        if not path:
            part_skipped(label, 'the file is not here')
            continue
        points = read_bin(path, fields)
        expected = oracle.farthest(points, 1024)
        check(len(set(expected[0])) == 1024, f'{label}: 1024 distinct indices')
        compare(folder, label, path, points, ['-m', 1024], expected)


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


def compare_seeded(folder, label, path, points, seeds, count, *options, kind=np.int64, **how):
    np.save(folder / 'seeds.npy', np.array(seeds, kind))
    compare(folder, label, path, points, ['-m', count, '--seeds', folder / 'seeds.npy', *options],
            oracle.farthest(points, count, seeds=seeds, **how), seeds=seeds)


def test_seeds(folder, path, points):
    """Picks go on after those of another run, or after any records; two steps are one."""
    at_once = oracle.farthest(points, 900)
    then = oracle.farthest(points, 500, seeds=at_once[0][:400])
    for whole, part in zip(at_once, then):
        equal('two steps are one', part, whole[400:])
    for kind in (np.int64, np.uint64, np.int32, np.uint32):
        compare_seeded(folder, f'after 400 picks, {kind.__name__}', path, points, at_once[0][:400], 500, kind=kind)
    rng = np.random.default_rng(7)
    compare_seeded(folder, 'after 50 records', path, points, rng.permutation(len(points))[:50], 300)
    compare_seeded(folder, 'after 50 records, 2 m', path, points, rng.permutation(len(points))[:50], 8000 - 50,
                   '--min-distance', 2, min_distance=2.0)
    compare_seeded(folder, 'after all records but one', path, points, rng.permutation(len(points))[1:], 1)


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


def test_random_seeds(folder, path, points):
    """Drawing goes on where it ended, keeps to what is left after any records, and says how far the rest is."""
    at_once = sample_random(folder, path, 900, 5)[1]
    check_coverage(folder, 'random', points, at_once)
    np.savetxt(folder / 'seeds.txt', at_once[:400], '%d')
    then = sample_random(folder, path, 500, 5, '--seeds', folder / 'seeds.txt')[1]
    equal('random: two steps are one', then, at_once[400:])
    check_coverage(folder, 'random with seeds', points, at_once)
    seeds = np.random.default_rng(8).permutation(len(points))[:7000]
    np.savetxt(folder / 'seeds.txt', seeds, '%d')
    rest = sample_random(folder, path, 1000, 5, '--seeds', folder / 'seeds.txt')[1]
    equal('random: the rest, each once', np.sort(rest), np.setdiff1d(np.arange(len(points)), seeds).astype(np.int32))
    check_coverage(folder, 'random, all points', points, np.arange(len(points)))
    passed('method random with seeds')


def sample_random(folder, path, count, seed, *options):
    out, indices = folder / 'out.bin', folder / 'out.i32'
    run('sample', path, '-m', count, '--method', 'random', '--seed', seed, '-f', '-o', out, '--indices', indices,
        '--json', folder / 'out.json', *options)
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


def padded(rows, m, kind):
    """Rows up to m: once more in their order, or zeros."""
    if kind == 'repeat':
        return rows[np.arange(m) % len(rows)]
    return np.concatenate([rows, np.zeros((m - len(rows), *rows.shape[1:]), rows.dtype)])


def test_learning(folder):
    """B x M x C with too few points in some clouds: what a DataLoader's collate function would stack."""
    rng = np.random.default_rng(25)
    m, counts = 200, (500, 200, 199, 60, 1, 333)
    clouds = [(rng.normal(size=(n, 5)) * 10).astype(f32) for n in counts]
    clouds[3][7, 1] = np.nan
    usable = [len(oracle.usable(c)) for c in clouds]
    paths = [folder / f'l{i}.bin' for i in range(len(clouds))]
    for path, cloud in zip(paths, clouds):
        write_bin(path, cloud)
    picks = [oracle.farthest(c, min(m, n))[0] for c, n in zip(clouds, usable)]
    for kind in ('repeat', 'zero'):
        wanted = np.stack([padded(c[p], m, kind) for c, p in zip(clouds, picks)])
        indices = np.stack([padded(p + 1, m, kind) - 1 for p in picks]).astype('<i4')
        run('sample', '-m', m, '--pad', kind, '--batch', '--fields', 5, *paths, '-f', '-o', folder / 'l.npz', '--distances',
            folder / 'l.npy')
        got = np.load(folder / 'l.npz')
        check(sorted(got) == ['indices', 'num_points', 'points'], f'--pad {kind}: the arrays', sorted(got))
        equal(f'--pad {kind}: points', got['points'], wanted)
        equal(f'--pad {kind}: indices', got['indices'], indices)
        equal(f'--pad {kind}: num_points', got['num_points'], np.array([len(p) for p in picks], '<i4'))
        distances = [padded(oracle.farthest(c, min(m, n))[1], m, 'zero') for c, n in zip(clouds, usable)]
        equal(f'--pad {kind}: distances', np.load(folder / 'l.npy'), np.stack(distances))
        run('sample', '-m', m, '--pad', kind, '--fields', 5, *paths, '-f', '-o', f'{folder}/padded/')
        for path, rows in zip(paths, wanted):
            equal(f'--pad {kind}: {path.name} alone', read_bin(folder / 'padded' / path.name, 5), rows)
    for path, cloud, p in zip(paths, clouds, picks):
        run('sample', '-m', m, '--at-most', '--fields', 5, path, '-f', '-o', folder / 'most.bin')
        equal(f'--at-most: {path.name}', read_bin(folder / 'most.bin', 5), cloud[p])
    # Equal clouds without padding, more of them than a group has; coordinates with an offset.
    many = [rng.normal(size=(30, 3)).astype(f32) for _ in range(150)]
    names = [folder / f'm{i}.bin' for i in range(len(many))]
    for path, cloud in zip(names, many):
        write_bin(path, cloud)
    run('sample', '-m', 9, '--batch', '--fields', 3, *names, '-f', '-o', folder / 'm.npy')
    equal('150 clouds', np.load(folder / 'm.npy'), np.stack([c[oracle.farthest(c, 9)[0]] for c in many]))
    far = rng.integers(0, 512, (40, 3)) / 64.0 + [333_000.25, 4_770_000.5, 120.0]
    np.save(folder / 'far.npy', far)
    run('sample', '-m', 40, '--method', 'random', '--batch', folder / 'far.npy', '-f', '-o', folder / 'f.npz')
    got = np.load(folder / 'f.npz')
    equal('far away', got['points'][0], far[got['indices'][0]].astype(f32))
    passed('padding and batches')


def main():
    with scratch() as folder:
        points = np.random.default_rng(6).normal(size=(8000, 4)).astype(f32) * f32([20, 20, 2, 1])
        write_bin(folder / 'cloud.bin', points)
        test_start(folder, folder / 'cloud.bin', points)
        test_how_many(folder, folder / 'cloud.bin', points)
        test_random(folder, folder / 'cloud.bin', points)
        test_seeds(folder, folder / 'cloud.bin', points)
        test_random_seeds(folder, folder / 'cloud.bin', points)
        test_utm(folder)
        test_learning(folder)
        test_scans(folder)
    finish()


main()
