"""Log densities, and q's draws at a real observation: read where they fit, said where not."""

import numpy as np
import pytest

from tests.files import npz, table
from validation_core import tables
from validation_core.diagnosis import tasks
from validation_core.store import Store
from validation_core.tables import Upload

N, K, D, M = 60, 12, 2, 3


def logs(seed=0):
    rng = np.random.default_rng(seed)
    return {
        "log_q": rng.standard_normal(N),
        "log_q_draws": rng.standard_normal((N, K)),
        "log_joint": rng.standard_normal(N),
        "log_joint_draws": rng.standard_normal((N, K)),
    }


def test_densities_are_read_under_all_their_names():
    given = logs()
    upload = tables.read(npz(table() | given))
    assert upload.densities.keys() == given.keys()
    for name, array in given.items():
        np.testing.assert_array_equal(upload.densities[name], array)
    aliased = {"log_prob_true": given["log_q"], "log_prob_samples": given["log_q_draws"]}
    other = tables.read(npz(table() | aliased))
    np.testing.assert_array_equal(other.densities["log_q_draws"], given["log_q_draws"])
    assert not upload.warnings


def test_densities_of_draws_follow_the_order_of_the_draws():
    arrays, given = table(), logs()
    turned = arrays | given | {"theta_q": arrays["theta_q"].swapaxes(0, 1)}
    turned |= {name: given[name].T for name in ("log_q_draws", "log_joint_draws")}
    assert tables.read(npz(turned)).digest == tables.read(npz(arrays | given)).digest
    square = table(k=N) | {"log_q_draws": np.arange(N * N, dtype=float).reshape(N, N)}
    rows, columns = (tables.read(npz(square), order=order) for order in ("NKD", "KND"))
    np.testing.assert_array_equal(rows.densities["log_q_draws"], square["log_q_draws"])
    np.testing.assert_array_equal(columns.densities["log_q_draws"], square["log_q_draws"].T)


def test_rows_that_go_take_their_densities_along():
    arrays, given = table(), logs()
    arrays["theta"][3] = np.nan
    upload = tables.read(npz(arrays | given))
    assert upload.n == N - 1
    for name, array in given.items():
        np.testing.assert_array_equal(upload.densities[name], np.delete(array, 3, axis=0))


def test_densities_that_are_not_finite_are_counted_and_kept():
    given = logs()
    given["log_q"][:5] = -np.inf
    given["log_q_draws"][0, 0] = np.nan
    upload = tables.read(npz(table() | given))
    assert upload.n == N
    assert np.isneginf(upload.densities["log_q"][:5]).all()
    text = " ".join(upload.warnings)
    assert f"log_q is NaN or infinite at 5 of {N} places" in text
    assert "log_q_draws is NaN or infinite at 1 of" in text


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.filterwarnings("error")
def test_numbers_that_no_log_density_is_are_read_as_infinite_and_said(dtype):
    given = {name: array.astype(dtype) for name, array in logs().items()}
    given["log_joint"] = given["log_joint"].astype(np.float64)
    given["log_joint"][[0, 7]] = 1e300, -1e300
    upload = tables.read(npz(table() | given))
    assert list(upload.densities["log_joint"][[0, 7]]) == [np.inf, -np.inf]
    np.testing.assert_array_equal(upload.densities["log_joint"][1:7], given["log_joint"][1:7])
    assert any("log_joint is beyond 1e+100 in size at 2 of 60" in one for one in upload.warnings)


