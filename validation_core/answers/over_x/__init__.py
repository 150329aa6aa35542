"""Where over x: which observations q fails for, and whether that can be told from chance."""

from __future__ import annotations

from collections.abc import Sequence

from validation_core.answers.base import Found
from validation_core.answers.over_x.task import OverX, over_x
from validation_core.answers.over_x.words import (
    coordinate,
    feature,
    finds,
    judged,
    region,
    say,
    size,
    worst,
    worst_row,
)
from validation_core.diagnosis import obstacles
from validation_core.diagnosis.called import column
from validation_core.diagnosis.claims import Claims
from validation_core.diagnosis.tasks import training
from validation_core.methods import WithinX
from validation_core.types import Blocks, Method
from validation_core.uploads import Upload

__all__ = [
    "CODE", "FEWEST", "HOW", "OverX", "column", "coordinate", "feature", "finds", "gather",
    "judged",
    "obstacle", "over_x", "region", "say", "table", "tasks", "worst", "worst_row",
]  # fmt: skip

FEWEST = 40
"""Rows below which no stretch of x has enough of them."""

HOW = (
    "Each line is the local size of one error of q, smoothed over its nearest neighbours in x: "
    "how far q sits from the truth, how much too narrow it is, or how well a classifier tells "
    "them apart. If q were right, it would stay near the grey line, inside the grey room at 95 of "
    "100 places, and both p-values would be anything from 0 to 1. Only the p-values tell a bump "
    "from chance: they count every place and every error that was looked at."
)

CODE = """\
import tempfile

from validation_core import uploads
from validation_core.answers import over_x
from validation_core.diagnosis import default_methods, tasks
from validation_core.store import Store

upload = uploads.read("{path}")
tasks.hold(upload)
with tempfile.TemporaryDirectory() as folder:
    store, founds = Store(folder), []
    for task in over_x.tasks(upload, default_methods(), seed={seed}):
        task.run(store, lambda done, live: None)
        founds.append(task.load(store))
for sentence in over_x.say(over_x.gather(founds), upload.names, upload.x_names):
    print(sentence)
"""


def obstacle(upload: Upload) -> str | None:
    """Why there is no map over x for this upload; or None."""
    if isinstance(upload.data, Blocks):
        return (
            "A map over x needs x: two samples p and q have none. Upload theta, x and theta_q "
            "to see where q fails."
        )
    if upload.n < FEWEST:
        return (
            f"A map over x compares stretches of at least 10 rows each and needs {FEWEST} rows; "
            f"got {upload.n}. Upload more rows."
        )
    return obstacles.unusable(upload)


def tasks(upload: Upload, methods: Sequence[Method], seed: int) -> tuple[OverX, ...]:
    """Every parameter's ranks at once; a classifier's where one of the methods trains it."""
    if obstacle(upload) is not None:
        return ()
    network = None
    for method in methods:
        if method.reads == "classifier" and obstacles.obstacle(WithinX(), upload) is None:
            network = training(upload, method, seed)
            break
    families = 1 if network is None else 2
    first = OverX(digest=upload.digest, seed=seed, families=families)
    if network is None:
        return (first,)
    second = OverX(
        digest=upload.digest, seed=seed, learned=True, families=families, trainings=(network,)
    )
    return (first, second)


def gather(founds: Sequence[Found]) -> Found:
    """The parts that are done as one; each one's p is already adjusted for all."""
    parts = [part for found in founds for part in found.plain["parts"]]
    arrays = {name: array for found in founds for name, array in found.arrays.items()}
    return Found({"parts": parts}, arrays)


def table(
    found: Found, names: Sequence[str], x_names: Sequence[str] = (), claims: Claims | None = None
) -> list[dict[str, str | float | int]]:
    """A row for each pair of a feature and a coordinate, the smallest p first."""
    return [
        {
            "what": feature(pair, names), "along": coordinate(pair, names, x_names),
            "p, changes over x": pair["p_varies"], "p, right q": pair["p_right"],
            "worst where": region(pair, names, x_names), "share of rows": pair["share"],
            "size there": size(pair["kind"], pair["inside"]),
            "size elsewhere": size(pair["kind"], pair["outside"]),
        }
        for pair in worst(judged(found.plain["parts"], claims))
    ]  # fmt: skip
