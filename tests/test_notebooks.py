"""The notebooks run from top to bottom, and are stored with small outputs."""

import json
import re
import sys
from types import SimpleNamespace

import pytest

from tests.conftest import ROOT
from validation_core.api import work

NOTEBOOKS = sorted((ROOT / "assets" / "notebooks").glob("*.ipynb"))


def _code(path):
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["nbformat"] == 4
    return [cell for cell in document["cells"] if cell["cell_type"] == "code"]


def test_the_site_lists_all():
    listed = re.findall(r"notebooks/(\w+)\.ipynb", (ROOT / "mkdocs.yml").read_text())
    assert sorted(listed) == [path.stem for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_keeps_what_its_cells_said(path):
    """By `python docs/execute.py`: no progress bars, no scripts, no paths of a machine."""
    assert path.stat().st_size < 200_000
    outputs = [output for cell in _code(path) for output in cell["outputs"]]
    assert len(outputs) >= 4
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


@pytest.mark.parametrize("watched", [True, False])
def test_a_bar_is_drawn_only_for_who_watches(watched, monkeypatch, capsys):
    """nbclient, nbconvert and papermill refuse questions of a cell; the others let it ask."""
    request = {"content": {"allow_stdin": watched}}
    kernel = SimpleNamespace(get_parent=lambda channel: request)
    app = SimpleNamespace(
        initialized=lambda: True, instance=lambda: SimpleNamespace(kernel=kernel)
    )
    monkeypatch.setitem(sys.modules, "ipykernel.kernelapp", SimpleNamespace(IPKernelApp=app))
    with work.progress_watch(True) as watch:
        watch.begin("training")
        for done in range(100):
            watch.progress(done, 0.5, 100, 1.0)
    assert ("training" in capsys.readouterr().err) == watched
