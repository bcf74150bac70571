#!/bin/sh
# hardening.sh FORTIFIED: what protects the program against errors that input may find in it: an address that differs from
# run to run, tables that are read-only once it runs, guarded stacks, checked lengths (FORTIFIED: yes or no).
set -u
command -v readelf > /dev/null || { echo 'skipped: no readelf'; exit 77; }
program=${PCGPU:?} status=0
headers=$(readelf -hlW "$program") dynamic=$(readelf -dW "$program") symbols=$(readelf --dyn-syms -W "$program") || exit 1
wants() { # wants WHAT PATTERN TEXT
    printf '%s\n' "$3" | grep -Eq -e "$2" || { echo "FAIL: the program has no $1" >&2; status=1; }
}
wants 'address that differs (PIE)' 'Type: +DYN' "$headers"
wants 'relocations that are read-only afterwards (relro)' 'GNU_RELRO' "$headers"
wants 'stack without instructions' 'GNU_STACK.* RW +0x' "$headers"
wants 'symbols bound at its start (now)' '\(FLAGS(_1)?\).*NOW|BIND_NOW' "$dynamic"
wants 'guarded stack (-fstack-protector-strong)' '__stack_chk_fail' "$symbols"
[ "$1" != yes ] || wants 'checked lengths (_FORTIFY_SOURCE)' '__(sn?|vsn?|f)printf_chk' "$symbols"
# GCC and Clang touch each page of a large frame by an "or" or a store of zero below the stack pointer.
if command -v objdump > /dev/null && [ "$(uname -m)" = x86_64 ]; then
    wants 'stack that is touched page by page (-fstack-clash-protection)' 'or[lq] +\$0x0,(0x[0-9a-f]+)?\(%rsp' \
        "$(objdump -d --no-show-raw-insn "$program" | grep '(%rsp' | grep -m 1 -E 'or[lq] +\$0x0')"
fi
exit $status
