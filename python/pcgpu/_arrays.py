"""Arrays of the caller as NumPy arrays, and results as arrays of the same kind."""
from __future__ import annotations

import os
import sys
import warnings
from typing import Any, Optional, Tuple

import numpy as np
from numpy.lib.recfunctions import repack_fields

from . import _native

# Memory that the CPU can read, by the device types of DLPack: its own, pinned by CUDA, pinned by ROCm.
_HOST = (1, 3, 11)


def kind_of(values: Any) -> str:
    """'torch', 'jax' or, for all others, 'numpy'."""
    package = type(values).__module__.partition('.')[0]
    return 'jax' if package == 'jaxlib' else package if package in ('torch', 'jax') else 'numpy'


def _in_gpu_memory(values: Any) -> bool:
    if hasattr(values, '__cuda_array_interface__'):
        return True
    device = getattr(values, '__dlpack_device__', None)
    return device is not None and int(device()[0]) not in _HOST


def _torch_to_host(values: Any) -> Any:
    """The tensor in memory of the CPU. Pinned memory, which PyTorch keeps for the next call, is several times as
    fast to copy to."""
    if not values.is_cuda:
        return values.cpu()
    host = sys.modules['torch'].empty_like(values, device='cpu', pin_memory=True)
    return host.copy_(values)


def to_numpy(values: Any, what: str) -> np.ndarray:
    """The values as a NumPy array, without a copy where they lie in memory of the CPU. An array in GPU memory is copied
    to the host, on its current stream. Masked values become NaN."""
    if type(values) is np.ndarray:
        return values
    kind = kind_of(values)
    if isinstance(values, np.ma.MaskedArray):
        if not np.ma.is_masked(values):
            return values.data
        if values.dtype.kind != 'f':
            raise ValueError(f'{what} has masked values of the type {values.dtype}; leave them out, or fill them')
        return values.filled(np.nan)
    if kind == 'torch':
        if values.device.type == 'meta':
            raise ValueError(f'{what} is a tensor without values (device meta)')
        try:
            return _torch_to_host(values.detach()).resolve_neg().numpy()
        except (TypeError, RuntimeError) as error:
            raise TypeError(f'the type of {what} is {values.dtype}: {error}') from None
    if type(values).__module__.partition('.')[0] == 'cupy':
        return values.get()
    if kind != 'jax' and not isinstance(values, np.ndarray) and _in_gpu_memory(values):
        raise ValueError(f'{what} is an array in GPU memory of an unknown package; pass a PyTorch tensor or a CuPy array, '
                         f'or copy it to the host')
    try:
        if hasattr(values, '__dlpack__') and not hasattr(values, '__array__'):
            return np.from_dlpack(values)
        return np.asarray(values)
    except (ValueError, TypeError, BufferError) as error:
        raise TypeError(f'{what} is no array of numbers: {error}') from None


def give(array: Any, kind: str) -> Any:
    """A NumPy array as an array of this kind, without a copy where the package permits."""
    if kind == 'numpy' or not isinstance(array, np.ndarray):
        return array
    if kind == 'torch':
        return sys.modules['torch'].from_numpy(array)
    jax = sys.modules['jax']
    if array.dtype == np.float64 and not jax.config.jax_enable_x64:
        return array  # JAX would round it
    return jax.device_put(array, jax.devices('cpu')[0])  # the default may be a GPU


def _float64_points(points: np.ndarray, what: str) -> Tuple[np.ndarray, Tuple[float, float, float]]:
    """Rounds to float32, relative to an offset of whole metres where float32 alone would lose precision, as the reader
    of float64 files does: it is that reader."""
    header = {'descr': '<f8', 'fortran_order': False, 'shape': points.shape}
    wide = np.array(points, '<f8', order='C')
    with np.errstate(over='ignore'):
        wide[:, 3:] = wide[:, 3:].astype('f4')  # coordinates alone have an offset
    for k in range(3, wide.shape[1]):
        change = np.abs(wide[:, k] - points[:, k])
        if (change > 0).any():
            warnings.warn(f'column {k} of {what} is float64; {np.count_nonzero(change > 0)} of {len(points)} values were '
                          f'rounded to float32, by up to {np.nanmax(change):.2g}; subtract their first value before, or '
                          f'give float32', stacklevel=5)
    memory = _Bytes()
    np.lib.format.write_array_header_1_0(memory, header)
    memory.parts.append(wide.tobytes())
    out = _native.read(b''.join(memory.parts), b'points', 'npy', 0, None, 0)
    return out['points'], out['offset']


def record_cloud(points: np.ndarray) -> dict:
    """A structured array, such as that of sensor_msgs_py.point_cloud2.read_points, as read() has it from an .npy."""
    if np.ma.is_masked(points):
        raise ValueError('a structured array with masked values; leave them out, or fill them')
    memory = _Bytes()
    np.lib.format.write_array(memory, repack_fields(np.asarray(points).ravel()))
    return _native.read(b''.join(memory.parts), b'points', 'npy', 0, None, 0)


