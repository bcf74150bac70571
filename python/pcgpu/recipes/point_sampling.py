"""Farthest point sampling in the calls of other packages. Take the function that your model imports.

    OpenPCDet, pointnet2_ops furthest_point_sample(xyz, npoint)      (B, N, 3) -> (B, npoint) int32
    PyTorch Geometric        fps(x, batch, ratio, random_start)      (N, C), (N,) -> (M,) int64
    PyTorch3D                sample_farthest_points(points, lengths, K)  (N, P, D) -> (N, K, D), (N, K) int64
    torch.compile            torch.ops.pcgpu.furthest_point_sample, after register_torch_op()
"""
import math

import numpy as np
import pcgpu


def furthest_point_sample(xyz, npoint, skip_origin=False):
    """OpenPCDet's furthest_point_sample (pointnet2_batch) and farthest_point_sample: xyz (B, N, 3) float32, NumPy or
    torch, also on a GPU -> indices (B, npoint) int32. The first pick is index 0, as there.

    skip_origin: as pointnet2_ops does, never pick a point with a squared norm up to 1e-3 (3.2 cm from the origin) but as
    the first; where all others are picked, the first of these comes again."""
    if not skip_origin:
        return pcgpu.sample_batch(xyz, npoint)
    is_torch = type(xyz).__module__.partition('.')[0] == 'torch'
    norm = (xyz[..., 0] * xyz[..., 0] + xyz[..., 1] * xyz[..., 1]) + xyz[..., 2] * xyz[..., 2]
    far = norm >= float(np.float32(1e-3))  # which is more than 1e-3
    again = (far.int() if is_torch else far).argmax(1)[:, None]
    far[:, 0] = True
    usable = xyz.masked_fill(~far[..., None], math.nan) if is_torch else np.where(far[..., None], xyz, np.float32(math.nan))
    picks = pcgpu.sample_batch(usable, npoint, pad='zero')
    return (again.int().where(picks < 0, picks) if is_torch else np.where(picks < 0, again.astype(np.int32), picks))


def _columns(x):
    """x (N, C) or (N,) as float32 with three columns at least: one of zeros changes no distance."""
    if type(x).__module__.partition('.')[0] == 'torch':
        x = x.detach().float().reshape(len(x), -1)
        return x if x.shape[1] >= 3 else x.new_zeros((len(x), 3)).index_copy_(1, x.new_tensor(range(x.shape[1])).long(), x)
    x = np.asarray(x, np.float32).reshape(len(x), -1)
    return x if x.shape[1] >= 3 else np.pad(x, ((0, 0), (0, 3 - x.shape[1])))


def fps(x, batch=None, ratio=0.5, random_start=None, batch_size=None, ptr=None, seed=None):
    """torch_cluster.fps: x (N, C), C up to 64, all of which the distances have, in float32; batch (N,) sorted numbers of
    the clouds, or ptr, where they begin; ratio: a number, or one per cloud -> indices into x, int64, ceil(ratio * n) of
    each cloud.

    With random_start, the default there, each cloud has a random first pick of its own; here it follows `seed`, so that
    runs can be repeated: give another one in each step. Without both, the first pick is the first point of each cloud. Points with a NaN or an infinity are never picked."""
    is_torch = type(x).__module__.partition('.')[0] == 'torch'
    values = _columns(x)
    batch, ptr = (None if v is None else np.asarray(v.cpu() if hasattr(v, 'cpu') else v) for v in (batch, ptr))
    if ptr is None and batch is not None and len(batch) and (np.diff(batch) < 0).any():
        raise ValueError('batch does not ascend; sort the points by cloud')
    sizes = np.diff(ptr) if ptr is not None else [len(x)] if batch is None else np.bincount(batch, minlength=batch_size or 0)
    shares = np.asarray(ratio.cpu() if hasattr(ratio, 'cpu') else ratio)
    shares = np.broadcast_to(shares.astype(np.float32) if shares.ndim == 0 else shares, len(sizes))
    if not ((shares > 0) & (shares <= 1)).all():
        raise ValueError(f'ratio is {ratio}; give numbers above 0 and up to 1')
    random_start = seed is not None if random_start is None else random_start
    draws, begins = np.random.default_rng(seed or 0), np.concatenate([[0], np.cumsum(sizes)[:-1]])
    starts = [int(draws.integers(size)) if random_start and size else 0 for size in sizes]
    counts = [int(np.ceil(np.float32(size) * share)) for size, share in zip(sizes, shares)]
    picks = [None] * len(sizes)
    for count in sorted({*counts} - {0}):  # one call for all clouds of as many picks
        members = [k for k, own in enumerate(counts) if own == count]
        clouds = [values[begins[k]:begins[k] + sizes[k]] for k in members]
        found = pcgpu.sample_batch(clouds, count, start=[starts[k] for k in members], dimensions=values.shape[1])
        for k, own in zip(members, found):
            picks[k] = own + int(begins[k])
    picks = [own for own in picks if own is not None]
    if is_torch:
        import torch
        return torch.cat(picks).long() if picks else x.new_empty(0, dtype=torch.int64)
    return np.concatenate(picks).astype(np.int64) if picks else np.empty(0, np.int64)


def sample_farthest_points(points, lengths=None, K=50, random_start_point=False):
    """pytorch3d.ops.sample_farthest_points: points (N, P, D), torch, D from 3 to 64, all of which the distances have; lengths
    (N,); K: a number, or one per cloud -> points (N, max K, D), with gradients, and indices int64; 0.0 and -1 where K or the
    cloud ends. A cloud of no point has -1 alone, where PyTorch3D has 0 first; on a GPU K is P at most."""
    import torch
    K, ends = K.tolist() if hasattr(K, 'tolist') else K, [points.shape[1]] * len(points) if lengths is None else lengths
    start = [int(torch.randint(high=int(end), size=(1,))) for end in ends] if random_start_point else 'first'
    found = pcgpu.sample_batch(points.detach().float(), K, lengths=lengths, start=start, dimensions=points.shape[2], pad='zero',
                               full=True)
    idx = found.indices.long().masked_fill((found.distances == 0) & (found.indices >= 0), 0)  # where all that is left are copies
    picked = torch.gather(points, 1, idx.clamp(min=0)[..., None].expand(-1, -1, points.shape[2]))
    return picked.masked_fill(idx[..., None] < 0, 0.0), idx


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
