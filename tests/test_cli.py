"""The command line does what the pages do; scripts rely on its names and exit codes."""

import json
import subprocess
import sys

import numpy as np
import pytest

import validation_core as npt
from tests.conftest import ROOT
from validation_core import __version__, diagnosis
from validation_core.benchmarks import BENCHMARKS
from validation_core.cli import main
from validation_core.diagnosis import plan
from validation_core.diagnosis.questions import QUESTIONS
from validation_core.methods import DC, LC2ST, METHODS, MMDFuse
from validation_core.tables import samples

SAMPLE = str(samples.sample_path("sample_undertrained"))
pytestmark = pytest.mark.usefixtures("_few_trials", "_few_injected")


@pytest.fixture(autouse=True)
def _short(short_training):
    """Few steps of networks: what is tested here is the command line."""


@pytest.fixture
def kept(monkeypatch, tmp_path_factory):
    """One store for all tests of the sample: what one of them answered is there for the others."""
    folder = tmp_path_factory.getbasetemp() / "cli"
    monkeypatch.setenv("NPTLAB_CACHE", str(folder))


def said(capsys, *arguments, code=0):
    assert main(arguments) == code
    return capsys.readouterr()


def printed(capsys, *arguments):
    return json.loads(said(capsys, *arguments, "--json", "-").out)


def refused(capsys, *arguments):
    """One line on standard error, exit code 2, nothing on standard output."""
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code
    heard = capsys.readouterr()
    assert code == 2
    assert heard.out == ""
    assert len(heard.err.strip().splitlines()) == 1
    return heard.err


@pytest.mark.usefixtures("kept")
def test_diagnose_gives_the_object_of_the_design(capsys, tmp_path):
    result = printed(capsys, "diagnose", SAMPLE)
    assert result["verdict"] == "problem found"
    assert (result["n"], result["k"], result["dim_theta"], result["dim_x"]) == (400, 50, 2, 5)
    assert [m["name"] for m in result["methods"]] == [
        "omnibus", "sbc", "tarp", "skl", "within_x", "multiple", "c2st", "uniform", "colt"
    ]  # fmt: skip
    assert result["methods"][2]["effect"]["reading"] == "covers less than stated"
    assert result["cause"][0]["parameter"] in ("intercept", "slope")
    assert result["cause"][0]["cause"] == "too_narrow"
    assert result["cause"][0]["evidence"]
    where, *others = result["where"]
    assert where["method"] == "colt"
    assert [other["method"] for other in others] == ["over_x", "in_theta", "observation"]
    assert all(other["sentences"] for other in others)
    assert {other["kind"] for other in result["sensitivity"]} >= {"shift", "bias"}
    unasked = {panel.name for panel in QUESTIONS if not panel.asked_for}
    assert set(result["answers"]) == unasked
    assert [other["parameter"] for other in where["centre"]] == ["intercept", "slope"]
    assert where["distance_low"] <= where["distance"] <= where["distance_high"]
    assert where["inside_low"] <= where["inside"] <= where["inside_high"]
    assert len(where["x"]) == 5
    # A second run takes its answers from the cache.
    path, page = tmp_path / "out.json", tmp_path / "out.html"
    heard = said(capsys, "diagnose", SAMPLE, "--json", str(path), "--report", str(page))
    assert json.loads(path.read_text()) == result
    assert "Problem found." in heard.out
    assert "held-out rows are too few: it needs 50 for each tested draw" in heard.out
    assert f"q puts {where['u_star']:.0%} of its mass" in heard.out
    assert "<html" in page.read_text(encoding="utf-8")


@pytest.mark.usefixtures("kept")
def test_diagnose_with_chosen_methods(capsys):
    result = printed(
        capsys,
        "diagnose",
        SAMPLE,
        "--method",
        "sbc",
        "--alpha",
        "0.01",
        "--seed",
        "3",
        "--questions",
        "none",
    )
    assert [m["name"] for m in result["methods"]] == ["sbc"]
    assert (result["alpha"], result["seed"]) == (0.01, 3)


@pytest.fixture
def cheap(monkeypatch):
    """Further methods that cost little."""
    fields = dict(diagnosis.further_methods())
    built = (DC(m=3, permutations=39), LC2ST(nulls=19), MMDFuse(points=30, permutations=39))
    fields |= {method.name: fields[method.name]._replace(method=method) for method in built}
    del fields["automl"]
    for where in (diagnosis, plan):
        monkeypatch.setattr(where, "further_methods", lambda: fields)
    return fields


