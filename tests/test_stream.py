"""A stream of rows: level at every moment, what is found, refusals, the command line."""

import io
import json
import sys

import numpy as np
import pytest
from scipy.stats import binom

import validation_core as npt
from validation_core.cli import main
from validation_core.diagnosis.evidence import RankEvidence
from validation_core.diagnosis.stream.rows import StreamRows
from validation_core.diagnosis.stream.running import FIRST, RunningEvidence
from validation_core.types import PosteriorTable


def drawn(n=1, seed=0, *, width=1.0, correlation=0.0, k=30):
    """q has sd `width` where 1 is right, and misses a correlation."""
    rng = np.random.default_rng(seed)
    x, e = rng.standard_normal((n, 2)), rng.standard_normal((n, 2))
    e[:, 1] = correlation * e[:, 0] + np.sqrt(1 - correlation**2) * e[:, 1]
    return {"theta": x + e, "x": x, "theta_q": x[:, None] + width * rng.standard_normal((n, k, 2))}


def one_by_one(arrays):
    return ({name: array[i] for name, array in arrays.items()} for i in range(len(arrays["x"])))


def last(rows, **more):
    *_, state = npt.watch(rows, **more)
    return state


def follow_the_past(past, seed):
    """A learned score that is as unfair as a predictable one can be: it follows the last truth."""
    del seed
    direction = np.sign(past.theta[-1] - past.q[-1].mean(0))

    def score(rows):
        return rows.theta @ direction, rows.q @ direction

    return score


def test_of_correct_streams_few_are_ever_decided_whatever_is_learned():
    streams, rejected = 2000, 0
    rng = np.random.default_rng(1)
    for seed in range(streams):
        theta, q = rng.standard_normal((80, 1)), rng.standard_normal((80, 9, 1))
        running = RunningEvidence(1, seed, follow_the_past)
        running.add(PosteriorTable(theta, np.zeros((80, 0)), q))
        rejected += running.evidence().pvalue <= 0.05
    assert rejected <= binom.isf(1e-4, streams, 0.05)


def test_each_row_is_bet_on_before_it_is_learned_from():
    seen = []

    def learn(past, seed):
        seen.append(len(past))

        def score(rows):
            assert not np.isin(rows.theta[:, 0], past.theta[:, 0]).any()
            return rows.theta[:, 0], rows.q[..., 0]

        return score

    given = drawn(400)
    whole, by_row = (RunningEvidence(2, 0, learn) for _ in range(2))
    whole.add(PosteriorTable(given["theta"], given["x"], given["theta_q"]))
    assert seen == [FIRST, 75, 112, 168, 252, 378]
    for i in range(400):
        part = slice(i, i + 1)
        by_row.add(PosteriorTable(*(given[name][part] for name in ("theta", "x", "theta_q"))))
    assert seen[6:] == seen[:6]
    assert np.allclose(by_row.evidence().wealth, whole.evidence().wealth)


def test_a_state_does_not_change_as_rows_come():
    states = list(npt.watch(one_by_one(drawn(60)), learn=False))
    assert [state.n for state in states] == list(range(1, 61))
    assert np.array_equal(states[9].evidence.wealth, states[-1].evidence.wealth[:10])
    pvalues = [state.pvalue for state in states]
    assert pvalues == sorted(pvalues, reverse=True)


def sorted_by_the_first(arrays):
    order = arrays["theta_q"][..., :1].argsort(axis=1)
    return {**arrays, "theta_q": np.take_along_axis(arrays["theta_q"], order, axis=1)}


def test_in_what_order_a_rows_draws_come_does_not_matter():
    rows = sorted_by_the_first(drawn(160, k=200))
    assert not last(rows).decided
    few = {**rows, "theta_q": rows["theta_q"][:, ::4]}
    first = [{name: array[:1] for name, array in few.items()}]
    rest = {name: array[1:] for name, array in rows.items()}
    whole = last([*first, rest], learn=False)
    assert not whole.decided
    np.testing.assert_allclose(
        last([*first, *one_by_one(rest)], learn=False).evidence.wealth, whole.evidence.wealth
    )


def test_a_score_is_learned_of_draws_in_an_order_as_of_others():
    sorted_rows = sorted_by_the_first(drawn(300, correlation=0.9, k=100))
    assert last(sorted_rows).decided


def test_a_tables_warnings_are_said_once():
    table = npt.Table(**sorted_by_the_first(drawn(60)))
    assert len(table.warnings) == 1
    assert last([table, table], learn=False).sentences[-1:] == table.warnings


def test_one_row_and_several_of_one_parameter_are_told_apart_or_refused():
    theta, q = np.arange(9.0), np.random.default_rng(0).standard_normal((9, 9))
    with pytest.raises(ValueError, match=r"or n rows of one; got theta \(9,\), theta_q \(9, 9\)"):
        list(npt.watch({"theta": theta, "theta_q": q}))
    assert len(StreamRows().table({"theta": theta, "theta_q": q, "x": np.zeros(4)})) == 1
    several = StreamRows()
    several.table({"theta": theta, "theta_q": np.zeros((20, 9)) + np.arange(20)[:, None]})
    with pytest.raises(ValueError, match="K = 9"):  # one row, of fewer draws than the first
        several.table({"theta": theta, "theta_q": q})


