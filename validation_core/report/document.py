"""A diagnosis as one HTML file that needs nothing else and asks no network for anything.

It holds plotly.js once, compressed, and every figure as numbers; a policy in its head lets only
these two scripts run and nothing be fetched. All that a user named is escaped: the file may be
opened by somebody else.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from itertools import groupby
from types import MappingProxyType

import numpy as np

from validation_core.diagnosis import Diagnosis
from validation_core.diagnosis.questions import QUESTIONS, Answers, AnyQuestion, Asked
from validation_core.drawing.drawn import Drawn
from validation_core.precision import narrow
from validation_core.report import card, sections
from validation_core.report.figures import (
    ScriptFigures,
    fit_figures,
    own_figure,
    pack_figure,
    plotly_bundle,
    trusted_script,
)
from validation_core.report.numbers import as_json, clean_notes, dumps, library_versions, utf8_text
from validation_core.report.sections import (
    FigurePlaces,
    ReportContext,
    ReportSection,
    html_table,
    slug,
)
from validation_core.types import Array

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
            diagnosis, answers, chosen_panels, path, clean_notes(notes), when, most, asked
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
    own = trusted_script(own_figure("report.js"))
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
    told: ReportContext, written: Sequence[ReportSection], own: ScriptFigures, data: str
) -> str:
    title = f"{sections.verdict_heading(told.found)} · {told.path}"
    return _framed(title, "Posterior report", written, own, data)


def _framed(
    title: str, kind: str, written: Sequence[ReportSection], own: ScriptFigures, data: str
) -> str:
    """Sections as a document of its own: contents, plotly.js, and what runs in it.

    Args:
        title: of the window.
        kind: what this is, above the contents.
        written: in their order; one without a name is left out.
        own: the script.
        data: of the figures, as markup.
    """
    plotly = plotly_bundle()
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
        f"<style>{own_figure('report.css')}{card.css()}</style></head><body>"
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
        inside, kind = pack_figure(written.encode()), "text/plain"
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
    packed = pack_figure(dumps(numbers).encode())
    end = (
        '<p><button type="button" data-save="json">Save every number as JSON</button></p>'
        f'<script type="text/plain" id="json" data-name="{slug(title)}.json">{packed}</script>'
        f'<div class="scroll"><table class="facts">{facts}</table></div>'
    )
    own = trusted_script(own_figure("report.js"))
    bare = _framed(title, title, [*written, ReportSection("numbers", "Numbers", end)], own, "")
    fitted = fit_figures(places.figures, LIMIT - len(bare.encode()) - _RESERVE)
    if fitted.said:
        end = f'<p class="aside">{escape(fitted.said)}</p>{end}'
    data = f'<script type="text/plain" id="figures">{fitted.packed}</script>'
    whole = _framed(title, title, [*written, ReportSection("numbers", "Numbers", end)], own, data)
    return utf8_text(whole)
