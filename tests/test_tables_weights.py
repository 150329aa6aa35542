"""Weighted draws: their names, what is made of them, what is refused, and exact tests."""

import numpy as np
import pytest
from scipy.stats import binom

import validation_core as npt
from tests.files import netcdf, npz, refusal, table
from validation_core import tables
from validation_core.diagnosis import comparison
from validation_core.diagnosis.questions import QUESTIONS
from validation_core.relabelling import relabelled
from validation_core.tables import Upload

N, K = 120, 30


def log_normal(a, mean, sd):
    return (-0.5 * ((a - mean) / sd) ** 2 - np.log(sd)).sum(-1)


def prior_draws(rng, n=N, k=K, d=1, noise=1.0, claimed=1.0):
    """Draws of the prior N(0, 1), weighted by a likelihood of `claimed` times the right sd."""
    theta = rng.normal(size=(n, d))
    x = theta + noise * rng.normal(size=(n, d))
    q = rng.normal(size=(n, k, d))
    sd = noise * claimed
    return {
        "theta": theta, "x": x, "theta_q": q,
        "log_w": log_normal(x, theta, sd), "log_w_draws": log_normal(x[:, None], q, sd),
    }  # fmt: skip


def proposed(rng, draw, log_r, n=N, k=K):
    """Draws of a proposal for N(x / 2, 1 / 2), the posterior under N(0, 1) and unit noise."""
    theta = rng.normal(size=(n, 1))
    x = theta + rng.normal(size=(n, 1))
    mean = x[:, None] / 2
    q = mean + np.sqrt(0.5) * draw(rng, (n, k, 1))
    w = lambda a: log_normal(a, mean, np.sqrt(0.5)) - log_r((a - mean) / np.sqrt(0.5))  # noqa: E731
    return {
        "theta": theta, "x": x, "theta_q": q,
        "log_w": w(theta[:, None])[:, 0], "log_w_draws": w(q),
    }  # fmt: skip


def fitted(rng, **sizes):
    return proposed(rng, lambda r, s: 1.3 * r.normal(size=s), lambda z: log_normal(z, 0, 1.3))


def wrong(rng):
    return proposed(
        rng, lambda r, s: 1 + 1.6 * r.normal(size=s), lambda z: log_normal(z, 1.0, 1.6)
    )


def ratio(rng):
    arrays = prior_draws(rng)
    off = log_normal(arrays["x"], 0.0, np.sqrt(2))
    return arrays | {
        "log_w": arrays["log_w"] - off, "log_w_draws": arrays["log_w_draws"] - off[:, None]
    }  # fmt: skip


def surrogate(rng):
    """Draws of a box, weighted by prior times likelihood."""
    arrays = prior_draws(rng, k=1)
    q = 7 * rng.random((N, K, 1)) - 3.5
    return arrays | {
        "theta_q": q,
        "log_w": arrays["log_w"] + log_normal(arrays["theta"], 0, 1),
        "log_w_draws": log_normal(arrays["x"][:, None], q, 1) + log_normal(q, 0, 1),
    }


def importance(rng):
    """w = p(theta, x) / q, as dingo has it, from a network that is too narrow."""
    log_r = lambda z: -3 * np.log1p((z / 0.8) ** 2 / 5).sum(-1)  # noqa: E731
    return proposed(rng, lambda r, s: 0.8 * r.standard_t(5, size=s), log_r)


def sequential(rng, n=N, k=K):
    """theta of a proposal N(.3, .5), draws of the posterior under the prior N(0, 1)."""
    theta = 0.3 + 0.5 * rng.normal(size=(n, 1))
    x = theta + rng.normal(size=(n, 1))
    q = x[:, None] / 2 + np.sqrt(0.5) * rng.normal(size=(n, k, 1))
    w = lambda a: log_normal(a, 0.3, 0.5) - log_normal(a, 0.0, 1.0)  # noqa: E731
    return {"theta": theta, "x": x, "theta_q": q, "log_w": w(theta), "log_w_draws": w(q)}


KINDS = {
    "prior": prior_draws, "fitted": fitted, "wrong": wrong, "ratio": ratio,
    "surrogate": surrogate, "importance": importance, "sequential": sequential,
}  # fmt: skip


