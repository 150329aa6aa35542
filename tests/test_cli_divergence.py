"""`divergence` on the command line: numbers, one offline file, stand-ins, bad input."""

import base64
import gzip
import json
import re

import numpy as np
import pytest

from tests.test_cli import printed, refused, said
from validation_core.bayes import HeartTransplants, Hospitals
from validation_core.bayes.laplace import Laplace
from validation_core.store import Store
from validation_core.symmetric_divergence import InferenceRun, Plan, collect
from validation_core.symmetric_divergence.nats_text import without_rounding

SMALL = ("divergence", "--engine", "serial", "--datasets", "6", "--iterations", "5,20")
HEART = (*SMALL, "--model", "heart_transplants")


def test_figure_1_gives_every_number(capsys):
    result = printed(capsys, *HEART, "--figure", "1", "--seed", "3")
    (example,) = result["figures"].values()
    assert (result["datasets"], result["seed"]) == (6, 3)
    assert [(row["inference"], row["iterations"], row["m"]) for row in example] == [
        ("laplace", 5, 1), ("laplace", 20, 1), ("adjusted_laplace", 5, 1),
        ("adjusted_laplace", 20, 1), ("vi", 5, 1), ("vi", 20, 1), ("iwvi", 5, 10),
        ("iwvi", 20, 10),
    ]  # fmt: skip
    plan = Plan(models=(HeartTransplants(),), inferences=(Laplace(),), iterations=(5, 20),
                datasets=6, seed=3)  # fmt: skip
    d = collect(plan, Store())[0, 0].d[1, 0]
    row = example[1]
    assert row["skl"] == pytest.approx(d.mean())
    assert row["ci_high"] == pytest.approx(d.mean() + 1.959964 * d.std(ddof=1) / np.sqrt(6))
    assert row["median"] == pytest.approx(np.median(d))
    assert row["largest"] == pytest.approx(d.max())
    assert (row["k"], row["failures"]) == (6, 0)


def test_iterations_are_read_in_any_order(capsys):
    few = ("--figure", "1,3", "--inference", "laplace", "--m", "1")
    result = printed(capsys, *HEART, *few, "--iterations", "20,5")
    assert [row["iterations"] for row in result["figures"]["1"]] == [5, 20]
    assert [row["iterations"] for row in result["figures"]["3"]] == [5, 20]


def test_a_second_run_takes_what_is_there(capsys, monkeypatch):
    first = printed(capsys, *HEART)
    monkeypatch.setattr(InferenceRun, "run", None)
    assert printed(capsys, *HEART) == first
    assert set(first["figures"]) == {"1", "2", "3"}


def test_words_name_the_interval_and_the_failures(capsys):
    heard = said(
        capsys, *SMALL, "--model", "hospitals", "--inference", "laplace", "--figure", "1",
        "--iterations", "2,5",
    ).out  # fmt: skip
    assert re.search(r"no q on [1-6] of 6 data sets", heard)
    heard = said(capsys, *HEART, "--figure", "2", "--inference", "iwvi:m=2", "--m", "1,5").out
    assert re.search(
        r"Heart transplants, IWVI, M = 2\n.+95% interval.+\n +5 +1 +\S+ +\[\S+, \S+\]", heard
    )
    assert max(map(len, heard.splitlines())) <= 80
    assert "M = 100" not in heard


def test_nats_that_are_rounding_are_0():
    assert [without_rounding(nats) for nats in (-3.8e-13, 2e-9, 0.166)] == [0.0, 2e-9, 0.166]


def test_a_mean_that_rests_on_one_data_set_is_marked(capsys):
    """IWVI after five iterations: one of six data sets is worse than all others together."""
    heard = said(capsys, *HEART, "--figure", "1", "--iterations", "5").out
    rows = printed(capsys, *HEART, "--figure", "1", "--iterations", "5")["figures"]["1"]
    marked = [line for line in heard.splitlines() if line.endswith(" *")]
    assert len(marked) == sum(row["dominated"] for row in rows) > 0
    for row in rows:
        assert row["dominated"] == (row["carried"] > 0.5)
        assert row["carried"] == pytest.approx(row["largest"] / row["skl"] / 6)
    assert "one data set's" in heard
    assert max(map(len, heard.splitlines())) <= 80


