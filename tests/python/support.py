"""What the tests of the Python package share: the program beside it, data, and a folder that is removed."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SKIP = 77
SOURCE = pathlib.Path(os.environ.get('PCGPU_SOURCE') or pathlib.Path(__file__).resolve().parents[2])
TESTDATA = SOURCE / 'testdata'
DATA = pathlib.Path(os.environ.get('PCGPU_DATA', '/nonexistent'))

try:
    import numpy as np
    import pcgpu
except ImportError as error:
    print(f'skipped: {error}; pip install . or -Dpython=enabled makes the package')
    sys.exit(SKIP)

from pcgpu.__main__ import program

try:
    import torch
except ImportError:
    torch = None

# The program of the same build.
PROGRAM = os.environ.get('PCGPU') or program()
STREET = TESTDATA / 'street.bin'
MOVED = TESTDATA / 'street_moved.bin'


def run(*words, code=0, cwd=None):
    """Runs pcgpu; standard output as bytes."""
    result = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, cwd=cwd, timeout=300)
    if code is not None and result.returncode != code:
        raise AssertionError(f'{words}: exit code {result.returncode}: {result.stderr.decode()}')
    return result.stdout


class Case(unittest.TestCase):
    """A test with a scratch folder."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix='pcgpu-test-')
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def same(self, got, expected, what=''):
        """The same type, shape and bytes."""
        got, expected = np.asarray(got), np.asarray(expected)
        self.assertEqual((got.dtype, got.shape), (expected.dtype, expected.shape), what)
        if got.tobytes() != expected.tobytes():
            where = np.argwhere((got != expected) & ~((got != got) & (expected != expected)))
            self.fail(f'{what}: {len(where)} of {got.size} values differ, first at {where[:1].tolist()}')

    def refused(self, kind, sentence, function, *args, **kwargs):
        """The call raises `kind` with a sentence in which this text occurs."""
        with self.assertRaises(kind) as caught:
            function(*args, **kwargs)
        self.assertIn(sentence, str(caught.exception))


def street():
    return np.fromfile(STREET, '<f4').reshape(-1, 4)


def moved():
    return np.fromfile(MOVED, '<f4').reshape(-1, 4)


def main():
    """Runs the tests of the file; 77 when all of them are skipped."""
    result = unittest.main(exit=False, verbosity=1).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIP if result.testsRun and result.testsRun == len(result.skipped) else 0)
