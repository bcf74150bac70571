"""pcgpu voxelize against NumPy: counts of published configurations and every array."""
from fractions import Fraction

import numpy as np

import oracle
from common import (SOURCE, check, data, equal, find, finish, part_skipped, passed, read_bin, read_json, read_ply,
                    run, scratch, testdata, write_bin)

f32 = np.float32
FEATURES = ('mean', 'points', 'pillar', 'first', 'nearest')


def voxelize(folder, path, *options):
    """Runs once and returns every output: the .npz, the separate files, the JSON object."""
    npz, side, log = folder / 'v.npz', folder / 'side', folder / 'v.json'
    for old in (npz, log):
        old.unlink(missing_ok=True)
    side.mkdir(exist_ok=True)
    run('voxelize', path, *options, '-f', '-o', npz, '--json', log, '--coords', side / 'coords', '--counts',
        side / 'counts', '--point-voxel', side / 'point_voxel')
    arrays = dict(np.load(npz))
    separate = {name: np.fromfile(side / name, '<i4') for name in ('coords', 'counts', 'point_voxel')}
    return arrays, separate, read_json(log)


def compare(folder, label, path, options, expected):
    arrays, separate, log = voxelize(folder, path, *options)
    equal(f'{label}: npz coords', arrays['coords'], expected.coords)
    equal(f'{label}: npz num_points', arrays['num_points'], expected.counts)
    equal(f'{label}: npz voxels', arrays['voxels'], expected.features)
    equal(f'{label}: --coords', separate['coords'].reshape(-1, 4), expected.coords)
    equal(f'{label}: --counts', separate['counts'], expected.counts)
    equal(f'{label}: --point-voxel', separate['point_voxel'], expected.point_voxel)
    for name in ('in_range', 'kept', 'over_points', 'over_voxels', 'voxels_found', 'largest'):
        check(find(log, name) == getattr(expected, name), f'{label}: {name} in --json',
              f'{find(log, name)}, expected {getattr(expected, name)}')
    passed(f'{label}: {expected.in_range} in range, {expected.voxels_found} voxels, {expected.kept} kept')
    return arrays


def grid_options(low, high, size, max_points, max_voxels, features):
    def join(values):
        return ','.join(str(v) for v in values)
    return [f'--range={join([*low, *high])}', f'--size={join(size)}', '--max-points', max_points, '--max-voxels',
            max_voxels, '--features', features]


# Configuration, scan, columns, range, size, max_points; then points in range, voxels and points kept, as published
# with the data.
PUBLISHED = [
    ('pillar.yaml', 'kitti/000000.bin', 4, (0, -39.68, -3), (69.12, 39.68, 1), (.16, .16, 4), 32, 62853, 8235, 52305),
    ('second.yaml', 'kitti/000000.bin', 4, (0, -40, -3), (70.4, 40, 1), (.05, .05, .1), 5, 62853, 41281, 61603),
    ('centerpoint.yaml', 'nuscenes/n015.pcd.bin', 5, (-54, -54, -5), (54, 54, 3), (.075, .075, .2), 10,
     32330, 17509, 25694),
]


def test_published(folder):
    for config, scan, fields, low, high, size, max_points, in_range, voxels, kept in PUBLISHED:
        path = data(scan)
        if not path:
            part_skipped(config, 'the scan is not here')
            continue
        points = read_bin(path, fields)
        base = ['--config', SOURCE / 'configs' / config, '--fields', fields]
        for features in ('mean', 'points', 'pillar'):
            expected = oracle.voxelize(points, low, high, size, max_points, 0, features)
            check((expected.in_range, expected.voxels_found, expected.kept) == (in_range, voxels, kept),
                  f'{config}: the oracle has the published counts')
            compare(folder, f'{config}, {features}, all voxels', path,
                    base + ['--features', features, '--max-voxels', 0], expected)
        # The configuration untouched: its own features and voxel limit.
        arrays, _, log = voxelize(folder, path, *base)
        check(find(log, 'voxels_found') == voxels and find(log, 'in_range') == in_range, f'{config}: counts as it is')
        limit, features = int(find(log, 'max_voxels')), find(log, 'features')
        expected = oracle.voxelize(points, low, high, size, max_points, limit, features)
        equal(f'{config}: voxels as it is', arrays['voxels'], expected.features)
        equal(f'{config}: coords as it is', arrays['coords'], expected.coords)
        passed(f'{config} as it is: {features}, at most {limit} voxels')


