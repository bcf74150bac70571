"""targets.py BUILD [--cuda] [--machine NAME] [--quick] [PART]...: what the programs of a build need, beside the peers that are installed.
targets.py --table: makes the tables of BENCHMARKS.md, between its marks (`rows of GROUP`), from results/*.csv.

PARTs, all by default: sample, voxelize, register, odometry (programs bench_*), localization, loops (rendered drives along
paths of KITTI), commands, many (files to files, beside `cp`), threads. --cuda: on CUDA, whose results must be the CPU's.
Each checks its result before it gives a time. Appends a row, the commit and the value to tests/bench/results/MACHINE.csv, and prints which
LIMITS are missed. A time that misses its limit fails nothing; a wrong result does, and it is no row.
PCGPU_DATA: the folder of the data. PCGPU_LONG=1: whole paths and 20 runs. --quick: few runs of what is small, to try the programs."""
import csv
import functools
import hashlib
import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import timeit

import numpy as np

HERE, SOURCE = pathlib.Path(__file__).resolve().parent, pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault('PCGPU_DATA', str(SOURCE.parent / 'shared/data'))
os.environ.setdefault('PCGPU_SOURCE', str(SOURCE))
DATA = pathlib.Path(os.environ['PCGPU_DATA']).absolute()
BEAMS = 0.205  # degrees that the beams of KITTI's scanner point higher than it gives
KITTI, PATH = DATA / 'kitti/000001.bin', DATA / 'kitti_poses'
LONG = os.environ.get('PCGPU_LONG', '0') not in ('', '0')
# Row: the most, or with > the least; with ! a miss is a wrong result.
LIMITS = {
    'sample cpu; KITTI, 120268 points, 1024 picks; pcgpu': '2.5', 'sample cpu; KITTI, 120268 points, 4096 picks; pcgpu': '4.5',
    'sample cpu; KITTI, 120268 points, 16384 picks; pcgpu': '12', 'sample cuda; KITTI, 120268 points, 1024 picks; pcgpu': '0.28',
    'sample cuda; KITTI, 120268 points, 4096 picks; pcgpu': '0.42', 'sample cuda; KITTI, 120268 points, 16384 picks; pcgpu': '0.80',
    'sample cuda; large street, 1000000 points, 16384 picks; pcgpu': '2.5', 'sample cuda; large street, 10000000 points, 65536 picks; pcgpu': '30',
    'voxelize cpu; KITTI, 120268 points, pillar 0.16 m; pcgpu': '1.2', 'voxelize cpu; KITTI, 120268 points, voxel 0.075 m, means; pcgpu': '2.5',
    'voxelize cpu; sweeps, 2000000 points, pillar 0.16 m; pcgpu': '8', 'voxelize cpu; sweeps, 2000000 points, voxel 0.075 m, means; pcgpu': '30',
    'voxelize cpu; sweeps, 2000000 points, downsample 0.25 m; pcgpu': '40',
    'voxelize cuda; KITTI, 120268 points, pillar 0.16 m, array and means; pcgpu': '22',
    'voxelize cuda; KITTI, 120268 points, voxel 0.075 m, array and means; pcgpu': '27',
    'voxelize cuda; street, 2000000 points, pillar 0.16 m, array and means; pcgpu': '90',
    'voxelize cuda; street, 2000000 points, voxel 0.075 m, array and means; pcgpu': '140',
    'register_depth cuda; maps of a depth frame; pcgpu': '0.05', 'register_depth cuda; registration of depth frames, 19 iterations; pcgpu': '0.15',
    'register_depth cpu; a sequence of depth frames; all threads': '>60',
    'odometry cuda; odometry to the model; CUDA': '>1000', 'odometry cpu; odometry to the previous image; pcgpu': '>60',
    'odometry cpu; drives, model, segments; pcgpu': '!0.4', 'odometry cpu; drives, model, processor time; pcgpu': '7.14',
    'odometry cuda; drives, model, segments; CUDA': '!0.4',
    'localization cpu; later drive, in a map, worst error; pcgpu': '!20', 'localization cpu; later drive, in a map, worst angle; pcgpu': '!0.05',
    'localization cpu; later drive, in a map, slowest start; pcgpu': '200', 'localization cpu; later drive, in a map, processor time; pcgpu': '6.67',
    'localization cuda; later drive, in a map; CUDA': '>1500',
    'loops cpu; ATE; --loops': '!800', 'loops cuda; ATE; --loops': '!800', 'loops cpu; peak of memory; --loops': '!2000',
    'loops cuda; peak of memory; --loops': '!2000',
}


