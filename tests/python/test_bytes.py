"""The package gives the bytes of the program, on all testdata."""
import itertools
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import support
from support import MOVED, STREET, TESTDATA, Case, np, pcgpu, run

CAMERA = ('--camera', '525,525,319.5,239.5')
LENS = pcgpu.Camera(525, 525, 319.5, 239.5)
ROOMS = sorted(TESTDATA.glob('room*/frame-*.png'))
REAL = [(support.DATA / name, fields) for name, fields in
        (('kitti/000000.bin', 4), ('kitti/000008_camera_view.bin', 4), ('nuscenes/n015.pcd.bin', 5))]


def clouds():
    """All clouds of testdata, and real ones where they are: path, words for the program, the cloud."""
    for path in (STREET, MOVED):
        yield path, (), pcgpu.read(path)
    for path in ROOMS:
        yield path, CAMERA, pcgpu.read(path, camera=LENS)
    for path, fields in REAL:
        if path.exists():
            yield path, ('--fields', fields), pcgpu.read(path, fields=fields)


def crossed(rows):
    """Each row with the first cloud and with two others in turn."""
    found = list(clouds())
    for k, row in enumerate(rows):
        for cloud in found[0], found[1 + 2 * k % (len(found) - 1)], found[1 + (2 * k + 1) % (len(found) - 1)]:
            yield cloud, row


class Sample(Case):
    OPTIONS = [
        (('-m', 1024), {'count': 1024}),
        (('-m', 300, '--start', 'center'), {'count': 300, 'start': 'center'}),
        (('-m', 300, '--start', 'random', '--seed', 9), {'count': 300, 'start': 'random', 'seed': 9}),
        (('-m', 300, '--start', '77'), {'count': 300, 'start': 77}),
        (('--ratio', 0.01), {'ratio': 0.01}),
        (('--min-distance', 0.5), {'min_distance': 0.5}),
        (('-m', 2000, '--min-distance', 0.5, '--drop-origin'),
         {'count': 2000, 'min_distance': 0.5, 'drop_origin': True}),
        (('-m', 1024, '--method', 'random', '--seed', 2**64 - 1),
         {'count': 1024, 'method': 'random', 'seed': 2**64 - 1}),
        (('-m', 2**31 - 1, '--at-most', '--method', 'random'),
         {'count': 2**31 - 1, 'at_most': True, 'method': 'random'}),
        (('-m', 900, '--min-distance', 3, '--pad', 'repeat'), {'count': 900, 'min_distance': 3.0, 'pad': 'repeat'}),
    ]

    def test_all(self):
        for (path, words, cloud), (options, arguments) in crossed(self.OPTIONS):
            with self.subTest(path=path.name, options=options):
                out, ids, distances = (self.folder / name for name in ('o.ply', 'i.bin', 'd.bin'))
                fps = 'random' not in options[:4:2] and arguments.get('method') != 'random'
                more = ('--distances', distances) if fps else ()
                run('sample', '-q', '-f', *options, *words, path, '-o', out, '--indices', ids, *more)
                got = pcgpu.sample(cloud, full=True, **arguments)
                self.same(got.indices, np.fromfile(ids, '<i4'), 'indices')
                if fps:
                    self.same(got.distances, np.fromfile(distances, '<f4'), 'distances')
                self.same(pcgpu.sample(cloud.points, **arguments), got.indices, 'of the array')
                pcgpu.write(self.folder / 'mine.ply', cloud[got.indices])
                self.assertEqual((self.folder / 'mine.ply').read_bytes(), out.read_bytes(), 'the picked records')

    def test_seeds(self):
        run('sample', '-q', '-m', 50, STREET, '-o', self.folder / 'o.bin', '--indices', self.folder / 's.bin')
        seeds = np.fromfile(self.folder / 's.bin', '<i4')
        run('sample', '-q', '-m', 70, '--seeds', self.folder / 's.bin', STREET, '-o', self.folder / 'p.bin',
            '--indices', self.folder / 'i.bin')
        for given in (seeds, seeds.astype(np.int64), seeds.tolist()):
            self.same(pcgpu.sample(support.street(), 70, seeds=given), np.fromfile(self.folder / 'i.bin', '<i4'))

    def test_batch(self):
        points = support.street()[:59904].reshape(13, -1, 4)
        ragged = pcgpu.sample_batch([points[0], points[1][:1000], pcgpu.read(MOVED)], min_distance=1.0)
        for got, cloud in zip(ragged, (points[0], points[1][:1000], support.moved())):
            self.same(got, pcgpu.sample(cloud, min_distance=1.0))

    def test_pad(self):
        """Clouds of fewer points than count, one of them without any with zeros: the arrays of `sample --pad --batch`."""
        for pad, sizes in (('repeat', (100, 40, 7)), ('zero', (100, 0, 7)), ('none', (100, 40, 32))):
            points = [support.street()[300 * k:300 * k + n] for k, n in enumerate(sizes)]
            for k, one in enumerate(points):
                pcgpu.write(self.folder / f'{k}.bin', one)
            run('sample', '-q', '-f', '-m', 32, '--pad', pad, '--batch', *(self.folder / f'{k}.bin' for k in range(3)), '-o',
                self.folder / 'o.npz', '--indices', self.folder / 'i.npy', '--distances', self.folder / 'd.npy')
            wanted = np.load(self.folder / 'i.npy')
            full = pcgpu.sample_batch(points, 32, pad=pad, full=True)
            if pad == 'none':
                self.same(np.stack([one.indices for one in full]), wanted)
                continue
            self.same(pcgpu.sample_batch(points, 32, pad=pad), wanted, pad)
            self.same(full.indices, wanted, pad)
            self.same(full.distances, np.load(self.folder / 'd.npy'), pad)
            self.same(full.picked, np.load(self.folder / 'o.npz')['num_points'], pad)
            array = np.full((3, 100, 4), np.nan, np.float32)
            for k, one in enumerate(points):
                array[k, :len(one)] = one
                self.same(pcgpu.sample(one, 32, pad=pad), wanted[k], pad)
            self.same(pcgpu.sample_batch(array, 32, pad=pad), wanted, pad)


