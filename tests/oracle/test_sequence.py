"""Every figure of the evaluation of trajectories against NumPy, trajectories in all formats, and odometry by motions and positions from
elsewhere."""
import json
import pathlib
import tempfile

import numpy as np

import common
from common import check, passed

RNG = np.random.default_rng(11)


def rotation(w):
    """Rodrigues."""
    angle = np.linalg.norm(w)
    if angle == 0:
        return np.eye(3)
    k = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]) / angle
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def pose(w, t):
    T = np.eye(4)
    T[:3, :3] = rotation(np.asarray(w, float))
    T[:3, 3] = t
    return T


def walk(count, step, turn):
    """Poses along a winding path."""
    poses = [np.eye(4)]
    for i in range(1, count):
        w = [0.002 * np.sin(i / 7), 0.003 * np.cos(i / 5), turn * np.sin(i / 30)]
        poses.append(poses[-1] @ pose(w, [step * (1 + 0.3 * np.sin(i / 11)), 0.02, 0.01 * np.sin(i / 3)]))
    return np.array(poses)


def disturbed(poses, metres, radians):
    out = [pose([0.3, -0.2, 1.0], [5, -3, 1])]
    for a, b in zip(poses[:-1], poses[1:]):
        out.append(out[-1] @ np.linalg.inv(a) @ b @ pose(RNG.normal(0, radians, 3), RNG.normal(0, metres, 3)))
    return np.array(out)


def angle(R):
    # as the devkit of KITTI, but exact near 0
    s = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return np.arctan2(np.linalg.norm(s), np.trace(R) - 1)


def umeyama(x, y):
    """R, t of the least squares y = R x + t: Umeyama 1991, without scale."""
    mx, my = x.mean(0), y.mean(0)
    U, _, Vt = np.linalg.svd((y - my).T @ (x - mx))
    S = np.diag([1, 1, np.sign(np.linalg.det(U) * np.linalg.det(Vt))])
    R = U @ S @ Vt
    return R, my - R @ mx


def motion_error(E, T, i, j):
    error = np.linalg.inv(np.linalg.inv(T[i]) @ T[j]) @ (np.linalg.inv(E[i]) @ E[j])
    return np.linalg.norm(error[:3, 3]), angle(error[:3, :3])


def rms(values):
    return np.sqrt(np.mean(np.square(values), axis=0)) if len(values) else [np.nan, np.nan]


def reference(E, T, times):
    """All figures by the definitions: the path is the true one, and errors are those of poses that both have."""
    true = np.isfinite(T).all((1, 2))
    E, T, times = E[true], T[true], times[true]
    there = np.isfinite(E).all((1, 2))
    out = {'poses': there.sum(), 'missing': (~there).sum()}
    x, y = E[there, :3, 3], T[there, :3, 3]
    R, t = umeyama(x, y)
    off = np.linalg.norm(x @ R.T + t - y, axis=1)
    out |= {'ate_rmse': np.sqrt(np.mean(off**2)), 'ate_mean': off.mean(), 'ate_median': np.median(off),
            'ate_max': off.max()}
    way = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(T[:, :3, 3], axis=0), axis=1))])
    out['length'] = way[-1]
    n = len(E)
    out['rpe_translation'], out['rpe_rotation'] = rms([motion_error(E, T, i, i + 1) for i in range(n - 1) if there[i] and there[i + 1]])
    second = []
    for i in np.flatnonzero(there):
        later = np.flatnonzero(there & (times >= times[i] + 1 - 1e-6))
        if len(later) and times[later[0]] - times[i] <= 1.5:
            second.append(motion_error(E, T, i, later[0]))
    out['rpe_second_translation'], out['rpe_second_rotation'] = rms(second)
    out['rpe_second_count'] = len(second)
    out['segments'] = []
    for lengths, step, name in ((np.arange(100, 900, 100), 10, 'segment'), ((5, 10, 20, 50), 1, 'short')):
        every = []
        for length in lengths:
            errors = []
            for i in range(0, n, step):
                last = np.flatnonzero(way > way[i] + length)
                if len(last) and there[i] and there[last[0]] and (name == 'segment' or way[-1] < 800):
                    errors.append(np.array(motion_error(E, T, i, last[0])) / length)
            every += errors
            out['segments'].append((length, len(errors), *(np.mean(errors, 0) if errors else (np.nan, np.nan))))
        mean = np.mean(every, 0) if every else (np.nan, np.nan)
        out[name + '_translation'], out[name + '_rotation'] = mean
    return out


