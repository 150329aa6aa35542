"""Files right and wrong by the hundred: the only outcomes are an upload or a one-line refusal.

`--hypothesis-profile thousands` tries ten times as many of each format, the same ones every time.
"""

import io
from functools import lru_cache

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import files
from validation_core import tables
from validation_core.tables import Upload, guarded

LIMIT = 2**20
VARIANTS = 300  # structures of a file; their bytes are changed further
NAMES = ("theta", "thetas", "x", "theta_q", "samples", "p", "q", "log_q", "log_joint_draws", "x_o",
         "theta_o", "theta_names", "x_names", "../../theta", "a/b", "\u202e", "sim", "sample",
         " ")  # fmt: skip
KINDS = ("f2", "f4", "f8", ">f4", "i1", "i8", "u8", "?", "c8", "U3", "S2", "M8[s]")


def arrays(rng):
    """A table, usually with something wrong about it."""
    n, k, d, m = rng.integers(1, 6), rng.integers(1, 5), rng.integers(1, 4), rng.integers(1, 4)
    table = files.table(n, k, d, m, seed=int(rng.integers(2**31)))
    if rng.random() < 0.5:
        table |= {"log_q": rng.standard_normal(n), "log_q_draws": rng.standard_normal((n, k))}
        table |= {"x_o": table["x"][0], "theta_o": table["theta_q"][0]}
    for _ in range(rng.integers(0, 4)):
        name = str(rng.choice(list(table)))
        table |= _wrong(table, name, rng)
    return table


def _wrong(arrays, name, rng):
    array, change = np.asarray(arrays[name]), rng.integers(8)
    if change == 0:
        kind = np.dtype(str(rng.choice(KINDS)))
        small = rng.integers(0, 3, array.shape)
        return {name: small.astype("i8" if kind.kind == "M" else kind).astype(kind)}
    if change == 1:
        return {name: np.resize(array, rng.integers(0, 5, size=rng.integers(0, 5)))}
    if change == 2 and array.ndim > 1:
        return {name: array.swapaxes(0, 1)}
    if change == 3 and array.dtype.kind == "f" and array.size:
        spoilt = array.copy()
        spoilt.flat[rng.integers(array.size)] = rng.choice([np.nan, np.inf, -np.inf, 1e38])
        return {name: spoilt}
    if change == 4:
        arrays.pop(name)
        return {str(rng.choice(NAMES)): array} if rng.random() < 0.7 or not arrays else {}
    if change == 5:
        return {str(rng.choice(NAMES)): rng.standard_normal(rng.integers(0, 4, size=2))}
    if change == 6:
        return {name: array[..., None]}
    return {"theta_names": np.array(["a", "<b>", "=1+1"])[: rng.integers(1, 4)]}


def bytes_changed(content, rng):
    """The same file with bytes changed, cut off, put in or made to declare absurd sizes."""
    content = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        place, change = int(rng.integers(len(content) + 1)), rng.integers(6)
        if change == 0:
            del content[place:]
        elif change == 1:
            del content[place : place + int(rng.integers(1, 9))]
        elif change == 2:
            content[place:place] = rng.bytes(int(rng.integers(1, 9)))
        elif change == 3:
            content[place : place + 4] = b"\xff\xff\xff\x7f"
        elif place < len(content):
            content[place] = int(rng.integers(256))
    return bytes(content)


def columns(rng):
    """Columns of a long table, of two samples or of nothing in particular."""
    table = files.columns(files.table(*rng.integers(1, 5, size=4), seed=int(rng.integers(2**31))))
    rows = len(table["sim"])
    if rng.random() < 0.3:
        side = rng.choice(["p", "q", "r"], p=[0.5, 0.45, 0.05], size=rows)
        table = {"sample": side, **{n: c for n, c in table.items() if n not in ("sim", "draw")}}
    if rng.random() < 0.2:
        table["log_q"] = rng.standard_normal(rows)
    for _ in range(rng.integers(0, 3)):
        name, change = str(rng.choice(list(table))), rng.integers(5)
        if change == 0 and len(table) > 1:
            table.pop(name)
        elif change == 1:
            table[str(rng.choice(NAMES))] = table[name]
        elif change == 2:
            table[name] = rng.permutation(table[name])
        elif change == 3 and np.asarray(table[name]).dtype.kind in "if":
            table[name] = np.where(rng.random(rows) < 0.2, np.nan, table[name])
        else:
            table[name] = np.array(["a", "=1", "1e999", "", "0"])[rng.integers(5, size=rows)]
    keep = slice(None) if rng.random() < 0.8 else slice(0, int(rng.integers(rows + 1)))
    return {name: np.asarray(column)[keep] for name, column in table.items()}


def make_npz(rng):
    return files.npz(arrays(rng), compressed=rng.random() < 0.5)


def make_npy(rng):
    content = arrays(rng) or {"theta": np.zeros(3)}
    return files.npy(content[str(rng.choice(list(content)))])


def make_csv(rng):
    return files.csv(columns(rng), mark=str(rng.choice([",", ";", "\t"])))


def make_parquet(rng):
    options = {"compression": str(rng.choice(["none", "snappy", "gzip", "zstd"]))}
    return files.parquet_file(columns(rng), **options, row_group_size=int(rng.integers(1, 50)))


