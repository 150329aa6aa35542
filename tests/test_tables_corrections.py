"""Mistakes of a file: each recognised by its numbers, and corrected where that is asked for."""

import json
import re

import numpy as np
import pytest

import validation_core as npt
from validation_core import statistics, tables
from validation_core.diagnosis.card import diagnosis_card
from validation_core.diagnosis.questions import Asked
from validation_core.diagnosis.questions.surface import PAGE, PYTHON, TERMINAL
from validation_core.diagnosis.verdict import verdict
from validation_core.relabelling import relabelled
from validation_core.rng import stream
from validation_core.tables import Upload, repeats
from validation_core.types import PosteriorTable

N, K, D = 300, 40, 3


def exact(seed=0, n=N, k=K, d=D, width=1.0, shift=0.0):
    """theta ~ N(0, 1), x = theta + N(0, 1/4): exact q, or one of another width and place."""
    rng = stream(seed, "corrections")
    theta = rng.standard_normal((n, d))
    x = theta + 0.5 * rng.standard_normal((n, d))
    noise = shift + width * rng.standard_normal((n, k, d))
    q = x[:, None] / 1.25 + np.sqrt(0.2) * noise
    return {"theta": theta, "x": x, "theta_q": q}


def batches(array, a, b):
    return array.reshape(a, b, *array.shape[1:]).swapaxes(0, 1).reshape(array.shape)


def chain(seed=0, n=150, k=200, lag=0.8, d=D):
    one = exact(seed, n, k, d)
    centre = one["x"][:, None] / 1.25
    steps = (one["theta_q"] - centre) * np.sqrt(1 - lag**2)
    steps[:, 0] /= np.sqrt(1 - lag**2)
    for i in range(1, k):
        steps[:, i] += lag * steps[:, i - 1]
    return {**one, "theta_q": centre + steps}


