"""The playground: one network for every gamma, numbers on screen that are those of the core."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest

from pages.playground import new_samples
from tests.conftest import ROOT
from tests.picture_reading import Picture
from tests.test_live import unpacked
from validation_core import scores, statistics
from validation_core.benchmarks import Boundary, Gaussian, Spiral, Trained, Tree
from validation_core.benchmarks.over_gamma import AtGamma, OverGamma, refine_grid
from validation_core.engine import Services
from validation_core.explorers.playground import pictures, power_panels, pvalue_bricks, thumbnails
from validation_core.explorers.playground import study as playground
from validation_core.explorers.playground.study import (
    METHODS,
    POINTS,
    POWER_BETAS,
    PlaygroundSampleStudy,
    PlaygroundStudy,
    PlaygroundTrialStudy,
    named,
    shipped,
)
from validation_core.gallery import FOLDER
from validation_core.rng import common, stream
from validation_core.sampling import table
from validation_core.scores import trained_scores
from validation_core.scores.classifier import Classifier
from validation_core.scores.localizer import Localizer
from validation_core.scores.trained_scores import Training
from validation_core.store import Store
from validation_core.sweep import trials

SHIFT = Gaussian(dim_x=2, dim_theta=2)
GRID = (0.0, 0.1, 0.3)
SILENT = lambda fraction, live: None  # noqa: E731


class Small(PlaygroundStudy, spec="test_playground"):
    """Three gammas, and networks that learn little."""

    @property
    def gammas(self):
        return GRID

    @property
    def classifier(self):
        recipe = Classifier(train=500, epochs=4, lr=2e-3, hidden=16)
        return Training(source=self._source, recipe=recipe, seed=self.seed)

    @property
    def localizer(self):
        recipe = Localizer(anchors=60, draws=20, hidden=16, steps=10, batch=32, blur_steps=10)
        return Training(source=self._source, recipe=recipe, seed=self.seed)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A study with its result and the store that has its networks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(playground, "BETAS", (0.0, 0.5, 1.0))
        patch.setattr(playground, "BALL_DRAWS", 200)
        patch.setattr(playground, "TRUE_DRAWS", 200)
        patch.setattr(playground, "DRAWS_PER_CELL", 20)
        study, store = Small(benchmark=SHIFT, trials=12), Store(tmp_path_factory.mktemp("small"))
        study.run(store, SILENT)
        yield study, study.load(store), store


def test_a_grid_holds_the_papers_values_and_halves_the_widest_gap():
    grid = refine_grid((0, 0.1, 0.4), 6)
    assert grid == (0, 0.1, 0.175, 0.25, 0.325, 0.4)
    assert refine_grid((1,), 25) == (1,)
    bent = refine_grid((0, 0.5, 1), 9, power=0.25)
    assert {0, 0.5, 1} < set(bent)
    assert sum(0 < gamma < 0.1 for gamma in bent) >= 3


def test_rows_at_a_gamma_follow_the_benchmark_there():
    over = OverGamma(of=SHIFT, grid=GRID)
    x = SHIFT.x(500, stream(0))
    for index, gamma in enumerate(GRID):
        at = over.at(x, index)
        np.testing.assert_array_equal(at[:, :-1], x)
        drawn = over.q(at, 0.0, stream(1))
        np.testing.assert_array_equal(drawn, SHIFT.q(x, gamma, stream(1)))
    mixed = over.x(3000, stream(2))
    assert np.unique(mixed[:, -1], return_counts=True)[1].min() > 900
    assert over.dims == (2, 3)


def test_a_score_at_a_gamma_scores_a_table_as_row_by_row():
    over = OverGamma(of=SHIFT, grid=GRID)
    drawn = table(SHIFT, 0.1, 20, 5, stream(0))
    score = AtGamma(lambda theta, x: theta.sum(1) * x[:, -1] + x[:, 0], over, 2)
    scored = scores.apply(score, drawn)
    np.testing.assert_allclose(scored.truth[0], score(drawn.theta, drawn.x))
    np.testing.assert_allclose(scored.draws[0, :, 3], score(drawn.q[:, 3], drawn.x))


@pytest.mark.parametrize("perturbation", ["heavy_tail", "additional_mode", "covariance_scaling"])
def test_common_numbers_move_a_little_with_gamma(perturbation):
    benchmark = replace(SHIFT, perturbation=perturbation)
    x = np.ones((2000, 2))
    near, there, far = (benchmark.q(x, gamma, common(0, "moves")) for gamma in (0.2, 0.21, 0.35))
    step = np.abs(there - near).max(1)
    assert np.median(step) < 0.05
    assert (step < 0.2).mean() > 0.95, "but for those that jump to the other mode"
    assert np.abs(far - near).mean() > np.abs(there - near).mean()


def test_common_numbers_have_their_laws():
    rng = common(0, "laws")
    assert kstest(rng.standard_normal(4000), "norm").pvalue > 0.001
    assert kstest(rng.chisquare(2.5, 4000), "chi2", (2.5,)).pvalue > 0.001
    assert kstest(rng.uniform(1, 3, 4000), "uniform", (1, 2)).pvalue > 0.001
    assert kstest(rng.random(4000), "uniform").pvalue > 0.001


def test_ranks_are_counted_and_tested(small):
    _, seen, _ = small
    assert (seen.ranks.counts.sum(-1) == POINTS).all()
    assert ((seen.ranks.pvalues > 0) & (seen.ranks.pvalues <= 1)).all()
    assert seen.ranks.auc.shape == (3, 3)


def test_the_ball_holds_its_share_of_q(small):
    """Draws of q that chose no radius lie in the ball as often as it says."""
    study, seen, store = small
    distance = trained_scores.trained(store, study.localizer).at(0.0)
    score = AtGamma(distance, study.over, 1)
    x = np.repeat(seen.where.x_at, 500, axis=0)
    radius, _ = study.share_inside(distance, seen.where.x_at, 0.1, 1, seen.where.u_star, 1000)
    far = score(SHIFT.q(x, 0.1, stream(5)), x).reshape(-1, 500)
    share = (far <= radius[:, None]).mean()
    assert abs(share - seen.where.u_star) < 0.03
    low, high = seen.where.inside[:, 1], seen.where.inside[:, 2]
    assert ((low <= seen.where.inside[:, 0]) & (seen.where.inside[:, 0] <= high)).all()


def test_an_outline_lies_on_the_ball(small):
    study, seen, store = small
    distance = trained_scores.trained(store, study.localizer).at(0.0)
    rim = np.asarray(seen.where.outline[1, 12], float)
    rim = rim[~np.isnan(rim[:, 0])]
    assert len(rim) > 8
    x = np.repeat(seen.where.x_at[12:13], len(rim), axis=0)
    far = AtGamma(distance, study.over, 1)(rim, x)
    assert np.std(far) < 0.05 * np.mean(far)


def test_pvalues_are_those_of_the_trial_engine(small):
    study, seen, store = small
    networks = (
        trained_scores.trained(store, study.classifier),
        trained_scores.trained(store, study.localizer),
    )
    read = study.scores_at(*networks, 1, 0.4)
    tallies = trials.run_trials(SHIFT, 0.1, read, METHODS, study.design)
    beta = POWER_BETAS.index(0.4)
    for row, method, tally in zip(seen.trial_pvalues, METHODS, tallies, strict=True):
        if method.degrades:
            expected = np.maximum(tally.pvalues, 1e-7).astype(np.float16)
            np.testing.assert_array_equal(row[beta, 1], expected)
        else:
            assert np.isnan(row[beta]).all()


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_an_opened_trial_is_the_brick(small, method):
    study, seen, store = small
    one = PlaygroundTrialStudy(of=study, method=method, gamma=0.1, beta=0.0, trial=7)
    shown = one.compute(store, SILENT)
    brick = seen.trial_pvalues[METHODS.index(method), 0, 1, 7]
    assert np.float16(max(shown.pvalue, 1e-7)) == brick
    assert shown.p.shape == shown.q.shape == (POINTS, 2)
    if shown.ranks.size:
        assert shown.ranks.shape == (POINTS,)
    opened = Picture(pvalue_bricks.trial_payload(shown, method))
    titles = [str(panel["title"]) for panel in opened.head["panels"]]
    assert ("farthest off" in titles[1]) == (method.name == "sbc"), "one of two, chosen"


def test_an_opened_trial_that_rejects_a_correct_q_says_that_it_is_chance():
    draws, scores = np.zeros((POINTS, 2)), np.linspace(0, 1, POINTS)
    trial = playground.PlaygroundTrial(draws, draws, scores, scores, np.zeros(0), 0.6, 0.01)
    for correct, said in ((True, "rejects a correct q, by chance:"), (False, "rejects q:")):
        payload = pvalue_bricks.trial_payload(trial, METHODS[0], correct=correct)
        assert Picture(payload).headline().startswith(f"This trial {said}")


def test_only_what_can_be_drawn():
    with pytest.raises(ValueError, match="in the plane; got 3 parameters and 3 data"):
        PlaygroundStudy(benchmark=Gaussian()).compute(Store(None), SILENT)


def test_the_strip_shows_every_benchmark():
    assert len(named()) == 18
    assert {type(benchmark) for benchmark in named().values()} == {
        Gaussian, Boundary, Tree, Spiral, Trained
    }  # fmt: skip
    store = Store(None, gallery=FOLDER)
    for name, benchmark in named().items():
        known = None
        if isinstance(benchmark, Trained):
            known = PlaygroundStudy(benchmark=benchmark).load(store).where
        item = thumbnails.thumbnail(name, benchmark, known)
        for side in ("p", "q"):
            places = np.array(item[side])
            assert places.shape == (70, 2)
            assert (places >= 0).all()
            assert (places <= [64, 44]).all()


def test_a_trained_estimator_is_drawn_without_its_network():
    """From what ships: no process that draws pages imports torch for it."""
    script = """
