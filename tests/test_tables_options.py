"""Options of reading: bounds of the prior, periods, logarithms; from Python and a command line."""

import numpy as np
import pytest

import validation_core as npt
from validation_core import statistics, tables
from validation_core.cli import main
from validation_core.diagnosis.questions.calibration.parameters import marginal_errors
from validation_core.relabelling import relabelled
from validation_core.relabelling.claims import Claims
from validation_core.rng import stream
from validation_core.tables import Upload, logarithms

N, K = 300, 30


def box(seed=0, n=N, k=K, leak=0.0):
    """theta ~ U(0, 1) of two parameters; x says nothing, q is the prior, or leaks upwards."""
    rng = stream(seed, "box")
    theta, x = rng.random((2, n, 2))
    q = rng.random((n, k, 2))
    out = rng.random((n, k)) < leak
    q[..., 1] = np.where(out, 1 + 0.1 * rng.random((n, k)), q[..., 1])
    return {"theta": theta, "x": x, "theta_q": q}


def decades(seed=0, n=N, k=K):
    rng = stream(seed, "decades")
    mean = rng.standard_normal((n, 2))
    theta, q = (
        1e-15 * 10 ** (mean[:, None] + 0.3 * rng.standard_normal((n, many, 2))) for many in (1, k)
    )
    return {"theta": theta[:, 0], "x": mean, "theta_q": q}


def test_bounds_are_kept_with_the_table_and_draws_outside_are_told():
    plain = Upload.of(box(leak=0.05))
    assert plain.bounds is None
    upload = Upload.of(box(leak=0.05), bounds={"theta_2": (0, 1)})
    np.testing.assert_array_equal(upload.bounds, [[-np.inf, np.inf], [0, 1]])
    assert "5% of theta_2's draws lie outside the prior's bounds, 0 to 1" in upload.warnings[0]
    assert upload.digest != plain.digest
    again = Upload.of(upload.arrays(), order="NKD")
    assert (again.digest, again.warnings) == (upload.digest, upload.warnings)
    assert "within the prior's bounds" in upload.read_as
    saved = Upload.of({**box(leak=0.05), "bounds": np.array([[np.nan, np.nan], [0, 1]])})
    assert saved.digest == upload.digest
    assert Upload.of(box(), bounds={"theta_1": (0, 1)}).warnings == ()


def test_bounds_that_cannot_be_meant_are_refused():
    with pytest.raises(ValueError, match=r"must hold every true value; got \d+ of 300 outside"):
        Upload.of(box(), bounds={"theta_2": (0, 0.5)})
    with pytest.raises(ValueError, match="one of theta_1 or theta_2; got 'b'"):
        Upload.of(box(), bounds={"b": (0, 1)})
    with pytest.raises(ValueError, match="below the upper one; got 1 to 0 for theta_1"):
        Upload.of(box(), bounds={"theta_1": (1, 0)})
    with pytest.raises(ValueError, match=r"\(2, 2\); got \(3, 2\)"):
        Upload.of({**box(), "bounds": np.zeros((3, 2))})


def claims(table, seed=0, bounds=((-np.inf, np.inf), (0, 1))):
    data = Upload.of(table).data
    return Claims(relabelled(data, seed, over_x=False, bounds=np.array(bounds)), 0.05)


def test_draws_outside_of_named_bounds_are_found_and_named():
    found = claims(box(leak=0.03))
    (family,) = [one for one in found.families(["a", "b"]) if one["family"] == "support"]
    assert family["pvalue"] <= 0.05
    assert family["named"]
    assert family["claim"] == "draws of b outside the prior's bounds"
    assert family["sentence"].endswith("% of b's draws lie outside the prior's bounds, 0 to 1.")


def test_bounds_that_hold_all_draws_change_nothing_else():
    table = box()
    without, within = claims(table, bounds=((-np.inf, np.inf),) * 2), claims(table)
    old, new = (dict(zip(one.result.claims, one.result.minus_log_p, strict=True))
                for one in (without, within))  # fmt: skip
    assert [claim.kind for claim in new if claim.family == "support"] == ["range", "bounds"]
    assert all(new[claim] == p for claim, p in old.items() if claim.family != "support")


@pytest.mark.slow
def test_the_level_holds_where_bounds_are_given():
    trials = 300
    off = sum(claims(box(seed, 60, 10)).pvalue <= 0.05 for seed in range(trials))
    assert off <= statistics.binomial_bounds(trials, 0.05, 0.999)[1]


def test_parameters_over_decades_are_read_by_their_logarithm():
    table = decades()
    upload = Upload.of(table)
    assert upload.names == ("log10 theta_1", "log10 theta_2")
    np.testing.assert_allclose(upload.data.q, np.log10(table["theta_q"]))
    assert "positive over decades" in upload.notes[0]
    assert upload.read_as == ("theta_1 by its logarithm", "theta_2 by its logarithm")
    again = Upload.of(upload.arrays(), order="NKD", logarithms=())
    assert again.digest == upload.digest
    assert Upload.of(table, logarithms=()).names == ("theta_1", "theta_2")
    ranks = [(one.data.q < one.data.theta[:, None]).sum(1) for one in (upload, Upload.of(table))]
    np.testing.assert_array_equal(*ranks)


def test_positive_parameters_within_a_decade_or_counts_are_read_as_saved():
    rng = stream(0, "positive")
    for theta in (np.exp(0.5 * rng.standard_normal((N, 1))), rng.integers(1, 5000, (N, 1))):
        q = np.repeat(theta[:, None], K, axis=1)[rng.permutation(N)]
        assert Upload.of({"theta": theta, "x": theta, "theta_q": q}).names == ("theta_1",)


