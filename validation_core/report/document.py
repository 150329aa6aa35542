"""A diagnosis as one HTML file that needs nothing else and asks no network for anything.

It holds plotly.js once, compressed, and every figure as numbers; a policy in its head lets only
these two scripts run and nothing be fetched. All that a user named is escaped: the file may be
opened by somebody else.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from html import escape
from importlib import resources
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import orjson
import plotly.graph_objects as go

from validation_core.diagnosis import Diagnosis
from validation_core.diagnosis.questions import QUESTIONS, Answers, AnyQuestion, Asked
from validation_core.diagnosis.verdict import read_line
from validation_core.drawing.outcome import Drawn
from validation_core.report import card, sections
from validation_core.report import numbers as noted
from validation_core.report.numbers import as_json, dumps, library_versions, utf8_text
from validation_core.report.sections import (
    FigurePlaces,
    ReportContext,
    ReportSection,
    html_table,
    slug,
)
from validation_core.types import Array, narrow

# ---- Figures as they travel in a report: numbers of six digits, and as many points as fit ----


class _Script(NamedTuple):
    """A script with the fingerprint by which a content security policy lets it run."""

    text: str
    digest: str


def _packed(content: bytes, *, level: int = 9) -> str:
    """Gzip in base64; the same bytes always give the same text."""
    return base64.b64encode(gzip.compress(content, level, mtime=0)).decode()


def trusted_script(source: str) -> _Script:
    """A script that a policy names by its SHA-256."""
    digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
    return _Script(source, f"'sha256-{digest}'")


@lru_cache(maxsize=1)
def _plotly() -> _Script:
    """plotly.js, packed: 4.8 MB as 1.9; the digest is of what it unpacks to."""
    script = resources.files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    return _Script(_packed(script), trusted_script(script.decode()).digest)


@lru_cache(maxsize=2)
def _own(name: str) -> str:
    """A file that lies beside this module: the look of a report, or what runs in it."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


_DIGITS = 6
_POINTS = (None, 20_000, 5_000, 2_000, 1_000, 500, 250, 100)
"""Of a trace, the most that is kept: the first that fits."""
_SQUEEZE = 8  # nothing worth drawing gets smaller than this: longer text is not even tried
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


class _FittedFigure(NamedTuple):
    """Figures that fit into the room they were given."""

    packed: str
    drawn: int
    """How many of them, from the first."""
    said: str
    """What was left out, in a sentence; empty where nothing was."""


def fit_figures(figures: Sequence[go.Figure], room: int) -> _FittedFigure:
    """The figures in at most `room` characters.

    Where they do not fit, every trace keeps evenly spaced points, fewer and fewer; where even that
    does not help, the last figures are left out. Both are said.
    """
    charts = [_plain(figure) for figure in figures]
    for most in _POINTS:
        written = _dump([_thin(chart, most) for chart in charts])
        if len(written) > _SQUEEZE * room:
            continue
        text = _packed(written, level=6)
        if len(text) <= room:
            return _FittedFigure(text, len(charts), _said(most) if most else "")
    return _some([_thin(chart, _POINTS[-1]) for chart in charts], room)


def _said(most: int) -> str:
    return (
        f"To keep this file small, lines and clouds of more than {most:,} points are drawn with "
        f"{most:,} of them, evenly spaced."
    )


def _some(drawn: list[dict[str, Any]], room: int) -> _FittedFigure:
    """The first figures, as many as fit."""
    low, high = 0, len(drawn)
    while low < high:
        middle = (low + high + 1) // 2
        fits = len(_packed(_dump(drawn[:middle]), level=6)) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    sentence = (
        f"To keep this file small, the last {len(drawn) - low} of {len(drawn)} figures were left "
        f"out, and the others are drawn with at most {_POINTS[-1]} points of each trace."
    )
    return _FittedFigure(_packed(_dump(drawn[:low]), level=6), low, sentence)


