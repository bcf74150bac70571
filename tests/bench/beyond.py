"""Indices beyond 2^31, by hand: `PCGPU=build/cmd/pcgpu beyond.py FOLDER`. A .bin of 2^31 + 5,000 records is a hole of the file system, which
is zeros at the origin and takes no disk, and 1,000 points at its end. Half a minute to some minutes per pass over 26 GB."""
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

FIRST, POINTS = 2**31 + 4000, 1000
PROGRAM = os.environ.get('PCGPU', 'pcgpu')


def run(folder, *words):
    begin = time.monotonic()
    subprocess.run([PROGRAM, *map(str, words), '-f', '-q', '--json', folder / 'log'], check=True)
    print(f'{time.monotonic() - begin:6.0f} s  {" ".join(map(str, words))}', flush=True)
    return json.loads((folder / 'log').read_text())


folder = pathlib.Path(sys.argv[1])
points = np.stack([np.arange(POINTS) + 0.5, np.full(POINTS, 2.5), np.arange(POINTS) % 7 + 0.25], axis=1).astype('<f4')
cloud = folder / 'beyond.bin'
try:
    with open(cloud, 'wb') as f:
        f.truncate(FIRST * 12)
        f.seek(FIRST * 12)
        points.tofile(f)
    options = ['--fields', 3, '--set', 'memory=1G', cloud]
    run(folder, 'sample', '--method', 'random', '-m', POINTS, '--drop-origin', *options, '-o', folder / 'picks.npy', '--indices', folder / 'i.npy')
    indices = np.load(folder / 'i.npy')
    assert indices.dtype == '<i8' and (np.sort(indices) == FIRST + np.arange(POINTS)).all(), indices
    assert (np.load(folder / 'picks.npy') == points[indices - FIRST]).all()
    run(folder, 'sample', '--method', 'random', '-m', 1000, *options, '-o', folder / 'picks.npy', '--indices', folder / 'i.txt')
    drawn = np.loadtxt(folder / 'i.txt', dtype=np.int64)
    assert len(np.unique(drawn)) == 1000 and 0 <= drawn.min() < 2**27 and 2**31 - 2**27 < drawn.max() < FIRST + POINTS, drawn
    run(folder, 'voxelize', '--voxel-size', 1, '--range=0,0,0,1000,10,10', '--drop-origin', '--features', 'nearest', *options, '-o', folder / 'v.npy')
    assert (np.load(folder / 'v.npy') == points).all()
    log = run(folder, 'voxelize', '--voxel-size', 1, '--range=0,0,0,1000,10,10', *options, '-o', folder / 'v.xyz')
    voxels = np.loadtxt(folder / 'v.xyz', dtype='<f4')
    assert (voxels[0] == 0).all() and (voxels[1:] == points).all(), voxels
    assert log['result']['largest'] == FIRST and log['result']['kept'] == FIRST + POINTS, log['result']
    print('ok')
finally:
    for name in ('beyond.bin', 'picks.npy', 'i.npy', 'i.txt', 'v.npy', 'v.xyz', 'log'):
        (folder / name).unlink(missing_ok=True)
