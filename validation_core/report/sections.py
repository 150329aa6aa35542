"""Sections of a report: their text, tables and places of figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from markupsafe import Markup

from validation_core.diagnosis import Diagnosis, Record, findings, further_methods
from validation_core.diagnosis.card import diagnosis_card
from validation_core.diagnosis.my_observation.look import own_answers
from validation_core.diagnosis.questions import Answers, AnyQuestion, Asked
from validation_core.diagnosis.verdict import read_line
from validation_core.drawing import plotly
from validation_core.drawing.alt import describe_picture
from validation_core.drawing.drawn import Drawn
from validation_core.methods import METHODS
from validation_core.panels.record import pictures
from validation_core.report import card, numbers
from validation_core.report.markup import render
from validation_core.report.python_code import question_code
from validation_core.text import level_text, pvalue_text, signed_text

_SHORT = 24  # letters
_NUMBER = re.compile(r"(< )?[+−-]?[\d.,]+(e[+−-]?\d+)?%?", re.ASCII)


def slug(text: str) -> str:
    """Text as lower-case letters, digits and hyphens, for anchors and file names."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "figure"


def html_table(rows: Sequence[Mapping[str, object]], most: int) -> Markup:
    """An HTML table of at most `most` rows, and the number of all rows where there are more."""
    if not rows:
        return Markup()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    numeric = {name for name in columns if all(_numeric(row.get(name)) for row in rows)}
    cells = [[_cell(row.get(name), name in numeric) for name in columns] for row in rows[:most]]
    return render("table", columns=columns, numeric=numeric, rows=cells, count=len(rows))


def cell(value: object) -> str:
    """A value as text: numbers to three digits, missing ones as a dash."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if value != value:
        return "–"
    return signed_text(value, ".3g")


def _numeric(value: object) -> bool:
    """Whether a value is numeric, also as text: `-0.3`, `< 1e-300`, `1,000`, `12%`, or empty."""
    if isinstance(value, str):
        return value in ("", "–") or _NUMBER.fullmatch(value) is not None
    return not isinstance(value, bool)


def _cell(value: object, numeric: bool) -> tuple[str, str]:
    """The text of a cell and its class: short text stays on one line."""
    content = cell(value)
    return content, "number" if numeric else "short" if len(content) <= _SHORT else "long"


_LEGEND = 280  # pixels between the axes of a figure on a phone: here its height is free
_LISTED = 20  # warnings and notes of a file that are shown
_SHOWN = 2
"""Figures of a question that are open; the others are folded."""
_METHOD_COLUMNS = ("Test", "Statistic", "Value", "p-value", "adjusted", "True values", "q's draws")


class ReportContext(NamedTuple):
    """Contents of a report."""

    found: Diagnosis
    answers: Answers
    panels: Sequence[AnyQuestion]
    path: str
    notes: str
    when: datetime
    rows: int
    """Most rows shown of a table."""
    asked: Asked | None = None
    """State of each question; by default the answered ones were asked."""
    files: Sequence[str] | None = None
    """Names of the files that the code reads; by default the path."""


class ReportSection(NamedTuple):
    """A section: its anchor, heading and markup."""

    name: str
    title: str
    body: Markup
    headed: bool = True
    """Whether its title is its heading: the verdict has a heading of its own."""


class RenderedSections(NamedTuple):
    """All sections, and the figures of their places."""

    sections: list[ReportSection]
    figures: list[go.Figure]


class _Place(NamedTuple):
    """The place of one figure."""

    number: int
    drawn: Drawn
    name: str
    alt: str
    height: int
    """In pixels."""


@dataclass
class FigurePlaces:
    """Places of figures: each has a number, by which the report's script draws it."""

    figures: list[go.Figure] = field(default_factory=list)

    def of(self, shown: Iterable[Drawn]) -> Markup:
        """Markup of the places of some figures, side by side."""
        places = [self._place(drawn) for drawn in shown]
        return render("figures", places=places) if places else Markup()

    def _place(self, drawn: Drawn) -> _Place:
        figure = plotly.figure(drawn.picture, room=_LEGEND)
        self.figures.append(figure)
        alt = describe_picture(drawn.picture, drawn.title)
        number = len(self.figures) - 1
        return _Place(number, drawn, slug(drawn.title), alt, figure.layout.height)


