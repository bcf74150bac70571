# Files that are no text, have no end, or are pipes that nobody writes to: each ends with a message that names it.
. "${0%/*}/lib.sh"
cloud 100 > a.bin
cp a.bin b.bin
printf 'P5\n4 4\n65535\n' > d.pgm
head -c 32 a.bin >> d.pgm

# soon CODE PATTERN COMMAND...: as expect, within 20 s and 512 MB.
soon() {
    CODE=$1 PATTERN=$2
    shift 2
    LAST=$*
    (has_sanitizer || ulimit -v 1000000; timeout 20 "$PCGPU" "$@") < /dev/null > "$OUT" 2> "$ERR"
    expected "$CODE" $?
    stderr_has "$PATTERN"
}

# A configuration: its size and its depth. libyaml took 3 s for 40 kB of brackets.
head -c 40000 /dev/zero | tr '\0' '[' > deep.yaml
soon 2 '^pcgpu: deep\.yaml:1:65: .*more than 64 deep' sample --config deep.yaml -m 1 a.bin
head -c 40000 /dev/zero | tr '\0' '{' > deep.yaml
soon 2 '^pcgpu: deep\.yaml:1:65: .*more than 64 deep' sample --config deep.yaml -m 1 a.bin
awk 'BEGIN { for (i = 0; i < 100; i++) { printf "%*s- \n", i, "" } }' > deep.yaml
soon 2 '^pcgpu: deep\.yaml:65:[0-9]+: .*more than 64 deep' sample --config deep.yaml -m 1 a.bin
awk 'BEGIN { for (i = 0; i < 3000; i++) { printf "k%d: &a%d 1\n", i, i } }' > anchors.yaml
soon 2 '^pcgpu: anchors\.yaml:1001:[0-9]+: more than 1000 anchors' sample --config anchors.yaml -m 1 a.bin
{ echo 'count: 3'; head -c 1000000 /dev/zero | tr '\0' '#'; } > large.yaml
soon 2 '^pcgpu: large\.yaml:2:[0-9]+: the file is larger than 256 KiB' sample --config large.yaml -m 1 a.bin
{ echo 'count: 3'; head -c 250000 /dev/zero | tr '\0' '#'; } > large.yaml
sized out.bin 48 pcgpu sample --config large.yaml a.bin -o out.bin

# A device that has no end, as every kind of input.
soon 2 '^pcgpu: /dev/zero:1:[0-9]+: the file is larger than 256 KiB' sample --config /dev/zero -m 1 a.bin
soon 1 '^pcgpu: /dev/zero: has no end after 67 MB; ' sample -m 1 /dev/zero
soon 1 '^pcgpu: /dev/zero: has no end after 67 MB; ' info /dev/zero
soon 1 '^pcgpu: /dev/zero: has no end after 67 MB; ' sample -m 1 --seeds /dev/zero a.bin
soon 1 '/dev/zero: ' register a.bin b.bin --init /dev/zero
soon 2 '^pcgpu: /dev/zero:1: a line of more than 65536 bytes' register --pairs /dev/zero
soon 1 '/dev/zero:1: a line of more than 65536 bytes' fuse --poses /dev/zero d.pgm --camera 5,5,2,2 -o out.ply
soon 1 '/dev/zero:1: a line of more than 65536 bytes' evaluate /dev/zero --ground-truth a.bin
LAST='odometry --trajectory with times from /dev/zero'
soon 1 '/dev/zero:1: a line of more than 65536 bytes' odometry --trajectory t.txt --timestamps /dev/zero a.bin b.bin
absent out.ply t.txt
LAST='sample < /dev/zero'
timeout 20 "$PCGPU" sample -m 1 - < /dev/zero > "$OUT" 2> "$ERR"
expected 1 $?
stderr_has '^pcgpu: standard input: has no end after 67 MB; '
LAST='register --init - without an end'
yes '' | timeout 20 "$PCGPU" register a.bin b.bin --init - > "$OUT" 2> "$ERR"
expected 1 $?
stderr_has 'more than 1 MiB'
# A pipe without an end stops where the memory does.
if ! has_sanitizer; then
    LAST='cat /dev/zero | sample, with little memory'
    (ulimit -v 400000; cat /dev/zero | timeout 20 "$PCGPU" sample -m 1 - --cpu --threads 1) > "$OUT" 2> "$ERR"
    expected 1 $?
    stderr_has '^pcgpu: standard input: (out of memory|has no end)'
fi

# A pipe of the file system: with a writer it is a file as others, also one that begins late; without one it is named.
mkfifo scan.bin config.yaml init.txt poses.txt list.txt
for ARGUMENTS in 'info scan.bin' 'sample --config config.yaml -m 1 a.bin' 'register a.bin b.bin --init init.txt' \
    'register --pairs list.txt' 'fuse --poses poses.txt d.pgm --camera 5,5,2,2 -o out.ply'; do
    timeout 30 "$PCGPU" $ARGUMENTS < /dev/null > "$WORK/out.${ARGUMENTS%% *}" 2> "$WORK/err.$(echo "$ARGUMENTS" | tr -c 'a-z\n' _)" &
done
wait
for NAME in scan.bin config.yaml init.txt list.txt poses.txt; do
    cat "$WORK"/err.* > "$ERR"
    stderr_has "$NAME: is a pipe \\(FIFO\\) that no process has opened for writing in 10 s"
done
{ sleep 1; exec > scan.bin; sleep 0.5; cat a.bin; } &
expect 0 pcgpu sample -m 10 scan.bin -o ten.bin
wait
size_is ten.bin 160
{ exec > config.yaml; sleep 0.5; echo 'count: 10'; } &
expect 0 pcgpu sample --config config.yaml a.bin -f -o out.bin
wait
same out.bin ten.bin
expect 0 pcgpu sample --dry-run -m 10 scan.bin -o other.bin # which does not open it
finish
