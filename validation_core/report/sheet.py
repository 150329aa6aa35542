"""Figures and tables with words between, as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Any

from validation_core.figures.outcome import Drawn
from validation_core.report import drawings, packing, versions
from validation_core.report.document import LIMIT, framed
from validation_core.report.numbers import dumps, text
from validation_core.report.sections import Places, Section
from validation_core.report.tables import slug, table

_ROWS = 1000
_RESERVE = 4_000


def sheet(
    title: str,
    lead: Sequence[str],
    figures: Sequence[Drawn],
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
    numbers: Any,
) -> str:
    """The whole document.

    Args:
        title: its heading.
        lead: paragraphs below it.
        figures: with their captions; those whose titles agree up to a colon share a section.
        tables: rows by heading.
        numbers: everything as plain values, saved as JSON by a button.
    """
    places = Places()
    first = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in lead)
    written = [Section("verdict", "", f"<h1>{escape(title)}</h1>{first}")]
    for name, several in groupby(figures, lambda drawn: drawn.title.partition(":")[0]):
        written.append(Section(slug(name), name, places.of(several)))
    written += [Section(slug(name), name, table(rows, _ROWS)) for name, rows in tables.items()]
    facts = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(version)}</td></tr>"
        for name, version in versions.versions().items()
    )
    packed = packing.packed(dumps(numbers).encode())
    end = (
        '<p><button type="button" data-save="json">Save every number as JSON</button></p>'
        f'<script type="text/plain" id="json" data-name="{slug(title)}.json">{packed}</script>'
        f'<div class="scroll"><table class="facts">{facts}</table></div>'
    )
    own = packing.trusted(packing.own("report.js"))
    bare = framed(title, title, [*written, Section("numbers", "Numbers", end)], own, "")
    fitted = drawings.fit(places.figures, LIMIT - len(bare.encode()) - _RESERVE)
    if fitted.said:
        end = f'<p class="aside">{escape(fitted.said)}</p>{end}'
    data = f'<script type="text/plain" id="figures">{fitted.packed}</script>'
    whole = framed(title, title, [*written, Section("numbers", "Numbers", end)], own, data)
    return text(whole)