class Voxelize(Case):
    KITTI = (0, -39.68, -3, 69.12, 39.68, 1)
    OPTIONS = [
        (('--voxel-size', 0.25), {'voxel_size': 0.25}),
        (('--voxel-size', '0.2,0.3,0.4', '--features', 'first'), {'voxel_size': (0.2, 0.3, 0.4), 'features': 'first'}),
        (('--voxel-size', 0.25, '--features', 'nearest', '--drop-origin'),
         {'voxel_size': 0.25, 'features': 'nearest', 'drop_origin': True}),
        (('--voxel-size', 0.1, '--max-points', 5, '--max-voxels', 3000, '--features', 'points'),
         {'voxel_size': 0.1, 'max_points': 5, 'max_voxels': 3000, 'features': 'points'}),
        (('--voxel-size', '0.16,0.16,4', '--range=0,-39.68,-3,69.12,39.68,1', '--max-points', 32, '--features', 'pillar'),
         {'voxel_size': (0.16, 0.16, 4), 'range': KITTI, 'max_points': 32, 'features': 'pillar'}),
        (('--voxel-size', 0.5, '--max-points', 3), {'voxel_size': 0.5, 'max_points': 3}),
    ]

    def test_all(self):
        for (path, words, cloud), (options, arguments) in crossed(self.OPTIONS):
            with self.subTest(path=path.name, options=options):
                out = self.folder / 'v.npz'
                run('voxelize', '-q', '-f', *options, *words, path, '-o', out, '--set', f"point-voxel={self.folder / 'p.bin'}")
                got, expected = pcgpu.voxelize(cloud, **arguments), np.load(out)
                for array, name in ((got.features, 'voxels'), (got.coords, 'coords'), (got.counts, 'num_points')):
                    self.same(array, expected[name], name)
                self.same(got.point_voxel, np.fromfile(self.folder / 'p.bin', '<i4'), 'point_voxel')
                self.assertEqual(got.in_range, got.kept + got.over_points + got.over_voxels)
                self.assertEqual(len(got), len(expected['coords']))
                self.same(pcgpu.voxelize(cloud.points, threads=1, **arguments).features, got.features, 'one thread')

    def test_labels(self):
        """Classes and their types, of a structured array and of the cloud that read() makes of it; and of batches."""
        points, rng, grid = support.street(), np.random.default_rng(3), (0, -40, -4, 60, 40, 4)
        records = np.zeros(len(points), [(name, 'f4') for name in 'xyz'] + [('intensity', 'u1'), ('label', 'u2'), ('ring', 'i1')])
        for k, name in enumerate('xyz'):
            records[name] = points[:, k]
        for name, values in (('intensity', 256), ('label', (10, 40, 252)), ('ring', (-1, 0, 1))):
            records[name] = rng.choice(values, len(records))
        parts, paths = (records[:4000], records[4000:]), [self.folder / 'a.npy', self.folder / 'b.npy']
        for part, path in zip((records, *parts), (self.folder / 'all.npy', *paths)):
            np.save(path, part)
        cloud, out = pcgpu.read(self.folder / 'all.npy'), {name: self.folder / name for name in ('v.npz', 'v.ply', 'w.ply')}
        limits = ('--max-points', 3, '--max-voxels', 900, '--keep-voxels', 'most')
        for how, (words, arguments) in itertools.product(
                ('majority', 'first', 'mean'), (((), {}), (limits, {'max_points': 3, 'max_voxels': 900, 'keep_voxels': 'most'}))):
            with self.subTest(how=how, words=words):
                words = ('-q', '-f', '--voxel-size', 0.8, f'--range={",".join(map(str, grid))}', *words, '--set', f'voxel-labels={how}')
                arguments = {'voxel_size': 0.8, 'range': grid, 'voxel_labels': how, **arguments}
                for name in ('v.npz', 'v.ply'):
                    run('voxelize', *words, self.folder / 'all.npy', '-o', out[name])
                for points in (records, cloud):
                    got = pcgpu.voxelize(points, **arguments)
                    self.same(got.features, np.load(out['v.npz'])['voxels'])
                    pcgpu.write(out['w.ply'], pcgpu.Cloud(got.features, got.columns, got.offset, got.types))
                    self.assertEqual(out['w.ply'].read_bytes(), out['v.ply'].read_bytes())
                    classes = ['float32'] * 2 if how == 'mean' else ['uint16', 'int8']
                    self.assertEqual([str(got.column(name).dtype) for name in ('intensity', 'label', 'ring')], ['float32', *classes])
                run('voxelize', *words, '--batch', *paths, '-o', out['v.npz'])
                for batch in ((parts,), (list(map(pcgpu.read, paths)),), (records, [0, 4000, len(records)]), (cloud, [0, 4000, len(records)])):
                    got = pcgpu.voxelize(batch[0], batch=batch[1] if batch[1:] else None, **arguments)
                    self.same(got.features, np.load(out['v.npz'])['voxels'])
                    self.same(got.coords, np.load(out['v.npz'])['coords'])


