"""Bayesian models as a benchmark: q fitted at each x, truths that come with their x, levels."""

import json
import subprocess
import sys
from dataclasses import fields
from typing import get_args

import numpy as np
import pytest

from tests.conftest import ROOT, in_turn
from validation_core import keys, pieces, sampling, scores, statistics
from validation_core.bayes import MODELS, closed, importance_weights
from validation_core.bayes.algorithms import ALGORITHMS
from validation_core.bayes.variational import Variational
from validation_core.benchmarks import BayesModel, Gaussian, bayes_model
from validation_core.cli import main
from validation_core.cli.power_line import command_line
from validation_core.localization import map_draws
from validation_core.methods import METHODS, SBC, CoLT, WithinX
from validation_core.rng import stream
from validation_core.scores.trained_scores import Simulated
from validation_core.sweep import costs
from validation_core.sweep import trials as engine
from validation_core.sweep.plan import Sweep
from validation_core.sweep.presets import explain_misses
from validation_core.sweep.trials import TrialDesign
from validation_core.types import PosteriorTable, PowerCell, TableScores

HEART = BayesModel()
EVERY = [
    BayesModel(model=model, inference=inference)
    for model in MODELS
    for inference in ALGORITHMS
    if inference != "exact" or closed(model)
]


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch):
    """Every test fits anew."""
    monkeypatch.setattr(bayes_model, "FIT_CACHE", bayes_model.FitCache(1 << 20))


def _label(benchmark):
    return f"{benchmark.model}-{benchmark.inference}"


def test_choices_are_the_registries():
    hints = {one.name: one for one in fields(BayesModel)}
    assert set(hints) == {"model", "inference", "m", "data", "design"}
    assert get_args(bayes_model.ModelName) == tuple(MODELS)
    assert get_args(bayes_model.InferenceName) == tuple(ALGORITHMS)
    assert len(EVERY) == 5 * 6 + 2


@pytest.mark.parametrize("benchmark", EVERY, ids=_label)
def test_every_pair_draws_and_weighs(benchmark):
    gamma = 0.0 if benchmark.inference == "exact" else 100.0
    d, m = benchmark.dims
    table = sampling.table(benchmark, gamma, 6, 3, stream(0))
    assert (table.theta.shape, table.x.shape, table.q.shape) == ((6, d), (6, m), (6, 3, d))
    weight = benchmark.log_weight(table.theta, table.x, gamma)
    assert np.isfinite(weight).all()
    assert (benchmark.log_p(table.theta, table.x, gamma) is None) == (not closed(benchmark.model))
    assert keys.read(keys.canonical_text(benchmark)) == benchmark
    assert MODELS[benchmark.model].title in benchmark.label
    assert ALGORITHMS[benchmark.inference].label in benchmark.label


@pytest.mark.parametrize("inference", ["laplace", "vi"])
def test_weights_are_those_of_the_algorithm(inference):
    benchmark = BayesModel(model="hospitals", inference=inference)
    pairs = benchmark.pairs(5, 300.0, stream(1))
    q = benchmark.posterior(pairs.x, 300.0)
    found = importance_weights.sampled_log_weights(
        benchmark.of, q, pairs, 1, [stream(2, k) for k in range(5)]
    )
    for theta, expected in ((pairs.theta, found.truth), (found.drawn, found.draws)):
        np.testing.assert_allclose(
            benchmark.log_weight(theta, pairs.x, 300.0), expected[:, 0], rtol=1e-10, atol=1e-9
        )


@pytest.mark.parametrize("model", ["heart_transplants", "concrete"])
def test_the_ratio_is_the_weight_but_for_x(model):
    """log p(theta, x) - log q less log p - log q is log p(x): the same at every theta of an x."""
    benchmark = BayesModel(model=model)
    table = sampling.table(benchmark, 100.0, 4, 6, stream(3))
    theta, x = table.q.reshape(24, -1), np.repeat(table.x, 6, axis=0)
    ratio = benchmark.log_ratio(theta, x, 100.0)
    rest = (benchmark.log_weight(theta, x, 100.0) - ratio).reshape(4, 6)
    np.testing.assert_allclose(rest, np.repeat(rest[:, :1], 6, axis=1), rtol=1e-8)
    of_p, of_q = benchmark.log_p(theta, x, 100.0), benchmark.log_q(theta, x, 100.0)
    np.testing.assert_allclose(of_p - of_q, ratio)
    assert np.ptp(ratio) > 1
    assert not benchmark.log_ratio(theta, x, 0.0).any()