def street_like(rng, n, columns):
    points = rng.normal(size=(n, columns)).astype(f32) * f32([6, 6, 1] + [1] * (columns - 3))
    points[::4] = np.round(points[::4] * 8) / 8  # on voxel edges, with duplicates
    points[rng.integers(0, n, n // 50), rng.integers(0, 3, n // 50)] = rng.choice([np.nan, np.inf, -np.inf], n // 50)
    points[rng.integers(0, n, n // 50), :3] = 0
    return points


def test_features_and_limits(folder):
    rng = np.random.default_rng(7)
    path = folder / 'cloud.bin'
    low, high = (-8, -8, -2), (8, 8.5, 2)
    for columns, size in ((4, (.5, .5, 1)), (5, (.3, .7, 4)), (3, (.1, .11, .13))):
        points = street_like(rng, 6000, columns)
        write_bin(path, points)
        # 5 voxels fill at once, 2^20 never; 1 point is SECOND's smallest voxel
        for max_points, max_voxels in ((0, 0), (1, 0), (7, 0), (3, 200), (0, 5), (4, 1 << 20)):
            for features in FEATURES:
                options = grid_options(low, high, size, max_points, max_voxels, features) + ['--fields', columns]
                expected = oracle.voxelize(points, low, high, size, max_points, max_voxels, features)
                label = f'{features}, {columns} columns, {max_points} points, {max_voxels} voxels'
                compare(folder, label, path, options, expected)
    options = grid_options(low, high, size, 5, 0, 'mean') + ['--fields', columns, '--drop-origin']
    compare(folder, 'without the origin', path, options,
            oracle.voxelize(points, low, high, size, 5, 0, 'mean', drop_origin=True))


def test_exact_means(folder):
    """Means without a limit of points: the documented bound against exact fractions, in voxels of many points and of
    values that float64 cannot add; and the same for the records in another order."""
    rng = np.random.default_rng(12)
    n = 200000
    points = rng.uniform(0, 1, (n, 8)).astype(f32)
    points[n // 2:, 0] += 1  # two voxels
    points[:, 3] = rng.integers(0, 1 << 32, n, np.uint32).view(f32)
    points[~np.isfinite(points[:, 3]), 3] = 0
    points[:, 4] = np.where(rng.random(n) < 1e-4, 3e38, points[:, 4]) * rng.choice(f32([-1, 1]), n)
    points[:, 5] *= f32(1e-42)  # below the normal range
    points[:, 6] = f32(0.1)
    points[:, 7] += f32(1 << 20)
    grid = (0, 0, 0), (2, 1, 1), (1, 1, 1)
    options = grid_options(*grid, 0, 0, 'mean') + ['--fields', 8]
    write_bin(folder / 'wide.bin', points)
    arrays = compare(folder, 'exact means', folder / 'wide.bin', options, oracle.voxelize(points, *grid))
    for voxel in range(2):
        rows = points[n // 2 * voxel:n // 2 * (voxel + 1)]
        for k in range(8):
            exact = sum(map(Fraction, rows[:, k].tolist())) / len(rows)
            off = abs(Fraction(float(arrays['voxels'][voxel, k])) - exact)
            bound = (Fraction(1, 2**24) + Fraction(1, 2**51)) * abs(exact) + Fraction(1, 2**150)
            check(off <= bound, f'exact means, column {k}: within the bound', f'{float(off)} beyond {float(bound)}')
    check((arrays['voxels'][:, 6] == f32(0.1)).all(), 'exact means: the mean of equal values is that value')
    write_bin(folder / 'wide.bin', np.vstack([rng.permutation(points[:n // 2]), rng.permutation(points[n // 2:])]))
    again, _, _ = voxelize(folder, folder / 'wide.bin', *options)
    equal('exact means of shuffled records', again['voxels'], arrays['voxels'])
    passed('the bound on the error of means')


def test_fine_grid(folder):
    """Cells whose number needs more than 32 bits."""
    points = street_like(np.random.default_rng(8), 4000, 4)
    write_bin(folder / 'fine.bin', points)
    grid = (-50, -50, -50), (50, 50, 50), (.01, .01, .01)
    compare(folder, '10^12 cells', folder / 'fine.bin', grid_options(*grid, 0, 0, 'mean'),
            oracle.voxelize(points, *grid))


def test_scan(folder):
    """A scan of the project itself, so that something real is compared where the data sets are absent."""
    path = testdata('street.bin')
    if not path:
        part_skipped('street.bin', 'the file is not here')
        return
    points = read_bin(path)
    for features in FEATURES:
        grid = (-60, -60, -4), (60, 60, 8), (.4, .4, .4)
        compare(folder, f'street.bin, {features}', path, grid_options(*grid, 6, 0, features),
                oracle.voxelize(points, *grid, 6, 0, features))


def test_range_auto(folder):
    """The cloud's own bounds. Sizes are powers of two: cells are then exact whatever the order of operations."""
    rng = np.random.default_rng(9)
    points = rng.normal(size=(5000, 4)).astype(f32) * f32(9)
    points[100:120, 1] = np.nan
    write_bin(folder / 'auto.bin', points)
    size = np.array([.5, .25, 2])
    finite = points[np.isfinite(points[:, :3]).all(axis=1), :3].astype(np.float64)
    low = np.floor(finite.min(axis=0) / size) * size
    high = (np.floor(finite.max(axis=0) / size) + 1) * size
    expected = oracle.voxelize(points, low, high, size, 0, 0, 'mean')
    check(expected.in_range == len(finite), 'range auto: every finite point is in range')
    compare(folder, 'range auto', folder / 'auto.bin',
            ['--range', 'auto', '--size', '.5,.25,2', '--max-points', 0, '--max-voxels', 0, '--features', 'mean'],
            expected)


def test_utm(folder):
    """float64 coordinates beyond float32: the range is given in the file's coordinates, means come back in them."""
    rng = np.random.default_rng(10)
    local = rng.integers(0, 20 * 64, (2000, 3)) / 64.0  # exact in float32 after whole metres are taken off
    corner = np.array([333_000, 4_770_000, 120.0])
    np.save(folder / 'utm.npy', local + corner)
    grid = np.zeros(3), np.full(3, 20.0), (.5, .5, 2)
    options = grid_options(corner, corner + 20, grid[2], 0, 0, 'first')
    arrays, separate, _ = voxelize(folder, folder / 'utm.npy', *options)
    expected = oracle.voxelize(local.astype(f32), *grid, features='first')
    equal('utm: coords', arrays['coords'], expected.coords)
    equal('utm: num_points', arrays['num_points'], expected.counts)
    equal('utm: point_voxel', separate['point_voxel'], expected.point_voxel)
    run('voxelize', folder / 'utm.npy', *grid_options(corner, corner + 20, grid[2], 0, 0, 'mean'), '-o',
        folder / 'utm.ply')
    cloud = read_ply(folder / 'utm.ply')
    mean = np.zeros((len(expected.counts), 3))
    np.add.at(mean, expected.point_voxel, local)
    mean = mean / expected.counts[:, None] + corner
    for k, name in enumerate('xyz'):
        check(cloud[name].dtype == np.float64, f'utm: {name} of the .ply is float64', cloud[name].dtype)
        off = abs(cloud[name] - mean[:, k]).max()
        check(off < 2e-5, f'utm: {name} of the means', f'{off} m off')  # float32 of metres relative to whole metres
    passed('float64 coordinates')


def test_formats(folder):
    """--dtype, and the same array in every container."""
    points = street_like(np.random.default_rng(11), 5000, 4)
    write_bin(folder / 'cloud.bin', points)
    low, high, size = (-8, -8, -2), (8, 8, 2), (.5, .5, 1)
    for features in ('mean', 'pillar'):
        options = grid_options(low, high, size, 6, 0, features)
        expected = oracle.voxelize(points, low, high, size, 6, 0, features).features
        for dtype in ('float32', 'float16'):
            wanted = expected.astype(dtype)
            for extension in ('npz', 'npy', 'bin'):
                out = folder / f'{features}.{dtype}.{extension}'
                run('voxelize', folder / 'cloud.bin', *options, '--dtype', dtype, '-o', out)
                if extension == 'bin':
                    got = np.fromfile(out, wanted.dtype).reshape(wanted.shape)
                else:
                    got = np.load(out)
                    got = got['voxels'] if extension == 'npz' else got
                equal(f'{features} {dtype} .{extension}', got, wanted)
    run('voxelize', folder / 'cloud.bin', *grid_options(low, high, size, 6, 0, 'mean'), '-o', folder / 'mean.ply')
    cloud, mean = read_ply(folder / 'mean.ply'), oracle.voxelize(points, low, high, size, 6, 0, 'mean').features
    for k, name in enumerate(('x', 'y', 'z', 'intensity')):
        equal(f'.ply of means: {name}', cloud[name], mean[:, k])
    passed('float32 and float16 in .npz, .npy, .bin; means as .ply')


def main():
    with scratch() as folder:
        test_features_and_limits(folder)
        test_exact_means(folder)
        test_fine_grid(folder)
        test_range_auto(folder)
        test_utm(folder)
        test_formats(folder)
        test_scan(folder)
        test_published(folder)
    finish()


main()