class Bench:
    def __init__(self, words):
        self.cuda, self.quick = '--cuda' in words, '--quick' in words
        machine = words[words.index('--machine') + 1] if '--machine' in words else None
        build, *self.parts = [word for word in words if not word.startswith('--') and word != machine]
        self.build = pathlib.Path(build).resolve()
        self.pcgpu, self.device = str(self.build / 'cmd/pcgpu'), 'cuda' if self.cuda else 'cpu'
        self.machine = machine or machine_name(self.cuda)
        self.commit = subprocess.run(['git', '-C', SOURCE, 'describe', '--always', '--dirty'], capture_output=True, text=True).stdout.strip() or 'unknown'
        self.rows, self.failed = [], False

    def row(self, group, what, who, value, unit):
        name = f'{group} {self.device}; {what}; {who}'
        limit = LIMITS.get(re.sub(r'drives \d\d', 'drives', name), '')
        most = float(limit.lstrip('!>') or 'inf')
        missed = value < most if '>' in limit else value > most
        if limit.startswith('!') and missed:
            return self.wrong(f'{name}: {value:.5g} {unit}, wanted {limit[1:]}')
        self.rows.append((f'{name}; {unit}', self.commit, f'{value:.5g}'))
        print(f'{name}: {value:.5g} {unit}' + (f' (limit {limit}: {"MISS" if missed else "met"})' if limit else ''), flush=True)

    def wrong(self, why):
        print('WRONG', why, flush=True)
        self.failed = True

    def program(self, group, name, *options):
        print('$', name, self.device, *options, flush=True)
        run = subprocess.run([self.build / f'tests/bench/bench_{name}', self.device, *map(str, options)], stdout=subprocess.PIPE, text=True)
        for line in run.stdout.splitlines():
            if line.startswith('row: '):
                what, who, value = line[5:].split('; ')
                value, unit = value.split(' ', 1)
                self.row(group, what, who, float(value), unit)
            elif 'skipped' in line or 'WRONG' in line:
                print(line)
        if run.returncode not in (0, 77):
            self.wrong(f'{name} ended with {run.returncode}')

    def least(self, group, what, who, call):
        times, begin = [], time.perf_counter()
        while len(times) < 3 or (len(times) < 50 and time.perf_counter() - begin < 1):
            times.append(-time.perf_counter())
            call()
            times[-1] = 1e3 * (times[-1] + time.perf_counter())
        self.row(group, what, who, min(times), 'ms')

    def run(self, *words, ends=(0, 4)):
        """The record of a run of pcgpu, its seconds, those of the processors, and its peak of memory in MB."""
        with tempfile.NamedTemporaryFile(suffix='.json') as log:
            begin = time.perf_counter()
            child = subprocess.Popen([self.pcgpu, *map(str, words), '-q', '-f', '--json', log.name], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            seconds, child.returncode = time.perf_counter() - begin, os.waitstatus_to_exitcode(status)
            if child.returncode not in ends:
                sys.exit(f'{words[:6]} ended with {child.returncode}')
            lines = [json.loads(line) for line in open(log.name)]
        return lines, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6

    def drive(self, folder, *options):
        folder.mkdir()
        subprocess.run([self.build / 'tests/scene/drive', *map(str, options), folder], check=True)
        return folder

    def evaluate(self, trajectory, truth):
        done = subprocess.run([self.pcgpu, 'evaluate', '-q', trajectory, '--ground-truth', truth, '--json', '-'], check=True, capture_output=True)
        return json.loads(done.stdout)['evaluation']

    def end(self):
        file = HERE / f'results/{self.machine}.csv'
        file.parent.mkdir(exist_ok=True)
        new = not file.exists()
        with open(file, 'a', newline='') as out:
            csv.writer(out, lineterminator='\n').writerows(([('row', 'commit', 'value')] if new else []) + self.rows)
        print(f'{len(self.rows)} rows in {file}' + (', with WRONG results' if self.failed else ''))
        return 1 if self.failed else 0


def machine_name(cuda):
    """Of the device or the processor, with the number of processors."""
    command = ['nvidia-smi', '--query-gpu=name', '--format=csv,noheader'] if cuda else ['sh', '-c', "LC_ALL=C lscpu | sed -n 's/^Model name: *//p'"]
    name = subprocess.run(command, capture_output=True, text=True).stdout.split('\n')[0] or 'machine'
    return re.sub(r'[^A-Za-z0-9]+', '-', name).strip('-') + f'-{len(os.sched_getaffinity(0))}'


def sha256(*paths):
    return hashlib.sha256(b''.join(path.read_bytes() for path in paths)).hexdigest()


def peer(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return print(f'{name} is not installed')


def points_of(path):
    return np.fromfile(path, np.float32).reshape(-1, 4)


def sample(b):
    b.program('sample', 'sample', *(['--quick', 1] if b.quick else []))
    fpsample = None if b.cuda or not KITTI.exists() else peer('fpsample')
    for picks in (1024, 4096, 16384) if fpsample else ():
        points = points_of(KITTI)[:, :3].copy()
        calls = [functools.partial(fpsample.bucket_fps_kdline_sampling, points, picks, h=h, start_idx=0) for h in range(5, 10)]
        b.least('sample', f'KITTI, {len(points)} points, {picks} picks', 'fpsample', min(calls, key=lambda call: timeit.timeit(call, number=3)))


def voxelize(b):
    b.program('voxelize', 'voxelize', *(['--quick', 1] if b.quick else []))
    if b.cuda or not KITTI.exists():
        return
    points, what = points_of(KITTI), 'KITTI, 120268 points, '
    open3d, small_gicp, tensorview = peer('open3d'), peer('small_gicp'), peer('cumm.tensorview') if peer('spconv') else None
    for case, *hard in (('pillar 0.16 m', [.16, .16, 4], [0, -39.68, -3, 69.12, 39.68, 1], 40000, 32),
                        ('voxel 0.075 m, points', [.075, .075, .2], [-54, -54, -5, 54, 54, 3], 160000, 10)) if tensorview else ():
        size, limits, voxels, most = hard
        make = importlib.import_module('spconv.utils').Point2VoxelCPU3d(size, limits, 4, voxels, most)
        b.least('voxelize', what + case, 'spconv', lambda: make.point_to_voxel(tensorview.from_numpy(points)))
    if open3d:
        cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points[:, :3].astype(float)))
        b.least('voxelize', what + 'downsample 0.25 m', 'Open3D', lambda: cloud.voxel_down_sample(0.25))
    if small_gicp:
        cloud = small_gicp.PointCloud(points[:, :3].astype(float))
        b.least('voxelize', what + 'downsample 0.25 m', 'small_gicp', lambda: small_gicp.voxelgrid_sampling(cloud, 0.25, num_threads=1))


