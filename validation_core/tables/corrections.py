"""Mistakes of a file that its numbers show, whatever q is, and what corrects each.

    rows      rows of theta_q in another order than theta's
    columns   columns of theta_q in another order than theta's
    scale     draws of a parameter on another scale than its true values
    thin      a chain that was not thinned: every m-th draw is used; thin=5 says which
    one_row   rows that share a theta: one of each is used

Nothing is corrected unless it is asked for, by name. Of the first three each is looked for in what
the one before leaves: until they are corrected no test says anything of q.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from validation_core.tables import column_order, repeats, row_shift, scales
from validation_core.text import first_text, list_text
from validation_core.types import Array, PosteriorTable

NAMES = ("rows", "columns", "scale", "thin", "one_row")
"""What may be asked for, and thin=M."""
BEFORE_ALL = ("rows", "columns", "scale")
"""Corrections without which no test says anything of q."""
_Q, _A = re.compile(r"\bq\b"), re.compile(r"\ba\b")  # names in formulas
_DRAWS = 50  # whose mean is looked at
_NAMED = 3  # parameters in a sentence
_FITTED = (
    "Numbers of a correction were fitted to this table, so that a bias or a width that is off "
    "alike at every x may be hidden: save the draws in theta's units, and they are tested too."
)


@dataclass(frozen=True)
class Correction:
    """A mistake of a file, and what corrects it."""

    name: str
    """As it is asked for: `scale`, `thin=5`."""
    finding: str
    """The mistake, in a sentence."""
    code: str
    """The lines of Python that correct it in the user's own program."""
    done: str
    """The correction where it was made, in a sentence."""
    fitted: bool = False
    """Whether its numbers were fitted to the table."""
    column: int | None = None
    """The first parameter that it is about, where it is about some."""


class Corrected(NamedTuple):
    """A table with the corrections that were asked for."""

    data: PosteriorTable
    made: tuple[Correction, ...]
    mistakes: tuple[Correction, ...]
    """Those that were found and not asked for."""
    of_draws: Callable[[Array], Array]
    """Corrects other draws of q (K', D), those at an observation."""


class _Found(NamedTuple):
    """A mistake in a table, and the table without it."""

    correction: Correction
    corrected: PosteriorTable
    of_draws: Callable[[Array], Array] = lambda draws: draws


def check_names(wanted: Sequence[str]) -> None:
    """Refuse corrections that there are not.

    Raises:
        ValueError: with the names of those that there are.
    """
    for text in wanted:
        name, equals, number = text.partition("=")
        step = name == "thin" and number.isdecimal() and int(number) > 0
        if name not in NAMES or (equals and not step):
            raise ValueError(
                f"A correction is one of {list_text(NAMES, 'or')}, or thin=M for every M-th draw; "
                f"got {text!r}. Choose among those."
            )


def correct(data: PosteriorTable, names: Sequence[str], wanted: Sequence[str]) -> Corrected:
    """Find rows, columns and scales of draws that are not those of theta; correct those asked for.

    Args:
        data: the table as it was saved; numbers need not be finite.
        names: labels of its parameters.
        wanted: names of corrections.

    Raises:
        ValueError: for a correction that this table does not need, or that needs another first.
    """
    kinds = {text for text in wanted if text in _FINDERS}
    made: list[Correction] = []
    mistakes: list[Correction] = []
    turns: list[Callable[[Array], Array]] = []
    kept, seen = data, data
    with np.errstate(all="ignore"):  # numbers near the largest there are overflow
        for kind, find in _FINDERS.items():
            for found in find(seen, names):
                seen = found.corrected
                if kind not in kinds:
                    mistakes.append(found.correction)
                    continue
                if mistakes:
                    first = list_text(sorted({one.name for one in mistakes}))
                    raise ValueError(
                        f"Corrections are made in the order {', '.join(_FINDERS)}; got {kind}, "
                        f"before which this table needs {first}. Ask for both."
                    )
                kept = seen
                turns.append(found.of_draws)
                made.append(found.correction)
    if needless := kinds - {one.name for one in made}:
        raise ValueError(
            f"A correction is made where its mistake is found; got {list_text(sorted(needless))}, "
            "of which this table shows no sign. Leave it out."
        )

    def of_draws(draws: Array) -> Array:
        for turn in turns:
            draws = turn(draws)
        return draws

    return Corrected(kept, tuple(made), tuple(mistakes), of_draws)


