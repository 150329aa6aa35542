"""Covariates: files as people have them, the stand-in, and how a digest finds its numbers."""

import dataclasses
import io
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from validation_core import keys, models
from validation_core.bayes import Concrete, HeartTransplants, Ionosphere, designs
from validation_core.bayes.inference import _ExactPosterior
from validation_core.benchmarks.bayes_model import BayesModel
from validation_core.simulations import InferenceRun
from validation_core.store import Store

KINDS = {"ionosphere": Ionosphere, "concrete": Concrete}
each_name = pytest.mark.parametrize("name", list(KINDS))


@pytest.fixture(autouse=True)
def another_process(monkeypatch):
    """What one test lends, another does not have."""
    monkeypatch.setattr(designs, "_LENT", {})
    designs._matrix.cache_clear()
    yield
    designs._matrix.cache_clear()


def raw(name, seed=1):
    """Made-up covariates of the right shape, four decimals as a file has them."""
    rng = np.random.default_rng(seed)
    rows, columns, constant = designs.SHAPES[name]
    result = rng.normal(100, 30, (rows, columns)).round(4)
    result[:, 1 : 1 + constant] = 0
    return result


def text(name, separator=",", decimal=".", header=False, label=None):
    """The file's content: the covariates and one more column."""
    numbers = raw(name)
    last = label or (lambda i: "g" if name == "ionosphere" else f"{30 + i / 8}")
    lines = [
        separator.join([*(f"{x:g}".replace(".", decimal) for x in row),
                        last(i).replace(".", decimal)])
        for i, row in enumerate(numbers)
    ]  # fmt: skip
    names = separator.join(f'"column {j} (kg in a m^3, mixed)"' for j in range(numbers.shape[1]))
    return "\n".join([f'{names}{separator}"last (MPa, megapascals)"'] * header + lines) + "\n"


WAYS = {
    "as UCI has it": {},
    "header": {"header": True},
    "semicolons": {"separator": ";", "header": True},
    "semicolons and decimal commas": {"separator": ";", "decimal": ",", "header": True},
    "decimal commas without header": {"separator": ";", "decimal": ","},
    "tabs": {"separator": "\t", "header": True},
    "labels as numbers": {"label": lambda i: f"{i % 2}.0"},
}


@each_name
@pytest.mark.parametrize("way", list(WAYS))
def test_files_are_read_as_people_have_them(name, way, tmp_path):
    path = tmp_path / "some.data"
    path.write_text(text(name, **WAYS[way]))
    values = np.array([[float(f"{x:g}") for x in row] for row in raw(name)])
    for file in (path, str(path), io.BytesIO(path.read_bytes())):
        np.testing.assert_array_equal(designs.read(file), values)


@each_name
def test_byte_marks_line_ends_and_blank_lines_do_not_matter(name):
    content = "\n" + text(name, header=True).replace("\n", "\r\n") + "\r\n\r\n"
    upload = designs.read(io.BytesIO("\ufeff".encode() + content.encode()))
    np.testing.assert_array_equal(upload, designs.read(io.BytesIO(text(name).encode())))


def shorter(content):
    return "\n".join(content.splitlines()[:-3])


def narrower(content):
    return "\n".join(line.rpartition(",")[0] for line in content.splitlines())


def numbered(content):
    return "\n".join(f"{i},{line}" for i, line in enumerate(content.splitlines()))


def ended(content):
    """A separator too many on each line but that of names."""
    names, *rest = content.splitlines()
    return "\n".join([names, *(f"{line}," for line in rest)])


def one_cell(content):
    first, second, *rest = content.splitlines()
    return "\n".join([first, f"few,{second.partition(',')[2]}", *rest])


def one_long_row(content):
    return f"{content}{content.splitlines()[-1]},1,2"


def repeated(content):
    return "\n".join([content.splitlines()[0]] * 1030)


@pytest.mark.parametrize(
    ("change", "header", "told"),
    [
        (lambda content: " ", False, "got an empty file"),
        (shorter, False, r"1030 rows of 8 .* shape \(1027, 8\)"),
        (narrower, False, "1030 rows and 8 columns"),
        (numbered, False, "1030 rows and 10 columns"),
        (ended, True, "1030 rows and 10 columns"),
        (one_cell, False, "got 'few' in row 2, column 1, and 0 more"),
        (one_long_row, False, "cannot be read.*give one of these"),
        (repeated, False, r"0 of concrete's columns hold one number throughout; got 8"),
        (lambda content: "a photograph", False, "cannot be read.*give one of these"),
        (lambda content: "\0\1\n" * 9, False, "9 rows and 1 columns|8 rows and 1 columns"),
    ],
)
def test_other_files_are_refused_with_what_was_found(change, header, told):
    with pytest.raises(ValueError, match=told):
        designs.read(io.BytesIO(change(text("concrete", header=header)).encode()))


