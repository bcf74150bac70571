# Pages of view: what is in them, names that would leave their place, limits, and the same bytes.
. "${0%/*}/lib.sh"
T=$PCGPU_SOURCE/testdata
command -v python3 > /dev/null || skip_all 'python3 reads the pages'
case $0 in /*) HERE=${0%/*} ;; *) HERE=$OLDPWD/${0%/*} ;; esac
reads() { python3 "$HERE/page.py" "$@" > lines 2> "$ERR" || die "the page $1 is wrong"; cat lines; rm lines; checked; }
is() { [ "$1" = "$2" ] || die "$1
  rather than: $2"; checked; }

# Every record with its columns; those without a place are left out, and a value that is not finite stays one.
cloud 3000 > a.bin
says '"layers": 1, "points": 3000, "points_shown": 3000, "color": "height", "limits": \[' pcgpu view a.bin -o a.html --json -
is "$(reads a.html a.bin 4)" '"a.bin" points 3000 3000 0 intensity:2 -'
{ printf '0 0 0 0\nnan 0 0 0\n3 4 5 nan\n3 4 6 inf\n0 0 0 1\n1e30 0 0 0\n'; } | floats > b.bin
cat a.bin >> b.bin
printf '1e9 0 0 1\n7 8 9 10\n' | floats >> b.bin
expect 0 pcgpu view b.bin -o b.html
is "$(reads b.html b.bin 4)" '"b.bin" points 3003 3004 1 intensity:2 -'
awk 'BEGIN { for (i = 0; i < 700; i++) print i + 1, i * i % 97, i % 3, i % 5, i, i * 1000 }' | floats > six.bin
expect 0 pcgpu view --fields 6 six.bin -o six.html # whole numbers are exact in a byte where they fit
is "$(reads six.html six.bin 6)" '"six.bin" points 700 700 0 intensity:1,c4:2,c5:2 -'
grep -q '"name":"c4","bytes":2,"whole":true,"low":0,"step":1' six.html || die 'whole numbers are not exact'

# Standard output; a folder. The bytes are those of bytes.list.
"$PCGPU" view a.bin --output-format html -o - > out.html || die 'no page on standard output'
same out.html a.html
"$PCGPU" view - --output-format html -o - < a.bin > out.html || die 'no page from standard input'
is "$(reads out.html a.bin 4)" '"standard input" points 3000 3000 0 intensity:2 -'
mkdir in && cp a.bin b.bin in
makes out/a.html a.html pcgpu view in --output-format html -o out/
same out/b.html b.html
tells '2 skipped' pcgpu view in --output-format html -o out/ --skip-existing
expect 0 pcgpu view in -o both.HTM
[ "$(reads both.HTM | wc -l)" -eq 2 ] || die 'two layers'
expect 0 pcgpu view a.bin --output-format png -o page.html
[ "$(head -c 4 page.html | od -An -c | tr -d ' ')" = '211PNG' ] || die '--output-format decides'

# Every kind of input, and its columns.
expect 0 pcgpu view "$T/room/poses_tum.txt" -o path.html
is "$(reads path.html)" '"poses_tum.txt" line 4 4 0 time:2 -'
expect 0 pcgpu voxelize --range -20,-20,-3,20,20,3 --voxel-size 0.5 "$T/street.bin" -o v.npz
expect 0 pcgpu view v.npz -o v.html
reads v.html | grep -Eq '^"v.npz" boxes ([0-9]+) \1 0 count:1 -$' || die 'voxels'
printf 'ply\nformat ascii 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\nproperty int label\nelement face 2\nproperty list uchar int vertex_indices\nend_header\n0 0 0 0 255 0 7\n1 0 0 0 255 0 7\n1 1 0 0 255 0 7\n0 1 0 0 255 0 7\nnan 1 0 0 255 0 7\n4 0 1 2 3\n3 0 1 4\n' > square.ply
expect 0 pcgpu view square.ply -o square.html
is "$(reads square.html)" '"square.ply" mesh 5 3 0 label:1 rgb'
grep -q '"triangles":2,' square.html || die 'a triangle without a place is in the page'
{
    printf 'ply\nformat binary_little_endian 1.0\nelement vertex 70000\nproperty uchar x\nproperty uchar y\nproperty uchar z\n'
    printf 'element face 1900000\nproperty list uchar uchar vertex_indices\nend_header\n'
    head -c 7810000 /dev/zero | tr '\0' '\3'
} > large.ply
expect 1 pcgpu view large.ply -o large.html
stderr_is_one '^pcgpu: large\.ply: a page has at most 22 MB of meshes and here are 23\.2; fuse with a larger --voxel-size, or write a \.png$'
absent large.html
expect 0 pcgpu view --config "$T/room/camera.yaml" "$T/room/frame-000000.png" -o depth.html

# Names of files and columns are shown, and are nothing else.
SCRIPT='<!--<script>"'\''`&\u003c$(x)'
CONTROL=$(printf '\t\001\033[31m\342\200\256\303\251\377')
{ printf 'ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nproperty float </script><img/src=x/onerror=a()>\nend_header\n1 2 3 4\n2 3 4 5\n'; } > "$SCRIPT$CONTROL.ply"
expect 0 pcgpu view "$SCRIPT$CONTROL.ply" -o hostile.html
reads hostile.html | grep -Fq '"<!--<script>\"'\''`&\\u003c$(x)\ufffd\ufffd\ufffd[31m\ufffd\u00e9\ufffd.ply" points 2 2 0 </script>' || die "the name is $(reads hostile.html)"

# Limits: 2 million points and 30 MB, as a sample that is the same each time; many columns have 8 bits or are left out.
records a.bin > /dev/null
for I in 1 2 3 4 5 6 7 8 9 10; do cat a.bin a.bin a.bin a.bin a.bin a.bin a.bin; done > part.bin # 210,000
for I in 1 2 3 4 5 6 7 8 9 10; do cat part.bin; done > large.bin
says '"points": 2100000, "points_shown": 2000000' pcgpu view large.bin -o large.html --json -
makes large.html again.html pcgpu view --threads 1 large.bin -f -o again.html
[ "$(wc -c < large.html)" -lt 30000000 ] || die "the page has $(wc -c < large.html) bytes"
grep -q '"total":2100000,"count":2000000,.*"sampled":true,"records":true' large.html || die 'the page does not state the sample'
expect 0 pcgpu view --fields 16 part.bin part.bin part.bin part.bin large.bin -f -o wide.html
[ "$(wc -c < wide.html)" -lt 30000000 ] || die "the page has $(wc -c < wide.html) bytes"
expect 0 pcgpu view --fields 16 --color c15 large.bin -f -o wide.html
[ "$(wc -c < wide.html)" -lt 30000000 ] || die "the page has $(wc -c < wide.html) bytes"
rm -f large.bin part.bin large.html again.html wide.html

[ ! -w /dev/full ] || { "$PCGPU" view --output-format html a.bin -o - > /dev/full 2> "$ERR"; expected 1 $?; stderr_has '^pcgpu: standard output: '; }
# Names in any script are shown, and what turns the direction of text is not.
NAME=$(printf '\303\251\320\237\344\270\226\350\252\236\360\237\230\200')
cloud 30 > "$NAME.bin" && cloud 30 > "$(printf 'a\342\200\256b.bin')"
expect 0 pcgpu view "$NAME.bin" a*b.bin -o names.html
grep -aq "$NAME" names.html && grep -aq 'a\\ufffdb' names.html || die 'the names are not in the page as they should be'
finish
