"""What pcgpu must answer, in plain NumPy, so that a reader can hold each line against lib/pcgpu.h.

Everything is float32 unless a line says float64. A cloud is a rows x columns float32 array with x y z first.
"""
import math
import types

import numpy as np

f32 = np.float32


def usable(points, drop_origin=False):
    """Records that take part: finite coordinates, and not exactly (0,0,0) when drop_origin."""
    keep = np.isfinite(points[:, :3]).all(axis=1)
    if drop_origin:
        keep &= (points[:, :3] != 0).any(axis=1)
    return np.flatnonzero(keep)


def squared_distance(x, y, z, px, py, pz):
    with np.errstate(over='ignore'):
        dx, dy, dz = x - px, y - py, z - pz
        return (dx * dx + dy * dy) + dz * dz


def farthest(points, count, start=0, min_distance=0, drop_origin=False, seeds=()):
    """Farthest point sampling: int32 record indices in pick order, float32 distances of each pick to those before.
    Seeds are records that count as picked before."""
    rows = usable(points, drop_origin)
    x, y, z = np.ascontiguousarray(points[rows, :3].T)
    nearest = np.full(len(rows), np.inf, f32)
    pick, squared = np.searchsorted(rows, start), f32(np.inf)
    for pick in np.searchsorted(rows, seeds):
        nearest = np.minimum(nearest, squared_distance(x, y, z, x[pick], y[pick], z[pick]))
        nearest[pick] = -1
    if len(seeds):
        pick = np.argmax(nearest)
        squared = nearest[pick]
    picks, found = [], []
    for _ in range(min(count, len(rows) - len(seeds))):
        if np.sqrt(squared) < f32(min_distance):
            break
        picks.append(pick)
        found.append(squared)
        nearest = np.minimum(nearest, squared_distance(x, y, z, x[pick], y[pick], z[pick]))
        nearest[pick] = -1  # below every squared distance: never picked again
        pick = np.argmax(nearest)  # the lowest index on ties
        squared = nearest[pick]
    return rows[picks].astype(np.int32), np.sqrt(np.array(found, f32))


def coverage(points, sample, drop_origin=False):
    """The largest distance of a usable point to a sample, given as records: float32."""
    x, y, z = np.ascontiguousarray(points[usable(points, drop_origin), :3].T)
    nearest = np.full(len(x), np.inf, f32)
    for record in sample:
        nearest = np.minimum(nearest, squared_distance(x, y, z, *points[record, :3]))
    return np.sqrt(nearest.max())


def center_start(points, drop_origin=False):
    """The record farthest from the centroid, which is the float64 mean in index order, rounded to float32."""
    rows = usable(points, drop_origin)
    xyz = points[rows, :3]
    total = np.add.accumulate(xyz.astype(np.float64), axis=0)[-1]  # one after the other, unlike np.sum
    return rows[np.argmax(squared_distance(*xyz.T, *(total / len(rows)).astype(f32)))]


def exact_sum(values):
    """The sum of float32 values, exact and then rounded once to float64; NaN and infinities as one addition has them."""
    bad = values[~np.isfinite(values)]
    if len(bad):
        with np.errstate(invalid='ignore'):
            return bad.sum(dtype=np.float64)
    return math.fsum(values)


def group_mean(values, group, groups, max_points):
    """Mean of the rows of each group: summed in index order in float32, or exactly when max_points is 0."""
    counts = np.bincount(group, minlength=groups)
    if max_points:
        sums = np.zeros((groups, values.shape[1]), f32)
        np.add.at(sums, group, values)  # one row after the other
        return sums / counts.astype(f32)[:, None]
    order = np.argsort(group, kind='stable')
    parts = np.split(values[order].astype(np.float64), np.cumsum(counts)[:-1])[:groups]
    sums = np.array([[exact_sum(column) for column in part.T] for part in parts]).reshape(groups, values.shape[1])
    return (sums / counts[:, None]).astype(f32)