def near(what, got, expected):
    got = np.nan if got is None else got
    check(np.isclose(got, expected, rtol=1e-6, atol=1e-9, equal_nan=True), what, f'{got}, NumPy says {expected}')


def compare(what, got, expected):
    for name, value in expected.items():
        if name != 'segments':
            near(f'{what}: {name}', got[name], value)
    check(len(got['segments']) == len(expected['segments']), f'{what}: segments')
    for g, (length, count, translation, turn) in zip(got['segments'], expected['segments']):
        check(g['length'] == length and g['count'] == count, f'{what}: segments of {length} m',
              f'{g}, NumPy counts {count}')
        near(f'{what}: translation over {length} m', g['translation'], translation)
        near(f'{what}: rotation over {length} m', g['rotation'], turn)


def quaternion(R):
    """x y z w from the eigenvector of the largest eigenvalue (Bar-Itzhack 2000)."""
    K = np.array([[R[0, 0] - R[1, 1] - R[2, 2], R[1, 0] + R[0, 1], R[2, 0] + R[0, 2], R[2, 1] - R[1, 2]],
                  [R[1, 0] + R[0, 1], R[1, 1] - R[0, 0] - R[2, 2], R[2, 1] + R[1, 2], R[0, 2] - R[2, 0]],
                  [R[2, 0] + R[0, 2], R[2, 1] + R[1, 2], R[2, 2] - R[0, 0] - R[1, 1], R[1, 0] - R[0, 1]],
                  [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], np.trace(R)]]) / 3
    return np.linalg.eigh(K)[1][:, -1]


def write(path, poses, form, times):
    with open(path, 'w') as file:
        for T, time in zip(poses, times):
            lost = not np.isfinite(T).all()
            if form == 'tum':
                values = [] if lost else [time, *T[:3, 3], *quaternion(T[:3, :3])]
                if lost:
                    file.write(f'# lost {float(time)!r}\n')
                    continue
            else:
                values = T[:3].ravel() if form == 'kitti' else T.ravel()
            file.write(' '.join(repr(float(v)) for v in values) + '\n')


def evaluate(folder, *options):
    result = common.run('evaluate', folder / 'e.txt', '--ground-truth', folder / 't.txt', '--json', '-',
                        *options)
    return json.loads(result.stdout)['evaluation']


def test_figures(folder):
    cases = [('a long path', walk(1300, 0.8, 0.02), 0.01, 0.001), ('a short one', walk(150, 0.4, 0.05), 0.02, 0.002),
             ('two poses', walk(2, 1.0, 0.0), 0.1, 0.01), ('a straight line', walk(60, 1.0, 0.0), 0.02, 0.0)]
    for what, truth, metres, radians in cases:
        estimate = disturbed(truth, metres, radians)
        times = np.arange(len(truth)) / 10
        write(folder / 't.txt', truth, 'kitti', times)
        write(folder / 'e.txt', estimate, 'matrix', times)
        compare(what, evaluate(folder), reference(estimate, truth, times))
        compare(f'{what}, 4 a second', evaluate(folder, '--rate', '4'), reference(estimate, truth, times * 2.5))
    passed('the figures of whole trajectories')


