"""Exceptions with pcgpu's sentence, never a crash; logging."""
import logging
import random

import support
from support import STREET, Case, np, pcgpu

POINTS = support.street()[:2000]
DEPTH = np.full((48, 64), 1500, np.uint16)
CAMERA = pcgpu.Camera(60, 60, 32, 24)


class Arguments(Case):
    def test_sample(self):
        for sentence, arguments in (
                ('count is 0', {'count': 0}), ('count is -5', {'count': -5}), ('2001', {'count': 2001}),
                ('', {}), ('ratio', {'ratio': 2.0}), ('ratio', {'count': 3, 'ratio': 0.5}),
                ('distance', {'min_distance': -1.0}), ("method is 'fast'; give 'fps' or 'random'",
                                                       {'count': 3, 'method': 'fast'}),
                ("start is 'middle'; give 'first'", {'count': 3, 'start': 'middle'}),
                ('', {'count': 3, 'start': 2000}), ('', {'count': 3, 'start': -1}), ('', {'count': 3, 'seeds': [2000]}),
                ('', {'count': 3, 'seeds': [1, 1]}), ('seeds holds -1', {'count': 3, 'seeds': [-1]}),
                ('seeds', {'count': 3, 'seeds': [1.5]}), ('seeds', {'count': 3, 'seeds': [[1]]}),
                ('threads is -1', {'count': 3, 'threads': -1}), ('threads is 5000', {'count': 3, 'threads': 5000}),
                ("device is 'gpu'; give 'auto'", {'count': 3, 'device': 'gpu'}),
                ("device is 'cuda:x'", {'count': 3, 'device': 'cuda:x'}), ('seed', {'count': 3, 'seed': -1}),
                ('seed', {'count': 3, 'seed': 2**64}), ('count', {'count': 2**70})):
            with self.subTest(arguments=arguments):
                self.refused(ValueError, sentence, pcgpu.sample, POINTS, **arguments)
        for arguments in ({'count': 1.5}, {'count': '3'}, {'count': True}, {'count': 3, 'threads': 1.5},
                          {'count': 3, 'device': 0}, {'count': 3, 'seed': 1.5}, {'count': 3, 'unknown': 1},
                          {'ratio': 'all'}, {'count': 3, 'start': None}, {'count': 3, 'start': 2.0}):
            with self.subTest(arguments=arguments), self.assertRaises(TypeError):
                pcgpu.sample(POINTS, **arguments)
        self.assertEqual(len(pcgpu.sample(POINTS, np.int64(3), seed=np.uint8(2), start=np.int32(4))), 3)

    def test_voxelize(self):
        for arguments in ({'voxel_size': 0}, {'voxel_size': -1}, {'voxel_size': (1, 2)}, {'voxel_size': float('nan')},
                          {'voxel_size': 1, 'range': (0, 0, 0, 1, 1)}, {'voxel_size': 1, 'range': (1, 1, 1, 0, 0, 0)},
                          {'voxel_size': 1, 'max_points': -1}, {'voxel_size': 1, 'features': 'max'},
                          {'voxel_size': 1e-9}, {'voxel_size': 1, 'max_voxels': 2**63}):
            with self.subTest(arguments=arguments), self.assertRaises(ValueError):
                pcgpu.voxelize(POINTS, **arguments)
        self.refused(ValueError, "features is 'max'; give 'mean', 'points', 'pillar', 'first' or 'nearest'",
                     pcgpu.voxelize, POINTS, 1, features='max')
        with self.assertRaises(TypeError):
            pcgpu.voxelize(POINTS, 'small')

    def test_register(self):
        for arguments in ({'method': 'icp'}, {'voxel_size': -1.0}, {'voxel_size': 'small'}, {'levels': 99},
                          {'init': np.zeros((4, 4))}, {'init': np.eye(3)}, {'min_score': 2.0}, {'max_iterations': 0},
                          {'voxel_size': 0.0}, {'beam_correction': 90.0}, {'init': np.full((4, 4), np.nan)}):
            with self.subTest(arguments=arguments), self.assertRaises(ValueError):
                pcgpu.register(POINTS, POINTS, **arguments)
        self.refused(ValueError, "voxel_size is -1.0; give a number from 0, or 'auto'", pcgpu.register, POINTS, POINTS,
                     voxel_size=-1.0)
        self.refused(TypeError, "has no parameter 'voxel'; it has method, init", pcgpu.register_pairs,
                     [(POINTS, POINTS)], voxel=1.0)
        self.refused(TypeError, "no parameter 'keyframes'", pcgpu.Odometry, keyframes=3)

    def test_not_converged(self):
        noise = np.random.default_rng(3)
        result = pcgpu.register(noise.random((500, 3), np.float32), 50 + 9 * noise.random((500, 3), np.float32))
        self.assertFalse(result.converged)
        self.assertTrue(result.reason)
        self.assertEqual(result.transform.shape, (4, 4))

    def test_depth(self):
        self.refused(TypeError, 'give uint16', pcgpu.register_depth, DEPTH.astype(np.float32), DEPTH, CAMERA)
        self.refused(ValueError, 'give (height, width)', pcgpu.depth_to_cloud, DEPTH.ravel(), CAMERA)
        self.refused(ValueError, '', pcgpu.register_depth, DEPTH, DEPTH, CAMERA, level_iterations=())
        self.refused(ValueError, '', pcgpu.register_depth, DEPTH, DEPTH, CAMERA, level_iterations=[1] * 7)
        self.refused(ValueError, '', pcgpu.depth_to_cloud, DEPTH, pcgpu.Camera(0, 60, 32, 24))
        self.refused(ValueError, '', pcgpu.depth_to_cloud, DEPTH, pcgpu.Camera(60, 60, 32, 24, width=3, height=3))
        self.refused(ValueError, '', pcgpu.depth_to_cloud, np.empty((0, 5), np.uint16), CAMERA)
        self.refused(ValueError, '', pcgpu.depth_to_cloud, np.empty((20000, 1), np.uint16), CAMERA)
        with pcgpu.Volume() as volume:
            self.refused(ValueError, 'no image size', volume.raycast, CAMERA, np.eye(4))
            self.refused(ValueError, '', volume.integrate, DEPTH, CAMERA, np.zeros((4, 4)))
            volume.integrate(DEPTH[:, ::-1], CAMERA, np.eye(4))
            vertices, normals = volume.raycast(pcgpu.Camera(60, 60, 32, 24, width=64, height=48), np.eye(4))
            self.assertEqual((vertices.shape, normals.dtype), ((48, 64, 3), np.float32))
            self.assertLess(np.abs(vertices[24, 32] - (0, 0, 1.5)).max(), 0.01)
        self.refused(ValueError, 'this Volume is closed', volume.surface)
        with pcgpu.DepthOdometry(CAMERA, reference='keyframe') as odometry:
            self.refused(ValueError, "give reference='model'", odometry.surface)
        self.refused(ValueError, '', pcgpu.Volume, -1.0)

    def test_sequence(self):
        with pcgpu.Odometry() as odometry:
            odometry.add(support.street(), 1.0)
            self.refused(ValueError, '', odometry.add, support.moved(), 1.0)
            self.assertTrue(odometry.add(support.moved(), 2.0).good, 'after an exception the scan was not added')
        self.refused(ValueError, 'this Odometry is closed', odometry.add, POINTS)
        self.refused(ValueError, 'no scan has a pose', pcgpu.Odometry().points)
        self.refused(ValueError, 'usable points', pcgpu.Odometry, map=POINTS[:3])
        odometry.close()

    def test_maps(self):
        with pcgpu.Map(0.5) as made, pcgpu.Loops() as loops:
            self.refused(ValueError, '', made.add, POINTS, np.ones((4, 4)))
            self.refused(ValueError, '', loops.add, POINTS, np.full((4, 4), np.nan))
            made.add(POINTS, np.eye(4))
            self.assertGreater(len(made.finish()), 0)
            self.refused(ValueError, '', made.add, POINTS, np.eye(4))
        self.refused(ValueError, 'this Map is closed', made.finish)
        self.refused(ValueError, 'this Loops is closed', loops.solve)
        self.refused(OSError, '', pcgpu.Map, memory=2**20, folder='/nonexistent')

    def test_loops_of_images(self):
        with pcgpu.DepthLoops(CAMERA) as loops, pcgpu.Loops() as scans:
            self.refused(TypeError, 'give uint16', loops.add, DEPTH.astype(np.float32), np.eye(4))
            self.refused(TypeError, 'give uint16', loops.add, pcgpu.Cloud(POINTS), np.eye(4))
            self.refused(TypeError, 'give float32', scans.add, DEPTH, np.eye(4))
            self.refused(ValueError, 'the pose', loops.add, DEPTH, np.full((4, 4), np.nan))
            loops.add(DEPTH, np.eye(4), 7)
            self.refused(ValueError, '24', loops.add, DEPTH[::2], np.eye(4))
            self.assertEqual((loops.solve().ids.tolist(), loops.solve().places), ([7], 1), 'after an exception the image was not added')
        self.refused(ValueError, 'this DepthLoops is closed', loops.add, DEPTH, np.eye(4))
        self.refused(ValueError, 'a drift of 2', pcgpu.DepthLoops, CAMERA, drift=2.0)
        self.refused(ValueError, 'places 0 m', pcgpu.DepthLoops, CAMERA, place_distance=0.0)
        self.refused(ValueError, '', pcgpu.DepthLoops, CAMERA, level_iterations=())

    def test_cuda(self):
        """Where there is no GPU, device='cuda' says why."""
        if pcgpu.devices():
            self.skipTest('there is a GPU')
        self.refused(RuntimeError, "device='cpu'", pcgpu.sample, POINTS, 3, device='cuda')
        self.refused(RuntimeError, "device='cpu'", pcgpu.Odometry, device='cuda:1')
        self.same(pcgpu.sample(POINTS, 3, device='auto'), pcgpu.sample(POINTS, 3, device='cpu'))

    def test_memory(self):
        """Memory that cannot be had is MemoryError with a sentence."""
        with self.assertRaises((MemoryError, ValueError)) as caught:
            pcgpu.voxelize(POINTS, 1.0, max_points=2**40, features='points')
        self.assertTrue(str(caught.exception))

    def test_any_value(self):
        """Unexpected values raise an exception or work; the process lives."""
        values = [None, -1, 0, 1, 2**31, 2**63, -2**63, 2**64, 1e300, float('nan'), float('inf'), '', 'auto', 'ndt', b'x',
                  [], (), {}, [1, 2, 3], POINTS, POINTS[:0], np.eye(4), object(), True, 1 + 2j, np.float32(2), lambda: 0]
        rng = random.Random(4)
        functions = [
            (pcgpu.sample, (POINTS,), ['count', 'ratio', 'min_distance', 'method', 'start', 'seed', 'seeds', 'drop_origin',
                                       'device', 'coverage', 'at_most', 'pad', 'full']),
            (pcgpu.voxelize, (POINTS,), ['voxel_size', 'range', 'max_points', 'max_voxels', 'features', 'drop_origin']),
            (pcgpu.register, (POINTS, POINTS[:500]), ['method', 'init', 'search', 'voxel_size', 'levels', 'max_distance',
                                                      'min_score', 'min_range']),
            (pcgpu.Odometry, (), ['reference', 'keyframe_distance', 'model_points', 'deskew', 'time_column', 'method']),
            (pcgpu.Volume, (), ['voxel_size', 'truncation', 'max_weight', 'frames']),
            (pcgpu.Map, (), ['voxel_size', 'keep_moving', 'views_distance', 'views_scans', 'memory', 'folder']),
            (pcgpu.Loops, (), ['voxel_size', 'levels', 'min_score', 'place_distance', 'drift']),
            (pcgpu.DepthLoops, (CAMERA,), ['place_distance', 'place_angle', 'drift', 'level_iterations', 'bilateral', 'min_score']),
            (pcgpu.Cloud, (POINTS,), ['columns', 'offset', 'types']),
            (pcgpu.read, (STREET,), ['format', 'fields', 'camera']),
        ]
        worked = raised = 0
        for _ in range(3000):
            function, positional, names = rng.choice(functions)
            chosen = {name: rng.choice(values) for name in rng.sample(names, rng.choice((1, 1, 2)))}
            if function is pcgpu.sample and 'count' not in chosen:
                chosen['count'] = 3
            if chosen.get('voxel_size') is not None and function is pcgpu.voxelize and 'range' not in chosen:
                chosen.setdefault('max_voxels', 9)
            try:
                function(*positional, **chosen)
                worked += 1
            except (ValueError, TypeError, MemoryError, RuntimeError, AttributeError) as error:
                self.assertTrue(str(error), chosen)
                raised += 1
        self.assertGreater(worked, 100)
        self.assertGreater(raised, 1000)


