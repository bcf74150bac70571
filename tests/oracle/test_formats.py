"""Files of other programs: what pcgpu reads is what NumPy, laspy, plyfile or Open3D wrote, and the other way round. LAS is
written by hand here, by the tables of its specification; laspy, plyfile and Open3D join where they are installed."""
import io
import json
import pathlib
import struct

import numpy as np

from common import SOURCE, check, data, equal, finish, part_skipped, passed, read_cloud as read, read_ply, run, scratch

try:
    import laspy
except ImportError:
    laspy = None
try:
    import plyfile
except ImportError:
    plyfile = None
try:
    import open3d
except ImportError:
    open3d = None

f32 = np.float32


def scan(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return np.c_[rng.normal(0, 30, (n, 3)), rng.random(n)].astype(f32)


def compare(what, cloud, columns):
    for name, values in columns.items():
        equal(f'{what}: {name}', cloud[name].astype(f32), np.asarray(values).astype(f32))


# ---- text ----

def test_text(folder):
    points = scan(400)
    names = 'x', 'y', 'z', 'reflectance'
    for fmt in '%.18e', '%.9g', '%.3f', '%.6f', '%.17g':
        for delimiter in ' ', ',', ';', '\t', ', ':
            for header in '', delimiter.join(names):
                for comments in ('# ', '') if header else ('',):
                    buffer = io.StringIO()
                    np.savetxt(buffer, points, fmt, delimiter, header=header, comments=comments)
                    path = folder / ('a.csv' if ',' in delimiter else 'a.txt')
                    path.write_text(buffer.getvalue())
                    wanted = np.loadtxt(io.StringIO(buffer.getvalue()), delimiter=delimiter.strip() or None,
                                        skiprows=1 if header else 0, dtype=str)
                    cloud = read(path)
                    check(cloud.dtype.names == (names if header else ('x', 'y', 'z', 'intensity')), f'names of {fmt} {delimiter!r}')
                    values = np.array([[f32(v) for v in row] for row in wanted])
                    equal(f'text {fmt} {delimiter!r}', np.stack([cloud[n] for n in cloud.dtype.names], 1), values)
    passed('text of NumPy: five formats of numbers, five separators, headers and comments')
    utm = points[:, :3].astype(float).round(3) + [513000, 5403000, 0]
    np.savetxt(folder / 'utm.xyz', utm, '%.3f')
    cloud = read(folder / 'utm.xyz')
    error = max(np.abs(cloud[name] - utm[:, k]).max() for k, name in enumerate('xyz'))
    check(error < 3.2e-5, 'UTM text keeps its precision', error)
    for name, skip, delimiter in ('b.xyz', 0, None), ('b.csv', 1, ','):
        np.save(folder / 'b.npy', points)
        run('sample', '--cpu', '--ratio', '1', '--method', 'random', folder / 'b.npy', '-f', '-o', folder / name, '--indices', folder / 'i.npy')
        equal(f'{name} as NumPy reads it', np.loadtxt(folder / name, f32, skiprows=skip, delimiter=delimiter),
              points[np.load(folder / 'i.npy')])
    passed('UTM, and text that NumPy reads')


# ---- LAS ----

# x y z, intensity, returns, ..., as the specification has them; w: a wave packet
BASE = [('X', 'i4'), ('Y', 'i4'), ('Z', 'i4'), ('intensity', 'u2')]
OLD = BASE + [('bits', 'u1'), ('class', 'u1'), ('angle', 'i1'), ('user', 'u1'), ('source', 'u2')]
NEW = BASE + [('bits', 'u1'), ('flags', 'u1'), ('class', 'u1'), ('user', 'u1'), ('angle', 'i2'), ('source', 'u2'), ('gps_time', 'f8')]
TIME, RGB, NIR, WAVE = ([('gps_time', 'f8')], [('red', 'u2'), ('green', 'u2'), ('blue', 'u2')], [('nir', 'u2')], [('wave', 'V29')])
FORMATS = [OLD, OLD + TIME, OLD + RGB, OLD + TIME + RGB, OLD + TIME + WAVE, OLD + TIME + RGB + WAVE,
           NEW, NEW + RGB, NEW + RGB + NIR, NEW + WAVE, NEW + RGB + NIR + WAVE]
SIZES = [20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67]


def las_file(minor, kind, records, scale, offset, extra=b''):
    header = bytearray({0: 227, 1: 227, 2: 227, 3: 235, 4: 375}[minor])
    header[:4], header[24], header[25], header[104] = b'LASF', 1, minor, kind
    vlr = struct.pack('<H16sHH32s', 0, b'LASF_Spec', 4, len(extra), b'extra') + extra if extra else b''
    struct.pack_into('<HII', header, 94, len(header), len(header) + len(vlr), 1 if vlr else 0)
    struct.pack_into('<H', header, 105, records.dtype.itemsize)
    if minor < 4 or kind < 6:
        struct.pack_into('<I', header, 107, len(records))
    struct.pack_into('<6d', header, 131, *scale, *offset)
    if minor == 4:
        struct.pack_into('<Q', header, 247, len(records))
    return bytes(header) + vlr + records.tobytes()


def extra_description(kind, name, scale=None, offset=None):
    options = (8 if scale is not None else 0) | (16 if offset is not None else 0)
    return struct.pack('<2xBB32s4x72x3d3d32s', kind, options, name, scale or 0, 0, 0, offset or 0, 0, 0, b'')


def test_las(folder):
    rng = np.random.default_rng(5)
    scale, offset = (.001, .01, .002), (513000., 5403000., -3.)
    extra = extra_description(9, b'height') + extra_description(0, b'').replace(b'\0\0\0\0', b'\0\0\0\3', 1) \
        + extra_description(3, b'amp', .5, 10.) + extra_description(13, b'pair') + extra_description(1, b'label')
    for minor in range(5):
        for kind in range({0: 2, 1: 2, 2: 4, 3: 6, 4: 11}[minor]):
            for more in False, True:
                fields = FORMATS[kind] + ([('height', 'f4'), ('raw', 'V3'), ('amp', 'u2'), ('pair', '2u2'), ('label', 'u1')] if more else [])
                dtype = np.dtype([(f[0], f[1] if 'V' in f[1] else f[1].replace('2u', '(2,)<u') if '2u' in f[1] else '<' + f[1]) for f in fields])
                check(dtype.itemsize == SIZES[kind] + (14 if more else 0), f'size of format {kind}')
                records = np.frombuffer(rng.bytes(dtype.itemsize * 700), dtype).copy()
                for axis in 'XYZ':
                    records[axis] = rng.integers(-100000, 100000, 700)
                for real in {'gps_time', 'height'} & set(dtype.names):
                    records[real] = rng.integers(0, 4000000, 700) / 8
                path = folder / 'a.las'
                path.write_bytes(las_file(minor, kind, records, scale, offset, extra if more else b''))
                left_out = (['waveforms'] if kind in (4, 5, 9, 10) else []) + (["extra dimension '' of no known type"] if more else [])
                cloud = read(path, warned='left out: ' + ', '.join(left_out) if left_out else '')
                what = f'LAS 1.{minor}, format {kind}'
                for k, axis in enumerate('XYZ'):
                    wanted = records[axis] * scale[k] + offset[k]
                    check(np.abs(cloud[axis.lower()] - wanted).max() < 3.2e-5, f'{what}: {axis}')
                columns = {'intensity': records['intensity'], 'return_number': records['bits'] & (15 if kind >= 6 else 7),
                           'classification': records['class'] & (255 if kind >= 6 else 31)}
                columns.update({name: records[name] for name in ('gps_time', 'red', 'green', 'blue', 'nir', 'height', 'label')
                                if name in dtype.names})
                columns.update(las_dimensions(records, kind >= 6))
                if more:
                    columns.update({'amp': records['amp'] * .5 + 10, 'pair[0]': records['pair'][:, 0], 'pair[1]': records['pair'][:, 1]})
                compare(what, cloud, columns)
                check(set(cloud.dtype.names) == set('xyz') | set(columns), f'columns of {what}', cloud.dtype.names)
    passed('LAS 1.0 to 1.4, point formats 0 to 10, with and without extra dimensions')


def las_dimensions(records, new):
    """What a file holds of its points besides the columns that every command reads."""
    bits, flags = records['bits'].astype(int), records['flags' if new else 'class'].astype(int)
    kept = {'number_of_returns': bits >> 4 if new else bits >> 3 & 7, 'user_data': records['user'], 'point_source_id': records['source'],
            'scan_direction_flag': (flags if new else bits) >> 6 & 1, 'edge_of_flight_line': (flags if new else bits) >> 7,
            'scan_angle': records['angle'] * (.006 if new else 1)}
    for i, name in enumerate(('synthetic', 'key_point', 'withheld')):
        kept[name] = flags >> i + (0 if new else 5) & 1
    return dict(kept, overlap=flags >> 3 & 1, scanner_channel=flags >> 4 & 3) if new else kept


def test_las_kept(folder):
    """Bytes of points through convert, crop, sample and merge; formats 4, 5, 9 and 10 lose their waveforms."""
    rng = np.random.default_rng(6)
    extra = extra_description(29, b'sigma') + extra_description(10, b'range') + extra_description(11, b'pair')
    projection = struct.pack('<H16sHH32s', 0, b'LASF_Projection', 34735, 8, b'') + struct.pack('<4H', 1, 1, 0, 0)
    for kind, times in [(k, t) for k in (0, 1, 2, 3, 4, 6, 7, 8, 9) for t in ((0., 4000.), (499451., 13.), (2.5e8, 86400.))[::1 if k < 2 else 2]]:
        minor = 4 if kind >= 6 else 3
        dtype = np.dtype([(f[0], f[1] if 'V' in f[1] else '<' + f[1]) for f in FORMATS[kind]] +
                         [('sigma', '<f4', (3,)), ('range', '<f8'), ('pair', 'u1', (2,))])
        records = np.zeros(900, dtype)
        for name in set(dtype.names) - {'wave'}:
            raw = rng.bytes(dtype[name].itemsize * 900)
            records[name] = np.frombuffer(raw, dtype[name]) if dtype[name].shape == () else np.frombuffer(raw, dtype[name].base).reshape(900, -1)
        for axis in 'XYZ':
            records[axis] = rng.integers(-100000, 100000, 900)
        records['X'][:2] = -100000, 100000
        records['bits'] |= 9 if kind < 6 else 17  # from 1 on
        records['range'], records['sigma'] = rng.integers(0, 1 << 20, 900) / 64, rng.random((900, 3))
        if kind >= 6:
            records['angle'] = rng.integers(-30000, 30001, 900)
        if 'gps_time' in dtype.names:
            records['gps_time'] = times[0] + np.sort(rng.random(900)) * times[1]
        content = bytearray(las_file(minor, kind, records, (.001, .01, .002), (513000., 5403000., -3.), extra))
        size, = struct.unpack_from('<H', content, 94)
        content[size:size] = projection
        struct.pack_into('<II', content, 96, struct.unpack_from('<I', content, 96)[0] + len(projection), 2)
        struct.pack_into('<HH', content, 4, 77, 1)
        (folder / 'k.las').write_bytes(content)
        waves = {'warned': 'left out: waveforms'} if kind in (4, 9) else {}
        for command in (['convert'], ['convert', '--crop=-1e9,-1e9,-1e9,1e9,1e9,1e9'], ['sample', '--cpu', '-m', '900'], ['convert', '--merge']):
            order = command[0] == 'sample'
            inputs = [folder / 'k.las'] * (1 + ('--merge' in command))
            result = run(*command, *inputs, '-f', '-o', folder / 'l.las', *(['--indices', folder / 'i.npy'] if order else []))
            check(not waves or waves['warned'] in result.stderr.decode(), f'{command} says what is left out', result.stderr)
            check(bool(waves) or 'left out' not in result.stderr.decode(), f'{command} leaves nothing out', result.stderr)
            written = (folder / 'l.las').read_bytes()
            check(written[4:8] == content[4:8], f'source and kind of time, format {kind}', written[4:8])
            check(written[25] == (4 if kind >= 6 else 2) and written[104] == {4: 1, 9: 6}.get(kind, kind), f'format {kind}', written[24:26])
            check(projection[18:] in written[:2000], f'coordinate system, format {kind}, {command}')
            start, = struct.unpack_from('<I', written, 96)
            made = np.dtype([(f[0], '<' + f[1]) for f in FORMATS[written[104]]] + [('sigma', '<f4', (3,)), ('range', '<f4'), ('pair', 'u1', (2,))] +
                            ([('source_file', 'u1')] if '--merge' in command else []))
            got = np.frombuffer(written, made, -1, start)
            wanted = records[np.load(folder / 'i.npy')] if order else np.tile(records, len(inputs))
            for name in set(made.names) - set('XYZ') - {'source_file'}:
                if name == 'gps_time':
                    error = np.abs(got[name] - wanted[name]).max()
                    check(error < 1e-10 and len(set(got[name])) == len(set(wanted[name])), f'times of format {kind} from {times}, {command}', error)
                else:
                    equal(f'{name} of format {kind}, {command}', got[name], wanted[name].astype(made[name].base))
    passed('LAS: what the bytes of points hold survives convert, crop, sample and merge')


def parse_las(content):
    """A .las of pcgpu: its points and extra dimensions."""
    version, size, start, vlrs = content[24:26], *struct.unpack_from('<HII', content, 94)
    kind, stride, count = struct.unpack_from('<BHI', content, 104)
    scale, offset = np.array(struct.unpack_from('<6d', content, 131)).reshape(2, 3)
    bounds = struct.unpack_from('<6d', content, 179)
    dtype = [(f[0], f[1] if 'V' in f[1] else '<' + f[1]) for f in FORMATS[kind]]
    if vlrs:
        count_extra = struct.unpack_from('<H', content, size + 20)[0] // 192
        for i in range(count_extra):
            at = size + 54 + 192 * i
            code = {1: 'u1', 2: 'i1', 3: '<u2', 4: '<i2', 5: '<u4', 6: '<i4', 9: '<f4', 10: '<f8'}[content[at + 2]]
            dtype.append((content[at + 4:at + 36].rstrip(b'\0').decode(), code))
    points = np.frombuffer(content, np.dtype(dtype), count, start)
    check(version == b'\1\2' and points.dtype.itemsize == stride and start + count * stride == len(content), 'header of LAS')
    return points, scale, offset, bounds


def test_las_written(folder):
    points = scan()
    np.save(folder / 'c.npy', points)
    run('sample', '--cpu', '--ratio', '1', '--method', 'random', folder / 'c.npy', '-f', '-o', folder / 'c.las', '--indices', folder / 'i.npy')
    las, scale, offset, bounds = parse_las((folder / 'c.las').read_bytes())
    wanted = points[np.load(folder / 'i.npy')]
    got = np.stack([las[a] for a in 'XYZ'], 1) * scale + offset
    check(np.abs(got - wanted[:, :3]).max() <= .5e-6 + 1e-9, 'coordinates of a written LAS')
    equal('intensity of a written LAS', las['intensity_value'], wanted[:, 3])
    check(set(las['bits']) == {9}, 'one return of one')
    check(np.allclose(bounds, [v for k in range(3) for v in (got[:, k].max(), got[:, k].min())], atol=1e-9), 'bounds of a written LAS')
    passed('LAS as it is written, by its specification')
    if not laspy:
        return part_skipped('laspy', 'it is not installed')
    other = laspy.read(folder / 'c.las')
    equal('coordinates as laspy reads them', np.stack([other.x, other.y, other.z], 1).astype(f32), got.astype(f32))
    equal('intensity as laspy reads it', np.asarray(other['intensity_value']), wanted[:, 3])
    return passed('laspy reads what is written; test_wild.py has the other direction')


# ---- PLY, PCD ----

def test_plyfile(folder):
    if not plyfile:
        return part_skipped('plyfile', 'it is not installed')
    points = scan()
    made = np.empty(len(points), [('x', 'f4'), ('y', 'f8'), ('z', 'f4'), ('ring', 'u1'), ('t', 'i4')])
    made['x'], made['y'], made['z'] = points[:, :3].T
    made['ring'], made['t'] = np.arange(len(points)) % 256, np.arange(len(points)) - 99
    plyfile.PlyData([plyfile.PlyElement.describe(made, 'vertex')]).write(str(folder / 'e.ply'))
    run('sample', '--cpu', '-m', '100', folder / 'e.ply', '-o', folder / 'f.ply', '-f', '--indices', folder / 'i.npy')
    other = plyfile.PlyData.read(str(folder / 'f.ply'))['vertex'].data
    compare('PLY as plyfile reads it', other, {n: made[n][np.load(folder / 'i.npy')] for n in made.dtype.names})
    return passed('plyfile reads what is written; test_wild.py has the other direction')


def test_open3d(folder):
    """The colours of a .pcd, which PCL packs, and its normals, which PCL names otherwise."""
    if not open3d:
        return part_skipped('colours and normals of .pcd by Open3D', 'it is not installed')
    points = scan()
    colors = np.random.default_rng(5).integers(0, 256, (len(points), 3))
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points[:, :3]))
    cloud.colors = open3d.utility.Vector3dVector(colors / 255)
    normals = np.random.default_rng(6).normal(size=(len(points), 3))
    normals = (normals / np.linalg.norm(normals, axis=1, keepdims=True)).astype('f4').astype(float)
    cloud.normals = open3d.utility.Vector3dVector(normals)
    for options in {}, {'write_ascii': True}, {'compressed': True}:
        open3d.io.write_point_cloud(str(folder / 'o.pcd'), cloud, **options)
        compare(f'colours of Open3D, {options}', read(folder / 'o.pcd'), dict(zip(('red', 'green', 'blue'), colors.T)))
        compare(f'normals of Open3D, {options}', read(folder / 'o.pcd'), dict(zip(('nx', 'ny', 'nz'), normals.astype('f4').T)))
    for name in 'p.pcd', 'p.ply':
        run('convert', folder / 'o.pcd', '-o', folder / name)
        back = open3d.io.read_point_cloud(str(folder / name))
        equal(f'colours of {name} as Open3D reads them', np.rint(np.asarray(back.colors) * 255).astype(int), colors)
        check(np.abs(np.asarray(back.normals) - normals).max() < 1e-6, f'normals of {name} as Open3D reads them')
    return passed('colours and normals of .pcd by Open3D, both directions')


