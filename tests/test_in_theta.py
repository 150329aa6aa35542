"""Where in theta: shares with exact intervals, signs of the maps, tables of any shape."""

import json
import math
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest
from scipy.stats import binom

from tests.fixed_claims import CLAIMED, SILENT, FixedClaims, asked_alone
from tests.reports import code_of
from validation_core import diagnosis, statistics, tables
from validation_core.diagnosis import tasks as diagnoses
from validation_core.diagnosis.questions import Names, by_name
from validation_core.diagnosis.questions.in_theta.maps import FEWEST, cell_edges, ratio_plane
from validation_core.diagnosis.questions.in_theta.shares import decile_shares, strip_shares
from validation_core.diagnosis.questions.in_theta.study import mass_in_theta
from validation_core.scores.classifier import Classifier
from validation_core.scores.upload_training import UploadTraining, trained_by
from validation_core.store import Store
from validation_core.tables import Upload
from validation_core.text import equals, share_interval_text, share_text
from validation_core.types import PosteriorTable

NAMES = ("mass", "<b>spin</b>", "c")
QUESTION = by_name("in_theta")
FEW = Classifier(epochs=30, lr=1e-2, batch=64, hidden=16, layers=2)


@pytest.fixture(autouse=True)
def _small():
    with trained_by(UploadTraining(classifier=FEW)):
        yield


def normals(n=500, k=50, d=2, m=1, seed=0, shift=0.0):
    """theta ~ N(shift, 1) in its first parameter, q standard normal: log p/q is known."""
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((n, d))
    theta[:, 0] += shift
    return PosteriorTable(theta, rng.standard_normal((n, m)), rng.standard_normal((n, k, d)))


def log_ratio(theta, shift):
    return shift * theta[..., 0] - shift**2 / 2


def told(table, shift=1.0, seed=0):
    return mass_in_theta(
        table, log_ratio(table.theta, shift), log_ratio(table.q, shift), table.q.shape[1], seed
    )


def note(result):
    (only,) = QUESTION.notes(result, Names(NAMES))
    return only


def run(upload, store, seed=0):
    diagnoses.register_upload(upload)
    (task,) = QUESTION.studies(upload, diagnosis.default_methods(), seed)
    task.run(store, lambda done, live: None)
    return QUESTION.gather([task.load(store)])


def upload_of(table):
    return Upload.of({"theta": table.theta, "x": table.x, "theta_q": table.q})


@pytest.mark.parametrize(("n", "rate"), [(30, 0.1), (200, 0.02), (57, 0.5)])
def test_exact_intervals_hold_a_rate_at_least_as_often_as_told(n, rate):
    counts = np.arange(n + 1)
    ends = np.stack(statistics.clopper_pearson(counts, n), axis=-1)
    held = (ends[:, 0] <= rate) & (rate <= ends[:, 1])
    assert binom.pmf(counts, n, rate)[held].sum() >= 0.95


@pytest.mark.parametrize("k", [1, 20])
def test_all_tenths_together_hold_on_right_posteriors(k):
    tables, missed = 400, 0
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        truth, draws = rng.standard_normal(150), rng.standard_normal((150, k))
        found = decile_shares(truth, draws, k, rng)
        missed += any(not one.share.low <= 0.1 <= one.share.high for one in found)
    assert missed <= statistics.binomial_bounds(tables, 0.05, 0.999)[1]


def test_strips_together_hold_on_right_posteriors():
    tables, missed = 300, 0
    for seed in range(tables):
        table = normals(n=120, k=40, seed=seed)
        found = strip_shares(table.theta, table.q, 40, np.arange(2))
        missed += any(one.share.differs for one in found)
    assert missed <= statistics.binomial_bounds(tables, 0.05, 0.999)[1]


