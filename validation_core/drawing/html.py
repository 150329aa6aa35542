"""Live charts as one HTML file that needs no server and no network.

For a memory stick, a course system, a lecture room without a network. Numbers travel compressed;
a policy in the file's head lets its own script run, and nothing be fetched.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from validation_core.drawing.live import Payload, browser_file, script, style

LIMIT = 1_000_000
"""Bytes of the file of one lesson."""
_LIGHT = {"primary-color": "#35506B", "background-color": "#FFFFFF", "text-color": "#22272E"}
_DARK = {"primary-color": "#50789F", "background-color": "#14171C", "text-color": "#E3E6EA"}
_FONT = '"Source Sans 3", "Source Sans", system-ui, sans-serif'


@dataclass(frozen=True)
class Scene:
    """A chart and the initial values of its sliders; without any, the sliders' own."""

    title: str
    payload: Payload
    at: tuple[float, ...] | None = None


def html(title: str, scenes: Sequence[Scene], foot: str = "") -> str:
    """Build the HTML document.

    Args:
        title: of the window.
        scenes: shown one at a time; with more than one, buttons and arrow keys step through them.
        foot: words below: papers and links.

    Raises:
        ValueError: without a scene.
    """
    if not scenes:
        raise ValueError("A file shows at least one scene; got none. Add one first.")
    module = script().replace("export default function", "return function")
    program = f"const draw = (() => {{\n{module}\n}})()\n{browser_file('standalone.js')}"
    digest = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()
    data = json.dumps([_packed(scene) for scene in scenes]).replace("<", "\\u003c")
    css = "\n".join([_variables(), style(), browser_file("standalone.css")])
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'">
<title>{escape(title)}</title>
<style>
{css}
</style>
</head>
<body>
<nav id="steps" aria-label="Scenes"></nav>
<main id="stage"></main>
<footer><span>{escape(foot)}</span><button type="button" id="theme">Dark</button></footer>
<script type="application/json" id="scenes">{data}</script>
<script>{program}</script>
</body>
</html>
"""


def _packed(scene: Scene) -> dict[str, object]:
    payload = scene.payload
    message = payload.message(payload.start)
    packed = base64.b64encode(gzip.compress(message, compresslevel=9, mtime=0)).decode()
    at = None if scene.at is None else list(payload.nearest(scene.at))
    return {"title": scene.title, "message": packed, "at": at}


def _variables() -> str:
    """Streamlit's CSS variables, in the colours of .streamlit/config.toml."""
    light, dark = _declared(_LIGHT), _declared(_DARK)
    return (
        f":root {{ color-scheme: light; --top: 0; --st-font: {_FONT}; {light} }}\n"
        "@media (prefers-color-scheme: dark) { :root:not([data-theme=light]) "
        f"{{ color-scheme: dark; {dark} }} }}\n"
        f":root[data-theme=dark] {{ color-scheme: dark; {dark} }}"
    )


def _declared(colors: Mapping[str, str]) -> str:
    return " ".join(f"--st-{name}: {color};" for name, color in colors.items())
