"""Signatures, stubs and documentation agree with the library and with each other."""
import ast
import dataclasses
import inspect
import pathlib
import re
import subprocess
import sys
import unittest

import support
from support import Case, np, pcgpu
from pcgpu import _native

PACKAGE = pathlib.Path(pcgpu.__file__).parent


class Signatures(Case):
    def test_stub(self):
        """The stub is what nanobind writes, up to its layout."""
        self.assertTrue((PACKAGE / 'py.typed').exists())
        try:
            from nanobind.stubgen import StubGen
        except (ImportError, RuntimeError) as error:
            self.skipTest(str(error))
        generator = StubGen(_native)
        generator.put(_native)
        text = (PACKAGE / '_native.pyi').read_text()

        def signatures(source):
            # Arrays are annotated differently by other versions of nanobind.
            functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
            for node in functions:
                for argument in node.args.args:
                    if argument.annotation is not None and 'numpy' in ast.unparse(argument.annotation).lower():
                        argument.annotation = None
            return [(f.name, ast.unparse(f.args), f.returns and ast.unparse(f.returns)) for f in functions]
        self.assertEqual(sorted(signatures(generator.get())), sorted(signatures(text)))

    def test_defaults(self):
        """The defaults of the functions are those of the library."""
        camera = inspect.signature(pcgpu.Camera)
        functions = {'sample': pcgpu.sample, 'voxelize': pcgpu.voxelize, 'clusters': pcgpu.filter.clusters,
                     'ground': pcgpu.filter.ground, 'register': pcgpu.register,
                     'register_depth': pcgpu.register_depth, 'Odometry': pcgpu.Odometry.__init__,
                     'DepthOdometry': pcgpu.DepthOdometry.__init__, 'Volume': pcgpu.Volume.__init__,
                     'Map': pcgpu.Map.__init__, 'Loops': pcgpu.Loops.__init__, 'DepthLoops': pcgpu.DepthLoops.__init__,
                     'Camera': pcgpu.Camera.__init__}
        # None, or no default, stands for 0 or the identity.
        others = {'sample': {'count', 'ratio', 'min_distance', 'start_index', 'columns', 'column_count'},
                  'voxelize': {'voxel_size', 'range', 'range_auto'}, 'register': {'init'},
                  'register_depth': {'init', 'levels', 'level_iterations'}, 'Camera': {'fx', 'fy', 'cx', 'cy'},
                  'DepthOdometry': {'levels', 'level_iterations'}, 'DepthLoops': {'levels', 'level_iterations'}}
        for name, defaults in _native.defaults().items():
            parameters = inspect.signature(functions[name]).parameters
            for key, value in defaults.items():
                if key not in others.get(name, ()):
                    with self.subTest(function=name, parameter=key):
                        default = parameters[key].default
                        self.assertEqual(float(np.float32(default)) if key == 'slope' else default, value)
        self.assertEqual(len(camera.parameters), 9)
        for name in ('register_depth', 'DepthOdometry', 'DepthLoops'):
            levels = _native.defaults()[name]
            self.assertEqual(inspect.signature(functions[name]).parameters['level_iterations'].default,
                             tuple(levels['level_iterations'][:levels['levels']]), name)
        self.same(_native.defaults()['register_depth']['init'], np.eye(4))
        shared = {'init', 'max_distance', 'bilateral', 'min_score', 'voxel_size', 'frames'}
        for name in shared:
            ours = inspect.signature(pcgpu.DepthOdometry.__init__).parameters[name].default
            theirs = [inspect.signature(f).parameters[name].default for f in (pcgpu.register_depth, pcgpu.Volume.__init__)
                      if name in inspect.signature(f).parameters]
            self.assertEqual([ours], theirs, name)

    def test_parameters_of_others(self):
        """The typed dictionaries list the parameters of sample() and register()."""
        for function, others in ((pcgpu.sample, ('points', 'count', 'full')),
                                 (pcgpu.register, ('source', 'target', 'device', 'threads'))):
            tree = ast.parse((PACKAGE / pathlib.Path(inspect.getfile(function)).name).read_text())
            listed = next(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and
                          node.name == f'{function.__name__.title()}Params')
            names = [item.target.id for item in listed.body if isinstance(item, ast.AnnAssign)]
            self.assertEqual(names, [name for name in inspect.signature(function).parameters if name not in others])
        self.assertEqual(sorted(names), sorted(_native.defaults()['register']))

    def test_results(self):
        """Each field of a result is documented by a comment, and annotated."""
        source = (PACKAGE / '_results.py').read_text()
        for name in ('Sampled', 'Voxels', 'Registration', 'Frame', 'Run', 'Device', 'MapStats', 'Loop', 'LoopsResult'):
            for field in dataclasses.fields(getattr(pcgpu, name)):
                self.assertRegex(source, rf'\n    {field.name}: ', f'{name}.{field.name}')


