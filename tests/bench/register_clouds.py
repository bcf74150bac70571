"""Clouds of real data, generated ones, and pairs of them, for register.py."""
import os
import pathlib
import subprocess

import numpy as np

DATA = pathlib.Path(os.environ.get('PCGPU_DATA', '/nonexistent'))
KITTI = [f'kitti/{k:06d}.bin' for k in (0, 1)] + [f'kitti00/velodyne/{k:06d}.bin' for k in (0, 3, 14, 94)]


# ---- transforms and clouds ----------------------------------------------------------------------------------------

def rigid(metres, degrees, rng):
    """A motion of a vehicle by this much: mostly level, turning mostly about z."""
    shift, axis = rng.normal(size=3) * [1, 1, 0.1], rng.normal(size=3) * [0.3, 0.3, 1]
    x, y, z = axis / np.linalg.norm(axis)
    angle = np.radians(degrees)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    T = np.eye(4)
    T[:3, :3] += np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    T[:3, 3] = metres * shift / np.linalg.norm(shift)
    return T


def error(got, truth):
    """Millimetres and degrees between two rigid transforms."""
    d = np.linalg.inv(truth) @ got
    sine = np.linalg.norm([d[2, 1] - d[1, 2], d[0, 2] - d[2, 0], d[1, 0] - d[0, 1]]) / 2
    return 1e3 * np.linalg.norm(d[:3, 3]), np.degrees(np.arctan2(sine, (np.trace(d[:3, :3]) - 1) / 2))


def read_ply(path):
    content = path.read_bytes()
    end = content.index(b'end_header\n') + len(b'end_header\n')
    header = content[:end].decode().splitlines()
    count = int(next(line for line in header if line.startswith('element vertex')).split()[2])
    kinds = {'float': 'f4', 'double': 'f8', 'uchar': 'u1', 'int': 'i4', 'uint': 'u4', 'ushort': 'u2', 'short': 'i2',
             'char': 'i1', 'float32': 'f4', 'float64': 'f8', 'uint8': 'u1'}
    columns = [(line.split()[2], '<' + kinds[line.split()[1]]) for line in header if line.startswith('property')]
    points = np.frombuffer(content[end:], np.dtype(columns), count)
    return np.column_stack([points[k] for k in 'xyz']).astype(np.float32)


def read_scan(name):
    """The usable points of a scan, by rows."""
    path = DATA / name
    if not path.exists():
        return None
    if name.endswith('.ply'):
        points = read_ply(path)
    else:
        points = np.fromfile(path, np.float32).reshape(-1, 5 if 'nuscenes' in name else 4)[:, :3]
    return points[np.isfinite(points).all(1) & (points != 0).any(1)]


def ring_numbers(points):
    """KITTI scans come ring by ring: a ring begins where the azimuth passes zero."""
    y, ahead = points[:, 1], points[:, 0] > 0
    return np.cumsum(ahead & (np.concatenate([[1], y[:-1]]) < 0) & (y >= 0))


class Pairs:
    """Source and target files with the true T_target_source."""

    def __init__(self, folder):
        self.folder, self.entries, self.count = folder, [], 0

    def write(self, points):
        path = self.folder / f'{self.count}.bin'
        self.count += 1
        np.column_stack([points, np.zeros(len(points))]).astype('<f4').tofile(path)
        return path

    def add(self, target, source, truth):
        """`source` is given in the target's frame and moved away from it."""
        moved = (source.astype(np.float64) - truth[:3, 3]) @ truth[:3, :3]
        self.entries.append((self.write(moved), self.write(target), truth))


def half_pairs(folder, names, splits, seed):
    pairs = Pairs(folder)
    for number, name in enumerate(names):
        points = read_scan(name)
        for split in range(splits if points is not None else 0):
            rng = np.random.default_rng([seed, number, split])
            half = rng.random(len(points)) < 0.5
            pairs.add(points[half], points[~half], rigid(0.8, 2, rng))
    return pairs.entries


def ring_pairs(folder, names, seed):
    pairs = Pairs(folder)
    for number, name in enumerate(names):
        points = read_scan(name)
        for odd in (0, 1) if points is not None else ():
            rng = np.random.default_rng([seed, 100 + number, odd])
            side = ring_numbers(points) % 2 == odd
            pairs.add(points[side], points[~side], rigid(0.8, 2, rng))
    return pairs.entries


def matrix(numbers):
    return np.vstack([np.array([*map(float, numbers)]).reshape(-1, 4)[:3], [0, 0, 0, 1]])


def driven_pairs(folder, drive):
    """Two scans of a generated drive each, 0.5 to 1.1 m apart along a path of KITTI: 64 beams, 2 cm noise, exact poses. The laser
    rings move with the sensor, as they do not in halves of one scan."""
    entries = []
    for path in sorted((DATA / 'kitti_poses').glob('*.txt')):
        for first in range(50, 450, 100):
            scans = folder / f'{path.stem}_{first}'
            scans.mkdir()
            subprocess.run([drive, '--path', path, '--first', str(first), '--frames', '2', '--steps', '2000', scans],
                           check=True, stdout=subprocess.DEVNULL)
            poses = [matrix(line.split()) for line in (scans / 'poses.txt').read_text().splitlines()]
            entries.append((scans / '000001.bin', scans / '000000.bin', np.linalg.inv(poses[0]) @ poses[1]))
    return entries


def real_pairs(folder):
    """Two scans each: (label, source, target, true T_target_source or None). Truth is good to 1 or 2 cm; the poses of
    frames 0 to 13 of KITTI 00 are wrong, and not used."""
    kitti, pairs, found = DATA / 'kitti00', Pairs(folder), []
    if kitti.exists():
        poses = [matrix(line.split()) for line in (kitti / 'poses.txt').read_text().splitlines()]
        lines = (kitti / 'calib.txt').read_text().splitlines()
        camera = matrix(next(line for line in lines if line.startswith('Tr')).split()[1:])
        for i, j in ((0, 1), (1, 2), (2, 3), (14, 15), (94, 95)):
            truth = np.linalg.inv(camera) @ np.linalg.inv(poses[i]) @ poses[j] @ camera
            found.append((f'KITTI 00, {j} onto {i}', *(kitti / f'velodyne/{k:06d}.bin' for k in (j, i)),
                          truth if i > 13 else None))
    source, target = (read_scan(f'pair/{name}.ply') for name in ('source', 'target'))
    if source is not None:
        truth = matrix((DATA / 'pair/T_target_source.txt').read_text().split())
        found.append(('pair/', pairs.write(source), pairs.write(target), truth))
    return found
