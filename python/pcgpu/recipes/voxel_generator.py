"""Voxels in the call of spconv: in a data pipeline, import PointToVoxel from here instead of from spconv.utils.

The arrays are those of spconv's CPU class, in its order: first come, first served; the cell of a point is
floor((p - range min) / size) in float32; voxels beyond the limit and points beyond the limit of a voxel are dropped.
"""
import numpy as np
import pcgpu


class PointToVoxel:
    """spconv.pytorch.utils.PointToVoxel, for NumPy arrays and torch tensors on the CPU."""

    def __init__(self, vsize_xyz, coors_range_xyz, num_point_features, max_num_voxels, max_num_points_per_voxel,
                 device=None):
        self.vsize, self.coors_range = list(vsize_xyz), list(coors_range_xyz)
        self.num_point_features = num_point_features
        self.limits = {'max_points': max_num_points_per_voxel, 'max_voxels': max_num_voxels}
        low, high, size = (np.float32(v) for v in (self.coors_range[:3], self.coors_range[3:], self.vsize))
        self.grid_size = np.floor(((high - low) / size).astype('f8') + .5).astype(int)[::-1].tolist()  # z y x, as there

    def _voxelize(self, pc):
        return pcgpu.voxelize(pc[:, :self.num_point_features], self.vsize, self.coors_range, features='points',
                              **self.limits)

    def __call__(self, pc, clear_voxels=True, empty_mean=False):
        """pc (N, C) -> voxels (V, P, C), indices (V, 3) z y x, num_per_voxel (V,)."""
        return self.generate_voxel_with_id(pc, clear_voxels, empty_mean)[:3]

    def generate_voxel_with_id(self, pc, clear_voxels=True, empty_mean=False):
        """The same, and the voxel of each point (N,) int64, -1 = none."""
        v = self._voxelize(pc)
        voxels = v.features
        if empty_mean:  # the mean instead of zeros where a voxel has no point
            voxels = v.features.copy() if hasattr(v.features, 'copy') else v.features.clone()
            for k in range(voxels.shape[1]):
                lacks = v.counts <= k
                voxels[lacks, k] = v.features[lacks].sum(1) / v.counts[lacks, None]
        ids = v.point_voxel.astype('int64') if hasattr(v.point_voxel, 'astype') else v.point_voxel.long()
        return voxels, v.coords[:, 1:], v.counts, ids