def read_glb(content):
    """Vertices, normals and triangles of the one mesh, by the scene's JSON."""
    check(struct.unpack_from('<4sII', content) == (b'glTF', 2, len(content)), 'header of .glb')
    length, kind = struct.unpack_from('<I4s', content, 12)
    check(kind == b'JSON' and length % 4 == 0, 'first chunk of .glb')
    scene = json.loads(content[20:20 + length])
    if not scene.get('meshes'):
        return None
    size, kind = struct.unpack_from('<I4s', content, 20 + length)
    check(kind == b'BIN\0' and 28 + length + size == len(content) and scene['buffers'][0]['byteLength'] == size, 'second chunk of .glb')
    binary = content[28 + length:]

    def values(index):
        accessor = scene['accessors'][index]
        view = scene['bufferViews'][accessor['bufferView']]
        width, dtype = (3, '<f4') if accessor['type'] == 'VEC3' else (1, '<u4')
        start, stride = view.get('byteOffset', 0) + accessor.get('byteOffset', 0), view.get('byteStride', 4 * width)
        check(start + stride * (accessor['count'] - 1) + 4 * width <= view.get('byteOffset', 0) + view['byteLength'], 'accessor of .glb')
        return np.ndarray((accessor['count'], width), dtype, binary, start, (stride, 4)), accessor

    primitive = scene['meshes'][0]['primitives'][0]
    (points, accessor), (normals, _) = values(primitive['attributes']['POSITION']), values(primitive['attributes']['NORMAL'])
    check(np.allclose(accessor['min'], points.min(0)) and np.allclose(accessor['max'], points.max(0)), 'bounds of .glb')
    return points, normals, values(primitive['indices'])[0].reshape(-1, 3)


