# Completions in real shells: options, values, commands, names of configurations, and only files that fit, with blanks.
. "${0%/*}/lib.sh"
PATH=$(dirname "$PCGPU"):$PATH
export PATH
for SHELL_NAME in bash zsh fish; do
    into "$WORK/completion.$SHELL_NAME" "$PCGPU" completion $SHELL_NAME
done
mkdir files files/folder
: > 'files/with blanks.yaml'
: > 'files/with blanks.bin'
: > files/one.yaml
: > files/one.ply
: > files/one.txt
: > files/one.png
: > files/one.odt

# A line as it is typed, and as it is after Tab. A name that fits alone is completed.
cat > cases << 'CASES'
pcgpu sam|pcgpu sample
pcgpu sample --min|pcgpu sample --min-distance
pcgpu sample --method r|pcgpu sample --method random
pcgpu voxelize --features pi|pcgpu voxelize --features pillar
pcgpu voxelize --features=pi|pcgpu voxelize --features=pillar
pcgpu voxelize --set sp|pcgpu voxelize --set split
pcgpu sample -F ply|pcgpu sample -F ply
pcgpu --cpu sample --ratio 0.5 --see|pcgpu --cpu sample --ratio 0.5 --seed
pcgpu help odo|pcgpu help odometry
pcgpu completion fi|pcgpu completion fish
pcgpu bench vox|pcgpu bench voxelize
pcgpu bench voxelize --features pi|pcgpu bench voxelize --features pillar
pcgpu voxelize --config kin|pcgpu voxelize --config kinect
pcgpu voxelize --config files/o|pcgpu voxelize --config files/one.yaml
pcgpu voxelize --config files/w|pcgpu voxelize --config files/with\ blanks.yaml
pcgpu voxelize --config files/with\ b|pcgpu voxelize --config files/with\ blanks.yaml
pcgpu fuse --mesh files/o|pcgpu fuse --mesh files/one.ply
pcgpu fuse --poses files/o|pcgpu fuse --poses files/one.txt
pcgpu fuse files/o|pcgpu fuse files/one.png
pcgpu evaluate files/o|pcgpu evaluate files/one.txt
pcgpu sample files/w|pcgpu sample files/with\ blanks.bin
pcgpu sample files/f|pcgpu sample files/folder/
CASES
python3 -c '' 2> /dev/null || skip_part 'bash and zsh' 'no python3'
for SHELL_NAME in bash zsh; do
    if ! command -v $SHELL_NAME > /dev/null || ! python3 -c '' 2> /dev/null; then
        skip_part $SHELL_NAME 'it is not here'
        continue
    fi
    LAST="Tab in $SHELL_NAME"
    cut -d '|' -f 1 cases | python3 "$PCGPU_SOURCE/tests/cli/press_tab.py" $SHELL_NAME "$WORK/completion.$SHELL_NAME" \
        > got 2> "$ERR" || die 'the shell failed'
    sed 's/[ =]*$//' got > trimmed
    cut -d '|' -f 2 cases > wanted
    diff wanted trimmed || die "completions of $SHELL_NAME differ, see above"
    CHECKS=$((CHECKS + $(wc -l < cases)))
done
if command -v fish > /dev/null; then
    while IFS='|' read -r TYPED WANTED; do
        LAST="fish: $TYPED"
        HOME=$PWD XDG_CONFIG_HOME=$PWD XDG_DATA_HOME=$PWD fish --no-config -c "source $WORK/completion.fish; complete -C\"$TYPED\"" > "$OUT" 2> "$ERR"
        GOT=$(cut -f 1 "$OUT") LAST_WORD=$(printf '%s\n' "$WANTED" | sed 's/.*[^\\] //; s/\\ / /g')
        if [ "$GOT" != "$LAST_WORD" ] && [ "$(printf '%s\n' "$GOT" | head -n 1)" != "$LAST_WORD" ]; then
            die "fish offers: $GOT, expected $LAST_WORD"
        fi
        printf '%s\n' "$GOT" | grep -q '\.odt$' && die "fish offers a file that does not fit: $GOT"
        checked
    done < cases
else
    skip_part fish 'it is not here'
fi
finish
