# Configuration files: keys, types and ranges are checked with their place; the command line wins; --dry-run.
. "${0%/*}/lib.sh"
cloud 300 > a.bin
expect 0 pcgpu sample -m 10 a.bin -o ten.bin
expect 0 pcgpu sample -m 20 --start 7 a.bin -o twenty.bin

# A configuration gives the same bytes as options; keys, sections and what wins are lines of answers.list.
echo 'sample: {count: 20, start: 7}' > c.yaml
makes got.bin twenty.bin pcgpu sample --config c.yaml a.bin -o got.bin
rm -f c.yaml got.bin
only a.bin ten.bin twenty.bin

# --dry-run: the configuration in effect as YAML, which gives the same again; nothing is written, data not even made.
again() { # again COMMAND OPTION...
    COMMAND=$1
    shift
    quiet pcgpu "$COMMAND" --dry-run "$@"
    cp "$OUT" ../effect.yaml
    stdout_has "^$COMMAND:"
    gives ../effect.yaml "$PCGPU" "$COMMAND" --config ../effect.yaml --dry-run $INPUTS
    only a.bin ten.bin twenty.bin
}
INPUTS=a.bin
again sample -m 20 --start 7 a.bin -o x.bin
grep -Eq '^ +count: 20$' ../effect.yaml || die 'count is not in the configuration in effect'
grep -Eq '^ +start: 7$' ../effect.yaml || die 'start is not in the configuration in effect'
again sample --ratio 0.125 --method random --seed 18446744073709551615 a.bin
grep -Eq '^ +seed: "?18446744073709551615"?$' ../effect.yaml || die 'the seed lost digits'
: > ../none.txt
again sample -m 20 --seeds ../none.txt a.bin
grep -Eq '^ +seeds: "\.\./none\.txt"$' ../effect.yaml || die 'seeds are not in the configuration in effect'
again sample --min-distance 0.1 --start center --drop-origin a.bin
again voxelize --range=-1.5,0,0,10,20.25,30 --voxel-size 0.1,0.2,0.3 --max-points 5 --features pillar a.bin
again voxelize --range auto --voxel-size 0.25 --dtype float16 a.bin
INPUTS='a.bin a.bin'
again register --method point --voxel-size 0.3 --set levels=2 --set max-distance=1.25 a.bin a.bin
expect 0 pcgpu sample --config "$WORK/effect.yaml" --dry-run -m 10 a.bin # sections of other commands are read past
mkdir d
expect 0 pcgpu sample --dry-run -m 10 a.bin ten.bin -f -o d/
expect 0 pcgpu sample --dry-run -m 10 a.bin -o missing/folder/ # which would be made
absent missing
rm -r d
if [ -w / ]; then # the folder of /x is /
    expect 0 pcgpu sample --dry-run -m 10 a.bin -o "/pcgpu-$$.bin"
    absent "/pcgpu-$$.bin"
fi

# register.yaml and odometry.yaml name every key with its default: they change nothing.
for COMMAND in register odometry; do
    into defaults.yaml pcgpu $COMMAND --dry-run a.bin a.bin
    expect 0 pcgpu $COMMAND --config "$PCGPU_SOURCE/configs/$COMMAND.yaml" --dry-run a.bin a.bin
    cmp -s defaults.yaml "$OUT" || die "configs/$COMMAND.yaml differs from the defaults: $(diff defaults.yaml "$OUT")"
done

# Every configuration of the project.
for CONFIG in "$PCGPU_SOURCE"/configs/*.yaml; do
    [ -e "$CONFIG" ] || die 'configs/ is empty'
    case $CONFIG in
        */register* | */odometry*) COMMAND=${CONFIG##*/} && COMMAND=${COMMAND%.yaml} INPUTS='a.bin a.bin' ;;
        */livingroom.yaml | */kinect.yaml | */d435.yaml | */l515.yaml | */azure_kinect.yaml | */7scenes.yaml | */tum.yaml) COMMAND=register INPUTS='a.bin a.bin' ;;
        *sample.yaml) COMMAND=voxelize INPUTS=a.bin
            grep -Eq '^(sample:|count:|ratio:)' "$CONFIG" && COMMAND=sample ;;
        *) COMMAND=voxelize INPUTS=a.bin ;;
    esac
    quiet pcgpu "$COMMAND" --config "$CONFIG" --dry-run $INPUTS
    stdout_has "^$COMMAND:"
    if [ "$COMMAND" = voxelize ]; then
        expect 0 pcgpu "$COMMAND" --config "$CONFIG" $INPUTS -f -o x.npz
        present x.npz
        rm x.npz
    fi
done

# By name, also of a program that was copied alone; a file wins.
into wanted pcgpu voxelize --config "$PCGPU_SOURCE/configs/pillar.yaml" --dry-run a.bin
for NAME in pillar pillar.yaml; do
    gives wanted pcgpu voxelize --config $NAME --dry-run a.bin
done
expect 0 "$PCGPU" completion words voxelize --config ''
[ "$(sed 1d "$OUT")" = "$(cd "$PCGPU_SOURCE/configs" && ls *.yaml | sed 's/\.yaml$//')" ] || die 'not the names of all configurations'
mkdir pillar # a folder is no configuration
expect 0 pcgpu voxelize --config pillar --dry-run a.bin
rmdir pillar
echo 'voxel_size: 0.5' > pillar
expect 0 pcgpu voxelize --config pillar --dry-run a.bin
differ "$OUT" wanted
rm pillar
mkdir alone
cp "$PCGPU" alone/pcgpu
BUILT=$PCGPU PCGPU=$PWD/alone/pcgpu
gives wanted pcgpu voxelize --config pillar --dry-run a.bin
PCGPU=$BUILT
for CONFIG in "$PCGPU_SOURCE"/configs/*.yaml; do
    expect 0 pcgpu info --config "$(basename "$CONFIG" .yaml)"
    same "$OUT" "$CONFIG"
done
rm -r alone wanted

# Keys of --set, flat or under set.
cloud 30 > sectioned.bin
printf 'register: {set: {max_distance: 0.75}, levels: 2, method: plane}\n' > keys.yaml
says '^  max_distance: 0.75$' pcgpu register --config keys.yaml --dry-run sectioned.bin sectioned.bin
stdout_has '^  levels: 2$'
finish