class Documentation(Case):
    def test_public(self):
        for name in pcgpu.__all__:
            value = getattr(pcgpu, name)
            self.assertTrue(value.__doc__, name)
            if inspect.isfunction(value):
                for parameter in inspect.signature(value).parameters:
                    known = re.search(rf'\b{parameter}\b', value.__doc__) or 'as in' in value.__doc__
                    self.assertTrue(known or parameter == 'params', f'{name}({parameter}) is not documented')
            elif name in ('Odometry', 'DepthOdometry', 'Volume', 'Cloud', 'Map', 'Loops', 'DepthLoops'):
                for method, function in vars(value).items():
                    if inspect.isfunction(function) and not method.startswith('_'):
                        self.assertTrue(function.__doc__, f'{name}.{method}')
        for name in ('sample', 'voxelize', 'register', 'read_depth', 'register_depth'):
            text = getattr(pcgpu, name).__doc__
            self.assertRegex(text, r'float32|uint16', name)
            self.assertRegex(text, 'metres', name)

    def test_mypy(self):
        """A caller's program is checked with the package's types."""
        if subprocess.run([sys.executable, '-m', 'mypy', '--version'], capture_output=True).returncode:
            self.skipTest('no mypy')
        (self.folder / 'good.py').write_text(
            'from typing import Any\nimport numpy as np\nimport pcgpu\n'
            "points = pcgpu.read('a.bin').points\n"
            'class Tensor:\n    def detach(self) -> "Tensor":\n        return self\n'
            'tensor: Tensor = pcgpu.sample(Tensor(), 10, start=3)\n'
            'picks: "np.ndarray[Any, np.dtype[np.int32]]" = pcgpu.sample(np.zeros((9, 3), np.float32), 3, pad="zero")\n'
            'count: int = pcgpu.sample(points, 10, full=True).run.threads\n'
            "v: pcgpu.Voxels = pcgpu.voxelize(points, 0.1, features='mean')\n"
            "score: float = pcgpu.register(points, points, method='gicp').score\n"
            "with pcgpu.Odometry(reference='model', method='ndt', min_range=2.0) as odometry:\n"
            '    good: bool = odometry.add(points, 0.1).good\n')
        (self.folder / 'bad.py').write_text(
            'import numpy as np\nimport pcgpu\n'
            'wrong: int = pcgpu.sample(np.zeros((9, 3), np.float32), 3)\n'
            "pcgpu.sample([], 10, method='fast')\n"
            'pcgpu.voxelize([], 1.0, featurez=3)\n'
            "pcgpu.register([], [], method='icp')\n"
            'pcgpu.Odometry(min_range=[1])\n')
        for name, lines in (('good.py', 0), ('bad.py', 5)):
            result = subprocess.run([sys.executable, '-m', 'mypy', '--no-error-summary', '--cache-dir',
                                     str(self.folder / 'cache'), name], cwd=self.folder, capture_output=True, text=True)
            found = {line.split(':')[1] for line in result.stdout.splitlines() if f'{name}:' in line and 'error:' in line}
            self.assertEqual(len(found), lines, result.stdout)


if __name__ == '__main__':
    support.main()
