"""My observation: each answer where its truth is known, refusals, command, report, page."""

import io
import json
import re

import numpy as np
import pytest
import torch
from scipy.stats import binom

import validation_core as npt
from tests.conftest import ROOT
from validation_core import report
from validation_core.cli import main
from validation_core.diagnosis import examples
from validation_core.diagnosis.card import diagnosis_card
from validation_core.diagnosis.evidence_curve import evidence_curve
from validation_core.diagnosis.my_observation.look import look, observation_at, own_observation
from validation_core.diagnosis.my_observation.near import evidence_near, near
from validation_core.diagnosis.my_observation.predictive import predictive
from validation_core.diagnosis.my_observation.simulated import simulated
from validation_core.diagnosis.questions.observation.place import unlike
from validation_core.diagnosis.verdict import verdict
from validation_core.statistics import binomial_bounds
from validation_core.tables import Upload
from validation_core.tables.observed import read_observation, with_observation
from validation_core.text import said_equals
from validation_core.types import PosteriorTable

N, K, D = 400, 40, 2


def arrays(seed=0, *, bias=0.0, near=100, n=N, **more):
    """q is exact but for a bias in the rows nearest to the origin."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3))
    centre = x[:, :D]
    theta = centre + rng.standard_normal((n, D))
    theta[np.argsort((x**2).sum(1))[:near], 0] += bias
    q = centre[:, None] + rng.standard_normal((n, K, D))
    return {"theta": theta, "x": x, "theta_q": q, **more}


def asked(table, *given, **more):
    return npt.observation(table, *given, local=False, progress=False, **more)


def test_far_out_the_first_sentence_says_that_no_check_speaks_for_it():
    result = asked(arrays(), np.full(3, 66.0))
    assert result.sentences[0].startswith("No check on simulations speaks for your observation")
    assert "none of 400 simulations is as strange (p = 0.0025)" in result.sentences[0]
    assert "have made it, since none" in result.sentences[0]
    assert result["simulated"].state == "problem"
    assert "unlike these simulations" in " ".join(result["near"].sentences)


def test_a_usual_observation_of_a_right_q_has_no_problem():
    result = asked(arrays(), np.zeros(3))
    assert [answer.state for answer in result.answers] == ["no problem", "no problem"]
    assert result.sentences[0].startswith("Your observation looks like one of the simulations")


def test_an_error_near_the_observation_is_found_and_named():
    result = asked(arrays(bias=1.0), np.zeros(3))
    assert result.answers[0].name == "near"
    assert ", in theta_1 (" in result.sentences[0]
    assert "theta_2" not in result.sentences[0]
    assert asked(arrays(bias=1.0), np.full(3, 2.5))["near"].pvalue > result["near"].pvalue


def test_an_error_far_from_the_observation_is_not_put_near_it():
    table = arrays()
    table["theta"][np.argsort((table["x"] ** 2).sum(1))[-80:], 0] += 3
    said = asked(table, np.zeros(3))["near"].sentences
    assert "of the table: the error may lie far from your observation" in said[2]
    assert "40 nearest simulations alone give at most" in said[2]
    close = asked(arrays(bias=1.0), np.zeros(3))["near"].sentences
    assert not any("far from your observation" in sentence for sentence in close)


def test_the_few_that_reject_are_not_given_the_evidence_of_most_of_the_table():
    table = arrays(bias=1.2, near=20)
    table["theta"][np.argsort((table["x"] ** 2).sum(1))[150:], 0] += 0.8
    answer = asked(table, np.zeros(3))["near"]
    first, largest, where = answer.sentences[:3]
    assert re.search(r"the \d+ simulations nearest .* \(\d\d to 1 against q, rejected", first)
    assert "(p" not in first
    assert re.search(r"over the 3\d\d nearest: .* to 1 \(p < 0.0001, valid", largest)
    assert re.search(r"after a fall to 0\.\d+ to 1 in between\.$", largest)
    assert "of the table: some of that evidence may lie far" in where


def test_large_evidence_is_named_by_a_power_with_a_raised_exponent():
    curve = evidence_curve(np.linspace(0, 30, 100), 0.05, "rows", "%{x} rows")
    assert curve.y.names[-1] == "10¹²"


def test_of_correct_tables_few_are_ever_rejected_near_an_observation():
    rejected = 0
    for seed in range(150):
        given = arrays(seed, n=80)
        table = PosteriorTable(given["theta"], given["x"], given["theta_q"])
        rejected += evidence_near(table, np.zeros(3), seed).pvalue <= 0.05
    assert rejected <= 16  # more in 0.1%


def test_nothing_is_called_wrong_near_a_correct_table_but_by_the_evidence():
    """Evidence alone has the level: beside it ranks of p below alpha are no second claim."""
    tables, silent = 100, 0
    for seed in range(tables):
        given = arrays(seed, n=80)
        table = PosteriorTable(given["theta"], given["x"], given["theta_q"])
        answer = near(table, np.zeros(3), ("a", "b"), alpha=0.2, seed=seed)
        p = answer.numbers["nearest_rows"]["pvalue"]
        if answer.wrong:
            continue
        silent += p <= 0.2
        (said,) = answer.sentences[1:]
        assert "as it should be" not in said
        assert "posterior sd too" not in said
        assert ("nothing is claimed" in said) == (p <= 0.2)
        assert ("show no error" in said) == (p > 0.2)
    assert silent > 5  # or nothing was looked at


def test_near_an_error_every_sentence_keeps_to_the_level_that_is_asked_for():
    given = arrays(bias=0.55, near=60)
    table = PosteriorTable(given["theta"], given["x"], given["theta_q"])
    usual, strict = (
        near(table, np.zeros(3), ("a", "b"), alpha=alpha, seed=0) for alpha in (0.05, 1e-6)
    )
    assert usual.wrong
    assert "q's a sits" in " ".join(usual.sentences)
    assert not strict.wrong
    assert "q's a" not in " ".join(strict.sentences)


def test_a_row_is_left_out_of_what_it_is_judged_by():
    result = asked(arrays(), 7)
    (first,) = (answer for answer in result.answers if answer.name == "simulated")
    assert first.numbers["simulations"] == N - 1
    assert np.array_equal(result.x_o[0], arrays()["x"][7])


@pytest.mark.parametrize("missing", [[], [2, 5]])
def test_a_row_is_counted_in_the_file_rows_that_are_left_out_too(
    missing, tmp_path, capsys, monkeypatch, store, quick_training
):
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path / "cache"))
    given = arrays(n=100)
    given["theta_q"][missing, 0, 0] = np.nan
    np.savez(tmp_path / "table.npz", **given)
    command = ["observation", str(tmp_path / "table.npz"), "--quick", "--row"]
    assert main([*command, "12"]) == 0
    assert ("2 rows were left out" in capsys.readouterr().out) == bool(missing)
    assert main([*command, "12", "--json", "-"]) == 0
    np.testing.assert_allclose(
        json.loads(capsys.readouterr().out)["observations"], given["x"][[12]], rtol=1e-6
    )
    assert main([*command, "2"]) == (2 if missing else 0)
    assert ("got 2, which was left out" in capsys.readouterr().err) == bool(missing)
    local = npt.observation(given, 12, store=store, progress=False)["local"]
    assert "row 12, counted from 0" in " ".join(local.sentences)
    found = npt.run("lc2st", given, store=store, progress=False)
    np.testing.assert_allclose(given["x"][found.effect["row"]], found.effect["x_o"], rtol=1e-6)


def test_several_rows_are_left_out_of_what_they_are_judged_by():
    result = asked(arrays(), rows=np.array([7, 3]))
    assert np.array_equal(result.x_o, arrays()["x"][[7, 3]])
    assert result["simulated"].numbers["joint"] is not None
    for wrong, words in (({"rows": [3, 3]}, "once; got"), ({"x_o": 1, "rows": [3]}, "got both")):
        with pytest.raises(ValueError, match=words):
            asked(arrays(), **wrong)


def test_several_observations_are_told_by_their_number():
    x_o = np.random.default_rng(1).standard_normal((6, 3))
    x_o[4] = 30
    assert (
        "no single one of 6 can stand out at 5%" in asked(arrays(), x_o)["simulated"].sentences[2]
    )
    result = asked(arrays(n=600), x_o)
    assert "1 of 6 observations is unlike the simulations (p =" in result.sentences[0]
    assert "speaks for 4 (counted from 0" in result.sentences[0]
    assert len(result["simulated"].rows) == 6


def test_of_several_observations_one_p_is_shown_and_claims():
    """Twice the smaller of two tests, each of which would err at the level by itself."""
    rejected, tables = 0, 200
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        x, x_o = rng.standard_normal((160, 1)), rng.standard_normal((3, 1))
        answer = simulated(x, x_o, ["x_1"], alpha=0.2, seed=seed)
        both = min(answer.numbers["adjusted"]), answer.numbers["joint"]
        assert answer.pvalue == min(1, 2 * min(both))
        assert answer.wrong == (answer.pvalue <= 0.2)
        named = "unlike the simulations" in answer.sentences[0]
        assert named == answer.wrong
        assert f"(p {said_equals(answer.pvalue)})" in answer.sentences[0]
        rejected += answer.wrong
    assert rejected <= binom.ppf(0.999, tables, 0.2)


def test_observations_that_are_unlike_together_are_told_with_the_p_of_the_answer():
    x_o = np.full((8, 3), 1.4) * np.sign(np.random.default_rng(0).standard_normal((8, 3)))
    answer = asked(arrays(), x_o)["simulated"]
    assert min(answer.numbers["adjusted"]) > 0.025
    assert f"unlike the simulations (p {said_equals(answer.pvalue)}); no" in answer.sentences[0]
    assert answer.pvalue == 2 * answer.numbers["joint"]


def test_weights_of_an_exact_q_are_all_alike():
    rng = np.random.default_rng(2)
    draws = rng.standard_normal(200)
    log_q = -(draws**2) / 2
    result = asked(arrays(), np.zeros(3), log_q_o=log_q, log_joint_o=log_q - 3)
    weighed = result["weights"]
    assert weighed.numbers["effective_share"] == pytest.approx(1)
    assert weighed.numbers["log_evidence"] == pytest.approx(-3)
    draws = rng.standard_normal(4000)
    narrow = asked(arrays(), np.zeros(3), log_q_o=-(draws**2) / 2, log_joint_o=-(draws**2) / 60)[
        "weights"
    ]
    assert narrow.state == "problem"
    assert narrow.sentences[0].startswith("q misses posterior mass")


def densities(draws, rng, *, width=1.0, at=1):
    """log q and log p of draws of a standard normal q where p is `width` times as wide."""
    theta = rng.standard_normal((at, draws) if at > 1 else draws)
    return -(theta**2) / 2, -((theta / width) ** 2) / 2


def weighed(log_q, log_joint):
    return asked(arrays(n=60), np.zeros(3), log_q_o=log_q, log_joint_o=log_joint)["weights"]


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("draws", [10, 20, 24, 30, 50, 400, 5000])
def test_weights_never_call_the_posterior_itself_wrong(draws, precision):
    rng = np.random.default_rng(6)
    for _ in range(5):
        log_q = densities(draws, rng)[0]
        answer = weighed(log_q.astype(precision), (log_q - np.pi).astype(precision))
        assert answer.state == "cannot tell"
        told = draws > 20
        assert answer.sentences[0].startswith("Weights can mend" if told else "Too few draws that")
        assert (answer.numbers["pareto_k"] == 0) == told


def test_the_nearest_rows_do_not_call_the_posterior_itself_wrong():
    for draws in (20, 50):
        log_q = densities(draws, np.random.default_rng(6), at=N)[0].astype(np.float32)
        given = arrays(log_q_draws=log_q, log_joint_draws=log_q - np.float32(np.pi))
        given["theta_q"] = np.repeat(given["theta_q"], 2, 1)[:, :draws]
        assert asked(given, np.zeros(3))["weights"].state == "cannot tell"


def test_of_few_draws_weights_that_nearly_agree_claim_nothing():
    rng = np.random.default_rng(7)
    for _ in range(20):
        answer = weighed(np.zeros(30), rng.standard_normal(30) / 20)
        assert answer.state == "cannot tell"
    said = weighed(np.zeros(30), np.linspace(0, 1, 30) ** 20).sentences[0]
    assert said.startswith("Too few draws to tell whether q misses posterior mass at your obs")


@pytest.mark.parametrize(("draws", "width", "least"), [(400, 2, 10), (5000, 2, 6), (5000, 3, 14)])
def test_a_q_too_narrow_is_found_by_its_weights(draws, width, least):
    """The tail's own k is 0.75 and 0.89, above 0.62 and 0.70, and found a little lower."""
    rng = np.random.default_rng(8)
    found = sum(bool(weighed(*densities(draws, rng, width=width)).wrong) for _ in range(24))
    assert found >= least


