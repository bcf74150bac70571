"""Threads, fork() and spawn: a pool, workers of a DataLoader, and objects that belong to another process."""
import multiprocessing
import os
import threading
import unittest

import support
from pcgpu.recipes.folder_dataset import ScanFolder
from support import Case, np, pcgpu, torch


def work(seed):
    """An answer that depends on the number, by all operations that keep threads or memory."""
    points = support.street()[seed::7]
    picks = pcgpu.sample(points, 200, threads=2)
    voxels = pcgpu.voxelize(points, 0.3, threads=2)
    result = pcgpu.register(support.moved()[seed::3], support.street()[::3], threads=2)
    return picks.tobytes() + voxels.features.tobytes() + result.transform.tobytes()


class Threads(Case):
    def test_many(self):
        """Threads of Python call at the same time, and get what one thread gets."""
        expected = [work(k) for k in range(4)]
        wrong = []

        def call(k):
            for _ in range(5):
                if work(k % 4) != expected[k % 4]:
                    wrong.append(k)

        threads = [threading.Thread(target=call, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_one_object(self):
        """An object that several threads use does one call at a time."""
        depth, camera = np.full((48, 64), 1500, np.uint16), pcgpu.Camera(60, 60, 32, 24)
        with pcgpu.Volume(0.05) as volume:
            threads = [threading.Thread(target=lambda: [volume.integrate(depth, camera, np.eye(4)) for _ in range(20)])
                       for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(volume.stats.frames, 80)

    def test_close_while_used(self):
        with pcgpu.Odometry() as odometry:
            errors = []

            def add():
                try:
                    for _ in range(20):
                        odometry.add(support.street())
                except ValueError as error:
                    errors.append(str(error))
            thread = threading.Thread(target=add)
            thread.start()
            odometry.close()
            thread.join()
        self.assertIn('this Odometry is closed', errors[0])

    def test_gil(self):
        """Another thread runs while an operation does."""
        points = np.random.default_rng(5).random((400_000, 3), np.float32)
        ticks, stop = [0], threading.Event()

        def tick():
            while not stop.is_set():
                ticks[0] += 1
        thread = threading.Thread(target=tick)
        thread.start()
        before = ticks[0]
        pcgpu.sample(points, 20_000, threads=1)
        during = ticks[0] - before
        stop.set()
        thread.join()
        self.assertGreater(during, 1000)


class Processes(Case):
    def pool(self, method):
        expected = [work(k) for k in range(6)]
        with multiprocessing.get_context(method).Pool(2) as pool:
            self.assertEqual(pool.map(work, range(6), chunksize=1), expected)
        self.assertEqual(work(0), expected[0], 'the parent works as before')

    def test_fork(self):
        self.pool('fork')

    def test_spawn(self):
        self.pool('spawn')

    def test_fork_while_threads_call(self):
        """fork() comes while other threads hold contexts and the pool."""
        expected, stop = work(1), threading.Event()

        def call():
            while not stop.is_set():
                pcgpu.voxelize(support.street()[:3000], 0.5, threads=2)
        threads = [threading.Thread(target=call) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(10):
                child = os.fork()
                if child == 0:
                    os._exit(0 if work(1) == expected else 3)
                self.assertEqual(os.waitpid(child, 0)[1], 0)
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def test_objects_stay(self):
        """An object of the parent says so in the child, can be dropped there, and works on in the parent."""
        odometry, volume = pcgpu.Odometry(), pcgpu.Volume()
        odometry.add(support.street())
        child = os.fork()
        if child == 0:
            code = 1
            try:
                odometry.add(support.moved())
            except RuntimeError as error:
                code = 0 if 'belongs to the process that made it' in str(error) else 2
            del odometry
            volume.close()
            os._exit(code if work(0) else 3)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertTrue(odometry.add(support.moved()).good)

    def test_cuda_after_fork(self):
        """A child of a process that used CUDA is refused with a sentence, and computes on the CPU."""
        if not pcgpu.devices():
            self.skipTest('no GPU')
        expected = pcgpu.sample(support.street(), 64, device='cuda')
        child = os.fork()
        if child == 0:
            code = 1
            try:
                pcgpu.sample(support.street(), 64, device='cuda')
            except RuntimeError as error:
                code = 0 if 'spawn' in str(error) else 2
            same = np.array_equal(pcgpu.sample(support.street(), 64), expected)
            os._exit(code if same else 3)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Folder(Case):
    def setUp(self):
        super().setUp()
        for k in range(6):
            pcgpu.write(self.folder / f'{k}.bin', support.street()[k::6])

    def expected(self):
        return [support.street()[k::6][pcgpu.sample(support.street()[k::6], 128)] for k in range(6)]

    def test_items(self):
        scans = ScanFolder(self.folder, 128)
        self.assertEqual(len(scans), 6)
        for k, points in enumerate(self.expected()):
            self.same(scans[k][0], points)
            self.assertEqual(scans[k][1], f'{k}.bin')

    @unittest.skipIf(torch is None, 'no PyTorch')
    def test_loader(self):
        expected = np.stack(self.expected())
        for method in ('fork', 'spawn'):
            loader = torch.utils.data.DataLoader(ScanFolder(self.folder, 128), batch_size=3, num_workers=2,
                                                 multiprocessing_context=method)
            for _ in range(2):
                batches = [points for points, _ in loader]
                self.same(torch.cat(batches).numpy(), expected, method)


if __name__ == '__main__':
    support.main()
