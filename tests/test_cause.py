"""The likely cause: exact under p = q, right on strong defects, unclear rather than wrong."""

import json
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.conftest import in_turn
from tests.fixed_claims import CLAIMED, SILENT, asked_alone
from tests.reports import code_of
from validation_core import codec, sampling, statistics
from validation_core.benchmarks import Gaussian
from validation_core.diagnosis import tasks as diagnoses
from validation_core.diagnosis.injections import INJECTIONS
from validation_core.diagnosis.questions import Names, by_name
from validation_core.diagnosis.questions.base import LEVEL
from validation_core.diagnosis.questions.cause import (
    findings,
    prepared_table,
    reference_sets,
    similarity,
    variants,
)
from validation_core.diagnosis.questions.cause.advice import NEXT_STEPS, SHAPES, TITLES, steps_for
from validation_core.diagnosis.questions.cause.finding_words import (
    KINDS,
    departure_text,
    finding_text,
)
from validation_core.diagnosis.questions.cause.ranked_rows import RankedRows, two_groups
from validation_core.diagnosis.questions.cause.result import APART
from validation_core.diagnosis.questions.cause.study import STRONG, find_likely_cause
from validation_core.diagnosis.questions.cause.words import FAULTS, STRENGTHS, candidate_title
from validation_core.rng import stream
from validation_core.store import Store
from validation_core.tables import SamplesUpload, TableUpload, Upload, read, repeats
from validation_core.text import share_text
from validation_core.types import Joint, PosteriorTable, TwoSamples

N, K = 400, 60
NAMES = ("a", "b", "c")
NAMED = {*(one.cause for one in INJECTIONS.values()), "wrong_skew", "proposal"}
QUESTION = by_name("cause")


def say(result, names):
    return QUESTION.describe(result, Names(names), CLAIMED)


def table(perturbation="mean_shift", gamma=0.0, n=N, k=K, d=2, seed=0, **options):
    benchmark = Gaussian(perturbation=perturbation, dim_x=d, dim_theta=d, **options)
    return sampling.table(benchmark, gamma, n, k, stream(seed, "table", perturbation))


def normal(seed=0, n=N, k=K, d=2, rho=0.0, rho_q=None, narrow=1.0):
    """Normal posteriors about linear functions of x, correlated as told in truth and in q."""
    rng = stream(seed, "normal")
    x = rng.standard_normal((n, d))
    factors = [
        np.linalg.cholesky((1 - r) * np.eye(d) + r) for r in (rho, rho if rho_q is None else rho_q)
    ]
    mean = x @ rng.standard_normal((d, d))
    theta = mean + rng.standard_normal((n, d)) @ factors[0].T
    q = mean[:, None] + rng.standard_normal((n, k, d)) @ factors[1].T / narrow
    return PosteriorTable(theta, x, q)


def student(seed=0, nu=2.5):
    exact = normal(seed)
    rng = stream(seed, "student")
    mean = exact.q.mean(1)
    off = (exact.theta - mean) * np.sqrt(nu / rng.chisquare(nu, (len(exact), 1)))
    return replace(exact, theta=mean + off)


def leaking(seed=0, n=N, k=K):
    """A uniform prior that the posterior has and q does not."""
    rng = stream(seed, "leaking")
    theta = rng.uniform(-1, 1, (n, 2))
    x = theta + 0.5 * rng.standard_normal((n, 2))
    return PosteriorTable(theta, x, x[:, None] + 0.5 * rng.standard_normal((n, k, 2)))


DEFECTS = {
    "bias": lambda: table("mean_shift", 0.25),
    "too_wide": lambda: table("covariance_scaling", 1.2),
    "too_narrow": lambda: normal(narrow=1.7),
    "wrong_correlation": lambda: normal(rho=0.6, rho_q=-0.6),
    "heavy_tails": lambda: table("heavy_tail", 0.5, d=3),
    "light_tails": student,
    "missing_mode": lambda: table("mode_collapse", 0.4),
    "spurious_mode": lambda: table("additional_mode", 0.3),
    "ignores_x": lambda: table("blind_prior", 1.0),
    "support_leak": leaking,
}