def test_missing(folder):
    truth = walk(400, 0.8, 0.03)
    estimate = disturbed(truth, 0.02, 0.002)
    for i in (0, 7, 8, 9, 150, *range(200, 240), 399):
        estimate[i] = np.nan
    times = np.arange(len(truth)) / 10 + RNG.uniform(-0.02, 0.02, len(truth))
    expected = reference(estimate, truth, times)
    np.savetxt(folder / 'times.txt', times, fmt='%.17g')
    for form in ('kitti', 'matrix', 'tum'):
        write(folder / 't.txt', truth, 'kitti', times)
        write(folder / 'e.txt', estimate, form, times)
        options = [] if form == 'tum' else ['--timestamps', folder / 'times.txt']
        compare(f'poses missing, {form}', evaluate(folder, *options), expected)
    # the truth by its times, in another order of lines than the estimate's: more of them, and a little off
    shifted = np.repeat(times, 2) + np.tile([0.005, 0.045], len(times))
    order = np.argsort(shifted)
    doubled = np.repeat(truth, 2, axis=0)
    doubled[1::2] = pose([0, 0, 1], [100, 0, 0])
    write(folder / 't.txt', doubled[order], 'tum', shifted[order])
    write(folder / 'e.txt', estimate, 'tum', times)
    got = evaluate(folder)
    nearest = np.abs(shifted[order][None, :] - times[:, None]).argmin(1)
    matched = doubled[order][nearest]
    matched[np.abs(shifted[order][nearest] - times) > 0.02] = np.nan
    compare('matched by time', got, reference(estimate, matched, times))
    passed('missing poses, and poses matched by their times')


def test_calibration(folder):
    truth = walk(120, 1.0, 0.05)
    extrinsic = pose([0.5, -1.2, 0.7], [0.1, 0.2, -0.3])
    camera = extrinsic @ truth @ np.linalg.inv(extrinsic)
    estimate = disturbed(truth, 0.02, 0.002)
    times = np.arange(len(truth)) / 10
    write(folder / 't.txt', camera, 'kitti', times)
    write(folder / 'e.txt', estimate, 'kitti', times)
    text = ' '.join(repr(float(v)) for v in extrinsic[:3].ravel())
    (folder / 'calib.txt').write_text(f'P0: 1 2 3\nTr: {text}\n')
    (folder / 'T.txt').write_text(text + '\n')
    for name in ('calib.txt', 'T.txt'):
        compare(name, evaluate(folder, '--calibration', folder / name), reference(estimate, truth, times))
    passed('the truth of another sensor')


def registrations(folder, code, *options):
    """The registrations of each scan of a drive, and the error of its poses in metres."""
    common.run('odometry', '-q', '-f', folder / 'scans', '--deskew', 'none', '--beam-correction', '0', '--trajectory', folder / 'found.txt',
               '--trajectory-format', 'matrix', '--json', folder / 'found.json', *options, code=code)
    frames = [json.loads(line) for line in (folder / 'found.json').read_text().splitlines()]
    poses = np.loadtxt(folder / 'found.txt').reshape(-1, 4, 4)
    return [common.find(f, 'attempts') for f in frames if common.find(f, 'attempts') is not None], poses


def write_scans(folder, points, poses):
    for i, T in enumerate(poses):
        moved = np.column_stack([(points[:, :3] - T[:3, 3]) @ T[:3, :3], points[:, 3]])
        common.write_bin(folder / f'scans/{i:02}.bin', moved.astype('<f4'))


