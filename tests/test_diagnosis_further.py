"""TARP and the tests that run when asked for: their level on uploads, rules, and words."""

import dataclasses
import json
import math

import numpy as np
import plotly.graph_objects as go
import pytest
from scipy.stats import binom

from tests.test_diagnosis import QUICK, by_name, exact, own_arrays, quick, run, two_samples
from validation_core import diagnosis
from validation_core.diagnosis import learning, tasks
from validation_core.diagnosis.tasks import RelabelTask
from validation_core.keys import encode
from validation_core.methods import DC, LC2ST, METHODS, SBC, TARP, AutoML, CoLT, MMDFuse, Omnibus
from validation_core.panels.record import pictures
from validation_core.report import html
from validation_core.scores.trained_scores import TrainTask
from validation_core.tables import Upload

CHEAP = (DC(m=4, permutations=39), AutoML(permutations=39), LC2ST(nulls=39),
         MMDFuse(points=30, permutations=39))  # fmt: skip
NAMES = np.array(["mass", "<i>spin"])


def named(**changes):
    return Upload.of({**exact(**changes).arrays(), "theta_names": NAMES,
                      "x_names": np.array(["flux", "<b>hue"])})  # fmt: skip


def alone(method, upload, store, seed=0):
    return run(upload, store, [method], seed).records[0]


def test_what_runs_unasked():
    assert [method.name for method in diagnosis.default_methods()] == [
        "omnibus", "sbc", "tarp", "skl", "within_x", "multiple", "c2st", "uniform", "colt"
    ]  # fmt: skip
    further = diagnosis.further_methods()
    assert list(further) == ["dc", "automl", "lc2st", "mmd_fuse"]
    assert all(kind.runs_unasked == (kind.further() is None) for kind in METHODS.values())
    with_further = diagnosis.with_further(list(further))
    assert {method.name for method in with_further} == set(METHODS)
    assert diagnosis.with_further(["lc2st", "unheard"])[-1] == further["lc2st"].method
    assert diagnosis.with_further([]) == diagnosis.default_methods()
    assert all(item.seconds > 0 and item.adds for item in further.values())


def test_a_method_that_is_registered_runs(monkeypatch):
    monkeypatch.setitem(METHODS, "other", SBC)
    assert len(diagnosis.default_methods()) == 10


@pytest.mark.slow
@pytest.mark.parametrize("method", [TARP(), TARP(reference="x"), *CHEAP], ids=lambda m: m.label)
def test_exact_posteriors_are_rejected_within_the_level(method, store):
    repeats = 40
    pvalues = [alone(method, exact(seed=s), store, seed=s).pvalue for s in range(repeats)]
    assert sum(p <= 0.05 for p in pvalues) <= binom.isf(1e-3, repeats, 0.05)
    assert min(pvalues) > 0
    assert np.mean(pvalues) == pytest.approx(0.5, abs=4 / math.sqrt(12 * repeats))


@pytest.mark.parametrize("method", [TARP(), *CHEAP], ids=lambda m: m.label)
def test_a_plain_shift_is_found(method, store):
    assert alone(method, exact(n=300, shift=1.5), store).pvalue <= 1 / 40


@pytest.mark.parametrize("method", CHEAP, ids=lambda m: m.label)
@pytest.mark.parametrize(
    "change", [{"n": 60, "k": 1}, {"n": 51, "k": 4}, {"n": 50, "k": 5}], ids=str
)
def test_small_tables(method, change, store):
    result = alone(method, exact(**change), store)
    assert result.status == ("not run" if method.name == "dc" and change["k"] < 4 else "ran")
    assert result.pvalue is None or 0 < result.pvalue <= 1


