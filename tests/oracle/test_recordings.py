"""Recordings that the packages rosbags and mcap of PyPI write: pcgpu reads each field of each message as it was."""
import itertools
import os
import sqlite3

import numpy as np

from common import check, equal, find, finish, passed, read_json, read_ply, run, scratch, write_png
from recorders import (BAG_METHODS, BEGIN, DB3_MODES, DRIVER, METHODS, STEP, IndexType, Mcap, StoragePlugin, cloud2, measured, seconds, serialize, stamp, stores,
                       write_bag, write_db3, write_mcap)


def points_of(kind, i, n):
    rng = np.random.default_rng(i + 1000 * n)
    out = np.zeros(n, kind)
    for name in kind.names:
        base = kind[name].base
        shape = out[name].shape
        out[name] = rng.normal(0, 30, shape) if base.kind == 'f' else rng.integers(0, min(np.iinfo(base).max, 2**24), shape, endpoint=True)
    return out


def custom(ros, points, i, name=DRIVER):
    types = stores[ros].types
    rows = [types[name.replace('Msg', 'Point')](**{k: row[k].item() for k in points.dtype.names}) for row in points]
    return types[name](header=stamp(ros, i), timebase=BEGIN + i * STEP, point_num=len(points), lidar_id=1,
                       rsvd=np.zeros(3, np.uint8), points=rows)


def flat(points):
    """What is expected: x y z first, native order, a column for each value of an array."""
    columns = []
    for name in sorted(points.dtype.names, key=lambda n: 'xyz'.find(n) % 9):
        kind = points.dtype[name]
        values = points[name].reshape(len(points), int(np.prod(kind.shape, dtype=int)))
        many = kind.shape and int(np.prod(kind.shape)) > 1
        columns += [(f'{name}_{k}' if many else name, values[:, k].astype(kind.base.newbyteorder('<'))) for k in range(values.shape[1])]
    out = np.zeros(len(points), [(name, values.dtype) for name, values in columns])
    for name, values in columns:
        out[name] = values
    return out


def compare(what, path, expected, *options, stdin=None):
    """Each cloud of a recording, in a folder of outputs."""
    out = f'{path}.out'
    result = run('convert', path if stdin is None else '-', '-f', '-o', f'{out}/', '--output-format', 'ply', *options, stdin=stdin)
    check(b'warning' not in result.stderr, what, result.stderr.decode())
    names = sorted(os.listdir(out))
    check(names == [f'{i:06d}.ply' for i in range(len(expected))], f'{what}: names', names[:4])
    for name, points in zip(names, expected):
        got = read_ply(f'{out}/{name}')
        check(got.dtype.names == points.dtype.names, f'{what}: columns', got.dtype.names)
        for column in points.dtype.names:
            equal(f'{what}: {name} {column}', got[column], points[column])
        os.remove(f'{out}/{name}')


OUSTER = np.dtype({'names': ['x', 'y', 'z', 'intensity', 't', 'reflectivity', 'ring'], 'formats': ['<f4'] * 4 + ['<u4', '<u2', '<u1'],
                   'offsets': [0, 4, 8, 16, 20, 24, 26], 'itemsize': 48})
MIXED = np.dtype([('i', 'i1'), ('z', '<f4'), ('u', 'u1', (3,)), ('y', '<f4'), ('s', '<i2'), ('k', '<u2', (2,)), ('x', '<f4'), ('n', '<i4')])
LIVOX = np.dtype([('offset_time', '<u4'), ('x', '<f4'), ('y', '<f4'), ('z', '<f4'), ('reflectivity', 'u1'), ('tag', 'u1'), ('line', 'u1')])


def livox_columns(points):
    out = flat(points)
    return out.astype([(n.replace('reflectivity', 'intensity'), out.dtype[n]) for n in out.dtype.names])


