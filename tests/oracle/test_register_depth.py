"""pcgpu register of depth images: against a NumPy implementation in float64, and against transforms that are known."""
import numpy as np

from common import (SOURCE, check, data, finish, part_skipped, passed, read_json, run, scratch, write_pgm)

COSINE, NOISE, NOISE_SQUARE = .9, .0007, .0019


# ---- the method, written from the manual page ------------------------------------------------------------------------

class Camera:
    def __init__(self, fx, fy, cx, cy, scale=1000., low=0., high=np.inf):
        self.fx, self.fy, self.cx, self.cy, self.scale, self.low, self.high = fx, fy, cx, cy, scale, low, high

    def half(self):
        return Camera(self.fx / 2, self.fy / 2, self.cx / 2 - .25, self.cy / 2 - .25)

    def option(self):
        text = f'{self.fx},{self.fy},{self.cx},{self.cy},depth_scale={self.scale},min_depth={self.low}'
        return text + (f',max_depth={self.high}' if np.isfinite(self.high) else '')

    def rays(self, shape):
        v, u = np.mgrid[0:shape[0], 0:shape[1]]
        return np.stack([(u - self.cx) / self.fx, (v - self.cy) / self.fy, np.ones(shape)], -1)


def metres(depth, camera):
    z = depth / camera.scale
    return np.where((depth > 0) & (depth < 65535) & (z >= camera.low) & (z <= camera.high), z, 0)


def edge_of(camera, level):
    """What is across a depth edge, as a share of the depth."""
    return np.clip(2.6 * 2 * (2 if level == 0 else 1) / camera.fx, .01, .25)


def halve(z, edge):
    h, w = z.shape[0] // 2 * 2, z.shape[1] // 2 * 2
    four = np.stack([z[i:h:2, j:w:2] for i in (0, 1) for j in (0, 1)])
    low = np.where(four > 0, four, np.inf).min(0)
    near = (four > 0) & (four <= low * (1 + edge))
    return np.where(near, four, 0).sum(0) / np.maximum(near.sum(0), 1)


def planes(z, camera, level):
    """Vertices and normals, NaN for none, by a 3x3 system of least squares a pixel."""
    step, edge, r = (2 if level == 0 else 1), edge_of(camera, level), 2
    padded = np.pad(z, r * step)
    ata, atb = np.zeros((*z.shape, 3, 3)), np.zeros((*z.shape, 3))
    inverse = 1 / np.where(z > 0, z, 1)
    for j in range(-r, r + 1):
        for i in range(-r, r + 1):
            y, x = (r + j) * step, (r + i) * step
            there = padded[y:y + z.shape[0], x:x + z.shape[1]]
            near = (np.abs(there - z) <= edge * z) & (z > 0)
            row = np.array([i, j, 1.])
            ata += near[..., None, None] * np.outer(row, row)
            atb += np.where(near, 1 / np.where(there > 0, there, 1) - inverse, 0)[..., None] * row
    n = ata[..., 2, 2]
    mean = ata[..., :2, 2] / np.maximum(n, 1)[..., None]
    spread = ata[..., :2, :2] - n[..., None, None] * mean[..., :, None] * mean[..., None, :]
    good = (n >= 13) & (np.linalg.det(spread) > 100)
    solution = np.full((*z.shape, 3), np.nan)
    solution[good] = np.linalg.solve(ata[good], atb[good][..., None])[..., 0]
    inverse = inverse + solution[..., 2]
    vertices = camera.rays(z.shape) / inverse[..., None]
    v, u = np.mgrid[0:z.shape[0], 0:z.shape[1]]
    a, b = solution[..., 0] / step, solution[..., 1] / step  # 1 / z a column and a row
    normals = -np.stack([a * camera.fx, b * camera.fy, inverse - a * (u - camera.cx) - b * (v - camera.cy)], -1)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    vertices[~(inverse > 0)] = np.nan
    return vertices, normals


def pyramid(depth, camera, levels):
    z, out = metres(depth, camera) if depth.dtype == np.uint16 else depth, []
    for level in range(levels):
        out.append((*planes(z, camera, level), camera))
        z, camera = halve(z, edge_of(camera, level)), camera.half()
    return out


def spread(points, w):
    """The weighted centroid, and what makes a rotation about it move points as far as a translation."""
    center = (points * w[:, None]).sum(0) / w.sum()
    x, y, z = np.sqrt((w[:, None] * (points - center) ** 2).sum(0) / w.sum())
    return center, np.array([1 / np.hypot(y, z), 1 / np.hypot(x, z), 1 / np.hypot(x, y), 1, 1, 1])