@pytest.mark.parametrize("method", [TARP(), *CHEAP], ids=lambda m: m.label)
@pytest.mark.parametrize("kind", ["one parameter", "constant", "huge", "identical", "repeated"])
def test_degenerate_tables(kind, method, store):
    """Rows that tell nothing never crash a test, and never make it reject what is right."""
    arrays = own_arrays(exact(n=80, k=6))
    if kind == "one parameter":
        arrays = {"theta": arrays["theta"][:, :1], "x": arrays["x"][:, :1],
                  "theta_q": arrays["theta_q"][..., :1]}  # fmt: skip
    elif kind in ("constant", "huge"):
        value = 0.0 if kind == "constant" else 1e30
        arrays["theta"][:, 1], arrays["theta_q"][..., 1], arrays["x"][:, 0] = value, value, value
    elif kind == "identical":
        arrays["theta"][:], arrays["theta_q"][:] = 1.0, 1.0
    else:
        arrays["theta_q"][:] = arrays["theta_q"][:, :1]
    result = run(Upload.of(arrays), store, [method])
    (record,) = result.records
    assert record.status == "ran"
    assert 0 < record.pvalue <= 1
    if kind == "identical":
        assert record.pvalue > 0.01
    for drawing in pictures(record, names=result.upload.names):
        go.Figure(drawing.figure.to_dict())
    json.dumps(result.to_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("method", "upload", "words"),
    [
        (TARP(), exact(n=9), "at least 10 rows; got 9"),
        (DC(), exact(n=49), "at least 50 rows; got 49"),
        (AutoML(), exact(n=49), "at least 50 rows; got 49"),
        (LC2ST(), exact(n=49), "at least 50 rows; got 49"),
        (MMDFuse(), exact(n=19), "at least 20 rows; got 19"),
        (MMDFuse(), two_samples(n=9), "at least 10 rows; got 9"),
        (AutoML(), two_samples(n=49), "at least 50 rows; got 49"),
        (DC(m=11), exact(k=10), "11 draws of q at its x; got 10"),
        (TARP(), two_samples(), "have no x"),
        (DC(), two_samples(), "have no x"),
        (LC2ST(), two_samples(), "have no x"),
        (SBC(), two_samples(), "have no x"),
        (SBC(quantities="log_q"), exact(), "log q"),
    ],
    ids=lambda value: getattr(value, "label", None),
)
def test_what_cannot_run_says_why(method, upload, words, store):
    result = run(upload, store, [method])
    assert result.records[0].status == "not run"
    assert words in result.records[0].reason
    assert result.verdict == "not enough data"


@pytest.mark.parametrize("method", [CHEAP[1], CHEAP[3]], ids=lambda m: m.label)
def test_two_plain_samples(method, store):
    silent, loud = (alone(method, two_samples(shift=s), store).pvalue for s in (0.0, 1.5))
    assert silent > 0.05
    assert loud <= 1 / 40


def test_two_samples_are_shuffled_before_they_are_cut(store):
    """A chain's first rows are not its law."""
    rng = np.random.default_rng(0)
    chain = np.sort(rng.standard_normal(600))[:, None]
    upload = Upload.of({"p": chain, "q": rng.standard_normal((600, 1))})
    assert alone(MMDFuse(points=60, permutations=99), upload, store).pvalue > 0.05


def test_rows_are_no_more_than_were_asked_for(store):
    method = MMDFuse(points=30, permutations=39)
    record = alone(method, exact(n=200), store)
    assert (record.draws_p, record.draws_q) == (30, 30)
    few = alone(method, exact(n=21), store)
    assert (few.draws_p, few.draws_q) == (10, 10)


def test_slots_take_the_first_draws(store):
    upload = exact(n=60, k=9)
    record = alone(DC(m=4, permutations=39), upload, store)
    assert (record.draws_p, record.draws_q) == (30, 120)
    arrays = own_arrays(upload)
    arrays["theta_q"][:, 4:] = 99.0
    assert alone(DC(m=4, permutations=39), Upload.of(arrays), store).pvalue == record.pvalue


def test_what_learns_is_not_tested_on_the_rows_it_learnt_from(store):
    """A row's own number is in its first parameter: no row is on both sides."""
    upload = exact(n=81, k=5)
    test = set(learning.held_out_rows(upload, 3))
    assert len(test) == 41
    _, remaining = learning.split_upload(upload, 3)
    np.testing.assert_array_equal(
        upload.data.theta[learning.held_out_rows(upload, 3)], remaining.theta
    )
    rest = np.delete(upload.data.theta, sorted(test), axis=0)[:, 0]
    for method in CHEAP[:2]:
        data = learning.build_training_set(upload, quick(upload, method), 3)
        learnt = data.theta if method.name == "dc" else data.p.theta
        assert set(learnt[:, 0]) == set(rest)