@pytest.mark.parametrize("name", DEFECTS)
def test_strong_defects_are_named(name):
    found = find_likely_cause(DEFECTS[name](), 0)
    assert found.cause == name, found.causes
    assert found.pvalue <= STRONG
    first = found.causes[0]
    assert first.share > 0.5
    assert first.strength.low <= first.strength.value <= first.strength.high
    assert 2 <= len(first.evidence) <= 4
    assert any(
        one.right is not None and not one.low <= one.right <= one.high for one in first.evidence
    )


def test_truths_in_another_order_are_told_as_ignoring_x():
    exact = normal(d=3)
    shuffled = replace(exact, theta=stream(0, "shuffle").permutation(exact.theta))
    found = find_likely_cause(shuffled, 0)
    assert found.cause == "ignores_x", found.causes
    said = " ".join(say(found, NAMES))
    assert "Check that rows of theta and x belong together" in said


@pytest.mark.parametrize("share", [0.4, 0.1])
def test_a_mode_that_q_has_no_draws_in_is_named_by_its_gap(share):
    """Injected tables are made of q's draws, and cannot show it: it is named all the same."""
    exact = normal(n=800)
    other = stream(0, "other").random(800) < share
    moved = replace(exact, theta=exact.theta + np.array([0.0, -6.0]) * other[:, None])
    result = find_likely_cause(moved, 0)
    assert (result.cause, result.why) == ("missing_mode", "")
    first = result.causes[0]
    (gap,) = first.evidence
    assert (gap.what, gap.at, first.strength.shape) == ("apart", (1,), APART)
    assert gap.low <= other.mean() <= gap.high
    assert (first.strength.value, first.strength.low) == (gap.value, gap.low)
    assert result.next_steps == NEXT_STEPS["missing_mode"]
    sentence, evidence, step = say(result, NAMES)
    assert sentence.startswith(f"Most likely, q misses a mode: a share of about {gap.value:.2g} [")
    assert abs(gap.level + 6) < 0.4
    assert gap.right < 0.005
    assert evidence.endswith(
        f"of true values of b lie apart from q's draws, with a gap between, about "
        f"{-gap.level:.2g} posterior sd below q's centre; q puts {share_text(gap.right)} of "
        "its draws there."
    )
    assert step.startswith("Next: Take a density that can be multimodal")
    assert QUESTION.rows(result, Names(NAMES), CLAIMED)[0]["evidence"] == KINDS["apart"]
    assert QUESTION.notes(result, Names(NAMES))[0].startswith("The gap names the mode (Silverman")
    json.dumps(QUESTION.to_json(result), allow_nan=False)


@pytest.mark.usefixtures("_few_injected")
@pytest.mark.parametrize("seed", range(6))
def test_exact_posteriors_get_no_cause(seed):
    exact = table(seed=seed, n=200, k=40, d=1 + seed % 3, curved=seed % 2 == 1)
    found = find_likely_cause(exact, seed)
    assert found.cause in ("none", "unclear")


@in_turn(80, 150)
@pytest.mark.parametrize("heavy", [False, True])
def test_the_pvalue_keeps_its_level(heavy, trials):
    """Whatever q is, as long as the truth is drawn from it; few draws too."""
    rejected = 0
    for seed in range(trials):
        rng = stream(seed, "level")
        draws = rng.standard_t(1.5, (60, 21, 2)) if heavy else rng.standard_normal((60, 21, 2))
        exact = PosteriorTable(draws[:, 0], rng.standard_normal((60, 1)), draws[:, 1:])
        ready = prepared_table.PreparedTable.of(exact, seed)
        _, null = reference_sets.null_features(ready, count=39)
        rejected += similarity.null_pvalue(null) <= 0.05
    low, high = statistics.binomial_bounds(trials, 0.05, 0.999)
    assert rejected <= high
    assert rejected >= min(low, 1)


