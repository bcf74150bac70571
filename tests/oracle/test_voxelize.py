"""pcgpu voxelize against NumPy: counts of published configurations and every array."""
import json

import numpy as np

import oracle
from common import (SOURCE, check, data, equal, find, finish, part_skipped, passed, read_bin, read_json, read_pcd,
                    read_ply, run, scratch, write_bin, write_pcd, write_ply)

f32 = np.float32
FEATURES = ('mean', 'points', 'pillar', 'first', 'nearest')


def voxelize(folder, path, *options):
    """Runs once and returns every output: the .npz, the separate files, the JSON object."""
    npz, side, log = folder / 'v.npz', folder / 'side', folder / 'v.json'
    for old in (npz, log):
        old.unlink(missing_ok=True)
    side.mkdir(exist_ok=True)
    run('voxelize', path, *options, '-f', '-o', npz, '--json', log, '--set', f"coords={side / 'coords'}", '--set',
        f"counts={side / 'counts'}", '--set', f"point-voxel={side / 'point_voxel'}")
    arrays = dict(np.load(npz))
    separate = {name: np.fromfile(side / name, '<i4') for name in ('coords', 'counts', 'point_voxel')}
    return arrays, separate, read_json(log)


def compare(folder, label, path, options, expected):
    arrays, separate, log = voxelize(folder, path, *options)
    equal(f'{label}: npz coords', arrays['coords'], expected.coords)
    equal(f'{label}: npz num_points', arrays['num_points'], expected.counts)
    equal(f'{label}: npz voxels', arrays['voxels'], expected.features)
    equal(f'{label}: coords', separate['coords'].reshape(-1, 4), expected.coords)
    equal(f'{label}: counts', separate['counts'], expected.counts)
    equal(f'{label}: point-voxel', separate['point_voxel'], expected.point_voxel)
    for name in ('in_range', 'kept', 'over_points', 'over_voxels', 'voxels_found', 'largest'):
        check(find(log, name) == getattr(expected, name), f'{label}: {name} in --json',
              f'{find(log, name)}, expected {getattr(expected, name)}')
    reasons = ('kept', 'non_finite', 'at_origin', 'out_of_range', 'over_voxels', 'over_points')
    counted = {name: find(log, name) for name in reasons}
    check(sum(counted.values()) == find(log, 'points_in'), f'{label}: every record is kept or has one reason', counted)
    passed(f'{label}: {expected.in_range} in range, {expected.voxels_found} voxels, {expected.kept} kept')
    return arrays


def grid_options(low, high, size, max_points, max_voxels, features):
    def join(values):
        return ','.join(str(v) for v in values)
    return [f'--range={join([*low, *high])}', f'--voxel-size={join(size)}', '--max-points', max_points, '--max-voxels',
            max_voxels, '--features', features]