def test_a_local_test_says_where_it_looked(store):
    upload = named(n=120, k=20, shift=1.0)
    result = run(upload, store, [LC2ST(nulls=39)], seed=5)
    (record,) = result.records
    row = record.effect.row
    assert row in learning.held_out_rows(upload, 5)
    np.testing.assert_allclose(record.effect.x_o, upload.data.x[row])
    # No held-out observation is nearer to their median.
    x = upload.data.x[learning.held_out_rows(upload, 5)]
    off = (np.square((x - np.median(x, axis=0)) / x.std(0))).sum(1)
    assert learning.held_out_rows(upload, 5)[off.argmin()] == row
    assert record.effect.numbers["T"] == record.statistic
    text = " ".join(diagnosis.findings(record, upload.x_names))
    assert f"row {row}, counted from 0" in text
    assert "flux = " in text
    np.testing.assert_array_equal(record.arrays["theta_q"][0], upload.data.q[row])


def test_a_wide_observation_is_not_written_out(store):
    arrays = exact(n=60).arrays()
    wide = Upload.of({**arrays, "x": np.tile(arrays["x"], 15)})
    record = alone(LC2ST(nulls=19), wide, store)
    assert record.effect.x_o is None
    assert record.effect.row is not None


def test_effects_are_plain_and_named(store):
    result = run(exact(n=200, width=0.5), store, [TARP(), *CHEAP])
    message = {item["name"]: item["effect"] for item in
            json.loads(json.dumps(result.to_json(), allow_nan=False))["methods"]}  # fmt: skip
    tarp, dc = message["tarp"], message["dc"]
    assert tarp["atc_low"] < tarp["atc"] < tarp["atc_high"] < 0
    assert tarp["reading"] == "covers less than stated"
    assert dc["divergence_low"] < dc["divergence"] < dc["divergence_high"] <= dc["divergence_most"]
    assert dc["divergence_most"] == pytest.approx(math.log(5))
    assert message["automl"]["tau"] == by_name(result)["automl"].statistic
    assert {message[name]["relabelings"] for name in ("dc", "automl", "lc2st", "mmd_fuse")} == {39}
    assert message["automl"]["training_seconds"] > 0


def test_findings_are_said(store):
    result = run(exact(n=200, width=0.5), store, [SBC(), TARP(), *CHEAP])
    text = {r.name: " ".join(diagnosis.findings(r, result.upload.x_names)) for r in result.records}
    assert "hold true values less often than they state" in text["tarp"]
    assert "confident" not in text["tarp"]
    assert "] nats" in text["dc"]
    assert "1.61 the most" in text["dc"]
    assert "higher under p than under q by" in text["automl"]
    assert text["sbc"] == ""
    assert all("from 39 relabelings" in text[method.name] for method in CHEAP)
    wide = run(exact(n=200, width=2.0), store, [TARP()]).records[0]
    assert "hold true values more often than they state" in diagnosis.findings(wide)[0]
    crossing = dataclasses.replace(
        wide, effect=dataclasses.replace(wide.effect, words={"reading": "as stated"})
    )
    assert "coverage is off in both directions" in diagnosis.findings(crossing)[0]
    gone = run(exact(n=9), store, [TARP()]).records[0]
    assert diagnosis.findings(gone) == ()


def test_few_relabelings_are_remarked_on(store):
    """A p-value of 1/40 times two tests cannot reach 5%... and says so at 1%."""
    upload = exact()
    result = run(upload, store, [SBC(), MMDFuse(points=30, permutations=39)])
    mmd = by_name(result)["mmd_fuse"]
    assert result.remark(mmd) is None  # 2 / 40 is 5%
    strict = diagnosis.verdict(result.records, upload, alpha=0.01)
    remark = strict.remark(mmd)
    assert "cannot reject by itself at level 1%" in remark
    assert "39 relabelings" in remark
    assert remark in [item["remark"] for item in strict.to_json()["methods"]]
    assert strict.remark(by_name(result)["sbc"]) is None


@pytest.mark.parametrize("alpha", [0.02, 0.05])
def test_any_test_that_is_asked_for_can_find_a_problem_by_itself(alpha):
    further = diagnosis.further_methods()
    tests = len(diagnosis.with_further(list(further)))
    for item in further.values():
        count = getattr(item.method, "permutations", getattr(item.method, "nulls", 0))
        assert 0 < tests / (count + 1) <= alpha


