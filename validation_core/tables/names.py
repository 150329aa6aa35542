"""Which array of a file is what: the public names, other tools' names for them, and labels."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.types import Array

ROLES: Mapping[str, tuple[str, ...]] = {
    "theta": ("theta", "thetas", "theta_true", "true_theta", "targets", "trues", "prior_samples"),
    "x": ("x", "xs", "data", "observations", "observables"),
    "theta_q": ("theta_q", "posterior_samples", "samples", "estimates", "posterior", "draws"),
    "p": ("p",),
    "q": ("q",),
    "theta_names": ("theta_names", "parameter_names", "variable_names", "names"),
    "x_names": ("x_names",),
    "log_q": ("log_q", "log_prob_true"),
    "log_q_draws": ("log_q_draws", "log_prob_samples"),
    "log_joint": ("log_joint",),
    "log_joint_draws": ("log_joint_draws",),
    "x_o": ("x_o", "x_observed"),
    "theta_o": ("theta_o", "posterior_samples_o"),
}
"""What each array is for: its own name first, then the names sbi, BayesFlow and tarp use."""

_LONGEST = 40


class Roles(NamedTuple):
    """Array name for each role that was found, and what is said about the others."""

    found: dict[str, str]
    notes: tuple[str, ...]


def roles(arrays: Iterable[str]) -> Roles:
    """Which array plays which role; capitals do not matter, the first alias present wins."""
    present: dict[str, str] = {}
    for name in arrays:
        present.setdefault(name.lower(), name)
    by_role: dict[str, str] = {}
    for role, aliases in ROLES.items():
        names = [present[alias] for alias in aliases if alias in present]
        if names:
            by_role[role] = names[0]
    used = set(by_role.values())
    return Roles(by_role, tuple(_note(name) for name in arrays if name not in used))


def _note(name: str) -> str:
    return f"{label(name)!r} was left unread: no test knows an array of that name."


def label(text: str, longest: int = _LONGEST) -> str:
    """A name fit to be shown: one line of printable characters, cut to a readable length.

    Escaping for HTML or markdown is left to whatever draws it.
    """
    printable = "".join(c for c in text if not unicodedata.category(c).startswith("C"))
    printable = " ".join(printable.split())
    return printable if len(printable) <= longest else printable[: longest - 1] + "…"


def listed(names: Iterable[str]) -> str:
    """Names fit to be shown, in a row; at most twenty of them."""
    texts = [label(name) or "(no name)" for name in names]
    more = f" and {len(texts) - 20} more" if len(texts) > 20 else ""
    return ", ".join(texts[:20]) + more or "nothing"


def labels(
    given: NDArray[Any] | None, stem: str, count: int
) -> tuple[tuple[str, ...], str | None]:
    """`count` labels, and a warning when the given ones cannot be used."""
    numbered = tuple(f"{stem}_{i + 1}" for i in range(count))
    if given is None:
        return numbered, None
    flat = given.reshape(-1)
    if given.dtype.kind not in "US" or len(flat) != count:
        return numbered, (
            f"{stem}_names should be {count} strings; got {given.dtype} of shape {given.shape}, "
            f"so numbers are shown instead."
        )
    try:
        texts: Sequence[Any] = flat.tolist()
    except ValueError:  # code points beyond Unicode
        return numbered, f"{stem}_names should be text; got other bytes, so numbers are shown."
    decoded = [t.decode("utf-8", "replace") if isinstance(t, bytes) else t for t in texts]
    return tuple(label(t) or n for t, n in zip(decoded, numbered, strict=True)), None


# ---- Where each row of a long table goes: its simulation, and its place among the draws ----


class Places(NamedTuple):
    """Where each row of a long table goes."""

    n: int
    k: int
    sim: NDArray[np.intp]
    draw: NDArray[np.intp]
    """Place of a row among the draws of its simulation; -1 for the truth."""


def same_x(batch: Sequence[NDArray[Any]], sim: NDArray[np.intp]) -> None:
    """Refuse neighbouring rows of one simulation that tell different data."""
    same = sim[1:] == sim[:-1]
    for column in batch:
        known = np.isfinite(column[1:]) & np.isfinite(column[:-1])
        if (same & known & (column[1:] != column[:-1])).any():
            raise ValueError(
                "x must be the same in all rows of a simulation; got rows of one sim with "
                "different x. Repeat the truth's x in the rows of the draws, or leave it empty "
                "there."
            )


def places(sim: NDArray[np.float64], draw: NDArray[np.float64]) -> Places:
    """Where each row of a long table goes, from its simulation and its number among the draws.

    Raises:
        ValueError: for numbers that are not whole, a truth that is missing or twice, or numbers
            of draws that differ.
    """
    whole = np.isfinite(sim).all() and np.isfinite(draw).all()
    if not (whole and (sim == np.floor(sim)).all() and (draw == np.floor(draw)).all()):
        raise ValueError(
            "The columns sim and draw must hold whole numbers; got others. Number the simulations "
            "0, 1, ... and the draws 0, 1, ..., with -1 for the truth."
        )
    if not len(sim) or draw.min() < -1:
        raise ValueError(
            f"The column draw must hold -1 for the truth and 0, 1, ... for the draws; got "
            f"{f'{draw.min():g}' if len(sim) else 'no rows'}. Number them anew."
        )
    by_sim, place = np.unique(sim, return_inverse=True)
    n = len(by_sim)
    truths = np.bincount(place[draw < 0], minlength=n)
    if (truths != 1).any():
        odd = int(np.flatnonzero(truths != 1)[0])
        raise ValueError(
            f"Every simulation must have one row with draw = -1, its truth; got {truths[odd]} for "
            f"sim {by_sim[odd]:.0f}, and others than one for {int((truths != 1).sum()):,} of "
            f"{n:,}. Add or remove rows."
        )
    counts = np.bincount(place[draw >= 0], minlength=n)
    k = int(counts[0])
    if k == 0 or (counts != k).any():
        raise ValueError(
            f"Every simulation must have the same number of draws, at least one; got "
            f"{counts.min():,} (sim {by_sim[counts.argmin()]:.0f}) to {counts.max():,} (sim "
            f"{by_sim[counts.argmax()]:.0f}). Keep as many draws as the shortest has."
        )
    return Places(n, k, place, _ranked(place, draw, n, k))


def _ranked(
    place: NDArray[np.intp], draw: NDArray[np.float64], n: int, k: int
) -> NDArray[np.intp]:
    """The place of every draw among those of its simulation, in the order of their numbers."""
    order = np.lexsort((draw, place))  # the truth comes first in each simulation
    sorted_draw = draw[order].reshape(n, k + 1)
    if (np.diff(sorted_draw, axis=1) == 0).any():
        raise ValueError(
            "Each draw of a simulation must have its own number; got some twice. Number the draws "
            "of each simulation 0, 1, ..."
        )
    ranked = np.empty(len(draw), np.intp)
    ranked[order] = np.tile(np.arange(-1, k), n)
    return ranked


# ---- Draws that vary over rows and have nothing to do with x: rows in another order? ----


_COLUMNS = 50  # of x, evenly spaced, and of theta
_ROWS = 1000  # looked at for neighbours
_BLOCK = 100  # rows whose neighbours are looked for together
_FEWEST = 50  # rows from which a correlation that is there would be seen
_NOTHING = 3.0  # standard errors of a correlation that is not there


def mixed_orders(x: Array, halves: tuple[Array, Array], moving: NDArray[np.intp]) -> Iterator[str]:
    """A warning where q's means vary over rows, but neither with columns of x nor near in x.

    Args:
        x: (N, M).
        halves: q's means (N, D) by the first and by the second half of the draws at each x.
        moving: parameters whose truths vary.
    """
    columns = x[:, np.linspace(0, x.shape[1] - 1, min(_COLUMNS, x.shape[1])).astype(int)]
    x_ranks = _standard(columns[:, np.ptp(columns, axis=0) > 0])
    first, second = (_standard(half[:, moving[:_COLUMNS]]) for half in halves)
    n = len(x)
    # Means that are all chance have halves that agree by chance alone.
    real = (first * second).mean(0) > 2 * _NOTHING / np.sqrt(n)
    if n < _FEWEST or not x_ranks.size or not real.any():
        return
    means = _standard((first + second)[:, real])
    along = float(np.abs(means.T @ x_ranks).max()) / n
    pairs = means.shape[1] * x_ranks.shape[1]
    near = _neighbours(means[:_ROWS], x_ranks[:_ROWS])
    chance = np.sqrt(2 * np.log(2 * pairs)) + 1
    if along * np.sqrt(n) < chance and near * np.sqrt(min(n, _ROWS)) < _NOTHING:
        yield (
            f"q's draws change from row to row, but nothing ties them to x: their means have rank "
            f"correlations of at most {along:.2f} with x, and of {max(near, 0.0):.2f} between "
            f"rows that are neighbours in x. Are the rows of x in the order of theta and theta_q? "
            f"No comparison of a truth with the draws of its own row would show it."
        )


def _neighbours(means: Array, seen: Array) -> float:
    """The largest correlation of means (n, D) with those of the nearest other row in x (n, M)."""
    squares = np.square(seen).sum(1)
    nearest = np.empty(len(seen), np.intp)
    for start in range(0, len(seen), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, len(seen)))
        far = squares - 2 * seen[rows] @ seen.T
        far[rows - start, rows] = np.inf
        nearest[rows] = far.argmin(1)
    there = means[nearest]
    return float(
        max(
            np.corrcoef(a, b)[0, 1] if np.ptp(b) else 0.0
            for a, b in zip(means.T, there.T, strict=True)
        )
    )


def _standard(columns: Array) -> Array:
    """Ranks (N, C) with mean 0 and variance 1; ties share a rank; 0 where nothing varies."""
    ranks = (
        np.stack(
            [np.unique(column, return_inverse=True)[1].reshape(-1) for column in columns.T], axis=1
        ).astype(np.float64)
        if columns.size
        else np.zeros(columns.shape)
    )
    ranks -= ranks.mean(0)
    spread = ranks.std(0)
    return np.asarray(ranks / np.where(spread > 0, spread, 1.0))
