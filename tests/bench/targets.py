"""targets.py BUILD [--cuda] [--machine NAME] [--quick] [PART]...: what the programs of a build need, beside the peers that are installed.
targets.py --table: makes the tables of BENCHMARKS.md, between its marks (`rows of GROUP`), from results/*.csv.

PARTs, all by default: sample, voxelize, register (the operation alone, in a process that has the input many times), arrays (in the memory of a
GPU, beside kernels of libraries: tests/kernels/device_arrays), odometry, localization, loops (rendered drives along paths of KITTI), commands,
many (files to files, beside `cp`), threads. --cuda: on CUDA, whose results must be the CPU's.
Each checks its result before it gives a time. Appends a row, the commit and the value to tests/bench/results/MACHINE.csv, and prints which
LIMITS are missed. A time that misses its limit fails nothing; a wrong result does, and it is no row.
PCGPU_DATA: the folder of the data. PCGPU_LONG=1: whole paths and 20 runs. --quick: few runs of what is small, to try the programs."""
import functools
import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import timeit

import numpy as np

from bench import BEAMS, DATA, KITTI, LONG, PATH, SOURCE, Bench, errors, operation, peer, points_of, sha256, tables

def sample(b):
    fpsample = None if b.cuda else peer('fpsample')
    with tempfile.TemporaryDirectory() as name:
        folder, cube, out = pathlib.Path(name), pathlib.Path(name) / 'cube.bin', pathlib.Path(name) / 'out'
        np.random.default_rng(7).uniform(-1, 1, (100000 if b.quick else 1000000, 4)).astype('<f4').tofile(cube)
        for cloud, file, picks in (('KITTI', KITTI, 1024), ('KITTI', KITTI, 4096), ('KITTI', KITTI, 16384), ('cube', cube, 16384)):
            if b.cuda or not file.exists():
                continue
            points = points_of(file)[:, :3].copy()
            what = f'{cloud}, {len(points)} points, {picks} picks'
            b.warm('sample', what, out, 'sample', '-m', picks, *b.copies(file, folder), '-o', f'{out}/')
            if fpsample:
                calls = [functools.partial(fpsample.bucket_fps_kdline_sampling, points, picks, h=h, start_idx=0) for h in range(5, 10)]
                b.least('sample', what, 'fpsample', min(calls, key=lambda call: timeit.timeit(call, number=3)))


def voxelize(b):
    if b.cuda or not KITTI.exists():
        return
    open3d, small_gicp, tensorview = peer('open3d'), peer('small_gicp'), peer('cumm.tensorview') if peer('spconv') else None
    pillar, fine = SOURCE / 'configs/pillar.yaml', SOURCE / 'configs/centerpoint_voxel0075.yaml'
    with tempfile.TemporaryDirectory() as name:
        folder, out = pathlib.Path(name), pathlib.Path(name) / 'out'
        drive = b.drive(folder / 'drive', '--frames', 16, '--steps', 200 if b.quick else 2400)
        scans = [points_of(scan) - [k, 0, 0, 0] for k, scan in enumerate(sorted(drive.glob('*.bin')))]  # in one frame
        np.concatenate(scans)[:2000000].astype('<f4').tofile(folder / 'sweeps.bin')
        for cloud, file in ('KITTI', KITTI), ('sweeps', folder / 'sweeps.bin'):
            points = points_of(file)
            what = f'{cloud}, {len(points)} points, '
            for case, *words in (('pillar 0.16 m', '--config', pillar), ('voxel 0.075 m, means', '--config', fine, '--features', 'mean'),
                                 ('voxel 0.075 m, points', '--config', fine, '--features', 'points'), ('downsample 0.25 m', '--voxel-size', .25)):
                b.warm('voxelize', what + case, out, 'voxelize', *words, '--fields', 4, *b.copies(file, folder), '-o', f'{out}/')
            for case, *hard in (('pillar 0.16 m', [.16, .16, 4], [0, -39.68, -3, 69.12, 39.68, 1], 40000, 32),
                                ('voxel 0.075 m, points', [.075, .075, .2], [-54, -54, -5, 54, 54, 3], 160000, 10)) if tensorview else ():
                size, limits, voxels, most = hard
                make = importlib.import_module('spconv.utils').Point2VoxelCPU3d(size, limits, 4, voxels, most)
                b.least('voxelize', what + case, 'spconv', lambda: make.point_to_voxel(tensorview.from_numpy(points)))
            if open3d:
                wide = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points[:, :3].astype(float)))
                b.least('voxelize', what + 'downsample 0.25 m', 'Open3D', lambda: wide.voxel_down_sample(0.25))
            if small_gicp:
                wide = small_gicp.PointCloud(points[:, :3].astype(float))
                b.least('voxelize', what + 'downsample 0.25 m', 'small_gicp', lambda: small_gicp.voxelgrid_sampling(wide, 0.25, num_threads=1))


