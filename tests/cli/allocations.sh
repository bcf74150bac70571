#!/bin/sh
# allocations.sh LIBRARY: each allocation of a command fails once, and with all that follow it: the command then ends with an
# error that it prints, or with the outputs it has else; never by a signal, nor with half of a line in --json.
. "${0%/*}/lib.sh"
LIBRARY=$1
export OMP_WAIT_POLICY=passive MALLOC_PERTURB_=0 LD_PRELOAD=
cloud 60 > a.bin
cloud 50 > b.bin
cp "$PCGPU_SOURCE/testdata/street.bin" s.bin
printf 'a.bin b.bin\nb.bin a.bin\n' > pairs.txt
head -c 1600 s.bin > c.bin
printf '1 0 0 1\n0 1 0 2\n0 0 1 3\n0 0 0 1\n' > T.txt

# Neither what the clock says nor the name of the CPU, which is read from a file where it can be.
timeless() { sed 's/"seconds": {[^}]*}/"seconds": {}/g; s/"device": "[^"]*", "reason"/"reason"/g' "$1"; }
outputs() { for FILE in out.*; do [ -e "$FILE" ] && cat "$FILE"; done; }

# each WORD...: of the outputs, out.json is that of --json.
each() {
    LAST="$*"
    rm -f out.*
    LD_PRELOAD=$LIBRARY "$PCGPU" "$@" < /dev/null > out.stdout 2> "$ERR" || [ $? -eq 4 ] || die 'it fails with all its memory'
    TOTAL=$(sed -n 's/^allocations //p' "$ERR")
    [ -n "$TOTAL" ] || skip_all 'allocations cannot be made to fail here'
    mkdir -p ../whole
    mv out.* ../whole/
    FAILED=0
    for MANY in 1 1000000; do
        AT=0
        while [ $AT -lt "$TOTAL" ]; do
            LAST="FAIL_AT=$AT FAIL_MANY=$MANY LD_PRELOAD=$LIBRARY pcgpu $*"
            FAIL_AT=$AT FAIL_MANY=$MANY LD_PRELOAD=$LIBRARY "$PCGPU" "$@" < /dev/null > out.stdout 2> "$ERR"
            CODE=$?
            case $CODE in
            0 | 4)
                for FILE in out.*; do
                    timeless "../whole/$FILE" > ../wanted
                    timeless "$FILE" > ../got
                    cmp -s ../wanted ../got || { head -c 600 ../got >&2; die "exit code $CODE, and $FILE is another"; }
                done
                ;;
            1 | 2 | 3)
                [ -s "$ERR" ] || die "exit code $CODE without a message"
                FAILED=$((FAILED + 1))
                ! [ -e out.json ] || ! grep -v '^{"command": .*}$' out.json || die 'half a line in --json'
                ;;
            *) die "exit code $CODE" ;;
            esac
            rm -f out.*
            rm -f .out.*pcgpu-*
            checked
            AT=$((AT + 1))
        done
    done
    [ $FAILED -gt 0 ] || die 'it needs no memory'
    rm -f ../whole/out.*
}

each info a.bin --json out.json
each sample --cpu --threads 1 -m 5 a.bin -o out.bin --json out.json --indices out.txt
each sample --cpu -m 5 a.bin --dry-run
each voxelize --cpu --threads 1 --batch --range -9,-9,-9,9,9,9 --voxel-size 1 --max-points 3 a.bin b.bin -o out.npy --json out.json
printf 'a.bin 0\nb.bin 1\n' > scans.txt
printf '1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 1 0 1 0 0 0 0 1 0\n' > poses.txt
each sample --cpu --threads 1 -m 170 --pad repeat --batch --sweeps 2 --scans scans.txt --poses poses.txt a.bin b.bin -o out.npy \
    --json out.json
mkdir -p n/v1.0-mini
printf '[{"token": "t", "prev": "", "ego_pose_token": "e", "calibrated_sensor_token": "e", "filename": "a.bin", "timestamp": 1}]' \
    > n/v1.0-mini/sample_data.json
printf '[{"token": "e", "rotation": [1, 0, 0, 0], "translation": [0, 0, 0]}]' > n/v1.0-mini/ego_pose.json
cp n/v1.0-mini/ego_pose.json n/v1.0-mini/calibrated_sensor.json
printf "_base_ = 'base.py'\nr = [-9, -9, -9, 9, 9, 9]\nmodel = dict(voxel_layer=dict(point_cloud_range=r, max_num_points=-1))" > c.py
echo "model = dict(voxel_layer=dict(voxel_size=(1, 1, 1), max_voxels=(-1, -1)), voxel_encoder={'type': 'DynamicVFE'})" > base.py
each voxelize --cpu --threads 1 --config c.py --sweeps 2 --nuscenes n a.bin -o out.npy --json out.json
each register --cpu --threads 1 --method point --pairs pairs.txt --transform out.txt --json out.json
each odometry --cpu --threads 1 --reference previous --method plane s.bin s.bin --trajectory out.txt --json out.json \
    --picture out.png
each voxelize --cpu --threads 1 --voxel-size 5 --features nearest --memory 1M s.bin -o out.ply --json out.json --coords out.npy
each sample --cpu --threads 1 --method random -m 5 --memory 1M s.bin -o out.bin --json out.json
each convert --crop=-9,-9,-9,9,9,9 --columns x,y,z,i=intensity a.bin -o out.ply --json out.json
each convert --merge --transform T.txt a.bin b.bin -o out.ply --json out.json
each view --threads 1 --size 64x64 a.bin -o out.png --json out.json
each view --threads 1 a.bin -o out.html --json out.json
each evaluate "$PCGPU_SOURCE/testdata/room/poses_kitti.txt" --ground-truth "$PCGPU_SOURCE/testdata/room/poses_kitti.txt" --plot out.png
finish