def test_a_verdict_without_a_known_shift(store):
    """Tests whose power nobody knows are silent, not short of data."""
    result = run(exact(n=200), store, [TARP()])
    assert result.verdict == "no problem found"
    assert "not known" in result.sentence
    assert result.to_json()["sensitivity"] == []


def test_other_quantities_are_ranked_and_named(store):
    method = SBC(quantities="marginals+squared_norm+products")
    upload = named(n=200, width=0.5)
    result = run(upload, store, [method])
    assert [first.name for first in result.parameters] == [
        "mass", "<i>spin", "|theta|²", "mass × <i>spin"
    ]  # fmt: skip
    assert result.verdict == "problem found"
    (record,) = result.records
    ranks, _ = pictures(record, names=upload.names)
    titles = [note.text for note in ranks.figure.layout.annotations]
    assert any(title.startswith("|theta|²<br>p ") for title in titles)
    assert not any("<i>" in title for title in titles)
    (first, _) = pictures(record, names=upload.names, only=2)
    drawn = [note.text.split("<br>")[0] for note in first.figure.layout.annotations]
    assert drawn == ["|theta|²", "count"]
    only = run(exact(n=200), store, [SBC(quantities="squared_norm")])
    assert only.shift is None
    single = Upload.of({"theta": np.arange(20.0), "x": np.zeros(20), "theta_q": np.zeros((20, 3))})
    refused = run(single, store, [SBC(quantities="products")]).records[0]
    assert "two parameters; got one" in refused.reason


def test_every_record_has_its_figures(store):
    methods = [
        *(m for m in diagnosis.default_methods() if m.name not in ("uniform", "skl")),
        *CHEAP,
    ]
    upload = named(n=120, k=12, shift=0.5)
    result = run(upload, store, methods)
    sketch = {r.name: pictures(r, alpha=0.05, names=upload.names) for r in result.records}
    assert all(sketch.values())
    for figures in sketch.values():
        for figure in figures:
            go.Figure(figure.figure.to_dict())
            assert figure.caption.endswith((".", "!"))
            assert "<i>" not in figure.figure.to_json()
    assert "mass" in sketch["sbc"][0].figure.to_json()
    document = html(result)
    assert "<i>spin" not in document
    assert "<b>hue" not in document
    for record in result.records:
        assert document.count(f"<h3>{record.title}</h3>") == 1
    card = 1  # picture at the top
    assert document.count("<figure") == card + sum(map(len, sketch.values()))


def test_what_answers_first_learns_nothing():
    upload = exact(n=100)
    queue = tasks.tasks(upload, [*diagnosis.default_methods(), *CHEAP], 0, quick)
    order = [task.method.name for task in queue if not isinstance(task, TrainTask)]
    cheap = [method.name for method in CHEAP]
    assert order == ["omnibus", "sbc", "tarp", "within_x", "multiple", "c2st", *cheap, "colt",
                     "omnibus"]  # fmt: skip
    assert [item.whole for item in queue if isinstance(item, RelabelTask)] == [False, True]


def test_the_exact_verdict_is_had_without_training(store):
    upload = exact(n=60)
    (task,) = tasks.tasks(upload, [Omnibus(learned=False)], 0, quick)
    found = run(upload, store, [Omnibus(learned=False)])
    assert task.whole
    assert not task.trainings
    assert not list((store.root / "models").glob("*"))
    unlearned = tasks.tasks(upload, [Omnibus()], 0, quick)[0].compute(store, lambda *told: None)
    # The whole level is its own, of which learned scores would have a fifth.
    assert found.pvalue == pytest.approx(0.8 * unlearned.pvalue)
    assert "learned" not in encode(Omnibus())  # stored results keep their keys


def test_helpers_can_find_what_relabelling_tells_at_once():
    """It waits for no network, while the process that they join trains the longest one."""
    queue = tasks.tasks(exact(n=100), diagnosis.default_methods(), 0)
    dear, at_once = tasks.longest_training(queue), queue[-1].first
    assert at_once in queue
    without = [task for task in queue if task != at_once]
    ordered = tasks.work_beside_helpers(without)
    assert ordered[0] is dear
    assert ordered[-2:] == [at_once, queue[-1]]
    assert set(ordered) == set(tasks.work_beside_helpers(queue)) == set(queue)


