"""Sampling and voxels of arrays in GPU memory: PyTorch tensors and CuPy arrays, on the current stream of their device.

A call returns when its work is in the stream. It neither waits nor copies to the host, and, after the first call of a
size, takes no memory of its own, so that torch.cuda.graph() can capture it.
"""
from __future__ import annotations

import itertools
import math
import sys
from typing import Any, Dict, Optional, Sequence, Tuple

from . import _native
from ._arrays import check_mask
from ._results import DeviceSampled, DeviceVoxels


def is_on_gpu(values: Any) -> bool:
    """Whether these functions take the values: a PyTorch tensor or a CuPy array in GPU memory."""
    package = type(values).__module__.partition('.')[0]
    return package == 'cupy' or (package == 'torch' and values.device.type == 'cuda')


class Place:
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

    def array(self, shape: Tuple[int, ...], dtype: str) -> Any:
        if self.torch:
            return self.points.new_empty(shape, dtype=getattr(self.torch, dtype))
        with self.points.device:
            return sys.modules['cupy'].empty(shape, dtype)

    def floats(self, shape: Tuple[int, ...]) -> Any:
        return self.array(shape, 'float32')

    def ints(self, *shapes: Tuple[int, ...]) -> Any:
        """An array of int32 for each shape. They share memory, since taking memory costs more than a view: 5 and 3 us."""
        begins, end = [], 0
        for shape in shapes:
            begins.append(end)
            end += -(-math.prod(shape) // 64) * 64  # 256 bytes
        if self.torch:
            memory = self.points.new_empty(end, dtype=self.torch.int32)
            return [memory.as_strided(shape, (1,) if len(shape) == 1 else (shape[1], 1), begin)
                    for shape, begin in zip(shapes, begins)]
        with self.points.device:
            memory = sys.modules['cupy'].empty(end, 'int32')
        return [memory[begin:begin + math.prod(shape)].reshape(shape) for shape, begin in zip(shapes, begins)]

    def behind(self, rows: int, lengths: Any) -> Any:
        """(B, rows): whether a row is at or behind the length of its cloud."""
        if self.torch:
            ends = self.torch.as_tensor(lengths, device=self.points.device)
            return self.torch.arange(rows, device=self.points.device) >= ends[:, None]
        with self.points.device:
            return sys.modules['cupy'].arange(rows) >= sys.modules['cupy'].asarray(lengths)[:, None]

    def fill(self, array: Any, where: Any, value: float) -> Any:
        """A copy of the array with the value there."""
        if self.torch:
            return array.masked_fill(where, value)
        with self.points.device:
            return sys.modules['cupy'].where(where, array.dtype.type(value), array)

    def flags(self, mask: Any) -> Any:
        """A copy of a mask of the records, a byte each; ones for None."""
        rows = len(self.points)
        if mask is None:
            flags = self.array((rows,), 'uint8')
            flags[...] = 1
            return flags
        if self.torch:
            values = self.torch.as_tensor(mask, device=self.points.device)
        else:
            with self.points.device:
                values = sys.modules['cupy'].asarray(mask)
        check_mask(values, rows)
        return values.to(self.torch.uint8) if self.torch else values.astype('uint8')

    def bools(self, flags: Any) -> Any:
        return flags.bool() if self.torch else flags.view('bool')

    def address(self, array: Any) -> Optional[int]:
        return None if array is None else array.data_ptr() if self.torch else array.data.ptr


def sample(points: Any, params: Dict[str, Any], full: bool, batch: bool, lengths: Any = None,
           counts: Optional[Sequence[int]] = None) -> Any:
    """sample() and sample_batch() of arrays on a GPU. Records behind the lengths become NaN, in a copy."""
    _need_count(params)
    place = Place(points, 'points', 3 if batch else 2)
    *clouds, rows, columns = place.points.shape
    if lengths is not None:
        place.points = place.fill(place.points, place.behind(rows, lengths)[..., None], math.nan)
    return _sample(place, tuple(clouds), (columns, clouds[0] if clouds else 1, rows, None), params, full, counts)


def sample_list(arrays: Sequence[Any], params: Dict[str, Any], full: bool, counts: Optional[Sequence[int]], joined: bool) -> Any:
    """sample_batch() of a sequence of arrays on a GPU, of any numbers of records: joined, which is a copy there. joined:
    the picks, too."""
    _need_count(params)
    places = [Place(array, 'an array', 2) for array in arrays]
    first = places[0]
    for place in places:
        if (place.torch, place.device, place.points.shape[1]) != (first.torch, first.device, first.points.shape[1]):
            raise ValueError('the arrays differ in their package, their GPU or their number of columns; give equal ones')
    offsets = [0, *itertools.accumulate(len(place.points) for place in places)]
    if first.torch:
        first.points = first.torch.cat([place.points for place in places])
    else:
        with first.points.device:
            first.points = sys.modules['cupy'].concatenate([place.points for place in places])
    layout = (first.points.shape[1], len(places), 0, offsets)
    both = _sample(first, (len(places),), layout, params, full, counts)
    if joined:
        return both
    ends = counts or [int(params['count'])] * len(places)
    if not full:
        return [indices[:end] for indices, end in zip(both, ends)]
    return [DeviceSampled(indices[:end], distances[:end], picked) for indices, distances, picked, end in
            zip(both.indices, both.distances, both.picked[:, None], ends)]


def _need_count(params: Dict[str, Any]) -> None:
    if 'count' not in params:
        raise ValueError('arrays in GPU memory are sampled without waiting for their points; give count')


def _sample(place: Place, clouds: Tuple[int, ...], layout: tuple, params: Dict[str, Any], full: bool,
            counts: Optional[Sequence[int]]) -> Any:
    """layout: columns, clouds, records per cloud, offsets. counts: of each cloud, up to that of params."""
    shape = (*clouds, int(params['count']))
    if full:
        indices, picked = place.ints(shape, clouds or (1,))
        distances = place.floats(shape)
    else:
        [indices], picked, distances = place.ints(shape), None, None
    if clouds != (0,):
        _native.sample_device((place.address(place.points), *layout), params,
                              (place.address(indices), place.address(distances), place.address(picked)), place.device,
                              place.stream)
    if counts is not None:
        behind = place.behind(shape[-1], counts)
        indices = place.fill(indices, behind, -1)
        if full:
            distances, picked = place.fill(distances, behind, 0), (indices >= 0).sum(-1)
            picked = picked.int() if place.torch else picked.astype('int32')
    return DeviceSampled(indices, distances, picked) if full else indices


def pairs(both: Sequence[Tuple[Any, Any]], device: str) -> Optional[Tuple[list, str, int, list]]:
    """Pairs of clouds that are registered where they are: their addresses, device and stream, and what keeps them. None:
    they are not float32 arrays on one GPU, or are for another device."""
    arrays = [array for pair in both for array in pair]
    if not all(is_on_gpu(array) and array.ndim == 2 and 3 <= array.shape[1] <= 64 and str(array.dtype).endswith('float32')
               for array in arrays):
        return None
    places = [Place(array, 'points', 2) for array in arrays]
    own = {f'cuda:{place.device}' for place in places}
    if len(own) != 1 or device not in ('auto', 'cuda', *own):
        return None
    parts = [(place.address(place.points) if len(place.points) else 0, *place.points.shape) for place in places]
    return list(zip(parts[::2], parts[1::2])), own.pop(), places[0].stream, places


def _features_shape(params: Dict[str, Any], columns: int) -> Tuple[int, ...]:
    """Of the features of a cloud on a GPU."""
    if params['range_auto'] or params['max_voxels'] == 0:
        raise ValueError('arrays in GPU memory are voxelized without waiting for their points; give range and max_voxels')
    most, limit = int(params['max_voxels']), int(params['max_points'])
    padded = params['features'] in ('points', 'pillar')
    if padded and limit == 0:
        raise ValueError(f"features='{params['features']}' of an array in GPU memory need max_points")
    width = 10 if params['features'] == 'pillar' else columns
    return (most, limit, width) if padded else (most, width)


def voxelize(points: Any, params: Dict[str, Any], out: Optional[DeviceVoxels]) -> DeviceVoxels:
    """voxelize() of an array on a GPU."""
    place = Place(points, 'points', 2)
    rows, columns = place.points.shape
    shape = _features_shape(params, columns)
    if out is None:
        out = DeviceVoxels(place.floats(shape), *place.ints((shape[0], 4), shape[:1], (rows,), (1,)))
    elif (tuple(out.features.shape), tuple(out.point_voxel.shape), out.features.device) != \
            (shape, (rows,), place.points.device):
        raise ValueError(f'out holds features {tuple(out.features.shape)} of {len(out.point_voxel)} points on '
                         f'{out.features.device}; this call has {shape} of {rows} on {place.points.device}')
    outputs = (place.address(out.features), place.address(out.coords), place.address(out.counts),
               place.address(out.point_voxel), place.address(out.count))
    _native.voxelize_device((place.address(place.points), rows, columns), params, outputs, place.device, place.stream)
    return out


def voxelize_batch(clouds: Sequence[Any], params: Dict[str, Any], out: Optional[DeviceVoxels]) -> DeviceVoxels:
    """voxelize() of clouds on a GPU."""
    ends = [0, *itertools.accumulate(len(cloud) for cloud in clouds)]
    place, number = Place(clouds[0], 'points', 2), len(clouds)
    if out is None:
        shape = _features_shape(params, place.points.shape[1])
        coords, counts, of, count = place.ints((number * shape[0], 4), (number * shape[0],), (ends[-1],), (number, 1))
        equal = ends == [len(clouds[0]) * k for k in range(len(ends))]
        out = DeviceVoxels(place.floats((number, *shape)), coords.reshape(number, -1, 4), counts.reshape(number, -1),
                           of.reshape(number, -1) if equal else of, count)
    elif out.counts.shape[0] != number or math.prod(out.point_voxel.shape) != ends[-1]:
        raise ValueError(f'out holds {len(out.counts)} clouds of {math.prod(out.point_voxel.shape)} points; this call has '
                         f'{number} of {ends[-1]}')
    flat = out.point_voxel.reshape(-1)
    for k, cloud in enumerate(clouds):
        voxelize(cloud, params, DeviceVoxels(out.features[k], out.coords[k], out.counts[k], flat[ends[k]:ends[k + 1]],
                                             out.count[k]))
        out.coords[k, :, 0] = k
    return out
