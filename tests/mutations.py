"""Files right and wrong, made from a seed: tables of every format, and what may befall them.

`mutant(number)` is the same file every time: a table of one of seven formats, usually with
something wrong about its arrays, and then with its bytes, records or names changed in one to four
ways.
"""

import io
import json
import struct
import zipfile
from functools import lru_cache
from typing import NamedTuple

import h5py
import numpy as np

from tests import files

LIMIT = 2**20
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
        with np.errstate(over="ignore"):  # half precision ends at 65504
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


def make_json(rng):
    """Arrays by name, records of simulations, or a long table of records."""
    content = {
        name: array.tolist() for name, array in arrays(rng).items() if array.dtype.kind in "fiub"
    }
    way = int(rng.integers(3))
    if way == 0 and len({len(v) if isinstance(v, list) else 0 for v in content.values()}) == 1:
        content = [
            dict(zip(content, row, strict=True)) for row in zip(*content.values(), strict=True)
        ]
    elif way == 1:
        table = {name: np.asarray(column).tolist() for name, column in columns(rng).items()}
        content = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    return json.dumps(content).encode()


FORMATS = {
    "npz": make_npz, "npy": make_npy, "csv": make_csv, "parquet": make_parquet,
    "hdf5": make_hdf5, "netcdf": make_netcdf, "json": make_json,
}  # fmt: skip


ODD_NAMES = ("theta\u202e", "th\neta", "\x1b[2Jx", "é" * 9, "theta" * 40, "THETA", "", "x\x00y",
             "<script>", "$\\theta$", "=cmd()", "a" * 3000, "\udc80x", "../../etc/passwd", "|:-)",
             "𝜃", "\ufeff")  # fmt: skip
NUMBERS = (
    b"inf",
    b"-inf",
    b"nan",
    b"1e999",
    b"-1e-999",
    b"1e38",
    b"1.8e308",
    b"9" * 400,
    b"0x1p9",
    b"1_0",
    b"",
    b"--1",
    b"1,5",
    b"'1'",
    b'"1"',
    b"1e",
    b"\xd9\xa1",
    b"NULL",
    b"#N/A",
)
LINES = (b"# note\n", b"\n", b"  \n", b"sep=;\n", b"\r", b"\xef\xbb\xbf", b"\x00", b'"',
         b"#N/A,1\n", b"\t\n", b",,,\n")  # fmt: skip
EXTREMES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0xFFFFFFFF,
            2**40, 2**62, 2**63 - 1, 2**64 - 1)  # fmt: skip
MARKS = {
    "npz": (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"\x93NUMPY", b"shape"),
    "npy": (b"\x93NUMPY", b"descr", b"shape", b"fortran"),
    "csv": (b"sim", b"draw", b"theta", b"\n", b",", b"sample"),
    "parquet": (b"PAR1", b"theta", b"schema", b"\x15\x00\x15", b"\x15\x04\x15", b"ARROW:schema"),
    "hdf5": (b"\x89HDF", b"TREE", b"HEAP", b"SNOD", b"OHDR", b"FRHP", b"FHDB", b"GCOL", b"OCHK",
             b"theta", b"BTHD", b"FADB"),
}  # fmt: skip
MARKS["json"] = (b"theta", b"[", b"]", b"{", b"}", b",", b'"', b"NaN")
MARKS["netcdf"] = (*MARKS["hdf5"], b"DIMENSION_LIST", b"CLASS", b"REFERENCE_LIST", b"NAME")
VARIANTS = 120  # tables of each format


class Mutant(NamedTuple):
    """A file, what it is called, and what was done to it."""

    kind: str
    name: str
    content: bytes
    changes: tuple[str, ...]
    base: bytes
    """The file that it was before."""


@lru_cache(maxsize=7 * VARIANTS)
def base(kind, number):
    """One of the tables that are damaged: every third as it should be."""
    rng = np.random.default_rng([len(kind), number])
    if number % 3:
        try:
            return FORMATS[kind](rng)
        except TypeError:  # what its library does not write
            return base(kind, number - 1)
    table = files.table(*map(int, rng.integers(2, 6, size=4)), seed=number)
    if kind in ("csv", "parquet"):
        make = {"csv": files.csv, "parquet": files.parquet_file}[kind]
        return make(files.columns(table))
    k = table["theta_q"].shape[1]
    return {
        "npz": lambda: files.npz(table, compressed=number % 2 == 0),
        "npy": lambda: files.npy(table["theta_q"]),
        "hdf5": lambda: files.hdf5(table, libver=("earliest", "latest")[number % 2]),
        "netcdf": lambda: files.arviz(table, chains=2 - k % 2),
        "json": lambda: json.dumps({n: a.tolist() for n, a in table.items()}).encode(),
    }[kind]()


