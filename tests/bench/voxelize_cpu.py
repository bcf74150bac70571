"""Voxelization on one CPU thread, in memory and warm, side by side in one run: pcgpu, the plain reference loop and the
peers that are installed: spconv (Point2VoxelCPU3d) for the arrays of detection networks, Open3D and small_gicp for
downsampling. Then pcgpu with more threads.

    voxelize_cpu.py BENCH_VOXELIZE_CPU [ROUNDS]     PCGPU_DATA as for the tests; prints Markdown

The programs take turns for some rounds and the least time of each counts, since other work on the machine only ever adds.
A target that is missed is printed, and fails nothing; a difference between pcgpu and the reference does.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

BENCH = sys.argv[1]
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
SCAN = os.path.join(os.environ.get('PCGPU_DATA', ''), 'kitti/000001.bin')
POINTS = 2000000  # of the generated cloud
CASES = ('pillar', 'voxel', 'voxel points', 'downsample')
# most milliseconds for the scan and for the generated cloud
TARGETS = {'pillar': (1.2, 8), 'voxel': (2.5, 30), 'downsample': (None, 40)}
# what spconv is asked for: size, range, points a voxel, voxels; it always fills V x P x F
HARD = {'pillar': ([.16, .16, 4], [0, -39.68, -3, 69.12, 39.68, 1], 32, 40000),
        'voxel points': ([.075, .075, .2], [-54, -54, -5, 54, 54, 3], 10, 160000)}


def run_pcgpu(case, path, threads):
    done = subprocess.run([BENCH, case, path, str(threads)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def least_of(function):
    runs = []
    while len(runs) < 5 or (len(runs) < 100 and sum(runs) < 300):
        begin = time.perf_counter()
        function()
        runs.append(1e3 * (time.perf_counter() - begin))
    return min(runs)


def spconv_call(case, points):
    from cumm import tensorview
    from spconv.utils import Point2VoxelCPU3d
    size, limits, most_points, most_voxels = HARD[case]
    make = Point2VoxelCPU3d(vsize_xyz=size, coors_range_xyz=limits, num_point_features=4, max_num_voxels=most_voxels,
                            max_num_points_per_voxel=most_points)
    cloud = tensorview.from_numpy(points)
    return lambda: make.point_to_voxel(cloud)


def open3d_call(_, points):
    import open3d
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points[:, :3].astype(np.float64)))
    return lambda: cloud.voxel_down_sample(0.25)


def small_gicp_call(_, points):
    import small_gicp
    cloud = small_gicp.PointCloud(points[:, :3].astype(np.float64))
    return lambda: small_gicp.voxelgrid_sampling(cloud, 0.25, num_threads=1)


# The pillars of the scan in a process that has made none: the milliseconds of the first call and the number of voxels.
FIRST = {
    'pcgpu': """import pcgpu
def voxels(p): return len(pcgpu.voxelize(p, [.16, .16, 4], [0, -39.68, -3, 69.12, 39.68, 1], max_points=32, max_voxels=40000,
                                         features='points', device='cpu', threads=1).coords)""",
    'spconv': """from cumm import tensorview
from spconv.utils import Point2VoxelCPU3d
def voxels(p): return len(Point2VoxelCPU3d([.16, .16, 4], [0, -39.68, -3, 69.12, 39.68, 1], 4, 40000, 32)
                          .point_to_voxel(tensorview.from_numpy(p))[1].numpy())"""}
FIRST_CALL = """
import sys, time, numpy
points = numpy.fromfile(sys.argv[1], numpy.float32).reshape(-1, 4)
begin = time.perf_counter()
count = voxels(points)
print(1e3 * (time.perf_counter() - begin), count)"""
PEERS = [('spconv', spconv_call, HARD), ('Open3D', open3d_call, ('downsample',)),
         ('small_gicp', small_gicp_call, ('downsample',))]


def peer_calls(case, points):
    """Functions by name; None where the peer is not installed."""
    calls = {}
    for name, prepare, can in PEERS:
        if case in can:
            try:
                calls[name] = prepare(case, points)
            except (ImportError, OSError):
                calls[name] = None
    return calls


def verdict(value, limit):
    return '' if limit is None else f' (<= {limit:g}: {"met" if value <= limit else "missed"})'


def measure(label, path, which):
    points = np.fromfile(path, np.float32).reshape(-1, 4)
    for case in CASES:
        calls = peer_calls(case, points)
        records, times = [], {name: [] for name in calls}
        for _ in range(ROUNDS):
            records.append(run_pcgpu(case, path, 1))
            for name, call in calls.items():
                if call:
                    times[name].append(least_of(call))
        own = min(record['least'] for record in records)
        median = sorted(record['median'] for record in records)[ROUNDS // 2]
        reference = min(record['reference'] for record in records)
        cells = [f'{own:.2f}{verdict(own, TARGETS.get(case, (None, None))[which])}', f'{median:.2f}',
                 f'{reference:.1f} ({reference / own:.1f} x)']
        cells.append(', '.join(f'{name} {min(times[name]):.2f} ({min(times[name]) / own:.1f} x)' if times[name]
                               else f'{name} not installed' for name in calls))
        for threads in (2, 4, 16):
            if threads <= (os.cpu_count() or 1):
                more = min(run_pcgpu(case, path, threads)['least'] for _ in range(ROUNDS))
                cells.append(f'{more:.2f} ({own / more:.1f} x)')
            else:
                cells.append('')
        record = records[0]
        print(f'| {label} | {case} | {record["points"]:,} | {record["in_range"]:,} | {record["voxels"]:,} | '
              + ' | '.join(cells) + ' |', flush=True)


def measure_first():
    """Medians of new processes in turns; the voxels have to agree."""
    times, counts = {name: [] for name in FIRST}, set()
    for _ in range(3 * ROUNDS):
        for name, code in FIRST.items():
            done = subprocess.run([sys.executable, '-c', code + FIRST_CALL, SCAN], capture_output=True, text=True)
            if done.returncode:
                print(f'\nFirst call of a process: skipped, {name} is not installed')
                return
            milliseconds, count = done.stdout.split()
            times[name].append(float(milliseconds))
            counts.add(count)
    if len(counts) != 1:
        sys.exit(f'first call: {counts} voxels')
    own, peer = (sorted(times[name])[len(times[name]) // 2] for name in FIRST)
    print(f'\nFirst call of a process, pillars of the scan: pcgpu {own:.2f} ms, spconv {peer:.2f} ms ({peer / own:.1f} x)')


def main():
    print(f'One thread, ms, the least of {ROUNDS} rounds; in brackets the ratio to pcgpu; then pcgpu with more threads, in '
          'brackets how many times as fast as one. Memory of results is kept from call to call, as peers do\n')
    print('| cloud | case | points | in range | voxels | pcgpu | its median | plain reference | peers | 2 threads | 4 | '
          '16 |\n' + '|---' * 12 + '|')
    if os.path.exists(SCAN):
        measure('KITTI', SCAN, 0)
    else:
        print(f'| skipped: {SCAN} is not there |')
    with tempfile.TemporaryDirectory(prefix='pcgpu-bench-') as folder:
        path = os.path.join(folder, 'sweeps.bin')
        subprocess.run([BENCH, 'make', str(POINTS), path], check=True)
        measure('sweeps', path, 1)
    if os.path.exists(SCAN):
        measure_first()


main()
