"""What the tests would have caught: against closed forms, at no defect, stage by stage, told."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest
from scipy.stats import binom

from tests.conftest import few_trials
from tests.fixed_claims import CLAIMED
from tests.reports import code_of
from validation_core import codec, diagnosis, statistics, tables
from validation_core.diagnosis import learning, tasks
from validation_core.diagnosis.detectable_shift import detectable_shift_by_ranks
from validation_core.diagnosis.injections import INJECTIONS
from validation_core.diagnosis.injections.tilts import TILTS
from validation_core.diagnosis.questions import Names, by_name
from validation_core.diagnosis.questions.sensitivity import DEFAULT
from validation_core.diagnosis.questions.sensitivity.experiment import (
    PowerExperiment,
    SearchCurve,
    verdict_rejections,
)
from validation_core.diagnosis.questions.sensitivity.smallest_size import (
    informative_points,
    power_crossing,
    smallest_detectable_size,
)
from validation_core.diagnosis.questions.sensitivity.words import basis_text
from validation_core.methods import C2ST, SBC, TARP, CoLT, Multiple, Omnibus, WithinX
from validation_core.scores.classifier import Classifier
from validation_core.store import Store
from validation_core.tables import Upload

QUESTION = by_name("sensitivity")
QUICK = Classifier(epochs=4, lr=1e-2, batch=64, hidden=8, layers=2)
LONGER = Classifier(epochs=60, lr=1e-2, batch=64, hidden=16, layers=2, keep_best=True)
SMALL = {"steps": 8, "batch": 16, "draws_step": 4, "hidden": 8, "layers": 1, "start": "origin"}
REAL = learning.recipe


def recipes(classifier):
    def how(upload, method):
        own = REAL(upload, method)
        if method.reads_classifier:
            return classifier
        return replace(own, **SMALL) if method.localizes else own

    return how


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(learning, "recipe", recipes(QUICK))


def say(result, names):
    return QUESTION.describe(result, Names(names), CLAIMED)


def rows_of(result, names):
    return QUESTION.rows(result, Names(names), CLAIMED)


def made(n=100, k=20, d=2, seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((n, d))
    x = theta + rng.standard_normal((n, d))
    q = x[:, None] / 2 + np.sqrt(0.5) * rng.standard_normal((n, k, d))
    return Upload.of({"theta": theta, "x": x, "theta_q": q})


def run(upload, store, methods=None, injections=DEFAULT, stages=(0, 1, 2), seed=0):
    tasks.register_upload(upload)
    methods = methods or diagnosis.default_methods()
    found = []
    for task in QUESTION.studies(upload, methods, seed, injections):
        if task.stage in stages:
            task.run(store, lambda fraction, live: None)
            found.append(task.load(store))
    return QUESTION.gather(found)


@pytest.mark.parametrize(("n", "k"), [(200, 40), (500, 60)])
def test_bias_by_sbc_is_what_the_closed_simulation_says(n, k, store):
    found = run(made(n, k, d=1), store, (SBC(),), ("bias",), stages=(0,))
    (one,) = found.injections
    assert one.smallest.estimate == pytest.approx(
        detectable_shift_by_ranks(n, k - 1, 0.05), rel=0.12
    )
    assert one.smallest.low < one.smallest.estimate < one.smallest.high


def test_rows_for_half_of_a_bias_are_four_times_as_many(store):
    found = run(made(300, 40, d=1), store, (SBC(),), ("bias",), stages=(0, 1))
    (one,) = found.injections
    assert one.rows_by == "resampling"
    assert 3.2 <= one.ratio <= 5.0
    assert one.rows_for_half == round(one.ratio * 300)
    before = run(made(300, 40, d=1), store, (SBC(),), ("bias",), stages=(0,))
    assert before.injections[0].rows_for_half == 1200
    assert "1 / sqrt(rows)" in say(before, ())[0]


@pytest.mark.parametrize("fixed", [0, 1])
def test_a_fixed_parameter_is_neither_counted_nor_named(fixed, store):
    """Defects of two parameters are of two that vary."""
    asked = ("bias", "bias_all", "wrong_correlation")
    for varying in (1, 2):
        of = made(d=varying).data
        theta, q = (np.insert(array, fixed, 2.0, axis=-1) for array in (of.theta, of.q))
        upload = Upload.of({"theta": theta, "x": of.x, "theta_q": q})
        found = run(upload, store, (SBC(),), asked, stages=(0,))
        one, *others = say(found, [f"of_{place}" for place in range(varying + 1)])
        assert len(found.injections) == (1 if varying == 1 else 3)
        assert f"of_{fixed}" not in one
        assert varying == 1 or "both parameters that vary at once" in others[0]


@pytest.mark.parametrize("name", [n for n in INJECTIONS if not n.endswith("_tails")])
def test_no_defect_is_found_at_the_level(name):
    """At the strength that changes nothing all tests keep their level, networks included."""
    upload, methods = made(100, 12), (SBC(), TARP(), WithinX(), Multiple(), C2ST())
    experiment = PowerExperiment(upload, INJECTIONS[name], methods, 0)
    zero = 1.0 if INJECTIONS[name].strengths[0] >= 1 else 0.0
    curve = SearchCurve(experiment, len(methods), 0.05)
    curve.evaluate(zero, methods, experiment.batches)
    p = curve.pvalues_at[zero]
    assert (
        verdict_rejections(p, methods, 5, 0.05).sum()
        <= statistics.binomial_bounds(200, 0.05, 0.999)[1]
    )
    rejected = (p <= 0.05).sum(1)
    assert (rejected <= binom.isf(1e-4, 200, 0.06)).all()


def test_stages_go_on_from_one_another(store):
    upload = made()
    ranks = run(upload, store, injections=("bias",), stages=(0,))
    every = run(upload, store, injections=("bias",))
    (first,), (last,) = ranks.injections, every.injections
    assert not first.networks
    assert last.networks
    asked = {test.name: test.power for test in first.tests}
    assert all(power is None for power in asked["within_x"])
    assert all(power is not None for power in asked["sbc"])
    for strength, power in zip(first.strengths, first.verdict, strict=True):
        later = last.verdict[last.strengths.index(strength)]
        if later.trials == power.trials:  # what joins takes a share of the level
            assert later.rejections >= power.rejections - 0.1 * power.trials


@pytest.mark.usefixtures("_few_trials")
def test_a_later_stage_by_itself_does_the_earlier_ones(store, tmp_path):
    upload = made()
    alone = run(upload, Store(tmp_path / "alone"), injections=("bias",), stages=(2,))
    assert codec.to_json(run(upload, store, injections=("bias",))) == codec.to_json(alone)


def test_networks_find_what_ranks_cannot(store, monkeypatch):
    """Marginals that fit: a wrong correlation shows in no coordinate's rank."""
    monkeypatch.setattr(learning, "recipe", recipes(LONGER))
    methods = (SBC(), WithinX())
    upload = made(400, 30)
    ranks = run(upload, store, methods, ("wrong_correlation",), stages=(0,))
    assert not ranks.injections[0].smallest.known
    assert say(ranks, ())[0].endswith("of the tables.")
    assert "would not be found with 80% power by the tests that train no" in say(ranks, ())[0]
    found = run(upload, store, methods, ("wrong_correlation",), stages=(1,))
    (one,) = found.injections
    assert 1.1 < one.smallest.estimate <= 4.0
    assert one.rows_by == "scaling law"


