"""A benchmark in one file, registered by one line, is found wherever benchmarks are."""

import json
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import validation_core as npt
from tests.conftest import ROOT
from validation_core import keys
from validation_core.benchmarks import BENCHMARKS
from validation_core.cli import main
from validation_core.store import Store
from validation_core.types import Benchmark, Paper


@pytest.fixture
def slope(monkeypatch, tmp_path):
    """The benchmark, in the registry for one test."""
    monkeypatch.setattr(keys, "SPECIFICATIONS", dict(keys.known_specifications()))
    monkeypatch.setenv("NPTLAB_CACHE", str(tmp_path / "cache"))

    @dataclass(frozen=True, kw_only=True)
    class Slope(Benchmark):
        """theta is x and noise; q's slope is off by gamma."""

        name: ClassVar[str] = "slope"
        title: ClassVar[str] = "Slope of a line"
        paper: ClassVar[Paper] = Paper("Nobody", 2026, "A test's own benchmark")
        noise: float = field(default=1.0, metadata={"label": "Noise", "min": 0.1, "max": 9.0})

        @property
        def summary(self):
            return "q's slope is 1 + gamma"

        @property
        def gammas(self):
            return 0.0, 3.0

        @property
        def dims(self):
            return 1, 1

        def x(self, n, rng):
            return rng.standard_normal((n, 1))

        def theta(self, x, gamma, rng):
            return x + self.noise * rng.standard_normal(x.shape)

        def q(self, x, gamma, rng):
            return (1 + gamma) * x + self.noise * rng.standard_normal(x.shape)

    monkeypatch.setitem(BENCHMARKS, Slope.name, Slope)
    return Slope


def test_it_has_a_name_in_stored_keys_and_words_by_default(slope):
    assert keys.read(keys.canonical_text(slope(noise=2.0))) == slope(noise=2.0)
    assert slope().label == "Slope of a line"
    assert slope().axis == "perturbation strength gamma"
    assert slope().place(0.5) == "gamma = 0.5"
    assert slope().log_ratio(np.zeros((1, 1)), np.zeros((1, 1)), 0.0) is None


def test_the_front_door_finds_it(slope, tmp_path):
    assert npt.BENCHMARKS["slope"] is slope
    curves = npt.power(
        "slope", gamma=[0, 3], methods=["within_x"], trials=4, n=200, k=20,
        store=Store(tmp_path), progress=False,
    )  # fmt: skip
    rates = {cell.gamma: cell.rate for cell in curves.cells}
    assert rates[3.0] == 1.0
    assert rates[0.0] < 1


def test_the_command_line_lists_and_runs_it(slope, capsys):
    assert not main(["benchmarks", "--json", "-"])
    assert "slope" in [entry["name"] for entry in json.loads(capsys.readouterr().out)]
    words = ["power", "--benchmark", "slope", "--set", "noise=2", "--gamma", "3"]
    words += ["--method", "sbc", "--trials", "4", "--n", "200", "--engine", "serial"]
    assert not main([*words, "--json", "-"])
    assert '"slope"' in capsys.readouterr().out


def test_pages_list_it(slope):
    home = AppTest.from_file(str(ROOT / "pages" / "main.py"), default_timeout=120).run()
    page = home.switch_page("catalogue.py").run()
    assert not page.exception
    assert any(slope.title in str(table.value) for table in page.table)
