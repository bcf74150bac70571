"""Files in pieces: pcgpu voxelize, sample and filter with --set memory write the bytes of a run on the whole file, whatever the values are."""
import pathlib

import numpy as np

from common import check, finish, passed, run, scratch, write_bin, write_ply

OPTIONS = ([], ['--features', 'first'], ['--drop-origin'], ['--features', 'nearest'], ['--range=-1,-1,-1,8,8,8'])


def result(path):
    text = pathlib.Path(path).read_text()
    return text[text.index('"result"'):], 'read in pieces' in text


def compare(name, cloud, memory, sizes, outputs, options=OPTIONS):
    """A run with little memory against one without a limit: each output, and the counts of --json."""
    folder = cloud.parent
    for k, option in enumerate(options):
        for size in sizes:
            for extension in outputs[k % len(outputs):][:1] if k else outputs:  # one for each further option, in turn
                command = ['voxelize', '--cpu', '--voxel-size', size, *option, cloud, '-f', '-q']
                whole, pieces = folder / f'whole.{extension}', folder / f'pieces.{extension}'
                arrays = [folder / side for side in ('coords', 'counts', 'point-voxel')]
                command += [word for path in arrays for word in ('--set', f'{path.name}={path}')]
                run(*command, '-o', whole, '--json', folder / 'whole.json')
                sides = [path.read_bytes() for path in arrays]
                run(*command, '-o', pieces, '--json', folder / 'pieces.json', '--set', f'memory={memory}')
                what = f'{name}, {size} m, {" ".join(option)}: '
                check(whole.read_bytes() == pieces.read_bytes(), what + extension)
                check(sides == [path.read_bytes() for path in arrays], what + 'coordinates, counts and ids')
                first, second = result(folder / 'whole.json'), result(folder / 'pieces.json')
                check(not first[1] and second[1], what + 'one run is in pieces')
                check(first[0] == second[0], what + 'the result of --json', second[0])
    passed(f'{name}: the same bytes in pieces')


def hostile(n, rng):
    """Exponents from the smallest to the largest, and sums beyond float64's bits and float32's range."""
    with np.errstate(over='ignore', under='ignore'):
        p = np.empty((n, 4), '<f4')
        p[:, :3] = rng.normal(size=(n, 3)) * np.float32(10) ** rng.integers(-30, 2, (n, 1))
        p[:, 3] = (rng.normal(size=n) * 10.0 ** rng.integers(-40, 38, n)).astype('<f4')
    largest = np.finfo('<f4').max
    for step, value in ((101, np.nan), (97, np.inf), (89, -np.inf), (83, -0.0), (79, largest), (77, -largest), (43, 1e-45)):
        p[::step, 3] = value
    p[::53, 0], p[::51, 1], p[::47, :3] = np.nan, np.inf, 0
    part = n // 7
    for i, value in enumerate((largest, np.where(np.arange(part) % 2, largest, -largest), -largest)):
        at = slice((i + 1) * part, (i + 2) * part)
        p[at, :3], p[at, 3] = (5.05 + i, 5.05, 5.05), value
        p[at.stop - 1, 3] = p[at.stop - 2, 3] = 1e-45
    return p


FARTHEST = (['--min-distance', '1'], ['-m', '300'], ['--min-distance', '0.5', '-m', '900', '--drop-origin'],
            ['-m', '70', '--start', 'center'])


def compare_samples(name, cloud, memory, options, method='random'):
    folder = cloud.parent
    for option in options:
        option = [*option, '--distances', folder / 'distances'] if method == 'fps' else option
        command = ['sample', '--cpu', '--method', method, *option, cloud, '-f', '-q', '-o']
        run(*command, folder / 'whole.ply', '--indices', folder / 'whole.npy', '--json', folder / 'whole.json')
        distances = (folder / 'distances').read_bytes() if method == 'fps' else b''
        run(*command, folder / 'pieces.ply', '--indices', folder / 'pieces.npy', '--json', folder / 'pieces.json', '--set', f'memory={memory}')
        what = f'{name}, sample {method} {option[:4]}: '
        check(not result(folder / 'whole.json')[1] and result(folder / 'pieces.json')[1], what + 'one run is in pieces')
        for extension in ('ply', 'npy'):
            check((folder / f'whole.{extension}').read_bytes() == (folder / f'pieces.{extension}').read_bytes(), what + extension)
        check(method != 'fps' or distances == (folder / 'distances').read_bytes() != b'', what + 'distances')
        picks = np.load(folder / 'pieces.npy')
        check(len(np.unique(picks)) == len(picks) > 0, what + 'distinct records')
    passed(f'{name}: the same picks in pieces, {method}')


