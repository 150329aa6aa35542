"""CoLT: its size is the stated one whatever it learnt, and learning is what sees a blind prior."""

import dataclasses
import functools
import itertools

import numpy as np
import pytest

from tests.conftest import in_turn
from validation_core import keys, sampling, scores, statistics
from validation_core.benchmarks.boundary import Boundary
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.spiral import Spiral
from validation_core.benchmarks.tree import Tree
from validation_core.methods import C2ST, SBC, CoLT, WithinX
from validation_core.rng import stream
from validation_core.scores import LinearBoundary, trained_scores
from validation_core.scores.classifier import Classifier
from validation_core.scores.localizer import Localizer
from validation_core.scores.localizer_training import train_localizer
from validation_core.scores.trained_localizer import LocalizerDistance
from validation_core.store import Store
from validation_core.sweep import progress, trials
from validation_core.sweep.plan import Batch, Sweep
from validation_core.types import TableScores

EMBEDDINGS = ("identity", "mlp", "residual", "fourier")
NULL_TRIALS, FIRST_TRIALS = 2000, 1000
N, K = 30, 10

SHORT = Localizer(
    anchors=40, draws=10, steps=25, batch=30, draws_step=8, hidden=16, lr=1e-2, lr_embedding=3e-3,
    blur_steps=10,
)  # fmt: skip

RIGHT = {
    "mean shift": (Gaussian(), 0.2),
    "curved": (Gaussian(curved=True), 0.2),
    "mode collapse": (Gaussian(perturbation="mode_collapse"), 0.4),
    "tree": (Tree(), 2.0),
    "spiral": (Spiral(), 2),
    "boundary": (Boundary(), 0.5),
}
"""Benchmarks whose q is right at gamma 0, and the gamma that a localizer is trained at."""


def _trained(embedding, benchmark, gamma, seed=0, recipe=SHORT):
    chosen = dataclasses.replace(recipe, embedding=embedding)
    return train_localizer(chosen.sample(benchmark, gamma, stream(seed, "anchors")), chosen, seed)


@functools.lru_cache(maxsize=2)  # drawing from the curved family is dear
def _drawn(benchmark, trials, seed, n, k):
    return sampling.table(benchmark, 0.0, trials * n, k, stream(seed, "trials"))


def _trials(score, benchmark, trials, seed, n=N, k=K):
    """Scores (trials, 1, n) and (trials, 1, n, k) at gamma 0, drawn and scored as one table."""
    return _stacked(score.table(_drawn(benchmark, trials, seed, n, k)), trials)


def _stacked(made, trials):
    k = made.draws.shape[-1]
    return TableScores(made.truth.reshape(trials, 1, -1), made.draws.reshape(trials, 1, -1, k))


def _within_level(pvalues):
    rejections = int((pvalues <= 0.05).sum())
    low, high = statistics.binomial_bounds(len(pvalues), 0.05, 0.999)
    assert low <= rejections <= high, f"{rejections} of {len(pvalues)} null trials rejected at 5%"


def _pairs():
    """Every embedding on one benchmark and one on all; the other pairs are slow."""
    for embedding, name in itertools.product(EMBEDDINGS, RIGHT):
        if embedding in ("mlp", "residual") and name in ("curved", "boundary"):
            continue  # dear to score with, and seen on the others
        once = name == "mean shift" or embedding == "fourier"
        once = once or (embedding, name) == ("identity", "spiral")
        yield pytest.param(embedding, name, marks=() if once else pytest.mark.slow)


@in_turn(FIRST_TRIALS, NULL_TRIALS)
@pytest.mark.parametrize(("embedding", "name"), list(_pairs()))
def test_level(embedding, name, trials):
    """Whatever was learnt: trained where q is wrong, it rejects a right q 5 times in 100."""
    benchmark, gamma = RIGHT[name]
    trained = _trained(embedding, benchmark, gamma)
    made = _trials(trained.at(), benchmark, trials, seed=1)
    outcome = CoLT(embedding=embedding).test(made, stream(2, embedding, name))
    _within_level(outcome.pvalue)
    # The spiral's q is its truth at gamma 0: every draw ties. Elsewhere only rounding makes ties.
    tied = outcome.arrays["tied"]
    assert (tied == 1).all() if name == "spiral" else tied.mean() < 1e-3
    assert ((outcome.arrays["low"] > 0) == (outcome.pvalue < 0.05)).all()


