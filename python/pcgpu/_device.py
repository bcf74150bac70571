"""Sampling and voxels of arrays in GPU memory: PyTorch tensors and CuPy arrays, on the current stream of their device.

A call returns when its work is in the stream. It neither waits nor copies to the host, and, after the first call of a
size, takes no memory of its own, so that torch.cuda.graph() can capture it.
"""
from __future__ import annotations

import sys
from typing import Any, Dict, Optional, Tuple

from . import _native
from ._results import DeviceSampled, DeviceVoxels


def is_on_gpu(values: Any) -> bool:
    """Whether these functions take the values: a PyTorch tensor or a CuPy array in GPU memory."""
    package = type(values).__module__.partition('.')[0]
    return package == 'cupy' or (package == 'torch' and values.device.type == 'cuda')


class _Place:
    """The device, the stream and the memory of an array; makes arrays of its kind."""

    def __init__(self, points: Any, what: str, dims: int) -> None:
        self.torch = sys.modules.get('torch') if type(points).__module__.startswith('torch') else None
        if points.ndim != dims or not 3 <= points.shape[-1] <= 64:
            shape = '(B, N, C)' if dims == 3 else '(N, C)'
            raise ValueError(f'the shape of {what} is {tuple(points.shape)}; give {shape}, C from 3 to 64, with x y z first')
        if points.dtype != (self.torch.float32 if self.torch else 'float32'):
            raise TypeError(f'the type of {what} is {points.dtype}; give float32, e.g. '
                            f"{what}.{'float()' if self.torch else 'astype(cupy.float32)'}")
        if self.torch:
            self.points = (points.detach() if points.requires_grad else points).contiguous()
            self.device = points.device.index
            # What Triton calls, too: torch.cuda.current_stream() takes 12 us, this 0.2.
            self.stream = self.torch._C._cuda_getCurrentRawStream(self.device)
        else:
            cupy = sys.modules['cupy']
            with points.device:
                self.points = cupy.ascontiguousarray(points)
                self.stream = cupy.cuda.get_current_stream().ptr
            self.device = points.device.id

    def empty(self, shape: Tuple[int, ...], dtype: str) -> Any:
        if self.torch:
            return self.torch.empty(shape, dtype=getattr(self.torch, dtype), device=self.points.device)
        with self.points.device:
            return sys.modules['cupy'].empty(shape, dtype)

    def address(self, array: Any) -> Optional[int]:
        return None if array is None else array.data_ptr() if self.torch else array.data.ptr


def sample(points: Any, params: Dict[str, Any], full: bool, batch: bool) -> Any:
    """sample() and sample_batch() of arrays on a GPU."""
    if 'count' not in params:
        raise ValueError('arrays in GPU memory are sampled without waiting for their points; give count')
    place = _Place(points, 'points', 3 if batch else 2)
    *clouds, rows, columns = place.points.shape
    shape = (*clouds, int(params['count']))
    indices = place.empty(shape, 'int32')
    distances = place.empty(shape, 'float32') if full else None
    picked = place.empty(tuple(clouds) or (1,), 'int32') if full else None
    if clouds != [0]:
        _native.sample_device((place.address(place.points), columns, clouds[0] if clouds else 1, rows), params,
                              (place.address(indices), place.address(distances), place.address(picked)), place.device,
                              place.stream)
    return DeviceSampled(indices, distances, picked) if full else indices


def voxelize(points: Any, params: Dict[str, Any]) -> DeviceVoxels:
    """voxelize() of an array on a GPU."""
    if params['range_auto'] or params['max_voxels'] == 0:
        raise ValueError('arrays in GPU memory are voxelized without waiting for their points; give range and max_voxels')
    place = _Place(points, 'points', 2)
    rows, columns = place.points.shape
    most, limit = int(params['max_voxels']), int(params['max_points'])
    padded = params['features'] in ('points', 'pillar')
    if padded and limit == 0:
        raise ValueError(f"features='{params['features']}' of an array in GPU memory need max_points")
    width = 10 if params['features'] == 'pillar' else columns
    features = place.empty((most, limit, width) if padded else (most, width), 'float32')
    coords, counts = place.empty((most, 4), 'int32'), place.empty((most,), 'int32')
    point_voxel, count = place.empty((rows,), 'int32'), place.empty((1,), 'int32')
    outputs = tuple(place.address(array) for array in (features, coords, counts, point_voxel, count))
    _native.voxelize_device((place.address(place.points), rows, columns), params, outputs, place.device, place.stream)
    return DeviceVoxels(features, coords, counts, point_voxel, count)
