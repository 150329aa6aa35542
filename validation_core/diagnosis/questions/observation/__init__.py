"""At my observation: whether q can be trusted at one x, a row's, a typed or the real one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from validation_core import keys
from validation_core.diagnosis import choice, learning
from validation_core.diagnosis.claims import Claims
from validation_core.diagnosis.questions.base import Names, Question, Rows, called
from validation_core.diagnosis.questions.observation import text
from validation_core.diagnosis.questions.observation.networks import LC2STEnsemble, LC2STFold
from validation_core.diagnosis.questions.observation.study import AtObservation, ObservationStudy
from validation_core.diagnosis.tasks import training
from validation_core.localization import over_x
from validation_core.methods.base import Method
from validation_core.models import Training
from validation_core.tables import Upload
from validation_core.types import PosteriorTable, TwoSamples

if TYPE_CHECKING:
    from validation_core.diagnosis.verdict import Diagnosis
    from validation_core.figures.outcome import Drawn

__all__ = ["FEWEST", "AtObservation", "Observation", "ObservationStudy", "Where"]

Where = int | Sequence[float] | None
"""A row counted from 0; an observation of M numbers; or None: the upload's own or the middle."""

_middles: WeakKeyDictionary[Upload, int] = WeakKeyDictionary()  # a page asks again and again

FEWEST = 50
"""Rows below which half of them teach a local classifier nothing."""


class Observation(Question[AtObservation]):
    """Whether q can be trusted at one x."""

    name = "observation"
    title = "At my observation"
    reading_guide = (
        "L-C2ST asks a classifier, learnt on other rows, which of q's draws at this observation "
        "look like the truth; colours show the learned chance that a draw is the truth. If q "
        "were right here, all draws would be grey near 1/2 but for noise, T would be one of the "
        "grey nulls, and the truths of the nearest rows would have a shift of 0 and a width of 1 "
        "within their intervals. q may be right on the whole and wrong here, or the other way "
        "round."
    )

    @property
    def code(self) -> str:
        return super().code.replace("{seed})", "{seed}, where=None)")

    def obstacle(self, upload: Upload) -> str | None:
        if isinstance(upload.data, TwoSamples):
            return (
                "A local test looks at q's draws at one x; two samples p and q have no x. Upload "
                "theta, x and theta_q."
            )
        if upload.n < FEWEST:
            return (
                f"A local test learns on half of the rows and needs at least {FEWEST} rows; got "
                f"{upload.n}. Upload more rows."
            )
        return choice.unusable(upload)

    def studies(
        self, upload: Upload, methods: Sequence[Method], seed: int, where: Where = None
    ) -> tuple[ObservationStudy, ...]:
        """L-C2ST and the rows nearby; then CoLT's ball there, where one of the methods learns it.

        Raises:
            ValueError: for a row that is not there or an observation that is not M finite numbers.
        """
        if self.obstacle(upload) is not None:
            return ()
        at = _At.of(upload, where)
        # A row is looked at by networks that learnt from the other half.
        second = not at.observed and at.row not in learning.kept(upload, seed)
        source = LC2STFold(digest=upload.digest, second=bool(second))
        network = Training(source=source, recipe=LC2STEnsemble(), seed=seed)
        studies = [at.study(upload, seed, network, "local")]
        for method in methods:
            if method.localizes and choice.obstacle(method, upload) is None:
                localizer = training(upload, method, seed)
                assert localizer is not None
                studies.append(at.study(upload, seed, localizer, "ball"))
                break
        return tuple(studies)

    def gather(self, results: Sequence[AtObservation]) -> AtObservation:
        """The parts that are done as one."""
        return AtObservation(
            next((result.local for result in results if result.local), None),
            next((result.ball for result in results if result.ball), None),
        )

    def describe(
        self, result: AtObservation, names: Names, claims: Claims | None = None
    ) -> tuple[str, ...]:
        return text.describe(result, *names, claims)

    def rows(self, result: AtObservation, names: Names, claims: Claims | None = None) -> Rows:
        """A row for each parameter at the rows nearby, the worst first."""
        return [
            {
                "parameter": called(names.theta, ranks.parameter),
                "shift nearby, posterior sd": text.interval_text(ranks.shift, "+"),
                "spread of the truth / that of q": text.interval_text(ranks.width),
            }
            for ranks in (result.local.nearby.worst if result.local else ())
        ]

    def figures(
        self, result: AtObservation, names: Names, claims: Claims | None = None
    ) -> tuple[Drawn, ...]:
        from validation_core.diagnosis.questions.observation.figures import figures

        return figures(result, names.theta)

    def finds(self, result: AtObservation) -> bool:
        return result.finds

    def to_json(self, result: AtObservation) -> dict[str, Any]:
        return result.to_json()

    def complete(
        self, document: dict[str, Any], result: AtObservation, diagnosis: Diagnosis
    ) -> None:
        self.tell_where(document, result, diagnosis)


@dataclass(frozen=True)
class _At:
    """What a study is told of where it looks."""

    row: int = 0
    x_o: tuple[float, ...] | None = None
    observed: str = ""

    @classmethod
    def of(cls, upload: Upload, where: Where) -> _At:
        table = upload.data
        assert isinstance(table, PosteriorTable)
        n, m = table.x.shape
        if where is None:
            if upload.observed is not None:
                x, theta = upload.observed
                return cls(observed=keys.digest(x=x, theta=theta))
            if upload not in _middles:
                _middles[upload] = over_x.middle(table.x)
            return cls(row=_middles[upload])
        if isinstance(where, int | np.integer):
            if not 0 <= where < n:
                raise ValueError(
                    f"A row is counted from 0 to {n - 1}; got {int(where)}. Give one that is "
                    "there."
                )
            return cls(row=int(where))
        x_o = np.asarray(where, dtype=np.float64).ravel()
        if x_o.shape != (m,) or not np.isfinite(x_o).all():
            bad = int((~np.isfinite(x_o)).sum())
            raise ValueError(
                f"An observation has the {m} finite numbers of an x; got {x_o.size} with {bad} "
                "that are not finite. Give one number for each column of x."
            )
        row = int(over_x.distances(table.x, x_o[None])[0].argmin())
        return cls(row=row, x_o=tuple(float(column) for column in x_o))

    def study(
        self, upload: Upload, seed: int, network: Training, part: Literal["local", "ball"]
    ) -> ObservationStudy:
        return ObservationStudy(
            digest=upload.digest,
            seed=seed,
            trainings=(network,),
            part=part,
            row=self.row,
            x_o=self.x_o,
            observed=self.observed,
        )
