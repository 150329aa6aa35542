"""Mending q: what weights regain on rows that they never saw, and when nothing is offered."""

import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, kstest

import validation_core as npt
from tests.conftest import ROOT
from tests.fixed_claims import CLAIMED, SILENT, FixedClaims
from validation_core.cli import main
from validation_core.diagnosis.injections.draw_pool import DrawPool
from validation_core.diagnosis.injections.tilts import MODE_TILT
from validation_core.diagnosis.questions import by_name
from validation_core.diagnosis.questions.base import Names
from validation_core.diagnosis.questions.mend.words import mend_sentences
from validation_core.mending import mend_table
from validation_core.mending.function import MendFunction, pick_by_weight
from validation_core.mending.judging import effective_share, mean_nats, resampled_table
from validation_core.mending.ranks import FEWEST, calibrated_intervals, rank_gain, slot_ranks
from validation_core.mending.reweighting import WEIGHED, split_rows, weighed_columns, weighed_table
from validation_core.mending.unused_inputs import unused_inputs
from validation_core.statistics.slots import multiclass_contributions
from validation_core.store import Store
from validation_core.tables import Upload, read
from validation_core.types import Interval, PosteriorTable

N, K, WEEKS = 150, 40, 8
NAMES = Names(("a", "b"), [f"week{i + 1}" for i in range(WEEKS)])


def normal_table(seed, n=N, k=K, shift=0.0, width=1.0):
    """theta given x is normal with mean x / 2 and variance 1/2; q's is shifted and widened."""
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((n, 2))
    x = theta + rng.standard_normal((n, 2))
    sd = np.sqrt(0.5)
    q = x[:, None] / 2 + sd * (shift + width * rng.standard_normal((n, k, 2)))
    return PosteriorTable(theta, x, q)


def weekly_table(seed, used, n=300, width=1.0):
    """Eight weeks of data, of which q sees some: it is exact given those."""
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((n, 1))
    x = theta + 1.5 * rng.standard_normal((n, WEEKS))
    variance = 1 / (1 + len(used) / 1.5**2)
    mean = variance * x[:, used].sum(axis=1) / 1.5**2
    q = mean[:, None, None] + width * np.sqrt(variance) * rng.standard_normal((n, 30, 1))
    return PosteriorTable(theta, x, q)


