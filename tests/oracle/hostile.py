"""Seeded clouds that are hard on a voxelizer, and grids to go with them."""
import numpy as np

f32 = np.float32

# Lower corner, upper corner, size.
GRIDS = [
    ((-8, -8, -2), (8, 8, 2), (.5, .5, 1)),
    ((0, -39.68, -3), (69.12, 39.68, 1), (.16, .16, 4)),
    ((-20, -30.5, -9), (-10, -20, -8.2), (.1, .3, .07)),  # all negative
    ((0, 0, 0), (1, 1.05, .3), (.4, .3, .07)),  # cells that do not divide the range, 2.5 of them in x
    ((-5, -5, -5), (5, 5, 5), (10, 10, 10)),  # one cell
    ((-50, -50, -50), (50, 50, 50), (.1, .1, .1)),  # 10^9 cells
    ((-1024, -1024, -512), (1024, 1024, 512), (2 ** -10,) * 3),  # 2^62 cells, the most there may be
    ((0, 0, 0), (1 << 20, 1, 1), (1 / 16, 1, 1)),  # 2^24 in x, likewise
    ((1e6, 2e6, 300), (1e6 + 700, 2e6 + 700, 400), (.7, .7, .7)),  # coordinates near the end of float32's digits
]
VOXELS, LARGEST = 37, 9  # of a counted cloud


def shape(grid):
    """Lower corner, size and cells of a grid, in float32 as the program has them."""
    low, high, size = (np.array(values, f32) for values in grid)
    return low, high, size, np.floor((high - low) / size + f32(.5)).astype(np.int64)


def others(rng, xyz, columns):
    """Columns behind the coordinates: whole numbers, fractions, now and then what is no number at all."""
    more = rng.normal(size=(len(xyz), columns - 3)).astype(f32) * f32(50)
    more[::3] = np.round(more[::3])
    wild = rng.random(more.shape) < .01
    more[wild] = rng.choice(np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-40, -0.0], f32), wild.sum())
    return np.concatenate([xyz, more], axis=1)


def around(rng, grid, n):
    """In the range and a little outside."""
    low, high, _, _ = shape(grid)
    return (low + (rng.random((n, 3)) * 1.2 - .1) * (high - low)).astype(f32)


def faces(rng, grid, n):
    """Exactly on faces of cells, computed in float32 and in float64, and one ulp to each side; edges of the range among
    them."""
    low, high, size, cells = shape(grid)
    number = rng.integers(0, cells + 1, (n, 3))
    number[rng.random((n, 3)) < .2] = 0
    upper = rng.random((n, 3)) < .2
    number[upper] = np.broadcast_to(cells, (n, 3))[upper]
    single = low + number.astype(f32) * size
    double = (np.array(grid[0]) + number * np.array(grid[2])).astype(f32)
    xyz = np.where(rng.random((n, 3)) < .5, single, double)
    xyz = np.where(upper & (rng.random((n, 3)) < .5), high, xyz)
    step = rng.integers(-1, 2, (n, 3))
    return np.where(step, np.nextafter(xyz, np.where(step > 0, f32(np.inf), f32(-np.inf))), xyz)


def broken(rng, grid, n):
    """Coordinates that are no numbers, huge, tiny or minus zero."""
    xyz = around(rng, grid, n)
    wild = rng.random((n, 3)) < .2
    xyz[wild] = rng.choice(np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-40, -1e-40, -0.0], f32), wild.sum())
    return xyz


def one_voxel(rng, grid, n):
    """Everything in one cell, many points more than once."""
    low, _, size, cells = shape(grid)
    cell = rng.integers(0, cells)
    xyz = (low + (cell + .1 + .8 * rng.random((n, 3))) * size).astype(f32)
    return xyz[rng.integers(0, n, n)] if n else xyz


def lattice(rng, grid, n):
    """A few coordinates in all combinations: ties of distances, voxels that fill up again and again."""
    values = around(rng, grid, 5)
    return np.stack([rng.choice(values[:, k], n) for k in range(3)], axis=1)


def hostile(rng, grid, columns):
    kind = rng.choice([around, faces, faces, broken, one_voxel, lattice])
    n = int(rng.choice([0, 1, 2, 17, 256, 400, 700, 1100]))
    return others(rng, kind(rng, grid, n), columns)


def can_count(grid):
    """Enough cells, and each wide enough that float32 has points well inside."""
    low, high, size, cells = shape(grid)
    return cells.prod(dtype=float) > 10 * VOXELS and (size > 16 * np.spacing(np.maximum(abs(low), abs(high)))).all()


def counted(rng, grid, columns):
    """Exactly VOXELS voxels, the fullest with LARGEST points, in any order, and what is dropped before them."""
    low, high, size, cells = shape(grid)
    chosen = set()
    while len(chosen) < VOXELS:
        chosen.add(tuple(int(c) for c in rng.integers(0, cells)))
    counts = rng.integers(1, LARGEST + 1, VOXELS)
    counts[rng.integers(VOXELS)] = LARGEST
    cell = np.repeat(np.array(sorted(chosen)), counts, axis=0)
    inside = (low + (cell + .3 + .4 * rng.random(cell.shape)) * size).astype(f32)
    outside = around(rng, grid, 40)
    outside[:, 0] = rng.choice(np.array([np.nan, -np.inf, high[0], np.nextafter(low[0], f32(-np.inf))], f32), 40)
    xyz = np.concatenate([inside, outside])
    rng.shuffle(xyz)
    return others(rng, xyz, columns)
