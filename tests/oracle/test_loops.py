"""test_loops.py DRIVE: odometry --loops against the truth, and its pose graph, from its files, against a dense solution in NumPy, and
against Open3D's global optimization where that is installed. Two rounds of a block, rendered by DRIVE (tests/scene/drive.c), with
beams that are off by so much that the kernel of some loops has an effect.

The graph is made of what the program writes: steps from the trajectory without --loops, loops from --json. Weights are those of
LOOPS in pcgpu-methods(7)."""
import json
import subprocess
import sys

import numpy as np

import common
from common import check, passed, part_skipped
from test_maps import Points

FRAMES, VOXEL, KERNEL = 110, 0.25, 3.0
MAP_VOXEL = 1.0
CLOSE = 5e-5, 3e-6  # metres, radians: with a kernel, iterations end linearly
CLOSE_OPEN3D = 1e-4, 1e-5  # its residual has other angles


def read_poses(path):
    poses = np.loadtxt(path).reshape(-1, 3, 4)
    return np.concatenate([poses, np.tile([[[0, 0, 0, 1.0]]], (len(poses), 1, 1))], axis=1)


def make_graph(odometry, loops):
    """from, to, T_from_to, the standard deviations of its six residuals, and its kernel, of all edges."""
    chain = np.linalg.inv(odometry[:-1]) @ odometry[1:]
    path = np.linalg.norm(chain[:, :3, 3], axis=1)
    sigma = np.column_stack([np.sqrt(2e-5**2 + 2.5e-4**2 * path / (4 * VOXEL)), np.sqrt((0.004 * VOXEL)**2 + 0.02**2 * VOXEL * path)])
    n, m = len(chain), len(loops)
    return {'from': np.concatenate([np.arange(n), [loop['from'] for loop in loops]]),
            'to': np.concatenate([np.arange(1, n + 1), [loop['to'] for loop in loops]]),
            'T': np.concatenate([chain, np.array([loop['T_from_to'] for loop in loops]).reshape(-1, 4, 4)]),
            'sigma': np.repeat(np.concatenate([sigma, np.tile([1e-3, 0.2 * VOXEL], (m, 1))]), 3, axis=1),
            'kernel': np.repeat([np.inf, KERNEL], [n, m])}


def residuals(graph, source, target):
    """Of all edges, in standard deviations: 2 sin(angle / 2) along the axis, and the translation."""
    E = np.linalg.inv(graph['T']) @ np.linalg.inv(source) @ target
    axis = np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)  # 2 sin(angle)
    half = 0.5 * np.sqrt(np.trace(E, axis1=1, axis2=2))  # cos(angle / 2)
    return np.concatenate([axis / (2 * half[:, None]), E[:, :3, 3]], axis=1) / graph['sigma']


def weights(graph, r):
    length = np.maximum(np.linalg.norm(r, axis=1), 1e-300)
    return np.minimum(1.0, graph['kernel'] / length)


def cost(graph, poses):
    r = residuals(graph, poses[graph['from']], poses[graph['to']])
    square, k = np.sum(r**2, axis=1), graph['kernel']
    return np.sum(np.where(square > k**2, 2 * np.where(np.isinf(k), 0, k) * np.sqrt(square) - np.where(np.isinf(k), 0, k)**2, square))


def moved(poses, v):
    """poses * exp(v), by the series of the exponential."""
    X = np.zeros((len(poses), 4, 4))
    X[:, [2, 0, 1], [1, 2, 0]], X[:, [1, 2, 0], [2, 0, 1]] = v[:, :3], -v[:, :3]
    X[:, :3, 3] = v[:, 3:]
    total = term = np.tile(np.eye(4), (len(poses), 1, 1))
    for k in range(1, 20):
        term = term @ X / k
        total = total + term
    return poses @ total


def solve_dense(graph, poses, steps=40):
    """Gauss-Newton with derivatives by differences and one dense matrix; the first pose is fixed."""
    n, h = len(poses), 1e-6
    for _ in range(steps):
        ends = poses[graph['from']], poses[graph['to']]
        r = residuals(graph, *ends)
        J = np.zeros((len(r), 6, 12))
        for k in range(12):
            d = np.zeros((len(r), 6))
            d[:, k % 6] = h
            sides = [residuals(graph, moved(ends[0], s * d) if k < 6 else ends[0], ends[1] if k < 6 else moved(ends[1], s * d))
                     for s in (1, -1)]
            J[:, :, k] = (sides[0] - sides[1]) / (2 * h)
        w = weights(graph, r)
        H, b = np.zeros((6 * n, 6 * n)), np.zeros(6 * n)
        for i in range(len(r)):
            at = np.concatenate([6 * graph['from'][i] + np.arange(6), 6 * graph['to'][i] + np.arange(6)])
            H[np.ix_(at, at)] += w[i] * J[i].T @ J[i]
            b[at] -= w[i] * J[i].T @ r[i]
        step = np.concatenate([np.zeros(6), np.linalg.solve(H[6:, 6:], b[6:])]).reshape(n, 6)
        poses = moved(poses, step)
        if np.abs(step).max() < 1e-8:
            break
    return poses


def solve_open3d(open3d, graph, poses, w):
    """Without a kernel: the information of an edge is multiplied by its weight at the solution, which has the same minimum."""
    r = open3d.pipelines.registration
    g = r.PoseGraph()
    for T in poses:
        g.nodes.append(r.PoseGraphNode(T))
    for i in range(len(graph['T'])):
        information = np.diag(w[i] / graph['sigma'][i]**2)
        g.edges.append(r.PoseGraphEdge(int(graph['to'][i]), int(graph['from'][i]), graph['T'][i], information, False))
    criteria = r.GlobalOptimizationConvergenceCriteria()
    criteria.max_iteration = 200
    criteria.min_relative_increment = criteria.min_relative_residual_increment = criteria.min_right_term = 1e-12
    option = r.GlobalOptimizationOption(1.0, 0.0, 1.0, 0)
    r.global_optimization(g, r.GlobalOptimizationLevenbergMarquardt(), criteria, option)
    return np.array([node.pose for node in g.nodes])


