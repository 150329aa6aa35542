"""The papers' printed numbers beside ours, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import sqrt
from statistics import mean, stdev
from typing import TYPE_CHECKING, NamedTuple

from validation_core import published
from validation_core.explorers.highdim.lensing import table as lensing_table
from validation_core.explorers.papers.curvature import CurvatureStudy
from validation_core.methods import CoLT
from validation_core.methods.base import Method
from validation_core.published import Place, PrintedNumber, PrintedTable
from validation_core.sweep import colt_paper, presets
from validation_core.sweep.plan import Sweep
from validation_core.sweep.progress import Memory, collect
from validation_core.types import PowerCell

if TYPE_CHECKING:
    from validation_core.store import Store

SEEDS = (0, 1, 2)
"""Seeds of the networks behind a number of the CoLT paper, three as there."""
_ROWS = {
    "automl": "AutoML",
    "c2st": "C2ST",
    "dc": "DC",
    "mmd_fuse": "MMDFuse",
    "multiple": "CM",
    "sbc": "SBC",
    "tarp": "TARP",
    "uniform": "CU(50)",
}
_EMBEDDED = {"identity": "CoLT ID", "mlp": "CoLT Full"}


class Beside(NamedTuple):
    """A printed number, and ours as text, or why there is none."""

    number: PrintedNumber
    ours: str
    why: str = ""


class Sheet(NamedTuple):
    """A printed table beside ours."""

    table: PrintedTable
    cells: tuple[Beside, ...]
    note: str
    """How ours is counted, and why the two may differ."""

    @property
    def counted(self) -> int:
        """Numbers that have ours beside them."""
        return sum(bool(cell.ours) for cell in self.cells)

    @property
    def rows(self) -> Mapping[str, list[Beside]]:
        """Cells of each row, along the places."""
        rows: dict[str, list[Beside]] = {}
        for cell in self.cells:
            rows.setdefault(cell.number.row, []).append(cell)
        return rows

    @property
    def reasons(self) -> Mapping[str, list[Beside]]:
        """Why there is none of ours, with the cells that it is said of."""
        said: dict[str, list[Beside]] = {}
        for cell in self.cells:
            if cell.why:
                said.setdefault(cell.why, []).append(cell)
        return said


def sheets(store: Store, memory: Memory) -> list[Sheet]:
    """Every printed table with what the store has.

    Args:
        store: holds the sweeps of the pages CoLT and High dimensions.
        memory: cache of tallies read before.
    """
    counted = [source.sheet(store, memory) for source in _COUNTED]
    return [*counted, _curvature_sheet(store)]


@cache
def lensing_sweeps() -> tuple[Sweep, ...]:
    """The lensing page's sweeps, and the same at the paper's other places."""
    over_gamma, over_beta = lensing_table.sweeps()
    gammas = published.LENSING_GAMMA.places
    others = tuple(float(g) for g in gammas if g not in over_gamma.gammas)  # type: ignore[arg-type]
    further = [replace(over_gamma, gammas=others)] if others else []
    if over_beta.gammas != (1.0,):
        degraded = tuple(
            method
            for method in over_beta.methods
            if method.degrades and _row(method) in published.LENSING_BETA.values
        )
        betas = over_beta.betas[1:]  # the first is gamma = 1 of the other sweep
        further.append(replace(over_beta, gammas=(1.0,), betas=betas, methods=degraded))
    return (over_gamma, over_beta, *further)


def shipped_sweeps() -> tuple[Sweep, ...]:
    """The sweeps that no other page ships."""
    return lensing_sweeps()[len(lensing_table.sweeps()) :]


@cache
def _colt_sweeps(tasks: Callable[[], Sequence[colt_paper.PublishedPlace]]) -> tuple[Sweep, ...]:
    """Sweeps of a table of the CoLT paper, with networks of every seed.

    Tests without a network are counted once, and the untrained localizer is no test of the paper.
    """
    sweeps: dict[Sweep, None] = {}
    for seed in SEEDS:
        for sweep in (place.sweep for place in tasks()):
            methods = tuple(
                method
                for method in sweep.methods
                if _row(method)
                and (method.needs_training or seed == SEEDS[0])
                and not (method.localizes and sweep.betas == (1.0,))
            )
            if methods:
                sweeps[replace(sweep, seed=seed, methods=methods)] = None
    return tuple(sweeps)


def _row(method: Method) -> str:
    """A method's name in the papers' tables; empty where they have none."""
    if isinstance(method, CoLT):
        return _EMBEDDED.get(method.embedding, "")
    return _ROWS.get(method.name, "")


def _over_gamma(sweep: Sweep, method: Method, cell: PowerCell) -> Place | None:
    del sweep, method
    return cell.gamma if cell.beta == 0 else None


def _over_beta(sweep: Sweep, method: Method, cell: PowerCell) -> Place | None:
    del sweep
    return cell.beta if cell.gamma == 1 and (cell.beta == 0 or method.degrades) else None


def _of_dimensions(sweep: Sweep, method: Method, cell: PowerCell) -> Place:
    del method, cell
    theta, x = sweep.benchmark.dims
    return x, theta


def _of_alpha(sweep: Sweep, method: Method, cell: PowerCell) -> Place:
    del sweep, method
    return cell.gamma


_MAKE = "Not run here yet: `nptlab gallery --make --only papers` does."


def _why_degraded(row: str) -> str:
    if row == "AutoML":
        return (
            "The witness of our AutoML test is regressed anew in each test set: there is no "
            "trained network that could be moved back to a random start."
        )
    return _MAKE


def _why_colt(row: str) -> str:
    del row
    return "Not run here yet: the view Papers of the page CoLT has a button that runs it."


class _Counted(NamedTuple):
    """Where the rates of a printed table are counted."""

    table: PrintedTable
    sweeps: Callable[[], Sequence[Sweep]]
    place: Callable[[Sweep, Method, PowerCell], Place | None]
    """Place of a cell in the table; None for one that it has not."""
    why: Callable[[str], str]
    """Why a row has no rate of ours at a place."""
    note: str
    alike: bool = False
    """Whether its sweeps differ in their places alone, so that one may hold another's trials."""

    def sheet(self, store: Store, memory: Memory) -> Sheet:
        """The table beside what the store has."""
        found: dict[tuple[str, Place], dict[int, PowerCell]] = {}
        beside = self.sweeps() if self.alike else ()
        for sweep in self.sweeps():
            methods = {method.label: method for method in sweep.methods}
            for cell in collect(sweep, store, memory, beside).cells:
                method = methods[cell.label]
                place = self.place(sweep, method, cell)
                if place is not None and cell.trials >= sweep.design.trials:
                    found.setdefault((_row(method), place), {})[sweep.seed] = cell
        cells = []
        for number in self.table.numbers:
            of_seeds = found.get((number.row, number.place))
            ours = self._text([*of_seeds.values()]) if of_seeds else ""
            cells.append(Beside(number, ours, "" if ours else self.why(number.row)))
        return Sheet(self.table, tuple(cells), self.note)

    def _text(self, cells: Sequence[PowerCell]) -> str:
        """The mean over seeds with its standard error, or one rate with its 95% interval."""
        scale = self.table.scale
        form = ".0f" if scale > 1 else ".3f"
        rates = [scale * cell.rate for cell in cells]
        if len(rates) > 1:
            return f"{mean(rates):{form}} ± {stdev(rates) / sqrt(len(rates)):{form}}"
        low, high = (scale * end for end in presets.bounds(cells[0]))
        return f"{rates[0]:{form}} [{low:{form}}, {high:{form}}]"