def test_the_pvalue_is_never_zero_and_treats_rows_alike():
    null = stream(0, "rows").standard_normal((40, 5))
    null[0] += 100
    assert similarity.null_pvalue(null) == pytest.approx(1 / 40, abs=0.03)
    every = [similarity.null_pvalue(np.roll(null, -i, axis=0)) for i in range(40)]
    for level in (0.05, 0.1, 0.25):
        assert np.mean(np.array(every) <= level) <= level


def test_truths_are_ranked_among_the_other_draws():
    """By brute force: neither the origin nor the table's own truth counts."""
    exact = normal(n=12, k=25)
    ranked = RankedRows.of(exact, stream(0, "ties"))
    which = stream(0, "which").integers(25, size=(7, 12))
    theta = exact.q[np.arange(12), which] + 0.1
    scores = ranked.moved(theta, which, stream(0, "break"))
    for t in range(7):
        for i in range(12):
            others = np.delete(exact.q[i], which[t, i], axis=0)
            below = (others < theta[t, i]).sum(0)
            u = (below + np.array([0.0, 1.0])[:, None]) / 25
            inside = (below > 0) & (below < 24)
            from scipy.special import ndtri

            low, high = ndtri(u)
            got = scores.marginal[t, i]
            assert ((got >= low) & (got <= high))[inside].all()
            assert (got[below == 24] > 0).all()
            assert (got[below == 0] < 0).all()


def test_an_injection_of_nothing_looks_like_nothing():
    exact = normal(n=200, k=40)
    ready = prepared_table.PreparedTable.of(exact, 0)
    names, null = reference_sets.null_features(ready, count=60)
    which = stream(0, "which").integers(40, size=(20, 200))
    scores = ready.ranked.moved(ready.pool.take(which), which, stream(0, "break"))
    found = ready.features.of(scores)
    z = (np.stack([found[name] for name in names], 1) - null.mean(0)) / np.maximum(
        null.std(0), 5e-3
    )
    assert np.abs(z.mean(0)).max() < 1.6


def test_two_groups_are_found_where_there_are_two():
    rng = stream(0, "groups")
    one = rng.standard_normal((50, 100, 2))
    two = one + 8 * (rng.random((50, 100, 1)) < 0.3)
    assert not two_groups(one).clear.mean() > 0.1
    apart = two_groups(two)
    assert apart.clear.all()
    np.testing.assert_allclose(apart.share.mean(), 0.3, atol=0.02)


@pytest.mark.usefixtures("_few_injected")
def test_it_does_not_depend_on_order_or_time():
    first, again = (find_likely_cause(normal(narrow=1.5, n=150, k=30), 3) for _ in range(2))
    first, again = (replace(found, seconds=0.0) for found in (first, again))
    assert QUESTION.to_json(first) == QUESTION.to_json(again)
    for name, array in codec.dump(first)[0].items():
        np.testing.assert_array_equal(array, codec.dump(again)[0][name])


def hard(kind):
    """Tables that break what is careless."""
    exact = normal(n=120, k=25, d=2)
    if kind == "one parameter":
        return PosteriorTable(exact.theta[:, :1], exact.x, exact.q[..., :1])
    if kind == "constant x":
        return replace(exact, x=np.ones((120, 3)))
    if kind == "no x":
        return replace(exact, x=np.ones((120, 0)))
    if kind == "constant parameter":
        theta, q = exact.theta.copy(), exact.q.copy()
        theta[:, 0], q[..., 0] = 3.0, 3.0
        return PosteriorTable(theta, exact.x, q)
    if kind == "integers":
        return PosteriorTable(np.round(exact.theta), exact.x, np.round(exact.q))
    if kind == "huge":
        return PosteriorTable(1e12 * exact.theta, 1e-9 * exact.x, 1e12 * exact.q)
    if kind == "leaked":
        return replace(exact, theta=exact.q[:, 0].copy())
    return replace(exact, q=np.repeat(exact.q[:, :1], 25, axis=1))  # all draws alike


