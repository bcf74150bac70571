"""What goes in, and that the same kind comes out; without a copy where the documentation says so."""
import array
import unittest
import warnings

import support
from support import Case, np, pcgpu, torch

POINTS = support.street()
PICKS = pcgpu.sample(POINTS, 64)


class OnGpu:
    """An array in GPU memory, as far as pcgpu looks."""

    def __init__(self, **more):
        self.__dict__.update(more)


class OnlyDLPack:
    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class NumPy(Case):
    def test_types(self):
        for kind in (np.float64, '>f4', '>f8'):
            self.same(pcgpu.sample(POINTS.astype(kind), 64), PICKS, str(kind))
        half = POINTS.astype(np.float16)
        self.same(pcgpu.sample(half, 64), pcgpu.sample(half.astype(np.float32), 64))
        for kind in (np.int32, np.uint8, np.bool_, np.complex64, object, np.int64):
            self.refused(TypeError, 'give float32', pcgpu.sample, POINTS[:10].astype(kind), 4)

    def test_masked(self):
        points = POINTS[:100].copy()
        masked = np.ma.masked_array(points, np.zeros(points.shape, bool))
        self.same(pcgpu.sample(masked, 5), pcgpu.sample(points, 5))
        masked[0] = np.ma.masked
        points[0] = np.nan
        for kind in (np.float32, np.float64):
            self.same(pcgpu.sample(masked.astype(kind), 5), pcgpu.sample(points, 5), str(kind))
        self.same(pcgpu.voxelize(masked, 0.5).point_voxel, pcgpu.voxelize(points, 0.5).point_voxel)
        self.same(np.asarray(pcgpu.Cloud(masked)), points)
        depth = np.ma.masked_array(np.full((48, 64), 1000, np.uint16), np.eye(48, 64, dtype=bool))
        self.refused(ValueError, 'masked values', pcgpu.register_depth, depth, depth, pcgpu.Camera(50, 50, 32, 24))

    def test_float64_columns(self):
        wide = POINTS[:100].astype(np.float64)
        with warnings.catch_warnings(record=True) as shown:
            warnings.simplefilter('always')
            pcgpu.sample(wide, 5)
            self.assertEqual(shown, [])
            wide[:, 3] = 1e9 + np.arange(100)
            pcgpu.sample(wide, 5)
            pcgpu.Cloud(wide)
        self.assertEqual(len(shown), 2)
        self.assertIn('column 3 of points is float64; 98 of 100 values were rounded to float32, by up to 32', str(shown[0].message))

    def test_records(self):
        names = ('x', 'y', 'z', 'intensity')
        padded = np.dtype({'names': [*names, 'ring'], 'formats': ['<f4'] * 4 + ['<u2'], 'offsets': [0, 4, 8, 16, 20],
                           'itemsize': 32})
        for dtype in ([(name, 'f4') for name in names] + [('ring', 'u2')], padded):
            records = np.zeros(len(POINTS), dtype)
            for k, name in enumerate(names):
                records[name] = POINTS[:, k]
            self.same(pcgpu.sample(records, 64), PICKS)
            self.same(pcgpu.sample(records.reshape(2, -1), 64), PICKS)
            self.same(pcgpu.voxelize(records, 0.5, features='first').features[:, :4],
                      pcgpu.voxelize(POINTS, 0.5, features='first').features)

    def test_labels(self):
        """Whole numbers are classes by their type. The warning is that of the library."""
        for types, expected in ((('float32',) * 3 + ('uint16',), 1), (('float32',) * 4, 0)):
            cloud = pcgpu.Cloud(POINTS[:100], ('x', 'y', 'z', 'label'), types=types)
            for arguments, warns in (({}, 0), ({'voxel_labels': 'mean', 'features': 'first'}, 0), ({'voxel_labels': 'mean'}, expected)):
                with (self.assertLogs('pcgpu') if warns else self.assertNoLogs('pcgpu')) as logged:
                    got = pcgpu.voxelize(cloud, 1.0, **arguments)
                self.assertEqual([got.types[3], got.column('label').dtype], ['float32' if warns else types[3]] * 2)
                self.assertEqual(['label are averaged; leave voxel_labels out' in line for line in (logged.output if warns else [])],
                                 [True] * warns)
        self.refused(ValueError, 'voxel_labels', pcgpu.voxelize, POINTS, 1.0, voxel_labels='most')
        with self.assertRaisesRegex(KeyError, 'there are x y z intensity'):
            pcgpu.voxelize(POINTS, 1.0).column('label')
        self.assertEqual(pcgpu.voxelize(POINTS, 1.0, max_points=4, features='pillar').columns, ())

    def test_keep(self):
        """The voxels that stay are those of a call without a limit, chosen by NumPy."""
        for features in ('mean', 'points', 'pillar', 'first', 'nearest'):
            for options in ({'max_points': 3}, {'range': (-30, -20.2, -2, 30, 20.4, 2), 'max_points': 2}, {}):
                options = {'voxel_size': (1.5, .7, .8), 'features': features, **options}
                whole = pcgpu.voxelize(POINTS, **options)
                found = pcgpu.voxelize(POINTS, **{**options, 'features': 'first', 'max_points': 0})
                center = np.array(whole.range[:3]) + (whole.coords[:, :0:-1] + .5) * (1.5, .7, .8)
                keys = {'nearest': (center * center).sum(1), 'most': -found.counts, 'first': np.arange(len(center))}
                for keep, key in keys.items():
                    chosen = np.sort(np.argsort(key, kind='stable')[:50])
                    got = pcgpu.voxelize(POINTS, max_voxels=50, keep_voxels=keep, **options)
                    width = slice(0, got.features.shape[1])
                    self.same(got.features, whole.features[chosen][:, width])
                    for name in ('coords', 'counts'):
                        self.same(getattr(got, name), getattr(whole, name)[chosen])
                    number = np.full(len(center) + 1, -1, np.int32)
                    number[chosen] = np.arange(50)
                    self.same(got.point_voxel, number[whole.point_voxel])
                    self.assertEqual((got.voxels_found, got.in_range, got.out_of_range, got.over_voxels), (
                        len(center), whole.in_range, whole.out_of_range, int(found.counts.sum() - found.counts[chosen].sum())))
                    if whole.selected is not None:
                        self.same(got.selected, whole.selected[chosen])
        utm = pcgpu.Cloud(POINTS, offset=(500000, 5400000, 100))
        nearest = pcgpu.voxelize(utm, 1.0, max_voxels=9, keep_voxels='nearest')
        far = nearest.coords[:, :0:-1] + np.array(nearest.range[:3])
        self.assertLess((far[:, :2]**2).sum(1).max(), np.percentile((utm.xyz()[:, :2]**2).sum(1), 20))

    def test_strides(self):
        wide = np.zeros((len(POINTS) * 2, 9), np.float32)
        wide[::2, 2:6] = POINTS
        view = wide[::2, 2:6]
        for given in (view, np.asfortranarray(POINTS), POINTS[::-1][::-1], np.ascontiguousarray(POINTS[::-1])[::-1]):
            self.same(pcgpu.sample(given, 64), PICKS)
            self.same(pcgpu.voxelize(given, 0.5).features, pcgpu.voxelize(POINTS, 0.5).features)
        self.same(pcgpu.sample(POINTS[::-1], 64), pcgpu.sample(np.ascontiguousarray(POINTS[::-1]), 64), 'negative stride')
        readonly = POINTS.copy()
        readonly.flags.writeable = False
        self.same(pcgpu.sample(readonly, 64), PICKS)

    def test_broadcast(self):
        """A stride of 0: one point many times."""
        same = np.broadcast_to(np.float32([1, 2, 3]), (5, 3))
        self.same(pcgpu.voxelize(same, 1.0).counts, np.int32([5]))

    def test_shapes(self):
        for shape in ((12,), (4, 2), (4, 65), (2, 3, 4), ()):
            self.refused(ValueError, f'the shape of points is {shape}; give (N, C)', pcgpu.sample, np.zeros(shape, np.float32), 1)
        for columns in (3, 64):
            points = np.random.default_rng(1).random((50, columns), np.float32)
            self.assertEqual(pcgpu.voxelize(points, 0.5, features='points').features.shape[2], columns)

    def test_empty(self):
        none = np.empty((0, 4), np.float32)
        self.refused(ValueError, '', pcgpu.sample, none, 1)
        voxels = pcgpu.voxelize(none, 0.5, (0, 0, 0, 1, 1, 1))
        self.assertEqual((len(voxels), voxels.features.shape, voxels.point_voxel.shape), (0, (0, 4), (0,)))
        self.assertFalse(pcgpu.register(none, POINTS).converged)
        self.assertFalse(pcgpu.register(POINTS, none).converged)
        with pcgpu.Odometry() as odometry:
            self.assertFalse(odometry.add(none).good)
        self.same(pcgpu.sample_batch(np.empty((0, 9, 3), np.float32), 5), np.empty((0, 5), np.int32))
        self.refused(ValueError, 'no clouds', pcgpu.sample_batch, [], 5)
        for method in ('fps', 'random'):
            picks = pcgpu.sample(none, 5, method=method, at_most=True, full=True)
            self.same(picks.indices, np.empty(0, np.int32))
            self.assertEqual(picks.picked, 0)
            self.assertEqual(picks.distances is None, method == 'random')
            self.same(pcgpu.sample(none, 2, method=method, pad='zero'), np.int32([-1, -1]))
        self.assertEqual(pcgpu.register_pairs([]), [])

    def test_different_numbers_of_picks(self):
        """An array of clouds cannot have them: the sentence names what can."""
        points = np.full((2, 9, 3), np.nan, np.float32)
        points[0], points[1, :3] = POINTS[:9, :3], POINTS[:3, :3]
        self.refused(ValueError, "get 3 to 5 picks; give a list of clouds, or pad='repeat' or 'zero'",
                     lambda: pcgpu.sample_batch(points, 5, at_most=True))
        self.assertEqual([len(picks) for picks in pcgpu.sample_batch(list(points), 5, at_most=True)], [5, 3])
        self.same(pcgpu.sample_batch(points, 3, at_most=True), pcgpu.sample_batch(points, 3))
        self.refused(ValueError, 'cloud 1 of the batch: no pick that could be repeated',
                     lambda: pcgpu.sample_batch([points[0], points[1, 3:]], 5, pad='repeat'))
        self.refused(ValueError, "pad is 'last'; give", lambda: pcgpu.sample(points[0], 5, pad='last'))
        self.refused(ValueError, 'pad fills up to count', lambda: pcgpu.sample(points[0], ratio=0.5, pad='zero'))
        self.refused(ValueError, 'give one of them', lambda: pcgpu.sample(points[0], 5, at_most=True, pad='zero'))

    def test_lengths(self):
        """Clouds of a padded array, and one count for each: as each alone."""
        points, lengths, counts = POINTS[:900].reshape(3, 300, 4).copy(), [300, 0, 20], [7, 3, 30]
        points[2, 20:] = 1000  # which would be picked first
        alone = [pcgpu.sample(cloud[:n], m, at_most=True, full=True) for cloud, n, m in zip(points, lengths, counts)]
        for given in (lengths, np.int64(lengths)):
            got = pcgpu.sample_batch(points, np.array(counts), lengths=given, pad='zero', full=True)
            self.same(got.indices, np.stack([np.pad(a.indices, (0, 30 - a.picked), constant_values=-1) for a in alone]))
            self.same(got.distances, np.stack([np.pad(a.distances, (0, 30 - a.picked)) for a in alone]))
            self.assertEqual(got.picked.tolist(), [7, 0, 20])
            self.same(got.coverage, np.float32([a.coverage for a in alone]))
        random = pcgpu.sample_batch(points, [5, 4, 5], lengths=[30, 20, 20], method='random', pad='repeat', seed=8)
        want = [pcgpu.sample(c[:n], m, method='random', seed=8) for c, n, m in zip(points, (30, 20, 20), (5, 4, 5))]
        self.same(random, np.stack([np.resize(w, 5) for w in want]))
        self.same(pcgpu.sample_batch(points, 9, lengths=[30, 9, 20], start=[3, 8, 0])[1], pcgpu.sample(points[1, :9], 9, start=8))
        listed = pcgpu.sample_batch(list(points), [4, 5, 4], start=[1, 2, 3])
        self.assertEqual([len(picks) for picks in listed], [4, 5, 4])
        self.same(listed[1], pcgpu.sample(points[1], 5, start=2))
        self.same(pcgpu.sample_batch(points, 4, at_most=True, lengths=[4, 9, 5]), pcgpu.sample_batch(points, 4, lengths=[4, 9, 5]))
        batch = pcgpu.sample_batch
        for sentence, call in (('cloud 2 of the batch', lambda: batch(points, [2, 2, 21], lengths=lengths[:1] * 2 + [20])),
                               ('cloud 1 of the batch', lambda: batch(points, 2, lengths=lengths)),
                               ('get 4 to 5 picks', lambda: batch(points, [4, 5, 4])),
                               ('give one for each, 1 or more', lambda: batch(points, [4, 5])),
                               ('give one for each, 1 or more', lambda: batch(points, [4, 5, 0])),
                               ('lengths are up to 301', lambda: batch(points, 4, lengths=[300, 301, 2])),
                               ('lengths holds -1', lambda: batch(points, 4, lengths=[300, -1, 2])),
                               ('give B whole numbers', lambda: batch(points, 4, lengths=[300, 2])),
                               ('give B whole numbers', lambda: batch(list(points), 4, lengths=lengths)),
                               ('2 indices of 3 clouds', lambda: batch(points, 4, start=[0, 0])),
                               ('cloud 1 of the batch: start record 300', lambda: batch(points, 4, start=[0, 300, 0]))):
            self.refused(ValueError, sentence, call)

    def test_not_finite(self):
        points = POINTS.copy()
        points[::3, 0] = np.nan
        points[1::3, 2] = np.inf
        usable = np.flatnonzero(np.isfinite(points[:, :3]).all(1))
        got = pcgpu.sample(points, 64, full=True)
        self.same(got.indices, usable[pcgpu.sample(points[usable], 64)].astype(np.int32))
        self.assertEqual(got.run.non_finite, len(points) - len(usable))
        self.assertEqual((pcgpu.voxelize(points, 0.5).point_voxel >= 0).sum(), len(usable))
        self.refused(ValueError, '', pcgpu.sample, np.full((5, 3), np.nan, np.float32), 1)

    def test_no_copy(self):
        """A call on a gigabyte must not take another one: the peak of memory is that of the operation."""
        self.assertIs(pcgpu.Cloud(POINTS).points, POINTS)
        got = pcgpu.voxelize(POINTS, 0.5)
        for values in (got.features, got.coords, got.counts, got.point_voxel):
            self.assertFalse(values.flags.owndata)
            self.assertTrue(values.flags.writeable and values.flags.c_contiguous)

    def test_results_live(self):
        """Arrays keep the memory of the library, one by one."""
        features = pcgpu.voxelize(POINTS, 0.5).features
        expected = features.copy()
        for _ in range(50):
            pcgpu.voxelize(POINTS[:1000], 0.5)
        self.same(features, expected)

    def test_far(self):
        """float64 coordinates far from the origin keep their precision by an offset."""
        far = POINTS.astype(np.float64)
        far[:, :3] += (400_000.25, 5_000_000.5, 100)
        cloud = pcgpu.Cloud(far)
        self.assertGreater(cloud.offset[1], 4_999_000)
        self.assertLess(np.abs(cloud.xyz() - far[:, :3]).max(), 1e-4)
        got = pcgpu.voxelize(far, 0.5)
        self.assertEqual(got.offset, cloud.offset)
        np.save(self.folder / 'far.npy', far)
        support.run('voxelize', '-q', '--voxel-size', 0.5, self.folder / 'far.npy', '-o', self.folder / 'v.npz')
        self.same(got.coords, np.load(self.folder / 'v.npz')['coords'])
        registered = pcgpu.register(far, far)
        self.assertLess(np.abs(registered.transform - np.eye(4)).max(), 1e-6)

    def test_others(self):
        points = POINTS[:500]
        picks = pcgpu.sample(points, 32)
        memory = memoryview(points.tobytes()).cast('f', (500, 4))
        for given in (memory, points.tolist(), OnlyDLPack(points), points.astype(np.float64).tolist()):
            self.same(pcgpu.sample(given, 32), picks, type(given).__name__)
        self.refused(ValueError, 'give (N, C)', pcgpu.sample, array.array('f', range(12)), 1)
        for given in (None, 'points', 3.5, object(), {}, [[1.0], [1.0, 2.0]]):
            with self.assertRaises((TypeError, ValueError)):
                pcgpu.sample(given, 1)

    def test_gpu(self):
        for given in (OnGpu(__cuda_array_interface__={}), ):
            self.refused(ValueError, 'array in GPU memory of an unknown package', pcgpu.sample, given, 1)

        class Device(OnlyDLPack):
            def __dlpack_device__(self):
                return 2, 0
        for call in (lambda a: pcgpu.sample(a, 1), lambda a: pcgpu.voxelize(a, 1.0), lambda a: pcgpu.register(a, a),
                     lambda a: pcgpu.sample_batch(a, 1), lambda a: pcgpu.sample_batch([a], 1),
                     lambda a: pcgpu.Cloud(a), lambda a: pcgpu.Odometry().add(a), lambda a: pcgpu.write('x.bin', a),
                     lambda a: pcgpu.sample(POINTS, 1, seeds=a)):
            self.refused(ValueError, 'array in GPU memory of an unknown package', call, Device(POINTS))


