"""Outliers, ground, normals and clusters of a cloud, with the same bytes from the CPU and from CUDA.

    clean = points[pcgpu.filter.outliers(points, 20, 2)]
    above = points[~pcgpu.filter.ground(points)]
    normals, curvatures = pcgpu.filter.normals(points, 16)
    cluster = pcgpu.filter.clusters(points, 0.5, least=10)

`points` is (N, C) float32, x y z first, in metres, or a Cloud; `mask` (N,) bool has the records that take part (None = all).
A record with a coordinate that is not finite never does. device and threads are as in pcgpu.sample(). Results are arrays of
the kind of `points`. outliers() and sparse() take PyTorch tensors and CuPy arrays in GPU memory where they are, on the current
stream; the others copy them to the host and back.
"""
from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence

import numpy as np

from . import _device, _native
from ._arrays import check_mask, device_name, give, kind_of, thread_count, to_numpy
from ._clouds import Cloud, Points, native_cloud

Array = Any
__all__ = ['Normals', 'clusters', 'ground', 'normals', 'outliers', 'sparse']


class Normals(NamedTuple):
    """The surface at each record; 0 where it is not known."""

    normals: Array  #: (N, 3) float32, unit vectors
    curvatures: Array  #: (N,) float32: least eigenvalue of the covariance per sum of the three, 0 to 1/3


def outliers(points: Points, k: int = 20, sigmas: float = 2.0, *, mask: Optional[Array] = None, device: Any = 'auto',
             threads: Optional[int] = None) -> Array:
    """The records (N,) bool that stay without statistical outliers (Rusu et al. 2008, PCL): those whose mean distance to
    their k nearest others, 1 to 127, is not above the average of all + `sigmas` standard deviations."""
    return _outliers(points, False, k, sigmas, mask, device, threads)


def sparse(points: Points, radius: float, others: int, *, mask: Optional[Array] = None, device: Any = 'auto',
           threads: Optional[int] = None) -> Array:
    """The records (N,) bool that stay without sparse ones: those with at least `others` other records within `radius`
    metres (radius outlier removal)."""
    return _outliers(points, True, others, radius, mask, device, threads)


def ground(points: Points, *, slope: float = 0.2, tolerance: float = 0.0, cell_size: float = 0.0,
           mask: Optional[Array] = None, threads: Optional[int] = None) -> Array:
    """The records (N,) bool that are on the ground: roads, slopes and floors of a scan whose sensor is at the origin, or of a
    tile from an aircraft; z points up, metres. By a progressive morphological filter (Zhang et al. 2003, Pingel et al. 2013),
    on the CPU.

    slope      the steepest rise of a thing that is still ground, metres per metre, 0.01 to 10
    tolerance  the height of ground above the lowest point of its cell; 0 = 0.1 in a scan, 0.5 in a tile
    cell_size  0.1 or more; 0 = 0.75 in a scan, by the density in a tile"""
    parts, _ = native_cloud(points)
    bytes_ = _part_of(mask, len(parts[0]))
    _native.find_ground(parts, {'slope': slope, 'tolerance': tolerance, 'cell_size': cell_size}, bytes_.ctypes.data,
                        thread_count(threads))
    return _like(points, bytes_.view(bool))


def normals(points: Points, k: int = 16, radius: float = 0.0, *, viewpoint: Optional[Sequence[float]] = None,
            mask: Optional[Array] = None, device: Any = 'auto', threads: Optional[int] = None) -> Normals:
    """The normals of records by their k nearest ones, 3 to 128, themselves included, within `radius` metres (0 = no limit).
    They point to the side of `viewpoint`, x y z in metres, None = the origin."""
    parts, _ = native_cloud(points)
    out = np.empty((len(parts[0]), 4), np.float32)
    bytes_ = _bytes_of(mask, len(out))
    _native.find_normals(parts, int(k), float(radius), None if viewpoint is None else [float(v) for v in viewpoint],
                         None if bytes_ is None else bytes_.ctypes.data, out.ctypes.data, device_name(device),
                         thread_count(threads))
    return Normals(_like(points, np.ascontiguousarray(out[:, :3])), _like(points, np.ascontiguousarray(out[:, 3])))


def clusters(points: Points, distance: float = 0.5, *, core: int = 1, least: int = 1, most: int = 0,
             mask: Optional[Array] = None, device: Any = 'auto', threads: Optional[int] = None) -> Array:
    """The cluster (N,) int32 of each record, from 0 on by the lowest record of a cluster; -1: none. Records nearer than
    `distance` metres to each other are in one cluster.

    core         records within the distance, itself included, that a record needs to connect others (DBSCAN's least number);
                 1 = all connect (Euclidean clustering)
    least, most  records of a cluster; smaller and larger ones are none; most 0 = no limit"""
    parts, _ = native_cloud(points)
    out = np.empty(len(parts[0]), np.int32)
    bytes_ = _bytes_of(mask, len(out))
    _native.find_clusters(parts, {'distance': distance, 'core': core, 'least': least, 'most': most},
                          None if bytes_ is None else bytes_.ctypes.data, out.ctypes.data, device_name(device),
                          thread_count(threads))
    return _like(points, out)


def _outliers(points: Points, is_sparse: bool, count: int, limit: float, mask: Optional[Array], device: Any,
              threads: Optional[int]) -> Array:
    if _device.is_on_gpu(points):
        place = _device.Place(points, 'points', 2)
        flags = place.flags(mask)
        _native.find_outliers_device((place.address(place.points), *place.points.shape), is_sparse, int(count), float(limit),
                                     place.address(flags), place.device, place.stream)
        return place.bools(flags)
    parts, _ = native_cloud(points)
    bytes_ = _part_of(mask, len(parts[0]))
    _native.find_outliers(parts, is_sparse, int(count), float(limit), bytes_.ctypes.data, device_name(device),
                          thread_count(threads))
    return _like(points, bytes_.view(bool))


def _bytes_of(mask: Optional[Array], rows: int) -> Optional[np.ndarray]:
    """A copy of the mask, a byte per record."""
    return None if mask is None else _part_of(mask, rows)


def _part_of(mask: Optional[Array], rows: int) -> np.ndarray:
    """The same, of all records where there is no mask."""
    if mask is None:
        return np.ones(rows, np.uint8)
    values = to_numpy(mask, 'mask')
    check_mask(values, rows)
    return values.astype(np.uint8)


def _like(points: Points, array: np.ndarray) -> Array:
    """The array in the package and on the device of the points."""
    values = points.points if isinstance(points, Cloud) else points
    package = type(values).__module__.partition('.')[0]
    if package == 'torch':
        return give(array, 'torch').to(values.device)
    if package == 'cupy':
        with values.device:
            return __import__('cupy').asarray(array)
    return give(array, kind_of(values))