_COUNTED = (
    _Counted(
        published.LENSING_GAMMA,
        lensing_sweeps,
        _over_gamma,
        lambda row: _MAKE,
        "Per cent of 50 test sets; ours with its 95% interval. The paper gives neither its lens "
        "nor its noise nor its biased score, so that a gamma is no equal error here and there. "
        "What can be compared are the order of the tests and their level at gamma = 0. Ours "
        "turns the lens, which moves the means of pixels: SBC sees that, and the paper's bias "
        "it does not. DC and AutoML learn from half as many rows as in the paper, MMD-FUSE reads "
        "an eighth of its rows.",
        alike=True,
    ),
    _Counted(
        published.LENSING_BETA,
        lensing_sweeps,
        _over_beta,
        _why_degraded,
        "Per cent of 50 test sets; ours with its 95% interval. Ours is the larger error at gamma "
        "= 1, so that its networks can be moved further back before the tests lose it.",
        alike=True,
    ),
    _Counted(
        published.BLIND_PRIOR,
        lambda: _colt_sweeps(colt_paper.blind_prior_tasks),
        _of_dimensions,
        _why_colt,
        "Share of 200 tables; ± is the standard error over networks of three seeds, brackets the "
        "95% interval of one. Full is our embedding mlp. Ours trains faster and keeps the best "
        "held-out step, so that no seed of Full fails; our C2ST learns from every draw of a "
        "table at a faster rate, the paper's from one draw a row.",
    ),
    _Counted(
        published.TYPE_ONE,
        lambda: _colt_sweeps(colt_paper.type_one_tasks),
        _of_dimensions,
        _why_colt,
        "Share of 200 tables; ± and brackets as above. Whatever was learnt, ours is exact: "
        "ranks are randomised, where the paper's R / K has a level above 5% once K is small.",
    ),
    _Counted(
        published.TREE,
        lambda: _colt_sweeps(colt_paper.tree_tasks),
        _of_alpha,
        _why_colt,
        "Share of 200 tables; ± and brackets as above.",
    ),
)


def _curvature_sheet(store: Store) -> Sheet:
    table, study = published.CURVATURE, CurvatureStudy()
    stored = study.load(store)
    cells = [
        Beside(number, "", _MAKE)
        if stored is None
        else Beside(number, f"{stored.turn[i]:.2f} rad")
        for i, number in enumerate(table.numbers)
    ]
    note = (
        "Radians that the principal curve of our draws turns at the mean x. The paper gives no "
        "unit, and its numbers cannot be radians: a nearly straight line does not turn ten times "
        "around. Bending raises ours, too."
    )
    return Sheet(table, tuple(cells), note)