def register(b):
    b.program('register', 'register', '--runs', 3 if b.quick else 200 if b.cuda else 25)
    b.program('register_depth', 'register_depth', '--runs', 3 if b.quick else 40)
    small_gicp, scans = None if b.cuda else peer('small_gicp'), [DATA / f'kitti00/velodyne/{k:06d}.bin' for k in (14, 15)]
    if small_gicp and scans[0].exists():
        target, source = (points_of(scan)[:, :3].astype(float) for scan in scans)
        for kind in ('PLANE_ICP', 'GICP', 'VGICP'):
            b.least('register', 'KITTI 00, 15 onto 14, ndt', f'small_gicp {kind}',
                    lambda: small_gicp.align(target, source, registration_type=kind, downsampling_resolution=0.25, num_threads=1))


def kiss_icp(b, what, folder, columns, deskew=False):
    """Rows of KISS-ICP with its defaults; nothing where it is not installed."""
    if not peer('kiss_icp'):
        return
    from kiss_icp.config import KISSConfig
    from kiss_icp.kiss_icp import KissICP
    config = KISSConfig()
    config.data.deskew, config.mapping.voxel_size, config.registration.max_num_threads = deskew, config.data.max_range / 100, 1
    kiss, used, poses = KissICP(config), 0.0, []
    for file in sorted(folder.glob('*.bin')):
        rows = np.fromfile(file, '<f4').reshape(-1, columns).astype(float)
        begin = time.process_time()
        kiss.register_frame(np.ascontiguousarray(rows[:, :3]), np.ascontiguousarray(rows[:, 4]) if deskew else np.zeros(0))
        used += time.process_time() - begin
        poses.append(kiss.last_pose[:3].ravel())
    b.row('odometry', what + ', model, processor time', 'KISS-ICP', 1e3 * used / len(poses), 'ms')
    np.savetxt(folder / 'kiss.txt', poses)
    if (folder / 'poses.txt').exists():
        b.row('odometry', what + ', model, segments', 'KISS-ICP', 100 * b.evaluate(folder / 'kiss.txt', folder / 'poses.txt')['segment_translation'], '%')


