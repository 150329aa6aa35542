"""SBC: the rank of each true parameter, or other test quantity, among q's draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from validation_core import statistics
from validation_core.drawing import style
from validation_core.drawing.drawn import Drawn
from validation_core.drawing.ecdf_difference import ecdf_difference
from validation_core.drawing.marks import Grid, Panel, Picture, empty
from validation_core.drawing.rank_histogram import rank_histogram
from validation_core.methods.base import Method, RecordView
from validation_core.relabelling.claims import parameter_name
from validation_core.scores.quantities import (
    LOG_Q,
    OWN,
    QUANTITIES,
    Quantities,
    chosen,
    kinds_of,
    labels,
    parameters_of,
    ranked_quantities,
)
from validation_core.statistics.histograms import bins
from validation_core.text import said_equals
from validation_core.types import (
    Array,
    Benchmark,
    LogDensity,
    MethodStyle,
    Outcome,
    Paper,
    PowerCell,
    Score,
    Scores,
    TableScores,
    TruthRanks,
)

if TYPE_CHECKING:
    from validation_core.methods.record import Record
    from validation_core.tables import TableUpload, Upload
    from validation_core.tables.own_quantities import OwnQuantity
    from validation_core.tables.ranges import Range

_SHOWN = 6
"""Quantities that are drawn; a table has them all."""
_PANEL = 230  # pixels high
CONTINUOUS = 999
"""Draws that stand for infinitely many in pictures of PIT values."""
_LONG = 24  # letters of a name that fit over a panel


@dataclass(frozen=True, kw_only=True)
class SBC(Method):
    """Simulation-based calibration with randomised ranks and Bonferroni over test quantities.

    Both seed papers test each coordinate by KS and correct by Bonferroni; their raw
    ranks are discrete and reject too often, the randomised ones are exact.

    Examples:
        >>> result = npt.run("sbc", table)
        >>> f"{result.statistic:.3g}, p = {result.pvalue:.2g}"
        '0.248, p = 0.0019'
        >>> {name: round(float(p), 4) for name, p in zip(table.names, result.arrays["pvalues"])}
        {'a': 0.001, 'b': 0.0051}
    """

    name: ClassVar[str] = "sbc"
    title: ClassVar[str] = "SBC"
    paper: ClassVar[Paper] = Paper(
        "Talts, Betancourt, Simpson, Vehtari, Gelman",
        2018,
        "Validating Bayesian inference algorithms with simulation-based calibration",
    )
    summary: ClassVar[str] = "Do true values rank evenly among q's draws, parameter by parameter?"
    statistic: ClassVar[str] = "largest KS distance over parameters"
    style: ClassVar[MethodStyle] = MethodStyle("#117733", "longdash", "x")
    turn: ClassVar[int] = 1
    ranks_parameters: ClassVar[bool] = True
    reads_x: ClassVar[bool] = False
    quantities: str = field(
        default="marginals",
        metadata={
            "label": "Test quantities",
            "help": "What is ranked, joined by +: "
            + "; ".join(f"{name}, {quantity.help}" for name, quantity in QUANTITIES.items()),
            "choices": tuple(QUANTITIES),
            "multiple": True,
        },
    )

    def __post_init__(self) -> None:
        # In one order, so that the same test has one key.
        object.__setattr__(self, "quantities", "+".join(chosen(self.quantities)))

    @property
    def label(self) -> str:
        return "SBC" if self.quantities == "marginals" else f"SBC {self.quantities}"

    @property
    def tests_ranks(self) -> bool:
        return self.quantities == "marginals"

    def score(self, log_q: LogDensity | None = None) -> Score:
        """The quantities as a score; `log_q` is the estimator's log density of (theta, x).

        Raises:
            ValueError: when log_q is to be ranked and none is given.
        """
        names = chosen(self.quantities)
        if "log_q" in names and log_q is None:
            raise ValueError(
                "log_q ranks the estimator's own log density; got none; bring a function of "
                "theta (n, D) and x (n, M), or leave log_q out of the test quantities"
            )
        return Quantities(names, log_q)

    def known_scores(self, upload: TableUpload) -> TableScores | None:
        names, own = chosen(self.quantities), ranked_quantities(upload.own_quantities)
        if LOG_Q not in names and not own:
            return None
        return _with_known(upload, names, list(own.values()))

    def obstacle(self, upload: Upload) -> str | None:
        names = chosen(self.quantities)
        if LOG_Q in names:
            return _no_density(upload)
        if labels(names, upload.names):
            return None
        return "It multiplies two parameters; got one. Add marginals to quantities."

    def squared(self, upload: Upload) -> Sequence[Range]:
        """Ranks of a coordinate compare numbers, whatever their size."""
        return upload.extreme[0] if set(chosen(self.quantities)) - {"marginals", LOG_Q} else ()

    @property
    def scoring(self) -> float:
        return 0.01

    def unfit(self, k: int) -> str | None:
        del k
        if self.quantities == "marginals":
            return None
        return "its test quantities are measured among the true value and the draws together"

    @classmethod
    def silent_because(cls, benchmark: Benchmark, cell: PowerCell) -> tuple[str, str]:
        del cell
        if getattr(benchmark, "perturbation", "") == "blind_prior":
            return (
                "q ignores x: each true parameter is a draw of the prior, as q's draws are, and "
                "ranks anywhere among them.",
                "blind",
            )
        return (
            "it ranks one parameter at a time, over all x together: in that, this error changes "
            "too little to see at this number of draws.",
            "blind",
        )

    @classmethod
    def pictures(cls, record: Record, view: RecordView) -> list[Drawn]:
        arrays = record.arrays
        u = np.asarray(arrays.get("u", np.zeros((0, 0))))
        k = int(arrays.get("k", 1))
        kinds = np.asarray(arrays.get("kinds", np.zeros(1, int)))
        names = quantity_labels(kinds, len(u), view.names, record.effect.quantities or ())
        adjusted = np.asarray(arrays.get("adjusted", np.ones(len(u))))
        if view.only is not None:  # as if it were alone; its p-value stays corrected
            one = slice(view.only, view.only + 1)
            u, adjusted, names = u[one], adjusted[one], names[one]
        ranked = worst_quantities(u, names, adjusted)
        several = " of every panel" * (len(u) > 1)
        hidden = f", and of {len(u) - _SHOWN} more," * (len(u) > _SHOWN)
        expectation = "would stay in the grey band in 95 of 100 tables"
        return [
            Drawn(
                "Ranks",
                _rank_histograms(ranked, k),
                f"If q were correct, all bars{several}{hidden} {expectation}. A peak in the "
                "middle: q is too wide; at both ends: too narrow; at one end: "
                f"shifted.{_cut(u.shape[-1], k)}",
            ),
            Drawn(
                "Distance from uniform",
                _ecdf_differences(ranked),
                f"The share of ranks up to u, less u. If q were correct, the "
                f"line{several}{hidden} "
                f"{expectation}; above it, too many ranks lie to the left, below it too few.",
            ),
        ]

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """Per quantity an exact KS test; the smallest p-value times their number, at most 1.

        arrays: u (..., S, n); statistics, pvalues and, by Holm, adjusted p-values (..., S); k
        (...), draws at each x; kinds (..., F), places of the chosen names in the registry, which
        that of the table's own follows.
        """
        assert isinstance(scores, TableScores)
        u = statistics.conformal_ranks(scores.truth, scores.draws, rng)  # (..., S, n)
        return self._outcome(u, scores.draws.shape[-1], own=bool(scores.own))

    def test_ranks(self, ranks: TruthRanks, rng: np.random.Generator) -> Outcome:
        """The same of ranks that came without draws.

        A whole rank r of K is (r + v) / (K + 1) with v uniform. If q is right, r is uniform on 0
        to K, so that this is exactly uniform, whatever K is at each row, and KS's law holds.
        """
        u = ranks.randomised(rng)
        same = ranks.most.min() == ranks.most.max() and ranks.most.min() > 0
        return self._outcome(u, int(ranks.most.flat[0]) if same else CONTINUOUS)

    def _outcome(self, u: Array, k: int, *, own: bool = False) -> Outcome:
        """The test of ranks u (..., S, n) among k draws; the last may be of a table's own
        quantities."""
        uniformity = statistics.ks(u)
        together = _bonferroni(uniformity)
        *trials, _, n = u.shape
        kinds = [list(QUANTITIES).index(name) for name in chosen(self.quantities)]
        kinds += [len(QUANTITIES)] * own
        return Outcome(
            together.statistic,
            together.pvalue,
            self.budget(n, k),
            arrays={
                "u": u,
                "statistics": uniformity.statistic,
                "pvalues": uniformity.pvalue,
                "adjusted": statistics.holm(uniformity.pvalue),
                "k": np.full(trials, k),
                "kinds": np.broadcast_to(kinds, (*trials, len(kinds))),
            },
        )

    def of_ranks(self, u: Array) -> statistics.Uniformity:
        """Statistic (...) and p-value (...) of `test` for ranks u (..., S, n)."""
        return _bonferroni(statistics.ks(u))


def _bonferroni(tests: statistics.Uniformity) -> statistics.Uniformity:
    """The worst of S tests (..., S), by Bonferroni: (...)."""
    count = tests.pvalue.shape[-1]
    smallest = np.minimum(1.0, count * tests.pvalue.min(-1))
    return statistics.Uniformity(tests.statistic.max(-1), smallest)


def _with_known(
    upload: TableUpload, quantities: Sequence[str], own: Sequence[OwnQuantity]
) -> TableScores:
    """Test quantities, log q last as in the registry, read from the file, which holds no q; then
    the table's own."""
    others = tuple(name for name in quantities if name != LOG_Q)
    parts: list[tuple[Array, Array]] = []
    if labels(others, upload.names):  # else alone, or beside products that one parameter lacks
        computed = Quantities(others).table(upload.data)
        parts.append((computed.truth, computed.draws))
    if LOG_Q in quantities:
        parts.append((upload.densities[LOG_Q][None], upload.densities[f"{LOG_Q}_draws"][None]))
    parts += [(one.truth[None], one.draws[None]) for one in own]
    truth, draws = (np.concatenate(side) for side in zip(*parts, strict=True))
    return TableScores(truth, draws, own=len(own))


