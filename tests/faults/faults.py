"""faults.py memory|calls|cuda|limits TOOL [--most N] [--threads N]: what a command does when something fails, for each of the commands
below and each thing that can fail in it.

  memory   TOOL is fail_memory.so: allocation 0, 1, 2, ... returns NULL, once, and with all that follow
  calls    TOOL is fail_calls: each system call fails, once and with all of its name that follow; is interrupted; reads or writes less
  cuda     each call of the CUDA runtime fails, once and with all that follow; PCGPU is the program with the emulator, or on a GPU
           pcgpu_fails (no TOOL)
  limits   each limit of the shell, from little to enough: address space, data, size of files, open files, processes, stack, seconds

A command then ends with an error that it prints, or with the outputs that it has else; never by a signal, nor with part of an output
under its name, nor with half of a line in --json, and within 30 s. --most N: at most N moments a command and kind, evenly spread, and
not the commands with a plus, whose code others reach, too (the short form); without it all. Prints a line of counts. PCGPU,
PCGPU_SOURCE: as in tests/cli/lib.sh. Exit code 77: cannot be had here.
"""
import gzip
import math
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

PCGPU, SOURCE = os.environ['PCGPU'], os.path.abspath(os.environ['PCGPU_SOURCE'])
STREET, POSES = f'{SOURCE}/testdata/street.bin', f'{SOURCE}/testdata/room/poses_kitti.txt'
COMMANDS = """
info a.bin --json out.json
+ info c.yaml
sample -m 5 a.bin -o out.bin --json out.json --indices out.txt
+ sample -m 5 a.bin --dry-run
+ sample --ratio 0.5 --method random a.bin -o -
sample --method random -m 5 --set memory=1M s.bin -o out.bin --json out.json
sample -m 170 --pad repeat --batch --set sweeps=2 --set scans=scans.txt --set poses=poses.txt a.bin b.bin -o out.npy --json out.json
+ sample -m 5 --skip-existing a.bin b.bin -o out.d/ --indices out.d/
voxelize --batch --range -9,-9,-9,9,9,9 --voxel-size 1 --max-points 3 a.bin b.bin -o out.npy --json out.json
voxelize --voxel-size 1 --sweeps 2 --nuscenes n a.bin -o out.npy --json out.json
voxelize --config c.yaml a.bin -o out.npz
+ voxelize --voxel-size 5 --features nearest --set memory=1M s.bin -o out.ply --json out.json --set coords=out.npy
filter --radius 0.5,2 --clusters 0.5,2 --set core-points=3 --normals 5 --set normal-radius=0.5 --set memory=1M t.bin -o out.ply --json out.json
+ register --method point a.bin b.bin --transform out.txt --json out.json
register --method point --pairs pairs.txt --transform out.txt --json out.json
odometry --reference previous --method plane t.bin t.bin --trajectory out.txt --json out.json
fuse --camera 4,4,2,2,depth_scale=1000 --poses pose.txt d.pgm -o out.ply
convert --crop=-9,-9,-9,9,9,9 --columns x,y,z,i=intensity a.bin -o out.ply --json out.json
convert --merge --transform T.txt a.bin b.bin -o out.pcd --json out.json
+ convert a.bin -o out.las
convert a.xyz.gz -o out.xyz
view --size 64x64 a.bin -o out.png --json out.json
view a.bin -o out.html --json out.json
+ view --size 64x64 poses.txt -o out.png --json out.json
+ info poses.txt --json out.json
+ info cam.txt --json out.json
evaluate POSES --ground-truth POSES --json out.json --plot out.png
--version -v
""".strip().splitlines()
# A driver that fails ends the process, and what it prints of a GPU is not ours.
if re.search(r'^CUDA devices: [1-9]', subprocess.run([PCGPU, '--version', '-v'], capture_output=True, text=True).stdout, re.M):
    COMMANDS.remove('--version -v')
COMPUTES = ('sample', 'voxelize', 'filter', 'register', 'odometry', 'fuse')
# Those whose work a GPU does, too.
FOR_CUDA = ('sample -m 5 a.bin -o', 'sample -m 170', 'voxelize --batch', 'voxelize --config', 'register', 'odometry', 'fuse')