def difference(a, b):
    """The largest distance and angle between poses."""
    E = np.linalg.inv(a) @ b
    turn = np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)
    return np.linalg.norm(a[:, :3, 3] - b[:, :3, 3], axis=1).max(), 0.5 * np.linalg.norm(turn, axis=1).max()


def ate(folder, name):
    table = common.run('evaluate', folder / name, '--ground-truth', folder / 'poses.txt', '--json', '-').stdout
    return json.loads(table)['evaluation']['ate_rmse']


def check_map(folder, poses):
    """The map has a point per voxel of the scans at the corrected poses."""
    cells = [np.floor(Points.in_world(common.read_bin(folder / f'{i:06d}.bin'), T, MAP_VOXEL)) for i, T in enumerate(poses)]
    count = len(np.unique(np.concatenate(cells), axis=0))
    check(len(common.read_ply(folder / 'map.ply')) == count, 'voxels of the map', count)
    passed(f'{count} voxels of the map of corrected poses')


def solved_by_program(drive, folder):
    subprocess.run([drive, '--frames', str(FRAMES), '--step', '2.5', '--steps', '150', '--seed', '5', '--beams-off', '2.5',
                    folder], check=True)
    scans = sorted(folder.glob('*.bin'))
    options = ['odometry', '--set', 'model-range=20', '--voxel-size', VOXEL, '--beam-correction', '0', '--set', 'keep-carrier', *scans]
    common.run(*options, '--trajectory', folder / 'odometry.txt')
    said = common.run(*options, '--trajectory', folder / 'loops.txt', '--loops', '--json', folder / 'loops.json', '-v',
                      '--map-voxel', MAP_VOXEL, '--set', 'keep-moving', '-o', folder / 'map.ply').stderr
    lines = [json.loads(line) for line in (folder / 'loops.json').read_text().splitlines()]
    closure = next(line['loop_closure'] for line in lines if 'loop_closure' in line)
    check(said.count(b'sees the place of') == len(closure['loops']), '-v and --json list the same loops')
    return read_poses(folder / 'odometry.txt'), read_poses(folder / 'loops.txt'), closure


def check_truth(folder, loops):
    """The errors get smaller, and each pair of scans is a round apart and of one place."""
    before, after = ate(folder, 'odometry.txt'), ate(folder, 'loops.txt')
    check(0 < after < 0.8 * before, 'loops help', f'ATE {after} m, without loops {before} m')
    there = read_poses(folder / 'poses.txt')[:, :2, 3]
    for loop in loops:
        apart = np.linalg.norm(there[loop['from']] - there[loop['to']])
        check(apart < 25 and loop['to'] - loop['from'] >= 60, 'a loop of one place', (loop['from'], loop['to'], apart))
    passed(f'ATE {before:.2f} m, with loops {after:.2f} m; all loops are of one place')


def main(drive):
    with common.scratch() as folder:
        odometry, corrected, closure = solved_by_program(drive, folder)
        loops = closure['loops']
        check_truth(folder, loops)
        check_map(folder, corrected)
    check(len(loops) >= 4 and closure['converged'], 'loops', len(loops))
    graph = make_graph(odometry, loops)
    dense = solve_dense(graph, odometry.copy())
    metres, radians = difference(odometry, dense)
    check(metres > 0.2, 'the loops move the poses', f'{metres} m')  # else nothing was to do
    check(abs(metres - closure['moved']) < 0.01 * metres, 'how far --json says that poses moved', f'{closure["moved"]}, not {metres}')
    w = weights(graph, residuals(graph, dense[graph['from']], dense[graph['to']]))
    check((w < 1).any(), 'the kernel has an effect')
    off = difference(corrected, dense)
    check(off[0] < CLOSE[0] and off[1] < CLOSE[1], 'poses of the dense solution', f'{off[0]} m, {off[1]} rad off')
    costs = [cost(graph, poses) for poses in (odometry, corrected, dense)]
    check(costs[2] < 0.5 * costs[0] and costs[1] < costs[2] * (1 + 1e-5), 'the cost is the least', costs)
    passed(f'{len(loops)} loops move {len(dense)} poses by up to {metres:.3f} m; {1e6 * off[0]:.3f} um and {1e6 * off[1]:.4f} urad from'
           f' the dense solution; cost {costs[0]:.1f} to {costs[1]:.6f}, {(w < 1).sum()} loops beyond the kernel')
    for loop, length in zip(loops, np.linalg.norm((residuals(graph, corrected[graph['from']], corrected[graph['to']]) *
                                                   graph['sigma']).reshape(-1, 2, 3), axis=2)[-len(loops):]):
        check(np.allclose([loop['residual_radians'], loop['residual_metres']], length, atol=1e-9), 'residuals of loops', (loop, length))
    passed('the residuals in --json')
    try:
        import open3d
    except ImportError:
        part_skipped('Open3D', 'it is not installed')
        return
    off = difference(corrected, solve_open3d(open3d, graph, odometry, w))
    check(off[0] < CLOSE_OPEN3D[0] and off[1] < CLOSE_OPEN3D[1], "poses of Open3D's solution", f'{off[0]} m, {off[1]} rad off')
    passed(f"{1e6 * off[0]:.1f} um and {1e6 * off[1]:.2f} urad from Open3D's global optimization")


if __name__ == '__main__':
    main(sys.argv[1])
    common.finish()
