"""crossings.py [--seed N] [--only PATTERN]: pairs of options, since faults sit where options meet.

The program lists the options of a command (--help, completion words), this file has a few values for each. A greedy, seeded list of
commands holds each pair of options that --dry-run accepts in some command, as far as PCGPU_CROSSINGS commands suffice (default 200).
Each runs on the CPU with 1 and 3 threads, and where PCGPU_DEVICE is set there (by the program PCGPU_ON_DEVICE, such as the emulated
one), or every Nth of them with PCGPU_DEVICE_EACH=N. The same bytes must come from all, with a documented exit status, an error message
for each status but 0, no file but the outputs, the inputs as they were.

--only PATTERN: run only the commands that match it (the regular expression is searched in the line that a failure prints).
PCGPU, PCGPU_SOURCE, PCGPU_DEVICE: as in tests/cli/lib.sh. PCGPU_KEEP=1 leaves the inputs, to paste a command.
"""
import contextlib
import itertools
import json
import math
import os
import random
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

PCGPU, DEVICE = os.path.abspath(os.environ['PCGPU']), os.environ.get('PCGPU_DEVICE')
SOURCE = os.path.abspath(os.environ['PCGPU_SOURCE'])
COUNT, EACH = int(os.environ.get('PCGPU_CROSSINGS', '200')), int(os.environ.get('PCGPU_DEVICE_EACH', '1'))
APART = {'help', 'version', 'dry-run', 'cpu', 'cuda', 'device', 'threads', 'set', 'nuscenes'}  # no options to cross


def table(text):
    return {key.strip(): value.strip() for key, value in (entry.split(':', 1) for entry in text.split('|'))}


# Values by COMMAND.OPTION or OPTION; choices are asked for. @ is an output: a file of this name in the folder of the command.
VALUES = table("""
rows:2 | count:1 5 40 | ratio:0.1 1 | min-distance:0.5 3 | seed:0 7 | start:first center random 1 | seeds:../in/seeds.txt |
topic:/rear/points /front/points | every:1 2 | from-time:0 0.1 | to-time:0.1 9 | viewpoint:1,2,3 | indices:@i.txt @i.npy @i.npz @i.d/ |
distances:@d.txt @d.npy @d.d/ | sweeps:1 2 | scans:../in/scans.txt | poses:../in/poses.txt |
range:auto -20,-20,-5,20,20,5 499990,5399990,-5,500040,5400040,9 | voxel-size:0.5 1,2,0.5 0.37 | register.voxel-size:auto 0.5 0 |
odometry.voxel-size:auto 0.5 | fuse.voxel-size:0.05 0.1 | max-points:0 2 | max-voxels:0 3 | compression:0 1 6 | coords:@c.npy |
counts:@n.txt | point-voxel:@p.npy | memory:1M 1G | init:../in/init.txt auto | odometry.init:../in/init.txt | pairs:../in/pairs.txt |
transform:@T.txt | convert.transform:../in/init.txt | merge: | min-score:0 0.35 0.99 | target-camera:50,50,31.5,23.5 |
level-iterations:2,2,2 | bilateral:0 0.03 | levels:0 1 3 | max-distance:auto 2 | method:ndt plane gicp point | sample.method:fps random |
max-iterations:1 20 | translation-epsilon:auto 0.01 | rotation-epsilon:0.001 | min-range:0 3 | beam-correction:0.2 | map:../in/s0.bin |
into:../in/s0.bin | changes:@c.ply @c.npy | trajectory:@t.txt - | model-range:30 | time-column:intensity | temporary-folder:. |
guess:../in/poses.txt ../in/truth.tum | prior:../in/truth.tum ../in/moved.tum | prior-sigma:0.01 0.1 | prior-antenna:0,0,0 1,-2,0.5 |
map-voxel:0.2 0.5 | truncation:0.1 | timestamps:../in/times.txt | rate:10 5 | ground-truth:../in/poses.txt |
evaluate.ground-truth:../in/poses.txt ../in/truth.tum | calibration:../in/init.txt | time-offset:0 0.1 | time-tolerance:0.05 |
plot:@plot.png | mesh:@m.ply @m.obj @m.glb | color:height intensity order distance z | fuse.poses:../in/two.txt | fuse.color:../in/images |
odometry.color:../in/images | crop:-9,-9,-9,9,9,9 499990,5399990,-5,500040,5400040,9 | scale:0.001 3 | columns:x,y,z x,y,z,i=x |
sample.columns:x,y,z,intensity y | size:64x48 | point-size:1 3 | up:auto -y |
output:@o.ply @o.bin @o.pcd @o.npy @o.las @o.csv @o.xyz @o.d/ - | voxelize.output:@o.npz @o.npy @o.ply @o.d/ - |
view.output:@o.png @o.html @o.d/ - | format:bin bin ply | fields:3 4 5 16 | files-from:../in/list.txt ../in/list.nul | shard:1/2 2/2 |
labels:../in/labels | boxes:../in/boxes.txt | outliers:5,1 20,0 | radius:0.5,3 2,0 | clusters:0.5 1,3,50 | normals:5 | keep:x=0,1 noise |
remove:y=0 intensity=0 | cluster-list:@c.csv @c.json | core-points:4 | normal-radius:2 | camera:50,50,31.5,23.5,depth_scale=1000 |
config:../in/COMMAND.yaml | json:@j.json -
""")
CLOUDS = ['plain.bin', 'utm.ply', 'utm.xyz', 'utm.las', 'nan.bin', 'empty.bin', 'one.bin', 'same.bin', 'grid.bin', 'three.xyz',
          'five.pcd.bin', 'sixteen.csv', 'integers.ply', 'time.ply', 'two.mcap']