def test_the_p_value_keeps_its_level():
    tables = 200
    rejected = sum(
        told(normals(n=60, k=5, d=1, seed=seed)).pvalue <= 0.05 for seed in range(tables)
    )
    low, high = statistics.binomial_bounds(tables, 0.05, 0.999)
    assert low <= rejected <= high


def test_every_truth_is_in_one_tenth_whatever_ties():
    rng = np.random.default_rng(0)
    for truth, draws in (
        (np.zeros(90), np.zeros((90, 3))), (rng.integers(3, size=90) * 1.0, np.ones((90, 4))),
    ):  # fmt: skip
        found = decile_shares(truth, draws, draws.shape[1], rng)
        assert sum(one.share.count for one in found) == 90
    same = decile_shares(np.zeros(4000), np.zeros((4000, 2)), 2, rng)
    assert all(one.share.low <= 0.1 <= one.share.high for one in same)


def test_shares_are_those_of_the_known_ratio():
    """theta ~ N(1, 1) against q = N(0, 1): twice as frequent where theta > 1/2 + log 2."""
    found = told(normals(n=3000, shift=1.0))
    at = 0.5 + math.log(2)
    missing = found.missing
    assert missing.q == pytest.approx(0.5 * math.erfc(at / 2**0.5), abs=0.01)
    assert missing.low <= 0.5 * math.erfc((at - 1) / 2**0.5) <= missing.high
    assert missing.ratio_low > 2
    assert found.excess.ratio_high < 0.5
    ratios = [one.share.ratio for one in found.deciles]
    assert ratios[0] < 0.3
    assert ratios[-1] > 2.5
    for one in found.deciles:  # the true ratio claims what the truths show
        assert one.share.ratio_low <= one.claimed <= one.share.ratio_high


def test_maps_are_blue_where_q_misses_mass():
    found = told(normals(n=800, shift=1.0, d=2))
    first = found.maps[0]
    assert sorted(first.of) == [0, 1]
    plane = first.ratio
    across = plane if first.of[0] == 0 else plane.T
    assert np.nanmean(across[:, 14:]) > 0.5
    assert np.nanmean(across[:, :6]) < -0.5
    assert np.isnan(across).any()  # corners with few draws are blank


def test_a_line_where_there_is_one_parameter():
    found = told(normals(d=1, shift=1.0))
    figures = QUESTION.figures(found, Names(NAMES), CLAIMED)
    assert [(one.of, one.frame) for one in found.maps] == [((0,), "sd"), ((0,), "own")]
    mean = found.maps[1].ratio[0]
    edges = found.maps[1].edges
    at = (edges[1:] + edges[:-1]) / 2
    np.testing.assert_allclose(mean, at - 0.5, atol=0.15)
    assert len(figures) == 3


def test_the_parameters_that_the_ratio_depends_on_are_mapped():
    table = normals(n=300, d=30, k=20)
    ratio = table.q[..., 17] + np.abs(table.q[..., 4])
    truth = table.theta[:, 17] + np.abs(table.theta[:, 4])
    found = mass_in_theta(table, truth, ratio, 20, 0)
    assert {17, 4} <= set(found.chosen)
    assert len(found.chosen) == 5
    assert {*found.maps[0].of} == {4, 17}
    assert "Of 30 parameters" in note(found)


def test_pooled_rows_are_seen_in_their_own_sds():
    """q is off by one sd at every x, whatever its place and width there."""
    rng = np.random.default_rng(0)
    x, sd = 50 * rng.standard_normal((600, 1)), np.exp(rng.standard_normal((600, 1)))
    table = PosteriorTable(x + sd * (1 + rng.standard_normal((600, 1))), x,
                  x[:, None] + sd[:, None] * rng.standard_normal((600, 40, 1)))  # fmt: skip
    truth, draws = ((one - mid) / wide for one, mid, wide in (
        (table.theta[:, 0], x[:, 0], sd[:, 0]), (table.q[:, :, 0], x, sd)))  # fmt: skip
    found = mass_in_theta(table, truth - 0.5, draws - 0.5, 40, 0)
    highest = found.strips[-1].share
    assert highest.truth > 0.25 > 2 * highest.q
    said = QUESTION.describe(found, Names(NAMES), CLAIMED)
    assert "more than 1.5 sd above q's mean" in " ".join(said) or "q puts" in said[1]


