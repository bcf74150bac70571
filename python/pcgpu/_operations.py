"""Sampling of arrays, and the devices of this machine."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Literal, Optional, Sequence, Tuple, Union, overload

import numpy as np

from . import _device, _native
from ._arrays import device_name, give, indices, kind_of, thread_count, to_numpy
from ._clouds import Points, native_cloud
from ._results import Array, Device, Sampled, sampled, stack_samples

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Protocol, TypedDict, TypeVar, Unpack

    class _Tensor(Protocol):
        def detach(self) -> Any: ...

    _TensorT = TypeVar('_TensorT', bound=_Tensor)

    class SampleParams(TypedDict, total=False):
        """The parameters of sample() but count and full."""

        ratio: Optional[float]
        min_distance: Optional[float]
        method: Literal['fps', 'random']
        start: Union[Literal['first', 'center', 'random'], int]
        seed: int
        seeds: Optional[Array]
        dimensions: Dimensions
        drop_origin: bool
        coverage: bool
        at_most: bool
        pad: Literal['none', 'repeat', 'zero']
        device: str
        threads: Optional[int]


# ---- sample ----------------------------------------------------------------------------------------------------------

Dimensions = Union[int, Sequence[Union[int, str]], None]


def _columns(dimensions: Dimensions, names: Optional[Sequence[str]]) -> Dict[str, Any]:
    """The columns of `dimensions` as parameters; names: those of the cloud, None for an array."""
    if dimensions is None:
        return {}
    if isinstance(dimensions, str) or isinstance(dimensions, bool):
        raise TypeError(f'dimensions is {dimensions!r}; give a number of columns, or a list of columns')
    if isinstance(dimensions, (int, np.integer)):
        columns: Sequence[Any] = range(int(dimensions))
    else:
        columns = dimensions
    if not 1 <= len(columns) <= 64:
        raise ValueError(f'dimensions are {len(columns)} columns; give 1 to 64')
    known = list(names) if names else ['x', 'y', 'z', 'intensity', *(f'c{k}' for k in range(4, 64))]
    for column in columns:
        if isinstance(column, str) and column not in known:
            raise ValueError(f"no column '{column}'" + (f"; there are {' '.join(known)}" if names else ''))
    return {'columns': [known.index(c) if isinstance(c, str) else c for c in columns], 'column_count': len(columns)}


def _sample_params(count: Optional[int], ratio: Optional[float], min_distance: Optional[float], method: str,
                   start: Any, seed: int, drop_origin: bool, coverage: bool, at_most: bool, pad: str,
                   clouds: Any = None) -> Dict[str, Any]:
    if pad not in ('none', 'repeat', 'zero'):
        raise ValueError(f"pad is {pad!r}; give 'none', 'repeat' or 'zero'")
    if pad != 'none' and (count is None or at_most):
        raise ValueError('at_most gives fewer picks and pad fills them up; give one of them' if at_most else
                         'pad fills up to count; give it, or leave pad out')
    params: Dict[str, Any] = {'method': method, 'seed': seed, 'drop_origin': drop_origin, 'coverage': coverage,
                              'at_most': at_most or pad != 'none'}
    if count is not None:
        params['count'] = count
        if isinstance(count, (int, np.integer)) and count < 1:
            raise ValueError(f'count is {count}; give 1 or more')
    if ratio is not None:
        params['ratio'] = ratio
    if min_distance is not None:
        params['min_distance'] = min_distance
    if isinstance(start, str):
        if start == 'index':
            raise ValueError("start is 'index'; give the index itself")
        params['start'] = start
    elif clouds is not None and np.ndim(start) == 1:
        if len(start) != len(clouds):
            raise ValueError(f'start has {len(start)} indices of {len(clouds)} clouds; give one for each')
        params.update(start='index', starts=list(start))
    else:
        params.update(start='index', start_index=start)
    return params


def _fill_up(values: Dict[str, Any], count: Optional[int], pad: str, name: str = '') -> Dict[str, Any]:
    """The picks of a cloud, filled up to the count as `pcgpu sample --pad` does."""
    ids, distances = values['indices'], values['distances']
    values['picked'] = len(ids)
    missing = (count or 0) - len(ids)
    if pad == 'none' or missing <= 0:
        return values
    if pad == 'repeat' and len(ids) == 0:
        raise ValueError(f"{name}no pick that could be repeated; give pad='zero'")
    more = np.resize(ids, missing) if pad == 'repeat' else np.full(missing, -1, np.int32)
    values['indices'] = np.concatenate([ids, more])
    if distances is not None:
        values['distances'] = np.concatenate([distances, np.zeros(missing, np.float32)])
    return values


@overload
def sample(points: NDArray[Any], count: Optional[int] = None, *, full: Literal[False] = False,
           **params: Unpack[SampleParams]) -> NDArray[np.int32]: ...


@overload
def sample(points: _TensorT, count: Optional[int] = None, *, full: Literal[False] = False,
           **params: Unpack[SampleParams]) -> _TensorT: ...


@overload
def sample(points: Points, count: Optional[int] = None, *, full: Literal[False] = False,
           **params: Unpack[SampleParams]) -> Array: ...


@overload
def sample(points: Points, count: Optional[int] = None, *, full: Literal[True],
           **params: Unpack[SampleParams]) -> Sampled: ...


def sample(points: Points, count: Optional[int] = None, *, ratio: Optional[float] = None,
           min_distance: Optional[float] = None, method: str = 'fps', start: Union[str, int] = 'first', seed: int = 0,
           seeds: Optional[Array] = None, dimensions: Dimensions = None, drop_origin: bool = False,
           coverage: bool = False, at_most: bool = False,
           pad: str = 'none', full: bool = False, device: str = 'auto', threads: Optional[int] = None) -> Any:
    """Samples a cloud: farthest point sampling (each pick is the point with the largest distance to all earlier picks,
    the lowest index on ties) or uniform random sampling without replacement.

    points        (N, C) float32, x y z first, metres, or a Cloud. Only C-contiguous float32 enters without a copy
    count         number of picks M. Give count or ratio, or min_distance alone or with one of them as the upper bound
    ratio         picks = max(1, floor(ratio * usable points)), above 0 up to 1
    min_distance  metres: stop when the next farthest point is nearer; 'fps' only
    method        'fps' or 'random'
    start         first pick: 'first' (usable record), 'center' (farthest from the centroid), 'random', or an index
    seed          of the random numbers, 0 to 2**64 - 1
    seeds         (K,) indices that count as picked before; they are not returned
    dimensions    the columns that distances have instead of x y z, 1 to 64: a number for the first ones, or indices or
                  names such as ('x', 'y', 'z', 'intensity'). A point is usable when these are finite; 'fps' only
    drop_origin   leave out points at exactly (0, 0, 0)
    coverage      measure the coverage for 'random', too
    at_most       count is an upper bound: of fewer usable points all are picked, of none no pick
    pad           of fewer usable points than count all are picked, and the indices filled up to count: 'repeat' with the
                  picks once more, in their order, 'zero' with -1; 'none': do not
    full          return a Sampled with indices, distances (metres), coverage and run
    device        'auto', 'cpu', 'cuda' or 'cuda:N': where it runs. The results have the same bytes everywhere
    threads       CPU threads; None = OMP_NUM_THREADS, else all. Results do not depend on it

    Returns the indices (M,) int32 in pick order, of the kind of `points`. Points with a NaN or an infinity are never
    picked. Raises ValueError, e.g. for more picks than usable points.

    A PyTorch tensor or CuPy array in GPU memory is sampled there, on the current stream, without waiting: count is
    required, start is 'first' or an index, method 'fps'. Where fewer points are usable, the indices end with -1, as with
    pad='zero'; with full=True it returns a DeviceSampled."""
    params = _sample_params(count, ratio, min_distance, method, start, seed, drop_origin, coverage, at_most, pad)
    if _device.is_on_gpu(points):
        _refuse_on_gpu(seeds=seeds is not None, coverage=coverage, at_most=at_most, pad=pad == 'repeat')
        return _device.sample(points, {**params, **_columns(dimensions, None), 'at_most': False}, full, batch=False)
    parts, kind = native_cloud(points)
    params.update(_columns(dimensions, parts[1]))
    chosen = None if seeds is None else indices(seeds, 'seeds')
    values = _native.sample([parts], params, chosen, device_name(device), thread_count(threads))[0]
    _fill_up(values, count, pad)
    return sampled(values, kind) if full else give(values['indices'], kind)


def _refuse_on_gpu(**given: bool) -> None:
    for name, is_given in given.items():
        if is_given:
            raise ValueError(f'{name} is not for arrays in GPU memory; copy the points to the host')


def sample_batch(points: Union[Array, Sequence[Points]], count: Union[int, Sequence[int], Array, None] = None, *,
                 lengths: Optional[Array] = None, ratio: Optional[float] = None, min_distance: Optional[float] = None,
                 method: str = 'fps', start: Union[str, int, Sequence[int]] = 'first', seed: int = 0,
                 dimensions: Dimensions = None, drop_origin: bool = False, coverage: bool = False, at_most: bool = False,
                 pad: Literal['none', 'repeat', 'zero'] = 'none', full: bool = False,
                 device: str = 'auto', threads: Optional[int] = None) -> Any:
    """Samples several clouds with one call; each result equals that of sample() for its cloud.

    points        (B, N, C) float32, or a sequence of B clouds or arrays (N_b, C) of any sizes
    count         as in sample(), or one per cloud
    lengths       (B,): records of each cloud of an array (B, N, C); those behind them are never picked
    start         as in sample(), or one index per cloud
    others        as in sample()

    Returns the indices (B, M) int32 for an array, and for a sequence with pad; for another sequence a list of B arrays
    (M_b,). With full=True a Sampled with arrays (B, M), or a list of Sampled. M is the largest count. Where the clouds of an
    array get different numbers of picks, as by min_distance, ValueError asks for a sequence or pad."""
    own = None if count is None or np.ndim(count) == 0 else indices(count, 'count').tolist()
    if own is not None and (len(own) != len(points) or min(own, default=1) < 1):
        raise ValueError(f'count is {own} of {len(points)} clouds; give one for each, 1 or more')
    count = count if own is None else max(own, default=1)
    params = _sample_params(count, ratio, min_distance, method, start, seed, drop_origin, coverage, at_most, pad, points)
    is_array = not isinstance(points, (list, tuple))
    if lengths is not None and not (is_array and np.ndim(points) == 3 and np.shape(lengths) == (len(points),)):
        raise ValueError('lengths are of the clouds of an array (B, N, C); give B whole numbers, or leave them out')
    on_host = {'coverage': coverage, 'at_most': at_most, 'pad': pad == 'repeat'}
    if _device.is_on_gpu(points) or (not is_array and any(_device.is_on_gpu(item) for item in points)):
        _refuse_on_gpu(**on_host)
        params = {**params, **_columns(dimensions, None), 'at_most': False}
        return (_device.sample(points, params, full, True, lengths, own) if is_array else
                _device.sample_list(points, params, full, own, pad != 'none'))
    if is_array:
        array = to_numpy(points, 'points')
        if array.ndim != 3:
            raise ValueError(f'the shape of points is {array.shape}; give (B, N, C), or a list of arrays (N, C)')
        items: Iterable[Any] = array
        if lengths is not None:
            ends = indices(lengths, 'lengths')
            if ends.max(initial=0) > array.shape[1]:
                raise ValueError(f'lengths are up to {ends.max()} and the clouds have {array.shape[1]} records; give 0 to these')
            items = [cloud[:end] for cloud, end in zip(array, ends)]
        kinds = [kind_of(points)] * len(array)
        clouds = [native_cloud(item)[0] for item in items]
    else:
        both = [native_cloud(item) for item in points]
        clouds, kinds = [parts for parts, _ in both], [kind for _, kind in both]
    if not clouds:
        if is_array and count is not None and not full:
            return give(np.empty((0, count), np.int32), kind_of(points))
        raise ValueError('no clouds; give one or more')
    params.update(_columns(dimensions, clouds[0][1]))
    if any(_columns(dimensions, parts[1]).get('columns') != params.get('columns') for parts in clouds):
        raise ValueError('the clouds have the columns of dimensions in different places; give indices')
    results: List[Any] = [None] * len(clouds)
    starts = params.pop('starts', None)
    for number in sorted(set(own or [count])):  # one call for all clouds of as many picks
        members = [k for k in range(len(clouds)) if own is None or own[k] == number]
        call = {**params, **({} if own is None else {'count': number}),
                **({} if starts is None else {'starts': [starts[k] for k in members]})}
        try:
            found = _native.sample([clouds[k] for k in members], call, None, device_name(device), thread_count(threads))
        except ValueError as error:  # which numbers the clouds of the call
            if own is None:
                raise
            said = re.match(r'(?:cloud (\d+) of the batch: )?(.*)', str(error))
            raise ValueError(f'cloud {members[int(said[1] or 0)]} of the batch: {said[2]}') from None
        for k, values in zip(members, found):
            results[k] = _fill_up(values, count, pad, f'cloud {k} of the batch: ')
    if not is_array and pad == 'none':
        return [sampled(r, k) if full else give(r['indices'], k) for r, k in zip(results, kinds)]
    sizes = {len(r['indices']) for r in results}
    if len(sizes) > 1:
        raise ValueError(f'the clouds get {min(sizes)} to {max(sizes)} picks; give a list of clouds, or ' +
                         ('count' if count is None else "pad='repeat' or 'zero'"))
    if not full:
        return give(np.stack([r['indices'] for r in results]), kinds[0])
    return stack_samples([sampled(r, 'numpy') for r in results], kinds[0])


# ---- this build and machine ------------------------------------------------------------------------------------------


def devices() -> List[Device]:
    """The CUDA devices that device='cuda:N' can name; empty without a GPU or in a build without CUDA."""
    return [Device(**values) for values in _native.devices()]