def weighted_rank(logs, truths, values):
    """U of weighted ranks: sum of w below, and half of those equal, over the sum of all."""
    w = np.exp(logs - logs.max(axis=1, keepdims=True))
    every = np.concatenate([truths[:, None], values], axis=1)
    below, equal = every < truths[:, None], every == truths[:, None]
    return (w * (below + 0.5 * equal)).sum(1) / w.sum(1)


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_among_equal_draws_are_weighted_ranks(kind):
    arrays = KINDS[kind](np.random.default_rng(0))
    upload = Upload.of(arrays)
    theta, q = upload.data.theta[:, 0], upload.data.q[..., 0]
    logs = np.concatenate([arrays["log_w"][:, None], arrays["log_w_draws"]], axis=1)
    wanted = weighted_rank(logs, arrays["theta"][:, 0], arrays["theta_q"][..., 0])
    ranks = ((q < theta[:, None]) + 0.5 * (q == theta[:, None])).mean(1)
    assert q.shape == (N, 200)
    assert np.abs(ranks - wanted).max() < 5 * 0.5 / np.sqrt(200)
    assert abs((ranks - wanted).mean()) < 5 * 0.5 / np.sqrt(200 * N)
    w = np.exp(logs - logs.max(axis=1, keepdims=True))
    effective = np.median(w[:, 1:].sum(1) ** 2 / (w[:, 1:] ** 2).sum(1))
    assert upload.weighting.effective == pytest.approx(effective)
    assert f"30 weighted draws ({effective:.1f} effective)" in upload.notes[0]
    assert not upload.warnings


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_right_weighted_table_is_rejected_at_its_level(kind):
    rng, count, alpha = np.random.default_rng(1), 400, 0.05
    pvalues = []
    for trial in range(count):
        upload = Upload.of(KINDS[kind](rng))
        one = relabelled(upload.data, trial, relabelings=19, over_x=False)
        pvalues.append(one.pvalue)
    rejected = int((np.array(pvalues) <= alpha).sum())
    assert binom.ppf(1e-4, count, alpha) <= rejected <= binom.ppf(1 - 1e-4, count, alpha)


def test_a_wrong_surrogate_likelihood_is_found():
    # Of a likelihood with sd .8 where .5 is right, at N = 100 and K = 20.
    found = 0
    for trial in range(12):
        arrays = prior_draws(np.random.default_rng(trial), 100, 20, 2, 0.5, 1.6)
        upload = Upload.of(arrays)
        result = relabelled(upload.data, trial, relabelings=199, densities=upload.densities)
        found += result.pvalue <= 0.05
    assert found >= 11


def test_equal_weights_change_nothing():
    arrays = prior_draws(np.random.default_rng(0))
    plain = {name: arrays[name] for name in ("theta", "x", "theta_q")}
    both = {"log_w": np.zeros(N), "log_w_draws": np.zeros((N, K))}
    for given in ({"w_draws": np.full((N, K), 0.2)}, both):
        upload = Upload.of(plain | given)
        assert upload.digest == Upload.of(plain).digest
        np.testing.assert_array_equal(upload.data.q, Upload.of(plain).data.q)
        assert upload.notes == ("Weights are equal at every x: draws count equally.",)
        assert upload.drawn == (K, "30 draws")


def test_weights_of_every_name_and_form_are_the_same_table():
    arrays = prior_draws(np.random.default_rng(0))
    first = tables.read(npz(arrays))
    bare = {name: arrays[name] for name in ("theta", "x", "theta_q")}
    logs = {"true": arrays["log_w"], "draws": arrays["log_w_draws"]}
    linear = {side: np.exp(part) for side, part in logs.items()}
    forms = [
        {"log_w": logs["true"], "log_weights": logs["draws"]},
        {"log_weights_true": logs["true"], "log_w_draws": logs["draws"]},
        {"weights_true": linear["true"], "weights": linear["draws"]},
        {"w": linear["true"], "importance_weights": linear["draws"]},
    ]
    for form in forms:
        upload = tables.read(npz(bare | form))
        assert upload.weighting.effective == pytest.approx(first.weighting.effective)
        assert upload.weighting.error is None
    turned = arrays | {
        "theta_q": arrays["theta_q"].swapaxes(0, 1), "log_w_draws": arrays["log_w_draws"].T
    }  # fmt: skip
    assert tables.read(npz(turned)).digest == first.digest


def test_columns_of_a_long_table_are_weights():
    arrays = prior_draws(np.random.default_rng(0))
    lines = ["sim,draw,theta_1,x_1,weight"]
    for i in range(N):
        theta = np.append(arrays["theta"][i], arrays["theta_q"][i])
        w = np.exp(np.append(arrays["log_w"][i], arrays["log_w_draws"][i]))
        lines += [f"{i},{j - 1},{theta[j]},{arrays['x'][i, 0]},{w[j]}" for j in range(K + 1)]
    upload = tables.read("\n".join(lines).encode())
    assert upload.weighting.error is None
    assert upload.weighting.effective == pytest.approx(Upload.of(arrays).weighting.effective)