def test_a_missed_mode_is_found_although_almost_all_draws_keep_their_weight():
    z = np.random.default_rng(9).standard_normal(400)
    log_q, log_p = -(z**2) / 2, np.logaddexp(-(z**2) / 2, -((z - 6) ** 2) / 2)
    answer = weighed(log_q, log_p)
    assert answer.numbers["effective_share"] > 0.9
    assert answer.state == "problem"


def test_the_nearest_rows_lend_their_densities():
    rng = np.random.default_rng(3)
    log_q = rng.standard_normal((N, K))
    dense = arrays(log_q_draws=log_q, log_joint_draws=log_q + rng.standard_normal((N, K)) / 4)
    weighed = asked(dense, np.zeros(3))["weights"]
    assert "at the 20 simulations nearest" in weighed.sentences[0]
    assert weighed.numbers["spread_nats"] == pytest.approx(0.25, abs=0.05)


def test_a_prediction_that_misses_is_told_as_not_exact():
    x_rep = np.random.default_rng(4).standard_normal((300, 3))
    far = asked(arrays(), np.array([0.0, 0.0, 6.0]), x_rep=x_rep)["predictive"]
    assert far.sentences[0].startswith("Data that q predicts are unlike your observation")
    assert "not exact" in far.cannot
    usual = asked(arrays(), np.zeros(3), x_rep=x_rep)["predictive"]
    assert usual.state == "cannot tell"


