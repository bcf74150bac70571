"""The oracles against brute force: loops over single points, on clouds small enough to loop over."""
import fractions
import math

import numpy as np

import oracle
from common import check, equal, finish

f32 = np.float32


def distance2(a, b):
    d = [x - y for x, y in zip(a[:3], b[:3])]
    return (d[0] * d[0] + d[1] * d[1]) + d[2] * d[2]


def brute_farthest(points, count, start):
    picks, distances = [start], [math.inf]
    while len(picks) < count:
        best, best_distance = None, None
        for i, p in enumerate(points):
            if i in picks or not np.isfinite(p[:3]).all():
                continue
            d = min(distance2(p, points[k]) for k in picks)
            if best is None or d > best_distance:
                best, best_distance = i, d
        picks.append(best)
        distances.append(np.sqrt(best_distance))
    return np.array(picks, np.int32), np.array(distances, f32)


def brute_voxelize(points, low, high, size, max_points, max_voxels):
    cells = [round((high[k] - low[k]) / size[k]) for k in range(3)]
    voxels, point_voxel = {}, []
    for row, p in enumerate(points):
        point_voxel.append(-1)
        if not np.isfinite(p[:3]).all():
            continue
        c = tuple(int(math.floor((p[k] - f32(low[k])) / f32(size[k]))) for k in range(3))
        if any(not 0 <= c[k] < cells[k] for k in range(3)):
            continue
        if c not in voxels:
            if max_voxels and len(voxels) == max_voxels:
                continue
            voxels[c] = []
        if not max_points or len(voxels[c]) < max_points:
            voxels[c].append(row)
            point_voxel[row] = list(voxels).index(c)
    return voxels, np.array(point_voxel, np.int32)


def brute_mean(points, rows, max_points):
    mean = []
    for column in range(points.shape[1]):
        if max_points:
            total = f32(0)
            for r in rows:
                total = f32(total + points[r, column])
            mean.append(f32(total / f32(len(rows))))
        else:  # a fraction becomes a float64 by one rounding
            total = sum(fractions.Fraction(float(points[r, column])) for r in rows)
            mean.append(f32(np.float64(float(total)) / np.float64(len(rows))))
    return mean


def brute_features(points, cell, rows, low, size, max_points, features):
    mean = brute_mean(points, rows, max_points)
    if features == 'mean':
        return mean
    if features == 'first':
        return points[rows[0]]
    if features == 'nearest':
        return points[min(rows, key=lambda r: (distance2(points[r], mean), r))]
    if features == 'points':
        return [points[r] for r in rows]
    center = [(f32(cell[k]) + f32(0.5)) * f32(size[k]) + f32(low[k]) for k in range(3)]
    return [[*points[r, :4], *(points[r, k] - mean[k] for k in range(3)), *(points[r, k] - center[k] for k in range(3))]
            for r in rows]


def test_farthest(rng):
    for grid in (0, 3):  # a small whole-number grid has ties and duplicates
        points = rng.normal(size=(60, 4)).astype(f32)
        points = np.round(points) if grid else points
        points[[7, 20], [0, 2]] = np.nan, np.inf
        expected = brute_farthest(points, 58, 5)
        got = oracle.farthest(points, 58, 5)
        equal(f'farthest indices, grid {grid}', got[0], expected[0])
        equal(f'farthest distances, grid {grid}', got[1], expected[1])
        near = oracle.farthest(points, 58, 5, min_distance=1.0)
        wanted = int(np.argmax(expected[1] < 1)) or 58
        equal(f'min_distance, grid {grid}', near[0], expected[0][:wanted])
    points = np.array([[0, 0, 0, 1], [4, 0, 0, 1], [0, 0, 0, 2], [1, 0, 0, 1]], f32)
    equal('drop_origin', oracle.farthest(points, 2, 3, drop_origin=True)[0], np.array([3, 1], np.int32))
    check(oracle.center_start(points) == 1, 'center_start')


def test_voxelize(rng):
    low, high, size = (-2, -2, -1), (2, 2, 1), (0.7, 0.5, 1.0)
    points = rng.normal(size=(300, 5)).astype(f32)
    points[::3] = np.round(points[::3])  # points on voxel edges, duplicates
    points[[9, 40], [1, 0]] = np.nan, -np.inf
    for max_points, max_voxels in ((0, 0), (3, 0), (2, 20), (0, 11)):
        voxels, point_voxel = brute_voxelize(points, low, high, size, max_points, max_voxels)
        for features in ('mean', 'points', 'pillar', 'first', 'nearest'):
            got = oracle.voxelize(points, low, high, size, max_points, max_voxels, features)
            label = f'{features}, {max_points} points, {max_voxels} voxels'
            equal(f'point_voxel, {label}', got.point_voxel, point_voxel)
            equal(f'coords, {label}', got.coords, np.array([[0, *c[::-1]] for c in voxels], np.int32))
            equal(f'counts, {label}', got.counts, np.array([len(r) for r in voxels.values()], np.int32))
            expected = np.zeros_like(got.features)
            for i, (cell, rows) in enumerate(voxels.items()):
                values = brute_features(points, cell, rows, low, size, max_points, features)
                if got.features.ndim == 3:
                    expected[i, :len(rows)] = values
                else:
                    expected[i] = values
            equal(f'features, {label}', got.features, expected)
            check(got.in_range == got.kept + got.over_points + got.over_voxels, f'sum of counts, {label}')


test_farthest(np.random.default_rng(1))
test_voxelize(np.random.default_rng(2))
finish()
