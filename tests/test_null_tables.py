"""Tables made of a table's own draws: ranks as on the tables themselves, levels of all methods."""

import itertools

import numpy as np
import pytest

import validation_core as npt
from validation_core import diagnosis, statistics
from validation_core.diagnosis.injections import DEFECTS
from validation_core.diagnosis.injections.draw_pool import DrawPool
from validation_core.diagnosis.null_tables.method_battery import MethodBattery, method_pvalues
from validation_core.diagnosis.null_tables.null_verdict import NullVerdict
from validation_core.diagnosis.null_tables.pooled_scores import PooledScores
from validation_core.diagnosis.null_tables.trials import thin_draws, trial_count
from validation_core.methods import (
    C2ST,
    DC,
    LC2ST,
    SBC,
    TARP,
    CoLT,
    MMDFuse,
    Multiple,
    Omnibus,
    Uniform,
)
from validation_core.methods.within_x import WithinX
from validation_core.relabelling.norms import moved_norm_ranks, moved_norms, norms
from validation_core.relabelling.played_truths import SelfMadeTables, pick_slots
from validation_core.relabelling.pools import mid_ranks
from validation_core.relabelling.table_statistics import statistics_of
from validation_core.scores.quantities import Quantities
from validation_core.tables import Upload
from validation_core.types import PosteriorTable, TableScores


