"""The API: what `import validation_core as npt` gives, typed, lazy, shown in a notebook."""

import io
import json
import pkgutil
import re
import subprocess
import sys
from dataclasses import asdict, fields
from html import unescape

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

import validation_core as npt
from tests.conftest import QUICK, ROOT
from validation_core import symmetric_divergence
from validation_core.api import work
from validation_core.cli import main
from validation_core.diagnosis.plan import default_methods
from validation_core.diagnosis.questions import ALIASES, QUESTIONS, without_tests
from validation_core.engine import start
from validation_core.rng import stream
from validation_core.scores.trained_scores import TrainTask
from validation_core.scores.upload_training import trained_by
from validation_core.store import SHIPPED, Store
from validation_core.sweep import presets
from validation_core.sweep.plan import Batch
from validation_core.sweep.progress import collect, missing
from validation_core.symmetric_divergence import InferenceRun


def arrays(n=120, k=20, scale=0.25):
    """A straight line with a q that is too narrow."""
    rng = stream(0, "front door")
    theta = rng.standard_normal((n, 2))
    x = theta + 0.5 * rng.standard_normal((n, 2))
    return theta, x, 0.8 * x[:, None] + scale * rng.standard_normal((n, k, 2))


@pytest.fixture(scope="module")
def table():
    theta, x, q = arrays()
    return npt.Table(theta, x, q, names=["mass", "<spin>"], x_names=["a", "b"])


@pytest.fixture(autouse=True)
def _quick(quick_training):
    """What is tested here is what comes out, and how."""


def test_every_name_is_lazy_and_documented():
    assert len(npt.__all__) <= 54
    for name in npt.__all__:
        assert getattr(npt, name) is not None
        assert name in dir(npt)
        if not name.isupper() or isinstance(getattr(npt, name), type):
            assert getattr(npt, name).__doc__, name
    with pytest.raises(AttributeError, match="attribute nothing"):
        npt.nothing  # noqa: B018


def test_no_module_takes_the_place_of_a_name():
    """An imported submodule becomes an attribute of the package."""
    modules = {module.name for module in pkgutil.iter_modules(npt.__path__)}
    assert not modules & set(npt.__all__)


