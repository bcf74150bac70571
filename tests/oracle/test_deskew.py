"""Sweeps that a scanner takes in a part of the time from sweep to sweep, with times in several units, against the path
of a generated drive: a room with pillars, a car on a circle, no noise of the path. tests/scene/odometry_real.sh has stamps
that jitter."""
import functools
import pathlib
import tempfile

import numpy as np

import common
from common import check, passed

COLUMNS, SWEEPS, PERIOD = 900, 12, 0.1
SPEED, TURN = 3.0, np.radians(40)
PILLARS = [(-8, 4, 1, 3), (5, -5, 1.5, 4), (9, 6, .8, 6), (-3, -7, 2, 2), (2, 7, 1, 5), (12, -2, 1.2, 3), (-12, -3, 1, 6)]
LOW, HIGH = np.array([-16, -11, -1.5]), np.array([17, 12, 5.])


def place(t):
    """Position and heading after t seconds."""
    yaw = TURN * t
    return np.stack([SPEED / TURN * np.sin(yaw) - 4, SPEED / TURN * (1 - np.cos(yaw)) - 1, 0 * yaw], -1), yaw


def ranges(origin, direction):
    inverse = 1 / np.where(np.abs(direction) < 1e-12, 1e-12, direction)
    t = np.maximum((LOW - origin) * inverse, (HIGH - origin) * inverse).min(1)
    for x, y, side, height in PILLARS:
        a = (np.array([x - side / 2, y - side / 2, -1.5]) - origin) * inverse
        b = (np.array([x + side / 2, y + side / 2, height - 1.5]) - origin) * inverse
        near, far = np.minimum(a, b).max(1), np.maximum(a, b).min(1)
        hit = (near < far) & (near > .3)
        t = np.where(hit & (near < t), near, t)
    return t


@functools.cache
def sweeps():
    """Per sweep the points and their seconds since it began."""
    out, rng = [], np.random.default_rng(0)
    since = np.repeat(np.arange(COLUMNS) / COLUMNS * PERIOD, 16)
    azimuth = np.pi - 2 * np.pi * since / PERIOD
    up = np.tile(np.radians(np.linspace(-15, 15, 16)), COLUMNS)
    ray = np.stack([np.cos(up) * np.cos(azimuth), np.cos(up) * np.sin(azimuth), np.sin(up)], -1)
    for k in range(SWEEPS):
        origin, yaw = place(k * PERIOD + since)
        c, s = np.cos(yaw), np.sin(yaw)
        world = np.stack([c * ray[:, 0] - s * ray[:, 1], s * ray[:, 0] + c * ray[:, 1], ray[:, 2]], -1)
        out.append((ray * (ranges(origin, world) + rng.normal(0, .005, len(ray)))[:, None], since))
    return out


def errors(folder, part, unit):
    """The RMSE of the positions after alignment, millimetres, of sweeps cut to `part`, with times in `unit` of a second."""
    scans = pathlib.Path(folder)
    for k, (points, since) in enumerate(sweeps()):
        keep = since < part * PERIOD
        np.c_[points[keep], since[keep] / unit].astype(np.float32).tofile(scans / f'{k:06d}.bin')
    result = common.run('odometry', '--cpu', '--deskew', 'time', '--set', 'time-column=3', '--trajectory', '-',
                        *sorted(scans.glob('*.bin')))
    poses = np.array([line.split() for line in result.stdout.decode().splitlines()], float)
    found = poses.reshape(SWEEPS, -1)[:, :12].reshape(SWEEPS, 3, 4)[:, :, 3]
    true = place(np.arange(SWEEPS) * PERIOD + part * PERIOD / 2)[0]
    a, b = found - found.mean(0), true - true.mean(0)
    U, _, Vt = np.linalg.svd(b.T @ a) # Umeyama 1991
    R = U @ np.diag([1, 1, np.linalg.det(U @ Vt)]) @ Vt
    return 1e3 * np.sqrt(((a @ R.T - b) ** 2).sum(1).mean()), result.stderr.decode()


def test_parts():
    with tempfile.TemporaryDirectory() as folder:
        for part, most, unit in ((1, 2, 1), (1, 2, 1e-3), (0.5, 6, 1e-3), (0.5, 6, 1e-6), (0.33, 4, 1), (0.33, 4, 1e-9)):
            worst, said = errors(folder, part, unit)
            check(worst < most, f'{part} of a sweep, unit {unit:g} s', f'{worst:.1f} mm, {most} wanted')
            check('known unit' not in said, f'{part} of a sweep, unit {unit:g} s', said)
    passed('a sweep in a part of its time is deskewed by its times')


def test_unknown_unit():
    with tempfile.TemporaryDirectory() as folder:
        worst, said = errors(folder, 0.5, PERIOD)
        check('degrees, and their times have no known unit' in said, 'fractions of a sweep', said)
        worst, said = errors(folder, 1, PERIOD)
        check(worst < 2 and 'known unit' not in said, 'fractions of a whole sweep', f'{worst:.1f} mm, {said}')
    passed('half a sweep without a known unit has a warning')


if __name__ == '__main__':
    test_parts()
    test_unknown_unit()
    common.finish()
