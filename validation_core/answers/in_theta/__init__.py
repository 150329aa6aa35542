"""Where in theta: which parts of parameter space q gives too much or too little mass."""

from __future__ import annotations

from collections.abc import Sequence

from validation_core.answers.base import Found, called
from validation_core.answers.in_theta.task import InTheta, in_theta
from validation_core.answers.in_theta.words import finds, interval, ratio, say, strip
from validation_core.diagnosis import obstacles
from validation_core.diagnosis.tasks import slot_training, training
from validation_core.methods import WithinX
from validation_core.types import Blocks, Method
from validation_core.uploads import Upload

__all__ = [
    "CODE", "HOW", "InTheta", "called", "finds", "gather", "in_theta", "interval", "obstacle",
    "ratio", "say", "strip", "table", "tasks",
]  # fmt: skip

HOW = (
    "A score learnt, on other rows, how much more frequent the truth is than q's draws at each "
    "theta and x: a classifier of theta and x, or trees and a network that see each draw among "
    "the others at its x, whichever told truths better on rows held out of learning. Maps "
    "average that ratio over q's draws in each cell, on a scale of logarithms: blue where "
    "q puts too little mass, orange where too much. The learned ratio is checked by counting "
    "held-out truths. If q were right, every tenth of q's draws would hold a tenth of the truths "
    "within its interval; maps would be grey but for the score's noise."
)

CODE = """\
import tempfile

from validation_core import uploads
from validation_core.answers import in_theta
from validation_core.diagnosis import default_methods, tasks
from validation_core.store import Store

upload = uploads.read("{path}")
tasks.hold(upload)
with tempfile.TemporaryDirectory() as folder:
    store = Store(folder)
    (task,) = in_theta.tasks(upload, default_methods(), seed={seed})
    task.run(store, lambda done, live: None)
    found = task.load(store)
for sentence in in_theta.say(found, upload.names):
    print(sentence)
"""


def obstacle(upload: Upload) -> str | None:
    """Why the mass over theta cannot be compared on this upload; or None."""
    if isinstance(upload.data, Blocks):
        return (
            "A map over theta compares the truth with q's draws at the same x; two samples p and "
            "q have no x. Upload theta, x and theta_q."
        )
    return obstacles.obstacle(WithinX(), upload) or obstacles.unusable(upload)


def tasks(upload: Upload, methods: Sequence[Method], seed: int) -> tuple[InTheta, ...]:
    """One, reading the classifier that the tests share and, where there is one, the score within
    x: it shows whichever tells truths better on rows that neither learnt from.
    """
    if obstacle(upload) is not None:
        return ()
    network = training(upload, WithinX(), seed)
    assert network is not None
    both = [network]
    if obstacles.within(upload) is None:
        both.append(slot_training(upload, seed))
    return (InTheta(digest=upload.digest, seed=seed, trainings=tuple(both)),)


def gather(founds: Sequence[Found]) -> Found:
    """The one there is."""
    return founds[0]


def table(found: Found, names: Sequence[str]) -> list[dict[str, str | float | int]]:
    """A row for each tenth of q's draws and each strip of a parameter, the worst first."""
    told = found.plain
    rows = [
        (f"tenth {at + 1} of q's draws by learned ratio", one)
        for at, one in enumerate(told["deciles"])
    ]
    rows += [(strip(one, names), one) for one in told["strips"]]
    rows.sort(key=lambda row: -max(row[1]["low"] - row[1]["q"], row[1]["q"] - row[1]["high"]))
    return [
        {"where": where, "q's share": one["q"], "truth's share": one["truth"],
         "low": one["low"], "high": one["high"], "times as frequent": ratio(one)}
        for where, one in rows
    ]  # fmt: skip
