"""Clouds, cameras, depth images and meshes, and their files."""
from __future__ import annotations

import dataclasses
import io
import os
import tempfile
import threading
from typing import Any, BinaryIO, Dict, Optional, Sequence, Tuple, Union

import numpy as np

from . import _native
from ._arrays import depth_image, float_points, give, kind_of, matrix, record_cloud, thread_count, to_numpy

Array = Any
Path = Union[str, 'os.PathLike[str]']

_NAMES = ('x', 'y', 'z', 'intensity')


@dataclasses.dataclass(frozen=True)
class Camera:
    """A pinhole camera without distortion. A point (x, y, z) of its frame, x to the right, y down, z forward, in metres,
    projects to column u = fx * x / z + cx and row v = fy * y / z + cy; whole u and v are pixel centres."""

    fx: float  #: focal length in pixels
    fy: float
    cx: float  #: principal point in pixels
    cy: float
    width: int = 0  #: pixels; 0 = any size
    height: int = 0
    depth_scale: float = 1000.0  #: depth units per metre: 1000 for millimetres, 5000 for TUM RGB-D
    min_depth: float = 0.0  #: metres: a smaller depth is no return
    max_depth: float = 0.0  #: metres: a larger depth is no return; 0 = no limit

    def _values(self) -> Dict[str, Any]:
        return self.__dict__


class Cloud:
    """Points with names of their columns: what read() returns, and what every operation takes in place of an array.

    points   (N, C) float32, C from 3 to 64: x y z in metres, relative to `offset`, then other columns
    columns  C names; default x y z intensity c4 c5 ...
    offset   metres, float64: a point is at offset + points[:, :3]. read() sets it only where float32 alone would lose
             precision, such as UTM coordinates
    types    C types that a writer which keeps types (.ply) restores, such as 'uint8'; default 'float32'
    first    C numbers, float64, that the values of columns after x y z are relative to: read() sets them for times that
             float32 cannot hold, such as those since 1970
    up       the axis that points up, 'x' to '-z', where a .ply names it; else None
    """

    __slots__ = ('points', 'columns', 'offset', 'types', 'first', 'up')

    def __init__(self, points: Array, columns: Optional[Sequence[str]] = None,
                 offset: Optional[Sequence[float]] = None, types: Optional[Sequence[str]] = None) -> None:
        array, own = float_points(points, 'points')
        width = array.shape[1]
        if columns is None:
            columns = [_NAMES[k] if k < 4 else f'c{k}' for k in range(width)]
        if len(columns) != width or (types is not None and len(types) != width):
            raise ValueError(f'points has {width} columns; give as many names and types')
        if any(not isinstance(name, str) for name in columns) or len(set(columns)) != width:
            raise ValueError(f'columns is {columns!r}; give names that differ')
        if own is not None and offset is not None:
            raise ValueError('float64 points far from the origin get an offset of their own; give float32 points with '
                             'an offset')
        offset = own if own is not None else offset if offset is not None else (0.0, 0.0, 0.0)
        if len(offset) != 3:
            raise ValueError(f'offset is {offset!r}; give 3 numbers')
        self.points: Array = give(array, kind_of(points))
        self.columns: Tuple[str, ...] = tuple(columns)
        self.offset: Tuple[float, float, float] = (float(offset[0]), float(offset[1]), float(offset[2]))
        self.types: Tuple[str, ...] = tuple(types) if types is not None else ('float32',) * width
        self.first: Tuple[float, ...] = (0.0,) * width
        self.up: Optional[str] = None

    @classmethod
    def _of(cls, values: Dict[str, Any], kind: str = 'numpy') -> Cloud:
        cloud = cls.__new__(cls)
        cloud.points = give(values['points'], kind)
        cloud.columns, cloud.offset, cloud.types = values['columns'], values['offset'], values['types']
        cloud.first, cloud.up = values['first'], values.get('up')
        return cloud

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        far = f', offset={self.offset}' if any(self.offset) else ''
        return f'<pcgpu.Cloud of {len(self)} points: {" ".join(self.columns)}{far}>'

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        array = to_numpy(self.points, 'points')
        return np.array(array, dtype) if copy else np.asarray(array, dtype)

    def __getitem__(self, rows: Any) -> Cloud:
        """The cloud of these rows: indices, a slice or a mask."""
        if isinstance(rows, tuple) or np.ndim(rows) == 0 and not isinstance(rows, slice):
            raise TypeError('give a slice, an array of indices or a mask of rows; cloud.points[...] takes anything else')
        picked = self.points[rows]
        return Cloud._of({'points': picked, 'columns': self.columns, 'offset': self.offset, 'types': self.types,
                          'first': self.first, 'up': self.up})

    def column(self, name: str) -> Array:
        """The values (N,) of a column, without its `first`. KeyError: there is none of this name."""
        if name not in self.columns:
            raise KeyError(f"no column '{name}'; there are {' '.join(self.columns)}")
        return self.points[:, self.columns.index(name)]

    def xyz(self) -> Array:
        """The coordinates (N, 3) with the offset, float64, metres."""
        exact = to_numpy(self.points, 'points')[:, :3].astype(np.float64) + np.asarray(self.offset)
        return give(exact, kind_of(self.points))

    def transform(self, matrix: Array) -> Cloud:
        """The cloud moved by a rigid 4x4 transform, computed in float64 and rounded once. Columns nx ny nz (or normal_x
        ...) are rotated."""
        parts, kind = native_cloud(self)
        return Cloud._of(_native.transform(parts, _matrix(matrix)), kind)


