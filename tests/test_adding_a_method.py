"""A method with a new kind of score, in this one file, is found wherever methods are."""

import io
import json
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import validation_core as npt
from pages.diagnose import rows, takeaway, view
from pages.ui.services import services
from tests.conftest import ROOT, nothing_worked_out
from validation_core import keys, sampling, statistics
from validation_core.cli import main
from validation_core.diagnosis import Record, costs, findings, questions
from validation_core.drawing import style
from validation_core.methods import METHODS
from validation_core.methods.base import Method, ScoreKind, Work
from validation_core.panels.record import pictures
from validation_core.rng import stream
from validation_core.scores import Recipe
from validation_core.store import Store
from validation_core.sweep.costs import machine_slowdown
from validation_core.tables import Upload
from validation_core.types import MethodStyle, Outcome, Paper


@dataclass(frozen=True, eq=False)
class Fitted:
    """Distance of a parameter from a line through x."""

    slope: np.ndarray
    seconds: float = 0.0
    device: str = "cpu"
    summary: ClassVar[dict[str, float]] = {"slopes": 1.0}

    def arrays(self):
        return {"slope": self.slope}

    def at(self, beta=0.0):
        del beta
        return lambda theta, x: ((theta - x @ self.slope) ** 2).sum(1)


@dataclass(frozen=True, kw_only=True)
class Line(Recipe, spec="test line"):
    """Least squares of theta on x."""

    n: int

    @property
    def places(self):
        return self.n

    def cost(self):
        return 0.25

    def sample(self, benchmark, gamma, rng):
        return sampling.table(benchmark, gamma, self.n, 1, rng)

    def learn_all(self, data, seeds, report=None):
        del seeds, report
        return [Fitted(np.linalg.lstsq(rows.x, rows.theta, rcond=None)[0]) for rows in data]

    def read(self, arrays, *, seconds, device):
        return Fitted(arrays["slope"], seconds, device)


@pytest.fixture
def residual(monkeypatch):
    """The method, in the registry for one test."""
    monkeypatch.setattr(keys, "SPECIFICATIONS", dict(keys.known_specifications()))

    @dataclass(frozen=True, kw_only=True)
    class Residual(Method):
        """The rank of the truth's residual among those of q's draws."""

        name: ClassVar[str] = "residual"
        title: ClassVar[str] = "Residual ranks"
        paper: ClassVar[Paper] = Paper("Nobody", 2026, "A test's own test")
        summary: ClassVar[str] = "Does the truth lie as far from a line as q's draws do?"
        statistic: ClassVar[str] = "KS distance of residual ranks"
        score_kind: ClassVar[ScoreKind] = "recipe"
        style: ClassVar[MethodStyle] = MethodStyle("#123456", "dash", "hash")
        meaning: ClassVar[str] = "A peak at the left: the truth lies nearer the line."
        power: int = field(default=2, metadata={"label": "Power", "min": 1, "max": 3})

        def recipe(self, n, k, benchmark=None):
            del k, benchmark
            return Line(n=n)

        def least_rows(self, *, table):
            del table
            return 20, "fits a line to half of the rows"

        def effects(self, outcome):
            return {"farthest": float(outcome.arrays["u"].max())}

        @classmethod
        def findings(cls, record, x_names=()):
            del x_names
            return (f"The farthest residual ranks at {record.effect.numbers['farthest']:.2f}.",)

        def cost(self, work: Work):
            return 7.0 + 0 * work.n

        def test(self, scores, rng):
            u = statistics.conformal_ranks(scores.truth, scores.draws, rng)[..., 0, :]
            result = statistics.ks(u)
            budget = self.budget(*scores.draws.shape[-2:])
            return Outcome(result.statistic, result.pvalue, budget, arrays={"u": u})

    monkeypatch.setitem(METHODS, Residual.name, Residual)
    return Residual


@pytest.fixture
def table():
    rng = stream(0, "table")
    x = rng.standard_normal((80, 2))
    q = x[:, None] + 3 * rng.standard_normal((80, 12, 2))
    return {"theta": x + rng.standard_normal((80, 2)), "x": x, "theta_q": q}


