"""pcgpu filter against NumPy, by all distances, on hostile clouds too; and against Open3D, SciPy and scikit-learn where they are
installed."""
import json

import numpy as np

from common import check, data, equal, finish, part_skipped, passed, read_bin, read_ply, run, scratch, testdata, write_bin, write_ply

f32 = np.float32


def squared_distances(points):
    """All of them, float32, as in pcgpu_neighbors.h; infinite for records that are not finite."""
    p = points[:, :3]
    with np.errstate(over='ignore', invalid='ignore'):
        d = p[:, None] - p[None]
        squared = (d[..., 0] * d[..., 0] + d[..., 1] * d[..., 1]) + d[..., 2] * d[..., 2]
    return np.where(np.isfinite(squared), squared, f32(np.inf))


def statistical(points, k, sigmas):
    finite = np.isfinite(points[:, :3]).all(1)
    distances = np.sort(np.sqrt(squared_distances(points[finite])), axis=1)[:, 1:k + 1].astype('f8')
    known = np.isfinite(distances)
    count = known.sum(1)
    means = np.divide(np.where(known, distances, 0).sum(1), count, out=np.full(len(count), -1.0), where=count > 0)
    valid = means[means >= 0]
    threshold = valid.mean() + sigmas * valid.std(ddof=1) if len(valid) > 1 else np.inf
    keep = finite.copy()
    keep[finite] = means <= threshold
    return keep, np.abs(valid - threshold).min(initial=np.inf) if np.isfinite(threshold) else np.inf


def components(points, distance, core=1, least=1, most=0):
    """Ids of DBSCAN by the lowest record that connects others, -1 for noise; a record at an edge is of the lowest one near it."""
    finite = np.isfinite(points[:, :3]).all(1)
    near = (squared_distances(points) < f32(distance) * f32(distance)) & finite & finite[:, None]
    connects = near.sum(1) >= core
    label = np.where(connects, np.arange(len(points)), -1)
    links = [np.flatnonzero(row & connects) for row in near]
    while True:
        lower = np.array([label[links[i]].min(initial=label[i]) if connects[i] else -1 for i in range(len(points))], int)
        if (lower == label).all():
            break
        label = lower
    label = np.array([label[of[0]] if len(of) and not connects[i] else label[i] for i, of in enumerate(links)], int)
    ids, sizes = np.unique(label[label >= 0], return_counts=True)
    ids = ids[(sizes >= least) & ((most == 0) | (sizes <= most))]
    return np.where(np.isin(label, ids), np.searchsorted(ids, label), -1)


def hostile(seed):
    """Clouds of the kinds that filters meet: random, equal points, a grid with ties, a line, far apart, two, one, none."""
    rng = np.random.default_rng(seed)
    cloud = rng.normal(0, 1, (400, 4)).astype(f32)
    cloud[rng.integers(0, 400, 9), rng.integers(0, 3, 9)] = [np.nan, np.inf, -np.inf] * 3
    grid = np.stack(np.meshgrid(*[np.arange(7)] * 3), -1).reshape(-1, 3).astype(f32) * f32(0.25)
    grid = np.column_stack([grid, np.arange(len(grid))]).astype(f32)
    line = np.column_stack([np.linspace(0, 3, 200), np.zeros((200, 3))]).astype(f32)
    far = np.concatenate([cloud[:50] + f32(1000), cloud[50:90] * f32(1e-3), [[3e19, 0, 0, 1], [-3e19, 0, 0, 1]]]).astype(f32)
    equal_points = np.concatenate([np.ones((300, 4)), cloud[:40]]).astype(f32)
    return {'random': cloud, 'equal': equal_points, 'all equal': np.ones((100, 4), f32), 'grid': grid, 'line': line, 'far': far,
            'two': cloud[:2], 'one': cloud[:1], 'not finite': np.full((5, 4), np.nan, f32), 'none': np.zeros((0, 4), f32)}


def filtered(folder, points, *options):
    """The records left and the report, on one thread and on three."""
    write_bin(folder / 'in.bin', points)
    outs = []
    for threads in (1, 3):
        run('filter', folder / 'in.bin', '-f', '-o', folder / f'out{threads}.npy', '--threads', threads, '--json', folder / 'out.json',
            *options)
        outs.append((folder / f'out{threads}.npy').read_bytes())
    check(outs[0] == outs[1], f'{options}: threads change nothing')
    return np.load(folder / 'out1.npy'), json.loads((folder / 'out.json').read_text())['result']