class _Bytes:
    """What the header is written to."""

    def __init__(self) -> None:
        self.parts: list = []

    def write(self, data: bytes) -> None:
        self.parts.append(data)


def float_points(points: Any, what: str) -> Tuple[np.ndarray, Optional[Tuple[float, float, float]]]:
    """Points as a float32 array (N, C) in C order, and their offset. A copy is made unless they are that."""
    array = to_numpy(points, what)
    if array.ndim != 2 or not 3 <= array.shape[1] <= 64:
        raise ValueError(f'the shape of {what} is {array.shape}; give (N, C), C from 3 to 64, with x y z first')
    if array.dtype.kind != 'f' or array.dtype.itemsize > 8:
        raise TypeError(f"the type of {what} is {array.dtype}; give float32, or float64 or float16, which are converted, "
                        f"e.g. {what}.astype('float32')")
    if array.dtype.itemsize == 8:
        rounded, offset = _float64_points(array, what)
        return rounded, offset if any(offset) else None
    if array.dtype.itemsize == 4 and array.dtype.isnative and array.flags.c_contiguous:
        return array, None
    return np.ascontiguousarray(array, np.float32), None


def depth_image(depth: Any, what: str = 'depth') -> np.ndarray:
    """A depth image as a uint16 array (height, width) in C order."""
    array = to_numpy(depth, what)
    if array.ndim != 2:
        raise ValueError(f'the shape of {what} is {array.shape}; give (height, width)')
    if array.dtype != np.uint16:
        raise TypeError(f"the type of {what} is {array.dtype}; give uint16 in units of 1 / depth_scale metres, e.g. "
                        f"(metres * 1000).round().astype('uint16')")
    return np.ascontiguousarray(array, np.uint16)


def matrix(values: Any, what: str) -> list:
    """A 4x4 matrix as 16 numbers."""
    array = to_numpy(values, what)
    if array.shape != (4, 4) or array.dtype.kind not in 'fiu':
        raise ValueError(f'the shape of {what} is {array.shape} and its type {array.dtype}; give a 4x4 matrix of numbers')
    return array.astype(np.float64).ravel().tolist()


def timed_poses(times: Any, poses: Any) -> Tuple[np.ndarray, np.ndarray]:
    """Times (K,) and poses (K, 4, 4), float64."""
    at, moved = (to_numpy(values, what) for values, what in ((times, 'times'), (poses, 'poses')))
    if at.ndim != 1 or moved.shape != (len(at), 4, 4) or at.dtype.kind not in 'fiu' or moved.dtype.kind not in 'fiu':
        raise ValueError(f'the shapes of times and poses are {at.shape} and {moved.shape}; give (K,) and (K, 4, 4) of numbers')
    return np.ascontiguousarray(at, np.float64), np.ascontiguousarray(moved, np.float64)


def indices(values: Any, what: str) -> np.ndarray:
    """Indices of records as int32."""
    array = to_numpy(values, what)
    if array.size == 0:
        return np.empty(0, np.int32)
    if array.ndim != 1 or array.dtype.kind not in 'iu':
        raise ValueError(f'the shape of {what} is {array.shape} and its type {array.dtype}; give (K,) of whole numbers')
    if array.min() < 0 or array.max() > 2**31 - 1:
        raise ValueError(f'{what} holds {int(array.min())} to {int(array.max())}; give indices from 0 to 2**31 - 1')
    return np.ascontiguousarray(array, np.int32)


def check_mask(values: Any, rows: int) -> None:
    """Refuses what is not (rows,) bool, of any package."""
    if tuple(values.shape) != (rows,) or not str(values.dtype).endswith('bool'):
        raise ValueError(f'the shape of mask is {tuple(values.shape)} and its type {values.dtype}; give ({rows},) bool')


def thread_count(threads: Optional[int]) -> int:
    """The default is that of the program: OMP_NUM_THREADS where it is set, else all that the process may use."""
    if threads is None:
        text = os.environ.get('OMP_NUM_THREADS', '').partition(',')[0].strip()
        return int(text) if text.isdigit() and 1 <= int(text) <= 4096 else 0
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)):
        raise TypeError(f'threads is {threads!r}; give a whole number, or None for all')
    if not 0 <= threads <= 4096:
        raise ValueError(f'threads is {threads}; give 1 to 4096, or None for all')
    return int(threads)


def device_name(device: Any) -> str:
    """'auto', 'cpu', 'cuda' or 'cuda:N'; a torch.device is welcome."""
    if isinstance(device, str):
        return device
    if kind_of(device) == 'torch':
        return str(device)
    raise TypeError(f"device is {device!r}; give 'auto', 'cpu', 'cuda' or 'cuda:N'")