def step(T, source, target, gate, scale):
    """One Gauss-Newton step; the new transform and what it was found from."""
    ps, ns = (a.reshape(-1, 3) for a in source[:2])
    ok = np.isfinite(ps[:, 0])
    ps, ns = ps[ok] @ T[:3, :3].T + T[:3, 3], ns[ok] @ T[:3, :3].T
    vertices, normals, camera = target
    with np.errstate(all='ignore'):
        u = np.floor(camera.fx * ps[:, 0] / ps[:, 2] + camera.cx + .5)
        v = np.floor(camera.fy * ps[:, 1] / ps[:, 2] + camera.cy + .5)
    inside = (ps[:, 2] > 0) & (u >= 0) & (v >= 0) & (u < vertices.shape[1]) & (v < vertices.shape[0])
    ps, ns, u, v = ps[inside], ns[inside], u[inside].astype(int), v[inside].astype(int)
    q, n = vertices[v, u], normals[v, u]
    d = ps - q
    landed = np.isfinite(q[:, 0]).sum()
    with np.errstate(all='ignore'):
        match = ((d * d).sum(1) <= gate * gate) & ((n * ns).sum(1) >= COSINE)
    ps, q, n, d, ns = ps[match], q[match], n[match], d[match], ns[match]
    r = (n * d).sum(1)
    sigma = NOISE + NOISE_SQUARE * q[:, 2] ** 2
    kernel = (1 / (1 + (r / (scale * sigma)) ** 2)) ** 2
    w = kernel * (NOISE / sigma) ** 2
    every = vertices[np.isfinite(vertices[..., 0])]
    center, unit = spread(every, np.ones(len(every)))
    J = np.concatenate([np.cross(ps - center, n), n], 1) * unit
    # what is unconstrained, in the scale of the pixels with the weights of their noise
    seen, scale_of = spread(every, (NOISE / (NOISE + NOISE_SQUARE * every[:, 2] ** 2)) ** 2)
    S = np.concatenate([np.cross(ps - seen, n), n], 1) * scale_of
    K = np.concatenate([np.cross(ps - seen, ns), ns], 1) * scale_of
    scene = (S * w[:, None]).T @ K
    scene, vectors = np.linalg.eigh((scene + scene.T) / 2 / np.trace(scene[3:, 3:]))
    A = (J * w[:, None]).T @ J
    A += 1e-3 * np.trace(A) / 6 * np.eye(6)
    x = -np.linalg.solve(A, (J * w[:, None]).T @ r) * unit
    qw, qv = 1 / np.sqrt(1 + x[:3] @ x[:3] / 4), x[:3] / 2 / np.sqrt(1 + x[:3] @ x[:3] / 4)
    cross = np.array([[0, -qv[2], qv[1]], [qv[2], 0, -qv[0]], [-qv[1], qv[0], 0]])
    R = np.eye(3) + 2 * qw * cross + 2 * cross @ cross
    out = np.eye(4)
    out[:3, :3] = R @ T[:3, :3]
    out[:3, 3] = R @ (T[:3, 3] - center) + center + x[3:]
    told = {'inliers': len(r), 'eigenvalues': np.maximum(scene, 0), 'weakest': vectors[:, 0],
            'one': (S * w[:, None]).T @ S / w.sum(), 'source_points': int(ok.sum()), 'target_points': len(every),
            'plane_rmse': np.sqrt((r * r).mean()), 'agreement': kernel.sum() / landed,
            'score': score_of(len(r) / landed, kernel.sum() / landed), 'length': np.linalg.norm(x[3:]), 'angle': np.linalg.norm(x[:3])}
    return out, told


def score_of(matched, agreement):
    return agreement * min(1, matched * matched / agreement) ** 4


def follow(source, target, iterations=(4, 5, 10), gate=.4):
    T, told = np.eye(4), None
    for i, most in enumerate(iterations):
        level = len(iterations) - 1 - i
        for _ in range(most):
            T, told = step(T, source[level], target[level], gate / 2 ** i, 2. ** level)
            if max(told['length'], told['angle']) <= 1e-5 * 4. ** level:
                break
    return T, told


# ---- scenes ----------------------------------------------------------------------------------------------------------

