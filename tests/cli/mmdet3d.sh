# Configurations of mmdetection3d: the literals that python/pcgpu/config.py takes from Python, their inheritance, and what is
# said where a value is needed that code computes.
. "${0%/*}/lib.sh"
cloud 3000 > a.bin
command -v python3 > "$OUT" || { skip_part 'all' 'there is no python3'; finish; }
convert() { python3 -S -B "$PCGPU_SOURCE/python/pcgpu/config.py" "$@"; }

# holds TEXT EFFECT OPTION...: with the converter's options, what is in effect of a small file is EFFECT: range, size,
# max_points, max_voxels, layout, voxelization, with "|" between them. COMMAND_LINE: options of voxelize.
holds() {
    printf '%b\n' "$1" > c.py
    EFFECT=$2
    shift 2
    expect 0 convert "$@" c.py
    stderr_is ''
    cp "$OUT" c.yaml
    expect 0 pcgpu voxelize --config c.yaml ${COMMAND_LINE:-} --dry-run a.bin
    stderr_is ''
    GOT=$(sed -n 's/^  \(range\|voxel_size\|max_points\|max_voxels\|layout\|voxelization\): //p' "$OUT" | tr '\n' '|')
    [ "$GOT" = "$EFFECT|" ] || die "in effect: $GOT, expected: $EFFECT|"
}
R='point_cloud_range=[-4, -4.5, -4, 4, 4.5, 4]'
L="$R, voxel_size=[1, 1, 2], max_num_points=3, max_voxels=(5, 6)"
IN='[-4, -4.5, -4, 4, 4.5, 4]|[1, 1, 2]'
HARD='"mmdet3d"|"hard"' DYNAMIC='"mmdet3d"|"dynamic"'
model() { printf 'model = dict(data_preprocessor=dict(voxel_layer=dict(%s)%s)%s)' "$1" "${2:-}" "${3:-}"; }

# Where the layer is in 1.x and 0.x; max_voxels is a number or (train, test).
holds "$(model "$L")" "$IN|3|6|$HARD"
holds "$(model "$L")" "$IN|3|5|$HARD" --split train
holds "model = dict(voxel_layer=dict($L))" "$IN|3|6|$HARD"
holds "model = dict(pts_voxel_layer=dict($R, voxel_size=(1, 1, 2), max_num_points=3, max_voxels=[7, 8]))" "$IN|3|8|$HARD"
holds "model = dict(voxel_layer=dict($R, voxel_size=[1, 1, 2], max_num_points=3, max_voxels=9))" "$IN|3|9|$HARD" --split train
# What is dynamic; what the encoders take.
holds "$(model "$L" ", voxel_type='dynamic'")" "$IN|0|0|$DYNAMIC"
holds "model = dict(voxel_layer=dict($R, voxel_size=[1, 1, 2], max_num_points=-1, max_voxels=(-1, -1)))" "$IN|0|0|$DYNAMIC"
for VFE in PillarFeatureNet HardVFE HardSimpleVFE; do
    holds "$(model "$L" '' ", voxel_encoder=dict(type='$VFE', in_channels=4)")" "$IN|3|6|$HARD"
done
for VFE in DynamicVFE DynamicSimpleVFE DynamicPillarFeatureNet; do
    holds "$(model "$L" ", voxel_type='dynamic'" ", pts_voxel_encoder=dict(type='$VFE')")" "$IN|0|0|$DYNAMIC"
done
holds "$(model "$L" '' ", voxel_encoder=dict(type='Mine')")" "$IN|3|6|$HARD" --voxelization hard
holds "$(model "$L" ", voxel_type='mine'")" "$IN|0|0|$DYNAMIC" --voxelization dynamic
# The command line wins, and other layouts may be asked for.
COMMAND_LINE='--max-voxels 7' holds "$(model "$L")" "$IN|3|7|$HARD"
COMMAND_LINE='--layout openpcdet' holds "$(model "$L")" "$IN|3|6|\"openpcdet\"|\"hard\""
COMMAND_LINE='--layout pcgpu' holds "$(model "$L")" "$IN|3|6|\"pcgpu\"|\"hard\""
COMMAND_LINE='--features pillar' holds "$(model "$L")" "$IN|3|6|\"pcgpu\"|\"hard\""

# Notation: comments, strings, numbers, names, dicts, joined lines; what is not needed may be any Python.
holds "\"\"\"A model.\n\nvoxel_size = 3\"\"\"
import os
from x import (y,
               z)
