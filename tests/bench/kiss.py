"""kiss.py FOLDER COLUMNS DESKEW BEAMS THREADS POSES: KISS-ICP over 000000.bin, 000001.bin, ... of FOLDER, with its defaults.

COLUMNS are the float32 values of a record, the fifth of which is the time in a sweep for DESKEW 1. BEAMS are the degrees that
the beams point higher than the points say. Writes POSES (KITTI lines), and prints seconds and seconds of processors, without reading.
Exit code 77 when it is not installed (pip install kiss-icp)."""
import pathlib
import sys
import time


def corrected(np, points, beams):
    level, distance = np.linalg.norm(points[:, :2], axis=1), np.linalg.norm(points, axis=1)
    angle = np.arctan2(points[:, 2], level) + np.radians(beams)
    return np.column_stack([points[:, :2] * (distance * np.cos(angle) / level)[:, None], distance * np.sin(angle)])


def main():
    try:
        import numpy as np
        from kiss_icp.config import KISSConfig
        from kiss_icp.kiss_icp import KissICP
    except ImportError:
        return 77
    folder, columns, deskew, beams, threads = pathlib.Path(sys.argv[1]), *map(float, sys.argv[2:6])
    config = KISSConfig()
    config.data.deskew = bool(deskew)
    config.mapping.voxel_size = config.data.max_range / 100
    config.registration.max_num_threads = int(threads)
    odometry = KissICP(config)
    seconds = processor = 0.0
    with open(sys.argv[6], 'w') as out:
        for path in sorted(folder.glob('*.bin')):
            rows = np.fromfile(path, '<f4').reshape(-1, int(columns)).astype(float)
            points = np.ascontiguousarray(corrected(np, rows[:, :3], beams) if beams else rows[:, :3])
            times = np.ascontiguousarray(rows[:, 4]) if deskew else np.zeros(0)
            begin, used = time.perf_counter(), time.process_time()
            odometry.register_frame(points, times)
            seconds, processor = seconds + time.perf_counter() - begin, processor + time.process_time() - used
            out.write(' '.join(repr(float(value)) for value in odometry.last_pose[:3].ravel()) + '\n')
    print(seconds, processor)
    return 0


if __name__ == '__main__':
    sys.exit(main())
