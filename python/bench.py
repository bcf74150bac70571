"""What a call from Python costs: bench.py [SCAN.bin]

NumPy on one core: the call beside the operation as the library times it, and fpsample and spconv where they are
installed. PyTorch on a GPU: time on the device by events, time of the host per call, and a CUDA graph replayed, beside a
plain loop of PyTorch. The registration of a pair, and small_gicp's where it is installed. SCAN has 4 columns; default: testdata/street.bin. Prints Markdown."""
import pathlib
import sys
import time

import numpy as np

sys.path[:] = [path for path in sys.path if pathlib.Path(path).resolve() != pathlib.Path(__file__).resolve().parent]
import pcgpu  # not the folder beside this file

try:
    import torch
except ImportError:
    torch = None

PILLARS = {'voxel_size': (0.16, 0.16, 4), 'range': (0, -39.68, -3, 69.12, 39.68, 1), 'max_points': 32,
           'max_voxels': 40000, 'features': 'points'}
FINE = {'voxel_size': (0.075, 0.075, 0.2), 'range': (-54, -54, -5, 54, 54, 3), 'max_points': 10, 'max_voxels': 160000}


def least(function, runs=20):
    """The least seconds of so many calls, and the last result."""
    best = float('inf')
    for _ in range(runs):
        begin = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - begin)
    return best, result


def numpy_rows(points):
    print('| NumPy, one thread | call, ms | operation, ms | the call adds, us |\n|---|---|---|---|')
    for m in (1024, 4096):
        rows = [least(lambda: pcgpu.sample(points, m, full=True, device='cpu', threads=1), 1) for _ in range(20)]
        print_row(f'sample {len(points):,} -> {m:,}', rows)
    for name, params in (('pillars', PILLARS), ('0.075 m', FINE), ('0.25 m', {'voxel_size': 0.25})):
        print_row(f'voxelize {name}', [least(lambda: pcgpu.voxelize(points, device='cpu', threads=1, **params), 1)
                                       for _ in range(20)])
    try:
        import fpsample
        took = least(lambda: fpsample.bucket_fps_kdline_sampling(points[:, :3], 4096, h=7), 5)[0]
        print(f'| fpsample (bucket_fps_kdline) -> 4,096 | {1e3 * took:.2f} | | |')
    except ImportError:
        print('| fpsample | not installed | | |')
    try:
        from spconv.utils import Point2VoxelCPU3d
        maker = Point2VoxelCPU3d(PILLARS['voxel_size'], PILLARS['range'], 4, PILLARS['max_voxels'], 32)
        import cumm.tensorview as tv
        took = least(lambda: maker.point_to_voxel(tv.from_numpy(points)), 5)[0]
        print(f'| spconv pillars | {1e3 * took:.2f} | | |')
    except ImportError:
        print('| spconv | not installed | | |')


def print_row(name, rows):
    """The call that added least."""
    seconds, result = min(rows, key=lambda row: row[0] - sum(row[1].run.stages.values()))
    inside = sum(result.run.stages.values())
    print(f'| {name} | {1e3 * seconds:.2f} | {1e3 * inside:.2f} | {1e6 * (seconds - inside):.0f} |', flush=True)


def torch_fps(points, m):
    """The loop that is usual in PyTorch."""
    near = torch.full((len(points),), float('inf'), device=points.device)
    picks = torch.zeros(m, dtype=torch.long, device=points.device)
    for i in range(1, m):
        near = torch.minimum(near, (points[:, :3] - points[picks[i - 1], :3]).square().sum(1))
        picks[i] = near.argmax()
    return picks


def device_row(name, function, calls=1000):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            function()
    torch.cuda.synchronize()
    host = 0.0
    for _ in range(calls):
        start = time.perf_counter()
        function()
        host += time.perf_counter() - start
        torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        kept = function()
    graph.replay()
    begin.record()
    for _ in range(calls):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    del kept
    print(f'| {name} | {1e3 * begin.elapsed_time(end) / calls:.1f} | {1e6 * host / calls:.1f} |', flush=True)


