"""Farthest point sampling on one CPU thread, in memory and warm, side by side in one run: pcgpu, the plain reference loop
and, when it is installed, fpsample (QuickFPS's buckets on a kd-tree, the best of h = 5..9).

    sample_cpu.py BENCH_SAMPLE_CPU [ROUNDS]     PCGPU_DATA as for the tests; prints Markdown

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

try:
    import fpsample
except ImportError:
    fpsample = None

BENCH = sys.argv[1]
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3
HEIGHTS = (5, 6, 7, 8, 9)
SCAN = os.path.join(os.environ.get('PCGPU_DATA', ''), 'kitti/000001.bin')
# picks: most milliseconds, least ratio of fpsample, least ratio of the reference
SCAN_TARGETS = {1024: (2.5, 4, 15), 4096: (4.5, 4, 15), 16384: (12, 4, 15)}
CUBE_TARGETS = {16384: (None, 3.5, None)}


def run_pcgpu(path, picks):
    done = subprocess.run([BENCH, path, str(picks)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def time_peer(points, picks):
    """Milliseconds by the height of the tree; a few runs of each, more when they are short."""
    least = {}
    for h in HEIGHTS:
        runs = []
        while len(runs) < 5 and sum(runs) < 300:
            begin = time.perf_counter()
            fpsample.bucket_fps_kdline_sampling(points, picks, h=h, start_idx=0)
            runs.append(1e3 * (time.perf_counter() - begin))
        least[h] = min(runs)
    return least


def verdict(value, limit, at_least):
    if limit is None:
        return ''
    met = value >= limit if at_least else value <= limit
    return f' ({">=" if at_least else "<="} {limit:g}: {"met" if met else "missed"})'


def measure(label, path, targets):
    points = np.fromfile(path, np.float32).reshape(-1, 4)[:, :3].copy()
    for picks, (most, peer_ratio, reference_ratio) in targets.items():
        records, peers = [], []
        for _ in range(ROUNDS):
            records.append(run_pcgpu(path, picks))
            peers.append(time_peer(points, picks) if fpsample else {})
        own = min(record['least'] for record in records)
        median = sorted(record['median'] for record in records)[ROUNDS // 2]
        part = records[0]['reference_picks'] / picks
        reference = min(record['reference'] for record in records) / part
        cells = [f'{own:.2f}{verdict(own, most, False)}', f'{median:.2f}',
                 f'{"~" if part < 1 else ""}{reference:.1f} ({reference / own:.1f} x'
                 f'{verdict(reference / own, reference_ratio, True)})']
        if fpsample:
            h = min(HEIGHTS, key=lambda h: min(peer[h] for peer in peers))
            peer = min(peer[h] for peer in peers)
            cells.append(f'{peer:.1f} (h = {h}; {peer / own:.1f} x{verdict(peer / own, peer_ratio, True)})')
        else:
            cells.append('not installed')
        print(f'| {label} | {len(points):,} | {picks:,} | ' + ' | '.join(cells) + ' |', flush=True)


def main():
    print(f'One thread, ms, the least of {ROUNDS} rounds; in brackets the ratio to pcgpu; ~: from fewer picks\n')
    print('| cloud | points | picks | pcgpu | its median | plain reference | fpsample |\n|---|---|---|---|---|---|---|')
    if os.path.exists(SCAN):
        measure('KITTI', SCAN, SCAN_TARGETS)
    else:
        print(f'| skipped: {SCAN} is not there |')
    with tempfile.TemporaryDirectory(prefix='pcgpu-bench-') as folder:
        path = os.path.join(folder, 'cube.bin')
        rng = np.random.default_rng(7)
        rng.uniform(-50, 50, (1000000, 4)).astype(np.float32).tofile(path)
        measure('cube', path, CUBE_TARGETS)


main()