def test_a_narrow_q_is_decided_soon_and_named():
    after = [last([drawn(300, seed, width=0.7)], learn=False).decided_after for seed in range(20)]
    assert all(after)
    assert np.median(after) < 80
    state = last([drawn(300, width=0.5)], learn=False)
    assert state.sentences[0].startswith(f"q is wrong: decided after {state.decided_after} of 300")
    assert state.figures()[0].title == "Evidence against q, row after row"
    assert json.loads(state.to_json())["decided_after"] == state.decided_after


def test_what_no_parameter_shows_is_learned_from_the_rows_before():
    given = drawn(150, correlation=0.9)
    assert not last([given], learn=False).decided
    state = last([given])
    assert FIRST < state.decided_after <= 150
    assert "a score learned from the rows before" in state.sentences[1]


def test_rows_that_are_sent_again_are_left_out_and_said():
    given = list(one_by_one(drawn(150)))
    once = last(given, learn=False)
    state = last([*given[:100], *given[:50], *given[100:]], learn=False)
    assert (state.n, state.repeats) == (150, 50)
    assert state.sentences[-1] == "50 rows left out: the theta and x of an earlier row."
    np.testing.assert_array_equal(state.evidence.wealth, once.evidence.wealth)
    arrays = {name: np.concatenate([array, array]) for name, array in drawn(90).items()}
    assert last([arrays], learn=False).n == 90


@pytest.mark.parametrize("law", ["grid", "mass at 0"])
def test_rows_that_may_be_alike_by_chance_are_all_bet_on(law):
    rng = np.random.default_rng(0)
    theta, x = rng.integers(0, 9, (300, 1)), rng.integers(0, 2, (300, 1))
    if law != "grid":
        theta = np.where(theta < 4, 0.0, rng.standard_normal((300, 1)))
    q = rng.standard_normal((300, 9, 1))
    assert last([{"theta": theta, "x": x, "theta_q": q}], learn=False).n == 300


def test_an_undecided_stream_is_no_proof():
    state = last([drawn(80)], learn=False)
    assert state.decided_after is None
    assert state.sentences[0].startswith("Not decided after 80 rows: the evidence against q was")
    assert state.sentences[1] == "That is no proof that q is right."


def test_rows_come_in_many_forms():
    row = next(one_by_one(drawn()))
    reader = StreamRows()
    forms = [
        row,
        {name: array.tolist() for name, array in row.items()},
        {"targets": row["theta"], "x": row["x"], "posterior_samples": row["theta_q"]},
        drawn(3),
        npt.Table(**drawn(60)).upload,
        {**row, "x": row["x"] + 1, "theta_q": np.vstack([row["theta_q"], row["theta_q"]])},
    ]
    assert [len(reader.table(item)) for item in forms] == [1, 1, 1, 3, 60, 1]
    assert len(reader.table({**row, "theta": [np.nan, 0]})) == 0
    assert (reader.read, reader.left_out) == (68, 1)
    named = StreamRows()
    fields = {"a": 0.5, "b": 1.0}
    table = named.table({"theta": fields, "theta_q": {"b": [3, 4, 5], "a": [0, 1, 2]}})
    assert named.names == ("a", "b")
    assert table.q[0, :, 1].tolist() == [3, 4, 5]
    single = StreamRows().table({"theta": 0.5, "x": 1.0, "theta_q": [0.1, 0.2, 0.3]})
    assert (single.theta.shape, single.x.shape, single.q.shape) == ((1, 1), (1, 1), (1, 3, 1))


def test_rows_that_name_their_parameters_are_matched_to_the_first_by_name():
    theta, q = [[0.5, 1.0]], [[[0, 3], [1, 4], [2, 5]]]
    reader = StreamRows()
    forms = [
        {"theta": theta, "theta_q": q, "theta_names": ["a", "b"]},
        {"theta": [[1.0, 0.5]], "theta_q": [[[3, 0], [4, 1], [5, 2]]], "theta_names": ["b", "a"]},
        {"theta": {"b": 1.0, "a": 0.5}, "theta_q": {"a": [0, 1, 2], "b": [3, 4, 5]}},
        {"theta": theta, "theta_q": q},
    ]
    for form in forms:
        rows = reader.table(form)
        assert (rows.theta.tolist(), rows.q.tolist()) == (theta, q)
    assert reader.names == ("a", "b")
    with pytest.raises(ValueError, match=r"Rows whose draws have no names .* got b, a after a, b"):
        reader.table({"theta": {"b": 1.0, "a": 0.5}, "theta_q": q[0]})
    with pytest.raises(ValueError, match=r"parameters of the first, a, b; got a, c\. Send"):
        reader.table({"theta": {"a": 0.5, "c": 1.0}, "theta_q": {"a": [0, 1, 2], "c": [3, 4, 5]}})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"theta": [0.0]}], "Row 1 of the stream: .* got no theta_q"),
        ([{"theta": [0, 1], "theta_q": [[0, 1, 2]] * 9}], r"got theta \(2,\)"),
        ([{"theta": ["a"], "theta_q": [[0.0]] * 9}], "theta that holds other things"),
        ([{"theta": [0], "theta_q": [[1]] * 9, "log_w": [0]}], "count equally; got log_w"),
        ([{"theta": [0], "theta_q": [[1]]}], "2 draws of q or more; got 1"),
        ([drawn(4), drawn(1, k=29)], "Row 5 of the stream: .* got D = 2, M = 2, K = 29"),
        (["theta"], "got str"),
        ([npt.Table.samples(np.zeros((60, 1)), np.ones((60, 1)))], "got two samples"),
    ],
)
def test_what_is_no_row_is_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        list(npt.watch(rows))


