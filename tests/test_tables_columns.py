"""Tables of columns, .csv and .parquet: long, two samples, or one array named by its file."""

import io

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.files import D, K, N, columns, csv, npy, parquet_file, refusal, table
from validation_core import tables
from validation_core.types import TwoSamples


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
        (lambda columns: columns.update(sim=columns["sim"] + 0.5), "whole numbers"),
        (lambda columns: columns.update(draw=np.full(N * (K + 1), np.nan)), "whole numbers"),
        (lambda columns: columns["x_1"].__setitem__(3, 9.0), "x must be the same"),
        (
            lambda columns: columns.update(
                y=next(iter([columns.pop(f"x_{i}") for i in (1, 2, 3)]))
            ),
            "missing: x",
        ),
        (lambda columns: [columns.pop(f"theta_{i}") for i in (1, 2)], "missing: theta"),
        (lambda columns: columns.update(theta_1=["one"] * (N * (K + 1))), "numbers"),
    ],
)
def test_long_tables_that_do_not_add_up_are_refused(make, change, words):
    rows = columns(table())
    change(rows)
    assert words in refusal(make(rows))


def test_two_samples_are_told_apart_by_a_column():
    rng = np.random.default_rng(0)
    arrays = {"sample": np.array(["p", "q"])[np.arange(140) % 2], "a": rng.standard_normal(140)}
    for content in (csv(arrays), parquet_file(arrays)):
        upload = tables.read(content)
        assert isinstance(upload.data, TwoSamples)
        assert upload.names == ("a",)
        np.testing.assert_allclose(upload.data.q.theta[:, 0], arrays["a"][1::2])
    wrong = arrays | {"sample": np.where(np.arange(140) < 3, "r", arrays["sample"])}
    assert "got p, q, r" in refusal(csv(wrong))
    assert "sim=NAME" in refusal(parquet_file(arrays | {"sample": np.arange(140)}))


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("Unnamed: 0", np.arange(140)), ("index", np.tile(np.arange(70), 2)), ("chain", [1] * 140)],
)
@pytest.mark.parametrize("pack", [csv, parquet_file])
def test_columns_that_number_rows_are_no_parameters(pack, name, numbers):
    a = np.random.default_rng(0).standard_normal(140)
    sample = np.repeat(["p", "q"], 70)
    upload = tables.read(pack({name: np.array(numbers), "a": a, "sample": sample}))
    assert upload.names == ("a",)
    assert upload.notes == (f"{name}: left unread, numbers of rows.",)
    one = pack({name: np.array(numbers), "a": a})
    ((_, both, _),) = tables.read_files([("p.csv", one), ("q.csv", one)])
    assert both.names == ("a",)


def test_a_parameter_called_index_that_is_no_number_of_rows_is_read():
    index = np.random.default_rng(0).integers(0, 9, 140)
    for values in (index, index + 0.5):
        one = {"index": values, "sample": np.array(["p", "q"])[np.arange(140) % 2]}
        assert tables.read(csv(one)).names == ("index",)


def test_rows_numbered_in_another_order_than_those_of_other_files_are_refused():
    arrays = table()
    rest = [("x.npy", npy(arrays["x"])), ("theta_q.npy", npy(arrays["theta_q"]))]
    theta = {"id": np.arange(1, N + 1), "a": arrays["theta"][:, 0], "b": arrays["theta"][:, 1]}
    ((_, upload, _),) = tables.read_files([("theta.csv", csv(theta)), *rest])
    assert upload.names == ("a", "b")
    assert "id: left unread, numbers of rows." in upload.notes
    turned = {name: column[::-1] for name, column in theta.items()}
    with pytest.raises(ValueError, match=r"'id' that numbers them 60, 59, .* Sort the rows"):
        tables.read_files([("theta.csv", csv(turned)), *rest])


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
    ((_, upload, _),) = tables.read_files(
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
def test_text_that_is_no_table_is_refused(text, words):
    assert words in refusal(text, name="theta.csv") or words in refusal(text, name="p.csv")


def test_a_long_table_of_ten_thousand_columns_is_read():
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