def _dump(drawn: list[dict[str, Any]]) -> bytes:
    return orjson.dumps(drawn, default=_listed, option=_OPTIONS)


def _listed(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):  # of strings, or not in C order
        return value.tolist()
    return str(value)


def _plain(figure: go.Figure) -> dict[str, Any]:
    """A figure as plotly.js takes it, without the colours of a theme."""
    layout = figure.layout.to_plotly_json()
    layout.pop("template", None)
    return {
        "data": [_rounded(trace.to_plotly_json()) for trace in figure.data],
        "layout": _rounded(layout),
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return _digits(value)
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value


def _digits(values: np.ndarray) -> np.ndarray:
    """Numbers of six digits, in the type that writes them shortest."""
    wide = values.astype(np.float64)
    used = np.isfinite(wide) & (wide != 0)
    place = np.floor(np.log10(np.abs(wide), where=used, out=np.zeros_like(wide)))
    unit = 10.0 ** np.clip(place - _DIGITS + 1, -300, 300)
    with np.errstate(over="ignore"):
        small = np.where(used, np.round(wide / unit) * unit, wide).astype(np.float32)
    in_range = np.isfinite(small) == np.isfinite(wide)
    narrowest = small if (in_range & ((small != 0) == (wide != 0))).all() else wide
    return np.ascontiguousarray(narrowest)


def _thin(figure: dict[str, Any], most: int | None) -> dict[str, Any]:
    if most is None:
        return figure
    return {**figure, "data": [_fewer(trace, most) for trace in figure["data"]]}


def _fewer(trace: dict[str, Any], most: int) -> dict[str, Any]:
    """Evenly spaced points of a trace; of a map, evenly spaced rows and columns."""
    z = trace.get("z")
    if z is not None and np.ndim(z) == 2:
        side = max(2, int(most**0.5))
        rows, columns = (_spaced(size, side) for size in np.shape(z))
        several = {"z", "text", "customdata"}
        cut = {name: _cut2(trace[name], rows, columns) for name in several & {*trace}}
        axes = {"x": columns, "y": rows}
        return {
            **trace,
            **cut,
            **{name: _cut(trace[name], at) for name, at in axes.items() if name in trace},
        }
    size = max((len(trace[name]) for name in ("x", "y") if _is_list(trace.get(name))), default=0)
    return trace if size <= most else _kept(trace, size, _spaced(size, most))


def _kept(value: dict[str, Any], size: int, at: np.ndarray) -> dict[str, Any]:
    """What has one entry for each point, at some of the points."""
    return {
        name: _kept(item, size, at)
        if isinstance(item, dict)
        else _cut(item, at)
        if _is_list(item) and len(item) == size
        else item
        for name, item in value.items()
    }


def _cut(values: Any, at: np.ndarray) -> Any:
    if not _is_list(values) or len(values) <= at[-1]:
        return values
    if isinstance(values, np.ndarray):
        return np.ascontiguousarray(values[at])
    return [values[i] for i in at]


def _cut2(values: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
    return [_cut(row, columns) for row in _cut(values, rows)] if _is_list(values) else values


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray) and np.ndim(value) > 0


def _spaced(size: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, size - 1, min(size, most)).round().astype(int))


# ---- The document ----


__all__ = ["LIMIT", "html", "read_line"]

LIMIT = 5_000_000
"""Bytes of a report, whatever it is about."""

_ROWS = (1000, 200, 50, 10)  # of a table, the most that is shown: the first that leaves room
_PROSE = 1_200_000  # bytes for all that is no figure
_JSON = 300_000  # longer ones are packed
_SHARE = 0.6  # of what is left, the most for the numbers
_NONE: Answers = MappingProxyType({})


