"""Forms of a format that are valid and seldom: read as pandas, xarray and h5py read them."""

import io

import h5py
import numpy as np
import pytest

from tests.files import arviz, columns, csv, hdf5, npz, table
from validation_core import tables

N, K, D, M = 60, 12, 2, 3


def refusal(content, **options):
    with pytest.raises(ValueError, match=r"; got|missing") as caught:
        tables.read(content, **options)
    assert str(caught.value).isprintable()
    return str(caught.value)


# CSV


ROWS = "".join(f"{i - 3}.5,{i * i}.25\n" for i in range(N))
Q = b"a,b\n" + b"".join(b"%d.5,%d.25\n" % (i, i) for i in range(N))


def points(content):
    """A plain table of two columns, read as the sample p."""
    content = content.encode() if isinstance(content, str) else content
    ((_, upload),) = tables.read_files([("p.csv", content), ("q.csv", Q)])
    return upload.data.p.theta


def pandas_points(content, **options):
    pandas = pytest.importorskip("pandas")
    content = content.encode() if isinstance(content, str) else content
    return pandas.read_csv(io.BytesIO(content), **options).to_numpy()


FORMS = {
    "plain": ("a,b\n" + ROWS, {}),
    "comments": ("# by X\n# in 2024\na,b\n# more\n" + ROWS + "# end\n", {"comment": "#"}),
    "separator": ("sep=;\na;b\n" + ROWS.replace(",", ";"), {"sep": ";", "skiprows": 1}),
    "quoted separator": ('"sep=;"\r\na;b\r\n' + ROWS.replace(",", ";").replace("\n", "\r\n"),
                         {"sep": ";", "skiprows": 1}),
    "blank lines": ("\n\na,b\n" + ROWS.replace("\n", "\n\n", 9) + "\n   \n\t\n", {}),
    "no last line end": (("a,b\n" + ROWS).rstrip(), {}),
    "trailing marks": ("a,b,\n" + ROWS.replace("\n", ",\n"), {"usecols": ["a", "b"]}),
    "trailing marks of rows": ("a,b\n" + ROWS.replace("\n", ",\n"), {"index_col": False}),
    "trailing mark of names": ("a,b,\n" + ROWS, {"usecols": ["a", "b"]}),
    "trailing blanks": ("a,b\n" + ROWS.replace("\n", "  \n"), {}),
    "spaces": ("a, b\n" + ROWS.replace(",", " , "), {"skipinitialspace": True}),
    "decimal commas": ("a;b\n" + ROWS.replace(",", ";").replace(".", ","),
                       {"sep": ";", "decimal": ","}),
    "decimal commas and tabs": ("a\tb\n" + ROWS.replace(",", "\t").replace(".", ","),
                                {"sep": "\t", "decimal": ","}),
    "quoted numbers": ('"a","b"\n' + '"' + ROWS.strip().replace(",", '","').replace("\n", '"\n"')
                       + '"\n', {}),
    "mark of byte order": ("\ufeffa,b\n" + ROWS, {}),
    "mark of byte order, no names": ("\ufeff" + ROWS, {"header": None}),
    "old line ends": (("a,b\n" + ROWS).replace("\n", "\r"), {}),
    "old line ends, comments": (("# x\na,b\n# y\n" + ROWS).replace("\n", "\r"), {"comment": "#"}),
    "windows": (("mü,b\n" + ROWS).encode("cp1252"), {"encoding": "cp1252"}),
    "exponents": ("a,b\n" + ROWS.replace(".5", ".5E+0"), {}),
}  # fmt: skip


@pytest.mark.parametrize(("content", "options"), FORMS.values(), ids=FORMS)
def test_a_valid_form_of_csv_is_read_as_pandas_reads_it(content, options):
    np.testing.assert_array_equal(points(content), pandas_points(content, **options))


