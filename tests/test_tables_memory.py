"""Tables in memory of other packages: torch, pandas, xarray and dicts, by what they can do."""

import io
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import xarray

import validation_core as npt
from tests.files import K, N, npz, table
from tests.test_tables_long import frame
from validation_core import tables
from validation_core.api.table import as_table


def same(found):
    assert found.upload.digest == tables.read(npz(table())).digest


def tensors():
    return {name: torch.tensor(array, requires_grad=True) for name, array in table().items()}


class ArrayLike:
    """Numbers that only `__array__` gives, as JAX has them."""

    def __init__(self, array):
        self._array = array

    def __array__(self, dtype=None, copy=None):
        return self._array.astype(dtype or self._array.dtype)


def test_tensors_with_gradients_are_read():
    given = tensors()
    same(npt.Table(**given))
    same(npt.read(given))
    same(as_table({"thetas": given["theta"], "xs": given["x"], "samples": given["theta_q"]}))
    same(npt.Table(list(given["theta"]), given["x"], given["theta_q"]))
    half = {name: tensor.bfloat16() for name, tensor in given.items()}
    assert npt.Table(**half).n == N


def test_arrays_that_give_themselves_are_read():
    same(npt.Table(**{name: ArrayLike(array) for name, array in table().items()}))


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy, lambda array: array[::1]])
def test_a_table_keeps_its_numbers_when_the_arrays_are_filled_anew(kind):
    arrays = table()
    given = {name: kind(array) for name, array in arrays.items()}
    rows = {"p": given["theta_q"][:, 0], "q": given["theta_q"][:, 1]}
    frame = pd.DataFrame({"theta": arrays["theta"][:, 0], "x": arrays["x"][:, 0]}, copy=False)
    made = [npt.Table(**given), npt.read(given), npt.Table.samples(**rows)]
    made.append(npt.Table(frame[["theta"]], frame["x"], given["theta_q"][..., :1]))
    before = [{name: np.array(array) for name, array in one.arrays().items()} for one in made]
    for array in (*arrays.values(), *(frame[name].values for name in frame)):
        array.flags.writeable = True  # a Series lends its numbers read-only
        array += 3
    for one, held in zip(made, before, strict=True):
        for name, array in one.arrays().items():
            np.testing.assert_array_equal(array, held[name])


