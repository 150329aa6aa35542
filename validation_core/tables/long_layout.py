"""Columns of a long table by what they hold, as their names or the user say.

A long table has a row for each draw. The true values stand in rows of their own, known by draw
number -1 or by a column that marks them, or in columns of their own, such as `mass_true` beside
`mass`, the same in every row of a simulation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from validation_core.tables import roles
from validation_core.tables.axis_names import (
    CHAIN_COLUMNS,
    DRAW_COLUMNS,
    SIMULATION_COLUMNS,
    is_row_label,
    plain_name,
    starting,
)
from validation_core.tables.chosen import Chosen, resolve_names

COLUMN_ROLES = ("sim", "draw", "truth", "theta", "theta_q", "x")
"""Roles of the columns of a long table, as a user may give them."""
_MARKERS = frozenset({"truth", "is_truth", "is_true", "true", "is_prior"})
_BESIDE = ("log_q", "log_joint", "log_likelihood", "log_w", "w")
"""Arrays of one number for the true value and for each draw, beside own test quantities."""
_TRUE = re.compile(
    r"(?:true|truth|injected|simulated|sim|gt)[_.](?P<after>.+)"
    r"|(?P<before>.+)[_.](?:true|truth|injected|simulated|sim|gt|star)"
    r"|(?P<stem>.+)[_.](?:true|truth)[_.](?P<number>[0-9]+)"
)
_DRAWN = re.compile(
    r"(?:theta_q|q|posterior|post|sample|draw)[_.](.+)|(.+)[_.](?:q|post|draw|sample)"
)


class LongLayout(NamedTuple):
    """The columns of a long table."""

    sim: str
    """The column of the simulation's number or name."""
    draw: tuple[str, ...]
    """Columns that number the draws together; with none, rows are draws in their order."""
    marker: str | None
    """A column that marks the rows of true values; None where draw -1 does, or none is needed."""
    theta: tuple[str, ...]
    """Columns of the true values; the same as of the draws where rows are marked."""
    theta_q: tuple[str, ...]
    """Columns of the draws, in the order of the true values."""
    x: tuple[str, ...] | None
    """Columns of the data; None for those that are the same in each simulation."""
    beside: Mapping[str, str]
    """Columns of log densities, weights and test quantities, by the array of the true values."""

    @property
    def in_rows(self) -> bool:
        """Whether the true values stand in rows of their own."""
        return self.theta == self.theta_q

    @property
    def row_columns(self) -> tuple[str, ...]:
        """Columns that number or mark rows."""
        return (self.sim, *self.draw, *([self.marker] if self.marker else []))


def chosen_columns(chosen: Chosen, names: Collection[str]) -> dict[str, tuple[str, ...]] | None:
    """Return columns by role as the user gives them, `x_*` written out; None for no columns.

    Args:
        chosen: as the user gives them.
        names: names of the file's columns.

    Raises:
        ValueError: for a role of long tables that is given to a column that there is not.
    """
    found: dict[str, tuple[str, ...]] = {}
    wanted = resolve_names(chosen, names)
    if roles.says_no_x(wanted, names):
        wanted["x"] = ()
    for role, given in wanted.items():
        columns = [match for name in given for match in columns_fitting(name, names)]
        found[role] = tuple(dict.fromkeys(columns))
    unknown = [role for role in found if role not in COLUMN_ROLES and role not in _BESIDE]
    lost = [n for given in wanted.values() for n in given if not columns_fitting(n, names)]
    if not {"sim", "draw", "truth"} & {*found}:
        return None if lost or unknown or not found else found
    if lost or unknown:
        raise ValueError(
            f"The columns of a long table are named as "
            f"{roles.names_text((*COLUMN_ROLES, *_BESIDE))}; got "
            f"{roles.names_text(unknown + lost)}, and the file has the columns "
            f"{roles.names_text(names)}. Correct the name."
        )
    return found


def columns_fitting(name: str, names: Collection[str]) -> list[str]:
    """The columns that a name means: itself, or those that `x_*` fits, in the file's order."""
    if name in names or "*" not in name:
        return [name] if name in names else []
    return [other for other in names if fnmatchcase(other, name)]


def find_layout(
    numbers: Sequence[str],
    texts: Sequence[str] = (),
    chosen: Mapping[str, Sequence[str]] | None = None,
) -> LongLayout | None:
    """Find the layout of a long table; None where its columns are not those of one.

    Args:
        numbers: names of the columns of numbers, in the file's order.
        texts: names of the other columns.
        chosen: columns by role, as far as the user gives them.
    """
    given = chosen or {}
    sim = next(iter(given.get("sim", ())), None) or _first(
        [*numbers, *texts], ("sim", *SIMULATION_COLUMNS)
    )
    if sim is None:
        return None
    free = [name for name in numbers if name != sim]
    draw = tuple(given["draw"]) if "draw" in given else _draw_columns(free)
    marker = next(iter(given.get("truth", ())), None) or _first(
        [n for n in (*free, *texts) if n not in draw], _MARKERS
    )
    beside = _columns_beside(free)
    spent = {sim, *draw, *beside.values(), *([marker] if marker else [])}
    free = [name for name in free if name not in spent and not _is_row_label(name)]
    pairs = _pairs(free, given)
    x = tuple(given["x"]) if "x" in given else starting(free, "x")
    if pairs:
        truths, drawn = zip(*pairs, strict=True)
        marker = marker if "truth" in given else None
        own = tuple(name for name in x if name not in truths and name not in drawn)
        return LongLayout(
            sim, draw, marker, truths, drawn, own if own or "x" in given else None, beside
        )
    theta = tuple(given.get("theta", given.get("theta_q", ()))) or starting(free, "theta")
    if not theta and marker is not None:
        theta = tuple(name for name in free if name not in x)
    if not theta or not (draw or marker):
        return None
    # Rows of their own may leave x empty: only its name tells it.
    return LongLayout(sim, draw, marker, theta, theta, x, beside)


