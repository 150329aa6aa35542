"""Relabelling within x: exact on any null table, its statistics by plain loops, and its power."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from tests.nulls import DISCRETE, NULLS, densities, gaussian, learned, near, own, shared
from validation_core.relabelling import UNLEARNED, exact_test, relabelled
from validation_core.relabelling.calibration import calibrated
from validation_core.relabelling.claims import Claims
from validation_core.relabelling.families import LEARNED_FAMILIES, SHARES, SUMS, Family
from validation_core.relabelling.result import Claim, OmnibusResult, XScope
from validation_core.relabelling.table_statistics import LearnedScore, playing_draws, statistics_of
from validation_core.rng import stream
from validation_core.statistics import binomial_bounds
from validation_core.statistics.permutation import step_down
from validation_core.types import Array, PosteriorTable

N, K, TABLES = 60, 12, 120
DEAR = {"D = 30", "D = 60", "groups, D = 60", "one group, D = 300", "learned, D = 60"}
"""Kinds of which fewer tables must do at first."""
RELABELINGS = 99
ALPHAS = (0.05, 0.2)
CONFIDENCE = 1 - 1e-4
"""Of each bound: some hundred of them are looked at together."""


def null_pvalues(kind: str, tables: int) -> Array:
    """Of fresh tables."""
    out = []
    for trial in range(tables):
        one, more = NULLS[kind](stream(trial, "omnibus", kind), N, K)
        out.append(relabelled(one, trial, relabelings=RELABELINGS, **more).pvalue)
    return np.array(out)


@pytest.mark.parametrize(
    ("many", "dear"), [(10, 2), pytest.param(TABLES, 20, marks=pytest.mark.slow)]
)
def test_the_level_is_exact(many, dear):
    """Of each kind of null table, and of all kinds together."""
    tables = {kind: dear if kind in DEAR else many for kind in NULLS}
    p = {kind: null_pvalues(kind, count) for kind, count in tables.items()}
    assert [kind for kind in NULLS if np.isnan(p[kind]).any()] == []
    wrong = []
    for alpha in ALPHAS:
        count = {kind: int((p[kind] <= alpha).sum()) for kind in NULLS}
        for kind in NULLS:
            low, high = binomial_bounds(tables[kind], alpha, CONFIDENCE)
            if count[kind] > high or (count[kind] < low and kind not in DISCRETE):
                wrong.append(f"{kind}: {count[kind]} of {tables[kind]} tables at {alpha}")
        _, high = binomial_bounds(sum(tables.values()), alpha, CONFIDENCE)
        assert sum(count.values()) <= high, count
        rest = [kind for kind in NULLS if kind not in DISCRETE]
        low, _ = binomial_bounds(sum(tables[kind] for kind in rest), alpha, CONFIDENCE)
        assert sum(count[kind] for kind in rest) >= low, count
    assert wrong == []


def every_labelling(sizes: Array) -> Array:
    """All labellings (B, N) of rows with so many slots."""
    return np.array(list(product(*(range(size) for size in sizes))), np.int32)


def test_p_is_the_share_of_all_labellings():
    count = 1999
    for trial in range(20):
        rng = stream(trial, "omnibus", "every")
        asked = statistics_of(gaussian(rng, n=4, k=2), trial, relabelings=count)
        pools = asked.battery.pools
        tested = calibrated(asked.battery, count, rng, lambda done: None)
        slots = every_labelling(pools.size)
        z = tested.scale.normal(asked.battery.statistics(slots))
        largest = tested.scale.minus_log_p(z).max(axis=1)
        share = np.mean(largest >= largest[(slots == pools.observed).all(axis=1)] - 1e-4)
        assert abs(tested.pvalue - share) < 4.5 * np.sqrt(share * (1 - share) / count) + 1 / count


def test_labellings_of_rows_and_of_shared_pools_are_uniform():
    one, more = shared((0.6, 0.2, 0.2))(np.random.default_rng(0), 5, 2)
    pools = statistics_of(one, 0, **more).battery.pools
    slots = pools.labellings(40_000, np.random.default_rng(1))
    trio = np.flatnonzero(pools.size == 5)
    assert [len(rows) for rows in pools.shared] == [3]
    assert all(len(set(some)) == 3 for some in slots[:200, trio])
    codes = slots[:, trio] @ np.array([25, 5, 1])
    found = np.unique(codes, return_counts=True)[1]
    assert len(found) == 5 * 4 * 3
    low, high = binomial_bounds(40_000, 1 / 60, CONFIDENCE)
    assert low <= found.min() <= found.max() <= high
    alone = np.bincount(slots[:, pools.size == 3][:, 0], minlength=3)
    low, high = binomial_bounds(40_000, 1 / 3, CONFIDENCE)
    assert low <= alone.min() <= alone.max() <= high


def test_an_equal_labelling_has_equal_statistics_however_many_are_computed_together():
    one, more = learned()(np.random.default_rng(0), N, K)
    scores = more.pop("learned")
    asked = statistics_of(one, 0, **more)
    for every in (asked.battery, asked.with_learned(scores)):
        slots = np.repeat(every.pools.observed[None], 50, axis=0)
        alone = every.statistics(every.pools.observed[None])
        np.testing.assert_allclose(
            every.statistics(slots), alone.repeat(50, 0), atol=2e-6, rtol=2e-6
        )


def by_claim(one: OmnibusResult) -> dict[Claim, float]:
    return {claim: float(z) for claim, z in zip(one.claims, one.z, strict=True)}


def test_the_order_of_draws_and_of_rows_does_not_matter():
    one = gaussian(np.random.default_rng(0), d=3, m=2)
    before = by_claim(relabelled(one, 0, relabelings=99))
    draws, rows = np.random.default_rng(1).permutation(12), np.arange(60)[::-1]
    permuted = by_claim(
        relabelled(PosteriorTable(one.theta, one.x, one.q[:, draws]), 0, relabelings=99)
    )
    sums = {claim for claim in before if claim.family in SUMS}
    assert permuted.keys() == before.keys()
    assert all(
        permuted[claim] == pytest.approx(before[claim], abs=1e-5) for claim in before.keys() - sums
    )
    turned = by_claim(relabelled(PosteriorTable(one.theta[rows], one.x[rows], one.q[rows]), 0))
    for claim, z in before.items():
        # Balls are around rows that are drawn by their number, squares in units of labellings.
        if claim.along != XScope("balls") and claim.family not in SUMS:
            assert turned[claim] == pytest.approx(z, abs=1e-5)


def test_sorted_draws_are_as_good_as_any_others():
    """Those that may play the truth stand evenly among them."""
    few = playing_draws(1000, 200, 2)
    assert len(few) == 63
    assert abs(few.mean() - 99.5) < 0.5
    assert abs(few[0] + few[-1] - 199) <= 1
    assert (playing_draws(60, 12, 2) == np.arange(12)).all()


def test_ranks_do_not_see_monotone_transforms():
    one = gaussian(np.random.default_rng(0), d=2, m=2)
    bent = [
        np.stack([np.exp(theta[..., 0]), theta[..., 1] ** 3], -1) for theta in (one.theta, one.q)
    ]
    a = relabelled(one, 0, relabelings=99)
    b = relabelled(PosteriorTable(bent[0], one.x, bent[1]), 0, relabelings=99)
    assert a.claims == b.claims
    magnitudes = ("outliers", "spacing", "support")
    ranks = [claim.of == "theta" and claim.family not in magnitudes for claim in a.claims]
    assert sum(ranks) > 20
    np.testing.assert_array_equal(a.z[ranks], b.z[ranks])
    assert (a.z[~np.array(ranks)] != b.z[~np.array(ranks)]).any()


def scored(one: PosteriorTable, which: int) -> Array:
    """Normal scores (N, K + 1) of mid-ranks, one slot at a time."""
    slots = np.concatenate([one.theta[:, None], one.q], axis=1)[..., which]
    z = np.zeros_like(slots)
    for i, row in enumerate(slots):
        for j, value in enumerate(row):
            below, equal = np.sum(row < value), np.sum(row == value)
            z[i, j] = ndtri((below + equal / 2) / len(row))
    return z


def standardised(values: Array) -> float:
    """The sum over rows of the truth's value (N, K + 1), first in each row, in its own sd."""
    total = sum(row[0] - row.mean() for row in values)
    return total / np.sqrt(sum(row.var() for row in values))


