"""Returns of the carrier in a generated drive whose points are known: the roof of a low car is left out, the rings of the ground
around it, which stay in place too, are not."""
import numpy as np

import common
from common import check, find, passed, read_json, run, write_bin

HEIGHT, STEP, SCANS = .8, .5, 6
ROOF = [-.5, -.4, -.4], [.5, .4, -.3]  # from the sensor


def scan(x, rng):
    """Points of 32 beams and whether they are on the roof; a street of boxes, the sensor at x along it."""
    boxes = [([a, side * 7 - 2, -HEIGHT], [a + 2 + i % 3, side * 7 + 2, 2]) for i, a in enumerate(range(-30, 40, 6)) for side in (-1, 1)]
    boxes = [(np.array(low) - [x, 0, 0], np.array(high) - [x, 0, 0]) for low, high in boxes] + [ROOF]
    azimuth, elevation = np.meshgrid(np.arange(0, 2 * np.pi, .006), np.radians(np.linspace(-50, 15, 32)))
    rays = np.stack([np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)], -1).reshape(-1, 3)
    hits = [np.where(rays[:, 2] < 0, -HEIGHT / np.minimum(rays[:, 2], -1e-9), np.inf)]
    for low, high in boxes:
        with np.errstate(divide='ignore'):
            a, b = np.array(low) / rays, np.array(high) / rays
        near, far = np.minimum(a, b).max(1), np.maximum(a, b).min(1)
        hits.append(np.where((near < far) & (near > 0), near, np.inf))
    first, distance = np.argmin(hits, 0), np.min(hits, 0)
    seen = distance < 60
    points = rays[seen] * (distance[seen] + rng.normal(0, .01, seen.sum()))[:, None]
    return np.column_stack([points, np.zeros(len(points))]).astype(np.float32), first[seen] == len(boxes)


def main():
    with common.scratch() as folder:
        rng, roof, files = np.random.default_rng(5), [], []
        for k in range(SCANS):
            points, is_roof = scan(k * STEP, rng)
            files.append(folder / f'{k}.bin')
            write_bin(files[-1], points)
            roof.append(int(is_roof.sum()))
        near = np.linalg.norm(points[:, :3], axis=1) < 3
        check(roof[-1] < .6 * near.sum(), 'the ground has many of the near points', (roof[-1], near.sum()))
        run('register', '--cpu', *files[1::-1], '--json', folder / 'r.json')
        left_out = find(read_json(folder / 'r.json'), 'on_carrier')
        check(.9 * sum(roof[:2]) < left_out < 1.05 * sum(roof[:2]), 'a pair leaves out the roof alone', (left_out, roof[:2]))
        run('odometry', '--cpu', *files, '--trajectory', folder / 't.txt', '--json', folder / 'o.json', '-q')
        x = np.loadtxt(folder / 't.txt')[:, 3]
        check(np.abs(x - STEP * np.arange(SCANS)).max() < .02, 'a drive with a roof and rings near the sensor', x)
        passed(f'{left_out} points of {sum(roof[:2])} on the roof are left out of a pair; the drive is at most {1e3 * np.abs(x - STEP * np.arange(SCANS)).max():.1f} mm off')
    common.finish()


main()