def test_an_archive_that_is_no_workbook_is_refused():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("Concrete_Data.csv", text("concrete"))
    with pytest.raises(ValueError, match="save it as csv"):
        designs.read(io.BytesIO(content.getvalue()))


def test_no_more_is_read_than_such_a_file_can_hold():
    with pytest.raises(ValueError, match="more than 16 MiB"):
        designs.read(Path("/dev/zero"))


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        designs.read(tmp_path / "none.csv")


@pytest.mark.parametrize("start", [b"PK\x03\x04", b"\xd0\xcf\x11\xe0"])
@pytest.mark.parametrize(
    "error", [ImportError("Missing optional dependency 'openpyxl'"), ValueError("no openpyxl")]
)
def test_a_workbook_that_pandas_cannot_read_is_to_be_saved_as_csv(
    start, error, tmp_path, monkeypatch
):
    def refuse(file):
        raise error

    path = tmp_path / "Concrete_Data.xls"
    path.write_bytes(start + bytes(100))
    monkeypatch.setattr(pd, "read_excel", refuse)
    for file in (path, io.BytesIO(path.read_bytes())):
        with pytest.raises(ValueError, match=r"openpyxl.*; save it as csv"):
            designs.read(file)


def test_a_workbook_that_pandas_can_read_is_read(monkeypatch):
    frame = pd.DataFrame(np.column_stack([raw("concrete"), np.ones(1030)]))
    monkeypatch.setattr(pd, "read_excel", lambda file: frame)
    upload = designs.read(io.BytesIO(b"PK\x03\x04"))
    np.testing.assert_array_equal(upload, raw("concrete"))


# OpenML: never the network here.


def openml(monkeypatch, fetch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", SimpleNamespace(fetch_openml=fetch))


@each_name
def test_openml_is_asked_for_its_number(name, monkeypatch):
    requests = []

    def fetch(**how):
        requests.append(how)
        labels = ["g"] * len(raw(name))
        return SimpleNamespace(frame=pd.DataFrame(raw(name)).assign(last=labels))

    openml(monkeypatch, fetch)
    np.testing.assert_array_equal(designs.openml(name), raw(name))
    assert [how["data_id"] for how in requests] == [{"ionosphere": 59, "concrete": 4353}[name]]


def test_openml_without_network_or_library_says_what_to_do(monkeypatch):
    def fetch(**how):
        raise ConnectionError("no route to host")

    openml(monkeypatch, fetch)
    with pytest.raises(ValueError, match="no route to host; check the connection, or give"):
        designs.openml("concrete")
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ValueError, match="scikit-learn, which is not installed; install it, or"):
        designs.openml("concrete")
    with pytest.raises(ValueError, match="ionosphere or concrete; got 'iris'"):
        designs.openml("iris")


def test_another_table_under_that_number_is_refused(monkeypatch):
    openml(monkeypatch, lambda **how: SimpleNamespace(frame=pd.DataFrame(np.eye(20))))
    with pytest.raises(ValueError, match=r"351 rows of 34 covariates.*\(20, 20\)"):
        designs.openml("ionosphere")


def test_listing_designs_asks_nobody(monkeypatch):
    openml(monkeypatch, lambda **how: pytest.fail("asked the network unasked"))
    for name in KINDS:
        KINDS[name]().simulate(2, np.random.default_rng(0))


# From numbers to X.


