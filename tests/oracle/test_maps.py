"""test_maps.py DRIVE: the map of odometry -o against NumPy, from the scans and the poses that the program wrote: voxels, means, times
seen, intensity, normals (also against Open3D's, where that is installed), and what is left out because it moved, against
labels and against rays that are followed from voxel to voxel. The scans are of a town with moving cars, rendered by DRIVE
(tests/scene/drive.c)."""
import subprocess
import sys

import numpy as np

import common
import oracle
from common import check, equal, part_skipped, passed

FRAMES, STEPS, VOXEL = 40, 450, 0.2
NEAREST = 6.0  # metres; nearer returns, from the car, or ground that odometry takes for it, are left out of the scans
SIDE, STEPS_OF_VOXEL = 256, 1024  # voxels of a tile, and what coordinates in a voxel are rounded to; pcgpu_map.h
THICKNESS, FEWEST = 0.1, 6  # of a plane: the ratio of its lower eigenvalues, and points
MOVING = 252


def make_drive(drive, folder):
    """70 m with a bend, as KITTI's camera: x right, y down, z forward."""
    angle = np.maximum(np.arange(110) - 35, 0) / 60
    x, z = np.cumsum(np.sin(angle)), np.cumsum(np.cos(angle))
    rows = [f'{i / 10} {np.cos(a)} 0 {np.sin(a)} {x[i]} 0 1 0 0 {-np.sin(a)} 0 {np.cos(a)} {z[i]}' for i, a in enumerate(angle)]
    (folder / 'path.txt').write_text('\n'.join(rows) + '\n')
    subprocess.run([drive, '--path', folder / 'path.txt', '--first', '10', '--frames', str(FRAMES), '--steps', str(STEPS),
                    '--moving-cars', '1', '--labels', '1', folder], check=True)
    for path in sorted(folder.glob('*.bin')):
        rows, labels = common.read_bin(path), np.fromfile(path.with_suffix('.label'), '<u4')
        far = np.linalg.norm(rows[:, :3], axis=1) > NEAREST
        common.write_bin(path, rows[far])
        labels[far].tofile(path.with_suffix('.label'))


class Points:
    """All points of the scans: scan, label, intensity, in voxels of the world (`at`), and the sensors and rays."""

    def __init__(self, folder, poses):
        scans = [common.read_bin(folder / f'{i:06d}.bin') for i in range(len(poses))]
        self.scan = np.repeat(np.arange(len(poses)), [len(s) for s in scans])
        self.label = np.concatenate([np.fromfile(folder / f'{i:06d}.label', '<u4') for i in range(len(poses))]).astype('<u2')
        self.moving = self.label == MOVING
        self.at = np.concatenate([self.in_world(scan, T, VOXEL) for scan, T in zip(scans, poses)])
        self.intensity = np.concatenate([scan[:, 3] for scan in scans]).astype(float)
        self.sensors = poses[:, :, 3] / VOXEL

    @staticmethod
    def in_world(scan, T, voxel):
        """In the order of the sum that the program has, since a voxel hangs on the last bit."""
        x, y, z = scan[:, :3].astype(float).T
        return np.stack([(((row[0] * x + row[1] * y) + row[2] * z) + row[3]) / voxel for row in T], axis=1)


def keys_of(cells):
    """The order of rows: tiles by z, y, x, and in a tile voxels by z, y, x."""
    tile, voxel = cells // SIDE + 128, cells % SIDE
    key = np.zeros(len(cells), np.int64)
    for part, bits in ((tile, 8), (voxel, 8)):
        for k in (2, 1, 0):
            key = key << bits | part[:, k]
    return key