def test_the_import_is_light():
    """Half a second of the processor, and no torch until something is learnt."""
    code = (
        "import sys, time; start = time.process_time(); import validation_core as npt;"
        "assert time.process_time() - start < 0.5;"
        "assert not {'torch', 'numpy', 'scipy', 'plotly'} & {*sys.modules};"
        "table = npt.read('validation_core/data/sample_undertrained.npz');"
        "assert npt.run('sbc', table).pvalue < 1e-6;"
        "assert not {'torch', 'pandas', 'tqdm'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_a_table_is_checked_as_a_file_is(table, tmp_path):
    theta, x, q = arrays()
    assert repr(table) == "Table(120 rows, 20 draws of q at each, 2 parameters, 2 data)"
    assert (table.n, table.k, table.names, table.x_names) == (
        120,
        20,
        ("mass", "<spin>"),
        ("a", "b"),
    )
    path = table.save(tmp_path / "table.npz")
    back = npt.read(path)
    assert back.upload.digest == table.upload.digest
    assert (back.names, back.x_names, back.path) == (table.names, table.x_names, str(path))
    assert npt.read(path.read_bytes()).upload.digest == table.upload.digest
    assert set(back.arrays()) == {"theta", "x", "theta_q"}
    with pytest.raises(ValueError, match="theta_q"):
        npt.Table(theta, x, q[:, :, 0])
    with pytest.raises(npt.AmbiguousOrder):
        npt.Table(theta[:20], x[:20], q[:20])
    assert npt.Table(theta[:20], x[:20], q[:20], order="NKD").k == 20
    with pytest.raises(ValueError, match=r"\.npz"):
        table.save(tmp_path / "table.csv")
    samples = npt.Table.samples(theta, theta + 1, names=["a", "b"])
    assert "two samples" in repr(samples)
    assert samples.names == ("a", "b")


def test_densities_come_in_by_their_names():
    theta, x, q = arrays(60, 5)
    log_q, draws = -(theta**2).sum(-1), -(q**2).sum(-1)
    table = npt.Table(theta, x, q, log_q=log_q, log_q_draws=draws, x_o=x[0], theta_o=q[0])
    assert set(table.arrays()) >= {"log_q", "log_q_draws", "x_o", "theta_o"}


@pytest.fixture(scope="module")
def found(table, tmp_path_factory):
    store, methods = npt.Store(tmp_path_factory.mktemp("store")), ["sbc", "c2st", npt.TARP()]
    with trained_by(QUICK):
        return npt.diagnose(table, methods, ["calibration", "checker"], store=store)


def test_a_diagnosis_gives_its_verdict_and_its_answers(found, table):
    assert found.verdict == "problem found"
    assert 0 < found.pvalue < 0.01
    assert list(found.pvalues) == ["SBC", "C2ST", "TARP"]
    assert all(found.adjusted[label] >= p for label, p in found.pvalues.items())
    assert not found.diagnosis.relabelled
    assert found.claims.parameter(0) <= 0.05
    assert [record.name for record in found.records] == ["sbc", "c2st", "tarp"]
    assert found.questions == tuple(found) == ("size", "checker")
    assert "calibration" in found
    assert "type1_error" in found
    assert "over_x" not in found
    answer = found["calibration"]
    assert answer.name == found["size"].name == "size"
    assert list(answer.to_frame()["parameter"]) == ["<spin>", "mass"]
    assert answer.sentences[0] in found.sentences
    assert isinstance(answer.figure(), go.Figure)
    with pytest.raises(KeyError, match="not asked"):
        found["where_x"]
    with pytest.raises(ValueError, match="one of size"):
        found["colour"]


def test_one_question_alone(table, store):
    answer = npt.ask("calibration", table, methods=["sbc"], store=store)
    assert answer.name == "size"
    assert answer.diagnosis.verdict == "problem found"
    assert answer.rows()[0]["p, corrected"] == pytest.approx(
        min(map(answer.diagnosis.claims.parameter, (0, 1))), rel=0.01
    )
    assert len(answer.to_frame()) == 2
    assert "<spin>" in answer.sentences[0]
    assert answer.figures()
    with pytest.raises(ValueError, match="need at least 5"):
        npt.ask("size", {name: array[:4] for name, array in table.arrays().items()}, store=store)


def test_a_question_that_none_of_the_tests_answers_says_so(table, store):
    """In words, on the page's report and card, too: nothing failed and nothing is to come."""
    found = npt.diagnose(table, "mmd_fuse", questions=["size", "sensitivity", "checker"],
                         budget=100, store=store)  # fmt: skip
    assert list(found) == ["size"]
    for name in ("sensitivity", "checker"):
        with pytest.raises(KeyError, match="none of these tests can be run on such tables"):
            found[name]
    assert "did not end" not in shown(found)
    assert without_tests(table.upload, default_methods(), 0) == frozenset()


def test_every_alias_is_of_a_question():
    assert set(ALIASES.values()) <= {question.name for question in QUESTIONS}


def shown(result):
    """The document in the frame that a notebook draws."""
    markup = result._repr_html_()
    assert markup.startswith("<iframe srcdoc=")
    return unescape(markup.split('srcdoc="')[1].split('" title=')[0])


def test_results_show_themselves_and_are_saved(found, table, store, tmp_path):
    for result in (found, found["calibration"], npt.run("sbc", table, store=store)):
        page = shown(result)
        assert page.startswith("<!doctype html>")
        assert "<spin>" not in page
        assert len(page) < 5_000_000
        frame = result.to_frame()
        assert isinstance(frame, pd.DataFrame)
        assert len(frame)
        assert json.loads(result.to_json())
        assert result.title in repr(result)
        assert result.figure(result.figures()[0].title) is not None
        with pytest.raises(ValueError, match="The figures here are"):
            result.figure("nothing")
        title = result.figures()[0].title
        with pytest.raises(ValueError, match=f"Did you mean {re.escape(repr(title))}"):
            result.figure(title[:-1])
        for ending in ("html", "json", "csv"):
            path = result.save(tmp_path / f"out.{ending}")
            assert path.stat().st_size
        assert json.loads((tmp_path / "out.json").read_text()) == json.loads(result.to_json())
        assert len(pd.read_csv(tmp_path / "out.csv")) == len(frame)
        with pytest.raises(ValueError, match=r"is saved as \.html, \.json, \.csv"):
            result.save(tmp_path / "out.xlsx")
    assert found.save(tmp_path / "out.nc").read_bytes().startswith(b"\x89HDF")


def test_the_same_question_again_runs_nothing(table, store, monkeypatch):
    first = npt.diagnose(table, ["sbc", "c2st"], "none", store=store)
    monkeypatch.setattr("validation_core.diagnosis.tasks.run_method", None)
    again = npt.diagnose(table.arrays(), ["sbc", "c2st"], "none", store=store)
    assert again.pvalues == first.pvalues
    assert again.questions == ()


def test_arrays_by_place_are_told_of_the_table_that_they_make(table):
    theta, x, q = (table.arrays()[name] for name in ("theta", "x", "theta_q"))
    advised = r"got . values? more\. Arrays make a table first: npt\.Table\(theta, x, theta_q\)"
    for call in (
        lambda: npt.run("sbc", theta, x, q),
        lambda: npt.ask("worst", theta, x, q),
        lambda: npt.mend(theta, x, q),
        lambda: npt.reliability(theta, x, q),
    ):
        with pytest.raises(TypeError, match=advised):
            call()
    assert npt.run("sbc", npt.Table(theta, x, q)).pvalue == npt.run("sbc", table).pvalue
    with pytest.raises(TypeError, match=r"1 value more\. help\(npt\.Table\) lists the names"):
        npt.Table(theta, x, q, ["a", "b"])


def test_a_diagnosis_takes_what_holds_a_table(table, store, tmp_path):
    path = table.save(tmp_path / "t.npz")
    by_path = npt.diagnose(path, "sbc", "none", store=store)
    by_arrays = npt.diagnose(table.arrays(), "sbc", "none", store=store)
    assert by_path.pvalues == by_arrays.pvalues
    assert by_path.path == str(path)
    with pytest.raises(ValueError, match="A method is one of"):
        npt.diagnose(table, "no test")
    with pytest.raises(ValueError, match="tested once"):
        npt.diagnose(table, ["sbc", npt.SBC()])


def test_a_budget_that_is_spent_is_said(table, store):
    result = npt.diagnose(table, ["sbc"], "none", budget=0.0, store=store)
    assert result.unfinished == ("SBC",)
    assert "budget" in result.records[0].reason


def test_one_test_on_a_table(table, store):
    result = npt.run("tarp", table, store=store, reference="random")
    assert 0 < result.pvalue <= 1
    assert result.method == npt.TARP(reference="random")
    assert result.arrays["u"].shape[-1] == 60  # the rows that nothing learns from
    assert result.draws == (60, 1200)
    assert result.figure().data
    with pytest.raises(TypeError, match="Options of tarp are"):
        npt.run("tarp", table, colour=1)
    with pytest.raises(ValueError, match="cannot run on this table"):
        npt.run("skl", table, store=store)


@pytest.mark.parametrize("method", ["sbc", pytest.param("c2st", marks=pytest.mark.slow)])
def test_one_test_on_a_benchmark(method, store):
    right = npt.run(method, "gaussian", n=200, k=20, store=store)
    benchmark = npt.Gaussian(perturbation="covariance_scaling")
    wrong = npt.run(method, benchmark, gamma=1.4, n=200, k=20, store=store)
    assert wrong.pvalue < right.pvalue
    assert wrong.statistic > right.statistic
    assert wrong.figures()


def test_power_counts_rejections(store):
    result = npt.power(
        "gaussian",
        gamma=[0, 1.4],
        methods=["sbc", npt.TARP()],
        perturbation="covariance_scaling",
        trials=8,
        n=60,
        k=20,
        store=store,
        engine="serial",
    )
    assert [(cell.method, cell.gamma, cell.trials) for cell in result.cells] == [
        ("sbc", 0.0, 8), ("sbc", 1.4, 8), ("tarp", 0.0, 8), ("tarp", 1.4, 8)
    ]  # fmt: skip
    frame = result.to_frame()
    assert list(frame["rate"]) == [cell.rate for cell in result.cells]
    assert frame.loc[1, "rate"] > frame.loc[0, "rate"]
    assert json.loads(result.to_json())["cells"][0]["set"]["perturbation"] == "covariance_scaling"
    figure = result.figure()
    assert {trace.name for trace in figure.data if trace.name} == {"SBC", "TARP", "level"}
    go.Figure(figure.to_dict())  # plotly's own validation
    assert shown(result)


def test_power_refuses_what_it_does_not_know(store):
    with pytest.raises(ValueError, match="A benchmark is one of"):
        npt.power("nothing", [0], ["sbc"], store=store)
    with pytest.raises(TypeError, match="Options of gaussian are"):
        npt.power("gaussian", [0], ["sbc"], colour=1, store=store)
    with pytest.raises(ValueError, match="An engine is"):
        npt.power("gaussian", [0], ["sbc"], engine="cloud", store=store)
    with pytest.raises(ValueError, match="needs gamma and methods; got no gamma and methods"):
        npt.power("gaussian", store=store)
    with pytest.raises(ValueError, match="share by which weights are moved, 0 to 1; got 2"):
        npt.power("gaussian", [0], ["c2st"], beta=[2.0], store=store)
    with pytest.raises(ValueError, match="0 to 1; got nan"):
        npt.power("gaussian", [0], ["c2st"], beta=[float("nan")], store=store)


@pytest.mark.parametrize(
    "beside",
    [
        {"gamma": [0.3]}, {"methods": "sbc"}, {"beta": [0.5]}, {"n": 33}, {"k": 7}, {"seed": 9},
        {"preset": "paper"}, {"protocol": "fresh"}, {"dim_x": 3},
    ],
    ids=lambda beside: next(iter(beside)),
)  # fmt: skip
def test_a_figure_brings_what_it_is_of(store, beside, capsys):
    """Nothing that is given beside its name is left out in silence."""
    (name,) = beside
    with pytest.raises(ValueError, match=f"got {name} beside references"):
        npt.power("references", store=store, progress=False, **beside)
    if name not in ("methods", "dim_x"):
        value = beside[name]
        text = str(value[0] if isinstance(value, list) else value)
        assert main(["power", "--comparison", "references", f"--{name}", text]) == 2
        assert f"got --{name} beside references" in capsys.readouterr().err


def test_numbers_of_numpy_are_numbers(store, table):
    design = {"methods": "sbc", "progress": False, "store": store}
    plain = npt.power("boundary", 1, trials=5, n=20, k=10, **design)
    trials, n, k = np.array([5, 20, 10])
    given = npt.power("boundary", [np.float64(1)] * 2, trials=trials, n=n, k=k, **design)
    assert [asdict(cell) for cell in given.cells] == [asdict(cell) for cell in plain.cells]
    here = npt.observation(table, np.int64(3), local=False, progress=False)
    np.testing.assert_array_equal(here.x_o, npt.observation(table, 3, local=False).x_o)
    run = {"model": "hospitals", "inference": "laplace", "engine": "serial", "store": store}
    figure, iterations, datasets, m = np.array([2, 10, 3, 5])
    found = npt.divergence(**run, figure=figure, iterations=iterations, datasets=datasets, m=m)
    same = npt.divergence(**run, figure=2, iterations=10, datasets=3, m=5)
    assert found.to_json() == same.to_json()
    assert npt.run("sbc", table, seed=np.int64(3)).pvalue == npt.run("sbc", table, seed=3).pvalue


def test_a_test_that_always_draws_afresh_says_so(store):
    result = npt.power("boundary", [1], "mmd_fuse", trials=2, n=20, progress=False, store=store)
    assert result.cells[0].protocol == "fresh"


def test_options_have_names_of_their_own():
    """`run` and `power` pass options on by name: none may be one of their own arguments."""
    from inspect import signature

    for function, registry in ((npt.run, npt.METHODS), (npt.power, npt.BENCHMARKS)):
        own = set(signature(function).parameters)
        assert not own & {field.name for kind in registry.values() for field in fields(kind)}


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_method_has_its_options_in_one_text(table, store):
    found = npt.diagnose(
        table, ["sbc", "omnibus:learned=false"], "none", store=store, progress=False
    )
    assert len(found.diagnosis.records) == 2
    for several in ("sbc,tarp", ["omnibus:learned=false,sbc"]):
        with pytest.raises(ValueError, match="repeat --method on the command line"):
            npt.diagnose(table, several)


@pytest.mark.parametrize("seed", [1.5, -1, "0"])
def test_a_seed_is_a_whole_number(table, seed):
    for ask in (
        lambda: npt.diagnose(table, "sbc", "none", seed=seed),
        lambda: npt.run("sbc", table, seed=seed),
        lambda: npt.power("gaussian", [0.1], "sbc", seed=seed),
    ):
        with pytest.raises((TypeError, ValueError), match="A seed is a whole number, 0 or more"):
            ask()


def test_a_result_is_not_saved_over_its_table(table, store, tmp_path):
    path = tmp_path / "table.json"
    arrays = {name: array.tolist() for name, array in table.arrays().items()}
    path.write_text(json.dumps(arrays))
    result = npt.diagnose(path, ["sbc"], "none", store=store, progress=False)
    with pytest.raises(ValueError, match="beside the file that is read"):
        result.save(path)
    assert npt.read(path).n == table.n
    assert result.save(tmp_path / "found.JSON").read_text().startswith("{")
    assert result.save_figure(0, tmp_path / "found.SVG").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        ({"methods": [], "questions": "none"}, ValueError, "Leave methods out"),
        ({"methods": [], "questions": "over_x"}, ValueError, r'npt\.ask\("over_x", table\)'),
        ({"alpha": "0.05"}, TypeError, "number between 0 and 1; got '0.05'"),
        ({"alpha": 5}, ValueError, "between 0 and 1; got 5"),
        ({"alpha": float("nan")}, ValueError, "between 0 and 1; got nan"),
        ({"budget": "60"}, TypeError, "number of seconds; got '60'"),
        ({"budget": -1}, ValueError, "0 seconds or more; got -1"),
        ({"store": "/tmp"}, TypeError, "Try store=npt.Store"),
        ({"progress": "yes"}, TypeError, "Try progress=False"),
    ],
)
def test_what_many_functions_take_is_checked_before_anything_runs(table, given, kind, words):
    with pytest.raises(kind, match=words):
        npt.diagnose(table, **given)
    if not {"budget", "methods"} & {*given}:
        with pytest.raises(kind, match=words):
            npt.mend(table, **given)