def test_a_localizer_is_trained_only_where_no_other_test_finds_the_strongest_defect(store):
    """No coordinate's rank shows a wrong correlation; every rank shows a bias of one sd."""
    hard, easy = "wrong_correlation", "bias"
    found = run(made(400, 30), store, (SBC(), CoLT()), (hard, easy))
    one, other = found.injections
    strongest = INJECTIONS[hard].strengths[-1]
    (colt,) = [test.power for test in one.tests if test.name == "colt"]
    assert [s for s, power in zip(one.strengths, colt, strict=True) if power] == [strongest]
    assert one.localizer
    assert not other.localizer
    assert "no other test found: a q wrongly correlated." in basis_text(found)
    only = run(made(400, 30), store, (SBC(), CoLT()), (easy,))
    assert "no other test found; there was none." in basis_text(only)
    early = run(made(400, 30), store, (SBC(), CoLT()), (hard,), stages=(0,))
    assert "CoLT" not in basis_text(early)


def test_power_counts_every_test_of_the_verdict(store):
    """Holm over all that were asked for by name; relabelling, where it is among them, alone."""
    alone = run(made(200, d=1), store, (SBC(),), ("bias",), stages=(0,))
    among = run(made(200, d=1), store, (SBC(), TARP(), C2ST()), ("bias",), stages=(0,))
    assert among.tests == 3
    assert among.injections[0].smallest.estimate > alone.injections[0].smallest.estimate
    every = run(made(200, d=1), store, injections=("bias",), stages=(0,))
    (one,) = every.injections
    own = next(test for test in one.tests if test.name == "omnibus")
    assert every.relabelled
    assert [x.rejections for x in one.verdict] == [x.rejections for x in own.power]