@pytest.mark.usefixtures("kept")
def test_further_methods_run_when_they_are_asked_for(capsys, cheap):
    """A bare name is the page's test; with options it is what they say."""
    options = ("--method", "mmd_fuse", "--method", "dc:m=2,permutations=59", "--method", "lc2st")
    methods = printed(capsys, "diagnose", SAMPLE, *options)["methods"]
    assert [m["name"] for m in methods] == ["mmd_fuse", "dc", "lc2st"]
    assert methods[0]["draws_p"] == 30
    assert (methods[1]["draws_q"], methods[1]["effect"]["relabelings"]) == (400, 59)
    assert len(methods[2]["effect"]["x_o"]) == 5
    assert 0 <= methods[2]["effect"]["row"] < 400
    aloud = said(capsys, "diagnose", SAMPLE, *options).out
    assert "] nats" in aloud
    assert "counted from 0 (x at t = -1 = " in aloud
    assert "cannot reject by itself" in aloud  # 19 nulls, three tests


def test_all_is_what_runs_unasked_and_what_may_be_asked_for(capsys, cheap, tmp_path):
    path = tmp_path / "small.npz"
    rng = np.random.default_rng(0)
    np.savez(path, theta=rng.normal(size=(30, 1)), x=rng.normal(size=(30, 1)),
             theta_q=rng.normal(size=(30, 8, 1)))  # fmt: skip
    unasked = [method.name for method in diagnosis.default_methods()]
    methods = printed(capsys, "diagnose", str(path), "--method", "all")["methods"]
    assert [m["name"] for m in methods] == [*unasked, *cheap]
    assert {m["name"] for m in methods if m["status"] == "ran"} == {
        "omnibus", "sbc", "tarp", "mmd_fuse"
    }  # fmt: skip
    mixed = ("--method", "sbc", "--method", "all", "--method", "tarp:reference=x")
    labels = [m["label"] for m in printed(capsys, "diagnose", str(path), *mixed)["methods"]]
    assert labels.count("SBC") == 1
    assert {"TARP", "TARP x"} <= set(labels)


@pytest.mark.usefixtures("kept")
def test_diagnose_with_another_embedding(capsys):
    options = ("--method", "colt:embedding=identity", "--method", "colt:embedding=residual")
    result = printed(capsys, "diagnose", SAMPLE, *options)
    assert [m["label"] for m in result["methods"]] == ["CoLT identity", "CoLT residual"]
    assert [item["label"] for item in result["where"]][:2] == ["CoLT identity", "CoLT residual"]
    assert result["methods"][0]["pvalue"] < 1e-3
    fresh = printed(capsys, "diagnose", SAMPLE, "--method", "colt:fresh=true")
    assert "simulator" in fresh["methods"][0]["reason"]


def test_diagnose_within_a_budget(capsys):
    # Of a seed that nobody ships: what is there already costs nothing.
    result = printed(capsys, "diagnose", SAMPLE, "--seed", "5", "--budget", "0.000001")
    assert result["verdict"] == "not enough data"
    assert all("budget" in m["reason"] or "needs" in m["reason"] for m in result["methods"])