def how_to_correct(mistakes: Sequence[Correction]) -> str:
    """What is mistaken in a file, and what corrects it while it is read, in sentences."""
    names = list(dict.fromkeys(one.name for one in mistakes))
    found = " ".join(one.finding for one in mistakes)
    return (
        f"{found} Correct it while reading: npt.read(file, corrections={names}), or --correct "
        f"{','.join(names)}."
    )


def _centres(data: PosteriorTable) -> Array:
    """Means (N, D) of some draws at each row."""
    with np.errstate(all="ignore"):
        return np.asarray(data.q[:, :_DRAWS].mean(1, dtype=np.float64))


def _finite(data: PosteriorTable, centres: Array) -> np.ndarray:
    """Rows (n,) whose numbers are finite."""
    rows: np.ndarray = np.flatnonzero(np.isfinite(data.theta).all(1) & np.isfinite(centres).all(1))
    return rows


def _rows(data: PosteriorTable, names: Sequence[str]) -> Iterator[_Found]:
    centres = _centres(data)
    for found in row_shift.moved_rows(data.theta, centres):
        # x goes with the one of the two that it is related to.
        theirs = row_shift.largest_correlation(data.theta, data.x)
        of_q = row_shift.largest_correlation(centres, data.x)
        moved = "theta" if of_q > theirs else "theta_q"
        code = _A.sub(moved, found.back if moved == "theta" else found.code)
        finding = (
            f"Rows of theta_q are not those of theta: {found.words}. Rows put right, true values "
            f"follow q's draws (r = {found.largest:.2f}; as saved {found.saved:.2f}). Until then "
            "no test says anything of q."
        )
        correction = Correction(
            "rows", finding, f"{moved} = {code}", f"Rows of {moved} were put in order: {code}."
        )
        yield _Found(correction, _in_order(data, moved, found))


def _in_order(data: PosteriorTable, moved: str, found: row_shift.RowOrder) -> PosteriorTable:
    if moved == "theta_q":
        return PosteriorTable(data.theta, data.x, data.q[found.rows])
    return PosteriorTable(data.theta[found.rows.argsort()], data.x, data.q)


def _columns(data: PosteriorTable, names: Sequence[str]) -> Iterator[_Found]:
    centres = _centres(data)
    rows = _finite(data, centres)
    for found in column_order.exchanged_columns(data.theta[rows], centres[rows]):
        order = list(found.order)
        told = [
            f"{names[i]} follows the draws of {names[order[i]]} (r = {found.fits[i]:.2f}; its own "
            f"{found.saved[i]:.2f})"
            for i in found.moved
        ]
        finding = (
            f"Columns of theta_q are not in theta's order: {first_text(told, _NAMED)}. Until they "
            "are, no test says anything of q."
        )
        code = f"theta_q = theta_q[..., {order}]"
        done = f"Columns of theta_q were put in theta's order: {order}, counted from 0."
        turned = partial(_columns_of, order)
        yield _Found(Correction("columns", finding, code, done), _with_draws(data, turned), turned)


def _columns_of(order: Sequence[int], draws: Array) -> Array:
    return draws[..., list(order)]


def _with_draws(data: PosteriorTable, turned: Callable[[Array], Array]) -> PosteriorTable:
    return PosteriorTable(data.theta, data.x, turned(data.q))


def _scale(data: PosteriorTable, names: Sequence[str]) -> Iterator[_Found]:
    every = list(scales.other_scales(data, _finite(data, _centres(data))))
    for reading in dict.fromkeys(one.reading for one in every):
        alike = [one for one in every if one.reading == reading]
        fits = [
            f"{names[one.column]} = {one.formula} fits (r = {one.correlation:.2f})"
            for one in alike
        ]
        finding = (
            f"{first_text(fits, _NAMED)}: {reading}. True values and draws must be on one scale; "
            "until then no test says anything of q."
        )
        lines = []
        for one in alike:
            at = f"theta_q[..., {one.column}]"
            lines.append(f"{at} = {_Q.sub(at, one.code)}")
        turned = [f"{names[one.column]} = {one.formula}" for one in alike]
        done = f"q's draws were turned into theta's scale, {first_text(turned, _NAMED)}."
        turn = partial(_rescaled, alike)
        data = _with_draws(data, turn)  # those of another reading are corrected beside them
        fitted = any(one.fitted for one in alike)
        correction = Correction("scale", finding, "\n".join(lines), done, fitted, alike[0].column)
        yield _Found(correction, data, turn)


def _rescaled(every: Sequence[scales.OtherScale], draws: Array) -> Array:
    corrected = draws.copy()
    for one in every:
        with np.errstate(all="ignore"):
            corrected[..., one.column] = one.turn(draws[..., one.column].astype(np.float64))
    return corrected