@pytest.mark.usefixtures("_few_injected")
@pytest.mark.parametrize(
    "kind",
    ["one parameter", "constant x", "no x", "constant parameter", "integers", "huge", "leaked",
     "collapsed"],
)  # fmt: skip
def test_hard_tables_are_answered(kind):
    found = find_likely_cause(hard(kind), 0)
    json.dumps(QUESTION.to_json(found), allow_nan=False)
    assert all(np.isfinite(array).all() for array in codec.dump(found)[0].values())
    assert found.cause in {*NAMED, "unclear", "none"}
    if kind not in ("leaked", "collapsed"):
        assert found.cause in ("unclear", "none")
    say(found, NAMES)
    assert QUESTION.rows(found, Names(NAMES), CLAIMED)


@pytest.fixture(scope="module")
def named():
    return find_likely_cause(normal(narrow=1.7, n=200, k=40, d=3), 0)


def even(nu, *, heavy, seed, n=1000, k=200, d=3):
    """Student's t beside a normal of the same variance: the draws', or the truth's."""
    rng = stream(seed, "even")
    x = rng.standard_normal((n, d))
    mean = x @ rng.standard_normal((d, d)) / np.sqrt(d)
    root = np.linalg.cholesky(0.6 * np.eye(d) + 0.4) if seed % 2 else np.eye(d)

    def student(*shape):
        spread = np.sqrt((nu - 2) / rng.chisquare(nu, (*shape[:-1], 1)))
        return rng.standard_normal(shape) * spread

    truth = rng.standard_normal((n, d)) if heavy else student(n, d)
    draws = student(n, k, d) if heavy else rng.standard_normal((n, k, d))
    return PosteriorTable(mean + truth @ root.T, x, mean[:, None] + draws @ root.T)


@pytest.mark.slow
@pytest.mark.parametrize(("nu", "heavy"), [(5, True), (3, False)])
def test_tails_at_the_right_width_are_told_as_tails(nu, heavy):
    """Neither a width nor a mode, and their degrees of freedom are those of the t."""
    found = find_likely_cause(even(nu, heavy=heavy, seed=nu), 0)
    assert found.cause == ("heavy_tails" if heavy else "light_tails")
    first = say(found, NAMES)[0]
    assert f"q's tails are too {'heavy' if heavy else 'light'}" in first
    assert "degrees of freedom" in first
    assert found.causes[0].strength.value == pytest.approx(1 / nu, rel=0.5)


def chained(seed=0, n=N, k=K, rho=0.9, d=2):
    """Draws that are a chain at each x, with the right law, far too few of them independent."""
    exact = normal(seed, n, k, d)
    rng = stream(seed, "chain")
    mean = exact.q.mean(1) * 0 + exact.x @ np.eye(d)
    steps = rng.standard_normal((n, k, d))
    for i in range(1, k):
        steps[:, i] = rho * steps[:, i - 1] + np.sqrt(1 - rho**2) * steps[:, i]
    return PosteriorTable(mean + rng.standard_normal((n, d)), exact.x, mean[:, None] + steps)


