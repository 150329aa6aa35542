"""What every registered method and benchmark promises: new ones meet their tests here."""

import dataclasses
import itertools
import re
from functools import lru_cache

import numpy as np
import pytest

from tests.conftest import in_turn
from validation_core import keys, sampling, scores, statistics
from validation_core.benchmarks import BENCHMARKS
from validation_core.methods import METHODS
from validation_core.rng import stream
from validation_core.scores import trained_scores
from validation_core.store import Store
from validation_core.sweep import trials
from validation_core.types import BlockScores, PosteriorTable, TwoSamples

NULL_TRIALS = 2400
FIRST_TRIALS = 1000  # a size of 8% lies outside their bounds
FLAT_TRIALS = 400  # where all are equal it is off by more still
OMNIBUS_TRIALS = 400  # its level on every kind of table is test_relabelling's
N, K = 60, 24
BENCHMARK = next(iter(BENCHMARKS.values()))()


class Wiggle:
    """A fixed score that has nothing to do with any truth; `digits` rounds it, to make ties."""

    def __init__(self, digits=None):
        self.digits = digits

    def __call__(self, theta, x):
        rows = np.concatenate([theta, x], axis=1)
        raw = np.sin(rows @ np.linspace(0.3, 1.7, rows.shape[1])) + 0.1 * rows[:, 0]
        return raw if self.digits is None else np.round(raw, self.digits)


class Constant:
    """A score that has collapsed."""

    def __call__(self, theta, x):
        return np.zeros(len(theta))


class Oracle:
    """log p - log q itself."""

    def __init__(self, benchmark, gamma):
        self.benchmark, self.gamma = benchmark, gamma

    def __call__(self, theta, x):
        return self.benchmark.log_ratio(theta, x, self.gamma)


SMALL = {"m": 5, "permutations": 39, "relabelings": 39, "nulls": 19}
"""Options small enough for thousands of trials; p-values of 1/40 and 1/20 reach the level."""
CONSERVATIVE = ("c2st", "sbc")
"""A normal approximation at n = 60, or Bonferroni over correlated parameters, may be below."""
PERMUTES = ("omnibus", "multiple", "skl", "dc", "automl", "mmd_fuse", "lc2st")
"""Ties count against rejection: with tied scores (Multiple: few of them) these may be below."""
RANKS = [
    n for n, kind in METHODS.items() if kind.score_kind == "classifier" or n in ("colt", "tarp")
]


class Several:
    """As many functions as a method that learns anew compares: at each x in an order by chance."""

    def __init__(self, score, count):
        self.score, self.count = score, count

    def __call__(self, theta, x):
        some = np.sin(x.sum(1))
        sizes = [1e4 * np.sin(1e3 * some + 7.7 * i) % 1 for i in range(self.count)]
        return np.stack(sizes) * self.score(theta, x)


class Coarse:
    """Another score, rounded."""

    def __init__(self, score):
        self.score = score

    def __call__(self, theta, x):
        return np.round(self.score(theta, x))


class Flat:
    """Another score's shape, and nothing else of it."""

    def __init__(self, score):
        self.score = score

    def __call__(self, theta, x):
        return np.zeros_like(self.score(theta, x))


def _small(name, **more):
    """The method with options small enough for thousands of trials."""
    kind = METHODS[name]
    fields = {field.name for field in dataclasses.fields(kind)}
    small = SMALL | {"points": 20 if name == "mmd_fuse" else 1} | more
    return kind(**{field: value for field, value in small.items() if field in fields})


def _log_q(theta, x):
    return -(theta**2).sum(1)


def _any_score(method, plain=None):
    """What the method reads, or a stand-in that knows nothing: a localizer's is a score too."""
    if method.is_fixed:
        return plain or Wiggle() if method.name == "skl" else method.score(_log_q)
    plain = plain or Wiggle()
    return Several(plain, 1 + SMALL["nulls"]) if method.learns_anew else plain


def _sizes(method, n=N, k=K):
    """What the method reads of n rows and k draws: the layout, and the sizes to draw it with."""
    budget = method.budget(n, k)
    if method.learns_anew:
        return "table", n, k
    if method.layout == "table":
        return "table", n, method.budget(1, k).q
    return "blocks", budget.p, budget.q


def _draw(benchmark, gamma, rng, layout, *sizes):
    return getattr(sampling, layout)(benchmark, gamma, *sizes, rng)


