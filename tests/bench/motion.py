"""motion.py PCGPU BUILD [NAME]...: wrong poses and lost scans of odometry on drives that are hard to predict.

Generated drives (bench_road and drive in BUILD/tests) with sensors of 4 to 128 beams and without rings, in steps of 0.1 to 6 m with
traffic; and real ones (PCGPU_DATA/drives) with fewer rings and scans. Each is run by defaults with stamps that are right, that
jitter by 10 and 20 % of the period, with scans missing, and with scans missing that the stamps do not know. A step from one pose
to the next is wrong when it is off by more than 0.1 m, 5 % of its length and three sigma, or by 1 degree. Only cases whose name
has one of the NAMEs in it. The last line is the sum over all of them."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

PROGRAM, BUILD, NAMES = sys.argv[1], pathlib.Path(sys.argv[2]) / 'tests', sys.argv[3:]
DATA = pathlib.Path(os.environ.get('PCGPU_DATA', pathlib.Path(__file__).resolve().parents[3] / 'shared/data'))
CACHE = os.environ.get('PCGPU_MOTION')  # a folder for the drives, which are made once
STAMPS = ('right', 'jitter 10', 'jitter 20', 'missing', 'unknown')
WRONG, REAL = 0.1, 0.4  # metres; the truth of a real drive jitters


def read_poses(path):
    return np.array([np.vstack([row[-12:].reshape(3, 4), [0, 0, 0, 1]]) for row in np.loadtxt(path, ndmin=2)])


def rings(points, name):
    """The ring of each point, from the top."""
    x, y, z = points[:, :3].T
    high = np.degrees(np.arctan2(z, np.hypot(x, y)))
    if name == 'spin16':
        return np.round((15 - high) / 2).astype(int)
    if name in ('spin32', 'street32'):
        return np.round((10.67 - high) / 4 * 3).astype(int)
    if name == 'road':  # ring by ring, each counterclockwise from the front
        return np.cumsum(np.r_[0, np.diff(np.arctan2(y, x) % (2 * np.pi)) < -np.pi])
    return np.where(high > -8.5, np.round((2 - high) * 3), 32 + np.round((-8.83 - high) / (24.8 - 8.83) * 31)).astype(int)


def generate(folder, sensor, speed, moving, seed, frames):
    if sensor == 'block':
        command = [BUILD / 'scene/drive', '--frames', frames, '--steps', 500, '--step', speed / 10, '--moving', moving, '--seed', seed]
    elif sensor == 'town':
        command = [BUILD / 'scene/drive', '--path', DATA / 'kitti_poses/00.txt', '--first', 100 * seed, '--frames', frames, '--steps', 500,
                   '--moving', moving, '--moving-cars', 1, '--beams-off', 0.205]
    else:
        steps = {'spin16': 1800, 'spin64': 900, 'spin128': 600}.get(sensor, 0)
        command = [BUILD / 'bench/bench_road', '--frames', frames, '--sensor', sensor, '--speed', speed, '--moving', moving, '--seed', seed,
                   *(['--steps', steps] if steps else [])]
    subprocess.run([*map(str, command), str(folder)], check=True)


def load(folder, sensor, speed=0, moving=0, seed=1, frames=80):
    """Scans, poses and times of a drive."""
    if sensor in ('road', 'street32'):
        if not folder.exists():
            subprocess.run([sys.executable, str(DATA / 'drives/unpack.py'), sensor, str(folder)], check=True, capture_output=True)
        fields = 4
        if sensor == 'road':
            poses, times = read_poses(DATA / 'drives/road/poses.txt'), np.loadtxt(DATA / 'drives/road/times.txt')
        else:  # no truth: what all scans give, which KISS-ICP agrees with
            times = np.loadtxt(DATA / 'drives/street32/numbers.txt').ravel() / 10
            poses, _ = track(folder, sorted(folder.glob('*.bin')), times, 4)
    else:
        if not folder.exists():
            folder.mkdir(parents=True)
            generate(folder, sensor, speed, moving, seed, frames)
        fields, poses, times = 5 if sensor not in ('block', 'town') or moving else 4, read_poses(folder / 'poses.txt'), np.loadtxt(folder / 'times.txt')
    return sorted(folder.glob('*.bin')), fields, poses, times


def track(folder, files, times, fields, options=()):
    stamps, result, path = folder / 'stamps.txt', folder / 'result.json', folder / 'path.txt'
    np.savetxt(stamps, times, fmt='%.9f')
    run = subprocess.run([PROGRAM, 'odometry', '--cpu', '--threads', '1', '-q', '--fields', str(fields), '--timestamps', str(stamps), *options,
                          *map(str, files), '--trajectory', str(path), '-f', '--json', str(result)], capture_output=True, text=True, check=False)
    poses = np.full((len(files), 4, 4), np.nan)
    frames = []
    for line in result.read_text().splitlines() if run.returncode in (0, 4) else []:
        frame = json.loads(line)['result']
        if 'frame' in frame:
            frames.append(frame)
            poses[frame['frame']] = np.array(frame['T_world_frame'], float).reshape(4, 4)
    if run.returncode not in (0, 4):
        print(run.stderr)
    return poses, (run.returncode, frames)


def choose(stamps, times, rng):
    """Scans that remain, and their stamps."""
    period, keep = np.median(np.diff(times)), np.ones(len(times), bool)
    given = times.copy()
    if stamps.startswith('jitter'):
        given += period * float(stamps[7:]) / 100 * rng.uniform(-1, 1, len(times))
    elif stamps in ('missing', 'unknown'):
        keep[3:] = rng.uniform(size=len(times) - 3) > (.1 if stamps == 'missing' else .05)
        if stamps == 'unknown':
            given[keep] = times[0] + period * np.arange(keep.sum())
    return np.flatnonzero(keep), given


def judge(poses, truth, frames, most):
    """Wrong steps: from, to, metres and degrees off, the true length."""
    wrong, last, lengths = [], 0, []
    for i in range(1, len(poses)):
        if not np.isfinite(poses[i, 0, 0]):
            continue
        steps = [np.linalg.inv(p[last]) @ p[i] for p in (truth, poses)]
        off = np.linalg.inv(steps[0]) @ steps[1]
        length, metres = np.linalg.norm(steps[0][:3, 3]), np.linalg.norm(off[:3, 3])
        degrees = np.degrees(np.arccos(min(1., max(-1., (np.trace(off[:3, :3]) - 1) / 2))))
        covariance = np.array(frames[i].get('registration', {}).get('covariance', np.zeros(36)), float).reshape(6, 6)
        sigma = np.sqrt(max(0., np.trace(covariance[3:, 3:])))
        if metres > max(most, .05 * length, 3 * sigma) or degrees > 1:
            wrong.append((last, i, metres, degrees, length))
        lengths.append(length)
        last = i
    return wrong, lengths


# name: sensor of the drive, speed m/s, moving, every such ring, every such scan
CASES = {}
for speed in (1, 10, 30, 60):
    CASES[f'block {speed / 10:g} m'] = ('block', speed, 0, 1, 1)
    for ring in (4, 8, 16):
        CASES[f'block {64 // ring} beams {speed / 10:g} m'] = ('block', speed, 0, ring, 1)
    CASES[f'rolling block {speed / 10:g} m'] = ('block', speed, 1, 1, 1)
for speed in (6, 15, 30, 60):
    for sensor in ('spin16', 'spin32', 'spin64', 'spin128', 'rosette', 'flash'):
        CASES[f'{sensor} {speed / 10:g} m'] = (sensor, speed, 0, 1, 1)
    CASES[f'rolling spin64 {speed / 10:g} m'] = ('spin64', speed, 1, 1, 1)
CASES['town'] = ('town', 9, 1, 1, 1)
CASES['town by 3'] = ('town', 9, 0, 1, 3)
CASES['town 16 beams'] = ('town', 9, 0, 4, 1)
CASES['town 8 beams'] = ('town', 9, 1, 8, 1)
CASES['town 4 beams'] = ('town', 9, 0, 16, 1)
CASES['town by 6'] = ('town', 9, 0, 1, 6)
for drive in ('road', 'street32'):
    for each in (1, 2, 3, 5):
        CASES[f'{drive} by {each}'] = (drive, 0, 0, 1, each)
    for ring in (2, 4, 8) if drive == 'road' else (2, 4):
        CASES[f'{drive} 1/{ring} rings'] = (drive, 0, 0, ring, 1)
    CASES[f'{drive} 1/4 rings by 2'] = (drive, 0, 0, 4, 2)


def thin(folder, files, columns, sensor, ring):
    there = folder / f'ring{ring}'
    if not there.exists():
        there.mkdir()
        for file in files:
            points = np.fromfile(file, np.float32).reshape(-1, columns)
            points[rings(points, sensor) % ring == ring // 2].tofile(there / file.name)
    return sorted(there.glob('*.bin'))


def main(scratch):
    total = np.zeros(4, int)
    print(f'{"drive":26} {"stamps":10} code  wrong  lost  open  of    step  wrong steps')
    for name, (sensor, speed, moving, ring, each) in CASES.items():
        for stamps in STAMPS:
            label = f'{name}, {stamps}'
            if NAMES and not any(re.search(part, label) for part in NAMES):
                continue
            folder = scratch / f'{sensor}-{speed}-{moving}'
            files, fields, truth, times = load(folder, sensor, speed, moving)
            files = thin(folder, files, fields, sensor, ring) if ring > 1 else files
            files, truth, times = files[::each], truth[::each], times[::each]
            keep, given = choose(stamps, times, np.random.default_rng(7))
            poses, (code, frames) = track(folder, [files[i] for i in keep], given[keep], fields, os.environ.get('MOTION_OPTIONS', '').split())
            wrong, lengths = judge(poses, truth[keep], frames, REAL if sensor in ('road', 'street32') else WRONG)
            lost, open_ = int(np.isnan(poses[:, 0, 0]).sum()), sum(bool(f.get('open_directions')) for f in frames)
            total += len(wrong), lost, open_, len(keep)
            print(f'{name:26} {stamps:10} {code:4} {len(wrong):6} {lost:5} {open_:5} {len(keep):4} {np.median(lengths) if lengths else 0:6.2f}  '
                  + ', '.join(f'{a}-{b}: {m:.2f} of {l:.2f} m, {d:.1f} deg' for a, b, m, d, l in wrong[:4]), flush=True)
    print('sum: wrong {}, lost {}, open {}, of {}'.format(*total))


if CACHE:
    main(pathlib.Path(CACHE))
else:
    with tempfile.TemporaryDirectory() as scratch_folder:
        main(pathlib.Path(scratch_folder))
