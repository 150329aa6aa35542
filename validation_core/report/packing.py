"""Things as they travel inside one HTML file: compressed, and unpacked by the browser."""

from __future__ import annotations

import base64
import gzip
import hashlib
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple


class Script(NamedTuple):
    """A script with the fingerprint by which a content security policy lets it run."""

    text: str
    digest: str


def packed(content: bytes, *, level: int = 9) -> str:
    """Gzip in base64; the same bytes always give the same text."""
    return base64.b64encode(gzip.compress(content, level, mtime=0)).decode()


def trusted(source: str) -> Script:
    """A script that a policy names by its SHA-256."""
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    return Script(source, f"'sha256-{digest}'")


@lru_cache(maxsize=1)
def plotly() -> Script:
    """plotly.js, packed: 4.8 MB as 1.9; the digest is of what it unpacks to."""
    script = resources.files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    return Script(packed(script), trusted(script.decode()).digest)


@lru_cache(maxsize=2)
def own(name: str) -> str:
    """A file that lies beside this module: the look of a report, or what runs in it."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
