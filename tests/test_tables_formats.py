"""Every format says the same of the same table, and refuses the same faults in words."""

import io
import tracemalloc

import h5py
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tests import files
from tests.files import arviz, columns, csv, hdf5, netcdf, npy, npz, parquet_file, table
from validation_core import tables
from validation_core.tables import guarded_file
from validation_core.types import TwoSamples

N, K, D, M = 60, 12, 2, 3


def refusal(content, **options):
    with pytest.raises(ValueError, match=r"; got|missing") as caught:
        tables.read(content, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


FORMATS = {
    "csv": lambda arrays: csv(columns(arrays)),
    "semicolons": lambda arrays: csv(columns(arrays), ";"),
    "parquet": lambda arrays: parquet_file(columns(arrays)),
    "hdf5": hdf5,
    "hdf5 latest": lambda arrays: hdf5(arrays, libver="latest", chunks=True),
    "hdf5 packed": lambda arrays: hdf5(
        arrays, "run", compression="gzip", shuffle=True, fletcher32=True
    ),
    "netcdf": arviz,
    "netcdf prior": lambda arrays: arviz(arrays, chains=3, truth="prior"),
}


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
def test_every_format_reads_the_same_numbers(make):
    arrays = table()
    upload = tables.read(make(arrays))
    assert (upload.n, upload.k, upload.dims) == (N, K, (D, M))
    for name, array in upload.arrays().items():
        np.testing.assert_array_equal(array.astype(np.float32), arrays[name])
    assert not upload.dropped


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
def test_every_format_drops_and_counts_rows_that_are_not_finite(make):
    arrays = table()
    arrays["theta_q"][3, 2, 1], arrays["x"][5] = np.nan, np.inf
    upload = tables.read(make(arrays))
    assert upload.n == N - 2
    assert sum(upload.dropped.values()) == 2


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
def test_every_format_turns_whole_numbers_into_floats(make):
    arrays = {name: (3 * array).astype(np.int32) for name, array in table().items()}
    assert tables.read(make(arrays)).data.q.dtype == np.float64


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
def test_every_format_has_a_limit_that_counts_before_reading(make):
    assert "at most" in refusal(make(table()), limit=1000)


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.995])
def test_every_format_refuses_what_is_cut_off(make, share):
    whole = make(table())
    message = refusal(whole[: int(share * len(whole))])
    assert "whole" in message or "must have" in message or "rows" in message


@pytest.mark.parametrize("make", FORMATS.values(), ids=FORMATS)
def test_no_order_is_asked_for_where_the_file_tells_it(make):
    content = make(table(k=N))
    if content.startswith(b"\x89HDF") and "sim" not in _posterior(content):
        with pytest.raises(tables.AmbiguousOrder):  # axes without names, as in .npz
            tables.read(content)
        return
    assert tables.read(content).k == N


def _posterior(content):
    with h5py.File(io.BytesIO(content), "r") as opened:
        return list(opened.get("posterior", ()))


# One array in a file


def test_a_single_array_needs_its_fellows():
    assert "missing: x, theta_q; got: theta" in refusal(npy(np.zeros((N, D))), name="theta.npy")
    assert "got: array" in refusal(npy(np.zeros((N, D))))
    assert "as long as its header" in refusal(npy(np.zeros(9))[:-4], name="theta.npy")
    message = refusal(npy(np.zeros(3)), name="../../theta.npy")
    assert "got: theta (3). Add" in message


# Long tables


def test_a_long_table_in_any_order_of_rows():
    arrays = columns(table())
    mixed = np.random.default_rng(0).permutation(len(arrays["sim"]))
    shuffled = {name: column[mixed] for name, column in arrays.items()}
    odd = shuffled | {"sim": 10 - 3 * shuffled["sim"], "draw": 7 * shuffled["draw"] + 6}
    odd["draw"] = np.where(shuffled["draw"] < 0, -1, odd["draw"])
    upload = tables.read(parquet_file(arrays))
    assert tables.read(parquet_file(shuffled)).digest == upload.digest
    np.testing.assert_array_equal(tables.read(parquet_file(odd)).data.q, upload.data.q[::-1])


