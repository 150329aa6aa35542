"""Method skl: its number and its test, on given ratios, on benchmarks and on uploads."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from tests.records import record_of
from validation_core import diagnosis, statistics
from validation_core.benchmarks import BENCHMARKS, Boundary, Gaussian, Spiral
from validation_core.diagnosis import tasks
from validation_core.diagnosis.questions import Names, by_name
from validation_core.methods import SBC, SKL
from validation_core.panels.record import pictures
from validation_core.rng import stream
from validation_core.scores import log_ratio
from validation_core.statistics import pareto_tail
from validation_core.sweep import trials
from validation_core.tables import Upload
from validation_core.types import TableScores

SHIFT, VARIANCE = 0.3, 0.8
EXACT = 0.25875


def arrays(n=200, k=20, shift=SHIFT, variance=VARIANCE, seed=0):
    """z ~ N(0, 1), x | z ~ N(z, 1), q = N(x / 2 + shift, variance), with all log densities."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)
    x = z + rng.standard_normal(n)
    centre, sd = x / 2 + shift, np.sqrt(variance)
    draws = centre[:, None] + sd * rng.standard_normal((n, k))
    return {
        "theta": z[:, None], "x": x[:, None], "theta_q": draws[..., None],
        "log_joint": norm.logpdf(z) + norm.logpdf(x, z),
        "log_joint_draws": norm.logpdf(draws) + norm.logpdf(x[:, None], draws),
        "log_q": norm.logpdf(z, centre, sd),
        "log_q_draws": norm.logpdf(draws, centre[:, None], sd),
    }  # fmt: skip


def given(**more):
    found = log_ratio.of_densities(arrays(**more))
    assert found is not None
    return found


def run(upload, methods, seed=0, store=None):
    tasks.register_upload(upload)
    for task in tasks.tasks(upload, methods, seed):
        task.run(store, lambda fraction, live: None)
    records, pending = tasks.records(store, upload, methods, seed)
    assert pending == 0
    return diagnosis.verdict(records, upload, seed=seed)


def test_the_statistic_is_the_mean_difference_and_its_interval_the_normal_one():
    table = given()
    outcome = SKL().test(table, stream(0))
    d = table.truth[0] - table.draws[0].mean(-1)
    assert float(outcome.statistic) == pytest.approx(d.mean(), rel=1e-10)
    reach = 1.96 * d.std(ddof=1) / np.sqrt(200)
    numbers = {name: float(a) for name, a in outcome.arrays.items() if np.ndim(a) == 0}
    assert numbers["skl"] == pytest.approx(d.mean())
    assert numbers["ci_low"] == pytest.approx(d.mean() - reach, abs=1e-5)
    assert numbers["ci_high"] == pytest.approx(d.mean() + reach, abs=1e-5)
    assert numbers["median"] == np.median(d)
    assert numbers["largest"] == d.max()
    assert numbers["boot_low"] < d.mean() < numbers["boot_high"]
    assert numbers["auc_low"] < numbers["auc"] < numbers["auc_high"]
    assert numbers["auc"] == (table.truth[0][:, None] > table.draws[0]).mean()
    assert outcome.effect["k"] == 200
    assert outcome.effect["draws"] == 20
    assert outcome.effect["heavy"] is False
    assert outcome.budget == (200, 4000)
    np.testing.assert_allclose(outcome.arrays["d"], d)


def test_nothing_is_pooled_across_x():
    """Any function of x leaves all as it is; scores that are pooled over x would be swamped."""
    table = given()
    off = 1e3 * np.random.default_rng(1).standard_normal(200)
    moved = TableScores(table.truth + off, table.draws + off[:, None])
    plain, same = (SKL().test(one, stream(0)) for one in (table, moved))
    assert float(same.pvalue) == float(plain.pvalue)
    for name in ("skl", "ci_low", "ci_high", "boot_low", "median", "largest", "auc"):
        assert float(same.arrays[name]) == pytest.approx(float(plain.arrays[name]), abs=1e-9)
    pooled = [statistics.auc(one.truth[0], one.draws[0, :, 0]) for one in (table, moved)]
    assert pooled[0] > 0.55
    assert abs(pooled[1] - 0.5) < 0.01