voxel_size = [1, 1., +2]  # metres
pc = (-4, -4.5, -4.0e0,
      4, 4_0e-1,
  )
pc = [-4, -45e-1, -4, 4, 4.5, 4]; data_root = os.path.join('a', 'b') + f'{1}'
pipeline = [dict(type=t, pc=pc, **kw) for t in [1, 2] if t] if True else lambda a, b=[3]: {a: b}
train = [dict(a='(['), *pipeline]
@decorated
def f(x):
    '''voxel_size = 7'''
    return x[voxel:size]
model = dict(
    voxel_layer={
        'voxel_size': (voxel_size), \"point_\" 'cloud_range': \\\\
            pc,
        'max_num_points': 3, 'max_voxels': (5, 6)},
    other=g(1)[2], more=not x)" "$IN|3|6|$HARD"
# The last assignment holds; a name has the value of its line.
holds "v = [9, 9, 9]\nv = [1, 1, 2]\nmodel = dict(voxel_layer=dict($R, voxel_size=v, max_num_points=3, max_voxels=4))\nv = 7" "$IN|3|4|$HARD"

# Bases: by the folder of the file that names them; dicts are merged key by key, _delete_ starts over.
mkdir -p base/sub
echo "model = dict(data_preprocessor=dict(voxel_layer=dict($L), voxel_type='hard'), voxel_encoder=dict(type='HardVFE'))" > base/m.py
echo "_base_ = '../m.py'" > base/sub/n.py
holds "_base_ = ['base/sub/n.py']" "$IN|3|6|$HARD"
holds "_base_ = ('base/m.py', )\nmodel = dict(data_preprocessor=dict(voxel_layer=dict(max_num_points=9)))" "$IN|9|6|$HARD"
holds "_base_ = 'base/m.py'\nmodel = dict(data_preprocessor=dict(voxel_type='dynamic'), voxel_encoder=dict(type='DynamicVFE'))" "$IN|0|0|$DYNAMIC"
echo 'x = 1' > base/x.py
holds "_base_ = ['base/x.py', 'base/m.py']" "$IN|3|6|$HARD"
for i in 1 2 3 4 5 6 7 8 9; do # each names the next ten times
    echo "_base_ = [$(printf "'wide$((i + 1)).py', %.0s" 1 2 3 4 5 6 7 8 9 10)]" > wide$i.py
done
echo 'x = 1' > wide10.py
holds "_base_ = ['wide1.py', 'base/m.py']" "$IN|3|6|$HARD"

# fails PLACE PATTERN TEXT: exit 2, the place, what is wrong, no output.
fails() {
    printf '%b\n' "$3" > c.py
    expect 2 convert c.py
    stdout_is ''
    stderr_is_one "^pcgpu: $1: .*$2"
}
fails 'c\.py:2:49' 'no point_cloud_range in voxel_layer; add it' \
    "_base_ = 'base/m.py'\nmodel = dict(data_preprocessor=dict(voxel_layer=dict(_delete_=True, voxel_size=[1, 1, 1])))"
# Code where a value is needed.
LITERAL='depends on code, and no code is run; write its value as a literal'
for CODE in 'f(1)' 'a.b' '[1, 1, 2][:]' '2 * x' 'not x' 'unknown' '[v for v in (1, 1, 2)]' "f'{x}'" '-x' '1 if x else 2' "b'1'" '{1, 2}' 'dict(x)' '--1'; do
    fails 'c\.py:2:8[78]' "voxel_size $LITERAL" \
        "x = 1\nmodel = dict(voxel_layer=dict($R, voxel_size=$CODE, max_num_points=1, max_voxels=1))"
