"""The table of draws, and the .npz file that it is saved in."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array, as_matrix, as_numpy, check_shape, float_type, log_density_type

Quantity = Callable[[Array, Array], ArrayLike] | tuple[ArrayLike, ArrayLike]
"""A test quantity: a function of theta (n, D) and x (n, M), or its values at theta and draws."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Table:
    """Simulations with draws of q at each x, as `save` writes them."""

    theta: Array
    """(N, D): the parameters that each x was simulated from."""
    x: Array
    """(N, ...): the data that were simulated."""
    theta_q: Array
    """(N, K, D): K draws of q at each x."""
    log_q: Array | None = None
    """(N,): log q(theta | x)."""
    log_q_draws: Array | None = None
    """(N, K): log q at each draw, given its x."""
    log_w: Array | None = None
    """(N,): log weight of theta, where draws are weighted."""
    log_w_draws: Array | None = None
    """(N, K): log weight of each draw."""
    theta_names: Sequence[str] | None = None
    """D labels."""
    x_names: Sequence[str] | None = None
    """One label for each number in x."""
    x_o: Array | None = None
    """Your own observation, shaped like one x."""
    theta_o: Array | None = None
    """(K_o, D): draws of q there."""
    around: float | None = None
    """Where theta was drawn around x_o: as many times as wide as q there."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Rows that are missing, by reason."""

    def save(self, path: str | os.PathLike[str], **more: Any) -> Path:
        """Write the table as an .npz file and return its path.

        Args:
            path: of the file; `.npz` is added where it is missing.
            more: further arguments of `save`: x_o and theta_o, log_joint and log_joint_draws,
                quantities.

        Raises:
            ValueError: as `save` does.
        """
        return save(
            path,
            self.theta,
            self.x,
            self.theta_q,
            **{
                "log_q": self.log_q,
                "log_q_draws": self.log_q_draws,
                "log_w": self.log_w,
                "log_w_draws": self.log_w_draws,
                "x_o": self.x_o,
                "theta_o": self.theta_o,
                "around": self.around,
                "theta_names": self.theta_names,
                "x_names": self.x_names,
                **more,
            },
        )


