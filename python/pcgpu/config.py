"""python -m pcgpu.config model.py > model.yaml: a configuration of mmdetection3d as one of `pcgpu voxelize`.

The file is Python, and no code of it is run: only literals that are assigned to names are read, which are numbers,
strings, True, False, None, lists, tuples, dict(NAME=...), {'NAME': ...} and names that were assigned before. Where a
value is needed, anything else is an error; elsewhere it is ignored. Files of _base_ are read as mmengine does: relative
to the folder of the file, dicts merged key by key, _delete_=True starts over.

    model: data_preprocessor: voxel_layer   (1.x; in 0.x model: voxel_layer or pts_voxel_layer)
      point_cloud_range, voxel_size         range, voxel_size
      max_num_points, max_voxels            max_points, max_voxels; max_voxels may be two: (train, test); -1 is dynamic
    model: data_preprocessor: voxel_type    voxelization: hard or dynamic
    model: voxel_encoder, pts_voxel_encoder
      type                                  must take the arrays of this voxelization
      in_channels, num_features             the columns of the inputs, as a comment
    train_pipeline, test_pipeline           PointShuffle: shuffle; a warning names PointSample, which is left out

Exit status: 0 done; 1 the output failed; 2 the command line or the configuration is wrong.
The standard library is enough: `python python/pcgpu/config.py model.py`.
"""
import argparse
import ast
import functools
import os
import sys
import warnings

SIZE = 256 << 10  # of a file
LAYERS = (('model', 'data_preprocessor', 'voxel_layer'), ('model', 'voxel_layer'), ('model', 'pts_voxel_layer'))
ENCODERS = (('model', 'voxel_encoder'), ('model', 'pts_voxel_encoder'))
# The voxel encoders of mmdet3d/models/voxel_encoders: the hard ones take voxels, the dynamic ones points.
TAKES = {'PillarFeatureNet': 'hard', 'HardVFE': 'hard', 'HardSimpleVFE': 'hard', 'DynamicVFE': 'dynamic',
         'DynamicSimpleVFE': 'dynamic', 'DynamicPillarFeatureNet': 'dynamic'}
ARRAYS = {'hard': 'voxels', 'dynamic': 'points'}
CODE = object()


class ConfigError(ValueError):
    """FILE:LINE:COLUMN: what is wrong; what to do."""


class Value:
    """A literal and its place: a number, string, bool or None, a list or dict of Values; CODE for anything else."""

    def __init__(self, data, path, node):
        self.data, self.path, self.line, self.column = data, path, node.lineno, node.col_offset + 1

    def wrong(self, what):
        return ConfigError(f'{self.path}:{self.line}:{self.column}: {what}')

    def on_code(self, key):
        return self.wrong(f'{key} depends on code, and no code is run; write its value as a literal into a copy')

    def is_number(self):
        return isinstance(self.data, (int, float)) and not isinstance(self.data, bool)

    def text(self):
        return self.data if isinstance(self.data, str) else 'here'


def parse(path):
    """The names that a file assigns: name -> Value."""
    try:
        with open(path, 'rb') as file:
            text = file.read(SIZE + 1)
    except OSError as error:
        raise ConfigError(f'{path}: {error.strerror}; give a configuration of mmdetection3d') from None
    if len(text) > SIZE:
        raise ConfigError(f'{path}: larger than 256 KiB; give a smaller configuration')
    names = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            tree = ast.parse(text)
        for statement in tree.body:
            assigns(path, statement, names)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line, column = getattr(error, 'lineno', None) or 1, getattr(error, 'offset', None) or 1
        raise ConfigError(f'{path}:{line}:{column}: {getattr(error, "msg", error)}; give valid Python') from None
    return names


def assigns(path, statement, names):
    """What a statement does to the names: it assigns a literal, or the names in it are not known any more."""
    if isinstance(statement, ast.Assign) and all(isinstance(target, ast.Name) for target in statement.targets):
        names.update(dict.fromkeys((t.id for t in statement.targets), literal(path, statement.value, names)))
        return
    for node in ast.walk(statement):  # names, and what import, def, class and except name
        name = getattr(node, 'asname', None) or getattr(node, 'name', None) or getattr(node, 'id', None)
        names[name] = Value(CODE, path, node if hasattr(node, 'lineno') else statement)


