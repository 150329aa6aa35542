"""Check the checker: how often the tests reject q on tables of this shape in which q is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.special import bdtr, bdtrc

from validation_core import statistics
from validation_core.answers.asked import Panel, needs_draws, parted, thinned, together
from validation_core.answers.base import Answer, Found
from validation_core.answers.selfnull import Float, Trials, picked, trials_of
from validation_core.diagnosis import tasks as diagnosing
from validation_core.rng import stream
from validation_core.tasks import Live
from validation_core.types import Draws, Fixed, Method
from validation_core.uploads import Upload

if TYPE_CHECKING:
    from validation_core.store import Store

_SURE = 0.05
"""Chance that any of the rates is called off though all tests keep their level."""


@dataclass(frozen=True, kw_only=True)
class Checker(Answer):
    """Rejections of each test, and of the verdict, on tables made of this one's own draws.

    The networks are those of the diagnosis: they learnt from other rows, and a test keeps its
    level with any score that was fixed beforehand.
    """

    about: ClassVar[str] = "Level of the tests"

    methods: tuple[Method, ...]
    alpha: float = 0.05

    def answer(self, upload: Upload, store: Store, report: Live) -> Found:
        """Test every self-made table.

        plain: trials, alpha, draws beside a truth, verdict and tests (rejections, rate, low, high,
        outside: too often, too seldom or empty), left_out. arrays: pvalues (methods, T), and the
        verdict's (T,).
        """
        few = thinned(upload)
        data = few.data
        assert isinstance(data, Draws)
        asked, left = parted(few, self.methods)
        networks = dict(zip(self.trainings, self.networks(store, report), strict=True))

        def network(method: Method) -> Any:
            training = diagnosing.training(upload, method, self.seed)
            assert training is not None
            return networks[training]

        panel = Panel.of(few, asked, self.seed, network)
        count = trials_of(upload.n, upload.dims[0])
        rng = stream(self.seed, "checker", "draws")
        trials = Trials(data, picked(few.n, few.k, count, rng))
        pieces = []
        for i, piece in enumerate(trials.pieces()):
            pieces.append(panel.pvalues(piece, self.seed, "checker", i))
            report(sum(part.shape[1] for part in pieces) / count, {})
        pvalue = np.concatenate(pieces, axis=1)
        adjusted = together(pvalue, asked, len(asked))
        labels = [{"name": one.name, "label": one.label, "title": one.title} for one in asked]
        rates = [
            _rate(p, self.alpha, len(asked) + 1) for p in (*pvalue, adjusted)
        ]  # fmt: skip
        plain = {
            "trials": count, "alpha": self.alpha, "draws": few.k - 1, "thinned": few.k < upload.k,
            "verdict": rates[-1],
            "tests": [{**who, **rate} for who, rate in zip(labels, rates, strict=False)],
            "left_out": [{"label": label, "reason": reason} for label, reason in left.items()],
        }  # fmt: skip
        return Found(plain, {"pvalues": pvalue, "adjusted": adjusted})


def _rate(pvalue: Float, alpha: float, rates: int) -> dict[str, Any]:
    """Rejections at the level, the rate with its exact 95% interval, and whether it is off."""
    n, count = len(pvalue), int((pvalue <= alpha).sum())
    low, high = statistics.clopper_pearson(count, n)
    outside = ""
    if bdtrc(count - 1, n, alpha) <= _SURE / (2 * rates):
        outside = "too often"
    elif bdtr(count, n, alpha) <= _SURE / (2 * rates):
        outside = "too seldom"
    return {
        "rejections": count, "rate": count / n, "low": float(low), "high": float(high),
        "outside": outside,
    }  # fmt: skip


def obstacle(upload: Upload) -> str | None:
    """Why no table can be made of this upload's own draws; None where it can."""
    return needs_draws(upload)


def tasks(upload: Upload, methods: Sequence[Method], seed: int) -> tuple[Checker, ...]:
    """One task, with the networks that the diagnosis trains; none where no method can be asked."""
    asked = [] if obstacle(upload) else parted(thinned(upload), methods)[0]
    if not asked:
        return ()
    learnt = [diagnosing.training(upload, one, seed) for one in asked if not _fixed(one)]
    trainings = tuple(dict.fromkeys(one for one in learnt if one is not None))
    return (
        Checker(digest=upload.digest, seed=seed, trainings=trainings, methods=tuple(methods)),
    )  # fmt: skip


def _fixed(method: Method) -> bool:
    return isinstance(method, Fixed)


def gather(founds: Sequence[Found]) -> Found:
    """The answer of the one task."""
    return founds[0]


def say(found: Found, names: Sequence[str]) -> tuple[str, ...]:
    """The level of the verdict first, then what is off, and what was not asked."""
    del names
    told = found.plain
    trials, alpha = told["trials"], told["alpha"]
    said = [
        f"On {trials} tables made of q's own draws, where q is right, a verdict at level "
        f"{alpha:.3g} found a problem in {_percent(told['verdict'])}."
    ]
    off = [one for one in told["tests"] if one["outside"]]
    for one in off:
        consequence = (
            "do not rely on its p-value on a table of this shape"
            if one["outside"] == "too often"
            else "it keeps its level, and sees less than it could"
        )
        said.append(
            f"{one['title']} rejected {one['outside']}, in {_percent(one)}: {consequence}."
        )
    if told["verdict"]["outside"] == "too often":
        said.append("That is more often than the level allows: do not rely on the verdict alone.")
    if not off:
        said.append(
            f"Each test by itself rejected as often as its level of {alpha:.3g} says, as far as "
            f"{trials} tables can tell."
        )
    if told["thinned"]:
        said.append(f"To save time, these tables have {told['draws']} draws of q at each x.")
    said += [f"{one['label']} was left out: {one['reason']}." for one in told["left_out"]]
    return tuple(said)


def _percent(rate: dict[str, Any]) -> str:
    low, high = 100 * rate["low"], 100 * rate["high"]
    return f"{100 * rate['rate']:.1f}% [{low:.1f}, {high:.1f}]"


def table(found: Found, names: Sequence[str]) -> list[dict[str, str | float | int]]:
    """One row for each test and one for the verdict, the highest rate first."""
    del names
    told = found.plain
    every = [*told["tests"], {"title": "Verdict", **told["verdict"]}]
    return [
        {
            "test": one["title"], "rejections": one["rejections"], "tables": told["trials"],
            "rate": one["rate"], "95% low": one["low"], "95% high": one["high"],
            "level": told["alpha"], "rejects": one["outside"] or "as stated",
        }
        for one in sorted(every, key=lambda one: -one["rate"])
    ]  # fmt: skip


HOW = (
    "In each of these tables one draw of q, picked at random, plays the truth among the others at "
    "its x, so that q is right whatever it is; the tests that judged the real table judge them. "
    "A test that keeps its level rejects in about 5 of 100 and its p-values are spread evenly; "
    "one that rejects more often would also cry wolf on the real table."
)

CODE = """import tempfile
from pathlib import Path

from validation_core import diagnosis, uploads
from validation_core.answers import checker
from validation_core.diagnosis import tasks
from validation_core.store import Store

upload = uploads.read("{path}")
tasks.hold(upload)
store = Store(Path(tempfile.mkdtemp()))
(task,) = checker.tasks(upload, diagnosis.default_methods(), {seed})
task.run(store, lambda fraction, live: None)
found = task.load(store)
print(*checker.say(found, upload.names), sep="\\n")
"""
