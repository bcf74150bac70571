# Pages of view in a real browser; skipped without Chromium and Python.
. "${0%/*}/lib.sh"
T=$PCGPU_SOURCE/testdata
BROWSER=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip_all 'a browser is needed: chromium'
command -v python3 > /dev/null || skip_all 'python3 talks to the browser'
case $0 in /*) HERE=${0%/*} ;; *) HERE=$OLDPWD/${0%/*} ;; esac

cloud 300 > a.bin
awk 'BEGIN { for (i = 0; i < 400; i++) print 5 * cos(i * 0.31) * (1 + i * 0.002), 5 * sin(i * 0.31) * (1 + i * 0.002), i * 0.01, i * 0.5 }' |
    floats > b.bin
expect 0 pcgpu view a.bin b.bin -o two.html
# Records that are not shown lie between the others.
{ printf '0 0 0 0\nnan 1 1 1\n'; awk 'BEGIN { for (i = 0; i < 300; i++) { if (i % 7 == 3) print 0, 0, 0, 0; print i % 20, i * 0.05, i % 3, i } print 1e9, 1, 1, 1 }'; } | floats > damaged.bin
expect 0 pcgpu view damaged.bin -o damaged.html
{
    printf 'ply\nformat ascii 1.0\nelement vertex 300\nproperty double x\nproperty double y\nproperty double z\nend_header\n'
    records a.bin | awk '{ printf "%.6f %.6f %.6f\n", $1 + 500000, $2 + 5400000, $3 + 100 }'
} > utm.ply
expect 0 pcgpu view utm.ply -o utm.html
# A pose per 0.1 s; one of them is missing.
awk 'BEGIN { for (i = 0; i < 100; i++) printf "%.1f %s\n", 1e9 + i / 10, i == 50 ? "nan nan nan nan nan nan nan" : i * 0.05 - 2 " " sin(i / 10) " 0 0 0 0 1" }' > path.txt
expect 0 pcgpu view a.bin path.txt -o path.html
expect 0 pcgpu fuse --config "$T/room/camera.yaml" --voxel-size 0.03 --poses "$T/room/poses_kitti.txt" "$T"/room/*.png --mesh room.ply
expect 0 pcgpu view --up -y room.ply -o mesh.html
expect 0 pcgpu voxelize --range -20,-20,-3,20,20,3 --voxel-size 0.5 "$T/street.bin" -o v.npz
expect 0 pcgpu view v.npz -o voxels.html
# A plane z = x / 4 of two triangles, with a column that is linear on it.
printf 'ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\nproperty float slope\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0 0\n4 0 1 40.5\n4 3 1 43.5\n0 3 0 3\n4 0 1 2 3\n' > plane.ply
expect 0 pcgpu view plane.ply -o plane.html
{ echo 'x,y,z,cluster,classification'; awk 'BEGIN { for (i = 0; i < 1200; i++) print i % 40 "," int(i / 40) ",1," (i < 600 ? -1 : int(i / 30) - 20) "," (i < 600 ? 7 : i % 3) }'; } > classes.csv
expect 0 pcgpu view --color cluster classes.csv -o classes.html
head -c 16 b.bin > one.bin
expect 0 pcgpu view one.bin -o one.html
# A name has no slash; a column's has.
NAME=$(printf '<!--<script><img src=x onerror=window.hacked=1>"'\''&\t\001\303\251\377.ply')
printf 'ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nproperty float </script><script>hacked=1\nend_header\n1 2 3 4\n2 3 4 5\n3 3 3 3\n' > "$NAME"
expect 0 pcgpu view "$NAME" -o hostile.html
says 'checks in the browser' python3 "$HERE/view_browser.py" "$BROWSER" .
finish
