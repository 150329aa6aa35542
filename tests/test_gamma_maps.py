"""CoLT's ball at every gamma by one localizer: what is drawn, held against fresh draws."""

from dataclasses import replace

import numpy as np
import pytest

from validation_core import statistics
from validation_core.benchmarks import Gaussian, Spiral, Tree
from validation_core.drawing.marks import Axis, HLine, Line, Panel, Points, over, sentence
from validation_core.drawing.over_sliders import join_over
from validation_core.localization import GammaMapsStudy, LocalRate, over_gamma
from validation_core.panels.colt import power, where
from validation_core.panels.colt.theta import ThetaAxes
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.scores.localizer import Localizer
from validation_core.store import Store

FEW = Localizer(anchors=40, draws=20, steps=20, blur_steps=20, hidden=8)


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(Localizer, "for_all_gammas", lambda recipe, gammas: recipe)
    monkeypatch.setattr(over_gamma, "PERMUTATIONS", 99)


def _study(benchmark, **changes):
    usual = {"n": 300, "k": 50, "places": 5, "points": 31}
    return GammaMapsStudy(benchmark=benchmark, recipe=FEW, **{**usual, **changes})


def _run(study, store):
    study.run(store, lambda fraction, live: None)
    return study.load(store)


@pytest.mark.parametrize("dims", [(1, 1), (1, 2), (2, 2), (3, 3)])
def test_the_ball_holds_its_mass_of_q_at_every_gamma(store, dims):
    """On draws that no picture shows, from the kept centre and the network itself."""
    benchmark = Gaussian(dim_x=dims[0], dim_theta=dims[1])
    study = _study(benchmark)
    seen = _run(study, store)
    distance = trained_scores.trained(store, study.training).at()
    for index, gamma in enumerate(study.gammas):
        maps = seen.at(index)
        at = study.over.at(maps.x_at, index)
        rng = stream(3, index)
        many = np.repeat(maps.x_at, 2000, axis=0).astype(float)
        q, p = (law(many, gamma, rng) for law in (benchmark.q, benchmark.theta))
        far = [distance.field(side.reshape(5, 2000, -1), at) for side in (q, p)]
        radius = np.quantile(far[0], seen.u_star, axis=1)
        share = (far[1] <= radius[:, None]).mean(1)
        u = seen.u_star
        # 2000 draws gave the kept radius, 2000 give this one, and so many are shown.
        error = np.sqrt(u * (1 - u) * (2 / 2000 + 1 / maps.q.shape[1]))
        np.testing.assert_allclose(maps.q_inside.mean(1), u, atol=4.5 * error)
        error = np.sqrt(0.25 * (2 / 2000 + 1 / maps.truth.shape[1])) + 0.02
        np.testing.assert_allclose(maps.truth_inside.mean(1), share, atol=4.5 * error)
        np.testing.assert_allclose(maps.centre, distance.centre(at), atol=1e-5)


def test_what_is_quoted_comes_from_the_ranks(store):
    seen = _run(_study(Gaussian(dim_x=2, dim_theta=2)), store)
    u = seen.u.astype(float)
    for index, pvalue in enumerate(seen.pvalue):
        assert pvalue == pytest.approx(statistics.ks(u[index]).pvalue, rel=0.05)
        share, low, high = seen.inside[index]
        assert share == pytest.approx((u[index] <= seen.u_star).mean(), abs=0.005)
        assert low < share < high
        assert seen.rates[index].heat is not None
    # q departs from p more with every gamma.
    assert seen.pvalue[0] > 1e-3 > seen.pvalue[-1]
    assert seen.distance[-1, 0] > seen.distance[1, 0]


def test_nothing_jumps_from_one_gamma_to_the_next(store):
    seen = _run(_study(Gaussian(dim_x=2, dim_theta=2)), store)
    assert len(seen.truth) == 1, "gamma does not touch p"
    q = seen.q.astype(float)
    steps = np.abs(np.diff(q, axis=0)).max()
    assert 0 < steps < 0.5 * q.std()
    assert np.abs(np.diff(seen.centre, axis=0)).max() < q.std()


def test_a_study_gives_the_same_twice(store, tmp_path):
    study = _study(Tree())
    one, other = (_run(study, place) for place in (store, Store(tmp_path / "other")))
    for name in ("u", "q", "outline", "inside"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.spine.length == other.spine.length


@pytest.mark.parametrize("benchmark", [Gaussian(dim_x=1, dim_theta=1), Tree(), Spiral(),
                                       Gaussian(dim_x=4, dim_theta=3),
                                       Gaussian(perturbation="blind_prior", dim_x=2, dim_theta=2)],
                         ids=lambda benchmark: benchmark.label)  # fmt: skip
def test_pictures_of_every_shape(store, benchmark):
    study = _study(benchmark)
    seen = _run(study, store)
    maps = seen.each()
    for sight in (ThetaAxes(), ThetaAxes(around=True)):
        start = study.gammas[-1]
        payload = where.payload(maps, seen.rates, sight, 0.05, study.gammas, start)
        several = len(study.gammas) > 1
        assert len(payload.sliders) == 1 + several
        assert payload.start[0] == start or not several
    ranks = power.ranks(maps, 0.05, study.gammas, start)
    assert len(ranks.sliders) == several


def test_the_same_few_coordinates_are_shown_at_every_gamma(store):
    seen = _run(_study(Gaussian(dim_x=6, dim_theta=2), n=100), store)
    kept = {tuple(rate.coordinates) for rate in seen.rates}
    assert len(kept) == 1
    assert len(kept.pop()) == len(seen.rates[0].curves) == 3


def test_some_coordinates_of_a_rate():
    rate = LocalRate(0.1, np.array([2, 0, 1]), np.array([0.1, 0.2, 0.3]), ("c", "a", "b"), None, 9)
    assert rate.of(np.array([1, 2])).curves == ("b", "c")
    assert rate.of(np.array([1, 2])).pvalues.tolist() == [0.3, 0.1]


def _panel(height, *, label="y"):
    return Panel(
        [
            HLine(0),
            Line([0, 1], over([[0, height], [1, height]], "x"), color="red"),
            Points(np.arange(height), np.arange(height), color="red"),
        ],
        title=f"{height} high",
        x=Axis((0, 1)),
        y=Axis((-height, height), label),
        caption=sentence("{what} here", what=over([f"{height}a", "b"], "x")),
    )


def test_what_differs_moves_and_what_all_share_stays():
    panel = join_over("gamma", [_panel(1), _panel(3)])
    rule, line, points = panel.marks
    assert rule == HLine(0) or rule.y == 0
    assert line.x == [0, 1]
    assert line.y.sliders == ("gamma", "x")
    np.testing.assert_array_equal(line.y.values, [[[0, 1], [1, 1]], [[0, 3], [1, 3]]])
    np.testing.assert_array_equal(points.x.values, [[0, np.nan, np.nan], [0, 1, 2]])
    assert panel.y.limits == (-3, 3)
    assert panel.title.values.tolist() == ["1 high", "3 high"]
    assert panel.caption.parts["what"].values.tolist() == [["1a", "b"], ["3a", "b"]]
    assert join_over("gamma", [_panel(2)]).title == "2 high"


def test_pictures_of_another_make_are_refused():
    other = replace(_panel(1), marks=_panel(1).marks[:2])
    with pytest.raises(ValueError, match="the same lists of marks"):
        join_over("gamma", [_panel(1), other])
