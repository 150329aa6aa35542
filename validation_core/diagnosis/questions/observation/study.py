"""The study of q at one observation, and its result."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np

from validation_core import codec, keys
from validation_core.diagnosis.questions.base import TableStudy
from validation_core.diagnosis.questions.observation.ball import LocalBall, ball_at
from validation_core.diagnosis.questions.observation.local_test import LocalTest, run_local_test
from validation_core.diagnosis.questions.observation.nearby import NearbyRankTest
from validation_core.diagnosis.questions.observation.place import Site, Where
from validation_core.localization import neighbours
from validation_core.scores.trained_scores import Training
from validation_core.study import Report
from validation_core.tables import TableUpload, Upload
from validation_core.types import Array, PosteriorTable

if TYPE_CHECKING:
    from validation_core.store import Store


_LOOKED = 1000  # draws of q that are looked at, at most
_LISTED = 20  # numbers of an observation that are told
# A page asks again and again.
_middles: WeakKeyDictionary[Upload, int] = WeakKeyDictionary()


@dataclass(frozen=True)
class ObservationPoint:
    """The place of a study: a row, a typed observation or the table's own."""

    row: int = 0
    x_o: tuple[float, ...] | None = None
    observed: str = ""

    @classmethod
    def of(cls, upload: TableUpload, where: Where) -> ObservationPoint:
        """The place that is asked for.

        Raises:
            ValueError: for a row that is not there or an observation that is not M finite numbers.
        """
        table = upload.data
        m = table.x.shape[1]
        if where is None:
            if upload.observed is not None:
                x, theta = upload.observed
                return cls(observed=keys.digest(x=x, theta=theta))
            if upload not in _middles:
                _middles[upload] = neighbours.central_row(table.x)
            return cls(row=_middles[upload])
        if isinstance(where, int | np.integer):
            return cls(row=upload.row_saved_at(int(where)))
        try:
            x_o = np.asarray(where, dtype=np.float64).ravel()
        except (TypeError, ValueError):
            raise ValueError(
                f"An observation is a row's number or the {m} numbers of an x; got "
                f"{type(where).__name__}. Give one of these."
            ) from None
        if x_o.shape != (m,) or not np.isfinite(x_o).all():
            bad = int((~np.isfinite(x_o)).sum())
            raise ValueError(
                f"An observation has the {m} finite numbers of an x; got {x_o.size} with {bad} "
                "that are not finite. Give one number for each column of x."
            )
        row = int(neighbours.distances(table.x, x_o[None])[0].argmin())
        return cls(row=row, x_o=tuple(float(column) for column in x_o))

    def study(
        self, upload: Upload, seed: int, network: Training, part: Literal["local", "ball"]
    ) -> ObservationStudy:
        """The study of one part there, with its network."""
        return ObservationStudy(
            digest=upload.digest,
            seed=seed,
            trainings=(network,),
            part=part,
            row=self.row,
            x_o=self.x_o,
            observed=self.observed,
        )


@dataclass(frozen=True, eq=False)
class LocalAnswer:
    """Results of L-C2ST and of the rows nearby at one observation."""

    site: Site = field(metadata=codec.shown(name="place"))
    test: LocalTest = field(metadata=codec.shown(name="local"))
    nearby: NearbyRankTest = field(metadata=codec.shown(name="near"))


@dataclass(frozen=True, eq=False)
class AtObservation:
    """Whether q can be trusted at one observation: the parts that are done."""

    local: LocalAnswer | None = field(metadata=codec.shown(flat=True), default=None)
    ball: LocalBall | None = field(metadata=codec.shown(optional=True), default=None)

    def finds(self, alpha: float) -> bool:
        """Whether L-C2ST calls q wrong at this observation, at a level of its own."""
        return self.local is not None and self.local.test.pvalue <= alpha


@dataclass(frozen=True, kw_only=True)
class ObservationStudy(TableStudy[AtObservation], spec="observation"):
    """Study of q at one observation, and of the rows near it."""

    version: ClassVar[int] = 5
    about: ClassVar[str] = "At one observation"

    part: Literal["local", "ball"] = "local"
    """L-C2ST and the ranks nearby; or the ball of CoLT's localizer."""
    row: int = 0
    """The row whose draws serve, among those that are tested; unused where the observation has
    its own."""
    x_o: tuple[float, ...] | None = None
    """The observation as it was typed; None for the row itself or the upload's own."""
    observed: str = ""
    """Fingerprint of the upload's observation, where that is looked at."""

    @property
    def label(self) -> str:
        what = "the observation" if self.observed else f"row {self.row}"
        return f"{self.about} ({what}{', ball' * (self.part == 'ball')}), an uploaded table"

    def answer(self, upload: TableUpload, store: Store, report: Report) -> AtObservation:
        """One part of it."""
        (network,) = self.networks(store, report)
        x, draws, truth = self._here(upload, upload.data)
        if self.part == "ball":
            return AtObservation(ball=ball_at(network, upload, self.seed, x, draws, truth))
        test, nearby = run_local_test(network, upload.data, self.seed, x, draws)
        return AtObservation(LocalAnswer(self._site(upload.data, x), test, nearby))

    def _here(self, upload: Upload, table: PosteriorTable) -> tuple[Array, Array, Array]:
        """x (M,) at which q is looked at, its draws (K, D) and what is known of the truth (T, D).

        The draws are those of a row, so that q is looked at where these were drawn.
        """
        if self.observed:
            own = upload.observed
            if own is None:
                raise ValueError(
                    "This task looks at the observation that came with the table; got a table "
                    "without one. Upload x_o and theta_o with it."
                )
            return own[0], own[1][:_LOOKED], np.zeros((0, table.theta.shape[1]))
        at = slice(self.row, self.row + 1)
        return table.x[self.row], table.q[self.row, :_LOOKED], table.theta[at]

    def _site(self, table: PosteriorTable, x: Array) -> Site:
        """The place, and its distance from the rows."""
        x_o = x if self.x_o is None else np.asarray(self.x_o, np.float64)
        is_row = not self.observed and self.x_o is None
        few = len(x) <= _LISTED
        return Site(
            kind="row" if is_row else "observed" if self.observed else "typed",
            row=-1 if self.observed else self.row,
            columns=len(x),
            x=tuple(float(column) for column in x) if few else (),
            asked=tuple(float(column) for column in x_o) if few else (),
            standing=None if is_row else neighbours.standing(table.x, x_o),
        )