def test_statistics_are_those_of_plain_loops():
    one = gaussian(np.random.default_rng(3), d=2)
    one = PosteriorTable(np.round(one.theta, 1), one.x, np.round(one.q, 1))  # ties too
    z = by_claim(relabelled(one, 0, relabelings=99))
    scores = [scored(one, which) for which in range(2)]
    for which, score in enumerate(scores):
        assert z[Claim("means", "mean", "theta", (which,), None)] == pytest.approx(
            abs(standardised(score)), abs=1e-4
        )
        wide = ndtri(np.clip(np.abs(2 * ndtr(score) - 1), 1e-6, 1 - 1e-6))
        widths = [abs(standardised(one)) for one in (wide, score**2)]
        assert z[Claim("widths", "width", "theta", (which,), None)] == pytest.approx(
            max(widths), abs=1e-4
        )
    assert z[Claim("pairs", "pair", "theta", (0, 1), None)] == pytest.approx(
        abs(standardised(scores[0] * scores[1])), abs=1e-4
    )


def test_contrasts_over_x_are_those_of_plain_loops():
    n, g = 60, 6  # ten rows in each block
    one = gaussian(np.random.default_rng(4), n=n, d=2)
    score = scored(one, 0)
    off = np.array([row[0] - row.mean() for row in score])
    variance = np.array([row.var() for row in score])
    order = np.empty(n)
    order[np.argsort(one.x[:, 0])] = np.arange(n)
    r = np.sqrt(12) * ((order + 0.5) / n - 0.5)

    def contrast(along: Array) -> float:
        mean = np.sum(along * variance) / variance.sum()
        return np.sum((along - mean) * off) / np.sqrt(np.sum((along - mean) ** 2 * variance))

    stretches = [
        (order // (n / g) >= first) & (order // (n / g) < last)
        for first in range(g) for last in range(first + 1, g + 1) if last - first <= g / 2
    ]  # fmt: skip
    largest = max(abs(contrast(one)) for one in (*stretches, r, np.sign(r), r**2))
    z = by_claim(relabelled(one, 0, relabelings=99))
    assert z[Claim("over_x", "mean", "theta", (0,), XScope("x", 0))] == pytest.approx(
        largest, abs=1e-4
    )


def test_what_is_stored_is_what_is_read():
    given, more = learned()(np.random.default_rng(0), N, K)
    for null in (densities(), near, own()):
        more |= null(np.random.default_rng(0), N, K)[1]
    one = relabelled(given, 0, relabelings=99, **more)
    again = OmnibusResult.read(one.arrays())
    assert again.claims == one.claims
    for name, values in one.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], values)
    assert {claim.family for claim in one.claims} == set(SHARES) - {"weights"}
    assert again.families == one.families
    assert again.pvalue == one.pvalue == min(one.families.values())
    assert list(one.families.values()) == sorted(one.families.values())


