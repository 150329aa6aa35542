"""The tools as a server of the Model Context Protocol, by its official SDK."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from validation_core import __version__
from validation_core.agents.skill import skill
from validation_core.agents.tools import FolderTools

_INSTALL = (
    "The server of tools needs the SDK of the Model Context Protocol, 2.0 or later; got none. "
    "Install it: pip install 'mcp>=2,<3'."
)


def server(folder: Path) -> Any:
    """The server of a folder's tools, `mcp.server.MCPServer`.

    Args:
        folder: no file outside of it is read.

    Raises:
        ValueError: for what is no folder, or without the SDK.
    """
    tools = FolderTools(folder)
    try:
        from mcp.server import MCPServer
        from mcp_types import ToolAnnotations
    except ImportError:
        raise ValueError(_INSTALL) from None
    served = MCPServer(
        "nptlab", title="NPT Lab", instructions=skill(), version=__version__, log_level="WARNING"
    )
    only_reads = ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    for tool in (
        tools.list_tables,
        tools.how_to_save,
        tools.diagnose,
        tools.ask,
        tools.observation,
        tools.compare,
    ):
        served.add_tool(_refusing(tool), annotations=only_reads)
    return served


def _refusing(tool: Callable[..., Any]) -> Callable[..., Any]:
    """A tool whose refusals the agent reads: the SDK hides the words of other errors."""
    from mcp.server.mcpserver.exceptions import ToolError

    @functools.wraps(tool)
    def asked(*values: Any, **named: Any) -> Any:
        try:
            return tool(*values, **named)
        except (ValueError, OSError, MemoryError) as error:
            raise ToolError(str(error) or type(error).__name__) from error

    return asked