class Files(Case):
    def test_missing(self):
        missing = self.folder / 'missing.bin'
        for call in (lambda: pcgpu.read(missing), lambda: pcgpu.read_depth(str(missing)),
                     lambda: pcgpu.write(missing / 'x.bin', POINTS)):
            with self.assertRaises(FileNotFoundError) as caught:
                call()
            self.assertIn(str(missing), str(caught.exception))
        with self.assertRaises(IsADirectoryError):
            pcgpu.read(self.folder)

    def test_full(self):
        with self.assertRaises(OSError) as caught:
            pcgpu.write('/dev/full', POINTS, format='bin')
        self.assertTrue(str(caught.exception))

    def test_content(self):
        cases = {'a.ply': b'ply\nformat ascii 1.0\nend', 'b.bin': bytes(20), 'c.npy': b'\x93NUMPY', 'd.png': b'\x89PNG\r\n\x1a\n',
                 'e.unknown': b'?', 'f.pcd': b'# .PCD v0.7\nVERSION'}
        for name, content in cases.items():
            path = self.folder / name
            path.write_bytes(content)
            with self.subTest(name=name):
                self.refused(ValueError, '', pcgpu.read, path)
        self.refused(ValueError, str(self.folder / 'b.bin'), pcgpu.read, self.folder / 'b.bin')
        self.refused(ValueError, 'give fields', pcgpu.read, self.folder / 'b.bin')
        self.refused(ValueError, '', pcgpu.write, self.folder / 'x.unknown', POINTS)
        self.assertEqual([p.name for p in self.folder.iterdir() if p.name.startswith('x')], [], 'nothing is left')
        self.refused(ValueError, '', pcgpu.write, self.folder / 'x.npz', POINTS)

    def test_warnings(self):
        """Warnings of the library go to logging."""
        far = np.zeros((3, 3))
        far[:, 0] = (1e9 + 0.3, -1e9, 0.1)
        with self.assertLogs('pcgpu', logging.WARNING) as logged:
            pcgpu.sample(far, 1)
        self.assertIn('float32', logged.output[0])


if __name__ == '__main__':
    support.main()
