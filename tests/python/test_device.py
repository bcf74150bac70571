"""Arrays in GPU memory, PyTorch's and CuPy's: the results of the host, in streams and graphs. Skipped without a GPU."""
import unittest
from unittest import mock

import support
from pcgpu import _native
from pcgpu.recipes import point_sampling
from support import Case, main, np, pcgpu, street, torch

try:
    import cupy
    cupy.cuda.runtime.getDeviceCount()
except Exception:  # not installed, or no device
    cupy = None

RANGE = (0, -39.68, -3, 69.12, 39.68, 1)
PILLARS = {'max_points': 32, 'max_voxels': 16000, 'features': 'points'}


@unittest.skipUnless(torch and torch.cuda.is_available(), 'no PyTorch with a GPU')
class Torch(Case):
    def test_sample(self):
        points = street()
        want = pcgpu.sample(points, 1024, full=True, device='cpu')
        got = pcgpu.sample(torch.from_numpy(points).cuda(), 1024, full=True)
        self.assertEqual(got.indices.device.type, 'cuda')
        self.same(got.indices.cpu().numpy(), want.indices)
        self.same(got.distances.cpu().numpy(), want.distances)
        self.assertEqual(got.picked.tolist(), [1024])
        self.same(pcgpu.sample(torch.from_numpy(points).cuda(), 50, start=7).cpu().numpy(),
                  pcgpu.sample(points, 50, start=7, device='cpu'))

    def test_batch(self):
        points = street()[:48000].reshape(8, 6000, 4)
        got = pcgpu.sample_batch(torch.from_numpy(points).cuda(), 200)
        self.same(got.cpu().numpy(), pcgpu.sample_batch(points, 200, device='cpu'))

    def test_lengths(self):
        points, lengths, counts = street()[:6000].reshape(3, 2000, 4), [2000, 0, 20], [70, 30, 90]
        on_gpu = torch.from_numpy(points).cuda()
        want = pcgpu.sample_batch(points, counts, lengths=lengths, pad='zero', full=True, device='cpu')
        for given in (lengths, torch.tensor(lengths).cuda()):
            got = pcgpu.sample_batch(on_gpu, counts, lengths=given, pad='zero', full=True)
            for name in ('indices', 'distances', 'picked'):
                self.same(getattr(got, name).cpu().numpy(), getattr(want, name), name)
        self.same(on_gpu.cpu().numpy(), points)
        both = [pcgpu.sample_batch(clouds, 30, pad='zero') for clouds in (on_gpu, list(on_gpu))]
        self.same(both[0].cpu().numpy(), both[1].cpu().numpy())
        self.refused(ValueError, 'pad is not for', pcgpu.sample_batch, on_gpu, 30, pad='repeat')
        for got, cloud, count in zip(pcgpu.sample_batch(list(on_gpu), counts), points, counts):
            self.same(got.cpu().numpy(), pcgpu.sample(cloud, count, device='cpu'))
        for got, expected in zip(point_sampling.sample_farthest_points(on_gpu, torch.tensor(lengths).cuda(), counts),
                                 point_sampling.sample_farthest_points(torch.from_numpy(points), lengths, counts)):
            self.same(got.cpu().numpy(), expected.numpy())

    def test_columns(self):
        points = np.random.default_rng(1).normal(scale=.1, size=(3, 2000, 9)).astype(np.float32)
        on_gpu = torch.from_numpy(points).cuda()
        for dimensions in (2, 9, [8, 0, 3]):
            self.same(pcgpu.sample_batch(on_gpu, 100, dimensions=dimensions).cpu().numpy(),
                      pcgpu.sample_batch(points, 100, dimensions=dimensions, device='cpu'))
        self.same(pcgpu.sample_batch(on_gpu, 50, start=[7, 0, 1999]).cpu().numpy(),
                  pcgpu.sample_batch(points, 50, start=[7, 0, 1999], device='cpu'))
        for columns in (2, 3, 9):
            self.same(point_sampling.fps(on_gpu[0][:, :columns], ratio=.1).cpu().numpy(),
                      point_sampling.fps(points[0][:, :columns], ratio=.1))
        self.same(point_sampling.furthest_point_sample(on_gpu[..., :3], 500, skip_origin=True).cpu().numpy(),
                  point_sampling.furthest_point_sample(points[..., :3], 500, skip_origin=True))

    def test_list(self):
        parts = [street()[:900], street()[900:4000], street()[4000:4300]]
        want = [pcgpu.sample(part, 200, full=True, device='cpu') for part in parts]
        on_gpu = [torch.from_numpy(part).cuda() for part in parts]
        for got, full, expected in zip(pcgpu.sample_batch(on_gpu, 200), pcgpu.sample_batch(on_gpu, 200, full=True), want):
            self.same(got.cpu().numpy(), expected.indices)
            self.same(full.distances.cpu().numpy(), expected.distances)
            self.assertEqual(full.picked.tolist(), [200])
        self.refused(ValueError, 'the arrays differ', pcgpu.sample_batch, [on_gpu[0], on_gpu[1][:, :3]], 5)
        self.refused(ValueError, 'records of cloud 2', pcgpu.sample_batch, on_gpu, 500)

    def test_out(self):
        points = torch.from_numpy(street()).cuda()
        voxels = pcgpu.voxelize(points, (0.16, 0.16, 4), RANGE, **PILLARS)
        kept = [array.clone() for array in voxels.trimmed()]
        for array in (voxels.features, voxels.coords, voxels.counts, voxels.point_voxel, voxels.count):
            array.zero_()
        again = pcgpu.voxelize(points, (0.16, 0.16, 4), RANGE, out=voxels, **PILLARS)
        self.assertIs(again, voxels)
        for got, expected in zip(again.trimmed(), kept):
            self.same(got.cpu().numpy(), expected.cpu().numpy())
        self.refused(ValueError, 'out holds', pcgpu.voxelize, points[:-1], (0.16, 0.16, 4), RANGE, out=voxels, **PILLARS)

    def test_other_order(self):
        points = torch.from_numpy(street()).cuda()
        got = pcgpu.sample(points.t().contiguous().t(), 100)
        self.same(got.cpu().numpy(), pcgpu.sample(street(), 100, device='cpu'))

    def test_few_usable(self):
        points = street()[:100].copy()
        points[10:] = np.nan
        got = pcgpu.sample(torch.from_numpy(points).cuda(), 20)
        self.assertEqual((got >= 0).sum().item(), 10)
        self.same(got.cpu().numpy()[:10], pcgpu.sample(points[:10], 10, device='cpu'))

    def test_voxelize(self):
        points = street()
        for params in (PILLARS, {'max_voxels': 40000}, {'max_voxels': 500, 'max_points': 5, 'features': 'pillar'},
                       {'max_voxels': 40000, 'features': 'nearest', 'max_points': 8}):
            want = pcgpu.voxelize(points, (0.16, 0.16, 4), RANGE, device='cpu', **params)
            got = pcgpu.voxelize(torch.from_numpy(points).cuda(), (0.16, 0.16, 4), RANGE, **params)
            features, coords, counts = got.trimmed()
            self.same(features.cpu().numpy(), want.features)
            self.same(coords.cpu().numpy(), want.coords)
            self.same(counts.cpu().numpy(), want.counts)
            self.same(got.point_voxel.cpu().numpy(), want.point_voxel)

    def test_voxelize_batch(self):
        points = street()[:9000]
        for params in (PILLARS, {'max_voxels': 4000}):
            want = pcgpu.voxelize(points.reshape(3, 3000, 4), (0.16, 0.16, 4), RANGE, device='cpu', **params)
            got = pcgpu.voxelize(torch.from_numpy(points).cuda().reshape(3, 3000, 4), (0.16, 0.16, 4), RANGE, **params)
            for array, expected in zip(got.trimmed(), (want.features, want.coords, want.counts)):
                self.same(array.cpu().numpy(), expected)
            with mock.patch.object(_native, 'voxelize_device', wraps=_native.voxelize_device) as calls:
                pcgpu.voxelize(torch.from_numpy(points).cuda().reshape(3, 3000, 4), (0.16, 0.16, 4), RANGE, **params)
            self.assertEqual(calls.call_count, 3)
            got.features.zero_(), got.coords.zero_()
            again = pcgpu.voxelize(list(torch.from_numpy(points).cuda().reshape(3, 3000, 4)), (0.16, 0.16, 4), RANGE, out=got,
                                   **params)
            self.same(again.trimmed()[1].cpu().numpy(), want.coords)
        ragged = pcgpu.voxelize(torch.from_numpy(points).cuda(), (0.64, 0.64, 4), RANGE, max_voxels=4000,
                                batch=[0, 20, 9000])
        self.same(ragged.trimmed()[1].cpu().numpy(), 
                  pcgpu.voxelize(points, (0.64, 0.64, 4), RANGE, batch=[0, 20, 9000]).coords)
        self.assertEqual(ragged.point_voxel.shape, (9000,))

    def test_register(self):
        clouds = [street(), street()[::2], street()[:9000], street()[:0]]
        on_gpu = [torch.from_numpy(cloud).cuda() for cloud in clouds]

        def equal(got, want):
            for name in ('converged', 'reason', 'score', 'iterations', 'voxel_size', 'source_points', 'free_space'):
                self.assertEqual(getattr(got, name), getattr(want, name), name)
            for name in ('transform', 'covariance'):
                self.same(getattr(got, name).numpy(), getattr(want, name), name)
            self.assertEqual((got.run.points_in, got.run.on_carrier), (want.run.points_in, want.run.on_carrier))
        for params in ({}, {'method': 'plane'}, {'voxel_size': 0.4, 'search': 'never'}, {'device': 'cpu'}, {'min_range': 2.0}):
            for i in range(len(clouds)):
                equal(pcgpu.register(on_gpu[i], on_gpu[0] + 0.1, **params),
                      pcgpu.register(clouds[i], clouds[0] + np.float32(0.1), **{'device': 'cpu', **params}))
        moved = [on_gpu[0] + 0.01 * k for k in range(70)]
        with torch.cuda.stream(torch.cuda.Stream()) as _:
            got = pcgpu.register_pairs([(cloud, on_gpu[1]) for cloud in moved])
        for cloud, registration in zip(moved[::23], got[::23]):
            equal(registration, pcgpu.register(cloud.cpu().numpy(), clouds[1], device='cpu'))
        self.assertEqual(pcgpu.register(on_gpu[0].double(), on_gpu[0]).converged, True)
        self.assertEqual(pcgpu.register(on_gpu[0][:, :3], on_gpu[0].requires_grad_()).converged, True)

    def test_copied_to_the_host(self):
        # Functions whose points the CPU selects copy them.
        on_gpu, on_host = torch.from_numpy(street()).cuda(), street()
        pcgpu.write(self.folder / 'a.bin', on_gpu)
        self.same(np.fromfile(self.folder / 'a.bin', '<f4'), on_host.ravel())
        with pcgpu.Odometry() as odometry:
            self.assertEqual(odometry.add(on_gpu).pose.shape, (4, 4))

    def test_recipes(self):
        from pcgpu.recipes import point_sampling
        batch = street()[:6000, :3].reshape(4, 1500, 3)
        on_gpu = torch.from_numpy(batch).cuda()
        want = pcgpu.sample_batch(batch, 100, device='cpu')
        self.same(point_sampling.furthest_point_sample(on_gpu, 100).cpu().numpy(), want)
        numbers = torch.tensor([0, 1, 3], device='cuda').repeat_interleave(torch.tensor([500, 301, 200], device='cuda'))
        x = street()[:1001, :3].copy()
        got = point_sampling.fps(torch.from_numpy(x).cuda(), numbers, ratio=0.25)
        self.assertEqual((got.device.type, got.dtype), ('cuda', torch.int64))
        self.same(got.cpu().numpy(), point_sampling.fps(x, numbers.cpu().numpy(), ratio=0.25))
        operation = point_sampling.register_torch_op()
        torch.library.opcheck(operation, (on_gpu, 64))
        compiled = torch.compile(lambda xyz: torch.gather(xyz, 1, operation(2 * xyz, 64).long()[..., None].expand(-1, -1, 3)),
                                 backend='aot_eager', fullgraph=True)
        picks = pcgpu.sample_batch(2 * batch, 64, device='cpu')
        self.same(compiled(on_gpu).cpu().numpy(), np.stack([c[i] for c, i in zip(batch, picks)]))

    def test_dynamic_scatter(self):
        from pcgpu.recipes.dynamic_scatter import dynamic_scatter
        points = torch.from_numpy(street()[:9000])
        for kind in ('max', 'mean', 'sum'):
            got = dynamic_scatter(points.cuda(), points.cuda(), (0.16, 0.16, 4), RANGE, kind)
            want = dynamic_scatter(points, points, (0.16, 0.16, 4), RANGE, kind)
            torch.testing.assert_close(got[0].cpu(), want[0], rtol=1e-5, atol=1e-4)
            self.same(got[1].cpu().numpy(), want[1].numpy())
            self.same(got[2].cpu().numpy(), want[2].numpy())
        self.refused(ValueError, 'batch is for', dynamic_scatter, points.cuda(), points.cuda(), 1, RANGE, batch=[0, 9000])

    def test_streams_and_graph(self):
        points = torch.from_numpy(street()).cuda()
        want = pcgpu.sample(street(), 300, device='cpu')
        streams = [torch.cuda.Stream() for _ in range(3)]
        torch.cuda.synchronize()
        results = []
        for stream in streams * 3:
            with torch.cuda.stream(stream):
                results.append(pcgpu.sample(points, 300))
        torch.cuda.synchronize()
        for result in results:
            self.same(result.cpu().numpy(), want)
        with torch.cuda.stream(streams[0]):
            pcgpu.sample(points, 300)
            pcgpu.voxelize(points, (0.16, 0.16, 4), RANGE, **PILLARS)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=streams[0]):
            picks = pcgpu.sample(points, 300)
            voxels = pcgpu.voxelize(points, (0.16, 0.16, 4), RANGE, **PILLARS)
        for _ in range(3):
            picks.zero_(), voxels.count.zero_()
            graph.replay()
            torch.cuda.synchronize()
            self.same(picks.cpu().numpy(), want)
            self.same(voxels.trimmed()[0].cpu().numpy(),
                      pcgpu.voxelize(street(), (0.16, 0.16, 4), RANGE, device='cpu', **PILLARS).features)

    def test_wrong(self):
        points = torch.from_numpy(street()).cuda()
        self.refused(ValueError, 'give count', pcgpu.sample, points, ratio=0.1)
        self.refused(ValueError, 'random sampling', pcgpu.sample, points, 5, method='random')
        self.refused(ValueError, 'the shape of points', pcgpu.sample, points[0], 5)
        self.refused(TypeError, 'give float32', pcgpu.sample, points.double(), 5)
        self.refused(ValueError, 'exceeds the', pcgpu.sample, points, 10**6)
        self.refused(ValueError, 'out is for arrays in GPU memory', pcgpu.voxelize, street(), 0.5, out=object())
        self.refused(ValueError, 'seeds', pcgpu.sample, points, 5, seeds=[1])
        self.refused(ValueError, 'give range and max_voxels', pcgpu.voxelize, points, 0.5)


@unittest.skipUnless(cupy, 'no CuPy with a GPU')
class Cupy(Case):
    def test_sample_and_voxelize(self):
        points = street()
        on_gpu = cupy.asarray(points)
        self.same(cupy.asnumpy(pcgpu.sample(on_gpu, 200)), pcgpu.sample(points, 200, device='cpu'))
        with cupy.cuda.Stream(non_blocking=True):
            got = pcgpu.voxelize(on_gpu, (0.16, 0.16, 4), RANGE, **PILLARS)
            features = cupy.asnumpy(got.trimmed()[0])
        self.same(features, pcgpu.voxelize(points, (0.16, 0.16, 4), RANGE, device='cpu', **PILLARS).features)


if __name__ == '__main__':
    main()