def test_missing_values_of_csv_are_those_of_pandas():
    content = "a,b\n#N/A,1\n,2\nNaN,3\nnull,4\nNA,5\n4,\n" + ROWS
    expected = pandas_points(content)
    assert np.isnan(expected).sum() == 6
    np.testing.assert_array_equal(points(content), expected[6:])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_text_in_quotes_may_hold_marks_line_ends_and_what_looks_like_comments(end):
    content = columns(table())
    rows = N * (K + 1)
    upload = tables.read(csv(content | {"note": ['"a, b\n# c\n\nd;""e"""'] * rows})
                         .replace(b"\n", end.encode()))  # fmt: skip
    assert upload.digest == tables.read(csv(content)).digest
    assert any("note: left unread" in note for note in upload.notes)


def test_names_of_csv_may_stand_in_a_comment_as_numpy_saves_them():
    file = io.StringIO()
    content = columns(table())
    np.savetxt(file, np.column_stack(list(content.values())), delimiter=",",
               header=",".join(content))  # fmt: skip
    upload = tables.read(file.getvalue().encode())
    assert (upload.n, upload.k, upload.dims) == (N, K, (D, M))


def test_names_in_an_old_code_are_read_and_said():
    content = columns(table())
    content["theta_é"] = content.pop("theta_1")
    upload = tables.read(csv(content).decode().encode("cp1252"))
    assert "é" in upload.names
    assert any("Windows-1252" in note for note in upload.notes)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a;b\n" + ROWS.replace(",", ";").replace(".5", ",5"), "'-3,5'"),
        ("a;b\n" + "".join(f"{i + 1},500;{i}\n" for i in range(N)), "'1,500'"),
        ("a,b\n" + "".join(f'"r{i}",{i},1\n' for i in range(9)), "Expected 2 columns, got 3"),
        ("a,b\n1\n" + ROWS, "Expected 2 columns, got 1"),
        ("a,b\n0x10,1\n" + ROWS, "'0x10'"),
        ("a,b\n" + ROWS.replace(".5", ".5 m"), "'-3.5 m'"),
    ],
)
def test_csv_whose_numbers_are_ambiguous_is_refused_with_them(content, words):
    with pytest.raises(ValueError, match="must have 2 values, numbers") as caught:
        points(content)
    assert words in str(caught.value)


@pytest.mark.parametrize("code", ["utf-16", "utf-16-be", "utf-32"])
def test_text_in_two_bytes_is_refused_by_its_code(code):
    assert "A file must be" in refusal(("a,b\n" + ROWS).encode(code))


# HDF5


def rewritten(change, content=None):
    file = io.BytesIO(hdf5(table()) if content is None else content)
    with h5py.File(file, "r+") as opened:
        change(opened)
    return file.getvalue()


@pytest.mark.parametrize("size", [512, 1024, 4096])
@pytest.mark.parametrize("chunks", [None, True])
def test_a_user_block_is_passed_over(size, chunks):
    file = io.BytesIO()
    with h5py.File(file, "w", userblock_size=size) as opened:
        for name, array in table().items():
            opened.create_dataset(name, data=array, chunks=chunks)
    content = bytearray(file.getvalue())
    content[:12] = b"some words, "
    assert tables.read(bytes(content)).digest == tables.read(npz(table())).digest


@pytest.mark.parametrize("size", [0, 512])
def test_an_array_that_was_never_written_is_refused_by_that_reason(size):
    file = io.BytesIO()
    with h5py.File(file, "w", userblock_size=size) as opened:
        arrays = table()
        opened.create_dataset("theta", (N, D), "f4")
        opened["x"], opened["theta_q"] = arrays["x"], arrays["theta_q"]
    assert "'theta', which was declared and never written" in refusal(file.getvalue())


@pytest.mark.parametrize("fill", [7.0, np.nan])
def test_chunks_that_were_never_written_hold_the_fill_value_as_h5py_has_it(fill):
    def change(file):
        array = file["theta_q"][:]
        del file["theta_q"]
        q = file.create_dataset("theta_q", array.shape, "f4", chunks=(20, K, D), fillvalue=fill)
        q[:40] = array[:40]

    content = rewritten(change)
    upload = tables.read(content)
    with h5py.File(io.BytesIO(content)) as opened:
        expected = opened["theta_q"][:]
    keep = np.isfinite(expected).all((1, 2))
    np.testing.assert_array_equal(upload.arrays()["theta_q"], expected[keep])
    assert upload.n == (N if fill == 7 else 40)
    assert any(f"{20 * K * D} values of theta_q were never written" in n for n in upload.notes)


