"""What the operations return. `Array` stands for the kind of array that the caller gave: NumPy, PyTorch or JAX."""
from __future__ import annotations

import dataclasses
import sys
from typing import Any, Dict, Optional, Sequence, Tuple, Type, TypeVar

import numpy as np

from ._arrays import give, kind_of, to_numpy

Array = Any
_T = TypeVar('_T')


@dataclasses.dataclass(frozen=True)
class Run:
    """How an operation ran."""

    backend: str  #: 'cpu' or 'cuda'
    device: str  #: name of the processor or the GPU
    reason: str  #: why this back end was chosen
    threads: int  #: CPU threads
    points_in: int  #: records of the inputs
    non_finite: int  #: dropped records: a coordinate is NaN or infinite
    at_origin: int  #: dropped records: x = y = z = 0, with drop_origin
    too_near: int  #: dropped records: nearer to the sensor than min_range
    on_carrier: int  #: dropped records: returns from the vehicle that carries the sensor
    stages: Dict[str, float]  #: seconds of each stage


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Sampled:
    """The picks of a cloud, in their order. Of a batch: indices, distances (B, M), coverage, picked (B,), run of the first."""

    indices: Array  #: (M,) int32: records of the input; with pad, repeated ones or -1 behind the last pick
    distances: Optional[Array]  #: (M,) float32, metres: from each pick to the nearest seed or earlier pick, +inf for the
    #: first pick without seeds, 0 behind the last pick; None for method='random'
    coverage: Any  #: metres: the largest distance of a usable point to its nearest pick; NaN when it was not measured
    picked: Any  #: number of picks: M, without what pad filled up
    run: Run

    def __repr__(self) -> str:
        return f'<pcgpu.Sampled: indices {tuple(self.indices.shape)}, coverage {self.coverage}>'


@dataclasses.dataclass(frozen=True, eq=False)
class DeviceSampled:
    """The picks of a cloud on a GPU, or of a batch with one more dimension. All arrays are there."""

    indices: Array  #: (M,) int32: records of the input; -1 behind the last pick
    distances: Array  #: (M,) float32, metres, as in Sampled; 0 behind the last pick
    picked: Array  #: (1,) int32, or (B,): the number of picks, less than M where fewer points are usable or min_distance
    #: ended sampling, and 0 where the start is not usable


