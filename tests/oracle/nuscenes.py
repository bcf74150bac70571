"""A made-up drive in the format of nuScenes, and the sweeps that OpenPCDet makes of it, written down for NumPy: get_sweep,
get_lidar_with_sweeps of NuScenesDataset and fill_trainval_infos, with quaternions as pyquaternion and matrices as
nuscenes.utils.geometry_utils have them. OpenPCDet shuffles the sweeps; here the latest is first."""
import json

import numpy as np


def quaternion(axis, angle):
    axis = np.array(axis, float) / np.linalg.norm(axis)
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])


def rotation_matrix(q):
    """Quaternion.rotation_matrix: the product of the matrices of q and its conjugate."""
    w, x, y, z = q = np.array(q) / np.linalg.norm(q)
    left = np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])
    right = np.array([[w, -x, -y, -z], [x, w, z, -y], [y, -z, w, x], [z, y, -x, w]])
    return np.dot(left, right.conj().transpose())[1:, 1:]


def transform_matrix(translation, rotation, inverse=False):
    matrix = np.eye(4)
    turned = rotation_matrix(rotation)
    if inverse:
        matrix[:3, :3] = turned.T
        matrix[:3, 3] = turned.T.dot(-np.array(translation))
    else:
        matrix[:3, :3] = turned
        matrix[:3, 3] = np.array(translation)
    return matrix


class Drive:
    """The tables by token."""

    def __init__(self, root):
        self.root = root
        folder = next(f for f in root.iterdir() if (f / 'sample_data.json').exists())
        for name in ('sample_data', 'ego_pose', 'calibrated_sensor'):
            setattr(self, name, {row['token']: row for row in json.loads((folder / f'{name}.json').read_text())})

    def matrices(self, record):
        """Global from car and car from sensor."""
        pose, sensor = self.ego_pose[record['ego_pose_token']], self.calibrated_sensor[record['calibrated_sensor_token']]
        return pose, sensor

    def sweep_infos(self, record, max_sweeps):
        pose, sensor = self.matrices(record)
        ref_from_car = transform_matrix(sensor['translation'], sensor['rotation'], inverse=True)
        car_from_global = transform_matrix(pose['translation'], pose['rotation'], inverse=True)
        ref_time, current, sweeps = 1e-6 * record['timestamp'], record, []
        while len(sweeps) < max_sweeps - 1:
            if current['prev'] == '':
                sweeps.append(sweeps[-1] if sweeps else (record['filename'], None, 0.0))
                continue
            current = self.sample_data[current['prev']]
            pose, sensor = self.matrices(current)
            matrix = ref_from_car.dot(car_from_global).dot(transform_matrix(pose['translation'], pose['rotation'])).dot(
                transform_matrix(sensor['translation'], sensor['rotation']))
            sweeps.append((current['filename'], matrix, ref_time - 1e-6 * current['timestamp']))
        return sweeps

    def read(self, name):
        return np.fromfile(self.root / name, np.float32).reshape(-1, 5)[:, :4]

    def get_sweep(self, sweep):
        name, matrix, time_lag = sweep
        points = self.read(name)
        points = points[~((np.abs(points[:, 0]) < 1.0) & (np.abs(points[:, 1]) < 1.0))].T
        if matrix is not None:
            points[:3, :] = matrix.dot(np.vstack((points[:3, :], np.ones(points.shape[1]))))[:3, :]
        return points.T, (time_lag * np.ones((1, points.shape[1]))).T

    def lidar_with_sweeps(self, token, max_sweeps):
        record = self.sample_data[token]
        points = self.read(record['filename'])
        all_points, times = [points], [np.zeros((len(points), 1))]
        for sweep in self.sweep_infos(record, max_sweeps):
            moved, lag = self.get_sweep(sweep)
            all_points.append(moved)
            times.append(lag)
        times = np.concatenate(times, axis=0).astype(np.float32)
        return np.concatenate((np.concatenate(all_points, axis=0), times), axis=1)


def make_drive(root, rng, scenes=2, scans=12, points=600, version='v1.0-mini'):
    """Files and tables: scans at 20 Hz, every fifth a sample; a camera and radar beside them. Returns the tokens of scans by
    scene."""
    tables = {'sample_data': [], 'ego_pose': [], 'calibrated_sensor': [], 'sample': []}
    for folder in ('samples/LIDAR_TOP', 'sweeps/LIDAR_TOP', version):
        (root / folder).mkdir(parents=True, exist_ok=True)
    tokens = []
    for scene in range(scenes):
        sensor = f'sensor{scene:026d}'
        tables['calibrated_sensor'] += [
            {'token': sensor, 'sensor_token': 'a', 'translation': [0.943713, 0.0, 1.84023],
             'rotation': list(quaternion([0.01, -0.02, 1], -1.58)), 'camera_intrinsic': []},
            {'token': f'camera{scene}', 'sensor_token': 'b', 'translation': [1.7, 0.01, 1.5], 'rotation': [1.0, 0, 0, 0],
             'camera_intrinsic': [[1266.4, 0.0, 816.2], [0, 1266.4, 491.5], [0, 0, 1]]}]
        tokens.append([])
        for i in range(scans):
            token, key = f'{scene:016x}{i * 7919 % 1000:016x}', i % 5 == 0
            time = 1532402927647951 + scene * 60_000_000 + i * 50_000 + int(rng.integers(0, 900))
            name = f"{'samples' if key else 'sweeps'}/LIDAR_TOP/n015-scene{scene}__LIDAR_TOP__{time}.pcd.bin"
            cloud = rng.normal(size=(points, 5)).astype(np.float32) * np.float32([20, 20, 2, 40, 9])
            cloud[::6, :2] = rng.uniform(-1.2, 1.2, (len(cloud[::6]), 2))  # the car
            cloud[::50, :2] = [1, -1]
            cloud.tofile(root / name)
            angle = 0.02 * i + scene
            tables['ego_pose'].append({'token': 'pose' + token, 'timestamp': time,
                                       'rotation': list(quaternion([0.01, 0.02, 1], angle)),
                                       'translation': [411.3 + 0.4 * i, 1180.9 + 0.11 * i * i, 0.02 * i]})
            previous = tokens[-1][-1] if tokens[-1] else ''
            tables['sample_data'].append({'token': token, 'sample_token': f's{i // 5}', 'ego_pose_token': 'pose' + token,
                                          'calibrated_sensor_token': sensor, 'timestamp': time, 'fileformat': 'pcd',
                                          'is_key_frame': key, 'height': 0, 'width': 0, 'filename': name,
                                          'prev': previous, 'next': ''})
            tables['sample_data'].append({'token': 'c' + token, 'sample_token': f's{i // 5}', 'ego_pose_token': 'posec' + token,
                                          'calibrated_sensor_token': f'camera{scene}', 'timestamp': time, 'fileformat': 'jpg',
                                          'is_key_frame': key, 'height': 900, 'width': 1600,
                                          'filename': f'samples/CAM_FRONT/{time}.jpg', 'prev': '', 'next': ''})
            tables['ego_pose'].append({'token': 'posec' + token, 'timestamp': time, 'rotation': [1, 0, 0, 0],
                                       'translation': [0, 0, 0]})
            tokens[-1].append(token)
    for name, rows in tables.items():
        order = rng.permutation(len(rows))
        (root / version / f'{name}.json').write_text(json.dumps([rows[i] for i in order], indent=0))
    return tokens