class Clouds(Case):
    def test_columns(self):
        cloud = pcgpu.Cloud(POINTS, ['x', 'y', 'z', 'reflectance'])
        self.same(cloud.column('reflectance'), POINTS[:, 3])
        self.refused(KeyError, 'no column', cloud.column, 'intensity')
        self.assertEqual(cloud[:10].columns, cloud.columns)
        for rows in (PICKS, slice(5, 50, 3), POINTS[:, 0] > 1):
            self.same(cloud[rows].points, POINTS[rows])
        self.refused(TypeError, 'give a slice', lambda: cloud[3])
        self.refused(ValueError, 'names', pcgpu.Cloud, POINTS, ['x', 'y', 'z'])
        self.refused(ValueError, 'differ', pcgpu.Cloud, POINTS, ['x', 'y', 'z', 'x'])
        self.same(np.asarray(cloud), POINTS)
        self.assertIn('60000 points: x y z reflectance', repr(cloud))

    def test_names_to_c(self):
        for name in ('', 'n' * 32):
            cloud = pcgpu.Cloud(POINTS, ['x', 'y', 'z', name])
            self.refused(ValueError, 'give 1 to 31 bytes', pcgpu.sample, cloud, 1)
        cloud = pcgpu.Cloud(POINTS, types=['float32', 'float32', 'float32', 'text'])
        self.refused(ValueError, 'has the type', pcgpu.write, self.folder / 'a.ply', cloud)

    def test_transform(self):
        T = np.loadtxt(support.TESTDATA / 'street_T.txt')
        got = pcgpu.Cloud(POINTS).transform(T).points
        expected = (POINTS[:, :3].astype(np.float64) @ T[:3, :3].T + T[:3, 3]).astype(np.float32)
        self.assertLess(np.abs(got[:, :3] - expected).max(), 1e-5)
        self.same(got[:, 3], POINTS[:, 3])
        self.refused(ValueError, 'rigid', pcgpu.Cloud(POINTS).transform, np.diag([2.0, 2, 2, 1]))
        self.refused(ValueError, 'the shape of matrix is (3, 3)', pcgpu.Cloud(POINTS).transform, np.eye(3))

    def test_normals(self):
        """Normals of a Cloud are used by their names."""
        rng = np.random.default_rng(2)
        plane = np.zeros((2000, 6), np.float32)
        plane[:, :2] = rng.random((2000, 2)) * 10
        plane[:, 2] = np.sin(plane[:, 0]) + np.cos(plane[:, 1])
        plane[:, 3:] = np.float32([0, 0, 1])
        named = pcgpu.Cloud(plane, ['x', 'y', 'z', 'nx', 'ny', 'nz'])
        a = pcgpu.register(named, named, method='plane', voxel_size=0.2)
        b = pcgpu.register(plane, plane, method='plane', voxel_size=0.2)
        self.assertNotEqual(a.information.tobytes(), b.information.tobytes())


