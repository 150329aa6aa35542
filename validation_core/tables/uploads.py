"""What a user uploads, read and checked: a table of draws, two samples, ranks or probabilities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Self, Unpack

import numpy as np
from numpy.typing import NDArray

from validation_core.shared_arrays import locked
from validation_core.tables import (
    angles,
    corrections,
    discrete,
    draw_order,
    ranges,
    repeats,
    shared_draws,
)
from validation_core.tables.bounds import widened
from validation_core.tables.corrections import Correction
from validation_core.tables.discrete import saved_marks
from validation_core.tables.options import Reading, ReadingOptions
from validation_core.tables.own_quantities import OwnQuantity, own_quantities
from validation_core.tables.ranges import Range
from validation_core.tables.weights import Weighting
from validation_core.text import count_text
from validation_core.types import (
    Array,
    ClassProbabilities,
    Integers,
    PosteriorTable,
    TruthRanks,
    TwoSamples,
)


@dataclass(frozen=True, eq=False)
class Upload(ABC):
    """Draws that were read and checked, their labels, and all a user should know about them.

    A `TableUpload` has draws of q at each x, a `SamplesUpload` two samples without x, a
    `RanksUpload` ranks of true values without the draws, a `ProbabilitiesUpload` probabilities of
    classes.
    """

    data: PosteriorTable | TwoSamples | TruthRanks | ClassProbabilities
    names: tuple[str, ...]
    """Labels of the D parameters."""
    digest: str
    """Fingerprint of the numbers alone: the same draws are the same work whatever their labels."""
    x_names: tuple[str, ...] = ()
    """Labels of the M columns of x."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Number of rows that were left out, by reason."""
    warnings: tuple[str, ...] = ()
    """Possible faults, in sentences."""
    notes: tuple[str, ...] = ()
    """Changes made while reading, in sentences."""
    densities: Mapping[str, Array] = field(default_factory=dict)
    """Any of log_q (N,), log_q_draws (N, K), log_joint (N,), log_joint_draws (N, K): log
    q(theta | x) and log p(theta, x) at the truths and at q's draws, in nats; likewise
    log_likelihood. Single values may be infinite or NaN. Two samples have none."""
    quantities: Mapping[str, Array] = field(default_factory=dict)
    """Test quantities of the user's own: quantity_NAME (N,) and quantity_NAME_draws (N, K), with
    NaN where one is not known. Two samples have none."""
    observed: tuple[Array, Array] | None = None
    """A real observation x_o (M,) and q's draws there, theta_o (K_o, D); None for other uploads
    than tables."""
    image: tuple[int, ...] = ()
    """Shape of theta at each simulation where it is an image: height, width, perhaps colours."""
    periods: tuple[float, ...] = ()
    """Period of each parameter, 0 for one that is no angle; empty where none is."""
    bounds: Array | None = None
    """The prior's least and greatest value (D, 2) of each parameter, infinite where not known."""
    mistakes: tuple[Correction, ...] = ()
    """Mistakes of the file, each with what would correct it."""
    corrected: tuple[Correction, ...] = ()
    """Corrections that were asked for and made."""
    read_as: tuple[str, ...] = ()
    """How the arrays were understood, beyond their sizes: `draws first`, `phase is an angle`."""
    said: Reading = field(default_factory=Reading)
    """Options with which its files were read: `ReadingOptions.said`."""
    as_saved: bool = False
    """Whether draws that look mistaken are said to be meant so."""

    def __post_init__(self) -> None:
        """Lock its arrays: results are kept under these numbers."""
        for each in fields(self):
            object.__setattr__(self, each.name, locked(getattr(self, each.name)))

    @property
    def unusable(self) -> bool:
        """Whether a mistake makes draws and true values other quantities or other rows."""
        return bool(self._before_all)

    @property
    def _before_all(self) -> list[Correction]:
        """Mistakes without whose correction no test says anything of q."""
        return [one for one in self.mistakes if one.name in corrections.BEFORE_ALL]

    def require_usable(self) -> None:
        """Refuse draws that are not those of the true values: nothing can be said of q by them.

        Raises:
            ValueError: with the mistakes of the file, and what corrects them.
        """
        if self.unusable:
            raise ValueError(
                f"{corrections.how_to_correct(self._before_all)} If the draws are meant as they "
                "are: npt.read(file).as_meant(), or --as-saved."
            )

    def as_meant(self) -> Self:
        """The same upload, whose draws are meant as they were saved, so that it can be tested."""
        waived = self._before_all
        if not waived:
            return self  # with what is known of it
        told = {
            one.finding: f"{one.finding.partition('. ')[0]}. Tested as saved." for one in waived
        }
        return replace(
            self,
            mistakes=tuple(one for one in self.mistakes if one not in waived),
            warnings=tuple(told.get(warning, warning) for warning in self.warnings),
            as_saved=True,
        )

    @cached_property
    def extreme(self) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
        """Columns of theta and of x whose squares no float64 holds; none where there are no draws,
        and none of x in two samples."""
        return (), ()

    @cached_property
    def own_quantities(self) -> Mapping[str, OwnQuantity]:
        """Test quantities of the user's own by name, log p(theta, x) or log p(x | theta) first."""
        return own_quantities({**self.densities, **self.quantities})

    @property
    def groups(self) -> Integers | None:
        """The group (N,) of each row, whose rows hold one set of draws; None where none share."""
        return None

    @property
    @abstractmethod
    def n(self) -> int:
        """Simulations of a table, or points of the smaller of two samples."""

    @property
    @abstractmethod
    def k(self) -> int:
        """Draws of q at each x; 0 for two samples, which have no x."""

    @property
    def drawn(self) -> tuple[int, str]:
        """Draws of q at each x as they came, as a number and in words."""
        return self.k, count_text(self.k, "draw")

    @property
    def effective_k(self) -> int:
        """Draws of q at each x that tell as much as those there are: of weighted ones fewer."""
        return self.k

    @property
    @abstractmethod
    def dims(self) -> tuple[int, int]:
        """(D, M): columns of theta and of x."""

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """The arrays by their public names, as a file holds them and the store keeps them."""

    @property
    @abstractmethod
    def held(self) -> str:
        """What it holds and what it therefore lacks, to follow "got"."""

    @staticmethod
    def of(arrays: Mapping[str, NDArray[np.generic]], /, **options: Unpack[Reading]) -> Upload:
        """Make an upload from arrays in memory.

        Args:
            arrays: the arrays by the names that they would have in a file.
            options: fields of `ReadingOptions`.

        Raises:
            ValueError: as `read` does.
        """
        from validation_core.tables.assembly import upload_in_memory

        return upload_in_memory(arrays, ReadingOptions(**options))


