# Labels of points: .label of SemanticKITTI beside scans, read, carried and written. tests/oracle has the majority of voxels.
. "${0%/*}/lib.sh"
mkdir velodyne labels
cloud 300 > velodyne/a.bin
cloud 500 > velodyne/b.bin
for NAME in a:300 b:500; do # classes 40 and 10, and one of both halves full; instances
    awk -v n=${NAME#*:} 'BEGIN { for (i = 0; i < n; i++) printf "\\0%03o\\0%03o\\0%03o\\0%03o\n", i == 7 ? 255 : i % 3 ? 40 : 10, i == 7 ? 255 : 0,
        i % 256, i == 9 ? 255 : int(i / 256) }' | while IFS= read -r LINE; do printf '%b' "$LINE"; done > "labels/${NAME%:*}.label"
done
size_is labels/b.label 2000

# There and back, whatever is between: the same bytes.
quiet pcgpu convert velodyne/a.bin --labels labels -o a.ply
says '^property ushort label$' pcgpu convert a.ply --output-format ply-ascii
stdout_has '^property ushort instance$'
awk 'NR > 10' "$OUT" | awk '{ print $5, $6 }' | sed -n '1p;2p;8p;10p;300p' > got
printf '10 0\n40 1\n65535 7\n10 65289\n40 299\n' > wanted
same got wanted
makes a.label labels/a.label pcgpu convert a.ply -o a.label
for TYPE in pcd las npy csv; do
    expect 0 pcgpu convert a.ply -o a.$TYPE
    [ $TYPE = npy ] || makes back.label labels/a.label pcgpu convert a.$TYPE -f -o back.label
done
gives labels/a.label pcgpu convert velodyne/a.bin --labels labels/a.label -o - --output-format label
expect 0 pcgpu convert --threads 3 velodyne/ --labels labels/ -o out/ --output-format label
same out/a.label labels/a.label
same out/b.label labels/b.label
expect 0 pcgpu convert --skip-existing velodyne/ --labels labels/ -o out/ --output-format label
stderr_has '2 skipped'
LAST='a pipe'
"$PCGPU" convert - --labels labels/a.label -o - --output-format label < velodyne/a.bin > pipe.label 2> "$ERR"
same pipe.label labels/a.label
"$PCGPU" convert velodyne/a.bin --labels - -o label.ply < labels/a.label 2> "$ERR"
same label.ply a.ply
mkdir -p deep/in/x deep/labels/x && cp velodyne/a.bin deep/in/x && cp labels/a.label deep/labels/x
makes deep/out/x/a.ply a.ply pcgpu convert -r deep/in --labels deep/labels -o deep/out/ --output-format ply
# Without instances they are 0; a column has another name; values that do not fit.
expect 0 pcgpu convert a.ply --columns x,y,z,label -o classes.ply
expect 0 pcgpu convert classes.ply -o classes.label
[ "$(od -An -v -t u2 -w4 classes.label | sed -n '2p;8p' | tr -s ' ')" = ' 40 0
 65535 0' ] || die 'the classes alone'
expect 0 pcgpu convert a.ply --columns x,y,z,class=label -o class.ply
makes named.label classes.label pcgpu convert class.ply --columns x,y,z,label=class -o named.label

# Before anything is dropped or picked.
expect 0 pcgpu sample --method random -m 50 --seed 3 velodyne/a.bin --labels labels -o picked.ply --indices picked.txt
expect 0 pcgpu convert picked.ply -o picked.label
od -An -v -t u4 -w4 labels/a.label | awk 'NR == FNR { at[NR - 1] = $1; next } { print at[$1] }' - picked.txt > wanted
od -An -v -t u4 -w4 picked.label | awk '{ print $1 }' > got
same got wanted
expect 0 pcgpu convert velodyne/a.bin --labels labels --crop=-9,-9,-9,1.1,9,9 -o crop.ply
says ' points, 6 columns$' pcgpu info crop.ply
expect 0 pcgpu convert --merge velodyne --labels labels -o merged.ply
says '^  label +uint16 +10 +65535 ' pcgpu info merged.ply
# Voxels: as from the cloud with the columns.
expect 0 pcgpu voxelize --voxel-size 1 a.ply -o voxels.ply
makes labelled.ply voxels.ply pcgpu voxelize --voxel-size 1 velodyne/a.bin --labels labels -o labelled.ply
expect 0 pcgpu voxelize --voxel-size 1 velodyne --labels labels --batch --range=-9,-9,-9,9,9,9 -o batch.npz --json log
grep -q '"columns": 6,' log || die "the batch has: $(cat log)"
for I in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do cat velodyne/b.bin velodyne/b.bin velodyne/b.bin; done > big.bin
expect 1 pcgpu voxelize --cpu --voxel-size 1 --set memory=1M big.bin --labels labels -o x.ply
stderr_is_one '^pcgpu: big\.bin: .* a file in pieces has no --labels; leave it out'

# A picture has the colours of SemanticKITTI (road, car; the class 65535 is no class of theirs), and its legend their names.
case $0 in /*) HERE=${0%/*} ;; *) HERE=$OLDPWD/${0%/*} ;; esac
if command -v python3 > "$OUT"; then
    says '"color": "class"' pcgpu view --from top --size 200x150 velodyne/a.bin --labels labels -o a.png --json -
    for COLOR in ff00ff 6496f5; do
        [ "$(python3 -S "$HERE/picture.py" a.png $COLOR | awk '{ print ($1 > 99) }')" = 1 ] || die "no pixels of $COLOR"
        checked
    done
    makes b.png a.png pcgpu view --from top --size 200x150 a.ply -o b.png
    expect 0 pcgpu view --from top --size 200x150 classes.ply -o c.png # not of SemanticKITTI
    differ c.png a.png
    expect 0 pcgpu view --from top --size 800x600 a.ply --color class -o named.png
    expect 0 pcgpu view --from top --size 800x600 classes.ply --color class -o plain.png
    [ "$(python3 -S "$HERE/picture.py" named.png ff00ff | awk '{ print ($1 > 99) }')$(python3 -S "$HERE/picture.py" plain.png ff00ff |
        awk '{ print $1 }')" = 10 ] || die 'the colours of classes alone'
else
    skip_part pictures 'python3 is needed'
fi
expect 0 pcgpu view velodyne/a.bin --labels labels -o a.html
grep -q '\[10,"6496f5","car"\],.*\[48,"4b004b","sidewalk"\],.*\[259,"0000ff","moving-other-vehicle"\]\]' a.html || die 'the names in the page'
grep -q '"name":"label",[^}]*"kind":"semantic"}.*"classes":"label",' a.html || die 'the labels of the layer'
expect 0 pcgpu view classes.ply -o c.html
grep -q '"name":"label",[^}]*"kind":"number"}.*"classes":"label"}' c.html || die 'the layer without instances'

# A scan without labels is left out, and others are not; more that is refused: refusals.list.
rm labels/b.label
expect 1 pcgpu convert velodyne/ --labels labels -o x/ --output-format ply
stderr_has '^pcgpu: velodyne/b\.bin: labels/b\.label: No such file or directory; give a file that can be read$'
present x/a.ply
absent x/b.ply

# What a file of labels has.
expect 0 pcgpu info labels/a.label
stdout_is 'labels/a.label: labels of SemanticKITTI, 300 points
  class    10 car                         100 points, 33.33 %
  class    40 road                        199 points, 66.33 %
  class 65535 unknown                       1 points,  0.33 %'
finish
