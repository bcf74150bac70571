"""pcgpu.filter gives what the program writes; masks, kinds of arrays, errors."""
import unittest

from support import STREET, Case, main, np, pcgpu, run, street, torch

filters = pcgpu.filter


class Filters(Case):
    def written(self, *options):
        run('filter', '-q', '-f', STREET, '-o', self.folder / 'o.npy', *options)
        return np.load(self.folder / 'o.npy')

    def test_program(self):
        points = street()
        self.same(points[filters.outliers(points)], self.written('--outliers', '20,2'))
        self.same(points[filters.sparse(points, 0.5, 6, threads=1)], self.written('--radius', '0.5,6'))
        self.same(points[~filters.ground(points)], self.written('--ground'))
        stays = filters.outliers(points)
        self.same(points[filters.ground(points, mask=stays, threads=1)], self.written('--outliers', '20,2', '--ground', '--keep', 'ground'))
        normals, curvatures = filters.normals(points, 12, 0.5)
        got = self.written('--normals', '12', '--set', 'normal-radius=0.5')
        self.same(np.column_stack([normals, curvatures]), got[:, 4:])
        for core in (1, 5):
            ids = filters.clusters(points, 0.4, core=core, least=3, most=4000)
            got = self.written('--clusters', '0.4,3,4000', '--set', f'core-points={core}', '--label')
            self.same(ids, got[:, -1].astype(np.int32))

    def test_masks(self):
        """A record that takes no part is as one that is not there."""
        points = street()[:5000].copy()
        points[7, 1] = np.nan
        part = np.arange(5000) % 3 != 0
        rest = points[part]
        self.same(filters.outliers(points, mask=part)[part], filters.outliers(rest))
        self.assertFalse(filters.outliers(points, mask=part)[~part].any() or filters.sparse(points, 9, 0)[7])
        self.same(filters.sparse(points, 0.5, 4, mask=part)[part], filters.sparse(rest, 0.5, 4))
        self.same(filters.ground(points, mask=part)[part], filters.ground(rest))
        self.assertFalse(filters.ground(points, mask=part)[~part].any() or filters.ground(points)[7])
        self.assertGreater(filters.ground(points, tolerance=0.3).sum(), filters.ground(points, tolerance=0.03).sum())
        self.same(filters.normals(points, mask=part).normals[part], filters.normals(rest).normals)
        self.same(filters.clusters(points, mask=part)[part], filters.clusters(rest))
        self.assertTrue((filters.clusters(points, mask=part)[~part] == -1).all())
        for away in (1e6, -1e6):
            up = filters.normals(points, viewpoint=(0, 0, away)).normals[:, 2]
            self.assertTrue((up[np.abs(up) > 1e-3] * away > 0).all())

    def test_arrays(self):
        cloud = pcgpu.read(STREET)
        far = pcgpu.Cloud(cloud.points, offset=(5e5, 5e6, 0))
        self.same(filters.outliers(cloud), filters.outliers(cloud.points))
        self.same(filters.clusters(far), filters.clusters(cloud.points))
        self.assertFalse((filters.ground(far) == filters.ground(cloud)).all())  # a tile, since no sensor is at the origin
        self.same(filters.normals(far, viewpoint=(5e5, 5e6, 0)).normals, filters.normals(cloud).normals)
        self.assertEqual(len(cloud[filters.sparse(cloud, 0.5, 6)]), filters.sparse(cloud, 0.5, 6).sum())
        for empty in (np.empty((0, 4), np.float32), np.full((3, 3), np.nan, np.float32)):
            self.assertFalse(filters.outliers(empty).any() or filters.ground(empty).any() or filters.normals(empty).normals.any() or (filters.clusters(empty) >= 0).any())
        self.refused(ValueError, 'bool', filters.outliers, cloud, mask=np.ones(5, bool))
        self.refused(ValueError, 'bool', filters.outliers, cloud, mask=np.ones(len(cloud)))
        self.refused(ValueError, 'neighbours', filters.outliers, cloud, 128)
        self.refused(ValueError, 'normals of 2', filters.normals, cloud, 2)
        self.refused(ValueError, 'a slope of 0', filters.ground, cloud, slope=0)
        self.refused(ValueError, 'bool', filters.ground, cloud, mask=np.ones(5, bool))
        self.refused(ValueError, 'clusters of', filters.clusters, cloud, least=4, most=2)
        self.refused(ValueError, 'radius', filters.sparse, cloud, -1, 3)

    @unittest.skipUnless(torch, 'no PyTorch')
    def test_tensors(self):
        points = street()[:20000]
        for device in ['cpu'] + ['cuda'] * torch.cuda.is_available():
            tensor = torch.from_numpy(points).to(device)
            found = [filters.outliers(tensor), filters.sparse(tensor, 0.5, 6), *filters.normals(tensor), filters.clusters(tensor),
                     filters.ground(tensor)]
            want = [filters.outliers(points), filters.sparse(points, 0.5, 6), *filters.normals(points), filters.clusters(points),
                    filters.ground(points)]
            for got, expected in zip(found, want):
                self.assertEqual(got.device.type, device)
                self.same(got.cpu().numpy(), expected)
            self.assertEqual(tensor[found[0]].device.type, device)
            tensor[5, 1] = torch.nan
            part = torch.arange(len(points), device=device) % 3 != 0
            for call, *values in ((filters.outliers, 20, 1.0), (filters.sparse, 0.5, 6), (filters.sparse, 0.5, 0)):
                for mask in (part, part.cpu().numpy()):
                    got = call(tensor, *values, mask=mask)
                    self.same(got.cpu().numpy(), call(tensor.cpu().numpy(), *values, mask=part.cpu().numpy()))
                self.assertFalse(got[5] or got[~part].any())
                self.refused(ValueError, 'bool', call, tensor, *values, mask=part[:5])
                self.refused(ValueError, 'bool', call, tensor, *values, mask=part.float())
            self.refused(ValueError, 'neighbours', filters.outliers, tensor, 128)
            self.refused(ValueError, 'radius', filters.sparse, tensor, -1, 3)
            self.assertEqual(len(filters.outliers(tensor[:0])), 0)
            tensor[5, 1] = 0


if __name__ == '__main__':
    main()
