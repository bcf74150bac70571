"""Registration of clouds and of depth images."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Literal, Optional, Sequence, Tuple, Union

from . import _device, _native
from ._arrays import depth_image, device_name, kind_of, matrix, thread_count
from ._clouds import Camera, Points, native_cloud
from ._results import Array, Registration, SetResult, registration, set_result

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class RegisterParams(TypedDict, total=False):
        """The parameters of register()."""

        method: Literal['ndt', 'plane', 'point', 'gicp']
        init: Optional[Array]
        search: Literal['rescue', 'never', 'always']
        voxel_size: Union[float, Literal['auto']]
        levels: int
        max_distance: Union[float, Literal['auto']]
        max_iterations: int
        translation_epsilon: Union[float, Literal['auto']]
        rotation_epsilon: float
        min_score: float
        drop_origin: bool
        keep_carrier: bool
        min_range: float
        beam_correction: float


def register_params(given: Dict[str, Any]) -> Dict[str, Any]:
    """Parameters of register() as the native module takes them."""
    params = dict(given)
    init = params.pop('init', None)
    if init is not None:
        params['init'] = matrix(init, 'init')
    return params


def register(source: Points, target: Points, *, method: Literal['ndt', 'plane', 'point', 'gicp'] = 'ndt',
             init: Optional[Array] = None, search: Literal['rescue', 'never', 'always'] = 'rescue',
             voxel_size: Union[float, Literal['auto']] = 'auto', levels: int = 0,
             max_distance: Union[float, Literal['auto']] = 'auto',
             max_iterations: int = 50, translation_epsilon: Union[float, Literal['auto']] = 'auto',
             rotation_epsilon: float = 1e-5, min_score: float = 0.35, drop_origin: bool = True,
             keep_carrier: bool = False, min_range: float = 0.0, beam_correction: float = 0.0, device: str = 'auto',
             threads: Optional[int] = None) -> Registration:
    """Registers the cloud `source` onto the cloud `target`: the rigid transform that maps source coordinates into the
    target's frame.

    source, target       (N, C) float32, x y z first, metres, or Cloud. 'plane' and 'gicp' use the columns nx ny nz of a
                         Cloud where there are some. Only C-contiguous float32 enters without a copy. Two tensors
                         on one GPU are registered there
    method               'ndt' (normal distributions transform), 'plane', 'point' (ICP) or 'gicp'
    init                 (4, 4): the transform to start from; None = identity
    search               other starts: 'rescue' (when the first does not converge), 'always' or 'never'
                         (objects in any rotation)
    voxel_size           metres, of the finest level; 'auto' = from the points; 0 = none, not for 'ndt'
    levels               1 to 8, 'ndt' to 6; 0 = 3, 'ndt' 4
    max_distance         metres: maximum correspondence distance at the coarsest level; 'auto' = 8 voxels
    max_iterations       per level
    translation_epsilon, rotation_epsilon  metres and radians: smaller updates end a level
    min_score            0 to 1: a result with a lower score has not converged
    drop_origin          leave out points at exactly (0, 0, 0)
    keep_carrier         keep the returns of the vehicle that carries the sensor
    min_range            metres: leave out points nearer to the sensor
    beam_correction      degrees, added to the elevation of each point; 0.205 for KITTI
    device, threads      as in sample()

    Returns a Registration: transform (4, 4) float64, converged, reason, score, covariance, ... One that does not
    converge raises nothing: look at `converged`."""
    params = register_params({
        'method': method, 'init': init, 'search': search, 'voxel_size': voxel_size, 'levels': levels,
        'max_distance': max_distance,
        'max_iterations': max_iterations, 'translation_epsilon': translation_epsilon,
        'rotation_epsilon': rotation_epsilon, 'min_score': min_score, 'drop_origin': drop_origin,
        'keep_carrier': keep_carrier, 'min_range': min_range, 'beam_correction': beam_correction})
    return _register([(source, target)], params, device, threads)[0]


def _register(pairs: List[Tuple[Points, Points]], params: Dict[str, Any], device: str,
              threads: Optional[int]) -> List[Registration]:
    """The registrations of pairs: on a GPU where their clouds are there."""
    there = _device.pairs(pairs, device_name(device)) if pairs else None
    if there is not None:
        parts, own, stream, _ = there
        results = _native.register_device(parts, params, own, thread_count(threads), stream)
        return [registration(values, kind_of(source)) for values, (source, _) in zip(results, pairs)]
    both = [(native_cloud(source, 'source'), native_cloud(target, 'target')) for source, target in pairs]
    results = _native.register([(source[0], target[0]) for source, target in both], params, device_name(device),
                               thread_count(threads)) if both else []
    return [registration(values, source[1]) for values, (source, _) in zip(results, both)]


def register_pairs(pairs: Iterable[Tuple[Points, Points]], *, device: str = 'auto', threads: Optional[int] = None,
                   **params: Unpack[RegisterParams]) -> List[Registration]:
    """Registers many pairs (source, target) with one call, on the CPU one pair per thread; each result equals that of
    register() for its pair. device and threads as in sample(), the parameters are those of register()."""
    return _register(list(pairs), register_params(dict(params)), device, threads)


def register_all(clouds: Iterable[Points], *, device: str = 'auto', threads: Optional[int] = None,
                 **params: Unpack[RegisterParams]) -> SetResult:
    """Places clouds in one frame, in any order and position: features find which may fit each other, these are registered,
    and a pose graph joins the registrations that do not contradict each other.

    clouds           2 to 4096 clouds, as in register()
    device, threads  as in sample()
    params           those of register(); init and search are not used

    Returns a SetResult. A cloud that fits no other raises nothing: its group is not 0."""
    parts = [native_cloud(cloud, 'clouds') for cloud in clouds]
    values = _native.register_all([part for part, _ in parts], register_params(dict(params)), device_name(device),
                                  thread_count(threads))
    return set_result(values, parts[0][1])


def depth_params(init: Optional[Array], level_iterations: Sequence[int], max_distance: float, bilateral: float,
                 translation_epsilon: float, rotation_epsilon: float, min_score: float) -> Dict[str, Any]:
    """Parameters of the registration of depth images as the native module takes them."""
    iterations = list(level_iterations)
    return register_params({
        'init': init, 'levels': len(iterations), 'level_iterations': iterations, 'max_distance': max_distance,
        'bilateral': bilateral, 'translation_epsilon': translation_epsilon, 'rotation_epsilon': rotation_epsilon,
        'min_score': min_score})


def register_depth(source: Array, target: Array, camera: Camera, *, target_camera: Optional[Camera] = None,
                   init: Optional[Array] = None, level_iterations: Sequence[int] = (4, 5, 10),
                   max_distance: float = 0.4, bilateral: float = 0.0, translation_epsilon: float = 1e-5,
                   rotation_epsilon: float = 1e-5, min_score: float = 0.2,
                   device: str = 'auto', threads: Optional[int] = None) -> Registration:
    """Registers a depth image onto another by projective association and the point-to-plane cost, as KinectFusion does.

    source, target    (height, width) uint16 in units of 1 / depth_scale metres; 0 and 65535 = no return
    camera            of both, or of the source with target_camera for the target
    level_iterations  maximum iterations of each level of the pyramid, coarse to fine: 1 to 6 levels
    max_distance      metres: maximum correspondence distance at the coarsest level
    bilateral         metres: standard deviation of the bilateral filter of depths; 0 = none
    others            as in register()

    Returns a Registration; its transform maps points of the source's camera frame into the target's, metres."""
    params = depth_params(init, level_iterations, max_distance, bilateral, translation_epsilon, rotation_epsilon,
                          min_score)
    values = _native.register_depth(depth_image(source, 'source'), depth_image(target, 'target'), camera._values(),
                                    target_camera and target_camera._values(), params, device_name(device),
                                    thread_count(threads))
    return registration(values, kind_of(source))
