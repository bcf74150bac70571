#!/bin/bash -eu
# OSS-Fuzz: builds the fuzzers with its compiler and flags into $OUT, each with its seeds and dictionary. $OUT goes to machines without
# libraries, so that the fuzzers are linked to static ones.
cd "$SRC/pcgpu"
rm -rf "$WORK/build"
meson setup "$WORK/build" -Dfuzz=true -Dfuzz_engine="$LIB_FUZZING_ENGINE" -Dcuda=disabled -Dprefer_static=true -Db_lundef=false \
    -Dbuildtype=plain
ninja -C "$WORK/build" fuzzers
"$WORK/build/tests/fuzz/mutate" --write "$WORK/seeds"
for target in "$WORK"/build/tests/fuzz/fuzz_*; do
    name=${target##*/}
    [ -f "$target" ] || continue
    cp "$target" "$OUT/"
    dictionary=$(sh tests/fuzz/dict/of.sh "${name#fuzz_}" "$OUT/$name.dict")
    [ "$dictionary" = "$OUT/$name.dict" ] || cp "$dictionary" "$OUT/$name.dict"
    (cd "$WORK/seeds/${name#fuzz_}" && zip -q "$OUT/${name}_seed_corpus.zip" ./*)
done
