"""Files as other programs write them are read alike by pcgpu and by the library that knows them: NumPy here; Open3D, laspy,
plyfile, pypcd4 and trimesh where they are installed. A row of the table writes a file and returns what the other
library reads from it."""
import importlib
import io
import pathlib

import numpy as np

from common import check, equal, finish, part_skipped, passed, read_cloud, run, scratch

f32 = np.float32
POINTS = 500
rng = np.random.default_rng(7)
XYZ = (rng.normal(0, 20, (POINTS, 3))).astype(f32)
INTENSITY = rng.random(POINTS).astype(f32)
RING = (np.arange(POINTS) % 32).astype(f32)
NORMALS = (XYZ / np.linalg.norm(XYZ, axis=1, keepdims=True)).astype(f32)
RGB = rng.integers(0, 256, (POINTS, 3)).astype(np.uint8)
UTM = XYZ.astype(float).round(3) + [513000, 5403000, 240]

rows = []


def row(name, needs='', options=(), warned=''):
    """A file of this name; `needs` is the library that writes and reads it."""
    def add(function):
        rows.append((name, needs, options, warned, function))
        return function
    return add


def columns(points, names=('x', 'y', 'z', 'intensity')):
    return {name: points[:, k] for k, name in enumerate(names)}


SCAN = np.c_[XYZ, INTENSITY].astype(f32)
XYZ_COLUMNS = columns(XYZ, 'xyz')


# ---- NumPy; tests/unit has what its own files and text are, tests/unit/test_io_ply.c every variant of PLY ------------

@row('nuscenes.pcd.bin')
def _(path):
    np.c_[SCAN, RING].astype(f32).tofile(path)
    return columns(np.fromfile(path, '<f4').reshape(-1, 5), ('x', 'y', 'z', 'intensity', 'c4'))


@row('leica.pts')
def _(path):
    body = io.StringIO()
    np.savetxt(body, np.c_[XYZ, 100 * INTENSITY - 50, RGB], '%.4f %.4f %.4f %d %d %d %d')
    path.write_text(f'{POINTS}\n{body.getvalue()}')
    return columns(np.loadtxt(path, skiprows=1), ('x', 'y', 'z', 'intensity', 'red', 'green', 'blue'))


PCD = """# .PCD v0.7 - Point Cloud Data file format
VERSION 0.7
FIELDS {fields}
SIZE {sizes}
TYPE {types}
COUNT {counts}
WIDTH {width}
HEIGHT {height}
VIEWPOINT 0 0 0 1 0 0 0
POINTS {points}
DATA {data}
"""


@row('ouster.pcd')
def _(path):  # padding, mixed types, a field of three values
    records = np.zeros(POINTS, [('x', '<f4'), ('y', '<f4'), ('z', '<f4'), ('_', 'u1', 4), ('intensity', '<f4'), ('t', '<u4'),
                                ('ring', '<u2'), ('v', '<f4', 3)])
    for k, name in enumerate('xyz'):
        records[name] = XYZ[:, k]
    records['intensity'], records['t'], records['ring'], records['v'] = INTENSITY, np.arange(POINTS) * 1000, RING, NORMALS
    path.write_bytes(PCD.format(fields='x y z _ intensity t ring v', sizes='4 4 4 1 4 4 2 4', types='F F F U F U U F',
                                counts='1 1 1 4 1 1 1 3', width=POINTS, height=1, points=POINTS, data='binary').encode() +
                     records.tobytes())
    return {name: records[name] for name in ('x', 'y', 'z', 'intensity', 't', 'ring')}


@row('kinect.pcd')
def _(path):  # organized, without a return here and there
    points = XYZ.copy()
    points[::7] = np.nan
    path.write_bytes(PCD.format(fields='x y z', sizes='4 4 4', types='F F F', counts='1 1 1', width=50, height=POINTS // 50,
                                points=POINTS, data='binary').encode() + points.tobytes())
    return columns(points, 'xyz')


# ---- Open3D ----------------------------------------------------------------------------------------------------------

def open3d_row(name, has=(), **options):
    @row(name, 'open3d')
    def _(path):
        import open3d
        cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(XYZ.astype(float)))
        if 'normals' in has:
            cloud.normals = open3d.utility.Vector3dVector(NORMALS.astype(float))
        if 'colors' in has:
            cloud.colors = open3d.utility.Vector3dVector(RGB / 255.0)
        check(open3d.io.write_point_cloud(str(path), cloud, **options), f'Open3D writes {path.name}')
        got = open3d.io.read_point_cloud(str(path))
        wanted = columns(np.asarray(got.points), 'xyz')
        if 'normals' in has:
            for k, names in enumerate((('nx', 'normal_x'), ('ny', 'normal_y'), ('nz', 'normal_z'))):
                wanted[names] = np.asarray(got.normals)[:, k]
        return wanted