@unittest.skipIf(torch is None, 'no PyTorch')
class Torch(Case):
    def test_kinds(self):
        points = torch.from_numpy(POINTS)
        picks = pcgpu.sample(points, 64)
        self.assertIs(type(picks), torch.Tensor)
        self.assertEqual(picks.dtype, torch.int32)
        self.same(picks.numpy(), PICKS)
        self.same(points[picks].numpy(), POINTS[PICKS])
        self.same(pcgpu.sample(points.double(), 64).numpy(), PICKS)
        self.same(pcgpu.sample(points.requires_grad_(True), 64).numpy(), PICKS)
        self.same(pcgpu.sample(points.t().contiguous().t(), 64).numpy(), PICKS)
        voxels = pcgpu.voxelize(points, 0.5)
        self.assertIs(type(voxels.features), torch.Tensor)
        self.same(voxels.features.numpy(), pcgpu.voxelize(POINTS, 0.5).features)
        result = pcgpu.register(points, torch.from_numpy(support.moved()))
        self.assertEqual((type(result.transform), result.transform.dtype), (torch.Tensor, torch.float64))
        full = pcgpu.sample_batch(points.detach()[:59904].reshape(13, -1, 4), 9, full=True)
        self.assertEqual((type(full.indices), type(full.distances)), (torch.Tensor, torch.Tensor))
        self.assertIs(type(pcgpu.Cloud(points).points), torch.Tensor)
        pcgpu.write(self.folder / 'a.bin', points)
        self.assertEqual((self.folder / 'a.bin').read_bytes(), support.STREET.read_bytes())

    def test_memory(self):
        points = torch.from_numpy(POINTS.copy())
        self.assertEqual(pcgpu.Cloud(points).points.data_ptr(), points.data_ptr())

    def test_refused(self):
        points = torch.from_numpy(POINTS[:100])
        self.refused(TypeError, 'bfloat16', pcgpu.sample, points.bfloat16(), 4)
        self.refused(TypeError, 'give float32', pcgpu.sample, points.int(), 4)
        self.refused(ValueError, 'without values', pcgpu.sample, points.to('meta'), 4)
        self.refused(TypeError, '', pcgpu.sample, points.to_sparse(), 4)

    def test_seeds(self):
        self.same(pcgpu.sample(POINTS, 5, seeds=torch.tensor([1, 2, 3])), pcgpu.sample(POINTS, 5, seeds=[1, 2, 3]))