def render_sections(told: ReportContext) -> RenderedSections:
    """Every section: the card, notes, each question, each test, the table, and methods."""
    places = FigurePlaces()
    sections = [ReportSection("verdict", "Verdict", _verdict(told), headed=False)]
    if told.notes:
        body = render("notes", lines=told.notes.split("\n"))
        sections.append(ReportSection("notes", "Notes", body))
    untested = told.found.upload.unusable
    for panel in () if untested else told.panels:
        body = _panel(told, panel, places)
        sections.append(ReportSection(f"panel-{slug(panel.name)}", panel.title, body))
    if own := _my_observation(told, places):
        sections.append(ReportSection("my-observation", "My observation", own))
    if not untested:
        sections.append(ReportSection("tests", "Each test", _tests(told, places)))
    sections.append(ReportSection("table", "What was read", _read(told)))
    if not untested:
        sections.append(ReportSection("methods", "Methods", _methods(told)))
    sections.append(ReportSection("made", "How this was made", _made(told)))
    return RenderedSections(sections, places.figures)


def verdict_heading(found: Diagnosis) -> str:
    """The verdict as a heading, final or preliminary; of a file with a mistake this first."""
    if found.upload.unusable:
        return "Correct the file first"
    firm = found.verdict == "problem found" or not found.pending
    return found.verdict.capitalize() if firm else "Not all tests have answered"


def _verdict(told: ReportContext) -> Markup:
    return render(
        "verdict",
        path=told.path,
        card=card.html(diagnosis_card(told.found, told.answers, told.asked), words=""),
        line=read_line(told.found),
    )


def _claims(found: Diagnosis) -> list[dict[str, object]]:
    """Rows for each kind of claim with its p-value in the verdict's family, smallest first."""
    return [
        {
            "Claims of": family["title"],
            "adjusted p-value": pvalue_text(family["pvalue"]),
            "Clearest claim": family["sentence"] or family["claim"],
            "|z|": f"{family['z']:.2f}",
            "Claims": family["claims"],
        }
        for family in found.families()
    ]


def _row(record: Record, found: Diagnosis) -> dict[str, str]:
    if record.statistic is None:
        return dict.fromkeys(_METHOD_COLUMNS, "–") | {"Test": record.title, "Statistic": "not run"}
    cells = [
        record.title,
        record.about,
        signed_text(record.statistic, ".4g"),
        pvalue_text(record.pvalue),
        pvalue_text(found.adjusted.get(record.label)),
        f"{record.draws_p:,}",
        f"{record.draws_q:,}" if record.draws_q else "–",
    ]
    return dict(zip(_METHOD_COLUMNS, cells, strict=True))


def _panel(told: ReportContext, panel: AnyQuestion, places: FigurePlaces) -> Markup:
    answer = told.answers.get(panel.name)
    if answer is None:
        return render("unanswered", why=_why(told, panel))
    first, *more = answer.describe(told.found) or ("Nothing to report.",)
    figures = answer.figures(told.found)
    shown = 0 if answer.finds(told.found) is False else _SHOWN
    read = told.path if told.files is None else told.files
    return render(
        "question",
        first=first,
        figures=places.of(figures[:shown]),
        more=more,
        more_figures=places.of(figures[shown:]),
        reading_guide=panel.reading_guide,
        notes=answer.notes(told.found),
        table=html_table(answer.rows(told.found), told.rows),
        code=question_code(panel, told.found, read),
    )