def upload_of(table):
    return Upload.of({"theta": table.theta, "x": table.x, "theta_q": table.q})


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Mends of a q that sits .8 posterior sd too high in both parameters, .64 nats, and of a right
    one.
    """
    store = Store(tmp_path_factory.mktemp("mends"))
    return {
        name: npt.mend(upload_of(table), store=store, progress=False)
        for name, table in (
            ("shifted", normal_table(0, shift=0.8)), ("right", normal_table(1))
        )
    }  # fmt: skip


@pytest.fixture(scope="module")
def shifted(results):
    return results["shifted"].numbers


def test_each_row_judges_once_and_never_learns_what_judges_it():
    splits = split_rows(23, np.random.default_rng(0))
    assert sorted(np.concatenate([split.judge for split in splits])) == list(range(23))
    for split in splits:
        assert sorted(np.concatenate(split)) == list(range(23))


def test_a_shift_is_mended_on_rows_that_were_not_seen(shifted):
    assert shifted.offered
    assert 0.2 < shifted.gain.estimate < 0.64 + 3 * (shifted.gain.high - shifted.gain.estimate)
    assert shifted.bound == shifted.gain.low
    assert shifted.before <= min(0.05, shifted.after)
    assert shifted.effective < 0.9
    assert shifted.by_ranks.low > 0, "each parameter's ranks show it too"
    weights = np.exp(shifted.log_weight)
    assert np.allclose(weights.sum(axis=1), 1)


def test_a_correct_q_is_offered_nothing(results):
    right = results["right"]
    assert not right.offered
    assert right.numbers.bound is None
    assert right.sentences[0].startswith("No mend is offered: weights learned for q's draws")
    assert not right.files()
    with pytest.raises(ValueError, match="helps on rows that it was not learned from; got"):
        right.weights()
    assert "at least" not in " ".join(right.sentences)


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0])
def test_a_score_that_knows_nothing_is_seldom_offered(scale):
    """Under q = p the slots are exchangeable for any score that did not see them."""
    rng, trials, offered = np.random.default_rng(0), 2000, 0
    for _ in range(trials):
        gain = multiclass_contributions(scale * rng.standard_t(4, (60, 21)))[:, 0]
        offered += mean_nats(gain).low > 0
    assert offered <= binom.isf(0.001, trials, 0.05)


@pytest.mark.slow
def test_correct_tables_are_seldom_offered_a_mend():
    tables = 20
    offered = sum(mend_table(normal_table(100 + i, n=60, k=20), i).offered for i in range(tables))
    assert offered <= binom.isf(0.001, tables, 0.05)


def test_picked_by_weight_the_true_value_is_one_of_its_draws():
    """Weights that say which slot is true: ranks among picked slots are uniform."""
    rng = np.random.default_rng(0)
    n, k = 4000, 25
    slots = rng.standard_normal((n, k + 1, 1))
    log_weight = 0.8 * slots[..., 0]
    weight = np.exp(log_weight)
    total = np.cumsum(weight, axis=1) / weight.sum(axis=1, keepdims=True)
    true = (total < rng.random((n, 1))).sum(axis=1)
    row = np.arange(n)
    order = np.argsort(np.arange(k + 1) != true[:, None], axis=1, kind="stable")
    slots, log_weight = slots[row[:, None], order], log_weight[row[:, None], order]
    table = PosteriorTable(slots[:, 0], np.zeros((n, 1)), slots[:, 1:])
    picked = resampled_table(table, log_weight, 20, rng)
    below = (picked.q < picked.theta[:, None]).sum(axis=1)[:, 0]
    equal = (picked.q == picked.theta[:, None]).sum(axis=1)[:, 0]
    u = (below + rng.random(n) * (equal + 1)) / 21
    assert kstest(u, "uniform").pvalue > 1e-3
    plain = (table.q < table.theta[:, None]).mean(axis=1)[:, 0]
    assert kstest(plain, "uniform").pvalue < 1e-10, "without weights they are not"


@pytest.mark.parametrize("k", [60, 1000])
def test_in_what_order_draws_come_does_not_matter(k):
    table = normal_table(3, n=300, k=k)
    order = table.q[..., :1].argsort(axis=1)
    ordered = replace(table, q=np.take_along_axis(table.q, order, axis=1))
    weighed = weighed_table(ordered)
    assert weighed.q.shape[1] == min(k, WEIGHED)
    assert weighed_columns(table) is None or k > WEIGHED
    u = slot_ranks(weighed)
    splits = split_rows(len(table), np.random.default_rng(1))
    assert abs(u[:, 0, 0].mean() - 0.5) < 4 / np.sqrt(12 * 300)
    assert mean_nats(rank_gain(u, splits)).low <= 0
    assert abs(weighed.q[:, :15, 0].mean() - table.q[..., 0].mean()) < 0.1


def test_weights_are_in_the_order_of_the_draws(results):
    table = normal_table(0, shift=0.8)
    order = table.q[..., :1].argsort(axis=1)
    ordered = upload_of(replace(table, q=np.take_along_axis(table.q, order, axis=1)))
    mended = replace(results["shifted"], table=ordered)
    columns = weighed_columns(ordered.data)
    weighed = mended.numbers.log_weight[:, 1:]
    np.testing.assert_allclose(
        np.take_along_axis(np.log(mended.weights()), columns, axis=1)[:, 0] - weighed[:, 0],
        np.take_along_axis(np.log(mended.weights()), columns, axis=1)[:, 1] - weighed[:, 1],
    )


def test_effective_draws_are_all_of_equal_ones_and_few_of_a_heavy_one():
    assert effective_share(np.zeros((3, 10))) == pytest.approx(1)
    heavy = np.zeros((3, 10))
    heavy[:, 0] = 50.0
    assert effective_share(heavy) == pytest.approx(0.1)


def test_draws_are_picked_as_often_as_they_weigh():
    q = np.arange(4.0)[None, :, None]
    picked = pick_by_weight(q, np.array([[0.5, 0.25, 0.25, 0.0]]), 8, np.random.default_rng(0))
    assert np.bincount(picked.astype(int).ravel(), minlength=4).tolist() == [4, 2, 2, 0]


def test_a_calibrated_interval_covers_new_true_values():
    many = 200
    narrow = normal_table(0, n=1000, k=many, width=0.7)
    worst = calibrated_intervals(narrow, 0)
    fresh = slot_ranks(normal_table(1, n=2000, k=many, width=0.7))
    for j, each in enumerate(worst):
        assert not each.right
        assert each.coverage.high < 0.85
        covered = (np.abs(2 * fresh[:, 0, j] - 1) <= each.needed).mean()
        assert 0.87 < covered < 0.96, "ranks among 200 draws are coarse at the ends"
    assert all(each.right for each in calibrated_intervals(normal_table(2), 0))
    far = normal_table(3, width=0.1)
    assert all(each.needed == 1 for each in calibrated_intervals(far, 0))


@pytest.mark.parametrize("k", [19, 30, 49])
@pytest.mark.parametrize("law", ["continuous", "ties"])
def test_intervals_of_a_correct_q_are_seldom_off(k, law):
    """Their coverage is 90% at any number of draws, and of equal values."""
    rng, tables, off = np.random.default_rng(k), 200, 0
    for seed in range(tables):
        slots = rng.standard_normal((300, k + 1, 1))
        slots = np.maximum(slots, 0.5) if law == "ties" else slots
        table = PosteriorTable(slots[:, 0], np.zeros((300, 1)), slots[:, 1:])
        off += not calibrated_intervals(table, seed)[0].right
    assert off <= binom.isf(0.001, tables, 0.05)


def test_intervals_are_told_of_enough_draws_and_of_parameters_found_wrong(shifted):
    assert calibrated_intervals(normal_table(0, k=FEWEST - 1, width=0.1), 0) == ()
    assert len(calibrated_intervals(normal_table(0, k=FEWEST), 0)) == 2
    names, far = Names(("a", "b")), normal_table(3, width=0.1)
    off = replace(shifted, intervals=calibrated_intervals(far, 0))

    def said(claims, result=off):
        return " ".join(mend_sentences(result, names, claims))

    assert "not even that from the least to the largest of q's draws holds 90%" in said(CLAIMED)
    assert "q's 90% interval of b holds" in said(FixedClaims(parameters={0: 1.0}))
    assert "No 90% interval of q is found to hold too few or too many" in said(SILENT)
    assert "90% interval" not in said(CLAIMED, replace(off, intervals=()))


@pytest.mark.parametrize(("outside", "told"), [(0.11, False), (0.2, True)])
def test_true_values_beyond_all_draws_are_told_where_they_are_more_than_chance(
    shifted, outside, told
):
    assert shifted.outside_expected < 0.1
    beyond = replace(shifted, outside=outside, outside_expected=0.1)
    assert ("lie beyond all of" in " ".join(mend_sentences(beyond, NAMES, CLAIMED))) == told
    assert "lie beyond all of" not in " ".join(mend_sentences(beyond, NAMES, SILENT))


@pytest.mark.parametrize(
    ("used", "width", "ignored"),
    [
        ([0, 1, 2, 3], 1.0, [4, 5, 6, 7]),
        (list(range(WEEKS)), 1.0, []),
        (list(range(WEEKS)), 0.6, []),  # wrong alike at every x
    ],
)
def test_inputs_that_q_ignores_are_found(used, width, ignored):
    table = weekly_table(0, used, width=width)
    found = unused_inputs(table, slot_ranks(table), 0)
    assert [each.column for each in found] == ignored
    assert all(abs(each.used) < 0.1 and each.pvalue <= 0.05 for each in found)


def test_inputs_are_not_asked_where_rows_are_too_few_or_columns_repeat():
    few = weekly_table(0, [0], n=40)
    assert unused_inputs(few, slot_ranks(few), 0) is None
    twice = PosteriorTable(few.theta, few.x[:, [0, 0]], few.q)
    assert unused_inputs(twice, slot_ranks(twice), 0) is None


@pytest.mark.slow
def test_inputs_of_a_right_q_are_seldom_said_to_be_ignored():
    told = 0
    for seed in range(200):
        table = weekly_table(seed, [0, 1, 2], n=100)
        seen = PosteriorTable(table.theta, table.x[:, :3], table.q)
        told += ignored_at(seen, seed)
    assert told <= binom.isf(0.001, 200, 0.05)


@pytest.mark.parametrize(
    ("tables", "level"), [(60, 0.01), pytest.param(200, 0.05, marks=pytest.mark.slow)]
)
def test_an_input_that_only_qs_width_depends_on_is_seldom_said_to_be_ignored(tables, level):
    """Neither theta nor q's mean follows x_2; far out in x_2 q is too narrow."""
    told = 0
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((300, 3))
        width = np.where(np.abs(x[:, 1]) > 1.6, 0.1, 1.0)[:, None, None]
        theta = x[:, :1] + rng.standard_normal((300, 4))
        q = x[:, :1, None] + width * rng.standard_normal((300, 200, 4))
        told += ignored_at(PosteriorTable(theta, x, q), seed, level)
    assert told <= binom.isf(0.001, tables, level)


