"""What OpenPCDet and mmdetection3d hand to their voxel encoders, written down for NumPy from their definitions.

OpenPCDet: DatasetTemplate.prepare_data (points in float32), DataProcessor (mask_points_and_boxes_outside_range, then
transform_points_to_voxels by spconv's Point2VoxelCPU3d, or its placeholder), DatasetTemplate.collate_batch (the number in
the batch before coordinates and points).

mmdetection3d: Det3DDataPreprocessor.voxelize with hard_voxelize and dynamic_voxelize of mmcv."""
import numpy as np

f32 = np.float32


def grid_of(low, high, size):
    """np.round((high - low) / size) with the range in float32 and the size in float64."""
    return np.round((np.array(high, f32) - np.array(low, f32)) / np.array(size)).astype(np.int64)


def voxels_of(low, high, size):
    """Of the loops of spconv and mmcv: std::round of float32, halves go up."""
    return np.floor((np.array(high, f32) - np.array(low, f32)) / np.array(size, f32) + f32(.5)).astype(np.int64)


def mask_by_range(points, low, high):
    """common_utils.mask_points_by_range: x and y alone, both ends included."""
    low, high = np.array(low, f32), np.array(high, f32)
    inside = np.ones(len(points), bool)
    with np.errstate(invalid='ignore'):
        for axis in (0, 1):
            inside &= (points[:, axis] >= low[axis]) & (points[:, axis] <= high[axis])
    return points[inside]


def point_to_voxel(points, low, high, size, max_points, max_voxels):
    """One point after the other, as the loop of spconv and of mmcv: voxels, coordinates z y x, points per voxel."""
    low, size, grid = np.array(low, f32), np.array(size, f32), voxels_of(low, high, size)
    voxels = np.zeros((max_voxels, max_points, points.shape[1]), f32)
    coords, counts, number = np.zeros((max_voxels, 3), np.int32), np.zeros(max_voxels, np.int32), {}
    for point in points:
        cell = np.floor((point[:3] - low) / size)
        if not ((cell >= 0) & (cell < grid)).all():
            continue
        key = tuple(int(c) for c in cell[::-1])
        if key not in number:
            if len(number) == max_voxels:
                continue
            coords[len(number)] = key
            number[key] = len(number)
        v = number[key]
        if counts[v] < max_points:
            voxels[v, counts[v]] = point
            counts[v] += 1
    n = len(number)
    return voxels[:n], coords[:n], counts[:n]


def pad_batch(rows, number):
    return np.pad(rows, ((0, 0), (1, 0)), constant_values=number)


def openpcdet_voxels(clouds, low, high, size, max_points, max_voxels):
    """MeanVFE and PillarVFE: the collated voxels, voxel_coords and voxel_num_points."""
    parts = [point_to_voxel(mask_by_range(p, low, high), low, high, size, max_points, max_voxels) for p in clouds]
    return {'voxels': np.concatenate([p[0] for p in parts]),
            'voxel_coords': np.concatenate([pad_batch(p[1], i) for i, p in enumerate(parts)]),
            'voxel_num_points': np.concatenate([p[2] for p in parts])}


def openpcdet_points(clouds, low, high):
    """The dynamic encoders: the collated points."""
    return {'points': np.concatenate([pad_batch(mask_by_range(p, low, high), i) for i, p in enumerate(clouds)])}


def mmdet3d_voxels(clouds, low, high, size, max_points, max_voxels):
    """voxel_type hard: voxels, coors and num_points."""
    parts = [point_to_voxel(p, low, high, size, max_points, max_voxels) for p in clouds]
    return {'voxels': np.concatenate([p[0] for p in parts]),
            'coors': np.concatenate([pad_batch(p[1], i) for i, p in enumerate(parts)]),
            'num_points': np.concatenate([p[2] for p in parts])}


def mmdet3d_points(clouds, low, high, size):
    """voxel_type dynamic: a voxel for each point, -1 out of range, where the encoders skip it."""
    voxels, coors = [], []
    for i, points in enumerate(clouds):
        cell = np.floor((points[:, :3] - np.array(low, f32)) / np.array(size, f32))
        inside = ((cell >= 0) & (cell < voxels_of(low, high, size))).all(axis=1)
        voxels.append(points[inside])
        coors.append(pad_batch(cell[inside][:, ::-1].astype(np.int32), i))
    return {'voxels': np.concatenate(voxels), 'coors': np.concatenate(coors)}


def mean_vfe(voxels, counts):
    return voxels.sum(axis=1) / np.maximum(counts, 1).astype(f32)[:, None]


def dynamic_groups(points, low, high, size, axes):
    """Which points share a voxel of DynMeanVFE (three axes) or a pillar of DynPillarVFE (two)."""
    axes = list(axes)
    cell = np.floor((points[:, [1 + a for a in axes]] - np.array(low, f32)[axes]) / np.array(size, f32)[axes])
    inside = ((cell >= 0) & (cell < grid_of(low, high, size)[axes])).all(axis=1)
    return points[inside], np.unique(np.hstack([points[inside, :1], cell[inside]]), axis=0, return_inverse=True)[1].ravel()