def arrays(b):
    """KITTI, and scans of a street with so many points."""
    if not b.cuda or not KITTI.exists():
        return
    b.device_arrays('KITTI', KITTI)
    with tempfile.TemporaryDirectory() as name:
        for points in () if b.quick else (1000000, 2000000, 10000000):
            street = pathlib.Path(name) / 'street.bin'
            subprocess.run([b.build / 'tests/scene/street', '--points', str(points), street], check=True)
            b.device_arrays('large street', street)


def register(b):
    small_gicp = peer('small_gicp')
    with tempfile.TemporaryDirectory() as name:
        out, pairs = pathlib.Path(name) / 'out', pathlib.Path(name) / 'pairs'
        for k in (1, 15):
            scans = [DATA / f'kitti00/velodyne/{i:06d}.bin' for i in (k, k - 1)]
            if b.cuda or not scans[0].exists():
                return
            pairs.write_text(f'{scans[0]} {scans[1]}\n' * (3 if b.quick else 25))
            for method in ('ndt', 'plane', 'point', 'gicp'):
                out.mkdir()
                b.warm('register', f'KITTI 00, {k} onto {k - 1}, {method}', out, 'register', '--pairs', pairs, '--method', method, '--transform', out / 'T')
            source, target = (points_of(scan)[:, :3].astype(float) for scan in scans)
            for kind in ('PLANE_ICP', 'GICP', 'VGICP') if small_gicp else ():
                b.least('register', f'KITTI 00, {k} onto {k - 1}, ndt', f'small_gicp {kind}',
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
    with tempfile.TemporaryDirectory() as name:
        folder, scans = pathlib.Path(name), DATA / 'kitti00/velodyne'
        room = b.generate('room', folder / 'room', '--loop', 120, '--noise', 1, '--format', 'pgm', '--frames', 6 if b.quick else 120 if b.cuda else 30)
        (folder / 'first.txt').write_text((room / 'poses_kitti.txt').read_text().split('\n')[0])
        images = ['--config', room / 'camera.yaml', *sorted(room.glob('*.pgm'))]
        for reference in ('previous image', 'keyframe', 'model'):
            b.track('odometry', f'odometry to the {reference}', folder, room / 'poses_kitti.txt', '--init', folder / 'first.txt', '--reference',
                    reference.split()[0], *images)
        log, *_ = b.run('fuse', *images, '--poses', room / 'poses_kitti.txt', '-o', folder / 'model.ply', f'--{b.device}')
        b.row('odometry', 'fuse a depth image', 'pcgpu', 1e3 * log[0]['seconds']['integrate'] / log[0]['result']['frames'], 'ms')
        b.row('odometry', 'mesh of a room', 'pcgpu', 1e3 * log[0]['seconds']['surface'], 'ms')
        if (scans / '000005.bin').exists():
            kitti = [(scans / f'{i % 10 if i % 10 <= 5 else 10 - i % 10:06d}.bin').resolve() for i in range(20 if b.quick else 100)]
            for reference in ('previous', 'keyframe', 'model'):
                b.track('odometry', f'KITTI 00, {reference}', folder, None, '--fields', 4, '--reference', reference, *kitti)
            (folder / 'kitti').mkdir()
            for i, scan in enumerate(kitti):
                (folder / f'kitti/{i:06d}.bin').symlink_to(scan)
            kiss_icp(b, 'KITTI 00', folder / 'kitti', 4)
        for path in ('00', '05', '07')[:1 if b.quick or b.cuda else 3] if (PATH / '00.txt').exists() else ():
            count = 20 if b.quick else 4541 if LONG and not b.cuda else 200
            drive = b.drive(folder / path, '--path', PATH / f'{path}.txt', '--frames', count, '--moving', 1, '--moving-cars', 1, '--beams-off', BEAMS)
            for reference in ('previous', 'keyframe', 'model'):
                b.track('odometry', f'drives {path}, {reference}', folder, drive / 'poses.txt', '--fields', 5, '--deskew', 'time', '--beam-correction', BEAMS,
                        '--reference', reference, *sorted(drive.glob('*.bin')))
            kiss_icp(b, f'drives {path}', drive, 5, True)


def recordings(b):
    """A drive on a real road, from a folder and from recordings: one trajectory and one map, of any number of threads too; and clouds per second."""
    sys.path.insert(0, str(SOURCE / 'tests/oracle'))
    os.environ['PCGPU'] = b.pcgpu
    if not peer('mcap') or not peer('rosbags') or not (DATA / 'drives/unpack.py').exists():
        return
    import recorders
    with tempfile.TemporaryDirectory(dir='/dev/shm' if os.path.isdir('/dev/shm') else None) as name:
        folder, count = pathlib.Path(name), 6 if b.quick else 80
        subprocess.run([sys.executable, DATA / 'drives/unpack.py', 'road', folder / 'road'], check=True, stdout=subprocess.DEVNULL)
        scans, times = sorted((folder / 'road').glob('*.bin'))[:count], (DATA / 'drives/road/times.txt').read_text().split()[:count]
        recorders.measured = lambda i: 1_700_000_000_000_000_000 + round(1e9 * float(times[i]))
        (folder / 'times.txt').write_text('\n'.join(repr(recorders.seconds(recorders.measured(i))) for i in range(count)))
        fields, files = [(name, '<f4') for name in ('x', 'y', 'z', 'intensity')], {'.bin files': scans}
        messages = {ros: [recorders.cloud2(ros, np.fromfile(scan, fields), i) for i, scan in enumerate(scans)] for ros in ('ros1', 'cdr')}
        for method in recorders.METHODS:
            what = f'.mcap {method.name.lower()}'
            recorders.write_mcap(folder / f'{method.name}.mcap', 'cdr', messages['cdr'], others=0, compression=method)
            files[what] = [folder / f'{method.name}.mcap']
        recorders.write_bag(folder / 'a.bag', messages['ros1'], recorders.BAG_METHODS[-1], 4_000_000)
        files['.bag lz4'] = [folder / 'a.bag']
        for mode, plugin in recorders.DB3_MODES[:2]:
            files['.db3' + ' zstd' * bool(mode)] = [recorders.write_db3(folder / f'db3{mode}', messages['cdr'], mode, plugin=plugin)]

        def odometry(what, who, inputs, *options):
            more = ('--fields', 4, '--timestamps', folder / 'times.txt') if len(inputs) > 1 else ('--topic', '/points')
            _, wall, used, _ = b.run('odometry', *more, *inputs, '--trajectory', folder / 't', '-o', folder / 'map.ply', *options)
            b.row('recordings', f'{what}, scans per second', who, count / wall, 'scans/s')
            b.row('recordings', f'{what}, processor time', who, 1e3 * used / count, 'ms')
            return sha256(folder / 't', folder / 'map.ply')
        answers = {odometry(f'odometry of {what}', who, inputs, *options) for what, inputs in files.items()
                   for who, options in {'cpu': ['--cpu'], **({'cuda': ['--cuda']} if b.cuda else {})}.items()}
        powers = [2**k for k in range(9) if 2**k <= len(os.sched_getaffinity(0))]
        answers |= {odometry('odometry by threads', f'{k} thread{"s"[:k - 1]}', scans, '--cpu', '--threads', k) for k in powers}
        if len(answers) > 1:
            return b.wrong('recordings: trajectories or maps differ')
        for what, inputs in files.items():
            shutil.rmtree(folder / 'out', ignore_errors=True)
            _, wall, used, _ = b.run('convert', *inputs, *(('--topic', '/points') if len(inputs) == 1 else ('--fields', 4)), '-o', f'{folder}/out/',
                                     '--output-format', 'bin', '--threads', 1)
            if sha256(*sorted((folder / 'out').iterdir())) != sha256(*scans):
                return b.wrong(f'{what}: other points')
            b.row('recordings', f'clouds of {what} to .bin', 'pcgpu', count / wall, 'clouds/s')
            if len(inputs) == 1:
                begin = time.perf_counter()
                for i, rows in enumerate(recorders.read(inputs[0], '/points')):
                    rows.tofile(folder / f'out/{i:06d}.bin')
                b.row('recordings', f'clouds of {what} to .bin', 'rosbags', count / (time.perf_counter() - begin), 'clouds/s')


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
        scans, words, truth = sorted(later.glob('*.bin')), ('--map', folder / 'map.ply'), (later / 'poses.txt').read_text().splitlines()
        (folder / 'first.txt').write_text(truth[0])
        b.track('localization', 'later drive, in a map', folder, later / 'poses.txt', *words, '--init', folder / 'first.txt', *scans)
        places, took, one = 4 if b.quick else 50, [], folder / 'place.txt'
        for k in range(places):  # each of these is searched in the whole map
            at = k * len(scans) // places
            (folder / 'truth.txt').write_text(truth[at])
            log, *_ = b.run('odometry', *words, scans[at], '--trajectory', one, *(['--cuda'] if b.cuda else ['--cpu', '--threads', 1]))
            off, turned = errors(one, folder / 'truth.txt')
            if not (off[0] < 100 and turned[0] < 0.5):
                return b.wrong(f'localization: the start at {at} is {off[0]:.0f} mm and {turned[0]:.2f} degrees off')
            took.append(1e3 * (log[0]['seconds']['total'] - log[0]['seconds']['read'] - log[0]['seconds']['write']))
        b.row('localization', 'later drive, in a map, start', 'CUDA' if b.cuda else 'pcgpu', np.mean(took), 'ms')
        b.row('localization', 'later drive, in a map, slowest start', 'CUDA' if b.cuda else 'pcgpu', max(took), 'ms')


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
                b.row('commands', what, who, 1e3 * np.median([operation(run[0][0]) for run in runs]), 'ms')
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


PARTS = [sample, voxelize, arrays, register, odometry, recordings, localization, loops, commands, many, threads]
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