try:
    import jax
except ImportError:
    jax = None


@unittest.skipIf(jax is None, 'no JAX')
class Jax(Case):
    def test_kinds(self):
        points = jax.device_put(POINTS, jax.devices('cpu')[0])  # the default may be a GPU
        picks = pcgpu.sample(points, 64)
        self.assertIsInstance(picks, jax.Array)
        self.same(np.asarray(picks), PICKS)
        self.assertIsInstance(pcgpu.voxelize(points, 0.5).features, jax.Array)
        self.same(np.asarray(pcgpu.register(points, points).transform), pcgpu.register(POINTS, POINTS).transform)


class Batches(Case):
    RANGE = (0, -39.68, -3, 69.12, 39.68, 1)

    def test_batches(self):
        points = POINTS[:9000]
        shapes = {'max_points': 4, 'max_voxels': 500, 'features': 'points'}
        for params in (shapes, {}, {'features': 'nearest'}, {'max_voxels': 300, 'features': 'pillar', 'max_points': 5}):
            parts = [points[:4000], points[4000:4000], points[4000:]]
            got = pcgpu.voxelize(points, (0.16, 0.16, 4), self.RANGE, batch=[0, 4000, 4000, 9000], **params)
            want = [pcgpu.voxelize(part, (0.16, 0.16, 4), self.RANGE, **params) for part in parts]
            numbers = np.repeat(np.arange(3, dtype='i4'), [len(w) for w in want])
            self.same(got.coords, np.c_[numbers, np.concatenate([w.coords for w in want])[:, 1:]])
            self.same(got.features, np.concatenate([w.features for w in want]))
            self.same(got.counts, np.concatenate([w.counts for w in want]))
            second = want[2].point_voxel
            self.same(got.point_voxel[4000:], np.where(second < 0, -1, second + len(want[0])).astype('i4'))
            self.assertEqual((got.kept, got.over_voxels), (sum(w.kept for w in want), sum(w.over_voxels for w in want)))
            if got.selected is not None:
                self.same(got.features[:, :4], points[got.selected])
        three = points.reshape(3, 3000, 4)
        self.same(pcgpu.voxelize(three, (0.64, 0.64, 4), self.RANGE).coords,
                  pcgpu.voxelize(list(three), (0.64, 0.64, 4), self.RANGE).coords)
        for sentence, call in (('give range', lambda: pcgpu.voxelize(three, 0.5)),
                               ('give max_points', lambda: pcgpu.voxelize(three, 0.5, self.RANGE, features='points')),
                               ('no clouds', lambda: pcgpu.voxelize([], 0.5, self.RANGE)),
                               ('ascend from 0 to N', lambda: pcgpu.voxelize(points, 0.5, self.RANGE, batch=[0, 8999]))):
            self.refused(ValueError, sentence, call)


if __name__ == '__main__':
    support.main()