class Register(Case):
    OPTIONS = [
        ((), {}),
        (('--method', 'plane'), {'method': 'plane'}),
        (('--method', 'point', '--voxel-size', 0.5), {'method': 'point', 'voxel_size': 0.5}),
        (('--method', 'gicp', '--set', 'levels=2', '--set', 'max-distance=2'), {'method': 'gicp', 'levels': 2, 'max_distance': 2}),
        (('--method', 'plane', '--init', 'auto'), {'method': 'plane', 'search': 'always'}),
    ]
    SAME = ('transform', 'covariance', 'information', 'eigenvalues', 'center', 'start')

    def compare(self, got, words, what):
        report = self.folder / f'{len(list(self.folder.iterdir()))}.json'
        run('register', '-q', '-f', *words, '--json', report, code=0 if got.converged else 4)
        expected = json.loads(report.read_text())
        found = {name: value for part in (expected, expected.get('result', {})) for name, value in part.items()}
        self.same(got.transform, np.array(found['T_target_source']).reshape(4, 4), what)
        for name in self.SAME[1:]:
            value = np.array(found[name], np.float64)
            self.same(getattr(got, name), value.reshape(getattr(got, name).shape), f'{what}: {name}')
        for name in ('converged', 'reason', 'iterations', 'score', 'fitness', 'inliers', 'free_space'):
            self.assertEqual(getattr(got, name), found[name], f'{what}: {name}')

    def test_street(self):
        source, target = pcgpu.read(MOVED), pcgpu.read(STREET)
        for words, arguments in self.OPTIONS:
            with self.subTest(words=words):
                got = pcgpu.register(source.points, target, **arguments)
                self.assertTrue(got.converged)
                self.compare(got, (*words, MOVED, STREET), words)

    def test_init(self):
        init = np.loadtxt(TESTDATA / 'street_T.txt')
        got = pcgpu.register(support.moved(), support.street(), init=init)
        self.compare(got, ('--init', TESTDATA / 'street_T.txt', MOVED, STREET), 'init')

    def test_pairs(self):
        source, target = support.moved(), support.street()
        pairs = [(source, target), (target, source), (source[::2], target)]
        for method in ('ndt', 'plane'):
            for got, (a, b) in zip(pcgpu.register_pairs(pairs, method=method), pairs):
                alone = pcgpu.register(a, b, method=method)
                self.same(got.transform, alone.transform)
                self.same(got.covariance, alone.covariance)

    def test_set(self):
        """Frames of a room, and a street that fits none: the poses of the program."""
        frames, out = sorted((TESTDATA / 'room').glob('frame-*.png'))[:3], self.folder / 'poses.txt'
        run('register', '--all', '--method', 'gicp', '-q', '-f', *CAMERA, *frames, STREET, '-o', out, code=4)
        got = pcgpu.register_all([*(pcgpu.read(frame, camera=LENS) for frame in frames), support.street()], method='gicp')
        self.assertEqual((got.placed, got.groups, [cloud.group for cloud in got.clouds]), (3, 2, [0, 0, 0, 1]))
        self.same(np.stack([cloud.pose[:3] for cloud in got.clouds[:3]]), np.loadtxt(out)[:3].reshape(-1, 3, 4))
        self.assertTrue(got.links and all(link.source > link.target for link in got.links))

    def test_room(self):
        for folder in ('room', 'room_kinect'):
            frames = sorted((TESTDATA / folder).glob('frame-*.png'))
            for a, b in zip(frames[1:], frames):
                got = pcgpu.register_depth(pcgpu.read_depth(a), pcgpu.read_depth(b), LENS)
                self.compare(got, (*CAMERA, a, b), a.name)


