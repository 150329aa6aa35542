"""Which tables can be compared row by row, and what a comparison of them leaves out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core.diagnosis.comparison.pairwise_intervals import FEWEST
from validation_core.diagnosis.comparison.proper_scores import studies
from validation_core.tables import TableUpload, Upload
from validation_core.tables.roles import names_text
from validation_core.text import list_text
from validation_core.types import Array

MOST_ON_PAGE = 12
"""Tables that the page compares at once."""
_LISTED = 12  # parameters whose order a refusal writes out


def address_entry(label: str, upload: Upload) -> str:
    """A table in the address of the page: its whole digest, which nobody can guess, and label."""
    return f"{upload.digest}~{label[:80]}"


def unlike(first: Upload, other: Upload) -> str | None:
    """Why two tables cannot be compared row by row; None if their simulations are the same."""
    for upload in (first, other):
        if not isinstance(upload, TableUpload):
            return (
                f"A comparison needs tables of theta, x and theta_q; got {upload.held}. Bring "
                f"theta, x and theta_q."
            )
    assert isinstance(first, TableUpload)
    assert isinstance(other, TableUpload)
    if first.data.theta.shape != other.data.theta.shape:
        (n, d), (m, e) = first.data.theta.shape, other.data.theta.shape
        return (
            f"Paired differences need the same simulations in the same order; got {n} rows of "
            f"{d} parameters and {m} of {e}. Draw from both at the same theta and x."
        )
    if first.n < FEWEST:
        return (
            f"Paired differences need at least {FEWEST} rows, whose spread gives intervals; got "
            f"{first.n}. Bring more simulations."
        )
    a, b = _angles_alike(first, other)
    x, y = first.data.x, other.data.x
    if _close(a, b) and _close(x, y):
        return None
    return (
        f"Paired differences need the same simulations in the same order; got "
        f"{_in_another_order(a, b, x, y) or _OTHERS}"
    )


_OTHERS = (
    "other values of theta or x. Draw from both posteriors at the same theta and x, or sort their "
    "rows alike."
)


def _in_another_order(a: Array, b: Array, x: Array, y: Array) -> str | None:
    """What differs and what to do, where theta (N, D) and x (N, M) of the second table are those
    of the first in another order of columns or rows."""
    columns = b[0].argsort(kind="stable")[a[0].argsort(kind="stable").argsort(kind="stable")]
    if _close(a, b[:, columns]) and _close(x, y):
        remedy = (
            f"Write them as in the first: theta[:, {columns.tolist()}], "
            f"theta_q[..., {columns.tolist()}]."
            if len(columns) <= _LISTED
            else "Sort both alike: order = numpy.argsort(theta[0]); theta[:, order], "
            "theta_q[..., order]."
        )
        return f"parameters in another order. {remedy}"
    mine, other = np.lexsort(a.T[::-1]), np.lexsort(b.T[::-1])
    if _close(a[mine], b[other]) and _close(x[mine], y[other]):
        return (
            "rows in another order. Sort both alike: order = numpy.lexsort(theta.T); "
            "theta[order], x[order], theta_q[order]."
        )
    return None


def _angles_alike(first: TableUpload, other: TableUpload) -> tuple[Array, Array]:
    """True values of two tables, angles of the second by whole periods near those of the first.

    Each table counts them from the middle of its own rows.
    """
    a, b = first.data.theta, other.data.theta
    periods = np.array(first.periods or other.periods or (0.0,))
    safe = np.where(periods > 0, periods, 1.0)
    return a, b + np.where(periods > 0, safe * np.rint((a - b) / safe), 0.0)


def _close(a: Array, b: Array) -> bool:
    return a.shape == b.shape and bool(
        np.allclose(a, b, rtol=1e-5, atol=1e-6 * float(np.abs(a).max(initial=0)))
    )


def same_text(uploads: Sequence[Upload], labels: Sequence[str]) -> str | None:
    """Which tables hold the same numbers, as one file that was given twice; None where none do."""
    together: dict[str, list[str]] = {}
    for upload, label in zip(uploads, labels, strict=True):
        together.setdefault(upload.digest, []).append(label)
    same = [list_text(names) for names in together.values() if len(names) > 1]
    if not same:
        return None
    return f"{'; '.join(same)} hold the same draws: they are one table, given more than once."


def one_text(uploads: Sequence[Upload], labels: Sequence[str]) -> str | None:
    """That there is nothing to compare, where all tables hold the same draws; else None."""
    if len({upload.digest for upload in uploads}) > 1:
        return None
    names = list_text(list(dict.fromkeys(labels)))
    return (
        f"A comparison needs tables with different draws; got the same in all of {names}. Bring "
        "another, or test the one by a diagnosis."
    )


def warnings(uploads: Sequence[Upload], labels: Sequence[str]) -> tuple[str, ...]:
    """The tables' warnings, each once, with the tables that have it unless all do; then those that
    name the same values in another order than the first.

    Args:
        uploads: the tables.
        labels: their names.
    """
    having: dict[str, list[str]] = {}
    for upload, label in zip(uploads, labels, strict=True):
        for warning in upload.warnings:
            having.setdefault(warning, []).append(label)
    first = uploads[0].names
    turned = [
        f"{label} names the same values {names_text(upload.names)}, which {labels[0]} names "
        f"{names_text(first)}: those of {labels[0]} are shown. Correct one of them."
        for upload, label in zip(uploads, labels, strict=True)
        if upload.names != first and {*upload.names} == {*first}
    ]
    return (
        *(
            warning if len(names) == len(uploads) else f"{list_text(names)}: {warning}"
            for warning, names in having.items()
        ),
        *turned,
    )


def left_out(uploads: Sequence[Upload], labels: Sequence[str]) -> tuple[str, ...]:
    """What a comparison of these tables leaves out, and why, in sentences.

    Args:
        uploads: the tables.
        labels: their names.
    """
    some = [
        (label, upload.weighting)
        for label, upload in zip(labels, uploads, strict=True)
        if isinstance(upload, TableUpload) and upload.weighting is not None
    ]
    told = []
    single = [label for label, upload in zip(labels, uploads, strict=True) if not studies(upload)]
    if single:
        told.append(
            f"Tables are not ranked: the energy score takes two draws of q at each x; "
            f"{list_text(single)} {'has' if len(single) == 1 else 'have'} one. Bring more draws, "
            "or compare the others alone."
        )
    if some:
        listed = list_text([f"{label} ({one.effective:.0f} effective)" for label, one in some])
        told.append(
            f"Draws of {listed} count by their weights. Distances of ranks are left out: weighted "
            "draws are ranked with the true value among them."
        )
    for label, log_q in zip(
        labels, known_log_q(uploads), strict=False
    ):  # of none, if one has none
        if count := int(np.isinf(log_q).sum()):
            told.append(
                f"Log scores are left out: log q of {label} is infinite at {count:,} of "
                f"{len(log_q):,} true values, and so is its mean."
            )
    return tuple(told)


def known_log_q(uploads: Sequence[Upload]) -> list[Array]:
    """Log density of the true values (N,) under each q; none unless every table has them."""
    known = [upload.densities["log_q"] for upload in uploads if "log_q" in upload.densities]
    return known if len(known) == len(uploads) else []