def test_another_m_brings_its_usual_draws_of_a_step():
    from validation_core.bayes.algorithms import with_options
    from validation_core.bayes.variational import Variational

    assert with_options("iwvi", m=2) == Variational(m=2)
    assert with_options("iwvi", m=20) == Variational(m=20, samples=100)


def test_one_file_with_three_figures(capsys, tmp_path):
    page, numbers = tmp_path / "figures.html", tmp_path / "numbers.json"
    heard = said(
        capsys,
        *HEART,
        "--model",
        "concrete:design=stand-in",
        "--html",
        str(page),
        "--json",
        str(numbers),
    )
    text = page.read_text(encoding="utf-8")
    assert "http://" not in text
    assert "https://" not in text
    assert "default-src 'none'" in text
    assert "stand-in" in text
    assert "Figure 1" in heard.out
    assert text.count("if q were correct") == 5  # Figures 2 and 3 along iterations and along M
    packed = re.search(r'id="figures">([^<]+)<', text)[1]
    figures = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert len(figures) == 5
    assert all(figure["data"] and "xaxis2" in figure["layout"] for figure in figures)
    packed = re.search(r'data-name="[^"]+json">([^<]+)<', text)[1]
    data = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert data == json.loads(numbers.read_text())
    assert all(row["model_label"] for row in data["figures"]["1"])


def test_a_stand_in_is_asked_for_and_said(capsys):
    few = (*SMALL, "--inference", "adjusted_laplace", "--figure", "1", "--model")
    rows = printed(capsys, *few, "concrete")["figures"]["1"]
    assert all("stand-in" not in row["model_label"] for row in rows)
    assert all(abs(row["skl"]) < 1e-8 for row in rows)
    standing = printed(capsys, *few, "concrete:design=stand-in")["figures"]["1"]
    assert all("stand-in" in row["model_label"] for row in standing)


def test_what_cannot_be_run_is_told_after_what_can(capsys, tmp_path, monkeypatch):
    whole = InferenceRun.run

    def run(self, store, report):
        if isinstance(self.model, Hospitals):
            raise ValueError("no bed is left")
        whole(self, store, report)

    monkeypatch.setattr(InferenceRun, "run", run)
    numbers = tmp_path / "numbers.json"
    heard = said(
        capsys, *SMALL, "--model", "heart_transplants", "--model", "hospitals", "--inference",
        "laplace", "--figure", "1", "--json", str(numbers), code=2,
    )  # fmt: skip
    assert "no bed is left" in heard.err
    rows = json.loads(numbers.read_text())["figures"]["1"]
    assert {row["model"] for row in rows} == {"heart_transplants"}


REFUSED = """
--figure 4
--figure one
--model eight_schools
--model glm_binomial:data=mine
--model heart_transplants --model heart_transplants
--inference gibbs
--inference vi:rate=1
--model hospitals --inference exact
--inference iwvi:m=3
--iterations 10,-1
--iterations 10,10
--datasets 1
--m 3
--m 5,5
--model concrete:design=ours
--html /no/such/folder/figures.html
--json /no/such/folder/numbers.json
--html .
--html one.html --json ./one.html
--engine cloud
"""


def test_bad_input_is_one_line_and_exit_code_2(capsys, monkeypatch, golden):
    monkeypatch.setattr(InferenceRun, "run", None)
    lines = []
    for line in REFUSED.strip().splitlines():
        lines += [f"$ nptlab divergence {line}", refused(capsys, *SMALL, *line.split()).strip()]
    golden("refusals-divergence", lines)


def test_files_are_tried_and_left_as_they_were(capsys, tmp_path):
    new, old = tmp_path / "new.json", tmp_path / "old.html"
    old.write_text("as it was")
    refused(capsys, *SMALL, "--json", str(new), "--html", str(old), "--datasets", "1")
    assert not new.exists()
    assert old.read_text() == "as it was"