def test_long_tables_have_names_densities_and_other_columns():
    arrays = columns(table()) | {"log_q": np.arange(N * (K + 1)), "note": ["a"] * (N * (K + 1))}
    arrays["theta_mass"], arrays["theta_<b>"] = arrays.pop("theta_1"), arrays.pop("theta_2")
    for content in (csv(arrays), parquet_file(arrays)):
        upload = tables.read(content)
        assert upload.names == ("mass", "<b>")
        assert upload.x_names == ("x_1", "x_2", "x_3")
        np.testing.assert_array_equal(upload.densities["log_q"], np.arange(N) * (K + 1))
        assert upload.densities["log_q_draws"].shape == (N, K)
        assert "note: left unread" in upload.notes[-1]


def test_x_may_be_empty_beside_the_draws():
    arrays = columns(table())
    for name in ("x_1", "x_2", "x_3"):
        arrays[name] = [
            v if d < 0 else None for v, d in zip(arrays[name], arrays["draw"], strict=True)
        ]
    assert tables.read(parquet_file(arrays)).n == N
    text = csv(arrays).replace(b"None", b"")
    np.testing.assert_allclose(tables.read(text).data.x, table()["x"], rtol=1e-6)


@pytest.mark.parametrize("make", [csv, parquet_file])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda columns: columns["draw"].__setitem__(1, -1), "one row with draw = -1"),
        (lambda columns: columns["draw"].__setitem__(0, 99), "one row with draw = -1"),
        (lambda columns: columns["draw"].__setitem__(1, 2), "its own number"),
        (lambda columns: columns["draw"].__setitem__(1, -2), "got -2"),
        (lambda columns: columns["sim"].__setitem__(1, 7), "got 11 (sim 0) to 13 (sim 7)"),
        (lambda columns: columns.update(sim=columns["sim"] + 0.5), "whole numbers"),
        (lambda columns: columns.update(draw=np.full(N * (K + 1), np.nan)), "whole numbers"),
        (lambda columns: columns["x_1"].__setitem__(3, 9.0), "x must be the same"),
        (lambda columns: [columns.pop(f"x_{i}") for i in (1, 2, 3)], "missing: x_*"),
        (lambda columns: [columns.pop(f"theta_{i}") for i in (1, 2)], "missing: theta_*"),
        (lambda columns: columns.update(theta_1=["one"] * (N * (K + 1))), "numbers"),
    ],
)
def test_long_tables_that_do_not_add_up(make, change, words):
    rows = columns(table())
    change(rows)
    assert words in refusal(make(rows))


def test_two_samples_in_a_column():
    rng = np.random.default_rng(0)
    arrays = {"sample": np.array(["p", "q"])[np.arange(140) % 2], "a": rng.standard_normal(140)}
    for content in (csv(arrays), parquet_file(arrays)):
        upload = tables.read(content)
        assert isinstance(upload.data, TwoSamples)
        assert upload.names == ("a",)
        np.testing.assert_allclose(upload.data.q.theta[:, 0], arrays["a"][1::2])
    wrong = arrays | {"sample": np.where(np.arange(140) < 3, "r", arrays["sample"])}
    assert "got p, q, r" in refusal(csv(wrong))
    assert "got numbers" in refusal(parquet_file(arrays | {"sample": np.arange(140)}))


def test_what_pandas_writes_is_read():
    import pandas as pd

    frame = pd.DataFrame(columns(table()))
    file = io.BytesIO()
    frame.sample(frac=1, random_state=0).to_parquet(file)
    assert tables.read(file.getvalue()).n == N
    text = frame.to_csv()
    np.testing.assert_allclose(tables.read(text.encode()).data.q, table()["theta_q"], rtol=1e-5)
    assert tables.read(text.replace("\n", "\r\n").encode("utf-8-sig")).n == N
    assert tables.read(text.replace("\n", "\n\n").encode()).n == N