@pytest.mark.parametrize("inference", ["laplace", "vi", "iwvi"])
def test_q_is_a_function_of_x(inference):
    """Whatever was asked before, in whichever order and company."""
    benchmark = BayesModel(inference=inference)
    x = benchmark.x(7, stream(4))
    theta = stream(5).standard_normal((7, 2))
    first = benchmark.log_q(theta, x, 50.0)
    bayes_model.FIT_CACHE = bayes_model.FitCache(1 << 20)
    order = np.array([3, 0, 6])
    np.testing.assert_allclose(
        benchmark.log_q(theta[order], x[order], 50.0), first[order], rtol=1e-9
    )
    alone = benchmark.log_q(theta[3:4], x[3:4], 50.0)
    np.testing.assert_allclose(alone, first[3:4], rtol=1e-9)
    assert np.abs(benchmark.log_q(theta, x, 51.0) - first).min() > 1e-9


def test_draws_belong_to_the_density():
    benchmark = BayesModel(inference="vi")
    x = benchmark.x(2, stream(6))
    q = benchmark.posterior(x, 100.0)
    draws = benchmark.draws(x, 40_000, 100.0, stream(7))
    single = benchmark.q(np.repeat(x, 40_000, axis=0), 100.0, stream(8)).reshape(2, -1, 2)
    for some in (draws, single):
        z = np.linalg.solve(q.scale, np.swapaxes(some - q.mean[:, None], 1, 2))
        assert np.abs(z.mean(2)).max() < 4.5 / 200
        assert np.abs(np.einsum("kin,kjn->kij", z, z) / 40_000 - np.eye(2)).max() < 0.03
    again = benchmark.draws(x, 40_000, 100.0, stream(7))
    np.testing.assert_array_equal(draws, again)


def test_each_distinct_x_is_fitted_once(monkeypatch):
    asked, kind = [], type(ALGORITHMS["laplace"])
    fit = kind.fit

    def counted(self, model, y, *rest):
        asked.append(len(y))
        return fit(self, model, y, *rest)

    monkeypatch.setattr(kind, "fit", counted)
    x = HEART.x(3, stream(9))
    rows = x[[0, 0, 0, 1, 1, 0, 2, 2, 2]]  # runs of several lengths, and one x twice
    theta = HEART.q(rows, 30.0, stream(10))
    assert asked == [3]
    HEART.log_weight(theta, rows, 30.0)
    HEART.draws(x, 5, 30.0, stream(11))
    assert asked == [3]
    HEART.q(x, 31.0, stream(10))
    assert asked == [3, 3]


def test_what_is_remembered_is_bounded():
    kept = bayes_model.FitCache(most=24)  # numbers, six for a fit of two coordinates
    bayes_model.FIT_CACHE = kept
    x = HEART.x(9, stream(12))
    theta = HEART.q(x, 20.0, stream(13))
    assert len(kept) == 4
    expected = HEART.log_q(theta, x, 20.0)
    assert len(kept) == 4
    bayes_model.FIT_CACHE = bayes_model.FitCache(1 << 20)
    np.testing.assert_allclose(HEART.log_q(theta, x, 20.0), expected, rtol=1e-12)


@pytest.mark.parametrize("lengths", [[1, 1, 1], [3, 1, 2], [4]])
def test_runs_of_equal_rows(lengths, monkeypatch):
    monkeypatch.setattr(pieces, "COMPARED_NUMBERS_AT_A_TIME", 4)  # two rows at a time
    distinct = np.arange(2.0 * len(lengths)).reshape(-1, 2)
    starts, counts = pieces.find_equal_runs(np.repeat(distinct, lengths, axis=0))
    np.testing.assert_array_equal(counts, lengths)
    np.testing.assert_array_equal(starts, np.cumsum([0, *lengths[:-1]]))