def test_an_array_in_its_own_header_is_read():
    def change(file):
        array = file["theta"][:]
        del file["theta"]
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((N, D))
        h5py.h5d.create(file.id, b"theta", h5py.h5t.NATIVE_FLOAT, space, plist)
        file["theta"][...] = array

    assert tables.read(rewritten(change)).digest == tables.read(npz(table())).digest


# Missing values of netCDF


@pytest.mark.parametrize("fill", [-999.0, 1e20, 9.969209968386869e36])
@pytest.mark.parametrize("attribute", ["_FillValue", "missing_value"])
def test_missing_values_are_those_of_xarray(fill, attribute, tmp_path):
    xarray = pytest.importorskip("xarray")
    arrays = table()
    arrays["theta_q"][3, :4, 1] = fill
    arrays["x"][5, 0] = fill
    dims = {"theta": ("sim", "part"), "x": ("sim", "place"), "theta_q": ("sim", "draw", "part")}
    data = xarray.Dataset({name: (dims[name], array) for name, array in arrays.items()})
    for variable in data.data_vars.values():
        variable.attrs[attribute] = np.float32(fill)
    path = tmp_path / "made.nc"
    data.to_netcdf(path, engine="h5netcdf")
    upload = tables.read(path)
    with xarray.open_dataset(path, engine="h5netcdf") as opened:
        expected = {name: opened[name].to_numpy() for name in arrays}
    keep = np.isfinite(expected["theta_q"]).all((1, 2)) & np.isfinite(expected["x"]).all(1)
    assert upload.n == keep.sum() == N - 2
    for name in arrays:
        np.testing.assert_array_equal(upload.arrays()[name], expected[name][keep])
    shown = f"{fill:g}"
    assert f"4 values of theta_q are the file's missing value {shown}: treated as missing." in (
        upload.notes
    )
    assert any("1 values of x are" in note or "1 value of x is" in note for note in upload.notes)


def test_whole_numbers_have_missing_values_too():
    arrays = {name: (9 * array).astype(np.int16) for name, array in table().items()}
    arrays["theta_q"][4, 2, 0] = -999

    def change(file):
        for name in ("theta_q", "x"):
            file[name].attrs["_FillValue"] = np.int16(-999)
            file[name].attrs["missing_value"] = [1e20, -998.5]  # no whole number of 16 bits

    upload = tables.read(rewritten(change, hdf5(arrays)))
    assert upload.n == N - 1
    assert any("1 value of theta_q is the file's missing value -999" in n for n in upload.notes)


def test_a_missing_value_of_an_arviz_file_drops_its_simulation():
    arrays = table()
    arrays["theta_q"][7, 3, 0] = -999

    def change(file):
        file["posterior/mu"].attrs["_FillValue"] = np.float32(-999)
        file["truth/mu"].attrs["_FillValue"] = np.float32(np.nan)

    upload = tables.read(rewritten(change, arviz(arrays)))
    assert upload.n == N - 1
    assert any("missing value -999" in note for note in upload.notes)


def test_one_missing_value_for_half_of_the_rows_is_refused_as_nan_is():
    arrays = table()
    arrays["theta_q"][: N // 2 + 1] = -999

    def change(file):
        file["theta_q"].attrs["_FillValue"] = np.float32(-999)

    assert "half of the rows must be finite" in refusal(rewritten(change, hdf5(arrays)))


@pytest.mark.parametrize("name", ["scale_factor", "add_offset", "_Unsigned"])
def test_packed_numbers_are_refused_by_their_attribute(name):
    def change(file):
        file["x"].attrs[name] = 1.0

    assert f"packed with {name}" in refusal(rewritten(change))