def test_numbers_without_names_are_an_array_named_by_the_file():
    ((_, upload),) = tables.read_files(
        [("p.csv", b"1,2\n3,4\n5,6\n"), ("q.csv", b"a,b\n1,2\n3,4\n")]
    )
    np.testing.assert_array_equal(upload.data.p.theta, [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(upload.data.q.theta, [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"sim,draw,theta_1,x_1\n0,-1,1,1\n0,0,one,1\n", "one"),
        (b"sim,draw,theta_1,x_1\n0,-1,1\n", "4 values"),
        (b"sim,draw,theta_1,x_1\n", "no rows"),
        (b"a,a\n1,2\n", "own name"),
        (b"\n# nothing\n \n", "column names"),
        (b"just words about nothing", "missing"),
    ],
)
def test_text_that_is_no_table(text, words):
    assert words in refusal(text, name="theta.csv") or words in refusal(text, name="p.csv")


def test_many_columns_of_text():
    """x with 10^4 columns, in one line of names."""
    arrays = columns(table(n=6, k=2, m=10_000))
    assert tables.read(csv(arrays)).dims == (D, 10_000)


def test_parquet_that_declares_absurd_sizes_is_refused_unread():
    zeros = np.zeros(3_000_000)
    content = parquet_file({"sim": zeros, "draw": zeros, "theta_1": zeros, "x_1": zeros})
    assert len(content) < 100_000
    assert "declared by 3,000,000 rows of 4 columns" in refusal(content, limit=2**20)
    nested = io.BytesIO()
    parquet.write_table(pa.table({"theta": [[1.0], [2.0]], "p": [{"a": 1}, {"a": 2}]}), nested)
    assert "columns of real numbers" in refusal(nested.getvalue())


# HDF5


def linked(change, without="theta"):
    """A table in HDF5 in which one array is replaced."""
    arrays = table()
    taken = arrays.pop(without)
    file = io.BytesIO(hdf5(arrays))
    with h5py.File(file, "r+") as opened:
        change(opened, taken)
    return file.getvalue()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f, _: f.__setitem__("theta", h5py.ExternalLink("other.h5", "/theta")),
         "link to another file"),
        (lambda f, _: f.create_dataset("theta", (N, D), "f4", external=[("/etc/passwd", 0, 480)]),
         "points to other files"),
        (lambda f, a: f.create_dataset("theta", data=a, chunks=True, compression="lzf"),
         "gzip and shuffle alone"),
        (lambda f, a: f.create_dataset("theta", data=a, chunks=True, scaleoffset=3),
         "gzip and shuffle alone"),
        (lambda f, _: f.create_dataset("theta", (10**9, 10**3), "f4", chunks=(1000, 1000)),
         "200,000 chunks"),
        (lambda f, _: f.create_dataset("theta", (10**9, 10**3), "f4"), "at most"),
        (lambda f, _: f.create_dataset("theta", (N, D), "f4"), "never written"),
        (lambda f, _: f.create_dataset("theta", (N, D), "f4", chunks=True), "never written"),
        (lambda f, _: f.create_dataset("theta", data=["a"] * N, dtype=h5py.string_dtype()),
         "fixed length"),
        (lambda f, _: f.create_dataset("theta", (N,), h5py.vlen_dtype("f4")), "fixed length"),
        (lambda f, _: f.create_dataset("theta", (N,), h5py.ref_dtype), "fixed length"),
        (lambda f, _: f.__setitem__("theta", h5py.Empty("f4")), "fixed length"),
        (lambda f, _: f.__setitem__("theta", np.zeros((N, D), "S3")), "real numbers"),
        (lambda f, _: f.__setitem__("theta", np.zeros((N, D), "c8")), "real numbers"),
        (lambda f, _: f.__setitem__("theta", h5py.SoftLink("/theta")), "missing: theta"),
        (lambda f, _: f.__setitem__("theta", h5py.SoftLink("/../../etc")), "missing: theta"),
        (lambda f, a: f.__setitem__("../../theta", a), "missing: theta"),
    ],
)  # fmt: skip
def test_hdf5_that_is_refused(change, words):
    assert words in refusal(linked(change))


