"""Simulations around an observation: their weights, what is read, the check there, its level."""

import numpy as np
import pytest
from scipy.stats import binom, multivariate_normal, norm

import validation_core as npt
from tests.files import npz
from validation_core import diagnosis, export, tables
from validation_core.diagnosis.card import diagnosis_card
from validation_core.diagnosis.my_observation.look import own_observation
from validation_core.diagnosis.my_observation.targeted import targeted
from validation_core.diagnosis.verdict import read_line
from validation_core.localization import neighbours
from validation_core.relabelling import relabelled
from validation_core.relabelling.table_statistics import nearest
from validation_core.tables import Upload

NOISE = 0.5
V = 1 / (1 + 1 / NOISE**2)  # posterior variance under a standard normal prior
X_O = np.array([0.6, -0.3])
REACH = 0.37  # 4.6% of x lie nearer to X_O


def log_prior(theta):
    return norm.logpdf(theta).sum(axis=-1)


def sampler(seed=0, shift=0.0):
    """q, exact but for a bias of the first parameter, in posterior sd, near X_O."""
    rng = np.random.default_rng(seed)

    def sample(x, k):
        centre = V / NOISE**2 * x
        if shift and np.linalg.norm(x - X_O) < REACH:
            centre = centre + np.eye(x.size)[0] * shift * np.sqrt(V)
        return centre + np.sqrt(V) * rng.standard_normal((k, x.size))

    return sample


def made(n=300, k=60, seed=0, shift=0.0, x_o=X_O, **more):
    rng = np.random.default_rng(seed)
    given = {"prior_log_prob": log_prior, "sample": sampler(seed, shift)} | more
    given.setdefault("simulate", lambda theta: theta + NOISE * rng.standard_normal(theta.shape))
    return export.around(x_o=x_o, n=n, k=k, seed=seed, progress=False, **given)


def read(table, folder):
    return tables.read(table.save(folder / "around.npz"))


def test_weights_are_the_proposal_over_the_prior():
    table = made(width=1.5)
    proposal = multivariate_normal(table.theta_o.mean(0), 1.5**2 * np.cov(table.theta_o.T))
    for theta, log_w in ((table.theta, table.log_w), (table.theta_q, table.log_w_draws)):
        off = log_w - (proposal.logpdf(theta) - log_prior(theta))
        np.testing.assert_allclose(off, off.flat[0], atol=1e-3)
    assert (table.x_o.shape, table.theta_o.shape, table.around) == ((2,), (1000, 2), 1.5)
    np.testing.assert_allclose(table.theta.mean(0), V / NOISE**2 * X_O, atol=0.15)
    np.testing.assert_allclose(table.theta.std(0), 1.5 * np.sqrt(V), rtol=0.15)


def test_a_level_far_above_the_spread_changes_no_weight():
    level = 1e9
    draw, usual = sampler(), made(width=1.5)
    high = made(
        width=1.5,
        x_o=X_O + level,
        prior_log_prob=lambda theta: log_prior(theta - level),
        sample=lambda x, k: level + draw(x - level, k),
    )
    np.testing.assert_allclose(high.theta_q - level, usual.theta_q, atol=1e-4)
    np.testing.assert_allclose(high.log_w_draws, usual.log_w_draws, atol=1e-3)


@pytest.mark.parametrize(("d", "width"), [(1, 1), (3, 1), (5, 2), (10, 2)])
def test_it_is_wider_for_more_parameters(d, width):
    assert made(40, 100, x_o=np.full(d, 0.3)).around == width


def test_a_pilot_finds_a_width_that_leaves_draws_effective(tmp_path):
    # Three times q's width exceeds the prior's here, which leaves 20 of 100 draws effective.
    table = made(60, 100, x_o=np.full(20, 0.3))
    assert table.around < 3
    assert read(table, tmp_path).weighting.effective > 30


def test_theta_stays_within_the_prior_and_draws_outside_have_a_weight(tmp_path, capsys):
    def box(theta):
        return np.where((np.abs(theta) < 1).all(axis=1), 0.0, -np.inf)

    table = made(x_o=np.array([0.9, 0.0]), prior_log_prob=box)
    outside = ~np.isfinite(box(table.theta_q.reshape(-1, 2))).reshape(table.log_w_draws.shape)
    assert np.isfinite(box(table.theta)).all()
    assert outside.any()
    assert np.isfinite(table.log_w_draws).all()
    upload = read(table, tmp_path)
    assert upload.n == 300
    rng = np.random.default_rng(0)
    export.around(
        lambda theta: theta + NOISE * rng.standard_normal(theta.shape),
        sampler(), np.array([0.9, 0.0]), box, 50, 60,
    )  # fmt: skip
    assert "q's draws lie outside the prior" in capsys.readouterr().err


def test_the_mark_is_read_kept_and_said(tmp_path):
    upload = read(made(), tmp_path)
    assert upload.around == 1
    assert upload.is_around(X_O)
    assert upload.is_around(np.zeros(2)) is False
    assert upload.read_as == ("simulated around x_o",)
    assert any("tests q around x_o, not over the prior" in note for note in upload.notes)
    assert not upload.warnings
    again = Upload.of(upload.arrays())
    assert (again.around, again.digest) == (1, upload.digest)
    found = diagnosis.verdict([], upload)
    said = "This is said of q around x_o, where the table was simulated, not over the prior."
    assert said in found.sentence
    assert said in diagnosis_card(found, {}).sentence
    assert "; simulated around x_o." in read_line(found)


