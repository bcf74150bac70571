"""real.py BUILD [PART]...: accuracy on real data, beside peers where they are installed (pip install open3d kiss-icp small_gicp).

PARTs, all by default:
  rooms   75 pairs of depth frames (7-Scenes) that share 30 to 85 % of their points, by overlap; Open3D (FPFH, RANSAC, point-to-plane)
  pairs   pairs of all real sets with poses, each third of 1770 of rooms, and of two rooms: right and accepted, right and declined, wrong and accepted
  halves  exact halves of four KITTI scans and one of nuScenes, three random cuts each, one half moved by 0.8 m and 2 degrees: median and worst;
          small_gicp, Open3D
  road    a real road (KITTI raw): percent and degrees per 100 m, as it comes, with the beams corrected, deskewed, both; KISS-ICP; a street of
          32 beams (street32): scans lost with each reference
  stamps  the two with fewer rings and scans, and with stamps that jitter, or scans missing: steps that are wrong, scans lost
  depth   frames of a RealSense that are lost, with each reference; the drift and the processor time per frame in a room (7-Scenes), also with loops:
          the model has to be at most 0.6 of the previous image, loops 0.9 of the model without, 27.2 mm, and 31.7 with the previous image
  all     the 60 depth frames, and the key frames of nuScenes, as unordered sets: clouds placed, RMSE of their positions; Open3D's multiway registration
PCGPU_DATA is the folder of the data, whose poses drift: a room's by some centimetres and up to 3.5 degrees between distant frames. Where Open3D is
installed, a result is therefore wrong only when it is also away from Open3D's point-to-plane from the given pose. Right: 0.1 m and 3 degrees, of drives 1.5 m.
Prints the median and the most processor time of a pair, whole process, one thread."""
import collections
import importlib.util
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'oracle'))
os.environ.setdefault('PCGPU_DATA', str(pathlib.Path(__file__).resolve().parents[3] / 'shared/data'))

import numpy as np

from common import data, error, points_of_depth


o3d, small_gicp = (importlib.import_module(name) if importlib.util.find_spec(name) else None for name in ('open3d', 'small_gicp'))
PROGRAM = os.path.join(sys.argv[1], 'cmd/pcgpu')
KINECT, LIVING_ROOM = (585, 585, 320, 240), (525, 525, 319.5, 239.5)
BANDS = (.3, .45, .6, .75, .86)


def processor_time(function):
    """What it returns, and milliseconds of this process and its children."""
    def now():
        return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    begin = now()
    return function(), 1e3 * (now() - begin)


class Scene:
    """Clouds with poses: by name a file, or a depth image with its camera, of which every second row and column counts."""

    def __init__(self, folder, files, poses, camera=None, options=(), metres=.1):
        self.files, self.poses, self.options, self.metres = files, poses, list(options), metres
        if camera:
            self.files = [self.unproject(folder, file, *camera) for file in files]
        self.peers = {}

    @staticmethod
    def unproject(folder, file, *camera):
        path = folder / f'{file.parent.name}.{file.name}.npy'
        np.save(path, points_of_depth(file, *camera))
        return path

    def truth(self, source, target):
        return np.linalg.inv(self.poses[target]) @ self.poses[source]

    def peer(self, k):
        """Downsampled points with normals and features of Open3D."""
        if k not in self.peers:
            cloud = o3d.geometry.PointCloud(o3d.utility.Vector3dVector(np.load(self.files[k]).astype(float))).voxel_down_sample(.05)
            cloud.estimate_normals(o3d.geometry.KDTreeSearchParamHybrid(.15, 30))
            cloud.orient_normals_towards_camera_location([0, 0, 0])
            features = o3d.pipelines.registration.compute_fpfh_feature(cloud, o3d.geometry.KDTreeSearchParamHybrid(.25, 100))
            self.peers[k] = cloud, features
        return self.peers[k]


def pcgpu(files, options):
    """The exit code and T; NaN without a result."""
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        done = subprocess.run([PROGRAM, 'register', '--cpu', '--threads', '1', *map(str, files), '-f', '--json', file.name, *options],
                              capture_output=True, check=False)
        try:
            return done.returncode, np.array(json.load(open(file.name))['result']['T_target_source']).reshape(4, 4)
        except (ValueError, KeyError):
            return done.returncode, np.full((4, 4), np.nan)