def _columns_beside(columns: Sequence[str]) -> dict[str, str]:
    """Columns of one number for each row, by the array that they make with its draws."""
    found = {name: name for name in columns if roles.is_quantity(name)}
    for stem in _BESIDE:
        aliases = (stem, *roles.ROLES[stem], *roles.ROLES[f"{stem}_draws"])
        names = [name for name in aliases if name in columns]
        if names:
            found[stem] = names[0]
    return found


def guess_columns(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Guess what columns may be, as far as their names tell: the first choice of a form."""
    layout = find_layout(names)
    if layout is not None:
        found = layout._asdict()
        roles_found = {role: found[role] or () for role in ("draw", "theta", "theta_q", "x")}
        return {"sim": (layout.sim,), **roles_found}
    sim = _first(names, ("sim", *SIMULATION_COLUMNS))
    free = [name for name in names if name != sim and not _is_row_label(name)]
    drawn = columns_with_draws(free) if sim is None else {}
    rest = tuple(name for name in free if name not in drawn and name not in drawn.values())
    return {
        "sim": (sim,) if sim else (),
        "draw": _draw_columns(free),
        "theta": tuple(drawn) or starting(free, "theta"),
        "theta_q": tuple(drawn.values()),
        "x": starting(free, "x") or (rest if drawn else ()),
    }


def columns_with_draws(names: Iterable[str]) -> dict[str, str]:
    """Columns of true values, each with its draws in numbered columns: `mass` with `mass_*`, or
    as the pairs of a long table are named."""
    every = list(names)
    stems = {name.removesuffix("*").rstrip("_. -"): name for name in every if name.endswith("*")}
    drawn = {stem: name for stem, name in stems.items() if stem}
    single = [name for name in every if not name.endswith("*")]
    if alike := {name: drawn[name] for name in single if name in drawn}:
        return alike
    pairs = _pairs([*single, *drawn], {})
    return {truth: drawn[q] for truth, q in pairs if q in drawn and truth in single}


def _pairs(free: Sequence[str], given: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Columns of a true value and of its draws, by their names or as the user gives them."""
    if (
        "theta" in given
        and "theta_q" in given
        and tuple(given["theta"]) != tuple(given["theta_q"])
    ):
        return list(zip(given["theta"], given["theta_q"], strict=False))
    if "theta" in given or "theta_q" in given:
        wanted = {*given.get("theta", given.get("theta_q", ()))}
        return [p for p in _pairs(free, {}) if wanted & {*p}]
    by_name = {plain_name(name): name for name in free}
    found: list[tuple[str, str]] = []
    for name in free:
        plain = plain_name(name)
        match, drawn = _TRUE.fullmatch(plain), _DRAWN.fullmatch(plain)
        bare = ""
        if match:
            bare = match["after"] or match["before"] or f"{match['stem']}_{match['number']}"
        other = next((by_name[d] for d in _drawn_names(bare) if bare and d in by_name), None)
        if other is not None and other != name:
            found.append((name, other))
        elif drawn:
            stem = drawn[1] or drawn[2]
            truth = next((by_name[t] for t in (f"theta_{stem}", stem) if t in by_name), None)
            if truth is not None and truth != name:
                found.append((truth, name))
    return list({drawn: (truth, drawn) for truth, drawn in found}.values())


def _drawn_names(bare: str) -> Iterator[str]:
    """Names that the draws of a parameter may have."""
    yield from (f"theta_q_{bare}", f"q_{bare}", f"posterior_{bare}", f"post_{bare}")
    yield from (bare, f"{bare}_post", f"{bare}_q", f"sample_{bare}", f"draw_{bare}")


def _draw_columns(names: Sequence[str]) -> tuple[str, ...]:
    """The columns that number the draws: one of draws, with those of chains and iterations."""
    drawn = _first(names, ("draw", *DRAW_COLUMNS))
    beside = [name for name in names if plain_name(name) in CHAIN_COLUMNS]
    return (*beside, *([drawn] if drawn is not None else []))


def _first(names: Sequence[str], wanted: Iterable[str]) -> str | None:
    """The first column of a wanted name; the first wanted name before all others."""
    ordered = list(wanted)
    fits = [name for name in names if plain_name(name) in ordered]
    return min(fits, key=lambda name: plain_name(name) != ordered[0], default=None)


def _is_row_label(name: str) -> bool:
    return is_row_label(name) or plain_name(name) == "index"


def without_stem(column: str, stem: str) -> str:
    """The name of a column without its stem: `theta_mass` is `mass`, `theta_1` stays."""
    rest = column.removeprefix(f"{stem}_").removeprefix(f"{stem}.")
    return column if rest.isdigit() or not rest else rest
