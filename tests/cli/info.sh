# info: of files, and of the build and machine.
. "${0%/*}/lib.sh"
{ echo '0 0 0 1'; echo '1 2 3 4'; echo '1 2 3 4'; echo 'nan 0 0 0'; echo '-5 6 7 8'; } | floats > a.bin

expect 0 "$PCGPU" info a.bin
stdout_has 'a\.bin'
stdout_has '(^|[^0-9])5([^0-9]|$)'
stdout_has 'intensity'
stdout_has '-5'
stderr_is ''
expect 0 "$PCGPU" info a.bin a.bin
expect 1 "$PCGPU" info a.bin missing.bin
stdout_has 'a\.bin'
stderr_has '^pcgpu: missing\.bin: '
cat a.bin | "$PCGPU" info - > "$OUT" 2> "$ERR"
expected 0 $?
stdout_has 'intensity'

VERSION=$("$PCGPU" --version | awk '{ print $2; exit }')
expect 0 "$PCGPU" info
stdout_has "$VERSION"
stdout_has '[Cc][Uu][Dd][Aa]'
finish