def refine(scene, source, target, T):
    registration = o3d.pipelines.registration
    return registration.registration_icp(scene.peer(source)[0], scene.peer(target)[0], .1, T,
                                         registration.TransformationEstimationPointToPlane()).transformation


def open3d_kept(scene, source, target):
    """With the features that are there."""
    registration = o3d.pipelines.registration
    (a, features_a), (b, features_b) = scene.peer(source), scene.peer(target)
    checks = [registration.CorrespondenceCheckerBasedOnEdgeLength(.9), registration.CorrespondenceCheckerBasedOnDistance(.075)]
    T = registration.registration_ransac_based_on_feature_matching(
        a, b, features_a, features_b, True, .075, registration.TransformationEstimationPointToPoint(False), 3, checks,
        registration.RANSACConvergenceCriteria(100000, .999)).transformation
    return refine(scene, source, target, T)


def open3d_global(scene, source, target):
    scene.peers.pop(source, None)  # its features count
    scene.peers.pop(target, None)
    return 0, open3d_kept(scene, source, target)


def kind_of(scene, source, target, code, T):
    def is_right(truth):
        off = error(T, truth)
        return off[0] < scene.metres and off[1] < 3
    truth = scene.truth(source, target)
    right = bool(np.isfinite(T).all() and is_right(truth))
    if not right and code == 0 and o3d and str(scene.files[0]).endswith('.npy') and is_right(refine(scene, source, target, truth)):
        return 'right of a drifted pose'
    return ('right' if right else 'wrong') if code == 0 else 'right, declined' if right else 'none'


def line(name, kinds, times):
    count = collections.Counter(kinds)
    right = count['right'] + count['right of a drifted pose']
    print(f'{name:34} right {count["right"]:4}, with those of drifted poses {right:4}, right but declined {count["right, declined"]:3}, wrong '
          f'{count["wrong"]:3}, none {count["none"]:4} of {len(kinds):4}; {np.median(times):.0f} ms, at most {max(times):.0f}', flush=True)


def rooms(folder):
    rows = [row.split() for row in data('../cases/geometry/overlap_7scenes.txt').read_text().splitlines() if row[:1] not in ('', '#')]
    scene = seven_scenes(folder)
    start = folder / 'start.txt'

    def from_truth(*options):
        def register(scene, s, t):
            np.savetxt(start, scene.truth(s, t))
            return pcgpu((scene.files[s], scene.files[t]), ['--init', str(start), *options])
        return register
    programs = {f'pcgpu {" ".join(options)}': lambda scene, s, t, options=options: pcgpu((scene.files[s], scene.files[t]), options)
                for options in ([], ['--init', 'auto'], ['--init', 'auto', '--method', 'plane'], ['--init', 'auto', '--method', 'gicp'])}
    programs |= {'pcgpu ndt from the pose': from_truth(), 'pcgpu plane from the pose': from_truth('--method', 'plane')}
    if o3d:
        programs |= {'Open3D FPFH + RANSAC + ICP': open3d_global, 'Open3D ICP from the pose': lambda scene, s, t: (0, refine(scene, s, t, scene.truth(s, t)))}
    print('75 pairs of depth frames; then right ones by overlap', ', '.join(f'{a} to {b}' for a, b in zip(BANDS, BANDS[1:])))
    for name, program in programs.items():
        kinds, times = [], []
        for s, t in ((int(row[0]), int(row[1])) for row in rows):
            (code, T), ms = processor_time(lambda: program(scene, s, t))
            kinds.append(kind_of(scene, s, t, code, T))
            times.append(ms)
        line(name, kinds, times)
        shares = [float(row[2]) for row in rows]
        print(' ' * 34, ', '.join(f'{sum(kind in ("right", "right of a drifted pose") for kind in here)} of {len(here)}' for here in (
            [kind for kind, share in zip(kinds, shares) if a <= share < b] for a, b in zip(BANDS, BANDS[1:]))), flush=True)


def seven_scenes(folder):
    frames = sorted(data('depth_7scenes_path').glob('*.depth.png'))
    return Scene(folder, frames, [np.loadtxt(str(f).replace('depth.png', 'pose.txt')) for f in frames], KINECT)


