"""Threads, fork() and spawn: a pool, workers of a DataLoader, and objects that belong to another process."""
import multiprocessing
import os
import signal
import threading
import time
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
            for _ in range(2):
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


class Interrupts(Case):
    """Ctrl-C ends a long call of the main thread, and what it used stays usable."""

    @staticmethod
    def interrupted(function, seconds=0.1):
        """How long the call goes on after a SIGINT; None: it had ended before."""
        sent = []

        def interrupt():
            time.sleep(seconds)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)
        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            function()
            took = None
            thread.join()
            time.sleep(1)  # for the exception
        except KeyboardInterrupt:
            took = time.perf_counter() - sent[0]
        thread.join()
        return took

    def test_long_calls(self):
        points = np.random.default_rng(0).random((1000000, 3), np.float32)
        far = support.moved().copy()
        far[:, :3] = far[:, [1, 2, 0]]
        calls = {'sample': lambda threads: pcgpu.sample(points, 900000, device='cpu', threads=threads),
                 'batch': lambda threads: pcgpu.sample_batch([points, points[:99999]], 90000, device='cpu', threads=threads),
                 'neighbors': lambda threads: pcgpu.neighbors.knn(points, k=32, device='cpu', threads=threads),
                 'pairs': lambda threads: pcgpu.register_pairs([(far, support.street())] * 99, search='always', threads=threads),
                 'voxelize': lambda threads: [pcgpu.voxelize(points, .1, threads=threads) for _ in range(9999)]}
        for name, call in calls.items():
            for threads in (1, 2):
                with self.subTest(call=name, threads=threads):
                    for _ in range(3):  # another process may have the processor
                        took = self.interrupted(lambda: call(threads))
                        if took is not None and took < 0.3:
                            break
                    self.assertIsNotNone(took, 'the call is too short for this test')
                    self.assertLess(took, 0.3)
                    self.same(pcgpu.sample(support.street(), 100, threads=threads), pcgpu.sample(support.street(), 100))

    def test_handlers(self):
        """A handler that raises nothing does not end the call; another exception of one does; other threads go on."""
        points = np.random.default_rng(0).random((300000, 3), np.float32)
        seen = []

        def alarm(*_):
            raise TimeoutError('late')
        before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
        try:
            want = pcgpu.sample(points, 200000, device='cpu', threads=1)
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            self.same(pcgpu.sample(points, 200000, device='cpu', threads=1), want)
            self.assertEqual(seen, [1])
            signal.signal(signal.SIGALRM, alarm)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            self.refused(TimeoutError, 'late', pcgpu.sample, points, 200000, device='cpu', threads=1)
            other = []
            thread = threading.Thread(target=lambda: other.append(pcgpu.sample(points, 200000, device='cpu', threads=1)))
            thread.start()
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with self.assertRaises(TimeoutError):
                time.sleep(60)
            thread.join()
            self.same(other[0], want)
        finally:
            signal.signal(signal.SIGINT, before)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)


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
            for _ in range(5):
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


class Scans:
    """A data set of results."""

    def __len__(self):
        return 4

    def __getitem__(self, k):
        cloud = support.street()[1000 * k:1000 * k + 1000 - k]
        near = pcgpu.neighbors.knn(cloud[:50], k=3, threads=1)
        return {'near': near, 'voxels': pcgpu.voxelize(cloud, 0.5, (0, -40, -3, 70, 40, 1), features='nearest', threads=1),
                'sampled': pcgpu.sample(cloud, 1010, pad='repeat', full=True, threads=1),
                'picks': pcgpu.sample(cloud, 9, method='random', threads=1)}


@unittest.skipIf(torch is None, 'no PyTorch')
class Collated(Case):
    """default_collate makes of results what a call for the batch returns."""

    def test_loader(self):
        clouds = [support.street()[1000 * k:1000 * k + 1000 - k] for k in range(4)]
        voxels = pcgpu.voxelize(clouds, 0.5, (0, -40, -3, 70, 40, 1), features='nearest')
        sampled = pcgpu.sample_batch(clouds, 1010, pad='repeat', full=True)
        for workers in (0, 2):
            [got] = torch.utils.data.DataLoader(Scans(), batch_size=4, num_workers=workers)
            for name in ('features', 'coords', 'counts', 'point_voxel', 'selected', 'range', 'cells'):
                self.assertIsInstance(getattr(got['voxels'], name), torch.Tensor)
                self.same(getattr(got['voxels'], name).numpy(), getattr(voxels, name), name)
            self.assertEqual(got['voxels'].kept, voxels.kept)
            for name in ('indices', 'distances', 'coverage', 'picked'):
                self.same(getattr(got['sampled'], name).numpy(), getattr(sampled, name), name)
            self.same(got['near'].distances.numpy(), pcgpu.neighbors.knn(np.stack([c[:50] for c in clouds]), k=3).distances)
            self.same(got['picks'].numpy(), pcgpu.sample_batch(clouds, 9, method='random', pad='zero'))

    def test_results(self):
        collate, points = torch.utils.data.default_collate, support.street()
        random = pcgpu.sample(points, 5, method='random', full=True)
        self.assertIsNone(collate([random, random]).distances)
        self.assertEqual(collate([random, random]).coverage.shape, (2,))
        batch = pcgpu.sample_batch(torch.from_numpy(points[:60].reshape(3, 20, 4)), 4, full=True)
        self.assertEqual(collate([batch, batch]).indices.shape, (2, 3, 4))
        self.refused(ValueError, 'get 4 to 5 picks', collate, [random, pcgpu.sample(points, 4, full=True)])
        voxels = [pcgpu.voxelize(part, 0.5) for part in (points[:9], points[:99])]
        self.refused(ValueError, 'give range', collate, voxels)
        both = collate([voxels[0], voxels[0]])
        self.assertEqual((both.coords[:, 0].sum(), voxels[0].coords[:, 0].sum()), (len(voxels[0]), 0))


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