FILTERS = (['--radius', '0.5,26'], ['--radius', '0.25,1', '--label'], ['--clusters', '0.26', '--drop-origin'],
           ['--clusters', '0.26,3,900', '--set', 'core-points=3', '--label'], ['--normals', '9', '--set', 'normal-radius=0.5'],
           ['--keep', 'intensity=0,1', '--radius', '0.4,4', '--clusters', '0.6,5', '--normals', '128', '--set', 'normal-radius=0.7'])


def compare_filters(name, cloud, memory, options=FILTERS, extension='ply'):
    folder = cloud.parent
    for option in options:
        lists = [folder / 'whole.csv', folder / 'pieces.csv']
        command = ['filter', '--cpu', *option, cloud, '-f', '-q']
        runs = []
        for kind, limit in (('whole', '1T'), ('pieces', memory)):
            own = ['--cluster-list', folder / f'{kind}.csv'] if '--clusters' in option else []
            run(*command, *own, '-o', folder / f'{kind}.{extension}', '--json', folder / f'{kind}.json', '--set', f'memory={limit}')
            runs.append(result(folder / f'{kind}.json'))
        what = f'{name}, filter {" ".join(option)}: '
        check(not runs[0][1] and runs[1][1], what + 'one run is in pieces')
        check((folder / f'whole.{extension}').read_bytes() == (folder / f'pieces.{extension}').read_bytes(), what + extension)
        check('--clusters' not in option or lists[0].read_bytes() == lists[1].read_bytes(), what + 'the list of clusters')
        check(runs[0][0] == runs[1][0], what + 'the result of --json', runs[1][0])
    passed(f'{name}: the same bytes in tiles')


generator = np.random.default_rng(3)
with scratch() as place:
    # Tiles end at middles of the bounds, where this grid has points; many distances are exactly the radius. Chains of points go
    # through many tiles.
    grid = np.stack(np.meshgrid(np.arange(-16, 16.25, 0.25), np.arange(-8, 8.25, 0.25), np.arange(-2, 2.25, 0.25)), -1).reshape(-1, 3)
    grid = grid[generator.random(len(grid)) < 0.32]
    grid = np.column_stack([grid, generator.integers(0, 3, len(grid))]).astype('<f4')
    grid = np.concatenate([grid, grid[::50], grid[:200] + np.float32(1e-6), [[np.nan, 0, 0, 1], [0, np.inf, 0, 1], [0, 0, 0, 1]] * 3])
    generator.shuffle(grid)
    write_bin(place / 'grid.bin', grid)
    compare_filters('points at the borders of tiles', place / 'grid.bin', '1M')
    dense = generator.normal(0, 1, (90_000, 3)) * generator.choice((0.1, 1, 30), (90_000, 1))
    np.save(place / 'dense.npy', np.column_stack([dense, generator.integers(0, 3, 90_000)]))
    compare_filters('dense and thin places', place / 'dense.npy', '12M', FILTERS[:3:2], 'npy')
    # Points in one place: an error that says so, unless the memory holds them.
    same = np.ones((120_000, 4), '<f4')
    write_bin(place / 'same.bin', np.concatenate([same, grid[:500]]))
    for option, reach in ((['--radius', '0.5,3'], '0.75'), (['--clusters', '2'], '3'), (['--normals', '5', '--set', 'normal-radius=1'], '1.5')):
        command = ['filter', '--cpu', *option, place / 'same.bin', '-o', place / 'same.ply']
        message = run(*command, '--set', 'memory=3M', code=1).stderr.decode()
        check(f' points are within {reach} m of a place, and the memory holds ' in message, 'points in one place', message)
        check(not (place / 'same.ply').exists(), 'no output')
    write_bin(place / 'same.bin', np.concatenate([same[:15_000], grid, grid + np.float32(40)]))
    compare_filters('points in one place, which the memory holds', place / 'same.bin', '5M', FILTERS[:4:2])
    write_bin(place / 'none.bin', np.full((90_000, 4), np.nan, '<f4'))
    compare_filters('no finite point', place / 'none.bin', '1M', FILTERS[:5:2])
