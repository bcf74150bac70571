"""Nearest neighbours and neighbours within a radius, exact, with the same bytes from the CPU and from CUDA.

    indices, distances, counts = pcgpu.neighbors.knn(points, queries, 16)
    groups = pcgpu.neighbors.ball_query(points, centers, 0.5, 32).indices       # PointNet++

Points and queries are (N, C) and (M, C) float32, C from 3 to 64 with x y z first, or batches (B, N, C) and (B, M, C), in
which each cloud has its own queries. Clouds of several sizes are one array (N, C) with `offsets`, B + 1 whole numbers: cloud
i has the records offsets[i] to offsets[i + 1] - 1; `query_offsets` likewise. Indices count from 0 in the cloud of a batch
(B, N, C), and in the whole array with offsets. Equal distances are in the order of the indices. A record with a coordinate
that is not finite is no neighbour and has none.

Arrays are NumPy, PyTorch or JAX arrays in memory of the CPU, or PyTorch tensors and CuPy arrays in GPU memory. On a GPU the
work is done on the current stream, without waiting, and, with out=, without taking memory: a CUDA graph can capture it.
"""
from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Sequence

import numpy as np

from . import _device, _native
from ._arrays import device_name, float_points, give, kind_of, thread_count, to_numpy
from ._clouds import native_cloud

Array = Any
__all__ = ['Neighbors', 'ThreeNN', 'ball_query', 'knn', 'radius_count', 'three_nn']


class Neighbors(NamedTuple):
    """The neighbours of each query."""

    indices: Array  #: (M, k) or (B, M, k) int32 or int64; -1 behind the last neighbour, unless it is padded
    distances: Optional[Array]  #: the same shape, float32, metres; infinity behind the last neighbour
    counts: Optional[Array]  #: (M,) or (B, M) int32: neighbours of each query that are listed


class ThreeNN(NamedTuple):
    """The three nearest points of each query, for interpolation."""

    indices: Array  #: (M, 3) or (B, M, 3)
    distances: Array  #: the same shape, float32, metres
    weights: Array  #: the same shape, float32: 1 / (distance + 1e-8), divided by their sum (PointNet++)


class _Clouds:
    """An array of clouds as the library takes it: (address, floats per record, clouds, records per cloud, offsets)."""

    def __init__(self, shape: Sequence[int], offsets: Any, what: str) -> None:
        self.shape = tuple(shape[:-1])
        self.offsets: Optional[List[int]] = None
        if offsets is not None:
            self.offsets = [int(k) for k in to_numpy(offsets, 'offsets').ravel()]
            ends = self.offsets[-1:]
            if len(shape) != 2 or self.offsets[:1] != [0] or ends != [shape[0]]:
                raise ValueError(f'the offsets of {what} are {self.offsets[:1]} to {ends} and its shape is {tuple(shape)}; give '
                                 f'(N, C) and offsets from 0 to N')

    def layout(self, address: Optional[int], columns: int) -> tuple:
        if self.offsets is not None:
            return address, columns, len(self.offsets) - 1, 0, self.offsets
        return address, columns, self.shape[0] if len(self.shape) == 2 else 1, self.shape[-1], None


def _on_host(points: Any, queries: Any) -> tuple:
    """Both as float32 arrays of one origin."""
    arrays = []
    first = None
    for values, what in ((points, 'points'), (queries, 'queries')):
        array = to_numpy(values, what) if getattr(values, 'ndim', 2) == 3 else None
        if array is None:
            parts, _ = native_cloud(values, what)
            rows, offset = parts[0], np.array(parts[2] or (0.0, 0.0, 0.0))
            shape = rows.shape
        else:
            shape = array.shape
            rows, given = float_points(array.reshape(-1, shape[2]), what)
            offset = np.array(given or (0.0, 0.0, 0.0))
        if first is None:
            first = offset
        elif (offset != first).any():
            rows = (rows[:, :3] + (offset - first)).astype(np.float32)
            shape = (*shape[:-1], 3)
        arrays.append(np.ascontiguousarray(rows.reshape(shape)))
    return arrays