def test_natural_calls_are_taken_or_refused_in_words(table, store):
    one = npt.observation(table, rows=3, local=False, progress=False)
    np.testing.assert_array_equal(one.x_o, npt.observation(table, 3, local=False).x_o)
    with pytest.raises(TypeError, match=r"in one list.*got 2 by themselves.*compare\(\[a, b\]\)"):
        npt.compare(table, table)
    with pytest.raises(TypeError, match="got 1 by itself"):
        npt.compare(table)
    with pytest.raises(TypeError, match="A model is its name in MODELS or a model; got 3"):
        npt.divergence([3], "laplace")
    with pytest.raises(ValueError, match="needs a closed form"):
        npt.divergence(npt.MODELS, npt.ALGORITHMS)
    for call, words in (
        (lambda: npt.ask(table, "size"), r"before the table; got Table\. .*ask\('size', table\)"),
        (lambda: npt.run(table, "sbc"), r"before the data; got Table\. .*run\('sbc', table\)"),
        (lambda: npt.diagnose("sbc", table), r"behind the table; got Table\. .*methods=\['sbc'"),
        (lambda: npt.diagnose(table, questions=1), r"behind the table; got int\. .*questions=\["),
        (lambda: npt.power(table, gamma=[0], methods="sbc"), "on a benchmark.*got Table"),
        (
            lambda: npt.power("boundary", [0], "sbc", trials="9"),
            "trials is a whole number; got '9'",
        ),
        (
            lambda: npt.diagnose(*(table.arrays()[name] for name in ("theta", "x", "theta_q"))),
            r"got ndarray\. .*diagnose\(npt\.Table\(theta, x, theta_q\)\)",
        ),
    ):
        with pytest.raises(TypeError, match=words):
            call()
    with pytest.raises(ValueError, match="row's number or the 2 numbers of an x; got str"):
        npt.ask("observation", table, where="first", store=store, progress=False)