def save(
    path: str | os.PathLike[str],
    theta: ArrayLike,
    x: ArrayLike,
    theta_q: ArrayLike,
    *,
    log_q: ArrayLike | None = None,
    log_q_draws: ArrayLike | None = None,
    log_joint: ArrayLike | None = None,
    log_joint_draws: ArrayLike | None = None,
    log_w: ArrayLike | None = None,
    log_w_draws: ArrayLike | None = None,
    log_likelihood: ArrayLike | None = None,
    log_likelihood_draws: ArrayLike | None = None,
    quantities: Mapping[str, Quantity] | None = None,
    x_o: ArrayLike | None = None,
    theta_o: ArrayLike | None = None,
    around: float | None = None,
    theta_names: Sequence[str] | None = None,
    x_names: Sequence[str] | None = None,
) -> Path:
    """Write a table as an .npz file in float32, nothing pickled.

    A column that float32 would round to steps above a thousandth of its sd is kept in float64,
    with the other columns of its array; for draws that is the sd at one x, and holds at most x.
    So are numbers beyond its range, and log densities where it would round all of an x by more
    than a thousandth of a nat.

    Args:
        path: of the file; `.npz` is added where it is missing.
        theta: (N, D), or (N,) for one parameter.
        x: (N, ...): the data simulated from each.
        theta_q: (N, K, D): draw k of q at x_i is theta_q[i, k].
        log_q: (N,): log q(theta | x), normalised.
        log_q_draws: (N, K): the same at each draw.
        log_joint: (N,): log p(theta, x), up to one constant for all rows and draws.
        log_joint_draws: (N, K): the same at each draw with its x.
        log_w: (N,): log of the density that the tested posterior has at theta over the one that
            draws are from, up to a number at each x.
        log_w_draws: (N, K): the same at each draw: log of its importance weight.
        log_likelihood: (N,): log p(x | theta), up to a constant that may differ from x to x.
        log_likelihood_draws: (N, K): the same at each draw with its x.
        quantities: your own test quantities by name: a function that gives (n,) for theta (n, D)
            and x (n, M), or its values at theta (N,) and at the draws (N, K). If q is right, the
            value at the truth ranks evenly among those at the draws.
        x_o: your own observation, shaped like one x; with
        theta_o: (K_o, D): draws of q there.
        around: where theta was drawn around x_o, with log_w: as many times as wide as q there.
        theta_names: D labels.
        x_names: one label for each number in x.

    Returns:
        path of the file.

    Raises:
        ValueError: for shapes that do not belong together.
    """
    truth, data, draws = as_matrix(theta), as_numpy(x), as_numpy(theta_q)
    n, d = truth.shape
    draws = draws[..., None] if draws.ndim == 2 and d == 1 else draws
    if draws.ndim != 3 or draws.shape[0] != n or draws.shape[2] != d or len(data) != n:
        raise ValueError(
            f"A table holds theta (N, D), x (N, ...) and theta_q (N, K, D); got {truth.shape}, "
            f"{data.shape} and {draws.shape}. Put the simulations on the first axis, the draws at "
            f"each on the second, the parameters on the last."
        )
    width = data[0].size
    arrays = {"theta": truth, "x": data.reshape(n, width), "theta_q": draws}
    kinds = {"theta": float_type(truth, draws), "x": float_type(data.reshape(n, width))}
    kinds["theta_q"] = kinds["theta"]  # a truth rounded otherwise than its draws would stand out
    densities = {
        "log_q": log_q,
        "log_q_draws": log_q_draws,
        "log_joint": log_joint,
        "log_joint_draws": log_joint_draws,
        "log_w": log_w,
        "log_w_draws": log_w_draws,
        "log_likelihood": log_likelihood,
        "log_likelihood_draws": log_likelihood_draws,
    }
    for name, quantity in (quantities or {}).items():
        own = _evaluated(name, quantity, truth, data.reshape(n, width), draws)
        densities |= {f"quantity_{name}": own[0], f"quantity_{name}_draws": own[1]}
        kinds |= {f"quantity_{name}{end}": np.float64 for end in ("", "_draws")}
    for name, values in densities.items():
        if values is not None:
            shape = draws.shape[:2] if name.endswith("draws") else (n,)
            arrays[name] = check_shape(name, as_numpy(values), shape)
    for stem in ("log_q", "log_joint", "log_w", "log_likelihood"):
        pair = stem, f"{stem}_draws"
        if logs := [arrays[name] for name in pair if name in arrays]:
            kinds |= dict.fromkeys(pair, log_density_type(np.column_stack(logs)))
    if x_o is not None or theta_o is not None:
        observation, there = as_numpy(x_o), as_numpy(theta_o)
        lone = x_o is None or theta_o is None
        if lone or observation.size != width or there.ndim != 2 or there.shape[1] != d:
            raise ValueError(
                f"x_o must be shaped like one x, {data.shape[1:]}, and theta_o (K_o, {d}); got "
                f"{observation.shape} and {there.shape}. Give both, or neither."
            )
        arrays |= {"x_o": observation.reshape(-1), "theta_o": there}
        kinds |= {"x_o": kinds["x"], "theta_o": kinds["theta"]}
    if around is not None:
        arrays["around"] = np.array([around])
    packed = {name: array.astype(kinds.get(name, np.float32)) for name, array in arrays.items()}
    for name, labels, count in (("theta_names", theta_names, d), ("x_names", x_names, width)):
        if labels is not None:
            packed[name] = check_shape(name, np.array([str(label) for label in labels]), (count,))
    return _write(Path(path), packed)


def _evaluated(
    name: str, quantity: Quantity, theta: Array, x: Array, draws: Array
) -> tuple[Array, Array]:
    """A test quantity at the truths (N,) and at the draws (N, K).

    Raises:
        ValueError: for a function that fails, with the quantity's name, or no pair of arrays.
    """
    if not callable(quantity):
        try:
            at_theta, at_draws = quantity
        except (TypeError, ValueError):
            raise ValueError(
                f"The quantity {name!r} must be a function of theta (n, D) and x (n, M), or its "
                f"values (N,) and (N, K); got {type(quantity).__name__}. Give one of those."
            ) from None
        return as_numpy(at_theta), as_numpy(at_draws)
    n, k, d = draws.shape
    try:
        both = [
            as_numpy(quantity(theta, x)).reshape(n),
            # One draw of every row at a time: x need not be repeated in memory.
            np.stack([as_numpy(quantity(draws[:, i], x)).reshape(n) for i in range(k)], axis=1),
        ]
    except Exception as error:  # whatever a user's function raises
        raise ValueError(
            f"The quantity {name!r} must give (n,) for theta (n, {d}) and x (n, {x.shape[1]}); "
            f"got {type(error).__name__}: {' '.join(str(error).split())[:200]}. Try it on the "
            f"truths."
        ) from error
    return both[0], both[1]


def _write(path: Path, arrays: Mapping[str, Any]) -> Path:
    """Write arrays as an .npz file, whole or not at all."""
    path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Renamed once it is whole: a run that is stopped leaves the old file as it was.
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            np.savez(file, **arrays)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    return path
