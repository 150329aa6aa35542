"""Parts of Streamlit's front end that our pages draw with, asked for together with a page."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import streamlit

_PARTS = ("BidiComponent", "Button", "ButtonGroup", "Html", "PageLink")
_IMPORTED = re.compile(r'(?:from|import)"\./([^"]+\.js)"')
_LISTED = re.compile(r'/js/([^"]+\.js)"')


@cache
def link_header() -> str:
    """A `Link` header by which a browser fetches these parts beside Streamlit's own scripts.

    Streamlit's front end asks for a part only when the first message names it, while the server is
    busy with the page. Empty where Streamlit's files have other names.
    """
    static = Path(streamlit.__file__).with_name("static")
    scripts = static / "static" / "js"
    known = set(_LISTED.findall((static / "index.html").read_text(encoding="utf-8")))
    waiting = [path.name for part in _PARTS for path in sorted(scripts.glob(f"{part}.*.js"))]
    found: list[str] = []
    while waiting:
        name = waiting.pop(0)
        if name not in known:
            known.add(name)
            found.append(name)
            waiting += _IMPORTED.findall((scripts / name).read_text(encoding="utf-8"))
    return ", ".join(f"<./static/js/{name}>; rel=modulepreload; crossorigin" for name in found)
