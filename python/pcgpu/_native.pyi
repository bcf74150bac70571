"""The C library of pcgpu; use the functions of pcgpu."""

from typing import Annotated

import numpy
from numpy.typing import NDArray


def sample_device(points: tuple, params: dict, picks: tuple, device: int, stream: int) -> None:
    """The picks of clouds on a GPU."""

def neighbors(points: tuple, queries: tuple, params: dict, lists: tuple, device: str, threads: int) -> None:
    """The neighbours of records, into memory of the caller."""

def neighbors_device(points: tuple, queries: tuple, params: dict, lists: tuple, device: int, stream: int) -> None:
    """The neighbours of records on a GPU."""

def points_in_boxes(points: tuple, boxes: object, count: int, first: object | None, inside: object | None, device: str, threads: int) -> None:
    """The boxes of records, into memory of the caller."""

def points_in_boxes_device(points: tuple, boxes: object, count: int, first: object | None, inside: object | None, device: int, stream: int) -> None:
    """The boxes of records on a GPU."""

def find_outliers_device(points: tuple, sparse: bool, count: int, limit: float, mask: object, device: int, stream: int) -> None:
    """Clears the mask on a GPU of outliers."""

def voxelize_device(points: tuple, params: dict, voxels: tuple, device: int, stream: int) -> None:
    """The voxels of a cloud on a GPU."""

def read(source: object, name: bytes, format: object | None, fields: int, camera: object | None, threads: int) -> dict:
    """A cloud from a file descriptor or bytes."""

def read_depth(source: object, name: bytes, format: object | None) -> object:
    """A depth image from a file descriptor or bytes."""

def depth_to_cloud(image: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], camera: dict, threads: int) -> dict:
    """The points of a depth image."""

def write(descriptor: int, name: bytes, format: object | None, cloud: tuple) -> None:
    """Writes a cloud to a file descriptor."""

def write_mesh(descriptor: int, name: bytes, vertices: tuple, triangles: Annotated[NDArray[numpy.int32], dict(shape=(None, 3), order='C', device='cpu', writable=False)]) -> None:
    """Writes a mesh to a file descriptor."""

def transform(cloud: tuple, matrix: object) -> dict:
    """The cloud moved by a rigid transform."""

def formats() -> list:
    """(name, extension, reads, writes, depth) of each format."""

def find_outliers(cloud: tuple, sparse: bool, count: int, limit: float, mask: object, device: str, threads: int) -> dict:
    """Clears the mask of outliers."""

def find_normals(cloud: tuple, k: int, radius: float, viewpoint: object | None, mask: object | None, normals: object, device: str, threads: int) -> None:
    """Normals and curvatures, into memory of the caller."""

def find_clusters(cloud: tuple, params: dict, mask: object | None, clusters: object, device: str, threads: int) -> int:
    """Ids of clusters, into memory of the caller."""

def find_ground(cloud: tuple, params: dict, mask: object, threads: int) -> None:
    """Leaves the ground in the mask."""

class Map:
    def __init__(self, params: dict, into: object | None, folder: str, device: str, threads: int) -> None: ...

    def add(self, cloud: tuple, pose: object) -> None: ...

    def finish(self) -> dict: ...

    def changes(self) -> dict: ...

    def stats(self) -> dict: ...

    def close(self) -> None: ...

class Loops:
    def __init__(self, params: dict, device: str, threads: int) -> None: ...

    def add(self, cloud: tuple, id: int, pose: object) -> None: ...

    def solve(self) -> dict: ...

    def close(self) -> None: ...

class DepthLoops:
    def __init__(self, camera: dict, params: dict, device: str, threads: int) -> None: ...

    def add(self, image: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], id: int, pose: object) -> None: ...

    def solve(self) -> dict: ...

    def close(self) -> None: ...

def sample(clouds: list, params: dict, seeds: object | None, device: str, threads: int) -> list:
    """The picks of each cloud."""

def voxelize(cloud: tuple, params: dict, device: str, threads: int) -> dict:
    """The voxels of a cloud."""

def register(pairs: list, params: dict, device: str, threads: int) -> list:
    """The registration of each pair of clouds."""

def register_device(pairs: list, params: dict, device: str, threads: int, stream: int) -> list:
    """The registrations of pairs of clouds on a GPU."""

def register_all(clouds: list, params: dict, device: str, threads: int) -> dict:
    """The poses of a set of clouds."""

def register_depth(source: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], target: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], source_camera: dict, target_camera: object | None, params: dict, device: str, threads: int) -> dict:
    """The registration of two depth images."""

def devices() -> list:
    """The CUDA devices of this machine."""

def cuda_architectures() -> str:
    """The GPU architectures of this build."""

def version() -> str:
    """The version of the library."""

def defaults() -> dict:
    """The defaults of the parameters, by function."""

class Odometry:
    def __init__(self, params: dict, registration: dict, map: object | None, extend: bool, device: str, threads: int) -> None: ...

    def add(self, cloud: tuple, time: float) -> dict: ...

    def guess(self, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], poses: Annotated[NDArray[numpy.float64], dict(shape=(None, 4, 4), order='C', device='cpu', writable=False)]) -> None: ...

    def points(self) -> dict: ...

    def scan_points(self, cloud: tuple, before: object | None, motion: object | None, fraction: float) -> dict: ...

    def close(self) -> None: ...

class Volume:
    def __init__(self, params: dict, device: str, threads: int) -> None: ...

    def integrate(self, image: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], camera: dict, pose: object) -> dict: ...

    def raycast(self, camera: dict, pose: object) -> tuple: ...

    def surface(self, min_weight: float) -> dict: ...

    def mesh(self, min_weight: float) -> tuple: ...

    def stats(self) -> dict: ...

    def close(self) -> None: ...

class DepthOdometry:
    def __init__(self, camera: dict, params: dict, registration: dict, volume: dict, device: str, threads: int) -> None: ...

    def add(self, image: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], time: float) -> dict: ...

    def guess(self, times: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], poses: Annotated[NDArray[numpy.float64], dict(shape=(None, 4, 4), order='C', device='cpu', writable=False)]) -> None: ...

    def raycast(self, camera: dict, pose: object) -> tuple: ...

    def surface(self, min_weight: float) -> dict: ...

    def mesh(self, min_weight: float) -> tuple: ...

    def stats(self) -> dict: ...

    def close(self) -> None: ...
