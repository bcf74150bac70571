"""Reading and writing: paths, file objects, formats, and what stays as it was."""
import io
import os
import pathlib

import support
from support import STREET, Case, np, pcgpu

POINTS = support.street()[:500]


class Files(Case):
    def test_formats(self):
        cloud = pcgpu.Cloud(POINTS)
        for name in ('a.bin', 'a.ply', 'a.pcd', 'a.npy'):
            for target in (self.folder / name, str(self.folder / name)):
                pcgpu.write(target, cloud)
                self.same(pcgpu.read(target).points, POINTS, name)
        self.same(np.load(self.folder / 'a.npy'), POINTS)
        self.same(np.fromfile(self.folder / 'a.bin', '<f4').reshape(-1, 4), POINTS)
        pcgpu.write(self.folder / 'any', POINTS, format='ply')
        self.same(pcgpu.read(self.folder / 'any').points, POINTS)
        with self.assertLogs('pcgpu') as logged:
            self.assertEqual(pcgpu.read(STREET, fields=5).points.shape, (48000, 5))
        self.assertIn('give fields 4', logged.output[0], 'messages name parameters, not options')
        for name in ('a.las', 'a.xyz', 'a.csv'):
            pcgpu.write(self.folder / name, cloud)
            self.assertLess(np.abs(pcgpu.read(self.folder / name).xyz() - POINTS[:, :3]).max(), 1e-3, name)
        np.savez(self.folder / 'a.npz', first=POINTS, second=POINTS[::2], other=np.arange(3))
        self.same(pcgpu.read(self.folder / 'a.npz', array='second').points, POINTS[::2])
        self.refused(ValueError, '', pcgpu.read, self.folder / 'a.npz')

    def test_times(self):
        times = 1665398765.123456 + np.arange(500) / 1e5
        np.save(self.folder / 't.npy', np.rec.fromarrays([*POINTS[:, :3].T, times], names='x,y,z,stamp'))
        cloud = pcgpu.read(self.folder / 't.npy')
        self.assertEqual(cloud.first, (0.0, 0.0, 0.0, times[0]))
        for part in cloud, cloud[:], cloud.transform(np.eye(4)):
            self.assertLess(np.abs(part.first[3] + part.column('stamp').astype(float) - times).max(), 1e-6)
        pcgpu.write(self.folder / 't.ply', cloud)
        self.same(pcgpu.read(self.folder / 't.ply').column('stamp'), cloud.column('stamp'))

    def test_laz(self):
        try:
            import laspy
        except ImportError:
            self.skipTest('laspy is not installed')
        if not laspy.LazBackend.detect_available():
            self.skipTest('laspy has no backend for .laz')
        made = laspy.LasData(laspy.LasHeader(point_format=3, version='1.2'))
        made.x, made.y, made.z = POINTS[:, :3].T.astype(float)
        made.intensity = np.arange(len(POINTS))
        made.write(str(self.folder / 'a.laz'))
        self.same(pcgpu.read(self.folder / 'a.laz').column('intensity'), np.arange(len(POINTS)).astype('<f4'))

    def test_file_objects(self):
        for form in ('bin', 'ply', 'pcd', 'npy'):
            memory = io.BytesIO()
            pcgpu.write(memory, POINTS, format=form)
            memory.seek(0)
            self.same(pcgpu.read(memory, format=form).points, POINTS, form)
        memory = io.BytesIO()
        pcgpu.write(memory, POINTS)
        self.assertEqual(memory.getvalue(), POINTS.tobytes())
        with open(STREET, 'rb') as stream:
            self.same(pcgpu.read(stream).points, support.street())
        with open(support.TESTDATA / 'room/frame-000000.png', 'rb') as stream:
            self.assertEqual(pcgpu.read_depth(stream).shape, (480, 640))
        with open(STREET, encoding='latin-1') as stream:
            self.refused(TypeError, "mode 'rb'", pcgpu.read, stream)
        self.refused(ValueError, '', pcgpu.read, io.BytesIO(b''), format='ply')

    def test_pipe(self):
        ends = os.pipe()
        with os.fdopen(ends[1], 'wb') as into:
            into.write(POINTS[:9].tobytes())
        with os.fdopen(ends[0], 'rb') as out:
            self.same(pcgpu.read(out, format='bin').points, POINTS[:9])

    def test_ply_types(self):
        """Columns keep their names and types from file to file."""
        from_file = pcgpu.Cloud(np.hstack([POINTS[:, :3], np.float32(POINTS[:, 3:] * 100).round()]),
                                ['x', 'y', 'z', 'red'], types=['float32'] * 3 + ['uint8'])
        pcgpu.write(self.folder / 'a.ply', from_file)
        self.assertIn(b'property uchar red', (self.folder / 'a.ply').read_bytes())
        back = pcgpu.read(self.folder / 'a.ply')
        self.assertEqual((back.columns, back.types), (from_file.columns, from_file.types))
        pcgpu.write(self.folder / 'b.ply', back[::2])
        self.assertEqual(pcgpu.read(self.folder / 'b.ply').types, back.types)

    def test_far(self):
        far = POINTS.astype(np.float64)
        far[:, :3] += (400_000.25, 5_000_000.5, 100)
        np.save(self.folder / 'far.npy', far)
        cloud = pcgpu.read(self.folder / 'far.npy')
        self.same(cloud.points, pcgpu.Cloud(far).points)
        self.assertEqual(cloud.offset, pcgpu.Cloud(far).offset)
        pcgpu.write(self.folder / 'far.ply', cloud)
        again = pcgpu.read(self.folder / 'far.ply')
        self.assertLess(np.abs(again.xyz() - far[:, :3]).max(), 1e-4)

    def test_replace(self):
        """A file is replaced when its successor is complete; a link stays a link; nothing else is left."""
        real, link = self.folder / 'real.bin', self.folder / 'link.bin'
        real.write_bytes(b'old')
        link.symlink_to(real)
        pcgpu.write(link, POINTS)
        self.assertTrue(link.is_symlink())
        self.assertEqual(real.read_bytes(), POINTS.tobytes())
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ['link.bin', 'real.bin'])
        with self.assertRaises(ValueError):
            pcgpu.write(real, np.zeros((5, 99), np.float32))
        self.assertEqual(real.read_bytes(), POINTS.tobytes())
        os.chdir(self.folder)
        pcgpu.write('here.bin', POINTS)
        self.assertTrue(pathlib.Path('here.bin').exists())
        os.chdir('/')

    def test_mesh(self):
        vertices = pcgpu.Cloud(np.float32([[0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1], [0, 1, 0, 0, 0, 1]]),
                               ['x', 'y', 'z', 'nx', 'ny', 'nz'])
        pcgpu.write(self.folder / 'm.ply', pcgpu.Mesh(vertices, np.int32([[0, 1, 2]])))
        self.same(pcgpu.read(self.folder / 'm.ply').points, vertices.points)
        for name, magic in (('m.obj', b'v '), ('m.glb', b'glTF')):
            pcgpu.write(self.folder / name, pcgpu.Mesh(vertices, np.int32([[0, 1, 2]])))
            self.assertIn(magic, (self.folder / name).read_bytes())
        vertices.up = '-y'
        pcgpu.write(self.folder / 'up.ply', vertices[:2])
        self.assertEqual(pcgpu.read(self.folder / 'up.ply').up, '-y')
        vertices.up = 'sky'
        self.refused(ValueError, "up is another than 'x'", pcgpu.write, self.folder / 'up.ply', vertices)
        vertices.up = None
        self.refused(ValueError, 'the vertex 3 of 3', pcgpu.write, self.folder / 'n.ply',
                     pcgpu.Mesh(vertices, np.int32([[0, 1, 3]])))

    def test_descriptors(self):
        """No call leaves a descriptor open."""
        count = len(os.listdir('/proc/self/fd'))
        for k in range(20):
            pcgpu.write(self.folder / 'a.ply', POINTS)
            pcgpu.read(self.folder / 'a.ply')
            with self.assertRaises(ValueError):
                pcgpu.read(STREET, format='ply')
            with self.assertRaises(ValueError):
                pcgpu.write(self.folder / 'a.unknown', POINTS)
        self.assertEqual(len(os.listdir('/proc/self/fd')), count)

    def test_memory(self):
        """Calls and objects give their memory back."""
        def resident():
            return int(pathlib.Path('/proc/self/statm').read_text().split()[1]) * 4096

        def work():
            pcgpu.voxelize(support.street(), 0.1)
            pcgpu.sample(support.street(), 100)
            pcgpu.read(STREET)
            with pcgpu.Odometry(threads=1) as odometry:
                odometry.add(POINTS)
            pcgpu.Volume(0.1, threads=1)
            for call in (lambda: pcgpu.voxelize(POINTS, -1), lambda: pcgpu.Odometry(method='ndt', levels=99)):
                with self.assertRaises(ValueError):
                    call()
        for _ in range(30):
            work()
        before = resident()
        for _ in range(120):
            work()
        self.assertLess(resident() - before, 20e6)


if __name__ == '__main__':
    support.main()
