"""`mcp FOLDER` and `skill`: NPT Lab for agents."""

from __future__ import annotations

import argparse
from pathlib import Path

from validation_core.agents.server import server
from validation_core.agents.skill import skill
from validation_core.cli.options import make_folder
from validation_core.cli.process import tell

_EPILOG = """\
For a client of the Model Context Protocol, such as a coding agent:

  {"mcpServers": {"nptlab": {"command": "nptlab", "args": ["mcp", "FOLDER"]}}}

Tools: list_tables, how_to_save, diagnose, ask, observation, compare. They read files of FOLDER
alone, and write nothing but the store of results. It needs an extra: pip install 'mcp>=2,<3'.
"""


def add_mcp(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `mcp`."""
    parser.formatter_class, parser.epilog = argparse.RawDescriptionHelpFormatter, _EPILOG
    parser.add_argument("folder", type=Path, help="whose tables may be read")
    parser.set_defaults(run=lambda chosen: server(chosen.folder).run("stdio"))


def add_skill(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `skill`."""
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="write DIR/nptlab/SKILL.md instead of printing it"
    )
    parser.set_defaults(run=_skill)


def _skill(chosen: argparse.Namespace) -> None:
    if chosen.out is None:
        print(skill(), end="")
        return
    path = chosen.out / "nptlab" / "SKILL.md"
    make_folder(path.parent)
    path.write_text(skill(), encoding="utf-8")
    tell(f"written: {path}")