def test_tasks_come_cheap_ones_first():
    names = [(t.stage, t.injection) for t in QUESTION.studies(made(), (SBC(), C2ST()), 0)]
    assert names == [(s, name) for s in (0, 1) for name in DEFAULT]
    later = QUESTION.studies(made(), diagnosis.default_methods(), 0)
    assert [task.stage for task in later] == [0] * 4 + [1] * 4 + [2] * 4
    assert later[4].needs == later[0].makes
    assert later[0].injection == "bias"
    with pytest.raises(ValueError, match="than vary in this table, 1; got wrong_correlation"):
        QUESTION.studies(made(d=1), (SBC(),), 0, ("wrong_correlation",))
    with pytest.raises(ValueError, match=r"one of bias.*got 'biass'"):
        QUESTION.studies(made(), (SBC(),), 0, ("biass",))


@pytest.mark.parametrize(
    "methods", [(SBC(), TARP(), WithinX()), pytest.param(None, marks=pytest.mark.slow)]
)
def test_every_injection_is_answered_and_told(methods, store, monkeypatch):
    """By a few tests and of few tables first; by all, and of as many as a user gets, if slow."""
    if methods:
        few_trials(monkeypatch)
    found = run(made(), store, methods, injections=tuple(INJECTIONS), stages=(0, 1))
    told = found.injections
    assert [one.injection for one in told] == list(INJECTIONS)
    said = say(found, ())
    for one, sentence in zip(told, said, strict=False):
        assert not one.smallest.known or "would be found with 80% power" in sentence
        if one.spread == "all":
            assert "both parameters at once" in sentence
        if one.spread == "one":
            assert "in one parameter (theta_" in sentence
            assert ", drawn at random)" in sentence
        assert "None" not in sentence
        assert list(one.strengths) == sorted(one.strengths)
    json.dumps(QUESTION.to_json(found), allow_nan=False)
    for drawing in QUESTION.figures(found, Names(()), CLAIMED):
        go.Figure(drawing.figure.to_plotly_json())  # validates
    rows = rows_of(found, ())
    assert {row["q is"] for row in rows} == {one.title for one in told}
    assert all(row["95% low"] <= row["found"] <= row["95% high"] for row in rows)


def test_the_main_sentence(store):
    found = run(made(), store, (SBC(),), ("bias",), stages=(0, 1))
    sentence = say(found, ())[0]
    assert sentence.startswith("A bias of 0.")
    assert "posterior sd in one parameter (theta_" in sentence
    assert "nats if q is near normal. Half of it would need about" in sentence
    (one,) = found.injections
    # Two uncorrelated parameters: b^2 / 2, whichever of them holds it.
    assert one.nats.smallest.estimate == pytest.approx(one.smallest.estimate**2 / 2, rel=0.1)
    assert one.parameter in (0, 1)
    assert say(found, ("mass", "radius"))[0].count(
        ("mass", "radius")[one.parameter]
    ) == 1  # fmt: skip
    assert say(found, ())[1].startswith("What could have been missed, in nats of KL(p‖q): a bias")


def test_a_tilt_is_found_at_the_nats_of_the_bias_that_it_is_like(store):
    """q is normal: the sizes agree, one moved and one chosen, and so do their nats."""
    found = run(made(300, 60, d=2), store, (SBC(),), ("bias", "tilt_bias"), stages=(0,))
    bias, tilt = found.injections
    assert tilt.exact
    assert tilt.parameter == bias.parameter
    like = np.sqrt(2 * tilt.nats.smallest.estimate)
    assert like == pytest.approx(bias.smallest.estimate, rel=0.12)
    low, high = (end**2 / 2 for end in bias.smallest[1:])
    assert tilt.nats.smallest.low < high
    assert tilt.nats.smallest.high > low
    sentence = say(found, ("mass", "radius"))[1]
    assert sentence.startswith("A defect of KL(p‖q) = 0.0")
    assert " nats along one parameter (" in sentence
    assert "would be found with 80% power, like a bias of 0." in sentence
    assert "A quarter of it would need about" in sentence
    assert "if q is near normal" not in sentence
    figure = QUESTION.figures(found, Names(()), CLAIMED)[1].figure
    assert "nats" in figure.layout.xaxis.title.text
    rows = [r for r in rows_of(found, ()) if r["q is"] == "tilted along one parameter"]
    assert all(row["strength"] == row["nats"] for row in rows)
    json.dumps(QUESTION.to_json(found), allow_nan=False)