def test_diagnose_asks_for_the_order(capsys, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "square.npz"
    np.savez(path, theta=rng.normal(size=(30, 1)), x=rng.normal(size=(30, 1)),
             theta_q=rng.normal(size=(30, 30, 1)))  # fmt: skip
    assert "NKD" in refused(capsys, "diagnose", str(path))
    assert printed(capsys, "diagnose", str(path), "--order", "KND")["n"] == 30


REFUSED = """
diagnose nowhere.npz
diagnose SAMPLE --questions why
diagnose SAMPLE --method sb
diagnose SAMPLE --method uniform:n=3
diagnose SAMPLE --method uniform:m=x
diagnose SAMPLE --method uniform:m=0
diagnose SAMPLE --method sbc --method sbc
diagnose SAMPLE --method colt:embedding=deep
diagnose SAMPLE --method colt:fresh=yes
diagnose SAMPLE --alpha 2
power --benchmark gauss --method c2st --gamma 0
power --benchmark gaussian --method c2st --gamma a
power --benchmark gaussian --method c2st --gamma 0,nan
power --benchmark gaussian --method c2st --gamma 0 --json .
power --benchmark gaussian --set perturbation=none --method c2st --gamma 0
power --benchmark gaussian --method c2st --gamma 0 --trials 0
power --benchmark gaussian --method c2st --gamma 0 --preset x
"""


def test_bad_input_is_one_line_and_exit_code_2(capsys, golden):
    lines = []
    for line in REFUSED.strip().splitlines():
        message = refused(capsys, *line.replace("SAMPLE", SAMPLE).split())
        lines += [f"$ nptlab {line}", message.replace(SAMPLE, "SAMPLE").strip()]
    golden("refusals", lines)


NOWHERE = "power --benchmark gaussian --method c2st --gamma 0 --engine dask:tcp://a:1"


@pytest.mark.parametrize(
    ("line", "words"),
    [(f"diagnose {__file__}", "got"), ("diagnose", "FILE"), ("store burn", "burn"),
     ("", "COMMAND"), (NOWHERE, "must answer at tcp://a:1")],
)  # fmt: skip
def test_bad_input_is_refused_also_where_others_word_it(line, words, capsys):
    assert words in refused(capsys, *line.split())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("diagnos", SAMPLE), "did you mean diagnose?"),
        (("diagnose", SAMPLE, "--metod", "sbc"), "did you mean --method?"),
        (("diagnose", SAMPLE, "--raport=a.html"), "did you mean --report?"),
        (("diagnose", SAMPLE, "--fail-on", "problems"), "did you mean problem?"),
        (("store", "lss"), "did you mean ls?"),
        (("compare", SAMPLE, "--sed", "3"), "see python -m validation_core compare --help"),
    ],
)
def test_a_word_that_is_typed_wrong_is_told_the_nearest(line, words, capsys):
    assert words in refused(capsys, *line)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--report", "-"), "into a file of a name; got '-'; try result.html"),
        (("--card", "-"), "try result.png"),
        (("--datatree", "ranks.csv"), "try ranks.nc"),
        (("--markdown", "said.html"), "try said.md"),
        (("--junit", "said.json"), "try said.xml"),
        (("--figure-width", "3"), "are of --figure"),
        (("--figure-style", "paper"), "are of --figure"),
        (("--wait", "3"), "--wait is of --stream"),
        (("--stream", "--questions", "size"), "got --questions"),
    ],
)
def test_an_option_that_would_be_left_unread_is_refused(
    given, words, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert words in refused(capsys, "diagnose", SAMPLE, *given)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("option", "field"), [("perturbation=heavy", "perturbation"), ("dim_x=a", "dim_x")]
)
def test_the_value_that_a_refusal_writes_is_one_that_an_option_takes(option, field, capsys):
    line = ("power", "--benchmark", "gaussian", "--method", "sbc", "--gamma", "0", "--trials", "0")
    said = refused(capsys, *line, "--set", option)
    written = said.rstrip(".\n").rpartition("Write ")[2]
    assert written.startswith(f"{field}=")
    assert "trials >= 1" in refused(capsys, *line, "--set", written)


def test_power_counts_rejections(capsys):
    arguments = [
        "power", "--benchmark", "gaussian", "--set", "perturbation=mean_shift", "--method", "sbc",
        "--gamma", "0,0.3", "--trials", "10", "--n", "100", "--k", "20", "--engine", "serial",
    ]  # fmt: skip
    cells = printed(capsys, *arguments)["cells"]
    assert [cell["gamma"] for cell in cells] == [0.0, 0.3]
    for cell in cells:
        assert {"benchmark", "method", "options", "gamma", "beta", "trials", "rejections",
                "protocol", "draws_p", "draws_q", "seconds"} <= set(cell)  # fmt: skip
        assert (cell["benchmark"], cell["method"], cell["trials"]) == ("gaussian", "sbc", 10)
    assert cells[0]["rejections"] <= 4
    assert "10 trials" in said(capsys, *arguments).out


@pytest.mark.slow
def test_power_trains_every_network(capsys):
    """At beta = 1 both localizers are as they began."""
    arguments = [
        "power", "--benchmark", "tree", "--set", "noise=added",
        "--method", "colt:embedding=identity", "--method", "colt:embedding=residual",
        "--gamma", "0,1.5", "--beta", "0,1", "--trials", "4", "--n", "40", "--k", "8",
        "--engine", "serial",
    ]  # fmt: skip
    cells = printed(capsys, *arguments)["cells"]
    assert len(cells) == 8
    assert {cell["method"] for cell in cells} == {"colt"}
    assert {cell["options"]["embedding"] for cell in cells} == {"identity", "residual"}
    assert {cell["set"]["noise"] for cell in cells} == {"added"}
    for cell in cells:
        assert cell["statistic_low"] <= cell["statistic"] <= cell["statistic_high"]
    heard = said(capsys, *arguments).out
    assert heard.count("CoLT identity") == 4
    assert f"statistic {cells[0]['statistic']:.3g} [" in heard
    described = said(capsys, "store", "ls").out
    assert "simulated tree added gamma 1.5 · localizer w2 identity" in described
    assert "colt w2 identity interactive" in described
    assert "colt w2 residual interactive" in described