@each_name
@pytest.mark.parametrize("real", [False, True])
def test_columns_are_standardised_and_an_intercept_comes_first(name, real):
    x = designs._matrix(name, designs.lend(name, raw(name)) if real else "")
    d, n = KINDS[name]().dims
    assert (d, n) == {"ionosphere": (34, 351), "concrete": (9, 1030)}[name]
    assert x.shape == (n, d)
    assert (x[:, 0] == 1).all()
    np.testing.assert_allclose(x[:, 1:].mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(x[:, 1:].std(0), 1, rtol=1e-12)
    assert np.linalg.matrix_rank(x) == d
    with pytest.raises(ValueError, match="read-only"):
        x[0, 0] = 2
    if real:  # each kept column is a raw one, moved and scaled, in its order
        remaining = np.delete(raw(name), 1, axis=1) if name == "ionosphere" else raw(name)
        np.testing.assert_allclose(
            x[:, 1:] * remaining.std(0) + remaining.mean(0), remaining, atol=1e-9
        )


@each_name
def test_the_stand_in_is_always_the_same_and_correlated(name):
    first = designs._stand_in(name)
    assert np.array_equal(first, designs._stand_in(name))
    assert first.shape == raw(name).shape
    still = np.flatnonzero(np.ptp(first, axis=0) == 0)
    assert still.tolist() == ([1] if name == "ionosphere" else [])
    related = np.corrcoef(np.delete(first, still, axis=1).T)
    assert np.abs(related - np.eye(len(related))).max() > 0.3
    np.testing.assert_array_equal(designs.checked(name, first), first)


@each_name
def test_wrong_numbers_are_refused_before_anything_is_lent(name):
    good = raw(name)
    holes = good.copy()
    holes[3, 4] = np.nan
    still = good.copy()
    still[:, 5] = 1
    for bad, message in ((good[1:], "rows of"), (good.T, "rows of"), (holes, "got 1 that"),
                      (still, "one number throughout; got")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            designs.lend(name, bad)
    with pytest.raises(ValueError, match="belong to ionosphere or concrete; got 'iris'"):
        designs.lend("iris", good)
    assert not designs._LENT


# Digests.


def test_an_uploaded_table_is_no_covariates(tmp_path):
    store = Store(tmp_path)
    store.save("tables", "1" * 32, {"theta": np.ones(3)}, spec="upload", meta={})
    with pytest.raises(ValueError, match="under their digest; got '1111"):
        models.covariates(store, Concrete(design="1" * 32))


@each_name
def test_a_model_with_real_covariates_is_another_model(name):
    digest = designs.lend(name, raw(name))
    real, stand_in = KINDS[name](design=digest), KINDS[name]()
    assert keys.key(real) != keys.key(stand_in)
    assert keys.read(keys.text(real)) == real
    assert "stand-in" in stand_in.label
    assert "stand-in" not in real.label
    a, b = (item.simulate(3, np.random.default_rng(0)) for item in (real, stand_in))
    assert np.array_equal(a.theta, b.theta)  # the prior is one
    assert not np.array_equal(a.x, b.x)
    assert designs.lend(name, raw(name)) == digest
    assert designs.lend(name, raw(name, seed=2)) != digest


@each_name
def test_covariates_that_were_not_lent_are_asked_for(name):
    model = KINDS[name](design="0" * 32)
    assert model.dims == KINDS[name]().dims  # known without them
    with pytest.raises(ValueError, match=r"lent to the process.*read the file again"):
        model.simulate(1, np.random.default_rng(0))


@each_name
def test_another_process_finds_them_in_the_store(name, tmp_path, monkeypatch):
    store = Store(tmp_path)
    digest = models.keep_covariates(store, name, raw(name))
    model = KINDS[name](design=digest)
    x = model.simulate(2, np.random.default_rng(0)).x
    monkeypatch.setattr(designs, "_LENT", {})
    designs._matrix.cache_clear()
    models.covariates(Store(tmp_path), model)
    again = dataclasses.replace(model)
    np.testing.assert_array_equal(again.simulate(2, np.random.default_rng(0)).x, x)


def test_a_store_without_them_says_so(tmp_path):
    with pytest.raises(ValueError, match=r"not in .*; read the file again, or take the stand-in"):
        models.covariates(Store(tmp_path), Concrete(design="0" * 32))


def test_a_digest_of_another_table_is_refused(tmp_path):
    store = Store(tmp_path)
    digest = models.keep_covariates(store, "concrete", raw("concrete"))
    with pytest.raises(ValueError, match="351 rows of 34"):
        models.covariates(store, Ionosphere(design=digest))


@pytest.mark.parametrize("model", [Concrete(), Ionosphere(), HeartTransplants(), None])
def test_models_that_name_none_need_none(model, tmp_path):
    models.covariates(Store(tmp_path), model)
    assert not designs._LENT


def test_a_benchmark_s_model_is_lent_its_covariates(tmp_path, monkeypatch):
    store = Store(tmp_path)
    digest = models.keep_covariates(store, "concrete", raw("concrete"))
    monkeypatch.setattr(designs, "_LENT", {})
    models.ready(store, BayesModel(model="concrete", inference="exact", design=digest))
    assert designs.lent("concrete", digest)


def test_a_run_of_another_process_simulates_with_them(tmp_path, monkeypatch):
    digest = models.keep_covariates(Store(tmp_path), "concrete", raw("concrete"))
    monkeypatch.setattr(designs, "_LENT", {})
    run = InferenceRun(
        model=Concrete(design=digest), inference=_ExactPosterior(), iterations=1, datasets=3
    )
    run.run(Store(tmp_path), lambda fraction, live: None)
    stored = run.load(Store(tmp_path))
    w = stored.weights
    np.testing.assert_allclose(w.truth - w.draws, 0, atol=1e-8)
    expected = Concrete(design=digest).exact(stored.x).mean
    np.testing.assert_allclose(stored.q.mean, expected, rtol=1e-12)