def ignored_at(table, seed, level=0.05):
    """Whether any column is said to be ignored at this level."""
    found = unused_inputs(table, slot_ranks(table), seed)
    return any(each.pvalue <= level for each in found)


def test_the_claim_that_an_input_is_ignored_keeps_the_users_level(shifted):
    (one,) = unused_inputs(*_with_ranks(weekly_table(0, list(range(WEEKS - 1)))), 0)
    found = replace(shifted, unused=(replace(one, pvalue=0.03),))
    for alpha, told in ((0.05, True), (0.01, False)):
        said = " ".join(mend_sentences(found, NAMES, FixedClaims(alpha=alpha)))
        assert ("q does not use week8" in said) == told


def _with_ranks(table):
    return table, slot_ranks(table)


def test_inputs_are_not_asked_where_a_row_has_one_to_itself():
    """Its slope is that row's alone: no error of it can be told."""
    table = weekly_table(0, [0])
    table.x[:, 1] = np.arange(len(table)) == 3
    assert unused_inputs(table, slot_ranks(table), 0) is None


def test_neighbouring_inputs_are_named_as_a_range(shifted):
    table = weekly_table(0, [0, 1, 2, 3])
    found = replace(shifted, unused=unused_inputs(table, slot_ranks(table), 0))
    said = " ".join(mend_sentences(found, NAMES, CLAIMED))
    assert "q does not use week5 to week8: true values follow them" in said
    assert "nats from the true posterior (KL(p‖q), lower end" in said
    silent = " ".join(mend_sentences(found, NAMES, SILENT))
    assert "does not use" not in silent
    assert "at least" not in silent