def literal(path, node, names):
    """The Value of an expression."""
    data, entries = CODE, None
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str, type(None))):
        data = node.value
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        operand = literal(path, node.operand, {})
        if isinstance(node.operand, ast.Constant) and operand.is_number():
            data = -operand.data if isinstance(node.op, ast.USub) else operand.data
    elif isinstance(node, (ast.List, ast.Tuple)):
        if not any(isinstance(item, ast.Starred) for item in node.elts):
            data = [literal(path, item, names) for item in node.elts]
    elif isinstance(node, ast.Dict):
        entries = [(getattr(key, 'value', None), value) for key, value in zip(node.keys, node.values)]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == 'dict' and not node.args:
        entries = [(keyword.arg, keyword.value) for keyword in node.keywords]
    elif isinstance(node, ast.Name) and node.id in names:
        value = names[node.id]
        return value if value.data is CODE else Value(value.data, path, node)
    if entries is not None and all(isinstance(key, str) for key, value in entries):
        data = {key: literal(path, value, names) for key, value in entries}
    return Value(data, path, node)


class Model:
    """A file with its bases, which are opened when a key is missing."""

    def __init__(self, path):
        self.path, self.parse, self.found = path, functools.lru_cache(None)(parse), {}

    def find(self, *keys):
        """The Value of nested keys, or None."""
        value = self.search(self.path, keys)
        if value and value.data is CODE:
            raise value.on_code(keys[-1])
        return value

    def search(self, path, keys, heir=None):
        mark = os.path.realpath(path), keys
        if mark not in self.found:
            self.found[mark] = CODE  # until the search ends: another search that meets it is a circle
            self.found[mark] = self.search_file(path, keys, heir)
        elif self.found[mark] is CODE:
            raise heir.wrong('files inherit from each other in a circle; leave this out')
        return self.found[mark]

    def search_file(self, path, keys, heir):
        try:
            names = self.parse(path)
        except ConfigError as error:
            raise heir.wrong(f'its base is not read: {error}') if heir else error from None
        value = names.get(keys[0])
        for parent, key in zip(keys, keys[1:]):
            if value is None:
                break
            if value.data is CODE:
                raise value.on_code(parent)
            if not isinstance(value.data, dict):
                return None
            erases = value.data.get('_delete_')
            value = value.data.get(key)
            if value is None and erases and erases.data is True:
                return None
        if value is None and (base := names.get('_base_')):
            for name in base.data if isinstance(base.data, list) else [base]:
                if not isinstance(name.data, str) or not name.data.isprintable():
                    raise name.wrong('_base_ is a name of a file, or a list of names; write it as a literal')
                value = value or self.search(os.path.join(os.path.dirname(path), name.data), keys, name)
        return value


def numbers(value, key, counts):
    """A number, or a list of them, of one of these lengths, as YAML."""
    for item in (items := value.data if isinstance(value.data, list) else [value]):
        if not item.is_number() or not abs(item.data) < 1e18:
            raise item.on_code(key) if item.data is CODE else item.wrong(f'{key}: give a number here')
    if len(items) not in counts:
        raise value.wrong(f'{key}: {len(items)} numbers, and {" or ".join(map(str, counts))} are expected; correct it')
    words = ', '.join(repr(item.data).removesuffix('.0') for item in items)
    return f'[{words}]' if len(items) > 1 else words


def limit(value, key, split):
    """max_num_points, or the one of max_voxels for the split."""
    if key == 'max_voxels' and isinstance(value.data, list):
        if len(value.data) != 2:
            raise value.wrong('max_voxels is a number, or two: (train, test)')
        value = value.data[split == 'test']
    text = numbers(value, key, (1,))
    if not isinstance(value.data, int) or value.data < -1:
        raise value.wrong(f'{key}: {text} is not a whole number; give digits only, or -1 for dynamic voxelization')
    return value.data