def pair_rows(points, on_gpu):
    """ndt of the cloud and a moved one; tensors are registered where they are, by one call for each pair and for 64."""
    angle = 0.02
    moved = points.copy()
    moved[:, :2] = points[:, :2] @ np.float32([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]).T + \
        np.float32([0.6, -0.1])
    sides = [('NumPy, --cpu, all threads', points, moved, 'cpu')]
    if on_gpu is not None:
        sides += [('NumPy, --cuda', points, moved, 'cuda'),
                  ('two tensors on the GPU', on_gpu, torch.from_numpy(moved).cuda(), 'cuda')]
    print('\n| ndt of a pair | call, ms | of it linearization and steps, ms |\n|---|---|---|')
    for name, target, source, device in sides:
        seconds, result = min((least(lambda: pcgpu.register(source, target, device=device), 1) for _ in range(50)),
                              key=lambda row: row[0])
        inside = sum(t for stage, t in result.run.stages.items() if stage not in ('select', 'index'))
        print(f'| {name} | {1e3 * seconds:.2f} | {1e3 * inside:.2f} |', flush=True)
        if name == 'two tensors on the GPU':
            want = pcgpu.register(moved, points, device='cpu')
            seconds, results = least(lambda: pcgpu.register_pairs([(source, target)] * 64, device=device), 10)
            if any((r.transform.numpy() != want.transform).any() for r in [result, *results]):
                raise SystemExit('tensors have another transform than arrays')
            print(f'| 64 pairs of tensors by one call | {1e3 * seconds:.2f} | |', flush=True)
    try:
        import small_gicp
    except ImportError:
        print('| small_gicp | not installed | |')
        return
    wide = [array[:, :3].astype(np.float64) for array in (points, moved)]
    seconds = least(lambda: small_gicp.align(*wide, registration_type='VGICP', num_threads=4), 5)[0]
    print(f'| small_gicp (VGICP, 4 threads) | {1e3 * seconds:.1f} | |')


def torch_rows(points):
    on_gpu = torch.from_numpy(points).cuda()
    batch = on_gpu[torch.randint(len(points), (64, 16384), device='cuda')].contiguous()
    print('\n| PyTorch, ' + torch.cuda.get_device_name() + ' | device, us per replay | host, us per call |\n|---|---|---|')
    for m in (1024, 4096):
        device_row(f'sample {len(points):,} -> {m:,}', lambda: pcgpu.sample(on_gpu, m))
    device_row('sample 64 x 16,384 -> 4,096', lambda: pcgpu.sample_batch(batch, 4096), 100)
    device_row('voxelize pillars', lambda: pcgpu.voxelize(on_gpu, **PILLARS))
    voxels = pcgpu.voxelize(on_gpu, **PILLARS)
    device_row('voxelize pillars, out=', lambda: pcgpu.voxelize(on_gpu, out=voxels, **PILLARS))
    device_row('voxelize 0.075 m, means', lambda: pcgpu.voxelize(on_gpu, **FINE))
    device_row('voxelize 0.075 m, points', lambda: pcgpu.voxelize(on_gpu, **{**FINE, 'features': 'points'}))
    torch.cuda.synchronize()
    begin = time.perf_counter()
    torch_fps(on_gpu, 1024)
    torch.cuda.synchronize()
    print(f'| loop of PyTorch -> 1,024 | {1e6 * (time.perf_counter() - begin):.0f} | |')
    return on_gpu


def torch_knn(points, k):
    """The brute force that is usual in PyTorch, in blocks of queries."""
    return [torch.cdist(block, points).topk(k, largest=False) for block in points.split(4096)]


