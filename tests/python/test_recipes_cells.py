"""Recipes that group points by cells, beside the steps of the packages whose place they take, written down in NumPy and PyTorch."""
import unittest

import support
from pcgpu.recipes import segmentation
from support import Case, np, pcgpu, torch

POINTS = support.street()
RANGE, SIZE = (0, -40, -3, 70.4, 40, 1), (0.4, 0.4, 0.5)


def dynamic_coors(points):
    """mmcv's dynamic voxelization: z y x, -1 in all where a point is out of the range."""
    low, high, size = np.float32(RANGE[:3]), np.float32(RANGE[3:]), np.float32(SIZE)
    cells = np.floor((points[:, :3] - low) / size).astype(int)
    good = ((cells >= 0) & (cells < np.round((high - low) / size))).all(1)
    return np.where(good[:, None], cells[:, ::-1], -1)


@unittest.skipIf(torch is None, 'no PyTorch')
class Scatter(Case):
    def test_as_mmcv(self):
        """unique() of the coordinates, and each reduction; the gradient of the maximum goes to the first of equal points."""
        from pcgpu.recipes.dynamic_scatter import dynamic_scatter
        points = POINTS[::5].copy()
        points[::3, 3] = np.float32(.5)  # ties
        coors = dynamic_coors(points)
        held = np.flatnonzero((coors >= 0).all(1))
        self.assertLess(len(held), len(points))
        cells, of = np.unique(coors[held], axis=0, return_inverse=True)
        of = of.ravel()
        for kind in ('max', 'sum', 'mean'):
            feats = torch.from_numpy(points).clone().requires_grad_()
            got, got_coors, point_voxel = dynamic_scatter(feats, torch.from_numpy(points), SIZE, RANGE, kind)
            self.same(got_coors.numpy(), cells.astype(np.int32))
            self.same(point_voxel.numpy()[held], of.astype(np.int64))
            self.assertEqual((point_voxel < 0).sum().item(), len(points) - len(held))
            want, grad, source = np.full((len(cells), 4), -np.inf if kind == 'max' else 0, np.float32), np.zeros_like(points), \
                np.zeros((len(cells), 4), int)
            if kind == 'max':
                np.maximum.at(want, of, points[held])
                for row, k in zip(held[::-1], of[::-1]):  # the first one is the last to write
                    for column in np.flatnonzero(points[row] == want[k]):
                        source[k, column] = row
                for column in range(4):
                    grad[source[:, column], column] = 1
            else:
                np.add.at(want, of, points[held])
                share = np.bincount(of).astype(np.float32)[:, None] if kind == 'mean' else np.ones((len(cells), 1), np.float32)
                want /= share
                grad[held] = (1 / share)[of]
            self.same(got.detach().numpy(), want, kind)
            got.sum().backward()
            self.same(feats.grad.numpy(), grad, kind)

    def test_gradients(self):
        from pcgpu.recipes.dynamic_scatter import dynamic_scatter
        points = torch.from_numpy(POINTS[:60])
        feats = torch.from_numpy(np.random.default_rng(1).normal(size=(60, 3))).requires_grad_()
        for kind in ('max', 'mean', 'sum'):
            for batch in (None, [0, 25, 60]):
                self.assertTrue(torch.autograd.gradcheck(
                    lambda values: dynamic_scatter(values, points, (8.8, 8, 2), RANGE, kind, batch=batch)[0], (feats,)))

    def test_batch(self):
        from pcgpu.recipes.dynamic_scatter import dynamic_scatter
        points = torch.from_numpy(POINTS[:3000])
        feats, coors, of = dynamic_scatter(points, points, SIZE, RANGE, 'mean', batch=[0, 1000, 3000])
        parts = [dynamic_scatter(part, part, SIZE, RANGE, 'mean') for part in (points[:1000], points[1000:])]
        self.same(feats.numpy(), np.concatenate([part[0] for part in parts]))
        self.same(coors.numpy(), np.concatenate([np.c_[np.full(len(c), k, np.int32), c] for k, (_, c, _) in enumerate(parts)]))
        second = parts[1][2].numpy()
        self.same(of.numpy()[1000:], np.where(second < 0, -1, second + len(parts[0][0])))
        nothing = dynamic_scatter(points, points + 1000, SIZE, RANGE, 'mean')
        self.assertEqual((nothing[0].shape, nothing[1].shape, nothing[2].max().item()), ((0, 4), (0, 3), -1))