def test_the_p_of_a_prediction_is_of_its_summaries_too():
    """A shift of all numbers that none of them shows is found by their mean."""
    rng = np.random.default_rng(0)
    x_rep = rng.standard_normal((300, 20))
    x_o = rng.standard_normal(20)
    far = predictive(x_rep, x_o - x_o.mean() + 0.8, (), alpha=0.05, seed=0)
    assert far.pvalue <= 0.05
    assert far.sentences[1] == "Its mean would be rare among them."
    right = [
        predictive(rng.standard_normal((60, 4)), rng.standard_normal(4), (), alpha=0.2, seed=seed)
        for seed in range(200)
    ]
    found = [one for one in right if one.pvalue <= 0.2]
    assert len(found) <= binomial_bounds(len(right), 0.2, 0.999)[1]
    assert not any("rare" in " ".join(one.sentences) for one in right if one not in found)


def test_what_was_not_given_says_what_it_needs():
    result = asked(arrays(), np.zeros(3))
    with pytest.raises(KeyError, match="log_q_o and log_joint_o"):
        result["weights"]
    assert "x_rep" in result.left_out["predictive"]
    assert json.loads(result.to_json())["left_out"].keys() == result.left_out.keys()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x_o": np.zeros(4)}, r"the 3 numbers of an x; got float64 of shape \(4,\)"),
        ({"x_o": np.zeros((3, 2))}, r"the 3 numbers of an x; got float64 of shape \(3, 2\)"),
        ({"x_o": np.zeros(3), "x_rep": np.zeros((3, 50))}, "20 or more rows of 3"),
        (
            {"x_o": np.zeros(3), "x_summary": np.zeros((2, 400)), "x_summary_o": np.zeros(2)},
            r"x_summary \(400, S\)",
        ),
        ({"x_o": [0, np.nan, 0]}, "finite numbers; got 1 NaN"),
        ({"x_o": 400}, "from 0 to 399; got 400"),
        ({"x_o": np.zeros(3), "log_q_o": np.zeros(5)}, "got 5 and None"),
        ({"x_o": np.zeros(3), "x_rep": np.zeros((5, 3))}, "20 or more rows of 3"),
        ({"x_o": np.zeros(3), "x_summary": np.zeros((400, 2))}, "x_summary_o"),
        ({"x_o": np.zeros(3), "theta_o": np.zeros((9, 3))}, "theta_o must hold"),
        ({}, "got a table without x_o"),
        ({"x_o": 0, "log_q_o": ["a"], "log_joint_o": ["b"]}, "got other things than numbers"),
    ],
)
def test_what_does_not_fit_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        asked(arrays(), **given)


