"""fps, knn, radius and nearest with the arguments and results of torch_cluster, in three dimensions (fps: in 1 to 64).

    from pcgpu.recipes.torch_cluster import fps, knn, radius, nearest
"""
import torch

import pcgpu

from .point_sampling import fps  # noqa: F401


def _clouds(x, batch, clouds):
    """Three columns, and where the clouds begin. `batch`: sorted numbers of the clouds, or None."""
    if x.dim() != 2 or x.shape[1] != 3:
        raise ValueError(f'the shape is {tuple(x.shape)}; give (N, 3)')
    if batch is None:
        return x.detach(), [0] + [len(x)] * clouds
    if len(batch) != len(x) or bool((batch[1:] < batch[:-1]).any()):
        raise ValueError(f'{len(batch)} numbers of clouds for {len(x)} points; give one for each, ascending')
    return x.detach(), [0, *batch.bincount(minlength=clouds).cumsum(0).tolist()]


def _both(x, y, batch_x, batch_y):
    clouds = max([1] + [int(batch[-1]) + 1 for batch in (batch_x, batch_y) if batch is not None and len(batch)])
    (x, begin_x), (y, begin_y) = _clouds(x, batch_x, clouds), _clouds(y, batch_y, clouds)
    return x, y, {'offsets': begin_x, 'query_offsets': begin_y, 'int64': True}


def _edges(indices):
    """(2, E): the query and the neighbour of each pair, query by query."""
    query, at = torch.nonzero(indices >= 0, as_tuple=True)
    return torch.stack([query, indices[query, at]])


def knn(x, y, k, batch_x=None, batch_y=None):
    """The k nearest of x (N, 3) for each of y (M, 3) -> (2, E) int64: rows of y, rows of x; the nearest first."""
    x, y, clouds = _both(x, y, batch_x, batch_y)
    return _edges(pcgpu.neighbors.knn(x, y, k, **clouds).indices)


def radius(x, y, r, batch_x=None, batch_y=None, max_num_neighbors=32):
    """Points of x within r of each of y, at most max_num_neighbors, those of the lowest indices, as on a GPU there
    -> (2, E) int64: rows of y, rows of x."""
    x, y, clouds = _both(x, y, batch_x, batch_y)
    return _edges(pcgpu.neighbors.ball_query(x, y, r, max_num_neighbors, pad=False, **clouds).indices)


def nearest(x, y, batch_x=None, batch_y=None):
    """For each of x (N, 3) the row of the nearest of y (M, 3) -> (N,) int64."""
    x, y, clouds = _both(x, y, batch_x, batch_y)
    found = pcgpu.neighbors.knn(y, x, 1, offsets=clouds['query_offsets'], query_offsets=clouds['offsets'], int64=True)
    if bool((found.indices < 0).any()):
        raise ValueError('a cloud of x has no point in y')
    return found.indices[:, 0]
