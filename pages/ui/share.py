"""A button that copies the page's address, which carries every setting."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from pages.ui import address

_LOOK = """
button { padding: 0.4rem 0.8rem; border-radius: 8px; background: none; cursor: pointer;
  border: 1px solid color-mix(in srgb, var(--st-text-color) 28%, transparent);
  font: 0.875rem var(--st-font); color: var(--st-text-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); }
"""


def copy_link(
    key: str = "copy-link", *, label: str = "", other: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Draw it, below the settings: an old link is copied as the address says them today.

    Args:
        key: of the component.
        label: on the button, where it is not "Copy link".
        other: settings that the link has in place of those on screen.
    """
    search = urlencode(address.settings() if other is None else other, doseq=True)
    _component()(key=key, data={"search": search, "label": label or "Copy link"})


@cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component(
        "nptlab_copy_link",
        html='<button type="button">Copy link</button>\n',
        css=_LOOK,
        js=(Path(__file__).parent / "copy_link.js").read_text(),
    )
