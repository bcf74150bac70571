"""Neighbours in the calls of pointops (Point Transformer, Pointcept): clouds in one tensor (n, 3), offset (b) their ends.

    from pcgpu.recipes import pointops
"""
import torch

import pcgpu


def _offsets(offset):
    return [0, *offset.tolist()]


def _placed(found):
    """pointops has sqrt(1e10) where there is no neighbour."""
    return found.indices, found.distances.masked_fill(found.indices < 0, 1e5)


def knn_query(nsample, xyz, offset, new_xyz=None, new_offset=None):
    """-> idx (m, nsample) int32, -1 behind the last neighbour, and distances (m, nsample). The order of equal distances is
    that of the indices, where pointops has none."""
    if new_xyz is None or new_offset is None:
        new_xyz, new_offset = xyz, offset
    return _placed(pcgpu.neighbors.knn(xyz.detach(), new_xyz.detach(), nsample, offsets=_offsets(offset),
                                       query_offsets=_offsets(new_offset)))


def knnquery(nsample, xyz, new_xyz, offset, new_offset):
    """knn_query() with the arguments of Point Transformer's first pointops."""
    return knn_query(nsample, xyz, offset, new_xyz, new_offset)


def ball_query(nsample, max_radius, min_radius, xyz, offset, new_xyz=None, new_offset=None):
    """-> idx (m, nsample) int32 and distances: the nearest points within max_radius, -1 behind the last. min_radius is 0.
    Of more than nsample points, pointops takes every so many of a list in no certain order; here it is the nearest."""
    if min_radius != 0:
        raise ValueError(f'min_radius is {min_radius}; only 0 is possible')
    if new_xyz is None or new_offset is None:
        new_xyz, new_offset = xyz, offset
    return _placed(pcgpu.neighbors.ball_query(xyz.detach(), new_xyz.detach(), max_radius, nsample, nearest=True, pad=False,
                                              offsets=_offsets(offset), query_offsets=_offsets(new_offset)))


def interpolation(xyz, new_xyz, feat, offset, new_offset, k=3):
    """xyz (m, 3) with feat (m, c) -> (n, c) at new_xyz (n, 3): the k nearest, weighted by 1 / (distance + 1e-8)."""
    idx, dist = knn_query(k, xyz, offset, new_xyz, new_offset)
    inverse = 1.0 / (dist + 1e-8)
    weight = inverse / inverse.sum(1, keepdim=True)
    return (feat[idx.clamp(min=0).long()] * weight[..., None]).sum(1)