def test_weights_of_an_arviz_file_are_read():
    arrays = prior_draws(np.random.default_rng(0))
    draws = ("sim", "draw")
    upload = tables.read(
        netcdf(
            {
                "posterior": {"mu": (draws, arrays["theta_q"][..., 0])},
                "sample_stats": {"log_weights": (draws, arrays["log_w_draws"])},
                "sample_stats_prior": {"log_weights": (("sim",), arrays["log_w"])},
                "truth": {"mu": (("sim",), arrays["theta"][:, 0])},
                "observed_data": {"y": (("sim",), arrays["x"][:, 0])},
            }
        )
    )
    assert upload.weighting.error is None
    assert upload.weighting.effective == pytest.approx(Upload.of(arrays).weighting.effective)


def test_a_weighted_table_is_saved_and_read_as_it_came(tmp_path):
    arrays = prior_draws(np.random.default_rng(0))
    table = npt.Table(**arrays)
    again = npt.read(table.save(tmp_path / "weighted.npz"))
    assert again.upload.digest == table.upload.digest
    np.testing.assert_array_equal(again.upload.data.q, table.upload.data.q)
    np.testing.assert_array_equal(again.arrays()["theta_q"], table.arrays()["theta_q"])
    assert table.k == K
    assert "30 weighted draws" in repr(table)


def test_rows_without_a_weight_are_left_out_and_said():
    arrays = prior_draws(np.random.default_rng(0))
    arrays["log_w"][3], arrays["log_w_draws"][5, 2] = np.nan, np.inf
    arrays["log_w_draws"][7, 2] = -np.inf  # a weight of 0 is one
    upload = Upload.of(arrays)
    assert upload.n == N - 2
    assert upload.dropped == {
        "NaN or infinite values in log_w": 1, "NaN or infinite values in log_w_draws": 1
    }  # fmt: skip


def test_few_effective_draws_are_refused_with_their_number():
    arrays = prior_draws(np.random.default_rng(0), noise=0.02)
    with pytest.raises(ValueError, match=r"at least 5 effective .* got 1\.\d of 31.*more draws"):
        Upload.of(arrays)


def test_no_more_draws_are_effective_than_there_are():
    rng = np.random.default_rng(0)
    arrays = table(log_w_draws=1e-3 * rng.standard_normal((60, 12)), log_w=np.zeros(60))
    weighting = Upload.of(arrays).weighting
    assert 11.9 < weighting.effective <= 12
    assert weighting.text() == "12 weighted draws (12.0 effective)"
    assert weighting.to_json()["effective"] <= 12


def test_one_set_of_prior_draws_for_all_x_is_refused():
    arrays = prior_draws(np.random.default_rng(0))
    arrays["theta_q"][:] = arrays["theta_q"][0]
    arrays["log_w_draws"] = log_normal(arrays["x"][:, None], arrays["theta_q"], 1.0)
    with pytest.raises(ValueError, match=r"drawn anew at each x.*prior\.sample"):
        Upload.of(arrays)


def test_negative_weights_are_refused_and_logarithms_advised():
    arrays = prior_draws(np.random.default_rng(0))
    arrays["weights"] = arrays.pop("log_w_draws")
    assert "log_w_draws" in refusal(npz(arrays))


def test_weights_that_do_not_fit_are_left_unread_with_the_reason():
    arrays = prior_draws(np.random.default_rng(0))
    alone = {name: part for name, part in arrays.items() if name != "log_w_draws"}
    (told,) = Upload.of(alone).warnings
    assert told.startswith("log_w must come with log_w_draws")
    (told,) = Upload.of(alone | {"log_w": np.zeros(7)}).warnings
    assert "got float" in told
    assert "shape (7,)" in told
    draws = arrays["log_w_draws"]
    (told, *_) = Upload.of(alone | {"log_w_draws": draws.T}).warnings
    assert "all draws count equally here: save log_w_draws.T to use it" in told
    stood = Upload.of(arrays | {"log_w": np.zeros(N)})
    assert "placeholder" in stood.warnings[0]


def test_weights_given_as_reciprocals_are_turned_with_a_note():
    arrays = sequential(np.random.default_rng(0), 300, 60)
    turned = {name: -arrays[name] for name in ("log_w", "log_w_draws")}
    right, other = Upload.of(arrays), Upload.of(arrays | turned)
    np.testing.assert_array_equal(right.data.q, other.data.q)
    assert other.notes[0].startswith("The weights were read as their reciprocals")
    assert "reciprocals" not in right.notes[0]


