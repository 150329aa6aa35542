"""Tools for agents: a verdict in few calls, no file outside, bounded time, the protocol."""

import asyncio
import importlib.util
import json
import os
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tests.conftest import ROOT
from validation_core.agents import tools as agent_tools
from validation_core.agents.skill import skill
from validation_core.agents.tools import FolderTools
from validation_core.api import work
from validation_core.cli import main
from validation_core.store import Store

WITH_SDK = pytest.mark.skipif(
    importlib.util.find_spec("mcp") is None,
    reason="the SDK is not installed: pip install 'mcp>=2,<3'",
)


def _save(path, scale, n=60, k=15):
    """A line with a q that is `scale` times as wide as the posterior."""
    rng = np.random.default_rng(0)
    theta = rng.standard_normal((n, 2))
    x = theta + 0.5 * rng.standard_normal((n, 2))
    q = 0.8 * x[:, None] + scale * 0.2**0.5 * rng.standard_normal((n, k, 2))
    np.savez(path, theta=theta, x=x, posterior_samples=q)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two tables, a secret beside them, and links that lead out."""
    folder = tmp_path_factory.mktemp("agents") / "tables"
    folder.mkdir()
    _save(folder / "narrow.npz", 0.4)
    _save(folder / "exact.npz", 1.0)
    _save(folder.parent / "secret.npz", 0.4)
    (folder / "link.npz").symlink_to(folder.parent / "secret.npz")
    (folder / "up").symlink_to(folder.parent)
    (folder / "broken.npz").write_bytes(b"PK\x03\x04 no table")
    return folder


@pytest.fixture(scope="module")
def tools(folder, tmp_path_factory):
    return FolderTools(folder, Store(tmp_path_factory.mktemp("agents-store")))


@pytest.mark.usefixtures("quick_training")
def test_from_draws_to_next_step_in_eight_calls(tools):
    assert tools.list_tables().files == ["broken.npz", "exact.npz", "narrow.npz"]
    assert "from_sbi" in tools.how_to_save("sbi").code
    found = tools.diagnose("narrow.npz", seconds=300)
    assert (found.verdict, found.outcome) == ("problem found", "problem")
    assert found.pvalue <= 0.01
    assert "How wrong" in found.facts
    assert len(found.next_steps) == 3
    assert found.table.startswith("60 simulations, 15 draws each")
    size = tools.ask("narrow.npz", "calibration")
    assert "80% intervals hold" in size.sentences[0]
    assert len(size.rows) == 2
    json.dumps([size.rows], allow_nan=False)
    assert tools.ask("narrow.npz", "mend").title == "Mend it"
    far = tools.observation("narrow.npz", x_o=[66.0, 66.0])
    assert far.sentences[0].startswith("No check on simulations speaks for your observation")
    assert tools.observation("narrow.npz", row=3).rows
    nearest = tools.compare(["narrow.npz", "exact.npz"])
    assert "exact.npz" in nearest.sentences[0]


@pytest.mark.parametrize(
    "path",
    ["../secret.npz", "link.npz", "up/secret.npz", "/etc/passwd", "", "..", "narrow.npz/..",
     "a\x00.npz", "~/secret.npz", "x" * 5000, "up/tables/../secret.npz"],
)  # fmt: skip
def test_no_path_leads_out_of_the_folder(tools, folder, path):
    asked = (
        tools.diagnose,
        lambda path: tools.ask(path, "cause"),
        lambda path: tools.observation(path, row=0),
        lambda path: tools.compare(["narrow.npz", path]),
    )
    for tool in asked:
        with pytest.raises(ValueError, match="; got") as caught:
            tool(path)
        assert str(folder.parent) not in str(caught.value).replace(path or "-", "")


def test_refusals_say_what_to_do_without_paths_of_the_machine(tools, folder):
    with pytest.raises(ValueError, match="got") as caught:
        tools.diagnose("broken.npz")
    assert str(folder) not in str(caught.value)
    with pytest.raises(ValueError, match="one of"):
        tools.ask("narrow.npz", "everything")
    with pytest.raises(ValueError, match="any sample"):
        tools.how_to_save("prior")
    with pytest.raises(ValueError, match="a folder"):
        FolderTools(folder / "narrow.npz")


def test_time_is_bounded_and_told(tools, monkeypatch):
    """A clock that jumps by an hour at each look."""
    hours = iter(range(0, 10**9, 3600))
    clock = SimpleNamespace(perf_counter=lambda: next(hours), monotonic=lambda: next(hours))
    monkeypatch.setattr(work, "time", clock)
    monkeypatch.setattr(agent_tools, "time", clock)
    late = FolderTools(tools.folder)
    found = late.diagnose("exact.npz", seconds=1)
    assert found.not_done
    assert found.next_steps[0].startswith("Raise seconds")
    said = late.ask("exact.npz", "calibration").sentences[0]
    assert "under way starts anew: ask again with more seconds" in said
    said = late.ask("exact.npz", "calibration", seconds=600).sentences[0]
    assert "run nptlab in a shell" in said
    with pytest.raises(ValueError, match="did not end within 5 s"):
        late.compare(["narrow.npz", "exact.npz"], seconds=0)


def test_a_question_about_a_mistaken_file_is_told_what_corrects_it(tmp_path):
    _save(tmp_path / "exact.npz", 1.0, n=200)
    arrays = dict(np.load(tmp_path / "exact.npz"))
    swapped = arrays["posterior_samples"][..., ::-1]
    np.savez(tmp_path / "cols.npz", **{**arrays, "posterior_samples": swapped})
    tools = FolderTools(tmp_path, Store(tmp_path / "store"))
    told = tools.ask("cols.npz", "size")
    assert told.sentences[0] == "Not worked out: the file is to be corrected first."
    assert any("Columns of theta_q are not in theta's order" in one for one in told.sentences)
    assert 'while reading: corrections=["columns"]' in " ".join(told.notes)
    assert "as_saved=True" in " ".join(told.notes)
    with pytest.raises(ValueError, match="Columns of theta_q"):
        tools.observation("cols.npz", row=3)
    assert tools.observation("cols.npz", row=3, corrections=["columns"]).rows
    assert tools.observation("cols.npz", row=3, as_saved=True).rows
    with pytest.raises(ValueError, match=r"^cols\.npz: Columns of theta_q"):
        tools.compare(["exact.npz", "cols.npz"])


def test_an_observation_is_numbers_or_a_row(tools):
    with pytest.raises(ValueError, match="got both"):
        tools.observation("exact.npz", x_o=[0.0, 0.0], row=3)


def test_the_skill_ships_and_names_tools_that_exist(tmp_path, capsys):
    assert main(["skill", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "nptlab" / "SKILL.md").read_text() == skill()
    assert main(["skill"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("---\nname: nptlab\ndescription:")
    for name in ("list_tables", "how_to_save", "diagnose", "ask", "observation", "compare"):
        assert f"`{name}" in said
        assert callable(getattr(FolderTools, name))


def test_without_the_sdk_the_command_says_what_to_type(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    assert main(["mcp", str(tmp_path)]) == 2
    assert "pip install 'mcp>=2,<3'" in capsys.readouterr().err


@WITH_SDK
def test_an_agent_speaks_to_the_command(folder, tmp_path):
    """The protocol, through the SDK's own client and a process of its own."""
    from mcp import Client, StdioServerParameters, stdio_client

    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "validation_core", "mcp", str(folder)],
        env={**os.environ, "NPTLAB_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)},
    )

    async def talk():
        async with Client(stdio_client(command)) as client:
            offered = {tool.name: tool for tool in (await client.list_tools()).tools}
            found = await client.call_tool("diagnose", {"file": "narrow.npz", "seconds": 60})
            refused = await client.call_tool("diagnose", {"file": "../secret.npz"})
            listed = await client.call_tool("list_tables", {})
            return offered, found, refused, listed

    offered, found, refused, listed = asyncio.run(talk())
    assert len(offered) == 6
    assert all(tool.output_schema["type"] == "object" for tool in offered.values())
    assert all(tool.annotations.read_only_hint for tool in offered.values())
    assert "next_steps" in offered["diagnose"].output_schema["properties"]
    assert "alpha" in offered["diagnose"].input_schema["properties"]
    assert found.structured_content["verdict"] == "problem found"
    assert not found.is_error
    assert refused.is_error
    assert "folder that this server allows" in refused.content[0].text
    assert "narrow.npz" in listed.structured_content["files"]