def plain(cloud):
    """Rows as bits, since NaN differs from NaN."""
    return np.ascontiguousarray(cloud, f32).view(np.uint32)


def test_outliers(folder):
    for name, points in hostile(1).items():
        for k, sigmas in ((1, 1.0), (20, 2.0), (127, 0.5)):
            keep, gap = statistical(points, k, sigmas)
            if 0 < gap < 1e-12:
                continue  # NumPy adds in another order
            left, result = filtered(folder, points, '--outliers', f'{k},{sigmas}')
            equal(f'{name}: records without outliers, {k}', plain(left), plain(points[keep]))
            equal(f'{name}: their number', result['outliers'], int(np.isfinite(points[:, :3]).all(1).sum() - keep.sum()))
        for radius, others in ((0.5, 6), (0.25, 1), (2.0, 0), (1e-30, 0)):
            near = squared_distances(points) < f32(radius) * f32(radius)
            keep = np.isfinite(points[:, :3]).all(1) & (np.maximum(near.sum(1) - 1, 0) >= others)  # the square of 1e-30 is 0
            left, _ = filtered(folder, points, '--radius', f'{radius},{others}')
            equal(f'{name}: records that are not sparse, {radius}', plain(left), plain(points[keep]))
    passed('outliers and sparse points of hostile clouds')


def test_clusters(folder):
    for name, points in hostile(2).items():
        if name == 'far':
            write_bin(folder / 'in.bin', points)
            error = run('filter', folder / 'in.bin', '--clusters', 0.5, '-o', folder / 'none.npy', code=1).stderr.decode()
            check('the cloud spans' in error and not (folder / 'none.npy').exists(), 'a cloud that is too wide', error)
            continue
        for distance, core, *sizes in ((0.25, 1), (0.26, 1), (0.6, 1), (0.4, 5, 3), (0.26, 3, 2, 40)):
            ids = components(points, distance, core, *sizes)
            left, result = filtered(folder, points, '--clusters', ','.join(map(str, (distance, *sizes))), '--set', f'core-points={core}')
            equal(f'{name}: clusters of {distance} m, {core} points connect, {sizes}', plain(left)[:, -1].view(f32).astype(int) if len(left) else np.zeros(0, int),
                  ids[ids >= 0])
            equal(f'{name}: their number', result['clusters'], int(ids.max(initial=-1)) + 1)
    passed('clusters of hostile clouds')


def test_normals(folder):
    points = hostile(3)['random']
    points = points[np.isfinite(points).all(1)]
    left, _ = filtered(folder, points, '--normals', 12)
    rows = plain(left).view(f32)
    nearest = np.argsort(squared_distances(points), axis=1, kind='stable')[:, :12]
    for i, of in enumerate(nearest):
        values, vectors = np.linalg.eigh(np.cov(points[of, :3].astype('f8').T))
        normal = vectors[:, 0] * np.sign(-vectors[:, 0] @ points[i, :3])
        check(values[1] - values[0] < 1e-3 or np.abs(rows[i, 4:7] - normal).max() < 1e-5, f'normal {i}', (rows[i, 4:7], normal))
        check(abs(rows[i, 7] - values[0] / values.sum()) < 1e-6, f'curvature {i}')
    for name, cloud in hostile(3).items():
        left, _ = filtered(folder, cloud, '--normals', 5)
        lengths = np.linalg.norm(plain(left).view(f32)[:, -4:-1], axis=1) if len(left) else np.zeros(0)
        check(((lengths == 0) | (np.abs(lengths - 1) < 1e-6)).all(), f'{name}: unit normals, or none')
    (folder / 'T.txt').write_text('1 0 0 500000\n0 1 0 5400000\n0 0 1 0\n0 0 0 1\n')
    write_bin(folder / 'in.bin', points)
    run('convert', '-f', '--transform', folder / 'T.txt', folder / 'in.bin', '-o', folder / 'utm.ply')
    run('filter', '-f', '--normals', 12, folder / 'utm.ply', '-o', folder / 'utm.npy')
    rows = np.load(folder / 'utm.npy').astype('f8')
    check(((rows[:, :3] * rows[:, 4:7]).sum(1) <= 0).all(), 'normals far from the origin point to it')
    passed('normals')


