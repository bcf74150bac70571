"""Each recipe does what the package whose place it takes does; where that is installed, beside it."""
import unittest
import warnings

import support
from pcgpu.recipes import gicp, point_sampling
from pcgpu.recipes.voxel_generator import PointToVoxel
from support import Case, np, pcgpu, torch

SECOND = dict(vsize_xyz=[0.05, 0.05, 0.1], coors_range_xyz=[0, -40, -3, 70.4, 40, 1], num_point_features=4,
              max_num_voxels=16000, max_num_points_per_voxel=5)


# The range, the size of a voxel and the limits of detectors on KITTI, Waymo, ONCE and nuScenes, and ranges of no whole number
# of voxels, in which round(312.5) and round(13.57) decide.
USUAL = [((0, -39.68, -3, 69.12, 39.68, 1), (.16, .16, 4), 32, 40000), ((0, -40, -3, 70.4, 40, 1), (.05, .05, .1), 5, 16000),
         ((-75.2, -75.2, -2, 75.2, 75.2, 4), (.1, .1, .15), 5, 150000), ((-75.2, -75.2, -5, 75.2, 75.2, 3), (.1, .1, .2), 5, 60000),
         ((-54, -54, -5, 54, 54, 3), (.075, .075, .2), 10, 60000), ((-51.2, -51.2, -5, 51.2, 51.2, 3), (.1, .1, .2), 10, 60000),
         ((-10, -39.68, -3, 40, 39.68, 1), (.16, .16, 4), 32, 300), ((-40, -40, -3, 40.1, 40.1, 1.07), (.3, .3, .3), 3, 100)]