MISTAKES = {
    "columns exchanged": ("columns", lambda t: {**t, "theta_q": t["theta_q"][..., [1, 0, 2]]}),
    "columns turned": ("columns", lambda t: {**t, "theta_q": t["theta_q"][..., [2, 0, 1]]}),
    "one row late": ("rows", lambda t: {**t, "theta_q": np.roll(t["theta_q"], 1, axis=0)}),
    "seven rows early": ("rows", lambda t: {**t, "theta_q": np.roll(t["theta_q"], -7, axis=0)}),
    "from last to first": ("rows", lambda t: {**t, "theta_q": t["theta_q"][::-1]}),
    "nested otherwise": ("rows", lambda t: {**t, "theta_q": batches(t["theta_q"], 20, 15)}),
    "true values late": ("rows", lambda t: {**t, "theta": np.roll(t["theta"], 2, axis=0)}),
    "true values nested": ("rows", lambda t: {**t, "theta": batches(t["theta"], 10, 30)}),
    "one row of zeros first": (
        "rows",
        lambda t: {
            **t, "theta_q": np.concatenate([np.zeros((1, K, D)), t["theta_q"][:-1]])
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_rows_and_columns_in_another_order_are_told_and_put_right(mistake):
    name, make = MISTAKES[mistake]
    wrong = make(exact())
    upload = Upload.of(wrong)
    assert [one.name for one in upload.mistakes] == [name]
    assert upload.unusable
    assert upload.mistakes[0].finding in upload.warnings
    mended = Upload.of(wrong, corrections=[name])
    assert not mended.mistakes
    assert mended.corrected[0].done in mended.notes
    assert Upload.of(mended.arrays(), order="NKD").digest == mended.digest
    if not mistake.endswith("zeros first"):
        pairs = zip(mended.data.theta, mended.data.x, mended.data.q, strict=True)
        right = {(*t, *x, q[0, 0]) for t, x, q in pairs}
        whole = exact()
        assert right == {
            (*t, *x, q[0, 0])
            for t, x, q in zip(whole["theta"], whole["x"], whole["theta_q"], strict=True)
        }


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_line_of_code_does_what_the_correction_does(mistake):
    name, make = MISTAKES[mistake]
    wrong = make(exact())
    upload = Upload.of(wrong)
    scope = {"np": np, **{key: value.copy() for key, value in wrong.items()}}
    exec(upload.mistakes[0].code, scope)  # what a user types
    typed = {key: scope[key] for key in wrong}
    assert Upload.of(typed).digest == Upload.of(wrong, corrections=[name]).digest


def test_scale_of_several_parameters_and_columns_are_corrected_together():
    table = exact()
    q = table["theta_q"][..., [1, 0, 2]].copy()
    q[..., 2] *= 1000
    wrong = {**table, "theta_q": q, "x_o": np.zeros((1, D)), "theta_o": q[0]}
    upload = Upload.of(wrong)
    assert [one.name for one in upload.mistakes] == ["columns", "scale"]
    mended = Upload.of(wrong, corrections=["columns", "scale"])
    np.testing.assert_allclose(mended.data.q, table["theta_q"], rtol=1e-12)
    np.testing.assert_allclose(mended.observed[1], table["theta_q"][0], rtol=1e-12)
    with pytest.raises(ValueError, match=r"before which this table needs columns\. Ask for both"):
        Upload.of(wrong, corrections=["scale"])


@pytest.mark.parametrize("sd", [0.5, 0.8, 1.3, 2.0])
def test_standardised_draws_are_seen_whatever_the_spread_of_theta(sd):
    table = exact()
    upload = Upload.of({**table, "theta": 50 + sd * table["theta"]})
    assert [one.name for one in upload.mistakes] == ["scale"]
    assert "the draws are standardised" in upload.warnings[0]
    mended = Upload.of({**table, "theta": 50 + sd * table["theta"]}, corrections=["scale"])
    np.testing.assert_allclose(mended.data.q, 50 + sd * table["theta_q"], atol=0.3 * sd)


def test_where_one_parameter_is_standardised_the_others_are_corrected_with_it():
    """By themselves two of the three could be a q that is wrong."""
    table, mean, sd = exact(), np.array([50, 3, -7.0]), np.array([10, 2, 0.5])
    wrong = {**table, "theta": mean + sd * table["theta"]}
    mended = Upload.of(wrong, corrections=["scale"])
    off = np.abs(mended.data.q - (mean + sd * table["theta_q"])).mean((0, 1)) / sd
    assert (off < 0.1).all()


@pytest.mark.parametrize("width", [0.4, 0.6, 1.0, 1.8])
@pytest.mark.parametrize("shift", [0.0, 1.0, 3.0, 10.0])
def test_a_biased_q_of_another_width_is_not_taken_for_a_standardised_one(width, shift):
    for seed in range(3):
        table = exact(seed, width=width, shift=shift)
        for sd in (0.5, 1.0, 2.0):
            own = {name: table[name] * sd for name in ("theta", "theta_q")}
            assert not Upload.of({**table, **own}).mistakes


def test_chains_are_thinned_until_their_draws_are_independent():
    upload = Upload.of(chain())
    (one,) = upload.mistakes
    assert one.name.startswith("thin=")
    assert not upload.unusable
    mended = Upload.of(chain(), corrections=[one.name])
    step = int(one.name.removeprefix("thin="))
    np.testing.assert_array_equal(mended.data.q, chain()["theta_q"][:, ::step])
    assert not any("correlated" in text for text in mended.warnings)
    assert Upload.of(chain(), corrections=["thin"]).digest == mended.digest
    densities = {"log_q": np.zeros(N), "log_q_draws": np.zeros((N, 200))}
    thinned = Upload.of({**exact(k=200), **densities}, corrections=["thin=4"])
    assert thinned.densities["log_q_draws"].shape == (N, 50)


def test_a_right_q_whose_chains_were_thinned_is_seldom_rejected():
    """Ranks of the first parameter, whose width shows draws that are too much alike."""
    tables, rejected = 100, 0
    for seed in range(tables):
        mended = Upload.of(chain(seed, 500, 100, 0.7, d=1), corrections=["thin"])
        assert mended.data.q.shape[1] >= 4
        rejected += relabelled(mended.data, seed, relabelings=99, over_x=False).pvalue <= 0.05
    assert rejected <= statistics.binomial_bounds(tables, 0.05, 0.999)[1]


def test_a_chain_of_too_few_independent_draws_is_refused_with_how_many_it_needs():
    """A lag of .4 is left where 7 of 50 draws are used: their own lag looks smaller by half."""
    short = chain(n=300, k=50, lag=0.9)
    assert Upload.of(short).mistakes == ()
    with pytest.raises(ValueError, match=r"4 at least; got K = 50, .* chains of K = 1\d0 or more"):
        Upload.of(short, corrections=["thin"])
    by_hand = Upload.of({**short, "theta_q": short["theta_q"][:, ::8]})
    assert any("are correlated" in text for text in by_hand.warnings)


@pytest.mark.parametrize("k", [5, 7, 40, 300])
def test_independent_draws_are_not_taken_for_a_chain(k):
    for seed in range(20):
        assert not any("correlated" in text for text in Upload.of(exact(seed, 200, k)).warnings)


def test_rows_that_share_their_draws_show_an_order_once():
    """In 1,000 rows of 10 sets of draws no order is clear that in 10 rows is none."""
    for seed in range(20):
        few = exact(seed, 10, 20)
        theta = np.repeat(few["theta"], 100, axis=0)
        theta = theta + stream(seed, "theta").standard_normal(theta.shape)
        draws = np.repeat(few["theta_q"], 100, axis=0)
        data = PosteriorTable(theta, np.repeat(few["x"], 100, axis=0), draws)
        assert repeats.faults(data) == ()


def test_one_row_of_each_repeated_theta_is_kept_where_it_is_asked_for():
    table = exact()
    table["theta"][:20] = table["theta"][20:40]
    assert [one.name for one in Upload.of(table).mistakes] == ["one_row"]
    upload = Upload.of(table, corrections=["one_row"])
    assert upload.n == N - 20
    assert upload.mistakes == ()


HONEST = {
    "exact": {},
    "biased": {"shift": 4.0},
    "narrow": {"width": 0.1},
    "wide": {"width": 6.0},
    "few draws": {"k": 3},
    "few rows": {"n": 30},
}


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("error", HONEST)
def test_a_q_that_is_wrong_by_itself_is_no_mistake_of_the_file(error, seed):
    assert Upload.of(exact(seed, **HONEST[error])).mistakes == ()


@pytest.mark.parametrize("seed", range(5))
def test_a_q_that_ignores_x_or_rows_in_no_order_are_no_mistake_that_can_be_corrected(seed):
    table, rng = exact(seed), stream(seed, "ignores")
    prior = rng.standard_normal(table["theta_q"].shape)
    shuffled = table["theta_q"][rng.permutation(N)]
    alike = table["theta_q"][..., [0, 0, 0]]  # one column thrice
    for q in (prior, shuffled, alike):
        assert Upload.of({**table, "theta_q": q}).mistakes == ()


def test_series_of_rows_are_not_taken_for_shifted_ones():
    walk = np.cumsum(stream(0, "walk").standard_normal((2, N, D)), axis=1)
    q = walk[1][:, None] + 0.1 * stream(1, "walk").standard_normal((N, K, D))
    assert Upload.of({"theta": walk[0], "x": walk[0], "theta_q": q}).mistakes == ()


def test_corrections_that_are_unknown_or_not_needed_are_refused():
    with pytest.raises(ValueError, match="rows, columns, scale, thin or one_row, or thin=M"):
        Upload.of(exact(), corrections=["units"])
    with pytest.raises(ValueError, match="got scale, of which this table shows no sign"):
        Upload.of(exact(), corrections=["scale"])
    with pytest.raises(ValueError, match=r"two at least; got thin=100 of K = 40"):
        Upload.of(exact(), corrections=["thin=100"])
    with pytest.raises(ValueError, match="got 'thin=0'"):
        Upload.of(exact(), corrections=["thin=0"])


def test_densities_of_the_numbers_before_a_correction_are_left_out_and_it_is_said():
    wrong = {**exact(), "log_q": np.zeros(N), "log_q_draws": np.zeros((N, K))}
    wrong["theta_q"] = wrong["theta_q"][::-1]
    upload = Upload.of(wrong, corrections=["rows"])
    assert upload.densities == {}
    assert any("log_q and log_q_draws: left out" in note for note in upload.notes)


def test_a_card_says_the_mistake_first_and_the_correction_beside_the_verdict(shared):
    path = shared / "cases" / "draws_standardised.npz"
    upload = tables.read(path)
    found = verdict([], upload)
    card = diagnosis_card(found, {})
    assert (card.state, card.title) == ("mistake", "Correct the file first")
    assert "theta_1 = 50.5 + 27.74 q fits (r = 0.96)" in card.facts[0].text
    assert "theta_q[..., 0] = 50.5 + 27.74 * theta_q[..., 0]" in card.next_steps[0]
    for surface, correct, as_saved in (
        (PAGE, "press “Correct it here and diagnose”", "press “Diagnose as saved”"),
        (TERMINAL, "--correct scale", "--as-saved"),
        (PYTHON, 'corrections=["scale"]', "as_saved=True"),
    ):  # each place names its own way alone
        steps = diagnosis_card(found, {}, Asked(surface=surface)).next_steps
        assert correct in steps[1]
        assert as_saved in steps[2]
        assert ("--" in " ".join(steps)) == (surface is TERMINAL)
    mended = tables.read(path, corrections=["scale"])
    found = verdict([], mended)
    assert (
        "Corrected: q's draws were turned into theta's scale, theta_1 = 50.5"
        in diagnosis_card(found, {}).sentence
    )
    assert "Corrected: q's draws" in found.sentence
    assert [one["name"] for one in found.to_json()["corrected"]] == ["scale"]


def test_a_table_in_memory_is_corrected_as_a_file_is():
    one = exact()
    q = one["theta_q"][..., ::-1]
    table = npt.Table(one["theta"], one["x"], q)
    assert [mistake.name for mistake in table.mistakes] == ["columns"]
    assert not npt.Table(one["theta"], one["x"], q, corrections=["columns"]).mistakes


ASKED = {
    "ask": lambda table: npt.ask("size", table, methods="sbc", progress=False),
    "mend": lambda table: npt.mend(table, progress=False),
    "observation": lambda table: npt.observation(table, 3, local=False, progress=False),
    "run": lambda table: npt.run("sbc", table, progress=False),
    "reliability": lambda table: npt.reliability(table, "theta_1", progress=False),
    "compare": lambda table: npt.compare([table, exact(n=200, k=20)], progress=False),
    "watch": lambda table: list(npt.watch(table, learn=False))[-1],
}


def counts(table):
    """The table with whole numbers, each its nearest 0, 1 or 2."""
    return {
        **table,
        **{name: np.clip(np.rint(table[name] + 1), 0, 2) for name in ("theta", "theta_q")},
    }


@pytest.mark.parametrize("call", ASKED)
def test_nothing_is_said_of_draws_that_look_mistaken_unless_they_are_meant_so(call, tmp_path):
    file = tmp_path / "cols.npz"
    made = exact(n=200, k=20)
    made = counts(made) if call == "reliability" else made
    np.savez(file, **{**made, "theta_q": made["theta_q"][..., [1, 0, 2]]})
    with pytest.raises(ValueError, match="Columns of theta_q are not in theta's order") as caught:
        ASKED[call](npt.read(file))
    said = str(caught.value)
    ways = re.findall(r"npt\.read\(file[^)]*\)(?:\.as_meant\(\))?", said)
    assert ways == ["npt.read(file, corrections=['columns'])", "npt.read(file).as_meant()"]
    assert "--correct columns" in said
    assert "--as-saved" in said
    if call not in ("mend", "compare"):  # which train
        for way in ways:  # what a user types
            assert ASKED[call](eval(way, {"npt": npt, "file": file})).sentences


def test_every_mistake_of_a_file_is_named_with_what_corrects_them_together():
    table = exact()
    q = table["theta_q"][..., [1, 0, 2]] * [1, 1, 1000]
    with pytest.raises(ValueError, match=r"corrections=\['columns', 'scale'\].*columns,scale\."):
        npt.run("sbc", {**table, "theta_q": q}, progress=False)


def test_a_diagnosis_of_a_mistaken_file_says_nothing_at_its_observation(store):
    table = exact()
    wrong = {**table, "theta_q": table["theta_q"][..., [1, 0, 2]], "x_o": np.zeros(D)}
    found = npt.diagnose(wrong, "sbc", "size", store=store, progress=False)
    assert json.loads(found.to_json())["my_observation"] == []
    assert "my-observation" not in found.document()
    with pytest.raises(KeyError, match="the file is to be corrected first"):
        found["size"]


@pytest.mark.slow
def test_false_alarms_over_exact_and_wrong_tables_are_rare():
    trials = 2000
    told = 0
    for seed in range(trials):
        rng = stream(seed, "alarms")
        n, k, d = int(rng.integers(20, 200)), int(rng.integers(2, 60)), int(rng.integers(1, 6))
        width, shift = float(np.exp(rng.normal())), float(3 * rng.standard_normal())
        told += bool(Upload.of(exact(seed, n, k, d, width, shift), order="NKD").mistakes)
    assert told <= statistics.binomial_bounds(trials, 0.001, 0.999)[1]


@pytest.mark.slow
def test_a_correct_q_keeps_its_level_after_its_scale_was_fitted():
    trials, off = 300, 0
    for seed in range(trials):
        table = exact(seed, 100, 20, 1)
        wrong = {**table, "theta": 50 + 30 * table["theta"]}
        data = Upload.of(wrong, corrections=["scale"]).data
        off += relabelled(data, seed, relabelings=199, over_x=False).pvalue <= 0.05
    assert off <= statistics.binomial_bounds(trials, 0.05, 0.999)[1]


def test_a_table_that_is_meant_so_keeps_its_files(tmp_path):
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((50, 2))
    np.savez(tmp_path / "t.npz", theta=theta, x=theta, theta_q=rng.standard_normal((50, 9, 2)))
    table = npt.read(tmp_path / "t.npz")
    assert table.as_meant().files == table.files == (str(tmp_path / "t.npz"),)
