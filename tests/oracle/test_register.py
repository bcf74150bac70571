"""pcgpu register against transforms that are known: of the generated scene, of KITTI's poses, of a surveyed pair."""
import numpy as np

from common import (check, data, equal, error, find, finish, part_skipped, passed, read_bin, read_json, run, scratch,
                    testdata, write_bin)


def load_matrix(path):
    matrix = np.loadtxt(path)
    check(matrix.shape == (4, 4), f'{path} holds a 4x4 matrix', matrix.shape)
    return matrix


def register(folder, source, target, *options, code=0):
    """Returns the transform of one run, after checking that every way of writing it agrees."""
    transform, log = folder / 'T.txt', folder / 'r.json'
    result = run('register', source, target, '-f', '--transform', transform, '--json', log, *options, code=code)
    matrix, summary = load_matrix(transform), read_json(log)
    rotation = matrix[:3, :3]
    check(np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-12) and np.linalg.det(rotation) > 0, 'a rotation')
    check(matrix[3].tolist() == [0, 0, 0, 1], 'the last row of a rigid transform', matrix[3])
    check(bool(result.stdout) == (result.returncode == 0), 'standard output has what converged, and nothing else', result.stdout)
    if result.stdout:
        equal('stdout and --transform', np.loadtxt(result.stdout.decode().splitlines()), matrix)
    return matrix, summary


def compare(folder, label, source, target, truth, metres, degrees, *options):
    matrix, summary = register(folder, source, target, *options)
    off = error(matrix, truth)
    check(off[0] <= metres and off[1] <= degrees, label,
          f'off by {off[0]:.4f} m, {off[1]:.4f} degree; at most {metres} m, {degrees} degree')
    check(find(summary, 'converged') is True, f'{label}: converged', find(summary, 'converged'))
    inliers, fitness = find(summary, 'inliers'), find(summary, 'fitness')
    check(inliers > 1000 and 0 < fitness <= 1, f'{label}: inliers and fitness', (inliers, fitness))
    check(0 < find(summary, 'inlier_rmse') < 1, f'{label}: inlier RMSE', find(summary, 'inlier_rmse'))
    passed(f'{label}: {1000 * off[0]:.2f} mm, {off[1]:.4f} degree off the truth')
    return matrix


def test_street(folder):
    paths = [testdata(name) for name in ('street.bin', 'street_moved.bin', 'street_T.txt')]
    if not all(paths):
        part_skipped('street', 'testdata/ is not here')
        return
    scan, moved, truth = *paths[:2], load_matrix(paths[2])  # T_street_moved
    matrix = compare(folder, 'street', moved, scan, truth, 0.005, 0.05)
    compare(folder, 'street, the other way', scan, moved, np.linalg.inv(truth), 0.005, 0.05)
    compare(folder, 'street, point', moved, scan, truth, 0.05, 0.2, '--method', 'point')
    # Started at the result it stays there.
    np.savetxt(folder / 'init.txt', matrix, fmt='%.17g')
    again = register(folder, moved, scan, '--init', folder / 'init.txt')[0]
    off = error(again, matrix)
    check(off[0] < 0.002 and off[1] < 0.02, 'street from --init', off)
    test_aligned(folder, moved, scan)


def test_aligned(folder, source, target):
    """-o is the source moved by the transform in float64, rounded once."""
    matrix, _ = register(folder, source, target, '-o', folder / 'aligned.bin')
    points, aligned = read_bin(source), read_bin(folder / 'aligned.bin')
    check(aligned.shape == points.shape, 'aligned: every record of the source', aligned.shape)
    exact = points[:, :3].astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]
    half_step = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64) / 2
    worst = (np.abs(aligned[:, :3] - exact) / half_step).max()
    check(worst < 1.01, 'aligned: rounded once', f'{worst / 2:.3f} steps of float32 off')
    equal('aligned: other columns', aligned[:, 3], points[:, 3])
    passed('the aligned source')