class Sequences(Case):
    def poses(self, *words):
        path = self.folder / 'poses.txt'
        run('odometry', '-q', '-f', *words, '--trajectory', path, '--trajectory-format', 'kitti')
        return path.read_text()

    def text(self, poses):
        """Poses as the program writes them."""
        return [[float(value) for value in line.split()] for line in poses.splitlines() if not line.startswith('#')]

    def test_scans(self):
        for words, arguments in (((), {}), (('--reference', 'keyframe'), {'reference': 'keyframe'}),
                                 (('--reference', 'previous', '--method', 'plane'),
                                  {'reference': 'previous', 'method': 'plane'})):
            with self.subTest(words=words), pcgpu.Odometry(**arguments) as odometry:
                got = [odometry.add(pcgpu.read(path)).pose for path in (STREET, MOVED)]
                expected = np.array(self.text(self.poses(*words, STREET, MOVED)))
                self.same(np.array(got)[:, :3].reshape(-1, 12), expected)

    def test_guess(self):
        times, guess = np.array([5.0, 5.1]), np.tile(np.eye(4), (2, 1, 1))
        guess[1, :2, 3] = 0.5, -0.1
        np.savetxt(self.folder / 'times.txt', times)
        np.savetxt(self.folder / 'guess.txt', guess[:, :3].reshape(2, 12))
        expected = self.text(self.poses('--timestamps', self.folder / 'times.txt', '--guess', self.folder / 'guess.txt', STREET, MOVED))
        with pcgpu.Odometry() as odometry:
            odometry.guess(times, guess)
            got = [odometry.add(pcgpu.read(path), time).pose for path, time in zip((STREET, MOVED), times)]
            self.same(np.array(got)[:, :3].reshape(-1, 12), np.array(expected))
            self.assertRaisesRegex(ValueError, 'shapes of times and poses', odometry.guess, times, guess[:1])
            self.assertRaisesRegex(ValueError, 'rise', odometry.guess, times[::-1], guess)
        with pcgpu.DepthOdometry(LENS) as odometry:
            odometry.guess(times, guess)

    def test_images(self):
        frames = sorted((TESTDATA / 'room').glob('frame-*.png'))[:3]
        points = self.folder / 'points.ply'
        expected = np.array(self.text(self.poses(*CAMERA, *frames, '-o', points)))
        with pcgpu.DepthOdometry(LENS, frames=len(frames)) as odometry:
            got = [odometry.add(pcgpu.read_depth(path)).pose for path in frames]
            self.same(np.array(got)[:, :3].reshape(-1, 12), expected)
            pcgpu.write(self.folder / 'mine.ply', odometry.surface())
        self.assertEqual((self.folder / 'mine.ply').read_bytes(), points.read_bytes())

    def test_fuse(self):
        frames = sorted((TESTDATA / 'room').glob('frame-*.png'))[:2]
        poses = np.loadtxt(TESTDATA / 'room' / 'poses_kitti.txt').reshape(-1, 3, 4)
        mesh, points = self.folder / 'mesh.ply', self.folder / 'points.ply'
        np.savetxt(self.folder / 'kitti', poses[:2].reshape(2, 12), '%.17g')
        run('fuse', '-q', *CAMERA, '--poses', self.folder / 'kitti', *frames, '--mesh', mesh, '-o', points)
        with pcgpu.Volume(frames=len(frames)) as volume:
            for path, pose in zip(frames, poses):
                counts = volume.integrate(pcgpu.read_depth(path), LENS, np.vstack([pose, [0, 0, 0, 1]]))
                self.assertGreater(counts.updated_blocks, 0)
            pcgpu.write(self.folder / 'm.ply', volume.mesh())
            pcgpu.write(self.folder / 'p.ply', volume.surface())
            self.assertEqual(volume.stats.frames, len(frames))
        self.assertEqual((self.folder / 'm.ply').read_bytes(), mesh.read_bytes())
        self.assertEqual((self.folder / 'p.ply').read_bytes(), points.read_bytes())


