"""Accuracy and speed of registration on the CPU, per method and level, beside the peers that are installed (small_gicp,
kiss-icp, open3d).

    register.py BENCH_REGISTER [METHOD[,METHOD]...] [SEED] [--quick]     PCGPU_DATA as for the tests; prints Markdown

Exact pairs: a scan is split at random into two disjoint halves and one of them is moved by a known transform of 0.8 m and
2 degrees, so that the truth is exact and no point is in both. Ring pairs are split by odd and even laser rings, which also
shows the sensor's own calibration. Starts: how many of 200 random starts, up to 2.5 m and 8 degrees from the truth, come to
the same answer. No guess: turned by any angle about z and moved by up to 5 m, with --init auto. There and back: A onto B
with B onto A. Levels: accuracy and time by the number of levels. Time: two scans of KITTI 00 one after the other, in memory and warm, the programs in turn.

SEED chooses the splits and transforms (default 0). Parameters of the methods were chosen on other seeds. A target that is
missed is printed, and fails nothing.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

try:
    import small_gicp
except ImportError:
    small_gicp = None
try:
    import open3d
except ImportError:
    open3d = None
try:
    from kiss_icp.pybind import kiss_icp_pybind as kiss
except ImportError:
    kiss = None

WORDS = [word for word in sys.argv[2:] if word != '--quick']
QUICK = '--quick' in sys.argv
BENCH = sys.argv[1]
METHODS = WORDS[0].split(',') if WORDS else ['cells', 'plane', 'gicp', 'point']
SEED = int(WORDS[1]) if len(WORDS) > 1 else 0
DATA = pathlib.Path(os.environ.get('PCGPU_DATA', '/nonexistent'))
KITTI = [f'kitti/{k:06d}.bin' for k in (0, 1)] + [f'kitti00/velodyne/{k:06d}.bin' for k in (0, 3, 14, 94)]


# ---- transforms and clouds ----------------------------------------------------------------------------------------

def rigid(metres, degrees, rng):
    """A motion of a vehicle by this much: mostly level, turning mostly about z."""
    shift, axis = rng.normal(size=3) * [1, 1, 0.1], rng.normal(size=3) * [0.3, 0.3, 1]
    x, y, z = axis / np.linalg.norm(axis)
    angle = np.radians(degrees)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    T = np.eye(4)
    T[:3, :3] += np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
    T[:3, 3] = metres * shift / np.linalg.norm(shift)
    return T


def error(got, truth):
    """Millimetres and degrees between two rigid transforms."""
    d = np.linalg.inv(truth) @ got
    sine = np.linalg.norm([d[2, 1] - d[1, 2], d[0, 2] - d[2, 0], d[1, 0] - d[0, 1]]) / 2
    return 1e3 * np.linalg.norm(d[:3, 3]), np.degrees(np.arctan2(sine, (np.trace(d[:3, :3]) - 1) / 2))


def read_ply(path):
    content = path.read_bytes()
    end = content.index(b'end_header\n') + len(b'end_header\n')
    header = content[:end].decode().splitlines()
    count = int(next(line for line in header if line.startswith('element vertex')).split()[2])
    kinds = {'float': 'f4', 'double': 'f8', 'uchar': 'u1', 'int': 'i4', 'uint': 'u4', 'ushort': 'u2', 'short': 'i2',
             'char': 'i1', 'float32': 'f4', 'float64': 'f8', 'uint8': 'u1'}
    columns = [(line.split()[2], '<' + kinds[line.split()[1]]) for line in header if line.startswith('property')]
    points = np.frombuffer(content[end:], np.dtype(columns), count)
    return np.column_stack([points[k] for k in 'xyz']).astype(np.float32)


def read_scan(name):
    """The usable points of a scan, by rows."""
    path = DATA / name
    if not path.exists():
        return None
    if name.endswith('.ply'):
        points = read_ply(path)
    else:
        points = np.fromfile(path, np.float32).reshape(-1, 5 if 'nuscenes' in name else 4)[:, :3]
    return points[np.isfinite(points).all(1) & (points != 0).any(1)]


def ring_numbers(points):
    """KITTI scans come ring by ring: a ring begins where the azimuth passes zero."""
    y, ahead = points[:, 1], points[:, 0] > 0
    return np.cumsum(ahead & (np.concatenate([[1], y[:-1]]) < 0) & (y >= 0))


class Pairs:
    """Source and target files with the true T_target_source."""

    def __init__(self, folder):
        self.folder, self.entries, self.count = folder, [], 0

    def write(self, points):
        path = self.folder / f'{self.count}.bin'
        self.count += 1
        np.column_stack([points, np.zeros(len(points))]).astype('<f4').tofile(path)
        return path

    def add(self, target, source, truth):
        """`source` is given in the target's frame and moved away from it."""
        moved = (source.astype(np.float64) - truth[:3, 3]) @ truth[:3, :3]
        self.entries.append((self.write(moved), self.write(target), truth))