@pytest.mark.parametrize("k", [1, 4, 30])
@pytest.mark.parametrize("d", [1, 2, 6])
def test_every_shape_is_told_drawn_and_listed(k, d):
    found = told(normals(n=60, k=k, d=d))
    json.dumps(QUESTION.to_json(found), allow_nan=False)
    assert bool(found.strips) == (k > 4)
    for one in QUESTION.figures(found, Names(NAMES), CLAIMED):
        go.Figure(one.figure.to_dict())  # plotly's own validation
        assert "f q were correct" in one.caption
        assert "<b>" not in one.figure.to_json()
    assert len(QUESTION.rows(found, Names(NAMES), CLAIMED)) == 10 + len(found.strips)
    first, *rest = QUESTION.describe(found, Names(NAMES), FixedClaims(found.pvalue))
    silent = first.startswith("No place in theta is found where q's mass is wrong")
    assert silent == (found.pvalue > 0.05)
    assert len(rest) >= 1 + (not silent)
    assert "In the lowest tenth they are " in rest[-1]
    assert "60 held-out rows were scored" in note(found)


def test_constant_draws_and_extreme_logits_are_no_trouble():
    table = normals(n=60, k=10)
    still = PosteriorTable(
        table.theta, table.x, np.concatenate([0 * table.q[..., :1], table.q[..., 1:]], 2)
    )
    huge = 1e4 * still.q[..., 1]
    found = mass_in_theta(still, 1e4 * still.theta[:, 1], huge, 10, 0)
    json.dumps(QUESTION.to_json(found), allow_nan=False)
    assert len(QUESTION.figures(found, Names(NAMES), CLAIMED)) > 1


def test_a_shift_is_found_by_the_classifier_and_told(tmp_path):
    found = run(upload_of(normals(n=800, k=30, shift=0.8)), Store(tmp_path))
    assert found.rows == 400
    assert found.pvalue < 1e-4
    first, where, *rest = QUESTION.describe(found, Names(NAMES), FixedClaims(found.pvalue))
    missing = found.missing
    assert missing.low > 2 * missing.q
    assert first == (
        f"About {missing.truth:.0%} of true values fall in regions where q puts "
        f"{share_text(missing.q)} of its draws: about {missing.ratio:.1f} times too "
        f"little (p {equals(found.pvalue)})."
    )
    assert where.startswith("Where the score says q too low by 2 times or more: ")
    share = share_interval_text((missing.truth, missing.low, missing.high))
    assert f"{share_text(missing.q)} of q's draws, {share} of true values" in where
    said = " ".join(rest)
    assert "q puts too little mass where mass is" in said or "q puts too much mass" in said
    assert QUESTION.finds(found, CLAIMED)
    assert found.deciles[-1].share.ratio_low > 1 > found.deciles[0].share.ratio_high
    first = QUESTION.rows(found, Names(NAMES), CLAIMED)[0]
    assert not first["low"] <= first["q's share"] <= first["high"]


def test_a_right_q_is_not_called_right(tmp_path):
    found = run(upload_of(normals(n=300, seed=5)), Store(tmp_path))
    said = QUESTION.describe(found, Names(NAMES), SILENT)
    assert said[0].startswith("No place in theta is found")


def test_draws_that_are_scored_are_bounded(monkeypatch, tmp_path):
    monkeypatch.setattr("validation_core.diagnosis.questions.in_theta.study.SCORED", 600)
    found = run(upload_of(normals(n=100, k=50)), Store(tmp_path))
    assert found.scored == 600
    assert "600 draws of q" in note(found)