@dataclasses.dataclass(frozen=True, eq=False)
class DeviceVoxels:
    """The voxels of a cloud on a GPU. The arrays have max_voxels rows, of which the first `count` are written. Those of a batch
    have one more dimension, the clouds; point_voxel counts in each."""

    features: Array  #: (max_voxels, F) or (max_voxels, P, F) float32, as in Voxels
    coords: Array  #: (max_voxels, 4) int32: 0, z, y, x of the voxel
    counts: Array  #: (max_voxels,) int32: kept points
    point_voxel: Array  #: (N,) int32: the voxel that keeps the point, -1 = dropped
    count: Array  #: (1,) int32: V

    def trimmed(self) -> Tuple[Array, Array, Array]:
        """features, coords and counts of the V voxels, of a batch one cloud after the other. It waits for the GPU."""
        if self.counts.ndim == 1:
            v = int(self.count[0])
            return self.features[:v], self.coords[:v], self.counts[:v]
        ends = [int(v) for v in self.count[:, 0]]
        join = sys.modules['torch'].cat if hasattr(self.count, 'detach') else sys.modules['cupy'].concatenate
        features, coords, counts = (join([rows[:v] for rows, v in zip(array, ends)])
                                    for array in (self.features, self.coords, self.counts))
        return features, coords, counts


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Voxels:
    """The voxels of a cloud, in the order of their first points: V voxels of F columns, up to P points each."""

    features: Array  #: (V, F) float32; (V, P, F) for features='points', (V, P, 10) for 'pillar'. Coordinates are metres,
    #: relative to `offset`
    coords: Array  #: (V, 4) int32: 0 (number in a batch), z, y, x of the voxel
    counts: Array  #: (V,) int32: kept points of each voxel
    point_voxel: Array  #: (N,) int32: the voxel that keeps the point, -1 = dropped
    selected: Optional[Array]  #: (V,) int32: the record that 'first' or 'nearest' chose; else None
    range: Array  #: (6,) float64, metres: x0 y0 z0 x1 y1 z1 in effect
    cells: Array  #: (3,) int32: number of cells along x, y, z
    offset: Tuple[float, float, float]  #: metres: what is added to the coordinates of `features`; (0, 0, 0) but for
    #: clouds far from their origin
    columns: Tuple[str, ...]  #: F names of the features, those of the cloud; () for 'pillar'
    types: Tuple[str, ...]  #: F types, as in Cloud: those of the cloud, but 'float32' of a 'mean' of whole numbers
    in_range: int  #: points in range = kept + over_points + over_voxels
    kept: int  #: points that a voxel keeps
    out_of_range: int  #: points outside the range
    over_points: int  #: points dropped by max_points
    over_voxels: int  #: points dropped by max_voxels
    voxels_found: int  #: voxels before max_voxels
    largest: int  #: most points in one voxel, before max_points
    run: Run

    def __len__(self) -> int:
        return len(self.counts)

    def column(self, name: str) -> Array:
        """The features (V,) or (V, P) of a column, in its type: classes are whole numbers. KeyError: no such column."""
        if name not in self.columns:
            raise KeyError(f"no column '{name}'; there are {' '.join(self.columns)}")
        k = self.columns.index(name)
        return give(to_numpy(self.features, 'features')[..., k].astype(self.types[k]), kind_of(self.features))

    def __repr__(self) -> str:
        return f'<pcgpu.Voxels: {len(self)} voxels, features {tuple(self.features.shape)}, {self.kept} points kept>'


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Registration:
    """The rigid transform from a source to a target, and how good it is."""

    transform: Array  #: (4, 4) float64, T_target_source: p_target = transform @ p_source. The last estimate when
    #: `converged` is False
    converged: bool
    reason: str  #: why it stopped
    starts: int  #: number of initial transforms
    start: Array  #: (4, 4) float64: the initial transform of this result
    iterations: int  #: over all levels
    levels: int  #: in effect
    voxel_size: float  #: in effect, metres
    level_iterations: Array  #: (levels,) int32, coarse to fine
    source_points: int  #: used at the finest level
    target_points: int  #: used at the finest level
    inliers: int  #: source points with a correspondence
    fitness: float  #: inliers / source_points
    score: float  #: 0 to 1: how well the surfaces agree
    free_space: float  #: fraction of points in the free space of the other scan; -1: unknown
    overlap: float  #: fraction of the source's points that the target's sensor could see; -1: unknown
    agreement: float  #: consistency score of method='ndt', 0 to 1; else 0
    inlier_rmse: float  #: metres
    plane_rmse: float  #: metres, along the normals
    center: Array  #: (3,) float64, metres: the centroid of the target
    information: Array  #: (6, 6) float64 about `center`: rotation, translation
    covariance: Array  #: (6, 6) float64 of the pose in the same coordinates: radians and metres
    eigenvalues: Array  #: (6,) float64 of the information, normalized per point, ascending
    degenerate: bool  #: the geometry leaves a direction unconstrained
    unconstrained: str  #: that direction, or ''
    run: Run

    def __repr__(self) -> str:
        state = 'converged' if self.converged else 'not converged'
        return f'<pcgpu.Registration: {state}, score {self.score:.3f}, fitness {self.fitness:.3f}; {self.reason}>'


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class SetCloud:
    """A cloud of a set, and the pose that it has."""

    group: int  #: of clouds that fit each other; 0: the largest
    pose: Array  #: (4, 4) float64: maps points of the cloud into the frame of the first cloud of its group
    center: Array  #: (3,) float64, metres: the centroid of the cloud
    covariance: Array  #: (6, 6) float64 of a motion about the centre in that frame: rotation, translation


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class SetLink:
    """A registration of two clouds of a set, which are numbered in their order."""

    source: int
    target: int
    transform: Array  #: (4, 4) float64, T_target_source
    score: float  #: 0 to 1
    overlap: float  #: fraction of the source's points that the target's sensor could see; -1: unknown
    residual: Array  #: (2,) float64: how far the poses are from it, radians and metres


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class SetResult:
    """The poses of a set of clouds."""

    clouds: Tuple[SetCloud, ...]  #: in the order of the clouds
    links: Tuple[SetLink, ...]  #: on which the poses rest
    groups: int  #: with those of one cloud
    placed: int  #: clouds of group 0; 0 when no two clouds fit
    registered: int  #: pairs of clouds
    refused: int  #: of these: converged, but contradicting the others
    run: Run

    def __repr__(self) -> str:
        return f'<pcgpu.SetResult: {self.placed} of {len(self.clouds)} clouds placed by {len(self.links)} registrations>'


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Frame:
    """The result of one scan or image of a sequence."""

    good: bool  #: it has a pose
    relocalized: bool  #: it has a pose, and the one before it has none
    keyframe: bool  #: it became the reference, or was merged into the model
    attempts: int  #: number of registrations; 0 for the first
    pose: Array  #: (4, 4) float64, T_world_frame: p_world = pose @ p_frame; NaN when it is lost
    registration: Optional[Registration]  #: the last one; None for the first
    open: int  #: directions of translation that the scene leaves open; along these the pose follows the prediction
    open_directions: Array  #: (open, 3) float64, unit vectors in the world

    def __repr__(self) -> str:
        state = 'lost' if not self.good else 'recovered' if self.relocalized else 'found'
        return f'<pcgpu.Frame: {state} after {self.attempts} registrations>'


