"""What the parts of odometry.py share: programs of a build, runs with their processor time and memory, and the table of targets."""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

BEAMS = 0.205  # degrees that the beams of KITTI's scanner point higher than it says
BESIDE = pathlib.Path(__file__).parent


class Build:
    """The programs of a build folder, and how much to measure."""

    def __init__(self, folder, cuda):
        folder = pathlib.Path(folder).resolve()
        self.pcgpu = str(folder / 'cmd/pcgpu')
        self.tests = folder / 'tests'
        self.cuda = cuda
        self.long = os.environ.get('PCGPU_LONG', '0') not in ('', '0')
        self.data = pathlib.Path(os.environ.get('PCGPU_DATA', '/nonexistent')).absolute()

    def test(self, name):
        return str(self.tests / name)

    def path(self, name):
        """The file of a drive of KITTI; None without it."""
        file = self.data / f'kitti_poses/{name}.txt'
        return file if file.exists() else None

    def drive(self, folder, *options):
        """Scans of a rendered drive in the new folder."""
        folder.mkdir()
        subprocess.run([self.test('scene/drive'), *map(str, options), str(folder)], check=True)
        return folder

    def evaluate(self, trajectory, truth):
        """The errors of `pcgpu evaluate`, None where it has none: ate_rmse in m, segment_translation, segment_rotation, ..."""
        command = [self.pcgpu, 'evaluate', '-q', str(trajectory), '--ground-truth', str(truth), '--json', '-']
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)['evaluation']


def stop(message):
    sys.exit(f'{pathlib.Path(sys.argv[0]).name}: {message}')


def output_of(command, **options):
    """What a program prints, which is also printed here, and whether it ended with 0."""
    run = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, **options)
    print(run.stdout, end='', flush=True)
    return run.stdout, run.returncode == 0


def numbers(pattern, text):
    """The groups as numbers."""
    found = re.search(pattern, text)
    if not found:
        stop(f'not understood: {text}')
    return [float(group) for group in found.groups()]


def measured(command):
    """Seconds of processors, seconds, and the peak of memory in MB of a program that has to succeed."""
    begin = time.perf_counter()
    child = subprocess.Popen([str(word) for word in command])
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        stop(f'{command[0]} ended with {child.returncode}')
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - begin, usage.ru_maxrss * 1024 / 1e6


def sha256(*paths):
    value = hashlib.sha256()
    for path in paths:
        with open(path, 'rb') as file:
            while block := file.read(1 << 20):
                value.update(block)
    return value.hexdigest()


def kiss_poses(folder, columns, deskew, beams, threads, poses):
    """Writes poses of KISS-ICP (kiss.py) and returns seconds, and seconds of processors. PYTHON in the environment is a Python
    that has it; None where it is not installed."""
    command = [os.environ.get('PYTHON', sys.executable), BESIDE / 'kiss.py', folder, columns, int(deskew), beams, threads, poses]
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if run.returncode == 77:
        return None
    if run.returncode:
        stop(f'kiss.py ended with {run.returncode}: {run.stderr.strip()[-500:]}')
    return [float(word) for word in run.stdout.split()[-2:]]


def kiss_icp(build, folder, columns, deskew=False, beams=0.0, threads=1):
    """The errors of KISS-ICP as of Build.evaluate, where the truth is known, and scans per second, of time and of processors; None
    where it is not installed."""
    poses, truth = folder / 'kiss.poses', folder / 'poses.txt'
    seconds = kiss_poses(folder, columns, deskew, beams, threads, poses)
    if not seconds:
        return None
    count = len(poses.read_text().splitlines())
    errors = build.evaluate(poses, truth) if truth.exists() else {}
    poses.unlink()
    return {**errors, 'speed': count / seconds[0], 'processor_speed': count / seconds[1]}


class Table:
    """The targets. A speed that is missed is printed; a result that is wrong is a failure, too."""

    def __init__(self):
        self.rows, self.failed = [('target', 'wanted', 'measured', '', 'on')], False

    def add(self, target, wanted, value, good, on, wrong=False):
        """wrong: what was measured is a wrong result."""
        self.rows.append((target, wanted, value, 'PASS' if good else 'MISS', on))
        self.failed = self.failed or bool(wrong)

    def skip(self, target, why):
        self.rows.append((target, '', why, 'SKIP', ''))

    def print(self):
        widths = [max(len(row[k]) for row in self.rows) for k in range(4)]
        print('\nTargets')
        for number, row in enumerate(self.rows):
            print('| ' + ' | '.join(cell.ljust(width) for cell, width in zip(row, widths)) + f' | {row[4]} |')
            if number == 0:
                print('|' + '---|' * 5)
        verdicts = [row[3] for row in self.rows[1:]]
        print(', '.join(f'{verdicts.count(name)} {name}' for name in ('PASS', 'MISS', 'SKIP')), flush=True)