@pytest.mark.parametrize(("name", "registry"), [("methods", METHODS), ("benchmarks", BENCHMARKS)])
def test_registries_are_printed(name, registry, capsys):
    entries = printed(capsys, name)
    assert [entry["name"] for entry in entries] == list(registry)
    for entry in entries:
        assert entry["paper"]["year"] > 1900
        assert all(option["label"] for option in entry["options"])
        for option in entry["options"]:
            assert option["choices"] is None or option["default"] in option["choices"]
    heard = said(capsys, name).out
    assert all(entry["title"] in heard for entry in entries)


def test_choices_are_printed(capsys):
    (colt,) = [entry for entry in printed(capsys, "methods") if entry["name"] == "colt"]
    choices = {option["name"]: option["choices"] for option in colt["options"]}
    assert choices["embedding"] == ["identity", "mlp", "residual", "fourier"]
    assert choices["fresh"] == [False, True]
    heard = said(capsys, "methods").out
    assert "embedding = fourier, one of identity, mlp, residual, fourier" in heard
    assert "fresh = false, one of false, true" in heard


def test_store_lists_what_a_diagnosis_left(capsys):
    said(capsys, "diagnose", SAMPLE, "--seed", "5", "--method", "sbc", "--questions", "none")
    listed = printed(capsys, "store", "ls")
    assert [entry["kind"] for entry in listed["entries"]] == ["results"]
    assert printed(capsys, "store", "verify")["problems"] == []
    assert printed(capsys, "store", "prune")["freed"] == 0
    assert "sbc" in said(capsys, "store", "ls").out


@pytest.mark.usefixtures("kept")
def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"nptlab {__version__}\n"