def cloud(count: int) -> bytes:
    points = ((1 + i * 0.01, i) for i in range(count))
    return b''.join(struct.pack('<4f', r * math.cos(i * 0.7), r * math.sin(i * 0.7), i % 17 * 0.1, i) for r, i in points)


def write(folder: str, name: str, data) -> None:
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def inputs(folder: str) -> None:
    street = open(STREET, 'rb').read()
    files = {
        'a.bin': cloud(60), 'b.bin': cloud(50), 's.bin': street, 't.bin': b''.join(street[i:i + 16] for i in range(0, len(street), 96)), 'pairs.txt': 'a.bin b.bin\nb.bin a.bin\n', 'T.txt': '1 0 0 1\n0 1 0 2\n0 0 1 3\n0 0 0 1\n',
        'scans.txt': 'a.bin 0\nb.bin 1\n', 'poses.txt': '1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 1 0 1 0 0 0 0 1 0\n', 'pose.txt': '1 0 0 0 0 1 0 0 0 0 1 0\n', 'cam.txt': '525 0 319.5\n0 525 239.5\n0 0 1\n',
        'n/v1.0-mini/sample_data.json': '[{"token": "t", "prev": "", "ego_pose_token": "e", "calibrated_sensor_token": "e", '
                                        '"filename": "a.bin", "timestamp": 1}]',
        'n/v1.0-mini/ego_pose.json': '[{"token": "e", "rotation": [1, 0, 0, 0], "translation": [0, 0, 0]}]',
        'n/v1.0-mini/calibrated_sensor.json': '[{"token": "e", "rotation": [1, 0, 0, 0], "translation": [0, 0, 0]}]',
        'c.yaml': 'voxel_size: [1, 1, 1]\nrange: [-9, -9, -9, 9, 9, 9]\nmax_points: 3\n',
        'a.xyz.gz': gzip.compress(''.join(f'{i} {i % 7} {i % 3}\n' for i in range(60)).encode(), mtime=0),
        'd.pgm': b'P5\n4 4\n65535\n' + struct.pack('>16H', *range(1000, 1160, 10)),
    }
    for name, data in files.items():
        write(folder, name, data)
    os.makedirs(os.path.join(folder, 'out.d'))


def timeless(data: bytes) -> bytes:
    """Neither what the clock says nor the name of the CPU, which is read from a file where it can be."""
    data = re.sub(rb'"seconds": \{[^}]*\}', b'"seconds": {}', data)
    data = re.sub(rb'"(device|fallback)": ("[^"]*"|null), ?', b'', data)
    # A file whose size is not known is read at once, and the coverage is computed then.
    return re.sub(rb'"reason": "[^"]*"|"coverage": [0-9.a-z]*', b'', data)


class Folder:
    """Inputs, and a place for the outputs of one run at a time."""

    def __init__(self, parent: str, i: int):
        self.path = os.path.join(parent, str(i))
        inputs(self.path)
        self.first = set(self.names())

    def names(self) -> list:
        return [os.path.relpath(os.path.join(where, name), self.path) for where, _, names in os.walk(self.path) for name in names]

    def run(self, before: list, words: list, environment: dict, preexec=None) -> tuple:
        """The exit code, what is on stderr, the outputs with "-" for stdout."""
        with open(os.path.join(self.path, 'out.stdout'), 'wb') as out:  # a file, since limits and full disks are those of files
            child = subprocess.Popen([*before, PCGPU, *words], cwd=self.path, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                                     env={**os.environ, **environment}, preexec_fn=preexec)
            try:
                _, said = child.communicate(timeout=30)
                code = child.returncode
            except subprocess.TimeoutExpired:
                child.kill()
                _, said = child.communicate()
                code = 'no end within 30 s'
        made = {}
        for name in self.names():
            if name not in self.first:
                path = os.path.join(self.path, name)
                with open(path, 'rb') as file:
                    made[name] = timeless(file.read())
                os.unlink(path)
        return code, said, made


def temporary(name: str) -> bool:
    return '.pcgpu-' in name


def lines_of(whole: tuple, name: str) -> list:
    return whole[2].get(name, b'').splitlines(True)