import json
import sys
from validation_core.explorers.playground import pictures, pvalue_bricks, thumbnails
from validation_core.explorers.playground.study import METHODS, POWER_BETAS, PlaygroundStudy, named
from validation_core.gallery import FOLDER
from validation_core.panels.gamma_scale import GammaScale
from validation_core.store import Store
study = PlaygroundStudy(benchmark=named()["trained"])
seen = study.load(Store(None, gallery=FOLDER))
thumbnails.thumbnail("trained", study.benchmark, seen.where)
scale = GammaScale.of(study.benchmark)
payloads = pictures.payload(study, seen), pvalue_bricks.pvalue_bricks(
    seen, METHODS[0], POWER_BETAS, scale)
assert "torch" not in sys.modules
for payload in payloads:
    slider = json.loads(payload.head)["sliders"][0]
    assert slider["label"] == "Simulations", slider
    assert slider["shown"] == ["400", "1,000", "2,000"], slider
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)


@pytest.fixture
def drawn(small, monkeypatch):
    """The payload of the small study: its description, and what unpacks its numbers."""
    study, seen, _ = small
    for drawn_from in (pictures, power_panels):
        monkeypatch.setattr(drawn_from, "BETAS", (0.0, 0.5, 1.0))
    head, numbers = unpacked(pictures.payload(study, seen))
    return seen, {panel["title"]: panel for panel in head["panels"]}, numbers, head