def path_message(ros, name, pose, i):
    types = stores[ros].types
    xyz = dict(zip('xyz', pose[:3]))
    q = types['geometry_msgs/msg/Quaternion'](**dict(zip('xyzw', pose[3:])))
    at = types['geometry_msgs/msg/Pose'](position=types['geometry_msgs/msg/Point'](**xyz), orientation=q)
    spread = types['geometry_msgs/msg/PoseWithCovariance'](pose=at, covariance=np.arange(36.0))
    if name.endswith('PoseStamped'):
        return types[name](header=stamp(ros, i), pose=at)
    if name.endswith('PoseWithCovarianceStamped'):
        return types[name](header=stamp(ros, i), pose=spread)
    if name.endswith('TransformStamped'):
        transform = types['geometry_msgs/msg/Transform'](translation=types['geometry_msgs/msg/Vector3'](**xyz), rotation=q)
        return types[name](header=stamp(ros, i), child_frame_id='base'[:i % 5], transform=transform)
    zero = types['geometry_msgs/msg/Vector3'](x=0.0, y=0.0, z=0.0)
    speed = types['geometry_msgs/msg/TwistWithCovariance'](twist=types['geometry_msgs/msg/Twist'](linear=zero, angular=zero), covariance=np.zeros(36))
    return types[name](header=stamp(ros, i), child_frame_id='base'[:i % 5], pose=spread, twist=speed)


def image_message(ros, encoding, image, i, gap=0):
    """Millimetres, as a depth image of an encoding, ">" for big endian; `gap`: bytes after each row."""
    types = stores[ros].types
    if encoding == 'png':
        write_png(place / 'one.png', image)
        data = np.frombuffer(bytes(12) + (place / 'one.png').read_bytes(), np.uint8)
        return types['sensor_msgs/msg/CompressedImage'](header=stamp(ros, i), format='16UC1; compressedDepth png', data=data)
    values = np.where(image > 0, image / np.float32(1000), np.nan).astype('f4') if '32F' in encoding else image
    values = values.astype(values.dtype.newbyteorder('>' if encoding[0] == '>' else '<'))
    data = b''.join(row.tobytes() + b'\xee' * gap for row in values)
    return types['sensor_msgs/msg/Image'](
        header=stamp(ros, i), height=len(image), width=image.shape[1], encoding=encoding.strip('>'), is_bigendian=encoding[0] == '>',
        step=values.strides[0] + gap, data=np.frombuffer(data, np.uint8))


def write_images(path, ros, messages, camera):
    """Depth images on /depth/image, a colour image on /color, and the camera on /depth/camera_info."""
    types = stores[ros].types
    name = messages[0].__msgtype__
    topic = '/depth/image/compressedDepth' if 'Compressed' in name else '/depth/image'
    region = types['sensor_msgs/msg/RegionOfInterest'](x_offset=0, y_offset=0, height=0, width=0, do_rectify=False)
    with open(path, 'wb') as f:
        writer = Mcap(f)
        writer.start()
        channels = {}
        for where, kind in ((topic, name), ('/color', 'sensor_msgs/msg/Image'), ('/depth/camera_info', 'sensor_msgs/msg/CameraInfo'),
                            ('/camera_info', 'sensor_msgs/msg/CameraInfo'), ('/depth/image/of/camera_info', 'sensor_msgs/msg/CameraInfo')):
            schema = writer.register_schema(kind if ros == 'cdr' else kind.replace('/msg/', '/'), 'ros2msg' if ros == 'cdr' else 'ros1msg', b'')
            channels[where] = writer.register_channel(where, ros, schema)
        for i, message in enumerate(messages):
            colour = types['sensor_msgs/msg/Image'](header=stamp(ros, i), height=2, width=2, encoding='rgb8', is_bigendian=0, step=6, data=np.zeros(12, np.uint8))
            rows = [('/color', colour), (topic, message)]
            if camera:
                fx, fy, cx, cy = camera
                words = {'k': np.array([fx, 0, cx, 0, fy, cy, 0, 0, 1.0]), 'd': np.zeros(i), 'r': np.eye(3).ravel(), 'p': np.zeros(12)}
                info = types['sensor_msgs/msg/CameraInfo'](
                    header=stamp(ros, i), height=48, width=64, distortion_model='plumb_bob'[:i], binning_x=0, binning_y=0, roi=region,
                    **{k if ros == 'cdr' else k.upper(): v for k, v in words.items()})
                other = types['sensor_msgs/msg/CameraInfo'](**{**vars(info), 'height': 47})  # of another camera
                rows = [('/camera_info', other), ('/depth/image/of/camera_info', other), *rows, ('/depth/camera_info', info)]
            for where, row in rows:
                writer.add_message(channels[where], BEGIN + i * STEP, serialize(ros, row), BEGIN + i * STEP, i)
        writer.finish()