@pytest.mark.usefixtures("_few_trials")
@pytest.mark.parametrize("name", TILTS)
def test_every_tilt_is_answered_and_told(name, store):
    found = run(made(100, 20), store, (SBC(), TARP(), WithinX()), (name,), stages=(0, 1))
    (one,) = found.injections
    assert list(one.nats.strengths) == sorted(one.nats.strengths)
    assert one.nats.strengths[-1] <= np.log(20)
    assert " nats " in say(found, ())[0]
    assert QUESTION.figures(found, Names(()), CLAIMED)
    moving = made(100, 20).arrays()
    still = Upload.of({**moving, "theta_q": np.ones_like(moving["theta_q"])})
    found = run(still, store, (SBC(),), (name,), stages=(0,))
    assert say(found, ())[0].startswith("A defect of KL(p‖q) = 0 nats")
    assert QUESTION.figures(found, Names(()), CLAIMED)


def test_all_parameters_at_once_are_found_sooner_and_told_apart(store):
    found = run(made(200, 30, d=3), store, (SBC(),), ("bias", "bias_all"), stages=(0,))
    one, every = found.injections
    assert every.smallest.estimate < one.smallest.estimate
    said = say(found, ("a", "b", "c"))
    assert "in all 3 parameters at once would be found" in said[1]
    rows = rows_of(found, ())
    assert {row["q is"] for row in rows} == {
        "biased in one parameter", "biased in all parameters"
    }  # fmt: skip
    assert all(row["nats"] > 0 for row in rows)
    alone = run(made(100, 20, d=1), store, (SBC(),), stages=(0,))
    assert [o.injection for o in alone.injections] == [
        "bias", "too_narrow", "missing_mode"
    ]  # fmt: skip
    assert "posterior sd in theta_1 would be found" in say(alone, ())[0]
    assert not re.search("(one|all) parameter", say(alone, ())[-1]), "there is but one"


def staying(share, n=100, k=40):
    """A table whose draws are now and then the draw before, as those of a chain that stays."""
    upload, rng = made(n, k, d=1), np.random.default_rng(1)
    q = upload.data.q.copy()
    for t in range(1, k):
        stays = rng.random(n) < share
        q[stays, t] = q[stays, t - 1]
    return Upload.of({**upload.arrays(), "theta_q": q})


@pytest.mark.parametrize(
    ("upload", "word"),
    [(made(k=1), "at least 2; got 1"), (made(k=3), "at least 20; got 3"),
     (made(n=4), "at least 5 rows; got 4"), (staying(0.01), "repeat at their x"),
     (Upload.of({"p": np.zeros((20, 1)), "q": np.ones((20, 1))}), "have no x")],
)  # fmt: skip
def test_obstacles(upload, word):
    assert word in QUESTION.obstacle(upload)


def test_a_bias_is_promised_where_its_size_is_that_of_fresh_tables():
    """20 draws that differ tell it; 10 told half as much again, and repeats told none at all."""
    assert QUESTION.obstacle(made(k=20)) is None
    assert QUESTION.obstacle(staying(0.0)) is None
    tenths = np.round(made(k=40).arrays()["theta_q"], 1)
    assert QUESTION.obstacle(Upload.of({**made(k=40).arrays(), "theta_q": tenths})) is None
    assert by_name("in_nats").obstacle(made(k=10)) == QUESTION.obstacle(made(k=10))
    assert by_name("in_nats").obstacle(staying(0.01)) is None, "no draw is moved"


def test_all_widths_are_told_by_the_width_that_q_needs(store):
    """Too narrow is below 1: the strength is one over it, and ends of intervals change places."""
    result = run(made(300, 40, d=1), store, (SBC(),), ("too_wide", "too_narrow"), stages=(0,))
    wide, narrow = result.injections
    for injection, times in ((wide, 1), (narrow, -1)):
        assert 1 < injection.smallest.low < injection.smallest.estimate < injection.smallest.high
        size, *ends = (float(f"{strength**times:.3g}") for strength in injection.smallest)
        low, high = sorted(ends)
        assert low < size < high
        (first, *_) = say(replace(result, injections=(injection,)), ())
        size_text = r"A q ([\d.]+) \[([\d.]+), ([\d.]+)\] times as wide as it should be"
        told = re.match(size_text, first)
        assert [float(one) for one in told.groups()] == pytest.approx([size, low, high], rel=0.02)
    for end, edge in (("low", ", above]"), ("high", "[below, ")):
        open_ = replace(narrow, smallest=narrow.smallest._replace(**{end: math.nan}))
        assert edge in say(replace(result, injections=(open_,)), ())[0]


