"""Registration in the call of small_gicp: import align from here instead of from small_gicp."""
import dataclasses

import numpy as np
import pcgpu

METHODS = {'ICP': 'point', 'PLANE_ICP': 'plane', 'GICP': 'gicp', 'VGICP': 'ndt'}


@dataclasses.dataclass
class RegistrationResult:
    """small_gicp.RegistrationResult."""

    T_target_source: np.ndarray  #: (4, 4)
    converged: bool
    iterations: int
    num_inliers: int
    H: np.ndarray  #: (6, 6) the information, rotation before translation
    error: float  #: metres: RMSE of the inliers along the normals, or of their distances for ICP


def align(target_points, source_points, init_T_target_source=np.identity(4), registration_type='GICP',
          voxel_resolution=1.0, downsampling_resolution=0.25, max_correspondence_distance=1.0, num_threads=1,
          max_iterations=20, **_):
    """Aligns source_points (N, 3 or 4) to target_points. VGICP becomes pcgpu's ndt, whose finest voxels are
    voxel_resolution wide."""
    method = METHODS[registration_type]
    size = voxel_resolution / 2 if method == 'ndt' else downsampling_resolution
    limits = {} if method == 'ndt' else {'max_distance': max(max_correspondence_distance, 4 * size)}
    result = pcgpu.register(np.asarray(source_points)[:, :3], np.asarray(target_points)[:, :3], method=method,
                            init=init_T_target_source, search='never', voxel_size=size, max_iterations=max_iterations,
                            drop_origin=False, threads=num_threads, **limits)
    return RegistrationResult(result.transform, result.converged, result.iterations, result.inliers, result.information,
                              result.plane_rmse or result.inlier_rmse)
