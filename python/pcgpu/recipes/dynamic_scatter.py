"""mmcv's dynamic voxelization and DynamicScatter (mmdetection3d), with gradients: all points of a voxel in one row.

    voxel_feats, voxel_coors, point_voxel = dynamic_scatter(feats, points, (0.1, 0.1, 0.2), (0, -40, -3, 70, 40, 1), 'mean')
"""
import torch

import pcgpu


def dynamic_scatter(feats, points, voxel_size, coors_range, reduce_type='max', batch=None):
    """feats (N, C) torch; points (N, >= 3) float32, whose x y z give the voxels; reduce_type 'max', 'mean' or 'sum'; batch:
    offsets of clouds, on the CPU. -> voxel_feats (M, C), voxel_coors (M, 3) int32 z y x, ascending, or (M, 4) with the cloud
    first, and of each point its voxel (N,) int64, -1 outside of the range.

    The gradient of 'max' goes to the first of equal points, as there; sums are in the order of the points on the CPU."""
    if points.is_cuda and batch is not None:
        raise ValueError('batch is for tensors on the CPU; leave it out, and call this for each cloud')
    on_gpu = {'max_voxels': len(points)} if points.is_cuda else {}
    voxels = pcgpu.voxelize(points.detach(), voxel_size, coors_range, batch=batch, **on_gpu)
    coords = voxels.trimmed()[1] if on_gpu else voxels.coords
    order = torch.arange(len(coords), device=coords.device)
    for axis in (3, 2, 1, 0):
        order = order[torch.sort(coords[order, axis], stable=True).indices]
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device)
    of = voxels.point_voxel.long()
    of = torch.where(of < 0, of, rank[of.clamp(min=0)]) if len(rank) else of
    return scatter(feats, of, len(order), reduce_type), coords[order][:, 0 if batch is not None else 1:], of


def scatter(feats, of, count, reduce_type):
    """The rows of feats (N, C) into `count` rows: of (N,) int64 has the row of each, -1 = none."""
    held = of >= 0
    feats, of = feats[held], of[held]
    if reduce_type == 'max':
        wide = of[:, None].expand_as(feats)
        most = feats.detach().new_full((count, feats.shape[1]), -torch.inf).scatter_reduce(0, wide, feats.detach(), 'amax')
        number = torch.arange(len(feats), device=of.device)[:, None].expand_as(feats)
        number = number.masked_fill(feats.detach() != most[of], len(feats))
        first = torch.full(most.shape, len(feats), device=of.device).scatter_reduce(0, wide, number, 'amin')
        return feats.gather(0, first)
    sums = feats.new_zeros(count, feats.shape[1]).index_add(0, of, feats)
    return sums if reduce_type == 'sum' else sums / torch.bincount(of, minlength=count).to(feats.dtype)[:, None]