def odometry(b):
    """Depth frames of a room; KITTI 00, scans 0 to 5 to and fro; drives along 00, 05 and 07 with deskewing and the beams corrected, whose truth is known."""
    b.program('odometry', 'depth', *(['--frames', 6, '--width', 160] if b.quick else ['--frames', 120 if b.cuda else 30]))
    threads = [] if b.cuda else ['--threads', 1]
    with tempfile.TemporaryDirectory() as name:
        folder, scans = pathlib.Path(name) / 'kitti', DATA / 'kitti00/velodyne'
        if (scans / '000005.bin').exists():
            folder.mkdir()
            for i in range(20 if b.quick else 100):
                (folder / f'{i:06d}.bin').symlink_to((scans / f'{i % 10 if i % 10 <= 5 else 10 - i % 10:06d}.bin').resolve())
            b.program('odometry', 'odometry', '--scans', folder, '--name', 'KITTI 00', *threads)
            kiss_icp(b, 'KITTI 00', folder, 4)
        for path in ('00', '05', '07')[:1 if b.quick or b.cuda else 3] if (PATH / '00.txt').exists() else ():
            count = 20 if b.quick else 4541 if LONG and not b.cuda else 200
            drive = b.drive(pathlib.Path(name) / path, '--path', PATH / f'{path}.txt', '--frames', count, '--moving', 1, '--moving-cars', 1, '--beams-off', BEAMS)
            b.program('odometry', 'odometry', '--scans', drive, '--name', f'drives {path}', '--fields', 5, '--deskew', 1, '--beams', BEAMS, *threads)
            kiss_icp(b, f'drives {path}', drive, 5, True)


def localization(b):
    """Another drive a lane beside the mapping drive, with 20 % of the parked cars exchanged and moving cars: tracking, and starts."""
    if not (PATH / '00.txt').exists():
        return
    count = 12 if b.quick else 200 if b.cuda else 1300 if LONG else 500
    with tempfile.TemporaryDirectory() as name:
        folder, words = pathlib.Path(name), ('--path', PATH / '00.txt', '--frames', count)
        mapping = b.drive(folder / 'mapping', *words, '--steps', 900, '--seed', 5)
        later = b.drive(folder / 'later', *words, '--steps', 1800, '--lane', 3.4, '--exchange', 0.2, '--moving-cars', 1, '--seed', 900005, '--origin', 0)
        merged = []
        for k, pose in enumerate((mapping / 'poses.txt').read_text().splitlines()[::2]):
            (folder / 'pose.txt').write_text(pose + '\n')
            merged.append(folder / f'at_{k:06d}.bin')
            b.run('convert', mapping / f'{2 * k:06d}.bin', '--transform', folder / 'pose.txt', '-o', merged[-1])
        b.run('convert', '--merge', *merged, '-o', folder / 'all.ply')
        b.run('voxelize', '--features', 'mean', '--voxel-size', 0.1, '--range', 'auto', '--max-voxels', 0, folder / 'all.ply', '-o', folder / 'map.ply')
        b.program('localization', 'odometry', '--scans', later, '--map', folder / 'map.ply', '--name', 'later drive', '--places', 4 if b.quick else 50,
                  *([] if b.cuda else ['--threads', 1]))