@lru_cache(maxsize=4)
def _null_draws(seed, *sizes):
    """Shared by all methods that read the same; none may change them."""
    return _frozen(_draw(BENCHMARK, 0.0, stream(seed, *map(str, sizes)), *sizes))


@lru_cache(maxsize=4)
def _wrong_draws(name, *sizes):
    """The same of a wrong q."""
    benchmark = _ready(name)
    return _frozen(_draw(benchmark, benchmark.gammas[1], stream(4), *sizes))


def _frozen(drawn):
    arrays = [drawn.p, drawn.q] if isinstance(drawn, TwoSamples) else [drawn]
    for array in itertools.chain(*([*vars(one).values()] for one in arrays)):
        array.flags.writeable = False
    return drawn


def _many(method, score, trials, seed, n=N, k=K):
    """Scores with a leading axis of trials, from one draw of all of them."""
    n = 1 if method.learns_anew else n
    layout, first, second = _sizes(method, n, k)
    if layout == "blocks":
        made = scores.apply(score, _null_draws(seed, layout, first * trials, second * trials))
        return BlockScores(_cut(made.p, trials), _cut(made.q, trials))
    made = scores.apply(score, _null_draws(seed, layout, first * trials, second))
    truth, draws = (np.stack(np.split(a, trials, axis=1)) for a in (made.truth, made.draws))
    return type(made)(truth, draws)  # (trials, S, n) and (trials, S, n, K)


def _cut(block, trials):
    """(n trials,) -> (trials, n), and (S, n trials) -> (trials, S, n)."""
    return np.stack(np.split(block, trials, axis=-1))


def _within_level(pvalues, *, conservative=False):
    rejections = int((pvalues <= 0.05).sum())
    low, high = statistics.binomial_bounds(len(pvalues), 0.05, 0.999)
    assert rejections <= high, f"{rejections} of {len(pvalues)} null trials rejected at 5%"
    if not conservative:
        assert rejections >= low, f"only {rejections} of {len(pvalues)} null trials rejected at 5%"


def _levels():
    """A method, a kind of score, trials: fewer at first."""
    firsts = {"any": FIRST_TRIALS, "tied": FIRST_TRIALS, "flat": FLAT_TRIALS}
    for kind, name in itertools.product(firsts, METHODS):
        few = OMNIBUS_TRIALS if name == "omnibus" else firsts[kind]
        yield pytest.param(name, kind, few, id=f"{kind}-{name}")
        marks = pytest.mark.slow
        yield pytest.param(name, kind, NULL_TRIALS, marks=marks, id=f"{kind}-{name}-in full")


@pytest.mark.parametrize(("name", "kind", "trials"), list(_levels()))
def test_level(name, kind, trials):
    """Whatever the score: the size is the stated one (C2ST may fall below it)."""
    method = _small(name)
    used = _any_score(method)
    used = {"any": used, "tied": Coarse(used), "flat": Flat(used)}[kind]
    made = _many(method, used, trials, seed=1)
    outcome = method.test(made, stream(2, name))
    assert outcome.pvalue.shape == (trials,)
    assert (outcome.pvalue > 0).all()
    tied = kind != "any" and name in PERMUTES
    _within_level(outcome.pvalue, conservative=name in CONSERVATIVE or tied)