def test_claims_are_asked_for_by_what_they_are():
    one = shifted(np.random.default_rng(0), shift=0.5)
    first = one.first()
    assert one.claims[first] == Claim("means", "mean", "theta", (0,), None)
    assert next(iter(one.families)) == "means"
    assert one.p(lambda claim: claim.family == "means") == one.pvalue == 1 / 100
    assert one.p(lambda claim: claim.which == (1,)) == min(
        p for p, claim in zip(one.adjusted, one.claims, strict=True) if claim.which == (1,)
    )
    assert one.first(lambda claim: claim.family == "learned") is None
    assert one.p(lambda claim: claim.family == "learned") == 1
    assert one.critical(0.05, "learned") == one.critical(0.001, "means") == np.inf


def shifted(rng: np.random.Generator, shift: float, n: int = 200, **more: Any) -> OmnibusResult:
    one = gaussian(rng, n=n, k=60)
    theta = one.theta + np.array([shift, 0])
    return relabelled(PosteriorTable(theta, one.x, one.q), 0, relabelings=RELABELINGS, **more)


def test_the_critical_shift_is_found_half_of_the_time():
    critical = np.mean([
        shifted(stream(trial, "omnibus", "null"), 0).critical(0.05, "means") for trial in range(20)
    ])  # fmt: skip
    assert 2.5 < critical < 4
    found = [
        shifted(stream(trial, "omnibus", "shift"), critical / np.sqrt(200))
        .p(lambda claim: claim.family == "means") <= 0.05
        for trial in range(TABLES // 2)
    ]  # fmt: skip
    assert 0.32 < np.mean(found) < 0.68


def test_a_statistic_beyond_the_critical_one_is_found():
    """By itself the largest: p is at most the level exactly where |z| is at least critical."""
    for trial in range(40):
        one = shifted(stream(trial, "omnibus", "critical"), 0.2)
        at = one.first()
        family = one.claims[at].family
        assert (one.pvalue <= 0.05) == (one.z[at] >= one.critical(0.05, family) - 1e-4)


def test_step_down_looks_at_those_that_are_not_larger():
    seen = np.array([3.0, 1.0, 2.0])
    nulls = np.array([[0, 0, 0], [4, 0, 0], [0, 3, 0], [0, 0, 2.5], [0, 0, 2], [0, 1.5, 0]])
    # The largest of all: 0 4 3 2.5 2 1.5; of the last two: 0 0 3 2.5 2 1.5; of the least:
    # 0 0 3 0 0 1.5, raised to what the larger one has.
    np.testing.assert_allclose(step_down(seen, nulls), np.array([3, 4, 4]) / 7)
    least = np.array([1.0, 1.0])
    np.testing.assert_allclose(step_down(least, np.zeros((3, 2))), [0.25, 0.25])
    np.testing.assert_allclose(step_down(least, np.ones((3, 2))), [1, 1])


def wrong(change: Callable[[Array, Array], Array], n: int = 400) -> OmnibusResult:
    """The test of a table whose truths are changed: of (theta, x)."""
    one = gaussian(np.random.default_rng(7), n=n, k=60)
    return relabelled(PosteriorTable(change(one.theta, one.x), one.x, one.q), 0, relabelings=199)


ERRORS: dict[str, tuple[str, Callable[[Array, Array], Array]]] = {
    "shift": ("means", lambda theta, x: theta + np.array([0.4, 0])),
    "width": ("widths", lambda theta, x: x + (theta - x) * 1.5),
    "pair": ("pairs", lambda theta, x: theta + 0.4 * np.stack(
        [theta[:, 1], theta[:, 0] - x[:, 0]], -1)),
    "local": ("over_x", lambda theta, x: theta + 1.5 * (x > np.quantile(x, 0.9))),
}  # fmt: skip


@pytest.mark.parametrize("error", ERRORS)
def test_planted_errors_are_found_at_the_floor_and_named(error):
    family, change = ERRORS[error]
    one = wrong(change)
    assert one.pvalue == 1 / 200
    assert one.families[family] == 1 / 200
    if error in ("pair", "local"):
        assert next(iter(one.families)) == family


@pytest.mark.parametrize("shares", [(1.0,), (0.3, 0.3, 0.2, 0.1, 0.1)])
def test_a_shift_from_shared_draws_is_found(shares):
    one, more = shared(shares)(np.random.default_rng(1), 120, 100)
    assert relabelled(one, 0, relabelings=199, **more).pvalue > 0.05
    one = PosteriorTable(one.theta + 1, one.x, one.q)
    assert relabelled(one, 0, relabelings=199, **more).pvalue == 1 / 200


def test_a_learned_score_needs_draws_of_its_own():
    one, more = shared((0.5, 0.5))(np.random.default_rng(0), N, K)
    score = LearnedScore("classifier", np.arange(60), np.zeros((60, 13)), ratio=True)
    with pytest.raises(ValueError, match="got classifier and rows that share theirs"):
        relabelled(one, 0, learned=[score], **more)


def test_progress_ends_at_one():
    seen: list[float] = []
    relabelled(gaussian(np.random.default_rng(0)), 0, relabelings=99, report=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1


def followed(seed: int, sign: float) -> OmnibusResult:
    """A right table whose learned score follows on half of the rows what the others show."""
    rng = stream(seed, "omnibus", "followed", sign)
    one = gaussian(rng, n=80, k=12, d=1)
    order = rng.permutation(80)
    learning, testing = np.sort(order[:40]), np.sort(order[40:])
    slots = np.concatenate([one.theta[:, None], one.q[:, playing_draws(80, 12, 1)]], axis=1)[
        ..., 0
    ]
    direction = sign * np.sign(scored(one, 0)[learning, 0].sum())
    score = LearnedScore("classifier", testing, direction * slots[testing], ratio=False)
    return relabelled(one, seed, relabelings=RELABELINGS, learned=[score])


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("tables", [60, pytest.param(800, marks=pytest.mark.slow)])
def test_the_level_holds_for_a_learner_that_follows_or_fights_its_own_half(sign, tables):
    """Of the first look, of learned scores alone, and of either: each within its share."""
    results = [followed(seed, sign) for seed in range(tables)]
    learned = [one.p(lambda claim: claim.family in LEARNED_FAMILIES) <= 0.05 for one in results]
    first = [one.p(lambda claim: claim.family not in LEARNED_FAMILIES) <= 0.05 for one in results]
    for found, level in (
        (first, 0.04),
        (learned, 0.01),
        ([a or b for a, b in zip(first, learned, strict=True)], 0.05),
    ):
        assert sum(found) <= binomial_bounds(tables, level, CONFIDENCE)[1]


def test_the_first_look_is_final():
    """Learned scores leave what was found without them as it was, and add their own."""
    given, more = learned()(np.random.default_rng(5), N, K)
    scores = more.pop("learned")
    first = relabelled(given, 0, relabelings=99, share=UNLEARNED, **more)
    whole = relabelled(given, 0, relabelings=99, learned=scores, **more)
    again = relabelled(given, 0, relabelings=99, learned=scores, first=first, **more)
    count = len(first.claims)
    assert whole.claims[:count] == first.claims
    for name in ("z", "minus_log_p", "own"):
        np.testing.assert_array_equal(getattr(whole, name)[:count], getattr(first, name))
    np.testing.assert_array_equal(whole.adjusted, again.adjusted)
    assert (whole.adjusted[:count] <= first.adjusted).all()
    assert whole.pvalue <= first.pvalue
    assert {claim.family for claim in whole.claims[count:]} <= set(LEARNED_FAMILIES)
    assert whole.critical(0.05, "learned") > 0


@pytest.mark.parametrize("over_x", [False, True])
def test_the_test_alone_is_that_of_the_claims(over_x):
    """Bit for bit, on a right table and on one that is rejected."""
    for shift in (0.0, 0.5):
        one = gaussian(stream(int(2 * shift), "alone"), 80, 12, d=3)
        one = replace(one, theta=one.theta + shift)
        whole = relabelled(one, 4, relabelings=99, over_x=over_x)
        alone = exact_test(one, 4, relabelings=99, over_x=over_x)
        assert (alone.pvalue <= 0.05) == (shift > 0)
        assert alone.pvalue == whole.pvalue
        assert alone.minus_log_p.max() == whole.minus_log_p.max()
        np.testing.assert_array_equal(alone.null, whole.null)


def test_p_values_are_written_without_the_noise_of_a_division():
    given, more = learned()(np.random.default_rng(5), N, K)
    far = replace(given, theta=given.theta + 9)
    more.pop("learned")
    found = relabelled(far, 0, relabelings=999, share=0.7, **more)
    assert found.pvalue == round(0.001 / 0.7, 12)


def test_where_one_part_is_rejected_whole_the_other_has_the_whole_level():
    given, more = learned()(np.random.default_rng(5), N, K)
    scores = more.pop("learned")
    first = relabelled(given, 0, relabelings=99, share=UNLEARNED, **more)
    whole = relabelled(given, 0, relabelings=99, learned=scores, **more)
    part = replace(first, adjusted=np.full(len(first.claims), 0.01), share=UNLEARNED)
    learned_part = replace(
        whole, claims=whole.claims[-2:], adjusted=np.array([0.2, 1.0]), share=1 - UNLEARNED,
        **{name: getattr(whole, name)[-2:]
           for name in ("z", "own", "minus_log_p", "offset", "numbers")},
    )  # fmt: skip
    # the second was cut off at 1, and may have been .2 or anything above
    np.testing.assert_allclose(part.with_learned(learned_part).adjusted[-2:], [0.04, 1.0])
    assert (part.with_learned(learned_part).adjusted[:-2] == 0.01).all()


Planted = Callable[[np.random.Generator, PosteriorTable], PosteriorTable]
MAGNITUDES: dict[str, tuple[Family, Planted]] = {
    "five of a thousand true values 30 sd away": ("outliers", lambda rng, one: PosteriorTable(
        one.theta + 30 * (np.arange(1000) % 200 == 7)[:, None], one.x, one.q)),
    "ten of a thousand": ("outliers", lambda rng, one: PosteriorTable(
        one.theta + 30 * (np.arange(1000) % 100 == 7)[:, None], one.x, one.q)),
    "draws on a grid of a tenth of a sd": ("spacing", lambda rng, one: PosteriorTable(
        one.theta, one.x, np.round(one.q, 1))),
    "1% of one parameter's draws outside the prior": ("support", lambda rng, one: PosteriorTable(
        np.tanh(one.theta), one.x, np.where(
            (rng.random(one.q.shape) < 0.01) & (np.arange(3) == 1),
            1 + rng.exponential(0.2, one.q.shape), np.tanh(one.q)))),
}  # fmt: skip


@pytest.mark.parametrize("error", MAGNITUDES)
@pytest.mark.parametrize(
    ("tables", "relabelings"), [(3, 299), pytest.param(20, 999, marks=pytest.mark.slow)]
)
def test_errors_that_leave_ranks_as_they_are_are_found_and_named(error, tables, relabelings):
    """N = 1000, K = 100, D = 3, without learned scores, which would take a share of the level."""
    family, change = MAGNITUDES[error]
    found = 0
    for trial in range(tables):
        rng = stream(trial, "omnibus", "magnitudes", error)
        one = change(rng, gaussian(rng, n=1000, k=100, d=3, m=3))
        result = relabelled(one, trial, relabelings=relabelings, share=UNLEARNED)
        at = result.first(lambda claim: claim.family == family)
        found += result.pvalue <= 0.05 and max(result.adjusted[at], result.own[at]) <= 0.05
    assert found >= 0.95 * tables


ALIKE: dict[str, tuple[str, Callable[[np.random.Generator, Array], Array]]] = {
    "too narrow": ("width", lambda rng, z: 1.4 * z),
    "too wide": ("width", lambda rng, z: z / 1.4),
    "one too narrow": ("width", lambda rng, z: z * np.array([2.0, 1, 1])),
    "one biased": ("mean", lambda rng, z: z + np.array([0.5, 0, 0])),
    "two biased": ("mean", lambda rng, z: z + np.array([0.5, 0.5, 0])),
    "far biased": ("mean", lambda rng, z: z + np.array([1.5, 0, 0])),
    "t3": ("shape", lambda rng, z: rng.standard_t(3, z.shape) / np.sqrt(3)),
    "correlated": ("pair", lambda rng, z: z @ np.array(
        [[1, 0.5, 0], [0, 0.75**0.5, 0], [0, 0, 1]])),
}  # fmt: skip
"""Errors alike at every x, by the kind that there is: what true values' noise z (N, 3) becomes."""
OTHERS = {
    "width": ("mean", "pair"),
    "mean": ("width", "pair", "shape"),
    "pair": ("width", "mean", "shape"),
    "shape": ("mean", "pair"),
}


@pytest.mark.parametrize("error", ALIKE)
@pytest.mark.parametrize(
    ("tables", "relabelings"), [(4, 299), pytest.param(20, 999, marks=pytest.mark.slow)]
)
def test_a_claim_is_named_only_where_no_other_error_explains_it(error, tables, relabelings):
    """Over x in errors that are alike at every x, and kinds of error that are not there."""
    kind, change = ALIKE[error]
    named = dict.fromkeys(("over x", *OTHERS[kind]), 0)
    own = 0
    for trial in range(tables):
        rng = stream(trial, "omnibus", "alike", error)
        x = rng.standard_normal((400, 3))
        theta = x + change(rng, rng.standard_normal((400, 3)))
        one = PosteriorTable(theta, x, x[:, None] + rng.standard_normal((400, 60, 3)))
        result = relabelled(one, trial, relabelings=relabelings)
        is_named = np.maximum(result.adjusted, result.own) <= 0.05
        claims = [claim for claim, is_so in zip(result.claims, is_named, strict=True) if is_so]
        named["over x"] += any("over_x" in one.family for one in claims)
        alone = [one for one in claims if one.along is None and one.of == "theta"]
        for other in OTHERS[kind]:
            named[other] += any(one.kind == other for one in alone)
        own += any(one.kind == kind for one in alone) or kind == "shape"
    assert own == tables
    most = binomial_bounds(tables, 0.05, CONFIDENCE)[1]
    assert {other: count for other, count in named.items() if count > most} == {}


@pytest.mark.parametrize("d", [2, 3])
def test_rows_permuted_among_the_x_are_a_table_whose_rows_are(d):
    """Where q is wrong a row's variance depends on its truth, and goes with it."""
    rng = stream(d, "rows permuted")
    theta, x, q = (rng.standard_normal(shape) for shape in ((80, d), (80, 2), (80, 12, d)))
    q *= 0.5
    battery = statistics_of(PosteriorTable(theta, x, q), 0).battery
    order = rng.permutation(80)
    there = statistics_of(PosteriorTable(theta[order], x, q[order]), 0).battery
    over = np.flatnonzero(["over_x" in cell.family for cell in battery.cells])
    np.testing.assert_allclose(
        battery.over_x_permuted(order[None].astype(np.int32))[0],
        there.statistics(there.pools.observed[None])[0, over],
        rtol=1e-4,
        atol=1e-4,
    )


def test_an_error_that_is_the_same_at_every_x_is_no_change_along_the_means_of_q():
    """A truth is part of the mean of its slots: where q is too narrow its rank follows it."""
    tables, changes = 16, 0
    for trial in range(tables):
        rng = stream(trial, "narrow at every x")
        theta, x, q = (rng.standard_normal(shape) for shape in ((200, 1), (200, 3), (200, 12, 1)))
        result = relabelled(PosteriorTable(theta, x, 0.5 * q), trial, relabelings=199)
        assert result.pvalue <= 0.05
        assert any(claim.along == XScope("mean", 0) for claim in result.claims)
        changes += Claims(result, 0.05).over_x() <= 0.05
    assert changes <= binomial_bounds(tables, 0.05, CONFIDENCE)[1]


def test_a_change_along_the_means_of_q_is_named():
    """Of x only products say where q is off, and q's means know them."""
    rng = stream(0, "off where q is high")
    x, off, noise = (rng.standard_normal(shape) for shape in ((400, 3), (400, 1), (400, 40, 1)))
    centre = 4 * np.prod(np.sign(x), axis=1, keepdims=True) + x.sum(axis=1, keepdims=True)
    theta = centre + off + 1.0 * (centre > 0)
    result = relabelled(PosteriorTable(theta, x, centre[:, None] + noise), 0, relabelings=199)
    claims = Claims(result, 0.05)
    assert claims.place("shift", 0, "mean", 0) <= 0.05


def test_a_mean_is_named_by_its_own_parameter():
    table = gaussian(stream(0, "many parameters"), d=60, m=3)
    asked = statistics_of(table, 0)
    means = [
        which
        for kind, which in zip(asked.coordinates.kinds, asked.coordinates.which, strict=True)
        if kind == "mean"
    ]
    assert set(means) <= set(asked.parameters)