def _search(points: Any, queries: Any, params: dict, offsets: Any, query_offsets: Any, wide: bool, wanted: Sequence[bool],
            out: Optional[Neighbors], device: Any, threads: Optional[int]) -> Neighbors:
    """wanted: of distances and counts."""
    same = queries is None or queries is points
    queries = points if same else queries
    query_offsets = offsets if same else query_offsets
    k = params['k']
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise TypeError(f'k is {k!r}; give a whole number from 1 to 128')
    if k < 1 and wanted[0]:
        raise ValueError(f'k is {k}; give 1 to 128')
    if (offsets is None) != (query_offsets is None):
        raise ValueError('offsets and query_offsets describe the points and the queries; give both or none')
    params = {**params, 'global': offsets is not None}
    on_gpu = _device.is_on_gpu(points)
    if on_gpu != _device.is_on_gpu(queries):
        raise ValueError('points and queries are not on the same device; copy one of them')
    if on_gpu:
        place = _device.Place(points, 'points', 3 if points.ndim == 3 else 2)
        other = place if same else _device.Place(queries, 'queries', 3 if queries.ndim == 3 else 2)
        if place.device != other.device or bool(place.torch) != bool(other.torch):
            raise ValueError('points and queries are not on the same GPU, or of two packages; copy one of them')
        arrays = [place.points, other.points]
    else:
        arrays = _on_host(points, queries) if not same else _on_host(points, points)[:1] * 2
    if arrays[0].ndim != arrays[1].ndim or (arrays[0].ndim == 3 and len(arrays[0]) != len(arrays[1])):
        raise ValueError(f'the shapes are {tuple(arrays[0].shape)} of points and {tuple(arrays[1].shape)} of queries; give '
                         f'(N, C) and (M, C), or (B, N, C) and (B, M, C)')
    of = [_Clouds(arrays[0].shape, offsets, 'points'), _Clouds(arrays[1].shape, query_offsets, 'queries')]
    shape = (*of[1].shape, k)
    if on_gpu:
        if out is None:
            out = Neighbors(place.array(shape, 'int64' if wide else 'int32') if k else None,
                            place.array(shape, 'float32') if wanted[0] else None,
                            place.array(of[1].shape, 'int32') if wanted[1] else None)
        elif tuple(out.indices.shape) != shape:
            raise ValueError(f'out holds indices {tuple(out.indices.shape)}; this call has {shape}')
        address = place.address
        wide = out.indices is not None and 'int64' in str(out.indices.dtype)
    else:
        if out is not None:
            raise ValueError('out is for arrays in GPU memory; leave it out')
        out = Neighbors(np.empty(shape, np.int64 if wide else np.int32) if k else None,
                        np.empty(shape, np.float32) if wanted[0] else None,
                        np.empty(of[1].shape, np.int32) if wanted[1] else None)
        address = lambda array: None if array is None else array.ctypes.data
    layouts = [clouds.layout(address(array), array.shape[-1]) for clouds, array in zip(of, arrays)]
    lists = (address(out.indices), 8 if wide else 4, address(out.distances), address(out.counts))
    if 0 in layouts[1][2:3] or 0 in of[1].shape:
        return out  # no query
    if on_gpu:
        _native.neighbors_device(*layouts, params, lists, place.device, place.stream)
        return out
    _native.neighbors(*layouts, params, lists, device_name(device), thread_count(threads))
    kind = kind_of(queries.points if hasattr(queries, 'points') else queries)
    return Neighbors(*(give(array, kind) for array in out))


def knn(points: Array, queries: Optional[Array] = None, k: int = 1, *, radius: float = 0.0, offsets: Any = None,
        query_offsets: Any = None, int64: bool = False, out: Optional[Neighbors] = None, device: Any = 'auto',
        threads: Optional[int] = None) -> Neighbors:
    """The k nearest points of each query, the nearest first.

    points, queries  see the module; queries=None: the points themselves, each of which is its own first neighbour
    k                1 to 128
    radius           metres: only points whose squared distance is less than radius * radius in float32; 0 = all
    int64            indices of this type, which PyTorch needs to index with them, instead of int32
    out              for arrays in GPU memory: the result of an earlier call with the same shapes, whose arrays are written
    device, threads  as in pcgpu.sample()"""
    params = {'order': 'nearest', 'k': k, 'radius': radius}
    return _search(points, queries, params, offsets, query_offsets, int64, (True, True), out, device, threads)


def ball_query(points: Array, queries: Array, radius: float, k: int, *, nearest: bool = False, pad: bool = True,
               offsets: Any = None, query_offsets: Any = None, int64: bool = False, out: Optional[Neighbors] = None,
               device: Any = 'auto', threads: Optional[int] = None) -> Neighbors:
    """The first k points within the radius of each query, in the order of their indices, as PointNet++ groups them. Lists of
    fewer points are filled with their first point, and without a point with index 0; counts has their number.

    nearest  the k nearest ones instead, the nearest first
    pad      False: fill with -1
    others   as in knn()"""
    params = {'order': 'nearest' if nearest else 'first', 'k': k, 'radius': radius, 'pad': pad}
    return _search(points, queries, params, offsets, query_offsets, int64, (True, True), out, device, threads)


def radius_count(points: Array, queries: Optional[Array] = None, radius: float = 1.0, *, offsets: Any = None,
                 query_offsets: Any = None, device: Any = 'auto', threads: Optional[int] = None) -> Array:
    """The number of points within the radius of each query, (M,) or (B, M) int32."""
    params = {'order': 'nearest', 'k': 0, 'radius': radius}
    return _search(points, queries, params, offsets, query_offsets, False, (False, True), None, device, threads).counts


def three_nn(points: Array, queries: Array, *, offsets: Any = None, query_offsets: Any = None, int64: bool = False,
             device: Any = 'auto', threads: Optional[int] = None) -> ThreeNN:
    """The three nearest points of each query, and their weights for interpolation (PointNet++)."""
    found = knn(points, queries, 3, offsets=offsets, query_offsets=query_offsets, int64=int64, device=device, threads=threads)
    inverse = 1.0 / (found.distances + 1e-8)
    return ThreeNN(found.indices, found.distances, inverse / inverse.sum(-1)[..., None])