def test_missing_weights_of_true_values_follow_from_the_densities():
    arrays = fitted(np.random.default_rng(0))
    given = {name: part for name, part in arrays.items() if name != "log_w"}
    at = {"": (arrays["theta"], arrays["x"]), "_draws": (arrays["theta_q"], arrays["x"][:, None])}
    for side, (theta, x) in at.items():
        given[f"log_joint{side}"] = log_normal(theta, 0, 1) + log_normal(x, theta, 1)
        given[f"log_q{side}"] = given[f"log_joint{side}"] - arrays[f"log_w{side}"]
    upload = Upload.of(given)
    assert upload.weighting.error is None
    assert "follow from log_joint - log_q" in upload.notes[0]
    assert any("log_q" in note and "left unread" in note for note in upload.notes)
    np.testing.assert_array_equal(upload.data.q, Upload.of(arrays).data.q)


def test_missing_weights_of_true_values_are_estimated_and_said():
    arrays = fitted(np.random.default_rng(0))
    given = {name: part for name, part in arrays.items() if name != "log_w"}
    upload = Upload.of(given)
    assert upload.weighting.error < 1e-6  # the logarithm of normal over normal is a parabola
    assert upload.weighting.to_json()["exact"] is False
    (told,) = upload.warnings
    assert "nearly exact. Save log_w" in told
    noisy = given["log_w_draws"] + 3 * np.random.default_rng(1).normal(size=(N, K))
    with pytest.raises(ValueError, match=r"Save log_w"):
        Upload.of(given | {"log_w_draws": noisy})


def test_weighted_posteriors_are_compared_by_their_weights(store):
    """Prior draws weighted by the right likelihood tie with exact ones; a wrong one is farther."""
    rng = np.random.default_rng(0)
    right = prior_draws(rng, n=1000)
    wrong_w = {
        "log_w": log_normal(right["x"], right["theta"], 0.4),
        "log_w_draws": log_normal(right["x"][:, None], right["theta_q"], 0.4),
    }
    exact = right["x"][:, None] / 2 + np.sqrt(0.5) * rng.normal(size=(1000, K, 1))
    tables_ = {
        "exact": {name: right[name] for name in ("theta", "x")} | {"theta_q": exact},
        "weighted": right,
        "wrong": right | wrong_w,
    }
    uploads = [Upload.of(arrays) for arrays in tables_.values()]
    assert comparison.unlike(*uploads[:2]) is None
    studies = [study for upload in uploads for study in comparison.studies(upload)]
    scores = [study.answer(u, store, print) for study, u in zip(studies, uploads, strict=True)]
    ranked = comparison.ranking(scores)
    assert 2 in ranked.farther
    assert {*ranked.order[:2]} == {0, 1}
    assert len(ranked.tied) == 1
    (told,) = comparison.left_out(uploads, list(tables_))
    assert "weighted (22 effective) and wrong" in told
    assert [one.name for one in comparison.measures(uploads, [[]] * 3, scores)] == ["energy"]


def test_no_weighted_draw_is_moved_to_see_what_could_be_missed():
    """Draws that were drawn anew repeat: a moved one would stand out by having no equal."""
    upload = Upload.of(prior_draws(np.random.default_rng(0)))
    obstacles = {question.name: question.obstacle(upload) for question in QUESTIONS}
    assert "a moved one would be known" in obstacles["sensitivity"]
    assert obstacles["in_nats"] is None


def test_the_file_of_weighted_draws_is_no_problem(shared):
    table = npt.read(shared / "cases" / "weighted_draws.npz")
    assert table.k == 60
    assert "26.6 effective" in table.notes[0]
    assert "nearly exact" in table.warnings[0]
    assert relabelled(table.upload.data, 0, relabelings=199).pvalue > 0.05


@pytest.mark.parametrize("sign", [1, -1])
def test_theta_of_a_proposal_with_its_weights_is_no_problem(shared, sign):
    arrays = dict(np.load(shared / "cases" / "theta_from_proposal.npz"))
    plain = Upload.of(arrays)
    assert relabelled(plain.data, 0, relabelings=199).pvalue <= 0.05

    def log_w(theta):
        return sign * (log_normal(theta, 0.3, 0.35) - log_normal(theta, 0.0, 1.0))

    weights = {"log_w": log_w(arrays["theta"]), "log_w_draws": log_w(arrays["theta_q"])}
    upload = Upload.of(arrays | weights)
    result = relabelled(upload.data, 0, relabelings=199, densities=upload.densities)
    assert result.pvalue > 0.05