@pytest.mark.parametrize(
    ("table", "held"),
    [
        (lambda: {"p": np.zeros((50, 2)), "q": np.ones((50, 2))}, "two samples p and q"),
        (lambda: npt.Table.ranks(np.arange(60.0)[:, None], 60), "ranks alone"),
        (lambda: npt.Table.classes(np.full((60, 2), 0.5), np.arange(60) % 2), "probabilities"),
        (lambda: {name: arrays()[name] for name in ("theta", "theta_q")}, "but no x"),
    ],
)
@pytest.mark.parametrize("x_o", [np.zeros(2), 3])
def test_without_x_there_is_no_observation(table, held, x_o):
    with pytest.raises(ValueError, match=f"An observation is an x; got .*{held}"):
        asked(table(), x_o)


def test_rows_that_share_one_x_count_once():
    shared = {name: np.repeat(array[:40], 10, axis=0) for name, array in arrays().items()}
    shared["theta"] = arrays()["theta"]
    result = asked(shared, np.full(3, 0.3))
    assert result["simulated"].numbers["simulations"] == 40
    assert result["simulated"].state == "no problem"
    with pytest.raises(ValueError, match="20 simulations of their own; got 5"):
        asked(
            {
                **shared,
                "x": np.repeat(shared["x"][::80], 80, 0),
                "theta_q": np.repeat(shared["theta_q"][::80], 80, 0),
            },
            np.zeros(3),
        )