@dataclasses.dataclass(frozen=True)
class VolumeCounts:
    """What one image changed in a volume."""

    pixels: int  #: width x height
    no_return: int  #: pixels of depth 0 or 65535
    out_of_range: int  #: pixels nearer than min_depth or farther than max_depth
    unreachable: int  #: pixels too far from the origin of the world
    new_blocks: int  #: allocated for the image
    updated_blocks: int  #: blocks that the image may have changed


@dataclasses.dataclass(frozen=True)
class VolumeStats:
    """The size of a volume."""

    voxel_size: float  #: metres
    truncation: float  #: metres, in effect
    max_weight: float
    max_blocks: int
    frames: int  #: integrated images
    blocks: int  #: of 8 x 8 x 8 voxels
    bytes: int  #: of the blocks and the hash table
    run: Run


@dataclasses.dataclass(frozen=True)
class MapStats:
    """The size of a map."""

    scans: int  #: added
    panoramas: int  #: kept, of what was seen through
    voxels: int  #: of the finished map, with those that were seen through
    moved: int  #: voxels left out of it since they were seen through
    unreachable: int  #: dropped points: too far from the origin of the world
    on_disk: int  #: bytes in the temporary file
    kept: int  #: points of the map `into`
    added: int  #: voxels without a point of it
    appeared: int  #: voxels, see changes()
    disappeared: int  #: voxels
    run: Run


@dataclasses.dataclass(frozen=True, eq=False)
class Loop:
    """Two scans or depth images, of which the later one saw again what the earlier one saw."""

    earlier: int  #: id of the scan or image
    later: int  #: id of the scan or image
    transform: Array  #: (4, 4) float64, T_earlier_later, by registration
    score: float  #: 0 to 1, of the registration
    path: float  #: metres travelled between them; of images, with a metre for each radian
    before: Array  #: (2,) float64: how far the poses were off, radians and metres
    residual: Array  #: (2,) float64: how far the corrected poses are off, radians and metres


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class LoopsResult:
    """The loops of a sequence."""

    ids: Array  #: (N,) int64: of the scans or images
    poses: Array  #: (N, 4, 4) float64, T_world_frame, corrected; as they were added without a loop, and of images where
                  #: the loops are not more accurate
    loops: Tuple[Loop, ...]  #: in the order of `later`
    places: int  #: that were compared
    tried: int  #: pairs of places that were registered
    refused: int  #: pairs of places that fit, against the poses or the other loops
    bytes: int  #: memory of all places
    iterations: int  #: of the pose graph
    converged: bool  #: the pose graph did

    def __repr__(self) -> str:
        return f'<pcgpu.LoopsResult: {len(self.loops)} loops among {self.places} places>'


@dataclasses.dataclass(frozen=True)
class Device:
    """A CUDA device."""

    name: str
    major: int  #: compute capability
    minor: int
    multiprocessors: int
    memory: int  #: bytes


def _build(cls: Type[_T], values: Dict[str, Any], kind: str) -> _T:
    _be_collated()
    values['run'] = Run(**values['run'])
    return cls(**{name: give(value, kind) for name, value in values.items()})


def registration(values: Dict[str, Any], kind: str) -> Registration:
    values['level_iterations'] = values['level_iterations'][:values['levels']]
    return _build(Registration, values, kind)


def set_result(values: Dict[str, Any], kind: str) -> SetResult:
    for name, cls in (('clouds', SetCloud), ('links', SetLink)):
        values[name] = tuple(cls(**{key: give(value, kind) for key, value in each.items()}) for each in values[name])
    values['run'] = Run(**values['run'])
    return SetResult(**values)


