"""What networks for segmentation take: cylinder voxels (Cylinder3D), GridSample (Pointcept), range images (RangeNet++).

Cells are computed in NumPy as these packages do, and grouped by pcgpu.voxelize, whose voxels of size 1 hold whole numbers.
"""
import numpy as np

import pcgpu


def _group(cells, size, **params):
    """Voxels of cells (N, 3), whole numbers from 0 to size - 1."""
    if max(size) > 1 << 22:
        raise ValueError(f'{max(size)} cells on an axis; float32 holds 4194304: give larger cells, or crop the cloud')
    return pcgpu.voxelize(np.float32(cells) + np.float32(.5), 1, (0, 0, 0, *size), **params)


def cylinder_voxels(points, grid_size=(480, 360, 32), max_volume_space=(50, np.pi, 2), min_volume_space=(0, -np.pi, -4)):
    """Cylinder3D's cylinder_dataset with fixed_volume_space: points (N, 4) float32 x y z intensity -> grid_ind (N, 3) int64 of
    rho, phi, z, points beyond the space in its outermost cells; features (N, 9) float64: from the centre of the cell, rho, phi, z,
    x, y and intensity; and the Voxels of the cells: coords (V, 4) are 0, z, phi, rho, point_voxel (N,)."""
    xyz, low, high = points[:, :3], np.asarray(min_volume_space), np.asarray(max_volume_space)
    polar = np.stack((np.sqrt(xyz[:, 0] ** 2 + xyz[:, 1] ** 2), np.arctan2(xyz[:, 1], xyz[:, 0]), xyz[:, 2]), 1)
    intervals = (high - low) / (np.asarray(grid_size) - 1)
    grid_ind = np.floor((np.clip(polar, low, high) - low) / intervals).astype(np.int64)
    centers = (grid_ind.astype(np.float32) + 0.5) * intervals + low
    features = np.concatenate((polar - centers, polar, xyz[:, :2], points[:, 3:4]), 1)
    return grid_ind, features, _group(grid_ind, grid_size)


def grid_sample(coord, grid_size=0.05, mode='train'):
    """Pointcept's GridSample with hash_type='fnv': coord (N, 3) -> indices (V,) of a point per cell, chosen by np.random; with
    mode='test' a list of such arrays, which have all points; grid_coord (N, 3) and inverse (N,) int64, and min_coord (1, 3).

    Cells are floor(coord / grid_size) in float64, as there with NumPy 2. There, the order in a cell is that of an unstable
    sort; here, it is that of the points."""
    grid_coord = np.floor(np.float64(coord) / np.float64(grid_size)).astype(np.int64)
    least = grid_coord.min(0)
    grid_coord -= least
    voxels = _group(grid_coord, grid_coord.max(0) + 1)
    key = np.full(len(voxels), 14695981039346656037, np.uint64)
    for axis in (3, 2, 1):
        key = (key * np.uint64(1099511628211)) ^ voxels.coords[:, axis].astype(np.uint64)
    by_key = np.argsort(key)
    rank = np.empty(len(key), np.int64)
    rank[by_key] = np.arange(len(key))
    inverse, count = rank[voxels.point_voxel], voxels.counts[by_key]
    by_cell, begin = np.argsort(inverse, kind='stable'), np.cumsum(count) - count
    if mode == 'test':
        found = [by_cell[begin + i % count] for i in range(count.max())]
    else:
        found = by_cell[begin + np.random.randint(0, count.max(), count.size) % count]
    return found, grid_coord, inverse, (least * np.float64(grid_size)).reshape(1, 3)


def range_image(points, H=64, W=2048, fov_up=3.0, fov_down=-25.0):
    """RangeNet++'s LaserScan: points (N, 4) float32 x y z remission -> range (H, W), xyz (H, W, 3), remission (H, W) and index
    (H, W) int32 of the nearest point, the first of equally near ones; -1 where there is none; and the pixels of the points, x
    and y (N,) int32. Points at (0, 0, 0) have no pixel there; leave them out."""
    up, down = fov_up / 180.0 * np.pi, fov_down / 180.0 * np.pi
    fov = abs(down) + abs(up)
    depth = np.linalg.norm(points[:, :3], 2, axis=1)
    x = 0.5 * (-np.arctan2(points[:, 1], points[:, 0]) / np.pi + 1.0) * W
    y = (1.0 - (np.arcsin(points[:, 2] / depth) + abs(down)) / fov) * H
    x, y = (np.clip(np.floor(at), 0, most - 1).astype(np.int32) for at, most in ((x, W), (y, H)))
    nearest = np.argsort(depth, kind='stable')
    voxels = _group(np.stack((x, y, 0 * x), 1)[nearest], (W, H, 1), features='first')
    index = np.full((H, W), -1, np.int32)
    index[voxels.coords[:, 2], voxels.coords[:, 3]] = nearest[voxels.selected]
    rows = np.where(index[..., None] < 0, np.float32(-1), np.c_[points[:, :4], depth].astype(np.float32)[index])
    return rows[..., 4], rows[..., :3], rows[..., 3], index, x, y
