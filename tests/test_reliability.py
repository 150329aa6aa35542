"""Stated probabilities: read as users save them, tested exactly, drawn, on the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import isotonic_regression
from sklearn.isotonic import IsotonicRegression
from streamlit.testing.v1 import AppTest

import validation_core as npt
from pages.ui.services import services
from tests.conftest import ROOT, nothing_worked_out
from validation_core.cli import main
from validation_core.diagnosis.reliability import discrete_parameters, reliability_study
from validation_core.diagnosis.reliability_over_x import regions_of
from validation_core.statistics import binomial_bounds
from validation_core.statistics.reliability import (
    brier_split,
    pooled_shares,
    pvalues_beyond_curve,
    recalibrated,
    reliability_checks,
)
from validation_core.store import Store
from validation_core.tables import Upload
from validation_core.types import Array


def drawn(seed: int, n: int = 100, c: int = 3, digits: int | None = None) -> tuple[Array, Array]:
    """Probabilities (n, c) and classes drawn from them."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(c), n)
    if digits is not None:
        p = np.round(p, digits)
        p /= p.sum(1, keepdims=True)
    return p, (rng.random(n)[:, None] >= p.cumsum(1)[:, :-1]).sum(1)


def sharpened(p: Array, power: float) -> Array:
    return p**power / (p**power).sum(1, keepdims=True)


def slots(seed: int, n: int = 60, k: int = 12) -> Array:
    """Slots (n, k + 1) of a discrete parameter, alike given x."""
    rng = np.random.default_rng(seed)
    return (rng.random((n, k + 1)) < rng.random((n, 1))) * 1.0


def null_pvalues(kind: str, tables: int) -> Array:
    out = []
    for seed in range(tables):
        if kind == "discrete":
            one = slots(seed)
            p, classes, _ = pooled_shares(one[:, 0], one[:, 1:])
        else:
            p, classes = drawn(seed, c=int(kind[0]), digits=1 if "ties" in kind else None)
        rng = np.random.default_rng(seed)
        over = regions_of(data(p, kind, rng), p, rng) if "x" in kind else None
        out.append(reliability_checks(p, classes, rng, 99, over and over.sums).pvalue)
    return np.array(out)


def data(p: Array, kind: str, rng: np.random.Generator) -> Array:
    """x (n, 3) that follows the probabilities: its noise, few values of it, nothing of them; of
    two columns without the last."""
    follows = p[:, -1] + 0.3 * rng.standard_normal(len(p))
    return np.column_stack([follows, np.round(2 * follows), rng.standard_normal(len(p))])[
        :, : 2 if "plane" in kind else 3
    ]


