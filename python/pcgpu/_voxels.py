"""Voxels of arrays."""
from __future__ import annotations

import warnings
from typing import Any, Dict, List, Literal, Optional, Sequence, Union

import numpy as np

from . import _device, _native
from ._arrays import device_name, indices, thread_count, to_numpy
from ._clouds import Cloud, Points, native_cloud
from ._results import Array, DeviceVoxels, Voxels, join_voxels, voxels

# Of arrays in GPU memory, which annotations do not distinguish. Any, so that callers with arrays of the host need
# no test of the type.
_DeviceVoxels = Any



def _is_one(points: Any) -> bool:
    """Whether it is one cloud: an array of records, structured or (N, C), or a Cloud."""
    names = getattr(getattr(points, 'dtype', None), 'names', None)
    return isinstance(points, Cloud) or getattr(points, 'ndim', 0) == (1 if names else 2)


def _clouds_of(points: Any, batch: Any) -> Optional[List[Any]]:
    """The clouds of a batch, or None for one cloud."""
    if batch is not None:
        ends = indices(batch, 'batch').tolist()
        if not _is_one(points) or ends[:1] != [0] or ends[-1] != len(points) or sorted(ends) != ends:
            raise ValueError(f'batch is {ends[:3]}... for points {tuple(getattr(points, "shape", ()))}; give (N, C) and offsets '
                             f'that ascend from 0 to N')
        return [points[begin:end] for begin, end in zip(ends, ends[1:])]
    if isinstance(points, (list, tuple)) and all(map(_is_one, points)):
        if not points:
            raise ValueError('no clouds; give one or more')
        return list(points)
    return list(points) if getattr(points, 'ndim', 0) == 3 else None


def voxelize(points: Points, voxel_size: Union[float, Sequence[float]], range: Optional[Sequence[float]] = None, *,
             max_points: int = 0, max_voxels: int = 0, keep_voxels: Literal['first', 'nearest', 'most'] = 'first',
             features: Literal['mean', 'points', 'pillar', 'first', 'nearest'] = 'mean',
             voxel_labels: Literal['majority', 'first', 'mean'] = 'majority', drop_origin: bool = False,
             batch: Optional[Array] = None, device: str = 'auto', threads: Optional[int] = None,
             out: Optional[DeviceVoxels] = None) -> Union[Voxels, _DeviceVoxels]:
    """Voxelizes a cloud or a batch, first come first served, in float32: the cell of a point is floor((p - range min) / size).

    points       (N, C) float32, x y z first, metres, or a Cloud. Only C-contiguous float32 enters without a copy.
                 (B, N, C) or a sequence of these is a batch, each of which has limits of its own; it needs range
    batch        of a batch in one array (N, C): B + 1 offsets, cloud i has the records batch[i] to batch[i + 1] - 1
    voxel_size   metres: one number, or 3 for x y z
    range        metres: x0 y0 z0 x1 y1 z1; None = the bounds of the cloud
    max_points   points that a voxel keeps, its first ones; 0 = all
    max_voxels   voxels that are kept; 0 = all
    keep_voxels  of more: the 'first' ones, those 'nearest' to the origin of the file, or those of 'most' points
    features     'mean' (V, C); 'points' (V, P, C) padded with zeros; 'pillar' (V, P, 10), of PointPillars; 'first' and
                 'nearest' (V, C): the first point, and the point nearest to the mean. P = max_points, or the largest
                 count when that is 0
    voxel_labels  of a 'mean': what a voxel has of a column of classes, which are whole numbers in a structured array or
                 by the types of a Cloud, but for colours, counts and measured values such as intensity: the class of
                 most of its kept points, the lowest on ties; that of the 'first' one; or their 'mean'. Columns of other
                 arrays, also those in GPU memory, are float32 and have no classes
    drop_origin  leave out points at exactly (0, 0, 0)
    device, threads  as in sample()
    out          for arrays in GPU memory: the result of an earlier call with the same shapes, whose arrays are written

    Returns a Voxels: features, coords (V, 4) int32 as batch z y x, counts (V,), point_voxel (N,), ..., of the kind of
    `points`; voxels are in the order of their first points. The arrays are the memory that the library wrote. Of a batch the
    voxels of one cloud follow those of another, point_voxel and selected count in all, and the numbers are sums.

    For a PyTorch tensor or CuPy array in GPU memory the work is done there, on the current stream, without waiting: range
    and max_voxels are required, and the result is a DeviceVoxels with the number of voxels in GPU memory; of a batch its
    arrays have one more dimension."""
    clouds = _clouds_of(points, batch)
    params: Dict[str, Any] = {'max_points': max_points, 'max_voxels': max_voxels, 'keep_voxels': keep_voxels,
                              'features': features, 'voxel_labels': voxel_labels, 'drop_origin': drop_origin, 'range_auto': range is None}
    size = to_numpy(voxel_size, 'voxel_size') if not isinstance(voxel_size, (int, float)) else None
    params['voxel_size'] = [voxel_size] * 3 if size is None else [size.item()] * 3 if size.ndim == 0 else size.tolist()
    if range is not None:
        params['range'] = to_numpy(range, 'range').tolist()
    if clouds is None:
        return _one(points, params, device, threads, out)
    if range is None or (features in ('points', 'pillar') and max_points == 0):
        raise ValueError('the clouds of a batch share one grid; give range' if range is None else
                         f"features='{features}' of a batch have one shape; give max_points")
    if clouds and _device.is_on_gpu(clouds[0]):
        return _device.voxelize_batch(clouds, params, out)
    return join_voxels([_one(cloud, params, device, threads, out) for cloud in clouds])


def _one(points: Points, params: Dict[str, Any], device: Any, threads: Optional[int], out: Optional[DeviceVoxels]) -> Any:
    if _device.is_on_gpu(points):
        return _device.voxelize(points, params, out)
    if out is not None:
        raise ValueError('out is for arrays in GPU memory; leave it out')
    parts, kind = native_cloud(points)
    values = _native.voxelize(parts, params, device_name(device), thread_count(threads))
    held = np.diff(np.reshape(values['range'], (2, 3)), axis=0)[0] / params['voxel_size']
    for k, (voxel, cells) in enumerate(zip(params['voxel_size'], values['cells'])):
        low, high = values['range'][k], values['range'][3 + k]
        if not params['range_auto'] and abs(held[k] - cells) > 1e-3 + held[k] * 2.0**-22:
            warnings.warn(f"the range has {held[k]:.7g} voxels in {'xyz'[k]}, and the grid {cells}; give a range of whole "
                          f'voxels, such as {low:.7g} to {low + cells * voxel:.7g} in place of {high:.7g}', stacklevel=3)
    return voxels(values, kind, parts[2] or (0.0, 0.0, 0.0))
