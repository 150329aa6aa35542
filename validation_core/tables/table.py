"""A table (theta, x, theta_q), two samples (p, q) or ranks, assembled from arrays and checked."""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self, Unpack

import numpy as np
from numpy.typing import NDArray

from validation_core import keys
from validation_core.tables import (
    angles,
    checks,
    corrections,
    discrete,
    draw_order,
    float_type,
    ranges,
    repeats,
    roles,
    shared_draws,
    source,
)
from validation_core.tables.class_probabilities import OF_CLASSES, OF_X, read_probabilities
from validation_core.tables.corrections import Correction
from validation_core.tables.densities import unused_array_warnings
from validation_core.tables.draw_table import marks, read_draw_table
from validation_core.tables.options import Reading, ReadingOptions
from validation_core.tables.own_quantities import OwnQuantity, own_quantities
from validation_core.tables.ranges import Range
from validation_core.tables.roles import is_quantity
from validation_core.tables.shapes import matrix, real_numbers
from validation_core.tables.truth_ranks import read_ranks
from validation_core.tables.weights import Weighting
from validation_core.tables.x_columns import Missing
from validation_core.text import count_text
from validation_core.types import (
    Array,
    ClassProbabilities,
    Integers,
    Joint,
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
        wanted = ReadingOptions(**options)
        known = roles.find_roles(arrays)
        numbers = {
            role: arrays[name].astype(source.working_dtype(arrays[name].dtype), copy=False)
            for role, name in known.found.items()
        }
        require_roles(known.found, {name: array.shape for name, array in arrays.items()})
        declared = {role: arrays[name].dtype for role, name in known.found.items()}
        return assemble_upload(numbers, known.notes, wanted, declared)


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
        return "rows" in repeats.equal_draws(self.data.q)

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
        given = {**self.densities, **self.quantities}
        beside = given if self.weighting is None else self.weighting.arrays
        came = self.as_came
        table = {"theta": self._as_image(came.theta), "theta_q": self._as_image(came.q)}
        table |= {"x": came.x} if self.dims[1] else {}
        observed = {}
        if self.observed is not None:
            x_o, theta_o = self.observed
            observed = {"x_o": x_o, "theta_o": self._as_image(theta_o)}
        own = self.observations
        if own is not None and (self.observed is None or len(own) > 1):
            observed["x_o"] = own
        observed |= {} if self.x_rep is None else {"x_rep": self.x_rep}
        ends = {} if self.bounds is None else {"bounds": self.bounds}
        mark = {} if self.around is None else {"around": np.array([self.around])}
        few = {"discrete": marks(self.discrete, self.dims[0])} if self.discrete else {}
        turned = {} if self._unrecognised is None else {"periods": self._unrecognised}
        return {**table, **beside, **observed, **ends, **mark, **few, **turned}

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


def _renaming_advice(
    missing: Sequence[str], found: Mapping[str, str], present: Mapping[str, tuple[int, ...]]
) -> str:
    """How to say which arrays have the missing roles, with those that can: the remedy at the end
    of a refusal of unknown arrays; empty where no array is left.

    Args:
        missing: the roles.
        found: name of an array by its role.
        present: shape of every array by its name.
    """
    free = {name: shape for name, shape in present.items() if name not in found.values()}
    if not free:
        return ""
    names = {role: _could_be(role, free, {**roles.guess_roles(present), **found}, present)
             for role in missing}  # fmt: skip
    options = " ".join(f"--map {shlex.quote(f'{role}={name}')}" for role, name in names.items())
    return (
        f"Where an array has another name, say so: {options} on the command line, "
        f"arrays={names} in Python."
    )


def _could_be(
    role: str,
    free: Mapping[str, tuple[int, ...]],
    guessed: Mapping[str, str],
    present: Mapping[str, tuple[int, ...]],
) -> str:
    """The array that can have a role, or NAME; x is all arrays as long as theta."""
    if role != "x":
        return roles.label(guessed.get(role, "NAME"))
    others = {name for other, name in guessed.items() if other != "x"}
    rows = present.get(guessed.get("theta", ""), ())[:1]
    fit = [name for name, shape in free.items() if shape[:1] == rows and name not in others]
    return roles.label("+".join(fit)) if rows and fit else "NAME"


def require_roles(
    found: Mapping[str, str],
    present: Mapping[str, tuple[int, ...]],
    *,
    without_x: bool = False,
    columns: bool = False,
) -> None:
    """Refuse arrays that make neither a table, nor two samples, nor ranks.

    A table may do without x; where an array of another name is as long as theta, the user is
    asked whether that is x.

    Args:
        found: name of an array by its role.
        present: shape of every array by its name.
        without_x: whether the user says that there is no x.
        columns: whether they are columns, the first of them all together as one array.

    Raises:
        UnknownArrays: with the arrays that are missing and those that are present.
    """
    table = ("theta", "x", "theta_q")
    others = (("p", "q"), ("probabilities", "label"))
    # Two samples, ranks or classes are meant when only their names are there.
    meant = [pair for pair in others if {*pair} & {*found}]
    if {"ranks", "pit"} & {*found} and "theta_q" not in found:
        return
    wanted = meant[0] if meant and not {"theta", "theta_q"} & {*found} else table
    missing = [name for name in wanted if name not in found]
    if missing == ["x"] and ("x_summary" in found or without_x or not _maybe_x(found, present)):
        return
    if missing:
        listed = roles.shapes_text(present)
        free = len(present) - len({*found.values()} & {*present})
        answerable = free >= sum(name != "x" for name in missing)
        single = dict(list(present.items())[1:]) if columns and len(present) > 1 else present
        renaming = _renaming_advice(missing, found, single)
        if missing == ["theta_q"]:
            raise source.UnknownArrays(
                f"A file must hold draws of q at each x, theta_q (N, K, D); missing: theta_q; "
                f"got: {listed}. Pairs of theta and x alone say nothing of q: draw from it at "
                f"each x and save the draws beside them. {renaming}".rstrip(),
                present,
                answerable=answerable,
            )
        raise source.UnknownArrays(
            f"A file must hold theta (N, D), x (N, ...) and theta_q (N, K, D), or p (n, d) and "
            f"q (n', d), or probabilities (N, C) and label (N,); missing: {', '.join(missing)}; "
            f"got: {listed}. Add what is missing. {renaming}{_WITHOUT_X * (missing == ['x'])}",
            present,
            answerable=answerable,
        )


_WITHOUT_X = " Where none of them is x: --map x=none, or arrays={'x': 'none'}."


def _maybe_x(found: Mapping[str, str], present: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether an array without a role has as many rows as theta, as x has."""
    rows = present.get(found["theta"], ())[:1]
    free = [shape for name, shape in present.items() if name not in found.values()]
    return any(shape[:1] == rows for shape in free if shape)


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