def sampled(values: Dict[str, Any], kind: str) -> Sampled:
    return _build(Sampled, values, kind)


def stack_samples(parts: Sequence[Sampled], kind: str) -> Sampled:
    """The Sampled of a batch."""
    sizes = {part.indices.shape[-1] for part in parts}
    if len(sizes) > 1:
        raise ValueError(f"the clouds get {min(sizes)} to {max(sizes)} picks; give pad='repeat' or 'zero'")
    fields = {'indices': 'i4', 'distances': 'f4', 'coverage': 'f4', 'picked': 'i4'}
    if parts[0].distances is None:
        del fields['distances']
    return dataclasses.replace(parts[0], **{name: give(np.stack([to_numpy(getattr(part, name), name) for part in parts]).astype(
        dtype, copy=False), kind) for name, dtype in fields.items()})


def voxels(values: Dict[str, Any], kind: str, offset: Tuple[float, float, float]) -> Voxels:
    values['offset'] = offset
    return _build(Voxels, values, kind)


def join_voxels(parts: Sequence[Voxels], kind: str = '') -> Voxels:
    """The voxels of a batch; the kind of its arrays is that of the parts unless one is given."""
    first = parts[0]
    if any(part.offset != first.offset for part in parts):
        raise ValueError(f'the clouds have the offsets {sorted({part.offset for part in parts})}; give float32 about one origin')
    kind = kind or kind_of(first.coords)
    joined: Dict[str, list] = {name: [] for name in ('features', 'coords', 'counts', 'point_voxel', 'selected')}
    voxel = record = 0
    for number, part in enumerate(parts):
        coords, of = to_numpy(part.coords, 'coords'), to_numpy(part.point_voxel, 'point_voxel')
        coords = np.c_[np.full(len(coords), number, np.int32), coords[:, 1:]]
        joined['features'].append(to_numpy(part.features, 'features'))
        joined['coords'].append(coords)
        joined['counts'].append(to_numpy(part.counts, 'counts'))
        joined['point_voxel'].append(np.where(of < 0, of, of + voxel).astype(np.int32))
        if part.selected is not None:
            joined['selected'].append(to_numpy(part.selected, 'selected') + np.int32(record))
        voxel, record = voxel + len(coords), record + len(of)
    values = {name: give(np.concatenate(arrays), kind) if arrays else None for name, arrays in joined.items()}
    for name in ('in_range', 'kept', 'out_of_range', 'over_points', 'over_voxels', 'voxels_found'):
        values[name] = sum(getattr(part, name) for part in parts)
    return dataclasses.replace(first, largest=max(part.largest for part in parts), **values)


def _collate_voxels(parts: Sequence[Voxels], **_: Any) -> Voxels:
    ranges = [to_numpy(part.range, 'range').tolist() for part in parts]
    if any(found != ranges[0] for found in ranges):
        raise ValueError('the clouds of a batch share one grid; give range')
    first = join_voxels(parts, 'torch')
    return dataclasses.replace(first, **{name: give(to_numpy(getattr(first, name), name), 'torch') for name in ('range', 'cells')})


def _be_collated() -> None:
    """PyTorch's default_collate makes of results what a call for the batch returns, as tensors, once both are imported."""
    table = getattr(sys.modules.get('torch.utils.data._utils.collate'), 'default_collate_fn_map', None)
    if table is not None and Sampled not in table:
        table.update({Sampled: lambda parts, **_: stack_samples(parts, 'torch'), Voxels: _collate_voxels})


_be_collated()


def frame(values: Dict[str, Any], kind: str) -> Frame:
    last = values['registration']
    values['registration'] = registration(last, kind) if values['attempts'] else None
    values['pose'] = give(values['pose'], kind)
    values['open_directions'] = give(values['open_directions'].reshape(-1, 3)[:values['open']], kind)
    return Frame(**values)


def volume_counts(values: Dict[str, Any]) -> VolumeCounts:
    return VolumeCounts(**values.pop('depth'), **values)


def volume_stats(values: Dict[str, Any]) -> VolumeStats:
    params = values.pop('params')
    del params['frames']
    values['run'] = Run(**values['run'])
    return VolumeStats(**params, **values)


def loops_result(values: Dict[str, Any], kind: str) -> LoopsResult:
    values['loops'] = tuple(Loop(**{name: give(value, kind) for name, value in loop.items()}) for loop in values['loops'])
    return LoopsResult(**{name: give(value, kind) for name, value in values.items()})