def test_a_stack_of_trials_gives_each_its_own():
    tables = [given(seed=seed) for seed in range(3)]
    stack = TableScores(*(np.stack([getattr(t, side) for t in tables])
                          for side in ("truth", "draws")))  # fmt: skip
    whole = SKL(relabelings=99).test(stack, stream(0))
    single = [SKL(relabelings=99).test(table, stream(0)) for table in tables]
    np.testing.assert_allclose(whole.statistic, [float(one.statistic) for one in single])
    np.testing.assert_allclose(whole.arrays["ci_low"], [one.arrays["ci_low"] for one in single])
    assert whole.arrays["null"].shape == (3, 99)
    assert whole.pvalue.shape == (3,)


def test_the_benchmarks_ratio_is_read_and_gives_the_known_divergence():
    """Boundary at gamma: N(0, 1) against N(gamma, 1), gamma^2 nats."""
    gamma = 0.5
    design = trials.TrialDesign(n=2000, k=20, seed=1)
    outcome, _ = trials.run_trial(Boundary(), gamma, None, SKL(), design, 0)
    error = (float(outcome.arrays["ci_high"]) - float(outcome.arrays["ci_low"])) / 3.92
    assert abs(float(outcome.statistic) - gamma**2) < 4 * error
    assert float(outcome.pvalue) == 1 / 2000


def test_a_benchmark_may_give_the_joint_ratio_instead():
    class Joint(Gaussian):
        def log_weight(self, theta, x, gamma):
            return self.log_ratio(theta, x, gamma) + 100 * x.sum(1)

    gamma = Gaussian().gammas[-1]
    design = trials.TrialDesign(n=100, k=5, seed=2)
    plain, joint = (trials.run_trial(kind(), gamma, None, SKL(), design, 0)[0]
                    for kind in (Gaussian, Joint))  # fmt: skip
    assert float(joint.statistic) == pytest.approx(float(plain.statistic))
    assert float(joint.pvalue) == float(plain.pvalue)


def test_a_benchmark_without_densities_is_refused():
    with pytest.raises(ValueError, match="does not know it at gamma"):
        trials.score_read_by(SKL(), Spiral(), Spiral().gammas[0], None)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_power_where_the_ratio_is_known_and_gamma_large(name):
    made = BENCHMARKS[name]()
    if hasattr(made, "recipe"):
        pytest.skip("its networks are trained first: tests/test_trained.py")
    # Iterations of inference make q less wrong, and cost their time.
    gamma = made.gammas[3 if made.counts_iterations else -1]
    probe = made.log_ratio(*(np.zeros((1, width)) for width in made.dims), gamma)
    if probe is None:
        pytest.skip("its densities are not known")
    design = trials.TrialDesign(n=50, k=10, seed=3)
    (last,) = trials.run_trials(made, gamma, None, [SKL(relabelings=99)], design, range(5))
    assert (last.pvalues <= 0.05).mean() >= 0.8


def test_the_interval_covers_the_exact_divergence():
    """500 tables of 100 simulations, one draw of q at each, as the paper has them."""
    rng, repeats = np.random.default_rng(0), 500
    z = rng.standard_normal((repeats, 100))
    x = z + rng.standard_normal((repeats, 100))
    centre, sd = x / 2 + SHIFT, np.sqrt(VARIANCE)
    drawn = centre + sd * rng.standard_normal((repeats, 100))

    def ratio(theta):
        return norm.logpdf(theta, x / 2, np.sqrt(0.5)) - norm.logpdf(theta, centre, sd)

    scores = TableScores(ratio(z)[:, None], ratio(drawn)[:, None, :, None])
    outcome = SKL(relabelings=19).test(scores, rng)
    low, high = outcome.arrays["ci_low"], outcome.arrays["ci_high"]
    assert 0.92 <= ((low <= EXACT) & (high >= EXACT)).mean() <= 0.97


def test_power_grows_with_the_error():
    rejected = [
        np.mean([SKL(relabelings=99).test(given(n=50, k=5, shift=shift, variance=0.5, seed=seed),
                                          stream(seed)).pvalue <= 0.05 for seed in range(60)])
        for shift in (0.05, 0.2, 0.5)
    ]  # fmt: skip
    assert rejected == sorted(rejected)
    assert rejected[-1] > 0.95
    assert rejected[0] < 0.6