class Segmentation(Case):
    def test_cylinder(self):
        """cylinder_dataset.__getitem__ with fixed_volume_space, and the cells that the network makes unique."""
        xyz, sig, grid = POINTS[:, :3], POINTS[:, 3], np.asarray([480, 360, 32])
        top, bottom = np.asarray([50, np.pi, 2]), np.asarray([0, -np.pi, -4])
        polar = np.stack((np.sqrt(xyz[:, 0] ** 2 + xyz[:, 1] ** 2), np.arctan2(xyz[:, 1], xyz[:, 0]), xyz[:, 2]), axis=1)
        intervals = (top - bottom) / (grid - 1)
        cells = (np.floor((np.clip(polar, bottom, top) - bottom) / intervals)).astype(int)
        centers = (cells.astype(np.float32) + 0.5) * intervals + bottom
        features = np.concatenate((polar - centers, polar, xyz[:, :2]), axis=1)
        got_cells, got, voxels = segmentation.cylinder_voxels(POINTS)
        self.same(got_cells, cells)
        self.same(got, np.concatenate((features, sig[..., np.newaxis]), axis=1))
        unique = np.unique(cells, axis=0)
        self.assertEqual(len(voxels), len(unique))
        self.same(voxels.coords[voxels.point_voxel][:, :0:-1], cells.astype(np.int32))

    def test_grid_sample(self):
        """GridSample.__call__ with a stable sort, in float64: each point, cell, inverse and draw."""
        for coord in (POINTS[:, :3] - np.float32(20), POINTS[:5000, :3].astype(float) * .2, POINTS[:1, :3]):
            scaled = coord / np.array([.05] * 3)  # float64 by any NumPy
            grid = np.floor(scaled).astype(int)
            least = grid.min(0)
            grid -= least
            key = np.uint64(14695981039346656037) * np.ones(len(grid), np.uint64)
            for axis in range(3):
                key *= np.uint64(1099511628211)
                key = np.bitwise_xor(key, grid[:, axis].astype(np.uint64))
            by_key = np.argsort(key, kind='stable')
            _, inverse, count = np.unique(key[by_key], return_inverse=True, return_counts=True)
            begin = np.cumsum(np.insert(count, 0, 0)[0:-1])
            of = np.zeros_like(inverse)
            of[by_key] = inverse
            np.random.seed(4)
            want = by_key[begin + np.random.randint(0, count.max(), count.size) % count]
            np.random.seed(4)
            found, cells, got_of, least_coord = segmentation.grid_sample(coord)
            self.same(found, want)
            self.same(cells, grid)
            self.same(got_of, of)
            self.same(least_coord, (least * np.array(.05)).reshape(1, 3))
            parts = segmentation.grid_sample(coord, mode='test')[0]
            self.assertEqual(len(parts), count.max())
            for i, part in enumerate(parts):
                self.same(part, by_key[begin + i % count])
        self.refused(ValueError, 'cells on an axis', segmentation.grid_sample, np.float64([[0, 0, 0], [1e6, 0, 0]]))

    def test_range_image(self):
        """LaserScan.do_range_projection with a stable sort."""
        points = POINTS[(POINTS[:, :3] != 0).any(1)]
        points = np.concatenate([points, points[:2000], points[2000:] * np.float32([.5, .5, .5, 1])])
        depth = np.linalg.norm(points[:, :3], 2, axis=1)
        down, fov = -25.0 / 180.0 * np.pi, abs(-25.0 / 180.0 * np.pi) + abs(3.0 / 180.0 * np.pi)
        for H, W in ((64, 2048), (32, 900)):
            x = 0.5 * (-np.arctan2(points[:, 1], points[:, 0]) / np.pi + 1.0)
            y = 1.0 - (np.arcsin(points[:, 2] / depth) + abs(down)) / fov
            x *= W
            y *= H
            x = np.maximum(0, np.minimum(W - 1, np.floor(x))).astype(np.int32)
            y = np.maximum(0, np.minimum(H - 1, np.floor(y))).astype(np.int32)
            order = np.argsort(depth, kind='stable')[::-1]
            images = [np.full((H, W), -1, np.float32), np.full((H, W, 3), -1, np.float32), np.full((H, W), -1, np.float32),
                      np.full((H, W), -1, np.int32)]
            for image, values in zip(images, (depth, points[:, :3], points[:, 3], np.arange(len(points)))):
                image[y[order], x[order]] = values[order]
            for got, want in zip(segmentation.range_image(points, H, W), [*images, x, y]):
                self.same(got, want)


if __name__ == '__main__':
    support.main()
