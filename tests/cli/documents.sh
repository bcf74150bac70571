# Completions parse; man pages are clean and name every option.
. "${0%/*}/lib.sh"
for SHELL_NAME in bash zsh fish; do
    quiet "$PCGPU" completion "$SHELL_NAME"
    stdout_has 'pcgpu completion words'
    cp "$OUT" "completion.$SHELL_NAME"
    if command -v "$SHELL_NAME" > /dev/null; then
        expect 0 "$SHELL_NAME" -n "completion.$SHELL_NAME"
    else
        skip_part "$SHELL_NAME" 'the shell is not here'
    fi
done

if command -v bash > /dev/null; then
    # offer.bash WORD... shows what bash would offer for the last word.
    cat > offer.bash << 'BASH'
. ./completion.bash
COMP_WORDS=(pcgpu "$@") COMP_CWORD=$#
handler=$(complete -p pcgpu | sed 's/.*-F \([^ ]*\).*/\1/')
"$handler" pcgpu "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"
BASH
    PATH=$(dirname "$PCGPU"):$PATH
    export PATH
    says '^sample ?$' bash offer.bash sam
    says '^--min-distance ?$' bash offer.bash sample --min
    says '^random ?$' bash offer.bash sample --method r
    says '^pillar ?$' bash offer.bash voxelize --features pi
    says '^split ?$' bash offer.bash voxelize --set sp
fi

MAN=$PCGPU_SOURCE/man
mkdir pages
for PAGE in "$MAN"/*.[17]; do
    sh "$MAN/page.sh" "$PAGE" "$PCGPU" > "pages/${PAGE##*/}" || die "$PAGE"
done
for PAGE in pages/*.1; do
    if command -v mandoc > /dev/null; then
        expect 0 mandoc -T lint -W warning "$PAGE"
    elif command -v man > /dev/null; then
        quiet man --warnings -l "$PAGE"
    fi
    COMMAND=$(basename "$PAGE" .1)
    COMMAND=${COMMAND#pcgpu}
    COMMAND=${COMMAND#-}
    [ -n "$COMMAND" ] || continue
    "$PCGPU" "$COMMAND" --help | grep -Eo -e '^ +(-., )?--[a-z-]+' | grep -Eo -e '--[a-z-]+' > options
    [ -s options ] || die "no options in the help of $COMMAND"
    while IFS= read -r OPTION; do
        sed 's/\\-/-/g' "$PAGE" | grep -Fq -e "$OPTION" || die "$PAGE does not have $OPTION"
        checked
    done < options
done

# The manual as one page: every link leads somewhere.
if command -v mandoc > /dev/null; then
    sh "$MAN/manual.sh" pages/*.1 pages/*.7 > manual.html
    grep -Eo 'id="[^"]*"' manual.html | sed 's/id="//; s/"//' | sort > ids
    [ -z "$(uniq -d ids)" ] || die "manual.html has an id twice: $(uniq -d ids | head -n 3)"
    grep -Eo 'href="#[^"]*"' manual.html | sed 's/href="#//; s/"//' | sort -u > links
    [ "$(grep -c . links)" -gt 50 ] && [ -z "$(comm -13 ids links)" ] || die "manual.html has links to nothing: $(comm -13 ids links | head -n 3)"
    checked
fi

# The chart of README is that of the tables.
python3 "$PCGPU_SOURCE/tests/bench/chart.py" "$PCGPU_SOURCE/BENCHMARKS.md" > peers.svg
same peers.svg "$PCGPU_SOURCE/testdata/pictures/peers.svg"
finish