def corner(pose, camera, width, height):
    """Depth images of a corner of a room with a ball in it; camera-to-world pose."""
    rays = camera.rays((height, width)) @ pose[:3, :3].T
    origin, best = pose[:3, 3], np.full((height, width), np.inf)
    for axis, at in ((0, 2.), (1, 1.2), (2, 3.)):
        with np.errstate(all='ignore'):
            t = (at - origin[axis]) / rays[..., axis]
        best = np.where((t > 0) & (t < best), t, best)
    for center, radius in (((.3, .4, 2.), .5), ((1.2, -.3, 2.2), .35), ((-.7, 0, 2.6), .3)):
        to = origin - np.array(center)
        a, b, c = (rays ** 2).sum(-1), rays @ to, to @ to - radius ** 2
        inside = b * b - a * c
        t = (-b - np.sqrt(np.maximum(inside, 0))) / a
        best = np.where((inside > 0) & (t > 0) & (t < best), t, best)
    return np.rint(np.minimum(best, 60) * camera.scale).astype(np.uint16)


def turn(axis, degrees, shift):
    axis = np.array(axis) / np.linalg.norm(axis)
    K, angle = np.cross(np.eye(3), -axis), np.radians(degrees)
    T = np.eye(4)
    T[:3, :3] = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    T[:3, 3] = shift
    return T


def rigid_error(T, truth):
    """Millimetres and degrees between two rigid transforms."""
    delta = np.linalg.inv(truth) @ T
    return 1000 * np.linalg.norm(delta[:3, 3]), np.degrees(np.linalg.norm(delta[:3, :3] - np.eye(3)) / np.sqrt(2))


def register(folder, source, target, *options, code=0):
    run('register', source, target, '--json', folder / 'r.json', '-f', *options, code=code)
    result = read_json(folder / 'r.json')['result']
    return np.array(result['T_target_source'], float).reshape(4, 4), result


# ---- tests -----------------------------------------------------------------------------------------------------------

def one_step(folder, name, a, b, camera, level_option=('--set', 'levels=1', '--set', 'level-iterations=1')):
    """A single step at the finest level, and all that is told of it."""
    write_pgm(folder / 'a.pgm', a)
    write_pgm(folder / 'b.pgm', b)
    T, result = register(folder, folder / 'a.pgm', folder / 'b.pgm', '--camera', camera.option(), '--min-score', 0,
                         *level_option, code=None)
    source, target = pyramid(a, camera, 1)[0], pyramid(b, camera, 1)[0]
    wanted, told = step(np.eye(4), source, target, .4, 1.)
    moved, one = max(told['length'], told['angle']), told['one']
    told = step(wanted, source, target, .4, 1.)[1]  # at the result
    values = np.array(result['eigenvalues'])
    check(np.allclose(values, told['eigenvalues'], rtol=2e-2, atol=1e-4), f'{name}: eigenvalues',
          (values, told['eigenvalues']))
    held = told['eigenvalues'][0]
    held -= .5 * max(0, told['weakest'] @ one @ told['weakest'] - held)
    if abs(held / 4e-3 - 1) > .1:
        check(result['degenerate'] == (held < 4e-3), f'{name}: unconstrained', (result['degenerate'], held))
    for key in ('source_points', 'target_points', 'inliers'):
        check(abs(result[key] - told[key]) <= 2 + 2e-4 * told[key], f'{name}: {key}', (result[key], told[key]))
    for key in ('plane_rmse', 'agreement', 'score'):
        check(abs(result[key] - told[key]) <= 1e-3 * told[key] + 1e-7, f'{name}: {key}', (result[key], told[key]))
    difference = np.abs(T - wanted).max()
    check(difference <= 1e-6 + 5e-3 * moved, f'{name}: the step', f'{difference} of {moved}')
    return told['inliers']


def test_steps(folder):
    random = np.random.default_rng(3)
    camera = Camera(131.25, 129., 79.5, 60.25)
    a = corner(turn((1, 2, 3), 1.2, (.02, -.01, .015)), camera, 160, 120)
    b = corner(np.eye(4), camera, 160, 120)
    check(one_step(folder, 'a corner', a, b, camera) > 10000, 'the corner matches')
    for case in range(6):
        width, height = random.integers(30, 131, 2)
        near = Camera(*random.uniform(60, 160, 2), width / 2., height / 2., random.choice([1000., 5000.]), .5, 8.)
        a = corner(turn(random.normal(size=3), 1, random.normal(size=3) / 100), near, width, height)
        b = corner(np.eye(4), near, width, height)
        for image in (a, b):
            image[random.random(image.shape) < .05 * case] = 0
            image[random.random(image.shape) < .01 * case] = 65535
            image += random.integers(0, 1 + 2 * case, image.shape).astype(np.uint16)
        one_step(folder, f'noise and holes {case}', a, b, near)
    passed('one step against NumPy: planes, association, weights and the solution')