def test_draws_on_screen_are_the_cores(drawn):
    seen, panels, numbers, head = drawn
    rim, q, p = panels["Where q is wrong"]["marks"]
    x = numbers(q["x"]) + np.asarray(seen.where.origin)[:, None, 0]
    expected = np.asarray(seen.where.q[..., : x.shape[-1], 0], float)
    inside = ~np.isnan(x)
    np.testing.assert_allclose(x[inside], expected[inside], atol=2e-3)
    assert inside.mean() > 0.95
    assert p["x"]["by"] == [2]
    assert rim["x"]["by"] == [0, 2]
    assert [slider["name"] for slider in head["sliders"]] == ["gamma", "beta", "x", "sample"]


def test_ranks_on_screen_are_the_cores(drawn):
    seen, panels, numbers, _ = drawn
    bars = panels["Conformal p-values of q's draws"]["marks"][1]
    counts = seen.ranks.counts.reshape(*seen.ranks.counts.shape[:-1], 20, 2).sum(-1)
    np.testing.assert_array_equal(numbers(bars["y"]), counts)
    line = panels["Are they uniform? ECDF less the diagonal"]["marks"][2]
    heights = numbers(line["y"])
    assert np.abs(heights[..., [0, -1]]).max() < 1e-3
    expected = np.cumsum(counts, -1)[..., 4] / POINTS - 0.25
    np.testing.assert_allclose(heights[..., 5], expected, atol=1e-3)


def test_power_on_screen_is_the_cores(drawn):
    seen, panels, numbers, _ = drawn
    hits, count = seen.power(0.05)
    lines = [mark for mark in panels["Power over gamma"]["marks"] if mark["kind"] == "line"]
    for line, rejected in zip(lines, hits, strict=True):
        rates = numbers(line["y"])
        np.testing.assert_allclose(rates[0], rejected[0] / count, atol=1e-6)


def test_a_brick_stands_at_its_pvalue_and_the_highest_column_fills_the_wall(small):
    _, seen, _ = small
    uniform = next(method for method in METHODS if method.name == "uniform")
    head, numbers = unpacked(pvalue_bricks.pvalue_bricks(seen, uniform, POWER_BETAS))
    marks = head["panels"][0]["marks"]
    kept, rejected = (mark for mark in marks if mark["kind"] == "points" and mark["color"])
    pvalues = seen.trial_pvalues[METHODS.index(uniform)].astype(float)
    for mark, side in ((kept, pvalues > 0.05), (rejected, pvalues <= 0.05)):
        np.testing.assert_array_equal(~np.isnan(numbers(mark["x"])), side)
    x, y = (
        np.where(pvalues > 0.05, numbers(kept[axis]), numbers(rejected[axis])) for axis in "xy"
    )
    np.testing.assert_allclose(x, pvalues, atol=2e-5)
    for wall in np.stack([x, y], -1).reshape(-1, x.shape[-1], 2):
        column = np.minimum(wall[:, 0] * 20, 19) // 1
        bricks = {(c, h) for c, h in zip(column, wall[:, 1].round(3), strict=True)}
        assert len(bricks) == len(wall), "no brick on another"
    bars = sum(numbers(mark["y"]) for mark in marks if mark["kind"] == "bars")
    np.testing.assert_allclose(bars.max(-1), 1)