def usual():
    """For each of USUAL the options of PointToVoxel, and points around the range, many on the edges of voxels."""
    rng = np.random.default_rng(7)
    for region, size, limit, voxels in USUAL:
        low, high = np.reshape(region, (2, 3))
        points = rng.uniform(low - 1, high + 1, (3000, 3)).astype(np.float32)
        points[::3] = low + size * np.round((points[::3] - low) / size)
        for k, row in enumerate(rng.permutation(3000)[:300]):
            points[row, k % 3] = (low, high)[k // 3 % 2][k % 3]
        points = np.concatenate([points, points[:900]])
        yield np.hstack([points, rng.random((len(points), 1), np.float32)]), dict(
            vsize_xyz=list(size), coors_range_xyz=list(region), num_point_features=4, max_num_voxels=voxels,
            max_num_points_per_voxel=limit)


def plain_fps(points, count):
    """The loop of PointNet++ in NumPy."""
    picks, nearest = [0], np.full(len(points), np.inf, np.float32)
    for _ in range(count - 1):
        d = points - points[picks[-1]]
        nearest = np.minimum(nearest, (d[:, 0] * d[:, 0] + d[:, 1] * d[:, 1]) + d[:, 2] * d[:, 2])
        picks.append(int(nearest.argmax()))
    return np.int32(picks)


def plain_voxels(points, vsize_xyz, coors_range_xyz, num_point_features, max_num_voxels, max_num_points_per_voxel):
    """spconv's loop over the points, in NumPy: voxels, coordinates z y x, counts and the voxel of each point."""
    size, low = np.float32(vsize_xyz), np.float32(coors_range_xyz[:3])
    grid = np.floor((np.float32(coors_range_xyz[3:]) - low) / size + np.float32(.5)).astype(int)
    cells = np.floor((points[:, :3] - low) / size)
    table, ids = {}, np.full(len(points), -1, np.int64)
    voxels = np.zeros((max_num_voxels, max_num_points_per_voxel, num_point_features), np.float32)
    coords, counts = np.zeros((max_num_voxels, 3), np.int32), np.zeros(max_num_voxels, np.int32)
    for i in np.flatnonzero(((cells >= 0) & (cells < grid)).all(1)):
        cell = tuple(int(c) for c in cells[i, ::-1])
        if cell not in table:
            if len(table) == max_num_voxels:
                continue
            coords[len(table)] = cell
            table[cell] = len(table)
        v = table[cell]
        if counts[v] < max_num_points_per_voxel:
            voxels[v, counts[v]] = points[i, :num_point_features]
            counts[v] += 1
            ids[i] = v
    n = len(table)
    return voxels[:n], coords[:n], counts[:n], ids


class Sampling(Case):
    POINTS = support.street()[:, :3].copy()

    def test_openpcdet(self):
        batch = self.POINTS[:6000].reshape(4, 1500, 3)
        got = point_sampling.furthest_point_sample(batch, 100)
        self.same(got, np.stack([plain_fps(cloud, 100) for cloud in batch]))

    def test_pointnet2(self):
        """pointnet2_ops leaves out what is near the origin, but not index 0, and then repeats the first of the others."""
        batch = np.random.default_rng(5).uniform(-.06, .06, (3, 60, 3)).astype(np.float32)
        batch[1, 1] = [np.sqrt(np.float32(1e-3)), 0, 0]
        batch[2] *= .1
        for cloud, got in zip(batch, point_sampling.furthest_point_sample(batch, 60, skip_origin=True)):
            near = (cloud[:, 0] * cloud[:, 0] + cloud[:, 1] * cloud[:, 1]) + cloud[:, 2] * cloud[:, 2] <= np.float64(1e-3)
            picks, nearest = [0], np.full(60, np.float32(1e10))
            while len(picks) < 60:
                d = cloud - cloud[picks[-1]]
                nearest = np.minimum(nearest, (d[:, 0] * d[:, 0] + d[:, 1] * d[:, 1]) + d[:, 2] * d[:, 2])
                picks.append(int(np.where(near, -1, nearest).argmax()) if not near.all() else 0)
            self.same(got, np.int32(picks))

    def test_geometric(self):
        numbers = np.repeat([0, 1, 3], [500, 301, 200])
        x = self.POINTS[:1001]
        got = point_sampling.fps(x, numbers, ratio=0.25, random_start=False)
        expected = [plain_fps(x[a:b], m) + a for a, b, m in ((0, 500, 125), (500, 801, 76), (801, 1001, 50))]
        self.same(got, np.concatenate(expected).astype(np.int64))
        self.same(point_sampling.fps(x, ratio=np.float32([.25, .25, .25]), ptr=[0, 500, 801, 1001], random_start=False), got)
        self.same(point_sampling.fps(x, ratio=0.1, random_start=False), plain_fps(x, 101).astype(np.int64))
        shares = point_sampling.fps(x, numbers, np.float32([.01, .5, .3, .02]), batch_size=4, random_start=False)
        self.same(shares, np.concatenate([plain_fps(x[:500], 5), plain_fps(x[500:801], 151) + 500,
                                          plain_fps(x[801:], 4) + 801]).astype(np.int64))

    def test_random_start(self):
        """As there by default: a first pick of its own for each cloud; here it follows the seed, and there is none without."""
        clouds = np.repeat(np.arange(8), 100)
        got = [point_sampling.fps(self.POINTS[:800], clouds, .05, seed=seed).reshape(8, 5) for seed in (3, 3, 4)]
        self.same(got[0], got[1])
        first = got[0][:, 0] - np.arange(8) * 100
        self.assertGreater(len(set(first.tolist())), 4)
        self.same(point_sampling.fps(self.POINTS[:800], clouds, .05)[::5], np.arange(8) * 100)
        self.assertNotEqual(first.tolist(), (got[2][:, 0] - np.arange(8) * 100).tolist())
        for k, start in enumerate(first):
            self.same(got[0][k], pcgpu.sample(self.POINTS[k * 100:k * 100 + 100], 5, start=int(start)).astype('i8') + k * 100)
        with self.assertRaisesRegex(ValueError, 'ascend'):
            point_sampling.fps(self.POINTS[:3], [0, 1, 0])
        with self.assertRaisesRegex(ValueError, 'ratio is 1.5'):
            point_sampling.fps(self.POINTS[:3], ratio=1.5)

    def test_features(self):
        """As torch_cluster, whose distance has all columns."""
        for columns in (1, 2, 4, 8, 64):
            y = np.random.default_rng(columns).normal(size=(200, columns)).astype(np.float32)
            y[:, :min(3, columns - 1)] = 0
            picks, nearest = [], np.full(200, np.inf)
            while len(picks) < 10:
                picks.append(int(nearest.argmax()))
                nearest = np.minimum(nearest, ((y.astype('f8') - y[picks[-1]])**2).sum(1))
            self.assertEqual(point_sampling.fps(y, ratio=.05).tolist(), picks, columns)
            self.assertEqual(pcgpu.sample(y, 10, dimensions=columns).tolist() if columns > 2 else picks, picks, columns)
        plane = np.float32([[-1, -1], [-1, 1], [1, -1], [1, 1]])
        self.assertEqual(point_sampling.fps(plane, np.zeros(4, int), .5, random_start=False).tolist(), [0, 3])
        self.assertEqual(point_sampling.fps(plane[:, 0], ratio=.5, random_start=False).tolist(), [0, 2])

    @unittest.skipIf(torch is None, 'no PyTorch')
    def test_pytorch3d(self):
        """Its loop over the valid records: the lengths and K of each cloud, -1 behind the last pick, the same random starts."""
        for columns, K, lengths in ((3, 20, None), (3, [5, 30, 1], [200, 12, 7]), (4, 20, [200, 12, 1]),
                                    (8, [9, 2, 200], [6, 3, 200])):
            points = torch.from_numpy(np.random.default_rng(columns).normal(size=(3, 200, columns)).astype(np.float32))
            points[0, 4] = points[0, 2]
            points.requires_grad_()
            ends, counts = lengths or [200] * 3, K if isinstance(K, list) else [K] * 3
            for random_start in (False, True):
                torch.manual_seed(3)
                starts = [int(torch.randint(high=n, size=(1,))) if random_start else 0 for n in ends]
                want = np.full((3, max(counts)), -1, np.int64)
                for k, cloud in enumerate(points.detach().numpy()):
                    picks, nearest = [starts[k]], np.full(ends[k], np.finfo('f4').max, np.float32)
                    while len(picks) < min(counts[k], ends[k]):
                        d, squares = cloud[:ends[k]] - cloud[picks[-1]], np.float32(0)
                        for column in range(columns):
                            squares = squares + d[:, column] * d[:, column]
                        nearest = np.minimum(nearest, squares)
                        nearest[picks] = 0
                        picks.append(int(nearest.argmax()))
                    want[k, :len(picks)] = picks
                torch.manual_seed(3)
                given = None if lengths is None else torch.tensor(lengths)
                K = torch.tensor(K) if random_start and lengths else K
                picked, idx = point_sampling.sample_farthest_points(points, given, K, random_start)
                self.same(idx.numpy(), want)
                self.same(picked.detach().numpy(), np.where(want[..., None] < 0, np.float32(0), np.take_along_axis(
                    points.detach().numpy(), np.maximum(want, 0)[..., None], 1)))
                grad, = torch.autograd.grad(picked.sum(), points)
                self.assertEqual(grad.sum().item(), (want >= 0).sum() * columns)

    @unittest.skipIf(torch is None, 'no PyTorch')
    def test_torch(self):
        batch = torch.from_numpy(self.POINTS[:6000].reshape(4, 1500, 3))
        self.same(point_sampling.fps(batch[0], ratio=0.1, random_start=False).numpy(), plain_fps(batch[0].numpy(), 150).astype(np.int64))
        features = np.random.default_rng(0).normal(size=(2, 300, 8)).astype(np.float32)
        for columns in (1, 2, 3, 8):
            x = features[:, :, :columns].reshape(600, columns)
            got = point_sampling.fps(torch.from_numpy(x).requires_grad_(), torch.arange(2).repeat_interleave(300),
                                     torch.tensor([.1, .2]))
            self.assertEqual(got.dtype, torch.int64)
            self.same(got.numpy(), point_sampling.fps(x, np.repeat([0, 1], 300), np.float32([.1, .2])))
        self.same(point_sampling.furthest_point_sample(torch.from_numpy(features[:, :, :3] / 20), 200, True).numpy(),
                  point_sampling.furthest_point_sample(features[:, :, :3] / 20, 200, True))
        operation = point_sampling.register_torch_op()
        eager = operation(batch, 64)
        self.same(eager.numpy(), np.stack([plain_fps(cloud, 64) for cloud in batch.numpy()]))
        torch.library.opcheck(operation, (batch, 64))
        # The graph is captured whole; the eager back end needs no compiler on this machine.
        compiled = torch.compile(lambda xyz: torch.gather(xyz, 1, operation(2 * xyz, 64).long()[..., None].expand(-1, -1, 3)),
                                 backend='aot_eager', fullgraph=True)
        self.same(compiled(batch).numpy(), np.stack([c[i] for c, i in zip(batch.numpy(), eager.numpy())]))


class Voxels(Case):
    def test_spconv(self):
        points = support.street()
        for limits in ({}, {'max_num_voxels': 500, 'max_num_points_per_voxel': 1}):
            options = {**SECOND, **limits}
            generator, expected = PointToVoxel(**options), plain_voxels(points, **options)
            for got, want, name in zip(generator.generate_voxel_with_id(points), expected,
                                       ('voxels', 'coords', 'counts', 'ids')):
                self.same(got, want, name)
            self.same(generator(points)[0], expected[0])
        self.assertEqual(PointToVoxel(**SECOND).grid_size, [40, 1600, 1408])

    def test_usual(self):
        """All usual configurations; a range of no whole number of voxels warns with both numbers."""
        for k, (points, options) in enumerate(usual()):
            with warnings.catch_warnings(record=True) as shown:
                warnings.simplefilter('always')
                got = PointToVoxel(**options).generate_voxel_with_id(points)
            self.assertEqual([str(w.message) for w in shown], [
                [], ['the range has 312.5 voxels in x, and the grid 313; give a range of whole voxels, such as -10 to 40.08 in '
                     'place of 40'], ['the range has 13.56667 voxels in z, and the grid 14; give a range of whole voxels, such as '
                                      '-3 to 1.2 in place of 1.07']][max(k - 5, 0)])
            for values, want in zip(got, plain_voxels(points, **options)):
                self.same(values, want, k)
            if k > 5:  # of spconv 2.3.8
                self.assertEqual(PointToVoxel(**options).grid_size, ([1, 496, 313], [14, 267, 267])[k - 6])

    def test_empty_mean(self):
        voxels, _, counts = PointToVoxel(**SECOND)(support.street(), empty_mean=True)
        for v in (0, 7, len(counts) - 1):
            mean = voxels[v, :counts[v]].sum(0) / counts[v]
            self.assertLess(np.abs(voxels[v, counts[v]:] - mean).max(initial=0), 1e-4)

    @unittest.skipIf(torch is None, 'no PyTorch')
    def test_torch(self):
        got = PointToVoxel(**SECOND).generate_voxel_with_id(torch.from_numpy(support.street()), empty_mean=True)
        expected = PointToVoxel(**SECOND).generate_voxel_with_id(support.street(), empty_mean=True)
        self.same(got[0].numpy(), expected[0])
        self.assertEqual(got[3].dtype, torch.int64)

    def test_beside_spconv(self):
        try:
            from spconv.utils import Point2VoxelCPU3d
            from cumm import tensorview as tv
        except ImportError as error:
            self.skipTest(str(error))
        for cloud, options in [(support.street(), SECOND), *usual()]:  # tensorview does not keep the cloud
            generator, mine = Point2VoxelCPU3d(**options), PointToVoxel(**options)
            self.assertEqual(mine.grid_size, list(generator.grid_size))
            theirs = [part.numpy() for part in generator.point_to_voxel(tv.from_numpy(cloud))]
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                for got, want in zip(mine(cloud), theirs):
                    self.same(got, want, options)


class Align(Case):
    TRUTH = np.loadtxt(support.TESTDATA / 'street_T.txt')

    def test_types(self):
        for kind in gicp.METHODS:
            with self.subTest(kind):
                result = gicp.align(support.street(), support.moved(), registration_type=kind)
                self.assertTrue(result.converged)
                self.assertLess(np.abs(result.T_target_source - self.TRUTH)[:3, 3].max(), 0.05)
                self.assertEqual(result.H.shape, (6, 6))

    def test_beside(self):
        try:
            import small_gicp
        except ImportError as error:
            self.skipTest(str(error))
        other = small_gicp.align(support.street()[:, :3].astype(float), support.moved()[:, :3].astype(float))
        mine = gicp.align(support.street(), support.moved())
        self.assertLess(np.abs(mine.T_target_source - other.T_target_source).max(), 0.02)


if __name__ == '__main__':
    support.main()