@pytest.mark.usefixtures("_few_trials")
@pytest.mark.parametrize(("n", "k", "d"), [(5, 20, 1), (12, 20, 3), (60, 20, 2)])
def test_small_tables_are_answered(n, k, d, store):
    found = run(made(n, k, d), store)
    assert len(found.injections) == 3 + (d > 1)
    sentences = say(found, ())
    assert len(sentences) in (len(found.injections), len(found.injections) + 1)
    assert all("80% power" in one for one in sentences[: len(found.injections)])
    (how, *_) = QUESTION.notes(found, Names(()))
    assert how.startswith("Power of the verdict at level 0.05, relabelling within x, on ")
    assert how not in sentences
    assert len(QUESTION.figures(found, Names(()), CLAIMED)) == 3 + (d > 1)


def test_methods_that_all_train_networks_are_answered(store):
    upload = made()
    nothing = run(upload, store, (C2ST(),), ("bias",), stages=(0,))
    assert "Not computed yet" in say(nothing, ())[0]
    assert len(QUESTION.figures(nothing, Names(()), CLAIMED)) == 1
    assert rows_of(nothing, ()) == []
    found = run(upload, store, (C2ST(),), ("bias",))
    (one,) = found.injections
    assert one.networks
    assert one.rows_by == "scaling law"