def test_failed_inference_is_told_not_mended():
    benchmark = BayesModel(model="hospitals")
    told = r"got none at \d+ of 20 after 30 iterations of Laplace on Hospitals\. Take more"
    with pytest.raises(ValueError, match=told):
        sampling.table(benchmark, 30.0, 20, 2, stream(14))
    with pytest.raises(ValueError, match="got none at"):  # and again, out of memory
        sampling.table(benchmark, 30.0, 20, 2, stream(14))


@pytest.mark.parametrize("gamma", [0.5, -1.0, 10.5])
def test_gamma_counts_iterations(gamma):
    with pytest.raises(ValueError, match="gamma is a number of iterations"):
        HEART.q(HEART.x(2, stream(0)), gamma, stream(1))


def test_refusals_say_what_to_take():
    exact, open_ = BayesModel(inference="exact"), BayesModel(model="hospitals")
    x = open_.x(2, stream(0))
    with pytest.raises(ValueError, match="gamma is 0, as q is exact; got 10"):
        exact.q(exact.x(2, stream(0)), 10.0, stream(1))
    for asked in (lambda: open_.theta(x, 10.0, stream(1)), lambda: open_.q(x, 0.0, stream(1))):
        with pytest.raises(ValueError, match=r"need a posterior in closed form.*draw pairs"):
            asked()
    for options, words in (
        ({"model": "hospitals", "inference": "exact"}, "take heart_transplants or concrete"),
        ({"model": "lungs"}, "model is one of glm_binomial"),
        ({"inference": "magic"}, "inference is one of laplace"),
        ({"design": "stand-in"}, "design is an option of other models"),
        ({"design": "abc"}, "design is real or stand-in"),
        ({"model": "concrete", "design": "abc"}, "design is real or stand-in"),
        ({"data": "book"}, "data is an option of other models"),
        ({"m": 5}, "m counts the draws that iwvi weighs"),
        ({"m": 1, "inference": "iwvi"}, "m counts the draws that iwvi weighs"),
    ):
        with pytest.raises(ValueError, match=words):
            BayesModel(**options)


def test_a_benchmark_about_what_a_run_has():
    for benchmark in (
        HEART, BayesModel(model="glm_binomial", data="book", inference="vi"),
        BayesModel(model="hospitals", inference="iwvi", m=5),
        BayesModel(model="concrete", inference="exact"),
    ):  # fmt: skip
        assert BayesModel.about(benchmark.of, benchmark.by) == benchmark
    assert BayesModel(inference="iwvi", m=5).by == Variational(m=5)
    with pytest.raises(ValueError, match="usual options; got VI, plain gradient"):
        BayesModel.about(HEART.of, Variational(estimator="plain"))


def test_other_benchmarks_draw_what_they_always_drew():
    benchmark, gamma = Gaussian(), 0.2
    rng = stream(15)
    x_p, x_q = benchmark.x(5, rng), benchmark.x(4, rng)
    theta, q = benchmark.theta(x_p, gamma, rng), benchmark.q(x_q, gamma, rng)
    drawn = sampling.blocks(benchmark, gamma, 5, 4, stream(15))
    for found, expected in (
        (drawn.p.theta, theta), (drawn.p.x, x_p), (drawn.q.theta, q), (drawn.q.x, x_q),
    ):  # fmt: skip
        np.testing.assert_array_equal(found, expected)
    rng = stream(16)
    x = benchmark.x(5, rng)
    theta, q = benchmark.theta(x, gamma, rng), benchmark.q(np.repeat(x, 3, 0), gamma, rng)
    table = sampling.table(benchmark, gamma, 5, 3, stream(16))
    np.testing.assert_array_equal(table.theta, theta)
    np.testing.assert_array_equal(table.q.reshape(15, -1), q)