class Maps(Case):
    """Two rounds of a block, where beams that are off by a degree make an odometry that drifts."""

    @classmethod
    def setUpClass(cls):
        if not os.path.exists(os.environ.get('PCGPU_DRIVE', '')):
            raise unittest.SkipTest('PCGPU_DRIVE is not tests/scene/drive of a build')
        drive = tempfile.TemporaryDirectory(prefix='pcgpu-test-')
        cls.addClassCleanup(drive.cleanup)
        subprocess.run([os.environ['PCGPU_DRIVE'], '--frames', '66', '--step', '5', '--steps', '60', '--seed', '5', '--beams-off', '1', drive.name], check=True)
        cls.scans = sorted(pathlib.Path(drive.name).glob('*.bin'))

    def program(self, *words):
        """Poses of `pcgpu odometry`, (N, 4, 4)."""
        path = self.folder / 'poses'
        run('odometry', '-q', '-f', *words, '--trajectory', path)
        rows = np.array([line.split() for line in path.read_text().splitlines()], float).reshape(-1, 3, 4)
        return np.concatenate([rows, np.tile([[[0.0, 0, 0, 1]]], (len(rows), 1, 1))], axis=1)

    def made(self, poses, **arguments):
        with pcgpu.Map(**arguments) as made, pcgpu.Odometry() as odometry:
            before = None
            for path, pose in zip(self.scans, poses):
                scan = pcgpu.read(path)
                # Without deskewing, the motion only says that there is one.
                made.add(odometry.scan_points(scan, before, before and np.eye(4)), pose)
                before = scan
            cloud = made.finish()
            pcgpu.write(self.folder / 'mine.ply', cloud)
            stats = made.stats
            if 'into' in arguments:
                pcgpu.write(self.folder / 'mine_changes.ply', made.changes())
                self.assertEqual((stats.kept, stats.kept + stats.added), (len(arguments['into']), len(cloud)))
            else:
                self.assertEqual((stats.scans, stats.voxels - stats.moved), (len(poses), len(cloud)))
                self.assertRaisesRegex(ValueError, 'extends another one', made.changes)
            return cloud

    def test_loops_map_localization(self):
        expected, file, listed = self.program('--set', 'model-range=20', *self.scans), self.folder / 'map.ply', self.folder / 'run.json'
        corrected = self.program('--set', 'model-range=20', '--loops', '--json', listed, *self.scans, '-o', file)
        with pcgpu.Odometry(model_range=20) as odometry, pcgpu.Loops() as loops:
            for path, pose in zip(self.scans, expected):
                found = odometry.add(pcgpu.read(path))
                self.same(found.pose, pose)
                loops.add(odometry.points(), found.pose)
            result = loops.solve()
        self.same(result.poses, corrected)
        self.same(result.ids, np.arange(len(self.scans)))
        theirs = next(filter(None, (json.loads(line).get('loop_closure') for line in listed.read_text().splitlines())))
        self.assertGreater(len(result.loops), 0)
        self.assertEqual([(loop.earlier, loop.later) for loop in result.loops], [(loop['from'], loop['to']) for loop in theirs['loops']])
        self.same(result.loops[0].transform.ravel(), np.array(theirs['loops'][0]['T_from_to'], float))
        self.assertEqual((result.places, result.tried, result.refused), (theirs['places'], theirs['tried'], theirs['refused']))

        # The map at these poses, and with little memory.
        cloud = self.made(corrected)
        self.assertEqual((self.folder / 'mine.ply').read_bytes(), file.read_bytes())
        self.same(self.made(corrected, memory=2**20, folder=self.folder, threads=1).points, cloud.points)

        later = self.scans[46:54]
        with pcgpu.Odometry(map=cloud) as anywhere, pcgpu.Odometry(map=cloud, init=corrected[46]) as known:
            self.same([anywhere.add(pcgpu.read(path)).pose for path in later], self.program('--map', file, *later))
            self.assertTrue(known.add(pcgpu.read(later[0])).good)

        # Another session, which extends it.
        larger, changes = self.folder / 'larger.ply', self.folder / 'changes.ply'
        poses = self.program('--into', file, *later, '-o', larger, '--changes', changes)
        with pcgpu.Odometry(map=cloud, extend=True) as odometry:
            self.same([odometry.add(pcgpu.read(path)).pose for path in later], poses)
        self.scans = later
        self.made(poses, into=cloud)
        self.assertEqual((self.folder / 'mine.ply').read_bytes(), larger.read_bytes())
        self.assertEqual((self.folder / 'mine_changes.ply').read_bytes(), changes.read_bytes())
        self.assertRaisesRegex(ValueError, 'give map', pcgpu.Odometry, extend=True)

    def test_parameters(self):
        for words, arguments in ((('--map-voxel', 0.3), {'voxel_size': 0.3}), (('--set', 'keep-moving',), {'keep_moving': True})):
            with self.subTest(words=words):
                scans, self.scans = self.scans, self.scans[:10]
                poses = self.program(*words, *self.scans, '-o', self.folder / 'map.ply')
                self.made(poses, **arguments)
                self.scans = scans
                self.assertEqual((self.folder / 'mine.ply').read_bytes(), (self.folder / 'map.ply').read_bytes())