def test_on_an_upload_it_runs_unasked_and_says_what_it_found(store):
    upload = Upload.of(arrays())
    assert SKL() in diagnosis.default_methods()
    found = run(upload, [SBC(), SKL()], store=store)
    record = next(one for one in found.records if one.name == "skl")
    assert record.status == "ran"
    numbers = record.effect.numbers
    assert numbers["ci_low"] < numbers["skl"] == record.statistic < numbers["ci_high"]
    assert numbers["k"] == 200
    assert set(found.adjusted) == {"SBC", "Symmetric divergence"}
    json.dumps(found.to_json(), allow_nan=False)
    said = " ".join(diagnosis.findings(record))
    assert "from 200 simulations with 20 draws of q at each" in said
    assert "1,999 relabelings" in said
    shown = pictures(record)
    assert [one.title for one in shown] == ["Differences within x",
                                            "The divergence against its null"]  # fmt: skip
    for drawn, count in zip(shown, (200, 1999), strict=True):
        (bars,) = [trace for trace in drawn.figure.data if trace.type == "bar"]
        assert sum(bars.y) == count
    assert len(pictures(record_of(SKL, {}))) == 2


def test_without_densities_it_says_what_is_missing_and_holm_does_not_count_it(store):
    whole = arrays()
    upload = Upload.of({name: whole[name] for name in whole if not name.startswith("log_joint")})
    found = run(upload, [SBC(), SKL()], store=store)
    record = next(one for one in found.records if one.name == "skl")
    assert record.status == "not run"
    assert "lacks log_joint, log_joint_draws." in record.reason
    assert list(found.adjusted) == ["SBC"]


@pytest.mark.parametrize("name", log_ratio.NAMES)
def test_an_array_of_the_wrong_shape_is_said_in_one_line(name, store):
    whole = arrays()
    upload = Upload.of({**whole, name: whole[name][:7]})
    (record,) = run(upload, [SKL()], store=store).records
    assert record.status == "not run"
    wanted = "(200, 20)" if name.endswith("draws") else "(200,)"
    assert f"lacks {name}." in record.reason
    assert f"{name} must hold real numbers of shape {wanted}; got float64" in record.reason
    assert "save it again" in record.reason
    assert "\n" not in record.reason


@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf])
@pytest.mark.parametrize("name", log_ratio.NAMES)
def test_values_that_are_not_finite_are_counted_and_many_refused(name, value, store):
    whole = arrays()
    for rows, status in ((20, "ran"), (21, "not run")):
        spoilt = np.array(whole[name])
        spoilt[:rows, ...] = value
        (record,) = run(Upload.of({**whole, name: spoilt}), [SKL()], store=store).records
        assert record.status == status
        if status == "ran":
            assert record.effect.numbers["infinite"] == rows
            assert record.effect.numbers["k"] == 180
            ratios = log_ratio.of_densities({name: a[rows:] for name, a in whole.items()})
            d = ratios.truth[0] - ratios.draws[0].mean(axis=-1)
            assert record.statistic == pytest.approx(d.mean())
            assert any("In 20 of 200 rows" in one for one in diagnosis.findings(record))
        else:
            assert "got 21 of 200 rows" in record.reason
            assert "leaves out up to 10%" in record.reason


def test_one_draw_at_each_x_is_the_sign_flip_test(store):
    (record,) = run(Upload.of(arrays(k=1)), [SKL()], store=store).records
    assert record.status == "ran"
    d = record.arrays["d"]
    flipped = np.random.default_rng(0).choice([-1.0, 1.0], (20_000, 200)) @ d / 200
    share = (flipped >= d.mean()).mean()
    assert record.pvalue == pytest.approx(max(share, 1 / 2000), abs=0.01)
    assert "one draw of q at each" in diagnosis.findings(record)[0]


def test_a_share_of_pairs_lies_between_0_and_1(store):
    (record,) = run(Upload.of(arrays(n=5, k=10, shift=2.0, seed=4)), [SKL()], store=store).records
    numbers = record.effect.numbers
    assert 0 <= numbers["auc_low"] <= numbers["auc"] <= numbers["auc_high"] <= 1
    assert (
        2 * numbers["auc"] - numbers["auc_low"] > 1
    )  # the normal interval itself leaves that range