KINDS = (
    "2 classes", "3 classes", "4 classes, ties", "discrete", "2 classes, x",
    "2 classes, ties, plane of x",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tables", [60, pytest.param(2000, marks=pytest.mark.slow)])
def test_the_level_is_exact(kind, tables):
    p = null_pvalues(kind, tables)
    for alpha in (0.05, 0.2):
        low, high = binomial_bounds(tables, alpha, 1 - 1e-4)
        assert (p <= alpha).sum() <= high
        assert (p <= alpha).sum() >= low or kind != "3 classes"


def off_in_part(seed: int, n: int = 400) -> npt.Table:
    """Right over all rows, but .24 too high where the age, which q ignores, is above .8."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.standard_normal(n), rng.random(n)])
    said = 0.3 + 0.4 * rng.random(n)
    y = rng.random(n) < np.where(x[:, 1] > 0.8, said - 0.24, said + 0.06)
    return npt.Table.classes(said, y, x, names=["no", "yes"], x_names=["dose", "age"])


def test_an_error_in_part_of_x_is_found_and_its_place_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path / "cache"))
    found = named = 0
    for seed in range(20):
        p, classes, x = vars(off_in_part(seed).upload.data).values()
        rng = np.random.default_rng(seed)
        over = regions_of(x, p, rng)
        checks = reliability_checks(p, classes, rng, 199, over.sums)
        found += checks.adjusted[checks.of.index(("over_x", 0))] <= 0.05
        place = over.worst(p[:, 1], classes == 1)
        named += (place.along, place.which) == ("x", 1) and place.said - place.happened > 0.1
    assert found >= 12
    assert named >= 15
    table = off_in_part(3, 1000)
    path = table.save(tmp_path / "t.npz")
    assert npt.read(path).upload.digest == table.upload.digest
    assert main(["diagnose", str(path), "--json", "-"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    (row,) = numbers["events"]
    assert numbers["verdict"] == "problem found"
    assert numbers["pvalue_over_x"] <= 0.05
    low = float(row["worst where"].removeprefix("age ≥ "))
    assert 0.7 < low < 0.85
    inside = table.upload.data.x[:, 1] >= low - 1e-3
    p, classes = table.upload.data.p, table.upload.data.classes
    assert abs(row["rows there"] - inside.sum()) <= 5
    assert row["said there"] == pytest.approx(p[inside, 1].mean(), abs=0.01)
    assert row["happened there"] == pytest.approx(classes[inside].mean(), abs=0.01)
    said = next(text for text in numbers["sentences"] if "more in part of x" in text)
    assert f"yes, where {row['worst where']}: said" in said
    report = tmp_path / "r.html"
    assert main(["diagnose", str(path), "--report", str(report)]) == 0
    assert said in capsys.readouterr().out
    assert "more in part of x" in report.read_text()


def test_an_error_that_is_the_same_at_every_x_is_found_and_not_said_to_be_in_part_of_it(tmp_path):
    """Too high by .06 in every row: regions differ in p, and so in p (1 - p)."""
    found = claimed = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-2, 2, (1000, 1))
        said = 0.08 + 0.9 / (1 + np.exp(-2 * x[:, 0]))
        y = (rng.random(1000) < said - 0.06).astype(int)
        p = np.column_stack([1 - said, said])
        over = regions_of(x, p, rng)
        checks = reliability_checks(p, y, rng, 99, over.sums)
        in_part = checks.adjusted[checks.of.index(("over_x", 0))]
        found += in_part <= 0.05
        claimed += max(in_part, pvalues_beyond_curve(p, y, rng, over.sums, 99)[0]) <= 0.05
    assert claimed <= binomial_bounds(12, 0.05, 0.999)[1] < found
    table = npt.Table.classes(said, y, x)
    sentences = npt.reliability(table, store=Store(tmp_path), progress=False).sentences
    assert "are wrong" in sentences[0]
    assert any("No part of x stands out" in text for text in sentences)


def test_x_that_says_nothing_is_left_aside(tmp_path):
    p, classes = drawn(0)
    x = np.full((100, 2), 3.0)
    table = npt.Table.classes(p, classes, x)
    assert any("x never varies" in note for note in table.notes)
    constant = npt.reliability(table, store=Store(tmp_path), progress=False)
    assert json.loads(constant.to_json())["pvalue_over_x"] is None
    few = npt.Table.classes(p[:8], classes[:8], np.arange(8.0))
    said = npt.reliability(few, store=Store(tmp_path), progress=False).sentences
    assert "No part of x has enough of the 8 rows to be looked at alone." in said
    gaps = np.random.default_rng(0).standard_normal((100, 2))
    gaps[:30, 0] = np.nan
    given = {"probabilities": p, "label": classes, "x": gaps}
    assert npt.Table.of(Upload.of(given)).n == 70
    assert Upload.of(given, missing="mask").data.x.shape == (100, 3)


def test_overconfidence_and_impossible_classes_are_found():
    found = 0
    for seed in range(20):
        p, classes = drawn(seed, n=300)
        found += (
            reliability_checks(sharpened(p, 1.5), classes, np.random.default_rng(0), 199).pvalue
            <= 0.05
        )
    assert found >= 15
    sure = np.repeat([[1.0, 0.0]], 50, axis=0)
    classes = np.zeros(50, np.int64)
    assert reliability_checks(sure, classes, np.random.default_rng(0), 199).pvalue == 1
    classes[0] = 1
    assert reliability_checks(sure, classes, np.random.default_rng(0), 199).pvalue == 1 / 200


def test_the_brier_score_is_the_sum_of_its_parts():
    p, classes = drawn(0)
    stated, hit = p[:, 0], (classes == 0) * 1.0
    split = brier_split(stated, hit)
    assert split.score == pytest.approx(np.square(stated - hit).mean())
    assert split.score == pytest.approx(split.reliability - split.resolution + split.uncertainty)
    assert min(split.reliability, split.resolution) >= 0
    theirs = IsotonicRegression(y_min=0, y_max=1).fit_transform(stated, hit)
    np.testing.assert_allclose(recalibrated(stated, hit), theirs)
    same = recalibrated(np.full(100, 0.3), hit)  # equal probabilities stay together
    np.testing.assert_allclose(same, hit.mean())
    assert isotonic_regression(hit).x.shape == hit.shape


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p, y: (p[:, 1], y), "(N,) were read as those of class 1"),
        (lambda p, y: (p[:, 1:], y), "(N, 1) were read as those of class 1"),
        (lambda p, y: (p, y + 1), "class 1 is the first column"),
        (lambda p, y: (p, np.eye(2)[y]), "read as one-hot"),
        (lambda p, y: (np.round(p, 2) + np.array([[0, 0.004]]), y), "divided by its sum"),
    ],
)
def test_probabilities_are_read_as_users_save_them(tmp_path, change, said):
    p, classes = drawn(0, c=2)
    stated, label = change(p, classes)
    np.savez(tmp_path / "t.npz", model_probabilities=stated, true_model=label)
    table = npt.read(tmp_path / "t.npz")
    assert any(said in note for note in table.notes)
    np.testing.assert_allclose(table.upload.data.p, p, atol=0.01)
    np.testing.assert_array_equal(table.upload.data.classes, classes)
    again = npt.read(table.save(tmp_path / "u.npz"))
    assert (again.upload.digest, again.names) == (table.upload.digest, table.names)


_ANIMALS = np.array(["cat", "dog", "cow"])


@pytest.mark.parametrize(
    ("columns", "label", "names"),
    [
        (["probabilities_1", "probabilities_2", "probabilities_3"], lambda y: y, None),
        (["p_0", "p_1", "p_2"], lambda y: y, None),
        (["class_probabilities_1", "class_probabilities_2", "class_probabilities_3"], None, None),
        (["prob_cat", "prob_dog", "prob_cow"], lambda y: y, _ANIMALS),
        (["prob_cat", "prob_dog", "prob_cow"], lambda y: _ANIMALS[y], _ANIMALS),
    ],
)
@pytest.mark.parametrize("with_x", [False, True])
def test_a_table_of_columns_holds_probabilities_by_class(tmp_path, columns, label, names, with_x):
    p, classes = drawn(0)
    frame = pd.DataFrame(p, columns=columns)
    frame["label"] = classes + 1 if label is None else label(classes)
    if with_x:
        frame["x_height"] = p[:, 0] ** 2
    frame["comment"] = "none"
    for path, write in ((tmp_path / "t.csv", frame.to_csv), (tmp_path / "t.pq", frame.to_parquet)):
        write(path, index=False)
        upload = npt.read(path).upload
        np.testing.assert_allclose(upload.data.p, p)
        np.testing.assert_array_equal(upload.data.classes, classes)
        assert upload.names == (("class_1", "class_2", "class_3") if names is None else (*names,))
        assert upload.x_names == (("x_height",) if with_x else ())
        assert any("comment" in note for note in upload.notes)


def test_columns_of_classes_go_by_number_and_of_two_one_is_enough(tmp_path):
    p, classes = drawn(0, c=12)
    order = np.random.default_rng(0).permutation(12)
    frame = pd.DataFrame(p[:, order], columns=[f"prob_{j}" for j in order]).assign(label=classes)
    frame.to_csv(tmp_path / "many.csv", index=False)
    np.testing.assert_allclose(npt.read(tmp_path / "many.csv").upload.data.p, p)
    p, classes = drawn(0, c=2)
    frame = pd.DataFrame({"prob": p[:, 1], "true_class": classes})
    frame.to_csv(tmp_path / "two.csv", index=False)
    np.testing.assert_allclose(npt.read(tmp_path / "two.csv").upload.data.p, p)


def test_a_class_of_no_column_is_refused_by_its_name(tmp_path):
    p, classes = drawn(0)
    frame = pd.DataFrame(p, columns=["prob_cat", "prob_dog", "prob_cow"])
    frame["label"] = np.where(classes == 1, "bird", _ANIMALS[classes])
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match=r"names of the classes, cat, dog, cow.*got 'bird'"):
        npt.read(tmp_path / "t.csv")


@pytest.mark.parametrize("kind", ["U", "S"])
def test_classes_are_named_as_in_class_names(tmp_path, kind):
    p, classes = drawn(0)
    named, names = (array.astype(kind) for array in (_ANIMALS[classes], _ANIMALS))
    np.savez(tmp_path / "t.npz", probabilities=p, label=named, class_names=names)
    table = npt.read(tmp_path / "t.npz")
    np.testing.assert_array_equal(table.upload.data.classes, classes)
    assert table.upload.names == (*_ANIMALS,)
    assert npt.Table.classes(p, named, names=_ANIMALS).upload.digest == table.upload.digest
    with pytest.raises(ValueError, match=r"classes, cat, dog, cow, or their numbers; got 'bird'"):
        npt.read({"probabilities": p, "label": np.full(100, "bird"), "class_names": names})
    with pytest.raises(ValueError, match=r"got text, as cat, without them. Save class_names"):
        npt.read({"probabilities": p, "label": np.full(100, "cat")})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p, y: (np.log(p), y), "apply the softmax first"),
        (lambda p, y: (1.1 * p, y), "Rows sum to 1.1: divide each row by its sum."),
        (lambda p, y: (100 * p, y), "These are percentages: divide each row by its sum."),
        (lambda p, y: (p / 2, y), "where a class is missing, save it too"),
        (lambda p, y: (p * np.linspace(0.5, 1, len(p))[:, None], y), "Save those of all classes."),
        (lambda p, y: (p, y[:50]), "true class of each of the 100 rows"),
        (lambda p, y: (p, y + 0.5), "whole numbers from 0 to 1, or from 1 to 2"),
        (lambda p, y: (p, y * 9), "whole numbers from 0 to 1"),
        (lambda p, y: (p[:3], y[:3]), "At least 5 rows"),
        (lambda p, y: (p[..., None], y), "must have shape (N, C)"),
    ],
)
def test_other_numbers_are_refused_with_the_rule(change, said):
    p, classes = drawn(0, c=2)
    with pytest.raises(ValueError, match=r"must|At least") as refusal:
        npt.Table.classes(*change(p, classes))
    assert said in str(refusal.value)


def test_probabilities_without_classes_say_what_is_missing(tmp_path):
    np.savez(tmp_path / "t.npz", model_probabilities=drawn(0)[0])
    with pytest.raises(ValueError, match="missing: label"):
        npt.read(tmp_path / "t.npz")


def test_classes_beside_draws_are_told_to_be_unread():
    one = slots(0)
    given = {"theta": one[:, :1], "x": one[:, :2], "theta_q": one[:, 1:, None]}
    notes = Upload.of(given | {"labels": np.zeros(60)}).notes
    assert "label: left unread, since they belong to probabilities of classes." in notes


def test_a_diagnosis_names_the_test_of_probabilities():
    with pytest.raises(ValueError, match=r"npt.reliability\(table\)"):
        npt.diagnose(npt.Table.classes(*drawn(0)), progress=False)


def test_an_answer_says_what_is_off_and_no_more(tmp_path):
    p, classes = drawn(1, n=400)
    names = ["first", "second <b>", "third"]
    store = Store(tmp_path)
    wrong = npt.Table.classes(sharpened(p, 2), classes, names=names)
    result = npt.reliability(wrong, store=store, progress=False)
    assert result.verdict == "problem found"
    assert "over-confident" in result.sentences[1] or "stated with" in result.sentences[1]
    numbers = json.loads(result.to_json())
    assert {row["class"] for row in numbers["events"]} == {*names, "the most probable class"}
    shares = next(e for e in numbers["shares"] if e["class"] == "first")["groups"]
    assert sum(group["rows"] for group in shares) == 400
    assert "second <b>" not in result.document().replace('"second \\u003cb>"', "")
    right = npt.reliability(npt.Table.classes(p, classes), store=store, progress=False)
    assert right.verdict == "no problem found"
    assert "That does not show that they are right" in right.sentences[1]


def test_a_discrete_parameter_is_tested_by_its_shares(tmp_path):
    one = slots(1, n=200, k=40)
    x = np.arange(200.0)[:, None]
    noise = np.random.default_rng(0).standard_normal((200, 41))
    both = np.stack([one, noise], axis=-1)
    table = npt.Table(both[:, 0], x, both[:, 1:], names=["m", "mass"])
    assert discrete_parameters(table.upload) == (0,)
    result = npt.reliability(table, store=Store(tmp_path), progress=False)
    assert result.verdict == "no problem found"
    with pytest.raises(ValueError, match="discrete parameters m"):
        npt.reliability(table, "mass", progress=False)


@pytest.mark.parametrize("k", [1, 4])
def test_what_q_states_does_not_count_the_true_value(k):
    rng = np.random.default_rng(0)
    theta, q = rng.random((600, 1)) < 0.6, rng.random((600, k, 1)) < 0.2
    table = npt.Table(1.0 * theta, rng.standard_normal((600, 1)), 1.0 * q, names=["m"])
    found = npt.reliability(table, progress=False)
    assert f"stated with {q.mean():.1%} on average, and true in {theta.mean():.1%}" in str(
        found.sentences
    )


def test_the_command_line_prints_and_writes_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path / "cache"))
    p, classes = drawn(1, n=400)
    path = npt.Table.classes(sharpened(p, 2), classes).save(tmp_path / "t.npz")
    report, figure = tmp_path / "r.html", tmp_path / "f.svg"
    options = ["--report", str(report), "--figure", f"reliability={figure}"]
    assert main(["diagnose", str(path), *options]) == 0
    assert "Problem found" in capsys.readouterr().out
    assert "Reliability" in report.read_text()
    assert figure.read_text().startswith("<svg")
    assert main(["diagnose", str(path), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "problem found"


def test_the_page_shows_probabilities_and_refuses_none(tmp_path, monkeypatch):
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path / "cache"))
    services.clear()
    p, classes = drawn(1, n=300)
    table = npt.Table.classes(sharpened(p, 2), classes, data(p, "x", np.random.default_rng(0)))
    path = table.save(tmp_path / "t.npz")
    with nothing_worked_out(tmp_path / "example"):
        at = AppTest.from_file(str(ROOT / "pages/diagnose/page.py"), default_timeout=60).run()
        at.file_uploader[0].upload("t.npz", path.read_bytes()).run()
        assert not at.exception
        assert any("300 rows with probabilities of 3 classes" in one.value for one in at.caption)
    study = reliability_study(npt.read(path).upload, None, 0)
    npt.reliability(path, store=services().store, progress=False)
    assert study.done(services().store)
    at.run()
    assert not at.exception
    assert "Problem found" in [one.value for one in at.subheader]
    assert any("part of x" in one.value for one in at.markdown)
    services.clear()


def test_the_page_has_a_row_for_a_discrete_parameter(tmp_path):
    one = slots(1, n=60, k=12)
    both = np.stack([one, np.random.default_rng(0).standard_normal(one.shape)], axis=-1)
    x = np.random.default_rng(1).standard_normal((60, 2))
    table = npt.Table(both[:, 0], x, both[:, 1:], names=["m*", "mass"])
    with nothing_worked_out(tmp_path / "example"):
        npt.reliability(table, store=services().store, progress=False)
        at = AppTest.from_file(str(ROOT / "pages/diagnose/page.py"), default_timeout=60)
        at.session_state["discrete-0"] = True
        at.run().file_uploader[0].upload(
            "t.npz", table.save(tmp_path / "t.npz").read_bytes()
        ).run()
    assert not at.exception
    assert any("m\\* takes few values" in one.label for one in at.expander)
    assert any("the stated probabilities" in one.value for one in at.markdown)
