# --json: one object an input, one a line. What is in it: bytes.list has that of each command, and tests/oracle reads it.
. "${0%/*}/lib.sh"
command -v python3 > /dev/null || skip_all 'python3 reads the JSON'
cloud 300 > a.bin
cloud 400 > b.bin
{ cloud 50; echo 'nan 0 0 1' | floats; echo '0 0 0 1' | floats; } > holes.bin

# ask FILE LINE EXPRESSION: an expression on the object `o` of that line must be true. `get` finds a key at any depth.
ask() {
    python3 - "$@" << 'PYTHON' > "$WORK/asked" 2>&1 || { cat "$WORK/asked" >&2; die "$1, line $2: $3"; }
import json, sys
def refuse(text): raise ValueError(text + ' is not JSON')
lines = open(sys.argv[1], encoding='utf-8').read().split('\n')
assert lines.pop() == '', 'the last line has no end'
objects = [json.loads(line, parse_constant=refuse) for line in lines]
o = objects[int(sys.argv[2])]
def get(key, tree=None):
    tree = o if tree is None else tree
    if isinstance(tree, dict):
        if key in tree and not isinstance(tree[key], dict):
            return tree[key]
        for value in tree.values():
            if isinstance(value, dict):
                found = get(key, value)
                if found is not None:
                    return found
assert eval('(' + sys.argv[3] + ')'), o
PYTHON
    checked
}

expect 0 pcgpu sample -m 10 a.bin -o out.bin --json j --start 3 --threads 2
stdout_is ''
stderr_is ''
ask j 0 'len(objects) == 1 and type(o) is dict'
ask j 0 '"a.bin" in json.dumps(o) and "out.bin" in json.dumps(o)'
ask j 0 'get("points_in") == 300 and get("points_out") == 10'
ask j 0 'get("backend") in ("cpu", "cuda") and get("device")'
ask j 0 'get("count") == 10 and get("start") == 3 and get("method") == "fps" and get("threads") >= 1'
ask j 0 '"seconds" in json.dumps(o)'
ask j 0 'get("non_finite") == 0'
expect 0 pcgpu sample -m 10 a.bin -o other.bin --json j -f

# To stdout, when the data goes elsewhere.
into j pcgpu sample -m 10 a.bin -f -o out.bin --json -
ask j 0 'len(objects) == 1 and get("points_out") == 10'

# One line an input, in order; a bad one has its line, too, or none, but never spoils the others.
mkdir d
expect 0 pcgpu sample -m 10 a.bin b.bin -o d/ -f --json j
ask j 0 'len(objects) == 2 and get("points_in") == 300'
ask j 1 'get("points_in") == 400'
expect 1 pcgpu sample -m 350 a.bin b.bin -o d/ -f --json j
ask j 0 'get("failed") is True and "350" in get("error") and "300" in get("error")'
ask j 1 'get("exit_code") == 0 and get("points_out") == 350 and get("error") is None'

# Dropped records are counted.
expect 0 pcgpu sample -m 10 holes.bin -f -o out.bin --json j --drop-origin
ask j 0 'get("non_finite") == 1 and get("at_origin") == 1 and get("points_in") == 52'

# Names that need quoting.
NAME=$(printf 'odd "name"\\ \t.bin')
cp a.bin "$NAME"
expect 0 pcgpu sample -m 10 "$NAME" -f -o out.bin --json j
ask j 0 'o["inputs"] == ["odd \"name\"\\ \t.bin"]'
NAME=$(printf 'not-utf8-\377.bin')
if cp a.bin "$NAME" 2> /dev/null; then
    expect 0 pcgpu sample -m 10 "$NAME" -f -o out.bin --json j
    ask j 0 'get("points_out") == 10'
fi

into j "$PCGPU" info --json -
ask j 0 'len(objects) == 1 and get("version")'
into j "$PCGPU" info a.bin holes.bin --json -
ask j 0 'len(objects) == 2 and 300 in [get("points"), get("points_in"), get("rows")]'
ask j 1 'get("non_finite") == 1 and get("at_origin") == 1'
finish