def half_pairs(folder, names, splits):
    pairs = Pairs(folder)
    for number, name in enumerate(names):
        points = read_scan(name)
        for split in range(splits if points is not None else 0):
            rng = np.random.default_rng([SEED, number, split])
            half = rng.random(len(points)) < 0.5
            pairs.add(points[half], points[~half], rigid(0.8, 2, rng))
    return pairs.entries


def ring_pairs(folder, names):
    pairs = Pairs(folder)
    for number, name in enumerate(names):
        points = read_scan(name)
        for odd in (0, 1) if points is not None else ():
            rng = np.random.default_rng([SEED, 100 + number, odd])
            side = ring_numbers(points) % 2 == odd
            pairs.add(points[side], points[~side], rigid(0.8, 2, rng))
    return pairs.entries


# ---- programs -----------------------------------------------------------------------------------------------------

def run_pcgpu(method, jobs, threads=1, runs=0, vectors=''):
    """jobs: (source, target, start). The records of bench_register, in order."""
    text = ''.join(f'{s} {t} ' + ' '.join(f'{v!r}' for v in start.ravel().tolist()) + '\n' for s, t, start in jobs)
    done = subprocess.run([BENCH, method, str(threads), str(runs), *vectors.split()], input=text, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    for record in records:
        record['T'] = np.array(record['T']).reshape(4, 4)
    return records


def load(path):
    return np.fromfile(path, np.float32).reshape(-1, 4)[:, :3].astype(np.float64)


def small_gicp_of(kind):
    return lambda source, target, start: small_gicp.align(
        target, source, init_T_target_source=start, registration_type=kind, downsampling_resolution=0.25,
        num_threads=1).T_target_source


def kiss_icp(source, target, start):
    """KISS-ICP's steps for the second scan of a sequence, with its default parameters."""
    vector = kiss._Vector3dVector
    down = [kiss._voxel_down_sample(vector(cloud), 0.5) for cloud in (target, source)]
    chart = kiss._VoxelHashMap(voxel_size=1.0, max_distance=100.0, max_points_per_voxel=20)
    chart._update(down[0], np.eye(4))
    sparse = kiss._voxel_down_sample(down[1], 1.5)
    solver = kiss._Registration(max_num_iterations=500, convergence_criterion=0.0001, max_num_threads=1)
    return solver._align_points_to_map(points=sparse, voxel_map=chart, initial_guess=start,
                                       max_correspondance_distance=6.0, kernel=2.0)


def open3d_of(plane):
    """ICP with normals from 30 neighbours, after downsampling by 0.25 m, with a gate of 1 m."""
    kinds = open3d.pipelines.registration
    kind = kinds.TransformationEstimationPointToPlane() if plane else kinds.TransformationEstimationForGeneralizedICP()

    def align(source, target, start):
        clouds = []
        for points in (source, target):
            cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points)).voxel_down_sample(0.25)
            cloud.estimate_normals(open3d.geometry.KDTreeSearchParamKNN(30))
            clouds.append(cloud)
        run = kinds.registration_icp if plane else kinds.registration_generalized_icp
        return run(*clouds, 1.0, start, kind, kinds.ICPConvergenceCriteria(1e-6, 1e-6, 50)).transformation
    return align