def lines(arrays):
    return "".join(
        json.dumps({name: array.tolist() for name, array in row.items()}) + "\n"
        for row in one_by_one(arrays)
    )


def test_lines_on_standard_input_end_with_the_decision(monkeypatch, capsys):
    text = lines(drawn(60, width=0.4)) + "this line is never read\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["diagnose", "--stream", "-", "--fail-on", "problem"]) == 1
    assert capsys.readouterr().out.startswith("q is wrong: decided after ")


def test_a_file_of_lines_and_a_folder_are_read_to_their_end(tmp_path, capsys):
    path, page = tmp_path / "rows.jsonl", tmp_path / "page.html"
    path.write_text(lines(drawn(45)).rstrip("\n"))
    command = ["diagnose", "--stream", "--wait", "0"]
    assert main([*command, str(path), "--report", str(page), "--fail-on", "power"]) == 3
    assert capsys.readouterr().out.startswith("Not decided after 45 rows")
    assert "Evidence against q, row after row" in page.read_text()
    np.savez(tmp_path / "b.npz", **drawn(20))
    np.savez(tmp_path / "a.npz", **drawn(20, 1, width=0.3))
    assert main([*command, str(tmp_path), "--json", "-"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["rows"] == 40
    assert said["decided_after"] <= 20


def test_a_file_that_is_not_there_is_refused(tmp_path, capsys):
    assert main(["diagnose", "--stream", str(tmp_path / "none.jsonl")]) == 2
    assert "must be there, if only empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("{", (), "got line 1, which is not"),
        ("", (), "got none from"),
        ("{}", ("--method", "sbc"), "got --method"),
        ("{}", ("--circular", "theta_1"), "got --circular"),
        ("{}", ("--map", "theta=a", "--max-rank", "3"), "got --map, --max-rank"),
    ],
)
def test_the_command_refuses_in_words(tmp_path, capsys, text, options, message):
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    assert main(["diagnose", "--stream", "--wait", "0", str(path), *options]) == 2
    assert message in capsys.readouterr().err


def test_one_table_is_a_stream_by_itself():
    rows = drawn(25)
    *_, whole = npt.watch([rows], learn=False)
    for one in (rows, npt.Table(**rows)):
        *_, state = npt.watch(one, learn=False)
        assert state.pvalue == whole.pvalue
    with pytest.raises(TypeError, match="seed is a whole number"):
        npt.watch(rows, seed=0.5)


def test_a_stream_without_rows_says_where_none_came(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert main(["diagnose", "--stream", "-"]) == 2
    assert "got none on standard input" in capsys.readouterr().err
    np.save(tmp_path / "theta.npy", np.zeros(3))
    assert main(["diagnose", "--stream", "--wait", "0", str(tmp_path)]) == 2
    assert "got no .npz file in" in capsys.readouterr().err
    assert main(["diagnose", "-"]) == 2
    assert "Name /dev/stdin" in capsys.readouterr().err


def test_a_wrong_name_needs_its_own_evidence():
    each = np.log(np.array([[10.0, 30.0], [1.0, 50.0]]))
    found = RankEvidence(np.log(np.array([5.5, 40.0])), each, np.array([3]))
    assert found.named(0.05) == ()
    assert found.clear_scores(0.05) == (1,)


def test_a_table_meant_as_saved_is_streamed_as_saved(tmp_path, capsys):
    rng = np.random.default_rng(0)
    theta = 10 + 5 * rng.standard_normal((300, 2))
    x, middle = (theta + rng.standard_normal((300, 2)) for _ in range(2))
    draws = (middle[:, None] + rng.standard_normal((300, 50, 2)) - 10) / 5
    np.savez(tmp_path / "scaled.npz", theta=theta, x=x, theta_q=draws)
    command = ["diagnose", str(tmp_path / "scaled.npz"), "--stream"]
    assert main(command) == 2
    assert "standardised" in capsys.readouterr().err
    assert main([*command, "--as-saved"]) == 0
    assert "q is wrong" in capsys.readouterr().out
