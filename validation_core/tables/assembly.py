"""Uploads assembled from arrays and checked: a table, two samples, ranks or probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from validation_core import keys
from validation_core.tables import checks, float_type, roles, source
from validation_core.tables.class_probabilities import OF_CLASSES, OF_X, read_probabilities
from validation_core.tables.densities import unused_array_warnings
from validation_core.tables.draw_table import read_draw_table
from validation_core.tables.options import ReadingOptions
from validation_core.tables.required_roles import require_roles
from validation_core.tables.roles import is_quantity
from validation_core.tables.shapes import matrix, real_numbers
from validation_core.tables.truth_ranks import read_ranks
from validation_core.tables.uploads import (
    ProbabilitiesUpload,
    RanksUpload,
    SamplesUpload,
    TableUpload,
    Upload,
)
from validation_core.tables.x_columns import Missing
from validation_core.types import (
    Array,
    ClassProbabilities,
    Joint,
    PosteriorTable,
    TruthRanks,
    TwoSamples,
)


def upload_in_memory(arrays: Mapping[str, NDArray[np.generic]], options: ReadingOptions) -> Upload:
    """Assemble an upload from arrays by the names that they would have in a file.

    Raises:
        ValueError: as `assemble_upload` does, and for arrays that no upload is made of.
    """
    known = roles.find_roles(arrays)
    numbers = {
        role: arrays[name].astype(source.working_dtype(arrays[name].dtype), copy=False)
        for role, name in known.found.items()
    }
    require_roles(known.found, {name: array.shape for name, array in arrays.items()})
    declared = {role: arrays[name].dtype for role, name in known.found.items()}
    return assemble_upload(numbers, known.notes, options, declared)


def assemble_upload(
    arrays: Mapping[str, NDArray[np.generic]],
    notes: tuple[str, ...],
    options: ReadingOptions,
    declared: Mapping[str, np.dtype[np.generic]],
) -> Upload:
    """Assemble an upload from arrays, and check it.

    Args:
        arrays: the arrays by role.
        notes: notes on how they were read.
        options: what a user says about them.
        declared: the type that each array was saved in, by role.

    Raises:
        AmbiguousOrder: when N = K and no order is given.
        UnknownMaxRank: for ranks whose largest value is not given.
        ValueError: for everything else that cannot be diagnosed.
    """
    draws = "theta" in arrays and "theta_q" in arrays
    if draws or "probabilities" not in arrays or "label" not in arrays:
        of_classes = [name for name in OF_CLASSES if name in arrays]
        notes += roles.unread_notes(of_classes, "since they belong to probabilities of classes")
    if draws:
        options.check_kind("theta_q")
        return _table(arrays, notes, options, declared)
    if "probabilities" in arrays and "label" in arrays:
        options.check_kind("probabilities")
        return _probabilities(arrays, notes, options.missing)
    if "p" in arrays and "q" in arrays:
        options.check_kind("p and q")
        return _samples(arrays, notes, declared)
    options.check_kind("ranks" if "ranks" in arrays else "pit")
    return _ranks(arrays, notes, options.max_rank)


def _table(
    arrays: Mapping[str, NDArray[np.generic]],
    notes: tuple[str, ...],
    options: ReadingOptions,
    declared: Mapping[str, np.dtype[np.generic]],
) -> Upload:
    """The table of draws that these arrays make."""
    read = read_draw_table(arrays, options, declared)
    beside, equal = read.beside, read.equal
    whole = TableUpload(
        data=read.data,
        names=(),
        digest=keys.digest(**read.numbers()),
        dropped=read.dropped,
        saved_rows=read.saved_rows,
        warnings=read.warnings,
        notes=(*notes, *read.notes),
        densities={name: array for name, array in beside.items() if not is_quantity(name)},
        quantities={name: array for name, array in beside.items() if is_quantity(name)},
        weighting=equal.weighting if equal else None,
        observed=read.observed,
        observations=read.own.every,
        x_rep=read.own.x_rep,
        around=read.around,
        discrete=read.discrete,
        image=read.image,
        periods=read.periods,
        bounds=read.ends,
        mistakes=read.mistakes,
        corrected=read.corrected,
        read_as=read.read_as,
    )
    return _labelled(whole, read.labels, read.rows.data)


def _samples(
    arrays: Mapping[str, NDArray[np.generic]],
    notes: tuple[str, ...],
    declared: Mapping[str, np.dtype[np.generic]],
) -> Upload:
    """The two samples that these arrays make."""
    p, q = (matrix(name, real_numbers(name, arrays[name])) for name in ("p", "q"))
    if p.shape[1] != q.shape[1]:
        raise ValueError(
            f"p (n, d) and q (n', d) must have the same columns; got {p.shape} and {q.shape}. "
            f"Save the same quantities in both."
        )
    (keep_p, dropped_p), (keep_q, dropped_q) = (
        checks.find_finite_rows({"p": p}),
        checks.find_finite_rows({"q": q}),
    )
    p, q = (a if keep.all() else a[keep] for a, keep in ((p, keep_p), (q, keep_q)))
    same = float_type.match_precisions({"p": p, "q": q}, declared)
    p, q = same.arrays["p"], same.arrays["q"]
    whole = SamplesUpload(
        data=TwoSamples(_unconditional(p), _unconditional(q)),
        names=(),
        digest=keys.digest(**{"0": p, "1": q}),
        dropped=dropped_p | dropped_q,
        warnings=(*same.warnings, *unused_array_warnings(arrays)),
        notes=(*notes, *same.notes),
    )
    return _labelled(whole, arrays, whole.data)


def _probabilities(
    arrays: Mapping[str, NDArray[np.generic]], notes: tuple[str, ...], missing: Missing | None
) -> Upload:
    """The probabilities of classes that these arrays make."""
    read = read_probabilities(arrays, missing)
    names, warning = roles.column_labels(arrays.get("class_names"), "class", read.p.shape[1])
    m = read.x.shape[1]
    x_names, told_x = roles.column_labels(read.x_names, "x", m) if m else ((), None)
    numbers = {"0": read.p, "1": read.classes} | ({"x": read.x} if m else {})
    return ProbabilitiesUpload(
        data=ClassProbabilities(read.p, read.classes, read.x),
        names=names,
        x_names=x_names,
        digest=keys.digest(**numbers),
        dropped=read.dropped,
        warnings=(*filter(None, (warning, told_x)),),
        notes=(
            *notes,
            *read.notes,
            *roles.unread_notes(
                [name for name in arrays if name not in (*OF_CLASSES, *OF_X)],
                "since probabilities are compared with the true class, over x",
            ),
        ),
    )


def _ranks(
    arrays: Mapping[str, NDArray[np.generic]], notes: tuple[str, ...], max_rank: int | None
) -> Upload:
    """The ranks that these arrays hold; rows without one are left out."""
    read = read_ranks(arrays, max_rank)
    keep, dropped = checks.find_finite_rows({"ranks": read.ranks.below})
    ranks = TruthRanks(read.ranks.below[keep], read.ranks.most[keep])
    beside = [name for name in ("theta", "x") if name in arrays]
    whole = RanksUpload(
        data=ranks,
        names=(),
        digest=keys.digest(ranks=ranks.below, most=ranks.most),
        dropped=dropped,
        warnings=(*read.warnings, *unused_array_warnings(arrays, "since ranks have no draws")),
        notes=(
            *notes,
            *read.notes,
            *roles.unread_notes(beside, "since ranks without q's draws need neither"),
        ),
    )
    return _labelled(whole, arrays, ranks)


def _labelled(
    whole: Upload,
    arrays: Mapping[str, NDArray[np.generic]],
    came: PosteriorTable | TwoSamples | TruthRanks,
) -> Upload:
    """The upload with its labels, and with warnings, which name columns by them, of the draws as
    they came."""
    d, m = whole.dims
    theta_names, theta_warning = roles.column_labels(arrays.get("theta_names"), "theta", d)
    x_names, told_x = roles.column_labels(arrays.get("x_names"), "x", m)
    warnings = (
        *filter(None, (theta_warning, told_x)),
        *checks.data_warnings(came, theta_names, whole.mistakes),
    )
    return replace(
        whole, names=theta_names, x_names=x_names, warnings=(*warnings, *whole.warnings)
    )


def _unconditional(theta: Array) -> Joint:
    """Draws (n, d) without data: x has no columns."""
    return Joint(theta, np.empty((len(theta), 0), theta.dtype))
