"""What a diagnosis claims on right tables: no more often than its level, and only in one voice."""

import numpy as np
import pytest

from tests.conftest import in_turn
from validation_core import diagnosis, tables
from validation_core.diagnosis import method_runs, questions, tasks
from validation_core.diagnosis.method_runs import run_method
from validation_core.diagnosis.questions.calibration.studies import RowErrorStudy
from validation_core.diagnosis.questions.over_x.study import find_errors_over_x
from validation_core.methods import SBC, Omnibus
from validation_core.relabelling import UNLEARNED
from validation_core.relabelling.claims import TITLES
from validation_core.relabelling.families import SHARES
from validation_core.statistics import binomial_bounds
from validation_core.tables import Upload

WRONG = ("is the worst", "changes over x (", "q is wrong", "is off at level", "are off at level",
         "is wider than the prior", "The error looks the same")  # fmt: skip
QUICK = Omnibus(relabelings=99)


def made(seed, n=60, k=20, shift=0.0):
    """x = theta + noise with a normal prior; q is right but for a shift of its first parameter."""
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((n, 2))
    x = theta + rng.standard_normal((n, 2))
    q = x[:, None] / 2 + np.sqrt(0.5) * rng.standard_normal((n, k, 2))
    q[..., 0] += shift * np.sqrt(0.5)
    return Upload.of({"theta": theta, "x": x, "theta_q": q})


def answered(upload, seed):
    """A verdict without learned scores, and what two panels say under it."""
    tasks.register_upload(upload)
    sbc = run_method(upload, SBC(), seed, network=lambda: None)
    found = diagnosis.verdict(
        [method_runs.run_relabelling(upload, QUICK, seed, {}), sbc], upload, seed=seed
    )
    sizes = RowErrorStudy(digest=upload.digest, seed=seed)
    results = {
        "size": sizes.answer(upload, None, lambda done, live: None),
        "over_x": find_errors_over_x(upload, seed, nulls=99),
    }
    answers = {
        name: questions.Answer(questions.by_name(name), result) for name, result in results.items()
    }
    said = [
        sentence for name, answer in answers.items()
        for sentence in answer.describe(found)
    ]  # fmt: skip
    return found, " ".join(said)


@in_turn(50, 150)
def test_right_tables_are_claimed_wrong_no_more_often_than_the_level(trials):
    """By any panel or parameter: each speaks only where the verdict does."""
    verdicts = claims = flagged = 0
    for seed in range(trials):
        found, said = answered(made(seed), seed)
        claimed = any(words in said for words in WRONG)
        verdicts += found.verdict == "problem found"
        claims += claimed
        flagged += bool(found.flagged)
        if found.verdict != "problem found":
            assert not claimed, said
            assert not found.flagged
    most = binomial_bounds(trials, 0.05, 0.999)[1]
    assert claims <= verdicts <= most
    assert flagged <= most


def test_a_shift_is_told_by_every_voice_with_one_p():
    found, said = answered(made(1, n=300, shift=0.6), 1)
    assert found.verdict == "problem found"
    assert found.flagged[0].name == "theta_1"
    assert "theta_1 is the worst" in said
    assert found.parameters[0].pvalue_adjusted == found.claims.parameter(0) == 0.01
    assert found.pvalue == found.claims.pvalue == found.adjusted["Relabelling"]
    assert "place of theta_1" in found.sentence
    families = found.to_json()["families"]
    assert families[0]["family"] == "means"
    assert [one["pvalue"] for one in families] == sorted(one["pvalue"] for one in families)
    assert {one["family"] for one in families} <= set(SHARES) == set(TITLES)


def test_the_answer_at_once_has_its_share_of_the_level():
    """Before learned scores are there, a claim must stand as it would beside them."""
    upload = made(2, n=100)
    early = method_runs.run_relabelling(upload, QUICK, 0, {}, whole=False)
    late = method_runs.run_relabelling(upload, QUICK, 0, {})
    first, last = (
        diagnosis.verdict([one], upload, pending=pending)
        for one, pending in ((early, 1), (late, 0))
    )
    assert first.pvalue == pytest.approx(min(1.0, last.pvalue / UNLEARNED))


def test_the_observation_is_looked_at():
    """Rows near x_o are wrong, others right: its own family says so."""
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((600, 1))
    x = theta + rng.standard_normal((600, 1))
    q = x[:, None] / 2 + np.sqrt(0.5) * rng.standard_normal((600, 50, 1))
    q[np.abs(x[:, 0] - 1) < 0.15] += 1.2
    upload = Upload.of({
        "theta": theta, "x": x, "theta_q": q, "x_o": np.ones(1), "theta_o": q[0] * 0 + 0.5
    })  # fmt: skip
    found = diagnosis.verdict([method_runs.run_relabelling(upload, Omnibus(), 0, {})], upload)
    assert found.claims.observation() <= 0.05
    elsewhere = Upload.of({**upload.arrays(), "x_o": -np.ones(1)})
    found = diagnosis.verdict(
        [method_runs.run_relabelling(elsewhere, Omnibus(), 0, {})], elsewhere
    )
    assert found.claims.observation() > 0.05


def test_rows_that_share_their_draws_are_one_pool():
    """A right q whose draws are pasted at every row is not rejected, a shifted one is."""
    rejected = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        q = np.broadcast_to(rng.standard_normal((1, 60, 2)), (80, 60, 2))
        arrays = {"theta": rng.standard_normal((80, 2)), "x": np.zeros((80, 1)), "theta_q": q}
        upload = Upload.of(arrays)
        assert upload.groups is not None
        rejected += method_runs.run_relabelling(upload, QUICK, seed, {}).pvalue <= 0.05
    assert rejected <= binomial_bounds(60, 0.05, 0.999)[1]
    wrong = Upload.of({**arrays, "theta": arrays["theta"] + 0.8})
    assert method_runs.run_relabelling(wrong, QUICK, 0, {}).pvalue == 0.01
    assert method_runs.learned_score_recipes(wrong) == {}


def test_a_real_table_says_what_its_ranks_say(shared):
    upload = tables.read(shared / "data" / "sir_well_trained.npz")
    found = diagnosis.verdict([method_runs.run_relabelling(upload, Omnibus(), 0, {})], upload)
    assert found.verdict == "problem found"
    assert found.claims.parameter(0) <= 0.01
    assert found.claims.over_x() <= 0.01