@in_turn(FIRST_TRIALS, NULL_TRIALS)
@pytest.mark.parametrize("beta", [0.5, 1.0])
def test_level_of_a_degraded_localizer(beta, trials):
    trained = _trained("identity", *RIGHT["mean shift"])
    made = _trials(trained.at(beta), Gaussian(), trials, seed=3)
    _within_level(CoLT().test(made, stream(4)).pvalue)


@in_turn(FIRST_TRIALS, NULL_TRIALS)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_level_with_few_draws(k, trials):
    """R / K would be far from uniform here; the randomised rank is uniform at any K."""
    trained = _trained("identity", *RIGHT["mean shift"])
    made = _trials(trained.at(), Gaussian(), trials, seed=5, n=100, k=k)
    _within_level(CoLT().test(made, stream(6)).pvalue)
    below, _ = statistics.count(made.truth, made.draws)
    raw = statistics.ks(below[:, 0] / k).pvalue
    assert (raw <= 0.05).mean() > 0.5, "this is why ranks are randomised"


def _collapsed():
    """An mlp whose weights are 0: phi is one point, and all distances are 0."""
    trained = _trained("identity", *RIGHT["mean shift"])
    flat = {"weight0": np.zeros((3, 4)), "bias0": np.ones(4), "weight1": np.zeros((4, 3)),
            "bias1": np.array([0.3, -1.0, 2.0])}  # fmt: skip
    phi = {name: array.astype(np.float32) for name, array in flat.items()}
    return LocalizerDistance("mlp", trained.centre, phi, trained.frame)


def test_a_collapsed_embedding_has_uniform_ranks():
    """All distances tie: U is the tie-breaker alone, and the level holds.

    Counted strictly, R / K is 0 for every truth, and the test would always reject.
    """
    made = _trials(_collapsed(), Gaussian(), NULL_TRIALS, seed=7)
    assert not made.truth.any()
    assert not made.draws.any()
    outcome = CoLT(embedding="mlp").test(made, stream(8))
    _within_level(outcome.pvalue)
    assert statistics.ks(outcome.arrays["u"].ravel()).pvalue > 0.001
    assert (outcome.arrays["tied"] == 1).all()
    below, _ = statistics.count(made.truth, made.draws)
    assert (statistics.ks(below[:, 0] / K).pvalue < 1e-9).all()


def test_a_collapsed_embedding_has_no_power():
    """Nor does a wrong q make it reject: what sees nothing says nothing."""
    wrong = Gaussian(perturbation="blind_prior")
    made = _trials(_collapsed(), wrong, NULL_TRIALS, seed=9)
    _within_level(CoLT(embedding="mlp").test(made, stream(10)).pvalue)


