"""Models of depth images against NumPy: a dense volume in float64, written from the definition, and its surface."""
import numpy as np

from common import check, finish, passed, read_json, read_ply, run, scratch, write_pgm, write_rgb

WIDTH, HEIGHT, FX, FY, CX, CY, SCALE = 60, 44, 70.0, 66.0, 29.2, 22.1, 8000.0
VOXEL, TRUNCATION, MOST = 0.01, 0.035, 100.0
FIRST, LAST = np.array([-45, -45, 20]), np.array([45, 45, 95])  # voxels of the dense volume


def turn(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i] = R[j, j] = c
    R[i, j], R[j, i] = -s, s
    return R


POSES = [(np.eye(3), np.zeros(3)),
         (turn(1, .12) @ turn(0, -.05), np.array([-.06, .01, .02])),
         (turn(2, .4) @ turn(0, .1), np.array([.02, .05, -.03]))]


def frame(number):
    """A wavy surface with a step, and a hole; what it is in the world does not matter."""
    v, u = np.mgrid[0:HEIGHT, 0:WIDTH].astype(float)
    z = .62 + .05 * np.sin(u / 9 + number) + .04 * np.cos(v / 7) - .002 * u + .001 * number * v
    z[10:22, 30:45] -= .13
    z[30:34, 12:20] = 0
    return np.round(z * SCALE).astype(np.uint16)


def look_up(depth, x, y, z):
    """The depth seen at points of the camera's frame: NaN outside of it and where none is; and the squared cosine."""
    with np.errstate(all='ignore'):
        inverse = np.where(depth > 0, SCALE / depth.astype(float), np.nan)
        u, v = FX * x / z + CX, FY * y / z + CY
        inside = (z > 0) & (u >= 0) & (u <= WIDTH - 1) & (v >= 0) & (v <= HEIGHT - 1)
        u, v = np.where(inside, u, 0), np.where(inside, v, 0)
        u0, v0 = u.astype(int), v.astype(int)
        u1, v1 = np.minimum(u0 + 1, WIDTH - 1), np.minimum(v0 + 1, HEIGHT - 1)
        a, b = u - u0, v - v0
        corners = np.stack([inverse[v0, u0], inverse[v0, u1], inverse[v1, u0], inverse[v1, u1]])
        left, right = (1 - b) * corners[0] + b * corners[2], (1 - b) * corners[1] + b * corners[3]
        upper, lower = (1 - a) * corners[0] + a * corners[1], (1 - a) * corners[2] + a * corners[3]
        between = (1 - a) * left + a * right
        spread = 1 / corners.min(0) - 1 / corners.max(0)  # NaN when one is missing
        smooth = spread <= TRUNCATION
        nearest = inverse[np.where(b < .5, v0, v1), np.where(a < .5, u0, u1)]
        slope = ((FX * (right - left)) ** 2 + (FY * (lower - upper)) ** 2) / between ** 2
        seen = np.where(inside, np.where(smooth, between, nearest), np.nan)
        # Where four depths are about a truncation apart, or two pixels about as near, float32 may decide otherwise.
        half = (abs(a - .5) < 1e-4) | (abs(b - .5) < 1e-4)
        unsure = inside & ((abs(spread - TRUNCATION) < 1e-6) | (~smooth & half))
        return 1 / seen, np.where(smooth, 1 / (1 + slope), .05), unsure


def color_frame(number):
    """Colours that change by some levels per pixel, so that a pixel beside is seen."""
    v, u = np.mgrid[0:HEIGHT, 0:WIDTH]
    return np.stack([3 * u + 10 * number, 5 * v, 250 - 2 * u - 2 * v], -1).astype(np.uint8)