def test_one_file_mends_new_draws_with_numpy_alone(results, tmp_path):
    mended = results["shifted"]
    for name, make in mended.files().items():
        (tmp_path / name).write_bytes(make())
    new = normal_table(5, n=20, shift=0.8)
    np.savez(tmp_path / "draws.npz", x=new.x, theta_q=new.q)
    command = [sys.executable, "-I", "-X", "importtime", "mend.py", "draws.npz", "out.npz"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    assert "numpy" in imported
    assert not any(name.startswith(("torch", "scipy", "validation_core")) for name in imported)
    with np.load(tmp_path / "out.npz", allow_pickle=False) as file:
        log_w, draws = file["log_w_draws"], file["theta_q"]
    function = mended.numbers.mending()
    assert np.array_equal(log_w, function.log_weights(new.x, new.q))
    assert np.allclose(np.exp(log_w).sum(axis=1), 1)
    posterior = new.x / 2
    before, after = ((q.mean(axis=1) - posterior).mean() for q in (new.q, draws))
    assert abs(after) < 0.6 * abs(before)
    with np.load(tmp_path / "mend.npz", allow_pickle=False) as file:
        assert isinstance(MendFunction.read(dict(file)), MendFunction)
    weighted = read(tmp_path / "weighted.npz")
    assert weighted.n == N


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({}, r"got draws\.npz, not readable .* Save one by np\.savez"),
        ({"theta": np.zeros(3)}, "with theta. Save one by np.savez"),
        ({"x": np.zeros((9, 2)), "theta_q": np.zeros((4, 30, 2))}, "a row for each simulation"),
        ({"x": np.zeros((4, 9)), "theta_q": np.zeros((4, 30, 3))}, "It mends draws of 2"),
        ({"x": np.full((4, 2), np.nan), "theta_q": np.zeros((4, 30, 2))}, "finite numbers"),
    ],
)
def test_the_one_file_refuses_in_one_line(results, tmp_path, arrays, said):
    for name, make in results["shifted"].files().items():
        (tmp_path / name).write_bytes(make())
    if arrays:
        np.savez(tmp_path / "draws.npz", **arrays)
    command = [sys.executable, "-I", "mend.py", "draws.npz", "out.npz"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 2
    assert ran.stderr.startswith("error: ")
    assert ran.stderr.count("\n") == 1
    assert re.search(said, ran.stderr)


def test_a_lower_bound_is_rounded_down(shifted):
    low = replace(shifted, gain=Interval(0.2, 0.1268, 0.3))
    said = " ".join(mend_sentences(low, NAMES, CLAIMED))
    assert "q is at least 0.12 nats from the true posterior" in said


def test_other_draws_than_the_tables_are_refused(results):
    mended = results["shifted"]
    with pytest.raises(ValueError, match=r"mends draws of 2 parameters at 2 numbers of x; got 3"):
        mended.mend(np.zeros((2, 2)), np.zeros((2, 30, 3)))
    with pytest.raises(ValueError, match="at least 17 at its x; got 5"):
        mended.mend(np.zeros((2, 2)), np.zeros((2, 5, 2)))
    one = mended.mend(np.zeros(2), np.random.default_rng(0).standard_normal((100, 2)), 7)
    assert one.shape == (1, 7, 2)


def test_the_result_is_told_listed_and_kept(results):
    mended = results["shifted"]
    assert mended.sentences[0].startswith("Weights for q's draws regain 0.")
    assert "the verdict's p is" in mended.sentences[0]
    weights = mended.weights()
    assert weights.shape == (N, K)
    assert np.allclose(weights.sum(axis=1), 1)
    assert mended.draws(9).shape == (N, 9, 2)
    numbers = json.loads(mended.to_json())
    assert numbers["offered"] is True
    assert "function" not in numbers
    assert [row["mend"] for row in mended.rows()][:2] == ["weights", "ranks"]
    assert mended.figures()[0].title == "What a mend regains"


def test_the_command_writes_what_mends_new_draws(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path / "cache"))
    table = normal_table(0, n=100, k=20, shift=1.2)
    np.savez(tmp_path / "table.npz", theta=table.theta, x=table.x, theta_q=table.q)
    out = tmp_path / "out"
    assert main(["mend", str(tmp_path / "table.npz"), "--out", str(out)]) == 0
    assert {path.name for path in out.iterdir()} == {
        "mend.npz", "mend.py", "weighted.npz", "mend.html"
    }  # fmt: skip
    assert "Weights for q's draws regain" in capsys.readouterr().out


