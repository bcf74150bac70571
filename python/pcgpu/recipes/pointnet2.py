"""The operations of PointNet++ with the names, shapes and gradients of pointnet2_ops.pointnet2_utils (PyTorch).

    from pcgpu.recipes import pointnet2 as pointnet2_utils

Tensors on the CPU and on a GPU. Neighbours are exact, equal distances are in the order of the indices, and results have the
same bytes on both; gradients of one element that occurs several times are sums in the order of PyTorch's index operations.
"""
import torch
from torch import nn

import pcgpu

from .point_sampling import furthest_point_sample  # noqa: F401  (B, N, 3), npoint -> (B, npoint) int32


def gather_operation(features, idx):
    """features (B, C, N), idx (B, npoint) -> (B, C, npoint)."""
    return torch.gather(features, 2, idx.long()[:, None].expand(-1, features.shape[1], -1))


def grouping_operation(features, idx):
    """features (B, C, N), idx (B, npoint, nsample) -> (B, C, npoint, nsample)."""
    return gather_operation(features, idx.flatten(1)).unflatten(2, idx.shape[1:])


def ball_query(radius, nsample, xyz, new_xyz):
    """The first nsample points of xyz (B, N, 3) within the radius of each of new_xyz (B, npoint, 3), padded with the first,
    0 without one -> (B, npoint, nsample) int32."""
    return pcgpu.neighbors.ball_query(xyz.detach(), new_xyz.detach(), radius, nsample).indices


def three_nn(unknown, known):
    """The three nearest of known (B, m, 3) to each of unknown (B, n, 3) -> distances and indices (B, n, 3)."""
    found = pcgpu.neighbors.knn(known.detach(), unknown.detach(), 3)
    return found.distances, found.indices


def three_interpolate(features, idx, weight):
    """features (B, c, m), idx and weight (B, n, 3) -> (B, c, n): the weighted sum of three features."""
    return (grouping_operation(features, idx) * weight[:, None]).sum(3)


class QueryAndGroup(nn.Module):
    """Groups of a ball query: xyz (B, N, 3), new_xyz (B, npoint, 3), features (B, C, N) or None
    -> (B, 3 + C, npoint, nsample), positions relative to new_xyz first."""

    def __init__(self, radius, nsample, use_xyz=True):
        super().__init__()
        self.radius, self.nsample, self.use_xyz = radius, nsample, use_xyz

    def forward(self, xyz, new_xyz, features=None):
        if features is None and not self.use_xyz:
            raise ValueError('use_xyz=False needs features')
        idx = ball_query(self.radius, self.nsample, xyz, new_xyz)
        grouped = grouping_operation(xyz.transpose(1, 2), idx) - new_xyz.transpose(1, 2)[..., None]
        if features is None:
            return grouped
        groups = grouping_operation(features, idx)
        return torch.cat([grouped, groups], 1) if self.use_xyz else groups


class GroupAll(nn.Module):
    """One group of all points: xyz (B, N, 3), features (B, C, N) or None -> (B, 3 + C, 1, N)."""

    def __init__(self, use_xyz=True):
        super().__init__()
        self.use_xyz = use_xyz

    def forward(self, xyz, new_xyz=None, features=None):
        grouped = xyz.transpose(1, 2)[:, :, None]
        if features is None:
            return grouped
        return torch.cat([grouped, features[:, :, None]], 1) if self.use_xyz else features[:, :, None]