def shade(image, x, y, z, smooth):
    """The colours that points of the camera's frame project to: between four pixels, or of the nearest one."""
    with np.errstate(all='ignore'):
        u, v = (np.nan_to_num(np.clip(c, 0, size - 1)) for c, size in ((FX * x / z + CX, WIDTH), (FY * y / z + CY, HEIGHT)))
    u0, v0 = u.astype(int), v.astype(int)
    u1, v1 = np.minimum(u0 + 1, WIDTH - 1), np.minimum(v0 + 1, HEIGHT - 1)
    a, b = (u - u0)[..., None], (v - v0)[..., None]
    c = image.astype(float)
    between = (1 - b) * ((1 - a) * c[v0, u0] + a * c[v0, u1]) + b * ((1 - a) * c[v1, u0] + a * c[v1, u1])
    nearest = c[np.where(b[..., 0] < .5, v0, v1), np.where(a[..., 0] < .5, u0, u1)]
    return np.where(smooth[..., None], between, nearest)


def touched(depth, R, t):
    """Whether the block of each voxel of the dense volume is on the ray of a pixel near its depth."""
    v, u = np.nonzero(depth)
    z = depth[v, u] / SCALE
    ray = np.stack([(u - CX) / FX, (v - CY) / FY, np.ones(len(u))], 1)
    half = TRUNCATION / np.linalg.norm(ray, axis=1)
    blocks = np.zeros(LAST // 8 - FIRST // 8 + 1, bool)
    for share in np.linspace(-1, 1, 401):
        at = np.floor(((z + share * half)[:, None] * ray @ R.T + t) / (8 * VOXEL)).astype(int) - FIRST // 8
        at = at[np.all((at >= 0) & (at < blocks.shape), 1)]
        blocks[tuple(at.T)] = True
    index = np.ix_(*[np.arange(FIRST[k], LAST[k] + 1) // 8 - FIRST[k] // 8 for k in range(3)])
    return blocks[index]


def fuse(frames, images):
    axes = [np.arange(FIRST[k], LAST[k] + 1) * VOXEL for k in range(3)]
    p = np.stack(np.meshgrid(*axes, indexing='ij'), -1)
    mean, weight, unsure = np.full(p.shape[:3], np.nan), np.zeros(p.shape[:3]), np.zeros(p.shape[:3], bool)
    color, color_weight = np.zeros(p.shape), np.zeros(p.shape[:3])
    there = np.zeros(p.shape[:3], bool)  # what comes before a block does not count for it
    for (R, t), depth, image in zip(POSES, frames, images):
        there |= touched(depth, R, t)
        x, y, z = np.moveaxis((p - t) @ R, -1, 0)  # R' (p - t)
        with np.errstate(all='ignore'):
            seen, facing, doubtful = look_up(depth, x, y, z)
            along = (seen - z) * np.sqrt((x / z) ** 2 + (y / z) ** 2 + 1)
            here = there & (along >= -TRUNCATION)
            unsure |= doubtful | (abs(along + TRUNCATION) < 1e-6)
            w = facing / seen ** 2
            new = (np.where(weight > 0, mean, 0) * weight + np.minimum(along, TRUNCATION) * w) / (weight + w)
            mean, weight = np.where(here, new, mean), np.where(here, np.minimum(weight + w, MOST), weight)
            painted = here & (abs(mean) < TRUNCATION) & (along <= TRUNCATION)
            unsure |= abs(along - TRUNCATION) < 1e-6
            share = (w / (color_weight + w))[..., None]
            now = shade(image, x, y, z, facing != .05)
            color = np.where(painted[..., None], color + share * (now - color), color)
            color_weight = np.where(painted, color_weight + w, color_weight)
    return mean, unsure, color, color_weight


def vertex_color(color, weight, axis, place, share):
    """The colour on the edge from a voxel to the next one on an axis."""
    other = tuple(p + (k == axis) for k, p in enumerate(place))
    share = 1. if weight[place] == 0 else 0. if weight[other] == 0 else share
    return color[place] + share * (color[other] - color[place])


def crossings(mean):
    """Of each axis: the edges with a vertex, and the share of the edge where it is."""
    good = mean < .999 * TRUNCATION  # NaN is not
    cell = np.ones(np.array(mean.shape) - 1, bool)
    for i in range(8):
        cell &= good[tuple(slice(i >> k & 1, mean.shape[k] - 1 + (i >> k & 1)) for k in range(3))]
    padded = np.zeros(np.array(mean.shape) + 1, bool)
    padded[1:-1, 1:-1, 1:-1] = cell  # cell (i, j, k) at [i + 1, j + 1, k + 1]
    for axis in range(3):
        a = np.take(mean, range(mean.shape[axis] - 1), axis)
        b = np.take(mean, range(1, mean.shape[axis]), axis)
        supported = np.zeros(a.shape, bool)
        for i in range(4):
            start = [1, 1, 1]
            start[(axis + 1) % 3] -= i & 1
            start[(axis + 2) % 3] -= i >> 1
            supported |= padded[tuple(slice(start[k], start[k] + a.shape[k]) for k in range(3))]
        with np.errstate(all='ignore'):
            yield axis, ((a < 0) != (b < 0)) & supported, np.clip(a / (a - b), 1 / 1024, 1 - 1 / 1024)


def test_surface(folder):
    frames, images = [frame(i) for i in range(len(POSES))], [color_frame(i) for i in range(len(POSES))]
    names = []
    (folder / 'colors').mkdir()
    for i, depth in enumerate(frames):
        names.append(folder / f'{i}.pgm')
        write_pgm(names[-1], depth)
        write_rgb(folder / 'colors' / f'{i}.png', images[i])
    (folder / 'poses.txt').write_text('\n'.join(
        ' '.join(f'{v:.17g}' for v in np.hstack([R, t[:, None]]).ravel()) for R, t in POSES))
    run('fuse', '--camera', f'{FX},{FY},{CX},{CY},depth_scale={SCALE:g}', '--voxel-size', VOXEL, '--set',
        f'truncation={TRUNCATION}', '--poses', folder / 'poses.txt', *names, '--color', folder / 'colors', '-o', folder / 'model.ply', '--json', folder / 'model.json')
    cloud = read_ply(folder / 'model.ply')
    got = np.stack([cloud[k] for k in 'xyz'], 1).astype(float) / VOXEL
    check(read_json(folder / 'model.json')['result']['frames'] == len(POSES), 'frames')

    # A vertex lies on an edge between two voxels: on lattice planes of two axes, between those of the third.
    off = abs(got - np.round(got))
    axis = off.argmax(1)
    check(np.all(np.sort(off, 1)[:, 1] < 1e-4), 'vertices lie on edges', np.sort(off, 1)[:, 1].max())
    voxel = np.round(got).astype(int)
    rows = np.arange(len(got))
    voxel[rows, axis] = np.floor(got[rows, axis])
    told = {(a, *v): (s, i) for a, v, s, i in zip(axis, map(tuple, voxel), got[rows, axis] - voxel[rows, axis], rows)}
    check(len(told) == len(got), 'no vertex is there twice')

    mean, unsure, color, color_weight = fuse(frames, images)
    levels, worst_level = np.stack([cloud[k] for k in ('red', 'green', 'blue')], 1).astype(float), 0.
    wanted = found = 0
    worst = 0.0
    seen = np.zeros(len(got), bool)
    for axis, where, share in crossings(mean):
        for place in np.argwhere(where):
            wanted += 1
            at = told.get((axis, *(place + FIRST)))
            around = unsure[tuple(slice(max(p - 2, 0), p + 3) for p in place)]
            if at is not None:
                found += 1
                seen[at[1]] = True
                if not around.any():
                    worst = max(worst, abs(at[0] - share[tuple(place)]))
                    expected = vertex_color(color, color_weight, axis, tuple(place), share[tuple(place)])
                    worst_level = max(worst_level, abs(levels[at[1]] - expected).max())
    check(wanted > 3000, 'the surface', wanted)
    # Samples of rays miss blocks of which only a corner is cut, and float32 may see a zero from the other side.
    check(found > .998 * wanted, 'vertices of NumPy that the model has', f'{found} of {wanted}')
    check(seen.sum() > .999 * len(got), 'vertices of the model that NumPy has', f'{seen.sum()} of {len(got)}')
    check(worst < 2e-3, 'places on edges, in voxels', worst)
    check(worst_level < .6, 'colours, in levels', worst_level)  # half a level of rounding, and that of the voxels
    passed(f'{len(got)} vertices of a model of {len(POSES)} images, {found} of NumPy\'s {wanted}, '
           f'to {worst:.2g} voxels and {worst_level:.2g} levels')


with scratch() as here:
    test_surface(here)
finish()
