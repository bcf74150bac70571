"""Seconds of the commands, side by side in one run: CPU with one thread, CPU with all, CUDA where there is one, and the
peers that are installed (fpsample, small_gicp, open3d from PyPI). Ratios compare within this run only; nothing here
passes or fails by an absolute time.

    commands.py [RUNS]     PCGPU, PCGPU_SOURCE, PCGPU_DATA as for the tests; prints Markdown
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
PCGPU = os.environ['PCGPU']
SOURCE = os.environ['PCGPU_SOURCE']
DATA = os.environ.get('PCGPU_DATA', '')
SCAN = os.path.join(DATA, 'kitti/000001.bin')
PAIR = [os.path.join(DATA, 'kitti00/velodyne', name) for name in ('000015.bin', '000014.bin')]
if not os.path.exists(SCAN):
    SCAN = os.path.join(SOURCE, 'testdata/street.bin')
if not os.path.exists(PAIR[0]):
    PAIR = [os.path.join(SOURCE, 'testdata', name) for name in ('street_moved.bin', 'street.bin')]
CONFIG = os.path.join(SOURCE, 'configs')

CASES = [
    ('sample, 1024', ['sample', '-m', '1024', SCAN], 'sample'),
    ('sample, 4096', ['sample', '-m', '4096', SCAN], 'sample'),
    ('sample, 16384', ['sample', '-m', '16384', SCAN], 'sample'),
    ('voxelize, pillars 0.16 m', ['voxelize', '--config', f'{CONFIG}/pillar.yaml', SCAN], 'voxelize'),
    ('voxelize, SECOND 0.05 m', ['voxelize', '--config', f'{CONFIG}/second.yaml', SCAN], 'voxelize'),
    ('voxelize, downsampling 0.25 m', ['voxelize', '--voxel-size', '0.25', SCAN], 'voxelize'),
    ('register, ndt', ['register', *PAIR], None),
    ('register, point-to-plane', ['register', '--method', 'plane', *PAIR], None),
]
BACKENDS = [('CPU, 1 thread', ['--cpu', '--threads', '1']), ('CPU, all threads', ['--cpu']), ('CUDA', ['--cuda'])]


def run(words, options, folder):
    """Wall seconds of the process and the record of one run."""
    report = os.path.join(folder, 'report.json')
    output = ['-f', '-o', os.path.join(folder, 'out.ply' if words[0] == 'register' else 'out.bin')]
    begin = time.perf_counter()
    done = subprocess.run([PCGPU, *words, *options, *output, '-f', '--json', report], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    wall = time.perf_counter() - begin
    if done.returncode:
        raise RuntimeError(f'{words}: {done.stderr}')
    with open(report) as f:
        return wall, json.load(f)


def operation(record, stage):
    """Seconds of the operation: one stage, or all but reading and writing."""
    seconds = record['seconds']
    if stage:
        return seconds[stage]
    return sum(s for name, s in seconds.items() if name not in ('read', 'write', 'total'))


def milliseconds(values):
    return f'{1e3 * statistics.median(values):.2f}'


def has_cuda(folder):
    try:
        run(['sample', '-m', '1', SCAN], ['--cuda'], folder)
        return True
    except RuntimeError:
        return False


def measure(folder):
    backends = BACKENDS if has_cuda(folder) else BACKENDS[:2]
    machine = {name: run(['sample', '-m', '1', SCAN], options, folder)[1] for name, options in backends}
    print(f'{RUNS} runs, medians; scan: {os.path.basename(SCAN)}, {machine[backends[0][0]]["points_in"]:,} points; '
          f'pair: {os.path.basename(PAIR[0])} onto {os.path.basename(PAIR[1])}')
    for name, record in machine.items():
        print(f'{name}: {record["device"]}, threads {record["threads"]}')
    print('\nThe operation alone, ms (ratio to one thread); the whole process, ms\n')
    print('| | ' + ' | '.join(name for name, _ in backends) + ' | '
          + ' | '.join(f'process, {name}' for name, _ in backends) + ' |')
    print('|---' * (1 + 2 * len(backends)) + '|')
    for label, words, stage in CASES:
        walls, seconds = [[] for _ in backends], [[] for _ in backends]
        for _ in range(RUNS):  # in turn, so that a drift of the machine's speed meets all alike
            for k, (_, options) in enumerate(backends):
                wall, record = run(words, options, folder)
                walls[k].append(wall)
                seconds[k].append(operation(record, stage))
        base = statistics.median(seconds[0])
        print(f'| {label} | '
              + ' | '.join(f'{milliseconds(s)} ({base / statistics.median(s):.1f} x)' for s in seconds) + ' | '
              + ' | '.join(milliseconds(w) for w in walls) + ' |')
    copies = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        subprocess.run(['cp', SCAN, os.path.join(folder, 'copy')], check=True)
        copies.append(time.perf_counter() - begin)
    print(f'\n`cp` of the scan: {milliseconds(copies)} ms, the whole process')


def timed(function):
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return milliseconds(times)


def peers():
    try:
        import numpy as np
    except ImportError:
        return
    points = np.fromfile(SCAN, np.float32).reshape(-1, 4)[:, :3].copy()
    source, target = (np.fromfile(path, np.float32).reshape(-1, 4)[:, :3].astype(np.float64) for path in PAIR)
    print('\nPeers, one thread, in memory, ms\n\n| | |\n|---|---|')
    try:
        import fpsample
        for m in (1024, 4096, 16384):
            print(f'| fpsample kd-line h7, {m} | '
                  f'{timed(lambda m=m: fpsample.bucket_fps_kdline_sampling(points, m, h=7, start_idx=0))} |')
    except ImportError:
        print('| fpsample | not installed |')
    try:
        import small_gicp
        for kind in ('PLANE_ICP', 'GICP'):
            print(f'| small_gicp {kind} | ' + timed(lambda kind=kind: small_gicp.align(
                target, source, registration_type=kind, downsampling_resolution=0.25, num_threads=1)) + ' |')
    except ImportError:
        print('| small_gicp | not installed |')


def main():
    folder = tempfile.mkdtemp(prefix='pcgpu-bench-')
    try:
        measure(folder)
        peers()
    finally:
        shutil.rmtree(folder)


main()