def encoder(model, voxelization, chosen):
    """Checks the voxel encoder; returns the number of columns that it takes, or None."""
    if not (path := next((path for path in ENCODERS if model.find(*path, 'type')), None)):
        return None
    takes = TAKES.get((kind := model.find(*path, 'type')).text())
    if not takes and not chosen:
        raise kind.wrong(f'the voxel encoder {kind.text()} is not known; those known are {", ".join(TAKES)}; give '
                         '--voxelization hard when it takes voxels, dynamic when it takes points')
    if takes != voxelization and not chosen:
        raise kind.wrong(f'{kind.text()} takes {ARRAYS[takes]}, and voxel_type makes {ARRAYS[voxelization]}; correct '
                         'one of them')
    columns = [value.data for key in ('in_channels', 'num_features')
               if (value := model.find(*path, key)) and value.is_number()]
    return columns[-1] if columns else None


def steps(model, split):
    """The types of the steps of the pipeline, as far as they are literals."""
    try:
        value = model.find(f'{split}_pipeline')
    except ConfigError:
        return []
    items = [item.data for item in value.data] if value and isinstance(value.data, list) else []
    return [item['type'].data for item in items if isinstance(item, dict) and 'type' in item]


def convert(path, split='test', voxelization=None):
    """The text of the configuration for `pcgpu voxelize`; a ConfigError says what is wrong. `split` chooses one of two
    limits of max_voxels. `voxelization`, 'hard' or 'dynamic', is for encoders and a voxel_type that are not known."""
    model, chosen = Model(path), voxelization
    if not (layer := next((layer for layer in LAYERS if model.find(*layer)), None)):
        raise ConfigError(f'{path}: no model.data_preprocessor.voxel_layer among the literals of this file and its '
                          '_base_; give the configuration of a model that takes voxels, whose values no code computes')
    kind = model.find('model', 'data_preprocessor', 'voxel_type')
    if kind and not chosen and kind.data not in ('hard', 'dynamic'):
        raise kind.wrong(f'the voxel_type {kind.text()} is not supported; hard and dynamic are: give --voxelization')

    def required(key):
        if value := model.find(*layer, key):
            return value
        raise model.find(*layer).wrong(f'no {key} in voxel_layer; add it to a copy of the file')

    region = numbers(required('point_cloud_range'), 'point_cloud_range', (6,))
    size = numbers(required('voxel_size'), 'voxel_size', (1, 3))
    limits = [limit(required(key), key, split) for key in ('max_num_points', 'max_voxels')]
    voxelization = chosen or ('dynamic' if -1 in limits or (kind and kind.data == 'dynamic') else 'hard')
    points, voxels = (0, 0) if voxelization == 'dynamic' else (max(value, 0) for value in limits)
    columns = encoder(model, voxelization, chosen)
    found = steps(model, split)
    for name in ('PointSample', 'IndoorPointSample'):
        if name in found:
            warnings.warn(f'{name} of {split}_pipeline is left out; give inputs with as many points', stacklevel=2)
    shuffle = '  shuffle: true\n' if 'PointShuffle' in found else ''
    comment = f'# The encoder takes {columns} columns; --fields is for .bin files that have not 4.\n' if columns else ''
    return (f'# pcgpu voxelize: from a configuration of mmdetection3d, split {split}\n{comment}voxelize:\n'
            f'  range: {region}\n  voxel_size: {size}\n  max_points: {points}\n  max_voxels: {voxels}\n'
            f'  features: "points"\n  layout: "mmdet3d"\n  voxelization: "{voxelization}"\n{shuffle}')


def main():
    parser = argparse.ArgumentParser(prog='python -m pcgpu.config', description=__doc__.split('\n\n')[0])
    parser.add_argument('model', metavar='MODEL.py')
    parser.add_argument('--split', choices=('test', 'train'), default='test', help='selects one of two max_voxels')
    parser.add_argument('--voxelization', choices=('hard', 'dynamic'),
                        help='for a voxel_encoder or a voxel_type that is not known')
    options = parser.parse_args()
    try:
        with warnings.catch_warnings(record=True) as left_out:
            text = convert(options.model, options.split, options.voxelization)
        for warning in left_out:
            print(f'pcgpu: warning: {warning.message}', file=sys.stderr)
        sys.stdout.write(text)
        sys.stdout.flush()
    except ConfigError as error:
        print('pcgpu: ' + ''.join(c if c.isprintable() else '?' for c in str(error)), file=sys.stderr)
        return 2
    except OSError as error:
        print(f'pcgpu: standard output: {error.strerror}', file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
