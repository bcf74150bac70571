"""Odometry, maps, loops and localization against their targets: odometry.py BUILD [cuda] [PART]...

The parts, default all: speed (bench_odometry, and KISS-ICP, over KITTI 00, scans 0 to 5 to and fro, 100 in all, and over 240 scans of a
generated drive around a block, whose truth is known), drives (odometry_drives.py), moving, loops, localization, depth (odometry_maps.py).
Prints what each measures and at the end a table: target, wanted, measured, PASS or MISS, on what. Exit code 1 when a result is wrong:
errors that are too large, bytes that differ; not when a speed is missed.

`cuda`: on CUDA, whose poses and maps must be the CPU's; a short form for a machine that is lent.
PCGPU_DATA: the folder of the data. PCGPU_LONG=1: whole paths and 20 runs, an hour or two and 5 GB in TMPDIR; without it 10 minutes of
two cores. PYTHON: a Python that has KISS-ICP (pip install kiss-icp), default the one that runs this."""
import os
import pathlib
import subprocess
import sys
import tempfile

from odometry_drives import drives
from odometry_maps import depth, localization, loops, moving
from targets import Build, Table, kiss_icp

ROUNDS = 10  # of the ten scans there and back


def kitti(build, folder):
    """Links to real scans as a sequence; False without them."""
    scans = build.data / 'kitti00/velodyne'
    if not (scans / '000005.bin').exists():
        return False
    folder.mkdir()
    for i in range(10 * ROUNDS):
        k = i % 10 if i % 10 <= 5 else 10 - i % 10
        (folder / f'{i:06d}.bin').symlink_to((scans / f'{k:06d}.bin').resolve())
    return True


def measure(build, table, folder, name, count):
    for threads in (0,) if build.cuda else (1, 2):
        print(f'{name}, {threads or "all"} thread{"" if threads == 1 else "s"}', flush=True)
        code = subprocess.run([build.test('bench/bench_odometry'), *(['--cuda'] if build.cuda else []), str(folder), str(count),
                               str(threads)]).returncode
        if code:
            sys.exit(code)
        peer = kiss_icp(build, folder, 4, threads=threads or os.cpu_count())
        if peer:
            ate = f'; ATE {1e3 * peer["ate_rmse"]:.1f} mm' if 'ate_rmse' in peer else ''
            print(f'KISS-ICP  {1e3 / peer["speed"]:6.2f} ms, {peer["speed"]:6.1f} scans/s{ate}', flush=True)
        else:
            print('KISS-ICP is not installed', flush=True)


def speed(build, table):
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        if kitti(build, folder / 'kitti'):
            measure(build, table, folder / 'kitti', 'KITTI 00', 10 * ROUNDS)
        else:
            print('no KITTI scans: set PCGPU_DATA')
        measure(build, table, build.drive(folder / 'block', '--frames', 240, '--steps', 2000), 'block', 240)


def main():
    build, table = Build(sys.argv[1], 'cuda' in sys.argv[2:]), Table()
    parts = [speed, drives, moving, loops, localization, depth]
    if build.cuda:
        parts = [speed, drives, loops, localization]
    wanted = [name for name in sys.argv[2:] if name != 'cuda']
    for part in parts:
        if not wanted or part.__name__ in wanted:
            part(build, table)
    table.print()
    return 1 if table.failed else 0


if __name__ == '__main__':
    sys.exit(main())