def loops(b):
    """odometry --loops along a path with its map: errors, memory, and one answer of any number of threads, memory and device."""
    # From 800 to 1,560 the path of 05 comes back to a street: short enough for a machine that is lent.
    path, first, count = ('00', 0, 4541) if LONG else ('05', 800, 760)
    if not (PATH / f'{path}.txt').exists():
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        scans = b.drive(folder / 'scans', '--path', PATH / f'{path}.txt', '--first', first, '--frames', 40 if b.quick else count, '--steps', 250, '--beams-off', BEAMS)
        truth, trajectory, cloud = np.loadtxt(scans / 'poses.txt').reshape(-1, 3, 4), folder / 'poses.txt', folder / 'map.ply'
        words = ['odometry', *sorted(scans.glob('*.bin')), '--beam-correction', BEAMS, '--trajectory', trajectory, '-o', cloud]
        answers = {}
        for options in ([], ['--loops'], ['--loops', '--set', 'memory=64M'], *(['--loops', '--threads', k] for k in (range(1, 17) if LONG else (16,)))):
            log, _, used, memory = b.run(*words, *([f'--{b.device}'] if len(answers) else ['--cpu', '--threads', 1]), *options)
            if len(options) < 2:
                who = ' '.join(options) or 'without'
                b.row('loops', 'ATE', who, 1e3 * b.evaluate(trajectory, scans / 'poses.txt')['ate_rmse'], 'mm')
                b.row('loops', 'peak of memory', who, memory, 'MB')
                b.row('loops', 'processor time of a scan', who, 1e3 * used / len(truth), 'ms')
            if options:
                answers[' '.join(map(str, options))] = sha256(trajectory, cloud)
                found = next((line['loop_closure']['loops'] for line in log if 'loop_closure' in line), [])
        b.run(*words, '--cpu', '--threads', 1, '--loops')
        if set(answers.values()) != {sha256(trajectory, cloud)}:
            b.wrong(f'loops: poses and maps of {answers} are not those of one thread')
        off = [np.linalg.norm(truth[k['from'], :, :3].T @ (truth[k['to'], :, 3] - truth[k['from'], :, 3]) - np.reshape(k['T_from_to'], (4, 4))[:3, 3]) for k in found]
        if max(off, default=0) > 0.5 or not (off or b.quick):
            b.wrong(f'loops: {len(off)}, the worst {max(off, default=0):.3f} m off')
        b.row('loops', 'loops', '--loops', len(off), 'found')


def commands(b):
    """A fresh process on one scan: the operation alone, and all of it; on all threads the output of one."""
    pair = [DATA / f'kitti00/velodyne/{k:06d}.bin' for k in (15, 14)]
    if not pair[0].exists() or not KITTI.exists():
        return
    config = SOURCE / 'configs'
    cases = (('sample, 4096 picks', 'sample', '-m', 4096, KITTI), ('voxelize, pillar.yaml', 'voxelize', '--config', config / 'pillar.yaml', KITTI),
             ('voxelize, second.yaml', 'voxelize', '--config', config / 'second.yaml', KITTI), ('voxelize, 0.25 m', 'voxelize', '--voxel-size', 0.25, KITTI),
             ('register, ndt', 'register', *pair), ('register, plane', 'register', '--method', 'plane', *pair))
    with tempfile.TemporaryDirectory() as name:
        for what, *words in cases:
            written = set()
            for who, options in {'1 thread': ['--cpu', '--threads', 1], 'all threads': ['--cpu'], **({'CUDA': ['--cuda']} if b.cuda else {})}.items():
                out = pathlib.Path(name) / ('out.ply' if words[0] == 'register' else 'out.bin')
                runs = [b.run(*words, *options, '-o', out) for _ in range(2 if b.quick else 5)]
                written.add(sha256(out))
                if len(written) > 1:
                    b.wrong(f'{what}: {who} has another output')
                    break
                b.row('commands', what, who, 1e3 * np.median([sum(s for name, s in run[0][0]['seconds'].items() if name not in ('read', 'write', 'total'))
                                                              for run in runs]), 'ms')
                b.row('commands', what + ', the process', who, 1e3 * np.median([run[1] for run in runs]), 'ms')


def many(b):
    """Files to files in memory: files per second of each job, the CPU with all processors, CUDA and auto, whose outputs must be the same."""
    files = 20 if b.quick else 500
    with tempfile.TemporaryDirectory(dir=os.environ.get('TMPDIR') or ('/dev/shm' if os.path.isdir('/dev/shm') else None)) as name:
        work, out = pathlib.Path(name), pathlib.Path(name) / 'out'
        b.drive(work / 'in', '--frames', files, '--steps', 2000)
        scans, config = sorted((work / 'in').glob('*.bin')), SOURCE / 'configs'
        (work / 'pairs').write_text(''.join(f'{a} {c}\n' for a, c in zip(scans[1:], scans)))

        def measure(what, who, call):
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            begin = time.perf_counter()
            call()
            b.row('many', what, who, files / (time.perf_counter() - begin), 'files/s')
            return sha256(*sorted(path for path in out.rglob('*') if path.is_file()))
        measure('cp', 'one by one', lambda: [subprocess.run(['cp', scan, out], check=True) for scan in scans])
        for what, words in {'sample, 4096 picks': ['sample', '-m', 4096, *scans, '-o', f'{out}/'],
                            'voxelize, 0.25 m to .bin': ['voxelize', '--voxel-size', 0.25, *scans, '-o', f'{out}/', '--output-format', 'bin'],
                            'voxelize, pillar.yaml to .npz': ['voxelize', '--config', config / 'pillar.yaml', *scans, '-o', f'{out}/'],
                            'voxelize, second.yaml to .npz': ['voxelize', '--config', config / 'second.yaml', *scans, '-o', f'{out}/'],
                            'odometry, previous': ['odometry', '--reference', 'previous', *scans, '--trajectory', out / 't'],
                            'odometry, model': ['odometry', *scans, '--trajectory', out / 't'],
                            'register --pairs': ['register', '--pairs', work / 'pairs', '--transform', out / 't']}.items():
            answers = {measure(what, device, lambda: b.run(*words, '--device', device)) for device in (['cpu', 'cuda', 'auto'] if b.cuda else ['cpu'])}
            if len(answers) > 1:
                b.wrong(f'{what}: the outputs of the back ends differ')