def voxelize(points, low, high, size, max_points=0, max_voxels=0, features='mean', drop_origin=False):
    """First come, first served. Returns a namespace with the arrays and counts of pcgpu_voxels."""
    low, high, size = np.array(low, f32), np.array(high, f32), np.array(size, f32)
    cells = np.floor((high - low) / size + f32(0.5))  # halves go up
    xyz = points[:, :3]
    with np.errstate(invalid='ignore', over='ignore'):
        cell = np.floor((xyz - low) / size)
        inside = ((cell >= 0) & (cell < cells)).all(axis=1)  # as spconv: the cell alone decides
    if drop_origin:
        inside &= (xyz != 0).any(axis=1)
    rows = np.flatnonzero(inside)
    cell = cell[rows].astype(np.int64)

    key = (cell[:, 2] * int(cells[1]) + cell[:, 1]) * int(cells[0]) + cell[:, 0]
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first)] = np.arange(len(first))  # by their first point
    voxel = number[inverse.ravel()]
    first = np.sort(first)

    order = np.argsort(voxel, kind='stable')
    begin = np.searchsorted(voxel[order], np.arange(len(first)))
    place = np.empty(len(rows), np.int64)  # of a point in its voxel
    place[order] = np.arange(len(rows)) - begin[voxel[order]]

    v = types.SimpleNamespace(voxels_found=len(first), in_range=len(rows), count=len(first))
    if max_voxels:
        v.count = min(v.count, max_voxels)
    in_voxel = voxel < v.count
    kept = in_voxel & (place < max_points) if max_points else in_voxel
    v.kept = int(kept.sum())
    v.over_voxels = int((~in_voxel).sum())
    v.over_points = v.in_range - v.kept - v.over_voxels
    v.largest = int(np.bincount(voxel).max()) if len(rows) else 0

    v.coords = np.zeros((v.count, 4), np.int32)
    v.coords[:, 1:] = cell[first[:v.count], ::-1]
    v.point_voxel = np.full(len(points), -1, np.int32)
    v.point_voxel[rows[kept]] = voxel[kept]
    v.counts = np.bincount(voxel[kept], minlength=v.count).astype(np.int32)
    v.features = voxel_features(features, v, points[rows[kept]], voxel[kept], place[kept], low, size, max_points)
    return v


def majority(classes, voxel, count, highest=False):
    """The most frequent class of each voxel, the lowest (or highest) on ties."""
    pairs, votes = np.unique(np.stack([voxel, classes.astype(np.int64)]), axis=1, return_counts=True)
    best = np.lexsort((pairs[1] if highest else -pairs[1], votes, pairs[0]))  # the last of each voxel has most votes
    out = np.zeros(count, classes.dtype)
    out[pairs[0][best]] = pairs[1][best]
    return out


def voxel_features(features, v, values, voxel, place, low, size, max_points):
    mean = group_mean(values, voxel, v.count, max_points)
    if features == 'mean':
        return mean
    if features == 'first':
        return values[place == 0][np.argsort(voxel[place == 0])]
    if features == 'nearest':
        distance = squared_distance(*values[:, :3].T, *mean[voxel, :3].T)
        order = np.lexsort((place, distance, voxel))  # by voxel, then distance, then index
        return values[order][np.searchsorted(voxel[order], np.arange(v.count))]
    if features == 'pillar':
        center = (v.coords[:, :0:-1].astype(f32) + f32(0.5)) * size + low
        strength = values[:, 3:4] if values.shape[1] > 3 else np.zeros((len(values), 1), f32)
        xyz = values[:, :3]
        values = np.hstack([xyz, strength, xyz - mean[voxel, :3], xyz - center[voxel]])
    capacity = max_points or int(v.counts.max(initial=1))
    out = np.zeros((v.count, capacity, values.shape[1]), f32)
    out[voxel, place] = values
    return out