@in_turn(FIRST_TRIALS, NULL_TRIALS)
@pytest.mark.parametrize("name", [n for n, kind in METHODS.items() if kind.layout == "blocks"])
def test_level_on_shared_x_tables(name, trials):
    """What a user brings, truth and draws at the same x: rows are split by x.

    Methods of tables read nothing else above.
    """
    method = _small(name)
    used = _any_score(method)
    pvalues = []
    for trial in range(trials):
        rng = stream(3, name, trial)
        rows = 1 if method.learns_anew else 80
        draws = sampling.table(BENCHMARK, 0.0, rows, 8, rng)
        made = scores.apply(used, sampling.blocks_of_rows(draws, rng))
        each = method.budget(1, 1).p if method.reads_classifier else 1
        made = BlockScores(made.p, made.q[..., : made.p.shape[-1] // each])
        pvalues.append(float(method.test(made, rng).pvalue))
    _within_level(np.array(pvalues), conservative=name in CONSERVATIVE)


def _ready(name):
    """A benchmark, with the shipped network that it may draw from."""
    benchmark = BENCHMARKS[name]()
    trained_scores.ready(Store.usual(), benchmark)
    return benchmark


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_outcome(benchmark, name):
    method = _small(name)
    drawn = _wrong_draws(benchmark, *_sizes(method))
    used = _any_score(method)
    outcome = method.test(scores.apply(used, drawn), stream(5))
    assert 0 <= float(outcome.pvalue) <= 1
    assert np.isfinite(outcome.statistic).all()
    if not method.learns_anew:  # its training draws are not here
        assert outcome.budget == method.budget(N, K)
    assert all(np.isfinite(array).all() for array in outcome.arrays.values())


@pytest.mark.parametrize("name", METHODS)
def test_trials_are_an_axis_not_a_loop(name):
    """A stack of trials gives each trial's own statistic."""
    method = _small(name)
    used = _any_score(method)
    stacked = _many(method, used, 3, seed=6)
    whole = method.test(stacked, stream(7))
    assert whole.statistic.shape == whole.pvalue.shape == (3,)


@pytest.mark.parametrize("name", RANKS)
def test_monotone_invariance(name):
    """A strictly increasing transform of the score changes nothing but a threshold's place."""
    method = _small(name)
    made = _many(method, Wiggle(), 5, seed=8)
    stretched = type(made)(
        *(np.sign(a) * np.expm1(np.abs(a)) for a in dataclasses.astuple(made)[:2])
    )
    before, after = (method.test(one, stream(9)) for one in (made, stretched))
    np.testing.assert_allclose(after.statistic, before.statistic, rtol=1e-12)
    np.testing.assert_allclose(after.pvalue, before.pvalue, rtol=1e-9)


_LEARNS = [n for n, kind in METHODS.items() if kind.score_kind != "trial" and kind.pooled]


@pytest.mark.parametrize("name", _LEARNS)
def test_power_with_the_oracle_score(name):
    """A strong perturbation is seen; nothing learnt could do better than this score."""
    method = _small(name, points=100, m=10)
    benchmark = BENCHMARKS["gaussian"](perturbation="covariance_scaling")
    gamma = benchmark.gammas[-1]
    design = trials.TrialDesign(n=300, k=20, seed=10)
    score = Oracle(benchmark, gamma)
    (tally,) = trials.run_trials(benchmark, gamma, score, [method], design, range(20))
    assert (tally.pvalues <= 0.05).mean() >= 0.8


@pytest.mark.parametrize("kind", [*METHODS.values(), *BENCHMARKS.values()], ids=lambda k: k.name)
def test_describes_itself(kind):
    made = kind()
    assert keys.read(keys.canonical_text(made)) == made
    assert re.fullmatch("[a-z0-9_]+", kind.name)
    assert made.label
    assert len(made.summary) > 20
    assert kind.paper.year > 1900
    for field in dataclasses.fields(kind):
        assert "label" in field.metadata, f"{kind.name}.{field.name} has no label for its form"


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_samples(name):
    benchmark = _ready(name)
    d, m = benchmark.dims
    gamma = benchmark.gammas[1]
    blocks = sampling.blocks(benchmark, gamma, 30, 20, stream(11))
    assert isinstance(blocks, TwoSamples)
    assert blocks.p.theta.shape == (30, d)
    assert blocks.q.x.shape == (20, m)
    p, q = blocks.p, blocks.q
    sides = [p.x, q.x] if len(np.unique(p.x, axis=0)) > 10 else [p.theta, q.theta]  # labels repeat
    assert not {row.tobytes() for row in sides[0]} & {row.tobytes() for row in sides[1]}
    table = sampling.table(benchmark, gamma, 30, 4, stream(12))
    assert isinstance(table, PosteriorTable)
    assert table.q.shape == (30, 4, d)
    again = sampling.table(benchmark, gamma, 30, 4, stream(12))
    np.testing.assert_array_equal(table.q, again.q)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_ratio_is_zero_at_gamma_zero(name):
    benchmark = _ready(name)
    if not benchmark.is_exact(0.0):
        return
    blocks = sampling.blocks(benchmark, 0.0, 50, 50, stream(13))
    ratio = benchmark.log_ratio(blocks.p.theta, blocks.p.x, 0.0)
    if ratio is not None:
        assert not ratio.any()
