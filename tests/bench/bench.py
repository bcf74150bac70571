"""What targets.py measures with: limits, runs of the program that are checked, rows, and the tables of BENCHMARKS.md."""
import csv
import hashlib
import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE, SOURCE = pathlib.Path(__file__).resolve().parent, pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault('PCGPU_DATA', str(SOURCE.parent / 'shared/data'))
os.environ.setdefault('PCGPU_SOURCE', str(SOURCE))
DATA = pathlib.Path(os.environ['PCGPU_DATA']).absolute()
BEAMS = 0.205  # degrees that the beams of KITTI's scanner point higher than it gives
KITTI, PATH = DATA / 'kitti/000001.bin', DATA / 'kitti_poses'
LONG = os.environ.get('PCGPU_LONG', '0') not in ('', '0')
# Row: the most, or with > the least; with ! a miss is a wrong result.
LIMITS = {
    'sample cpu; KITTI, 120268 points, 1024 picks; pcgpu': '2.5', 'sample cpu; KITTI, 120268 points, 4096 picks; pcgpu': '4.5',
    'sample cpu; KITTI, 120268 points, 16384 picks; pcgpu': '12', 'sample cuda; KITTI, 120268 points, 1024 picks; pcgpu': '0.28',
    'sample cuda; KITTI, 120268 points, 4096 picks; pcgpu': '0.42', 'sample cuda; KITTI, 120268 points, 16384 picks; pcgpu': '0.80',
    'sample cuda; large street, 1000000 points, 16384 picks; pcgpu': '2.5', 'sample cuda; large street, 10000000 points, 65536 picks; pcgpu': '30',
    'voxelize cpu; KITTI, 120268 points, pillar 0.16 m; pcgpu': '1.2', 'voxelize cpu; KITTI, 120268 points, voxel 0.075 m, means; pcgpu': '2.5',
    'voxelize cpu; sweeps, 2000000 points, pillar 0.16 m; pcgpu': '8', 'voxelize cpu; sweeps, 2000000 points, voxel 0.075 m, means; pcgpu': '30',
    'voxelize cpu; sweeps, 2000000 points, downsample 0.25 m; pcgpu': '40',
    'voxelize cuda; KITTI, 120268 points, pillar 0.16 m; pcgpu': '22', 'voxelize cuda; KITTI, 120268 points, voxel 0.075 m, means; pcgpu': '27',
    'voxelize cuda; large street, 2000000 points, pillar 0.16 m; pcgpu': '90',
    'voxelize cuda; large street, 2000000 points, voxel 0.075 m, points; pcgpu': '140',
    'odometry cuda; odometry to the model; CUDA': '>1000', 'odometry cpu; odometry to the previous image; pcgpu': '>60',
    'odometry cpu; drives, model, segments; pcgpu': '!0.4', 'odometry cpu; drives, model, processor time; pcgpu': '7.14',
    'odometry cuda; drives, model, segments; CUDA': '!0.4',
    'localization cpu; later drive, in a map, worst error; pcgpu': '!20', 'localization cpu; later drive, in a map, worst angle; pcgpu': '!0.05',
    'localization cpu; later drive, in a map, slowest start; pcgpu': '200', 'localization cpu; later drive, in a map, processor time; pcgpu': '6.67',
    'localization cuda; later drive, in a map; CUDA': '>1500',
    'loops cpu; ATE; --loops': '!800', 'loops cuda; ATE; --loops': '!800', 'loops cpu; peak of memory; --loops': '!2000',
    'loops cuda; peak of memory; --loops': '!2000',
}


