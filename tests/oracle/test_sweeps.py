"""Sweeps against OpenPCDet's loader, point for point: of a made-up drive in the format of nuScenes, and of a list."""
import json

import numpy as np

import detectors
import nuscenes
from common import check, equal, finish, passed, read_ply, run, scratch

WIDE = ['--range=-500,-500,-100,500,500,100', '--voxel-size', '0.5']
POINTS = ['--layout', 'openpcdet', '--set', 'voxelization=dynamic', *WIDE]


def same_points(what, got, expected):
    """Equal; where the last bit of a matrix product of float64 depends on NumPy's BLAS, a few coordinates may be the next
    float32."""
    check(got.dtype == expected.dtype and got.shape == expected.shape, what, (got.dtype, got.shape, expected.shape))
    equal(f'{what}: intensity and time', got[:, 3:], expected[:, 3:])
    wrong = got[:, :3] != expected[:, :3]
    near = np.abs(got[:, :3].astype(float) - expected[:, :3]) <= np.spacing(np.abs(expected[:, :3])) + 1e-10
    check(near.all() and wrong.sum() <= 2 + wrong.size // 100000, f'{what}: coordinates', int(wrong.sum()))


def joined(folder, *args):
    """The points in their order, without the number in the batch."""
    run('voxelize', *args, *POINTS, '-f', '-o', folder / 'p.npz')
    return np.load(folder / 'p.npz')['points'][:, 1:]


def test_nuscenes(folder):
    root = folder / 'nuscenes'
    tokens = nuscenes.make_drive(root, np.random.default_rng(3))
    drive = nuscenes.Drive(root)
    for scene in tokens:
        for i in (0, 1, 4, 5, 11):
            for sweeps in (1, 2, 3, 10):
                name = drive.sample_data[scene[i]]['filename']
                got = joined(folder, root / name, '--sweeps', sweeps, '--nuscenes', root)
                same_points(f'scan {i}, {sweeps} sweeps', got, drive.lidar_with_sweeps(scene[i], sweeps))
    passed('sweeps of a drive')

    scans = [root / drive.sample_data[t]['filename'] for scene in tokens for t in scene[::5]]
    truth = [drive.lidar_with_sweeps(t, 10) for scene in tokens for t in scene[::5]]
    run('voxelize', *scans, '--batch', '--sweeps', 10, '--nuscenes', root / 'v1.0-mini', *POINTS, '-f', '-o', folder / 'b.npz')
    batch = np.load(folder / 'b.npz')['points']
    equal('a batch: numbers', batch[:, 0], np.concatenate([np.full(len(p), i, np.float32) for i, p in enumerate(truth)]))
    same_points('a batch', batch[:, 1:], np.concatenate(truth))
    run('sample', *scans, '--set', 'sweeps=10', '--set', f'nuscenes={root}', '--ratio', 1, '--method', 'random', '--indices',
        f'{folder}/out/', '-o', f'{folder}/out/', '--output-format', 'ply', '--threads', 3)
    for path, points in zip(scans, truth):
        stem = path.name.removesuffix('.pcd.bin')
        found = list((folder / 'out').glob(f'{stem}*.ply'))
        picks = np.fromfile(next((folder / 'out').glob(f'{stem}*.indices.bin')), '<i4')
        check(len(found) == 1, 'one output per scan', [p.name for p in (folder / 'out').iterdir()])
        cloud = read_ply(found[0])
        check(cloud.dtype.names == ('x', 'y', 'z', 'intensity', 'time'), 'the columns', cloud.dtype.names)
        same_points('sample picks of the joined cloud', np.stack([cloud[n] for n in cloud.dtype.names], axis=1), points[picks])
    passed('a batch and a folder')
    return root, drive, tokens


def test_config(folder, root, drive, tokens):
    """MAX_SWEEPS of a configuration, where the tables are given."""
    low, high, size = (-51.2, -51.2, -5), (51.2, 51.2, 3), (.2, .2, 8)
    config = folder / 'nuscenes.yaml'
    config.write_text(f'''
DATASET: NuScenesDataset
MAX_SWEEPS: 10
POINT_CLOUD_RANGE: {[*low, *high]}
POINT_FEATURE_ENCODING: {{used_feature_list: [x, y, z, intensity, timestamp], src_feature_list: [x, y, z, intensity, timestamp]}}
DATA_PROCESSOR:
  - {{NAME: transform_points_to_voxels, VOXEL_SIZE: {list(size)}, MAX_POINTS_PER_VOXEL: 20,
      MAX_NUMBER_OF_VOXELS: {{train: 30000, test: 30000}}}}
MODEL: {{VFE: {{NAME: PillarVFE}}}}
''')
    token = tokens[0][10]
    scan = root / drive.sample_data[token]['filename']
    run('voxelize', '--config', config, '--nuscenes', root, scan, '-f', '-o', folder / 'v.npz')
    got = np.load(folder / 'v.npz')
    for name, array in detectors.openpcdet_voxels([drive.lidar_with_sweeps(token, 10)], low, high, size, 20, 30000).items():
        equal(f'MAX_SWEEPS: {name}', got[name], array)
    result = run('voxelize', '--config', config, scan, '-f', '-o', folder / 'v.npz')
    check(b'takes 10 sweeps' in result.stderr, 'without the tables a warning', result.stderr)
    passed('a configuration of nuScenes')


def test_list(folder, root, drive, tokens):
    """The same drive as a list of files and times and a trajectory of the sensor."""
    scene = tokens[1]
    records = [drive.sample_data[t] for t in scene]
    listing, poses = folder / 'scans.txt', folder / 'poses.txt'
    start = records[0]['timestamp']
    listing.write_text('# a drive\n' + ''.join(f"{root / r['filename']} {(r['timestamp'] - start) * 1e-6!r}\n" for r in records))
    world = [nuscenes.transform_matrix(p['translation'], p['rotation']).dot(
        nuscenes.transform_matrix(s['translation'], s['rotation'])) for p, s in map(drive.matrices, records)]
    poses.write_text(''.join(' '.join(repr(float(v)) for v in T[:3].ravel()) + '\n' for T in world))
    for i in (0, 3, 11):
        for sweeps in (1, 4, 8):
            got = joined(folder, root / records[i]['filename'], '--sweeps', sweeps, '--set', f'scans={listing}', '--set', f'poses={poses}')
            expected = drive.lidar_with_sweeps(scene[i], sweeps)
            check(got.shape == expected.shape, 'as many points', (got.shape, expected.shape))
            check(np.abs(got - expected).max() < 1e-5, f'list, scan {i}, {sweeps} sweeps', np.abs(got - expected).max())
    # A scan whose pose is not known is left out.
    lines = poses.read_text().splitlines()
    lines[9] = ' '.join(['nan'] * 12)
    poses.write_text('\n'.join(lines) + '\n')
    got = joined(folder, root / records[11]['filename'], '--sweeps', 3, '--set', f'scans={listing}', '--set', f'poses={poses}')
    infos = drive.sweep_infos(records[11], 5)
    expected = np.concatenate([drive.read(records[11]['filename'])] + [drive.get_sweep(infos[k])[0] for k in (0, 2)])
    check(np.abs(got[:, :4] - expected).max() < 1e-5, 'a pose that is not known', len(got))
    # Other columns: three and a time; the four of KITTI and a time.
    for columns in (3, 4):
        for i, r in enumerate(records):
            drive.read(r['filename'])[:, :columns].tofile(folder / f'{i}.bin')
        listing.write_text(''.join(f"{folder / f'{i}.bin'} {i * 0.1!r}\n" for i in range(len(records))))
        got = joined(folder, folder / '2.bin', '--fields', columns, '--sweeps', 3, '--set', f'scans={listing}', '--set', f'poses={poses}')
        expected = drive.lidar_with_sweeps(scene[2], 3)
        check(got.shape == (len(expected), columns + 1), f'{columns} columns', got.shape)
        check(np.abs(got[:, :columns] - expected[:, :columns]).max() < 1e-5, f'{columns} columns: values')
        equal(f'{columns} columns: times', np.unique(got[:, -1]), np.float32([0, 0.1, 0.2]))
    passed('a list with a trajectory')


with scratch() as here:
    test_config(here, *(made := test_nuscenes(here)))
    test_list(here, *made)
finish()