def peers():
    found = {}
    if open3d:
        found |= {'Open3D plane': open3d_of(True), 'Open3D GICP': open3d_of(False)}
    if small_gicp:
        found |= {f'small_gicp {kind}': small_gicp_of(kind) for kind in ('PLANE_ICP', 'GICP', 'VGICP')}
    if kiss:
        found['KISS-ICP'] = kiss_icp
    return found


# ---- tables -------------------------------------------------------------------------------------------------------

def verdict(value, limit, at_least=False):
    if limit is None:
        return ''
    met = value >= limit if at_least else value <= limit
    return '' if met else f' (missed: {">=" if at_least else "<="} {limit:g})'


def print_accuracy(label, program, got, truths, limits, converged=None):
    errors = np.array([error(T, truth) for T, truth in zip(got, truths)])
    middle, worst = np.median(errors, axis=0), errors.max(axis=0)
    cells = [f'{value:.{digits}f}{verdict(value, limit)}'
             for value, digits, limit in zip((*middle, *worst), (2, 4, 2, 4), limits)]
    print(f'| {label} | {program} | ' + ' | '.join(cells) + ' | '
          + ('' if converged is None else f'{sum(converged)} of {len(converged)}') + ' |', flush=True)


def accuracy(folder):
    print('\n## Accuracy\n\nFrom the identity. Median and worst error.\n')
    print('| pairs | program | median mm | degree | worst mm | degree | converged |\n|---|---|---|---|---|---|---|')
    splits = 1 if QUICK else 4
    nothing = (None,) * 4
    groups = [('KITTI halves', half_pairs(folder / 'a', KITTI, splits), (0.3, 0.003, 1.5, 0.02)),
              ('nuScenes halves', half_pairs(folder / 'b', ['nuscenes/n015.pcd.bin'], 6), (None, None, 1.5, 0.02)),
              ('pair/ halves', half_pairs(folder / 'c', ['pair/source.ply', 'pair/target.ply'], 3),
               (None, None, 1.5, 0.02)),
              ('KITTI odd and even rings', ring_pairs(folder / 'd', KITTI), (13, None, None, None))]
    for label, entries, limits in groups:
        if not entries:
            print(f'| {label} | skipped: the data is not there |')
            continue
        truths = [truth for _, _, truth in entries]
        for method in METHODS:
            records = run_pcgpu(method, [(s, t, np.eye(4)) for s, t, _ in entries])
            print_accuracy(label, f'pcgpu {method}', [r['T'] for r in records], truths,
                           limits if method == METHODS[0] else nothing, [r['converged'] for r in records])
        for name, align in {} if QUICK else peers().items():
            got = [align(load(s), load(t), np.eye(4)) for s, t, _ in entries]
            print_accuracy(label, name, got, truths, nothing)


def starts(folder):
    print('\n## Starts\n\n| pair | program | same answer | converged | spread mm | degree |\n|---|---|---|---|---|---|')
    exact = half_pairs(folder / 'e', KITTI[:1], 1)
    files = [DATA / f'kitti00/velodyne/{k:06d}.bin' for k in (1, 0)]
    cases = [('KITTI halves', *entry) for entry in exact]
    if files[0].exists():
        cases.append(('KITTI 00, 1 onto 0', *files, None))
    for label, source, target, truth in cases:
        for method in METHODS:
            reference = run_pcgpu(method, [(source, target, np.eye(4))])[0]['T']
            rng = np.random.default_rng([SEED, 7])
            jobs = [(source, target, reference @ rigid(2.5 * rng.random(), 8 * rng.random(), rng))
                    for _ in range(50 if QUICK else 200)]
            records = run_pcgpu(method, jobs)
            errors = np.array([error(r['T'], reference) for r in records])
            same = (errors[:, 0] < 5) & (errors[:, 1] < 0.05)
            share = same.mean()
            print(f'| {label} | pcgpu {method} | {same.sum()} of {len(same)}'
                  f'{verdict(share, 0.95 if method == METHODS[0] else None, True)} | '
                  f'{sum(r["converged"] for r in records)} | {errors[same, 0].max():.3f} | {errors[same, 1].max():.4f} |',
                  flush=True)


