"""filters.py BUILD [cuda]: pcgpu filter beside Open3D, Patchwork++, scikit-learn and SciPy, where they are installed, on one core:
outliers, normals, ground and clusters of a KITTI scan, and outliers of larger clouds of the same street. Results are compared before a
time is printed. Times of pcgpu are those of the whole operation in memory, by --json, the least of five processes; of the others the
least of three calls. With cuda: pcgpu on the GPU beside itself on all cores."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

os.environ.update(OMP_NUM_THREADS='1', OPENBLAS_NUM_THREADS='1')  # before the packages that read them
import numpy as np  # noqa: E402
from bench import KITTI, SOURCE, operation, peer  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]) / 'cmd/pcgpu'
CUDA = sys.argv[2:] == ['cuda']


def ours(path, *options, device=('--cpu', '--threads', '1'), runs=5):
    """The array that is written, and the least seconds of the steps."""
    with tempfile.TemporaryDirectory() as folder:
        seconds = []
        for _ in range(runs):
            subprocess.run([PROGRAM, 'filter', '-q', '-f', path, '-o', f'{folder}/o.npy', '--json', f'{folder}/o.json', *device, *options],
                           check=True, env={**os.environ, 'OMP_NUM_THREADS': '0'})
            seconds.append(operation(json.loads(pathlib.Path(f'{folder}/o.json').read_text())))
        return np.load(f'{folder}/o.npy'), min(seconds)


def least(call, runs=3):
    seconds = []
    for _ in range(runs):
        begin = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - begin)
    return result, min(seconds)


def row(what, mine, name, theirs, good):
    if not good:
        sys.exit(f'FAIL: {what}: the result differs from that of {name}')
    print(f'{what:44} pcgpu {1e3 * mine:9.2f} ms   {name} {1e3 * theirs:9.2f} ms   {theirs / mine:6.2f} x', flush=True)


def one_core(path, points):
    xyz = points[:, :3].astype('f8')
    open3d, cluster, spatial = peer('open3d'), peer('sklearn.cluster'), peer('scipy.spatial')
    patchwork = peer('pypatchworkpp')
    left, seconds = ours(path, '--outliers', '20,2')
    if open3d:
        cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(xyz))
        (_, kept), theirs = least(lambda: cloud.remove_statistical_outlier(21, 2.0))
        row('outliers, k 20', seconds, 'Open3D', theirs, np.array_equal(left, points[np.sort(kept)]))
    if spatial:
        tree = spatial.cKDTree(xyz)
        means = tree.query(xyz, 21)[0][:, 1:].mean(1)
        _, theirs = least(lambda: spatial.cKDTree(xyz).query(xyz, 21))
        row('outliers, k 20', seconds, 'SciPy', theirs, len(left) == (means <= means.mean() + 2 * means.std(ddof=1)).sum())
    same = np.concatenate([points, np.repeat(points[:1], 200000 - len(points), 0)]).astype('f4')
    (path.parent / 'same.bin').write_bytes(same.tobytes())
    _, equal = ours(path.parent / 'same.bin', '--outliers', '20,2')
    row('200,000 points, 79,732 of them equal', equal, 'as many others', seconds * 200000 / len(points), True)
    with_normals, seconds = ours(path, '--normals', '16')
    if open3d:
        _, theirs = least(lambda: cloud.estimate_normals(open3d.geometry.KDTreeSearchParamKNN(16)))
        error = np.linalg.norm(np.cross(with_normals[:, -4:-1], np.asarray(cloud.normals)), axis=1)
        row('normals, k 16', seconds, 'Open3D', theirs, np.quantile(error[with_normals[:, -1] < 0.01], 0.999) < 1e-5)
    labelled, seconds = ours(path, '--ground', '--label')
    if patchwork:
        params = patchwork.Parameters()
        params.verbose = False
        estimator = patchwork.patchworkpp(params)
        _, theirs = least(lambda: estimator.estimateGround(points))
        ground = np.isin(np.arange(len(points)), estimator.getGroundIndices())
        row('ground', seconds, 'patchworkpp', theirs, ((labelled[:, -1] == 2) == ground).mean() > 0.9)
    above = points[points[:, 2] > -1.3]
    (path.parent / 'above.bin').write_bytes(above.tobytes())
    ids, seconds = ours(path.parent / 'above.bin', '--clusters', '0.5')
    if cluster:
        labels, theirs = least(lambda: cluster.DBSCAN(0.5, min_samples=1).fit(above[:, :3].astype('f8')).labels_, 1)
        pairs = np.unique(np.column_stack([ids[:, -1], labels]), axis=0)
        row(f'clusters of {len(above)} points, 0.5 m', seconds, 'scikit-learn', theirs, len(pairs) == labels.max() + 1 == ids[:, -1].max() + 1)


def on_gpu(path, points):
    for count in (len(points), 1000000, 10000000):
        rng, copies = np.random.default_rng(1), -(-count // len(points))
        cloud = np.concatenate([points + np.float32([200 * k, 0, 0, 0]) for k in range(copies)])[:count].astype('f4')
        cloud[:, :3] += rng.normal(0, 0.002, (count, 3)).astype('f4')
        (path.parent / 'large.bin').write_bytes(cloud.tobytes())
        runs = 5 if count < 5e6 else 2
        for what, options in (('outliers, k 20', ('--outliers', '20,2')), ('normals, k 16', ('--normals', '16'))):
            if what.startswith('outliers') or count < 5e6:
                a, cpu = ours(path.parent / 'large.bin', *options, device=('--cpu',), runs=runs)
                b, gpu = ours(path.parent / 'large.bin', *options, device=('--cuda',), runs=runs)
                row(f'{what}, {count} points', gpu, 'all cores', cpu, a.tobytes() == b.tobytes())


def main():
    scan = KITTI if KITTI.exists() else SOURCE / 'testdata/street.bin'
    points = np.fromfile(scan, '<f4').reshape(-1, 4)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / 'scan.bin'
        path.write_bytes(points.tobytes())
        (on_gpu if CUDA else one_core)(path, points)


main()
