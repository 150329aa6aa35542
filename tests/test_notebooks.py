"""The notebooks run from top to bottom, and are stored with small outputs."""

import json

import pytest

from tests.conftest import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def _code(path):
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["nbformat"] == 4
    return [cell for cell in document["cells"] if cell["cell_type"] == "code"]


def test_there_are_two():
    assert [path.stem for path in NOTEBOOKS] == ["diagnose_a_table", "study_power"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_keeps_what_its_cells_said(path):
    """By `python docs/execute.py`: no progress bars, no scripts, no paths of a machine."""
    assert path.stat().st_size < 150_000
    outputs = [output for cell in _code(path) for output in cell["outputs"]]
    assert len(outputs) >= 5
    assert {output["output_type"] for output in outputs} <= {"stream", "execute_result"}
    assert any("image/svg+xml" in output.get("data", {}) for output in outputs)
    kept = json.dumps(outputs)
    assert [word for word in ("<script", "/tmp/", "/home/", "stderr") if word in kept] == []


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.usefixtures("short_training")
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    """Each cell in turn, in one namespace, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for cell in _code(path):
        exec(compile("".join(cell["source"]), path.name, "exec"), names)
    result = names["result"]
    assert result._repr_html_().startswith("<iframe")
    assert result.figures()[0]._repr_svg_().startswith("<svg")