@dataclass(frozen=True, eq=False)
class TableUpload(Upload):
    """Simulations (theta, x) with q's draws at each x."""

    data: PosteriorTable
    weighting: Weighting | None = None
    """The weighted draws that `data` has equal draws of; None where draws came unweighted."""
    around: float | None = None
    """Where theta was drawn around x_o: as many times as wide as q there."""
    discrete: tuple[int, ...] = ()
    """Parameters that a user names as discrete: whether each has a value is tested."""
    observations: Array | None = None
    """All real observations that came with it (J, M), with draws of q or without."""
    x_rep: Array | None = None
    """Data simulated at q's draws at the first of them (L, M)."""
    saved_rows: Integers | None = None
    """Places (N,) of its rows among those that were saved; None where none was left out."""

    def saved_row(self, row: int) -> int:
        """The place of a row among those that were saved, counted from 0."""
        return row if self.saved_rows is None else int(self.saved_rows[row])

    def row_saved_at(self, place: int) -> int:
        """The row that was saved at a place, counted from 0.

        Raises:
            ValueError: for one that is not there, or that was left out.
        """
        last = self.saved_row(self.n - 1)
        if not 0 <= place <= last:
            raise ValueError(
                f"A row is counted from 0 to {last}; got {place}. Give one that is there."
            )
        if self.saved_rows is None:
            return place
        row = int(np.searchsorted(self.saved_rows, place))
        if self.saved_rows[row] != place:
            raise ValueError(
                f"A row must be one that was kept; got {place}, which was left out when the table "
                "was read, for a reason that its notes give. Name another one."
            )
        return row

    def is_around(self, x: Array) -> bool:
        """Whether theta was drawn around the observation x (M,)."""
        if self.around is None or self.observed is None:
            return False
        return np.allclose(self.observed[0], x, rtol=1e-5, atol=0)  # saved in float32

    @property
    def widened_bounds(self) -> Array | None:
        """The prior's bounds (D, 2), with room for rounding; None where they are not known."""
        return None if self.bounds is None else widened(self.bounds)

    @property
    def as_came(self) -> PosteriorTable:
        """The table with its draws as they came, weighted or not."""
        q = self.data.q if self.weighting is None else self.weighting.q
        return PosteriorTable(self.data.theta, self.data.x, q)

    @cached_property
    def in_no_order(self) -> Self:
        """The same for what reads some of a row's draws: itself where its draws show no order,
        else with those of each row shuffled, and what is known of them.
        """
        columns = draw_order.shuffling(self.data.q)
        if columns is None:
            return self

        def moved(values: Mapping[str, Array]) -> Mapping[str, Array]:
            return {
                name: draw_order.draws_at(array, columns) if array.ndim == 2 else array
                for name, array in values.items()
            }

        return replace(
            self,
            data=replace(self.data, q=draw_order.draws_at(self.data.q, columns)),
            densities=moved(self.densities),
            quantities=moved(self.quantities),
        )

    @cached_property
    def own_quantities(self) -> Mapping[str, OwnQuantity]:
        """Test quantities of the user's own, then the events that a discrete parameter has a
        value."""
        own = own_quantities({**self.densities, **self.quantities})
        for j in self.discrete:
            own |= discrete.events_of(self.names[j], self.data.theta[:, j], self.data.q[..., j])
        return own

    @cached_property
    def extreme(self) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
        return ranges.overflowing_columns(self.data, self.names, self.x_names)

    @cached_property
    def groups(self) -> Integers | None:
        return shared_draws.shared_draw_groups(self.data)

    @cached_property
    def repeats_draws(self) -> bool:
        """Whether draws repeat within their row, and not because they lie on a grid."""
        return "rows" in repeats.draw_ties(self.data.q)

    @property
    def n(self) -> int:
        return len(self.data)

    @property
    def k(self) -> int:
        return self.data.q.shape[1]

    @property
    def drawn(self) -> tuple[int, str]:
        """Draws as they came: weighted ones, where they were."""
        if self.weighting is None:
            return super().drawn
        return self.weighting.q.shape[1], self.weighting.text()

    @property
    def effective_k(self) -> int:
        return self.k if self.weighting is None else max(1, round(self.weighting.slots - 1))

    @property
    def dims(self) -> tuple[int, int]:
        return self.data.theta.shape[1], self.data.x.shape[1]

    @property
    def held(self) -> str:
        return "draws of q at each x" if self.dims[1] else "draws of q at each x, but no x"

    def arrays(self) -> dict[str, Array]:
        came, own = self.as_came, self.observations
        x_o, theta_o = self.observed or (None, None)
        if own is not None and (x_o is None or len(own) > 1):
            x_o = own
        given = {**self.densities, **self.quantities}
        known: dict[str, Array | None] = {
            "theta": self._as_image(came.theta),
            "theta_q": self._as_image(came.q),
            "x": came.x if self.dims[1] else None,
            **(given if self.weighting is None else self.weighting.arrays),
            "x_o": x_o,
            "theta_o": None if theta_o is None else self._as_image(theta_o),
            "x_rep": self.x_rep,
            "bounds": self.bounds,
            "around": None if self.around is None else np.array([self.around]),
            "discrete": saved_marks(self.discrete, self.dims[0]) if self.discrete else None,
            "periods": self._unrecognised,
        }
        return {name: array for name, array in known.items() if array is not None}

    @cached_property
    def _unrecognised(self) -> Array | None:
        """Periods (D,) of the parameters, where a reader would take other ones for angles."""
        periods = np.array(self.periods or [0.0] * self.dims[0])
        return None if np.array_equal(periods, angles.recognised(self.as_came)) else periods

    def _as_image(self, theta: Array) -> Array:
        """Parameters (..., D) in the shape of the image that they are, if they are one."""
        return theta.reshape(*theta.shape[:-1], *self.image) if self.image else theta