@pytest.mark.parametrize("rows", [120, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["two_moons_undertrained", "sir_undertrained"])
def test_real_tables(name, rows, shared, store, monkeypatch):
    if rows:
        few_trials(monkeypatch)
    arrays = tables.read(shared / "data" / f"{name}.npz").arrays()
    some = Upload.of({name: array[:rows] for name, array in arrays.items()})
    found = run(some, store, stages=(0, 1))
    for one in found.injections:
        assert one.smallest.known
        assert np.isnan(one.smallest.low) or one.smallest.low <= one.smallest.estimate


def verdict_power(upload, name, strength):
    """Power of relabelling that learns nothing."""
    methods = (Omnibus(learned=False),)
    experiment = PowerExperiment(upload, INJECTIONS[name], methods, 0)
    p = experiment.evaluate(strength, methods, experiment.batches)
    return float((p[0] <= 0.05).mean())


def test_few_draws_promise_no_power_that_no_test_has():
    """The sd of a log width known from 500 rows of 2 parameters is .022: 3% is 1.3 of it, 37%."""
    upload = made(500, 20, seed=2)
    assert verdict_power(upload, "too_narrow", 1.03) < 0.37
    assert verdict_power(upload, "too_wide", 1.03) < 0.37
    for name in ("wrong_correlation", "heavy_tails", "light_tails", "bias", "ignores_x"):
        assert verdict_power(upload, name, INJECTIONS[name].strengths[0]) < 0.15
    assert verdict_power(upload, "too_narrow", 2.0) > 0.95
    assert verdict_power(upload, "bias", 0.16) > 0.6, "fresh tables with .16 are found in 80%"


def test_a_bias_of_counts_is_not_found_by_the_ties_that_it_breaks():
    rng = np.random.default_rng(0)
    x = rng.poisson(3.0, (500, 1)).astype(float)
    q = x[:, None] + rng.poisson(1.5, (500, 40, 1))
    upload = Upload.of({"theta": q[:, 0], "x": x, "theta_q": q.astype(float)})
    assert verdict_power(upload, "bias", 0.01) < 0.15
    assert verdict_power(upload, "too_narrow", 1.01) < 0.15
    assert verdict_power(upload, "bias", 0.4) > 0.9


def rounded(wide):
    """Draws to a hundredth of q's width, over a prior that is so many times as wide."""
    rng = np.random.default_rng(0)
    x = wide * rng.standard_normal((333, 2))
    q = np.round(x[:, None] + rng.standard_normal((333, 60, 2)), 2)
    return Upload.of({"theta": q[:, 0], "x": x, "theta_q": q})


def test_a_bias_of_rounded_draws_is_not_found_by_the_ties_that_it_makes():
    upload = rounded(30)
    assert QUESTION.obstacle(upload) is None
    assert verdict_power(upload, "bias_all", 0.01) < 0.15
    assert verdict_power(upload, "bias_all", 0.4) > 0.9
    assert "repeat at their x" in QUESTION.obstacle(rounded(100)), "few rows share a tick"


@pytest.mark.usefixtures("_few_trials")
def test_whole_numbers_and_constants_are_answered(store):
    arrays = made().arrays()
    arrays["theta_q"] = np.round(2 * arrays["theta_q"])
    arrays["theta_q"][..., 1] = 0.0
    found = run(Upload.of(arrays), store, stages=(0, 1))
    assert [one.injection for one in found.injections] == ["bias", "too_narrow", "missing_mode"]


@pytest.mark.usefixtures("_few_trials")
def test_the_same_seed_says_the_same(store, tmp_path):
    one, other = (
        run(made(), place, injections=("too_narrow",)) for place in (store, Store(tmp_path / "b"))
    )
    assert codec.to_json(one) == codec.to_json(other)
    another = run(made(), store, injections=("too_narrow",), seed=1)
    assert codec.to_json(another) != codec.to_json(one)


@pytest.mark.usefixtures("_few_trials")
def test_the_code_runs_as_it_stands(tmp_path, capsys):
    path = tmp_path / 'it\'s {seed} a "table".npz'  # a name that needs care
    np.savez(path, **made(60, 20).arrays())
    exec(code_of(QUESTION, path, 1), {})
    said = capsys.readouterr().out.strip().splitlines()
    again = run(tables.read(path), Store(tmp_path / "again"), seed=1)
    assert said[: len(say(again, ()))] == list(say(again, ()))


def test_a_falling_curve_is_pooled_and_interpolated():
    assert power_crossing([1, 2, 4], [0.2, 0.8, 1.0], [1, 1, 1]) == pytest.approx(2)
    assert power_crossing([1, 4], [0.6, 1.0], [1, 1]) == pytest.approx(2)
    # 0.9 and 0.5 are one level, 0.7: the crossing lies beyond both.
    assert power_crossing([1, 2, 4, 8], [0.1, 0.9, 0.5, 1.0], [1, 1, 1, 1]) > 4
    assert power_crossing([1, 2], [0.9, 1.0], [1, 1]) == 1
    assert power_crossing([1, 2], [0.1, 0.7], [1, 1]) is None
    assert power_crossing([], [], []) is None


def test_the_smallest_size_has_an_interval():
    found = smallest_detectable_size([1, 2, 4, 8], [10, 100, 180, 200], [200] * 4)
    assert found.low < found.size < found.high
    assert smallest_detectable_size([1, 2], [200, 200], [200, 200]) == (1, None, 1)
    assert smallest_detectable_size([1, 2], [10, 20], [200, 200]) == (None, None, None)
    few = smallest_detectable_size([1, 2, 4], [1, 8, 9], [10, 10, 10])
    assert few.high is None


def test_the_interval_of_the_smallest_size_holds_it():
    """A known curve, 400 times."""
    rng = np.random.default_rng(0)
    sizes = np.geomspace(0.1, 1.6, 9)
    power = 1 / (1 + np.exp(-4 * np.log(sizes / 0.4)))
    true = 0.4 * 4 ** (1 / 4)
    counts = rng.binomial(200, power, size=(400, 9))
    found = [smallest_detectable_size(sizes, count, np.full(9, 200)) for count in counts]
    held = sum(one.low <= true <= one.high for one in found)
    assert held >= binom.ppf(1e-3, 400, 0.95)
    assert np.median([one.size for one in found]) == pytest.approx(true, rel=0.03)


def test_points_with_fewer_tests_do_not_pull_a_curve_down():
    # Ranks alone at .3, networks as well at .2 and .4.
    np.testing.assert_array_equal(
        informative_points([1, 2, 1, 2, 1], [0.1, 0.5, 0.2, 0.9, 0.95]),
        [True, True, False, True, True],
    )
    np.testing.assert_array_equal(
        informative_points([1, 2, 1], [0.1, 0.9, 0.5]), [True, True, False]
    )
    np.testing.assert_array_equal(
        informative_points([1, 1, 1], [0.5, 0.4, 1.0]), [True, True, True]
    )