@pytest.mark.parametrize("benchmark", [Gaussian(), HEART], ids=lambda b: b.name)
def test_truths_are_those_of_blocks(benchmark):
    gamma = benchmark.gammas[1]
    whole = sampling.blocks(benchmark, gamma, 6, 5, stream(17)).p
    alone = sampling.truths(benchmark, gamma, 6, 5, stream(17))
    np.testing.assert_array_equal(alone.theta, whole.theta)
    np.testing.assert_array_equal(alone.x, whole.x)


def test_truths_need_no_inference():
    """At 30 iterations hospitals have no q; p alone can be had."""
    truths = sampling.truths(BayesModel(model="hospitals"), 30.0, 4, 4, stream(18))
    assert truths.theta.shape == (4, 14)


def _wiggle(theta, x):
    return np.sin(theta @ np.linspace(1.3, 2.7, theta.shape[1])) + 1e-3 * x[:, 0] + theta[:, 0]


@in_turn(800, 2000)
@pytest.mark.parametrize("benchmark", [
    BayesModel(inference="exact"), BayesModel(model="concrete", inference="exact"),
], ids=_label)  # fmt: skip
@pytest.mark.parametrize("method", [SBC(), WithinX(), METHODS["skl"](relabelings=39)],
                         ids=lambda m: m.name)  # fmt: skip
def test_level_where_q_is_the_posterior(benchmark, method, trials):
    n, k = (20, 19) if benchmark.model == "heart_transplants" else (10, 19)
    trials = trials if benchmark.model == "heart_transplants" else trials // 5
    drawn = sampling.table(benchmark, 0.0, trials * n, k, stream(19, method.name))
    score = (
        _wiggle if method.reads_classifier else engine.score_read_by(method, benchmark, 0.0, {})
    )
    made = scores.apply(score, drawn)
    cut = TableScores(
        *(np.stack(np.split(part, trials, axis=1)) for part in (made.truth, made.draws))
    )
    pvalues = method.test(cut, stream(20, method.name)).pvalue
    low, high = statistics.binomial_bounds(trials, 0.05, 0.999)
    rejected = int((pvalues <= 0.05).sum())
    assert rejected <= high
    # Bonferroni may fall below; to rounding, log ratios do not differ at all.
    assert method.name != "within_x" or rejected >= low


@pytest.mark.parametrize(("gamma", "least"), [(0.0, 0), (1000.0, 9)])
def test_laplace_misplaces_the_chance_to_survive(gamma, least):
    """A normal at the mode of logit p, where the posterior leans away from the middle."""
    design = TrialDesign(trials=10, n=600, k=49)

    def outwards(theta, x):
        return theta[:, 0] * np.sign(x[:, 0] - 5)

    (found,) = engine.run_trials(HEART, gamma, outwards, [WithinX()], design)
    rejected = int((found.pvalues <= 0.05).sum())
    assert rejected >= least
    assert gamma or rejected <= 3


def test_ranks_far_out_stay_numbers():
    """Years of e^30 and a log theta of -30 pass through every scaling."""
    x = np.array([[4.0, *np.exp(np.linspace(20, 32, 8))], [10.0, *np.full(8, 1e-9)]])
    q = HEART.draws(x, 30, 3000.0, stream(21))
    table = PosteriorTable(q[:, 0], x, q[:, 1:])
    assert np.isfinite(table.q).all()
    weights = HEART.log_weight(q.reshape(60, 2), np.repeat(x, 30, axis=0), 3000.0)
    assert np.isfinite(weights).all()


def test_a_map_shows_the_truth_of_each_place():
    source = Simulated(benchmark=HEART, gamma=100.0)
    places = map_draws.simulate_places(source, HEART.x(50, stream(22)), 7, stream(23))
    assert places.truth.shape == (7, 1, 2)
    assert places.q.shape == (7, map_draws.SHOWN, 2)
    drawn = HEART.pairs(7, 100.0, stream(23))
    by_x = {row.tobytes(): theta for row, theta in zip(drawn.x, drawn.theta, strict=True)}
    for x, truth in zip(places.x, places.truth, strict=True):
        np.testing.assert_array_equal(by_x[x.tobytes()], truth[0])