def read_poses(path):
    return [np.vstack([row[-12:].reshape(3, 4), [0, 0, 0, 1]]) for row in np.loadtxt(path)]


def drive_scans(folder, name):
    subprocess.run([sys.executable, str(data('drives/unpack.py')), name, str(folder / name)], check=True, capture_output=True)
    return sorted((folder / name).glob('*.bin'))


def road_scene(folder):
    return Scene(folder, drive_scans(folder, 'road'), read_poses(data('drives/road/poses.txt')), options=['--fields', '4'], metres=1.5)


def pairs(folder):
    kitti = dict(row.split(': ') for row in data('kitti00/calib.txt').read_text().splitlines() if ': ' in row)
    camera = np.vstack([np.array(kitti['Tr'].split(), float).reshape(3, 4), [0, 0, 0, 1]])
    scans = sorted(data('kitti00/velodyne').glob('*.bin'))
    of_kitti = read_poses(data('kitti00/poses.txt'))
    room, road = seven_scenes(folder), road_scene(folder)
    other = Scene(folder, room.files + [Scene.unproject(folder, data('depth_livingroom/00000.png'), *LIVING_ROOM)], room.poses + [np.full((4, 4), np.nan)])
    scenes = {
        'rooms, each third pair': (room, [(i, j) for i in range(60) for j in range(i)][::3]),
        'two rooms': (other, [(i, 60) for i in range(0, 60, 3)] + [(60, i) for i in range(0, 60, 3)]),
        'nuscenes_sequence, all pairs': (Scene(folder, sorted(data('nuscenes_sequence').glob('*.bin')), read_poses(data('nuscenes_sequence/poses.txt')),
                                              options=['--fields', '5'], metres=1.5), [(i, j) for i in range(12) for j in range(i)]),
        'kitti00, all pairs': (Scene(folder, scans, [np.linalg.inv(camera) @ of_kitti[int(s.stem)] @ camera for s in scans], metres=1.5),
                               [(i, j) for i in range(len(scans)) for j in range(i)]),
        'road, 5 to 25 m': (road, [(i, i + k) for i in range(0, 177, 6) for k in (3, 5, 8, 11)]),
        'road, 80 and 190 m': (road, [(i, (i + k) % 188) for k in (40, 95) for i in range(0, 188, 9)])}
    print('pairs of real sets, without --init')
    for name, (scene, chosen) in scenes.items():
        kinds, times = [], []
        for s, t in chosen:
            (code, T), ms = processor_time(lambda: pcgpu((scene.files[s], scene.files[t]), scene.options))
            kinds.append(kind_of(scene, s, t, code, T))
            times.append(ms)
        line(name, kinds, times)


def position_error(poses, truth):
    """RMSE in metres after rigid alignment (Horn); of the clouds that have a pose."""
    placed = [k for k, T in enumerate(poses) if np.isfinite(T).all()]
    a, b = (np.array([p[k][:3, 3] for k in placed]) for p in (poses, truth))
    u, _, vt = np.linalg.svd((a - a.mean(0)).T @ (b - b.mean(0)))
    R = vt.T @ np.diag([1, 1, np.sign(np.linalg.det(vt.T @ u.T))]) @ u.T
    return len(placed), np.sqrt(np.mean(np.sum(((a - a.mean(0)) @ R.T - (b - b.mean(0))) ** 2, 1)))


def open3d_multiway(scene):
    """All pairs by features, RANSAC and ICP; the pairs that half fit are edges, uncertain ones to Open3D (Choi et al. 2015)."""
    registration, count = o3d.pipelines.registration, len(scene.files)
    graph = registration.PoseGraph()
    for k in range(count):
        graph.nodes.append(registration.PoseGraphNode(np.eye(4)))
        scene.peer(k)
    seen = {0: np.eye(4)}
    for target in range(count):
        for source in range(target + 1, count):
            T = open3d_kept(scene, source, target)
            (a, _), (b, _) = scene.peer(source), scene.peer(target)
            fit = registration.evaluate_registration(a, b, .075, T).fitness
            if fit >= .3:
                graph.edges.append(registration.PoseGraphEdge(
                    source, target, T, registration.get_information_matrix_from_point_clouds(a, b, .075, T), uncertain=source != target + 1))
                if target in seen and source not in seen:
                    seen[source] = seen[target] @ T
                    graph.nodes[source].pose = seen[source]
    registration.global_optimization(graph, registration.GlobalOptimizationLevenbergMarquardt(), registration.GlobalOptimizationConvergenceCriteria(),
                                     registration.GlobalOptimizationOption(.075, .25, reference_node=0))
    return [graph.nodes[k].pose if k in seen else np.full((4, 4), np.nan) for k in range(count)]