class Voxels:
    """The voxels of all points, in the order of the map."""

    def __init__(self, points):
        self.keys, first, self.of = np.unique(keys_of(np.floor(points.at).astype(np.int64)), return_index=True, return_inverse=True)
        self.cells = np.floor(points.at[first]).astype(np.int64)
        self.count = np.bincount(self.of)
        self.mean = np.stack([self.average(points.at[:, k]) for k in range(3)], axis=1)
        self.intensity = self.average(points.intensity)
        pairs = np.unique(self.of * FRAMES + points.scan)
        self.seen = np.bincount(pairs // FRAMES)
        self.first = points.scan[first]  # the first index is in the first scan
        self.moving = self.average(points.moving.astype(float))  # the fraction of its points
        self.normals, self.ratio, self.width, self.support = self.planes(points)

    def average(self, values):
        return np.bincount(self.of, values) / self.count

    def planes(self, points):
        """Of the points in the 27 voxels around each that are in its tile: the normal, the ratio of the lower eigenvalues, the
        extent along the plane in voxels, and their number."""
        local = points.at - (self.cells // SIDE * SIDE)[self.of]  # of the tile
        parts = [np.ones(len(local)), *local.T] + [local[:, i] * local[:, k] for i in range(3) for k in range(i, 3)]
        own = np.stack([np.bincount(self.of, part) for part in parts], axis=1)
        sums = np.zeros_like(own)
        for d in np.ndindex(3, 3, 3):
            there = self.cells + np.array(d) - 1
            at = np.minimum(np.searchsorted(self.keys, keys_of(there)), len(self.keys) - 1)
            hit = (self.cells[at] == there).all(axis=1) & (there // SIDE == self.cells // SIDE).all(axis=1)
            sums[hit] += own[at[hit]]
        n, m = sums[:, 0], sums[:, 1:4] / sums[:, :1]
        C = np.zeros((len(n), 3, 3))
        for t, (i, k) in enumerate([(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]):
            C[:, i, k] = C[:, k, i] = sums[:, 4 + t] / n - m[:, i] * m[:, k]
        values, vectors = np.linalg.eigh(C)
        return vectors[:, :, 0], values[:, 0] / np.maximum(values[:, 1], 1e-12), np.sqrt(np.maximum(values[:, 1], 0)), n


def check_voxels(rows, points, voxels):
    """A row for each voxel, whoever moved there: keep-moving."""
    equal('the number of voxels', len(rows), len(voxels.keys))
    at = np.stack([rows[name] for name in 'xyz'], axis=1).astype(float)
    off = np.abs(at - VOXEL * voxels.mean).max()
    check(off < VOXEL / STEPS_OF_VOXEL + 1e-5, 'means', f'{off} m off')
    equal('times seen', rows['seen'], voxels.seen.astype(np.uint32))
    check(rows.dtype['label'] == '<u2', 'the type of labels', rows.dtype)
    equal('labels', rows['label'], oracle.majority(points.label, voxels.of, len(voxels.keys)))
    several = (np.bincount(np.unique(voxels.of * 65536 + points.label) // 65536) > 1).sum()
    check(several > 100, 'voxels with several labels', several)
    off_intensity = np.abs(rows['intensity'] - voxels.intensity).max()
    check(off_intensity < 2**-16 + 1e-6, 'intensity', f'{off_intensity} off')
    passed(f'{len(rows)} voxels of {len(points.scan)} points in their order; means at most {1e6 * off:.0f} um off, intensity {off_intensity:.1e};'
           f' seen up to {voxels.seen.max()} times; {several} have several labels')
    return at


def check_normals(rows, at, points, voxels):
    normals = np.stack([rows[name] for name in ('nx', 'ny', 'nz')], axis=1).astype(float)
    length = np.linalg.norm(normals, axis=1)
    has, few = length > 0, voxels.support < FEWEST
    check((np.abs(length[has] - 1) < 1e-5).all(), 'normals are unit vectors')
    check(not has[few].any(), 'no normal of few points')
    clear = ~few & (np.abs(voxels.ratio - THICKNESS) > 0.005) & (voxels.width > 0.02)
    equal('which voxels have a normal', has[clear], voxels.ratio[clear] < THICKNESS)
    both = clear & has
    cosine = np.abs(np.sum(normals * voxels.normals, axis=1))[both]
    degrees = np.degrees(np.arccos(np.minimum(cosine, 1)))
    check(degrees.max() < 1, 'normals of PCA', f'up to {degrees.max()} degrees off')
    facing = np.sum(normals * (VOXEL * points.sensors[voxels.first] - at), axis=1)
    check((facing[has] > -1e-4).all(), 'normals are on the side of the first sensor', facing[has].min())
    passed(f'{both.sum()} normals, at most {degrees.max():.3f} degree from PCA; {few.sum()} voxels with few points, {(clear & ~has).sum()}'
           ' without a plane')
    return normals, both


def check_open3d(open3d, at, normals, both, points):
    """Open3D's normals of all points, in spheres as large as three voxels cubed, where the surface is plane for it as well."""
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(VOXEL * points.at))
    tree = open3d.geometry.KDTreeFlann(cloud)
    off = []
    for i in np.flatnonzero(both)[::97]:
        n, near, _ = tree.search_radius_vector_3d(at[i], 1.5 * VOXEL)
        if n >= 20:
            part = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(VOXEL * points.at[np.asarray(near)]))
            values, vectors = np.linalg.eigh(part.compute_mean_and_covariance()[1])
            if values[0] < 0.02 * values[1]:
                off.append(np.degrees(np.arccos(min(1, abs(vectors[:, 0] @ normals[i])))))
    check(len(off) > 100 and np.median(off) < 3 and np.percentile(off, 95) < 15, "Open3D's normals", np.percentile(off, [50, 95]))
    passed(f"{len(off)} normals, the median {np.median(off):.2f} and 95 % within {np.percentile(off, 95):.2f} degree of Open3D's")


def seen_through(points, voxels, wanted):
    """Of the voxels `wanted`, the number of scans with a ray that ends 2 voxels or more behind it: points on each ray, half a voxel
    apart, in their voxels, as OctoMap clears space (Hornung et al. 2013)."""
    keys, counts = voxels.keys[wanted], np.zeros(wanted.sum(), int)
    low, high = voxels.cells[wanted].min(axis=0), voxels.cells[wanted].max(axis=0)
    box = np.zeros(high - low + 1, bool)  # most points on rays are in no voxel that is wanted
    box[tuple((voxels.cells[wanted] - low).T)] = True
    for scan in range(FRAMES):
        sensor, ends = points.sensors[scan], points.at[points.scan == scan]
        to = voxels.cells[wanted] + 0.5 - sensor
        degrees = [np.degrees(np.arctan2(v[:, 1], v[:, 0])) // 2 for v in (to, ends - sensor)]  # rays elsewhere hit none
        ends = ends[np.isin(degrees[1], np.unique(degrees[0])[:, None] + [-1, 0, 1])]
        ranges = np.linalg.norm(ends - sensor, axis=1)
        rays, through = (ends - sensor) / ranges[:, None], []
        for distance in np.arange(4.0, min(ranges.max(), np.linalg.norm(to, axis=1).max() + 1), 0.5):
            rays, ranges = rays[ranges > distance + 2], ranges[ranges > distance + 2]
            cells = np.floor(sensor + distance * rays).astype(np.int64)
            cells = cells[((cells >= low) & (cells <= high)).all(axis=1)]
            cells = cells[box[tuple((cells - low).T)]]
            through.append(keys_of(cells))
        hit = np.unique(np.concatenate(through))
        counts[np.searchsorted(keys, hit)] += 1
    return counts


def check_moved(kept, left, points, voxels):
    """`kept`, `left`: the rows with keep-moving and without."""
    same = np.isin(kept.view((np.void, kept.dtype.itemsize)), left.view((np.void, left.dtype.itemsize)))
    equal('rows of the map, which are those that were not left out', kept[same], left)
    out, moving, still = ~same, voxels.moving == 1, voxels.moving == 0
    recall, precision, static = out[moving].mean(), moving[out & (moving | still)].mean(), same[still].mean()
    check(moving.sum() > 500, 'moving objects', moving.sum())
    said = f'recall {recall:.4f}, precision {precision:.4f}, static kept {static:.5f}'
    check(recall > 0.8 and precision > 0.98 and static > 0.9995, 'what is left out, by the labels', said)
    through = seen_through(points, voxels, out)
    check((through >= 3).mean() > 0.99, 'rays go through what is left out', (through >= 3).mean())
    passed(f'{moving.sum()} voxels of moving cars alone: {said}; rays of 3 scans and more go through '
           f'{100 * (through >= 3).mean():.2f} % of the {out.sum()} voxels that are left out')


def main(drive):
    with common.scratch() as folder:
        make_drive(drive, folder)
        plain = ['odometry', '--quiet', '--map-voxel', VOXEL, *sorted(folder.glob('*.bin'))]
        options = [*plain, '--labels', folder]
        common.run(*options, '--trajectory', folder / 'kept.txt', '--set', 'keep-moving', '-o', folder / 'kept.ply')
        common.run(*options, '--trajectory', folder / 'left.txt', '--set', 'memory=1M', '-o', folder / 'left.ply')  # on disk
        equal('poses', (folder / 'left.txt').read_bytes() == (folder / 'kept.txt').read_bytes(), True)
        common.run(*plain, '--trajectory', folder / 'plain.txt', '-o', folder / 'plain.ply')
        kept, left = common.read_ply(folder / 'kept.ply'), common.read_ply(folder / 'left.ply')
        bare = common.read_ply(folder / 'plain.ply')
        for name in bare.dtype.names:
            equal(f'{name} without labels', bare[name], left[name])
        points = Points(folder, np.loadtxt(folder / 'kept.txt').reshape(-1, 3, 4))
    voxels = Voxels(points)
    at = check_voxels(kept, points, voxels)
    normals, both = check_normals(kept, at, points, voxels)
    check_moved(kept, left, points, voxels)
    try:
        import open3d
    except ImportError:
        part_skipped('Open3D', 'it is not installed')
        return
    check_open3d(open3d, at, normals, both, points)


if __name__ == '__main__':
    main(sys.argv[1])
    common.finish()
