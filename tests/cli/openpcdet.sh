# Configurations of OpenPCDet: what voxelize takes from them, where it looks for what they inherit, and what it says when
# something is missing.
. "${0%/*}/lib.sh"
SHAPES=$PCGPU_SOURCE/tests/cli/openpcdet
cloud 3000 > a.bin

# effect OPTION...: the configuration in effect is what EFFECT says: range, size, max_points, max_voxels, features and
# voxelization, with "|" between them; in the layout of OpenPCDet, unless the features are others than the points. Read
# again as a file of pcgpu it is the same, and so is the output.
effect() {
    quiet pcgpu voxelize "$@" --dry-run a.bin
    GOT=$(sed -n 's/^  \(range\|voxel_size\|max_points\|max_voxels\|features\|voxelization\): //p' "$OUT" | tr '\n' '|')
    [ "$GOT" = "$EFFECT|" ] || die "in effect: $GOT, expected: $EFFECT|"
    case $EFFECT in *'"points"'*) stdout_has 'layout: "openpcdet"' ;; *) stdout_has 'layout: "pcgpu"' ;; esac
    cp "$OUT" effect.yaml
    gives effect.yaml pcgpu voxelize --config effect.yaml --dry-run a.bin
    expect 0 pcgpu voxelize "$@" a.bin -f -o file.npz
    makes file.npz effect.npz pcgpu voxelize --config effect.yaml a.bin -f -o effect.npz
}

PILLARS='[0, -39.68, -3, 69.12, 39.68, 1]|[0.16, 0.16, 4]|32'
SECOND='[0, -40, -3, 70.4, 40, 1]|[0.05, 0.05, 0.1]|5'
MODELS=$SHAPES/cfgs/kitti_models
EFFECT="$PILLARS|40000|\"points\"|\"hard\"" effect --config "$MODELS/pointpillar.yaml"
EFFECT="$PILLARS|40000|\"points\"|\"hard\"" effect --config "$MODELS/pointpillar.yaml" --set split=test
EFFECT="$PILLARS|16000|\"points\"|\"hard\"" effect --set split=train --config "$MODELS/pointpillar.yaml"
EFFECT="$SECOND|40000|\"points\"|\"hard\"" effect --config "$MODELS/second.yaml"
EFFECT="$SECOND|16000|\"points\"|\"hard\"" effect --config "$MODELS/second.yaml" --set split=train
EFFECT="$SECOND|40000|\"points\"|\"hard\"" effect --config "$SHAPES/cfgs/dataset_configs/kitti_dataset.yaml"
# The configurations of this project with the same sources have the same values. That of PointPillars leaves the ten values
# to the network.
for PAIR in second.yaml:second.yaml pointpillar.yaml:pillar.yaml; do
    expect 0 pcgpu voxelize --layout pcgpu --config "$MODELS/${PAIR%:*}" --dry-run a.bin
    sed 's/features: "pillar"/features: "points"/' "$OUT" > theirs.yaml
    gives theirs.yaml pcgpu voxelize --config "$PCGPU_SOURCE/configs/${PAIR#*:}" --dry-run a.bin
done
# The command line wins, and so does a later file.
EFFECT="$PILLARS|7|\"points\"|\"hard\"" effect --features points --config "$MODELS/pointpillar.yaml" --max-voxels 7
EFFECT='"auto"|[1, 1, 1]|2|0|"points"|"hard"' effect --config "$MODELS/pointpillar.yaml" --range auto --voxel-size 1 \
    --max-points 2 --max-voxels 0
echo 'voxelize: {max_points: 9}' > nine.yaml
EFFECT="${PILLARS%|*}|9|40000|\"points\"|\"hard\"" effect --config "$MODELS/pointpillar.yaml" --config nine.yaml