def test_a_perturbation_names_its_benchmark(capsys):
    with pytest.raises(ValueError, match=r"npt\.Gaussian\(perturbation='heavy_tail'\)"):
        npt.power("heavy_tail", [0.1], "sbc")
    assert main(["power", "--benchmark", "blind_prior", "--method", "sbc", "--gamma", "1"]) == 2
    assert "--benchmark gaussian --set perturbation=blind_prior" in capsys.readouterr().err


def test_long_work_shows_a_bar_on_a_terminal_alone(table, store, monkeypatch):
    for heard, progress, bar in ((Terminal(), True, True), (Terminal(), False, False),
                                 (io.StringIO(), True, False)):  # fmt: skip
        monkeypatch.setattr(sys, "stderr", heard)
        npt.run("sbc", table, seed=len(heard.getvalue()) + bar, store=store, progress=progress)
        assert ("SBC on an uploaded table" in heard.getvalue()) == bar


def test_what_the_store_has_to_say_is_a_warning(table, tmp_path):
    file = tmp_path / "a file"
    file.write_text("no folder")
    with pytest.warns(UserWarning, match="must be writable"):
        npt.diagnose(table, "sbc", "none", store=npt.Store(file))
    with work.progress_watch(True) as watch:
        assert watch.every < 1


def test_posteriors_of_the_same_simulations_are_compared(table, store):
    theta, x, q = arrays()
    wide = npt.Table(theta, x, 0.8 * x[:, None] + 2 * (q - 0.8 * x[:, None]))
    result = npt.compare({"narrow": table, "right": wide}, store=store)
    assert result.sentences[0] == "Nearest to the true posterior: right."
    assert result.sentences[2].startswith("Tests of it alone find no problem (p ")
    assert result.sentences[3].startswith("right is nearer than narrow: ")
    frame = result.to_frame()
    assert list(frame["table"])[:2] == ["narrow", "right"]
    assert {"estimate", "low", "high", "difference_estimate", "closer"} <= {*frame.columns}
    document = json.loads(result.to_json())
    assert (document["tables"], document["reference"]) == (["narrow", "right"], "narrow")
    nearest, other = document["ranking"]
    assert (nearest["table"], nearest["estimate"]) == ("right", 0)
    assert 0 < other["low"] < other["estimate"] < other["high"]
    assert shown(result)
    turned = npt.compare({"narrow": table, "right": wide}, reference="right", store=store)
    first, again = result.measures[0], turned.measures[0]
    assert first.differences[1].estimate == pytest.approx(-again.differences[0].estimate)
    with pytest.raises(ValueError, match="at least two tables"):
        npt.compare([table], store=store)
    with pytest.raises(ValueError, match="table 2: Paired differences"):
        npt.compare([table, npt.Table(theta + 1, x, q)], store=store)
    with pytest.raises(ValueError, match="The reference is one of"):
        npt.compare({"a": table, "b": wide}, reference="c", store=store)
    for place in (-3, 2):
        with pytest.raises(ValueError, match=f"a place from -2 to 1; got {place}"):
            npt.compare([table, wide], reference=place, store=store)
    with pytest.raises(TypeError, match=r"a place from -2 to 1; got 1\.0"):
        npt.compare([table, wide], reference=1.0, store=store)
    last = npt.compare({"narrow": table, "right": wide}, reference=np.int64(-1), store=store)
    assert last.to_json() == turned.to_json()


