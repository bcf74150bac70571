"""Objects that scans or depth images with poses are added to: a map, and loops that correct the poses."""
from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

from . import _native
from ._arrays import depth_image, device_name, kind_of, matrix, thread_count
from ._clouds import Camera, Cloud, native_cloud
from ._registrations import Points, depth_params
from ._results import Array, LoopsResult, MapStats, Run, loops_result
from ._sequences import _Closing

if TYPE_CHECKING:
    from typing_extensions import Literal


class Map(_Closing):
    """Scans with poses, merged into one cloud without objects that moved: pcgpu odometry -o.

    voxel_size      metres: one point per voxel
    keep_moving     keep the points of objects that moved, which scans have seen through
    drop_origin     drop points at exactly (0, 0, 0)
    views_distance, views_scans  metres and scans: a panorama of what was seen through is kept this often
    memory          bytes for the voxels in memory, from 2**20; those farthest from the sensor go to a temporary file in
                    `folder`. 0 = no limit. The map does not depend on it
    folder          of that file; None = that of the system
    into            (N, C) float32 or Cloud: an existing map in the same world, which the scans extend
    device, threads  as in sample()"""

    _kind = 'numpy'

    def __init__(self, voxel_size: float = 0.1, *, keep_moving: bool = False, drop_origin: bool = True,
                 views_distance: float = 1.0, views_scans: int = 10, memory: int = 0,
                 folder: Optional[Union[str, os.PathLike]] = None, into: Optional[Points] = None, device: str = 'auto',
                 threads: Optional[int] = None) -> None:
        params = {'voxel_size': voxel_size, 'keep_moving': keep_moving, 'drop_origin': drop_origin,
                  'views_distance': views_distance, 'views_scans': views_scans, 'memory': memory}
        self._native = _native.Map(params, None if into is None else native_cloud(into, 'into')[0],
                                   os.fspath(folder or tempfile.gettempdir()), device_name(device), thread_count(threads))

    def add(self, points: Points, pose: Array) -> None:
        """Adds a scan, points (N, C) float32 or Cloud relative to its sensor, metres, with the pose of the sensor
        T_world_scan (4, 4), which is rigid to 1e-3."""
        parts, self._kind = native_cloud(points)
        self._native.add(parts, matrix(pose, 'pose'))

    def finish(self) -> Cloud:
        """The map: a Cloud with one point per voxel, x y z, intensity where all scans have it, nx ny nz, and seen, the
        number of scans with a point there. No scan can be added afterwards. write() and Odometry(map=...) take it. With
        `into`, the points of that map come first, and all have the columns that both have."""
        return Cloud._of(self._native.finish(), self._kind)

    def changes(self) -> Cloud:
        """After finish() of a map with `into`: a Cloud x y z change, the voxels that appeared (1) and disappeared (2)."""
        return Cloud._of(self._native.changes(), self._kind)

    @property
    def stats(self) -> MapStats:
        """The size of the map, and how it ran."""
        values = self._native.stats()
        return MapStats(**{**values, 'run': Run(**values['run'])})


class _Loops(_Closing):
    """What loops of scans and of depth images share."""

    _kind = 'numpy'
    _count = 0

    def _add(self, native: Any, pose: Array, id: Optional[int]) -> None:
        self._native.add(native, self._count if id is None else id, matrix(pose, 'pose'))
        self._count += 1

    def solve(self) -> LoopsResult:
        """The loops, and the corrected poses, after the last scan or image."""
        return loops_result(self._native.solve(), self._kind)


class Loops(_Loops):
    """Finds places that a sequence sees again, and corrects its poses: pcgpu odometry --loops, of scans.

    voxel_size      metres: finest voxel of the registration of two places; 'auto': from the first scan
    levels          of that registration; 0 = automatic
    min_score       0 to 1: registrations below it are no loops
    place_distance  metres travelled from place to place; 'auto': 40 voxels
    drift           largest error of the poses, as a fraction of the path; a loop that contradicts them by more is refused
    device, threads  as in sample()"""

    def __init__(self, *, voxel_size: Union[float, Literal['auto']] = 'auto', levels: int = 0, min_score: float = 0.35,
                 place_distance: Union[float, Literal['auto']] = 'auto', drift: float = 0.02, device: str = 'auto',
                 threads: Optional[int] = None) -> None:
        params = {'voxel_size': voxel_size, 'levels': levels, 'min_score': min_score,
                  'place_distance': place_distance, 'drift': drift}
        self._native = _native.Loops(params, device_name(device), thread_count(threads))

    def add(self, points: Points, pose: Array, id: Optional[int] = None) -> None:
        """Adds the next scan that has a pose, T_world_frame (4, 4): its points as they were registered, those of
        Odometry.points(), (N, C) float32 or Cloud relative to the sensor, metres. id: of the result; None = the number
        of scans before."""
        parts, self._kind = native_cloud(points)
        self._add(parts, pose, id)


class DepthLoops(_Loops):
    """Finds places that a depth camera sees again, and corrects its poses: pcgpu odometry --loops, of depth images.

    camera          of all images
    place_distance, place_angle  metres and radians: an image farther from the last place becomes the next one
    drift           largest error of the poses, as a fraction of the path, in which a radian counts as a metre; a loop
                    that contradicts them by more is refused
    level_iterations, max_distance, bilateral, translation_epsilon, rotation_epsilon, min_score  of the registration of
                    two places, as in register_depth()
    device, threads  as in sample()"""

    def __init__(self, camera: Camera, *, place_distance: float = 0.1, place_angle: float = 0.1, drift: float = 0.05,
                 level_iterations: Sequence[int] = (10, 20, 40), max_distance: float = 0.4, bilateral: float = 0.0,
                 translation_epsilon: float = 1e-5, rotation_epsilon: float = 1e-5, min_score: float = 0.2,
                 device: str = 'auto', threads: Optional[int] = None) -> None:
        params = depth_params(None, level_iterations, max_distance, bilateral, translation_epsilon, rotation_epsilon,
                              min_score)
        params.update(place_distance=place_distance, place_angle=place_angle, drift=drift)
        self._native = _native.DepthLoops(camera._values(), params, device_name(device), thread_count(threads))

    def add(self, depth: Array, pose: Array, id: Optional[int] = None) -> None:
        """Adds the next image that has a pose, T_world_camera (4, 4): (height, width) uint16, in units of
        1 / depth_scale metres, all of one size. It is not kept. id: of the result; None = the number of images before."""
        self._kind = kind_of(depth)
        self._add(depth_image(depth), pose, id)