@pytest.mark.parametrize("missing", [("log_w", "log_w_draws"), ("x_o", "theta_o")])
def test_a_mark_without_what_it_needs_is_left_unread_with_the_reason(tmp_path, missing):
    arrays = dict(np.load(made(70).save(tmp_path / "a.npz")))
    upload = tables.read(npz({name: a for name, a in arrays.items() if name not in missing}))
    assert upload.around is None
    assert f"no {missing[0]}" in next(t for t in upload.warnings if t.startswith("around"))


def test_an_error_around_the_observation_is_found_there(tmp_path):
    result = npt.observation(read(made(500, 100, shift=1.0), tmp_path), local=False)
    first = result["targeted"]
    assert first.state == "problem"
    assert "q is wrong around your observation in 500 simulations made there" in first.sentences[0]
    assert "theta_1, near the observation" in first.sentences[0]
    (drawn,) = first.drawn
    assert drawn.title == "Ranks of theta_1 at the 50 simulations nearest to your observation"
    assert "where q puts theta" in result["simulated"].sentences[0]


def test_a_right_q_has_no_problem_around_the_observation(tmp_path):
    upload = read(made(), tmp_path)
    result = npt.observation(upload, local=False)
    assert result["targeted"].state == "no problem"
    assert "would be found with 80% power" in result["targeted"].sentences[1]
    elsewhere = npt.observation(upload, np.zeros(2), local=False)
    assert "export.around(simulate" in elsewhere.left_out["targeted"]


def test_an_error_far_from_the_observation_is_not_seen(tmp_path):
    rng = np.random.default_rng(3)

    def sample(x, k):
        centre = V / NOISE**2 * x + 3.0 * (np.linalg.norm(x - X_O) > 3)
        return centre + np.sqrt(V) * rng.standard_normal((k, 2))

    upload = read(made(sample=sample), tmp_path)
    assert targeted(upload, X_O, alpha=0.05, seed=0).wrong is False
    assert np.allclose(own_observation(upload).x[0], X_O)


def test_simulations_that_fail_are_left_out_and_counted():
    rng = np.random.default_rng(0)

    def simulate(theta):
        if (theta[:, 0] > 0.9).any():
            raise ArithmeticError
        x = theta + NOISE * rng.standard_normal(theta.shape)
        x[theta[:, 1] > 0.3] = np.nan
        return x

    table = made(simulate=simulate)
    assert table.left_out.keys() == {"simulator's ArithmeticError", "x that is NaN or infinite"}
    assert len(table.theta) == 300 - sum(table.left_out.values())
    assert table.theta[:, 0].max() <= 0.9


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sample": None}, "neither"),
        ({"sample": lambda x, k: np.zeros((k, 2))}, "differ in each parameter"),
        ({"prior_log_prob": lambda theta: np.full(len(theta), -np.inf)}, "got 0 of 1000 there"),
        ({"prior_log_prob": norm.logpdf}, "Sum over parameters"),
        ({"simulate": lambda theta: theta[0]}, "one x for each of"),
        ({"simulate": lambda theta: theta / 0}, "none at"),
    ],
)
def test_what_cannot_be_simulated_is_refused(change, words):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=words):
        made(**change)


def proposed(rng, n, k, mean, width, shift=0.0, noise=NOISE):
    """A table of theta from N(mean, width^2 posterior variance), with its weights."""
    v = 1 / (1 + 1 / noise**2)
    sd = width * np.sqrt(v)
    theta = mean + sd * rng.standard_normal((n, 2))
    x = theta + noise * rng.standard_normal(theta.shape)
    q = v / noise**2 * x[:, None] + np.sqrt(v) * rng.standard_normal((n, k, 2))
    q[np.linalg.norm(x - X_O, axis=1) < REACH, :, 0] += shift * np.sqrt(v)

    def log_w(a):
        return norm.logpdf(a, mean, sd).sum(-1) - log_prior(a)

    return Upload.of(
        {"theta": theta, "x": x, "theta_q": q, "log_w": log_w(theta), "log_w_draws": log_w(q)}
    )


def pvalue(upload, seed, relabelings):
    near = nearest(neighbours.distances(upload.data.x, X_O[None])[0])
    return relabelled(upload.data, seed, relabelings=relabelings, near=near, over_x=False).pvalue


@pytest.mark.slow
@pytest.mark.parametrize(("off", "width"), [(0, 1), (2, 2)])
def test_the_level_is_exact_however_the_proposal_lies(off, width):
    rng, count, alpha = np.random.default_rng(4), 400, 0.05
    mean = V / NOISE**2 * X_O + off * np.sqrt(V)
    pvalues = [pvalue(proposed(rng, 100, 20, mean, width), i, 19) for i in range(count)]
    rejected = int((np.array(pvalues) <= alpha).sum())
    assert binom.ppf(1e-4, count, alpha) <= rejected <= binom.ppf(1 - 1e-4, count, alpha)


@pytest.mark.slow
def test_a_small_region_of_x_that_is_off_is_found():
    rng, mean = np.random.default_rng(5), V / NOISE**2 * X_O
    found = [pvalue(proposed(rng, 500, 100, mean, 1, 1.0), i, 199) <= 0.05 for i in range(20)]
    assert sum(found) >= 16  # of a power of .9, fewer in 0.4%