def sets(folder):
    room = seven_scenes(folder)
    nuscenes = sorted(data('nuscenes_sequence').glob('*.bin'))
    frames = sorted(data('depth_7scenes_path').glob('*.depth.png'))
    print('unordered sets: clouds placed, RMSE of their positions')
    out = folder / 'set.txt'
    for name, files, truth, options in (
            ('60 depth frames', frames, room.poses, ['--camera', '585,585,320,240']), ('the same, ndt', frames, room.poses, ['--camera', '585,585,320,240', '--method', 'ndt']),
            ('nuscenes_sequence', nuscenes, read_poses(data('nuscenes_sequence/poses.txt')), ['--fields', '5'])):
        done, ms = processor_time(lambda: subprocess.run([PROGRAM, 'register', '--all', '--cpu', '--threads', '1', '-q', *options, *map(str, files), '-f', '-o', str(out)],
                                                         check=False))
        placed, metres = position_error(read_poses(out), truth)
        print(f'pcgpu, {name:27} exit {done.returncode}, {placed} of {len(files)} placed, {1e3 * metres:.1f} mm; {1e-3 * ms:.0f} s', flush=True)
    if o3d:
        poses, ms = processor_time(lambda: open3d_multiway(room))
        placed, metres = position_error(poses, room.poses)
        print(f'Open3D, {"60 depth frames":26} {placed} of 60 placed, {1e3 * metres:.1f} mm; {1e-3 * ms:.0f} s', flush=True)


def road(folder):
    scans, truth = road_scene(folder).files, data('drives/road/poses.txt')
    none, column = ['--deskew', 'none'], ['--deskew', 'time', '--set', 'time-column=3']
    inputs = {'by defaults': ([], None), 'as it comes': ([*none, '--beam-correction', '0'], []),
              'beams corrected': ([*none, '--beam-correction', '0.205'], ['--correct']),
              'deskewed': ([*column, '--beam-correction', '0'], ['--deskew']),
              'both': ([*column, '--beam-correction', '0.205'], ['--deskew', '--correct'])}
    print('road: scans lost, % and degrees per 100 m, scans per second of processor time')
    path = folder / 'path.txt'
    for name, (options, _) in inputs.items():
        ms = odometry(scans, path, '--fields', '4', '--timestamps', str(data('drives/road/times.txt')), *options)
        report('pcgpu, ' + name, path, truth, len(scans), ms)
    for name, (_, options) in inputs.items():
        if options is not None:
            done = subprocess.run([sys.executable, str(data('../peers/road_kiss.py')), str(folder / 'road'), str(path), *options],
                                  capture_output=True, text=True, check=False)
            if done.returncode == 0:
                report('KISS-ICP, ' + name, path, truth, len(scans), 0.0)
                print(' ' * 34, done.stdout.strip(), flush=True)
    scans, times = drive_scans(folder, 'street32'), folder / 'times.txt'
    np.savetxt(times, np.loadtxt(data('drives/street32/numbers.txt')) / 10)
    lost_by_reference('street32', scans, path, '--fields', '4', '--timestamps', str(times))


def odometry(files, path, *options):
    """Writes the trajectory to path; milliseconds of processor time."""
    return processor_time(lambda: subprocess.run([PROGRAM, 'odometry', '--cpu', '--threads', '1', *options, *map(str, files), '--trajectory', str(path),
                                                  '-f', '-q'], check=False))[1]


def lost(path):
    return path.read_text().count('nan') // 12


