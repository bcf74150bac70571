"""pcgpu voxelize with configurations of detectors, against what their own code hands to the voxel encoders."""
import runpy

import numpy as np

import detectors
from common import SOURCE, check, data, equal, finish, part_skipped, passed, read_bin, run, scratch, testdata, write_bin

f32 = np.float32
GRIDS = {  # range, size, points, voxels: PointPillars and SECOND on KITTI, PV-RCNN on Waymo, CenterPoint on nuScenes, ranges of
    # no whole number of voxels, a coarse grid whose limits drop much
    'pillars': ((0, -39.68, -3), (69.12, 39.68, 1), (.16, .16, 4), 32, 40000),
    'voxels': ((0, -40, -3), (70.4, 40, 1), (.05, .05, .1), 5, 16000),
    'waymo': ((-75.2, -75.2, -2), (75.2, 75.2, 4), (.1, .1, .15), 5, 16000),
    'nuscenes': ((-54, -54, -5), (54, 54, 3), (.075, .075, .2), 10, 16000),
    'fraction': ((-40, -40, -3), (40.1, 40.1, 1.07), (.3, .3, .3), 3, 20000),
    'halves': ((-10, -39.68, -3), (40, 39.68, 1), (.16, .16, 4), 32, 16000),
    'coarse': ((-8, -8, -2), (8, 8, 2), (1, 1, .5), 4, 300),
}
TAKES_VOXELS = ('PillarVFE', 'MeanVFE')
TAKES_POINTS = ('DynPillarVFE', 'DynamicPillarVFE', 'DynMeanVFE', 'DynamicMeanVFE')