def _matrix(values: Array) -> list:
    return matrix(values, 'matrix')


Points = Union[Cloud, Any]  # what functions take: a Cloud or an array


def native_cloud(points: Any, what: str = 'points') -> Tuple[tuple, str]:
    """A cloud or array as the parts that the native module takes, and the kind of its array."""
    if isinstance(points, Cloud):
        array, _ = float_points(points.points, what)
        return (array, points.columns, points.offset, points.types, points.first, points.up), kind_of(points.points)
    if isinstance(points, np.ndarray) and points.dtype.names:
        return native_cloud(Cloud._of(record_cloud(points)), what)
    array, offset = float_points(points, what)
    return (array, None, offset, None, None, None), kind_of(points)


@dataclasses.dataclass(frozen=True)
class Mesh:
    """Triangles: what Volume.mesh() returns, and what write() takes."""

    vertices: Cloud  #: x y z nx ny nz
    triangles: Array  #: (T, 3) int32: vertices of each, counter-clockwise seen from outside


# ---- files -----------------------------------------------------------------------------------------------------------


def _source(source: Any) -> Tuple[Any, Any, bytes]:
    """What to close, what the native module reads, and the name for messages and the format."""
    if hasattr(source, 'read'):
        name = getattr(source, 'name', None)
        content = source.read()
        if not isinstance(content, (bytes, bytearray, memoryview)):
            raise TypeError("the file is open for text; open it with mode 'rb'")
        return None, bytes(content), os.fsencode(name) if isinstance(name, str) else b'-'
    path = os.fspath(source)
    stream = open(path, 'rb')
    return stream, stream.fileno(), os.fsencode(path)


def _expanded(source: Any) -> Any:
    """The source, or a .laz as .las in memory where laspy is installed with a backend for it (pip install laspy[lazrs])."""
    if hasattr(source, 'read') or not os.fspath(source).lower().endswith('.laz'):
        return source
    try:
        import laspy
    except ImportError:
        return source
    if not laspy.LazBackend.detect_available():
        return source
    expanded = io.BytesIO()
    laspy.read(os.fspath(source)).write(expanded, do_compress=False)
    expanded.name = os.fspath(source)[:-1] + 's'
    expanded.seek(0)
    return expanded