def faulty(kind):
    if kind == "chain":
        return chained()
    wrong = normal(narrow=1.7)
    if kind == "repeated draws":
        return replace(
            wrong, q=np.repeat(wrong.q[:, ::2], 2, axis=1)[:, stream(0, "o").permutation(K)]
        )
    if kind == "truth among draws":
        q = wrong.q.copy()
        q[: N // 2, 3] = wrong.theta[: N // 2]
        return replace(wrong, q=q)
    return PosteriorTable(
        *(np.repeat(a[: N // 2], 2, axis=0) for a in (wrong.theta, wrong.x, wrong.q))
    )


@pytest.mark.usefixtures("_few_injected")
@pytest.mark.parametrize(
    "kind", ["chain", "repeated draws", "repeated simulations", "truth among draws"]
)
def test_draws_that_a_warning_is_about_leave_the_cause_open(kind):
    broken = faulty(kind)
    assert repeats.faults(broken) == (kind,)
    found = find_likely_cause(broken, 0)
    assert found.cause == "unclear"
    assert found.why == "draws"
    first = say(found, NAMES)[0]
    assert first.startswith("The cause cannot be told: the draws themselves are faulty")
    assert FAULTS[kind] in first
    json.dumps(QUESTION.to_json(found), allow_nan=False)


def test_faults_are_those_that_the_upload_warns_of():
    """And draws that are independent, sorted or on a grid have none."""
    for kind, word in (("chain", "are correlated"), ("repeated draws", "repeat within rows"),
                       ("truth among draws", "contain the true value")):  # fmt: skip
        broken = faulty(kind)
        arrays = {"theta": broken.theta, "x": broken.x, "theta_q": broken.q}
        assert any(word in one for one in Upload.of(arrays).warnings)
    for seed in range(20):
        assert repeats.faults(normal(seed)) == ()
    exact = normal()
    assert repeats.faults(replace(exact, q=np.sort(exact.q, axis=1))) == ()
    assert repeats.faults(PosteriorTable(np.round(exact.theta), exact.x, np.round(exact.q))) == ()


def seen_in(draws, seed=0):
    return findings.find_departures(prepared_table.PreparedTable.of(draws, seed))


def turned(exact, way):
    """q too low where x is, too high where it is not."""
    return replace(exact, theta=exact.theta + way * np.sign(exact.x[:, :1]))


@pytest.mark.parametrize(
    ("what", "draws"),
    [
        ("bias", lambda: replace(normal(), theta=normal().theta + np.array([0.0, 0.4]))),
        ("width", lambda: normal(narrow=1.5)),
        ("inner_half", lambda: even(3, heavy=False, seed=1, n=1000, k=200)),
        ("pair", lambda: normal(rho=0.6, rho_q=-0.6)),
        ("follows_x", lambda: turned(normal(), 0.5)),
    ],
)  # fmt: skip
def test_what_is_seen_is_what_is_off(what, draws):
    told = seen_in(draws())
    first = next(one for one in told if one.finding.what == what)
    assert told.index(first) < (
        2 if what == "width" else 1
    )  # too narrow shows beyond the draws too
    assert first.pvalue < 1e-4
    assert not first.finding.low <= first.finding.right <= first.finding.high
    if what == "bias":
        assert first.finding.at == (1,)
        assert first.finding.value == pytest.approx(-0.4, abs=0.15)  # q's centre is too low
    assert departure_text(first, NAMES)


def test_width_that_changes_with_x_is_seen():
    exact = normal(n=800)
    wide = np.where(exact.x[:, :1] > 0, 2.0, 0.5)
    off = exact.theta - exact.q.mean(1)
    found = seen_in(replace(exact, theta=exact.q.mean(1) + wide * off))
    assert {one.finding.what: one.pvalue for one in found}["spread_x"] < 1e-6


@in_turn(80, 150)
@pytest.mark.parametrize(
    "shape",
    ["normal", *(pytest.param(name, marks=pytest.mark.slow) for name in ("skewed", "student"))],
)
def test_what_is_seen_keeps_its_level(shape, trials):
    """Whatever shape q has: the least adjusted p-value of exact tables."""
    rejected = 0
    for seed in range(trials):
        rng = stream(seed, "seen", shape)
        draws = rng.standard_normal((80, 41, 2))
        if shape == "student":
            draws = rng.standard_t(2.5, draws.shape)
        elif shape == "skewed":
            draws = np.exp(draws)
        draws[..., 1] += 0.7 * draws[..., 0]
        exact = PosteriorTable(draws[:, 0], rng.standard_normal((80, 2)), draws[:, 1:])
        rejected += seen_in(exact, seed)[0].pvalue <= LEVEL
    assert rejected <= statistics.binomial_bounds(trials, 0.05, 0.999)[1]


@pytest.mark.parametrize("why", ["weak", "far"])
def test_where_no_cause_stands_out_what_was_seen_does(why, named):
    """Also where the test that ranks the table among its nulls sees nothing."""
    unclear = replace(named, cause="unclear", why=why, faults=())
    reason = {"weak": "Your table is too weakly off",
              "far": "Your table is far from all simulated defects; several may"}[why]  # fmt: skip
    first, stands, seen, *steps = say(unclear, ("<b>", "b", "c"))
    assert first.startswith("q is too narrow in ")
    assert first.endswith("; why cannot be told from 200 simulations.")
    assert stands.startswith(reason)
    assert "1 of 299 simulated tables with a correct q looks this bad (p = " in stands
    assert seen.startswith("What was seen: ")
    assert "q's width for" in seen
    assert "adjusted p " in seen
    assert tuple(steps) == NEXT_STEPS["unclear"]
    quiet = replace(unclear, cause="none", pvalue=0.4)
    first, seen = say(quiet, NAMES)
    assert first.startswith("q is too narrow in ")
    assert "look this bad" not in first + seen
    assert seen.startswith("What was seen: ")
    nothing = replace(quiet, seen=tuple(replace(one, pvalue=0.6) for one in quiet.seen))
    first, seen = say(nothing, NAMES)
    assert first == (
        "The cause cannot be told from 200 simulations: none of the known defects is clear by "
        "itself."
    )
    assert seen == "What was seen most clearly: place of all parameters together."
    (first,) = QUESTION.describe(quiet, Names(NAMES), SILENT)
    assert first.startswith("No cause is named: nothing speaks against q")


def test_of_several_causes_those_that_cannot_be_told_apart_are_named(named):
    """A third only where it is near them; a shape that ranks behind them never goes first."""
    weights = (0.29, 0.27, 0.08)
    causes = tuple(
        replace(one, weight=weight) for one, weight in zip(named.causes, weights, strict=False)
    )
    unclear = replace(named, cause="unclear", why="several", causes=causes, shapes=("wrong_skew",))
    first, stands, *_ = say(unclear, NAMES)
    first_title, second_title, third_title = map(candidate_title, causes)
    assert first == f"More than one cause fits: {first_title} (29%); {second_title} (27%)."
    assert stands.startswith("1 of 299 simulated tables")
    third = replace(causes[2], weight=0.2)
    near = say(replace(unclear, causes=(*causes[:2], third)), NAMES)[0]
    assert near.endswith(f"{third_title} (20%).")


def test_it_is_told_in_words(named):
    said = say(named, ("<b>", "b", "c"))
    assert said[0].startswith("Most likely, q is too narrow (over-confident)")
    assert "about" not in said[0]
    width = next(one for one in named.causes[0].evidence if one.what == "width")
    assert 0.5 < width.low < 1 / 1.7 < width.high < 0.7
    assert not any(f"{width.value:.2f}" in one for one in said)  # its size: under How wrong
    assert any(one.startswith("q's width for ") and one.endswith(" is too small.") for one in said)
    text = " ".join(said)
    for forbidden in ("q is correct", "pass", "accept", "p = 0)"):
        assert forbidden not in text
    assert any("if q were correct" in one for one in said)
    rows = QUESTION.rows(named, Names(NAMES), CLAIMED)
    assert rows[0]["weight"] == max(row["weight"] for row in rows)
    assert {"cause", "weight", "evidence", "value", "95% interval", "next"} <= rows[0].keys()


def test_a_table_without_a_defect_is_told_so():
    found = find_likely_cause(table(n=200, k=40, seed=2), 1)
    if found.cause == "none":
        assert QUESTION.describe(found, Names(NAMES), SILENT)[0].startswith("No cause is named")


def test_every_cause_has_words_and_a_next_step():
    assert set(NEXT_STEPS) == set(TITLES) == {*NAMED, "unclear", "none"}
    assert all(NEXT_STEPS[name] for name in NAMED)
    exact = normal(n=150, k=30)
    ready = prepared_table.PreparedTable.of(exact, 0)
    for name in NAMED:
        for one in findings.cause_findings(name, ready):
            assert one.low <= one.value <= one.high
            assert finding_text(one, NAMES)
            assert one.what in KINDS
    units = {v.unit for v in variants.injectable_variants(ready.ranked, ready.pool)}
    assert units <= set(STRENGTHS)
    assert {v.cause for v in variants.injectable_variants(ready.ranked, ready.pool)} == NAMED


def test_figures_are_valid(named):
    shown = QUESTION.figures(named, Names(NAMES), CLAIMED)
    assert [one.title for one in shown] == [
        "Which known defect does it resemble?", "Your table among simulated defects"
    ]  # fmt: skip
    for one in shown:
        go.Figure(one.figure.to_dict())  # plotly's own validation
        assert "if q were correct" in one.caption.lower()


def test_a_large_table_is_looked_at_in_part():
    large = PosteriorTable(
        np.zeros((1600, 30)), np.zeros((1600, 1)), np.zeros((1600, 210, 30), np.float32)
    )
    some, columns = prepared_table.subsample(large, 0)
    assert some.q.shape == (prepared_table.ROWS, prepared_table.FEWER, prepared_table.PARAMETERS)
    long = PosteriorTable(large.theta[:, :2], large.x, large.q[:, :, :2])
    assert prepared_table.subsample(long, 0)[0].q.shape == (
        prepared_table.ROWS,
        prepared_table.DRAWS,
        2,
    )
    assert len(set(columns)) == prepared_table.PARAMETERS
    found = find_likely_cause(normal(n=150, k=30), 0)
    found = replace(found, full=(1600, 210, 2))
    (note,) = QUESTION.notes(found, Names(NAMES))
    assert note.startswith("Looked at 150 of 1600 simulations")
    assert QUESTION.notes(replace(found, full=found.used), Names(NAMES)) == ()


def test_obstacles_say_what_to_do():
    joint = Joint(np.zeros((200, 2)), np.zeros((200, 0)))
    two = SamplesUpload(data=TwoSamples(joint, joint), names=NAMES[:2], digest="0")
    assert "Upload theta, x and theta_q" in QUESTION.obstacle(two)
    few = normal(n=99, k=30)
    small = TableUpload(data=few, names=NAMES[:2], digest="1")
    assert "got 99 with 30" in QUESTION.obstacle(small)
    assert QUESTION.studies(small, (), 0) == ()


def test_the_task_and_the_code_agree(tmp_path, capsys):
    exact = normal(narrow=1.6, n=150, k=30)
    file = tmp_path / "table.npz"
    np.savez(file, theta=exact.theta, x=exact.x, theta_q=exact.q)
    upload = read(file)
    diagnoses.register_upload(upload)
    store = Store(tmp_path / "store")
    (task,) = QUESTION.studies(upload, (), 4)
    heard = []
    task.run(store, lambda fraction, live: heard.append(fraction))
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    found = QUESTION.gather([task.load(store)])
    claims = asked_alone(QUESTION, upload, 4, store)
    said = QUESTION.describe(found, Names(upload.names), claims)
    exec(code_of(QUESTION, file, 4), {})
    assert capsys.readouterr().out.startswith("\n".join(said))


def test_next_steps_fit_every_cause_and_shape():
    """An unclear table's likeliest shape may be any: its steps are those of what is unclear."""
    for name, every in NEXT_STEPS.items():
        for shape in (*SHAPES, "all", "one"):
            assert sorted(steps_for(name, shape)) == sorted(every)
    assert steps_for("unclear", "unread") == NEXT_STEPS["unclear"]
    assert steps_for("ignores_x", "unread")[0] == NEXT_STEPS["ignores_x"][2]