def mutant(number):
    """The file of this number."""
    kinds = tuple(FORMATS)
    kind = kinds[number % len(kinds)]
    rng = np.random.default_rng([18, number])
    content = before = base(kind, int(rng.integers(VARIANTS)))
    usual = (_spots, _lengths, _pieces, _bytes, _lengths)
    own = {"npz": (_members, _header), "npy": (_header,), "csv": (_text, _text),
           "parquet": (_footer,), "hdf5": (_names,), "netcdf": (_attributes,),
           "json": (_json_values,)}  # fmt: skip
    count = int(rng.choice([0, 1, 1, 1, 2, 2, 3, 4]))
    ways = [_any(usual + own[kind] * 2, rng) for _ in range(count)]
    # Damage may hang the library that writes the others: what it writes comes first.
    for way in sorted(ways, key=lambda way: way not in (_names, _attributes)):
        content = way(content, kind, rng)
    changes = tuple(way.__name__.strip("_") for way in ways)
    stems = {"npy": ("theta", "theta_q", "p"), "csv": ("table", "p")}.get(kind, ("table",))
    return Mutant(kind, f"{stems[int(rng.integers(len(stems)))]}.{kind}", content, changes, before)


def _any(options, rng):
    return options[int(rng.integers(len(options)))]


def _bytes(content, kind, rng):
    return bytes_changed(content, rng)


def _mark(content, kind, rng):
    """Where one of the format's own marks stands, or anywhere."""
    mark = _any(MARKS[kind], rng)
    places = []
    at = content.find(mark)
    while at >= 0 and len(places) < 200:
        places.append(at)
        at = content.find(mark, at + 1)
    return _any(places, rng) if places else int(rng.integers(len(content) + 1))


def _spots(content, kind, rng):
    """A byte or two near a mark."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        at = _mark(content, kind, rng) + int(rng.integers(0, 64))
        if at < len(changed):
            changed[at] = _any((0, 1, 0xFF, changed[at] ^ 1, int(rng.integers(256))), rng)
    return bytes(changed)


def _lengths(content, kind, rng):
    """A number of 1, 2, 4 or 8 bytes near a mark made absurd."""
    form = _any(("<B", "<H", "<I", "<Q"), rng)
    size = struct.calcsize(form)
    number = _any(EXTREMES, rng) % 2 ** (8 * size)
    at = _mark(content, kind, rng) + int(rng.integers(0, 48))
    return content[:at] + struct.pack(form, number) + content[at + size :]


def _pieces(content, kind, rng):
    """A piece removed, doubled, moved, or taken from another file."""
    begin, end = sorted(int(n) for n in rng.integers(0, len(content) + 1, size=2))
    end = min(end, begin + 4096)
    piece, at = content[begin:end], int(rng.integers(0, len(content) + 1))
    other = base(_any((kind, kind, _any(tuple(FORMATS), rng)), rng), int(rng.integers(VARIANTS)))
    return (
        content[:begin] + content[end:],
        content[:at] + piece + content[at:],
        content[:at] + piece + content[at + len(piece) :],
        content + other,
        content[:begin] + other[begin:],
        content[:begin] + bytes(int(rng.integers(1, 5000))),
    )[int(rng.integers(6))]


def _members(content, kind, rng):
    """The records of an archive written anew: others' names, twice, packed otherwise."""
    file = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
            for info in old.infolist():
                held = old.read(info)
                odd = rng.random() < 0.3
                name = _any((*ODD_NAMES, *NAMES), rng) + ".npy" if odd else info.filename
                method = _any((0, 8, 8, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA), rng)
                if rng.random() < 0.1:
                    held = _lengths(held, "npy", rng)
                if name not in new.NameToInfo or rng.random() < 0.1:
                    entry = zipfile.ZipInfo(name)
                    entry.comment = rng.bytes(int(rng.integers(9)))
                    new.NameToInfo.pop(name, None)
                    new.writestr(entry, held, method)
            new.comment = rng.bytes(int(rng.integers(30)))
    except Exception:  # what was damaged before may not be read again
        return content
    return file.getvalue()