def test_path(folder):
    camera = Camera(262.5, 262.5, 159.5, 119.5)
    truth = turn((1, -2, .5), 2.5, (.04, -.02, .05))
    a, b = corner(truth, camera, 320, 240), corner(np.eye(4), camera, 320, 240)
    write_pgm(folder / 'a.pgm', a)
    write_pgm(folder / 'b.pgm', b)
    wanted, _ = follow(pyramid(a, camera, 3), pyramid(b, camera, 3))
    T, result = register(folder, folder / 'a.pgm', folder / 'b.pgm', '--camera', camera.option())
    apart, off = rigid_error(T, wanted), rigid_error(T, truth)
    check(apart[0] < .02 and apart[1] < .001, 'all levels against NumPy', apart)
    check(off[0] < .3 and off[1] < .01, 'the corner', off)
    check(result['converged'] and not result['degenerate'], 'the corner', result['reason'])
    deviation = 1000 * np.sqrt(np.trace(np.array(result['covariance']).reshape(6, 6)[3:, 3:]))
    check(.01 * off[0] < deviation < 10 * off[0] + .1, 'the standard deviation', (deviation, off))
    passed(f'three levels against NumPy: {apart[0]:.4f} mm apart; {off[0]:.3f} mm, {off[1]:.4f} degree off the truth')


def test_bilateral(folder):
    """The filter through what a step makes of it."""
    camera, sigma = Camera(60., 60., 31.5, 23.5), .03
    a, b = corner(turn((1, 2, 3), 1, (.01, 0, .01)), camera, 64, 48), corner(np.eye(4), camera, 64, 48)
    random = np.random.default_rng(8)

    def smooth(depth):
        out, R = np.zeros(depth.shape), 6
        for v, u in np.argwhere(depth > 0):
            rows, columns = slice(max(v - R, 0), v + R + 1), slice(max(u - R, 0), u + R + 1)
            d = depth[rows, columns].astype(float)
            y, x = np.mgrid[rows, columns][:, :d.shape[0], :d.shape[1]]
            apart = np.abs(d - depth[v, u]) / camera.scale
            w = np.exp(-((y - v) ** 2 + (x - u) ** 2) / (2 * 4.5 ** 2)) * np.exp(-(apart / sigma) ** 2 / 2)
            w[(d == 0) | (apart > 3 * sigma + 1e-9)] = 0
            out[v, u] = (w * d).sum() / w.sum() / camera.scale
        return out
    for image in (a, b):
        image += random.integers(0, 12, image.shape).astype(np.uint16)
        image[random.random(image.shape) < .1] = 0
    write_pgm(folder / 'a.pgm', a)
    write_pgm(folder / 'b.pgm', b)
    source, target = (pyramid(smooth(image), camera, 1)[0] for image in (a, b))
    wanted, _ = step(np.eye(4), source, target, .4, 1.)
    _, told = step(wanted, source, target, .4, 1.)
    options = ('--camera', camera.option(), '--min-score', 0, '--set', 'levels=1', '--set', 'level-iterations=1')
    T, result = register(folder, folder / 'a.pgm', folder / 'b.pgm', *options, '--set', f'bilateral={sigma}', code=None)
    plain, _ = register(folder, folder / 'a.pgm', folder / 'b.pgm', *options, code=None)
    check(abs(result['inliers'] - told['inliers']) <= 5, 'filtered: inliers', (result['inliers'], told['inliers']))
    check(np.abs(T - wanted).max() < 2e-5 < np.abs(plain - wanted).max(), 'a filtered step', np.abs(T - wanted).max())
    passed('the bilateral filter against NumPy')