@pytest.mark.parametrize("wrong", ["exchanged", "a constant", "nothing"])
def test_a_divergence_below_0_is_said_to_be_impossible(wrong, store):
    made = arrays(seed=3)
    if wrong == "exchanged":
        made |= {a: made[b] for name in ("", "_draws")
                 for a, b in ((f"log_q{name}", f"log_joint{name}"),
                              (f"log_joint{name}", f"log_q{name}"))}  # fmt: skip
    elif wrong == "a constant":
        made["log_q"] = made["log_q"] + 5
    (record,) = run(Upload.of(made), [SKL()], store=store).records
    said = " ".join(diagnosis.findings(record))
    assert (record.effect.numbers["skl"] < 0) == (wrong != "nothing")
    assert ("No divergence is below 0" in said) == (wrong != "nothing")


def test_right_densities_that_were_rounded_are_no_impossible_divergence(store):
    for seed in range(5):
        made = arrays(shift=0.0, variance=0.5, seed=seed)
        rounded = {name: one.astype(np.float32) for name, one in made.items()}
        (record,) = run(Upload.of(rounded), [SKL()], seed=seed, store=store).records
        assert "below 0, and" not in " ".join(diagnosis.findings(record))


def test_a_heavy_tail_is_warned_of(reference, store):
    _, found, _ = reference("domke-heavy-tail")
    n = len(found["log_joint"])
    rng = np.random.default_rng(0)
    table = {"theta": rng.standard_normal((n, 1)), "x": rng.standard_normal((n, 1)),
             "theta_q": rng.standard_normal((n, 1, 1))}  # fmt: skip
    logs = {name: found[name][:, :1] if name.endswith("draws") else found[name]
            for name in log_ratio.NAMES}  # fmt: skip
    (record,) = run(Upload.of({**table, **logs}), [SKL()], store=store).records
    assert record.effect.numbers["heavy"]
    assert record.effect.numbers["tail"] > pareto_tail.HEAVY
    assert any("heavy tail" in one for one in diagnosis.findings(record))


def test_what_is_made_of_a_tables_draws_leaves_it_out_and_says_so(store):
    upload = Upload.of(arrays(n=60, k=20))
    tasks.register_upload(upload)
    asked = [SBC(), SKL()]
    (task,) = by_name("checker").studies(upload, asked, 0)
    task.run(store, lambda fraction, live: None)
    found = task.load(store)
    assert [test.name for test in found.tests] == ["sbc"]
    said = " ".join(by_name("checker").notes(found, Names(("z",))))
    assert "Symmetric divergence was left out: it reads log densities" in said
    first = by_name("sensitivity").studies(upload, asked, 0)[0]
    first.run(store, lambda fraction, live: None)
    left = first.load(store).left_out
    assert [one.label for one in left] == ["Symmetric divergence"]


def test_options_are_checked():
    with pytest.raises(ValueError, match="relabelings are 1 to 100,000; got 0"):
        SKL(relabelings=0)
    with pytest.raises(ValueError, match="got 100,001"):
        SKL(relabelings=100_001)
    table = given(n=5)
    lost = replace(table, truth=np.where(np.arange(5) < 4, np.nan, table.truth))
    with pytest.raises(ValueError, match="got 1 of 5"):
        SKL().test(lost, stream(0))


def test_what_q_puts_outside_the_support_is_said(store):
    whole = arrays()
    spoilt = np.array(whole["log_joint_draws"])
    spoilt[:20, :3] = -np.inf  # 60 of 4,000 draws
    (record,) = run(Upload.of({**whole, "log_joint_draws": spoilt}), [SKL()], store=store).records
    assert "1.5% of q's draws lie where p has no mass (leakage)" in diagnosis.findings(record)[2]
    spoilt[:, 0] = -np.inf
    (record,) = run(Upload.of({**whole, "log_joint_draws": spoilt}), [SKL()], store=store).records
    assert "6% of q's draws lie where p has no mass (leakage)" in record.reason


def test_where_every_row_leaks_the_method_says_how_much():
    truth, draws = np.zeros((1, 40)), np.zeros((1, 40, 20))
    draws[..., 0] = -np.inf
    with pytest.raises(ValueError, match=r"got 0 of 40: 5% of q's draws lie where p has no mass"):
        SKL().test(TableScores(truth, draws), np.random.default_rng(0))
