"""What decides a device and a number of threads: sizes.py auto | threads [POINTS]

auto     whole processes of --cpu, --cuda and --device auto, the better of two if they are short, for 1,000 to 10,000,000 points and 1 to 1,000
         files; `over` is what auto takes longer than the better of the two
threads  the operation on one large cloud (or one sequence of depth images, of PCGPU_DATA) by 1, 2, 4, ... threads;
         POINTS is the largest cloud, default 10,000,000

Files are in TMPDIR, default /dev/shm where it is. PCGPU, PCGPU_SOURCE and PCGPU_DATA as for the tests; needs NumPy;
prints Markdown. Nothing passes or fails by a time."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy

PCGPU, DATA = os.environ['PCGPU'], os.environ.get('PCGPU_DATA', '')
PROCESSORS = len(os.sched_getaffinity(0))
MOST_BYTES = 5e8


def scan(points, seed):
    """Returns of a spinning sensor in a hall of 80 x 40 x 10 m, 2 cm of noise: x y z intensity."""
    random = numpy.random.default_rng(seed)
    azimuth = random.uniform(-numpy.pi, numpy.pi, points)
    elevation = random.uniform(-0.43, 0.2, points)
    ray = numpy.stack([numpy.cos(elevation) * numpy.cos(azimuth), numpy.cos(elevation) * numpy.sin(azimuth),
                       numpy.sin(elevation)], axis=1)
    walls = numpy.where(ray > 0, [50.0, 18.0, 8.0], [-30.0, -22.0, -1.8])
    distance = numpy.min(walls / numpy.where(ray == 0, 1e-12, ray), axis=1) + random.normal(0, 0.02, points)
    cloud = numpy.empty((points, 4), numpy.float32)
    cloud[:, :3] = ray * distance[:, None]
    cloud[:, 3] = random.uniform(0, 1, points)
    return cloud


def run(words, out):
    """Seconds of the process, and those of its operation."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    begin = time.perf_counter()
    done = subprocess.run([PCGPU, *words, '-q', '--json', f'{out}/json'], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    took = time.perf_counter() - begin
    if done.returncode not in (0, 4):
        raise RuntimeError(f'{words}: {done.stderr[-300:]}')
    seconds = json.loads(open(f'{out}/json').readline())['seconds']
    return took, sum(s for name, s in seconds.items() if name not in ('read', 'write', 'total'))


def least_of_two(seconds):
    """A second run only where the first was short."""
    took = seconds()
    return took if took > 0.5 else min(took, seconds())


def sweep(work):
    out = work / 'out'
    worst = 0.0
    print('| command | points | files | --cpu, s | --cuda, s | auto, s | over |\n|---|---|---|---|---|---|---|')
    for points in (1000, 10000, 100000, 1000000, 10000000):
        cloud = scan(points, 1)
        for files in (1, 10, 100, 1000):
            if points * 16 * files > MOST_BYTES:
                break
            folder = work / 'in'
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for i in range(files):
                cloud.tofile(folder / f'{i:04d}.bin')
            for name, words in (('sample', ['sample', '-m', str(min(points // 8, 4096))]),
                                ('voxelize 0.25 m', ['voxelize', '--voxel-size', '0.25', '--output-format', 'bin'])):
                took = [least_of_two(lambda: run([*words, f'{folder}/', '-o', f'{out}/', '--device', device], out)[0])
                        for device in ('cpu', 'cuda', 'auto')]
                best = min(took[:2])
                worst = max(worst, took[2] - 1.1 * best - 0.005)
                print(f'| {name} | {points:,} | {files:,} | {took[0]:.3f} | {took[1]:.3f} | {took[2]:.3f} | '
                      f'{1e3 * (took[2] - best):+.0f} ms, {100 * (took[2] / best - 1):+.0f} % |', flush=True)
    print(f'\nBeyond 10 % + 5 ms: {1e3 * max(worst, 0):.0f} ms at most')


def scale(work, most):
    out, large, many, moved = work / 'out', work / 'large.bin', work / 'many.bin', work / 'moved.bin'
    cloud = scan(most, 1)
    cloud.tofile(large)
    cloud[:most // 10].tofile(many)
    other = scan(most, 2)
    other[:, :3] += numpy.float32([0.4, -0.2, 0.05])
    other.tofile(moved)
    living = f"{os.environ['PCGPU_SOURCE']}/configs/livingroom.yaml"
    small, room = most // 10, sorted(pathlib.Path(DATA, 'depth_livingroom').glob('*.png'))[:5]
    jobs = [(f'sample {small:,} -> 16,384', ['sample', '-m', '16384', str(many)]),
            (f'sample {most:,} -> 65,536', ['sample', '-m', '65536', str(large)]),
            (f'voxelize 0.25 m, {small:,}', ['voxelize', '--voxel-size', '0.25', str(many)]),
            (f'voxelize 0.25 m, {most:,}', ['voxelize', '--voxel-size', '0.25', str(large)]),
            (f'voxelize pillars, {most:,}', ['voxelize', '--config', f"{os.environ['PCGPU_SOURCE']}/configs/pillar.yaml",
                                             '--compression', '0', str(large)]),
            (f'register ndt, 2 x {most:,}', ['register', str(moved), str(large)])]
    counts = [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= PROCESSORS]
    print('| operation, s | ' + ' | '.join(f'{n} threads' if n > 1 else '1 thread' for n in counts) + ' |')
    print('|---' * (len(counts) + 1) + '|')
    if room:
        track = work / 'poses'
        run(['odometry', '--cpu', *map(str, room), '--config', living, '--trajectory', str(track)], out)
        jobs.append((f'fuse, {len(room)} depth images', ['fuse', '--poses', str(track), *map(str, room), '--config',
                                                        living, '--mesh', f'{out}/mesh.ply']))
    for name, words in jobs:
        cells, one = [], None
        for n in counts:
            output = {'sample': ['-o', f'{out}/x.bin'], 'voxelize': ['-o', f'{out}/x.npz']}.get(words[0], [])
            took = least_of_two(lambda: run([*words, '--cpu', '--threads', str(n), *output], out)[1])
            one = one or took
            cells.append(f'{took:.3f} ({one / took:.1f} x)')
        print(f'| {name} | ' + ' | '.join(cells) + ' |', flush=True)


def main():
    base = os.environ.get('TMPDIR') or ('/dev/shm' if os.path.isdir('/dev/shm') else None)
    work = pathlib.Path(tempfile.mkdtemp(prefix='pcgpu-sizes-', dir=base))
    try:
        if sys.argv[1] == 'auto':
            sweep(work)
        else:
            scale(work, int(sys.argv[2]) if len(sys.argv) > 2 else 10000000)
    finally:
        shutil.rmtree(work, ignore_errors=True)


main()