class DepthMaps(Case):
    """A round of a room and a third of another, with the noise of a Kinect: the odometry drifts, and its loops correct it."""

    LENS = pcgpu.Camera(131.25, 131.25, 79.5, 59.5)

    def setUp(self):
        super().setUp()
        if not os.path.exists(os.environ.get('PCGPU_ROOM', '')):
            self.skipTest('PCGPU_ROOM is not tests/scene/room of a build')
        subprocess.run([os.environ['PCGPU_ROOM'], '--path', 'around', '--loop', '24', '--frames', '32', '--noise', '1', '--width', '160',
                        '--format', 'pgm', str(self.folder)], check=True)
        self.frames = sorted(self.folder.glob('frame-*.pgm'))

    def test_loops(self):
        path, listed, images = self.folder / 'poses', self.folder / 'run.json', [pcgpu.read_depth(frame) for frame in self.frames]
        run('odometry', '-q', '-f', '--camera', '131.25,131.25,79.5,59.5', '--reference', 'previous', '--set', 'bilateral=0.02', '--loops',
            '--json', listed, '--trajectory', path, *self.frames)
        theirs = next(filter(None, (json.loads(line).get('loop_closure') for line in listed.read_text().splitlines())))
        with pcgpu.DepthOdometry(self.LENS, reference='previous', bilateral=0.02) as odometry:
            poses = [odometry.add(image).pose for image in images]
        result = self.found(images, poses, bilateral=0.02)
        self.same(result.poses[:, :3].reshape(-1, 12), np.loadtxt(path))
        self.same(result.ids, 2 * np.arange(len(self.frames)))
        self.assertGreater(theirs['moved'], 0)
        self.assertEqual([(loop.earlier, loop.later) for loop in result.loops],
                         [(2 * loop['from'], 2 * loop['to']) for loop in theirs['loops']])
        self.same([loop.transform.ravel() for loop in result.loops], np.array([loop['T_from_to'] for loop in theirs['loops']], float))
        self.assertEqual((result.places, result.tried, result.refused), (theirs['places'], theirs['tried'], theirs['refused']))

        # Each parameter has an effect, on fewer images.
        def loops(**arguments):
            return [(loop.earlier, loop.later, loop.transform.tobytes()) for loop in self.found(images[::2], poses[::2], **arguments).loops]
        expected = loops()
        self.assertGreater(len(expected), 0)
        for arguments in ({'place_distance': 5.0, 'place_angle': 3.0}, {'drift': 0.0}, {'level_iterations': (0, 1)}, {'max_distance': 0.1},
                          {'bilateral': 0.02}, {'translation_epsilon': 1.0, 'rotation_epsilon': 1.0}, {'min_score': 0.99}):
            self.assertNotEqual(loops(**arguments), expected, arguments)
        self.assertEqual(loops(threads=1), expected)

    def found(self, images, poses, **arguments):
        with pcgpu.DepthLoops(self.LENS, **arguments) as loops:
            for k, (image, pose) in enumerate(zip(images, poses)):
                loops.add(image, pose, 2 * k)
            return loops.solve()


class Threads(Case):
    def test_environment(self):
        os.environ['OMP_NUM_THREADS'] = '3,2'
        try:
            self.assertEqual(pcgpu.voxelize(support.street(), 0.25).run.threads, 3)
        finally:
            del os.environ['OMP_NUM_THREADS']


if __name__ == '__main__':
    support.main()
