"""pcgpu: sampling, voxelization and registration of point clouds, the same bytes from the CPU and from CUDA.

    points = pcgpu.read('scan.bin').points                     # (N, 4) float32
    picks = points[pcgpu.sample(points, 4096)]                 # farthest point sampling
    voxels = pcgpu.voxelize(points, 0.25)                      # means in cubes of 0.25 m
    result = pcgpu.register(points, target)                    # the rigid transform between two clouds
    near = pcgpu.neighbors.knn(points, k=16)                   # nearest neighbours, ball queries

Arrays are NumPy arrays, PyTorch or JAX arrays in memory of the CPU, or anything with DLPack or the buffer protocol;
results are of the same kind (NumPy for the last two). sample, sample_batch, voxelize, points_in_boxes and neighbors take
PyTorch tensors and CuPy arrays in GPU memory, too, and work there on the current stream. Lengths are metres, angles radians, times seconds; transforms are
4x4 matrices that multiply columns. Functions release the GIL and may be called from several threads and from processes
that were forked. Wrong arguments raise ValueError or TypeError, files OSError, a GPU that fails RuntimeError. Warnings go
to logging.getLogger('pcgpu').
"""
from . import _native, filter, neighbors
from ._boxes import points_in_boxes
from ._clouds import Camera, Cloud, Mesh, depth_to_cloud, read, read_depth, write
from ._maps import DepthLoops, Loops, Map
from ._operations import devices, sample, sample_batch
from ._registrations import register, register_all, register_depth, register_pairs
from ._results import (Device, DeviceSampled, DeviceVoxels, Frame, Loop, LoopsResult, MapStats, Registration, Run, Sampled, SetCloud, SetLink, SetResult, VolumeCounts,
                       VolumeStats, Voxels)
from ._sequences import DepthOdometry, Odometry, Volume
from ._voxels import voxelize

__version__: str = _native.version()
__all__ = [
    'Camera', 'Cloud', 'DepthLoops', 'DepthOdometry', 'Device', 'DeviceSampled', 'DeviceVoxels', 'Frame', 'Loop', 'Loops',
    'LoopsResult', 'Map', 'MapStats', 'Mesh', 'Odometry', 'Registration', 'Run', 'Sampled', 'SetCloud', 'SetLink', 'SetResult',
    'Volume', 'VolumeCounts', 'VolumeStats', 'Voxels', 'depth_to_cloud', 'devices', 'filter', 'neighbors', 'points_in_boxes', 'read', 'read_depth', 'register',
    'register_all', 'register_depth', 'register_pairs', 'sample', 'sample_batch', 'voxelize', 'write',
]