def test_meshes(folder):
    room = SOURCE / 'testdata' / 'room'
    if not (room / 'camera.yaml').exists():
        return part_skipped('meshes', 'no frames')
    for suffix in 'ply', 'obj', 'glb':
        run('fuse', '--cpu', '--config', room / 'camera.yaml', '--poses', room / 'poses_kitti.txt', *sorted(room.glob('*.png')),
            '--voxel-size', '0.05', '--mesh', folder / f'm.{suffix}')
    content = (folder / 'm.ply').read_bytes()
    vertices = read_ply(folder / 'm.ply')
    faces = int(content[content.index(b'element face '):].split()[2])
    triangles = np.frombuffer(content, np.dtype([('n', 'u1'), ('i', '<3i4')]), faces, len(content) - 13 * faces)['i']
    points = np.stack([vertices[n] for n in 'xyz'], 1)
    normals = np.stack([vertices[n] for n in ('nx', 'ny', 'nz')], 1)
    lines = [line.split() for line in (folder / 'm.obj').read_text().splitlines()]
    equal('points of .obj', np.array([line[1:] for line in lines if line[0] == 'v'], f32), points)
    equal('normals of .obj', np.array([line[1:] for line in lines if line[0] == 'vn'], f32), normals)
    equal('triangles of .obj', np.array([[int(c.split('//')[0]) - 1 for c in line[1:]] for line in lines if line[0] == 'f'], 'i4'), triangles)
    got = read_glb((folder / 'm.glb').read_bytes())
    equal('points of .glb', got[0], points)
    equal('normals of .glb', got[1], normals)
    equal('triangles of .glb', got[2].astype('i4'), triangles)
    passed(f'a mesh of {faces} triangles as .ply, .obj and .glb')
    # glTF has y up: the node turns the axis that the .ply names, and the offset of UTM coordinates with it.
    poses = np.loadtxt(room / 'poses_kitti.txt')[:1].reshape(3, 4)
    for axis, up in enumerate(('x', 'y', 'z', '-x', '-y', '-z')):
        turn = np.zeros((3, 3))
        turn[axis % 3, 2] = turn[(axis + 1) % 3, 0] = turn[(axis + 2) % 3, 1] = 1
        turn = turn if axis < 3 else np.diag([-1 if k != (axis + 1) % 3 else 1 for k in range(3)]) @ turn
        moved = turn @ poses + np.array([[0, 0, 0, v] for v in (30000, 50000, 70000)])
        np.savetxt(folder / 'turned.txt', moved.reshape(1, 12), '%.17g')
        run('fuse', '-f', '--cpu', '--config', room / 'camera.yaml', '--poses', folder / 'turned.txt', room / 'frame-000000.png',
            '--voxel-size', '0.05', '--mesh', folder / 'turned.glb', '-o', folder / 'turned.ply')
        content = (folder / 'turned.ply').read_bytes()
        check(f'comment up {up}\n'.encode() in content[:100], f'{up} is up in .ply', content[:100])
        content = (folder / 'turned.glb').read_bytes()
        node = json.loads(content[20:20 + struct.unpack_from('<I', content, 12)[0]])['nodes'][0]
        x, y, z, w = node.get('rotation', (0, 0, 0, 1))
        R = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                      [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                      [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])
        check(np.allclose(R @ turn[:, 2], (0, 1, 0)), f'.glb of {up} stands upright', str(R))
        vertices = read_ply(folder / 'turned.ply')
        wanted = np.stack([vertices[n] for n in 'xyz'], 1) @ R.T
        got = read_glb(content)[0] @ R.T + node['translation']
        check(np.allclose(got, wanted, atol=1e-3), f'.glb of {up} is where it was', abs(got - wanted).max())
        try:
            import trimesh
        except ImportError:
            continue
        bounds = trimesh.load(str(folder / 'turned.glb')).bounds
        check(np.allclose(bounds, (wanted.min(0), wanted.max(0)), atol=1e-3), f'trimesh: .glb of {up}', str(bounds))
    return passed('what is up in .ply and .glb')


def test_real(folder):
    """The checks of what looks wrong have no false alarm on real files."""
    del folder
    if not data('kitti'):
        return part_skipped('real files', 'no real data')
    for path in sorted([*data('kitti').glob('*.bin'), *data('kitti00').glob('velodyne/*.bin'), *data('nuscenes').glob('*.bin'),
                        *data('clouds').glob('*.p*'), *data('pair').glob('*.ply')]):
        result = run('info', path, code=None)
        check(b'looks wrong' not in result.stdout and b'warning' not in result.stderr, f'{path} looks right', result.stdout.decode())
    for path in sorted(data('nuscenes_sequence').glob('*.bin')):
        check(b'give --fields 5' in run('info', path, code=1).stderr, f'{path} has 5 columns')
        check(not run('info', '--fields', '5', path).stderr, f'{path} is right with 5 columns')
    return passed('real files')


with scratch() as scratch_folder:
    scratch_folder = pathlib.Path(scratch_folder)
    test_text(scratch_folder)
    test_las(scratch_folder)
    test_las_kept(scratch_folder)
    test_las_written(scratch_folder)
    test_plyfile(scratch_folder)
    test_open3d(scratch_folder)
    test_meshes(scratch_folder)
    test_real(scratch_folder)
finish()
