"""A diagnosis as one self-contained HTML file that makes no network request.

It holds plotly.js once, compressed, and every figure as numbers; its content security policy
allows only these two scripts and no request. The templates escape all names chosen by a user,
since somebody else may open the file.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from types import MappingProxyType

import numpy as np
from markupsafe import Markup

from validation_core.diagnosis import Diagnosis
from validation_core.diagnosis.questions import QUESTIONS, Answers, AnyQuestion, Asked
from validation_core.drawing.drawn import Drawn
from validation_core.precision import narrow
from validation_core.report import card, sections
from validation_core.report.figures import (
    fit_figures,
    own_figure,
    pack_figure,
    plotly_bundle,
    trusted_script,
)
from validation_core.report.markup import render
from validation_core.report.numbers import as_json, clean_notes, dumps, library_versions
from validation_core.report.sections import (
    FigurePlaces,
    ReportContext,
    ReportSection,
    html_table,
    slug,
)
from validation_core.text import utf8_text
from validation_core.types import Array

LIMIT = 5_000_000
"""Most bytes of any report."""
_ROWS = (1000, 200, 50, 10)  # most rows of a table: the first that fits
_PROSE = 1_200_000  # bytes for words and tables
_JSON = 300_000  # characters; longer JSON is packed
_SHARE = 0.6  # largest share of the remaining bytes for the JSON
_RESERVE = 4_000  # bytes for sentences on parts left out
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
    files: Sequence[str] | None = None,
) -> str:
    """The report of a diagnosis, at most `LIMIT` bytes of UTF-8.

    Where everything does not fit, in turn: tables show fewer rows, the raw draws are left out,
    figures have fewer points, the last figures and the JSON are left out. The report says so.

    Args:
        diagnosis: the verdict and the tests behind it.
        answers: to further questions, by the name of the question.
        notes: of the user.
        draws: arrays of the table to include; by default none.
        path: name of the table.
        panels: questions in reading order; by default all, or none without an answer.
        made: time of the report; by default now.
        asked: state of each question; by default the answered ones were asked.
        files: names of the table's files, for the code that reproduces an answer; by default the
            path.
    """
    when = made or datetime.now(UTC)
    chosen_panels = _registered(answers) if panels is None else panels
    for most in _ROWS:
        context = ReportContext(
            diagnosis, answers, chosen_panels, path, clean_notes(notes), when, most, asked, files
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
    """The document with as many of its figures, numbers and draws as fit."""
    bare = _document(told, written.sections, None)
    room = LIMIT - len(bare.encode("utf-8", "replace")) - _RESERVE
    json = _json(told, int(_SHARE * room))
    room -= len(json.encode("utf-8", "replace"))
    fitted = fit_figures(written.figures, room)
    room -= len(fitted.packed)
    body = render("numbers", said=fitted.said, json=json, draws=_draws(draws, room))
    end = ReportSection("numbers", "Numbers and data", body)
    return _document(told, [*written.sections, end], fitted.packed)


def _document(
    told: ReportContext, written: Sequence[ReportSection], figures: str | None
) -> Markup:
    title = f"{sections.verdict_heading(told.found)} · {told.path}"
    return _framed(title, "Posterior report", written, figures)


def _framed(
    title: str, kind: str, written: Sequence[ReportSection], figures: str | None
) -> Markup:
    """A whole document of sections, with contents, plotly.js and the drawing script.

    Args:
        title: of the window.
        kind: of document, above the contents.
        written: sections in order.
        figures: packed.
    """
    return render(
        "document",
        title=title,
        kind=kind,
        sections=written,
        figures=figures,
        style=own_figure("report.css") + card.css(),
        own=trusted_script(own_figure("report.js")),
        plotly=plotly_bundle(),
    )


def _json(told: ReportContext, room: int) -> Markup:
    """The JSON: plain where it is short, else packed, else a sentence that it is left out."""
    written = as_json(told.found, told.answers, told.asked)
    if len(written) <= min(_JSON, room):
        # `<` begins no tag inside JSON's strings when it is written by its number.
        content = written.replace("<", "\\u003c")
        kind = "application/json"
    else:
        content, kind = pack_figure(written.encode()), "text/plain"
    megabytes = f"{len(written.encode()) / 1e6:.1f}"
    fits = len(content.encode()) <= room
    return render("json", content=content if fits else "", kind=kind, megabytes=megabytes)


def _draws(draws: Mapping[str, Array] | None, room: int) -> Markup:
    small = {name: narrow(array) for name, array in (draws or {}).items()}
    size = sum(array.nbytes for array in small.values())
    content = ""
    if small and size < 4 * room:  # better compression than fourfold is rare
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **small)
        content = base64.b64encode(buffer.getvalue()).decode()
    return render(
        "draws",
        asked=draws is not None,
        content=content if len(content) <= room - 1_000 else "",
        megabytes=f"{size / 1e6:.1f}",
        limit=f"{LIMIT / 1e6:g}",
    )


_SHEET_ROWS = 1000


def sheet(
    title: str,
    lead: Sequence[str],
    figures: Sequence[Drawn],
    tables: Mapping[str, Sequence[Mapping[str, object]]],
    numbers: object,
) -> str:
    """A document of figures, tables and numbers, at most `LIMIT` bytes.

    Args:
        title: heading.
        lead: paragraphs below it.
        figures: with captions; those whose titles agree up to a colon share a section.
        tables: rows by heading.
        numbers: plain values, which a button saves as JSON.
    """
    places = FigurePlaces()
    lead_section = render("lead", title=title, paragraphs=lead)
    written = [ReportSection("verdict", "", lead_section, headed=False)]
    for name, several in groupby(figures, lambda drawn: drawn.title.partition(":")[0]):
        written.append(ReportSection(slug(name), name, places.of(several)))
    written += [
        ReportSection(slug(name), name, html_table(rows, _SHEET_ROWS))
        for name, rows in tables.items()
    ]
    content = pack_figure(dumps(numbers).encode())

    def document(said: str, packed: str | None) -> Markup:
        end = render(
            "sheet", said=said, name=slug(title), content=content, versions=library_versions()
        )
        return _framed(title, title, [*written, ReportSection("numbers", "Numbers", end)], packed)

    fitted = fit_figures(places.figures, LIMIT - len(document("", None).encode()) - _RESERVE)
    return utf8_text(document(fitted.said, fitted.packed))
