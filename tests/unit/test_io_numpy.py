"""NumPy writes .npy and .npz that the program reads, and loads those that it writes; gzip.py packs them. Offsets are in
tests/oracle/test_convert.py, errors of headers in tests/cli/refusals.list."""
import gzip
import os
import subprocess
import tempfile
import zipfile

import numpy as np

PROGRAM = os.path.abspath(os.environ["PCGPU"])


def run(*args, code=0):
    done = subprocess.run([PROGRAM, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == code, (args, done.returncode, done.stderr)
    return done.stderr


def convert(name, out="out.npy", code=0):
    return run("convert", name, "-o", out, "-f", code=code)


def test_written():
    """What deflates and what does not; an empty array."""
    rng = np.random.default_rng(8)
    points = np.hstack([np.arange(300).reshape(100, 3), rng.random((100, 12))]).astype("<f4")
    noise = np.hstack([np.arange(6000).reshape(2000, 3), rng.random((2000, 13))]).astype("<f4")
    padded = ["--features", "points", "--max-points", 32]
    for array, words, method in (points, padded, zipfile.ZIP_DEFLATED), (noise, [], zipfile.ZIP_STORED):
        array.tofile("in.bin")
        words = ["voxelize", "in.bin", "--fields", array.shape[1], "--voxel-size", 1, *words]
        run(*words, "-o", "a.npz", "-f")
        with zipfile.ZipFile("a.npz") as z:
            assert z.testzip() is None
            assert {i.filename: i.compress_type for i in z.infolist()}["voxels.npy"] == method
        a = np.load("a.npz")
        assert a["voxels"].dtype == np.float32 and np.array_equal(a["voxels"].reshape(len(array), -1)[:, :array.shape[1]], array)
        assert a["coords"].dtype == np.int32 and np.array_equal(a["coords"][:, :0:-1], array[:, :3] - array[0, :3])
    run(*words, "--range=-9,-9,-9,-8,-8,-8", "--dtype", "float16", "-o", "a.npz", "-f")
    a = np.load("a.npz")
    assert a["voxels"].shape == (0, 16) and a["voxels"].dtype == np.float16 and a["coords"].shape == (0, 4)


def test_npz():
    rng = np.random.default_rng(2)
    points = (rng.standard_normal((3000, 4)) * 40).astype(np.float32)
    other = {"labels": np.arange(7), "pose": np.eye(4), "words": np.array(["a", "b"]), "records": np.zeros(3, [("x", "f4")])}

    def same():
        convert("in.npz")
        assert np.load("out.npy").tobytes() == points.tobytes()

    for save in np.savez, np.savez_compressed:
        save("in.npz", points)  # arr_0
        same()
        save("in.npz", anything=points.astype(">f8"), **{k: other[k] for k in ("labels", "words", "records")})
        same()
        save("in.npz", points=points, **other)  # by its name, though pose could be a cloud
        same()
    np.savez("in.npz", p=points, **other)
    message = convert("in.npz", code=1)
    assert "p (3000, 4) <f4, labels (7,) <i8, pose (4, 4) <f8, words (2,) <U1, records (3,) records; give --format npz:NAME" in message, message
    np.savez("in.npz", **other, only=points[:, :2])
    convert("in.npz")  # the only one that can be a cloud
    assert np.load("out.npy").tolist() == np.eye(4).tolist()
    # zip64 headers, comments, other members, data before the archive's own
    with zipfile.ZipFile("in.npz", "w") as z:
        z.comment = b"a comment PK\5\6"
        z.writestr("readme.txt", "text")
        with z.open("points.npy", "w", force_zip64=True) as f:
            np.lib.format.write_array(f, points)
    same()
    data = bytearray(open("in.npz", "rb").read())
    data[data.index(points.tobytes()[:64]) + 5000] ^= 1
    open("in.npz", "wb").write(data)
    assert "checksum" in convert("in.npz", code=1)


def test_gzip():
    points = (np.random.default_rng(3).standard_normal((50000, 4)) * 40).astype(np.float32)
    np.save("in.npy", points)
    packed = gzip.compress(open("in.npy", "rb").read())
    half = points.tobytes()[:400000]  # two members, one after the other
    for name, content in ("in.npy.gz", packed), ("in.npy", packed), ("in.bin.gz", gzip.compress(half) + gzip.compress(points.tobytes()[400000:])):
        open(name, "wb").write(content)
        convert(name)
        assert np.load("out.npy").tobytes() == points.tobytes()
    for cut in packed[:-1], packed[:2000] + b"xx" + packed[2002:]:
        open("in.npy.gz", "wb").write(cut)
        assert "damaged or cut short" in convert("in.npy.gz", code=1)


def named(points, order):
    """Records with padding, another integer and fields of one byte, as ROS and the drivers of scanners make them."""
    kinds = [("x", "f4"), ("y", "f4"), ("z", "f4"), ("c3", "f8"), ("c4", "f4")]
    kind = np.dtype({"names": [k for k, _ in kinds], "formats": [order + t for _, t in kinds], "offsets": [2, 6, 10, 16, 25], "itemsize": 40})
    out = np.zeros(len(points), kind)
    for k, (name, _) in enumerate(kinds):
        out[name] = points[:, k]
    return out


def test_records():
    """The fields by their names, x y z first; types of drivers."""
    kind = [("t", "<u8"), ("ring", "<u2"), ("z", "<f4"), ("flag", "u1"), ("y", "<f8"), ("x", "<i2"), ("small", "<f2")]
    array = np.zeros(200, kind)
    rng = np.random.default_rng(3)
    for name in array.dtype.names:
        array[name] = rng.integers(0, 200, 200)
    array["small"] = np.linspace(-3, 3, 200)
    array["small"][:4] = 6e-8, np.inf, -np.inf, np.nan
    np.save("in.npy", array)
    convert("in.npy")
    want = np.column_stack([array[name].astype(np.float32) for name in ("x", "y", "z", "t", "ring", "flag", "small")])
    assert np.array_equal(np.load("out.npy"), want, equal_nan=True)


def test_read():
    points = (np.random.default_rng(1).standard_normal((1000, 5)) * 40).astype(np.float32)
    points[3, 1], points[4, 2] = np.nan, -np.inf
    variants = {
        "f4": points, "f4be": points.astype(">f4"), "f8": points.astype("<f8"), "f8be": points.astype(">f8"),
        "records": named(points, "<"), "records_be": named(points, ">"), "grid": named(points, "<").reshape(10, 100),
        "fortran": np.asfortranarray(points), "fortran8be": np.asfortranarray(points.astype(">f8")),
    }
    for i, (name, array) in enumerate(variants.items()):
        with open("in.npy", "wb") as f:
            np.lib.format.write_array(f, array, version=(1 + i % 3, 0))
        log = convert("in.npy")
        got = np.load("out.npy")
        assert got.dtype == np.float32 and ("has no names of columns: c3" in log if array.dtype.names else not log), (name, log)
        assert got.tobytes() == points.tobytes(), name


def test_indices():
    """Every integer type and byte order that NumPy writes, as one dimension or as one column."""
    np.column_stack([np.arange(100)**2, np.zeros((100, 2))]).astype("<f4").tofile("line.bin")
    words = ["sample", "line.bin", "--fields", 3, "-m", 9, "-f", "-o", "out.bin", "--indices", "got.npy", "--seeds"]
    seeds = [99, 0, 40, 41, 17]
    np.savetxt("in.txt", seeds, "%d")
    run(*words, "in.txt")
    want = np.load("got.npy")
    kinds = [f"{order}{kind}{width}" for order in "<>" for kind in "iu" for width in (1, 2, 4, 8)]
    for i, kind in enumerate(kinds):
        column = np.array(seeds, kind).reshape(-1, 1)
        with open("in.npy", "wb") as f:
            np.lib.format.write_array(f, [column, column.ravel(), np.asfortranarray(column)][i % 3], version=(1 + i % 3, 0))
        run(*words, "in.npy")
        assert np.array_equal(np.load("got.npy"), want), kind
        top = min(2**31 - 1, 2**(8 * int(kind[2]) - (kind[1] == "i")) - 1)
        np.save("in.npy", np.array([*seeds, top], kind))
        assert f"seed 6 is record {top} of" in run(*words, "in.npy", code=1), kind
    cases = [(np.array([1, 2, -1], order + kind), "value 3 is -1, not a record index; ") for order in "<>" for kind in ("i1", "i2", "i4", "i8")]
    cases += [(np.array([1, 2**31], order + kind), "value 2 is 2147483648, ") for order in "<>" for kind in ("u4", "i8", "u8")]
    cases += [(np.ones(1).astype(kind), f"holds values of type '{kind}', and record indices are integers; ") for kind in (">f8", "|b1", "<m8", "|S4")]
    for array, sentence in cases:
        np.save("in.npy", array)
        log = run(*words, "in.npy", code=1)
        assert log.startswith("pcgpu: in.npy: ") and sentence in log, log


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name, function in list(globals().items()):
        if name.startswith("test_"):
            function()
            print("ok", name)
    os.chdir("/")