def test_virtual_datasets_are_refused():
    def change(file, _):
        layout = h5py.VirtualLayout((N, D), "f4")
        layout[:] = h5py.VirtualSource("/tmp/other.h5", "theta", (N, D))
        file.create_virtual_dataset("theta", layout)

    assert "points to other files" in refusal(linked(change))


def test_packed_numbers_are_refused():
    def change(file, array):
        file["theta"] = (100 * array).astype("i2")
        file["theta"].attrs["scale_factor"] = 0.01

    assert "scale_factor" in refusal(linked(change))


def test_no_soft_link_leads_out_of_the_file_by_another(tmp_path):
    (tmp_path / "other.h5").write_bytes(hdf5(table(), "run"))

    def change(file, _):
        file["deep/er/other"] = h5py.ExternalLink("other.h5", "/run")
        file["theta"] = h5py.SoftLink("/deep/er/other/theta")

    path = tmp_path / "table.h5"
    path.write_bytes(linked(change))
    with h5py.File(path) as opened:
        assert opened["theta"].shape == (N, D)
    assert "missing: theta" in refusal(path)


def test_soft_links_inside_the_file_are_followed():
    def change(file, array):
        file["deep/there"] = array
        file["deep/again"] = h5py.SoftLink("there")
        file["theta"] = h5py.SoftLink("/deep/again")

    assert tables.read(linked(change)).digest == tables.read(npz(table())).digest


@pytest.mark.parametrize("packing", [{"compression": "gzip"}, {"shuffle": True},
                                     {"compression": "gzip", "fletcher32": True}])  # fmt: skip
@pytest.mark.parametrize("size", [1, 240, 100_000_000])
def test_a_chunk_that_unpacks_to_another_size_than_it_declares_is_refused(packing, size):
    import zlib

    raw = bytes(min(size, 10_000) if "compression" not in packing else size)
    chunk = zlib.compress(raw, 9) if "compression" in packing else raw

    def change(file, array):
        dataset = file.create_dataset("theta", array.shape, "f4", chunks=array.shape, **packing)
        dataset.id.write_direct_chunk((0, 0), chunk, 4 if "fletcher32" in packing else 0)

    assert "truncated or damaged" in refusal(linked(change))


def test_a_checksum_that_does_not_match_is_refused():
    content = hdf5(table(), chunks=True, fletcher32=True)
    place = content.index(table()["theta"][:4].tobytes()[:24])
    damaged = bytearray(content)
    damaged[place] ^= 1
    assert "truncated or damaged" in refusal(bytes(damaged))


def test_pairs_without_draws_say_what_is_missing():
    arrays = table()
    arrays.pop("theta_q")
    assert "Pairs of theta and x alone say nothing of q" in refusal(hdf5(arrays))


def test_hdf5_has_names_and_says_what_it_leaves():
    arrays = table() | {"theta_names": np.array(["a", "<b>"]), "more": np.zeros(3)}
    upload = tables.read(hdf5(arrays, "run"))
    assert upload.names == ("a", "<b>")
    assert any("more" in note for note in upload.notes)
    file = io.BytesIO(hdf5(table(), "one"))
    with h5py.File(file, "r+") as opened:
        opened.copy("one", "two")
    assert "in one group; got them in one, two" in refusal(file.getvalue())


# ArviZ


def test_parameters_of_an_arviz_file_have_their_names():
    upload = tables.read(arviz(table(d=3)))
    assert upload.names == ("mu", "tau[0]", "tau[1]")
    assert upload.x_names == ("y[0]", "y[1]", "y[2]")