def drawn(n=40, k=9, d=3, seed=0, rounded=None):
    """A table whose q is wrong in every way: its own truths are not looked at."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 2))
    q = x[:, None, :1] + rng.standard_normal((n, k, d)) * np.exp(x[:, None, 1:])
    q = q if rounded is None else np.round(q, rounded)
    return PosteriorTable(np.full((n, d), np.nan), x, q)


def trials(rows, count=50, seed=0, moved=None):
    rng = np.random.default_rng(seed)
    n, k, d = rows.q.shape
    which = pick_slots(count, n, k, rng)
    truths = None
    if moved is not None:
        truths = rows.q[np.arange(n), which] + moved * rng.integers(-1, 2, (count, n, d))
    return SelfMadeTables(rows, which, truths)


class Product:
    """A score of (theta, x) that looks at both."""

    def __call__(self, theta, x):
        return theta.sum(1) * x[:, 0] + np.square(theta[:, 0])


class Breaks:
    """A generator whose tie-breakers are all one number."""

    def __init__(self, value):
        self.value = value

    def random(self, shape):
        return np.full(shape, self.value)


@pytest.mark.parametrize("score", [Quantities(), Product()])
@pytest.mark.parametrize(
    ("k", "rounded", "moved", "count"),
    list(itertools.product([2, 9], [None, 0], [None, 0.5, 1.0], [3, 50])),
)
def test_ranks_are_those_on_the_tables_themselves(score, k, rounded, moved, count):
    rows = drawn(k=k, rounded=rounded)
    made = trials(rows, count, moved=moved)
    scored = PooledScores.of(score, rows).on(made)
    lowest, highest = (scored.ranks(Breaks(value)) * k for value in (0.0, 1.0))
    for t in range(count):
        table = made.table(t)
        assert table.q.shape == (40, k - 1, 3)
        if isinstance(score, Quantities):
            truth, draws = table.theta.T, np.moveaxis(table.q, -1, 0)
        else:
            truth = score(table.theta, table.x)[None]
            flat = table.q.reshape(-1, 3)
            draws = score(flat, np.repeat(table.x, k - 1, axis=0)).reshape(1, 40, k - 1)
        below, equal = statistics.count(truth, draws)
        np.testing.assert_allclose(lowest[t], below)
        np.testing.assert_allclose(highest[t], below + 1 + equal)


def test_a_method_says_the_same_of_a_trial_as_of_its_table():
    rows = drawn(n=60, k=12)
    made = trials(rows, 30, moved=1.0)
    pooled = PooledScores.of(Quantities(), rows)
    found = SBC().of_ranks(pooled.on(made).ranks(Breaks(0.5)))
    for t in range(30):
        table = made.table(t)
        scores = TableScores(table.theta.T, np.moveaxis(table.q, -1, 0))
        told = SBC().test(scores, Breaks(0.5))
        assert found.pvalue[t] == pytest.approx(float(told.pvalue))
        assert found.statistic[t] == pytest.approx(float(told.statistic))


@pytest.mark.parametrize("method", [SBC(), TARP(), CoLT(), WithinX()])
def test_ranks_alone_say_what_the_test_says(method):
    rng = np.random.default_rng(0)
    s = 3 if method.name == "sbc" else 1
    scores = TableScores(rng.standard_normal((4, s, 30)), rng.standard_normal((4, s, 30, 7)) + 0.3)
    told = method.test(scores, np.random.default_rng(1))
    u = told.arrays["u"] if method.name == "sbc" else told.arrays["u"][:, None]
    found = method.of_ranks(u)
    np.testing.assert_array_equal(found.pvalue, told.pvalue)
    np.testing.assert_array_equal(found.statistic, told.statistic)


LEVEL = [SBC(), TARP(), WithinX(), CoLT(), Multiple(), C2ST(), Uniform(m=1), Uniform(m=4)]


@pytest.mark.parametrize("count", [1000, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("k", "rounded"), [(2, None), (7, None), (7, 0), (3, 0)])
@pytest.mark.parametrize("method", LEVEL, ids=lambda method: method.label)
def test_every_method_keeps_its_level(method, k, rounded, count):
    n = 120
    rows = drawn(n=n, k=k, rounded=rounded)
    made = trials(rows, count, seed=1)
    score = Quantities() if method.name == "sbc" else Product()
    pooled = PooledScores.of(score, rows)
    rng = np.random.default_rng(2)
    p = np.concatenate([
        method_pvalues(method, pooled.on(part), rng) for part in made.pieces()
    ])  # fmt: skip
    assert p.shape == (count,)
    assert (p > 0).all()
    most = statistics.binomial_bounds(count, 0.05, 0.999)[1]
    # Accuracies of few points come in steps, and their law is normal in the limit only.
    assert (p <= 0.05).sum() <= most + 0.02 * count * (method.name == "c2st")
    if method.ranks_only and method.name != "sbc":
        assert (p <= 0.05).sum() >= statistics.binomial_bounds(count, 0.05, 0.999)[0]
        assert statistics.ks(p).pvalue > 1e-4


def test_ranks_are_uniform_and_independent_of_the_row():
    rows = drawn(n=30, k=5, rounded=0)
    u = PooledScores.of(Quantities(), rows).on(trials(rows, 3000)).ranks(np.random.default_rng(0))
    assert u.shape == (3000, 3, 30)
    assert statistics.ks(u[:, 0].ravel()[::7]).pvalue > 1e-3
    assert statistics.ks(np.moveaxis(u, 0, -1)).pvalue.min() > 1e-3 / 90


def test_blocks_share_no_row_and_never_draw_the_truth():
    n, k = 21, 3
    rows = PosteriorTable(
        np.zeros((n, 1)), np.zeros((n, 0)), np.arange(n * k, dtype=float).reshape(n, k, 1)
    )
    made = trials(rows, 400)
    blocks = PooledScores.of(lambda theta, x: theta[:, 0], rows).on(made).blocks(
        np.random.default_rng(0), m=2
    )  # fmt: skip
    assert blocks.p.shape == (400, 10)
    assert blocks.q.shape == (400, 5)
    p_rows, q_rows = (side.astype(int) // k for side in (blocks.p, blocks.q))
    for t in range(400):
        assert len({*p_rows[t], *q_rows[t]}) == 15
    own = made.which[np.arange(400)[:, None], q_rows]
    assert (own != blocks.q.astype(int) % k).all()
    np.testing.assert_array_equal(
        made.which[np.arange(400)[:, None], p_rows], blocks.p.astype(int) % k
    )


def test_few_draws_are_the_first_of_the_others():
    rows = drawn(n=20, k=6)
    made = trials(rows, 10)
    pooled = PooledScores.of(Quantities(), rows)
    for t, scores in enumerate(pooled.on(made).first_draws(4)):
        table = made.table(t)
        np.testing.assert_array_equal(scores.draws, np.moveaxis(table.q[:, :4], -1, 0))
        np.testing.assert_array_equal(scores.truth, table.theta.T)


def test_a_draw_that_was_not_moved_keeps_its_score():
    """A network rounds otherwise in another batch; a truth that is a draw still ties with it."""
    rng = np.random.default_rng(0)

    def noisy(theta, x):
        return theta[:, 0] + 1e-9 * rng.standard_normal(len(theta))

    rows = drawn(n=20, k=6)
    made = trials(rows, 10, moved=0.0)
    scored = PooledScores.of(noisy, rows).on(made)
    np.testing.assert_array_equal(scored.truth, scored.own)


@pytest.mark.parametrize(
    ("method", "k", "word"),
    [(LC2ST(), 50, "anew"), (MMDFuse(), 50, "kernels"), (SBC(quantities="products"), 50, "togeth"),
     (DC(m=10), 10, "there are 9")],
)  # fmt: skip
def test_what_does_not_fit_says_why(method, k, word):
    assert word in method.unfit(k)


def test_all_methods_that_run_unasked_fit():
    """All but the one that reads log densities, which a made table has not."""
    unfit = {
        method.name for method in diagnosis.default_methods() if method.unfit(2)
    }  # fmt: skip
    assert unfit == {"skl"}
    assert DC(m=10).unfit(11) is None


def test_relabelings_are_made_table_by_table():
    rows = drawn(n=30, k=12)
    made = trials(rows, 20)
    p = method_pvalues(
        DC(m=5, permutations=19),
        PooledScores.of(Product(), rows).on(made),
        np.random.default_rng(0),
    )
    assert p.shape == (20,)
    assert ((p >= 1 / 20) & (p <= 1)).all()


def test_wide_tables_get_fewer_trials():
    assert trial_count(1000, 10) == 200
    assert trial_count(5000, 10) == 200
    assert trial_count(1000, 200) == 100
    assert trial_count(1000, 10_000) == 40


def test_scores_that_are_no_numbers_are_refused():
    rows = drawn(n=20, k=6)
    with pytest.raises(ValueError, match="NaN"):
        PooledScores.of(lambda theta, x: np.full(len(theta), np.nan), rows)


def test_large_tables_keep_fewer_draws_evenly_spaced(monkeypatch):
    q = np.arange(30 * 100, dtype=float).reshape(30, 100, 1)
    theta = np.arange(30.0)[:, None]
    upload = Upload.of({"theta": theta, "x": theta, "theta_q": q})
    assert thin_draws(upload) is upload
    monkeypatch.setattr("validation_core.diagnosis.null_tables.trials.NUMBERS_SCORED", 30 * 25)
    few = thin_draws(upload)
    np.testing.assert_array_equal(few.data.q, q[:, ::4])
    assert (few.n, few.k) == (30, 25)
    monkeypatch.setattr("validation_core.diagnosis.null_tables.trials.NUMBERS_SCORED", 1)
    assert thin_draws(upload).k == 20


class Network:
    """Stands in for a trained network."""

    def at(self):
        return Quantities()


@pytest.mark.parametrize("learned", [True, False])
def test_a_verdict_that_learns_nothing_is_repeated_without_what_other_tests_learn(learned):
    table = drawn()
    upload = npt.Table(table.q[:, 0], table.x, table.q).upload
    methods = (Omnibus(learned=learned), C2ST())
    battery = MethodBattery.of(upload, methods, 0, lambda method: Network())
    assert (battery.relabelled.learned is not None) == learned


MOVED = {
    "too_narrow": 1.1, "bias_all": 0.2, "wrong_correlation": 1.5, "light_tails": 0.2,
    "missing_mode": 0.02, "spurious_mode": 0.05, "ignores_x": 0.2, "support_leak": 0.05,
}  # fmt: skip


@pytest.mark.parametrize(("k", "d"), [(7, 2), (9, 7), (20, 2), (60, 2)])
def test_statistics_of_a_moved_truth_are_those_of_its_table(k, d):
    """Few draws tell their own mean and covariance with a truth from those without it."""
    rows = drawn(n=150, k=k, d=d)
    upload = npt.Table(rows.q[:, 0], rows.x, rows.q).upload
    verdict = NullVerdict.of(upload, 0)
    pool = DrawPool(rows.q, rows.x, direction_seed=0)
    which = pick_slots(8, 150, k, np.random.default_rng(0))
    cells = verdict.setup.battery.cells
    for name, strength in MOVED.items():
        tables = DEFECTS[name].tables(pool, which, strength, np.random.default_rng(1))
        made = SelfMadeTables(rows, *tables)
        found, there = verdict.statistics(made), []
        for t in range(8):
            battery = statistics_of(made.table(t), 0).battery
            assert [cell.family for cell in battery.cells] == [cell.family for cell in cells]
            there.append(battery.statistics(battery.pools.observed[None])[0])
        off = (found - np.array(there)).mean(0)
        for family in {cell.family for cell in cells} - {"together_over_x", "together"}:
            own = [i for i, cell in enumerate(cells) if cell.family == family]
            assert np.abs(off[own].mean()) < 0.4, (name, family)


@pytest.mark.parametrize(("k", "d"), [(2, 2), (5, 2), (10, 3), (20, 8), (40, 8), (30, 30)])
def test_norms_of_a_moved_slot_are_those_of_the_pool_that_it_is_in(k, d):
    rng = np.random.default_rng(0)
    values = 3 + 5 * rng.standard_normal((40, k, d)) @ (np.eye(d) + 0.5 * np.tri(d)).T
    which = pick_slots(6, 40, k, rng)
    own = values[np.arange(40), which]
    points = own + rng.standard_normal(own.shape)
    u, size = moved_norm_ranks(values, which, points), moved_norms(values, which, points)
    wanted, there = np.empty_like(u), np.empty_like(size)
    for t in range(6):
        pool = values.copy()
        pool[np.arange(40), which[t]] = points[t]
        all_norms = norms(pool)
        there[:, t] = all_norms[np.arange(40), which[t]]
        wanted[t] = mid_ranks(all_norms)[np.arange(40), which[t]]
    assert np.abs(u - wanted).mean() < 0.02
    assert np.median(np.abs(size / there - 1)) < 0.1
    stayed = moved_norm_ranks(values, which, own)
    before = mid_ranks(norms(values))
    np.testing.assert_allclose(stayed, before[np.arange(40), which])
