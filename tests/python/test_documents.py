"""The examples of python/README.md and of README.md run; the program is found."""
import os
import re
import shutil
import subprocess
import sys

import support
from support import Case, np, pcgpu
from pcgpu.__main__ import program


def blocks(path):
    return re.findall(r'^```python\n(.*?)^```', path.read_text(), re.M | re.S)


class Documents(Case):
    def example(self, path, count):
        found = blocks(path)
        self.assertGreaterEqual(len(found), count)
        shutil.copytree(support.TESTDATA, self.folder, dirs_exist_ok=True)
        shutil.copytree(support.TESTDATA, self.folder / 'testdata')
        result = subprocess.run([sys.executable, '-W', 'error::RuntimeWarning', '-c', '\n'.join(found)], cwd=self.folder,
                                capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_tutorial(self):
        out = self.example(support.SOURCE / 'python' / 'README.md', 5)
        self.assertEqual(len(np.fromfile(self.folder / 'sampled.ply', 'u1')[:3]), 3)
        self.assertEqual(len(pcgpu.read(self.folder / 'sampled.ply')), 4096)
        self.assertGreater(len(pcgpu.read(self.folder / 'room.ply')), 100_000)
        self.assertIn('0.99', out)
        text = (support.SOURCE / 'python' / 'README.md').read_text()
        self.assertLessEqual(text.count('\n'), 120, 'two screens')

    def test_readme(self):
        text = (support.SOURCE / 'README.md').read_text()
        self.assertIn('import pcgpu', '\n'.join(text.splitlines()[:45]), 'on the first screen')
        self.example(support.SOURCE / 'README.md', 1)


class Program(Case):
    def call(self, *words, **options):
        return subprocess.run([sys.executable, '-m', 'pcgpu', *words], capture_output=True, text=True, **options)

    def test_module(self):
        self.assertEqual(self.call('--version').stdout.split(), ['pcgpu', pcgpu.__version__])
        self.assertIn('usage', self.call('--help').stdout.lower())
        self.assertEqual(self.call('no-such-command').returncode, 2)
        points = self.folder / 'o.bin'
        self.assertEqual(self.call('sample', '-q', '-m', '10', str(support.STREET), '-o', str(points)).returncode, 0)
        self.assertEqual(points.read_bytes(), support.street()[pcgpu.sample(support.street(), 10)].tobytes())

    def test_script(self):
        self.assertTrue(os.access(program(), os.X_OK))
        version = subprocess.run([program(), '--version'], capture_output=True, text=True).stdout
        self.assertEqual(version.split()[1], pcgpu.__version__)


if __name__ == '__main__':
    support.main()
