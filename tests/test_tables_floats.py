"""Truths and draws in one float type, whatever types they were saved in."""

import numpy as np
import pytest

from tests.files import arviz, hdf5, netcdf, npy, npz, parquet_file
from validation_core import tables
from validation_core.methods.sbc import SBC
from validation_core.methods.tarp import TARP
from validation_core.scores import apply
from validation_core.statistics import binomial_bounds
from validation_core.tables import Upload
from validation_core.types import TableScores

GRID = np.array([0.1, 0.2, 0.3])


def table(seed=0, n=200, k=20, d=2):
    """A right q on a grid that no float holds: truths and draws of one law."""
    rng = np.random.default_rng(seed)
    whole = rng.choice(GRID, size=(n, k + 1, d))
    return {"theta": whole[:, 0], "x": rng.standard_normal((n, 1)), "theta_q": whole[:, 1:]}


def typed(arrays, theta, q):
    return arrays | {
        "theta": arrays["theta"].astype(theta),
        "theta_q": arrays["theta_q"].astype(q),
    }


def distances(draws, rng):
    """Distances to a random point of each row, as TARP takes them."""
    at = rng.uniform(0, 0.4, size=(len(draws), 1, draws.theta.shape[1]))
    truth = np.linalg.norm(draws.theta[:, None] - at, axis=-1)
    return TableScores(truth[:, 0][None], np.linalg.norm(draws.q - at, axis=-1)[None])


@pytest.mark.parametrize(
    ("theta", "q"), [("f8", "f4"), ("f4", "f8"), ("f8", "f2"), ("f2", "f4"), ("f2", "f8")]
)
def test_a_right_q_keeps_its_level_in_two_float_types(theta, q):
    trials, rejected = 100, np.zeros(2, int)
    for seed in range(trials):
        rng = np.random.default_rng((seed, 1))
        upload = Upload.of(typed(table(seed), theta, q))
        ranks = SBC().test(apply(SBC().score(), upload.data), rng)
        coverage = TARP().test(distances(upload.data, rng), rng)
        rejected += [ranks.pvalue < 0.05, coverage.pvalue < 0.05]
    assert rejected.max() <= binomial_bounds(trials, 0.05)[1], rejected


def test_mass_at_a_bound_ties_in_two_types():
    arrays = table()
    for name in ("theta", "theta_q"):
        arrays[name] = np.clip(np.random.default_rng(1).normal(size=arrays[name].shape), -0.1, 0.7)
    upload = Upload.of(typed(arrays, "f8", "f4"))
    at_bound = upload.data.theta[upload.data.theta == upload.data.theta.max()]
    assert len(at_bound) > 50
    assert (upload.data.q == at_bound[0]).any()


def hdf(arrays):
    return [("t.h5", hdf5(arrays))]


def npys(arrays):
    return [(f"{name}.npy", npy(array)) for name, array in arrays.items()]


def parquets(arrays):
    """theta and x as columns, a single parameter's draws as columns of another file."""
    one = {name: arrays[name].reshape(len(arrays[name]), -1) for name in arrays}
    return [
        (f"{name}.parquet", parquet_file({f"c{j}": a[:, j] for j in range(a.shape[1])}))
        for name, a in one.items()
    ]


def csvs(arrays):
    """Each number as its own type prints it when widened, as pandas saves float32."""

    def text(array):
        flat = array.reshape(len(array), -1).astype(np.float64)
        head = ",".join(f"c{j}" for j in range(flat.shape[1]))
        return "\n".join([head, *(",".join(map(repr, row)) for row in flat.tolist())]).encode()

    return [(f"{name}.csv", text(array)) for name, array in arrays.items()]


READERS = {
    "npz": lambda arrays: [("t.npz", npz(arrays))],
    "npy": npys,
    "hdf5": hdf,
    "netcdf": lambda arrays: [("t.nc", arviz(arrays))],
    "parquet": parquets,
    "csv": csvs,
}


@pytest.mark.parametrize("files", READERS.values(), ids=READERS)
@pytest.mark.parametrize("narrow", ["f4", "f2"])
def test_every_reader_brings_them_to_one_type(files, narrow):
    if narrow == "f2" and files is csvs:
        pytest.skip("text has no float16")
    arrays = typed(table(d=1), "f8", narrow)
    ((_, upload, _),) = tables.read_files(files(arrays))
    assert np.isin(upload.data.theta, upload.data.q).all()
    assert set(np.unique(upload.data.theta)) == set(np.unique(upload.data.q))
    assert any("more than one float type" in note for note in upload.notes)


