"""Odometry: odometry.py BENCH_ODOMETRY DRIVE [cuda] [THREADS]...

Runs BENCH_ODOMETRY (tests/bench/odometry.c), and KISS-ICP where it is installed, over KITTI 00, scans 0 to 5 to and fro, 100
in all (PCGPU_DATA), and over 240 scans of a generated drive around a block, whose truth is known, written by DRIVE. Scans are
in memory. Then, on the CPU, the table of odometry_drives.py: rendered drives along the paths of KITTI. `cuda`: also on CUDA, by default with all processors, and the poses must be the CPU's. KISS-ICP has its own defaults for these scans, without deskewing."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import odometry_drives

ROUNDS = 10  # of the ten scans there and back


def kitti(folder):
    """Links to real scans as a sequence; False without them."""
    scans = pathlib.Path(os.environ.get('PCGPU_DATA', '/nonexistent')) / 'kitti00/velodyne'
    if not (scans / '000005.bin').exists():
        return False
    for i in range(10 * ROUNDS):
        k = i % 10 if i % 10 <= 5 else 10 - i % 10
        (folder / f'{i:06d}.bin').symlink_to((scans / f'{k:06d}.bin').resolve())
    return True


def kiss(folder, threads):
    """Scans a second, and the distance of the positions from the truth after alignment, RMSE; None when not installed."""
    try:
        import numpy as np
        from kiss_icp.config import KISSConfig
        from kiss_icp.kiss_icp import KissICP
    except ImportError:
        return None
    config = KISSConfig()
    config.data.deskew = False
    config.mapping.voxel_size = config.data.max_range / 100
    config.registration.max_num_threads = threads
    odometry = KissICP(config)
    scans = [np.fromfile(path, '<f4').reshape(-1, 4)[:, :3].astype(float) for path in sorted(folder.glob('*.bin'))]
    poses, seconds = [], 0.0
    for scan in scans:
        begin = time.perf_counter()
        odometry.register_frame(scan, np.zeros(0))
        seconds += time.perf_counter() - begin
        poses.append(odometry.last_pose[:3, 3].copy())
    text = f'KISS-ICP  {1e3 * seconds / len(scans):6.2f} ms, {len(scans) / seconds:6.1f} scans/s'
    if (folder / 'poses.txt').exists():
        truth = np.loadtxt(folder / 'poses.txt')[:, 3::4]
        x, y = np.array(poses) - np.mean(poses, 0), truth - truth.mean(0)
        U, _, Vt = np.linalg.svd(y.T @ x)
        R = U @ np.diag([1, 1, np.linalg.det(U @ Vt)]) @ Vt
        text += f'; ATE {1e3 * np.sqrt(np.mean(np.sum((x @ R.T - y)**2, 1))):.1f} mm'
    return text


def measure(bench, folder, name, count, threads, cuda):
    for n in threads:
        print(f'{name}, {n or "all"} thread{"" if n == 1 else "s"}', flush=True)
        code = subprocess.run([bench, *cuda, str(folder), str(count), str(n)]).returncode
        if code:
            sys.exit(code)
        peer = kiss(folder, n or os.cpu_count())
        print(peer or 'KISS-ICP is not installed', flush=True)


def main():
    bench, drive = sys.argv[1:3]
    cuda = ['--cuda'] if 'cuda' in sys.argv[3:] else []
    threads = [int(n) for n in sys.argv[3:] if n != 'cuda'] or ([0] if cuda else [1, 2])
    with tempfile.TemporaryDirectory() as name:
        real, made = pathlib.Path(name) / 'kitti', pathlib.Path(name) / 'block'
        real.mkdir()
        made.mkdir()
        if kitti(real):
            measure(bench, real, 'KITTI 00', 10 * ROUNDS, threads, cuda)
        else:
            print('no KITTI scans: set PCGPU_DATA')
        subprocess.run([drive, '--frames', '240', '--steps', '2000', str(made)], check=True)
        measure(bench, made, 'block', 240, threads, cuda)
    code = 0 if cuda else odometry_drives.main(bench, drive, 400)
    sys.exit(0 if code == 77 else code)


if __name__ == '__main__':
    main()