def test_what_xarray_writes_is_read(tmp_path):
    xr = pytest.importorskip("xarray")
    arrays = table()
    groups = {
        "/posterior": xr.Dataset({"t": (("sim", "draw", "part"), arrays["theta_q"])}),
        "/true_parameters": xr.Dataset({"t": (("sim", "part"), arrays["theta"])}),
        "/constant_data": xr.Dataset({"y": (("sim", "place"), arrays["x"])}),
    }
    path = tmp_path / "made.nc"
    xr.DataTree.from_dict(groups).to_netcdf(path, engine="h5netcdf")
    upload = tables.read(path)
    assert upload.digest == tables.read(npz(arrays)).digest
    assert upload.names == ("t[0]", "t[1]")
    flat = xr.Dataset({
        "theta": (("sim", "part"), arrays["theta"]), "x": (("sim", "place"), arrays["x"]),
        "theta_q": (("draw", "sim", "part"), arrays["theta_q"].swapaxes(0, 1)),
    })  # fmt: skip
    flat.to_netcdf(path, engine="h5netcdf")
    assert tables.read(path).digest == upload.digest


POSTERIOR = {"mu": (("sim", "draw"), np.zeros((N, K)))}
TRUTH = {"mu": (("sim",), np.zeros(N))}
DATA = {"y": (("sim", "place"), np.zeros((N, M)))}


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"prior_sbc": {"mu": (("chain", "draw"), np.zeros((1, N)))}}, "holds ranks, not draws"),
        ({"posterior": {"mu": (("chain", "draw"), np.zeros((1, N)))}}, "dimension of simulations"),
        ({"posterior": POSTERIOR, "observed_data": DATA}, "true values that were simulated"),
        ({"posterior": POSTERIOR, "prior_sbc": TRUTH, "observed_data": DATA},
         "true values that were simulated"),
        ({"posterior": POSTERIOR, "truth": TRUTH}, "data of each simulation"),
        ({"posterior": POSTERIOR | {"tau": (("sim", "draw_"), np.zeros((N, K))),
                                    "nu": (("sims", "draws"), np.zeros((N, K + 1)))},
          "truth": TRUTH, "observed_data": DATA}, "equally many"),
    ],
)  # fmt: skip
def test_arviz_files_that_lack_something(groups, words):
    assert words in refusal(netcdf(groups))


# Memory, time and damage


def test_reading_holds_a_table_hardly_more_than_once(tmp_path):
    arrays = table(n=1000, k=1000, d=10, m=10)
    size = sum(array.nbytes for array in arrays.values())
    (tmp_path / "a.npz").write_bytes(npz(arrays))
    (tmp_path / "b.h5").write_bytes(hdf5(arrays))
    tracemalloc.start()
    for name in ("a.npz", "b.h5"):
        tracemalloc.reset_peak()
        tables.read(tmp_path / name, order="NKD")
        assert tracemalloc.get_traced_memory()[1] < 2.2 * size
    tracemalloc.stop()


def test_a_reader_that_dies_or_hangs_costs_a_refusal(monkeypatch):
    good = hdf5(table())
    assert tables.read(good).n == N
    guarded_file.reader_pool.idle[-1].abandon()
    assert tables.read(good).n == N  # another takes its place
    monkeypatch.setattr(guarded_file.ReaderProcess, "ask", _dies(guarded_file.ReaderProcess.ask))
    assert "at most 1.5 GB of memory" in refusal(good)
    monkeypatch.undo()
    assert tables.read(good).n == N


def _dies(ask):
    def asked(child, request):
        child.process.kill()
        child.process.wait()
        return ask(child, request)

    return asked


def test_children_are_kept_and_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(guarded_file.tempfile, "tempdir", str(tmp_path))
    before = len(guarded_file.reader_pool.idle)
    for _ in range(3):
        tables.read(hdf5(table()))
        refusal(hdf5(table())[:100])
    assert len(guarded_file.reader_pool.idle) <= max(1, before)
    assert not list(tmp_path.iterdir())


def test_this_process_imports_no_reader_written_in_c():
    import subprocess
    import sys

    code = (
        "import sys; from validation_core import tables;"
        "tables.read(sys.stdin.buffer.read());"
        "assert not {'h5py', 'pyarrow', 'torch'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], input=hdf5(table()), check=True, timeout=120,
                   cwd=files.__file__.rpartition("/tests/")[0])  # fmt: skip