with scratch() as place:
    write_bin(place / 'h.bin', hostile(160_000, generator))
    compare('hostile values', place / 'h.bin', '4M', ('0.1', '5'), ('ply', 'npz'))
    compare('hostile values in several passes', place / 'h.bin', '1M', ('0.01',), ('npz',), OPTIONS[:2])
    compare_samples('hostile values', place / 'h.bin', '1500K',
                    [['-m', '1'], ['--ratio', '0.05', '--drop-origin'], ['-m', '8000', '--seed', '3']])
    compare_samples('hostile values', place / 'h.bin', '1200K', FARTHEST, 'fps')
with scratch() as place:
    points = generator.uniform(-50, 50, (200_000, 5)).astype('<f4')
    points[:, 2] /= 20
    write_bin(place / 'five.pcd.bin', points)
    compare('records of five', place / 'five.pcd.bin', '4M', ('1',), ('bin', 'las'), OPTIONS[:2])
with scratch() as place:
    wide = generator.uniform(-50, 50, (100_000, 4)) + (400_000, 5_000_000, 0, 0)
    for label, array in (('float32', points[:, :4]), ('float64', wide), ('big endian', wide.astype('>f8'))):
        np.save(place / 'a.npy', array)
        compare(f'.npy of {label}', place / 'a.npy', '1500K', ('20',), ('ply', 'npy'), [[], ['--features', 'nearest']])
        compare_samples(f'.npy of {label}', place / 'a.npy', '1M', [['-m', '3000']])
    classes = np.zeros(len(wide), [('x', '<f4'), ('y', '<f4'), ('z', '<f4'), ('label', '<u2'), ('point', '<u4')])
    for k, name in enumerate('xyz'):
        classes[name] = points[:len(wide), k]
    classes['label'], classes['point'] = generator.choice((10, 40, 252), len(wide)), np.arange(len(wide)) // 2
    np.save(place / 'c.npy', classes)
    compare('.npy with classes', place / 'c.npy', '1500K', ('1', '20'), ('ply', 'npy'), [[], ['--set', 'voxel-labels=first']])
    np.save(place / 'f.npy', np.asfortranarray(wide))
    message = run('voxelize', '--voxel-size', '20', '--set', 'memory=2M', '--cpu', place / 'f.npy', '-o', place / 'x.ply', code=1).stderr
    check(b'Fortran order' in message, 'Fortran order is refused', message)
with scratch() as place:
    # Float64 coordinates and integers: .las has an offset, which a pass over the pieces must find.
    kinds = [('x', '<f8'), ('y', '<f8'), ('z', '<f8'), ('intensity', '<u2'), ('red', '<u2'), ('green', '<u2'), ('blue', '<u2')]
    survey = np.zeros(150_000, kinds)
    for axis, start, width in (('x', 512_000, 300), ('y', 5_403_000, 200), ('z', -3, 30)):
        survey[axis] = start + np.round(generator.uniform(0, width, len(survey)), 3)
    for column in ('intensity', 'red', 'green', 'blue'):
        survey[column] = generator.integers(0, 65536, len(survey))
    survey[:7]['x'] = survey[:7]['y'] = survey[:7]['z'] = 0  # no return: far from all others
    write_ply(place / 'utm.ply', survey)
    run('convert', place / 'utm.ply', '-o', place / 'utm.las')
    box = '--range=512000,5403000,-5,512300,5403200,30'
    compare('UTM in .las', place / 'utm.las', '3500K', ('5',), ('las', 'ply', 'npz'),
            [[box], ['--drop-origin']])
    compare_filters('UTM in .las', place / 'utm.las', '5M',
                    [['--radius', '4,2'], ['--clusters', '5,2', '--label', '--drop-origin']], 'las')
    compare_samples('UTM in .las', place / 'utm.las', '2500K', [['--ratio', '0.08', '--seed', '11', '--drop-origin']])
    compare_samples('UTM in .las', place / 'utm.las', '1M', [['--min-distance', '5', '--drop-origin']], 'fps')
finish()