def test_variables_of_one_array_each_have_their_own_type():
    arrays = table()
    theta, q = arrays["theta"], arrays["theta_q"].reshape(200, 2, 10, 2)
    content = netcdf(
        {
            "posterior": {
                "a": (("sim", "chain", "draw"), q[..., 0].astype("f4")),
                "b": (("sim", "chain", "draw"), q[..., 1]),
            },
            "truth": {"a": (("sim",), theta[:, 0]), "b": (("sim",), theta[:, 1].astype("f4"))},
            "observed_data": {"y": (("sim",), arrays["x"][:, 0])},
        }
    )
    upload = tables.read(content)
    for j in range(2):
        assert np.isin(upload.data.theta[:, j], upload.data.q[..., j]).all()


def test_one_type_is_left_as_it_is_and_nothing_is_said():
    for kind in ("f4", "f8"):
        arrays = typed(table(), kind, kind)
        upload = Upload.of(arrays)
        np.testing.assert_array_equal(upload.data.theta, arrays["theta"])
        np.testing.assert_array_equal(upload.data.q, arrays["theta_q"])
        assert upload.data.q.dtype == np.dtype(kind)
        assert not [note for note in upload.notes if "type" in note]


@pytest.mark.parametrize(("theta", "q"), [("i1", "i8"), ("i1", "f8"), ("i4", "f4"), ("?", "f8")])
def test_whole_numbers_stay_exact(theta, q):
    rng = np.random.default_rng(0)
    high = 2 if theta == "?" else 100
    whole = rng.integers(0, high, size=(200, 21, 1))
    arrays = {"theta": whole[:, 0].astype(theta), "x": rng.standard_normal((200, 1)),
            "theta_q": whole[:, 1:].astype(q)}  # fmt: skip
    upload = Upload.of(arrays)
    np.testing.assert_array_equal(upload.data.theta, whole[:, 0])
    np.testing.assert_array_equal(upload.data.q, whole[:, 1:])
    assert upload.data.theta.dtype == upload.data.q.dtype


def test_whole_numbers_beside_draws_too_narrow_for_them_are_rounded_as_these_were():
    rng = np.random.default_rng(0)
    whole = rng.integers(2**30, 2**30 + 400, size=(200, 21, 1))
    upload = Upload.of({"theta": whole[:, 0], "x": rng.standard_normal((200, 1)),
                        "theta_q": whole[:, 1:].astype("f4")})  # fmt: skip
    assert np.isin(upload.data.theta, upload.data.q).all()


def test_whole_numbers_do_not_cost_real_draws_their_digits():
    rng = np.random.default_rng(0)
    drawn = rng.standard_normal((200, 20, 1))
    for kind in ("i1", "i8"):
        upload = Upload.of({"theta": rng.integers(0, 9, (200, 1)).astype(kind),
                            "x": rng.standard_normal((200, 1)), "theta_q": drawn})  # fmt: skip
        np.testing.assert_array_equal(upload.data.q, drawn)


@pytest.mark.parametrize(("huge", "narrow"), [(1e300, "f4"), (1e6, "f2")])
def test_a_number_too_large_for_the_narrow_type_never_becomes_infinite(huge, narrow):
    arrays = typed(table(), "f8", narrow)
    arrays["theta"][3, 1] = huge
    upload = Upload.of(arrays)
    assert upload.data.theta[3, 1] == huge
    assert upload.n == 200
    assert any("too large" in text for text in upload.warnings)


def test_draws_at_the_observation_and_two_samples_are_brought_along():
    arrays = typed(table(), "f8", "f8")
    arrays |= {"x_o": arrays["x"][0], "theta_o": arrays["theta_q"][0].astype("f4")}
    upload = Upload.of(arrays)
    assert np.isin(upload.observed[1], upload.data.q).all()
    pair = Upload.of({"p": arrays["theta"], "q": arrays["theta"].astype("f4")})
    np.testing.assert_array_equal(pair.data.p.theta, pair.data.q.theta)


def test_log_q_ties_at_truths_and_draws():
    arrays = table()
    logs = {"log_q": np.log(arrays["theta"][:, 0]),
            "log_q_draws": np.log(arrays["theta_q"][..., 0]).astype("f4")}  # fmt: skip
    logs["log_q"][4] = -np.inf
    upload = Upload.of(arrays | logs)
    finite = np.isfinite(upload.densities["log_q"])
    assert np.isin(upload.densities["log_q"][finite], upload.densities["log_q_draws"]).all()
    assert (~finite).sum() == 1


def test_reading_what_was_stored_gives_the_same_fingerprint():
    for theta, q in [("f8", "f4"), ("f8", "f2"), ("i1", "f8"), ("i1", "i1"), ("f4", "f8")]:
        arrays = table()
        arrays["theta"] = (10 * arrays["theta"]).round() if theta == "i1" else arrays["theta"]
        upload = Upload.of(typed(arrays, theta, q))
        again = Upload.of(upload.arrays(), order="NKD")
        assert again.digest == upload.digest
