"""Our statistics and independent programs' numbers on the same arrays (../shared/reference)."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr

from tests.given_uniforms import GivenUniforms
from validation_core import statistics as st
from validation_core.statistics import two_sample_laws

REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "reference"
pytestmark = pytest.mark.skipif(
    not (REFERENCE / "reference.json").exists(),
    reason="the reference numbers are not beside this checkout (../shared/reference)",
)


def cases(prefix):
    if not (REFERENCE / "reference.json").exists():
        return [pytest.param(None, id="missing")]
    listed = json.loads((REFERENCE / "reference.json").read_text())
    return [pytest.param(c, id=c["id"]) for c in listed if c["id"].startswith(prefix)]


def arrays(names):
    merged = {}
    for name in names:
        with np.load(REFERENCE / name) as stored:
            merged.update({k: stored[k].astype(np.float64) for k in stored.files})
    return merged


def expected(case):
    return arrays([case["expected_arrays"]["file"]])


def agrees(case, name, value, wanted=None):
    """Hold a value to the case's tolerance: the longest listed name that begins its name."""
    wanted = case["outputs"][name] if wanted is None else wanted
    keys = [key for key in case["tolerance"] if name.startswith(key)]
    rule = case["tolerance"][max(keys, key=len)]
    if rule["kind"] == "equal":
        np.testing.assert_array_equal(value, wanted)
    else:
        np.testing.assert_allclose(value, wanted, rtol=rule["rtol"], atol=rule["atol"])


@pytest.mark.parametrize("case", cases("uniform-"))
def test_uniform_agrees(case):
    given, want = arrays(case["inputs"]), expected(case)
    below, equal = st.count(given["test_scores"], given["calibration_scores"])
    np.testing.assert_array_equal(below, want["less"])
    np.testing.assert_array_equal(equal, want["equal"])
    u = st.conformal_ranks(
        given["test_scores"], given["calibration_scores"], GivenUniforms(given["xi"])
    )
    agrees(case, "u", u, want["u"])
    assert u.mean() == pytest.approx(case["outputs"]["mean_u"], abs=1e-13)
    ks, ad, cvm = st.ks(u), st.anderson_darling(u), st.cramer_von_mises(u)
    agrees(case, "ks_statistic", ks.statistic)
    agrees(case, "ks_p_exact", ks.pvalue)
    agrees(case, "cramer_von_mises_statistic", cvm.statistic)
    agrees(case, "cramer_von_mises_p", cvm.pvalue)
    agrees(case, "anderson_darling_statistic", ad.statistic)
    agrees(case, "anderson_darling_p_limit_law", ad.pvalue)
    simulated = case["outputs"]["anderson_darling_p_monte_carlo"]
    error = np.sqrt(simulated * (1 - simulated) / 200_000)
    assert ad.pvalue == pytest.approx(simulated, abs=4 * error)


@pytest.mark.parametrize("case", cases("multiple-"))
def test_multiple_agrees(case):
    given, want, out = arrays(case["inputs"]), expected(case), case["outputs"]
    p, q = given["scores_p"], given["scores_q"]
    result = st.multiple(p, q, GivenUniforms(given["xi"]))
    agrees(case, "T", result.statistic)
    agrees(case, "sigma_squared", result.sigma**2)
    agrees(case, "sigma1_squared", result.sigma**2 - len(p) / (12 * len(q)))
    agrees(case, "p_value", ndtr(-result.statistic))
    if (
        min(len(p), len(q)) >= two_sample_laws.SMALL
    ):  # else by the exact law: test_statistics_exact
        agrees(case, "p_value", result.pvalue)
        assert result.pvalue == pytest.approx(out["p_bayesflow"], rel=1e-9)
    agrees(case, "auc_midrank", result.auc)
    agrees(case, "auc_midrank", st.auc(p, q))
    below, equal = st.count(q, np.broadcast_to(p, (len(q), len(p))))
    agrees(case, "u", (below + given["xi"] * equal) / len(p), want["u"])
    below, equal = st.count(p, np.broadcast_to(q, (len(p), len(q))))
    agrees(case, "f_half", (below + equal / 2) / len(q), want["f_half"])


@pytest.mark.parametrize("case", cases("multiple-"))
def test_c2st_agrees(case):
    given, out = arrays(case["inputs"]), case["outputs"]
    p, q = given["scores_p"], given["scores_q"]
    result = st.c2st(p, q)
    n = len(p) + len(q)
    accuracy = (result.p_hits + result.q_hits) / n
    agrees(case, "c2st_accuracy", accuracy)
    assert result.accuracy == pytest.approx(out["c2st_balanced_accuracy"], abs=1e-14)
    assert result.p_hits == pytest.approx(out["share_p_called_p"] * len(p))
    assert result.q_hits == pytest.approx((1 - out["share_q_called_p"]) * len(q))
    small = min(len(p), len(q)) < two_sample_laws.SMALL  # by the exact laws: test_statistics_exact
    if len(p) == len(q) and not small:  # else the stored p is of the plain accuracy
        agrees(case, "c2st_p", result.pvalue)
    assert ndtr(-(accuracy - 0.5) * 2 * np.sqrt(n)) == pytest.approx(out["c2st_p"], rel=1e-9)
    if small:
        return
    if out["c2st_p_per_class_variance"] is None:  # neither side varies: the nominal variance
        assert result.pvalue_per_class == result.pvalue
    else:
        agrees(case, "c2st_p_per_class_variance", result.pvalue_per_class)


@pytest.mark.parametrize("case", cases("sbc-"))
def test_sbc_agrees(case):
    given, want = arrays(case["inputs"]), expected(case)
    truth, draws = given["theta"].T, given["theta_q"].transpose(2, 0, 1)  # (D, N), (D, N, K)
    below, equal = st.count(truth, draws)
    agrees(case, "ranks", below.T, want["ranks"])
    agrees(case, "ties", equal.T, want["ties"])
    u = st.randomised_ranks(below, equal, draws.shape[-1], GivenUniforms(given["v"].T))
    agrees(case, "u", u.T, want["u"])
    ks = st.ks(u)
    agrees(case, "ks_statistic_randomised", ks.statistic)
    agrees(case, "ks_p_randomised", ks.pvalue)
    smallest = min(1.0, len(u) * ks.pvalue.min())
    assert smallest == pytest.approx(case["outputs"]["bonferroni_p_randomised"], rel=1e-6)