@dataclass(frozen=True, eq=False)
class SamplesUpload(Upload):
    """Two samples p and q, without x."""

    data: TwoSamples

    @cached_property
    def extreme(self) -> tuple[tuple[Range, ...], tuple[Range, ...]]:
        both = PosteriorTable(self.data.p.theta, self.data.p.x, self.data.q.theta[:, None])
        return ranges.overflowing_columns(both, self.names, ())

    @property
    def n(self) -> int:
        return min(len(self.data.p), len(self.data.q))

    @property
    def k(self) -> int:
        return 0

    @property
    def dims(self) -> tuple[int, int]:
        return self.data.p.theta.shape[1], self.data.p.x.shape[1]

    @property
    def held(self) -> str:
        return "two samples p and q, which have no x"

    def arrays(self) -> dict[str, Array]:
        return {"p": self.data.p.theta, "q": self.data.q.theta}


@dataclass(frozen=True, eq=False)
class RanksUpload(Upload):
    """Ranks of true values among q's draws, or PIT values, without the draws."""

    data: TruthRanks

    @property
    def n(self) -> int:
        return len(self.data)

    @property
    def k(self) -> int:
        """Draws that each true value was ranked among; 0 where that is not known."""
        most = self.data.most
        return int(most.flat[0]) if most.size and (most == most.flat[0]).all() else 0

    @property
    def dims(self) -> tuple[int, int]:
        return self.data.below.shape[1], 0

    @property
    def held(self) -> str:
        return "ranks alone, without q's draws"

    @property
    def ranked(self) -> str:
        """What its numbers are: `ranks among 100 draws`, `PIT values`."""
        if not self.data.most.any():
            return "PIT values"
        return f"ranks among {f'{self.k:,}' if self.k else 'several numbers of'} draws"

    def arrays(self) -> dict[str, Array]:
        if not self.data.most.any():
            return {"pit": self.data.below}
        return {"ranks": self.data.below, "max_rank": self.data.most}


@dataclass(frozen=True, eq=False)
class ProbabilitiesUpload(Upload):
    """Probabilities that q states of C classes, and the true class; `names` are the classes'."""

    data: ClassProbabilities

    @property
    def n(self) -> int:
        return len(self.data.p)

    @property
    def k(self) -> int:
        return 0

    @property
    def dims(self) -> tuple[int, int]:
        return self.data.p.shape[1], self.data.x.shape[1]

    @property
    def held(self) -> str:
        return "probabilities of classes, which have no draws"

    def arrays(self) -> dict[str, Array]:
        classes = np.asarray(self.data.classes, np.float64)
        x = {"x": self.data.x} if self.data.x.shape[1] else {}
        return {"probabilities": self.data.p, "label": classes, **x}