# Configuration, scan, columns, range, size, max_points; then points in range, voxels and points kept, of the first
# three as published with the data.
PUBLISHED = [
    ('pillar.yaml', 'kitti/000000.bin', 4, (0, -39.68, -3), (69.12, 39.68, 1), (.16, .16, 4), 32, 62853, 8235, 52305),
    ('second.yaml', 'kitti/000000.bin', 4, (0, -40, -3), (70.4, 40, 1), (.05, .05, .1), 5, 62853, 41281, 61603),
    ('centerpoint_voxel0075.yaml', 'nuscenes/n015.pcd.bin', 5, (-54, -54, -5), (54, 54, 3), (.075, .075, .2), 10,
     32330, 17509, 25694),
    ('centerpoint_voxel01.yaml', 'nuscenes/n015.pcd.bin', 5, (-51.2, -51.2, -5), (51.2, 51.2, 3), (.1, .1, .2), 10,
     32264, 15307, 25037),
    ('pillar_waymo.yaml', 'nuscenes/n015.pcd.bin', 5, (-74.88, -74.88, -2), (74.88, 74.88, 4), (.32, .32, 6), 20,
     30429, 4911, 21090),
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


# Lower corner, upper corner, size.
GRIDS = [
    ((-8, -8, -2), (8, 8.5, 2), (.5, .5, 1)),
    ((-8, -8, -2), (8, 8.5, 2), (.1, .11, .13)),
    ((0, -39.68, -3), (69.12, 39.68, 1), (.16, .16, 4)),
    ((-20, -30.5, -9), (-10, -20, -8.2), (.1, .3, .07)),  # all negative
    ((0, 0, 0), (1, 1.05, .3), (.4, .3, .07)),  # cells that do not divide the range, 2.5 of them in x
    ((-5, -5, -5), (5, 5, 5), (10, 10, 10)),  # one cell
    ((-50, -50, -50), (50, 50, 50), (.01, .01, .01)),  # 10^12 cells
    ((-1024, -1024, -512), (1024, 1024, 512), (2 ** -10,) * 3),  # 2^62 cells, the most there may be
    ((0, 0, 0), (1 << 20, 1, 1), (1 / 16, 1, 1)),  # 2^24 in x, likewise
    ((1e6, 2e6, 300), (1e6 + 700, 2e6 + 700, 400), (.7, .7, .7)),  # coordinates near the end of float32's digits
]


def on_faces(rng, grid, n, columns):
    """Exactly on faces of cells, by float32 and by float64, or one ulp beside, edges of the range among them; anywhere around;
    many twice; values that are no numbers, huge, tiny or minus zero; the origin."""
    low, high, size = (np.array(values, f32) for values in grid)
    cells = np.floor((high - low) / size + f32(.5)).astype(np.int64)
    number = rng.integers(0, cells + 1, (n, 3)) * (rng.random((n, 3)) > .2)
    exact = np.where(rng.random((n, 3)) < .5, low + number.astype(f32) * size, (np.array(grid[0]) + number * np.array(grid[2])).astype(f32))
    xyz = np.where(rng.random((n, 3)) < .1, high, exact)
    step = rng.integers(-1, 2, (n, 3))
    xyz = np.where(step, np.nextafter(xyz, np.where(step > 0, f32(np.inf), f32(-np.inf))), xyz)
    xyz[::3] = low + (rng.random((len(xyz[::3]), 3)) * 1.2 - .1) * (high - low)
    points = np.hstack([xyz, np.round(rng.normal(size=(n, columns - 3)) * 50)]).astype(f32)
    points[n // 2:] = points[rng.integers(0, n // 2, n - n // 2)]
    wild = rng.random(points.shape) < .01
    points[wild] = rng.choice(f32([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-40, -0.0]), wild.sum())
    points[rng.integers(0, n, 9), :3] = 0
    return points


def test_features_and_limits(folder):
    """Points on faces of the cells of many grids; 1 point is SECOND's smallest voxel, few voxels fill at once, 2^20 never."""
    rng, path = np.random.default_rng(7), folder / 'cloud.bin'
    for k, grid in enumerate(GRIDS):
        points = on_faces(rng, grid, 3000, 3 + k)
        write_bin(path, points)
        for i, (max_points, max_voxels) in enumerate(((0, 0), (1, 0), (7, 5), (3, 200), (4, 1 << 20))):
            for features in FEATURES if k == 0 else FEATURES[(k + i) % 3::3]:  # of the other grids, each in turn
                drop = max_points == 1
                options = [*grid_options(*grid, max_points, max_voxels, features), '--fields', 3 + k, *['--drop-origin'] * drop]
                with np.errstate(all='ignore'):
                    expected = oracle.voxelize(points, *grid, max_points, max_voxels, features, drop)
                compare(folder, f'grid {k}, {features}, {max_points} points, {max_voxels} voxels', path, options, expected)


def file_offset(xyz):
    """What is taken off float64 coordinates before they become float32: the middle of the bounds in whole metres."""
    middle = xyz.min(axis=0) / 2 + xyz.max(axis=0) / 2
    return np.copysign(np.floor(abs(middle) + .5), middle)


def test_utm(folder):
    """float64 coordinates beyond float32: cells are found relative to the offset, arrays and clouds have it added
    again, once rounded to float32 or in float64."""
    rng = np.random.default_rng(10)
    corner = np.array([333_000, 4_770_000, 120.0])
    points = rng.random((4000, 3)) * (20, 20, 1200) + corner  # so that no axis is small enough to need no offset
    points[::3] = np.round(points[::3] * 4) / 4  # on faces
    np.save(folder / 'utm.npy', points)
    offset = file_offset(points)
    local = (points - offset).astype(f32)
    low, high, size = corner + .5, corner + (19, 20.5, 1100.5), (.5, 2, 100)
    for features in FEATURES:
        for max_points, max_voxels in ((0, 0), (3, 500)):
            expected = oracle.voxelize(local, low - offset, high - offset, size, max_points, max_voxels, features)
            rows = expected.features.reshape(expected.count, -1, expected.features.shape[-1])
            real = np.arange(rows.shape[1]) < (expected.counts[:, None] if rows.shape[1] > 1 else 1)
            rows[..., :3] = np.where(real[..., None], (rows[..., :3] + offset).astype(f32), 0)
            options = grid_options(low, high, size, max_points, max_voxels, features)
            compare(folder, f'UTM, {features}, {max_points} points, {max_voxels} voxels', folder / 'utm.npy', options,
                    expected)
    run('voxelize', folder / 'utm.npy', *grid_options(low, high, size, 4, 0, 'mean'), '-o', folder / 'utm.ply')
    cloud = read_ply(folder / 'utm.ply')
    mean = oracle.voxelize(local, low - offset, high - offset, size, 4).features
    for k, name in enumerate('xyz'):
        equal(f'UTM: {name} of the .ply', cloud[name], mean[:, k].astype('f8') + offset[k])
    passed('float64 coordinates')


def auto_grid(xyz, size):
    """The range that --range auto stands for; exact when the size is a power of two."""
    finite = xyz[np.isfinite(xyz).all(axis=1)].astype(np.float64)
    return np.floor(finite.min(axis=0) / size) * size, (np.floor(finite.max(axis=0) / size) + 1) * size


def columns_of(cloud):
    """A structured array of any types as float32 rows."""
    return np.stack([cloud[name].astype(f32) for name in cloud.dtype.names], axis=1)


def coloured(rng, n):
    """A cloud with the columns that .ply and .pcd files have: normals, time, ring, colours."""
    dtype = [('x', '<f4'), ('y', '<f4'), ('z', '<f4'), ('nx', '<f4'), ('time', '<f4'), ('ring', '<u2'),
             ('label', '<i4'), ('red', 'u1'), ('green', 'u1'), ('blue', 'u1')]
    points = np.zeros(n, dtype)
    for name in ('x', 'y', 'z', 'nx', 'time'):
        points[name] = rng.normal(size=n) * 4
    points['ring'] = rng.integers(0, 65536, n)
    points['label'] = rng.integers(-1000, 1000, n)
    for name in ('red', 'green', 'blue'):
        points[name] = rng.integers(0, 256, n)
    return points


def unpacked(cloud):
    """A .pcd has the colours of a cloud in one field, whose bits are those of a float32."""
    if 'rgb' not in cloud.dtype.names:
        return cloud
    bits = np.ascontiguousarray(cloud['rgb']).view('<u4')
    kinds = [(name, cloud.dtype[name]) for name in cloud.dtype.names if name != 'rgb']
    out = np.zeros(len(cloud), kinds + [(name, 'u1') for name in ('red', 'green', 'blue')])
    for name, _ in kinds:
        out[name] = cloud[name]
    for name, shift in (('red', 16), ('green', 8), ('blue', 0)):
        out[name] = bits >> shift & 255
    return out


def test_downsampling_columns(folder):
    """Names and types of columns stay; colours stay colours, and classes are those of most points."""
    points = coloured(np.random.default_rng(15), 3000)
    points['label'][::2] = np.random.default_rng(15).choice((-3, 10, 40, 252), 1500)
    table = columns_of(points)
    grid = (*auto_grid(table[:, :3], 1.0), (1, 1, 1))
    for write, read, extension in ((write_ply, read_ply, 'ply'), (write_pcd, read_pcd, 'pcd')):
        write(folder / f'columns.{extension}', points)
        for features in ('mean', 'first', 'nearest', 'points'):
            out = folder / f'small.{extension}'
            run('voxelize', '--voxel-size', 1, '--features', features, folder / f'columns.{extension}', '-f', '-o', out)
            cloud, label = unpacked(read(out)), f'columns of .{extension}, {features}'
            expected = oracle.voxelize(table, *grid, features='mean' if features == 'points' else features)
            check(cloud.dtype.names == points.dtype.names, f'{label}: names', cloud.dtype.names)
            for k, name in enumerate(points.dtype.names):
                colour = name in ('red', 'green', 'blue')
                values = expected.features[:, k]
                values = np.floor(values + f32(.5)) if colour else values
                if name in ('ring', 'label') and features in ('mean', 'points'):
                    values = oracle.majority(points[name], expected.point_voxel, expected.count)
                equal(f'{label}: {name}', cloud[name], values.astype(points.dtype[name]))
    passed('names, types, classes and colours of columns')


def test_classes(folder):
    """The classes of voxels over --set point-voxel, of what --max-points keeps, as a cloud and as an array."""
    rng = np.random.default_rng(18)
    points = coloured(rng, 40000)
    points['label'] = rng.choice((10, 40, 252), len(points), p=(.4, .4, .2))
    points['ring'] = rng.integers(0, 3, len(points))
    write_ply(folder / 'classes.ply', points)
    ids, out = folder / 'ids.npy', folder / 'small.ply'
    for limits in ([], ['--max-points', 4], ['--max-points', 5, '--max-voxels', 1000, '--shuffle'], ['--cpu', '--threads', 3]):
        for how in ('majority', 'first', 'mean'):
            common = ['voxelize', '--voxel-size', 1.5, *limits, '--set', f'voxel-labels={how}', folder / 'classes.ply', '-f']
            warned = run(*common, '-o', out, '--set', f'point-voxel={ids}').stderr
            run(*common, '-o', folder / 'small.npz')
            voxel, cloud = np.load(ids), read_ply(out)
            kept = voxel >= 0
            check((b'ring, label are averaged' in warned) == (how == 'mean'), f'classes, {how}: warning', warned)
            for name in ('ring', 'label'):
                text = f'classes, {limits}, {how}: {name}'
                array = np.load(folder / 'small.npz')['voxels'][:, points.dtype.names.index(name)]
                equal(f'{text} of the array', array, cloud[name].astype('<f4'))
                check(cloud.dtype[name] == ('<f4' if how == 'mean' else points.dtype[name]), f'{text}: type', cloud.dtype)
                if how == 'majority':
                    expected = oracle.majority(points[name][kept], voxel[kept], len(cloud))
                    equal(text, cloud[name], expected)
                    ties = (expected != oracle.majority(points[name][kept], voxel[kept], len(cloud), highest=True)).sum()
                    check(ties > 20, f'{text}: ties are tested', ties)
                elif how == 'first' and '--shuffle' not in limits:
                    equal(text, cloud[name], points[name][np.unique(voxel, return_index=True)[1][-len(cloud):]])
    passed('classes of voxels')


def test_packed_colours(folder):
    """rgb of .pcd is three bytes in the bits of a float32, or a whole number: the mean is one of each byte."""
    rng = np.random.default_rng(16)
    for kind in ('<f4', '<u4'):
        points = np.zeros(2000, [('x', '<f4'), ('y', '<f4'), ('z', '<f4'), ('rgb', kind)])
        for name in 'xyz':
            points[name] = rng.normal(size=len(points)) * 3
        bits = rng.integers(0, 1 << 32, len(points)).astype('<u4')  # as a float it may be a NaN; the first byte is nothing
        points['rgb'] = bits.view(kind) if kind == '<f4' else bits
        write_pcd(folder / 'rgb.pcd', points)
        xyz = np.stack([points[name] for name in 'xyz'], axis=1)
        expected = oracle.voxelize(xyz, *auto_grid(xyz, 1.0), (1, 1, 1), max_points=3)
        run('voxelize', '--voxel-size', 1, '--max-points', 3, folder / 'rgb.pcd', '-f', '-o', folder / 'small.pcd')
        cloud = read_pcd(folder / 'small.pcd')
        kept = expected.point_voxel >= 0
        wanted = np.zeros(expected.count, '<u4')
        for shift in (0, 8, 16):
            total = np.bincount(expected.point_voxel[kept], (bits[kept] >> shift & 255).astype(float), expected.count)
            wanted |= np.floor(total / expected.counts + .5).astype('<u4') << shift
        check(cloud.dtype['rgb'] == '<f4', f'packed colours {kind}: type', cloud.dtype)
        equal(f'packed colours {kind}', np.ascontiguousarray(cloud['rgb']).view('<u4'), wanted)
        equal(f'packed colours {kind}: x', cloud['x'], expected.features[:, 0])
    passed('packed colours')


def test_batch(folder):
    """--batch: what the inputs give alone, one after the other."""
    rng = np.random.default_rng(13)
    clouds = [street_like(rng, n, 4) for n in (3000, 1, 700, 2, 5000)]
    paths = [folder / f'input{i}.bin' for i in range(len(clouds))]
    for path, points in zip(paths, clouds):
        write_bin(path, points)
    grid = (-8, -8, -2), (8, 8, 2), (.5, .5, 1)
    for features in FEATURES:
        for max_points, max_voxels in ((0, 0), (4, 300)):
            alone = [oracle.voxelize(points, *grid, max_points, max_voxels, features) for points in clouds]
            capacity = max_points or max(int(v.counts.max(initial=0)) for v in alone)
            options = grid_options(*grid, max_points, max_voxels, features)
            out, label = folder / 'batch.npz', f'batch of {features}, {max_points} points, {max_voxels} voxels'
            run('voxelize', '--batch', *options, *paths, '-f', '-o', out, '--set', f"point-voxel={folder / 'p'}", '--set',
                f"coords={folder / 'c'}", '--set', f"counts={folder / 'n'}", '--json', folder / 'log')
            arrays = dict(np.load(out))
            first = np.cumsum([0] + [v.count for v in alone])
            for v in alone:
                if v.features.ndim == 3:
                    v.features = np.pad(v.features, ((0, 0), (0, capacity - v.features.shape[1]), (0, 0)))
                v.coords = v.coords.copy()
            for i, v in enumerate(alone):
                v.coords[:, 0] = i
            expected = {
                'voxels': np.concatenate([v.features for v in alone]),
                'coords': np.concatenate([v.coords for v in alone]),
                'num_points': np.concatenate([v.counts for v in alone]),
                'voxel_offsets': first.astype('<i4'),
                'point_voxel': np.concatenate([np.where(v.point_voxel < 0, -1, v.point_voxel + start)
                                               for v, start in zip(alone, first)]).astype('<i4'),
                'point_offsets': np.cumsum([0] + [len(points) for points in clouds]).astype('<i4')}
            check(list(arrays) == list(expected), f'{label}: names of the arrays', list(arrays))
            for name, values in expected.items():
                equal(f'{label}: {name}', arrays[name], values)
            for name, array in (('p', 'point_voxel'), ('c', 'coords'), ('n', 'num_points')):
                equal(f'{label}: --{array}', np.fromfile(folder / name, '<i4'), expected[array].ravel())
            lines = [json.loads(line) for line in (folder / 'log').read_text().splitlines()]
            told = [(o['result']['batch'], o['result']['voxels']) for o in lines]
            check(told == [(i, v.count) for i, v in enumerate(alone)],
                  f'{label}: a line of --json an input')
    run('voxelize', '--batch', *options, '--dtype', 'float16', *paths, '-o', folder / 'half.npy')
    equal('batch as float16 .npy', np.load(folder / 'half.npy'), expected['voxels'].astype(np.float16))
    passed(f'batches of {len(paths)} inputs')


def main():
    with scratch() as folder:
        test_features_and_limits(folder)
        test_utm(folder)
        test_downsampling_columns(folder)
        test_classes(folder)
        test_packed_colours(folder)
        test_batch(folder)
        test_published(folder)
    finish()


main()
