"""What one test's figures are: each with its title and the sentence that says how to read it."""

from __future__ import annotations

from typing import NamedTuple

import plotly.graph_objects as go


class Drawn(NamedTuple):
    """A figure as a page shows it."""

    title: str
    figure: go.Figure
    caption: str
    """How to read it, and what it would look like if q were right."""
