"""Large clouds: two samples of one made-up district, the second moved, are aligned by each method in bounded memory.

PCGPU_LARGE_PAIR  points of each cloud, default 300000
PCGPU_DEVICE      cuda: on the GPU too, which has to give the CPU's answer, digit for digit
PCGPU_METHODS     default "ndt plane"
"""
import os
import pathlib
import subprocess
import time

import numpy as np

from common import DEVICE, PROGRAM, check, fail, finish, read_json, scratch

POINTS = int(os.environ.get('PCGPU_LARGE_PAIR', '300000'))
METHODS = os.environ.get('PCGPU_METHODS', 'ndt plane').split()
DEVICES = ['cpu', 'cuda'] if DEVICE == 'cuda' else ['cpu']
MOST_BYTES = 160  # of the process on the CPU, a point of both clouds (without a sanitizer, whose memory is its own),
LEAST_BYTES = 60e6  # and for the program itself with 16 threads
SIDE = 100 * min(1., (POINTS / 3e6) ** .5)  # of the district, half of it, in metres
SANITIZED = b'__asan_init' in pathlib.Path(PROGRAM).read_bytes()
PARTS = 64  # made one after the other, so that making takes less memory than aligning


def district(count, seed):
    """Points on a rolling ground and on the walls and roofs of sixty houses, with 1 cm of noise."""
    draw = np.random.default_rng(seed)
    layout = np.random.default_rng(7)
    corners = np.concatenate([layout.uniform(-.95 * SIDE, .8 * SIDE, (60, 2)), layout.uniform(.05 * SIDE, .15 * SIDE, (60, 3))], axis=1)
    p = np.empty((count, 3))
    p[:, :2] = draw.uniform(-SIDE, SIDE, (count, 2))
    p[:, 2] = 0.8 * np.sin(p[:, 0] / 17.0) + 0.5 * np.cos(p[:, 1] / 23.0)
    on = draw.random(count) < 0.5
    house = corners[draw.integers(0, 60, on.sum())]
    where = draw.random((on.sum(), 3))
    face = draw.integers(0, 5, on.sum())
    for side in range(4):
        where[face == side, side % 2] = side // 2
    where[face == 4, 2] = 1.0
    p[on] = np.concatenate([house[:, :2], np.zeros((on.sum(), 1))], axis=1) + where * house[:, 2:]
    return p + draw.normal(0, 0.01, p.shape)


def write(path, seed, R, t):
    with open(path, 'wb') as f:
        for part in range(PARTS):
            count = POINTS * (part + 1) // PARTS - POINTS * part // PARTS
            p = np.zeros((count, 4), '<f4')
            p[:, :3] = district(count, [seed, part]) @ R.T + t
            p.tofile(f)


def align(device, method, folder):
    """The result, seconds, and the largest size of the process in bytes."""
    words = [PROGRAM, 'register', '--device', device, '--method', method, '--threads', '16', '--json', 'report', '--force', 'source.bin',
             'target.bin']
    begin = time.monotonic()
    child = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.monotonic() - begin
    if os.waitstatus_to_exitcode(status) != 0:
        fail(' '.join(words), errors.decode())
    return read_json(os.path.join(folder, 'report')), seconds, 1024 * usage.ru_maxrss


ANGLE = np.radians(1.5)
R = np.array([[np.cos(ANGLE), -np.sin(ANGLE), 0], [np.sin(ANGLE), np.cos(ANGLE), 0], [0, 0, 1]])
T = np.array([.6, -.4, .1])
with scratch() as folder:
    write(os.path.join(folder, 'target.bin'), 1, np.eye(3), np.zeros(3))
    write(os.path.join(folder, 'source.bin'), 2, R, T)
    for method in METHODS:
        results = []
        for device in DEVICES:
            report, seconds, size = align(device, method, folder)
            result = report['result']
            got = np.array(result['T_target_source']).reshape(4, 4)
            off = np.abs(got[:3, 3] + R.T @ T).max()
            turn = np.degrees(np.arccos(min(1., (np.trace(got[:3, :3] @ R) - 1) / 2)))
            print(f'{method} on {device}: 2 x {POINTS} points, {seconds:.2f} s whole, registration '
                  f'{sum(v for k, v in report["seconds"].items() if k not in ("read", "write", "total")):.3f} s, '
                  f'{size / 1e6:.0f} MB; {1e3 * off:.3f} mm, {turn:.5f} degree off', flush=True)
            check(report['backend'] == device, f'{method} runs on {device}', report['backend'])
            check(result['converged'] and off < 2e-3 and turn < 5e-3, f'{method} on {device} finds the motion')
            check(device != 'cpu' or SANITIZED or size < LEAST_BYTES + 2 * POINTS * MOST_BYTES, f'{method} in bounded memory', str(size))
            results.append(result)
        check(all(r == results[0] for r in results), f'{method}: CUDA returns what the CPU does')
finish()
