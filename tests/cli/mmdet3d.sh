# Configurations of mmdetection3d that python/pcgpu/config.py reads; where the layer is, notation and bases: answers.list.
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
    quiet convert "$@" c.py
    cp "$OUT" c.yaml
    quiet pcgpu voxelize --config c.yaml ${COMMAND_LINE:-} --dry-run a.bin
    GOT=$(sed -n 's/^  \(range\|voxel_size\|max_points\|max_voxels\|layout\|voxelization\): //p' "$OUT" | tr '\n' '|')
    [ "$GOT" = "$EFFECT|" ] || die "in effect: $GOT, expected: $EFFECT|"
}
R='point_cloud_range=[-4, -4.5, -4, 4, 4.5, 4]'
L="$R, voxel_size=[1, 1, 2], max_num_points=3, max_voxels=(5, 6)"
IN='[-4, -4.5, -4, 4, 4.5, 4]|[1, 1, 2]'
HARD='"mmdet3d"|"hard"'
model() { printf 'model = dict(data_preprocessor=dict(voxel_layer=dict(%s)%s)%s)' "$1" "${2:-}" "${3:-}"; }

# The command line wins, and other layouts may be asked for.
COMMAND_LINE='--max-voxels 7' holds "$(model "$L")" "$IN|3|7|$HARD"
COMMAND_LINE='--layout openpcdet' holds "$(model "$L")" "$IN|3|6|\"openpcdet\"|\"hard\""
COMMAND_LINE='--layout pcgpu' holds "$(model "$L")" "$IN|3|6|\"pcgpu\"|\"hard\""
COMMAND_LINE='--features pillar' holds "$(model "$L")" "$IN|3|6|\"pcgpu\"|\"hard\""

# Bases that name others ten times each.
mkdir base
echo "model = dict(voxel_layer=dict($L))" > base/m.py
for i in 1 2 3 4 5 6 7 8 9; do # each names the next ten times
    echo "_base_ = [$(printf "'wide$((i + 1)).py', %.0s" 1 2 3 4 5 6 7 8 9 10)]" > wide$i.py
done
echo 'x = 1' > wide10.py
holds "_base_ = ['wide1.py', 'base/m.py']" "$IN|3|6|$HARD"

# A file that nests too deep for Python, and one that is too large; what else is refused is in refusals.list.
printf 'x = %s1\n' "$(printf '%05000d' 0 | tr 0 -)" > c.py
expect 2 convert c.py
stderr_is_one '^pcgpu: c\.py:1:[0-9]*: .*give valid Python'
printf '#%0262144d\n' 0 > c.py
expect 2 convert c.py
stderr_is_one '^pcgpu: c\.py: .*larger than 256 KiB'
if [ -w /dev/full ]; then
    printf '%s\n' "$(model "$L")" > c.py
    LAST='config.py > /dev/full'
    convert c.py > /dev/full 2> "$ERR"
    expected 1 $?
    stderr_is_one '^pcgpu: standard output: '
fi

# The steps of the pipeline before the voxels: shuffling is done, sampling is named.
printf '%s\n' "x = dict(type='PointShuffle')" "train_pipeline = [dict(type='PointSample', num_points=9), x]" 'test_pipeline = f()' \
    "$(model "$L")" > c.py
quiet convert c.py
! grep -q shuffle "$OUT" || die 'the test pipeline does not shuffle'
expect 0 convert --split train c.py
stdout_has '^  shuffle: true'
stderr_is 'pcgpu: warning: PointSample of train_pipeline is left out; give inputs with as many points'

# The encoder's columns are a comment.
printf '%s\n' "$(model "$L" '' ", voxel_encoder=dict(type='HardSimpleVFE', num_features=5)")" > c.py
says '^# The encoder takes 5 columns; --fields' convert c.py
finish
