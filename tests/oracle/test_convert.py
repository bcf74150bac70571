"""pcgpu convert against NumPy: transforms, boxes, columns, merged clouds and types of columns, value by value."""
import numpy as np

from common import (check, data, equal, finish, passed, read_bin, read_pcd, read_ply, run, scratch, testdata, write_bin,
                    write_pcd, write_ply)


def rotation(axis, angle):
    x, y, z = np.asarray(axis) / np.linalg.norm(axis)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * (k @ k)


def write_transform(path, T):
    path.write_text('\n'.join(' '.join(repr(float(v)) for v in row) for row in T) + '\n')


def moved(T, xyz):
    """float64, in the order of the program: ((x + y) + z) + translation."""
    x, y, z = xyz.T.astype(np.float64)
    return np.stack([((row[0] * x + row[1] * y) + row[2] * z) + row[3] for row in T[:3]], 1)


def inside(xyz, low, high):
    low, high = np.float32(low), np.float32(high)
    return np.all((xyz >= low) & (xyz < high), 1)


def in_boxes(xyz, boxes):
    """OpenPCDet's check_pt_in_box3d in float32: the sides are outside, top and bottom inside."""
    held = np.zeros(len(xyz), bool)
    for box in boxes:
        x, y, z, dx, dy, dz = np.float32(box[:6])
        c, s = np.float32(np.cos(np.float64(np.float32(box[6])))), np.float32(np.sin(np.float64(np.float32(box[6]))))
        at = xyz - np.float32([x, y, z])
        along, across = at[:, 0] * c + at[:, 1] * s, at[:, 1] * c - at[:, 0] * s
        half = np.float32(.5) * np.float32([dx, dy, dz])
        held |= (np.abs(at[:, 2]) <= half[2]) & (np.abs(along) < half[0]) & (np.abs(across) < half[1])
    return held


def hostile(n, rng):
    """Points of several sizes, on the faces of boxes, not finite, and at the origin."""
    points = rng.normal(size=(n, 4)).astype('<f4') * np.float32(10) ** rng.integers(-3, 3, (n, 1)).astype('<f4')
    points[::17, 0] = np.float32(0.7)
    points[::19, 1] = -0.0
    points[::23, :3] = 0
    points[::29, 2] = np.nan
    points[::31, 1] = np.inf
    points[::37, 3] = np.nan
    return points


def test_transform_and_crop(name, points, folder, rng):
    write_bin(folder / 'in.bin', points)
    for i in range(4):
        T = np.eye(4)
        T[:3, :3] = rotation(rng.normal(size=3), rng.uniform(0, 3))
        T[:3, 3] = rng.normal(size=3) * 5
        write_transform(folder / 'T.txt', T)
        run('convert', '--keep-origin', '--transform', folder / 'T.txt', folder / 'in.bin', '-o', folder / 'moved.bin', '-f')
        expected = points.copy()
        expected[:, :3] = moved(T, points[:, :3])
        equal(f'{name}: moved', read_bin(folder / 'moved.bin'), expected)
        low, high = np.sort(np.concatenate([rng.normal(size=(2, 3)) * 8, [[0.7, -30, -3], [0.7, 30, 3]]]), 0)[[0, -1]]
        box = '--crop=' + ','.join(repr(float(v)) for v in (*low, *high))
        run('convert', box, folder / 'in.bin', '-o', folder / 'box.bin', '-f')
        finite = np.isfinite(points[:, :3]).all(1)
        keep = finite & inside(points[:, :3], low, high)
        equal(f'{name}: cropped', read_bin(folder / 'box.bin'), points[keep])
        run('convert', '--keep-origin', box, '--transform', folder / 'T.txt', folder / 'in.bin', '-o', folder / 'both.bin', '-f')
        keep = np.isfinite(expected[:, :3]).all(1) & inside(expected[:, :3], low, high)
        equal(f'{name}: moved and cropped', read_bin(folder / 'both.bin'), expected[keep])
    # Oriented boxes, some with a class behind the numbers, in text and .npy, and what is outside of them.
    boxes = np.c_[rng.normal(size=(6, 3)) * 8, rng.uniform(0, 20, (6, 3)), rng.uniform(-4, 4, 6)]
    boxes[0, :3], boxes[0, 3:6], boxes[5, 4] = (.7, 0, 0), (0, 6, 6), 0
    np.save(folder / 'boxes.npy', boxes)
    (folder / 'boxes.txt').write_text('# seven numbers\n' + ''.join(
        ' '.join(repr(float(v)) for v in box) + [' Car\n', '\n\n'][k % 2] for k, box in enumerate(boxes)))
    held = np.isfinite(points[:, :3]).all(1) & in_boxes(points[:, :3], boxes)
    for file in ('boxes.npy', 'boxes.txt'):
        run('convert', '--boxes', folder / file, folder / 'in.bin', '-o', folder / 'held.bin', '-f')
        equal(f'{name}: {file}', read_bin(folder / 'held.bin'), points[held])
        run('convert', '--boxes', folder / file, '--set', 'outside', folder / 'in.bin', '-o', folder / 'held.bin', '-f')
        equal(f'{name}: outside {file}', read_bin(folder / 'held.bin'), points[np.isfinite(points[:, :3]).all(1) & ~held])
    # A box is the range of voxelize: its points are those in voxels.
    box = '0.7,-30,-3,20,30,3'
    run('convert', '--crop', box, folder / 'in.bin', '-o', folder / 'box.bin', '-f')
    run('voxelize', '--range', box, '--voxel-size', '19.3,60,6', folder / 'in.bin', '-o', folder / 'v.npz', '--set',
        f"point-voxel={folder / 'p.npy'}", '-f')
    equal(f'{name}: the points in range of voxelize', read_bin(folder / 'box.bin'),
          points[np.load(folder / 'p.npy') >= 0])
    passed(f'{name}: {len(points)} points moved and cropped as NumPy does')