def wrong(whole: tuple, got: tuple, what: str, pairs: bool) -> str:
    """What is wrong with a run beside the one in which all goes well, or ''."""
    code, said, made = got
    left = [name for name in made if temporary(name)]
    if code in (0, 1, 2, 3, 4) and left and ' unlink' not in what:
        return f'exit code {code}, and {left[0]} is left'
    if code in (0, 4):
        if code != whole[0]:
            return f'exit code {code}, and {whole[0]} when nothing fails'
        for name in sorted(set(made) | set(whole[2])):
            # What is left: a temporary file that could not be removed, the lines so far of --json.
            if not (temporary(name) or name.endswith('.partial')) and made.get(name) != whole[2].get(name):
                return f'exit code {code}, and {name} differs'
        return ''
    if code not in (1, 2, 3):
        return f'exit code {code}'
    if not said and not re.search(r' write (2 |.*000000 of them)', what):
        return f'exit code {code} without a message'
    for name, data in made.items():
        if name == 'out.stdout' or temporary(name) or name.endswith('.partial'):
            continue
        if name == 'out.json':
            if any(not re.fullmatch(rb'\{"command": .*\}', line) for line in data.splitlines()) or (data and data[-1:] != b'\n'):
                return 'half of a line in --json'
        elif pairs and all(line in lines_of(whole, name) or not line.strip(b'nan \n') for line in data.splitlines(True)):
            continue  # of the pairs or scans that were registered; those that failed are on stderr
        elif data != whole[2].get(name):
            return f'exit code {code}, and a part of {name} is visible'
    return ''


