#!/usr/bin/python3
"""picture.py SCAN.bin SAMPLE.bin OUTPUT.png: the picture of README.md, a scan beside its sample, with NumPy alone.

    build/cmd/pcgpu sample -m 4096 testdata/street.bin -o sample.bin
    python3 tests/scene/picture.py testdata/street.bin sample.bin testdata/street.png
"""
import struct
import sys
import zlib

import numpy as np

WIDTH, HEIGHT, GAP, FINE = 760, 600, 8, 3  # one panel, pixels between the panels, subpixels a pixel
LEVELS, SHADES = 24, 8  # colours of height, steps of coverage
BACKGROUND = np.array([13, 17, 28])
EYE, AIM, FOCUS = np.array([-20.0, -8.0, 17.0]), np.array([7.5, 1.0, -2.0]), 1.0  # metres; focal length / panel width
HEIGHTS = (-1.8, 2.2)  # metres, from the first colour to the last
# Ground to roof: deep blue, teal, green, yellow, orange.
RAMP = np.array([[62, 104, 214], [40, 156, 214], [42, 187, 155], [154, 215, 85], [250, 205, 70], [250, 140, 70]])

FONT = {  # 5 x 7 and two rows below the line, one number a row, most significant bit at the left
    ' ': '00000000000000', ',': '00000000000c0c0408', '.': '0000000000000c', '-': '0000001f000000',
    ':': '00000c0c000c0c', '0': '0e11131519110e', '1': '040c040404040e', '2': '0e11010204081f',
    '3': '1f02040201110e', '4': '02060a121f0202', '6': '0608101e11110e', '9': '0e11110f01020c',
    'a': '00000e010f110f', 'b': '1010161911111e', 'c': '00000e1010110e', 'e': '00000e111f100e',
    'g': '00000f1111110f010e', 'i': '04000c0404040e', 'l': '0c04040404040e', 'm': '00001a15151111',
    'n': '00001619111111', 'o': '00000e1111110e', 'p': '00001e1111111e1010', 'r': '00001619101010',
    's': '00000e100e011e', 't': '08081c08080906', 'u': '0000111111130d',
}


def read(path):
    return np.fromfile(path, '<f4').reshape(-1, 4).astype(float)


def project(points):
    """Pixel column, row and depth of points in a panel, seen from EYE towards AIM."""
    ahead = (AIM - EYE) / np.linalg.norm(AIM - EYE)
    right = np.cross(ahead, [0, 0, 1])
    right /= np.linalg.norm(right)
    down = np.cross(ahead, right)
    offset = points[:, :3] - EYE
    depth = offset @ ahead
    safe = np.maximum(depth, 0.1)
    scale = FOCUS * WIDTH / safe
    return WIDTH / 2 + offset @ right * scale, HEIGHT / 2 + offset @ down * scale, depth


def panel(points, metres, smallest):
    """Discs of a radius in metres, at least `smallest` pixels, farthest first: the palette index of every pixel."""
    column, row, depth = project(points)
    level = np.clip((points[:, 2] - HEIGHTS[0]) / (HEIGHTS[1] - HEIGHTS[0]) * LEVELS, 0, LEVELS - 1).astype(int)
    order = np.argsort(-depth)
    order = order[depth[order] > 1.0]
    fine = np.full((HEIGHT * FINE, WIDTH * FINE), -1, int)
    radius = np.maximum(FOCUS * WIDTH * metres / np.maximum(depth, 1.0), smallest) * FINE
    reach = int(np.ceil(np.percentile(radius[order], 99.5)))
    for dy in range(-reach, reach + 1):
        for dx in range(-reach, reach + 1):
            near = order[dx * dx + dy * dy <= radius[order] ** 2]
            x, y = (column[near] * FINE + dx).astype(int), (row[near] * FINE + dy).astype(int)
            inside = (x >= 0) & (x < WIDTH * FINE) & (y >= 0) & (y < HEIGHT * FINE)
            fine[y[inside], x[inside]] = level[near[inside]]
    blocks = fine.reshape(HEIGHT, FINE, WIDTH, FINE).transpose(0, 2, 1, 3).reshape(HEIGHT, WIDTH, -1)
    covered = (blocks >= 0).sum(2)
    colour = np.where(blocks >= 0, blocks, 0).sum(2) // np.maximum(covered, 1)
    shade = -(-covered * (SHADES - 1) // (FINE * FINE))
    return np.where(covered > 0, shade * LEVELS + colour, 0).astype(np.uint8)


def write_text(image, text, left, top, size=2):
    for character in text:
        for y, bits in enumerate(bytes.fromhex(FONT[character])):
            for x in range(5):
                if bits >> (4 - x) & 1:
                    image[top + y * size:top + (y + 1) * size, left + x * size:left + (x + 1) * size] = 255
        left += 6 * size


def palette():
    at = np.linspace(0, len(RAMP) - 1, LEVELS)
    ramp = np.stack([np.interp(at, np.arange(len(RAMP)), RAMP[:, k]) for k in range(3)], 1)
    colours = np.zeros((256, 3))
    for shade in range(SHADES):
        share = shade / (SHADES - 1)
        colours[shade * LEVELS:(shade + 1) * LEVELS] = BACKGROUND + share * (ramp - BACKGROUND)
    colours[254] = [40, 48, 66]
    colours[255] = [222, 228, 238]
    return colours.round().astype(np.uint8)


def write_png(path, image, colours):
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    rows = b''.join(b'\0' + row.tobytes() for row in image)
    with open(path, 'wb') as file:
        file.write(b'\x89PNG\r\n\x1a\n')
        file.write(chunk(b'IHDR', struct.pack('>IIBBBBB', image.shape[1], image.shape[0], 8, 3, 0, 0, 0)))
        file.write(chunk(b'PLTE', colours.tobytes()) + chunk(b'IDAT', zlib.compress(rows, 9)) + chunk(b'IEND', b''))


def main():
    scan, sample = read(sys.argv[1]), read(sys.argv[2])
    image = np.full((HEIGHT, 2 * WIDTH + GAP), 254, np.uint8)
    image[:, :WIDTH] = panel(scan, 0.022, 0.6)
    image[:, WIDTH + GAP:] = panel(sample, 0.065, 1.3)
    write_text(image, f'street.bin: {len(scan):,} points', 16, HEIGHT - 30)
    write_text(image, f'pcgpu sample -m {len(sample)}: {len(sample):,} points', WIDTH + GAP + 16, HEIGHT - 30)
    write_png(sys.argv[3], image, palette())


main()
