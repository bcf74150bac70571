"""Neighbours of arrays, points in boxes, and the recipes for pointnet2_ops, pointops and torch_cluster, against plain NumPy and PyTorch."""
import unittest

from support import Case, main, np, pcgpu, street, torch

neighbors = pcgpu.neighbors


def plain(points, queries, k=None, radius=None, first=False):
    """Lists of neighbours, by all distances."""
    out = []
    for q in queries[:, :3]:
        d = points[:, :3] - q
        squared = (d[:, 0] * d[:, 0] + d[:, 1] * d[:, 1]) + d[:, 2] * d[:, 2]
        of = np.flatnonzero(np.isfinite(squared) & (True if radius is None else squared < np.float32(radius) ** 2))
        order = of if first else of[np.argsort(squared[of], kind='stable')]
        out.append((order[:k], np.sqrt(squared[order[:k]])))
    return out


class Neighbours(Case):
    def lists(self, found, want, k):
        for row, distances, count, (indices, expected) in zip(*found, want):
            self.assertEqual(count, len(indices))
            self.same(row[:count], indices.astype(np.int32))
            self.same(distances[:count], expected)
            self.assertTrue((row[count:] == -1).all() and np.isinf(distances[count:]).all() and len(row) == k)

    def test_lists(self):
        points, queries = street()[:3000].copy(), street()[3000:3200]
        points[5] = np.nan
        self.lists(neighbors.knn(points, queries, 9), plain(points, queries, 9), 9)
        self.lists(neighbors.knn(points, queries, 4, radius=0.3), plain(points, queries, 4, 0.3), 4)
        self.lists(neighbors.ball_query(points, queries, 0.5, 8, pad=False), plain(points, queries, 8, 0.5, first=True), 8)
        self.lists(neighbors.ball_query(points, queries, 0.5, 8, nearest=True, pad=False), plain(points, queries, 8, 0.5), 8)
        self.same(neighbors.radius_count(points, queries, 0.5),
                  np.array([len(i) for i, _ in plain(points, queries, None, 0.5)], np.int32))
        padded = neighbors.ball_query(points, queries, 0.5, 8).indices
        for row, (indices, _) in zip(padded, plain(points, queries, 8, 0.5, first=True)):
            self.same(row, np.resize(np.r_[indices, [indices[0]] * 8], 8).astype(np.int32) if len(indices) else
                      np.zeros(8, np.int32))
        self.assertEqual(neighbors.knn(points[:20], k=2).indices[5].tolist(), [-1, -1])
        self.assertEqual(neighbors.knn(points[:20], k=1).indices[:3, 0].tolist(), [0, 1, 2])

    def test_equal_points(self):
        """Many equal points, in leaves and nodes of their own, among others: the lowest indices; counts."""
        rng = np.random.default_rng(3)
        points = np.concatenate([np.ones((40000, 3)), rng.random((4000, 3)) * 3]).astype('f4')[rng.permutation(44000)]
        equal = np.flatnonzero((points == 1).all(1))
        some = np.r_[equal[::1999], np.flatnonzero((points != 1).any(1))[::199]]
        self.lists([a[some] for a in neighbors.knn(points, k=12)], plain(points, points[some], 12), 12)
        for radius in (1e-3, 0.3, 5.0):
            self.same(neighbors.radius_count(points, points, radius)[some],
                      np.array([len(i) for i, _ in plain(points, points[some], None, radius)], np.int32))

    def test_shapes(self):
        points, queries = street()[:1200].reshape(3, 400, 4), street()[1200:1290, :3].reshape(3, 30, 3)
        batch = neighbors.knn(points, queries, 5, int64=True)
        for i in range(3):
            one = neighbors.knn(points[i], queries[i], 5)
            self.same(batch.indices[i], one.indices.astype(np.int64))
            self.same(batch.distances[i], one.distances)
        flat, of = points.reshape(-1, 4), queries.reshape(-1, 3)
        ragged = neighbors.knn(flat, of, 5, offsets=[0, 400, 400, 1200], query_offsets=[0, 30, 31, 90])
        self.same(ragged.indices[:30], batch.indices[0].astype(np.int32))
        self.assertEqual(ragged.indices[30].tolist(), [-1] * 5)
        self.same(ragged.indices[31:], neighbors.knn(flat[400:], of[31:], 5).indices + np.int32(400))
        self.assertEqual(neighbors.knn(flat, of[:0], 5).indices.shape, (0, 5))
        weights = neighbors.three_nn(flat, of).weights
        self.assertTrue(np.allclose(weights.sum(1), 1))
        utm = flat[:, :3].astype('f8') + [600000.25, 5400000.5, 0]  # exact in float64, not in float32
        self.same(neighbors.knn(utm, utm[::9], 5).indices, neighbors.knn(flat, flat[::9], 5).indices)
        self.same(neighbors.knn(utm, (utm[:40] + 0.5)[::2], 1, threads=1).indices,
                  neighbors.knn(flat, (flat[:40] + np.float32(0.5))[::2], 1, threads=3).indices)

    def test_refused(self):
        points = street()[:100]
        for sentence, call in (('k is 0', lambda: neighbors.knn(points, k=0)),
                               ('give 1 to 128', lambda: neighbors.knn(points, k=129)),
                               ('a radius of 0 m', lambda: neighbors.ball_query(points, points, 0, 3)),
                               ('a radius of nan m', lambda: neighbors.radius_count(points, points, float('nan'))),
                               ('give both or none', lambda: neighbors.knn(points, points[:4], 2, offsets=[0, 100])),
                               ('offsets from 0 to N', lambda: neighbors.knn(points, k=2, offsets=[0, 99])),
                               ('offsets that ascend', lambda: neighbors.knn(points, k=2, offsets=[0, 60, 50, 100])),
                               ('the shapes are', lambda: neighbors.knn(points[None], points, 2)),
                               ('out is for arrays in GPU memory', lambda: neighbors.knn(points, k=1, out=()))):
            self.refused(ValueError, sentence, call)
        self.refused(TypeError, 'k is 2.5', neighbors.knn, points, k=2.5)