# The base is looked for in the working directory first, as OpenPCDet does, then in folders above the file.
mkdir -p tools/cfgs/models cfgs/dataset_configs alone
cp "$MODELS/second.yaml" tools/cfgs/models/
cp "$MODELS/"*.yaml alone/
sed 's/0\.05, 0\.05/0.5, 0.5/' "$SHAPES/cfgs/dataset_configs/kitti_dataset.yaml" > cfgs/dataset_configs/kitti_dataset.yaml
EFFECT='[0, -40, -3, 70.4, 40, 1]|[0.5, 0.5, 0.1]|5|40000|"points"|"hard"' effect --config "$MODELS/second.yaml"
mkdir tools/cfgs/dataset_configs
sed 's/0\.05, 0\.05/0.25, 0.25/' "$SHAPES/cfgs/dataset_configs/kitti_dataset.yaml" \
    > tools/cfgs/dataset_configs/kitti_dataset.yaml
rm -r cfgs
EFFECT='[0, -40, -3, 70.4, 40, 1]|[0.25, 0.25, 0.1]|5|40000|"points"|"hard"' effect --config tools/cfgs/models/second.yaml
cp a.bin tools/cfgs/models/
cd tools/cfgs/models
EFFECT='[0, -40, -3, 70.4, 40, 1]|[0.25, 0.25, 0.1]|5|40000|"points"|"hard"' effect --config second.yaml
cd ../../..
# Where the file says everything itself the base need not be there.
EFFECT="$PILLARS|40000|\"points\"|\"hard\"" effect --config alone/pointpillar.yaml
# Without the base: what is missing, from where, and what to do. The command line may say it all.
expect 2 pcgpu voxelize --config alone/second.yaml a.bin -o x.bin
stderr_has '^pcgpu: alone/second\.yaml:5:20: POINT_CLOUD_RANGE is missing, and its base cfgs/dataset_configs/kitti_dataset\.yaml.*tools/'
expect 2 pcgpu voxelize --config alone/second.yaml --range auto a.bin -o x.bin
stderr_has '^pcgpu: alone/second\.yaml:5:20: DATA_PROCESSOR is missing, and its base'
EFFECT='"auto"|[2, 2, 2]|0|0|"points"|"hard"' effect --config alone/second.yaml --range auto --voxel-size 2 --max-points 0 --max-voxels 0
absent x.bin

# Small files, encoders and bases of bases are lines of answers.list.
R='POINT_CLOUD_RANGE: [-4, -4, -4, 4, 4, 4]'
V='VOXEL_SIZE: [1, 1, 2]'
L='MAX_POINTS_PER_VOXEL: 3, MAX_NUMBER_OF_VOXELS: {train: 5, test: 6}'
VOXELS="$R\nDATA_PROCESSOR: [{NAME: transform_points_to_voxels, $V, $L}]"
rm -f file.npz effect.npz effect.yaml

# The steps before the voxels: shuffling is done where it is enabled, sampling is named.
printf '%b\n' "$R\nDATA_PROCESSOR: [{NAME: sample_points, NUM_POINTS: {train: 100, test: -1}},
    {NAME: shuffle_points, SHUFFLE_ENABLED: {train: True, test: False}}, {NAME: transform_points_to_voxels, $V, $L}]" > c.yaml
quiet pcgpu sample --method random --ratio 1 --seed 4 a.bin -o mixed.bin
expect 0 pcgpu voxelize --config c.yaml mixed.bin --max-voxels 5 -o mixed.npz
stderr_lacks sample_points
expect 0 pcgpu voxelize --config c.yaml a.bin --max-voxels 5 --set split=train --seed 4 -o train.npz
stderr_has 'sample_points of the configuration takes 100 points of each scan, which is not done here; give inputs with as many'
cmp mixed.npz train.npz || die 'shuffle_points is not sample --method random'
rm mixed.npz train.npz mixed.bin

# Inputs with other columns than the encoder takes.
printf '%b\n' "$VOXELS\nPOINT_FEATURE_ENCODING: {src_feature_list: [x, y, z, i, t], used_feature_list: [x, y, z, i, t]}" > c.yaml
says 'fields: 5' pcgpu voxelize --config c.yaml --dry-run a.bin
expect 0 pcgpu voxelize --config c.yaml --fields 4 --layout pcgpu a.bin -o x.npz
rm x.npz

finish
