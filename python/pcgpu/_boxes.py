"""Points in oriented boxes."""
from __future__ import annotations

import math
import sys
from typing import Any, Literal, Optional

import numpy as np

from . import _device, _native
from ._arrays import device_name, float_points, give, kind_of, thread_count, to_numpy

Array = Any


def points_in_boxes(points: Array, boxes: Array, *, convention: Literal['lidar', 'camera'] = 'lidar',
                    result: Literal['first', 'mask', 'indices'] = 'first', device: Any = 'auto',
                    threads: Optional[int] = None) -> Any:
    """The points of each oriented box.

    points      (N, C) float32, x y z first, or a batch (B, N, C)
    boxes       (K, 7) or (B, K, 7) float32. 'lidar', as OpenPCDet has them: the centre x y z, the size dx dy dz, the heading,
                radians about z, 0 = dx along x, towards y. 'camera', for points in the frame of KITTI's cameras (x right, y
                down, z forward): the centre of the bottom x y z, length, height, width, and the rotation about y
    result      'first': (N,) int32, the lowest index of a box that holds the point, -1: none. 'mask': (N, K) bool. 'indices':
                a list of K arrays, the indices of the points of each box, for one cloud
    device, threads  as in sample()

    A point is inside if it is nearer to the centre than half of the size, on the two sides of the heading, and at most as far
    in z, in float32. Arrays are NumPy, PyTorch or JAX arrays in memory of the CPU, or PyTorch tensors and CuPy arrays in
    GPU memory; 'indices' waits for the GPU, the others do not."""
    if convention not in ('lidar', 'camera') or result not in ('first', 'mask', 'indices'):
        raise ValueError(f"convention is {convention!r} and result {result!r}; give 'lidar' or 'camera', and 'first', 'mask' or "
                         f"'indices'")
    on_gpu = _device.is_on_gpu(points)
    if convention == 'camera':
        points, boxes = _to_lidar(points, boxes, sys.modules['cupy'] if on_gpu and not hasattr(points, 'detach') else np)
    if on_gpu:
        place = _device.Place(points, 'points', 3 if points.ndim == 3 else 2)
        rows, held = place.points, _device.Place(boxes, 'boxes', boxes.ndim if boxes.ndim == 3 else 2).points
        empty, address = place.array, place.address
    else:
        array = to_numpy(points, 'points')
        rows = float_points(array.reshape(-1, array.shape[-1]), 'points')[0].reshape(array.shape)
        held = np.ascontiguousarray(to_numpy(boxes, 'boxes'), np.float32)
        empty, address = np.empty, lambda values: None if values is None else values.ctypes.data
    if held.shape[-1] != 7 or held.ndim != rows.ndim or (rows.ndim == 3 and len(held) != len(rows)):
        raise ValueError(f'the shapes are {tuple(rows.shape)} of points and {tuple(held.shape)} of boxes; give (N, C) and (K, 7), '
                         f'or (B, N, C) and (B, K, 7)')
    if result == 'indices' and rows.ndim == 3:
        raise ValueError("result='indices' is for one cloud; give 'mask' for a batch")
    *clouds, records, columns = rows.shape
    count = held.shape[-2]
    out = empty((*clouds, records), 'int32') if result == 'first' else empty((*clouds, records, count), 'uint8')
    both = (address(out), None) if result == 'first' else (None, address(out))
    layout = (address(rows), columns, clouds[0] if clouds else 1, records, None)
    if 0 not in clouds:
        where = (place.device, place.stream) if on_gpu else (device_name(device), thread_count(threads))
        call = _native.points_in_boxes_device if on_gpu else _native.points_in_boxes
        call(layout, address(held), count, *both, *where)
    if result == 'first':
        return out if on_gpu else give(out, kind_of(points))
    mask = place.bools(out) if on_gpu else out.view(bool)
    if result == 'mask':
        return mask if on_gpu else give(mask, kind_of(points))
    if on_gpu:
        return [column.nonzero()[:, 0] if place.torch else column.nonzero()[0] for column in mask.T]
    return [give(np.flatnonzero(column), kind_of(points)) for column in mask.T]


def _to_lidar(points: Array, boxes: Array, package: Any) -> tuple:
    """x forward, y left, z up; the boxes about their centres."""
    stack = sys.modules['torch'].stack if hasattr(points, 'detach') else package.stack
    x, y, z = points[..., 0], points[..., 1], points[..., 2]
    at = [boxes[..., k] for k in range(7)]
    turned = [at[2], -at[0], at[4] / 2 - at[1], at[3], at[5], at[4], -(at[6] + math.pi / 2)]
    return stack([z, -x, -y], -1), stack(turned, -1)
