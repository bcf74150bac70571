"""Depth images against NumPy: the pixels, the points of a camera, and what the commands make of them."""
import json

import numpy as np

from common import (SOURCE, check, data, equal, finish, part_skipped, passed, read_bin, read_json, read_png, run,
                    scratch, write_pgm, write_png)

# As published: width, height, fx, fy, cx, cy, depth units a metre, the smallest and the largest depth in metres.
CAMERAS = {'livingroom': (640, 480, 525, 525, 319.5, 239.5, 1000, 0, np.inf),
           'kinect': (640, 480, 525, 525, 319.5, 239.5, 1000, .4, 8),
           '7scenes': (640, 480, 585, 585, 320, 240, 1000, .4, 8),
           'tum': (640, 480, 525, 525, 319.5, 239.5, 5000, .4, 8)}


def points(depth, camera):
    """The definition: float64, each coordinate rounded once."""
    _, _, fx, fy, cx, cy, scale, low, high = camera
    z = depth / np.float64(scale)
    x = ((np.arange(depth.shape[1]) - cx) / fx)[None, :] * z
    y = ((np.arange(depth.shape[0]) - cy) / fy)[:, None] * z
    keep = (depth > 0) & (depth < 65535) & (z >= low) & (z <= high)
    return np.stack([x[keep], y[keep], z[keep]], 1).astype(np.float32), keep


def config(name):
    return SOURCE / 'configs' / f'{name}.yaml'


def test_configurations():
    """What configs/ say is what was published, and what the data's own camera files say."""
    names = ('width', 'height', 'fx', 'fy', 'cx', 'cy', 'depth_scale', 'min_depth', 'max_depth')
    told = {}
    for name, camera in CAMERAS.items():
        text = run('info', '--config', config(name), '--dry-run').stdout.decode()
        told[name] = json.loads(next(line for line in text.split('\n') if 'camera:' in line).split(':', 1)[1])
        wanted = {k: v for k, v in zip(names, (*camera[:8], 0 if np.isinf(camera[8]) else camera[8]))}
        check(told[name] == wanted, f'configs/{name}.yaml', told[name])
    if data('depth_livingroom/camera_primesense.json'):
        file, camera = json.loads(data('depth_livingroom/camera_primesense.json').read_text()), told['livingroom']
        matrix = [camera['fx'], 0, 0, 0, camera['fy'], 0, camera['cx'], camera['cy'], 1]  # column by column
        check(file == {'width': camera['width'], 'height': camera['height'], 'intrinsic_matrix': matrix}, 'living room')
    if data('depth_7scenes/camera-intrinsics.txt'):
        file, camera = np.loadtxt(data('depth_7scenes/camera-intrinsics.txt')), told['7scenes']
        matrix = [[camera['fx'], 0, camera['cx']], [0, camera['fy'], camera['cy']], [0, 0, 1]]
        check(file.tolist() == matrix, '7-Scenes', file)
    passed('the cameras of configs/ are those published')


def compare(path, depth, name, folder):
    """All points, as the points of one voxel, and a sample of them."""
    wanted, keep = points(depth, CAMERAS[name])
    run('voxelize', '--config', config(name), '--voxel-size', 200000, '--range=-1e5,-1e5,-1e5,1e5,1e5,1e5', '--features',
        'points', path, '-f', '-o', folder / 'all.npy', '--json', folder / 'all.json')
    equal(f'{path.name} through {name}', np.sort(np.load(folder / 'all.npy').reshape(-1, 3), 0), np.sort(wanted, 0))
    run('sample', '--config', config(name), '-m', 50, path, '-f', '-o', folder / 's.bin', '--indices', folder / 's.npy')
    indices = np.load(folder / 's.npy')
    equal(f'{path.name}: sampled records', read_bin(folder / 's.bin', 3), wanted[indices])
    report = read_json(folder / 'all.json')
    check(report['points_in'] == len(wanted), 'points in', report['points_in'])
    none = (depth == 0) | (depth == 65535)
    counts = {'pixels': depth.size, 'no_return': int(none.sum()), 'out_of_range': int((~keep & ~none).sum())}
    check(report['depth'] == counts, 'counts', report['depth'])
    return wanted


def test_generated(folder):
    random = np.random.default_rng(5)
    v, u = np.mgrid[0:480, 0:640]
    smooth = (1500 + 2 * u + 3 * v + 40 * np.sin(u / 17.)).astype(np.uint16)
    smooth[random.random(smooth.shape) < .2] = 0
    smooth[100:120, 50:90] = 65535
    smooth[200:300, 30:60] = random.integers(0, 65536, (100, 30))
    write_pgm(folder / 'a.pgm', smooth)
    for filters in ((0, 1, 2, 3, 4), (4, 3, 2, 1, 0)):
        write_png(folder / 'a.png', smooth, filters)
        equal(f'the decoder of this test, filters {filters}', read_png(folder / 'a.png'), smooth)
        run('voxelize', '--config', config('tum'), '--voxel-size', .01, folder / 'a.png', '-f', '-o', folder / 'png.bin')
        run('voxelize', '--config', config('tum'), '--voxel-size', .01, folder / 'a.pgm', '-f', '-o', folder / 'pgm.bin')
        check((folder / 'png.bin').read_bytes() == (folder / 'pgm.bin').read_bytes(), f'.png with filters {filters}')
    for name in CAMERAS:
        check(len(compare(folder / 'a.pgm', smooth, name, folder)) > 1000, 'there are points')
    passed('generated images: .png with every filter, .pgm, every camera of configs/')


def test_limits(folder):
    """Depths on and beside the limits; a camera that is not square; odd numbers."""
    random = np.random.default_rng(6)
    for case in range(20):
        written = float(random.choice([1, 999.7, 1000, 5000, 1 / 3]))
        scale = written if written >= 1 else 3.  # metres per unit
        low, high = np.sort(random.integers(1, 65536, 2))
        width, height = random.integers(1, 40, 2)
        depth = random.choice([0, low - 1, low, low + 1, high - 1, high, min(high + 1, 65535), 65535], (height, width))
        camera = (width, height, *random.uniform(.1, 2000, 2), *random.uniform(-50, 90, 2), written, low / scale,
                  high / scale)
        names = ('width', 'height', 'fx', 'fy', 'cx', 'cy', 'depth_scale', 'min_depth', 'max_depth')
        text = ', '.join(f'{name}: {value!r}' for name, value in zip(names, map(float, camera)))
        (folder / 'c.yaml').write_text(f'camera: {{{text}}}\n')
        write_pgm(folder / 'b.pgm', depth)
        wanted, _ = points(depth, camera)
        if low == high or not len(wanted):
            continue
        run('sample', '--config', folder / 'c.yaml', '-m', len(wanted), folder / 'b.pgm', '-f', '-o', folder / 'b.bin',
            '--indices', folder / 'b.npy')
        order = np.argsort(np.load(folder / 'b.npy'))
        equal(f'limits {case}', read_bin(folder / 'b.bin', 3)[order], wanted)
    passed('depths on the limits, in the order of the pixels')


def test_real(folder):
    for name, file in (('livingroom', 'depth_livingroom/00000.png'), ('livingroom', 'depth_livingroom/00004.png'),
                       ('7scenes', 'depth_7scenes/frame-000000.depth.png')):
        if data(file):
            compare(data(file), read_png(data(file)), name, folder)
            passed(file)
        else:
            part_skipped(file, 'no real data')


with scratch() as scratch_folder:
    test_configurations()
    test_generated(scratch_folder)
    test_limits(scratch_folder)
    test_real(scratch_folder)
finish()