def _header(content, kind, rng):
    """Another type, shape or key in the header of an array."""
    old, new = _any((
        (b"'<f4'", b"'<f8'"), (b"'<f4'", b"'>f4'"), (b"'<f4'", b"'|O' "), (b"'<f4'", b"'<U1'"),
        (b"'<f4'", b"'<c8'"), (b"'<f4'", b"'|V4'"), (b"'<f4'", b"'<M8'"), (b"'<f4'", b"('f4')"),
        (b"False", b"True "), (b"shape", b"shap\xff"), (b"(", b"(-"), (b", ", b",9"), (b")", b"L"),
        (b"{", b"{{"), (b"'descr'", b"'descR'"), (b"(", b"(" * 90),
    ), rng)  # fmt: skip
    return content.replace(old, new, 1)


def _text(content, kind, rng):
    """Numbers, lines and marks of a .csv file that are valid only in part."""
    lines = content.split(b"\n")
    way, at = int(rng.integers(8)), int(rng.integers(len(lines)))
    mark = b";" if b";" in lines[0] else b","
    cells = lines[at].split(mark)
    if way < 2:
        cells[int(rng.integers(len(cells)))] = _any(NUMBERS, rng)
        lines[at] = mark.join(cells)
    elif way == 2:
        lines.insert(at, _any(LINES, rng))
    elif way == 3:
        lines[0] = mark.join(
            [*lines[0].split(mark)[:-1], _any(ODD_NAMES, rng).encode(errors="replace")]
        )
    elif way == 4:
        return content.replace(b"\n", _any((b"\r\n", b"\r", b"\n\n", b" \n", mark + b"\n"), rng))
    elif way == 5:
        return _any((b"\xef\xbb\xbf", b"# a\n", b"sep=;\n", b"sep=,\n", b"\n"), rng) + content
    elif way == 6:
        return content.replace(b",", _any((b";", b"\t", b"|"), rng)).replace(b".", b",")
    else:
        return content.replace(mark, mark + b" ").replace(b"1", _any((b"1", b'"1"'), rng))
    return b"\n".join(lines)


def _json_values(content, kind, rng):
    """A number, a name or a bracket of a JSON text put in place of another."""
    values = (b"null", b"NaN", b"-Infinity", b"1e999", b"9" * 400, b"true", b'"a"', b"[]", b"{}",
              b"[[" * 2000, b'"theta": 1,', b"\\ud800", b"[1, [2]]")  # fmt: skip
    at = _mark(content, kind, rng)
    return content[:at] + _any(values, rng) + content[at + int(rng.integers(0, 6)) :]


def _footer(content, kind, rng):
    """Bytes of the metadata of a .parquet file, or its length."""
    if len(content) < 12:
        return content
    length = int.from_bytes(content[-8:-4], "little")
    changed = bytearray(content)
    if rng.random() < 0.2:
        changed[-8:-4] = struct.pack("<I", _any(EXTREMES, rng) % 2**32)
    for _ in range(int(rng.integers(1, 5))):
        at = len(content) - 8 - int(rng.integers(1, max(2, min(length, len(content)))))
        if 0 <= at < len(changed):
            changed[at] = _any((0, 1, 0x7F, 0x80, 0xFF, int(rng.integers(256))), rng)
    return bytes(changed)


def _rewritten(content, change):
    file = io.BytesIO(content)
    try:
        with h5py.File(file, "r+") as opened:
            change(opened)
    except Exception:  # what was damaged before may not be opened again
        return content
    return file.getvalue()


def _names(content, kind, rng):
    """Another name, link or kind of array in an HDF5 file that is whole."""

    def change(opened):
        name = _any((*ODD_NAMES, *NAMES), rng).replace("\x00", "") or "y"
        old = _any(list(opened), rng)
        way = int(rng.integers(4))
        if way == 0:
            opened.move(old, name.encode("utf-8", "surrogateescape"))
        elif way == 1:
            opened[name.encode("utf-8", "surrogateescape")] = h5py.SoftLink("/" + old)
        elif way == 2:
            opened[f"group/{old}"] = opened[old]
        else:
            opened.create_dataset("x_o", (10**9,), "f4", chunks=(1000,))

    return _rewritten(content, change)


def _attributes(content, kind, rng):
    """Missing values, packings and dimensions of a netCDF file that is whole."""

    def change(opened):
        group = opened[_any(list(opened), rng)]
        member = group[_any(list(group), rng)] if isinstance(group, h5py.Group) else group
        name = _any(("_FillValue", "missing_value", "scale_factor", "CLASS", "_Unsigned"), rng)
        values = (-999, 1e20, np.nan, np.float32(0), "x", np.arange(3.0), np.zeros(2000), 2**63)
        member.attrs[name] = _any(values, rng)

    return _rewritten(content, change)