def test_sensor(folder):
    """The sides of a wall, x = 3, of which the sensor is on the left, x < 3, or on the right."""
    rng = np.random.default_rng(7)
    wall = np.column_stack([np.full(300, 3), rng.uniform(-2, 2, (300, 2)), np.zeros(300)]).astype(f32)

    def sides(path, *options, warns=''):
        result = run('filter', '-f', '--normals', 8, path, '-o', folder / 'sides.ply', *options).stderr.decode()
        check(warns in result and (warns or not result), 'the warning', result)
        return read_ply(folder / 'sides.ply')['nx']

    write_bin(folder / 'in.bin', wall)
    equal('the origin of the file', sides(folder / 'in.bin'), np.full(300, -1, f32))
    equal('a viewpoint', sides(folder / 'in.bin', '--set', 'viewpoint=9,-1e3,1e3'), np.full(300, 1, f32))
    # The quaternion, a turn about z by a right angle, moves no point: PCL's NormalEstimation takes the position alone.
    run('convert', '-f', folder / 'in.bin', '-o', folder / 'in.pcd')
    head, rest = (folder / 'in.pcd').read_bytes().split(b'VIEWPOINT 0 0 0 1 0 0 0')
    (folder / 'seen.pcd').write_bytes(head + b'VIEWPOINT 5 -9 0 0.7071068 0 0 0.7071068' + rest)
    equal('the viewpoint of a .pcd', sides(folder / 'seen.pcd'), np.full(300, 1, f32))
    equal('a viewpoint in its place', sides(folder / 'seen.pcd', '--set', 'viewpoint=0,0,0'), np.full(300, -1, f32))
    # One pose per input, whatever the order of their names; the rotation does not count.
    (folder / 'poses.txt').write_text('0 -1 0 6 1 0 0 5 0 0 1 0\n1 0 0 -1 0 1 0 0 0 0 1 0\nnan nan nan nan nan nan nan nan nan nan nan nan\n')
    (folder / 'two.txt').write_text('\n'.join((folder / 'poses.txt').read_text().splitlines()[:2]))
    write_bin(folder / 'a.bin', wall)
    run('filter', '-f', '--normals', 8, folder / 'in.bin', folder / 'a.bin', '-o', f'{folder}/sides/', '--output-format', 'ply', '--set',
        f'poses={folder}/two.txt')
    for name, side in (('in', 1), ('a', -1)):
        equal(f'the pose of {name}', read_ply(folder / f'sides/{name}.ply')['nx'], np.full(300, side, f32))
    # By the times of points, in seconds since 1970, which float32 does not hold: the sensor passes the wall at 0.6 s.
    start = 1.7e9
    (folder / 'tum.txt').write_text(''.join(f'{start + t} {x} 0 0 0 0 0 1\n' for t, x in ((2, 9), (1, 5), (0, 0))))
    timed = np.zeros(300, [('x', '<f8'), ('y', '<f8'), ('z', '<f8'), ('intensity', '<f4'), ('gps_time', '<f8')])
    for k, name in enumerate('xyz'):
        timed[name] = wall[:, k]
    seconds = np.where((t := np.linspace(0, 2, 300)) == 0.6, 0.61, t)
    timed['gps_time'] = start + seconds
    write_ply(folder / 'timed.ply', timed)
    by_time = np.where(seconds < 0.6, -1, 1).astype(f32)
    equal('by time', sides(folder / 'timed.ply', '--set', f'poses={folder}/tum.txt'), by_time)
    for name in 'xy':
        timed[name] += 5e5
    timed['gps_time'] = (start + seconds) * 1e9  # nanoseconds
    write_ply(folder / 'timed.ply', timed)
    (folder / 'utm.txt').write_text(''.join(f'{start + t} {x} 500000 0 0 0 0 1\n' for t, x in ((0, 5e5), (1, 500005), (1.5, 500007))))
    equal('by time, far from the origin', sides(folder / 'timed.ply', '--set', f'poses={folder}/utm.txt',
                                                warns='75 of 300 points have times outside those of the poses'), by_time)
    for poses, cloud, message in (('poses', 'in.bin', '3 poses without times for 1 inputs; give one per input'),
                                  ('tum', 'in.bin', 'no column of times, such as time or gps_time, for the 3 poses of'),
                                  ('tum', 'timed.ply', '')):
        if not message:
            timed['gps_time'] = seconds
            write_ply(folder / 'timed.ply', timed)
            message = 'no point has a time between those of the poses, 1700000000 and 1700000002 s'
        error = run('filter', '--normals', 8, folder / cloud, '-o', folder / 'none.ply', '--set', f'poses={folder}/{poses}.txt', code=None)
        check(error.returncode > 0 and message in error.stderr.decode() and not (folder / 'none.ply').exists(), message, error.stderr)
    error = run('filter', '--normals', 8, *[folder / 'in.bin'] * 2, folder / 'a.bin', '-o', f'{folder}/none/', '--set',
                f'poses={folder}/poses.txt', code=None)
    check(error.returncode > 0 and 'its pose is not known' in error.stderr.decode(), 'a missing pose', error.stderr)
    passed('normals point to the sensor: viewpoints, poses, times')