def lost_by_reference(name, files, path, *options):
    for reference in ('model', 'keyframe', 'previous'):
        odometry(files, path, *options, '--reference', reference)
        print(f'{name + ", reference " + reference:34} lost {lost(path):3} of {len(files)}', flush=True)


def depth(folder):
    path, frames = folder / 'path.txt', sorted(data('depth_7scenes_path').glob('*.depth.png'))
    lost_by_reference('depth_realsense', sorted(data('depth_realsense').glob('*.png')), path, '--camera', '385,385,320,240')
    off = {}
    for options in (['previous'], ['keyframe'], ['model'], ['previous', '--loops'], ['keyframe', '--loops'], ['model', '--loops']):
        ms = odometry(frames, path, '--camera', '585,585,320,240', '--reference', *options)
        off[' '.join(options)] = position_error(read_poses(path), [np.loadtxt(str(f).replace('depth.png', 'pose.txt')) for f in frames])[1]
        print(f'{"depth_7scenes_path, " + " ".join(options):34} lost {lost(path):3} of {len(frames)}, ATE {1e3 * off[" ".join(options)]:.1f} mm; '
              f'{ms / len(frames):.1f} ms per frame', flush=True)
    if not (off['model'] <= 0.6 * off['previous'] and off['model --loops'] <= min(0.9 * off['model'], .0272) and off['previous --loops'] <= .0317):
        sys.exit('FAIL: the model drifts too far, or loops do not help it')


def stamps(folder):
    """A step from one pose to the next is wrong when it is off by more than 0.4 m and 5 % of its length (the truth jitters), or by 1 degree."""
    truths = {'road': (read_poses(data('drives/road/poses.txt')), np.loadtxt(data('drives/road/times.txt')))}
    truths['street32'] = None, np.loadtxt(data('drives/street32/numbers.txt')).ravel() / 10  # no truth: what all scans give, which KISS-ICP agrees with
    path, stamped, total = folder / 'path.txt', folder / 'times.txt', np.zeros(3, int)
    for name, (truth, times) in truths.items():
        scans = drive_scans(folder, name)
        (folder / 'thin').mkdir(exist_ok=True)
        if truth is None:
            np.savetxt(stamped, times, fmt='%.9f')
            odometry(scans, path, '--fields', '4', '--timestamps', str(stamped))
            truth = read_poses(path)
        for ring, each in ((1, 1), (1, 2), (1, 3), (1, 5), (2, 1), (4, 1), (4, 2)):
            thin = []
            for file in scans[::each] if ring > 1 else ():
                points = np.fromfile(file, np.float32).reshape(-1, 4)
                x, y, z = points[:, :3].T  # rings one after the other, each counterclockwise from the front; or by their elevation
                rings = (np.cumsum(np.r_[0, np.diff(np.arctan2(y, x) % (2 * np.pi)) < -np.pi]) if name == 'road'
                         else np.round((10.67 - np.degrees(np.arctan2(z, np.hypot(x, y)))) / 4 * 3).astype(int))
                thin.append(folder / 'thin' / file.name)
                points[rings % ring == ring // 2].tofile(thin[-1])
            thin, here, random = thin or scans[::each], times[::each], np.random.default_rng(7)
            for kind, jitter, gone in (('right', 0, 0), ('jitter 20 %', .2, 0), ('missing', 0, .1)):
                keep = np.r_[0:3, 3 + np.flatnonzero(random.uniform(size=len(here) - 3) >= gone)]
                given = here + np.median(np.diff(here)) * jitter * random.uniform(-1, 1, len(here))
                np.savetxt(stamped, given[keep], fmt='%.9f')
                odometry([thin[i] for i in keep], path, '--fields', '4', '--timestamps', str(stamped))
                poses, wanted, wrong, last = read_poses(path), [truth[::each][i] for i in keep], 0, 0
                for i in range(1, len(poses)):
                    if np.isfinite(poses[i][0, 0]):
                        step = np.linalg.inv(wanted[last]) @ wanted[i]
                        metres, degrees = error(np.linalg.inv(poses[last]) @ poses[i], step)
                        wrong, last = wrong + bool(metres > max(.4, .05 * np.linalg.norm(step[:3, 3])) or degrees > 1), i
                total += wrong, lost(path), len(keep)
                print(f'{name}, 1/{ring} rings, by {each}, {kind:12} wrong {wrong:3}, lost {lost(path):3} of {len(keep)}', flush=True)
    print('stamps, sum: wrong {}, lost {} of {}'.format(*total))


def half_pairs(folder, name, columns, cuts):
    """Files of two halves of a scan, one of them moved, and the transform between them."""
    points = np.fromfile(data(name), np.float32).reshape(-1, columns)[:, :3]
    points = points[np.isfinite(points).all(1) & (points != 0).any(1)]
    for cut in range(cuts):
        random = np.random.default_rng([sum(name.encode()), cut])
        half, shift, axis = random.random(len(points)) < .5, random.normal(size=3) * [1, 1, .1], random.normal(size=3) * [.3, .3, 1]
        x, y, z = axis / np.linalg.norm(axis)
        cross, T = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]), np.eye(4)
        T[:3, :3] += np.sin(np.radians(2)) * cross + (1 - np.cos(np.radians(2))) * cross @ cross
        T[:3, 3] = .8 * shift / np.linalg.norm(shift)
        files = [folder / f'{name.replace("/", "_")}_{cut}_{k}.bin' for k in range(2)]
        for file, part in zip(files, ((points[~half].astype(float) - T[:3, 3]) @ T[:3, :3], points[half])):
            np.column_stack([part, np.zeros(len(part))]).astype('<f4').tofile(file)
        yield *files, T


