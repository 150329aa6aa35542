"""Positive parameters that range over decades, read by their logarithm to base 10.

Ranks within a row are the same on either scale. Distances, means and pictures are not: on the
linear scale a few large numbers decide them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from validation_core.text import list_text
from validation_core.types import Array, PosteriorTable

_DECADES = 2.0  # between the 5th and the 95th of 100 true values
_COLUMNS = 100  # looked at
_OF_THETA = ("log_q", "log_joint")
"""Densities of theta: ratios of two (weights), likelihoods and own quantities stay as they are."""
_PREFIX = "log10 "


def chosen_columns(
    data: PosteriorTable,
    names: Sequence[str],
    wanted: Sequence[str] | None,
    at_observation: Array | None = None,
) -> list[int]:
    """Columns to read by their logarithm: those wanted, or those that range over decades.

    Args:
        data: the table, finite.
        names: labels of the parameters.
        wanted: names; None to recognise them.
        at_observation: q's draws at a real observation (K', D), where there are some.

    Raises:
        ValueError: for a name that no parameter has, or one with numbers that are not positive.
    """
    beside = data.theta[:0] if at_observation is None else at_observation
    if wanted is None:
        return [
            j
            for j in range(min(data.theta.shape[1], _COLUMNS))
            if not names[j].startswith(_PREFIX)
            and _over_decades(data.theta[:, j], data.q[..., j])
            and beside[:, j].min(initial=np.inf) > 0
        ]
    columns = []
    for name in wanted:
        if name not in names:
            raise ValueError(
                f"A parameter read by its logarithm is one of {list_text(names, 'or')}; got "
                f"{name!r}. Name one."
            )
        j = list(names).index(name)
        least = min(column[..., j].min(initial=np.inf) for column in (data.theta, data.q, beside))
        if not least > 0:
            raise ValueError(
                f"A logarithm is of positive numbers; got {name} down to {least:.4g}. "
                "Leave it out."
            )
        columns.append(j)
    return columns


def _over_decades(theta: Array, q: Array) -> bool:
    if not theta.size or not theta.min() > 0:
        return False
    low, high = np.percentile(theta, [5, 95])
    whole = not (theta % 1).any()
    return bool(high > 10**_DECADES * low and not whole and q.min() > 0)


def by_logarithm(values: Array, columns: Sequence[int]) -> Array:
    """Values (..., D) with some columns by their logarithm to base 10, in their float type."""
    if not columns:
        return values
    read = values.copy()
    read[..., columns] = np.log10(values[..., columns].astype(np.float64))
    return read


def densities_by_logarithm(
    densities: Mapping[str, Array], theta: Array, q: Array, columns: Sequence[int]
) -> dict[str, Array]:
    """Log densities (N,) and (N, K) of theta as those of its logarithms.

    Args:
        densities: by name; those that end in _draws are at the draws. What is no density of theta
            stays as it is.
        theta: true values (N, D) as they were saved.
        q: draws (N, K, D) as they were saved.
        columns: those read by their logarithm.
    """
    if not columns:
        return dict(densities)
    out = {}
    for name, values in densities.items():
        if name.removesuffix("_draws") not in _OF_THETA:
            out[name] = values
            continue
        at = q if name.endswith("_draws") else theta
        slope = np.log(at[..., columns].astype(np.float64)) + np.log(np.log(10))
        out[name] = (values + slope.sum(-1)).astype(values.dtype)
    return out


def saved_name(name: str) -> str:
    """The name that a parameter has in the file, read by its logarithm or not."""
    return name.removeprefix(_PREFIX)


def labels(names: Sequence[str], columns: Sequence[int]) -> tuple[str, ...]:
    """Names of the parameters, `log10 a` for those read by their logarithm."""
    return tuple(f"{_PREFIX}{name}" if j in columns else name for j, name in enumerate(names))


def notes(names: Sequence[str], columns: Sequence[int]) -> tuple[str, ...]:
    """A note on the parameters read by their logarithm; none for none."""
    if not columns:
        return ()
    read = list_text([names[j] for j in columns])
    is_, its = ("are", "their logarithms") if len(columns) > 1 else ("is", "its logarithm")
    return (
        f"{read} {is_} positive over decades and read by {its} to base 10: sizes are on that "
        "scale, ranks are the same on both.",
    )


def bounds_by_logarithm(bounds: Array, columns: Sequence[int]) -> Array:
    """Bounds (D, 2) of the prior, of parameters read by their logarithm too."""
    read = bounds.copy()
    with np.errstate(divide="ignore"):
        read[columns] = np.log10(np.maximum(bounds[columns], 0.0))
    return read