def on_edges(rng, n, low, high, size, columns):
    """Points around the range, with many on edges of voxels and of the range, and duplicates."""
    low, high = np.array(low), np.array(high)
    points = np.zeros((n, columns), f32)
    points[:, :3] = rng.uniform(low - .1 * (high - low), high + .1 * (high - low), (n, 3))
    points[:, 3:] = rng.uniform(0, 1, (n, columns - 3))
    edges = rng.integers(0, n, n // 3)
    points[edges, :3] = low + np.array(size) * np.round((points[edges, :3] - low) / size)
    for value in (low, high):
        rows = rng.integers(0, n, n // 20)
        axis = rng.integers(0, 3, len(rows))
        points[rows, axis] = value[axis]
    points[rng.integers(0, n, n // 10)] = points[rng.integers(0, n, n // 10)]
    return points


def join(values):
    return ', '.join(str(v) for v in values)


def openpcdet_config(folder, grid, vfe, columns):
    low, high, size, max_points, max_voxels = grid
    features = join(['x', 'y', 'z', 'intensity', 'timestamp', 'more'][:columns])
    dynamic = vfe in TAKES_POINTS
    limits = '' if dynamic else f'''
          MAX_POINTS_PER_VOXEL: {max_points}
          MAX_NUMBER_OF_VOXELS: {{'train': 7, 'test': {max_voxels}}}'''
    path = folder / f'{vfe}.yaml'
    path.write_text(f'''
DATA_CONFIG:
    POINT_CLOUD_RANGE: [{join((*low, *high))}]
    POINT_FEATURE_ENCODING: {{encoding_type: absolute_coordinates_encoding,
        used_feature_list: [{features}], src_feature_list: [{features}]}}
    DATA_PROCESSOR:
        - NAME: mask_points_and_boxes_outside_range
          REMOVE_OUTSIDE_BOXES: True
        - NAME: transform_points_to_voxels{'_placeholder' if dynamic else ''}
          VOXEL_SIZE: [{join(size)}]{limits}
MODEL:
    VFE: {{NAME: {vfe}, WITH_DISTANCE: True, USE_ABSLOTE_XYZ: False, USE_NORM: True, NUM_FILTERS: [64]}}
''')
    return path


def equal_arrays(label, got, expected):
    check(set(got) >= set(expected), f'{label}: the arrays are there', sorted(got))
    for name, array in expected.items():
        equal(f'{label}: {name}', got[name], array)


def compare_openpcdet(folder, label, paths, clouds, grid, columns):
    low, high, size, max_points, max_voxels = grid
    batches = [(['--batch', *paths], clouds), ([paths[0]], clouds[:1])]
    for inputs, these in batches:
        voxels = detectors.openpcdet_voxels(these, low, high, size, max_points, max_voxels)
        points = detectors.openpcdet_points(these, low, high)
        for vfe in (TAKES_VOXELS + TAKES_POINTS)[::1 if len(inputs) > 1 else 3]:
            run('voxelize', '--config', openpcdet_config(folder, grid, vfe, columns), '--fields', columns, *inputs, '-f', '-o', folder / 'v.npz')
            got = dict(np.load(folder / 'v.npz'))
            check(vfe in TAKES_VOXELS or len(inputs) > 1 or set(got) == {'points'}, f'{label}, {vfe}: nothing but points', sorted(got))
            equal_arrays(f'{label}, {vfe}, {len(these)} inputs', got, voxels if vfe in TAKES_VOXELS else points)
        passed(f'{label}: {len(these)} inputs, {len(points["points"])} points')


def test_openpcdet(folder):
    rng = np.random.default_rng(23)
    for name, grid in GRIDS.items():
        columns = 5 if name in ('nuscenes', 'coarse') else 4
        clouds = [on_edges(rng, n, *grid[:3], columns) for n in (1500, 500, 1)]
        paths = [folder / f'{i}.bin' for i in range(len(clouds))]
        for path, cloud in zip(paths, clouds):
            write_bin(path, cloud)
        compare_openpcdet(folder, f'{name}, {columns} columns', paths, clouds, grid, columns)


MMDET3D = {'PillarFeatureNet': False, 'HardVFE': False, 'HardSimpleVFE': False, 'DynamicVFE': True,
           'DynamicSimpleVFE': True, 'DynamicPillarFeatureNet': True}


def mmdet3d_config(folder, grid, encoder):
    """A model and its base; the values are those that Python itself finds."""
    low, high, size, max_points, max_voxels = grid
    kind = 'dynamic' if MMDET3D[encoder] else 'hard'
    (folder / 'models').mkdir(exist_ok=True)
    (folder / 'models' / 'base.py').write_text(f'''
voxel_size = {list(size)!r}  # metres
model = dict(
    type='VoxelNet',
    data_preprocessor=dict(
        type='Det3DDataPreprocessor', voxel=True,
        voxel_layer=dict(max_num_points=99, max_voxels=(7, 8), voxel_size=[9, 9, 9], deterministic=True)),
    voxel_encoder=dict(type='HardSimpleVFE', num_features=4))
''')
    path = folder / f'{encoder}.py'
    path.write_text(f'''_base_ = ['models/base.py']
point_cloud_range = [{join((*low, *high))}]
voxel_size = {tuple(size)!r}
model = dict(
    data_preprocessor=dict(
        voxel_type='{kind}',
        voxel_layer=dict(
            max_num_points={-1 if kind == 'dynamic' else max_points},
            point_cloud_range=point_cloud_range, voxel_size=voxel_size,
            max_voxels=(7, {-1 if kind == 'dynamic' else max_voxels}))),
    voxel_encoder=dict(_delete_=True, type='{encoder}'))
train_pipeline = [dict(type='PointsRangeFilter', point_cloud_range=point_cloud_range[:])]
''')
    namespace = {}
    exec(path.read_text(), namespace)
    return path, namespace['model']['data_preprocessor']['voxel_layer']


def test_mmdet3d(folder):
    convert = runpy.run_path(SOURCE / 'python' / 'pcgpu' / 'config.py')['convert']
    rng = np.random.default_rng(24)
    for name, grid in GRIDS.items():
        clouds = [on_edges(rng, n, *grid[:3], 4) for n in (1500, 400)]
        paths = [folder / f'{i}.bin' for i in range(len(clouds))]
        for path, cloud in zip(paths, clouds):
            write_bin(path, cloud)
        for encoder, dynamic in MMDET3D.items():
            model, layer = mmdet3d_config(folder, grid, encoder)
            config = model.with_suffix('.yaml')
            config.write_text(convert(model))
            low, high = layer['point_cloud_range'][:3], layer['point_cloud_range'][3:]
            for inputs, these in ((['--batch', *paths], clouds), ([paths[0]], clouds[:1])):
                run('voxelize', '--config', config, *inputs, '-f', '-o', folder / 'v.npz')
                if dynamic:
                    expected = detectors.mmdet3d_points(these, low, high, layer['voxel_size'])
                else:
                    expected = detectors.mmdet3d_voxels(these, low, high, layer['voxel_size'], layer['max_num_points'],
                                                        layer['max_voxels'][1])
                equal_arrays(f'{name}, {encoder}, {len(these)} inputs', dict(np.load(folder / 'v.npz')), expected)
        passed(f'{name}: the encoders of mmdetection3d')


def test_real(folder):
    for name in ('kitti/000000.bin', 'kitti/000008_camera_view.bin'):
        path = data(name)
        if not path:
            part_skipped(name, 'the scan is not here')
            continue
        points = read_bin(path)[::8]
        write_bin(folder / 'real.bin', points)
        for grid in ('pillars', 'voxels'):
            compare_openpcdet(folder, f'{name}, {grid}', [folder / 'real.bin'], [points], GRIDS[grid], 4)


def test_encoders(folder):
    """The encoders' first step gives what --layout pcgpu has as features, or what points of the file give."""
    path = testdata('street.bin')
    low, high, size, max_points, max_voxels = grid = GRIDS['pillars']
    run('voxelize', '--config', openpcdet_config(folder, grid, 'MeanVFE', 4), path, '-f', '-o', folder / 'v.npz')
    run('voxelize', '--config', openpcdet_config(folder, grid, 'MeanVFE', 4), path, '--layout', 'pcgpu', '-f', '-o',
        folder / 'm.npz')
    v, m = np.load(folder / 'v.npz'), np.load(folder / 'm.npz')
    check(np.allclose(detectors.mean_vfe(v['voxels'], v['voxel_num_points']), m['voxels'], atol=1e-5), 'MeanVFE is mean')
    equal('the voxels are the same', v['voxel_coords'], m['coords'])
    points = read_bin(path)
    for vfe, axes in (('DynMeanVFE', (0, 1, 2)), ('DynPillarVFE', (0, 1))):
        run('voxelize', '--config', openpcdet_config(folder, grid, vfe, 4), path, '-f', '-o', folder / 'd.npz')
        got = detectors.dynamic_groups(np.load(folder / 'd.npz')['points'], low, high, size, axes)
        expected = detectors.dynamic_groups(detectors.pad_batch(points, 0), low, high, size, axes)
        equal(f'{vfe}: no point that it takes is lost', got[0], expected[0])
        equal(f'{vfe}: the same groups', got[1], expected[1])
    passed('encoders on a street')


def test_types(folder):
    """--dtype float16 is for the first array; .npy holds it alone."""
    path, grid = testdata('street.bin'), GRIDS['coarse']
    for vfe, name in (('MeanVFE', 'voxels'), ('DynMeanVFE', 'points')):
        config = openpcdet_config(folder, grid, vfe, 4)
        run('voxelize', '--config', config, path, '-f', '-o', folder / 'a.npz')
        run('voxelize', '--config', config, path, '-f', '-o', folder / 'h.npz', '--dtype', 'float16')
        run('voxelize', '--config', config, path, '-f', '-o', folder / 'a.npy')
        a, h = np.load(folder / 'a.npz'), np.load(folder / 'h.npz')
        equal(f'{vfe}: float16', h[name], a[name].astype(np.float16))
        equal(f'{vfe}: .npy', np.load(folder / 'a.npy'), a[name])
    passed('types and formats')


with scratch() as here:
    test_openpcdet(here)
    test_mmdet3d(here)
    test_encoders(here)
    test_types(here)
    test_real(here)
finish()