def _no_density(upload: Upload) -> str | None:
    """Whether log q can be ranked: infinite values have a rank, a missing one has none."""
    for name, where in ((LOG_Q, "true values (N,)"), (f"{LOG_Q}_draws", "draws (N, K)")):
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


class _WorstRanks(NamedTuple):
    """The quantities to draw: their names, ranks (F, n), and the level of each one's band."""

    names: list[str]
    u: Array
    level: float


def _cut(n: int, k: int) -> str:
    """Caveat on bins that do not hold equally many ranks."""
    if n == 0 or (k + 1) % bins(n, k) == 0:
        return ""
    return (
        f" The {k + 1} possible ranks do not divide into equal bins: one that an edge cuts counts "
        "on either side by its share."
    )


def quantity_labels(
    kinds: Array, count: int, names: Sequence[str] = (), own: Sequence[str] = ()
) -> list[str]:
    """Names of `count` quantities.

    Args:
        kinds: places of the families in the registry (F,), as in an outcome's arrays.
        count: how many there are.
        names: of the parameters, where they have some.
        own: of the table's own quantities, which come last.
    """
    families = [kind for kind in kinds_of(kinds) if kind != OWN]
    d = len(names) or parameters_of(families, count - len(own)) or 0
    quantity_names = labels(families, list(names) or [parameter_name((), i) for i in range(d)])
    quantity_names += own
    return (
        quantity_names
        if len(quantity_names) == count
        else [f"quantity {i + 1}" for i in range(count)]
    )