PAIRS = ['s1.bin s0.bin', 'utm.ply utm.las', 'nan.bin plain.bin', 'one.bin one.bin', 'integers.ply time.ply', 'empty.bin s0.bin']
MANY = ['plain.bin same.bin nan.bin', 'utm.ply utm.las integers.ply', 'folder', 'folder one.bin', 'five.pcd.bin time.ply']
SCANS = ['s0.bin s1.bin s2.bin s3.bin s4.bin', 'folder', 's0.bin empty.bin s1.bin', 'utm.ply utm.las', 'time.ply time.ply']
DEPTH = ['d0.pgm d1.pgm']
# Inputs that meet each option, too.
MEETS = ['utm.ply', 'utm.las', 'nan.bin', 'grid.bin', 'integers.ply', 'time.ply', 'utm.ply utm.las', 'utm.ply utm.las integers.ply']
INPUTS = {'sample': CLOUDS + MANY + DEPTH, 'voxelize': CLOUDS + MANY + DEPTH, 'filter': CLOUDS + MANY + DEPTH, 'register': PAIRS + DEPTH + ['s0.bin s1.bin s2.bin', ''],
          'convert': CLOUDS + MANY + DEPTH, 'info': CLOUDS + MANY + DEPTH, 'view': CLOUDS + MANY + DEPTH + ['poses.txt'],
          'odometry': SCANS + DEPTH, 'fuse': DEPTH, 'evaluate': ['moved.tum', 'moved.txt', 'poses.txt']}
# What crossings have found, with the status that is right.
PINNED = [(2, 'register --shard=2/2 --output=@o.csv --merge --json=- ../in/s1.bin ../in/s0.bin')]
# What a command needs at least one of, and what an option is for.
BASE = {'sample': [['count', 'ratio', 'min-distance']], 'voxelize': [['voxel-size']], 'filter': [['outliers', 'radius', 'clusters', 'normals']], 'evaluate': [['ground-truth']],
        'view': [['output']], 'fuse': [['poses'], ['camera'], ['output', 'mesh']]}
