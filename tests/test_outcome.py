"""A verdict as a gate: outcomes, exit codes, summaries, and the schema of its JSON."""

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest

import validation_core as npt
from validation_core.cli import main
from validation_core.report.numbers import schema

N, K = 200, 20
QUICK = npt.Omnibus(learned=False)


def table(n=N, shift=0.0, names=("a", "b")):
    rng = np.random.default_rng(4)
    x = rng.standard_normal((n, 2))
    theta = x + rng.standard_normal((n, 2))
    theta_q = x[:, None] + shift + rng.standard_normal((n, K, 2))
    return npt.Table(theta, x, theta_q, names=list(names))


def found(*given, **options):
    options = {"questions": "none", "progress": False, "methods": [QUICK, "sbc"]} | options
    return npt.diagnose(table(*given), **options)


def test_three_outcomes(store):
    right, wrong, few = found(store=store), found(N, 1.0, store=store), found(25, store=store)
    assert [one.outcome() for one in (right, wrong, few)] == [
        "passed",
        "problem",
        "too little power",
    ]
    assert [one.passed for one in (right, wrong, few)] == [True, False, False]
    assert right.outcome(shift=0.05) == "too little power"
    assert wrong.outcome(shift=0.05) == "problem"
    with pytest.raises(ValueError, match="above 0 posterior sd"):
        right.outcome(shift=0)


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """A folder with a correct, a wrong and a short table, where commands run."""
    monkeypatch.chdir(tmp_path)
    table().save("table.npz")
    table(N, 1.0).save("wrong.npz")
    table(25).save("few.npz")
    return tmp_path


TESTS = ["--method", "omnibus:learned=false", "--method", "sbc", "--answers", "none"]


@pytest.mark.parametrize(
    ("file", "fail_on", "code"),
    [
        ("table.npz", "power", 0),
        ("wrong.npz", "never", 0),
        ("wrong.npz", "problem", 1),
        ("wrong.npz", "power", 1),
        ("few.npz", "problem", 0),
        ("few.npz", "power", 3),
        ("nowhere.npz", "power", 2),
    ],
)
def test_exit_codes(saved, file, fail_on, code, capsys):
    assert main(["diagnose", file, "--fail-on", fail_on, *TESTS]) == code


def test_a_smaller_defect_needs_more_rows(saved, capsys):
    assert main(["diagnose", "table.npz", "--fail-on", "power", "--shift", "0.05", *TESTS]) == 3
    assert main(["diagnose", "table.npz", "--shift", "0", *TESTS]) == 2
    assert "above 0 posterior sd" in capsys.readouterr().err


def test_the_documented_gate_runs(saved, capsys):
    """Its own lines, typed as they stand, and each file that they write."""
    page = (Path(__file__).parents[1] / "docs" / "gate.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"```bash\n(.*?)```", page, re.DOTALL)
    program, *arguments = shlex.split(line.replace("\\\n", " "))
    assert program == "nptlab"
    assert main([*arguments, *TESTS[:4]]) == 0
    assert ElementTree.parse("check.xml").getroot().attrib["failures"] == "0"
    assert Path("check.md").read_text(encoding="utf-8").startswith("## Passed: table.npz")
    jsonschema.validate(json.loads(Path("check.json").read_text(encoding="utf-8")), SCHEMA)
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    space = {}
    exec(code.replace("questions=", 'methods=["sbc"], questions='), space)
    space["test_the_posterior"]()


SCHEMA = json.loads(schema())


def _standardised():
    rng = np.random.default_rng(5)
    theta = 50 + 30 * rng.standard_normal((N, 1))
    x = theta + rng.standard_normal((N, 1))
    return npt.Table(theta, x, (x[:, None] - 50 + rng.standard_normal((N, K, 1))) / 30)


def test_a_file_to_correct_first_has_one_verdict_everywhere(saved, capsys, store):
    _standardised().save("mistaken.npz")
    files = ["--json", "a.json", "--markdown", "a.md", "--junit", "a.xml", "--report", "a.html"]
    for fail_on in ("never", "power"):
        assert main(["diagnose", "mistaken.npz", "--fail-on", fail_on, *files, *TESTS[:4]]) == 2
    data = json.loads(Path("a.json").read_text(encoding="utf-8"))
    jsonschema.validate(data, SCHEMA)
    assert (data["outcome"], data["pvalue"], data["answers"]) == ("mistake", None, {})
    assert data["verdict"] != "problem found"
    assert "to be corrected first" in data["left_out"]["size"]
    text = Path("a.md").read_text(encoding="utf-8")
    assert text.startswith("## Correct the file first: mistaken.npz")
    assert "| Test |" not in text
    suite = ElementTree.parse("a.xml").getroot()
    assert [one.get("type") for one in suite.iter("failure")] == ["mistake"]
    document = Path("a.html").read_text(encoding="utf-8")
    assert 'id="tests"' not in document
    assert "<title>Correct the file first" in document
    capsys.readouterr()
    main(["diagnose", "mistaken.npz", *TESTS])
    printed = capsys.readouterr().out
    assert "Correct the file first." in printed
    assert "SBC" not in printed
    meant = npt.diagnose(
        "mistaken.npz", ["sbc"], "none", as_saved=True, store=store, progress=False
    )
    assert meant.outcome() == "problem"
    assert "Tested as saved." in " ".join(meant.diagnosis.upload.warnings)
    assert "no test says anything" not in " ".join(meant.diagnosis.upload.warnings)
    assert meant.card.title == "Problem found"


def test_every_state_satisfies_the_schema(store):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    results = [
        found(store=store),
        found(N, 1.0, store=store, questions=["size", "over_x", "cause"]),
        found(25, store=store),
        npt.diagnose(_standardised(), ["sbc"], "none", store=store, progress=False),
        npt.diagnose(
            npt.Table.samples(np.zeros((3, 1)), np.ones((3, 1))),
            questions="none",
            progress=False,
            store=store,
        ),
    ]
    states = {result.card.state for result in results}
    assert {"silent", "problem", "too little", "mistake"} <= states
    for result in results:
        jsonschema.validate(json.loads(result.to_json()), SCHEMA)


def test_the_schema_is_printed(capsys):
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA


def test_names_that_could_be_marks_are_text(store, tmp_path):
    wrong = npt.diagnose(
        table(N, 1.0, names=("<b>|a", "\x01`b`")),
        [QUICK, "sbc"],
        "size",
        store=store,
        progress=False,
    )
    text = wrong.save(tmp_path / "a.md").read_text(encoding="utf-8")
    assert "<b>" not in text.replace("\\<b", "")
    for row in text.split("\n"):
        if row.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", row)) == 4
    suite = ElementTree.parse(wrong.save(tmp_path / "a.xml")).getroot()
    assert suite.attrib["failures"] == str(len(suite.findall("testcase/failure"))) == "2"


@pytest.mark.slow
def test_a_correct_q_seldom_fails(store):
    """Of 100 correct tables 5 are expected to end with 1: more than 11 have a chance of 0.4%."""
    failed = 0
    for seed in range(100):
        rng = np.random.default_rng([seed, 9])
        x = rng.standard_normal((N, 2))
        draws = x[:, None] + rng.standard_normal((N, K + 1, 2))
        right = npt.Table(draws[:, 0], x, draws[:, 1:])
        result = npt.diagnose(right, ["sbc", "tarp"], "none", store=store, progress=False)
        failed += result.outcome() == "problem"
    assert failed <= 11
