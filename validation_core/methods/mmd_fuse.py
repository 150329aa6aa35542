"""MMD-FUSE: are rows of p and q told apart by any of twenty kernels? Nothing is learnt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.marks import Axis, HLine, Line, Mark, Panel, Points, empty
from validation_core.drawing.null_histogram import relabelling_histogram
from validation_core.methods.base import Further, Layout, Method, RecordView, Work
from validation_core.provenance import loaded_device
from validation_core.scores import RawRows
from validation_core.settings import DEVICE
from validation_core.statistics import mmd, mmd_fuse
from validation_core.types import (
    Array,
    Benchmark,
    BlockScores,
    Budget,
    LogDensity,
    MethodStyle,
    Outcome,
    Paper,
    PowerCell,
    Scores,
)

if TYPE_CHECKING:
    from validation_core.methods.record import Record
    from validation_core.tables import Upload

_ALONE = 0.95  # level at which a single kernel's null is marked in the figure
_KERNELS = 20
_ENTRY = 2e-9  # seconds for one entry of a kernel matrix
_FLOP = 1e-11  # seconds for a multiplication in a matrix product
_SIDE_ROWS = 10  # of each sample of an upload: fewer have too few relabelings to be sure

_LEVEL = 0.05
_FAMILIES = {"Laplace, L1": ("solid", "circle"), "Gaussian, L2": ("dash", "square")}
_READ_NULL = (
    "Grey: the statistic after rows were exchanged at random between p and q. Dashed: what 1 "
    "in 20 of those exceed. Red: this table. If q were correct, red would be anywhere in the "
    "grey."
)
_READ_KERNELS = (
    "How far apart each kernel finds the two samples, from the finest to the coarsest scale. "
    "Grey: what it alone exceeds by chance 1 time in 20; filled marks are beyond that. If q "
    "were correct, few or none would be."
)


class _Trial(NamedTuple):
    """One trial: what its figures draw, and its p-value."""

    observed: Array
    pvalue: Array
    null: Array
    kernels: Array
    kernel_high: Array
    kernel_pvalues: Array
    bandwidths: Array


@dataclass(frozen=True, kw_only=True)
class MMDFuse(Method):
    """Permutation test of equal joint laws of (theta, x), from independent rows of each.

    Coordinates are brought to one spread first, which the authors leave to the user: pooled, so
    that the test stays exact.

    Examples:
        >>> result = npt.run("mmd_fuse", npt.Boundary(), gamma=1, n=60, permutations=99)
        >>> result.pvalue
        0.01
    """

    name: ClassVar[str] = "mmd_fuse"
    title: ClassVar[str] = "MMD-FUSE"
    paper: ClassVar[Paper] = Paper(
        "Biggs, Schrab, Gretton",
        2023,
        "MMD-FUSE: Learning and combining kernels for two-sample testing without data splitting",
    )
    summary: ClassVar[str] = "Do rows of p and q lie differently, at any of ten scales?"
    statistic: ClassVar[str] = "soft maximum of normalised MMD² over kernels"
    style: ClassVar[MethodStyle] = MethodStyle("#8C6D46", "longdash", "bowtie")
    turn: ClassVar[int] = 23
    runs_unasked: ClassVar[bool] = False
    layout: ClassVar[Layout] = "blocks"
    pooled: ClassVar[bool] = False
    permutations: int = field(
        default=2000,
        metadata={
            "label": "Relabelings",
            "help": "Random exchanges of rows between p and q.",
            "min": 19,
            "max": 20_000,
        },
    )
    scaling: mmd_fuse.Scaling = field(
        default="package",
        metadata={
            "label": "Lambda",
            "help": "How kernels are fused: near their maximum (package) or their mean (paper).",
        },
    )
    points: int = field(
        default=0,
        metadata={
            "label": "Rows",
            "help": "Rows of each side; 0 for 2 n: none are kept for training.",
            "min": 0,
            "max": mmd.LARGEST // 2,
        },
    )

    def __post_init__(self) -> None:
        if not 19 <= self.permutations <= 20_000:
            raise ValueError(
                "relabelings lie between 19, the fewest that can reject at 5%, and 20000; got "
                f"{self.permutations}. The paper uses 2000."
            )
        if self.scaling not in ("package", "paper"):
            raise ValueError(f"lambda is the package's or the paper's; got {self.scaling!r}")
        if self.points != 0 and not 2 <= self.points <= mmd.LARGEST // 2:
            raise ValueError(
                f"rows of each side are 2 to {mmd.LARGEST // 2}, or 0 for all; got {self.points}"
            )

    @property
    def label(self) -> str:
        options = [
            *(["paper"] if self.scaling == "paper" else []),
            *([f"{self.points} rows"] if self.points else []),
        ]
        return " ".join(["MMD-FUSE", *options])

    def score(self, log_q: LogDensity | None = None) -> RawRows:
        del log_q
        return RawRows()

    def budget(self, n: int, k: int = 1) -> Budget:
        """2 n rows of each side, Bansal, Chen & Scott (2025), Table 1: training needs none."""
        del k
        rows = self.points or 2 * n
        return Budget(rows, rows)

    def most_rows(self, upload: Upload) -> int:
        return min(self.budget(upload.n, 1).p, mmd.LARGEST // 2)

    def least_rows(self, *, table: bool) -> tuple[int, str]:
        if table:
            return (
                2 * _SIDE_ROWS,
                "takes the true values of half of the rows and a draw of q at each of the others",
            )
        return _SIDE_ROWS, "compares two samples"

    @property
    def in_spreads(self) -> bool:
        return True

    @property
    def resamples(self) -> int:
        return self.permutations

    def unfit(self, k: int) -> str | None:
        del k
        return "it compares all rows by kernels, which takes seconds a table"

    def cost(self, work: Work) -> float:
        points = 2 * min(self.budget(work.n, 1).p, work.most or mmd.LARGEST)
        return _KERNELS * points**2 * (_ENTRY + _FLOP * self.permutations)

    def memory(self, n: int, rows: int, width: int) -> float:
        del rows, width
        points = 2 * self.budget(n, 1).p
        return 4.0 * points * (4 * points + 2 * self.permutations)

    @classmethod
    def further(cls) -> Further:
        return Further(
            cls(points=500, permutations=1999),
            1,
            "kernels at ten scales; nothing is learnt, so that no rows are kept for training",
        )

    @classmethod
    def silent_because(cls, benchmark: Benchmark, cell: PowerCell) -> tuple[str, str]:
        del benchmark
        points = cell.options.get("points")
        used = f"{points} points of each side" if points else "its points"
        return (
            f"it compares {used} of theta and x together by kernels that learn nothing: this "
            "error of the conditional is small beside the spread of x.",
            "",
        )

    @classmethod
    def pictures(cls, record: Record, view: RecordView) -> list[Drawn]:
        del view
        arrays = record.arrays
        return [
            Drawn(
                "Seen, and with rows exchanged",
                relabelling_histogram(
                    arrays["null"], float(arrays["observed"]), "fused statistic"
                ),
                _READ_NULL,
            ),
            Drawn(
                "Which scales see a difference",
                mmd_by_bandwidth(
                    arrays["kernels"],
                    arrays["bandwidths"],
                    arrays["kernel_high"],
                    arrays["kernel_pvalues"],
                ),
                _READ_KERNELS,
            ),
        ]

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """One-sided permutation test; the p-value counts the observed labelling too.

        Of more rows than `points` the first are taken. arrays: observed (...), null (...,
        permutations); of the sample under each kernel, Laplace before Gaussian: kernels (..., 20)
        the normalised MMD^2, kernel_high the 95% point of its own null, kernel_pvalues as if it
        were alone, bandwidths in spreads.

        Raises:
            ValueError: if the sides cannot be compared, or a row is not finite.
        """
        assert isinstance(scores, BlockScores)
        p, q = (self._rows(side) for side in (scores.p, scores.q))
        if p.shape[:-2] != q.shape[:-2]:
            raise ValueError(f"trials of p and q pair up; got shapes {p.shape} and {q.shape}")
        trials = [self._trial(p[at], q[at], rng) for at in np.ndindex(p.shape[:-2])]
        shape = p.shape[:-2]
        arrays = {
            name: np.reshape(
                [getattr(trial, name) for trial in trials],
                (*shape, *np.shape(getattr(trials[0], name))),
            )
            for name in _Trial._fields
        }
        pvalue = arrays.pop("pvalue")
        budget = Budget(p.shape[-2], q.shape[-2])
        return Outcome(arrays["observed"], pvalue, budget, arrays=arrays)

    def _rows(self, side: Array) -> Array:
        """(..., S, n) -> (..., n, S)."""
        if np.ndim(side) < 2:
            raise ValueError(
                f"rows of one or more numbers each are compared; got shape {np.shape(side)}; "
                "give (..., S, n)"
            )
        return np.moveaxis(side, -1, -2)[..., : self.points or None, :]

    def _trial(self, p: Array, q: Array, rng: np.random.Generator) -> _Trial:
        labels = mmd_fuse.relabelings(len(p), len(q), self.permutations, rng)
        distances = mmd.distances(*mmd.standardised(p, q))
        device = DEVICE.value() or loaded_device()
        normalised = mmd_fuse.kernels(distances, labels, device=device).normalised
        smaller = min(len(p), len(q))
        fused = mmd_fuse.fused(normalised, smaller, self.scaling)
        place = int(_ALONE * normalised.shape[1])
        return _Trial(
            fused[-1],
            mmd_fuse.pvalues(fused, smaller),
            fused[:-1],
            normalised[:, -1],
            np.partition(normalised, place, axis=1)[:, place],
            mmd_fuse.pvalues(normalised, smaller),
            distances.bandwidths.ravel(),
        )


def mmd_by_bandwidth(kernels: Array, bandwidths: Array, high: Array, pvalues: Array) -> Panel:
    """Normalised MMD^2 (2 F,) of F Laplace and F Gaussian kernels by their bandwidths.

    Args:
        kernels: normalised MMD^2 of the sample.
        bandwidths: of L1 distances, then of L2 distances; drawn as shares of the largest.
        high: what each kernel alone exceeds 1 time in 20 if q = p.
        pvalues: of each kernel alone.
    """
    if np.size(kernels) == 0:
        return empty("No kernels yet")
    color = style.method_style("mmd_fuse").color
    marks: list[Mark] = [HLine(0, dash="dash")]
    families = (np.reshape(each, (2, -1)) for each in (kernels, bandwidths, high, pvalues))
    for (dash, symbol), estimates, widths, bound, alone in zip(
        _FAMILIES.values(), *families, strict=True
    ):
        places = widths / widths[-1] if widths[-1] > 0 else np.linspace(0, 1, len(widths))
        marks += [
            Line(places, bound, color=style.NULL, dash=dash, width=1.5),
            Line(places, estimates, color=color, dash=dash),
            Points(
                places,
                estimates,
                color=color,
                size=8,
                symbol=[symbol if p <= _LEVEL else f"{symbol}-open" for p in alone],
                texts=[f"{p:.3g}" for p in alone],
                hover="%{y:.3g}, p = %{text} by itself",
            ),
        ]
    return Panel(
        marks,
        x=Axis((0, 1.03), "bandwidth, of the largest", percent=True),
        y=Axis(_limits(np.append(kernels, high)), "normalised MMD²"),
        height=style.HEIGHT,
        legend=[(name, color, symbol) for name, (_, symbol) in _FAMILIES.items()],
    )


def _limits(values: Array) -> tuple[float, float]:
    """Room around all values, most of it above for labels."""
    low, high = float(np.min(values)), float(np.max(values))
    room = max(high - low, 1e-6)
    return low - 0.06 * room, high + 0.3 * room
