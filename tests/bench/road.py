"""road.py BENCH_ROAD PCGPU [--frames N] [--seed N]...: odometry on a generated fast road, 30 m/s at 10 Hz (tests/bench/road.c).

Each seed is a road; each is measured as the scans are and deskewed by the times of their points, with beams that are right
and with beams that are 0.205 degree higher than the points say. Runs pcgpu for each reference, also with
--beam-correction where it has that, and KISS-ICP where it is installed (pip install kiss-icp), and prints the scans that
were lost (of KISS-ICP, which names none: steps that are more than 1 m too long or too short), the mean errors over 100, 200, ... 800 m as KITTI takes them, in percent and degrees per 100 m, and seconds."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

from targets import kiss_poses

OFF = 0.205


def read_poses(path):
    """4x4 for each line of 12 numbers; NaN where it has none."""
    poses = np.full((len(path.read_text().splitlines()), 4, 4), np.nan)
    for pose, line in zip(poses, path.read_text().splitlines()):
        numbers = [float(word) for word in line.split()]
        if len(numbers) == 12:
            pose[:3] = np.reshape(numbers, (3, 4))
            pose[3] = [0, 0, 0, 1]
    return poses


def segments(poses, truth):
    """Percent and degrees per 100 m, means over segments whose ends have poses."""
    way = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1))])
    errors = []
    for first in range(0, len(truth), 5):
        for length in range(100, 900, 100):
            last = int(np.searchsorted(way, way[first] + length))
            if last < len(truth) and np.isfinite(poses[[first, last]]).all():
                delta = [np.linalg.inv(p[first]) @ p[last] for p in (poses, truth)]
                off = np.linalg.inv(delta[0]) @ delta[1]
                skew = [off[2, 1] - off[1, 2], off[0, 2] - off[2, 0], off[1, 0] - off[0, 1]]
                angle = np.degrees(np.arctan2(np.linalg.norm(skew) / 2, (np.trace(off[:3, :3]) - 1) / 2))
                errors.append([100 * np.linalg.norm(off[:3, 3]) / length, 100 * angle / length])
    return np.mean(errors, axis=0) if errors else (np.nan, np.nan)


def report(name, poses, truth, lost, seconds):
    percent, degrees = segments(poses, truth)
    print(f'  {name:34} lost {lost:3}, {percent:7.3f} %, {degrees:6.3f} degree per 100 m, {seconds:6.1f} s', flush=True)


def pcgpu(program, folder, name, reference, options):
    trajectory = folder / 'estimate.txt'
    trajectory.unlink(missing_ok=True)
    begin = time.perf_counter()
    run = subprocess.run([program, 'odometry', '--cpu', '--fields', '5', '--reference', reference, *options,
                          '--trajectory', trajectory, *sorted(folder.glob('*.bin'))], stderr=subprocess.PIPE, text=True,
                         env={**os.environ, 'OMP_WAIT_POLICY': 'passive'})
    seconds = time.perf_counter() - begin
    lost = sum(': lost after' in line for line in run.stderr.splitlines())
    if not trajectory.exists():
        print(f'  {name:34} exit {run.returncode}: {run.stderr.strip()[-200:]}')
        return
    truth, poses = read_poses(folder / 'poses.txt'), read_poses(trajectory)
    missing = int((~np.isfinite(poses).all((1, 2))).sum())
    report(name, poses[:len(truth)], truth[:len(poses)], max(missing, lost), seconds)


def kiss(folder, name, deskew):
    estimate = folder / 'kiss.poses'
    seconds = kiss_poses(folder, 5, deskew, 0.0, 0, estimate)
    if not seconds:
        print('  KISS-ICP is not installed')
        return
    truth, poses = read_poses(folder / 'poses.txt'), read_poses(estimate)
    lengths = [np.linalg.norm(np.diff(p[:, :3, 3], axis=0), axis=1) for p in (poses, truth)]
    report(name, poses, truth, int((np.abs(lengths[0] - lengths[1]) > 1.0).sum()), seconds[0])


def measure(bench, program, frames, seed):
    correction = '--beam-correction' in subprocess.run([program, 'register', '--help'], capture_output=True, text=True).stdout
    for moving in (0, 1):
        for off in (0.0, OFF):
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                subprocess.run([bench, '--frames', str(frames), '--seed', str(seed), '--moving', str(moving), '--beams-off',
                                str(off), name], check=True)
                print(f'road {seed}, {frames} scans, {"moving" if moving else "still"} while a scan is taken, beams '
                      f'{off} degree off', flush=True)
                for how in ['none', 'time'][:1 + moving]:
                    for reference in ('previous', 'keyframe', 'model'):
                        options = ['--deskew', how] if how != 'none' else []
                        pcgpu(program, folder, f'pcgpu {reference}, deskew {how}', reference, options)
                        if off and correction:
                            pcgpu(program, folder, f'pcgpu {reference}, deskew {how}, corrected', reference,
                                  [*options, '--beam-correction', str(OFF)])
                    kiss(folder, f'KISS-ICP, deskew {how}', how == 'time')


def main():
    arguments, frames, seeds = sys.argv[1:], 300, []
    bench, program = arguments[:2]
    for option, value in zip(arguments[2::2], arguments[3::2]):
        if option == '--frames':
            frames = int(value)
        elif option == '--seed':
            seeds.append(int(value))
    for seed in seeds or [1]:
        measure(bench, program, frames, seed)


if __name__ == '__main__':
    main()