@pytest.mark.slow
def test_blind_prior():
    """q ignores x. Untrained, the ball is the same everywhere and q right on it; trained, not.

    Chen, Bansal, Scott, Table 2: N = 100 anchors and as many tests, K = 500, (3, 3).
    """
    trials, n, k = 50, 100, 500
    benchmark = Gaussian(perturbation="blind_prior")
    read = {}
    for embedding in ("identity", "fourier"):
        method = CoLT(embedding=embedding)
        chosen = method.recipe(n, k, benchmark)
        data = chosen.sample(benchmark, 0.0, stream(11, "anchors"))
        trained = train_localizer(data, chosen, 11)
        for beta in (0.0, 1.0):
            read[embedding, beta] = trained.at(beta)
    pvalues = {name: [] for name in read}
    for chunk in range(trials // 10):
        table = sampling.table(benchmark, 0.0, 10 * n, k, stream(12, chunk))
        for name, score in read.items():
            made = _stacked(score.table(table), 10)
            pvalues[name].extend(CoLT().test(made, stream(13, chunk)).pvalue)
    rates = {name: float((np.array(p) <= 0.05).mean()) for name, p in pvalues.items()}
    for embedding in ("identity", "fourier"):
        assert rates[embedding, 1.0] <= 0.1, rates
        assert rates[embedding, 0.0] >= 0.9, rates


def test_both_divergences_reach_the_same_optimum():
    """W2 and Sinkhorn climb one hill: as far from uniform in training, equal power in tests."""
    benchmark = Gaussian(perturbation="covariance_scaling")
    gamma = benchmark.gammas[len(benchmark.gammas) // 2]
    chosen = Localizer(
        embedding="identity", anchors=100, draws=60, steps=60, draws_step=30, hidden=32, lr=3e-3,
        start="origin",
    )  # fmt: skip
    data, trials = chosen.sample(benchmark, gamma, stream(14)), 60
    table = sampling.table(benchmark, gamma, trials * 100, 60, stream(15))
    rejected, distances, w2 = [], [], []
    for divergence in ("w2", "sinkhorn"):
        own = dataclasses.replace(chosen, divergence=divergence, keep_best=False)
        trained = train_localizer(data, own, 14)
        outcome = CoLT().test(_stacked(trained.at().table(table), trials), stream(16))
        rejected.append(outcome.pvalue <= 0.05)
        distances.append(outcome.statistic)
        w2.append(trained.history["w2"])
    assert w2[0][0] == w2[1][0]
    assert min(one[-1] / one[0] for one in w2) > 2, "nothing was climbed"
    assert w2[1][-1] == pytest.approx(w2[0][-1], rel=0.1)
    # The trials are shared: what differs is discordant trials, a fair coin each.
    only = [(rejected[i] & ~rejected[1 - i]).sum() for i in (0, 1)]
    assert rejected[0].mean() > 0.5
    low, high = statistics.binomial_bounds(sum(only), 0.5, 0.99) if sum(only) else (0, 0)
    assert low <= only[0] <= high
    gap = distances[0] - distances[1]
    assert abs(gap.mean()) < 0.1 * distances[0].mean()


def _outcome(benchmark, gamma, embedding="identity", n=200, trials=20):
    trained = _trained(embedding, benchmark, gamma)
    table = sampling.table(benchmark, gamma, trials * n, 40, stream(17))
    made = _stacked(trained.at().table(table), trials)
    return CoLT(embedding=embedding).test(made, stream(18))


def test_a_q_too_wide_misses_mass_in_the_ball_a_narrow_one_has_too_much():
    """Around q's own middle: the sign of p(B) - q(B) is read off the quoting half."""

    class Narrow(Gaussian):
        """p and q of the family exchanged."""

        def theta(self, x, gamma, rng):
            return super().q(x, gamma, rng)

        def q(self, x, gamma, rng):
            return super().theta(x, gamma, rng)

    rng, wide = stream(19), Gaussian(perturbation="covariance_scaling")
    for benchmark, sign in ((wide, 1), (Narrow(perturbation="covariance_scaling"), -1)):
        chosen = dataclasses.replace(SHORT, embedding="identity", steps=0, anchors=300)
        table = sampling.table(benchmark, 2.0, 300, 10, rng)
        # Truths at q's middle make the start there the one that is taken.
        middle = np.median(table.q, axis=1)
        at_mean = train_localizer(
            chosen.of_table(dataclasses.replace(table, theta=middle), rng), chosen, 0
        )
        tested = sampling.table(benchmark, 2.0, 20 * 300, 40, rng)
        outcome = CoLT().test(_stacked(at_mean.at().table(tested), 20), stream(20))
        assert (outcome.pvalue < 0.001).all()
        difference = outcome.arrays["inside"] - outcome.arrays["u_star"]
        assert (np.sign(difference) == sign).all()


def test_arrays_of_an_outcome():
    outcome = _outcome(Gaussian(perturbation="covariance_scaling"), 2.0)
    assert set(outcome.arrays) == {
        "u", "low", "high", "u_star", "inside", "inside_low", "inside_high", "tied",
    }  # fmt: skip
    u = outcome.arrays["u"]
    assert u.shape == (20, 200)
    assert all(array.shape == (20,) for name, array in outcome.arrays.items() if name != "u")
    found = statistics.ks(u)
    np.testing.assert_array_equal(outcome.statistic, found.statistic)
    np.testing.assert_array_equal(outcome.pvalue, found.pvalue)
    ball = statistics.ball_mass(u[:, :100], u[:, 100:])
    np.testing.assert_array_equal(outcome.arrays["inside"], ball.inside)
    np.testing.assert_array_equal(outcome.arrays["u_star"], ball.u_star)
    assert (outcome.arrays["low"] <= outcome.statistic).all()
    assert (outcome.statistic <= outcome.arrays["high"]).all()
    assert (outcome.arrays["inside_low"] <= outcome.arrays["inside"]).all()
    assert (outcome.arrays["inside"] <= outcome.arrays["inside_high"]).all()
    assert outcome.budget == (200, 8000)


def test_tied_counts_truths():
    truth, draws = np.zeros((1, 4)), np.ones((1, 4, 3))
    draws[0, 1] = 0.0
    draws[0, 2, 1] = 0.0
    outcome = CoLT().test(TableScores(truth, draws), stream(21))
    assert outcome.arrays["tied"] == 0.5


def test_labels_and_recipes():
    assert CoLT().label == "CoLT fourier"
    every = CoLT(embedding="mlp", preset="paper", divergence="sinkhorn", fresh=True)
    assert every.label == "CoLT mlp paper sinkhorn fresh"
    chosen = every.recipe(70, 30, Gaussian())
    assert (chosen.anchors, chosen.draws, chosen.steps) == (70, 30, 25)
    assert (chosen.embedding, chosen.divergence, chosen.fresh) == ("mlp", "sinkhorn", True)
    assert not chosen.keep_best
    assert CoLT().recipe(70, 30).keep_best
    assert CoLT().budget(70, 30) == (70, 2100)


def test_each_method_reads_its_own_score():
    """Run together or alone, every method has the same p-values: scores are never exchanged."""
    identity, other = CoLT(embedding="identity"), CoLT(embedding="residual")
    methods = (C2ST(), SBC(), identity, WithinX(), other)
    distances = {
        method.label: _trained(method.embedding, Boundary(), 1.0).at()
        for method in (identity, other)
    }
    read = {C2ST().label: LinearBoundary(), WithinX().label: LinearBoundary(), **distances}
    design = trials.TrialDesign(trials=12, n=60, k=10, seed=22)
    together = trials.run_trials(Boundary(), 0.7, read, methods, design)
    for method, tally in zip(methods, together, strict=True):
        (alone,) = trials.run_trials(Boundary(), 0.7, read.get(method.label), [method], design)
        np.testing.assert_array_equal(tally.pvalues, alone.pvalues)
        np.testing.assert_array_equal(tally.statistics, alone.statistics)
    assert not np.array_equal(together[2].pvalues, together[4].pvalues)
    cells = [tally.cell(Boundary(), method, 0.7, 0.0, design)
             for tally, method in zip(together, methods, strict=True)]  # fmt: skip
    assert [cell.label for cell in cells] == [method.label for method in methods]
    assert [cell.protocol for cell in cells] == ["pooled", "fresh", "fresh", "fresh", "fresh"]
    for cell, found in zip(cells, (tally.statistics for tally in together), strict=True):
        assert cell.statistic == pytest.approx(found.mean())
        assert cell.statistic_low == pytest.approx(np.quantile(found, 0.05))
        assert cell.statistic_high == pytest.approx(np.quantile(found, 0.95))
    assert (cells[2].draws_p, cells[2].draws_q) == (12 * 60, 12 * 600)


def test_one_test_may_read_several_scores_in_one_batch(tmp_path):
    """Before and after training, or with two networks: each part has a score of its own."""
    sweep = Sweep(
        benchmark=Boundary(),
        methods=(CoLT(embedding="identity"), SBC()),
        gammas=(0.7,),
        betas=(0.0, 1.0),
        design=trials.TrialDesign(trials=10, n=60, k=10, seed=22),
    )
    wanted = (sweep, dataclasses.replace(sweep, seed=1))
    together, alone = Store(tmp_path / "together"), Store(tmp_path / "alone")
    left = progress.missing_of_all(wanted, together)
    batches = [task for task in left if isinstance(task, Batch)]
    assert [len(batch.parts) for batch in batches] == [5]  # SBC's part is one for all
    for task in left:
        task.run(together, lambda *_: None)
    assert not any(progress.missing(each, together) for each in wanted)
    for each in wanted:
        for task in progress.missing(each, alone):
            task.run(alone, lambda *_: None)
    for part in batches[0].parts:
        np.testing.assert_array_equal(part.load(together).pvalues, part.load(alone).pvalues)
    found = [part.load(together) for part in batches[0].parts]
    different = {tally.statistics.tobytes() for tally in found}
    assert len(different) == 4  # before training, the identity is one for every seed


@pytest.mark.parametrize("read", [None, {}, {"CoLT identity": LinearBoundary()}])
def test_without_its_localizer_it_says_so(read):
    design = trials.TrialDesign(trials=2, n=20, k=5)
    with pytest.raises(ValueError, match="CoLT mlp reads a trained score of its own; got no"):
        trials.run_trials(Boundary(), 0.5, read, [SBC(), CoLT(embedding="mlp")], design)


def _sweep(*methods, **changes):
    return Sweep(**{
        "benchmark": Gaussian(perturbation="blind_prior"), "methods": methods, "gammas": (0.0,),
        "design": trials.TrialDesign(trials=8, n=60, k=20, seed=4), "seed": 3,
        "recipe": Classifier(train=200, epochs=4, hidden=16), **changes,
    })  # fmt: skip


def _needs(sweep):
    return frozenset().union(*(t.needs for t in sweep.tasks if isinstance(t, Batch)))


def _run(sweep, store):
    for task in progress.missing(sweep, store):
        task.run(store, lambda fraction, live: None)
    return progress.collect(sweep, store)


def test_a_sweep_finds_each_methods_network(tmp_path):
    store = Store(tmp_path)
    colt = CoLT(embedding="identity")
    sweep = _sweep(C2ST(), SBC(), colt)
    shared, none, own = (sweep.network(method, 0.0) for method in sweep.methods)
    assert none is None
    assert shared.recipe == sweep.recipe
    assert own.recipe == colt.recipe(60, 20, sweep.benchmark)
    assert (own.source, own.seed) == (shared.source, 3)
    assert _needs(sweep) == {keys.key(shared), keys.key(own)}
    found = _run(sweep, store)
    assert found.complete
    assert all(store.has("models", key) for key in _needs(sweep))
    cells = {cell.method: cell for cell in found.cells}
    assert set(cells) == {"c2st", "sbc", "colt"}
    for cell in cells.values():
        assert cell.trials == 8
        assert cell.statistic_low <= cell.statistic <= cell.statistic_high
    assert cells["colt"].options == dataclasses.asdict(colt)
    assert cells["colt"].rate > cells["sbc"].rate, "SBC is blind to a q that ignores x"
    score = trained_scores.load(store, own).at()
    (again,) = trials.run_trials(sweep.benchmark, 0.0, {colt.label: score}, [colt], sweep.design)
    np.testing.assert_array_equal(found.pvalues[colt.label, sweep.places[0]], again.pvalues)


def test_needs_are_those_of_the_methods_alone():
    for methods, count in (((SBC(),), 0), ((CoLT(), SBC()), 1), ((CoLT(), C2ST(), WithinX()), 2)):
        assert len(_needs(_sweep(*methods))) == count
    one, two = (_sweep(CoLT(embedding=e)) for e in ("identity", "mlp"))
    assert _needs(one).isdisjoint(_needs(two))


def test_beta_1_is_the_untrained_localizer(tmp_path):
    """The same network, other trials; the power of training is the difference."""
    store, colt = Store(tmp_path), CoLT(embedding="identity")
    untrained, trained = _sweep(colt, betas=(1.0,)), _sweep(colt)
    assert _needs(untrained) == _needs(trained)
    found = _run(untrained, store)
    network = trained_scores.load(store, untrained.network(colt, 0.0))
    (expected,) = trials.run_trials(
        untrained.benchmark, 0.0, network.at(1.0), [colt], untrained.design
    )
    place = untrained.places[0]
    np.testing.assert_array_equal(found.pvalues[colt.label, place], expected.pvalues)
    assert found.cells[0].statistic < _run(trained, store).cells[0].statistic - 0.2


def test_a_sweep_of_gamma_has_one_localizer_each_a_sweep_of_beta_shares_one():
    values = (0.0, 0.5, 1.0)
    assert len(_needs(_sweep(CoLT(), gammas=values))) == 3
    assert len(_needs(_sweep(CoLT(), betas=values))) == 1


def test_apply_takes_the_table_as_a_whole():
    """A localizer's centre is computed once per x: `scores.apply` hands it the table."""
    score = _trained("identity", *RIGHT["mean shift"]).at()
    table = sampling.table(Gaussian(), 0.0, 20, 5, stream(23))
    made = scores.apply(score, table)
    np.testing.assert_array_equal(made.draws, score.table(table).draws)
    blocks = sampling.blocks(Gaussian(), 0.0, 10, 20, stream(24))
    flat = scores.apply(score, blocks)
    assert (flat.p.shape, flat.q.shape) == ((10,), (20,))