def read(source: Union[Path, BinaryIO], *, format: Optional[str] = None, fields: int = 0,
         array: Optional[str] = None, camera: Optional[Camera] = None, threads: Optional[int] = None) -> Cloud:
    """Reads a cloud: the formats of pcgpu-formats(7), such as .bin, .ply, .pcd, .las, .npy, .npz and text, or a depth
    image with its camera. A .laz is read by laspy where it is installed (pip install laspy[lazrs]).

    source   a path or a binary file object
    format   'bin', 'ply', ...; default: by the first bytes, else by the name; a file object without a name is 'bin'
    fields   float32 columns of a record of .bin, 3 to 16; 0 = 5 for .pcd.bin (nuScenes), else 4 (KITTI)
    array    the array of an .npz; None = its only one, the only possible cloud, or 'points'
    camera   of a depth image: each pixel with a return becomes a point, metres, in the frame of the camera
    threads  as in sample()

    Raises FileNotFoundError or another OSError when the file cannot be read, ValueError when its content is wrong."""
    if array is not None:
        if format not in (None, 'npz'):
            raise ValueError(f"array is for .npz, and format is '{format}'; leave one of them out")
        format = f'npz:{array}'
    stream, native, name = _source(_expanded(source))
    try:
        values = _native.read(native, name, format, fields, camera and camera._values(), thread_count(threads))
    finally:
        if stream:
            stream.close()
    del values['format']
    return Cloud._of(values)


def read_depth(source: Union[Path, BinaryIO], *, format: Optional[str] = None) -> np.ndarray:
    """Reads a depth image (.png, .pgm) as a uint16 array (height, width), in units of 1 / depth_scale metres; 0 and 65535
    = no return. `source` and `format` as in read(), which also says what it raises."""
    stream, native, name = _source(source)
    try:
        return _native.read_depth(native, name, format)
    finally:
        if stream:
            stream.close()


def depth_to_cloud(depth: Array, camera: Camera, *, threads: Optional[int] = None) -> Cloud:
    """The points of a depth image (height, width) uint16, in units of 1 / depth_scale metres, in the frame of its camera,
    metres: one per pixel with a return, row by row. threads as in sample()."""
    values = _native.depth_to_cloud(depth_image(depth), camera._values(), thread_count(threads))
    return Cloud._of(values, kind_of(depth))


def write(target: Union[Path, BinaryIO], data: Union[Cloud, Mesh, Array], *, format: Optional[str] = None) -> None:
    """Writes to a file.

    target   a path or a binary file object
    data     a Cloud or an array of points (N, C) float32; or a Mesh, in the format of its name: .obj, .glb, else .ply
    format   of points: 'bin', 'ply', 'pcd', 'las', 'npy', 'xyz' or 'csv'; default: by the name; a file object without a
             name is 'bin'

    A file appears under its name when it is complete. Raises OSError when it cannot be written."""
    if hasattr(target, 'write'):
        name = getattr(target, 'name', None)
        with tempfile.TemporaryFile() as stream:
            _write(stream, os.fsencode(name) if isinstance(name, str) else b'-', data, format)
            stream.seek(0)
            target.write(stream.read())
        return
    path = os.path.realpath(os.fspath(target))
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, 'wb') as stream:  # a device or a pipe
            _write(stream, os.fsencode(path), data, format)
        return
    unfinished = f'{path}.{os.getpid()}-{threading.get_ident()}.tmp'
    try:
        with open(unfinished, 'xb') as stream:
            _write(stream, os.fsencode(path), data, format)
        os.replace(unfinished, path)
    except FileNotFoundError as error:
        raise FileNotFoundError(error.errno, error.strerror, os.fspath(target)) from None
    finally:
        if os.path.exists(unfinished):
            os.unlink(unfinished)


def _write(stream: Any, name: bytes, data: Any, format: Optional[str]) -> None:
    if isinstance(data, Mesh):
        parts, _ = native_cloud(data.vertices)
        triangles = np.ascontiguousarray(to_numpy(data.triangles, 'triangles'), np.int32)
        _native.write_mesh(stream.fileno(), name, parts, triangles)
    else:
        parts, _ = native_cloud(data, 'data')
        _native.write(stream.fileno(), name, format, parts)
