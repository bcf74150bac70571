"""odometry_drives.py BENCH_ODOMETRY DRIVE [FRAMES]: the table of KITTI on drives rendered along its real paths.

Sequences 00, 05 and 07 (PCGPU_DATA/kitti_poses), FRAMES scans each (default 400, 0: all), by DRIVE (tests/scene/drive.c): 64 beams that point
0.205 degree higher than they say, 2 cm of noise, rolling sweeps, streets with parked and moving cars, stretches without houses.
Three inputs: scans as they come, deskewed, and deskewed with the beams corrected. Prints translation and rotation errors over
100, 200, ... 800 m as KITTI takes them and scans per second of processor time on one thread; KISS-ICP beside it where it is installed (pip
install kiss-icp), with its defaults, deskewing where pcgpu does. The poses of pcgpu must be the same bytes in a second run and on two
threads. Exit code 1 when they are not, or when the corrected drives have more than 0.40 % on average."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

BEAMS = 0.205
MOST_PERCENT = 0.40
INPUTS = {'as they come': (False, 0.0), 'deskewed': (True, 0.0), 'deskewed, beams corrected': (True, BEAMS)}


def run_pcgpu(bench, folder, deskew, beams, threads):
    """Percent, degrees per 100 m, scans per second of a processor, lost scans, hash of the poses."""
    command = [bench, str(folder), '4096', str(threads), 'model', 'fields=5', f'deskew={int(deskew)}', f'beams={beams}']
    line = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r' ([\d.]+) of processors .* (\d+) of \d+ lost.* 100 m and more ([\d.naninf-]+) % ([\d.naninf-]+) deg.*poses (\w+)', line)
    if not found:
        sys.exit(f'odometry_drives.py: not understood: {line}')
    return float(found[3]), float(found[4]), 1e3 / float(found[1]), int(found[2]), found[5]


def segments(poses, truth):
    """Percent and degrees per 100 m, means over segments that begin at every tenth pose."""
    import numpy as np
    way = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1))])
    errors = []
    for first in range(0, len(truth), 10):
        for length in range(100, 900, 100):
            last = int(np.searchsorted(way, way[first] + length, side='right'))
            if last < len(truth):
                delta = [np.linalg.inv(p[first]) @ p[last] for p in (poses, truth)]
                off = np.linalg.inv(delta[1]) @ delta[0]
                turn = np.arccos(np.clip((np.trace(off[:3, :3]) - 1) / 2, -1, 1))
                errors.append((100 * np.linalg.norm(off[:3, 3]) / length, np.degrees(turn) / length * 100))
    return np.mean(errors, axis=0) if errors else (np.nan, np.nan)


def run_kiss(folder, deskew, beams):
    """Percent, degrees per 100 m, scans per second of a processor; None when it is not installed."""
    try:
        import numpy as np
        from kiss_icp.config import KISSConfig
        from kiss_icp.kiss_icp import KissICP
    except ImportError:
        return None
    config = KISSConfig()
    config.data.deskew = deskew
    config.mapping.voxel_size = config.data.max_range / 100
    config.registration.max_num_threads = 1
    odometry = KissICP(config)
    poses, seconds = [], 0.0
    for path in sorted(folder.glob('*.bin')):
        rows = np.fromfile(path, '<f4').reshape(-1, 5).astype(float)
        points = rows[:, :3]
        if beams:
            level, distance = np.linalg.norm(points[:, :2], axis=1), np.linalg.norm(points, axis=1)
            angle = np.arctan2(points[:, 2], level) + np.radians(beams)
            points = np.column_stack([points[:, :2] * (distance * np.cos(angle) / level)[:, None], distance * np.sin(angle)])
        begin = time.process_time()
        odometry.register_frame(np.ascontiguousarray(points), np.ascontiguousarray(rows[:, 4]))
        seconds += time.process_time() - begin
        poses.append(odometry.last_pose.copy())
    truth = np.loadtxt(folder / 'poses.txt').reshape(-1, 3, 4)
    truth = np.concatenate([truth, np.tile([[[0, 0, 0, 1]]], (len(truth), 1, 1))], axis=1)
    return (*segments(np.array(poses), truth), len(poses) / seconds)


def measure(bench, folder, name, results):
    """A line per input; False when bytes differ from run to run."""
    good = True
    for title, (deskew, beams) in INPUTS.items():
        percent, degrees, speed, lost, poses = run_pcgpu(bench, folder, deskew, beams, 1)
        others = [run_pcgpu(bench, folder, deskew, beams, threads)[4] for threads in (1, 2)]
        same = all(other == poses for other in others)
        peer = run_kiss(folder, deskew, beams)
        results.setdefault(title, []).append((percent, degrees))
        beside = f'{peer[0]:8.3f} % {peer[1]:7.3f} deg {peer[2]:6.1f}/s' if peer else '  not installed'
        print(f'{name:9} {title:26} {percent:8.4f} % {degrees:7.4f} deg {speed:6.1f}/s {lost:4} lost'
              f'  {"same bytes" if same else "BYTES DIFFER"}  KISS-ICP {beside}', flush=True)
        good = good and same
    return good


def main(bench, drive, frames):
    """The exit code; 77 without the paths."""
    paths = pathlib.Path(os.environ.get('PCGPU_DATA', '/nonexistent')) / 'kitti_poses'
    if not (paths / '00.txt').exists():
        print('no paths of KITTI: set PCGPU_DATA')
        return 77
    results, good = {}, True
    for name in ('00', '05', '07'):
        count = frames or len((paths / f'{name}.txt').read_text().splitlines())
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([drive, '--path', str(paths / f'{name}.txt'), '--frames', str(count), '--moving', '1', '--moving-cars', '1',
                            '--beams-off', str(BEAMS), folder], check=True)
            good = measure(bench, pathlib.Path(folder), f'{name}, {count}', results) and good
    for title, errors in results.items():
        percent, degrees = (sum(e[k] for e in errors) / len(errors) for k in (0, 1))
        print(f'mean      {title:26} {percent:8.4f} % {degrees:7.4f} deg per 100 m')
    return 0 if good and percent <= MOST_PERCENT else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 400))
