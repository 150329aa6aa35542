"""ArviZ files: their groups, their named axes, and what they lack."""

import numpy as np
import pytest

from tests.files import K, M, N, arviz, netcdf, npz, refusal, table
from validation_core import tables


def test_parameters_of_an_arviz_file_have_their_names():
    upload = tables.read(arviz(table(d=3)))
    assert upload.names == ("mu", "tau[0]", "tau[1]")
    assert upload.x_names == ("y[0]", "y[1]", "y[2]")


def test_what_xarray_writes_is_read(tmp_path):
    xr = pytest.importorskip("xarray")
    arrays = table()
    groups = {
        "/posterior": xr.Dataset({"t": (("sim", "draw", "part"), arrays["theta_q"])}),
        "/true_parameters": xr.Dataset({"t": (("sim", "part"), arrays["theta"])}),
        "/constant_data": xr.Dataset({"y": (("sim", "place"), arrays["x"])}),
    }
    path = tmp_path / "made.nc"
    xr.DataTree.from_dict(groups).to_netcdf(path, engine="h5netcdf")
    upload = tables.read(path)
    assert upload.digest == tables.read(npz(arrays)).digest
    assert upload.names == ("t[0]", "t[1]")
    flat = xr.Dataset({
        "theta": (("sim", "part"), arrays["theta"]), "x": (("sim", "place"), arrays["x"]),
        "theta_q": (("draw", "sim", "part"), arrays["theta_q"].swapaxes(0, 1)),
    })  # fmt: skip
    flat.to_netcdf(path, engine="h5netcdf")
    assert tables.read(path).digest == upload.digest


def test_log_densities_and_own_quantities_of_a_tree_count():
    rng = np.random.default_rng(0)
    arrays = table(d=1)
    beside = {name: rng.normal(size=(N, K + 1)) for name in ("lp", "quantity_energy")}
    each = rng.normal(size=(N, K + 1, M))
    draws, true = ("sim", "draw"), ("sim",)
    stats = {name: (draws, values[:, 1:]) for name, values in beside.items()}
    groups = {
        "posterior": {"mu": (draws, arrays["theta_q"][..., 0])},
        "truth": {"mu": (true, arrays["theta"][:, 0])},
        "observed_data": {"y": (("sim", "place"), arrays["x"])},
        "sample_stats": stats | {"energy": (draws, np.zeros((N, K)))},
        "sample_stats_prior": {name: (true, values[:, 0]) for name, values in beside.items()},
        "log_likelihood": {"y": ((*draws, "place"), each[:, 1:])},
        "log_likelihood_prior": {"y": ((*true, "place"), each[:, 0])},
    }  # fmt: skip
    upload = tables.read(netcdf(groups))
    wanted = {
        "log p(theta, x)": beside["lp"], "log p(x | theta)": each.sum(-1),
        "energy": beside["quantity_energy"],
    }  # fmt: skip
    assert list(upload.own_quantities) == list(wanted)
    assert upload.names == ("mu",)
    for name, (truth, at_draws) in upload.own_quantities.items():
        np.testing.assert_allclose(truth, wanted[name][:, 0], rtol=1e-5)
        np.testing.assert_allclose(at_draws, wanted[name][:, 1:], rtol=1e-5)
    del groups["sample_stats_prior"]
    alone = tables.read(netcdf(groups))
    assert list(alone.own_quantities) == ["log p(x | theta)"]
    assert any("lp" in note and "true values too" in note for note in alone.notes)


POSTERIOR = {"mu": (("sim", "draw"), np.zeros((N, K)))}
TRUTH = {"mu": (("sim",), np.zeros(N))}
DATA = {"y": (("sim", "place"), np.zeros((N, M)))}


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"prior_sbc": {"mu": (("chain", "draw"), np.zeros((1, N))),
                        "nu": (("chain", "draw_"), np.zeros((1, N)))}}, "as many of each"),
        ({"posterior": {"mu": (("chain", "draw"), np.zeros((1, N)))}}, "dimension of simulations"),
        ({"posterior": POSTERIOR, "observed_data": DATA}, "true values that were simulated"),
        ({"posterior": POSTERIOR, "prior_sbc": TRUTH, "observed_data": DATA},
         "true values that were simulated"),
        ({"posterior": POSTERIOR, "truth": TRUTH,
          "observed_data": {"y": (("place",), np.zeros(N + 1))}}, "data of an ArviZ file"),
        ({"posterior": POSTERIOR | {"tau": (("sim", "draw_"), np.zeros((N, K))),
                                    "nu": (("sims", "draws"), np.zeros((N, K + 1)))},
          "truth": TRUTH, "observed_data": DATA}, "equally many"),
    ],
)  # fmt: skip
def test_arviz_files_that_lack_a_part_are_refused(groups, words):
    assert words in refusal(netcdf(groups))


def test_an_arviz_file_without_data_is_a_table_without_x():
    upload = tables.read(netcdf({"posterior": POSTERIOR, "truth": TRUTH}))
    assert upload.dims == (1, 0)
