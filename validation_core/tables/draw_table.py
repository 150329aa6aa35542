"""A table of q's draws, made of its arrays in steps: rows left out, units, angles, weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.keys import Arrays
from validation_core.tables import (
    angles,
    around,
    axes,
    bounds,
    checks,
    corrections,
    discrete,
    draw_counts,
    draw_order,
    float_type,
    logarithms,
    repeats,
    roles,
    shared_draws,
    weights,
)
from validation_core.tables.corrections import Correction
from validation_core.tables.densities import (
    Observed,
    nonfinite_density_warnings,
    read_densities,
    read_observed,
)
from validation_core.tables.log_q_offset import normalisation_warnings
from validation_core.tables.options import ReadingOptions
from validation_core.tables.own_quantities import (
    density_pair_warnings,
    own_quantities,
    quantity_stems,
    read_quantities,
    shared_draws_warnings,
)
from validation_core.tables.roles import DRAWS_OF_QUANTITY, is_quantity
from validation_core.tables.shapes import draws_array, matrix, not_finite, real_numbers
from validation_core.tables.weights import EqualDraws, GivenWeights
from validation_core.tables.x_columns import GAPS, Missing, read_x
from validation_core.types import Array, Integers, PosteriorTable

Declared = Mapping[str, np.dtype[np.generic]]
_NO_X = (
    "There is no x: ranks, relabelling and scores of theta alone are tested; where over x q is "
    "wrong, and whether it is right at an observation, cannot be asked."
)


class DrawRows(NamedTuple):
    """Rows of a table, and what else is known of each."""

    theta: Array
    """(N, D)."""
    x: Array
    """(N, M)."""
    q: Array
    """(N, K, D)."""
    beside: dict[str, Array]
    """Log densities, log weights and quantities: (N,), and (N, K) at the draws."""

    @property
    def data(self) -> PosteriorTable:
        """The rows alone."""
        return PosteriorTable(self.theta, self.x, self.q)

    def with_data(self, data: PosteriorTable) -> DrawRows:
        """Other numbers of the same rows."""
        return DrawRows(data.theta, data.x, data.q, self.beside)

    def kept(self, keep: NDArray[np.bool_]) -> DrawRows:
        """Some of the rows (N,); the arrays themselves where all are kept."""
        if keep.all():
            return self
        beside = {name: array[keep] for name, array in self.beside.items()}
        return DrawRows(self.theta[keep], self.x[keep], self.q[keep], beside)


@dataclass(frozen=True, eq=False)
class DrawTable:
    """A table of draws as it is read, and what a user should know of it."""

    rows: DrawRows
    """Without weights; draws as they came."""
    equal: EqualDraws | None
    """Equal draws in place of weighted ones."""
    log_weights: Mapping[str, Array]
    observed: tuple[Array, Array] | None
    """The first x_o (M,) and q's draws there (K_o, D)."""
    own: Observed
    """All observations, as they came."""
    labels: Arrays
    """theta_names and x_names, where there are some."""
    image: tuple[int, ...]
    periods: tuple[float, ...]
    """0 for a parameter that is no angle; empty where none is."""
    ends: Array | None
    """The prior's bounds (D, 2)."""
    around: float | None
    discrete: tuple[int, ...]
    dropped: Mapping[str, int]
    saved_rows: Integers | None
    """Places (N,) of the rows among those that were saved; None where none was left out."""
    mistakes: tuple[Correction, ...]
    corrected: tuple[Correction, ...]
    read_as: tuple[str, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def numbers(self) -> dict[str, Array]:
        """All numbers that a diagnosis depends on, by the names under which they are hashed."""
        rows, own = self.rows, self.own
        numbers = {"0": rows.theta, "1": rows.x, "2": rows.q, **rows.beside}
        if self.equal:
            numbers |= {**self.log_weights, "weights": np.array([weights.VERSION])}
        numbers |= dict(zip(("x_o", "theta_o"), self.observed or (), strict=False))
        if own.every is not None and (self.observed is None or len(own.every) > 1):
            numbers["observations"] = own.every
        numbers |= {} if own.x_rep is None else {"x_rep": own.x_rep}
        numbers |= {} if self.ends is None else {"bounds": self.ends}
        numbers |= {} if self.around is None else {"around": np.array([self.around])}
        if self.discrete:
            numbers["discrete"] = discrete.saved_marks(self.discrete, rows.theta.shape[1])
        return numbers

    @property
    def data(self) -> PosteriorTable:
        """The table, its draws counting equally."""
        rows = self.rows
        return PosteriorTable(rows.theta, rows.x, self.equal.q if self.equal else rows.q)

    @property
    def beside(self) -> Mapping[str, Array]:
        """Densities and quantities at those draws."""
        return self.equal.densities if self.equal else self.rows.beside


def read_draw_table(arrays: Arrays, options: ReadingOptions, declared: Declared) -> DrawTable:
    """Make a table of theta, x and theta_q: rows left out, angles unwrapped, weights drawn from.

    Args:
        arrays: the arrays by role, theta and theta_q among them.
        options: what a user says about them.
        declared: the type that each array was saved in, by role.

    Raises:
        AmbiguousOrder: when N = K and no order is given.
        ValueError: for everything else that cannot be diagnosed.
    """
    corrections.check_names(options.corrections)
    saved = _saved(arrays, options)
    names, wanted = saved.names, options.corrections
    corrected = corrections.correct(saved.rows.data, names, wanted)
    beside, told_unused = corrections.usable_densities(saved.rows.beside, corrected.made)
    rows = saved.rows.with_data(corrected.data)._replace(beside=beside)
    undefined = {
        name: _left(array, saved.columns) for name, array in saved.given.undefined().items()
    }
    finite, dropped = checks.find_finite_rows(
        {"theta": rows.theta, "x": rows.x, "theta_q": rows.q, **undefined}
    )
    observed = saved.own.first
    observed = observed and (observed[0], corrected.of_draws(observed[1]))
    matched_rows = _in_one_precision(rows.kept(finite), observed, declared)
    unique = _without_repeats(matched_rows.rows, few="one_row" in wanted)
    rows = unique.rows
    q, beside, thinned = corrections.thinned(rows.theta, rows.q, rows.beside, wanted)
    read = _in_units(rows._replace(q=q, beside=beside), matched_rows.observed, saved, options)
    rows, logs = _weights_apart(read.rows, saved.given)
    equal = weights.weigh(rows.data, logs, rows.beside) if "log_w_draws" in logs else None
    width, told_around = around.read_around(
        saved.arrays, observed=read.observed is not None, weighted={*weights.WEIGHTS} <= {*logs}
    )
    dropped |= unique.dropped
    kept = np.flatnonzero(finite)[unique.kept]
    made = (*corrected.made, *thinned, *([corrections.ONE_ROW] if "one_row" in wanted else []))
    return DrawTable(
        rows=rows,
        equal=equal,
        log_weights=logs,
        observed=read.observed,
        own=saved.own,
        labels=_labels(saved.arrays, names, read.by_log),
        image=saved.image,
        periods=read.turned.periods if any(read.turned.periods) else (),
        ends=read.ends,
        around=width,
        discrete=read.discrete,
        dropped=dropped,
        saved_rows=kept if len(kept) < len(finite) else None,
        mistakes=(*corrected.mistakes, *corrections.offered(rows.theta, rows.q)),
        corrected=made,
        read_as=(
            *(["draws first"] if saved.draws_first else []),
            *read.understood(names),
            *(["simulated around x_o"] if width is not None else []),
        ),
        notes=(
            *saved.notes,
            *(_NO_X,) * (not rows.x.shape[1]),
            *_gap_notes(saved.rows.x, dropped, options.missing),
            *_finite_draws_note(saved, dropped),
            *saved.cut_notes,
            *corrections.notes(made),
            *told_unused,
            *saved.own.notes,
            *matched_rows.notes,
            *unique.notes,
            *angles.notes(read.turned, names),
            *logarithms.notes(names, read.by_log),
            *weights.weight_notes(logs, equal),
            *([] if width is None else [around.NOTE.format(width=width)]),
        ),
        warnings=(
            *bounds.warnings(read.turned.data, read.ends_as_given, names),
            *angles.warnings(read.turned, names),
            *checks.many_dropped_warnings(finite),
            *matched_rows.warnings,
            *unique.warnings,
            *saved.warnings,
            *_beside_warnings(rows, saved.quantity_warnings),
            *saved.own.warnings,
            *saved.given.warnings,
            *(equal.warnings if equal else ()),
            *told_around,
            *_shared_warnings(rows.beside, read),
        ),
    )


class _Saved(NamedTuple):
    """Arrays in their shapes, before any row is left out."""

    arrays: Arrays
    rows: DrawRows
    columns: Integers | None
    """Those (N, K') of each row's draws that were kept; None where all were."""
    names: tuple[str, ...]
    """Of the parameters."""
    image: tuple[int, ...]
    """Shape of theta, where it is an image."""
    draws_first: bool
    given: GivenWeights
    own: Observed
    notes: tuple[str, ...]
    cut_notes: tuple[str, ...]
    warnings: tuple[str, ...]
    quantity_warnings: tuple[str, ...]


def _saved(arrays: Arrays, options: ReadingOptions) -> _Saved:
    """The arrays as rows, x as columns, every row with as many draws."""
    arrays, order, turned_axes = axes.upright(arrays, options.order)
    arrays, image = _flat(arrays)
    _check_exchanged_theta(arrays)
    theta = matrix("theta", real_numbers("theta", arrays["theta"]))
    columns = read_x(arrays, len(theta), options.missing)
    made = {"x_o": columns.observed, "x_names": columns.names}
    arrays = {**arrays, **{name: array for name, array in made.items() if array is not None}}
    n, d = theta.shape
    exchanged = _exchanged(arrays, (n, d))
    draws = real_numbers("theta_q", arrays["theta_q"])
    x_has_them = columns.x.shape[1] == draws.shape[-1]
    hint = " Or exchange theta and x: the order is theta, x, theta_q." if x_has_them else ""
    q, saved_order = draws_array(draws, n, d, order, hint=hint)
    cut = draw_counts.cut_to_shortest(q)
    sizes = n, q.shape[1]
    densities, density_warnings = read_densities(arrays, sizes, saved_order, cut.columns)
    given = weights.read_weights(arrays, sizes, saved_order)
    quantities, quantity_warnings = read_quantities(arrays, sizes, saved_order, cut.columns)
    logs = {name: _left(array, cut.columns) for name, array in given.logs.items()}
    ranks = [name for name in ("ranks", "max_rank", "pit") if name in arrays]
    return _Saved(
        arrays,
        DrawRows(theta, columns.x, cut.q, {**densities, **logs, **quantities}),
        cut.columns,
        roles.column_labels(arrays.get("theta_names"), "theta", d)[0],
        image,
        saved_order == "KND",
        given,
        read_observed(arrays, columns.x.shape[1], d),
        (
            *turned_axes,
            *roles.unread_notes(ranks, "since ranks are worked out from theta_q"),
            *columns.notes,
        ),
        cut.notes,
        (*exchanged, *density_warnings),
        quantity_warnings,
    )


_IN_ORDER = "They seem to be exchanged: the order is theta, x, theta_q."


def _check_exchanged_theta(arrays: Arrays) -> None:
    """Refuse theta with the shape of draws, where x or theta_q has the shape of theta.

    Raises:
        ValueError: where they can be nothing else than exchanged.
    """
    theta = arrays["theta"].shape
    for name in ("theta_q", "x"):
        other = arrays[name].shape if name in arrays else ()
        if len(theta) == 3 and theta[1] > 1 and other == (theta[0], theta[2]):
            raise ValueError(
                f"theta must have shape (N, D); got {theta}, and {name} has that shape: {other}. "
                f"{_IN_ORDER}"
            )


def _exchanged(arrays: Arrays, size: tuple[int, int]) -> tuple[str, ...]:
    """A warning where x has the shape of draws and theta_q one row for each x: theta has `size`.

    Raises:
        ValueError: where theta_q can be nothing else than x.
    """
    n, d = size
    x = arrays["x"].shape if "x" in arrays else ()
    q = arrays["theta_q"].shape
    if not (len(x) == 3 and x[0] == n and x[1] > 1 and x[2] == d and len(q) == 2 and q[0] == n):
        return ()
    if q[1] != d:
        raise ValueError(
            f"theta_q must have shape (N, K, D) = ({n}, K, {d}); got {q}, and x has that shape: "
            f"{x}. {_IN_ORDER}"
        )
    return (
        f"theta_q has one draw at each x, and x has the shape of many, {x}. If they are "
        "exchanged, exchange them: the order is theta, x, theta_q.",
    )


def _flat(arrays: Arrays) -> tuple[Arrays, tuple[int, ...]]:
    """The arrays with an image theta (N, H, W) or (N, H, W, C), its draws and those at x_o
    flattened to pixels, and the shape of the image; as they are, with (), for no image."""
    theta, q = arrays["theta"], arrays["theta_q"]
    image = theta.shape[1:]
    if len(image) not in (2, 3) or q.ndim != theta.ndim + 1 or q.shape[2:] != image:
        return arrays, ()
    size = math.prod(image)  # -1 would not do where there are no rows
    rows = {"theta": theta.reshape(len(theta), size), "theta_q": q.reshape(*q.shape[:2], size)}
    observed = arrays.get("theta_o")
    if observed is not None and observed.shape[1:] == image:
        rows["theta_o"] = observed.reshape(len(observed), size)
    return {**arrays, **rows}, tuple(int(side) for side in image)


def _left(values: Array, columns: Integers | None) -> Array:
    """What is of the draws (N, K) for those that are left; what is of the truths (N,) as it is."""
    if columns is None or values.ndim == 1:
        return values
    return draw_order.draws_at(values, columns)


def _gap_notes(x: Array, dropped: Mapping[str, int], missing: Missing | None) -> tuple[str, ...]:
    """How rows with NaN, or with infinite values, in x (N, M) can be kept, where some were left
    out unasked.
    """
    if missing == "drop" or GAPS not in dropped:
        return ()
    mask = "--missing mask on the command line, missing='mask' in Python"
    notes = []
    if missing is None and np.isnan(x).any():
        notes.append(
            "Rows with NaN in x were left out as failed simulations. Where NaN is a missing "
            f"value, keep them: {mask}."
        )
    if np.isinf(x).any():
        notes.append(
            "Rows with infinite values in x were left out as failed simulations. Where such a "
            f"value is a missing one, save it as NaN, and keep them: {mask}."
        )
    return tuple(notes)


def _finite_draws_note(saved: _Saved, dropped: Mapping[str, int]) -> tuple[str, ...]:
    """How rows with NaN among their draws can be kept, where a line of code does it: all rows hold
    enough finite draws, and nothing is saved beside the draws.
    """
    q = saved.rows.q
    alone = saved.arrays["theta_q"].shape == q.shape and not (
        saved.draws_first or saved.rows.beside
    )
    if not_finite("theta_q") not in dropped or not alone:
        return ()
    left = int(np.isfinite(q).all(axis=2).sum(axis=1).min())
    if left < draw_counts.FEWEST:
        return ()
    line = f"theta_q = np.stack([row[np.isfinite(row).all(1)][:{left}] for row in theta_q])"
    return (
        "Rows with NaN or infinite values in theta_q were left out. To keep them, and test q of "
        f"its finite draws, save {left:,} of each: {line}.",
    )


class _MatchedRows(NamedTuple):
    """Rows, and draws at an observation, in one float type."""

    rows: DrawRows
    observed: tuple[Array, Array] | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def _in_one_precision(
    rows: DrawRows, observed: tuple[Array, Array] | None, declared: Declared
) -> _MatchedRows:
    """Truths and draws in one float type, log q and quantities too, so that equal ones tie."""
    theta = {"theta": rows.theta, "theta_q": rows.q}
    at_x_o = {"theta_o": observed[1]} if observed else {}
    same = float_type.match_precisions({**theta, **at_x_o}, declared)
    beside, told = rows.beside, list(same.notes)
    log_q = ["log_q"] * ({"log_q", "log_q_draws"} <= beside.keys())
    for stem in log_q + quantity_stems(beside):
        # Rounding goes by columns, on the last axis: a quantity is one column, whatever its shape.
        both = {name: beside[name][..., None] for name in (stem, f"{stem}{DRAWS_OF_QUANTITY}")}
        matched = float_type.match_precisions(both, declared)
        beside = beside | {name: array[..., 0] for name, array in matched.arrays.items()}
        told += [*matched.notes, *matched.warnings]
    found = same.arrays
    return _MatchedRows(
        DrawRows(found["theta"], rows.x, found["theta_q"], beside),
        observed and (observed[0], found["theta_o"]),
        tuple(told),
        same.warnings,
    )


class _UniqueRows(NamedTuple):
    """Rows without those that repeat others."""

    rows: DrawRows
    kept: NDArray[np.bool_]
    """Which of the rows they are."""
    dropped: dict[str, int]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def _without_repeats(rows: DrawRows, *, few: bool) -> _UniqueRows:
    """Each simulation once; of each theta, where few have rows of their own, one row."""
    # Without x, rows of one theta may be of different data.
    n, by_x = len(rows.theta), rows.x.shape[1]
    again = repeats.repeated_simulations(rows.theta, rows.x) if by_x else np.zeros(n, bool)
    rows = rows.kept(~again)
    copies = repeats.copies_of_theta(rows.theta, few=few)
    left_out = {"another row has the same theta and x": again, repeats.SAME_THETA: copies}
    kept = ~again
    kept[kept] = ~copies
    return _UniqueRows(
        rows.kept(~copies),
        kept,
        {reason: int(out.sum()) for reason, out in left_out.items() if out.any()},
        repeats.dropped_copy_warnings(copies),
        repeats.dropped_repeat_warnings(again),
    )


class _InUnits(NamedTuple):
    """Rows in the units in which they are read, and how each parameter is."""

    rows: DrawRows
    observed: tuple[Array, Array] | None
    turned: angles.Angles
    by_log: list[int]
    discrete: tuple[int, ...]
    ends_as_given: Array | None
    ends: Array | None
    """By their logarithm, where the parameter is read by it."""

    def understood(self, names: Sequence[str]) -> tuple[str, ...]:
        """What is no plain number, in words."""
        return (
            *(
                f"{name} is an angle"
                for name, p in zip(names, self.turned.periods, strict=True)
                if p
            ),
            *(f"{names[j]} by its logarithm" for j in self.by_log),
            *(f"{names[j]} is discrete" for j in self.discrete),
            *(["within the prior's bounds"] if self.ends is not None else []),
        )


def _in_units(
    rows: DrawRows, observed: tuple[Array, Array] | None, saved: _Saved, options: ReadingOptions
) -> _InUnits:
    """Angles unwrapped, bounds checked, discrete parameters found, the others by logarithms."""
    arrays, names = saved.arrays, saved.names
    theta, q = rows.theta, rows.q
    turned = angles.unwrapped(rows.data, _periods(arrays, options.circular, names, theta, q))
    given = real_numbers("bounds", arrays["bounds"]) if "bounds" in arrays else None
    ends = bounds.given_bounds(options.bounds, given, names)
    if ends is not None:
        bounds.check_truths(theta, ends, names)
    if observed is not None:
        observed = observed[0], angles.of_row(observed[1], turned.periods)
    marked = real_numbers("discrete", arrays["discrete"]) if "discrete" in arrays else None
    few = discrete.chosen_columns(options.discrete, marked, names, theta, q)
    by_log = logarithms.chosen_columns(
        turned.data, names, options.logarithms, observed and observed[1]
    )
    by_log = [j for j in by_log if j not in few]
    return _InUnits(
        DrawRows(
            logarithms.by_logarithm(turned.data.theta, by_log),
            turned.data.x,
            logarithms.by_logarithm(turned.data.q, by_log),
            logarithms.densities_by_logarithm(rows.beside, theta, q, by_log),
        ),
        observed and (observed[0], logarithms.by_logarithm(observed[1], by_log)),
        turned,
        by_log,
        few,
        ends,
        None if ends is None else logarithms.bounds_by_logarithm(ends, by_log),
    )


def _periods(
    arrays: Arrays,
    circular: Sequence[str] | Mapping[str, float] | None,
    names: Sequence[str],
    theta: Array,
    q: Array,
) -> Array | None:
    """The periods (D,) that a user gives, by an array or by names; None where none are given.

    Raises:
        ValueError: for periods of another number than the parameters, negative or infinite ones.
    """
    if circular is not None:
        return angles.periods_of(circular, names, theta, q)
    if "periods" not in arrays:
        return None
    periods = real_numbers("periods", arrays["periods"]).reshape(-1).astype(np.float64)
    if len(periods) != len(names) or not (np.isfinite(periods) & (periods >= 0)).all():
        raise ValueError(
            f"periods must hold one number for each of the {len(names)} parameters, 0 for those "
            f"that are not circular; got {roles.shape_text(arrays['periods'].shape)} with "
            f"{periods.min():.4g} to {periods.max():.4g}. Save 0 or the period of each."
        )
    return periods


def _weights_apart(rows: DrawRows, given: GivenWeights) -> tuple[DrawRows, dict[str, Array]]:
    """The rows without the log weights of a file, and these."""
    logs = {name: rows.beside[name] for name in given.logs if name in rows.beside}
    others = {name: array for name, array in rows.beside.items() if name not in logs}
    return rows._replace(beside=others), logs


def _labels(arrays: Arrays, names: Sequence[str], by_log: Sequence[int]) -> Arrays:
    """Labels as they came, those of logarithms marked."""
    labels = {name: arrays[name] for name in ("theta_names", "x_names") if name in arrays}
    if by_log:
        labels["theta_names"] = np.array(logarithms.labels(names, by_log))
    return labels


def _beside_warnings(rows: DrawRows, quantities: tuple[str, ...]) -> tuple[str, ...]:
    """Warnings of densities and quantities at the rows that are left."""
    beside = rows.beside
    own = {name: array for name, array in beside.items() if not is_quantity(name)}
    return (
        *nonfinite_density_warnings(own),
        *quantities,
        *density_pair_warnings(beside),
        *normalisation_warnings(rows.q, beside.get("log_q_draws")),
    )


def _shared_warnings(beside: Mapping[str, Array], read: _InUnits) -> tuple[str, ...]:
    """Warnings of quantities of rows that share their draws."""
    if not (own_quantities(beside) or read.discrete):
        return ()
    shared = shared_draws.shared_draw_groups(read.turned.data) is not None
    return shared_draws_warnings(beside) if shared else ()
