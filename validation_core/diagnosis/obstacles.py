"""Why a method cannot run on an upload: the rule, what was got, and what would serve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from validation_core.diagnosis import ratios
from validation_core.methods import SBC, Omnibus
from validation_core.methods.colt import CoLT
from validation_core.methods.uniform import Uniform
from validation_core.scores.quantities import LOG_Q, chosen, labels
from validation_core.scores.slots import FEWEST_DRAWS
from validation_core.types import Anew, Blocks, Draws, Method
from validation_core.uploads import Upload
from validation_core.uploads.ranges import Range

LEARN_ROWS = 50  # below this, half of the rows teach a network nothing
LOCALIZER_ROWS = 40  # half of them learn, a quarter of those are held out
_RANK_ROWS = 5
_SIDE_ROWS = 10  # of each sample: fewer have too few relabelings to be sure of anything
_UNSQUARED = ("classifier", "witness", "rows")
"""Scores that read numbers in units of a column's quantiles: no square of them is taken."""
_RANGE = "which must lie below 1e150 and vary by more than 1e-150"
_RESCALE = "Change the unit of the column or take its logarithm."
_SHOWN = 3
_UNIFORM_POINTS = 50  # test points below which Uniform's KS test sees nothing


def obstacle(method: Method, upload: Upload) -> str | None:
    """Why a method cannot run on this upload, known before anything is computed; or None."""
    if isinstance(upload.data, Blocks) and (method.layout == "table" or isinstance(method, Anew)):
        return (
            "It compares the truth with q's draws at the same x; two samples p and q have no x. "
            "Upload theta, x and theta_q to run it."
        )
    if not isinstance(method, Omnibus) and (reason := dependent(upload)):
        return reason  # relabelling takes rows that share their draws for one pool
    if upload.n < _RANK_ROWS:
        return f"It needs at least {_RANK_ROWS} rows; got {upload.n}."
    return _too_few(method, upload) or _unsuited(method, upload) or _too_far(method, upload)


def within(upload: Upload) -> str | None:
    """Why no score is learnt that sees each draw among the others at its x; or None."""
    if isinstance(upload.data, Blocks):
        return (
            "It sees each draw among the others at its x; two samples p and q have no x. Upload "
            "theta, x and theta_q."
        )
    if upload.n < LEARN_ROWS:
        return f"It learns on half of the rows and needs at least {LEARN_ROWS}; got {upload.n}."
    if upload.k < FEWEST_DRAWS:
        return (
            f"It sees each draw among at least {FEWEST_DRAWS} others at its x; got {upload.k}. "
            "Upload more draws."
        )
    return unusable(upload)


def _too_few(method: Method, upload: Upload) -> str | None:
    """Whether half of the rows, or as many as the method keeps, are too few for it."""
    table = isinstance(upload.data, Draws)
    least, does = {
        "coordinates": (_RANK_ROWS, "ranks every row"),
        "table": (_RANK_ROWS, "ranks every row"),
        "ratio": (_RANK_ROWS, "averages over rows"),
        "reference": (2 * _RANK_ROWS, "learns the box of its references on half of the rows"),
        "rows": (
            (2 * _SIDE_ROWS, "takes the truth of half of the rows and a draw of q of the others")
            if table else (_SIDE_ROWS, "compares two samples")
        ),
        "localizer": (
            LOCALIZER_ROWS,
            "learns its centre on half of the rows, a quarter of them held out,",
        ),
    }.get(method.reads, (LEARN_ROWS, "learns its score on half of the rows"))  # fmt: skip
    if upload.n >= least:
        return None
    return f"It {does} and needs at least {least} rows; got {upload.n}."


def _unsuited(method: Method, upload: Upload) -> str | None:
    """What else an option of the method asks for."""
    if isinstance(method, CoLT) and method.fresh:
        return (
            "Fresh anchors at every step are drawn by a simulator, which an upload has not; got "
            "fresh=true. Leave it out."
        )
    if method.reads == "ratio":
        return ratios.obstacle(upload)
    if isinstance(method, SBC):
        return _no_quantity(method, upload)
    if isinstance(method, Uniform):
        return _no_calibration(method, upload)
    wanted = method.budget(1, upload.k).q if method.reads == "scorer" else 0
    if wanted > upload.k:
        return (
            f"It compares the truth with {wanted} draws of q at its x; got {upload.k}. Upload "
            f"more draws or set m={upload.k}."
        )
    return None