def test_new_samples_go_on_after_the_last_without_repeats(small, drawn, monkeypatch):
    study, seen, store = small
    monkeypatch.setattr(new_samples, "services", lambda: Services(store, None))
    monkeypatch.setattr(new_samples, "stored", lambda more: more.load(store))
    assert new_samples.window(study, seen, 0) == (range(4), seen)
    assert new_samples.window(study, seen, 3) == (range(4), seen), "none is there yet"
    for number in (4, 5):
        PlaygroundSampleStudy(of=study, sample=number).run(store, SILENT)
    numbers, further = new_samples.window(study, seen, 3)
    assert numbers == range(3, 6)
    np.testing.assert_array_equal(further.ranks.counts[0], seen.ranks.counts[3])
    every = [*seen.ranks.counts, *further.ranks.counts[1:]]
    assert len({counts.tobytes() for counts in every}) == 6
    head, _ = unpacked(pictures.payload(study, further, numbers.start))
    assert head["sliders"][3]["values"] == [3, 4, 5]
    numbers, again = new_samples.window(study, seen, 4)
    assert numbers == range(3, 6), "until its last is on screen"
    np.testing.assert_array_equal(again.ranks.counts, further.ranks.counts)


@pytest.fixture(scope="module", params=shipped(), ids=lambda study: study.benchmark.label)
def kept(request, tmp_path_factory):
    """A shipped study with its result."""
    store = Store(tmp_path_factory.mktemp("own"), gallery=FOLDER)
    return request.param, request.param.load(store), store


def test_levels_hold_where_nothing_is_wrong(kept):
    study, seen, _ = kept
    if 0 not in study.gammas:
        return
    hits, count = seen.power(0.05)
    most = statistics.binomial_bounds(count, 0.05, 0.999)[1]
    nothing_wrong = hits[:, :, study.gammas.index(0)]
    assert np.nanmax(nothing_wrong) <= most


def test_power_climbs_across_the_grid(kept):
    """The best test goes from its level to nearly always, and most gammas are in between."""
    study, seen, _ = kept
    if len(study.gammas) < 20:
        return
    hits, count = seen.power(0.05)
    rates = hits[:, 0] / count
    assert rates.max(0)[-1] > 0.8
    between = ((rates > 0.1) & (rates < 0.95)).any(0)
    assert between.mean() > 0.3
    for rate in rates:
        assert rate[-1] >= rate[0] - 0.05


def test_a_payload_is_small(kept):
    study, seen, _ = kept
    payload = pictures.payload(study, seen)
    assert len(payload.message(payload.start)) <= 700_000


def test_neighbouring_balls_follow_one_another(kept):
    """A centre moves between gammas by a small part of what it moves over all of them."""
    study, seen, _ = kept
    if len(study.gammas) < 20:
        return
    steps = np.linalg.norm(np.diff(np.asarray(seen.where.centre, float), axis=0), axis=-1)
    spread = np.asarray(seen.where.q, float).std(axis=(0, 1, 2)).mean()
    assert np.quantile(steps, 0.99) < 0.5 * spread


@pytest.mark.slow
def test_shipped_pvalues_are_those_of_the_shipped_networks(kept):
    study, seen, store = kept
    rng = np.random.default_rng(3)
    index, beta = int(rng.integers(len(study.gammas))), float(rng.choice(playground.COLT_BETAS))
    networks = (
        trained_scores.trained(store, study.classifier),
        trained_scores.trained(store, study.localizer),
    )
    trained_scores.ready(store, study.benchmark)
    read = study.scores_at(*networks, index, beta)
    running = [method for method in METHODS if beta in playground.betas_of(method)]
    gamma = study.gammas[index]
    tallies = trials.run_trials(study.benchmark, gamma, read, running, study.design, range(20))
    for method, tally in zip(running, tallies, strict=True):
        stored = seen.trial_pvalues[METHODS.index(method), POWER_BETAS.index(beta), index, :20]
        expected = np.maximum(tally.pvalues, 1e-7)  # half precision: in steps of 6e-8 down there
        # A processor that rounds otherwise moves some ranks; another network would move them all.
        # Digit by digit where it rounds alike: test_gallery_numbers.
        same = np.isclose(stored.astype(float), expected, rtol=2e-3, atol=6e-8)
        assert same.mean() >= 0.5, (method.name, same)