def test_another_process_draws_with_the_same_covariates():
    benchmark = BayesModel(model="concrete")
    code = (
        "import sys; from validation_core import keys; from validation_core.rng import stream;"
        "print(keys.read(sys.argv[1]).x(2, stream(25))[0, 0].hex())"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, keys.canonical_text(benchmark)],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert float.fromhex(said.strip()) == benchmark.x(2, stream(25))[0, 0]


def test_gamma_has_a_name():
    assert HEART.axis == "iterations"
    assert HEART.place(3000.0) == "3,000 iterations"
    assert "exact posterior" in HEART.place(0.0)
    assert Gaussian().place(0.1) == "gamma = 0.1"
    assert Simulated(benchmark=HEART, gamma=100.0).label.endswith("Laplace · 100 iterations")
    assert Simulated(benchmark=Gaussian(), gamma=0.1).label.endswith("· gamma 0.1")


def _cell(label, gamma, rejections):
    return PowerCell("b", label.lower(), {}, gamma, 0.0, 100, rejections, 0.05, "fresh", 1, 1, 1.0,
                     label=label)  # fmt: skip


def test_what_is_silent_late_saw_the_error_early():
    """More iterations make a smaller error: the nearest place that sees it has most of them."""
    sweep = Sweep(benchmark=HEART, methods=(SBC(), WithinX()), gammas=HEART.gammas)
    cells = [_cell("A", 1000.0, 100), _cell("B", 1000.0, 5), _cell("B", 100.0, 100),
             _cell("B", 10.0, 100)]  # fmt: skip
    (found,) = explain_misses(sweep, cells[:1], cells[1:2], cells)
    assert "at 100 iterations it rejects" in found.why


def test_costs_know_that_q_is_fitted():
    def cost(method, *gammas, **options):
        benchmark = BayesModel(**options)
        sweep = Sweep(benchmark=benchmark, methods=(method,), gammas=gammas,
                      design=TrialDesign(n=500, k=20))  # fmt: skip
        return costs.of(sweep, method)

    few, many = cost(SBC(), 100.0), cost(SBC(), 3000.0)
    assert many.trial > few.trial > cost(SBC(), 0.0, inference="exact").trial
    assert cost(CoLT(), 3000.0).training > cost(CoLT(), 100.0).training
    assert cost(SBC(), 100.0, inference="vi").trial > few.trial
    wide = cost(SBC(), 100.0, model="concrete")
    assert wide.memory < 100 * few.memory  # its 1030 data are not repeated for each draw


def test_the_command_line_puts_q_through_the_tests(capsys):
    arguments = ["power", "--benchmark", "bayes_model", "--set", "model=hospitals", "--gamma",
                 "150,500", "--method", "sbc", "--method", "skl", "--trials", "2", "--n", "30",
                 "--k", "20", "--engine", "serial", "--json", "-"]  # fmt: skip
    assert main(arguments) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [(cell["method"], cell["gamma"]) for cell in cells] == [
        ("sbc", 150), ("sbc", 500), ("skl", 150), ("skl", 500),
    ]  # fmt: skip
    assert {cell["set"]["model"] for cell in cells} == {"hospitals"}
    nats = [cell["statistic"] for cell in cells if cell["method"] == "skl"]
    assert nats[0] > nats[1] > 0


def test_the_command_line_is_shown_for_it():
    sweep = Sweep(
        benchmark=BayesModel(model="hospitals", inference="iwvi", m=5), methods=(SBC(),),
        gammas=(100.0, 3000.0),
    )  # fmt: skip
    said = command_line(sweep)
    assert "--set model=hospitals --set inference=iwvi --set m=5" in said
    assert "--gamma 100,3000" in said


def test_the_command_line_tells_a_failure(capsys):
    arguments = ["power", "--benchmark", "bayes_model", "--set", "model=hospitals", "--gamma",
                 "30", "--method", "sbc", "--trials", "2", "--n", "20", "--k", "5",
                 "--engine", "serial"]  # fmt: skip
    assert main(arguments) == 2
    assert "after 30 iterations of Laplace on Hospitals" in capsys.readouterr().err
