"""What the tests of reports are about: small tables, panels that draw, names that mean harm."""

from types import SimpleNamespace

import numpy as np

from validation_core import diagnosis, panels
from validation_core.answers import Found
from validation_core.diagnosis import run_method
from validation_core.figures import style
from validation_core.figures.outcome import Drawn
from validation_core.methods import SBC
from validation_core.panels import Panel
from validation_core.uploads import Upload

HOSTILE = ("<b>bold</b>", "</script><script>alert(1)</script>", "=cmd|' /C calc'!A0", "a/b", "a/b",
           "µ, σ \"q\" 'p'", "draw", "\x00", "", "{seed}")  # fmt: skip


def table(n=120, k=30, d=2, shift=0.0, names=None, seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.standard_normal((n, d)).astype(np.float32)
    q = (shift + rng.standard_normal((n, k, d))).astype(np.float32)
    arrays = {"theta": theta, "x": np.zeros((n, 1), np.float32), "theta_q": q}
    named = {} if names is None else {"theta_names": np.array(names)}
    return Upload.of({**arrays, **named}, order="NKD")


def diagnosed(upload, methods=None, **options):
    def none():
        raise AssertionError("these methods learn nothing")

    records = [run_method(upload, method, 0, network=none) for method in methods or [SBC()]]
    return diagnosis.verdict(records, upload, **options)


def cloud(points, seed=0):
    """As many points as one asks for, of which none is like another."""
    xy = np.random.default_rng(seed).random((2, points))
    trace = {"type": "scatter", "mode": "markers", "x": xy[0], "y": xy[1],
             "marker": {"color": xy[0], "size": 3}}  # fmt: skip
    return style.figure([trace], x=style.Axis("x", (0, 1)), y=style.Axis("y", (0, 1)))


def fake(points=50, figures=1, name="size", obstacle=None):
    """A panel with a row for each parameter."""

    def rows(found, names):
        return [{"Parameter": one, "Error": i / 3, "Reading": "too wide"}
                for i, one in enumerate(names)]  # fmt: skip

    module = SimpleNamespace(
        HOW="Were q right, all would be 0.", obstacle=lambda upload: obstacle, table=rows,
        say=lambda found, names: (f"The worst is {names[0]}.", "It is <i>wide</i>."),
        CODE="from pathlib import Path\nprint(Path({path}).name, {seed})\n",
    )  # fmt: skip

    def drawn(found, names):
        return tuple(Drawn(f"Cloud of {names[0]}", cloud(points, i), f"How {names[0]} lies.")
                     for i in range(figures))  # fmt: skip

    return Panel(name, "How <wrong>", module, drawn)


FOUND = Found({"error": 0.25, "nothing": float("nan")}, {"x": np.zeros(3)})


def known(monkeypatch):
    """Let panels made up for a test be found by their names."""
    monkeypatch.setattr(panels, "by_name", lambda name: fake(name=name))