def test_guess(folder):
    """Steps that no constant velocity predicts: the motion from elsewhere does, in any world, off by some centimetres."""
    points = common.read_bin(common.testdata('street.bin')).astype(float)
    truth = [pose([0, 0, yaw], [x, y, 0]) for yaw, x, y in ((0, 0, 0), (2.5, 12, 0), (-2, -9, 14), (1.5, 13, 8), (-2.9, -22, 1))]
    (folder / 'scans').mkdir()
    write_scans(folder, points, truth)
    world = pose([.1, -.2, 1.2], [100, -40, 7])
    guess = disturbed([world @ T for T in truth], .05, .01)
    stamps = 1.7e9 + .1 * np.arange(5)
    (folder / 'stamps.txt').write_text(''.join(f'{t:.9f}\n' for t in stamps))
    write(folder / 'kitti.txt', guess, 'kitti', stamps)
    write(folder / 'tum.txt', [guess[0], *guess, guess[-1]], 'tum', [stamps[0] - 9, *stamps, stamps[-1] + 9])
    timed = ('--timestamps', folder / 'stamps.txt', '--guess')
    attempts, poses = registrations(folder, 0)
    check(max(attempts) > 2, 'the drive needs a guess', attempts)
    for options in (('--guess', folder / 'kitti.txt'), (*timed, folder / 'tum.txt'), ('--reference', 'previous', '--guess', folder / 'kitti.txt')):
        attempts, poses = registrations(folder, 0, *options)
        check(attempts == [0, 1, 1, 1, 1], 'each scan is found from the guess', attempts)
        check(np.abs(poses - truth).max() < 2e-3, 'the scans decide', np.abs(poses - truth).max())
    few = common.run('odometry', folder / 'scans', '--guess', folder / 'stamps.txt', code=1).stderr
    check(b'stamps.txt:1: give lines of' in few, 'times are no poses', few)
    (folder / 'one.txt').write_text('1 0 0 0 0 1 0 0 0 0 1 0\n')
    few = common.run('odometry', folder / 'scans', '--guess', folder / 'one.txt', code=1).stderr
    check(b'1 poses for 5 inputs' in few, 'a pose per input', few)
    (folder / 'other.txt').write_text('1 0 0 0 0 0 0 1\n2 0 0 0 0 0 0 1\n')
    other = common.run('odometry', folder / 'scans', *timed, folder / 'other.txt', code=1).stderr
    check(b'in one clock' in other, 'clocks', other)
    # Each scan in the middle of 40 m at constant velocity.
    ends = [T @ pose([0, 0, 0], [x, 0, 0]) for T in truth for x in (-20, 20)]
    write(folder / 'between.txt', ends, 'tum', np.repeat(stamps, 2) + np.tile([-.02, .02], 5))
    attempts, poses = registrations(folder, 0, *timed, folder / 'between.txt')
    check(attempts == [0, 1, 1, 1, 1], 'each scan is found between the poses of the guess', attempts)
    passed('a motion from elsewhere')


def aligned(x, y, sigma):
    """The rotation and translation of least distances of y and x, in which the z axis is up: reweighted, 50 times."""
    off = np.ones(len(x))
    for _ in range(50):
        w = 1 / (sigma**2 * np.maximum(off, 1))
        w /= w.sum()
        mx, my = w @ x, w @ y
        S = ((y - my) * w[:, None]).T @ (x - mx)
        S[2, 2] += max(1 / np.sum(w / sigma**2), w @ sigma**2, 1e-4 * (w @ np.sum((x - mx)**2, 1))) / .03
        U, _, Vt = np.linalg.svd(S)
        R = U @ np.diag([1, 1, np.sign(np.linalg.det(U @ Vt))]) @ Vt
        off = np.linalg.norm((x - mx) @ R.T + my - y, axis=1) / sigma
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, my - R @ mx
    return T


def twice_sine(R):
    """2 sin(angle / 2) along the axis."""
    s = np.stack([R[..., i, j] - R[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0))], -1)
    return s / np.sqrt(1 + np.trace(R, axis1=-2, axis2=-1))[..., None]


def anchored(odometry, start, lever, at, measured, sigma, T, voxel):
    """The pose graph of positions of the points `lever`, dense and with numeric derivatives, from the poses `start`; T: the alignment."""
    L = pose([0, 0, 0], lever)
    A = T @ odometry @ L
    path = np.linalg.norm(np.diff(odometry[:, :3, 3], axis=0), axis=1)
    Z = np.linalg.inv(np.linalg.inv(A[:-1]) @ A[1:])
    turn = np.sqrt(2e-5**2 + 2.5e-4**2 * path / (4 * voxel))[:, None]
    step = np.sqrt((.004 * voxel)**2 + .02**2 * voxel * path)[:, None]
    first = np.linalg.inv(A[:1])
    A = start @ L

    def residual(A, w):
        E = Z @ np.linalg.inv(A[..., :-1, :, :]) @ A[..., 1:, :, :]
        d = (A[..., :3, 3][..., at, :] - measured) / sigma[:, None]
        w = 81 / (9 + np.sum(d**2, 1))**2 if w is None else w
        parts = (twice_sine(E[..., :3, :3]) / turn, E[..., :3, 3] / step, d * np.sqrt(w)[:, None],
                 twice_sine((first @ A[..., :1, :, :])[..., :3, :3]) / .1)
        return w, np.concatenate([part.reshape(*A.shape[:-3], -1) for part in parts], -1)

    def nudged(A, sign):
        """Copies of A, in each of which one of six numbers of one pose differs."""
        copies = np.tile(A, (6 * len(A), 1, 1, 1))
        steps = np.array([pose(u[:3], u[3:]) for u in sign * 1e-6 * np.eye(6)])
        copies[np.arange(6 * len(A)), np.repeat(np.arange(len(A)), 6)] = (A[:, None] @ steps).reshape(-1, 4, 4)
        return copies

    def moved(A, v):
        return A @ np.array([pose(u[:3], u[3:]) for u in v.reshape(-1, 6)])

    for _ in range(300):
        w, r = residual(A, None)
        J = (residual(nudged(A, 1), w)[1] - residual(nudged(A, -1), w)[1]).T / 2e-6
        v = np.linalg.solve(J.T @ J, -J.T @ r)
        A = moved(A, v)
        if np.abs(v).max() < 1e-9:
            break
    return A @ np.linalg.inv(L)