def threads(b):
    """The operation on one large cloud by 1, 2, 4, ... threads, with one output."""
    if b.cuda:
        return
    with tempfile.TemporaryDirectory() as name:
        cloud, out, random = pathlib.Path(name) / 'cloud.bin', pathlib.Path(name) / 'out.bin', np.random.default_rng(1)
        count = 100000 if b.quick else 10000000
        walls = random.uniform(-1, 1, (count, 4)) * [50, 20, 5, 1]  # a hall
        walls[range(count), random.integers(0, 3, count)] = 10
        walls.astype('<f4').tofile(cloud)
        for what, words in {'sample, 65536 picks': ['sample', '-m', min(65536, count // 4)], 'voxelize, 0.25 m': ['voxelize', '--voxel-size', 0.25],
                            'voxelize, pillar.yaml': ['voxelize', '--config', SOURCE / 'configs/pillar.yaml']}.items():
            answers, k = set(), 1
            while k <= len(os.sched_getaffinity(0)):
                log, *_ = b.run(*words, cloud, '--cpu', '--threads', k, '-o', out)
                b.row('threads', f'{what} of {count} points', f'{k} thread{"s"[:k - 1]}', 1e3 * log[0]['seconds'][words[0]], 'ms')
                answers.add(sha256(out))
                k *= 2
            if len(answers) > 1:
                b.wrong(f'{what}: outputs differ from thread to thread')


def table_of(group):
    """Markdown of a group, a table per machine: a line per thing with a column per program; in brackets the ratio to the first."""
    def text_of(value, digits=4):
        return f'{value:,.0f}' if value >= 1000 else f'{value:.{digits}g}'
    text = []
    for file in sorted((HERE / 'results').glob('*.csv')):
        lines, commits = {}, {}
        with open(file, newline='') as rows:
            for row in csv.DictReader(rows):  # later ones replace earlier ones
                of, what, who, unit = row['row'].split('; ')
                if of == group and not what.startswith('street'):  # what is rendered and not larger than a real scan stays in results/
                    lines.setdefault((what, unit), {})[who], commits[what, unit, who] = float(row['value']), row['commit']
        whos = list(dict.fromkeys(who for line in lines.values() for who in line))
        if whos:
            text += [f'\n| {group}, {file.stem} {", ".join(dict.fromkeys(commits.values()))} | ' + ' | '.join(whos) + ' |', '|---' * (1 + len(whos)) + '|']
        for (what, unit), line in lines.items():
            first = line.get(whos[0])
            cells = ['' if who not in line else text_of(line[who]) + (f' ({text_of(line[who] / first, 3)} x)' if first and who != whos[0] else '') for who in whos]
            text.append(f'| {what}, {unit} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(text)[1:] + '\n'


def tables():
    file = SOURCE / 'BENCHMARKS.md'
    file.write_text(re.sub(r'(<!-- rows of ([^>]*?), by targets.py --table -->\n).*?(?=<!-- end)', lambda at: at[1] + '\n'.join(map(table_of, at[2].split(', '))), file.read_text(), flags=re.S))


PARTS = [sample, voxelize, register, odometry, localization, loops, commands, many, threads]
if sys.argv[1:] == ['--table']:
    tables()
elif len(sys.argv) < 2:
    sys.exit(__doc__)
else:
    bench = Bench(sys.argv[1:])
    for part in PARTS:
        if not bench.parts or part.__name__ in bench.parts:
            part(bench)
    sys.exit(bench.end())
