"""Many inputs, files to files, against `cp`: many.py DRIVE [FILES]

Writes FILES scans (default 500) of a generated drive, 120,000 records each, into a temporary folder (TMPDIR, default /dev/shm where
it is), and runs each job on all of them: the CPU with all processors, and CUDA where a device is usable, best of 3 runs. `cp` copies
the same files one by one, and with one process for each processor. The start of CUDA is counted, but in the last column. Nothing passes or fails by
a time; the outputs of both back ends must be the same.

PCGPU, PCGPU_SOURCE as for the tests; prints Markdown."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

PCGPU, SOURCE = os.environ['PCGPU'], os.environ['PCGPU_SOURCE']
SCANS, ROUNDS, STEPS = 250, 3, 2000
PROCESSORS = len(os.sched_getaffinity(0))


def seconds(words, out):
    """The least seconds of ROUNDS runs; `out` is empty before each."""
    best = None
    for _ in range(ROUNDS):
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        begin = time.perf_counter()
        done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        took = time.perf_counter() - begin
        if done.returncode not in (0, 4):  # 4: a pair did not converge, which takes longer than one that does
            raise RuntimeError(f'{words[:6]}: {done.stderr[-500:]}')
        best = took if best is None else min(best, took)
    return best


def digest(out):
    """What a job wrote."""
    listing = subprocess.run('find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum', shell=True, cwd=out,
                             stdout=subprocess.PIPE, check=True)
    return listing.stdout


def has_cuda():
    done = subprocess.run([PCGPU, 'info'], stdout=subprocess.PIPE, text=True)
    return 'CUDA devices: none' not in done.stdout


def main():
    drive, files = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 500
    base = os.environ.get('TMPDIR') or ('/dev/shm' if os.path.isdir('/dev/shm') else None)
    work = pathlib.Path(tempfile.mkdtemp(prefix='pcgpu-many-', dir=base))
    try:
        made, scans, out = work / 'drive', work / 'in', work / 'out'
        made.mkdir()
        scans.mkdir()
        subprocess.run([drive, '--frames', str(min(files, SCANS)), '--steps', str(STEPS), str(made)], check=True,
                       stdout=subprocess.DEVNULL)
        for i in range(files):  # there and back, so that neighbours are neighbours
            k = i % (2 * SCANS)
            shutil.copy(made / f'{k if k < SCANS else 2 * SCANS - 1 - k:06d}.bin', scans / f'{i:06d}.bin')
        names = sorted(str(path) for path in scans.iterdir())
        pairs = work / 'pairs'
        pairs.write_text(''.join(f'{a} {b}\n' for a, b in zip(names[1:], names)))
        config = f'{SOURCE}/configs'
        jobs = [('sample -m 4096', ['sample', '-m', '4096', str(scans), '-o', f'{out}/']),
                ('voxelize 0.25 m to .bin', ['voxelize', '--voxel-size', '0.25', str(scans), '-o', f'{out}/',
                                             '--output-format', 'bin']),
                ('voxelize pillar.yaml to .npz', ['voxelize', '--config', f'{config}/pillar.yaml', str(scans), '-o', f'{out}/']),
                ('voxelize second.yaml to .npz', ['voxelize', '--config', f'{config}/second.yaml', str(scans), '-o', f'{out}/']),
                ('odometry, previous', ['odometry', '--reference', 'previous', str(scans), '--trajectory', f'{out}/t']),
                ('odometry, model', ['odometry', '--reference', 'model', str(scans), '--trajectory', f'{out}/t']),
                ('register --pairs', ['register', '--pairs', str(pairs), '--transform', f'{out}/t', '-q'])]
        copy = seconds(['sh', '-c', f'for f in {scans}/*; do cp "$f" {out}/; done'], out)
        together = seconds(['sh', '-c', f'printf "%s\\n" {scans}/* | xargs -P {PROCESSORS} -I @ cp @ {out}/'], out)
        size = sum(os.path.getsize(name) for name in names) / len(names) / 1e6
        print(f'{files} scans of {size:.2f} MB, {PROCESSORS} processors; cp one by one {1e3 * copy / files:.2f} ms a file, '
              f'one process for each processor {1e3 * together / files:.2f}\n')
        # What a process needs before the first file: it is in all figures but those of the last column.
        start = seconds([PCGPU, 'sample', '-m', '16', names[0], '-o', f'{out}/one.bin', '--cuda'], out) if has_cuda() else 0.0
        print('| job | back end | files per second | times cp | times cp, all processors | files per second without the start |')
        print('|---|---|---|---|---|---|')
        for name, words in jobs:
            same = []
            for back_end in ['--cpu'] + (['--cuda'] if has_cuda() else []):
                took = seconds([PCGPU, *words, back_end], out)
                same.append(digest(out))
                after = took - (start if back_end == '--cuda' else 0.0)
                print(f'| {name} | {back_end} | {files / took:.0f} | {took / copy:.2f} | {took / together:.2f} | {files / after:.0f} |',
                      flush=True)
            if len(set(same)) > 1:
                raise SystemExit(f'{name}: the outputs of the back ends differ')
    finally:
        shutil.rmtree(work, ignore_errors=True)


main()