def test_obstacles_say_what_to_do():
    rng = np.random.default_rng(0)
    two = Upload.of({"p": rng.standard_normal((90, 2)), "q": rng.standard_normal((90, 2))})
    assert "Upload theta, x and theta_q" in QUESTION.obstacle(two)
    assert "got 30" in QUESTION.obstacle(upload_of(normals(n=30)))
    assert QUESTION.studies(two, diagnosis.default_methods(), 0) == ()


def test_blank_cells_have_few_draws():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 500))
    sides = cell_edges(a, True), cell_edges(b, True)
    plane = ratio_plane(a, b, np.ones(500), sides)
    counts = np.histogram2d(b, a, bins=sides[::-1])[0]
    np.testing.assert_array_equal(np.isnan(plane), counts < FEWEST)
    np.testing.assert_allclose(plane[counts >= FEWEST], 1)


def test_the_code_runs(tmp_path, capsys):
    table = normals(n=60, k=3)
    path = tmp_path / "a table.npz"
    np.savez(path, theta=table.theta, x=table.x, theta_q=table.q)
    exec(code_of(QUESTION, path), {})
    upload = tables.read(path)
    result = run(upload, Store(tmp_path / "store"))
    claims = asked_alone(QUESTION, upload, 0, Store(tmp_path / "store"))
    first, *_, tenths = QUESTION.describe(result, Names(upload.names), claims)
    printed = capsys.readouterr().out
    assert printed.startswith(first)
    assert tenths in printed


def test_a_real_table(shared, tmp_path):
    upload = tables.read(shared / "data" / "two_moons_undertrained.npz")
    with trained_by(UploadTraining(classifier=replace(FEW, epochs=100, hidden=64))):
        found = run(upload, Store(tmp_path))
    assert found.pvalue < 1e-3
    assert found.deciles[0].share.ratio_high < 1 < found.deciles[-1].share.ratio_low


@pytest.mark.parametrize("k", [5, 9])
def test_strips_of_few_draws_hold_their_level(k):
    """Truth and draws enter the scale of a strip alike, however few draws there are."""
    told = 0
    for seed in range(40):
        table = normals(n=400, k=k, seed=seed)
        still = np.zeros(len(table))
        found = mass_in_theta(table, still, np.zeros(table.q.shape[:2]), k, seed)
        told += any(strip.share.differs for strip in found.strips)
    assert told <= binom.isf(1e-3, 40, 0.05)


def test_strips_that_are_off_are_not_denied(tmp_path):
    """The score and the strips are two looks: what one finds, the other does not take back."""
    found = run(upload_of(normals(n=300, seed=5)), Store(tmp_path))
    assert found.pvalue > 0.05
    first = found.strips[0]
    share = replace(first.share, q=0.07, truth=0.15, low=0.09, high=0.22)
    off = replace(found, strips=(replace(first, share=share),))
    claims = FixedClaims(found.pvalue, {first.parameter: 0.001})
    said = QUESTION.describe(off, Names(NAMES), claims)
    assert "too little mass" in said[0]
    assert said[1].startswith("No learned score finds a place")
    assert "No place" not in " ".join(said)


def test_regions_that_may_hold_as_many_truths_name_no_place():
    found = mass_in_theta(normals(n=60, k=20), np.zeros(60), np.zeros((60, 20)), 20, 0)
    ratios = {"ratio": 2.67, "ratio_low": 0.03, "ratio_high": 16.98}
    share = replace(found.deciles[0].share, q=0.001, truth=0.002, low=0.0, high=0.013, **ratios)
    spread = replace(
        found, pvalue=1e-4, excess=share, deciles=(replace(found.deciles[0], share=share),) * 10
    )
    first, where, *_ = QUESTION.describe(spread, Names(NAMES), CLAIMED)
    assert first.startswith("q's mass is wrong in theta, but no region")
    assert "which may be as many" in where
    assert "2.67" not in first + where
    assert where.endswith("for a place to be named.")
