# Configurations of mmdetection3d: the literals that voxelize takes from Python, their inheritance, and what is said where
# a value is needed that code computes.
. "${0%/*}/lib.sh"
cloud 3000 > a.bin

# effect OPTION...: what is in effect of c.py is EFFECT: range, size, max_points, max_voxels, layout, voxelization, with "|"
# between them. Read again as a file of pcgpu it is the same, and so is the output.
effect() {
    expect 0 pcgpu voxelize --config c.py "$@" --dry-run a.bin
    stderr_is ''
    GOT=$(sed -n 's/^  \(range\|voxel_size\|max_points\|max_voxels\|layout\|voxelization\): //p' "$OUT" | tr '\n' '|')
    [ "$GOT" = "$EFFECT|" ] || die "in effect: $GOT, expected: $EFFECT|"
    cp "$OUT" effect.yaml
    expect 0 pcgpu voxelize --config c.py "$@" a.bin -f -o file.npz
    expect 0 pcgpu voxelize --config effect.yaml a.bin -f -o effect.npz
    same file.npz effect.npz
}
# holds TEXT EFFECT OPTION...: a small file and what is in effect.
holds() {
    printf '%b\n' "$1" > c.py
    EFFECT=$2
    shift 2
    effect "$@"
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
# The command line wins, and other layouts may be asked for.
holds "$(model "$L")" "$IN|3|7|$HARD" --max-voxels 7
holds "$(model "$L")" "$IN|3|6|\"openpcdet\"|\"hard\"" --layout openpcdet
holds "$(model "$L")" "$IN|3|6|\"pcgpu\"|\"hard\"" --layout pcgpu
holds "$(model "$L")" "$IN|3|6|\"pcgpu\"|\"hard\"" --features pillar
holds 'model = dict(voxel_layer=dict(x=1))' '"auto"|[2, 2, 2]|4|5|"mmdet3d"|"hard"' --range auto --voxel-size 2 --max-points 4 \
    --max-voxels 5

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
rm -f effect.yaml effect.npz file.npz

# fails PLACE PATTERN TEXT OPTION...: exit 2, the place, what is wrong, no output.
fails() {
    printf '%b\n' "$3" > c.py
    PLACE=$1 PATTERN=$2
    shift 3
    expect 2 pcgpu voxelize --config c.py "$@" a.bin -o x.npz
    stderr_is_one "^pcgpu: $PLACE: .*$PATTERN"
    absent x.npz
}
fails 'c\.py:2:49' 'no point_cloud_range in voxel_layer; .*--range' \
    "_base_ = 'base/m.py'\nmodel = dict(data_preprocessor=dict(voxel_layer=dict(_delete_=True, voxel_size=[1, 1, 1])))"
# Code where a value is needed.
LITERAL='depends on code, and no code is run; write its value as a literal'
for CODE in 'f(1)' 'a.b' '[1, 1, 2][:]' '2 * x' 'not x' 'unknown' '[v for v in (1, 1, 2)]' "f'{x}'" '-x' '1 if x else 2' '0x10'; do
    fails 'c\.py:2:8[78]' "voxel_size $LITERAL" \
        "x = 1\nmodel = dict(voxel_layer=dict($R, voxel_size=$CODE, max_num_points=1, max_voxels=1))"
done
fails 'c\.py:1:91' "voxel_size $LITERAL" "model = dict(voxel_layer=dict($R, voxel_size=[1, f(1), 2], max_num_points=1, max_voxels=1))"
fails 'c\.py:1:26' "voxel_layer $LITERAL" "model = dict(voxel_layer=dict(**layer))"
fails 'c\.py:2:1' "$LITERAL" "$(model "$L")\nmodel['x'] = 3"
fails 'c\.py:3:5' "$LITERAL" "$(model "$L")\nif x:\n    model = dict()"
fails 'c\.py:2:5' "$LITERAL" "with read_base():\n    from .m import model"
fails 'c\.py:1:11' '_base_ is a name of a file' '_base_ = [3]'
fails 'c\.py:1:11' '_base_ is a name of a file' "_base_ = ['a' + 'b']"
fails 'c\.py:1:10' 'in a circle' "_base_ = 'c.py'"
for i in 1 2 3 4 5 6 7 8 9; do # each names the next ten times
    echo "_base_ = [$(printf "'wide$((i + 1)).py', %.0s" 1 2 3 4 5 6 7 8 9 10)]" > wide$i.py
done
echo 'x = 1' > wide10.py
expect 2 pcgpu voxelize --config wide1.py a.bin -o x.npz
stderr_has '^pcgpu: wide[0-9]\.py:1:[0-9]+: files inherit from each other in too many paths'
fails 'c\.py:1:10' 'its base is not read: gone\.py: No such file' "_base_ = 'gone.py'"
# Values.
fails 'c\.py:1:49' 'point_cloud_range: .*six numbers' "model = dict(voxel_layer=dict(point_cloud_range=[1, 2], voxel_size=1))"
fails 'c\.py:1:[0-9]*' 'voxel_size: a number or a list of numbers' "model = dict(voxel_layer=dict($R, voxel_size='1'))"
fails 'c\.py:1:[0-9]*' 'max_voxels is a number, or two' "model = dict(voxel_layer=dict($R, voxel_size=[1, 1, 2], max_num_points=1, max_voxels=(1, 2, 3)))"
fails 'c\.py:1:[0-9]*' 'no max_num_points in voxel_layer; .*--max-points' "model = dict(voxel_layer=dict($R, voxel_size=[1, 1, 2]))"
fails 'c\.py:1:[0-9]*' 'the voxel encoder Mine is not known; those known are PillarFeatureNet, .*--voxelization' \
    "$(model "$L" '' ", voxel_encoder=dict(type='Mine')")"
fails 'c\.py:1:[0-9]*' 'DynamicVFE takes points, and voxel_type makes voxels' "$(model "$L" '' ", voxel_encoder=dict(type='DynamicVFE')")"
fails 'c\.py:1:[0-9]*' 'voxel_type cylindrical is not supported; hard and dynamic' "$(model "$L" ", voxel_type='cylindrical'")"
fails 'c\.py' 'no model\.data_preprocessor\.voxel_layer' 'x = 1'
# What is no Python.
fails 'c\.py:1:10' 'a bracket closes that is not open' 'x = (1, 2])'
fails 'c\.py:2:1' 'the file ends within brackets' 'x = (1, 2'
fails 'c\.py:1:5' 'a string that does not end' "x = 'a"
fails 'c\.py:1:7' 'a second name is assigned' 'a = b = 3'
fails 'c\.py:1:2' 'no part of Python' 'x\001 = 3'
expect 2 pcgpu voxelize --config gone.py a.bin -o x.npz
stderr_has '^pcgpu: gone\.py: No such file'

# The encoder's columns; other commands; --split.
printf '%s\n' "$(model "$L" '' ", voxel_encoder=dict(type='HardSimpleVFE', num_features=5)")" > c.py
expect 1 pcgpu voxelize --config c.py a.bin -o x.npz
stderr_has '^pcgpu: a\.bin: 4 columns, and the configuration takes 5; .*--fields'
expect 2 pcgpu sample -m 10 --config c.py a.bin -o x.bin
stderr_has 'mmdetection3d; pcgpu voxelize reads them'
absent x.npz x.bin
finish