def test_normals(folder, rng):
    kinds = [('x', '<f4'), ('y', '<f4'), ('z', '<f4'), ('label', '<u2'), ('nx', '<f4'), ('ny', '<f4'), ('nz', '<f4'), ('red', 'u1')]
    points = np.zeros(300, kinds)
    normals = rng.normal(size=(300, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    for k, axis in enumerate('xyz'):
        points[axis] = rng.normal(size=300) * 10
        points['n' + axis] = normals[:, k]
    points['label'], points['red'] = rng.integers(0, 60000, 300), rng.integers(0, 256, 300)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation((1, 2, 3), 1), (3, 2, 1)
    write_transform(folder / 'T.txt', T)
    for write, read, name in ((write_ply, read_ply, 'n.ply'), (write_pcd, read_pcd, 'n.pcd')):
        write(folder / name, points)
        run('convert', '--transform', folder / 'T.txt', folder / name, '-o', folder / ('out' + name[1:]), '-f')
        got = read(folder / ('out' + name[1:]))
        if name == 'n.pcd':  # the names of PCL
            check({'normal_x', 'normal_y', 'normal_z'} < set(got.dtype.names), 'n.pcd: the names of normals', got.dtype)
            got.dtype.names = [field.replace('normal_', 'n') for field in got.dtype.names]
        check(got.dtype == points.dtype, f'{name}: names and types stay', got.dtype)
        xyz = moved(T, np.stack([points[k] for k in 'xyz'], 1)).astype('<f4')
        turned = moved(np.block([[T[:3, :3], np.zeros((3, 1))], [0, 0, 0, 1]]),
                       np.stack([points['n' + k] for k in 'xyz'], 1)).astype('<f4')
        for k, axis in enumerate('xyz'):
            equal(f'{name}: {axis}', got[axis], xyz[:, k])
            equal(f'{name}: n{axis}', got['n' + axis], turned[:, k])
        for column in ('label', 'red'):
            equal(f'{name}: {column}', got[column], points[column])
    passed('normals turn with the points; other columns and types stay')


def test_utm(folder, rng):
    """Float64 coordinates: crops are exact at the resolution of float32 from the offset, and a transform to UTM keeps it."""
    points = np.zeros(2000, [('x', '<f8'), ('y', '<f8'), ('z', '<f8'), ('intensity', '<u2')])
    points['x'] = 500000 + np.round(rng.uniform(0, 1000, 2000) * 64) / 64
    points['y'] = 5400000 + np.round(rng.uniform(0, 1000, 2000) * 64) / 64
    points['z'] = np.round(rng.uniform(0, 50, 2000) * 64) / 64
    points['intensity'] = rng.integers(0, 65536, 2000)
    write_ply(folder / 'utm.ply', points)
    run('convert', '--crop=500100,5400100.5,10,500600.25,5400700,30', folder / 'utm.ply', '-o', folder / 'box.ply')
    xyz = np.stack([points[k] for k in 'xyz'], 1)
    keep = np.all((xyz >= (500100, 5400100.5, 10)) & (xyz < (500600.25, 5400700, 30)), 1)
    check(keep.sum() > 50, 'the box has points', keep.sum())
    equal('cropped in UTM', read_ply(folder / 'box.ply'), points[keep])
    for name in ('utm.las', 'utm.pcd', 'utm.npy', 'utm.csv'):
        run('convert', folder / 'utm.ply', '-o', folder / name)
        run('convert', '--columns', 'x,y,z,intensity', folder / name, '-o', folder / 'back.ply', '-f')
        got = read_ply(folder / 'back.ply')
        for k in 'xyz':
            equal(f'{name}: {k}', got[k], points[k])
        equal(f'{name}: intensity', got['intensity'].astype('<u2'), points['intensity'])
    scan = rng.normal(size=(1000, 4)).astype('<f4') * 30
    write_bin(folder / 'scan.bin', scan)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = rotation((0, 0, 1), 0.3), (500123.456, 5400321.123, 250.5)
    write_transform(folder / 'T.txt', T)
    run('convert', '--transform', folder / 'T.txt', folder / 'scan.bin', '-o', folder / 'far.ply')
    got, expected = read_ply(folder / 'far.ply'), moved(T, scan[:, :3])
    check(got.dtype['x'] == np.float64, 'far coordinates are float64', got.dtype)
    worst = max(np.abs(got[axis] - expected[:, k]).max() for k, axis in enumerate('xyz'))
    check(worst < 2e-5, 'a scan that is moved to UTM keeps 0.02 mm', worst)
    passed(f'float64 coordinates: equal in .ply, .las, .pcd, .npy, .csv; moved to UTM within {worst * 1e6:.1f} um')


def test_merge(folder, rng):
    """Clouds with different columns, types and offsets."""
    a = np.zeros(100, [('x', '<f4'), ('y', '<f4'), ('z', '<f4'), ('ring', 'u1'), ('time', '<f4')])
    b = np.zeros(50, [('time', '<f4'), ('x', '<f8'), ('y', '<f8'), ('z', '<f8'), ('ring', '<u2')])
    for cloud, at in ((a, 0), (b, 2000)):
        for k in 'xyz':
            cloud[k] = at + np.round(rng.uniform(0, 100, len(cloud)) * 64) / 64
        cloud['ring'], cloud['time'] = rng.integers(0, 200, len(cloud)), rng.normal(size=len(cloud))
    write_ply(folder / 'a.ply', a)
    write_ply(folder / 'b.ply', b)
    run('convert', '--merge', folder / 'a.ply', folder / 'b.ply', folder / 'a.ply', '-o', folder / 'm.ply')
    got = read_ply(folder / 'm.ply')
    check(got.dtype.names == ('x', 'y', 'z', 'ring', 'time', 'source'), 'the columns of the first, and source', got.dtype)
    for name in ('x', 'y', 'z', 'ring', 'time'):
        equal(f'merged {name}', got[name].astype('<f8'), np.concatenate([c[name].astype('<f8') for c in (a, b, a)]))
    equal('source', got['source'], np.repeat(np.arange(3, dtype='u1'), (100, 50, 100)))
    many = [folder / f'{i}.bin' for i in range(300)]
    for i, path in enumerate(many):
        write_bin(path, np.full((i % 3, 4), i))
    run('convert', '--merge', *many, '-o', folder / 'many.ply')
    got = read_ply(folder / 'many.ply')
    equal('source of 300 inputs', got['source'], np.repeat(np.arange(300), np.arange(300) % 3).astype('<u2'))
    equal('values of 300 inputs', got['x'], got['source'].astype('<f4'))
    passed('merged clouds with other columns, types and offsets')


generator = np.random.default_rng(5)
with scratch() as place:
    test_transform_and_crop('hostile', hostile(5000, generator), place, generator)
for scan_path in filter(None, (testdata('street.bin'), data('kitti/000001.bin'))):
    with scratch() as place:
        test_transform_and_crop(scan_path.name, read_bin(scan_path), place, generator)
for test in (test_normals, test_utm, test_merge):
    with scratch() as place:
        test(place, generator)
finish()