def test_divergence_of_inference_from_the_posterior(store):
    result = npt.divergence(
        "heart_transplants",
        ["laplace", "exact"],
        iterations=(10, 30),
        datasets=4,
        store=store,
        engine="serial",
    )
    frame = result.to_frame()
    assert list(frame["inference"]) == ["laplace", "laplace", "exact", "exact"]
    assert (frame["skl"][2:].abs() < 1e-6).all()
    assert result.figure().data
    assert set(json.loads(result.to_json())["figures"]) == {"1"}
    assert shown(result)
    with pytest.raises(ValueError, match="A model is one of"):
        npt.divergence("nothing", store=store)
    for figure in (4, 1.0, 1.5):
        with pytest.raises(ValueError, match="Figures are 1, 2 and 3"):
            npt.divergence("hospitals", figure=figure, store=store)
    for m in (3, 5.0, [1, 1]):
        with pytest.raises(ValueError, match="M is one or more of"):
            npt.divergence("hospitals", figure=3, m=m, store=store)
    with pytest.raises(ValueError, match=r"1 or more; got 10\.5"):
        npt.divergence("hospitals", iterations=10.5, store=store)
    with pytest.raises(ValueError, match="needs a closed form"):
        npt.divergence("hospitals", "exact", store=store)


@pytest.fixture
def _idle(monkeypatch):
    """Nothing may be computed."""
    for kind in (TrainTask, Batch, InferenceRun):
        monkeypatch.setattr(kind, "run", None)