def test_an_observation_beyond_all_numbers_has_answers():
    result = asked(arrays(), np.full(3, 1e100))
    assert result["simulated"].state == "problem"
    assert result["near"].pvalue > 0.05


def one_coordinate_off():
    """An observation in ten dimensions whose nearest simulation is not much farther than usual."""
    given, x_o = arrays(), np.zeros(10)
    more = np.random.default_rng(5).standard_normal((N, 7))
    x_o[2] = 5
    observed = {"x_o": x_o, "theta_o": np.zeros((5, D))}
    return Upload.of({**given, "x": np.column_stack([given["x"], more]), **observed})


def test_the_card_has_no_answer_where_the_exact_test_rejects():
    upload = one_coordinate_off()
    card = diagnosis_card(verdict([], upload, alpha=0.05, seed=0), {})
    assert card.state == "unlike"
    assert card.warning == unlike(upload)
    assert "of 400 simulations" in card.warning
    assert card.warning.endswith("farthest in x_3. This diagnosis says nothing about q there.")


def test_the_report_has_a_section_of_the_observation():
    upload = one_coordinate_off()
    document = report.html(verdict([], upload, alpha=0.05, seed=0))
    assert "Could the simulator have made it?" in document
    assert "What it cannot say." in document
    plain = report.html(verdict([], Upload.of(arrays()), alpha=0.05, seed=0))
    assert "Could the simulator have made it?" not in plain