open3d_row('o3d_ascii.ply', write_ascii=True)
open3d_row('o3d.ply', ('normals', 'colors'))
open3d_row('o3d_ascii.pcd', ('normals',), write_ascii=True)
open3d_row('o3d.pcd', ('normals', 'colors'))
open3d_row('o3d_compressed.pcd', ('colors',), compressed=True)
open3d_row('o3d.xyz')
open3d_row('o3d.pts', ('colors',))


# ---- laspy -----------------------------------------------------------------------------------------------------------

def laspy_row(name, kind, version):
    @row(name, 'laspy')
    def _(path):
        import laspy
        header = laspy.LasHeader(point_format=kind, version=version)
        header.scales, header.offsets = [0.001] * 3, [513000, 5403000, 0]
        header.add_extra_dim(laspy.ExtraBytesParams('height', f32))
        made = laspy.LasData(header)
        made.height = INTENSITY
        made.x, made.y, made.z = UTM.T
        made.intensity = (INTENSITY * 65535).astype(np.uint16)
        made.classification = (RING % 18).astype(np.uint8)
        if kind in (2, 3, 7, 8):
            made.red, made.green, made.blue = RGB.T.astype(np.uint16) * 257
        made.write(str(path))
        got = laspy.read(str(path))
        return {'x': np.asarray(got.x), 'y': np.asarray(got.y), 'z': np.asarray(got.z), 'intensity': np.asarray(got.intensity),
                'classification': np.asarray(got.classification), 'height': np.asarray(got.height)}


for suffix in 'las', 'laz':
    for kind, version in ((0, '1.2'), (1, '1.4'), (3, '1.2'), (6, '1.4'), (7, '1.4'), (8, '1.4')):
        laspy_row(f'laspy_{kind}.{suffix}', kind, version)


# ---- others ----------------------------------------------------------------------------------------------------------

def plyfile_row(name, is_text, order):
    @row(name, 'plyfile')
    def _(path):
        import plyfile
        made = np.empty(POINTS, [('x', 'f4'), ('y', 'f8'), ('z', 'f4'), ('red', 'u1'), ('label', 'i4')])
        made['x'], made['y'], made['z'] = XYZ.T
        made['red'], made['label'] = RGB[:, 0], np.arange(POINTS) - 9
        plyfile.PlyData([plyfile.PlyElement.describe(made, 'vertex')], text=is_text, byte_order=order).write(str(path))
        got = plyfile.PlyData.read(str(path))['vertex'].data
        return {name: got[name] for name in got.dtype.names}


plyfile_row('plyfile.ply', False, '<')
plyfile_row('plyfile_text.ply', True, '=')
plyfile_row('plyfile_big.ply', False, '>')


def pypcd_row(name, encoding):
    @row(name, 'pypcd4')
    def _(path):
        import pypcd4
        made = pypcd4.PointCloud.from_xyzi_points(SCAN)
        made.save(path, encoding=getattr(pypcd4.Encoding, encoding))
        got = pypcd4.PointCloud.from_path(path)
        return columns(got.numpy(('x', 'y', 'z', 'intensity')))


pypcd_row('pypcd4_ascii.pcd', 'ASCII')
pypcd_row('pypcd4.pcd', 'BINARY')
pypcd_row('pypcd4_compressed.pcd', 'BINARY_COMPRESSED')


def trimesh_row(name, **options):
    @row(name, 'trimesh')
    def _(path):
        import trimesh
        path.write_bytes(trimesh.exchange.ply.export_ply(trimesh.PointCloud(XYZ.astype(float), RGB), **options))
        return columns(np.asarray(trimesh.load(str(path)).vertices), 'xyz')


trimesh_row('trimesh.ply', encoding='binary')
trimesh_row('trimesh_text.ply', encoding='ascii')


# ---- all of them -----------------------------------------------------------------------------------------------------

def has(module):
    try:
        importlib.import_module(module)
        return True
    except ImportError:
        return False


def compare(name, cloud, wanted):
    for column, values in wanted.items():
        names = (column,) if isinstance(column, str) else column
        column = next((c for c in names if c in cloud.dtype.names), None)
        check(column, f'{name} has a column {names}', cloud.dtype.names)
        values = np.asarray(values)
        if column in ('x', 'y', 'z') and np.nanmax(np.abs(values)) > 1e5:
            # float32 relative to an offset of whole metres
            check(np.abs(cloud[column] - values).max() < 3.2e-5, f'{name}: {column}', np.abs(cloud[column] - values).max())
        else:
            equal(f'{name}: {column}', cloud[column].astype(f32), values.astype(f32))


with scratch() as folder:
    read = 0
    missing = {needs for _, needs, *_ in rows if needs and not has(needs)}
    for name, needs, options, warned, function in rows:
        if needs in missing or (name.endswith('.laz') and not has('lazrs')):
            continue
        path = pathlib.Path(folder) / name
        wanted = function(path)
        if name.endswith('.laz') and b'LASzip' in run('info', path, code=None).stderr:
            missing.add('LASzip')
            continue
        compare(name, read_cloud(path, *options, warned=warned), wanted)
        read += 1
    for needs in sorted(missing):
        part_skipped(needs, 'it is not installed')
    passed(f'{read} of {len(rows)} files')
finish()