def test_mostly_infinite_densities_are_left_unread():
    given = logs()
    given["log_q"][: N // 2] = np.nan
    assert "log_q" in tables.read(npz(table() | given)).densities
    given["log_q"][: N // 2 + 1] = np.nan
    upload = tables.read(npz(table() | given))
    assert "log_q" not in upload.densities
    assert any("left unread" in warning for warning in upload.warnings)


@pytest.mark.parametrize(
    "wrong",
    [
        {"log_q": np.zeros(N + 1)},
        {"log_q": np.zeros((N, 2))},
        {"log_q_draws": np.zeros((K, N))},
        {"log_q_draws": np.zeros(N)},
        {"log_q": np.full(N, "a")},
        {"log_joint": np.zeros(N, complex)},
        {"log_joint": np.array(1.0)},
    ],
)
def test_densities_that_do_not_fit_are_left_unread(wrong):
    upload = tables.read(npz(table() | wrong))
    assert not upload.densities
    (told,) = (w for w in upload.warnings if "left unread" in w and "; got" in w)
    turned = next(iter(wrong.values())).shape == (K, N)
    assert ("save log_q_draws.T to use it" in told) == turned
    assert upload.digest == tables.read(npz(table())).digest


def test_a_column_of_densities_is_understood():
    upload = tables.read(npz(table() | {"log_q": np.zeros((N, 1), int)}))
    assert upload.densities["log_q"].shape == (N,)


@pytest.mark.parametrize("shape", [(7, D), (1, 7, D), (7, 1, D)])
@pytest.mark.parametrize("names", [("x_o", "theta_o"), ("x_observed", "posterior_samples_o")])
def test_a_real_observation_is_read_with_its_draws(shape, names):
    draws = np.arange(7.0 * D).reshape(shape)
    upload = tables.read(npz(table() | dict(zip(names, (np.ones((1, M)), draws), strict=True))))
    at, drawn = upload.observed
    np.testing.assert_array_equal(at, np.ones(M))
    np.testing.assert_array_equal(drawn, draws.reshape(7, D))
    assert upload.digest != tables.read(npz(table())).digest


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"theta_o": np.ones((7, D))}, "must come with x_o"),
        ({"x_o": np.ones(M + 1), "theta_o": np.ones((7, D))}, "x_o must hold 3 finite numbers"),
        ({"x_o": np.full(M, np.nan), "theta_o": np.ones((7, D))}, "x_o must hold"),
        ({"x_o": np.ones(M), "x_rep": np.ones((19, M))}, "x_rep must hold 20 or more rows"),
        ({"x_o": np.ones((M, 2)), "theta_o": np.ones((7, D))}, "x_o must hold 3 finite numbers"),
        ({"x_o": np.ones(M), "x_rep": np.ones((M, 50))}, "x_rep must hold 20 or more rows"),
        ({"x_o": np.ones(M), "theta_o": np.ones((7, D + 1))}, "theta_o must hold draws"),
        ({"x_o": np.ones(M), "theta_o": np.ones(D)}, "theta_o must hold draws"),
        ({"x_o": np.ones(M), "theta_o": np.array(1.0)}, "theta_o must hold draws"),
        ({"x_o": np.ones(M), "theta_o": np.full((7, D), np.inf)}, "finite in half of its rows"),
    ],
)
def test_observations_that_do_not_fit_are_left_unread(wrong, words):
    upload = tables.read(npz(table() | wrong))
    assert upload.observed is None
    assert any(words in warning for warning in upload.warnings)


def test_draws_at_the_observation_that_are_not_finite_are_left_out():
    draws = np.ones((7, D))
    draws[2, 1] = np.nan
    upload = tables.read(npz(table() | {"x_o": np.ones(M), "theta_o": draws}))
    assert upload.observed[1].shape == (6, D)
    assert any("1 draws at x_o" in warning for warning in upload.warnings)


def test_two_samples_have_no_densities():
    rng = np.random.default_rng(0)
    pair = {"p": rng.standard_normal((60, 2)), "q": rng.standard_normal((60, 2))}
    upload = tables.read(npz(pair | {"log_q": np.zeros(60)}))
    assert not upload.densities
    assert any("two samples have no x" in warning for warning in upload.warnings)


def test_the_store_keeps_densities_and_the_observation():
    given = logs() | {"x_o": np.ones(M), "theta_o": np.ones((7, D))}
    given["log_q"][0] = np.nan
    upload, store = tables.read(npz(table() | given)), Store()
    tasks.save_upload(store, upload)
    tasks.live_uploads.pop(upload.digest, None)
    again = tasks.load_upload(store, upload.digest)
    assert again is not upload
    assert again.digest == upload.digest
    assert again.densities.keys() == upload.densities.keys()
    np.testing.assert_array_equal(again.densities["log_q"], upload.densities["log_q"])
    np.testing.assert_array_equal(again.observed[1], upload.observed[1])
    assert Upload.of(again.arrays(), order="NKD").digest == upload.digest


def test_tables_without_them_keep_their_fingerprint():
    """The fingerprint of theta, x and theta_q alone: stored results keep their keys."""
    from validation_core import keys

    arrays = table()
    parts = {str(i): array for i, array in enumerate(arrays.values())}
    assert tables.read(npz(arrays)).digest == keys.digest(**parts)
    densities = [tables.read(npz(arrays | logs(seed))).digest for seed in (0, 1)]
    assert len({keys.digest(**parts), *densities}) == 3