def earth_centred(latitude, longitude, height):
    a, b = 6378137, 6378137 * (1 - 1 / 298.257223563)
    p, l = np.radians(latitude), np.radians(longitude)
    n = a**2 / np.hypot(a * np.cos(p), b * np.sin(p))
    return np.stack([(n + height) * np.cos(p) * np.cos(l), (n + height) * np.cos(p) * np.sin(l), (n * (b / a)**2 + height) * np.sin(p)], -1)


def east_north_up(points, origin):
    p, l = np.radians(origin[:2])
    axes = np.array([[-np.sin(l), np.cos(l), 0], [-np.sin(p) * np.cos(l), -np.sin(p) * np.sin(l), np.cos(p)],
                     [np.cos(p) * np.cos(l), np.cos(p) * np.sin(l), np.sin(p)]])
    return (earth_centred(*points.T) - earth_centred(*origin)) @ axes.T


def geodetic(metres, origin):
    """Latitude, longitude, height of points east, north, up of the origin."""
    v = np.tile(origin, (len(metres), 1))
    for _ in range(8):
        off = metres - east_north_up(v, origin)
        v += np.stack([np.degrees(off[:, 1] / 6.37e6), np.degrees(off[:, 0] / 6.37e6 / np.cos(np.radians(origin[0]))), off[:, 2]], 1)
    return v