def neighbor_rows(points, on_gpu):
    """The neighbours of a scan in itself. Results are compared by distance before a time is printed."""
    k, xyz = 16, np.ascontiguousarray(points[:, :3])
    wide = xyz.astype(np.float64)
    took, ours = least(lambda: pcgpu.neighbors.knn(xyz, k=k, device='cpu', threads=1), 9)
    print(f'\n| k = {k} neighbours of {len(points):,} points, one core | ms |\n|---|---|\n| pcgpu | {1e3 * took:.0f} |')

    def row(name, function, distances):
        try:
            took, theirs = least(function, 5)
        except ImportError:
            print(f'| {name} | not installed |')
            return
        if not np.allclose(distances(theirs), ours.distances, atol=1e-4):
            raise SystemExit(f'{name} has other distances')
        print(f'| {name} | {1e3 * took:.0f} |', flush=True)

    def scipy_tree():
        from scipy.spatial import cKDTree
        return cKDTree(wide).query(wide, k, workers=1)

    def small_tree():
        import small_gicp
        return small_gicp.KdTree(small_gicp.PointCloud(wide), num_threads=1).batch_knn_search(wide, k, num_threads=1)

    def nanoflann():
        import pynanoflann
        tree = pynanoflann.KDTree(n_neighbors=k, metric='L2')
        tree.fit(xyz)
        return tree.kneighbors(xyz)
    row('scipy cKDTree', scipy_tree, lambda found: found[0])
    row('small_gicp KdTree', small_tree, lambda found: np.sqrt(np.reshape(found[1], (-1, k))))
    row('nanoflann', nanoflann, lambda found: found[0])
    if on_gpu is None:
        return
    clouds = on_gpu[:16 * 6000, :3].reshape(6000, 16, 3).transpose(0, 1).contiguous()
    print('\n| neighbours, PyTorch | device, us per replay | host, us per call |\n|---|---|---|')
    device_row(f'kNN of {len(points):,} points, k = {k}', lambda: pcgpu.neighbors.knn(on_gpu, k=k), 100)
    device_row('ball query, 16 x 6,000 in themselves, 0.5 m, k = 32',
               lambda: pcgpu.neighbors.ball_query(clouds, clouds, 0.5, 32), 100)
    device_row('three_nn, 16 x 1,500 -> 6,000', lambda: pcgpu.neighbors.three_nn(clouds[:, ::4].contiguous(), clouds), 100)
    torch_knn(on_gpu[:, :3], k)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    torch_knn(on_gpu[:, :3], k)
    torch.cuda.synchronize()
    print(f'| brute force of PyTorch, k = {k} | {1e6 * (time.perf_counter() - begin):.0f} | |')


def outlier_rows(points, on_gpu):
    """Streets of copies of the scan, as in tests/bench/filters.py."""
    print('\n| outliers, k = 20, PyTorch | device, us per replay | host, us per call |\n|---|---|---|')
    for count in (len(points), 1000000, 10000000):
        street = torch.cat([on_gpu + torch.tensor([200.0 * i, 0, 0, 0], device='cuda') for i in range(-(-count // len(points)))])[:count]
        street[:, :3] += 0.002 * torch.randn((count, 3), device='cuda')
        if count < 5e6 and not np.array_equal(pcgpu.filter.outliers(street).cpu().numpy(),
                                              pcgpu.filter.outliers(street.cpu().numpy(), device='cpu')):
            raise SystemExit('outliers differ from those of the CPU')
        device_row(f'{count:,} points', lambda: pcgpu.filter.outliers(street), 20)


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1] / 'testdata/street.bin'
    points = np.fromfile(path, '<f4').reshape(-1, 4)
    print(f'pcgpu {pcgpu.__version__}; {path}, {len(points):,} points\n')
    numpy_rows(points)
    on_gpu = torch_rows(points) if torch and torch.cuda.is_available() else None
    neighbor_rows(points, on_gpu)
    if on_gpu is not None:
        outlier_rows(points, on_gpu)
    pair_rows(points, on_gpu)


main()