def arrays_of(value):
    """The arrays that a value holds, by name, by field or in a tuple."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, Mapping):
        return [array for part in value.values() for array in arrays_of(part)]
    if isinstance(value, tuple):
        return [array for part in value for array in arrays_of(part)]
    if is_dataclass(value):
        return [array for one in fields(value) for array in arrays_of(getattr(value, one.name))]
    return []


def test_a_tables_arrays_cannot_be_written_into():
    given = table(log_q=np.zeros(N), log_q_draws=np.zeros((N, K)), x_o=np.zeros(3))
    rng = np.random.default_rng(0)
    weights = {"log_w": rng.standard_normal(N), "log_w_draws": rng.standard_normal((N, K))}
    made = [
        npt.Table(**given, bounds={"theta_1": (-99, 99)}),
        npt.Table(**table(**weights)),
        npt.Table.samples(given["theta"], given["theta"] + 1),
        npt.Table.ranks(rng.integers(0, 9, (N, 2)), 8),
        npt.Table.classes(rng.dirichlet([1, 1], N), np.arange(N) % 2),
    ]
    again = [replace(one.upload, names=("a", "b")) for one in made]
    for upload in (*(one.upload for one in made), *again):
        held = arrays_of(upload)
        assert held
        for array in held:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
    for one in made:
        for array in one.arrays().values():
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"names": ["a", None]}, "Give '' for a column"),
        ({"names": 5}, "Try names="),
        ({"quantities": ["sum"]}, "Quantities are given by name; got list"),
        ({"theta": "theta.npy"}, r"load it first: numpy.load\('theta.npy'\)"),
        ({"theta_q": Path("q.npy")}, r"load it first: numpy.load\('q.npy'\)"),
    ],
)
def test_what_is_given_in_place_of_names_or_arrays_is_refused_with_what_to_give(change, words):
    with pytest.raises(ValueError, match=words):
        npt.Table(**table() | change)


def test_names_may_be_none_or_numbers():
    assert npt.Table(**table(), names=None, x_names=None).names == ("theta_1", "theta_2")
    numbered = npt.Table(**table(), names=pd.DataFrame(table()["theta"]).columns)
    assert (numbered.names, numbered.warnings) == (("0", "1"), npt.Table(**table()).warnings)


def test_arrays_in_another_order_are_said_to_be_exchanged():
    theta, x, q = (table()[name] for name in ("theta", "x", "theta_q"))
    for wrong in ((q, x, theta), (q, theta, x), (theta, q, x)):
        with pytest.raises(ValueError, match="exchanged: the order is theta, x, theta_q"):
            npt.Table(*wrong)
    with pytest.raises(ValueError, match="Or exchange theta and x"):
        npt.Table(x, theta, q)


def test_draws_of_different_numbers_are_cut_to_the_shortest_however_few_most_have():
    arrays = table()
    few = [draws[: 5 + i % 7] for i, draws in enumerate(arrays["theta_q"])]
    made = npt.Table(arrays["theta"], arrays["x"], few)
    assert (made.n, made.k) == (N, 5)
    for row, draws in zip(made.upload.data.q, few, strict=True):
        assert {*map(tuple, row)} <= {*map(tuple, draws)}
    failed = [draws[: 1 if i % 7 == 0 else K - i % 3] for i, draws in enumerate(arrays["theta_q"])]
    made = npt.Table(arrays["theta"], arrays["x"], failed)
    assert (made.n, made.k) == (N - len(failed[::7]), K - 2)


def test_a_dict_of_arrays_for_each_parameter_names_them():
    arrays = tensors()
    theta = {name: arrays["theta"][:, j : j + 1] for j, name in enumerate(("mass", "spin"))}
    drawn = {name: arrays["theta_q"][..., j : j + 1] for j, name in enumerate(theta)}
    found = npt.read({"theta": theta, "x": {"y": arrays["x"]}, "theta_q": drawn})
    same(found)
    assert (found.names, found.x_names) == (("mass", "spin"), ("y_1", "y_2", "y_3"))
    same(npt.Table(theta, arrays["x"], drawn))


def test_frames_are_read_with_their_columns_or_their_index():
    data = frame()
    plain = npt.read(data)
    assert (plain.n, plain.k, plain.names) == (N, K, ("mass", "spin"))
    indexed = npt.read(data.set_index(["event", "sample"]))
    assert indexed.upload.digest == plain.upload.digest
    arrays = table(m=2)
    truths = pd.DataFrame(arrays["theta"], columns=["mass", "spin"])
    drawn = data.set_index(["event", "sample"])[["mass", "spin"]]
    parts = npt.Table(truths, pd.DataFrame(arrays["x"]), drawn)
    assert parts.names == ("mass", "spin")
    assert parts.upload.digest == plain.upload.digest


@pytest.mark.parametrize(
    "kind",
    [
        "shuffled",
        "levels",
        "draws first",
        "columns",
        "columns of R",
        "chains",
        "draws beside",
        "simulations beside",
    ],
)
def test_draws_in_a_frame_go_to_the_simulation_of_their_index(kind):
    data = frame()
    drawn = data.set_index(["event", "sample"])[["mass", "spin"]]
    truths = pd.DataFrame(table(m=2)["theta"], columns=["mass", "spin"])
    x = table(m=2)["x"]
    whole = npt.Table(truths, x, drawn)
    other = {
        "shuffled": drawn.sample(frac=1.0, random_state=1),
        "levels": drawn.swaplevel(),
        "draws first": drawn.swaplevel().sort_index(),
        "columns": drawn.reset_index(),
        "columns of R": drawn.rename_axis(["event", ".draw"]).reset_index(),
        "chains": drawn.set_index(drawn.index.get_level_values(1) % 2, append=True)
        .rename_axis(["event", "draw", "chain"])
        .sample(frac=1.0, random_state=2),
        "draws beside": drawn.rename_axis(["event", "draw"]).unstack("draw"),
        "simulations beside": drawn.rename_axis(["simulation", "draw"]).unstack("simulation"),
    }[kind]
    assert npt.Table(truths, x, other).upload.digest == whole.upload.digest
    one = npt.Table(truths[["mass"]], x, drawn["mass"] if "event" in other else other[["mass"]])
    assert (one.n, one.k, one.names) == (N, K, ("mass",))


def test_draws_may_come_by_simulation():
    arrays = table()
    drawn = {f"event {i}": q for i, q in enumerate(arrays["theta_q"])}
    same(npt.Table(arrays["theta"], arrays["x"], drawn))
    frame = pd.DataFrame(arrays["theta"], columns=["mass", "spin"])
    same(npt.Table(frame, arrays["x"], {i: torch.tensor(q) for i, q in enumerate(drawn.values())}))


def test_frames_of_unequal_draws_are_refused_with_a_line_that_works():
    data = frame()
    drawn = data.set_index(["event", "sample"])[["mass", "spin"]]
    arrays = table(m=2)
    for given in (
        drawn.iloc[:-3],
        drawn.iloc[:-3].reset_index(),
        drawn.iloc[:-3].rename_axis([None] * 2),
    ):
        with pytest.raises(ValueError, match="as many draws each; got 9 to 12") as caught:
            npt.Table(arrays["theta"], arrays["x"], given)
        line = str(caught.value).partition("of each: ")[2].removesuffix(".")
        cut = eval(line, {"theta_q": given})
        assert npt.Table(arrays["theta"], arrays["x"], cut).k == K - 3


def test_rows_of_tensors_may_be_ragged():
    arrays = table()
    ragged = [row[: 2 + i % 2] for i, row in enumerate(arrays["x"])]
    expected = npt.Table(arrays["theta"], ragged, arrays["theta_q"])
    tensors = [torch.tensor(row, requires_grad=True) for row in ragged]
    found = npt.Table(arrays["theta"], tensors, arrays["theta_q"])
    assert found.upload.digest == expected.upload.digest


def test_draws_in_frames_by_the_names_of_simulations_stay_in_their_order():
    arrays = table(m=2)
    names = [f"event {(7 * i) % N}" for i in range(N)]
    drawn = pd.concat(
        {name: pd.DataFrame(q) for name, q in zip(names, arrays["theta_q"], strict=True)}
    )
    same = npt.Table(*arrays.values()).upload.digest
    assert npt.Table(arrays["theta"], arrays["x"], drawn).upload.digest == same
    theta = pd.DataFrame(arrays["theta"], index=names)
    assert npt.Table(theta, arrays["x"], drawn).upload.digest == same
    x = pd.DataFrame(arrays["x"], index=names)
    theta = theta.sort_index()
    with pytest.raises(ValueError, match="must be in one order") as caught:
        npt.Table(theta, x, drawn)
    assert "theta.loc[theta_q.index.unique(0)]" in str(caught.value)
    order = drawn.index.unique(0)
    assert npt.Table(theta.loc[order], x.loc[order], drawn).upload.digest == same
    assert npt.Table(arrays["theta"], x.to_numpy(), drawn).upload.digest == same


def test_frames_that_are_no_draws_or_no_numbers_are_refused_with_a_line_that_works():
    arrays = table()
    flat = pd.DataFrame(arrays["theta_q"].reshape(-1, 2), columns=["a", "b"])
    with pytest.raises(ValueError, match="simulation and draw in its index") as caught:
        npt.Table(arrays["theta"], arrays["x"], flat)
    line = f"theta_q.to_numpy().reshape({N}, -1, 2)"
    assert line in str(caught.value)
    same(npt.Table(arrays["theta"], arrays["x"], eval(line, {"theta_q": flat})))
    with pytest.raises(ValueError, match="simulation and draw in its index") as caught:
        npt.Table(arrays["theta"], arrays["x"], flat[:-1])
    assert "reshape" not in str(caught.value)
    x = pd.DataFrame(arrays["x"], columns=list("uvw"))
    for column in (pd.Categorical(["a", "b"] * (N // 2)), pd.Timestamp("2026-01-01")):
        with pytest.raises(ValueError, match="words or dates in its column 'kind'") as caught:
            npt.Table(arrays["theta"], x.assign(kind=column), arrays["theta_q"])
    assert "pandas.get_dummies(x, dtype=float)" in str(caught.value)
    coded = pd.get_dummies(x.assign(kind=["a", "b"] * (N // 2)), dtype=float)
    assert npt.Table(arrays["theta"], coded, arrays["theta_q"]).x_names[-1] == "kind_b"


def test_python_s_own_numbers_are_numbers():
    arrays = table()
    objects = {name: array.astype(object) for name, array in arrays.items()}
    assert npt.Table(**objects).upload.n == N
    with_gap = arrays["x"].tolist()
    with_gap[3][1] = None
    gap = npt.Table(arrays["theta"], with_gap, arrays["theta_q"], missing="mask")
    assert gap.x_names[-1] == "x_2 missing"
    decimals = [[Decimal(float(value)) for value in row] for row in arrays["theta"]]
    assert npt.Table(decimals, arrays["x"], arrays["theta_q"]).n == N


def test_a_frame_with_lists_in_its_cells_has_a_row_for_each_simulation():
    arrays = table()
    nested = pd.DataFrame({name: list(array) for name, array in arrays.items()})
    same(npt.read(nested))
    same(npt.Table(nested["theta"], nested["x"], nested["theta_q"]))
    rows = [np.array([*map(np.asarray, draws), None], object)[:-1] for draws in nested["theta_q"]]
    same(npt.Table(nested["theta"], nested["x"], pd.Series(rows)))  # as Arrow gives them
    ragged = nested.assign(theta_q=[q[: K - i % 2] for i, q in enumerate(nested["theta_q"])])
    assert npt.read(ragged).k == K - 1


def test_what_is_no_array_is_refused_by_its_kind():
    theta, x, q = table().values()
    with pytest.raises(ValueError, match=r"got generator, which is read only once. Give list"):
        npt.Table((row for row in theta), x, q)
    with pytest.raises(ValueError, match=r"npt\.check"):
        npt.Table(theta, x, lambda x: x)
    same(npt.Table(torch.tensor(theta).to_sparse(), x, q))


def test_files_in_memory_are_read_as_bytes_of_any_kind():
    content = npz(table())
    same(npt.read(bytearray(content)))
    same(npt.read(memoryview(content)))
    with pytest.raises(ValueError, match=r"open\('FILE', 'rb'\)"):
        npt.read(io.StringIO("a,b\n1,2\n"))
    with pytest.raises(ValueError, match="got an empty one"):
        npt.read("")


def test_names_may_be_an_array_or_an_index():
    theta, x, q = table().values()
    frame = pd.DataFrame(theta, columns=["mass", "spin"])
    for names in (frame.columns, np.array(["mass", "spin"])):
        assert npt.Table(theta, x, q, names=names).names == ("mass", "spin")
        assert npt.Table.samples(theta, q[:, 0], names=names).names == ("mass", "spin")
        ranks = (q < theta[:, None]).sum(1)
        assert npt.Table.ranks(ranks, K, names=names).names == ("mass", "spin")
    with pytest.raises(ValueError, match=r"names=\['mass'\]"):
        npt.Table(theta, x, q, names="mass")


def test_row_labels_that_were_saved_and_read_are_no_column_of_a_frame():
    def again(values, names):
        text = pd.DataFrame(values, columns=names).to_csv()
        return pd.read_csv(io.StringIO(text))  # without index_col=0

    arrays = table()
    theta, x = again(arrays["theta"], ["a", "b"]), again(arrays["x"], ["u", "v", "w"])
    read = npt.Table(theta, x, arrays["theta_q"])
    assert (read.names, read.x_names) == (("a", "b"), ("u", "v", "w"))
    assert read.notes.count("Unnamed: 0: left unread, numbers of rows.") == 1
    assert npt.Table.samples(theta, theta).names == ("a", "b")


def test_columns_of_a_frame_are_named_by_the_user():
    data = frame("which", "number", "{}_0")
    said = {"sim": "which", "draw": "number", "theta": ["mass_0", "spin_0"],
            "theta_q": ["mass", "spin"], "x": ["y1", "y2"]}  # fmt: skip
    assert npt.read(data, arrays=said).names == ("mass", "spin")
    with pytest.raises(tables.UnknownArrays, match="sim=NAME"):
        npt.read(data)


def test_datasets_and_trees_of_xarray_are_read():
    arrays = table()
    theta, x, q = arrays.values()
    dims = {"theta": ("sim", "par"), "x": ("sim", "datum"), "theta_q": ("sim", "draw", "par")}
    same(npt.read(xarray.Dataset({n: (dims[n], a) for n, a in arrays.items()})))
    posterior = {f"p{j}": (("sim", "chain", "draw"), q[:, None, :, j]) for j in range(2)}
    tree = xarray.DataTree.from_dict({
        "/posterior": xarray.Dataset(posterior),
        "/prior": xarray.Dataset({f"p{j}": ("sim", theta[:, j]) for j in range(2)}),
        "/observed_data": xarray.Dataset({"y": (("sim", "datum"), x)}),
    })  # fmt: skip
    same(npt.read(tree))


class Saves:
    """What ArviZ's InferenceData can do: write itself as netCDF."""

    def __init__(self, tree):
        self._tree = tree

    def to_netcdf(self, filename, engine="h5netcdf"):
        if self._tree is None:
            raise TypeError("Invalid value for attr 'a': None")
        self._tree.to_netcdf(filename, engine=engine)


def test_whatever_writes_itself_as_netcdf_is_read_or_says_why_not():
    dims = {"theta": ("sim", "par"), "x": ("sim", "datum"), "theta_q": ("sim", "draw", "par")}
    same(npt.read(Saves(xarray.Dataset({n: (dims[n], a) for n, a in table().items()}))))
    with pytest.raises(ValueError, match="Invalid value for attr 'a'"):
        npt.read(Saves(None))


def test_no_package_of_these_is_imported_for_arrays():
    code = (
        "import sys; import numpy as np; import validation_core as npt;"
        "rng = np.random.default_rng(0); theta = rng.normal(size=(60, 2));"
        "npt.Table(theta, theta + 1.0, rng.normal(size=(60, 9, 2)));"
        "assert not {'torch', 'pandas', 'xarray', 'h5py', 'pyarrow'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