def make_hdf5(rng):
    packings = ({}, {"chunks": True}, {"compression": "gzip"}, {"compression": "lzf"},
                {"compression": "gzip", "shuffle": True, "fletcher32": True})  # fmt: skip
    packing = packings[rng.integers(len(packings))]
    source = {n: a for n, a in arrays(rng).items() if a.dtype.kind != "M" and n.strip(" ./")}
    packing = packing if all(a.size and a.dtype.kind != "U" for a in source.values()) else {}
    group = [None, None, "run", "deep/er"][rng.integers(4)]
    source = {name.replace("/", "_"): array for name, array in source.items()}
    content = files.hdf5(source, group, ["earliest", "latest"][rng.integers(2)], **packing)
    return _linked(content, rng) if rng.random() < 0.3 else content


def _linked(content, rng):
    """The same with a link, a declaration of absurd size, or numbers kept elsewhere."""
    file = io.BytesIO(content)
    with h5py.File(file, "r+") as opened:
        for name in ("theta", "theta_q"):
            if name in opened:
                del opened[name]
        change = rng.integers(6)
        if change == 0:
            opened["theta"] = h5py.ExternalLink("/etc/passwd", "/theta")
        elif change == 1:
            opened["theta"] = h5py.SoftLink(str(rng.choice(["/x", "/theta", "x", "../x", "/run"])))
        elif change == 2:
            opened.create_dataset("theta", (10**9, 10**3), "f4", chunks=(10**3, 10**2))
        elif change == 3:
            layout = h5py.VirtualLayout((5, 2), "f4")
            layout[:] = h5py.VirtualSource("other.h5", "theta", (5, 2))
            opened.create_virtual_dataset("theta", layout)
        elif change == 4:
            opened.create_dataset("theta", (5, 2), "f4", external=[("/etc/passwd", 0, 40)])
        else:
            opened.create_dataset("theta", data=["a", "b"], dtype=h5py.string_dtype())
            opened["itself"] = opened["/"]
    return file.getvalue()


def make_netcdf(rng):
    chains = int(rng.integers(1, 3))
    n, k, d, m = rng.integers(1, 6), chains * rng.integers(1, 3), rng.integers(1, 4), 2
    content = files.table(n, k, d, m, seed=int(rng.integers(2**31)))
    drawn = content["theta_q"].reshape(n, chains, -1, d)
    dims = ("sim", "chain", "draw", "part")
    turned = rng.permutation(4)
    posterior = {"mu": (tuple(dims[i] for i in turned), drawn.transpose(turned))}
    groups = {
        "posterior": posterior,
        str(rng.choice(["truth", "prior", "prior_sbc"])): {
            "mu": (("sim", "part"), content["theta"])
        },
        str(rng.choice(["observed_data", "constant_data"])): {
            "y": (("sim", "place"), content["x"])
        },
    }
    for _ in range(rng.integers(0, 3)):
        group = str(rng.choice(list(groups)))
        change = rng.integers(5)
        if change == 0 and len(groups) > 1:
            groups.pop(group)
        elif change == 1:
            groups[group] = {
                name: (tuple("sims" if dim == "sim" else f"{dim}_" for dim in dims), array)
                for name, (dims, array) in groups[group].items()
            }
        elif change == 2:
            groups[group] = {
                name: (dims, array[:1]) for name, (dims, array) in groups[group].items()
            }
        elif change == 3:
            groups[group]["other"] = (("sim",), np.arange(int(n)))
        else:
            groups[group] = {n: (dims, a.astype("i4")) for n, (dims, a) in groups[group].items()}
    try:
        return files.netcdf(groups)
    except ValueError:  # one axis of two lengths: not a file that can be written
        return files.netcdf({"posterior": posterior})


FORMATS = {
    "npz": make_npz, "npy": make_npy, "csv": make_csv, "parquet": make_parquet,
    "hdf5": make_hdf5, "netcdf": make_netcdf,
}  # fmt: skip


@pytest.mark.parametrize("examples", [100, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", FORMATS)
def test_only_an_upload_or_a_refusal_comes_out(kind, examples, monkeypatch):
    """Some fresh examples every time; as many as the profile says if slow."""
    monkeypatch.setattr(guarded, "SECONDS", 2.0)  # some damage makes the HDF5 library hang
    examples = examples or settings.default.max_examples
    seen = {"read": 0, "refused": 0}
    stem = {"npy": ["theta", "p", "x_o"], "csv": ["table", "p"], "parquet": ["table", "q"]}

    @lru_cache(maxsize=VARIANTS)
    def variant(number):
        return FORMATS[kind](np.random.default_rng(number))

    @settings(suppress_health_check=list(HealthCheck), max_examples=examples)
    @given(st.integers(0, VARIANTS - 1), st.integers(0, 2**62), st.booleans())
    def tried(number, seed, damaged):
        rng = np.random.default_rng(seed)
        fresh = kind in ("npz", "npy")
        content = FORMATS[kind](rng) if fresh else variant(number)
        if damaged:
            content = bytes_changed(content, rng)
        name = f"{rng.choice(stem.get(kind, ['table']))}.{kind}"
        order = [None, "NKD", "KND"][number % 3]
        try:
            upload = tables.read(content, name=name, order=order, limit=LIMIT)
        except ValueError as refusal:
            message = str(refusal)
            assert message.strip()
            assert "\n" not in message
            assert "got" in message
            assert len(message) < 2000
            seen["refused"] += 1
        else:
            assert isinstance(upload, Upload)
            assert upload.n > 0
            assert all(a.dtype.kind == "f" for a in upload.arrays().values())
            assert np.isfinite(upload.arrays().get("theta", 0.0)).all()
            assert sum(a.nbytes for a in upload.arrays().values()) <= LIMIT
            seen["read"] += 1

    tried()
    assert sum(seen.values()) >= examples
    assert seen["refused"] > examples // 10
    assert seen["read"] > 0 or kind == "npy"  # one array alone is no table