def kitti_truth(i, j):
    """T(i<-j) = inv(Tr) inv(P_i) P_j Tr: points of scan j into scan i."""
    def matrix(numbers):
        return np.vstack([np.array(numbers, float).reshape(3, 4), [0, 0, 0, 1]])
    poses = (data('kitti00/poses.txt')).read_text().splitlines()
    calibration = (data('kitti00/calib.txt')).read_text().splitlines()
    tr = matrix(next(line for line in calibration if line.startswith('Tr')).split()[1:])
    return np.linalg.inv(tr) @ np.linalg.inv(matrix(poses[i].split())) @ matrix(poses[j].split()) @ tr


def test_kitti(folder):
    if not data('kitti00/velodyne'):
        part_skipped('KITTI odometry', 'the data is not here')
        return
    for i, j, metres, degrees in ((14, 15, 0.856, 0.137), (94, 95, 0.474, 1.239)):
        truth = kitti_truth(i, j)
        size = error(truth, np.eye(4))
        check(abs(size[0] - metres) < 0.002 and abs(size[1] - degrees) < 0.002, 'the sizes of the true motion', size)
        source, target = (data(f'kitti00/velodyne/{k:06d}.bin') for k in (j, i))
        for method in ('ndt', 'plane', 'gicp'):
            options = ('--method', method)
            compare(folder, f'KITTI {j} onto {i}, {method}', source, target, truth, 0.03, 0.1, *options)
        compare(folder, f'KITTI {j} onto {i}, beams corrected', source, target, truth, 0.03, 0.1, '--set', 'beam-correction=0.205')


def rigid(metres, degrees, rng):
    """A random motion by this much."""
    shift, (x, y, z) = rng.normal(size=3), (lambda v: v / np.linalg.norm(v))(rng.normal(size=3))
    angle, cross = np.radians(degrees), np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    T = np.eye(4)
    T[:3, :3] += np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    T[:3, 3] = metres * shift / np.linalg.norm(shift)
    return T


def test_halves(folder):
    """Two disjoint halves of a scan, one of them moved: the truth is exact and no point is in both."""
    names = [data(name) for name in ('kitti/000000.bin', 'kitti00/velodyne/000094.bin', 'nuscenes/n015.pcd.bin',
                                     *(f'kitti00/velodyne/{k:06d}.bin' for k in (0, 3, 14)))]
    if not all(names):
        part_skipped('halves of scans', 'the data is not here')
        return
    rng, offs = np.random.default_rng(3), []
    for path in names:
        points = read_bin(path, 5 if 'nuscenes' in path.parent.name else 4)[:, :4]
        half, truth = rng.random(len(points)) < 0.5, rigid(0.8, 2, rng)
        source = points[half].copy()
        source[:, :3] = (points[half, :3].astype(np.float64) - truth[:3, 3]) @ truth[:3, :3]
        write_bin(folder / 'source.bin', source)
        write_bin(folder / 'target.bin', points[~half])
        matrix = compare(folder, f'halves of {path.name}', folder / 'source.bin', folder / 'target.bin', truth, 0.0015, 0.02)
        offs.append(error(matrix, truth)[0])
        # Six standard deviations by the residuals hold the error, at the target's centroid.
        summary = read_json(folder / 'r.json')['result']
        covariance = np.array(summary['covariance']).reshape(6, 6)
        check(np.allclose(covariance, covariance.T) and (np.linalg.eigvalsh(covariance) > 0).all(), 'a covariance')
        difference = load_matrix(folder / 'T.txt') @ np.linalg.inv(truth)
        usable = points[~half, :3][(points[~half, :3] != 0).any(1)].astype(np.float64)
        shift = difference[:3, :3] @ usable.mean(0) + difference[:3, 3] - usable.mean(0)
        check((np.abs(shift) < 6 * np.sqrt(np.diag(covariance)[3:])).all(), 'the error is within the covariance',
              (shift, np.sqrt(np.diag(covariance)[3:])))
        check(sum(summary['level_iterations']) == summary['iterations'], 'iterations of the levels',
              summary['level_iterations'])
    check(np.median(offs) < 0.00045, 'halves: the lines of both lie on each other and count', np.median(offs))