PREFERS = table('''
sweeps: s1.bin s2.bin | scans: s1.bin s2.bin | poses: s2.bin | recursive: folder | follow: folder | topic: two.mcap | every: two.mcap |
from-time: two.mcap | to-time: two.mcap | camera: d0.pgm d1.pgm | view.range: voxels.npz | view.voxel-size: voxels.npz |
view.ground-truth: moved.txt | view.calibration: moved.txt | all: s0.bin s1.bin s2.bin | pairs: | mesh: d0.pgm d1.pgm | color: plain.bin |
odometry.color: d0.pgm d1.pgm | labels: s0.bin s1.bin | truncation: d0.pgm d1.pgm | timestamps: s0.bin s1.bin s2.bin s3.bin s4.bin |
odometry.ground-truth: s0.bin s1.bin s2.bin s3.bin s4.bin | guess: s0.bin s1.bin s2.bin s3.bin s4.bin |
prior: s0.bin s1.bin s2.bin s3.bin s4.bin | changes: s0.bin s1.bin s2.bin s3.bin s4.bin |
format: plain.bin | fields: five.pcd.bin | files-from: |
bilateral: d0.pgm d1.pgm | level-iterations: d0.pgm d1.pgm | view.up: moved.txt
''')
WANTS = table('''
pad: count | at-most: count | follow: recursive | register.recursive: all | register.files-from: all | register.shard: pairs |
register.skip-existing: pairs | viewpoint: normals | filter.poses: normals | voxelize.batch: range | null: files-from |
filter.files-from: output | sample.files-from: output | convert.files-from: merge | voxelize.files-from: output | scans: sweeps poses |
poses: sweeps scans | sweeps: scans poses | seeds: count | voxel-labels: labels | time-column: deskew | target-camera: camera |
bilateral: camera | level-iterations: camera | prior: timestamps prior-sigma | prior-sigma: prior | prior-antenna: prior |
changes: into output | calibration: ground-truth | transform-format: transform | truncation: mesh | rate: merge | output-format: output |
color: mesh | core-points: clusters | cluster-list: clusters | normal-radius: normals | outside: boxes | label: ground | labels: output |
batch: output | merge: output | map-voxel: output | skip-existing: output | shard: output
''')


def write(name, text):
    with open(name, 'wb') as f:
        f.write(text if isinstance(text, bytes) else text.encode())