def without_guess(folder):
    print('\n## No guess\n\n| pair | program | found | converged elsewhere | starts | ms |\n|---|---|---|---|---|---|')
    velodyne = 'kitti00/velodyne/{:06d}.bin'
    cases = [(f'KITTI 00, {j} onto {i}', velodyne.format(j), velodyne.format(i)) for i, j in ((0, 1), (14, 15), (94, 95))]
    cases += [('pair/', 'pair/source.ply', 'pair/target.ply')]
    cases += [(f'halves of {name}', name, None) for name in ('kitti/000001.bin', 'nuscenes/n015.pcd.bin')]
    for number, (label, *names) in enumerate(cases):
        source, target = read_scan(names[0]), read_scan(names[1] or names[0])
        if source is None or target is None:
            continue
        rng, pairs = np.random.default_rng([SEED, 200 + number]), Pairs(folder)
        if not names[1]:
            half = rng.random(len(source)) < 0.5
            source, target = source[half], source[~half]
        files = pairs.write(source), pairs.write(target)
        reference = run_pcgpu(METHODS[0], [(*files, np.eye(4))])[0]['T'] if names[1] else np.eye(4)
        jobs, truths = [], []
        for _ in range(5 if QUICK else 20):
            angle, way, far = *rng.uniform(0, 2 * np.pi, 2), 5 * np.sqrt(rng.random())
            away = np.eye(4)
            away[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
            away[:3, 3] = far * np.cos(way), far * np.sin(way), 0.3 * rng.normal()
            jobs.append((pairs.write(source.astype(np.float64) @ away[:3, :3].T + away[:3, 3]), files[1], np.eye(4)))
            truths.append(reference @ np.linalg.inv(away))
        for method in METHODS:
            records = run_pcgpu(f'{method}:search', jobs, runs=1)
            errors = np.array([error(r['T'], truth) for r, truth in zip(records, truths)])
            found = (errors[:, 0] < 50) & (errors[:, 1] < 0.5)
            elsewhere = sum(r['converged'] for r, good in zip(records, found) if not good)
            print(f'| {label} | pcgpu {method} | {found.sum()} of {len(found)} | {elsewhere} | '
                  f'{statistics.mean(r["starts"] for r in records):.1f} | '
                  f'{statistics.median(r["median"] for r in records):.0f} |', flush=True)


def there_and_back(folder):
    print('\n## There and back\n\nT from A to B after T from B to A, mm and degree; at most 2 and 0.01 is wanted.\n')
    print('| pair | ' + ' | '.join(f'pcgpu {method}' for method in METHODS) + ' |\n|---|' + '---|' * len(METHODS))
    cases = [(f'KITTI 00, {j} and {i}', *(DATA / f'kitti00/velodyne/{k:06d}.bin' for k in (j, i)))
             for i, j in ((0, 1), (1, 2), (2, 3), (14, 15), (94, 95))]
    pairs, points = Pairs(folder), [read_scan(f'pair/{name}.ply') for name in ('source', 'target')]
    if points[0] is not None:
        cases.append(('pair/', *map(pairs.write, points)))
    for label, a, b in cases:
        if a.exists():
            cells = []
            for method in METHODS:
                there, back = run_pcgpu(method, [(a, b, np.eye(4)), (b, a, np.eye(4))])
                off = error(there['T'] @ back['T'], np.eye(4))
                cells.append(f'{off[0]:.2f}{verdict(off[0], 2)}, {off[1]:.4f}{verdict(off[1], 0.01)}')
            print(f'| {label} | ' + ' | '.join(cells) + ' |', flush=True)


def levels(folder):
    print('\n## Levels\n\nHalves of KITTI scans by the number of levels: median and worst error, same answer from 50 starts up to '
          '2.5 m and 8 degrees, ms.\n\n| program | levels | median mm | degree | worst mm | degree | starts | ms |\n'
          '|---|---|---|---|---|---|---|---|')
    entries = half_pairs(folder, KITTI, 1 if QUICK else 2)
    for method in METHODS if entries else ():
        for count in range(1, 6):
            program = f'{method}:levels={count}'
            records = run_pcgpu(program, [(s, t, np.eye(4)) for s, t, _ in entries], runs=3)
            errors = np.array([error(r['T'], truth) for r, (_, _, truth) in zip(records, entries)])
            rng, (s, t, truth) = np.random.default_rng([SEED, 8]), entries[0]
            jobs = [(s, t, truth @ rigid(2.5 * rng.random(), 8 * rng.random(), rng)) for _ in range(10 if QUICK else 50)]
            off = np.array([error(r['T'], truth) for r in run_pcgpu(program, jobs)])
            same = (off[:, 0] < 10) & (off[:, 1] < 0.1)
            print(f'| pcgpu {method} | {count} | ' + ' | '.join(
                f'{value:.{digits}f}' for value, digits in zip((*np.median(errors, axis=0), *errors.max(axis=0)), (2, 4, 2, 4)))
                + f' | {same.sum()} of {len(same)} | {statistics.median(r["median"] for r in records):.1f} |', flush=True)


def speed():
    files = [DATA / f'kitti00/velodyne/{k:06d}.bin' for k in (1, 0)]
    print('\n## Time\n\nKITTI 00, scan 1 onto 0, 2 x 125k points, ms from two clouds in memory to the 4x4; the least and the '
          'median\n\n| program | threads | least | median |\n|---|---|---|---|')
    if not files[0].exists():
        print('| skipped: the data is not there |')
        return
    source, target = map(load, files)
    jobs = [(*files, np.eye(4))]
    programs = [(f'pcgpu {method}', threads) for method in METHODS for threads in (1, 2)]
    programs += [('pcgpu cells avx2', 1), ('pcgpu cells base', 1)] if 'cells' in METHODS else []
    times = {program: [] for program in programs + [(name, 1) for name in peers()]}
    for _ in range(2 if QUICK else 5):  # in turn, so that a drift of the machine's speed meets all alike
        for name, threads in programs:
            _, method, *vectors = name.split()
            record = run_pcgpu(method, jobs, threads, runs=11, vectors=''.join(vectors))[0]
            times[name, threads].append((record['least'], record['median']))
        for name, align in peers().items():
            begin = time.perf_counter()
            align(source, target, np.eye(4))
            ms = 1e3 * (time.perf_counter() - begin)
            times[name, 1].append((ms, ms))
    own = min(least for least, _ in times[programs[0]])
    for (name, threads), pairs in times.items():
        least, middle = min(p[0] for p in pairs), statistics.median(p[1] for p in pairs)
        wanted = 6 if 'KISS' in name else 15 if 'small' in name else None
        ratio = '' if name == programs[0][0] else f' ({least / own:.1f} x{verdict(least / own, wanted, True)})'
        print(f'| {name} | {threads} | {least:.2f}{ratio} | {middle:.2f} |', flush=True)


def main():
    print(f'Methods {", ".join(METHODS)}; splits and transforms of seed {SEED}')
    with tempfile.TemporaryDirectory(prefix='pcgpu-bench-') as name:
        folder = pathlib.Path(name)
        for part in 'abcdefgh':
            (folder / part).mkdir()
        accuracy(folder)
        starts(folder)
        without_guess(folder / 'f')
        there_and_back(folder / 'g')
        levels(folder / 'h')
        speed()


main()