@pytest.mark.usefixtures("_idle")
def test_what_is_shipped_is_not_computed_again(tmp_path, capsys):
    """By the API and by the command line; and nothing of it is copied."""
    sweep = presets.by_name("references").sweep
    shipped = Store(tmp_path / "other", gallery=SHIPPED)
    cells = [asdict(cell) for cell in collect(sweep, shipped).cells]
    by_name = npt.power("references", progress=False)
    assert [asdict(cell) for cell in by_name.cells] == cells
    by_setting = npt.power(
        sweep.benchmark, sweep.gammas, sweep.methods, trials=100, n=500, networks=3, progress=False
    )
    assert [asdict(cell) for cell in by_setting.cells] == cells
    main(["power", "--comparison", "references", "--engine", "serial", "--json", "-"])
    printed = json.loads(capsys.readouterr().out)["cells"]
    assert [cell["rejections"] for cell in printed] == [cell["rejections"] for cell in cells]
    divergence = npt.divergence("hospitals", iterations=(10, 30), progress=False)
    kept = symmetric_divergence.collect(divergence.plans[1], shipped)
    assert np.isfinite(kept[0, 2].d).all()
    for place, terms in divergence.terms[1].items():
        np.testing.assert_array_equal(terms.d, kept[place].d)
    assert Store().entries() == []


def test_a_store_that_is_named_holds_what_was_put_there(tmp_path):
    sweep = presets.by_name("references").sweep
    assert missing(sweep, Store.usual()) == ()
    assert set(missing(sweep, Store(tmp_path))) == set(sweep.tasks)


def test_every_page_opens_the_usual_store():
    started = start()
    started.engine.close()
    assert started.store.place() == Store.usual().place()