def test_log_densities_follow_the_scale_of_theta():
    theta = np.array([[10.0], [1000.0]])
    q = np.full((2, 3, 1), 100.0)
    densities = {"log_q": np.zeros(2), "log_q_draws": np.zeros((2, 3))}
    turned = logarithms.densities_by_logarithm(densities, theta, q, [0])
    ln10 = np.log(np.log(10))
    np.testing.assert_allclose(turned["log_q"], np.log([10.0, 1000.0]) + ln10)
    np.testing.assert_allclose(turned["log_q_draws"], np.log(100.0) + ln10)


def test_a_discrete_parameter_over_decades_keeps_its_densities():
    """It is not read by its logarithm, and so no Jacobian is added to log q."""
    rng = np.random.default_rng(0)
    counts = 10.0 ** rng.integers(0, 5, (60, 31))
    table = {"theta": counts[:, :1], "x": rng.normal(size=(60, 1)), "theta_q": counts[:, 1:, None]}
    log_q = rng.normal(size=(60, 31)) - 5
    given = {"log_q": log_q[:, 0], "log_q_draws": log_q[:, 1:]}
    by_log = {"logarithms": ["theta_1"]}
    upload = Upload.of({**table, **given}, discrete=["theta_1"], **by_log)
    assert upload.names == ("theta_1",)
    assert upload.discrete == (0,)
    np.testing.assert_array_equal(upload.densities["log_q_draws"], given["log_q_draws"])
    assert Upload.of({**table, **given}, **by_log).names == ("log10 theta_1",)


def test_logarithms_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="of positive numbers; got theta_1 down to -"):
        Upload.of({**box(), "theta": box()["theta"] - 0.5}, logarithms=["theta_1"])
    with pytest.raises(ValueError, match="one of theta_1 or theta_2; got 'c'"):
        Upload.of(box(), logarithms=["c"])


def test_periods_are_given_by_name():
    rng = stream(0, "hours")
    theta, q = (24 * rng.random(shape) for shape in ((N, 1), (N, K, 1)))
    hours = {"theta": theta, "x": theta, "theta_q": q}
    assert Upload.of(hours, circular={"theta_1": 24.0}).periods == (24.0,)
    with pytest.raises(ValueError, match=r"--circular theta_1=24, circular=\{'theta_1': 24\}"):
        Upload.of({**hours, "theta": 30 * hours["theta"]}, circular=["theta_1"])
    with pytest.raises(ValueError, match="A period is a positive number; got -1"):
        Upload.of(hours, circular={"theta_1": -1.0})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"order": "nkd"}, "order is NKD, KND, DKN or DNK; got 'nkd'"),
        ({"missing": "masks"}, "Did you mean 'mask'"),
        ({"circular": "theta_1"}, r"Try circular=\['theta_1'\]"),
        ({"logarithms": "theta_1"}, r"Try logarithms=\['theta_1'\]"),
        ({"discrete": True}, "list of names; got True"),
        ({"corrections": "rows"}, r"Try corrections=\['rows'\]"),
        ({"circular": {"theta_1": "x"}}, "a period by name"),
        ({"bounds": [(0, 1)]}, "two numbers by name"),
        ({"bounds": {"theta_1": 3}}, "two numbers by name"),
        ({"bounds": {"theta_1": (0, None)}}, "two numbers by name"),
        ({"max_rank": "30"}, "max_rank is a whole number; got '30'"),
        ({"arrays": {"theta": 3}}, "Arrays are named by role; got int"),
    ],
)
def test_options_of_another_kind_are_refused_by_their_rule(options, words):
    arrays = box()
    with pytest.raises(ValueError, match=words):
        npt.Table(*arrays.values(), **options)
    with pytest.raises(ValueError, match=words):
        npt.read(arrays, **options)


def test_the_command_line_takes_every_option(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "t.npz"
    rng = stream(0, "command")
    theta, noise = rng.random((2, N, 2))
    q = theta[:, None] + 0.2 * (noise[:, None] + rng.random((N, K, 2)) - 1)
    npt.Table(theta, theta, q[..., ::-1]).save(file)
    quick = ["diagnose", str(file), "--method", "sbc", "--answers", "none"]
    main(quick)
    assert "Correct the file first." in capsys.readouterr().out
    mended = ["--correct", "columns,thin=2", "--bounds", "theta_1=0:1,theta_2=-inf:2"]
    main([*quick, *mended, "--logarithms", "none", "--circular", "theta_1=24"])
    printed = capsys.readouterr().out
    assert "300 rows with 15 draws of q" in printed
    assert "theta_1 is an angle; within the prior's bounds" in printed
    assert "Corrected: Columns of theta_q were put in theta's order" in printed


def test_the_case_of_positive_amplitudes_is_read_over_decades(shared):
    upload = tables.read(shared / "cases" / "linear_scale_decades.npz")
    assert upload.names == ("log10 theta_1", "log10 theta_2")
    off = [one.ratio.estimate for one in marginal_errors(upload.data, 0)]
    assert off == pytest.approx([0.7, 0.7], abs=0.1)


def test_the_case_of_a_leak_is_told_by_its_bounds(shared):
    upload = tables.read(shared / "cases" / "leak_past_box.npz", bounds={"theta_2": (0, 1)})
    assert "15% of theta_2's draws lie outside the prior's bounds, 0 to 1" in upload.warnings[0]


@pytest.mark.parametrize(
    "name", ["biased_plain", "bias_of_3_sd_in_a_quarter", "theta_from_proposal", "leak_past_box"]
)
def test_cases_of_an_error_of_q_are_no_mistake_of_the_file(name, shared):
    assert tables.read(shared / "cases" / f"{name}.npz").mistakes == ()