def test_cameras(folder):
    """Another camera for the target, and what a start does for a jump."""
    one, two = Camera(262.5, 262.5, 159.5, 119.5), Camera(300., 310., 170., 140., 5000.)
    truth = turn((0, 1, .3), 1.5, (.03, .01, -.02))
    write_pgm(folder / 'a.pgm', corner(truth, one, 320, 240))
    write_pgm(folder / 'b.pgm', corner(np.eye(4), two, 352, 272))
    T, _ = register(folder, folder / 'a.pgm', folder / 'b.pgm', '--camera', one.option(), '--set',
                    f'target-camera={two.option()}')
    off = rigid_error(T, truth)
    check(off[0] < .5 and off[1] < .03, 'two cameras', off)
    back, _ = register(folder, folder / 'b.pgm', folder / 'a.pgm', '--camera', two.option(), '--set',
                       f'target-camera={one.option()}')
    apart = rigid_error(np.linalg.inv(back), T)
    check(apart[0] < .5 and apart[1] < .03, 'there and back', apart)
    outcomes = []
    for degrees in (7, 9, 30):
        truth = turn((.2, 1, 0), degrees, (.05, 0, .02))
        write_pgm(folder / 'a.pgm', corner(truth, one, 320, 240))
        write_pgm(folder / 'b.pgm', corner(np.eye(4), one, 320, 240))
        T, result = register(folder, folder / 'a.pgm', folder / 'b.pgm', '--camera', one.option(), code=None)
        off = rigid_error(T, truth)
        check(off[0] < 1 if result['converged'] else result['reason'], f'a jump of {degrees} degrees', off)
        outcomes.append(result['converged'])
    check(outcomes[0] and not outcomes[2], 'what can be found without a start', outcomes)
    np.savetxt(folder / 'start.txt', truth @ turn((1, 0, 1), 2, (.02, .02, 0)), fmt='%.9f')
    T, result = register(folder, folder / 'a.pgm', folder / 'b.pgm', '--camera', one.option(), '--init',
                         folder / 'start.txt', '--min-score', .1, code=None)
    check(rigid_error(T, truth)[0] < 2, 'a jump of 30 degrees with a start', rigid_error(T, truth))
    passed('two cameras; jumps of 7 and 9 degrees, and of 30 with a start')


def sequence(folder, name, config, frames, poses, limits):
    off = []
    for i in range(1, len(frames)):
        T, result = register(folder, frames[i], frames[i - 1], '--config', config)
        check(result['converged'], f'{name} {i}', result['reason'])
        off.append(rigid_error(T, np.linalg.inv(poses[i - 1]) @ poses[i]))
    median, rms = np.median(off, 0), np.sqrt(np.mean(np.square(off), 0))
    check(median[0] <= limits[0] and median[1] <= limits[1] and rms[0] <= limits[2], name, (median, rms))
    passed(f'{name}: median {median[0]:.3f} mm, {median[1]:.4f} degree; rms {rms[0]:.3f} mm')


def test_truth(folder):
    for name, limits in (('room', (.15, .005, .2)), ('room_kinect', (.3, .01, .3))):
        place = SOURCE / 'testdata' / name
        poses = [np.vstack([row.reshape(3, 4), [0, 0, 0, 1]]) for row in np.loadtxt(place / 'poses_kitti.txt')]
        sequence(folder, name, place / 'camera.yaml', sorted(place.glob('frame-*.png')), poses, limits)
    if data('depth_livingroom/gt_trajectory_frames0-4.log'):
        lines = data('depth_livingroom/gt_trajectory_frames0-4.log').read_text().split('\n')
        poses = [np.array([list(map(float, lines[5 * i + k].split())) for k in range(1, 5)]) for i in range(5)]
        frames = [data(f'depth_livingroom/{i:05}.png') for i in range(5)]
        sequence(folder, 'living room', SOURCE / 'configs/livingroom.yaml', frames, poses, (.1, .003, .1))
    else:
        part_skipped('living room', 'no real data')
    if data('depth_7scenes/frame-000000.depth.png'):
        frames = [data(f'depth_7scenes/frame-{i:06}.depth.png') for i in range(20)]
        poses = [np.loadtxt(data(f'depth_7scenes/frame-{i:06}.pose.txt')) for i in range(20)]
        sequence(folder, '7-Scenes', SOURCE / 'configs/7scenes.yaml', frames, poses, (2., .1, 2.))
    else:
        part_skipped('7-Scenes', 'no real data')


with scratch() as scratch_folder:
    test_steps(scratch_folder)
    test_path(scratch_folder)
    test_bilateral(scratch_folder)
    test_cameras(scratch_folder)
    test_truth(scratch_folder)
finish()
