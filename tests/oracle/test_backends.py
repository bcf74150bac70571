"""The same bytes from every back end, at every thread count, in every run.

One reference run a case, on the CPU with one thread; then everything that must equal it. CUDA takes part when the
program can use a device. PCGPU_REPEATS: runs of each case on each back end at least, over all thread counts, default 3."""
import concurrent.futures
import json
import os
import subprocess
import sys

import numpy as np

from common import (PROGRAM, SKIP, SOURCE, check, data, finish, part_skipped, passed, scratch, testdata,
                    write_bin)

REPEATS = -(-int(os.environ.get('PCGPU_REPEATS', '3')) // 3)  # of each of these thread counts
JOBS = int(os.environ.get('PCGPU_JOBS', '1'))  # programs at a time
THREADS = (1, 2, 16)


def cuda_is_usable(folder):
    """--cuda never falls back: 0 says that the GPU did it, 3 that there is none to use."""
    write_bin(folder / 'one.bin', np.ones((1, 4)))
    words = [PROGRAM, 'sample', '--cuda', '-m', '1', 'one.bin', '-o', 'cuda.bin', '-f']
    result = subprocess.run(words, capture_output=True, cwd=folder, timeout=60)
    check(result.returncode in (0, 3), 'sample --cuda', f'exit code {result.returncode}: {result.stderr.decode()}')
    return result.returncode == 0


def command(name, inputs, *options, outputs=()):
    """A case: the words after the program, and the files that it writes into its folder."""
    return [name, *map(str, inputs), *map(str, options)], outputs


def clouds(folder):
    """Generated inputs, so that the test says something without any data: ties, duplicates, NaN, a large spread."""
    rng = np.random.default_rng(12)
    points = rng.normal(size=(20000, 4)).astype(np.float32) * np.float32([20, 20, 2, 1])
    points[::3] = np.round(points[::3])
    points[rng.integers(1, 20000, 100), 1] = np.nan
    write_bin(folder / 'mixed.bin', points)
    write_bin(folder / 'small.bin', points[:777])
    write_bin(folder / 'ties.bin', rng.integers(-4, 4, (9000, 4)))
    return [folder / name for name in ('mixed.bin', 'small.bin', 'ties.bin')]


def sample_case(inputs, *options):
    return command('sample', inputs, *options, '-o', 'out.bin', '--indices', 'i', '--distances', 'd',
                   outputs=('out.bin', 'i', 'd'))


def voxelize_case(inputs, *options):
    return command('voxelize', inputs, *options, '-o', 'v.npz', '--set', 'point-voxel=p', outputs=('v.npz', 'p'))


def register_case(source, target, *options):
    return command('register', [source, target], *options, '-o', 'aligned.bin', '--transform', 'T',
                   outputs=('aligned.bin', 'T'))


def cases(folder):
    mixed, small, ties = clouds(folder)
    yield 'sample mixed', sample_case([mixed], '-m', 1000)
    yield 'sample ties', sample_case([ties], '-m', 2000)
    yield 'sample center, min-distance', sample_case([mixed], '--min-distance', 3, '--start', 'center')
    batch = [f'batch/{path.name}' for path in (mixed, small, ties)]
    yield 'sample a batch', command('sample', (mixed, small, ties), '-m', 500, '-o', 'batch/', outputs=batch)
    for features in ('mean', 'points', 'pillar', 'first', 'nearest'):
        for limits in ((0, 0), (5, 900)):
            yield f'voxelize {features} {limits}', voxelize_case(
                [mixed], '--range=-40,-40,-4,40,40,4', '--voxel-size=.8,.8,1', '--features', features, '--max-points',
                limits[0], '--max-voxels', limits[1])
    street, moved = testdata('street.bin'), testdata('street_moved.bin')
    if street and moved:
        for method in ('ndt', 'plane', 'point', 'gicp'):
            yield f'register street, {method}', register_case(street, moved, '--method', method)
    else:
        part_skipped('street', 'testdata/ is not here')
    frames = [testdata(f'room/frame-{i:06d}.png') for i in range(4)]
    if all(frames):
        config = ('--config', SOURCE / 'testdata/room/camera.yaml')
        yield 'register depth', command('register', frames[:2], *config, '--transform', 'T', outputs=('T',))
        for reference in ('previous', 'model'):
            yield f'depth sequence, {reference}', command('odometry', frames, *config, '--reference', reference,
                                                          '--trajectory', 't', outputs=('t',))
        yield 'depth sequence, its mesh', command('odometry', frames, *config, '--trajectory', 't', '--mesh', 'm.ply',
                                                  outputs=('t', 'm.ply'))
    if street and moved:
        for reference in ('previous', 'keyframe'):
            yield f'sequence of scans, {reference}', command('odometry', [street, moved, street], '--reference', reference,
                                                             '--trajectory', 't', outputs=('t',))
    if not data('kitti/000001.bin'):
        part_skipped('real scans', 'the data is not here')
        return
    kitti, nuscenes = data('kitti/000001.bin'), data('nuscenes/n015.pcd.bin')
    yield 'sample KITTI', sample_case([kitti], '-m', 4096)
    yield 'sample nuScenes', sample_case([nuscenes], '-m', 4096, '--fields', 5)
    yield 'voxelize pillar.yaml', voxelize_case([data('kitti/000000.bin')], '--config', SOURCE / 'configs/pillar.yaml')
    yield 'voxelize second.yaml', voxelize_case([data('kitti/000000.bin')], '--config', SOURCE / 'configs/second.yaml')
    for config in ('centerpoint_voxel01.yaml', 'centerpoint_voxel0075.yaml', 'pillar_waymo.yaml'):
        yield f'voxelize {config}', voxelize_case([nuscenes], '--config', SOURCE / 'configs' / config)
    scans = [data(f'kitti00/velodyne/{i:06d}.bin') for i in (14, 15, 94, 95)]
    pair = data('pair/source.ply'), data('pair/target.ply')
    for method in ('ndt', 'plane', 'gicp'):
        yield f'register KITTI 15 onto 14, {method}', register_case(scans[1], scans[0], '--method', method)
        yield f'register KITTI 95 onto 94, {method}', register_case(scans[3], scans[2], '--method', method)
        yield f'register pair, {method}', register_case(*pair, '--method', method)
    yield 'register without a guess', register_case(kitti, kitti, '--init', 'auto')
    yield 'register without a guess, plane', register_case(scans[1], scans[0], '--init', 'auto', '--method', 'plane')
    yield 'register two places', register_case(kitti, data('kitti/000000.bin'), '--min-score', 0)
    yield 'register a scan and itself', register_case(kitti, kitti)
    yield 'register, a result to be confirmed', register_case(scans[1], scans[0], '--min-score', .75)
    yield 'register small cells, six levels', register_case(*pair, '--voxel-size', .04, '--set', 'levels=6')


def outcome(words, outputs, device):
    """Everything a run leaves behind: exit code, stdout, files. Fails when another back end did the work."""
    with scratch() as folder:
        (folder / 'batch').mkdir()
        command = [PROGRAM, words[0], *device, *words[1:], '--json', 'log']
        result = subprocess.run(command, capture_output=True, cwd=folder, timeout=300)
        left = {'exit code': result.returncode, 'stdout': result.stdout}
        if result.returncode not in (0, 4):
            left['error'] = result.stderr.decode()
            return left
        for line in (folder / 'log').read_text().splitlines():
            backend = json.loads(line)['backend']
            if f'--{backend}' not in device:
                left['error'] = f'it ran on {backend}'
        for name in outputs:
            left[name] = (folder / name).read_bytes()
        return left


def compare(label, words, outputs, variants, pool):
    reference = outcome(words, outputs, ('--cpu', '--threads', '1'))
    check('error' not in reference, label, reference.get('error'))
    check(all(reference[name] for name in outputs), f'{label}: the outputs are not empty')
    runs = [device for device in variants for _ in range(REPEATS)]
    for device, got in zip(runs, pool.map(lambda device: outcome(words, outputs, device), runs)):
        device = ' '.join(device)
        check('error' not in got, f'{label} with {device}', got.get('error'))
        for name, expected in reference.items():
            check(got[name] == expected, f'{label}: {name} with {device}', 'differs from --cpu --threads 1')
    passed(f'{label}: {len(runs)} runs equal')


def choose_variants(part, folder):
    """threads: the CPU alone; cuda: CUDA alone; all."""
    variants = []
    if part in ('all', 'threads'):
        variants += [('--cpu', '--threads', str(n)) for n in THREADS]
    if part in ('all', 'cuda'):
        if cuda_is_usable(folder):
            variants += [('--cuda', '--threads', str(n)) for n in THREADS]
        elif part == 'cuda':
            print('no CUDA device can be used')
            sys.exit(SKIP)
        else:
            part_skipped('CUDA', 'no CUDA device can be used')
    return variants


def main():
    with scratch() as folder:
        variants = choose_variants(sys.argv[1] if len(sys.argv) > 1 else 'all', folder)
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            for label, (words, outputs) in cases(folder):
                compare(label, words, outputs, variants, pool)
    finish()


main()