def halves(folder):
    sets = {'KITTI': [pair for k in (0, 3, 14, 94) for pair in half_pairs(folder, f'kitti00/velodyne/{k:06d}.bin', 4, 3)],
            'nuScenes': [*half_pairs(folder, 'nuscenes/n015.pcd.bin', 5, 6)]}

    def by_peer(align):
        return lambda *files: align(*(np.fromfile(path, np.float32).reshape(-1, 4)[:, :3].astype(float) for path in files))

    def open3d(source, target):
        clouds = [o3d.geometry.PointCloud(o3d.utility.Vector3dVector(points)).voxel_down_sample(.25) for points in (source, target)]
        for cloud in clouds:
            cloud.estimate_normals(o3d.geometry.KDTreeSearchParamKNN(30))
        return o3d.pipelines.registration.registration_icp(*clouds, 1., np.eye(4), o3d.pipelines.registration.TransformationEstimationPointToPlane()).transformation
    programs = {f'pcgpu {method}': lambda *files, method=method: pcgpu(files, ['--method', method])[1] for method in ('ndt', 'plane', 'gicp')}
    for kind in ('PLANE_ICP', 'GICP', 'VGICP') if small_gicp else ():
        programs[f'small_gicp {kind}'] = by_peer(lambda source, target, kind=kind: small_gicp.align(
            target, source, registration_type=kind, downsampling_resolution=.25, num_threads=1).T_target_source)
    if o3d:
        programs['Open3D point-to-plane'] = by_peer(open3d)
    print('exact halves of scans: median and worst error')
    for name, program in programs.items():
        for of, entries in sets.items():
            metres, degrees = np.transpose([error(program(source, target), truth) for source, target, truth in entries])
            print(f'{name + ", " + of:34} {1e3 * np.median(metres):.2f} and {1e3 * metres.max():.2f} mm, {np.median(degrees):.4f} and {degrees.max():.4f} degree',
                  flush=True)


def report(name, path, truth, scans, ms):
    said = subprocess.run([PROGRAM, 'evaluate', str(path), '--ground-truth', str(truth), '--json', '-'], capture_output=True, text=True, check=False)
    result = json.loads(said.stdout)['evaluation'] if said.stdout else {}
    print(f'{name:34} lost {lost(path):3}, {100 * result.get("segment_translation", np.nan):.2f} %, '
          f'{100 * np.degrees(result.get("segment_rotation", np.nan)):.3f} deg, {1e3 * scans / ms if ms else 0:.0f} scans/s', flush=True)


with tempfile.TemporaryDirectory() as scratch:
    parts = {'rooms': rooms, 'pairs': pairs, 'halves': halves, 'road': road, 'stamps': stamps, 'depth': depth, 'all': sets}
    for part in sys.argv[2:] or parts:
        parts[part](pathlib.Path(scratch))
