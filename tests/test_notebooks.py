"""The notebooks run from top to bottom, and are stored without output."""

import json

import pytest

from tests.conftest import ROOT
from validation_core.diagnosis import learning

NOTEBOOKS = sorted((ROOT / "assets" / "notebooks").glob("*.ipynb"))


def test_there_are_two():
    assert [path.stem for path in NOTEBOOKS] == ["diagnose_a_table", "study_power"]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    """Each cell in turn, in one namespace, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    for name in ("steps", "blur_steps"):
        monkeypatch.setitem(learning.LOCALIZER, name, 20)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["nbformat"] == 4
    names: dict[str, object] = {}
    for cell in document["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            exec(compile("".join(cell["source"]), path.name, "exec"), names)
    result = names["result"]
    assert result._repr_html_().startswith("<iframe")
