#!/usr/bin/python3
"""picture_model.py MODEL.ply OUTPUT.png: the picture of a room's model in README.md, with NumPy alone.

    build/tests/scene/room --path around --loop 180 --noise 1 frames
    build/cmd/pcgpu odometry --config frames/camera.yaml frames/*.png --trajectory poses.txt -o model.ply
    python3 tests/scene/picture_model.py model.ply testdata/pictures/room.png

Surface points as a doll's house: those that face away from the eye are left out, so that it looks through the walls.
"""
import struct
import sys
import zlib

import numpy as np

WIDTH, HEIGHT, FINE = 900, 560, 2  # pixels, subpixels a pixel
BACKGROUND = np.array([13.0, 17, 28])
LIGHT = np.array([0.35, 0.5, 0.8])
SHADES = 48


def read(path):
    """x y z nx ny nz of a binary .ply that pcgpu wrote."""
    data = open(path, 'rb').read()
    end = data.index(b'end_header\n') + len(b'end_header\n')
    rows = int(data[:end].split(b'element vertex ')[1].split()[0])
    return np.frombuffer(data, '<f4', rows * 6, end).reshape(rows, 6).astype(float)


def up_of(points):
    """The world is that of the first camera; up is across the largest plane, the floor, towards the points."""
    normals = points[:, 3:]
    best = max((np.eye(3)[k] * sign for k in range(3) for sign in (1, -1)),
               key=lambda axis: np.count_nonzero(normals @ axis > 0.95) if axis[1] else 0)
    near = normals[normals @ best > 0.9]
    return near.mean(0) / np.linalg.norm(near.mean(0))


def view(points):
    """Columns, rows, depths and shades of what is seen."""
    up = up_of(points)
    low, high = np.percentile(points[:, :3], [2, 98], axis=0)
    middle = (low + high) / 2
    side = np.cross(up, [0.3, 0.1, 1.0])
    side /= np.linalg.norm(side)
    ahead = np.cross(side, up) * 0.62 - up * 0.78
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, up)
    right /= np.linalg.norm(right)
    down = np.cross(ahead, right)
    offset = points[:, :3] - (middle - 11.5 * ahead)
    depth = offset @ ahead
    facing = (points[:, 3:] * offset).sum(1) < 0
    scale = 1.28 * WIDTH * FINE / depth
    column = (WIDTH * FINE / 2 + offset @ right * scale).astype(int)
    row = (HEIGHT * FINE / 2 + offset @ down * scale).astype(int)
    light = LIGHT[0] * right - LIGHT[1] * ahead + LIGHT[2] * up
    shade = 0.28 + 0.72 * np.clip(points[:, 3:] @ (light / np.linalg.norm(light)), 0, 1)
    return [values[facing] for values in (column, row, depth, shade)]


def draw(column, row, depth, shade):
    nearest = np.full((HEIGHT * FINE, WIDTH * FINE), np.inf)
    colour = np.full((HEIGHT * FINE, WIDTH * FINE), -1.0)
    order = np.argsort(-depth)
    for dy in range(3):
        for dx in range(3):
            x, y = column[order] + dx - 1, row[order] + dy - 1
            inside = (x >= 0) & (y >= 0) & (x < WIDTH * FINE) & (y < HEIGHT * FINE)
            x, y, z = x[inside], y[inside], depth[order][inside]
            closer = z < nearest[y, x]
            nearest[y[closer], x[closer]] = z[closer]
            colour[y[closer], x[closer]] = shade[order][inside][closer]
    levels = np.where(colour >= 0, np.round(colour * SHADES) / SHADES, 0)
    warm = np.array([236.0, 226, 205])
    image = np.where(colour[..., None] >= 0, levels[..., None] * warm, BACKGROUND)
    return image.reshape(HEIGHT, FINE, WIDTH, FINE, 3).mean((1, 3)).round().astype(np.uint8)


def write(path, image):
    def chunk(name, data):
        return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))

    rows = np.concatenate([np.zeros((HEIGHT, 1), np.uint8), image.reshape(HEIGHT, -1)], axis=1)
    header = struct.pack('>IIBBBBB', WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    with open(path, 'wb') as file:
        file.write(b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + chunk(b'IDAT', zlib.compress(rows.tobytes(), 9)) +
                   chunk(b'IEND', b''))


write(sys.argv[2], draw(*view(read(sys.argv[1]))))