def spread(values: list, most: int) -> list:
    return values if not most or len(values) <= most else [values[i * len(values) // most] for i in range(most)]


def words_of(command: str, kind: str) -> list:
    words = command.replace('POSES', POSES).split()
    if words[0] in COMPUTES and '--dry-run' not in words:
        words[1:1] = ['--cuda' if kind == 'cuda' else '--cpu', '--threads', '1']
    elif words[0] == 'view':
        words[1:1] = ['--threads', '1']
    return words


def memory_cases(tool: str, folder: Folder, words: list, most: int) -> tuple:
    whole = folder.run([], words, {'LD_PRELOAD': tool})
    found = re.search(rb'^allocations (\d+)\n', whole[1], re.M)
    if not found:
        return whole, None
    moments = spread(list(range(int(found[1]))), most)
    return whole, [('allocation', f'{at}, {many} of them', [], {'LD_PRELOAD': tool, 'FAIL_AT': str(at), 'FAIL_MANY': str(many)}, None)
                   for many in (1, 1000000) for at in moments]


def call_cases(tool: str, folder: Folder, words: list, most: int) -> tuple:
    log = os.path.join(folder.path, '..', 'calls.' + os.path.basename(folder.path))
    whole = folder.run([tool, log, 'list', '-1', '1'], words, {})
    if whole[0] == 77:
        return whole, None
    lines = [line.split() for line in open(log)]
    cases = []
    for kind, many, chosen in (('error', 1, lines), ('error', 1000000, lines), ('eintr', 1, [f for f in lines if f[4] == '1']),
                               ('short', 1, [f for f in lines if f[5] == '1' and int(f[3]) > 1]), ('short', 1000000, [f for f in lines if f[5] == '1'])):
        cases += [(kind, f'{" ".join(f[:3])} , {many} of them', [tool, log, kind, f[0], str(many)], {}, None) for f in spread(chosen, most)]
    return whole, cases


def cuda_cases(_tool: str, folder: Folder, words: list, most: int) -> tuple:
    whole = folder.run([], words, {'CUDA_FAIL_COUNT': '1'})
    found = re.search(rb'^CUDA calls (\d+)\n', whole[1], re.M)
    if not found:
        return whole, None
    moments = spread(list(range(int(found[1]))), most)
    return whole, [('CUDA call', f'{at}, {many} of them, error {error}', [], {'CUDA_FAIL_AT': str(at), 'CUDA_FAIL_MANY': str(many), 'CUDA_FAIL_WITH': error}, None)
                   for many, error in ((1, 'launch'), (1000000, 'launch'), (1, 'memory')) for at in moments]


LIMITS = {
    'AS': [2**k * 3 // 2**(j % 2) * 65536 for k in range(4, 13) for j in (1, 2)],
    'DATA': [0] + [2**k * 65536 for k in range(10)],
    'FSIZE': [0, 1, 15, 16, 100, 1000, 4096, 10000, 100000],
    'NOFILE': list(range(3, 16)),
    'NPROC': [0, 1],
    # Less holds the environment, the kernel's random offset and a printf of the C library, or not, by chance: no program can report that.
    'STACK': [2**k * 65536 for k in range(5)],
    'CPU': [1],
}


def limit_cases(_tool: str, folder: Folder, words: list, most: int) -> tuple:
    whole = folder.run([], words, {})
    cases = []
    for name, values in LIMITS.items():
        for value in spread(values, most):
            number = getattr(resource, 'RLIMIT_' + name)
            cases.append((f'limit {name}', str(value), [], {}, lambda number=number, value=value: resource.setrlimit(number, (value, value))))
    return whole, cases


def before_main(code, said: bytes) -> bool:
    """The kernel or the dynamic linker could not start the program: no error of it, and nothing that it could help."""
    linker = b'error while loading shared libraries' in said or b'cannot allocate TLS data structures' in said
    return (code == 127 and linker) or (code in (-11, -9, 127) and not said)


def main() -> int:
    kind, arguments = sys.argv[1], sys.argv[2:]
    most, jobs = 0, os.cpu_count() or 1
    while '--most' in arguments or '--threads' in arguments:
        option = '--most' if '--most' in arguments else '--threads'
        i = arguments.index(option)
        most, jobs = (int(arguments[i + 1]), jobs) if option == '--most' else (most, int(arguments[i + 1]))
        del arguments[i:i + 2]
    tool = os.path.abspath(arguments[0]) if arguments else ''
    make = {'memory': memory_cases, 'calls': call_cases, 'cuda': cuda_cases, 'limits': limit_cases}[kind]
    os.environ.update(OMP_WAIT_POLICY='passive', MALLOC_PERTURB_='0', LC_ALL='C')
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    top = tempfile.mkdtemp(prefix='pcgpu-faults.')
    commands = [c.lstrip('+ ') for c in COMMANDS if not (most and c[0] == '+')]
    commands = [c for c in commands if kind != 'cuda' or c.startswith(FOR_CUDA)]
    counts, failed, ended = {}, [], 0

    def one(i: int) -> tuple:
        folder = Folder(top, i)
        words = words_of(commands[i], kind)
        whole, cases = make(tool, folder, words, most)
        if cases is None:
            return None, [], 0, f'{commands[i]}: exit code {whole[0]}: {whole[1][-300:].decode(errors="replace")}'
        if whole[0] not in (0, 4):
            return {}, [f'pcgpu {" ".join(words)}: exit code {whole[0]} when nothing fails: {whole[1].decode(errors="replace")}'], 0, ''
        whole = (whole[0], b'', whole[2])
        made, bad, errors = {}, [], 0
        for name, detail, before, environment, limit in cases:
            got = folder.run(before, words, environment, limit)
            made[name] = made.get(name, 0) + 1
            errors += got[0] not in (0, 4)
            if limit and name != 'limit FSIZE' and before_main(got[0], got[1]):
                continue
            if kind == 'calls':  # the call that it was; their number differs by where the heap happens to lie
                detail = ' '.join(open(before[1]).read().split()[:3]) + f' , {before[4]} of them'
            why = wrong(whole, got, detail, '--pairs' in words or words[0] == 'odometry')
            if why:
                bad.append(f'pcgpu {" ".join(words)}\n  {name} {detail}: {why}\n  {got[1][:300].decode(errors="replace")}')
        return made, bad, errors, ''

    try:
        with ThreadPoolExecutor(jobs) as pool:
            for made, bad, errors, missing in pool.map(one, range(len(commands))):
                if made is None:
                    print(f'skipped: {missing}')
                    return 77
                ended += errors
                failed += bad
                for name, count in made.items():
                    counts[name] = counts.get(name, 0) + count
    finally:
        shutil.rmtree(top, ignore_errors=True)
    for why in failed[:20]:
        print('FAIL:', why)
    print(f'{kind}: {len(commands)} commands, {sum(counts.values())} failures (' + ', '.join(f'{n} {name}' for name, n in counts.items()) +
          f'), {ended} ended with an error, {len(failed)} wrong')
    return 1 if failed or not ended else 0


sys.exit(main())