done
fails 'c\.py:1:91' "voxel_size $LITERAL" "model = dict(voxel_layer=dict($R, voxel_size=[1, f(1), 2], max_num_points=1, max_voxels=1))"
fails 'c\.py:1:26' "voxel_layer $LITERAL" "model = dict(voxel_layer=dict(**layer))"
fails 'c\.py:2:1' "$LITERAL" "$(model "$L")\nmodel['x'] = 3"
fails 'c\.py:3:5' "$LITERAL" "$(model "$L")\nif x:\n    model = dict()"
fails 'c\.py:[12]:[0-9]*' "$LITERAL" "with read_base():\n    from .m import model"
fails 'c\.py:1:11' '_base_ is a name of a file' '_base_ = [3]'
fails 'c\.py:1:11' '_base_ is a name of a file' "_base_ = ['a' + 'b']"
fails 'c\.py:1:10' 'in a circle' "_base_ = 'c.py'"
echo "_base_ = './c.py'" > wide2.py
fails 'wide2\.py:1:10' 'in a circle' "_base_ = 'wide2.py'"
fails 'c\.py:1:10' '_base_ is a name of a file' "_base_ = 'a\\\\0b'"
fails 'c\.py:1:10' 'its base is not read: gone\.py: No such file' "_base_ = 'gone.py'"
# Values.
fails 'c\.py:1:49' 'point_cloud_range: 2 numbers, and 6 are expected' "model = dict(voxel_layer=dict(point_cloud_range=[1, 2], voxel_size=1))"
fails 'c\.py:1:[0-9]*' 'voxel_size: give a number here' "model = dict(voxel_layer=dict($R, voxel_size='1'))"
fails 'c\.py:1:[0-9]*' 'max_voxels is a number, or two' "model = dict(voxel_layer=dict($R, voxel_size=[1, 1, 2], max_num_points=1, max_voxels=(1, 2, 3)))"
fails 'c\.py:1:[0-9]*' 'no max_num_points in voxel_layer; add it' "model = dict(voxel_layer=dict($R, voxel_size=[1, 1, 2]))"
fails 'c\.py:1:[0-9]*' 'the voxel encoder Mine is not known; those known are PillarFeatureNet, .*--voxelization' \
    "$(model "$L" '' ", voxel_encoder=dict(type='Mine')")"
fails 'c\.py:1:[0-9]*' 'DynamicVFE takes points, and voxel_type makes voxels' "$(model "$L" '' ", voxel_encoder=dict(type='DynamicVFE')")"
fails 'c\.py:1:[0-9]*' 'voxel_type cylindrical is not supported; hard and dynamic' "$(model "$L" ", voxel_type='cylindrical'")"
fails 'c\.py:1:[0-9]*' 'the voxel encoder \?\[31m is not known' "$(model "$L" '' ", voxel_encoder=dict(type='\\\\033[31m')")"
fails 'c\.py:1:[0-9]*' 'voxel_size: give a number' "model = dict(voxel_layer=dict($R, voxel_size=1$(printf '%0400d' 0)))"
fails 'c\.py' 'no model\.data_preprocessor\.voxel_layer' 'x = 1'
for VALUE in 1.5 -2 True "'3'" None; do
    fails 'c\.py:1:[0-9]*' 'max_num_points: ' "model = dict(voxel_layer=dict($R, voxel_size=1, max_num_points=$VALUE, max_voxels=2))"
done
fails 'c\.py:1:[0-9]*' 'voxel_size: give a number' "model = dict(voxel_layer=dict($R, voxel_size=1e999))"
# A statement that is no assignment of a literal may change every name in it.
for LINE in 'model += 1' 'model[0] = 1' 'model.update(a=1)' 'del model' 'model, y = 1, 2' 'model: int = 3' 'for model in []: y' \
    'import model' 'from a import b as model' 'def model(): pass' 'class model: pass' 'if 1: model = 2'; do
    fails 'c\.py:2:[0-9]*' "model $LITERAL" "$(model "$L")\n$LINE"
done
# What is no Python.
fails 'c\.py:1:[0-9]*' 'give valid Python' 'x = (1, 2])'
fails 'c\.py:1:[0-9]*' 'give valid Python' 'x = (1, 2'
fails 'c\.py:1:[0-9]*' 'give valid Python' "x = 'a"
fails 'c\.py:1:[0-9]*' 'give valid Python' 'x\001 = 3'
fails 'c\.py:1:1' 'give valid Python' 'x = 3\0000'
fails 'c\.py:1:[0-9]*' 'give valid Python' "x = $(printf '%05000d' 0 | tr 0 -)1"
fails 'c\.py' 'larger than 256 KiB' "#$(printf '%0262144d' 0)"
expect 2 convert gone.py
stderr_is_one '^pcgpu: gone\.py: No such file .*; give'
expect 2 convert --split both c.py
stderr_has 'usage: python -m pcgpu\.config'
if [ -w /dev/full ]; then
    printf '%s\n' "$(model "$L")" > c.py
    LAST='config.py > /dev/full'
    convert c.py > /dev/full 2> "$ERR"
    expected 1 $?
    stderr_is_one '^pcgpu: standard output: '
fi

# The encoder's columns are a comment.
printf '%s\n' "$(model "$L" '' ", voxel_encoder=dict(type='HardSimpleVFE', num_features=5)")" > c.py
expect 0 convert c.py
stdout_has '^# The encoder takes 5 columns; --fields'
finish
