"""The pipeline of the documentation: cat | sample | voxelize, and NumPy reads what comes out."""
import shlex
import subprocess

import numpy as np

import oracle
from common import DEVICE, PROGRAM, SOURCE, check, data, equal, fail, finish, passed, read_bin, scratch, testdata

LOW, HIGH, SIZE = (0, -39.68, -3), (69.12, 39.68, 1), (.16, .16, 4)


def shell(command, folder):
    result = subprocess.run(['sh', '-ec', command], capture_output=True, cwd=folder, timeout=300)
    if result.returncode != 0:
        fail(command, result.stderr.decode())
    return result.stdout


def compare(path, folder):
    program = shlex.quote(PROGRAM)
    device = f'--device {DEVICE}' if DEVICE else ''
    config = shlex.quote(str(SOURCE / 'configs' / 'pillar.yaml'))
    front = (f'cat {shlex.quote(str(path))} | {program} sample {device} -m 4096 - | '
             f'{program} voxelize {device} --config {config} -')
    shell(f'{front} -o out.npz', folder)
    points = read_bin(path)
    picked = points[oracle.farthest(points, 4096)[0]]
    with np.load(folder / 'out.npz') as out:
        features = 'pillar' if out['voxels'].ndim == 3 and out['voxels'].shape[2] == 10 else 'points'
        expected = oracle.voxelize(picked, LOW, HIGH, SIZE, 32, 0, features)
        check(expected.voxels_found > 100, 'the sample fills voxels', expected.voxels_found)
        equal(f'{path.name}: voxels', out['voxels'], expected.features)
        equal(f'{path.name}: coords', out['coords'], expected.coords)
        equal(f'{path.name}: num_points', out['num_points'], expected.counts)
        stdout = shell(f'{front} -o -', folder)
        check(stdout == out['voxels'].tobytes(), f'{path.name}: -o - writes the same features, raw')
        shell(f'{front} --output-format npz -o - > stdout.npz', folder)
        with np.load(folder / 'stdout.npz') as again:
            equal(f'{path.name}: .npz through stdout', again['voxels'], out['voxels'])
    (folder / 'out.npz').unlink()
    passed(f'{path.name}: {expected.voxels_found} voxels of 4096 sampled points')


paths = [path for path in (data('kitti/000001.bin'), testdata('street.bin')) if path]
with scratch() as scratch_folder:
    for scan in paths:
        compare(scan, scratch_folder)
if not paths:
    print('no scan to run the pipeline on')
    raise SystemExit(77)
finish()