def dependent(upload: Upload) -> str | None:
    """Why rows of an upload cannot be counted as independent; or None."""
    if upload.groups is None:
        return None
    sizes = np.bincount(upload.groups)
    several = sizes[sizes > 1]
    return (
        f"Rows must be independent, each with draws of q of its own; got {several.sum():,} rows "
        f"that share {len(several):,} set{'s' * (len(several) > 1)} of draws. Sample q anew at "
        f"every row, or keep one row of each set."
    )


def unusable(upload: Upload) -> str | None:
    """Why no answer beyond the ranks can be told of this upload; or None."""
    return dependent(upload) or unsquarable(upload)


def unsquarable(upload: Upload) -> str | None:
    """Why nothing that squares this upload's numbers can be told of it; or None."""
    found = [one for columns in upload.extreme for one in columns]
    return f"It squares numbers, {_RANGE}; got {_some(found)}. {_RESCALE}" if found else None


def _too_far(method: Method, upload: Upload) -> str | None:
    """Whether a column reaches where the method's arithmetic ends."""
    theta, x = upload.extreme
    if isinstance(method, SBC):  # ranks of a coordinate compare numbers, whatever their size
        squares = set(chosen(method.quantities)) - {"marginals", LOG_Q}
        found = theta if squares else ()
    elif method.reads == "reference":
        found = tuple(one for one in theta if one.infinite)
        found += x if getattr(method, "reference", "random") == "x" else ()
    elif method.reads in _UNSQUARED:
        found = tuple(one for one in (*theta, *x) if one.infinite)
        if found:
            return (
                f"It measures every column in units of its spread, which must be finite; got "
                f"{_some(found)}. {_RESCALE}"
            )
    else:
        found = () if method.reads in ("ratio", "table") else (*theta, *x)
    return f"It squares numbers, {_RANGE}; got {_some(found)}. {_RESCALE}" if found else None


def _some(found: Sequence[Range]) -> str:
    return ", ".join(map(str, found[:_SHOWN])) + ", …" * (len(found) > _SHOWN)


def _no_quantity(method: SBC, upload: Upload) -> str | None:
    if LOG_Q in chosen(method.quantities):
        return _no_density(upload)
    if labels(chosen(method.quantities), upload.names):
        return None
    return "It multiplies two parameters; got one. Add marginals to quantities."


def _no_density(upload: Upload) -> str | None:
    """Whether log q can be ranked: infinite values have a rank, a missing one has none."""
    for name, where in ((LOG_Q, "truths (N,)"), (f"{LOG_Q}_draws", "draws (N, K)")):
        if name not in upload.densities:
            return (
                f"It ranks log q, which this table does not hold at the {where}; save it as "
                f"{name}, or leave log_q out of quantities."
            )
        if lost := int(np.isnan(upload.densities[name]).sum()):
            return (
                f"It ranks log q, and NaN has no rank; got {lost:,} NaN in {name}. Find out why "
                f"q returns them, or leave log_q out of quantities."
            )
    return None


def _no_calibration(method: Uniform, upload: Upload) -> str | None:
    # A table's held-out half is split by x: a quarter of its rows is left to calibrate with.
    held_out = upload.n - round(upload.n / 2)
    rows = held_out // 2 if isinstance(upload.data, Draws) else held_out
    points = rows // method.m
    if points >= _UNIFORM_POINTS:
        return None
    most = rows // _UNIFORM_POINTS
    remedy = f"m up to {most} would fit" if most else "there are too few rows for any m"
    return (
        f"It needs {method.m} true pairs for each draw of q it tests: the {rows} that are left "
        f"held out serve {points}, and fewer than {_UNIFORM_POINTS} tell little; {remedy}. "
        f"Within x asks the same question of every held-out row."
    )