def _my_observation(told: ReportContext, places: FigurePlaces) -> Markup:
    """What can be said of q at the table's own observation, the worst first; empty without one."""
    upload, found = told.found.upload, told.found
    return Markup().join(
        render(
            "observation",
            title=answer.title,
            sentences=answer.sentences,
            figures=places.of(answer.drawn),
            cannot=answer.cannot,
            notes=answer.notes,
            table=html_table(answer.rows, told.rows),
        )
        for answer in own_answers(upload, found.alpha, found.seed)
    )


def _why(told: ReportContext, panel: AnyQuestion) -> str:
    """The reason why a question has no answer, such as that it was still running."""
    asked, upload = told.asked or Asked.only(told.answers), told.found.upload
    if asked.state(panel, upload) == "running":
        return "This was not finished when the report was made."
    return asked.why(panel, upload)


def _tests(told: ReportContext, places: FigurePlaces) -> Markup:
    diagnosis = told.found
    claims = Markup()
    if diagnosis.relabelled:
        claims = html_table(_claims(diagnosis), told.rows)
    return render(
        "tests",
        table=html_table([_row(record, diagnosis) for record in diagnosis.records], told.rows),
        claims=claims,
        remarks=filter(None, (_remark(record, diagnosis) for record in diagnosis.records)),
        tests=list(_findings(told, places)),
    )


def _remark(record: Record, found: Diagnosis) -> str | None:
    """The reason why a test did not run, or a remark on its limits."""
    if record.status == "not run":
        return f"{record.label} was not run. {record.reason}"
    return found.remark(record)


class _Finding(NamedTuple):
    """Findings of one test."""

    title: str
    paragraph: str
    figures: Markup
    parameters: Markup


def _findings(told: ReportContext, places: FigurePlaces) -> Iterator[_Finding]:
    """Findings of each test that has text, figures or parameters."""
    diagnosis = told.found
    for record in diagnosis.records:
        drawings = pictures(record, alpha=diagnosis.alpha, names=diagnosis.upload.names)
        paragraph = " ".join(findings(record, diagnosis.upload.x_names))
        ranked = _parameters(diagnosis) if record.kind.ranks_parameters else []
        if drawings or paragraph or ranked:
            table = html_table(ranked, told.rows)
            yield _Finding(record.title, paragraph, places.of(drawings), table)


def _parameters(found: Diagnosis) -> list[dict[str, object]]:
    """Rows of SBC's result for each parameter, the smallest p-value first."""
    return [
        {
            "Parameter": parameter.name,
            "Distance from uniform": parameter.statistic,
            "p-value": pvalue_text(parameter.pvalue),
            "adjusted": pvalue_text(parameter.pvalue_adjusted),
            "Mean rank": parameter.mean_rank,
            "Spread (1 if correct)": parameter.spread,
            "Ranks": parameter.reading,
        }
        for parameter in sorted(found.parameters, key=lambda parameter: parameter.pvalue)
    ]


def _read(told: ReportContext) -> Markup:
    upload = told.found.upload
    remarks = [*upload.warnings, *upload.notes]
    return render(
        "read",
        line=read_line(told.found),
        names=upload.names[:_LISTED],
        more_names=len(upload.names) - _LISTED,
        remarks=remarks[:_LISTED],
        more_remarks=len(remarks) - _LISTED,
    )


def _methods(told: ReportContext) -> Markup:
    further = {name: test.method for name, test in further_methods().items()}
    methods = [
        (record.title, further.get(record.name) or METHODS.get(record.name))
        for record in told.found.records
    ]
    return render(
        "methods",
        claims=told.found.relabelled,
        level=level_text(told.found.alpha),
        methods=[(title, method) for title, method in methods if method is not None],
    )


def _made(told: ReportContext) -> Markup:
    diagnosis = told.found
    facts = {
        "File": told.path,
        "Fingerprint of its numbers": diagnosis.upload.digest,
        "Level": level_text(diagnosis.alpha),
        "Seed": str(diagnosis.seed),
        "Made": told.when.strftime("%Y-%m-%d %H:%M %Z").strip(),
        **numbers.library_versions(),
    }
    return render("made", values=facts)