def html(
    diagnosis: Diagnosis,
    answers: Answers = _NONE,
    *,
    notes: str = "",
    draws: Mapping[str, Array] | None = None,
    path: str = "table.npz",
    panels: Sequence[AnyQuestion] | None = None,
    made: datetime | None = None,
    asked: Asked | None = None,
) -> str:
    """The whole document, at most `LIMIT` bytes of UTF-8.

    Where everything does not fit, in turn: tables show fewer rows, the raw draws stay out, figures
    are drawn with fewer points, the last of them stay out, so does the JSON. Each is said in the
    report.

    Args:
        diagnosis: the verdict with what it rests on.
        answers: what has been worked out beyond it, by the name of the panel.
        notes: the user's own words.
        draws: the arrays of the table, for those who ask for them; otherwise no draw is inside.
        path: what the file is called, for the code that reproduces an answer.
        panels: that tell the answers, in the order in which they are read; by default all that
            there are, or none where there is no answer.
        made: when; by default now.
        asked: which questions were asked; by default those that these answer.
    """
    when = made or datetime.now(UTC)
    chosen_panels = _registered(answers) if panels is None else panels
    for most in _ROWS:
        context = ReportContext(
            diagnosis, answers, chosen_panels, path, noted.clean_notes(notes), when, most, asked
        )
        written = sections.render_sections(context)
        size = sum(len(section.body.encode("utf-8", "replace")) for section in written.sections)
        if size <= _PROSE:
            break
    return utf8_text(_filled(context, written, draws))


def _registered(answers: Answers) -> Sequence[AnyQuestion]:
    return QUESTIONS if answers else ()


def _filled(
    told: ReportContext, written: sections.RenderedSections, draws: Mapping[str, Array] | None
) -> str:
    """The document with as much of its figures, numbers and draws as there is room for."""
    own = trusted_script(_own("report.js"))
    bare = _document(told, [*written.sections, ReportSection("", "", "")], own, "")
    room = LIMIT - len(bare.encode("utf-8", "replace")) - 4_000
    numbers = _numbers(told, int(_SHARE * room))
    room -= len(numbers.body.encode("utf-8", "replace"))
    fitted = fit_figures(written.figures, room)
    room -= len(fitted.packed)
    raw = _draws(draws, room)
    data = f'<script type="text/plain" id="figures">{fitted.packed}</script>'
    asides = [f'<p class="aside">{escape(fitted.said)}</p>'] if fitted.said else []
    end = ReportSection("numbers", "Numbers and data", "".join([*asides, numbers.body, raw]))
    return _document(told, [*written.sections, end], own, data)


def _document(
    told: ReportContext, written: Sequence[ReportSection], own: _Script, data: str
) -> str:
    title = f"{sections.verdict_heading(told.found)} · {told.path}"
    return _framed(title, "Posterior report", written, own, data)


def _framed(
    title: str, kind: str, written: Sequence[ReportSection], own: _Script, data: str
) -> str:
    """Sections as a document of its own: contents, plotly.js, and what runs in it.

    Args:
        title: of the window.
        kind: what this is, above the contents.
        written: in their order; one without a name is left out.
        own: the script.
        data: of the figures, as markup.
    """
    plotly = _plotly()
    # Only these scripts, and nothing fetched: what a user named can neither run nor call home.
    policy = (
        f"default-src 'none'; script-src {own.digest} {plotly.digest}; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    contents = "".join(
        f'<li><a href="#{escape(section.name)}">{escape(section.title)}</a></li>'
        for section in written
        if section.title
    )
    body = "".join(
        f'<section id="{escape(section.name)}">{section.heading}{section.body}</section>'
        for section in written
        if section.name
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title>"
        f"<style>{_own('report.css')}{card.css()}</style></head><body>"
        f'<nav aria-label="Contents"><p>{escape(kind)}</p><ol>{contents}</ol></nav>'
        '<main><p class="aside" id="still">Figures need JavaScript, which has not run here. '
        "Words, tables and numbers are here without it.</p>"
        f'<p class="aside" id="old" hidden>This browser has no DecompressionStream, so that the '
        f"figures and packed data in this file cannot be unpacked. Words and tables are here; "
        f"browsers from 2023 on show the rest.</p>{body}</main>"
        f'<script type="text/plain" id="plotly">{plotly.text}</script>{data}'
        f"<script>{own.text}</script></body></html>"
    )


