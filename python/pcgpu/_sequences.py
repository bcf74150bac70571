"""Objects that keep a state between calls: odometry and volumes. Any thread may use one, one call at a time; a process
that was forked makes its own."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple

from . import _native
from ._arrays import depth_image, device_name, give, kind_of, matrix, thread_count, timed_poses
from ._clouds import Camera, Cloud, Mesh, native_cloud
from ._registrations import Points, depth_params, register_params
from ._results import Array, Frame, VolumeCounts, VolumeStats, frame, volume_counts, volume_stats

if TYPE_CHECKING:
    from typing_extensions import Literal, Unpack

    from ._registrations import RegisterParams

_RATE = 10.0  # scans per second where the caller gives no times, as in the program


class _Closing:
    """close(), and the end of a `with` block."""

    _native: Any

    def close(self) -> None:
        """Frees the memory. Later calls raise ValueError."""
        self._native.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class _Clock:
    """Times of scans that the caller leaves out."""

    def __init__(self) -> None:
        self.count = 0

    def next(self, time: Optional[float]) -> float:
        return self.count / _RATE if time is None else float(time)


class _Guessing(_Closing):
    """What odometries of both sensors share."""

    def guess(self, times: Array, poses: Array) -> None:
        """Gives the motion of the sensor from elsewhere, as pcgpu odometry --guess: wheels, an IMU, GNSS.

        times  (K,): seconds, in the clock of add(), which rise
        poses  (K, 4, 4): of the sensor in any world; between two of them it has constant velocity. K = 0: no more of it

        Where two frames lie within the times, the motion between them is the prediction."""
        self._native.guess(*timed_poses(times, poses))


class Odometry(_Guessing):
    """The poses of a sequence of LiDAR scans: pcgpu odometry.

    reference           what a scan is registered to: 'model' (a local map), 'keyframe' or 'previous'
    keyframe_distance, keyframe_angle  metres and radians: a scan farther from the keyframe becomes the next one
    keyframe_fitness    a scan with a lower fitness becomes the next one, too
    model_range         metres: minimum extent of the local map from the sensor
    model_points        a voxel of the local map takes no more points than this
    deskew              for a sensor that moves during a sweep: 'none', 'time' (from a column), 'counterclockwise' or
                        'clockwise' (from the azimuth), 'auto' (from a column where the first scan has times)
    time_column         of deskew='time' and 'auto', counted from 0; 0: that which 'auto' finds; with 'time' the first with
                        the name of a time, such as gps_time, else 4
    map                 (N, C) float32 or Cloud: scans are localized in this map, such as that of Map.finish(), in its
                        coordinates; no scan changes it. The first scan is searched in all of it, unless init or search
                        is given
    extend              where scans leave the map, or it has changed, they are registered to what they add to it, too;
                        Map(into=...) writes the map that they make
    device, threads     as in sample()
    others              the parameters of register(): method, voxel_size, ...; init is the pose of the first scan"""

    _kind = 'numpy'

    def __init__(self, *, reference: Literal['model', 'keyframe', 'previous'] = 'model',
                 keyframe_distance: float = 3.0, keyframe_angle: float = 0.35, keyframe_fitness: float = 0.6,
                 model_range: float = 80.0, model_points: int = 200,
                 deskew: Literal['none', 'time', 'counterclockwise', 'clockwise', 'auto'] = 'auto', time_column: int = 0,
                 map: Optional[Points] = None, extend: bool = False, device: str = 'auto', threads: Optional[int] = None,
                 **registration: Unpack[RegisterParams]) -> None:
        params = {'reference': reference, 'keyframe_distance': keyframe_distance, 'keyframe_angle': keyframe_angle,
                  'keyframe_fitness': keyframe_fitness, 'model_range': model_range, 'model_points': model_points,
                  'deskew': deskew, 'time_column': time_column}
        others = register_params(dict(registration))
        if map is not None and 'init' not in others:
            others.setdefault('search', 'always')
        if extend and map is None:
            raise ValueError('extend needs a map; give map')
        self._native = _native.Odometry(params, others, None if map is None else native_cloud(map, 'map')[0], extend,
                                        device_name(device), thread_count(threads))
        self._clock = _Clock()

    def add(self, points: Points, time: Optional[float] = None) -> Frame:
        """Adds the next scan and finds its pose.

        points   (N, C) float32, x y z first, metres, in the sensor's frame, or a Cloud. It is not kept
        time     seconds from a common zero, increasing; None = 10 scans per second

        Returns a Frame; a lost scan raises nothing: look at `good`. After an exception, the scan was not added."""
        parts, self._kind = native_cloud(points)
        out = frame(self._native.add(parts, self._clock.next(time)), self._kind)
        self._clock.count += 1
        return out

    def points(self) -> Cloud:
        """The points of the last scan that has a pose, as they were registered: a Cloud x y z, metres, deskewed, in the
        sensor's frame. Loops takes them."""
        return Cloud._of(self._native.points(), self._kind)

    def scan_points(self, points: Points, before: Optional[Points] = None, motion: Optional[Array] = None,
                    fraction: float = 1.0) -> Cloud:
        """The points of a scan as they are registered, with all columns: those that Map takes. No state changes.

        points    (N, C) float32 or Cloud, as in add()
        before    the scan before it: returns near the sensor that both have, of the vehicle that carries it, are left out
        motion    (4, 4): the motion T_before_scan between them, for deskew
        fraction  of this motion in a sweep"""
        parts, kind = native_cloud(points)
        earlier = None if before is None else native_cloud(before, 'before')[0]
        pose = None if motion is None else matrix(motion, 'motion')
        return Cloud._of(self._native.scan_points(parts, earlier, pose, float(fraction)), kind)