def test_two_of_a_kind_are_two_tests(store):
    methods = [TARP(), TARP(reference="x"), CoLT(embedding="identity")]
    result = run(exact(n=60), store, methods)
    assert set(result.adjusted) == {method.label for method in methods}
    assert len(list((store.root / "models").iterdir())) == 3


def test_a_classifiers_own_recipe_stays_its_own():
    upload = exact(n=60)
    assert quick(upload, METHODS["c2st"]()) is QUICK
    assert learning.recipe(upload, MMDFuse()) is None
    assert learning.recipe(upload, LC2ST()) is None
    assert learning.recipe(upload, TARP()).train == 30
    assert learning.recipe(upload, DC(m=3)).m == 3


def dense(n=60, k=10, seed=0, width=1.0, **densities):
    """An exact table, or one of the wrong width, with its own log q."""
    upload = exact(n=n, k=k, seed=seed, width=width)
    arrays = upload.arrays()
    centre = arrays["x"] / 2
    known = {
        "log_q": -np.square((arrays["theta"] - centre) / width).sum(-1),
        "log_q_draws": -np.square((arrays["theta_q"] - centre[:, None]) / width).sum(-1),
    }
    return Upload.of({**arrays, **known, **densities})


def test_log_q_of_the_file_is_ranked_within_the_level(store):
    names, repeats = ("log_q", "marginals+log_q", "marginals+products+log_q"), 120
    methods = [SBC(quantities=name) for name in names]
    pvalues = np.empty((repeats, len(methods)))
    for seed in range(repeats):
        upload = dense(seed=seed)
        pvalues[seed] = [alone(method, upload, store, seed=seed).pvalue for method in methods]
    assert ((pvalues <= 0.05).sum(0) <= binom.isf(1e-3, repeats, 0.05)).all()
    assert pvalues.min() > 0


def test_log_q_ranks_last_as_expected_coverage_does(store):
    upload = dense(n=200, k=40, width=0.6)
    result = run(upload, store, [SBC(quantities="log_q+marginals")])
    record = result.records[0]
    assert [parameter.name for parameter in result.parameters][-1] == "log q"
    below = (upload.densities["log_q_draws"] < upload.densities["log_q"][:, None]).sum(-1)
    assert np.array_equal(np.floor(record.arrays["u"][-1] * 41), below)
    assert result.verdict == "problem found"
    assert result.parameters[-1].reading == (
        "q is less dense at true values than at its own draws (over-confident)"
    )
    marginals = run(upload, store, [SBC()])
    assert [a.statistic for a in result.parameters[:-1]] == pytest.approx(
        [b.statistic for b in marginals.parameters], abs=1 / 40
    )


def test_log_q_beside_products_of_one_parameter(store):
    arrays = {
        name: a[..., :1] if name.startswith("t") else a for name, a in dense().arrays().items()
    }
    result = run(Upload.of(arrays), store, [SBC(quantities="products+log_q")])
    assert [parameter.name for parameter in result.parameters] == ["log q"]


def test_a_log_q_of_another_density_is_read_as_less_dense(store):
    """Ranks at one end are shifted however little they spread."""
    upload = dense(n=200, k=40)
    other = Upload.of({**upload.arrays(), "log_q": upload.densities["log_q"] - 20.0})
    log_q = run(other, store, [SBC(quantities="log_q")]).parameters[0]
    assert "(over-confident)" in log_q.reading


def test_log_q_that_has_no_rank_is_refused(store):
    method = SBC(quantities="marginals+log_q")
    assert "does not hold at the true values (N,)" in alone(method, exact(), store).reason
    only = Upload.of({k: a for k, a in dense().arrays().items() if k != "log_q_draws"})
    assert "does not hold at the draws (N, K)" in alone(method, only, store).reason
    holes = dense().densities["log_q_draws"].copy()
    holes[3, 4] = np.nan
    assert "got 1 NaN in log_q_draws" in alone(method, dense(log_q_draws=holes), store).reason
    holes[3, 4] = -np.inf  # outside the support: the lowest there is
    assert alone(method, dense(log_q_draws=holes), store).status == "ran"


def test_quantities_that_are_no_parameters_are_read_as_what_they_are(store):
    result = run(exact(n=300, k=40, width=0.5), store, [SBC(quantities="marginals+squared_norm")])
    norm = result.parameters[-1]
    assert norm.name == "|theta|²"
    assert "(over-confident)" in norm.reading
    assert "sits" not in norm.reading
