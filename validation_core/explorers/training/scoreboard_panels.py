"""Pictures of the scoreboard: where each test first finds the error, and its power over N."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from validation_core.drawing import live, style
from validation_core.drawing.marks import (
    Axis,
    Heat,
    Mark,
    Note,
    Panel,
    Shades,
    Slider,
    VLine,
    over,
)
from validation_core.drawing.over_sliders import join_over
from validation_core.drawing.power_curves import (
    Rates,
    curve_keys,
    level_line,
    method_look,
    rate_bars,
    rejection_axis,
)
from validation_core.estimators import ESTIMATORS
from validation_core.explorers.training.scoreboard import (
    FOUND,
    GammaColumn,
    MethodRow,
    PowerAtN,
    Scoreboard,
)
from validation_core.methods.base import Method
from validation_core.panels.gamma_scale import GammaScale
from validation_core.panels.power import level_said
from validation_core.text import (
    count_text,
    interval_text,
    list_text,
    share_interval_text,
    signed_text,
)
from validation_core.types import Interval, MethodStyle

_SHADE = 0.85  # of the full colour, where a test finds the error with the fewest simulations
_NAMES = {
    "DC our features": "our DC",
    "CoLT fourier": "CoLT",
    "TARP x": "TARP by x",
    "Uniform(10)": "Uniform",
}
"""Tests beside an axis, by their labels."""
_LABELS = {"simulations": "Simulations that q learnt from"}
"""The slider, where the side bar sets another number of simulations."""
QUASI = " †"
"""After the name of a task whose posterior is quasi-exact."""
_LEVEL = 0.05


def payload(
    board: Scoreboard, shown: Sequence[GammaColumn], at: float | None = None
) -> live.Payload:
    """Both pictures under a slider of simulations, or epochs.

    Args:
        board: what was run.
        shown: its columns, of which at least one has trials.
        at: where the slider begins; the first of those with the largest tests where none is there.
    """
    scale = GammaScale.of(board.benchmark)
    gammas = [column.gamma for column in shown]
    names = [f"{gamma:,.0f}" for gamma in gammas]
    most = max(shown, key=lambda column: (column.most, -column.gamma)).gamma
    start = at if at in gammas else most
    slider = Slider(
        "gamma", gammas, label=_LABELS.get(scale.axis, scale.slider), names=names, start=start
    )
    return live.payload(
        sliders=[slider],
        panels=[
            table(board, shown),
            join_over("gamma", [_powers(board, column) for column in shown]),
        ],
        headline=join_over("gamma", [sentence(board, column) for column in shown]),
    )


def table(board: Scoreboard, shown: Sequence[GammaColumn]) -> Panel:
    """The smallest N at which each test finds the error, by training; true nats on top."""
    rows = [_name(test) for test in board.tests]
    high, wide = len(rows), len(shown)
    sizes, scale = sorted(board.sizes), GammaScale.of(board.benchmark)
    quasi = board.benchmark.simulator.quasi
    shades = np.full((high, wide), np.nan)
    marks: list[Mark] = []
    for j, column in enumerate(shown):
        nats = "" if column.forward is None else signed_text(column.forward.estimate, ".2f")
        marks.append(Note(j, high, nats, anchor="middle"))
        for i, row in enumerate(column.rows):
            y = high - 1 - i
            marks.append(Note(j, y, _cell(row), anchor="middle"))
            if row.first is not None:
                rank = sizes.index(row.first.n)
                shades[y, j] = _SHADE * (1 - rank / len(sizes))
            elif row.powers:
                shades[y, j] = 0.0
    heat = Heat(
        np.arange(wide + 1) - 0.5,
        np.arange(high + 1) - 0.5,
        Shades(shades, limit=1.0, high=style.P),
    )
    places = np.arange(wide, dtype=float)
    counted = "simulations that q learnt from" if scale.axis == "simulations" else scale.axis
    return Panel(
        [heat, *(VLine(over(places + edge, "gamma"), width=1) for edge in (-0.5, 0.5)), *marks],
        title="Fresh simulations that each test needs",
        x=Axis(
            (-0.5, wide - 0.5),
            counted,
            ticks=range(wide),
            names=[_short(column.gamma) for column in shown],
        ),
        y=Axis((-0.5, high + 0.5), ticks=range(high + 1), names=[*rows[::-1], "KL(p‖q), nats"]),
        height=30 * (high + 2) + 40,
        click="gamma",
        at=np.stack([places, np.full(wide, high / 2)], axis=1),
        caption=f"The smallest N at which a test rejects q in {FOUND:.0%} of tables or more; – at "
        "none that was run. Relabelling (within x) is the test behind a verdict, without learned "
        f"scores. Top row: the true error, {_nats_said(len(board.seeds))}. If q were correct, "
        f"every test would reject in at most 5% of tables.{' ' * bool(quasi)}{quasi}",
    )


def _nats_said(trainings: int) -> str:
    """What a true error is counted over, and what its brackets are."""
    if trainings == 1:
        return "with its 95% interval in brackets above"
    return (
        f"the mean of {trainings} trainings; brackets above reach from the lowest to the highest "
        "end of their 95% intervals"
    )


def _short(count: float) -> str:
    """A count that fits under a column on a phone."""
    return f"{count / 1000:g}k" if count >= 10_000 else f"{count:,.0f}"


def _cell(row: MethodRow) -> str:
    if row.first is not None:
        return f"{row.first.n:,}"
    return "–" if row.powers else ""


def _powers(board: Scoreboard, column: GammaColumn) -> Panel:
    """Power of every test over N."""
    looks, sizes, room = _looks(board.tests), sorted(board.sizes), 0.05
    marks: list[Mark] = [level_line(_LEVEL)]
    for row, look in zip(column.rows, looks, strict=True):
        marks += rate_bars(np.log10(sizes), _rates(row, sizes), look)
    return Panel(
        marks,
        title="Power by simulations in a test",
        x=Axis(
            (np.log10(sizes[0]) - room, np.log10(sizes[-1]) + room),
            "fresh simulations in a test, N",
            ticks=np.log10(sizes),
            names=[f"{n:,}" for n in sizes],
        ),
        y=rejection_axis(),
        height=30 * (len(column.rows) + 2) + 40,
        legend=curve_keys(dict(zip((_name(row.test) for row in column.rows), looks, strict=True))),
        caption=f"{_trainings(board)}. {level_said(_LEVEL)}",
    )


def _trainings(board: Scoreboard) -> str:
    """What a rate is counted over, and what its interval is."""
    tables = f"{board.trials} tables"
    if len(board.seeds) == 1:
        return f"One training with {tables}; bars are 95% Wilson intervals"
    return (
        f"Means over {len(board.seeds)} trainings with {tables} each; bars, and brackets "
        "above, reach from the lowest to the highest of their 95% Wilson intervals"
    )


def _rates(row: MethodRow, sizes: Sequence[int]) -> Rates:
    """Rates (N,) with their intervals; NaN where no trial has run."""
    run = {power.n: power.interval for power in row.powers}
    parts = [run.get(n, (np.nan,) * 3) for n in sizes]
    return Rates(*(np.array(part, float) for part in zip(*parts, strict=True)))


def _looks(tests: Sequence[Method]) -> list[MethodStyle]:
    """Styles by test; a second one of a method is dashed, with a symbol of its own."""
    seen: Counter[str] = Counter()
    looks = []
    for test in tests:
        look = method_look(test.name)
        if seen[test.name]:
            look = look._replace(dash="4 3", symbol="circle" if look.symbol == "ring" else "ring")
        looks.append(look)
        seen[test.name] += 1
    return looks


def _name(test: Method) -> str:
    return _NAMES.get(test.label, test.label)


def sentence(board: Scoreboard, column: GammaColumn) -> str:
    """Which tests reject half of the tables first, beside the true error, in one sentence."""
    at = board.benchmark.place(column.gamma)
    error = "" if column.forward is None else f" ({_error(column.forward, len(column.nats))})"
    if not column.most:
        return f"At {at}{error}, no test has been run on q."
    first = column.first
    if not first:
        return (
            f"At {at}{error}, no test with up to {column.most:,} fresh simulations rejects q in "
            f"{FOUND:.0%} of tables."
        )
    n = _at(first[0]).n
    return (
        f"At {at}{error}, q is first rejected in {FOUND:.0%} of tables or more with {n:,} fresh "
        f"simulations: by {_some([f'{_name(row.test)} ({_power_text(row)})' for row in first])}."
        f"{_rivals(column)}"
    )


def _rivals(column: GammaColumn) -> str:
    """Tests not told at 5%, Bonferroni's share for each, from the best at its N: the best first.

    Said of the networks that were tested: another training may turn it.
    """
    first = column.first
    best = _at(first[0])
    others = [
        (power.rate, _name(row.test))
        for row in column.rows
        if row not in first
        for power in row.powers
        if power.n == best.n and power.pvalue_against(best) > _LEVEL / (len(column.rows) - 1)
    ]
    if not others:
        return ""
    names = [name for _, name in sorted(others, key=lambda one: -one[0])]
    networks = len(best.rejected)
    on = "this network" if networks == 1 else f"these {networks} networks"
    return f" Not told from {_name(first[0].test)} there, on {on}: {_some(names)}."


def _error(nats: Interval, trainings: int) -> str:
    """How many estimators there are, and how far they are from p."""
    mean = " on average" * (trainings > 1)
    return f"{count_text(trainings, 'training')}, {interval_text(nats)} nats from the truth{mean}"


def _some(names: Sequence[str]) -> str:
    """Three names at most, and how many more."""
    more = f", and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{list_text(names[:3])}{more}"


def _power_text(row: MethodRow) -> str:
    return share_interval_text(_at(row).interval)


def _at(row: MethodRow) -> PowerAtN:
    assert row.first is not None
    return row.first


class TrainingRow(NamedTuple):
    """A row of the table of results: estimators of one kind, their true error, the first test."""

    task: str
    estimator: str
    trained: str
    """Simulations, or epochs."""
    nats: str
    """KL(p || q) of its trainings: the mean, the lowest and the highest end of their intervals."""
    n: str
    """The smallest N at which a test finds the error."""
    tests: str
    """The tests that do so there, the two most powerful by name."""


def findings(board: Scoreboard, shown: Sequence[GammaColumn]) -> list[TrainingRow]:
    """Which test finds the error first, for each training, in words."""
    benchmark = board.benchmark
    kind = ESTIMATORS[benchmark.estimator]
    return [
        TrainingRow(
            benchmark.simulator.title + QUASI * bool(benchmark.simulator.quasi),
            kind.title,
            f"{column.gamma:,.0f}",
            "" if column.forward is None else interval_text(column.forward),
            f"{_at(column.first[0]).n:,}" if column.first else f"> {column.most:,}",
            _in_short(column.first),
        )
        for column in shown
        if column.most
    ]


def _in_short(first: Sequence[MethodRow]) -> str:
    """The two most powerful tests, each with its power, and how many more there are."""
    names = [f"{_name(row.test)} {_at(row).rate:.0%}" for row in first[:2]]
    more = [f"{len(first) - 2} more"] if len(first) > 2 else []
    return ", ".join([*names, *more]) or "none"
