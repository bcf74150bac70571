"""Registration of anything: objects of centimetres in metres and in millimetres, depth frames as clouds, terrain in UTM, scans of
200 m and downsampled ones; objects in any rotation by --init auto. All generated, with the truth."""
import json

import numpy as np

from common import *

SUBJECTS = np.random.default_rng(7)
DIRECTIONS = SUBJECTS.normal(size=(14, 3))
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1)[:, None]
HEIGHTS, WIDTHS = SUBJECTS.uniform(.15, .55, 14), SUBJECTS.uniform(3, 14, 14)


def figurine(count, size, seed, noise=0.0):
    """Points on a closed surface with lumps and no symmetry; `size` is its largest extent."""
    random = np.random.default_rng(seed)
    u = random.normal(size=(6 * count, 3))
    u /= np.linalg.norm(u, axis=1)[:, None]
    radius = 1 + 1.2 * (HEIGHTS * np.exp(WIDTHS * (u @ DIRECTIONS.T - 1))).sum(1)
    points = (u * radius[:, None])[random.uniform(size=len(u)) < (radius / radius.max()) ** 2][:count] * [1, .8, 1.15]
    check(len(points) == count, 'enough points')
    return points * size / 2.3 + random.normal(size=points.shape) * noise


def any_rotation(random):
    q = random.normal(size=4)
    x, y, z, w = q / np.linalg.norm(q)
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                     [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                     [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def about(axis, degrees, translation):
    """A rotation about an axis (0, 1, 2), then a translation."""
    T, (i, j) = np.eye(4), [k for k in range(3) if k != axis]
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    T[i, i], T[i, j], T[j, i], T[j, j] = c, -s, s, c
    T[:3, 3] = translation
    return T


def moved(points, T):
    return points @ T[:3, :3].T + T[:3, 3]


def write_bin(path, points):
    np.c_[points, np.zeros(len(points))].astype('<f4').tofile(path)


def write_ply64(path, points):
    with open(path, 'wb') as f:
        f.write(f'ply\nformat binary_little_endian 1.0\nelement vertex {len(points)}\nproperty double x\nproperty double y\n'
                'property double z\nend_header\n'.encode())
        f.write(points.astype('<f8').tobytes())


def depth_frame(T, seed):
    """640 x 480 points of a room with furniture, seen by a camera at T, with gaps of NaN and steps of depth as of a Kinect."""
    v, u = np.mgrid[0:480, 0:640]
    rays = np.stack([(u - 319.5) / 525, (v - 239.5) / 525, np.ones(u.shape)], -1) @ T[:3, :3].T
    origin, depth = T[:3, 3], np.full(u.shape, np.inf)
    with np.errstate(all='ignore'):
        for normal, distance in (((0, 0, 1), 4), ((1, 0, 0), 2.2), ((-1, 0, 0), 2.5), ((0, 1, 0), 1.3), ((0, -1, 0), 1.4)):
            t = (distance - origin @ normal) / (rays @ np.array(normal, float))
            depth = np.where((t > .1) & (t < depth), t, depth)
        for low, high in (((-1, .4, 2.2), (-.2, 1.3, 2.9)), ((.5, .1, 2.8), (1.2, 1.3, 3.3)), ((-.1, -1.4, 3.2), (.4, -.6, 4))):
            a, b = (np.array(low) - origin) / rays, (np.array(high) - origin) / rays
            near, far = np.minimum(a, b).max(-1), np.maximum(a, b).min(-1)
            depth = np.where((near < far) & (near > .1) & (near < depth), near, depth)
    random = np.random.default_rng(seed)
    step = 0.0028 * depth ** 2  # of the disparity, with noise of half a step
    depth = np.round(depth / step + random.normal(size=depth.shape) * .5) * step
    points = ((rays * depth[..., None]) @ T[:3, :3]).reshape(-1, 3)
    points[random.uniform(size=len(points)) < .08] = np.nan
    return points


def write_pcd(path, points):
    with open(path, 'wb') as f:
        f.write(b'# .PCD v0.7\nVERSION 0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 640\nHEIGHT 480\n'
                b'VIEWPOINT 0 0 0 1 0 0 0\nPOINTS 307200\nDATA binary\n')
        f.write(points.astype('<f4').tobytes())


def terrain(count, seed):
    random, ground = np.random.default_rng(seed), np.random.default_rng(3)
    xy = random.uniform(0, 400, (count, 2))
    z = np.zeros(count)
    for _ in range(12):
        wave = ground.normal(size=2) * 2 * np.pi / ground.uniform(25, 200)
        z += ground.uniform(.5, 5) * np.sin(xy @ wave + ground.uniform(0, 6))
    for _ in range(25):
        middle, half = ground.uniform(20, 380, 2), ground.uniform(6, 14, 2)
        z = np.where((abs(xy - middle) < half).all(1), z + ground.uniform(4, 9), z)
    return np.c_[xy, z] + random.normal(size=(count, 3)) * .03 + [512345.25, 5403210.5, 300]


def error(result, truth):
    """Degrees, and metres at the centre of the target."""
    E = np.array(result['T_target_source']).reshape(4, 4) @ np.linalg.inv(truth)
    degrees = np.degrees(np.arccos(np.clip((np.trace(E[:3, :3]) - 1) / 2, -1, 1)))
    centre = np.array(result['center'])
    return degrees, np.linalg.norm(E[:3, :3] @ centre + E[:3, 3] - centre)


def register(what, source, target, truth, degrees, metres, *options):
    done = run('register', source, target, '--json', 'result.json', '-f', *options, code=None, cwd=FOLDER)
    result = json.loads((FOLDER / 'result.json').read_text())['result']
    check(done.returncode == 0 and result['converged'], what, f'exit {done.returncode}: {result["reason"]}')
    wrong = error(result, truth)
    check(wrong[0] <= degrees and wrong[1] <= metres, what, f'{wrong[0]:.4g} degrees, {wrong[1]:.4g} m')
    return result, done.stderr if isinstance(done.stderr, str) else done.stderr.decode()


def test_identity():
    write_bin(FOLDER / 'figurine.bin', figurine(20000, .15, 1))
    write_bin(FOLDER / 'sparse.bin', figurine(1500, .15, 1))
    write_bin(FOLDER / 'tiny.bin', figurine(20000, .02, 1))
    write_pcd(FOLDER / 'frame.pcd', depth_frame(np.eye(4), 1))
    write_ply64(FOLDER / 'terrain.ply', terrain(60000, 1))
    names = ['figurine.bin', 'sparse.bin', 'tiny.bin', 'frame.pcd', 'terrain.ply', testdata('street.bin')]
    for real in ('clouds/pcl_office1.pcd', 'clouds/bun_zipper_res3.ply', 'clouds/pcldata_CSite1_red1-utm.pcd', 'kitti/000000.bin'):
        names += [data(real)] if data(real) else []
    for name in names:
        _, said = register(f'{name} and itself', name, name, np.eye(4), 1e-3, 1e-6)
        check('millimetres' not in said, 'no warning about millimetres', said)
    passed('a cloud and itself is the identity')


def test_motions():
    T = about(2, 8, [.01, -.005, .004])
    write_bin(FOLDER / 'turned.bin', moved(figurine(20000, .15, 5, 1e-4), T))
    register('an object of 15 cm', 'figurine.bin', 'turned.bin', T, .1, 2e-4)
    T = about(1, 2, [.05, .01, .04])
    write_pcd(FOLDER / 'next.pcd', depth_frame(T, 2))
    register('depth frames as clouds', 'next.pcd', 'frame.pcd', T, .5, .02)
    T = about(2, 0, [1.5, -.8, .3])
    write_ply64(FOLDER / 'later.ply', terrain(60000, 2) + T[:3, 3])
    register('terrain in UTM', 'terrain.ply', 'later.ply', T, .01, .05)
    T = np.loadtxt(testdata('street_T.txt'))
    street, later = testdata('street.bin'), testdata('street_moved.bin')
    register('a scan of 200 m', later, street, T, .05, .02)
    run('voxelize', '--voxel-size', .5, street, '-o', 'coarse.ply', cwd=FOLDER)
    run('voxelize', '--voxel-size', .5, later, '-o', 'coarse_later.ply', cwd=FOLDER)
    register('a scan onto a downsampled one', later, 'coarse.ply', T, .1, .05)
    register('a downsampled scan onto the other', 'coarse_later.ply', street, T, .1, .05)
    register('two downsampled scans', 'coarse_later.ply', 'coarse.ply', T, .1, .05)
    passed('motions of objects, depth frames, terrain and scans')


def test_units():
    write_bin(FOLDER / 'mm.bin', figurine(20000, 20, 1))
    write_bin(FOLDER / 'mm_later.bin', figurine(20000, 20, 2))
    _, said = register('2 cm in millimetres', 'mm.bin', 'mm_later.bin', np.eye(4), .1, .05)
    check('if its coordinates are millimetres' in said, 'the warning about millimetres', said)
    done = run('register', 'mm.bin', 'tiny.bin', code=None, cwd=FOLDER)
    said = done.stderr if isinstance(done.stderr, str) else done.stderr.decode()
    check('is 1e+03 times as large as tiny.bin; if it is in millimetres' in said, 'the warning about two units', said)
    passed('units')


def test_objects():
    random = np.random.default_rng(11)
    for i in range(15):
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = any_rotation(random), random.normal(size=3) * .5
        write_bin(FOLDER / 'a.bin', figurine(12000, .15, 100 + i, 2e-4))
        write_bin(FOLDER / 'b.bin', moved(figurine(8000, .15, 900 + i, 2e-4), T))
        result, _ = register(f'rotation {i}', 'a.bin', 'b.bin', T, .5, 1e-3, '--init', 'auto')
    first = (FOLDER / 'result.json').read_text().split('"result"')[1]
    register('three threads', 'a.bin', 'b.bin', T, .5, 1e-3, '--init', 'auto', '--threads', 3)
    check((FOLDER / 'result.json').read_text().split('"result"')[1] == first, 'the threads do not matter')
    check(result['covariance_order'] == ['rx', 'ry', 'rz', 'tx', 'ty', 'tz'], 'the order of the covariance')
    turned = np.degrees(np.arccos(np.clip((np.trace(T[:3, :3]) - 1) / 2, -1, 1)))
    check(abs(result['turned'] - turned) < .5, 'the angle of the printed line', (result['turned'], turned))
    passed('objects in 15 rotations')


with tempfile.TemporaryDirectory() as folder:
    FOLDER = pathlib.Path(folder)
    test_identity()
    test_motions()
    test_units()
    test_objects()
finish()