class Bench:
    def __init__(self, words):
        self.cuda, self.quick = '--cuda' in words, '--quick' in words
        machine = words[words.index('--machine') + 1] if '--machine' in words else None
        build, *self.parts = [word for word in words if not word.startswith('--') and word != machine]
        self.build = pathlib.Path(build).resolve()
        self.pcgpu, self.device = str(self.build / 'cmd/pcgpu'), 'cuda' if self.cuda else 'cpu'
        self.machine = machine or machine_name(self.cuda)
        self.commit = subprocess.run(['git', '-C', SOURCE, 'describe', '--always', '--dirty'], capture_output=True, text=True).stdout.strip() or 'unknown'
        self.rows, self.failed = [], False

    def row(self, group, what, who, value, unit):
        name = f'{group} {self.device}; {what}; {who}'
        limit = LIMITS.get(re.sub(r'drives \d\d', 'drives', name), '')
        most = float(limit.lstrip('!>') or 'inf')
        missed = value < most if '>' in limit else value > most
        if limit.startswith('!') and missed:
            return self.wrong(f'{name}: {value:.5g} {unit}, wanted {limit[1:]}')
        self.rows.append((f'{name}; {unit}', self.commit, f'{value:.5g}'))
        print(f'{name}: {value:.5g} {unit}' + (f' (limit {limit}: {"MISS" if missed else "met"})' if limit else ''), flush=True)

    def wrong(self, why):
        print('WRONG', why, flush=True)
        self.failed = True

    def device_arrays(self, what, file):
        """Rows of arrays in the memory of a GPU, beside kernels of libraries, whose results it compares."""
        run = subprocess.run([self.build / 'tests/kernels/device_arrays', file], stdout=subprocess.PIPE, text=True)
        for line in run.stdout.splitlines():
            if line.startswith('row: '):
                group, of, who, value = line[5:].split('; ')
                value, unit = value.split(' ', 1)
                self.row(group, f'{what}, {of}', who, float(value), unit)
        if run.returncode not in (0, 77):
            self.wrong(run.stdout)

    def warm(self, group, what, folder, *words):
        """The least milliseconds of the operation on one thread, of a process that does it again and again."""
        log, *_ = self.run(*words, '--cpu', '--threads', 1)
        if any(line['exit_code'] for line in log) or len({path.read_bytes() for path in folder.iterdir()}) != 1:
            return self.wrong(f'{what}: runs have different outputs')
        shutil.rmtree(folder)
        self.row(group, what, 'pcgpu', 1e3 * min(map(operation, log)), 'ms')

    def copies(self, file, folder):
        """Names of a file, since each input has its own output."""
        links = [folder / f'{file.stem}_{k}{file.suffix}' for k in range(3 if self.quick else 12)]
        for link in links:
            if not link.exists():
                link.symlink_to(file)
        return links

    def least(self, group, what, who, call):
        times, begin = [], time.perf_counter()
        while len(times) < 3 or (len(times) < 50 and time.perf_counter() - begin < 1):
            times.append(-time.perf_counter())
            call()
            times[-1] = 1e3 * (times[-1] + time.perf_counter())
        self.row(group, what, who, min(times), 'ms')

    def run(self, *words, ends=(0, 4)):
        """The record of a run of pcgpu, its seconds, those of the processors, and its peak of memory in MB."""
        with tempfile.NamedTemporaryFile(suffix='.json') as log:
            begin = time.perf_counter()
            child = subprocess.Popen([self.pcgpu, *map(str, words), '-q', '-f', '--json', log.name], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            seconds, child.returncode = time.perf_counter() - begin, os.waitstatus_to_exitcode(status)
            if child.returncode not in ends:
                sys.exit(f'{words[:6]} ended with {child.returncode}')
            lines = [json.loads(line) for line in open(log.name)]
        return lines, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6

    def generate(self, program, folder, *options):
        folder.mkdir()
        subprocess.run([self.build / 'tests/scene' / program, *map(str, options), folder], check=True)
        return folder

    def drive(self, folder, *options):
        return self.generate('drive', folder, *options)

    def track(self, group, what, folder, truth, *words):
        """The trajectory of a sequence, on the CPU and with --cuda on CUDA: no scan lost, and the same bytes; frames per second and errors."""
        poses, answers = folder / 'trajectory.txt', set()
        for who, options in {'pcgpu': ['--cpu', '--threads', 1], **({'CUDA': ['--cuda']} if self.cuda else {})}.items():
            log, _, used, _ = self.run('odometry', *words, '--trajectory', poses, *options)
            answers.add(sha256(poses))
            if len(answers) > 1 or any(line['result']['lost'] for line in log):
                return self.wrong(f'{what}: {who} has other poses, or lost scans')
            seconds = sum(line['seconds']['total'] - line['seconds']['read'] - line['seconds']['write'] for line in log)
            self.row(group, what, who, len(log) / seconds, 'frames/s')
            self.row(group, f'{what}, processor time', who, 1e3 * used / len(log), 'ms')
            if truth and '--map' in words:
                off, turned = errors(poses, truth)
                for name, value, unit in (('mean error', off.mean(), 'mm'), ('worst error', off.max(), 'mm'), ('worst angle', turned.max(), 'degrees')):
                    self.row(group, f'{what}, {name}', who, value, unit)
            elif truth:
                found = self.evaluate(poses, truth)
                self.row(group, f'{what}, ATE', who, 1e3 * found['ate_rmse'], 'mm')
                if found.get('segment_translation') is not None:
                    self.row(group, f'{what}, segments', who, 100 * found['segment_translation'], '%')

    def evaluate(self, trajectory, truth):
        done = subprocess.run([self.pcgpu, 'evaluate', '-q', trajectory, '--ground-truth', truth, '--json', '-'], check=True, capture_output=True)
        return json.loads(done.stdout)['evaluation']

    def end(self):
        file = HERE / f'results/{self.machine}.csv'
        file.parent.mkdir(exist_ok=True)
        new = not file.exists()
        with open(file, 'a', newline='') as out:
            csv.writer(out, lineterminator='\n').writerows(([('row', 'commit', 'value')] if new else []) + self.rows)
        print(f'{len(self.rows)} rows in {file}' + (', with WRONG results' if self.failed else ''))
        return 1 if self.failed else 0


def machine_name(cuda):
    """Of the device or the processor, with the number of processors."""
    command = ['nvidia-smi', '--query-gpu=name', '--format=csv,noheader'] if cuda else ['sh', '-c', "LC_ALL=C lscpu | sed -n 's/^Model name: *//p'"]
    name = subprocess.run(command, capture_output=True, text=True).stdout.split('\n')[0] or 'machine'
    return re.sub(r'[^A-Za-z0-9]+', '-', name).strip('-') + f'-{len(os.sched_getaffinity(0))}'


def sha256(*paths):
    return hashlib.sha256(b''.join(path.read_bytes() for path in paths)).hexdigest()


def peer(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return print(f'{name} is not installed')


def points_of(path):
    return np.fromfile(path, np.float32).reshape(-1, 4)


def operation(line):
    """Seconds without reading and writing."""
    return sum(seconds for name, seconds in line['seconds'].items() if name not in ('read', 'write', 'total'))


def errors(poses, truth):
    """Millimetres and degrees that each pose is off."""
    a, b = (np.loadtxt(file).reshape(-1, 3, 4) for file in (poses, truth))
    cosine = (np.einsum('nij,nij->n', a[:, :, :3], b[:len(a), :, :3]) - 1) / 2
    return 1e3 * np.linalg.norm(a[:, :, 3] - b[:len(a), :, 3], axis=1), np.degrees(np.arccos(np.clip(cosine, -1, 1)))


def table_of(group):
    """Markdown of a group, a table per machine: a line per thing with a column per program; in brackets the ratio to the first."""
    def text_of(value, digits=4):
        return f'{value:,.0f}' if value >= 1000 else f'{value:.{digits}g}'
    text = []
    for file in sorted((HERE / 'results').glob('*.csv')):
        lines, commits = {}, {}
        with open(file, newline='') as rows:
            for row in csv.DictReader(rows):  # later ones replace earlier ones
                of, what, who, unit = row['row'].split('; ')
                if of == group and not what.startswith('street'):  # what is rendered and not larger than a real scan stays in results/
                    lines.setdefault((what, unit), {})[who], commits[what, unit, who] = float(row['value']), row['commit']
        whos = list(dict.fromkeys(who for line in lines.values() for who in line))
        if whos:
            text += [f'\n| {group}, {file.stem} {", ".join(dict.fromkeys(commits.values()))} | ' + ' | '.join(whos) + ' |', '|---' * (1 + len(whos)) + '|']
        for (what, unit), line in lines.items():
            first = line.get(whos[0])
            cells = ['' if who not in line else text_of(line[who]) + (f' ({text_of(line[who] / first, 3)} x)' if first and who != whos[0] else '') for who in whos]
            text.append(f'| {what}, {unit} | ' + ' | '.join(cells) + ' |')
    return '\n'.join(text)[1:] + '\n'


def tables():
    file = SOURCE / 'BENCHMARKS.md'
    file.write_text(re.sub(r'(<!-- rows of ([^>]*?), by targets.py --table -->\n).*?(?=<!-- end)', lambda at: at[1] + '\n'.join(map(table_of, at[2].split(', '))), file.read_text(), flags=re.S))