def test_prior(folder):
    """Odometry that drifts by 2 % and turns too much, and positions of an antenna, of which some are 20 m off, some are missing."""
    points = common.read_bin(common.testdata('street.bin')).astype(float)
    truth, drifts = [np.eye(4)], [np.eye(4)]
    for i in range(23):
        step = pose([0, 0, .1], [1.5, 0, 0])
        truth.append(truth[-1] @ step)
        drifts.append(drifts[-1] @ step @ pose([.0002, .0002, .0005], [.03, 0, .01]))
    truth, n = np.array(truth), 24
    for old in (folder / 'scans').glob('*'):
        old.unlink()
    write_scans(folder, points, drifts)
    stamps = 1.7e9 + .1 * np.arange(n)
    (folder / 'stamps.txt').write_text(''.join(f'{t:.9f}\n' for t in stamps))
    lever, origin = np.array([.5, -1, 1.2]), np.array([48.1, 11.6, 500.])
    world = pose([.05, -.03, 2], [30, -40, 7])
    clean = (world @ truth @ np.append(lever, 1))[:, :3]
    noisy = clean + RNG.normal(0, .1, (n, 3))
    noisy[9:11] += [14, 14, 3]
    given = ('--voxel-size', '.5', '--timestamps', folder / 'stamps.txt')
    prior = (*given, '--set', 'prior-antenna=' + ','.join(map(str, lever)), '--set', 'prior-sigma=.1', '--prior', folder / 'prior.csv')
    _, odometry = registrations(folder, 0, *given)

    def compare_prior(what, at, measured, sigma, to):
        _, poses = registrations(folder, 0, *prior)
        result = json.loads((folder / 'found.json').read_text().splitlines()[-1])['prior']
        x = (odometry @ np.append(lever, 1))[at, :3]
        T = aligned(x, measured, sigma)
        check(np.abs(T - np.reshape(result['T_prior_world'], (4, 4))).max() < 1e-6, f'{what}: the alignment', result['T_prior_world'])
        expected = anchored(odometry, to @ truth, lever, at, measured, sigma, T, .5)
        check(np.abs(poses - expected).max() < 1e-6, f'{what}: the poses', np.abs(poses - expected).max())
        check(result['converged'] and not result['line'] and result['positions'] == len(at), f'{what}: the result', result)
        off = np.linalg.norm(poses[:, :3, 3] - (world @ truth)[:, :3, 3], axis=1)
        return poses, off.max(), result

    before = np.linalg.norm(odometry[:, :3, 3] - truth[:, :3, 3], axis=1).max()
    every = np.arange(n)
    np.savetxt(folder / 'prior.csv', np.column_stack([stamps, noisy, np.tile([0, 0, 0, 1], (n, 1))]), fmt='%.17g')
    poses, most, result = compare_prior('TUM', every, noisy, np.full(n, .1), world)
    check(before > .5 and most < .2 and result['outliers'] == 2, 'the drift is gone', (before, most, result))
    same = registrations(folder, 0, *prior, '--threads', '3', '--loops')[1]
    check((poses == same).all(), 'the same bytes on three threads, with loops that find nothing')
    # In large coordinates, with a map, which is a LAS then.
    shift = np.array([500000, 5400000, 100])
    np.savetxt(folder / 'prior.csv', np.column_stack([stamps, noisy + shift]), fmt='%.17g')
    far = registrations(folder, 0, *prior, '-o', folder / 'map.ply')[1]
    check(np.abs(far[:, :3, 3] - shift - poses[:, :3, 3]).max() < 1e-7, 'the same far away')
    common.run('convert', folder / 'map.ply', '-o', folder / 'map.las')
    header = np.frombuffer((folder / 'map.las').read_bytes()[179:227], '<f8').reshape(3, 2)
    moved = points[:, :3] @ far[0, :3, :3].T + far[0, :3, 3]
    check(np.abs(header - np.stack([moved.max(0), moved.min(0)], 1)).max() < 1, 'the LAS is where the poses are', header)
    rough = noisy + np.where(every[:, None] % 4 == 0, RNG.choice([-20, 20], (n, 3)), 0)
    np.savetxt(folder / 'prior.csv', np.column_stack([stamps, rough]), fmt='%.17g')
    said = common.run('odometry', folder / 'scans', '--deskew', 'none', '--beam-correction', '0', *prior).stderr
    check(b'warning: 8 of 24 positions contradict the odometry' in said, 'many outliers', said)
    # The same in degrees, with milliseconds and a deviation for each, in a table.
    degrees = geodetic(noisy, origin)
    table = np.column_stack([stamps * 1e3, degrees, np.full(n, .1)])
    rows = [','.join(repr(float(v)) for v in row) for row in table]
    rows.insert(3, '1700000000250,,,,')
    (folder / 'prior.csv').write_text('Time [ms],field.latitude,LON,altitude,sigma\n' + '\n'.join(rows) + '\n')
    compare_prior('degrees', every, east_north_up(degrees, degrees[0]), np.full(n, .1), pose([0, 0, 0], -noisy[0]) @ world)
    # One for two scans, none for a while, and a scan before the first one.
    some = np.flatnonzero((every % 2 == 1) & ((every < 11) | (every > 17)))
    later = stamps[some] + .04
    rows = np.column_stack([(later - 1.7e9) * 1e9 + 1.7e18, np.array([np.interp(later, stamps, c) for c in noisy.T]).T])
    (folder / 'prior.csv').write_text('# stamp east north up\n' + '\n'.join(f'{r[0]:.0f} {r[1]!r} {r[2]!r} {r[3]!r}' for r in rows.tolist()))
    later = rows[:, 0] * 1e-9
    there = np.array([i for i in every if later[0] <= stamps[i] <= later[-1] and not later[4] < stamps[i] < later[5]])
    between = np.array([np.interp(stamps[there], later, c) for c in rows[:, 1:].T]).T
    compare_prior('sparse', there, between, np.full(len(there), .1 * np.sqrt(2)), world)
    passed('positions from elsewhere')


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        test_figures(folder)
        test_missing(folder)
        test_calibration(folder)
        test_guess(folder)
        test_prior(folder)
    common.finish()


if __name__ == '__main__':
    main()
