"""Farthest point sampling in the calls of other packages. Take the function that your model imports.

    OpenPCDet, PointNet++    furthest_point_sample(xyz, npoint)      (B, N, 3) -> (B, npoint) int32
    PyTorch Geometric        fps(x, batch, ratio, random_start)      (N, C), (N,) -> (M,) int64
    torch.compile            torch.ops.pcgpu.furthest_point_sample, after register_torch_op()
"""
import math

import numpy as np
import pcgpu


def furthest_point_sample(xyz, npoint):
    """OpenPCDet's furthest_point_sample (pointnet2_batch) and farthest_point_sample: xyz (B, N, 3) float32, NumPy or
    torch, also on a GPU -> indices (B, npoint) int32. The first pick is index 0, as there."""
    return pcgpu.sample_batch(xyz, npoint)


def _sample(x, count, start, seed):
    """The distance of torch_cluster.fps has all columns, and that of pcgpu x y z: others go through a plain loop."""
    if x.shape[1] == 3:
        return pcgpu.sample(x, count, start=start, seed=seed)
    values = np.asarray(x.detach().cpu() if hasattr(x, 'detach') else x, np.float32)
    picks, nearest = [np.random.default_rng(seed).integers(len(values)) if start == 'random' else 0], np.inf
    for _ in range(count - 1):
        nearest = np.minimum(nearest, ((values - values[picks[-1]])**2).sum(1))
        picks.append(int(nearest.argmax()))
    picks = np.array(picks, np.int32)
    return x.new_tensor(picks).int() if hasattr(x, 'new_tensor') else picks


def fps(x, batch=None, ratio=0.5, random_start=False, seed=0):
    """torch_cluster.fps: x (N, C), batch (N,) sorted numbers of the clouds -> indices into x, int64, ceil(ratio * n) of
    each cloud. With random_start, the first picks follow `seed`, so that runs can be repeated."""
    if batch is None:
        sizes = [len(x)]
    elif type(batch).__module__.partition('.')[0] == 'torch':
        sizes = batch.bincount().tolist()
    else:
        sizes = np.bincount(np.asarray(batch)).tolist()
    picks, begin = [], 0
    for size in sizes:
        if size:
            own = _sample(x[begin:begin + size], math.ceil(ratio * size), 'random' if random_start else 'first', seed)
            picks.append(own + begin)
        begin += size
    if type(x).__module__.partition('.')[0] == 'torch':
        import torch
        return torch.cat(picks).long() if picks else x.new_empty(0, dtype=torch.int64)
    return np.concatenate(picks).astype(np.int64) if picks else np.empty(0, np.int64)


def register_torch_op():
    """Makes torch.ops.pcgpu.furthest_point_sample, which torch.compile and torch.export take as one operation."""
    import torch

    @torch.library.custom_op('pcgpu::furthest_point_sample', mutates_args=())
    def operation(xyz: torch.Tensor, npoint: int) -> torch.Tensor:
        return pcgpu.sample_batch(xyz, npoint)

    @operation.register_fake
    def _(xyz, npoint):
        return xyz.new_empty((xyz.shape[0], npoint), dtype=torch.int32)

    return torch.ops.pcgpu.furthest_point_sample