class _Model(_Closing):
    """What a volume and the model of a depth camera share."""

    _kind = 'numpy'

    def raycast(self, camera: Camera, pose: Array) -> Tuple[Array, Array]:
        """Ray-casts the model from a camera with width and height at the pose T_world_camera (4, 4).

        Returns vertices (height, width, 3) float32, metres, in the frame of the camera, and unit normals of the same
        shape; NaN = no surface."""
        vertices, normals = self._native.raycast(camera._values(), matrix(pose, 'pose'))
        return give(vertices, self._kind), give(normals, self._kind)

    def surface(self, min_weight: float = 0.0) -> Cloud:
        """The points of the surface with normals: a Cloud x y z nx ny nz, metres, in the world. Voxels with a smaller sum
        of weights count as unseen."""
        return Cloud._of(self._native.surface(min_weight), self._kind)

    def mesh(self, min_weight: float = 0.0) -> Mesh:
        """The surface as triangles, by marching cubes. write() takes it."""
        vertices, triangles = self._native.mesh(min_weight)
        return Mesh(Cloud._of(vertices, self._kind), give(triangles, self._kind))

    @property
    def stats(self) -> VolumeStats:
        """The size of the model, and how it ran."""
        return volume_stats(self._native.stats())


class Volume(_Model):
    """Fuses depth images with known poses into a truncated signed distance function: pcgpu fuse.

    voxel_size   metres
    truncation   metres, 2 to 64 voxels; 0 = 4 voxels
    max_weight   where the sum of weights reaches it, the mean becomes a running mean
    max_blocks   most blocks of 8 x 8 x 8 voxels, 4.2 kB each
    frames       expected number of images, for device='auto'
    device, threads  as in sample()"""

    def __init__(self, voxel_size: float = 0.01, *, truncation: float = 0.0, max_weight: float = 100.0,
                 max_blocks: int = 2**19, frames: int = 100, device: str = 'auto',
                 threads: Optional[int] = None) -> None:
        params = {'voxel_size': voxel_size, 'truncation': truncation, 'max_weight': max_weight,
                  'max_blocks': max_blocks, 'frames': frames}
        self._native = _native.Volume(params, device_name(device), thread_count(threads))

    def integrate(self, depth: Array, camera: Camera, pose: Array) -> VolumeCounts:
        """Integrates an image (height, width) uint16, in units of 1 / depth_scale metres, at the pose T_world_camera
        (4, 4), which is rigid to 1e-3. After an exception, the volume is unchanged."""
        counts = self._native.integrate(depth_image(depth), camera._values(), matrix(pose, 'pose'))
        self._kind = kind_of(depth)
        return volume_counts(counts)


class DepthOdometry(_Model, _Guessing):
    """The poses of a sequence of depth images, and a model of the scene: pcgpu odometry.

    camera              of all images
    reference           what an image is registered to: 'model' (a volume, ray-cast from the predicted pose, as in
                        KinectFusion), 'keyframe' or 'previous'
    keyframe_distance, keyframe_angle, keyframe_fitness  as in Odometry
    init                (4, 4): the pose of the first image; None = identity
    level_iterations, max_distance, bilateral, translation_epsilon, rotation_epsilon, min_score  as in register_depth()
    voxel_size, truncation, max_weight, max_blocks, frames  of the model, as in Volume
    device, threads     as in sample()

    raycast(), surface(), mesh() and stats are those of the model, with reference='model' only."""

    def __init__(self, camera: Camera, *, reference: Literal['model', 'keyframe', 'previous'] = 'model',
                 keyframe_distance: float = 0.3, keyframe_angle: float = 0.2, keyframe_fitness: float = 0.7,
                 init: Optional[Array] = None, level_iterations: Sequence[int] = (10, 20, 40), max_distance: float = 0.4,
                 bilateral: float = 0.0, translation_epsilon: float = 1e-5, rotation_epsilon: float = 1e-5,
                 min_score: float = 0.2, voxel_size: float = 0.01, truncation: float = 0.0, max_weight: float = 100.0,
                 max_blocks: int = 2**19, frames: int = 100, device: str = 'auto',
                 threads: Optional[int] = None) -> None:
        params = {'reference': reference, 'keyframe_distance': keyframe_distance, 'keyframe_angle': keyframe_angle,
                  'keyframe_fitness': keyframe_fitness}
        registration = depth_params(init, level_iterations, max_distance, bilateral, translation_epsilon,
                                    rotation_epsilon, min_score)
        volume = {'voxel_size': voxel_size, 'truncation': truncation, 'max_weight': max_weight,
                  'max_blocks': max_blocks, 'frames': frames}
        self._native = _native.DepthOdometry(camera._values(), params, registration, volume, device_name(device),
                                             thread_count(threads))
        self._clock = _Clock()

    def add(self, depth: Array, time: Optional[float] = None) -> Frame:
        """Adds the next image (height, width) uint16, with its time in seconds (None = 10 per second), and finds its pose
        T_world_camera. A lost image raises nothing and changes nothing: look at `good`."""
        self._kind = kind_of(depth)
        out = frame(self._native.add(depth_image(depth), self._clock.next(time)), self._kind)
        self._clock.count += 1
        return out
