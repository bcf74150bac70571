"""pcgpu voxelize against NumPy on seeded hostile clouds: every array of every kind of features, to the bit.

PCGPU_CLOUDS: how many, default 72; 1000 take a few minutes."""
import json
import os
import shutil

import numpy as np

import hostile
import oracle
from common import check, equal, finish, passed, run, scratch, write_bin

f32 = np.float32
CLOUDS = int(os.environ.get('PCGPU_CLOUDS', '72'))
GROUP = max(8, CLOUDS // 27)  # clouds that one run of the program takes: on CUDA it takes a while to start
FEATURES = ('mean', 'points', 'pillar', 'first', 'nearest')
COUNTS = ('in_range', 'kept', 'over_points', 'over_voxels', 'voxels_found', 'largest')


def same(what, got, expected):
    """equal, and zeros have their sign. NaN has many patterns of bits, of which a processor chooses."""
    equal(what, got, expected)
    bits = {2: np.uint16, 4: np.uint32}[expected.itemsize]
    number = expected == expected
    check((got.view(bits)[number] == expected.view(bits)[number]).all(), what, 'signs of zeros differ')


def options_of(grid, max_points, max_voxels, features):
    low, high, size = (','.join(repr(float(v)) for v in values) for values in grid)
    return [f'--range={low},{high}', f'--voxel-size={size}', '--max-points', max_points, '--max-voxels', max_voxels,
            '--features', features]


def compare_cloud(label, folder, name, log, expected, dtype):
    arrays = dict(np.load(folder / f'{name}.npz'))
    with np.errstate(over='ignore'):
        same(f'{label}: voxels', arrays['voxels'], expected.features.astype(dtype))
    equal(f'{label}: coords', arrays['coords'], expected.coords)
    equal(f'{label}: num_points', arrays['num_points'], expected.counts)
    for side, values in (('coords', expected.coords), ('counts', expected.counts),
                         ('point-voxel', expected.point_voxel)):
        equal(f'{label}: --{side}', np.fromfile(folder / f'{name}.{side}.bin', '<i4'), values.ravel())
    for count in COUNTS:
        check(log['result'][count] == getattr(expected, count), f'{label}: {count}', log['result'][count])
    over = ('out_of_range', 'over_points', 'over_voxels')
    dropped = sum(log['dropped'].values()) + sum(log['result'][name] for name in over)
    check(log['result']['kept'] + dropped == log['points_in'], f'{label}: records are kept or counted')


def compare_group(label, folder, clouds, grid, limits, features, dtype, **more):
    out = folder / 'out'
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    names = [f'c{i}' for i in range(len(clouds))]
    run('voxelize', *options_of(grid, *limits, features), '--fields', clouds[0].shape[1], '--dtype', dtype,
        *(['--drop-origin'] if more else []), *[folder / f'{name}.bin' for name in names], '-o', out, '--output-format',
        'npz', '--set', f'coords={out}', '--set', f'counts={out}', '--set', f'point-voxel={out}', '--json', out / 'log', '-q')
    lines = (out / 'log').read_text().splitlines()
    check(len(lines) == len(clouds), f'{label}: a line of --json for each', len(lines))
    for name, points, line in zip(names, clouds, lines):
        with np.errstate(all='ignore'):
            expected = oracle.voxelize(points, *grid, *limits, features, **more)
        compare_cloud(f'{label}, cloud {name}', out, name, json.loads(line), expected, dtype)


def limits_of(rng, is_counted):
    if is_counted:  # hit exactly, by one too little, by one too much; and none
        pairs = [(p, v) for p in range(hostile.LARGEST - 1, hostile.LARGEST + 2)
                 for v in range(hostile.VOXELS - 1, hostile.VOXELS + 2)]
        return [pairs[i] for i in rng.permutation(len(pairs))[:3]]
    return [(0, 0), (1, int(rng.integers(1, 300))), (int(rng.integers(2, 40)), int(rng.choice([0, 1, 50, 1 << 20])))]


def check_counted(clouds, grid):
    for points in clouds:
        with np.errstate(all='ignore'):
            v = oracle.voxelize(points, *grid)
        check((v.voxels_found, v.largest) == (hostile.VOXELS, hostile.LARGEST), 'a counted cloud is what it says')


def usable(points):
    """With one point that can be used where there is none, since such a cloud is an error (tests/cli/voxelize.sh)."""
    good = np.isfinite(points[:, :3]).all(1) & (points[:, :3] != 0).any(1)
    return points if good.any() else np.vstack([points, np.full((1, points.shape[1]), 0.25, np.float32)])


def test_group(folder, seed):
    rng = np.random.default_rng(seed)
    grid, columns = hostile.GRIDS[seed % len(hostile.GRIDS)], 3 + seed % 14
    is_counted = seed % 2 == 1 and hostile.can_count(grid)
    make = hostile.counted if is_counted else hostile.hostile
    clouds = [usable(make(rng, grid, columns)) for _ in range(GROUP)]
    if is_counted:
        check_counted(clouds, grid)
    for i, points in enumerate(clouds):
        write_bin(folder / f'c{i}.bin', points)
    for k, limits in enumerate(limits_of(rng, is_counted)):
        for features in FEATURES:
            label = f'seed {seed}, {columns} columns, {features}, limits {limits}'
            compare_group(label, folder, clouds, grid, limits, features, 'float16' if k == 1 else 'float32',
                          **({'drop_origin': True} if k == 2 else {}))
    kind = 'counted' if is_counted else 'hostile'
    passed(f'seed {seed}: {GROUP} {kind} clouds of {columns} columns, grid {grid[0]} to {grid[1]} by {grid[2]}')


def main():
    with scratch() as folder:
        for seed in range(-(-CLOUDS // GROUP)):
            test_group(folder, seed)
    finish()


main()
