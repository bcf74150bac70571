"""The ground of rendered scenes beside Patchwork++ (pypatchworkpp, with the true height of the sensor). Argument: the
program `ground` of tests/scene. F1 is not below that of Patchwork++ by more than 0.001 in any scene of a sensor."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from common import check, finish, part_skipped, passed

HEIGHTS = {'32': 1.84, 'solid': 1.0, 'robot': 0.5, 'indoor': 0.5}


def f1(got, want):
    return 2 * (got & want).sum() / max(1, got.sum() + want.sum())


def patchwork(points, height):
    parameters = pypatchworkpp.Parameters()
    parameters.sensor_height = height
    parameters.enable_RNR = False  # it needs intensities
    peer = pypatchworkpp.patchworkpp(parameters)
    peer.estimateGround(np.c_[points, np.full(len(points), 0.5)].astype('f4'))
    ground = np.zeros(len(points), bool)
    ground[np.asarray(peer.getGroundIndices())] = True
    return ground


def compare(folder):
    subprocess.run([sys.argv[1], folder], check=True, stdout=subprocess.DEVNULL)
    for path in sorted(pathlib.Path(folder).glob('*.bin')):
        if path.stem == 'hill':  # from an aircraft
            continue
        records = np.fromfile(path, '<f4').reshape(-1, 5)
        want, got = records[:, 3] > 0, records[:, 4] > 0
        height = next((h for part, h in HEIGHTS.items() if part in path.stem), 1.73)
        ours, theirs = f1(got, want), f1(patchwork(records[:, :3], height), want)
        check(ours >= theirs - 0.001, path.stem, f'F1 {ours:.4f}, of Patchwork++ {theirs:.4f}')
        passed(f'{path.stem}: F1 {ours:.4f}, of Patchwork++ {theirs:.4f}')


try:
    import pypatchworkpp
except ImportError as error:
    part_skipped('ground', f'no pypatchworkpp: {error}')
else:
    with tempfile.TemporaryDirectory() as work:
        compare(work)
finish()
