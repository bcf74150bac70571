"""Recordings by the packages rosbags and mcap of PyPI; without these the importing test is skipped."""
import shutil
import sys

import numpy as np

from common import SKIP, run

try:
    from mcap.reader import make_reader
    from mcap.writer import CompressionType, IndexType, Writer as Mcap
    from rosbags.highlevel import AnyReader
    from rosbags.rosbag1 import Writer as Bag
    from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer as Rosbag2
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore
except ImportError as missing:
    print(f'skipped: {missing.name}, a package of PyPI, is not there')
    sys.exit(SKIP)

DRIVER = 'livox_ros_driver2/msg/CustomMsg'
POINT = 'uint32 offset_time\nfloat32 x\nfloat32 y\nfloat32 z\nuint8 reflectivity\nuint8 tag\nuint8 line\n'
CUSTOM = 'std_msgs/Header header\nuint64 timebase\nuint32 point_num\nuint8 lidar_id\nuint8[3] rsvd\nCustomPoint[] points\n'
stores = {}
for ros, version in (('ros1', Stores.ROS1_NOETIC), ('cdr', Stores.ROS2_HUMBLE)):
    stores[ros] = get_typestore(version)
    for name in (DRIVER, DRIVER.replace('driver2', 'driver')):
        stores[ros].register(get_types_from_msg(POINT, name.replace('Msg', 'Point')))
        stores[ros].register(get_types_from_msg(CUSTOM, name))

CODES = {'i1': 1, 'u1': 2, 'i2': 3, 'u2': 4, 'i4': 5, 'u4': 6, 'f4': 7, 'f8': 8}
EXPANDS = run('--version', '-v').stdout.decode().split('recordings of: ')[1].splitlines()[0].split(', ')  # of this build
METHODS = [method for method in CompressionType if method is CompressionType.NONE or method.name.lower() in EXPANDS]
BAG_METHODS = [None] + [method for method in Bag.CompressionFormat if {'BZ2': 'bzip2'}.get(method.name, method.name.lower()) in EXPANDS]
DB3_MODES = [(mode, plugin) for mode, plugin in ((None, StoragePlugin.SQLITE3), (CompressionMode.MESSAGE, StoragePlugin.SQLITE3),
                                                 (CompressionMode.FILE, StoragePlugin.SQLITE3), (CompressionMode.FILE, StoragePlugin.MCAP))
             if 'sqlite' in EXPANDS and (mode is None or 'zstd' in EXPANDS)]
BEGIN = 1_700_000_000_000_000_000
STEP = 100_000_000


def seconds(time):
    """The float64 that is nearest to nanoseconds."""
    return float(f'{time // 10**9}.{time % 10**9:09d}')


def measured(i):
    """The time of measurement, before that of the log."""
    return BEGIN + i * STEP - 40_000_000 + 7_654_321 * (i % 3)


def stamp(ros, i):
    types, time = stores[ros].types, measured(i)
    header = {'stamp': types['builtin_interfaces/msg/Time'](sec=time // 10**9, nanosec=time % 10**9), 'frame_id': 'lidar'[:i % 6]}
    return types['std_msgs/msg/Header'](**({'seq': i} if ros == 'ros1' else {}), **header)


def cloud2(ros, points, i, height=1, gap=0):
    """A PointCloud2; `gap`: bytes after each row of an organized one."""
    types, kind = stores[ros].types, points.dtype
    big = any(kind[name].base.byteorder == '>' for name in kind.names)
    fields = [types['sensor_msgs/msg/PointField'](name=name, offset=kind.fields[name][1], datatype=CODES[kind[name].base.str[1:]],
                                                  count=int(np.prod(kind[name].shape, dtype=int))) for name in kind.names]
    rows = points.reshape(height, -1)
    body = b''.join(row.tobytes() + b'\xee' * gap for row in rows)
    return types['sensor_msgs/msg/PointCloud2'](
        header=stamp(ros, i), height=height, width=rows.shape[1], fields=fields, is_bigendian=big, point_step=kind.itemsize,
        row_step=rows.shape[1] * kind.itemsize + gap, data=np.frombuffer(body, np.uint8), is_dense=True)


def serialize(ros, message, big=False):
    name = message.__msgtype__
    store = stores[ros]
    return bytes(store.serialize_ros1(message, name) if ros == 'ros1' else store.serialize_cdr(message, name, little_endian=not big))


def write_mcap(path, ros, messages, big=False, topic='/points', others=3, **how):
    how.setdefault('compression', METHODS[-1])
    with open(path, 'wb') as f:
        writer = Mcap(f, **how)
        writer.start()
        name = messages[0].__msgtype__
        schema = writer.register_schema(name if ros == 'cdr' else name.replace('/msg/', '/'), 'ros2msg' if ros == 'cdr' else 'ros1msg', b'')
        channel = writer.register_channel(topic, ros, schema)
        other = writer.register_channel('/note', 'json', writer.register_schema('note', 'jsonschema', b'{}'))
        for i, message in enumerate(messages):
            for k in range(others):
                writer.add_message(other, BEGIN + i * STEP + k, b'{}' * (7 + k), BEGIN)
            writer.add_message(channel, BEGIN + i * STEP, serialize(ros, message, big), BEGIN + i * STEP, i)
        writer.finish()


def write_bag(path, messages, compression=None, size=100_000):
    writer = Bag(path)
    writer.chunk_threshold = size
    if compression:
        writer.set_compression(compression)
    with writer:
        name = messages[0].__msgtype__
        one = writer.add_connection('/points', name, typestore=stores['ros1'])
        two = writer.add_connection('/note', 'std_msgs/msg/String', typestore=stores['ros1'])
        for i, message in enumerate(messages):
            text = stores['ros1'].types['std_msgs/msg/String'](data='x' * i)
            writer.write(two, BEGIN + i * STEP - 1, serialize('ros1', text))
            writer.write(one, BEGIN + i * STEP, serialize('ros1', message))


def write_db3(folder, messages, compression=None, big=False, topic='/points', plugin=StoragePlugin.SQLITE3):
    """A folder of ROS 2; the file in it."""
    shutil.rmtree(folder, ignore_errors=True)
    writer = Rosbag2(folder, version=9, storage_plugin=plugin)
    if compression:
        writer.set_compression(compression, CompressionFormat.ZSTD)
    with writer:
        connection = writer.add_connection(topic, messages[0].__msgtype__, typestore=stores['cdr'])
        other = writer.add_connection('/note', 'std_msgs/msg/String', typestore=stores['cdr'])
        for i, message in enumerate(messages):
            writer.write(other, BEGIN + i * STEP - 1, serialize('cdr', stores['cdr'].types['std_msgs/msg/String'](data='x' * i)))
            writer.write(connection, BEGIN + i * STEP, serialize('cdr', message, big))
    return next(path for path in folder.iterdir() if '.db3' in path.name or '.mcap' in path.name)


def read(path, topic):
    """The points of each PointCloud2, as the packages give them: a row per point, float32."""
    def points(message):
        return message.data.view('<f4').reshape(-1, message.point_step // 4)
    if path.suffix == '.mcap':
        with open(path, 'rb') as f:
            for schema, _, message in make_reader(f).iter_messages(topics=[topic]):
                yield points(stores['cdr'].deserialize_cdr(message.data, schema.name))
        return
    with AnyReader([path if path.suffix == '.bag' else path.parent]) as reader:
        for connection, _, data in reader.messages([c for c in reader.connections if c.topic == topic]):
            yield points(reader.deserialize(data, connection.msgtype))