def worst_quantities(u: Array, names: Sequence[str], adjusted: Array) -> _WorstRanks:
    """The quantities with the smallest Holm-adjusted p-values, which follow their names.

    Each one's band is so wide that all of them together, drawn or not, hold 95%.
    """
    distance = statistics.ks(u).statistic if u.size else np.zeros(len(u))
    order = np.lexsort((-distance, adjusted))[:_SHOWN]  # by p; among equal ones, by distance
    titles = [f"{_short(names[i])}<br>p {said_equals(float(adjusted[i]))}" for i in order]
    return _WorstRanks(titles, u[order], 1 - 0.05 / max(len(u), 1))


def _short(name: str) -> str:
    return escape(style.short(name, _LONG), quote=False)


def _rank_histograms(ranked: _WorstRanks, k: int) -> Picture:
    """Counts of the ranks 0 to k in equal bins, on one axis that no rank can change."""
    if ranked.u.size == 0:
        return empty("No ranks yet")
    number = bins(ranked.u.shape[-1], k)
    words = "rank", "count", ""
    panels = [
        rank_histogram(ranks, number, k=k, level=ranked.level, words=words) for ranks in ranked.u
    ]
    return _side_by_side(panels, ranked.names)


def _ecdf_differences(ranked: _WorstRanks) -> Picture:
    """F_n(u) - u of each quantity, with its largest value."""
    if ranked.u.size == 0:
        return empty("No ranks yet")
    panels = [ecdf_difference(ranks, ranked.level) for ranks in ranked.u]
    return _side_by_side(panels, ranked.names)


def _side_by_side(panels: Sequence[Panel], titles: Sequence[str]) -> Grid:
    """Panels with one axis up, in rows of at most three."""
    low, high = np.transpose([panel.y.limits for panel in panels])
    y = replace(panels[0].y, limits=(float(low.min()), float(high.max())))
    return Grid(
        [
            replace(panel, y=y, title=title, height=_PANEL, margin=0)
            for panel, title in zip(panels, titles, strict=True)
        ],
        columns=2 if len(panels) == 4 else min(3, len(panels)),
    )
