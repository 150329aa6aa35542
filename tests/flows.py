"""Every kind of table that is brought, in every state of its verdict, and ways to ask about it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from tests.conftest import few_injected, few_trials
from validation_core.diagnosis import learning
from validation_core.diagnosis.questions import QUESTIONS
from validation_core.methods import METHODS

KINDS = (
    "table", "two samples", "two samples of one column", "with x_o", "x_o far away",
    "with densities", "with groups", "discrete", "1 parameter", "300 parameters", "30 rows",
    "5,000 rows", "image x", "scale 1e-9", "scale 1e9", "constant x",
)  # fmt: skip
STATES = ("problem found", "no problem found", "not enough data")
WAYS = (
    "usual", "all", "none", *(f"one: {question.name}" for question in QUESTIONS),
    *(f"method: {name}" for name in METHODS),
)  # fmt: skip
ERRORS = (
    "shift", "small shift", "narrow", "one of two narrow", "wide", "pair", "part of x",
    "ignores x_2", "outliers", "mode",
)  # fmt: skip
LARGE = ("300 parameters", "5,000 rows")
_SOON = ("none", "one: size", "one: over_x", "method: sbc", "method: omnibus", "usual")
_EVERYWHERE = ("omnibus", "sbc", "c2st", "size", "over_x")
"""Methods and questions asked alone of every kind of table; others take turns: they share a way,
and "all" asks each of every kind."""
_SHIFT = 3.0  # posterior sds by which q is wrong where it is


def small(patch: pytest.MonkeyPatch) -> None:
    """Few simulated tables, small trees: what is tested is what is said of them."""
    few_trials(patch)
    few_injected(patch)
    slots = learning.slot_recipe
    patch.setattr(learning, "slot_recipe", lambda upload: replace(slots(upload), trees=8))


def possible(kind: str, state: str, way: str = "none") -> bool:
    """Whether there is such a table, and an answer in seconds.

    Many rows are enough data, few are not.
    """
    if kind in LARGE and way not in _SOON:
        return False
    name = way.partition(": ")[2]
    if name and name not in _EVERYWHERE:
        turn = KINDS.index(kind) + WAYS.index(way)
        return turn % 2 == 0 and possible(kind, state)
    if state == "not enough data":
        return kind not in ("5,000 rows", "with groups", "x_o far away", "with x_o")
    return kind != "30 rows" or state == "problem found"


def arrays(kind: str, state: str, seed: int = 0) -> dict[str, np.ndarray]:
    """A table by its public names; q is exact but for its shift."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    n, k, d, m = _sizes(kind, state)
    shift = _SHIFT if state == "problem found" else 0.0
    if kind.startswith("two samples"):
        return {"p": rng.standard_normal((n, d)), "q": shift + rng.standard_normal((n + 7, d))}
    if kind == "with groups":
        return _pasted(rng, n, k, d, shift)
    x = rng.standard_normal((n, m)) * (kind != "constant x")
    mean = np.repeat(x[:, :1], d, axis=1)
    theta = mean + rng.standard_normal((n, d))
    q = mean[:, None] + shift + rng.standard_normal((n, k, d))
    if kind == "discrete":
        theta, q = np.round(theta), np.round(q)
    scale = {"scale 1e-9": 1e-9, "scale 1e9": 1e9}.get(kind, 1.0)
    table = {"theta": scale * theta, "x": scale * x, "theta_q": scale * q}
    if kind == "image x":
        table["x"] = x.reshape(n, 6, 6)
    if kind == "with densities":
        table |= {
            "log_q": _log(theta, mean + shift), "log_q_draws": _log(q, mean[:, None] + shift),
            "log_joint": _log(theta, mean), "log_joint_draws": _log(q, mean[:, None]),
        }  # fmt: skip
    if kind in ("with x_o", "x_o far away"):
        at = np.zeros(m) if kind == "with x_o" else np.full(m, 66.0)
        table |= {"x_o": at, "theta_o": at[0] + rng.standard_normal((k, d))}
    return table


def planted(error: str, n: int = 200, k: int = 30, seed: int = 0) -> dict[str, np.ndarray]:
    """A table with an error of one kind that the verdict finds."""
    rng = np.random.default_rng([seed, ERRORS.index(error)])
    x = rng.standard_normal((n, 3))
    mean = np.stack([x.sum(1), x[:, 0]], axis=1)
    z, zq = rng.standard_normal((n, 2)), rng.standard_normal((n, k, 2))
    if error in ("shift", "small shift"):
        zq += 1.0 if error == "shift" else 0.2
    if error in ("narrow", "wide"):
        zq *= 0.6 if error == "narrow" else 1.6
    if error == "one of two narrow":
        zq[..., 1] *= 0.6
    if error == "pair":
        z[:, 1] = 0.8 * z[:, 0] + 0.6 * z[:, 1]
    if error == "part of x":
        zq[x[:, 0] > 0.5, :, 0] += 1.0
    if error == "outliers":
        z[rng.random(n) < 0.03, 0] += 30.0
    if error == "mode":
        z[rng.random(n) < 0.4, 0] += 5.0
    q = mean[:, None] + zq
    if error == "ignores x_2":
        q[..., 0] = (x[:, 0] + x[:, 2])[:, None] + np.sqrt(2) * zq[..., 0]
    return {"theta": mean + z, "x": x, "theta_q": q}


def _sizes(kind: str, state: str) -> tuple[int, int, int, int]:
    """Rows, draws, parameters and data."""
    few = state == "not enough data"
    n, k, d, m = (14, 6, 2, 2) if few else (150, 24, 2, 2)
    if kind == "30 rows":
        n = 14 if few else 30
    if kind == "5,000 rows":
        n, k, d = 5_000, 5, 1
    if kind in ("1 parameter", "two samples of one column"):
        d = 1
    if kind == "300 parameters":
        d = 300
    if kind == "image x":
        m = 36
    return n, k, d, m


def _pasted(rng, n, k, d, shift):
    """q sampled once at each of some distinct x, and pasted."""
    at = rng.standard_normal((25, d))
    which = rng.integers(len(at), size=n)
    q = at[:, None] + shift + rng.standard_normal((len(at), k, d))
    theta = at[which] + rng.standard_normal((n, d))
    return {"theta": theta, "x": at[which], "theta_q": q[which]}


def _log(theta, mean):
    """Log density of a standard normal about its mean."""
    return -0.5 * np.square(theta - mean).sum(-1)


def how(way: str) -> dict[str, object]:
    """The arguments of `diagnose` for a way to ask."""
    what, _, name = way.partition(": ")
    if what == "method":
        return {"methods": [name], "questions": "none"}
    return {"questions": [name] if what == "one" else what}


def covering(factors: Sequence[Sequence[Hashable]], allowed=lambda *levels: True) -> Iterable:
    """Combinations in which every allowed pair of levels of two factors stands at least once."""
    places = list(combinations(range(len(factors)), 2))
    every = [levels for levels in product(*factors) if allowed(*levels)]

    def pairs(levels):
        return {(i, j, levels[i], levels[j]) for i, j in places}

    left = set().union(*map(pairs, every))
    while left:
        best = max(every, key=lambda levels: len(pairs(levels) & left))
        left -= pairs(best)
        yield best