def test_it_runs_on_a_table_and_says_draws_and_costs_what_it_declares(residual, table, tmp_path):
    result = npt.run("residual", table, store=Store(tmp_path), progress=False)
    assert result.pvalue < 0.01
    assert "The farthest residual ranks at" in " ".join(findings(result.record))
    drawings = pictures(result.record)
    assert [drawing.title for drawing in drawings] == ["Ranks", "Ranks, cumulated"]
    assert residual.meaning in drawings[0].caption
    assert style.method_style("residual").color == "#123456"
    cost = costs.on_table(Upload.of(table), residual())
    assert cost.trial >= 7.0 * machine_slowdown()
    assert cost.training == pytest.approx(0.25 * machine_slowdown())


def test_a_diagnosis_runs_it_and_its_report_shows_it(residual, table, tmp_path):
    chosen = ["sbc", "residual"]
    result = npt.diagnose(table, chosen, "none", store=Store(tmp_path), progress=False)
    result.save(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert residual.title in text
    assert "The farthest residual ranks at" in text
    assert residual.meaning.split(":")[0] in text


def test_the_command_line_lists_and_runs_it(residual, table, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path / "cache"))
    assert not main(["methods", "--json", "-"])
    assert "residual" in [entry["name"] for entry in json.loads(capsys.readouterr().out)]
    np.savez(tmp_path / "table.npz", **table)
    words = ["diagnose", str(tmp_path / "table.npz"), "--method", "residual", "--answers", "none"]
    assert not main([*words, "--json", "-"])
    methods = json.loads(capsys.readouterr().out)["methods"]
    assert [entry["name"] for entry in methods] == ["residual"]
    words = ["power", "--benchmark", "gaussian", "--method", "residual", "--gamma", "0.3"]
    assert not main([*words, "--trials", "10", "--engine", "serial", "--json", "-"])
    assert '"residual"' in capsys.readouterr().out


def test_the_compare_page_offers_it(residual):
    page = AppTest.from_file(str(ROOT / "pages" / "compare/page.py"), default_timeout=120)
    page.query_params["comparison"] = "A comparison of my own"
    page.run()
    assert not page.exception
    assert residual.title in page.multiselect(key="methods").options


def test_the_catalogue_names_it(residual):
    home = AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=120).run()
    page = home.switch_page("catalogue.py").run()
    assert not page.exception
    row = page.table[0].value.loc[residual.title]
    assert list(row) == [residual.summary, residual.statistic, "Nobody (2026)"]
    assert residual.paper.title in " ".join(block.value for block in page.markdown)


@pytest.mark.usefixtures("_few_trials")
def test_my_posterior_runs_it_and_models_lists_its_network(residual, table, monkeypatch, tmp_path):
    """Unasked, as it needs no `further`; with what it says, its figures and its caption.

    Of so few rows that nothing but it learns anything, and beside two questions.
    """
    few = (questions.by_name("size"), questions.by_name("in_theta"))
    for module in (questions, rows, takeaway, view):
        monkeypatch.setattr(module, "QUESTIONS", few)
    page = AppTest.from_file(str(ROOT / "pages" / "diagnose/page.py"), default_timeout=120)
    page.session_state["row-tests"] = True
    with nothing_worked_out(tmp_path / "example"):
        page.run()
    file = io.BytesIO()
    np.savez(file, **{name: array[:30] for name, array in table.items()})
    page.file_uploader[0].upload("table.npz", file.getvalue()).run()
    assert not page.exception
    assert residual.title in page.table[0].value.index
    tests = page.selectbox(key="test")
    place = [label.split(":")[0] for label in tests.options].index(residual.title)
    tests.select_index(place).run()
    text = "\n".join(part.value for part in (*page.markdown, *page.caption, *page.subheader))
    assert "The farthest residual ranks at" in text
    assert residual.meaning in text
    page = AppTest.from_file(str(ROOT / "pages" / "models/page.py"), default_timeout=120).run()
    assert not page.exception
    files = page.dataframe[0].value
    assert f"{residual.title} on an uploaded table" in list(files["Name"])
    assert any("test line" in spec for spec in files["Specification"])
    services.clear()


def test_a_record_of_a_method_that_is_gone_still_shows():
    u = stream(1, "gone").random(50)
    record = Record("gone", "Gone", "A test that was", "ran", arrays={"u": u}, pvalue=0.3)
    assert record.kind is Method
    assert [drawing.title for drawing in pictures(record)] == ["Ranks", "Ranks, cumulated"]
    assert findings(record) == ()
    assert style.method_style("gone") == MethodStyle()
