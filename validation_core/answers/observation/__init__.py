"""At my observation: whether q can be trusted at one x, a row's, a typed or the real one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from validation_core import keys
from validation_core.answers.base import Found, called
from validation_core.answers.observation.networks import Half, Locals
from validation_core.answers.observation.task import ObservationTask
from validation_core.answers.observation.words import finds, number, say, worst
from validation_core.diagnosis import learning, obstacles
from validation_core.diagnosis.tasks import training
from validation_core.maps import near
from validation_core.models import Training
from validation_core.types import Blocks, Draws, Method
from validation_core.uploads import Upload

__all__ = [
    "CODE", "FEWEST", "HOW", "ObservationTask", "Where", "finds", "gather", "obstacle", "say",
    "table", "tasks",
]  # fmt: skip

Where = int | Sequence[float] | None
"""A row counted from 0; an observation of M numbers; or None: the upload's own or the middle."""

_middles: WeakKeyDictionary[Upload, int] = WeakKeyDictionary()  # a page asks again and again

FEWEST = 50
"""Rows below which half of them teach a local classifier nothing."""

HOW = (
    "L-C2ST asks a classifier, learnt on other rows, which of q's draws at this observation look "
    "like the truth; colours show the learned chance that a draw is the truth. If q were right "
    "here, all draws would be grey near 1/2 but for noise, T would be one of the grey nulls, and "
    "the truths of the nearest rows would have a shift of 0 and a width of 1 within their "
    "intervals. q may be right on the whole and wrong here, or the other way round."
)

CODE = """\
import tempfile

from validation_core import uploads
from validation_core.answers import observation
from validation_core.diagnosis import default_methods, tasks
from validation_core.store import Store

upload = uploads.read("{path}")
tasks.hold(upload)
with tempfile.TemporaryDirectory() as folder:
    store, founds = Store(folder), []
    for task in observation.tasks(upload, default_methods(), seed={seed}, where=None):
        task.run(store, lambda done, live: None)
        founds.append(task.load(store))
for sentence in observation.say(observation.gather(founds), upload.names, upload.x_names):
    print(sentence)
"""


def obstacle(upload: Upload) -> str | None:
    """Why no single observation of this upload can be looked at; or None."""
    if isinstance(upload.data, Blocks):
        return (
            "A local test looks at q's draws at one x; two samples p and q have no x. Upload "
            "theta, x and theta_q."
        )
    if upload.n < FEWEST:
        return (
            f"A local test learns on half of the rows and needs at least {FEWEST} rows; got "
            f"{upload.n}. Upload more rows."
        )
    return obstacles.unusable(upload)


def tasks(
    upload: Upload, methods: Sequence[Method], seed: int, where: Where = None
) -> tuple[ObservationTask, ...]:
    """L-C2ST and the rows nearby; then CoLT's ball there, where one of the methods learns it.

    Raises:
        ValueError: for a row that is not there or an observation that is not M finite numbers.
    """
    if obstacle(upload) is not None:
        return ()
    table = upload.data
    assert isinstance(table, Draws)
    place = _place(upload, table, where)
    # A row is looked at by networks that learnt from the other half.
    second = not place.get("observed") and place["row"] not in learning.kept(upload, seed)
    source = Half(digest=upload.digest, second=bool(second))
    network = Training(source=source, recipe=Locals(), seed=seed)
    found = [ObservationTask(digest=upload.digest, seed=seed, trainings=(network,), **place)]
    for method in methods:
        if method.reads == "localizer" and obstacles.obstacle(method, upload) is None:
            localizer = training(upload, method, seed)
            assert localizer is not None
            found.append(ObservationTask(
                digest=upload.digest, seed=seed, trainings=(localizer,), part="ball", **place
            ))  # fmt: skip
            break
    return tuple(found)


def gather(founds: Sequence[Found]) -> Found:
    """The parts that are done as one."""
    plain = {name: value for found in founds for name, value in found.plain.items()}
    return Found(plain, {name: a for found in founds for name, a in found.arrays.items()})


def table(found: Found, names: Sequence[str]) -> list[dict[str, str | float | int]]:
    """A row for each parameter at the rows nearby, the worst first."""
    if "near" not in found.plain:
        return []
    return [
        {"parameter": called(names, one["parameter"]),
         "shift nearby, posterior sd": number(one, "shift"),
         "spread of the truth / that of q": number(one, "width")}
        for one in worst(found.plain["near"])
    ]  # fmt: skip


def _place(upload: Upload, table: Draws, where: Where) -> dict[str, Any]:
    """The fields of a task that say where it looks."""
    n, m = table.x.shape
    if where is None:
        if upload.observed is not None:
            return {"observed": keys.digest(x=upload.observed[0], theta=upload.observed[1])}
        if upload not in _middles:
            _middles[upload] = near.middle(table.x)
        return {"row": _middles[upload]}
    if isinstance(where, int | np.integer):
        if not 0 <= where < n:
            raise ValueError(
                f"A row is counted from 0 to {n - 1}; got {int(where)}. Give one that is there."
            )
        return {"row": int(where)}
    asked = np.asarray(where, dtype=np.float64).ravel()
    if asked.shape != (m,) or not np.isfinite(asked).all():
        bad = int((~np.isfinite(asked)).sum())
        raise ValueError(
            f"An observation has the {m} finite numbers of an x; got {asked.size} with {bad} that "
            "are not finite. Give one number for each column of x."
        )
    row = int(near.distances(table.x, asked[None])[0].argmin())
    return {"row": row, "x_o": tuple(float(one) for one in asked)}