def sequence(kind, count=7, n=500):
    return [points_of(kind, i, n + i) for i in range(count)]


with scratch() as place:
    for kind, label in ((OUSTER, 'padded'), (MIXED, 'mixed types'), (MIXED.newbyteorder('>'), 'big endian data')):
        clouds = sequence(kind)
        expected = [flat(points) for points in clouds]
        for ros, big in (('ros1', False), ('cdr', False), ('cdr', True)):
            messages = [cloud2(ros, points, i) for i, points in enumerate(clouds)]
            for method, chunk in itertools.product(METHODS, (1000, 60_000)):
                what = f'{label}, {ros}{" big endian" * big}, mcap {method.name} in chunks of {chunk}'
                write_mcap(place / 'a.mcap', ros, messages, big, compression=method, chunk_size=chunk)
                compare(what, place / 'a.mcap', expected)
        passed(f'{label}: every field of MCAP, by compression, serialization and chunk')
        messages = [cloud2('ros1', points, i) for i, points in enumerate(clouds)]
        for method in BAG_METHODS:
            for size in (1000, 100_000):
                (place / 'a.bag').unlink(missing_ok=True)
                write_bag(place / 'a.bag', messages, method, size)
                compare(f'{label}, bag {method}', place / 'a.bag', expected)
        passed(f'{label}: every field of a bag, by compression')
        messages = [cloud2('cdr', points, i) for i, points in enumerate(clouds)]
        for (mode, plugin), big in itertools.product(DB3_MODES, (False, True)):
            file = write_db3(place / 'folder', messages, mode, big, plugin=plugin)
            compare(f'{label}, {file.name}, {mode}{" big endian" * big}', place / 'folder', expected)
            (place / 'folder/metadata.yaml').unlink()
            compare(f'{label}, {file.name} alone, {mode}', file, expected)
        passed(f'{label}: every field of .db3, by compression')

    # Organized clouds whose rows have bytes between them, in all ways to say so.
    clouds = [points_of(OUSTER, i, 60 * (i + 1)) for i in range(4)]
    for ros, gap in itertools.product(('ros1', 'cdr'), (0, 5, 1000)):
        write_mcap(place / 'o.mcap', ros, [cloud2(ros, points, i, 20, gap) for i, points in enumerate(clouds)])
        compare(f'organized, {ros}, {gap} bytes between rows', place / 'o.mcap', [flat(points) for points in clouds])
    write_mcap(place / 'n.mcap', 'cdr', [cloud2('cdr', points_of(OUSTER, 0, 0), 0), cloud2('cdr', clouds[0], 1)])
    compare('a cloud without points', place / 'n.mcap', [flat(points_of(OUSTER, 0, 0)), flat(clouds[0])])
    passed('organized and empty clouds')

    # What a writer may leave out: chunks, indexes, repeated channels, checksums.
    clouds = sequence(OUSTER)
    expected = [flat(points) for points in clouds]
    messages = [cloud2('cdr', points, i) for i, points in enumerate(clouds)]
    for how in ({'use_chunking': False}, {'index_types': IndexType.NONE}, {'repeat_channels': False, 'repeat_schemas': False},
                {'use_statistics': False, 'use_summary_offsets': False}, {'enable_crcs': False}, {'index_types': IndexType.MESSAGE},
                {'use_chunking': False, 'index_types': IndexType.NONE, 'repeat_channels': False, 'repeat_schemas': False, 'use_statistics': False}):
        write_mcap(place / 'w.mcap', 'cdr', messages, chunk_size=50_000, compression=METHODS[-1], **how)
        compare(f'mcap with {how}', place / 'w.mcap', expected)
    compare('standard input', place / 'w.mcap', expected, stdin=(place / 'w.mcap').read_bytes())
    if DB3_MODES:
        file = write_db3(place / 'folder', messages)
        compare('standard input', file, expected, stdin=file.read_bytes())
        odd = place / '%3f?#.db3'
        file.rename(odd)
        compare('a name with the signs of a URI', odd, expected)
        with sqlite3.connect(odd) as base:
            base.execute('PRAGMA journal_mode=WAL')
        before = sorted(os.listdir(place))
        compare('a journal that was closed', odd, expected)
        os.rmdir(f'{odd}.out')
        check(sorted(name for name in os.listdir(place)) == [name for name in before if name != f'{odd.name}.out'], 'no file is added beside it', os.listdir(place))
        writer = sqlite3.connect(odd)
        writer.execute('DELETE FROM messages WHERE id = (SELECT max(id) FROM messages)')
        writer.commit()
        compare('a journal that is open', odd, expected[:-1])
        writer.close()
    compare('standard input', place / 'a.bag', [flat(p) for p in sequence(MIXED.newbyteorder('>'))], stdin=(place / 'a.bag').read_bytes())
    passed('an MCAP without chunks, indexes, channels or checksums; standard input')

    write_db3(place / 'drive', messages, plugin=StoragePlugin.MCAP)
    compare('a folder of ROS 2', place / 'drive', expected)
    passed('a folder of rosbag2')

    clouds = [points_of(LIVOX, i, 300 + i) for i in range(5)]
    expected = [livox_columns(points) for points in clouds]
    for name, (ros, big) in itertools.product((DRIVER, DRIVER.replace('driver2', 'driver')), (('ros1', False), ('cdr', False), ('cdr', True))):
        write_mcap(place / 'l.mcap', ros, [custom(ros, points, i, name) for i, points in enumerate(clouds)], big)
        compare(f'{name}, {ros}{" big endian" * big}', place / 'l.mcap', expected)
    write_bag(place / 'l.bag', [custom('ros1', points, i) for i, points in enumerate(clouds)])
    compare('CustomMsg in a bag', place / 'l.bag', expected)
    passed('CustomMsg of both drivers')

    # What info says, and the parts that options take.
    for path in (place / 'l.mcap', place / 'l.bag'):
        run('info', path, '--json', place / 'i.json', '-q', '-f')
        report = read_json(place / 'i.json')['result']
        topics = {topic['name']: topic for topic in report['topics']}
        check(topics['/points']['messages'] == 5 and topics['/points']['clouds'] and not topics['/note']['clouds'], f'info {path}', topics)
        check(abs(topics['/points']['rate'] - 10) < 1e-9 and abs(topics['/points']['last_time'] - 1_700_000_000.4) < 1e-6, 'times', topics)
        check(find(report, 'columns') == list(expected[0].dtype.names) and report['points'] == 300, 'the first cloud', report)
        run('convert', path, '-o', f'{place}/part/', '-f', '-q', '--set', 'from-time=0.1', '--set', 'to-time=0.35', '--set', 'every=2')
        parts = sorted(os.listdir(place / 'part'))
        check(parts == ['000001.ply', '000003.ply'], 'times and every second cloud', parts)
        run('convert', f'{path}/./000002', '-o', place / 'one.ply', '-f', '-q')
        check((place / 'one.ply').stat().st_size > (place / 'part/000001.ply').stat().st_size, 'one cloud by its name')
    passed('info; parts of a recording')

    # A drive gives one trajectory, from a recording and from the files of its scans, with the times of measurement.
    angles = np.linspace(0, 2 * np.pi, 900, endpoint=False)
    scans = []
    for i in range(6):
        rings = [np.column_stack([r * np.cos(angles) - 0.3 * i, r * np.sin(angles), z + 0 * angles, 0 * angles])
                 for z in np.linspace(-1.5, 2, 12) for r in [8 + 3 * np.cos(3 * angles) + np.sin(7 * angles) + z]]
        scan = np.zeros(900 * 12, [(n, '<f4') for n in ('x', 'y', 'z', 'intensity')])
        for k, n in enumerate(scan.dtype.names):
            scan[n] = np.concatenate(rings)[:, k]
        scans.append(scan)
        (place / 'scans').mkdir(exist_ok=True)
        scan.tofile(place / 'scans' / f'{i:06d}.bin')
    write_mcap(place / 'drive.mcap', 'cdr', [cloud2('cdr', scan, i) for i, scan in enumerate(scans)])
    (place / 'drive.bag').unlink(missing_ok=True)
    write_bag(place / 'drive.bag', [cloud2('ros1', scan, i) for i, scan in enumerate(scans)])
    texts, names = [], ['scans/', 'drive.mcap', 'drive.bag']
    if DB3_MODES:
        names.append(write_db3(place / 'drive_db3', [cloud2('cdr', scan, i) for i, scan in enumerate(scans)]))
    for name in names:
        run('odometry', '--cpu', place / name, '--trajectory', place / 't.txt', '-o', place / 'map.ply', '-f', '-q', '--trajectory-format', 'tum')
        texts.append(((place / 'map.ply').read_bytes(), [line.split() for line in (place / 't.txt').read_text().splitlines()]))
    for what, (cloud, lines) in zip(names[1:], texts[1:]):
        check(cloud == texts[0][0], f'{what}: the map')
        check([line[1:] for line in lines] == [line[1:] for line in texts[0][1]], f'{what}: the poses')
        check([float(line[0]) for line in lines] == [seconds(measured(i)) for i in range(6)], f'{what}: the times', lines[:2])
    guess = (place / 't.txt').read_text()
    for text, code in ((guess, 0), (guess.replace('17000', '16000'), 1)):
        (place / 'guess.txt').write_text(text)
        told = run('odometry', '--cpu', place / 'drive.mcap', '--guess', place / 'guess.txt', '-q', code=code).stderr
        check(code == 0 or b'in one clock' in told, 'a guess in the clock of the recording', told)
    fixes, rows = [], ['time,latitude,longitude,height']
    for i in range(6):
        types = stores['ros1'].types
        at = (48.1 + 2.7e-6 * i, 11.5 + 1e-7 * (i % 2), 500.0)
        status = types['sensor_msgs/msg/NavSatStatus'](status=0 if i != 3 else -1, service=1)
        fixes.append(types['sensor_msgs/msg/NavSatFix'](header=stamp('ros1', i), status=status, latitude=at[0], longitude=at[1], altitude=at[2],
                                                        position_covariance=np.zeros(9), position_covariance_type=0))
        rows += [f'{measured(i) // 10**9}.{measured(i) % 10**9:09d},{at[0]!r},{at[1]!r},{at[2]!r}'] if i != 3 else []
    write_mcap(place / 'fix.mcap', 'ros1', fixes, topic='/gps/fix')
    (place / 'fix.csv').write_text('\n'.join(rows) + '\n')
    for prior in ('fix.mcap/./gps/fix', 'fix.csv'):
        run('odometry', '--cpu', place / 'drive.mcap', '--prior', f'{place}/{prior}', '--set', 'prior-sigma=0.05', '--trajectory', place / f'{prior[4:5]}.tum', '-f', '-q')
    check((place / 'm.tum').read_text() == (place / 'c.tum').read_text(), 'positions of a topic')
    check(max(abs(float(v)) for v in (place / 'm.tum').read_text().split()[1:4]) < 5, 'east, north, up about the first one', (place / 'm.tum').read_text()[:200])
    passed('odometry: the map, the poses and the times; a guess, and positions')

    # Poses and positions on topics are trajectories.
    rng = np.random.default_rng(5)
    poses = rng.normal(0, 5, (9, 7))
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
    for ros, big in (('ros1', False), ('cdr', False), ('cdr', True)):
        for name in ('geometry_msgs/msg/PoseStamped', 'geometry_msgs/msg/PoseWithCovarianceStamped', 'nav_msgs/msg/Odometry', 'geometry_msgs/msg/TransformStamped'):
            write_mcap(place / 'p.mcap', ros, [path_message(ros, name, pose, i) for i, pose in enumerate(poses)], big, topic='/robot/odom')
            run('evaluate', place / 'p.mcap', '--ground-truth', f'{place}/p.mcap/./robot/odom', '--json', place / 'e.json', '-f', '-q')
            check(find(read_json(place / 'e.json'), 'ate_rmse') < 1e-9, f'{name}, {ros}: a trajectory')
            lines = [' '.join(f'{v:.17g}' for v in (seconds(measured(i)), *pose)) for i, pose in enumerate(poses)]
            (place / 'p.txt').write_text('\n'.join(lines) + '\n')
            run('evaluate', place / 'p.mcap/./robot/odom', '--ground-truth', place / 'p.txt', '--json', place / 'e.json', '-f', '-q')
            report = read_json(place / 'e.json')
            check(find(report, 'ate_rmse') < 1e-9 and find(report, 'poses') == 9, f'{name}, {ros}: its poses', report)
    told = run('evaluate', place / 'p.mcap/./nowhere', '--ground-truth', place / 'p.txt', code=None)
    check(told.returncode == 1 and b'has no poses on /nowhere; give REC/./TOPIC, one of: /robot/odom' in told.stderr, 'a topic that is not there', told.stderr)
    told = run('evaluate', place / 'l.mcap', '--ground-truth', place / 'p.txt', code=1).stderr.decode()
    check(told.endswith('l.mcap: has no message with a pose (Odometry, PoseStamped, TransformStamped, NavSatFix); pcgpu info lists its topics\n'), 'no poses', told)
    passed('poses on topics')

    # Depth images, with the camera beside them.
    depths = [rng.integers(400, 4000, (48, 64)).astype('<u2') for _ in range(4)]
    for image in depths:
        image[:3, :5] = 0
    cloud_of = {}
    for i, image in enumerate(depths):
        write_png(place / 'd.png', image)
        run('convert', '--camera', '50,51,31.5,23.25', place / 'd.png', '-o', place / 'd.ply', '-f', '-q')
        cloud_of[i] = read_ply(place / 'd.ply')
    for ros, encoding, gap in itertools.product(('ros1', 'cdr'), ('16UC1', 'mono16', '32FC1', '>16UC1', '>32FC1', 'png'), (0, 6)):
        messages = [image_message(ros, encoding, image, i, gap) for i, image in enumerate(depths)]
        write_images(place / 'd.mcap', ros, messages, (50, 51, 31.5, 23.25))
        compare(f'depth images, {ros}, {encoding}, {gap}', place / 'd.mcap', list(cloud_of.values()))
    run('info', place / 'd.mcap', '--json', place / 'i.json', '-q', '-f')
    report = read_json(place / 'i.json')['result']
    check(report['camera'] == [50, 51, 31.5, 23.25] and (report['width'], report['height']) == (64, 48), 'info of depth images', report)
    write_images(place / 'd.mcap', 'cdr', messages[:0] + [image_message('cdr', '16UC1', image, i) for i, image in enumerate(depths)], None)
    told = run('convert', place / 'd.mcap', '-o', f'{place}/x/', code=2).stderr
    check(b'give --camera' in told, 'images without a camera', told)
    compare('a camera that is given', place / 'd.mcap', list(cloud_of.values()), '--camera', '50,51,31.5,23.25')
    passed('depth images')

    # Cut at every 97th byte: what is whole is read, or there is an error and nothing is written.
    small = [points_of(np.dtype([(n, '<f4') for n in 'xyz']), i, 20) for i in range(4)]
    write_mcap(place / 'c.mcap', 'cdr', [cloud2('cdr', points, i) for i, points in enumerate(small)], chunk_size=300, compression=METHODS[-1])
    (place / 'c.bag').unlink(missing_ok=True)
    write_bag(place / 'c.bag', [cloud2('ros1', points, i) for i, points in enumerate(small)], size=300)
    for name in ('c.mcap', 'c.bag'):
        whole, most = (place / name).read_bytes(), 0
        for size in range(1, len(whole), 97):
            (place / name).write_bytes(whole[:size])
            result = run('convert', place / name, '-o', f'{place}/cut/', '-f', code=None)
            got = sorted(os.listdir(place / 'cut')) if (place / 'cut').exists() else []
            check(result.returncode == (0 if got else 1) and result.stderr, f'{name} cut at byte {size}', (result.returncode, result.stderr))
            check(len(got) >= most, f'{name} cut at byte {size} has the clouds of a shorter one', got)
            most = len(got)
            for i, file in enumerate(got):
                equal(f'{name} cut at byte {size}: {file}', read_ply(place / 'cut' / file), flat(small[i]))
                os.remove(place / 'cut' / file)
        check(most == 4, f'{name}: all clouds before its end', most)
    passed('files that end in the middle')
finish()