def test_traps(folder):
    """What must not be called a success: other places, a few rings that agree with themselves only."""
    scans = {i: data(f'kitti00/velodyne/{i:06d}.bin') for i in (0, 1, 14, 15, 94, 95)}
    if not all(scans.values()):
        part_skipped('scans that do not match', 'the data is not here')
        return
    turned = read_bin(scans[95]).copy()
    turned[:, :2] *= -1
    write_bin(folder / 'turned.bin', turned)
    half_turn = np.diag([-1.0, -1, 1, 1])
    off = error(register(folder, folder / 'turned.bin', scans[94])[0] @ half_turn, register(folder, scans[95], scans[94])[0])
    check(off[0] < 0.002 and off[1] < 0.01, 'half a turn is found by the search', off)
    for label, source, target in (('14 onto 94', scans[14], scans[94]), ('94 onto 0', scans[94], scans[0]),
                                  ('0 onto 94', scans[0], scans[94])):
        summary = register(folder, source, target, code=4)[1]
        check(find(summary, 'converged') is False, f'{label}: not converged')
    passed('half a turn; other places: exit 4')
    for i, j in ((0, 1), (14, 15), (94, 95)):
        truth = register(folder, scans[j], scans[i])[0]
        for name, k in (('a.bin', j), ('b.bin', i)):
            write_bin(folder / name, read_bin(scans[k])[:5000])
        for target in (folder / 'b.bin', scans[i]):
            matrix, summary = register(folder, folder / 'a.bin', target, code=None)
            off = error(matrix, truth)
            check(not find(summary, 'converged') or (off[0] < 0.1 and off[1] < 0.3), f'rings of {j} onto {i}',
                  f'converged {off[0]:.3f} m, {off[1]:.3f} degree away')
    passed('the first 5000 points of scans never converge to a wrong pose')


def test_there_and_back(folder):
    """T from A to B composed with T from B to A is the identity, but where scans are bent against each other."""
    scans = {i: data(f'kitti00/velodyne/{i:06d}.bin') for i in (0, 1, 2, 3, 14, 15, 94, 95)}
    pair = data('pair/source.ply'), data('pair/target.ply')
    if not all(scans.values()) or not all(pair):
        part_skipped('there and back', 'the data is not here')
        return
    cases = [(f'KITTI {j} onto {i}', scans[j], scans[i], 0.002, 0.01) for i, j in ((0, 1), (1, 2), (2, 3), (14, 15), (94, 95))]
    cases.append(('pair, whose scans are bent', *pair, 0.01, 0.12))
    for method in ('ndt', 'gicp'):
        for label, source, target, metres, degrees in cases[::1 if method == 'ndt' else 5]:
            there = register(folder, source, target, '--method', method)[0]
            back = register(folder, target, source, '--method', method)[0]
            off = error(there @ back, np.eye(4))
            check(off[0] < metres * (1.5 if method == 'gicp' else 1) and off[1] < degrees, f'{label}, {method}: there and back', off)
    passed('there and back')


def test_utm(folder):
    """float64 coordinates far from the origin give the same motion in their own coordinates: as near as another placement of the
    voxels permits, 0.5 mm and 0.002 degree for one sigma, which is 2 mm at 60 m."""
    source, target = data('kitti00/velodyne/000015.bin'), data('kitti00/velodyne/000014.bin')
    if not source or not target:
        part_skipped('UTM coordinates', 'the data is not here')
        return
    far = np.array([500_000.0, 5_000_000.0, 312.0])
    clouds = [read_bin(path)[:, :3].astype(np.float64) for path in (source, target)]
    for name, points in zip('st', clouds):
        np.save(folder / f'{name}.npy', points + far)
    for method in ('ndt', 'gicp'):
        near = register(folder, source, target, '--method', method)[0]
        matrix, summary = register(folder, folder / 's.npy', folder / 't.npy', '--method', method, '-o', folder / 'moved.npy')
        expected = clouds[0] @ near[:3, :3].T + near[:3, 3] + far
        moved = (clouds[0] + far) @ matrix[:3, :3].T + matrix[:3, 3]
        inside = np.linalg.norm(clouds[0], axis=1) < 60
        off = np.linalg.norm(moved - expected, axis=1)[inside].max()
        check(off < 0.003, f'UTM, {method}: the same motion', f'{1000 * off:.3f} mm')
        written = np.load(folder / 'moved.npy')[:, :3]
        check(np.abs(written - moved).max() < 5e-5, f'UTM, {method}: the aligned output in those coordinates')
    passed('UTM coordinates')