def _numbers(told: ReportContext, room: int) -> ReportSection:
    """The JSON, in plain text where it is short, else packed, else a word that it is too long."""
    written = as_json(told.found, told.answers, told.asked)
    if len(written) <= min(_JSON, room):
        # `<` begins no tag inside JSON's strings when it is written by its number.
        inside = written.replace("<", "\\u003c")
        kind = "application/json"
    else:
        inside, kind = _packed(written.encode()), "text/plain"
    if len(inside.encode()) > room:
        size = len(written.encode()) / 1e6
        sentence = f"Every number as JSON takes {size:.1f} MB and does not fit into this file."
        return ReportSection("", "", f'<p class="aside">{sentence} It is a file of its own.</p>')
    body = (
        "<p>Every number of this report as JSON, with what it was made with.</p>"
        '<p><button type="button" data-save="json">Save the JSON</button></p>'
        f'<script type="{kind}" id="json">{inside}</script>'
    )
    return ReportSection("", "", body)


def _draws(draws: Mapping[str, Array] | None, room: int) -> str:
    if draws is None:
        return '<p class="aside">The raw draws are not in this file.</p>'
    small = {name: narrow(array) for name, array in draws.items()}
    size = sum(array.nbytes for array in small.values())
    inside = ""
    if size < 4 * room:  # what compresses further is too rare to wait for
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **small)
        inside = base64.b64encode(buffer.getvalue()).decode()
    if not inside or len(inside) > room - 1_000:
        return (
            f'<p class="aside">The raw draws take {size / 1e6:.1f} MB and do not fit into a '
            f"report of at most {LIMIT / 1e6:g} MB; send the file itself beside it.</p>"
        )
    return (
        "<p>The raw draws are in this file, in single precision.</p>"
        '<p><button type="button" data-save="draws">Save the draws (.npz)</button></p>'
        f'<script type="text/plain" id="draws">{inside}</script>'
    )


_SHEET_ROWS = 1000
_RESERVE = 4_000


def sheet(
    title: str,
    lead: Sequence[str],
    figures: Sequence[Drawn],
    tables: Mapping[str, Sequence[Mapping[str, object]]],
    numbers: object,
) -> str:
    """The whole document.

    Args:
        title: its heading.
        lead: paragraphs below it.
        figures: with their captions; those whose titles agree up to a colon share a section.
        tables: rows by heading.
        numbers: everything as plain values, saved as JSON by a button.
    """
    places = FigurePlaces()
    first = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in lead)
    written = [ReportSection("verdict", "", f"<h1>{escape(title)}</h1>{first}", headed=False)]
    for name, several in groupby(figures, lambda drawn: drawn.title.partition(":")[0]):
        written.append(ReportSection(slug(name), name, places.of(several)))
    written += [
        ReportSection(slug(name), name, html_table(rows, _SHEET_ROWS))
        for name, rows in tables.items()
    ]
    facts = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(version)}</td></tr>"
        for name, version in library_versions().items()
    )
    packed = _packed(dumps(numbers).encode())
    end = (
        '<p><button type="button" data-save="json">Save every number as JSON</button></p>'
        f'<script type="text/plain" id="json" data-name="{slug(title)}.json">{packed}</script>'
        f'<div class="scroll"><table class="facts">{facts}</table></div>'
    )
    own = trusted_script(_own("report.js"))
    bare = _framed(title, title, [*written, ReportSection("numbers", "Numbers", end)], own, "")
    fitted = fit_figures(places.figures, LIMIT - len(bare.encode()) - _RESERVE)
    if fitted.said:
        end = f'<p class="aside">{escape(fitted.said)}</p>{end}'
    data = f'<script type="text/plain" id="figures">{fitted.packed}</script>'
    whole = _framed(title, title, [*written, ReportSection("numbers", "Numbers", end)], own, data)
    return utf8_text(whole)