def make_inputs():
    """The inputs, a few hundred points each."""
    rng = random.Random(1)
    floats = lambda rows: b''.join(struct.pack(f'<{len(r)}f', *r) for r in rows)
    rows = [[rng.uniform(-12, 12), rng.uniform(-12, 12), rng.uniform(-2, 2), i % 7] for i in range(150)]
    write('plain.bin', floats(rows + rows[:20]))
    write('nan.bin', floats([[math.nan, 0, 0, 1], *rows[:60], [1, math.inf, 0, 2], [0, 0, 0, 3], *rows[60:], [0, 0, 0, math.nan]]))
    shutil.copy(SOURCE + '/testdata/recordings/two.mcap', '.')
    write('empty.bin', b'')
    write('one.bin', floats(rows[:1]))
    write('same.bin', floats([[1.5, -2.25, 0.5, i] for i in range(60)]))
    write('grid.bin', floats([[i % 40, i // 40 % 40, i // 1600, i % 3] for i in range(49600)]))  # ties, in several parts
    write('three.xyz', ''.join('%.4f %.4f %.4f\n' % tuple(r[:3]) for r in rows))
    write('five.pcd.bin', floats([r + [i % 32] for i, r in enumerate(rows)]))
    names = ','.join(['x', 'y', 'z'] + [f'c{i}' for i in range(13)])
    write('sixteen.csv', names + '\n' + ''.join(','.join('%.3f' % v for v in r[:3] + [i * 0.5 + k for k in range(13)]) + '\n'
                                               for i, r in enumerate(rows)))
    utm = [(500000.125 + r[0], 5400000.5 + r[1], 100.25 + r[2]) for r in rows]
    def ply(kinds, lines):
        return ('ply\nformat ascii 1.0\nelement vertex %d\n' % len(lines) + ''.join(f'property {k}\n' for k in kinds) + 'end_header\n'
                + ''.join(' '.join(map(str, line)) + '\n' for line in lines))
    xyz = ['double x', 'double y', 'double z']
    write('utm.ply', ply(xyz, [['%.3f' % v for v in p] for p in utm]))
    write('utm.xyz', ''.join('%.3f %.3f %.3f\n' % p for p in utm))
    columns = ['float x', 'float y', 'float z', 'uchar class', 'ushort ring', 'int id', 'uchar red', 'uchar green', 'uchar blue']
    near = [['%.3f' % v for v in r[:3]] for r in rows]
    write('integers.ply', ply(columns, [p + [i % 9, i % 64, i * 70001 - 5000000, i % 256, 7, 255] for i, p in enumerate(near)]))
    write('time.ply', ply(xyz + ['double time'], [p + ['%.4f' % (1.7e9 + i * 0.001)] for i, p in enumerate(near)]))
    any_x, any_z = lambda: rng.uniform(-10, 10), lambda: rng.uniform(0, 4)
    scene = [[any_x(), any_x(), 0] for _ in range(350)] + [[9, any_x(), any_z()] for _ in range(150)]
    scene += [[any_x(), -8, any_z()] for _ in range(150)] + [[rng.uniform(2, 3), 4, any_z()] for _ in range(50)]
    for k in range(5):
        write(f's{k}.bin', floats([[x - 0.2 * k, y, z - 1.5, i % 5] for i, (x, y, z) in enumerate(scene)]))
    for folder, files in ('folder', ['s0.bin', 'one.bin']), ('folder/sub', ['s1.bin']):
        os.mkdir(folder)
        for name in files:
            shutil.copy(name, folder)
    os.mkdir('labels')
    for name, n in [(f's{k}', 700) for k in range(5)] + [('plain', 170), ('one', 1), ('five', 150), ('integers', 150), ('time', 150)]:
        write(f'labels/{name}.label', struct.pack(f'<{n}I', *[(i % 5 << 16) + (10, 40, 252)[i % 3] for i in range(n)]))
    os.mkdir('images')
    for k in range(2):
        depth = [int(2000 + 9 * k + 300 * (16 < u < 40 and 10 < v < 30) + 99 * math.sin(u / 5) + 80 * math.cos(v / 4))
                 for v in range(48) for u in range(64)]
        write(f'd{k}.pgm', b'P5\n64 48\n65535\n' + struct.pack('>%dH' % len(depth), *depth))
    pose = '1 0 0 %g 0 1 0 %g 0 0 1 0\n'
    write('poses.txt', ''.join(pose % (0.2 * k, 0) for k in range(5)))
    write('moved.txt', ''.join(pose % (0.21 * k, 0.01 * k) for k in range(5)))
    tum = '%g %g %g 0 0 0 0 1\n'
    write('truth.tum', ''.join(tum % (k * 0.1, 0.2 * k, 0) for k in range(5)))
    write('moved.tum', ''.join(tum % (k * 0.1 + 0.003, 0.21 * k, 0.01 * k) for k in range(5)))
    write('two.txt', pose % (0, 0) + pose % (0.01, 0))
    write('init.txt', pose % (0.1, 0))
    write('boxes.txt', '0 0 0 9 9 9 0.3\n500005 5400005 2 9 9 9 1\n')
    write('times.txt', ''.join('%g\n' % (k * 0.1) for k in range(5)))
    write('scans.txt', ''.join(f's{k}.bin {k * 0.1}\n' for k in range(5)))
    write('seeds.txt', '0\n')
    write('list.txt', '../in/plain.bin\n../in/same.bin\n')
    write('list.nul', '../in/plain.bin\0../in/same.bin\0')
    write('pairs.txt', '../in/s1.bin ../in/s0.bin\n../in/one.bin ../in/one.bin\n')
    for command, text in table("""sample: seed: 3 | voxelize: compression: 2 | register: method: plane | odometry: method: plane |
            fuse: voxel_size: 0.08 | evaluate: align: sim3 | convert: scale: 2 | view: colormap: turbo | info: fields: 4""").items():
        write(f'{command}.yaml', text + '\n')
    subprocess.run([PCGPU, 'convert', '-q', 'utm.ply', '-o', 'utm.las'], check=True)
    subprocess.run([PCGPU, 'voxelize', '-q', '--cpu', '--voxel-size=1', 'plain.bin', '-o', 'voxels.npz'], check=True)


def ask(*words):
    return subprocess.run([PCGPU, *words], capture_output=True, text=True, check=True).stdout


class Command:
    """What the program says about a command: its options with their values, keys of --set among them, and its exit statuses."""

    def __init__(self, name):
        self.name, text = name, ask(name, '--help')
        self.codes = {int(c) for c in re.findall(r'(\d)\s', re.search(r'^Exit status: (.*?)^See', text, re.M | re.S)[1])}
        offered = {m[1]: m[2] for m in re.finditer(r'^  (?:-\w, |    )--([a-z-]+)(\[=\S+\]| \S+)?', text, re.M)}
        self.threads, self.device = 'threads' in offered, 'device' in offered
        words = lambda option: [line.split('\t')[0] for line in ask('completion', 'words', name, option, '').splitlines()[1:]]
        self.keys = set(words('--set')) - APART if 'set' in offered else set()
        self.values, self.asked, unknown = {}, {}, []
        for option in sorted((offered.keys() | self.keys) - APART):
            values = of(VALUES, self, option)
            values = values if values is None else values.split()
            if values is None and option in offered:
                values = words(f'--{option}') if offered[option] else []
                unknown += [option] if offered[option] and not values else []
            elif values is None:  # a key says its choices when its value is wrong, or that it is a flag
                said = subprocess.run([PCGPU, name, '--set', f'{option}=?'], capture_output=True, text=True).stderr
                choices = re.search('unknown value "."; give ([^;\n]+)', said)
                values = choices[1].split(', ') if choices else ['true'] if 'neither true nor false' in said else []
                unknown += [] if values else [option]
            self.values[option] = values
        if unknown:
            sys.exit(f'FAIL: {name}: no values for {" ".join(unknown)}; give some in VALUES')

    def words_of(self, option, rng):
        values = self.values[option]
        value = rng.choice(values).replace('COMMAND', self.name) if values else None
        if option in self.keys:
            return ['--set', f'{option}={value}']
        return [f'--{option}'] if value is None else [f'--{option}={value}']

    def status(self, words, *more, here=None):
        with tempfile.TemporaryDirectory(dir=WORK) if here is None else contextlib.nullcontext(here) as here:
            line = [PCGPU, self.name, *more, *strip(words)]
            run = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, cwd=here)
            return run.returncode, run.stderr

    def refuses(self, words):
        """None, or what --dry-run says."""
        if tuple(words) not in self.asked:
            status, said = self.status(words, '--dry-run', here=f'{WORK}/dry')
            self.asked[tuple(words)] = said if status else None
        return self.asked[tuple(words)]


def strip(words):
    return [re.sub(r'=@', '=', w) for w in words]


def of(of_options, command, option):
    return of_options.get(f'{command.name}.{option}', of_options.get(option))


def wants(command, option):
    return [w for w in (of(WANTS, command, option) or '').split() if w in command.values]


def complete(command, chosen, inputs):
    """The options, and those that they or the inputs need."""
    more = list(chosen) + ['camera'] * ('.pgm' in inputs)
    for o in more:
        more += [w for w in wants(command, o) if w not in more]
    return dict.fromkeys(more + [group[0] for group in BASE.get(command.name, []) if not set(group) & set(more)])


def inputs_for(command, pair, rng):
    prefers = [p for p in (of(PREFERS, command, o) for o in pair) if p is not None]
    first, chance = (prefers, 0.8) if prefers else (INPUTS[command.name][:1], 0.4)
    return rng.choice(first if rng.random() < chance else INPUTS[command.name])


def accepted(chosen, more, refuses, failed, rng):
    """Of more options than are chosen those that go together: each refusal names one, or the value of one, that goes."""
    while len(more) > len(chosen) and (said := refuses(more)):
        new = [o for o in more if o not in chosen]
        named = [o for o in new if re.search(rf'\b{o}\b', said.decode()) or more[o][-1].split('=')[-1].encode() in said]
        out = {rng.choice(named)} if named else set(rng.sample(new, (len(new) + 1) // 2))
        failed.update((o, failed[o] + 1) for o in out)
        more = {o: w for o, w in more.items() if o not in out}
    failed.update(dict.fromkeys(set(more) - set(chosen), 0))
    return more


def generate(command, rng, most):
    """Lists of words of commands, and how many pairs of options, or of an option and inputs, are in them, of how many; the others
    --dry-run refuses."""
    pairs = {frozenset(p) for p in itertools.combinations(sorted(command.values), 2)}
    pairs |= {frozenset(p) for p in itertools.product(command.values, set(MEETS) & set(INPUTS[command.name]))}
    left, refused, known, lines, failed = set(pairs), set(), set(), [], dict.fromkeys(command.values, 0)
    order = rng.sample(sorted(map(sorted, pairs)), len(pairs))
    words = lambda chosen, inputs: [*sum(chosen.values(), []), *('../in/' + i for i in inputs.split())]
    for k, pair in enumerate(order * 2):  # once more with other inputs, while there are commands to make
        again, pair, given = k >= len(order), frozenset(pair), [o for o in pair if o in command.values]
        if len(lines) >= most or pair in refused or not (again or pair in left):
            continue
        heard = []
        # The same sentence again and again is the answer, sooner where it was that of an option with others.
        while len(heard) < 8 and (not heard or heard.count(heard[-1]) < (
                2 if known.isdisjoint((o, heard[-1]) for o in given) else 1)):
            inputs = inputs_for(command, given, rng) if len(given) > 1 else next(iter(pair - set(given)))
            chosen = {o: command.words_of(o, rng) for o in complete(command, given, inputs)}
            heard.append(command.refuses(words(chosen, inputs)))
            if heard[-1] is None:
                break
        else:
            refused.add(pair)
            known |= {(o, heard[-1]) for o in given}
            left.discard(pair)
            lines += [] if rng.random() > 0.02 else [words(chosen, inputs)]  # some, to see the sentence
            continue
        gain = lambda o: again or sum(frozenset((o, c)) in left for c in [*chosen, inputs])
        others = [o for o in sorted(set(command.values) - set(chosen)) if rng.random() * failed[o] < 1]
        others = sorted(others, key=lambda o: (gain(o), -rng.random()))[-30:]
        while others and len(chosen) < 15:  # as many at a time as may be missing
            more = chosen
            while others and len(more) < 15:
                o = others.pop()
                if o not in more and gain(o) and not {frozenset((o, c)) for c in [*more, inputs]} & refused:
                    more = {**{w: command.words_of(w, rng) for w in [*wants(command, o), o]}, **more}
            chosen = accepted(chosen, more, lambda some: command.refuses(words(some, inputs)), failed, rng)
        needed, tried = complete(command, given, inputs), (chosen, inputs)
        for _ in range(rng.choice([0, 9, 9, 9, 9])):  # fewer options, other values and inputs for most that fail
            if command.status(words(*tried))[0] == 0:
                chosen, inputs = tried
                break
            kept = [o for o in tried[0] if o in needed or rng.random() < 0.8]
            other = inputs_for(command, kept, rng) if rng.random() < 0.5 and len(given) > 1 else tried[1]
            other = {o: command.words_of(o, rng) for o in kept}, other
            tried = tried if command.refuses(words(*other)) else other
        left -= {frozenset(p) for p in itertools.combinations([*chosen, inputs], 2)}
        lines.append(words(chosen, inputs))
    return [[command.name, *line] for line in lines], len(pairs - left - refused), len(pairs - refused)


def masked(data):
    """Without what a line of --json has of times, threads and the back end."""
    lines = data.split(b'\n')
    for i, line in enumerate(lines):
        if line.startswith(b'{"command"'):
            try:
                record = json.loads(line)
            except ValueError:
                raise ValueError(f'not JSON: {line.decode()}') from None
            for part in record, record.get('parameters') or {}:
                for key in 'seconds', 'run', 'backend', 'device', 'reason', 'threads':
                    part.pop(key, None)
            record.get('result', {}).pop('bytes', None)  # of the memory of a back end
            lines[i] = json.dumps(record).encode()
    return b'\n'.join(lines)


def contents(folder):
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), 'rb') as f:
                found[os.path.relpath(os.path.join(path, name), folder)] = masked(f.read())
    return found


def check(command, words, number):
    """Runs it everywhere: its status and what is wrong."""
    named, runs, wrong = {w.split('=@')[-1] for w in words if '=@' in w}, [], []
    # Files in pieces are for the CPU.
    on_device = DEVICE and number % EACH == 0 and command.device and not any(w.startswith('memory=') for w in words)
    for threads, device in [(1, 'cpu'), (3, 'cpu')] + [(3, DEVICE)] * bool(on_device):
        here = os.path.join(WORK, f'{number}.{threads}.{device}')
        os.mkdir(here)
        program = PCGPU if device == 'cpu' else os.environ.get('PCGPU_ON_DEVICE', PCGPU)
        line = [program, *strip(words), *[f'--threads={threads}'] * command.threads, *[f'--device={device}'] * command.device]
        try:
            run = subprocess.run(line, cwd=here, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        except subprocess.TimeoutExpired:
            return -1, ['it did not end']
        try:
            errors, files, output = run.stderr.decode(errors='replace'), contents(here), masked(run.stdout)
        except ValueError as error:
            return run.returncode, [str(error)]
        if run.returncode not in command.codes:
            wrong.append(f'status {run.returncode}')
        if run.returncode and not re.search(r'^pcgpu: ', errors, re.M):
            wrong.append(f'status {run.returncode} without a message')
        if re.search(r'internal|Sanitizer|runtime error:', errors):
            wrong.append('stderr: ' + errors[:300])
        stray = [f for f in files if not any(f == n or n.endswith('/') and f.startswith(n) for n in named)]
        wrong += [f'left behind: {f}' for f in stray]
        runs.append((device, threads, run.returncode, output, files))
        shutil.rmtree(here)
    for other in runs[1:]:
        for what, a, b in zip(('status', 'standard output', 'files'), runs[0][2:], other[2:]):
            if a != b:
                names = ' '.join(n for n in sorted({*a, *b}) if a.get(n) != b.get(n)) if what == 'files' else f'{a!r:.80} {b!r:.80}'
                wrong.append(f'{what} of {other[0]} with {other[1]} threads differ: {names}')
    return runs[0][2], wrong


def main():
    global WORK
    arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    seed, only = int(arguments.get('--seed', '1')), arguments.get('--only', '')
    WORK = tempfile.mkdtemp(prefix='pcgpu-crossings.')
    os.mkdir(WORK + '/in')
    os.mkdir(WORK + '/dry')
    os.chdir(WORK + '/in')
    try:
        make_inputs()
        before, commands = contents('.'), [Command(name) for name in INPUTS]
        share = {c: COUNT * len(c.values) // sum(len(c.values) for c in commands) + 1 for c in commands}
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = list(pool.map(lambda c: generate(c, random.Random(f'{seed} {c.name}'), share[c]), commands))
            todo = [(c, w) for c, (lists, _, _) in zip(commands, made) for w in lists if re.search(only, shlex.join(strip(w)))]
            by_name = {c.name: c for c in commands}
            pinned = [(by_name[line.split()[0]], line.split()) for _, line in PINNED]
            todo += [(c, w) for c, w in pinned if re.search(only, shlex.join(strip(w)))]
            results = list(pool.map(lambda i: check(*todo[i], i), range(len(todo))))
        failures = 0
        for (_, words), (status, wrong) in zip(todo, results):
            right = dict((line, code) for code, line in PINNED).get(' '.join(words), status)
            wrong = wrong + ([f'status {status}, not {right}'] if status != right else [])
            failures += bool(wrong)
            if wrong:
                print(f'FAIL (--seed {seed}): pcgpu {shlex.join(strip(words))}\n    ' + '\n    '.join(wrong))
        for c, (lists, covered, possible) in zip(commands, made):
            got = [s for (d, _), (s, _) in zip(todo, results) if d is c]
            statuses = ', '.join(f'{got.count(s)} x status {s}' for s in sorted(set(got)))
            print(f'{c.name}: {len(got)} commands, {covered} of {possible} pairs; {statuses}')
        for name in contents('../dry'):
            failures += 1
            print(f'FAIL (--seed {seed}): --dry-run wrote {name}')
        after = contents('.')
        if after != before:
            failures += 1
            print(f"FAIL (--seed {seed}): inputs have changed: {' '.join(n for n in {**before, **after} if before.get(n) != after.get(n))}")
        succeeded = sum(s == 0 for s, _ in results)
        if not only and succeeded * 2 < len(results):
            failures += 1
            print('FAIL: too many commands fail; see VALUES')
        covered, possible = sum(m[1] for m in made), sum(m[2] for m in made)
        print(f'{len(results)} commands, {succeeded} with status 0, {covered} of {possible} pairs, {failures} failures')
        return 1 if failures else 0
    finally:
        os.chdir('/')
        if not os.environ.get('PCGPU_KEEP'):
            shutil.rmtree(WORK)


sys.exit(main())