def test_an_observation_may_be_a_tensor():
    table, x_o = npt.Table(**arrays()), np.zeros(3)
    tensor = torch.zeros(3, requires_grad=True)
    asked = {"local": False, "progress": False}
    expected = npt.observation(table, x_o, **asked).pvalues
    assert npt.observation(table, tensor, **asked).pvalues == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [("x.txt", "1\n2\n3\n"), ("x.txt", "1 2 3\n"), ("x.csv", "x_1,x_2,x_3\n1,2,3\n"),
     ("x.csv", "x_o\n1\n2\n3\n"), ("x.json", "[1, 2, 3]")],
)  # fmt: skip
def test_an_observation_may_be_columns_of_text(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    given = read_observation(tmp_path / name)
    assert observation_at(Upload.of(arrays()), given["x_o"]).x.tolist() == [[1, 2, 3]]


def test_the_command_reads_an_observation_from_a_file(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path / "cache"))
    np.savez(tmp_path / "table.npz", **arrays())
    np.save(tmp_path / "x_o.npy", np.full(3, 66.0))
    page = tmp_path / "page.html"
    command = ["observation", str(tmp_path / "table.npz"), "--quick"]
    assert main([*command, "--observed", str(tmp_path / "x_o.npy"), "--report", str(page)]) == 0
    assert "No check on simulations speaks for your observation" in capsys.readouterr().out
    assert "My observation" in page.read_text()
    assert main([*command, "--row", "3", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["answers"][0]["name"] in ("simulated", "near")
    assert main(command) == 2
    assert "without x_o" in capsys.readouterr().err


def test_local_tests_answer_beside_the_others(store, quick_training):
    given = arrays(n=60)
    result = npt.observation(given, np.zeros(3), np.zeros((10, D)), store=store, progress=False)
    assert result["local"].sentences
    assert "local" not in result.left_out


def test_the_example_has_a_wave_that_the_simulator_never_makes():
    upload = examples.wrong()
    answers = look(upload, observation_at(upload, examples.SECOND_WAVE))
    assert answers[0].name == "simulated"
    assert answers[0].wrong
    with pytest.raises(ValueError, match="without x_o"):
        own_observation(upload)


def test_the_command_refuses_draws_that_look_mistaken(tmp_path, capsys):
    one = arrays()
    file = tmp_path / "cols.npz"
    np.savez(file, **{**one, "theta_q": one["theta_q"][..., ::-1]})
    asked_for = ["observation", str(file), "--row", "3", "--quick"]
    assert main(asked_for) == 2
    assert "error: Columns of theta_q are not in theta's order" in capsys.readouterr().err
    assert main([*asked_for, "--correct", "columns"]) == 0
    assert main([*asked_for, "--as-saved"]) == 0


def test_the_page_asks_about_a_mistake_of_the_file_first():
    from streamlit.testing.v1 import AppTest

    one = arrays(n=100)
    sent = io.BytesIO()
    np.savez(sent, **{**one, "theta_q": one["theta_q"][..., ::-1]})
    page = AppTest.from_file(str(ROOT / "pages/observation/page.py"), default_timeout=120).run()
    page.file_uploader(key="file").set_value(
        [("cols.npz", sent.getvalue(), "application/octet-stream")]
    ).run()
    assert not page.exception
    assert not page.subheader  # nothing is said yet
    assert any("no test says anything of q" in one.value for one in page.warning)
    assert page.button(key="correct").label == "Correct it here and look"
    page.button(key="correct").click().run()
    assert page.subheader
    page.button(key="undo-correction").click().run()
    assert not page.subheader
    page.button(key="as-it-is").click().run()
    assert page.subheader


def test_the_page_opens_with_an_example(monkeypatch):
    from streamlit.testing.v1 import AppTest

    page = AppTest.from_file(str(ROOT / "pages/observation/page.py"), default_timeout=120).run()
    assert not page.exception
    assert "Could the simulator have made it?" in page.subheader[0].value
    said = " ".join(text.value for text in page.markdown)
    assert "No check on simulations speaks for your observation" in said
    assert len(page.get("plotly_chart")) == 3
    assert any("with a second wave" in text.value for text in page.caption)
    page.segmented_control(key="look-at").set_value("row").run()
    assert not page.exception
    assert not any("second wave" in text.value for text in page.caption)
    assert any("Row 0 of the example" in text.value for text in page.caption)
    assert "looks like one of the simulations" in " ".join(text.value for text in page.markdown)
    page.segmented_control(key="look-at").set_value("typed").run()
    assert page.text_input(key="look-x").label.endswith("infected on day 48 and 7 more")


def test_a_file_holds_several_observations_and_what_q_predicts(tmp_path):
    rng = np.random.default_rng(5)
    x_o = rng.standard_normal((4, 3))
    x_o[2] = 30
    table = npt.Table(**arrays(), x_o=x_o, x_rep=rng.standard_normal((50, 3)))
    again = npt.read(table.save(tmp_path / "table.npz"))
    assert again.upload.digest == table.upload.digest != npt.Table(**arrays()).upload.digest
    result = asked(again)
    assert result.x_o.shape == (4, 3)
    assert "1 of 4 observations is unlike the simulations" in result.sentences[0]
    assert result["predictive"].numbers["draws"] == 50
    assert "1 of your 4 observations is unlike the simulations: 2" in unlike(again.upload)
    lone = npt.Table(**arrays(), x_o=x_o[2])
    assert lone.upload.observed is None
    assert "x_o came without theta_o" in lone.notes[-1]
    assert "unlike every simulation" in unlike(lone.upload)
    found = verdict([], again.upload)
    said = json.loads(report.as_json(found, {}))["my_observation"]
    assert [answer["name"] for answer in said] == ["simulated", "near", "predictive"]
    assert json.loads(report.as_json(verdict([], Upload.of(arrays())), {}))["my_observation"] == []


@pytest.mark.parametrize("beside", ["quantity_f", "bounds", "log_q", "x_o"])
def test_tables_that_differ_stay_different_with_one_observation_beside_them(beside):
    """Results are stored by the digest: whatever is hashed of a table is, with x_o beside it."""
    few = arrays(n=60)
    more = {
        "quantity_f": {
            "quantity_f": few["theta"][:, 0],
            "quantity_f_draws": few["theta_q"][..., 0],
        },
        "bounds": {"bounds": np.array([[-9.0, 9.0]] * D)},
        "log_q": {"log_q": np.arange(60.0)},
        "x_o": {"x_o": np.ones(3), "theta_o": few["theta_q"][0]},
    }[beside]
    changed = {name: values + 1 for name, values in more.items()}
    digests = {
        with_observation(npt.read({**few, **given}).upload, np.zeros(3), few["theta_q"][0]).digest
        for given in (more, changed)
    }
    assert len(digests) == 2