def test_classes(folder):
    points = hostile(4)['random']
    everything, _ = filtered(folder, points, '--radius', '0.4,3', '--label')
    left, _ = filtered(folder, points, '--radius', '0.4,3')
    noise, _ = filtered(folder, points, '--radius', '0.4,3', '--keep', 'noise')
    classes = everything[:, 4].astype(int)
    finite = np.isfinite(points[:, :3]).all(1)
    equal('every record stays', len(everything), len(points))
    equal('records without a place', classes == 0, ~finite)
    equal('class 1 stays', plain(left), plain(points[classes == 1]))
    equal('class 7 is noise', plain(noise), plain(points[classes == 7]))
    run('filter', folder / 'in.bin', '-f', '--radius', '0.4,3', '--label', '-o', folder / 'label.ply')
    run('filter', folder / 'label.ply', '-f', '--remove', 'classification=7,0', '-o', folder / 'left.npy')
    equal('selected by the column', np.load(folder / 'left.npy')[:, :4], points[classes == 1])
    run('filter', '-f', '--remove', 'classification=0', '--radius', '0.25,2', '--label', folder / 'label.ply', '-o', folder / 'again.npy')
    again = np.load(folder / 'again.npy')
    near = squared_distances(points[finite]) < f32(0.25) * f32(0.25)
    equal('class 7 stays, and more get it', again[finite, 4] == 7, (classes[finite] == 7) | (near.sum(1) - 1 < 2))
    passed('classes')


def test_packages(folder):
    path = data('kitti/000001.bin') or testdata('street.bin')
    points = read_bin(path, 4)
    xyz = points[:, :3].astype('f8')
    left, _ = filtered(folder, points, '--outliers', '20,2')
    try:
        import open3d
        cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(xyz))
        _, theirs = cloud.remove_statistical_outlier(21, 2.0)  # 20 others
        equal('records without outliers, Open3D', plain(left), plain(points[np.sort(theirs)]))
        cloud.estimate_normals(open3d.geometry.KDTreeSearchParamKNN(16))
        cloud.orient_normals_towards_camera_location()
        rows = plain(filtered(folder, points, '--normals', 16)[0]).view(f32)
        error = np.linalg.norm(np.cross(rows[:, 4:7], np.asarray(cloud.normals)), axis=1)
        good = rows[:, 7] < 0.01
        check(np.quantile(error[good], 0.999) < 1e-5 and good.sum() > 1000, 'normals of Open3D', np.quantile(error[good], [0.9, 0.999, 1]))
        passed('Open3D finds the same outliers and normals')
    except ImportError:
        part_skipped('Open3D', 'it is not installed')
    try:
        from sklearn.cluster import DBSCAN
        some = points[::5]
        model = DBSCAN(0.5, min_samples=8).fit(some[:, :3].astype('f8'))
        left, _ = filtered(folder, some, '--clusters', '0.5', '--set', 'core-points=8', '--label')
        ours, core = left[:, -1].astype(int), np.zeros(len(some), bool)
        core[model.core_sample_indices_] = True
        pairs = np.unique(np.column_stack([ours[core], model.labels_[core]]), axis=0)
        check(len(pairs) == ours.max() + 1 == model.labels_.max() + 1, 'clusters of core points, scikit-learn')
        equal('records without a cluster, scikit-learn', ours < 0, model.labels_ < 0)
        passed('scikit-learn finds the same clusters')
    except ImportError:
        part_skipped('scikit-learn', 'it is not installed')


def main():
    with scratch() as folder:
        test_outliers(folder)
        test_clusters(folder)
        test_normals(folder)
        test_sensor(folder)
        test_classes(folder)
        test_packages(folder)
    finish()


main()