def test_search(folder):
    """--init auto: any turn about the vertical and up to 5 m, without a guess; other places stay no success."""
    scans = {name: data(name) for name in ('kitti/000001.bin', 'kitti00/velodyne/000014.bin', 'kitti00/velodyne/000015.bin',
                                           'kitti00/velodyne/000094.bin', 'kitti00/velodyne/000095.bin', 'nuscenes/n015.pcd.bin')}
    if not all(scans.values()):
        part_skipped('starts without a guess', 'the data is not here')
        return
    rng, count = np.random.default_rng(11), 0
    for name, other in (('kitti00/velodyne/000015.bin', 'kitti00/velodyne/000014.bin'),
                        ('kitti00/velodyne/000095.bin', 'kitti00/velodyne/000094.bin'),
                        ('kitti/000001.bin', None), ('nuscenes/n015.pcd.bin', None)):
        points = read_bin(scans[name], 5 if 'nuscenes' in name else 4)[:, :4]
        half = rng.random(len(points)) < 0.5
        source, target = (points, read_bin(scans[other])) if other else (points[half], points[~half])
        write_bin(folder / 'target.bin', target)
        write_bin(folder / 'source.bin', source)
        truth = register(folder, folder / 'source.bin', folder / 'target.bin')[0]
        for _ in range(2):
            angle, way, far = *rng.uniform(0, 2 * np.pi, 2), rng.uniform(0, 5)
            away = np.eye(4)
            away[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
            away[:3, 3] = far * np.cos(way), far * np.sin(way), rng.normal() / 3
            moved = source.copy()
            moved[:, :3] = source[:, :3].astype(np.float64) @ away[:3, :3].T + away[:3, 3]
            write_bin(folder / 'moved.bin', moved)
            matrix = register(folder, folder / 'moved.bin', folder / 'target.bin', '--init', 'auto')[0]
            off = error(matrix @ away, truth)
            check(off[0] < 0.002 and off[1] < 0.01, f'{name}: found without a guess', (off, np.degrees(angle), far))
            count += 1
    for source, target in (('14', '94'), ('94', '14')):
        summary = register(folder, scans[f'kitti00/velodyne/0000{source}.bin'], scans[f'kitti00/velodyne/0000{target}.bin'],
                           '--init', 'auto', code=4)[1]
        check(find(summary, 'converged') is False, f'{source} onto {target}: no start makes it a success')
    passed(f'{count} pairs without a guess; other places: exit 4')


def test_pair(folder):
    if not data('pair/source.ply'):
        part_skipped('pair', 'the data is not here')
        return
    truth = np.array(data('pair/T_target_source.txt').read_text().split(), float).reshape(4, 4)
    compare(folder, 'pair', data('pair/source.ply'), data('pair/target.ply'), truth, 0.02, 0.3)
    origin = find(read_json(folder / 'r.json'), 'at_origin')
    check(origin is not None and origin > 9000, 'pair: records at the origin are dropped and counted', origin)


def main():
    with scratch() as folder:
        test_halves(folder)
        test_traps(folder)
        test_search(folder)
        test_there_and_back(folder)
        test_utm(folder)
        test_street(folder)
        test_kitti(folder)
        test_pair(folder)
    finish()


main()
