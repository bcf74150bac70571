# Bad inputs and what is said of each: messages.txt has the exit status and every line of standard error.
# --update as the argument writes it; look at the difference before you commit it.
. "${0%/*}/lib.sh"
GOLDEN=$PCGPU_SOURCE/tests/cli/messages.txt
GOT=$WORK/messages

# bad NAME BYTES [OPTION...]: a file of these bytes (of printf), or a missing one for -, given to info.
bad() {
    NAME=$1
    [ "$2" = - ] || printf "$2" > "$NAME"
    shift 2
    "$PCGPU" info "$@" "$NAME" > "$OUT" 2> "$ERR" < /dev/null
    STATUS=$?
    [ ! -s "$OUT" ] || [ "$STATUS" -ne 1 ] || die "$NAME fails and prints data"
    { printf '%s%s\n' "$NAME" "${1:+ $*}"; printf '  exit %d\n' "$STATUS"; sed 's/^/  /' "$ERR"; } >> "$GOT"
    rm -f "$NAME"
    checked
}

bad missing.ply -
bad noname 'some words\n'
bad scan.dat '\001\002\003\004'
bad empty.xyz ''
bad empty.dat ''
bad scan.e57 'something'
bad scan.obj 'v 1 2 3\n'
bad scan.stl '\001\002\003'
bad a.bin 'solid cube\n'
bad b.bin 'ASTM-E57....'
bad c.bin '#ROSBAG V2.0\n'
bad d.bin '\211MCAP0\r\n'
bad e.bin '\324\303\262\241....'
bad f.bin '\211HDF\r\n\032\n'
bad g.bin '\3757zXZ\000'
bad h.bin '\050\265\057\375'
bad i.bin 'BZh91AY&SY'
bad j.bin 'version https://git-lfs.github.com/spec/v1\n'
bad k.bin '<!DOCTYPE html>'
bad l.bin '%%PDF-1.7'
bad m.bin 'II*\000'
bad seven.bin '\001\002\003\004\005\006\007'
bad twenty.bin '\000\000\200\077\000\000\200\077\000\000\200\077\000\000\200\077\000\000\200\077'
bad fields.bin '\000\000\200\077\000\000\200\077\000\000\200\077' --fields 17
bad text.bin '1 2 3 4\n5 6 7 8\n9 10 11 12\n' -F bin
bad words.csv 'x,y,z\n1,2,three\n'
bad short.csv 'x,y,z\n1,2,3\n4,5\n'
bad long.csv 'x,y,z\n1,2,3\n4,5,6,7\n'
bad names.csv 'a,b,c\n1,2,3\n'
bad header.csv 'x,y,z,i\n1,2,3\n'
bad comma.csv 'x;y;z\n1,5;2,5;3,5\n'
bad two.xyz '1 2\n3 4\n'
bad zero.xyz '1 2 3\n\000\n'
bad few.pts '3\n1 2 3\n4 5 6\n'
bad many.pts '1\n1 2 3\n4 5 6\n'
bad a.ply 'ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 2 3\n'
bad b.ply 'ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 2 three\n'
bad c.ply 'ply\nformat ascii 1.0\nelement face 1\nproperty float x\nend_header\n1\n'
bad d.ply 'ply\nformat ascii 1.0\nelement vertex 1\nproperty float a\nproperty float y\nproperty float z\nend_header\n1 2 3\n'
bad e.ply 'ply\nformat ascii 1.0\nelement vertex 1\n'
bad f.ply 'not a ply file at all'
bad a.pcd '# .PCD v0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nPOINTS 2\nDATA ascii\n1 2 3\n'
bad b.pcd '# .PCD v0.7\nFIELDS x y z\nSIZE 4 4 3\nTYPE F F F\nCOUNT 1 1 1\nPOINTS 1\nDATA ascii\n1 2 3\n'
bad c.pcd '# .PCD v0.7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nPOINTS 100\nDATA binary\n....'
bad a.npy 'not a npy file'
bad b.npy '\223NUMPY\001\000\077\000{"descr": "<f4", "fortran_order": False, "shape": (9, 4), }    \n'
bad c.npy '\223NUMPY\001\000\077\000{"descr": "<i4", "fortran_order": False, "shape": (0, 4), }    \n'
bad d.npy '\223NUMPY\001\000\077\000{"descr": "<f4", "fortran_order": False, "shape": (0, 2), }    \n'
bad a.npz 'PK\003\004 and no more'
bad b.npz 'not an archive'
bad c.npz 'PK\005\006\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000'
bad d.npz 'PK\005\006\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000' -F npz:points
bad a.las 'LASF and no more'
bad b.las 'something else'
bad a.gz 'something else'
bad a.ply.gz '\037\213\010\000\000\000\000\000\000\003 damaged'
bad a.pgm 'P2\n2 2\n65535\n1 2 3 4\n' --camera 1,1,1,1
bad b.pgm 'P5\n2 2\n255\n1234' --camera 1,1,1,1
bad c.pgm 'P5\n2 2\n65535\n1234' --camera 1,1,1,1
bad d.pgm 'P5\n2 2\n65535\n12345678'
bad a.png '\211PNG\r\n\032\n damaged' --camera 1,1,1,1
bad scan.foo '1 2 3\n' -F foo

if [ "${1:-}" = --update ]; then
    cp "$GOT" "$GOLDEN"
else
    diff -u "$GOLDEN" "$GOT" || die 'messages are not those of messages.txt; see above'
fi
finish