def boxes_of(points):
    """40 boxes about points."""
    numbers = np.random.default_rng(3)
    return np.hstack([points[::len(points) // 40][:40, :3], numbers.uniform(0.2, 6, (40, 3)),
                      numbers.uniform(-7, 7, (40, 1))]).astype('f4')


class Boxes(Case):
    def test_results(self):
        points = street()[:5000]
        boxes = boxes_of(points)
        mask = pcgpu.points_in_boxes(points, boxes, result='mask')
        centred = points[:, None, :3] - boxes[None, :, :3]
        turn = np.cos(boxes[:, 6]), np.sin(boxes[:, 6])
        along, across = centred[..., 0] * turn[0] + centred[..., 1] * turn[1], centred[..., 1] * turn[0] - centred[..., 0] * turn[1]
        want = (abs(along) < boxes[:, 3] / 2) & (abs(across) < boxes[:, 4] / 2) & (abs(centred[..., 2]) <= boxes[:, 5] / 2)
        self.assertLessEqual((mask != want).sum(), 2)  # NumPy's cosine of float32
        self.assertGreater(mask.sum(), 1000)
        self.same(pcgpu.points_in_boxes(points, boxes), np.where(mask.any(1), mask.argmax(1), -1).astype('i4'))
        for got, column in zip(pcgpu.points_in_boxes(points, boxes, result='indices', threads=3), mask.T):
            self.same(got, np.flatnonzero(column))
        batch = pcgpu.points_in_boxes(points.reshape(5, 1000, 4), boxes.reshape(5, 8, 7))
        self.same(batch[2], pcgpu.points_in_boxes(points[2000:3000], boxes[16:24]))
        # KITTI's camera: x right, y down, z forward; boxes about the centre of their bottom.
        camera = np.stack([-points[:, 1], -points[:, 2], points[:, 0]], 1)
        x, y, z, dx, dy, dz, heading = boxes.T
        bottom = np.stack([-y, dz / 2 - z, x, dx, dz, dy, -heading - np.float32(np.pi / 2)], 1)
        changed = pcgpu.points_in_boxes(camera, bottom, convention='camera', result='mask') != mask
        self.assertLessEqual(changed.sum(), 2)  # the heading is rounded

    def test_refused(self):
        points, boxes = street()[:50], boxes_of(street())
        self.assertEqual(pcgpu.points_in_boxes(points[:0], boxes).shape, (0,))
        self.same(pcgpu.points_in_boxes(points, boxes[:0]), np.full(50, -1, 'i4'))
        self.refused(ValueError, 'give (N, C) and (K, 7)', pcgpu.points_in_boxes, points, boxes[:, :6])
        self.refused(ValueError, "give 'lidar' or 'camera'", pcgpu.points_in_boxes, points, boxes, convention='kitti')
        self.refused(ValueError, 'is for one cloud', pcgpu.points_in_boxes, points[None], boxes[None], result='indices')
        boxes[3, 4] = -2
        self.refused(ValueError, 'box 3 is', pcgpu.points_in_boxes, points, boxes)


@unittest.skipUnless(torch, 'no PyTorch')
class Recipes(Case):
    device = 'cpu'

    def tensors(self):
        points = torch.from_numpy(street()[:3000, :3].reshape(3, 1000, 3)).to(self.device)
        return points, points[:, ::10] + 0.01

    def test_pointnet2(self):
        from pcgpu.recipes import pointnet2
        xyz, new_xyz = self.tensors()
        features = torch.randn(3, 5, 1000, device=self.device, dtype=torch.float64, requires_grad=True)
        idx = pointnet2.ball_query(0.4, 6, xyz, new_xyz)
        inside = (new_xyz[:, :, None] - xyz[:, None]).square().sum(3) < np.float32(0.4) ** 2
        self.assertEqual((idx.dtype, tuple(idx.shape)), (torch.int32, (3, 100, 6)))
        first = torch.where(inside.any(2), inside.int().argmax(2), 0)
        self.assertGreater((idx[:, :, 0] == first).float().mean().item(), 0.999)
        grouped = pointnet2.grouping_operation(features, idx)
        self.assertEqual(grouped[1, 2, 3, 4], features[1, 2, idx[1, 3, 4]])
        self.assertEqual(tuple(pointnet2.QueryAndGroup(0.4, 6)(xyz, new_xyz, features.float()).shape), (3, 8, 100, 6))
        self.assertEqual(tuple(pointnet2.GroupAll()(xyz, None, features.float()).shape), (3, 8, 1, 1000))
        dist, three = pointnet2.three_nn(new_xyz, xyz)
        want = torch.cdist(new_xyz.double(), xyz.double()).topk(3, largest=False)
        self.assertLess((dist - want.values).abs().max().item(), 1e-5)
        small, at = features[:1, :2, :20].detach().requires_grad_(), three[:1, :4] % 20
        weight = torch.rand(1, 4, 3, device=self.device, dtype=torch.float64)
        self.assertTrue(torch.autograd.gradcheck(lambda f: pointnet2.three_interpolate(f, at, weight), small))
        self.assertTrue(torch.autograd.gradcheck(lambda f: pointnet2.grouping_operation(f, idx[:1, :4] % 20), small))
        self.assertTrue(torch.autograd.gradcheck(lambda f: pointnet2.gather_operation(f, idx[:1, :4, 0] % 20), small))

    def test_pointops(self):
        from pcgpu.recipes import pointops
        xyz, new_xyz = (t.reshape(-1, 3) for t in self.tensors())
        offset, new_offset = (torch.tensor(v, device=self.device, dtype=torch.int32) for v in ((700, 3000), (100, 300)))
        idx, dist = pointops.knn_query(4, xyz, offset, new_xyz, new_offset)
        want = torch.cdist(new_xyz[100:].double(), xyz[700:].double()).topk(4, largest=False)
        self.assertGreater((idx[100:] == want.indices + 700).float().mean().item(), 0.99)  # equal but for ties
        self.assertLess((dist[100:] - want.values).abs().max().item(), 1e-5)
        near, far = pointops.ball_query(4, 0.2, 0, xyz, offset, new_xyz, new_offset)
        self.assertTrue(((near < 0) == (far == 1e5)).all() and (far[near >= 0] < 0.2).all())
        feat = torch.randn(3000, 2, device=self.device, requires_grad=True)
        made = pointops.interpolation(xyz, new_xyz, feat, offset, new_offset)
        weight = 1 / (dist[:, :3] + 1e-8)
        weight = weight / weight.sum(1, keepdim=True)
        self.assertTrue(torch.allclose(made, (feat[idx[:, :3].long()] * weight[..., None]).sum(1)))
        made.sum().backward()
        self.assertAlmostEqual(feat.grad.sum().item(), 600.0, places=2)

    def test_torch_cluster(self):
        from pcgpu.recipes import torch_cluster
        x = torch.tensor([[-1, -1, 0], [-1, 1, 0], [1, -1, 0], [1, 1, 0]], dtype=torch.float, device=self.device)
        y = torch.tensor([[-1, 0, 0], [1, 0, 0]], dtype=torch.float, device=self.device)
        zeros = torch.zeros(4, dtype=torch.long, device=self.device)
        # The examples of its documentation, with a third coordinate.
        self.assertEqual(torch_cluster.knn(x, y, 2, zeros, zeros[:2]).tolist(), [[0, 0, 1, 1], [0, 1, 2, 3]])
        self.assertEqual(torch_cluster.radius(x, y, 1.5, zeros, zeros[:2]).tolist(), [[0, 0, 1, 1], [0, 1, 2, 3]])
        self.assertEqual(torch_cluster.nearest(x, y, zeros, zeros[:2]).tolist(), [0, 0, 1, 1])
        two = torch.tensor([0, 0, 1, 1], device=self.device)
        self.assertEqual(torch_cluster.knn(x, y, 3, two, two[1:3]).tolist(), [[0, 0, 1, 1], [0, 1, 2, 3]])
        self.refused(ValueError, 'give (N, 3)', torch_cluster.knn, x[:, :2], y[:, :2], 1)
        self.refused(ValueError, 'has no point', torch_cluster.nearest, x, y[:1], two, two[:1])

    def test_training(self):
        """PointNet++ with two set abstractions and one feature propagation learns which half of a cloud a point is in."""
        from pcgpu.recipes import pointnet2
        torch.manual_seed(0)
        xyz = torch.rand(4, 512, 3, device=self.device)
        labels = (xyz[..., 0] > xyz.mean((1, 2), keepdim=True)[..., 0]).long()
        mlp = lambda *sizes: torch.nn.Sequential(*(layer for a, b in zip(sizes, sizes[1:]) for layer in (
            torch.nn.Conv2d(a, b, 1), torch.nn.ReLU()))).to(self.device)
        abstractions = [(128, pointnet2.QueryAndGroup(0.2, 16), mlp(3, 16, 32)),
                        (32, pointnet2.QueryAndGroup(0.4, 16), mlp(3 + 32, 32, 64))]
        spread, head = mlp(64 + 32, 32), torch.nn.Conv1d(32 + 3, 2, 1).to(self.device)
        parts = [part for _, _, part in abstractions] + [spread, head]
        optimizer = torch.optim.Adam([p for part in parts for p in part.parameters()], 0.01)
        losses = []
        for _ in range(50):
            levels = [(xyz, None)]
            for count, group, layers in abstractions:
                at, features = levels[-1]
                picks = pointnet2.furthest_point_sample(at, count)
                centers = pointnet2.gather_operation(at.transpose(1, 2).contiguous(), picks).transpose(1, 2).contiguous()
                levels.append((centers, layers(group(at, centers, features)).amax(3)))
            (_, _), (middle, fine), (coarse_at, coarse) = levels
            dist, idx = pointnet2.three_nn(middle, coarse_at)
            weight = 1 / (dist + 1e-8)
            up = pointnet2.three_interpolate(coarse, idx, weight / weight.sum(2, keepdim=True))
            features = spread(torch.cat([up, fine], 1)[..., None])[..., 0]
            dist, idx = pointnet2.three_nn(xyz, middle)
            weight = 1 / (dist + 1e-8)
            features = pointnet2.three_interpolate(features, idx, weight / weight.sum(2, keepdim=True))
            loss = torch.nn.functional.cross_entropy(head(torch.cat([features, xyz.transpose(1, 2)], 1)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        self.assertLess(losses[-1], 0.3 * losses[0])


@unittest.skipUnless(torch and torch.cuda.is_available(), 'no PyTorch with a GPU')
class OnGpu(Recipes):
    device = 'cuda'

    def test_lists(self):
        points, queries = street()[:20000], street()[20000:21000]
        on_gpu = torch.from_numpy(points).cuda()
        for call in (lambda p, q: neighbors.knn(p, q, 16, int64=True), lambda p, q: neighbors.ball_query(p, q, 0.5, 32),
                     lambda p, q: neighbors.knn(p, q, 3, offsets=[0, 15000, 20000], query_offsets=[0, 10, 1000])):
            want, got = call(points, queries), call(on_gpu, torch.from_numpy(queries).cuda())
            for a, b in zip(got, want):
                self.same(a.cpu().numpy(), b)
        self.same(neighbors.radius_count(on_gpu, radius=0.3).cpu().numpy(), neighbors.radius_count(points, radius=0.3))
        self.refused(ValueError, 'not on the same device', neighbors.knn, on_gpu, queries, 3)

    def test_boxes(self):
        points, boxes = street()[:20000], boxes_of(street()[:20000])
        tensors = torch.from_numpy(points).cuda(), torch.from_numpy(boxes).cuda()
        for result in ('first', 'mask'):
            self.same(pcgpu.points_in_boxes(*tensors, result=result).cpu().numpy(),
                      pcgpu.points_in_boxes(points, boxes, result=result))
        for got, want in zip(pcgpu.points_in_boxes(*tensors, result='indices'),
                             pcgpu.points_in_boxes(points, boxes, result='indices')):
            self.same(got.cpu().numpy(), want)
        got = pcgpu.points_in_boxes(*(t.reshape(4, -1, t.shape[1]) for t in tensors))
        self.same(got.cpu().numpy(), pcgpu.points_in_boxes(points.reshape(4, 5000, 4), boxes.reshape(4, 10, 7)))

    def test_graph(self):
        points = torch.from_numpy(street()[:20000]).cuda()
        stream = torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            found = neighbors.knn(points, k=8)
        torch.cuda.synchronize()
        want = [array.clone() for array in found]
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            again = neighbors.knn(points, k=8, out=found)
        for array in found:
            array.zero_()
        graph.replay()
        torch.cuda.synchronize()
        for got, expected in zip(again, want):
            self.same(got.cpu().numpy(), expected.cpu().numpy())
        self.refused(ValueError, 'out holds', neighbors.knn, points, k=9, out=found)


if __name__ == '__main__':
    main()