def test_as_a_program():
    """Progress goes to standard error: what is printed parses."""
    command = [sys.executable, "-m", "validation_core", "diagnose", SAMPLE, "--method", "sbc",
               "--questions", "size"]  # fmt: skip
    done = subprocess.run(
        [*command, "--json", "-"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["verdict"] == "problem found"
    assert "SBC" in done.stderr


def test_what_cannot_be_written_is_refused_before_anything_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("validation_core.api.diagnose.run_in_turn", None)
    where = tmp_path / "not there" / "out"
    for option in ("--report", "--datatree", "--json"):
        assert "a folder that exists" in refused(capsys, "diagnose", SAMPLE, option, str(where))
    two = tmp_path / "two.npz"
    rng = np.random.default_rng(0)
    np.savez(two, p=rng.standard_normal((60, 2)), q=rng.standard_normal((60, 2)))
    heard = refused(capsys, "diagnose", str(two), "--datatree", str(tmp_path / "out.nc"))
    assert "Leave --datatree out" in heard


@pytest.mark.usefixtures("kept")
def test_no_result_is_written_over_a_file_that_is_read(capsys, tmp_path):
    path = tmp_path / "table.npz"
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((60, 2))
    npt.Table(theta, theta, rng.standard_normal((60, 9, 2))).save(path)
    before, name = path.read_bytes(), str(path)
    for line in (
        ("diagnose", name, "--json", name),
        ("diagnose", name, "--json", f"{tmp_path}/../{tmp_path.name}/table.npz"),
        ("observation", name, "--row", "1", "--json", name),
        ("compare", name, name, "--json", name),
        ("mend", name, "--json", name),
        ("diagnose", "--stream", name, "--json", name),
    ):
        assert "beside the file that is read" in refused(capsys, *line)
    weighted = path.rename(tmp_path / "weighted.npz")
    line = ("mend", str(weighted), "--out", str(tmp_path))
    assert "Name another folder" in refused(capsys, *line)
    assert weighted.read_bytes() == before


@pytest.mark.parametrize(
    "line",
    [("diagnose", ""), ("observation", "", "--row", "1"), ("compare", "a.npz", ""), ("mend", "")],
)
def test_a_file_without_a_name_is_not_the_folder(line, capsys):
    assert "a file has a name" in refused(capsys, *line)


def test_a_folder_that_cannot_be_made_is_refused_before_anything_runs(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    inside = str(tmp_path / "file" / "folder")
    for line in (("mend", SAMPLE, "--out", inside), ("skill", "--out", inside),
                 ("lessons", "--html", inside), ("lecture", "--html", inside)):  # fmt: skip
        assert "Results are written into a folder; got" in refused(capsys, *line)


@pytest.mark.parametrize("width", ["0", "nan", "wide", "600"])
def test_a_width_that_no_figure_has_is_refused_before_anything_runs(width, capsys):
    line = ("diagnose", "none.npz", "--figure", "recovery=f.pdf", "--figure-width", width)
    assert "1 to 60 inches wide" in refused(capsys, *line)


def test_figures_are_written_by_the_names_of_the_field(capsys, tmp_path):
    paths = {name: tmp_path / f"{name}.svg" for name in ("recovery", "ecdf", "coverage")}
    options = [part for name, path in paths.items() for part in ("--figure", f"{name}={path}")]
    asked = ("diagnose", SAMPLE, "--method", "sbc", "--questions", "none")
    said(capsys, *asked, *options)  # their question is asked for them
    assert all(path.read_text().startswith("<svg") for path in paths.values())
    heard = refused(capsys, *asked, "--figure", "recovry=o.pdf")  # before anything runs
    assert "got 'recovry'. Did you mean 'recovery'?" in heard
    assert "got 'x.gif'" in refused(capsys, *asked, "--figure", "x.gif")
    written = tmp_path / "found.json"
    line = (*asked, "--figure", f"No such title={paths['ecdf']}", "--json", str(written))
    heard = said(capsys, *line, code=2)  # known only when all is worked out, which is kept
    assert "Problem found" in heard.out
    assert "got 'No such title'" in heard.err
    assert json.loads(written.read_text())["verdict"] == "problem found"


def test_a_figure_that_ranks_alone_do_not_have_says_why(capsys, tmp_path):
    path = tmp_path / "ranks.npz"
    ranks = np.random.default_rng(0).integers(0, 31, (60, 2))
    np.savez(path, ranks=ranks, max_rank=30)
    line = ("diagnose", str(path), "--questions", "none", "--figure", f"ecdf={tmp_path}/e.pdf")
    heard = said(capsys, *line, code=2).err
    assert "ranks alone, without q's draws" in heard
    assert "Ask that" not in heard


def test_arrays_of_other_names_are_mapped(capsys, tmp_path):
    path = tmp_path / "table.npz"
    arrays = dict(np.load(SAMPLE))
    np.savez(path, params=arrays["theta"], obs=arrays["x"], draws=arrays["theta_q"])
    asked = ("diagnose", str(path), "--method", "sbc", "--questions", "none")
    said = ("--map", "theta=params", "--map", "x=obs")
    assert "missing: theta, x; got: params (400, 2)" in refused(capsys, *asked)
    assert "try theta=params" in refused(capsys, *asked, "--map", "params")
    assert "got prams" in refused(capsys, *asked, "--map", "theta=prams")
    result = printed(capsys, *asked, *said)
    assert result["verdict"] == "problem found"


def test_why_a_panel_has_no_answer_is_said(capsys, tmp_path):
    few = tmp_path / "few.npz"
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((20, 1))
    np.savez(few, theta=theta, x=theta, theta_q=rng.standard_normal((20, 9, 1)))
    result = printed(capsys, "diagnose", str(few), "--questions", "size,over_x")
    assert set(result["answers"]) == {"size"}
    assert "needs 40 rows; got 20" in result["left_out"]["over_x"]
    aloud = said(capsys, "diagnose", str(few), "--questions", "size,over_x").out
    assert "Where over x\n  A map over x" in aloud
    assert "Likely cause" not in aloud


def test_a_reader_that_has_read_enough_ends_it_silently():
    command = [sys.executable, "-m", "validation_core", "methods"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as running:
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 141


def test_an_unknown_figure_is_told_as_it_was_typed_beside_each_title_once(tmp_path):
    result = npt.diagnose(SAMPLE, ["sbc"], "none", store=npt.Store(tmp_path), progress=False)
    with pytest.raises(ValueError, match=r"got 'recovery'\. .*question \"size\"") as refusal:
        result.drawn("recovery")
    listed = str(refusal.value).partition("; got")[0].partition(": ")[2].split("; ")
    assert len(listed) == len(set(listed))


def test_two_samples_are_not_sent_to_a_test_that_needs_x():
    samples = npt.Table.samples(np.zeros((150, 1)), np.ones((150, 1))).upload
    assert "Within x" not in npt.Uniform().obstacle(samples)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((100, 1))
    table = npt.Table(rows, rows, rng.standard_normal((100, 9, 1))).upload
    assert npt.Uniform().obstacle(table).endswith("Within x covers the same question.")