def test_a_diagnosis_asks_it_only_where_it_is_asked_for():
    from validation_core.api.names import resolve_questions

    asked = {name: {q.name for q in resolve_questions(name)} for name in ("usual", "all")}
    assert asked["all"] - asked["usual"] == {"mend", "in_nats"}


def test_a_tilt_between_modes_has_its_nats_in_closed_form():
    """Two groups of equal shares: KL = tau tanh tau - log cosh tau."""
    rng = np.random.default_rng(0)
    q = rng.standard_normal((30, 40, 2))
    q[:, ::2, 0] += 20
    for tau in (0.1, 0.5, 1.0):
        nats = MODE_TILT.nats(DrawPool(q, np.zeros((30, 1)), direction_seed=0), tau)
        assert nats == pytest.approx(tau * np.tanh(tau) - np.log(np.cosh(tau)), rel=1e-6)
    assert MODE_TILT.nats(DrawPool(q[:, ::2], np.zeros((30, 1)), direction_seed=0), 1.0) == 0


def test_modes_are_tilted_only_where_q_has_some():
    table = normal_table(0)
    question = by_name("in_nats")
    asked = [study.injection for study in question.studies(upload_of(table), (), 0)]
    assert asked == ["tilt_bias", "tilt_narrow", "tilt_wide", "tilt_correlation"]
    table.q[:, ::2] += 30
    two = [study.injection for study in question.studies(upload_of(table), (), 0)]
    assert two == [*asked, "tilt_mode"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "least"),
    [("sir_undertrained", 0.6), ("two_moons_undertrained", 0.3),
     ("sir_well_trained", -0.03), ("two_moons_well_trained", -0.03)],
)  # fmt: skip
def test_real_posteriors_regain_what_they_can(name, least, shared):
    table = read(shared / "data" / f"{name}.npz")
    mended = mend_table(table.data, 0)
    assert mended.gain.estimate >= least
    if least > 0:
        assert mended.offered
        assert mended.before < 0.05


def test_the_text_of_the_file_is_of_this_package():
    from validation_core.mending.function_file import function_file

    text = function_file()
    compile(text, "mend.py", "exec")
    assert "import torch" not in text
    assert "validation_core" not in text
    assert str(ROOT) not in text