_FINDERS: Mapping[str, Callable[[PosteriorTable, Sequence[str]], Iterator[_Found]]] = {
    "rows": _rows,
    "columns": _columns,
    "scale": _scale,
}


def notes(made: Sequence[Correction]) -> tuple[str, ...]:
    """Corrections that were made, and what those with fitted numbers hide."""
    fitted = any(one.fitted for one in made)
    return (*(one.done for one in made), *([_FITTED] if fitted else []))


def usable_densities(
    densities: Mapping[str, Array], made: Sequence[Correction]
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Log densities that belong to the corrected numbers, and a note on those that do not.

    Weights are of draws, in whatever units and order of columns they are.

    Raises:
        ValueError: for weights of draws whose rows were put in order: which rows are theirs is
            not known.
    """
    if not densities or not made:
        return dict(densities), ()
    kept = {name: array for name, array in densities.items() if name.startswith("log_w")}
    moved = next((one for one in made if one.name == "rows"), None)
    if kept and moved is not None:
        raise ValueError(
            "Rows are put in order where draws have no weights; got some, whose order is not "
            f"known. Correct it in your program: {moved.code}, and weights with it."
        )
    lost = [name for name in densities if name not in kept]
    told = (
        f"{list_text(lost)}: left out, since they belong to the numbers before the correction. "
        "Correct the file, and save them with it."
    )
    return kept, (told,) * bool(lost)


def thinned(
    theta: Array, q: Array, densities: Mapping[str, Array], wanted: Sequence[str]
) -> tuple[Array, dict[str, Array], tuple[Correction, ...]]:
    """Every so many-th of the draws that is asked for, and the correction that this is.

    Args:
        theta: true values (N, D).
        q: draws (N, K, D).
        densities: (N,), and (N, K) at the draws, which are thinned with them.
        wanted: names of corrections.

    Raises:
        ValueError: for a step at which two draws are not left, or a chain of too few
            independent ones.
    """
    step = _step(theta, q, wanted)
    if step == 1:
        return q, dict(densities), ()
    some = {
        name: values[:, ::step] if name.endswith("_draws") else values
        for name, values in densities.items()
    }
    return q[:, ::step], some, (_thinning(q, step),)


def offered(theta: Array, q: Array) -> tuple[Correction, ...]:
    """Chains to thin and rows to use once, from true values (N, D) and draws (N, K, D)."""
    step = repeats.step_between_draws(theta, q) if len(theta) > 1 else 1
    enough = _left(q, step) >= repeats.FEWEST_DRAWS
    return (
        *([_thinning(q, step)] if step > 1 and enough else []),
        *([ONE_ROW] if repeats.shares_theta(theta) else []),
    )


def _thinning(q: Array, step: int) -> Correction:
    code = f"theta_q[:, ::{step}]"
    return Correction(
        f"thin={step}",
        f"Consecutive draws of q at one x are correlated: use one of every {step}.",
        f"theta_q = {code}",
        f"Of every {step} draws of a chain one is used: {_left(q, step)} of {q.shape[1]} at "
        "each x.",
    )


def _left(q: Array, step: int) -> int:
    """Draws that are left of q (N, K, D)."""
    return len(range(0, q.shape[1], step))


def _step(theta: Array, q: Array, wanted: Sequence[str]) -> int:
    for text in wanted:
        name, _, number = text.partition("=")
        if name != "thin":
            continue
        if not number:
            return _own_step(theta, q)
        if _left(q, int(number)) < 2:
            raise ValueError(
                f"A thinned chain keeps draws, two at least; got {text} of K = {q.shape[1]}. Use "
                "a smaller step, or draw a longer chain."
            )
        return int(number)
    return 1


def _own_step(theta: Array, q: Array) -> int:
    """Every which draw of these chains is independent of the one before."""
    step, fewest = repeats.step_between_draws(theta, q), repeats.FEWEST_DRAWS
    if step > 1 and _left(q, step) < fewest:
        raise ValueError(
            f"Chains are thinned to independent draws, {fewest} at least; got K = {q.shape[1]}, "
            f"of which {_left(q, step)} would be left. Draw chains of K = {fewest * step:,} or "
            "more."
        )
    return step


ONE_ROW = Correction(
    "one_row",
    "Rows that share theta are not independent: use one of each.",
    "keep = np.unique(theta, axis=0, return_index=True)[1]; theta, x, theta_q = theta[keep], "
    "x[keep], theta_q[keep]",
    "One row of each theta is used.",
)
"""One row of each repeated theta."""
