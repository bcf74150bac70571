#!/bin/sh
# room_color.sh ROOM CHECK_ROOM PROGRAM: frames of a room with registered colour images, 5 of 160 x 120 pixels; the points of the
# model have the colours of the room within a level, by known poses and by odometry; the same bytes with 1 and 3 threads.
. "$(dirname "$0")/begin.sh"
mkdir depth color
"$room" --loop 24 --frames 5 --width 160 --color color depth
"$pcgpu" fuse -q --cpu --threads 1 --config depth/camera.yaml --poses depth/poses_kitti.txt depth/*.png --color color -o points.ply
"$check" --colors points.ply 1
"$pcgpu" fuse -q --cpu --threads 3 --config depth/camera.yaml --poses depth/poses_kitti.txt depth/*.png --color color -o again.ply
cmp points.ply again.ply || fail 'threads change the colours'

# Colours change nothing else: without them, the same positions and normals.
"$pcgpu" fuse -q --cpu --config depth/camera.yaml --poses depth/poses_kitti.txt depth/*.png -o plain.ply
"$pcgpu" convert -q points.ply --columns x,y,z,nx,ny,nz -o without.ply
"$pcgpu" convert -q plain.ply --columns x,y,z,nx,ny,nz -o plain2.ply
cmp without.ply plain2.ply || fail 'colours change the surface'

# By odometry: its poses are off by some millimetres, and colours change by some levels per metre.
head -n 1 depth/poses_kitti.txt > first.txt
"$pcgpu" odometry -q --cpu --config depth/camera.yaml --init first.txt --trajectory poses.txt --color color depth/*.png -o map.ply
"$check" --colors map.ply 1
