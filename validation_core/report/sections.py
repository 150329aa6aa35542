"""The words, tables and places for figures of a report, section by section."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from validation_core.diagnosis import Diagnosis, Record, findings, further_methods
from validation_core.diagnosis.card import diagnosis_card
from validation_core.diagnosis.questions import Answers, AnyAnswer, AnyQuestion, Asked
from validation_core.diagnosis.verdict import read_line
from validation_core.drawing.alt import describe_picture
from validation_core.drawing.drawn import Drawn
from validation_core.methods import METHODS
from validation_core.panels.record import pictures
from validation_core.report import card, numbers
from validation_core.report.numbers import utf8_text
from validation_core.text import first_text, level_text, pvalue_text, signed_text

_PATH = re.compile(r"""(["']?)\{path\}\1""")


def code(template: str, *, path: str, seed: int) -> str:
    """A script that reads the file and gives its answer; the path may hold anything."""
    written = repr(utf8_text(path))  # with its quotes: names may hold those too
    return _PATH.sub(lambda found: written, template.replace("{seed}", str(seed)))


_SHORT = 24  # letters
_NUMBER = re.compile(r"(< )?[+−-]?[\d.,]+(e[+−-]?\d+)?%?", re.ASCII)


def slug(text: str) -> str:
    """Letters, digits and hyphens: an anchor, or the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "figure"


def html_table(rows: Sequence[Mapping[str, object]], most: int) -> str:
    """A table of the first rows, and how many there are beside them."""
    if not rows:
        return ""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    numeric = {name for name in columns if all(_numeric(row.get(name)) for row in rows)}
    head = "".join(
        f'<th scope="col"{" class=number" * (name in numeric)}>{escape(str(name))}</th>'
        for name in columns
    )
    lines = "".join(
        f"<tr>{''.join(_cell(row.get(name), name in numeric) for name in columns)}</tr>"
        for row in rows[:most]
    )
    hidden = len(rows) - most
    more = (
        f"The first {most:,} of {len(rows):,} rows; the JSON has them all." if hidden > 0 else ""
    )
    return (
        f'<div class="scroll table" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>" + (f'<p class="aside">{more}</p>' if more else "")
    )


def cell(value: object) -> str:
    """A number to three digits, or a word."""
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
    """Whether it reads as a number: `-0.3`, `< 1e-300`, `1,000`, `12%`, or nothing."""
    if isinstance(value, str):
        return value in ("", "–") or _NUMBER.fullmatch(value) is not None
    return not isinstance(value, bool)


def _cell(value: object, numeric: bool) -> str:
    """A cell; what is short stays on one line."""
    content = cell(value)
    kind = "number" if numeric else "short" if len(content) <= _SHORT else "long"
    return f'<td class="{kind}">{escape(content)}</td>'


_LISTED = 20  # warnings and notes of a file that are shown
_SHOWN = 2
"""Figures of a question that stand open; the others are folded."""
_METHOD_COLUMNS = ("Test", "Statistic", "Value", "p-value", "adjusted", "True values", "q's draws")


class ReportContext(NamedTuple):
    """What a report is about."""

    found: Diagnosis
    answers: Answers
    panels: Sequence[AnyQuestion]
    path: str
    notes: str
    when: datetime
    rows: int
    """Of a table, the most that is shown."""
    asked: Asked | None = None
    """Which questions were asked; these answers alone, where nothing is said."""


class ReportSection(NamedTuple):
    """A part with its anchor and its heading."""

    name: str
    title: str
    body: str
    headed: bool = True
    """Whether its title stands above it: the verdict's body begins with a heading of its own."""

    @property
    def heading(self) -> str:
        """Its title as markup, where it stands above it."""
        return f"<h2>{escape(self.title)}</h2>" if self.headed else ""


class RenderedSections(NamedTuple):
    """All sections, and the figures that they have left places for."""

    sections: list[ReportSection]
    figures: list[go.Figure]


@dataclass
class FigurePlaces:
    """Where figures go: each is put in turn, and drawn by its number when the file is opened."""

    figures: list[go.Figure] = field(default_factory=list)

    def of(self, shown: Iterable[Drawn]) -> str:
        """Their places, side by side."""
        put = "".join(self._one(each) for each in shown)
        return f'<div class="figures">{put}</div>' if put else ""

    def _one(self, drawn: Drawn) -> str:
        number = len(self.figures)
        self.figures.append(drawn.figure)
        wide = ' class="wide"' if drawn.wide else ""
        name, alt = slug(drawn.title), describe_picture(drawn.picture, drawn.title)
        buttons = "".join(
            f'<button type="button" data-image="{kind}" aria-label="Save as {kind.upper()}: '
            f'{escape(drawn.title)}">{kind.upper()}</button>'
            for kind in ("svg", "png")
        )
        return (
            f'<figure{wide}><div class="head"><h4>{escape(drawn.title)}</h4><span>{buttons}</span>'
            f'</div><div class="scroll"><div class="drawing" data-figure="{number}" '
            f'data-name="{name}" role="img" aria-label="{escape(alt)}" '
            f'style="height:{drawn.figure.layout.height}px"></div></div>'
            f"<figcaption>{escape(drawn.caption)}</figcaption></figure>"
        )


def render_sections(told: ReportContext) -> RenderedSections:
    """The card, notes, each question in turn; each test, what was read and methods folded."""
    places = FigurePlaces()
    sections = [ReportSection("verdict", "Verdict", "".join(_verdict(told)), headed=False)]
    if told.notes:
        lines = escape(told.notes).replace("\n", "<br>")
        sections.append(ReportSection("notes", "Notes", f'<p class="notes">{lines}</p>'))
    for panel in told.panels:
        body = "".join(_panel(told, panel, places))
        sections.append(ReportSection(f"panel-{slug(panel.name)}", panel.title, body))
    sections += [
        ReportSection("tests", "Each test", _folded("Tests and figures", _tests(told, places))),
        ReportSection("table", "What was read", "".join(_read(told))),
        ReportSection("methods", "Methods", _folded("What the tests are", _methods(told))),
        ReportSection(
            "made", "How this was made", _folded("Versions and settings", [_made(told)])
        ),
    ]
    return RenderedSections(sections, places.figures)


def _folded(title: str, parts: Iterable[str]) -> str:
    """What a reader opens; nothing for nothing."""
    inside = "".join(parts)
    summary = f"<summary>{escape(title)}</summary>"
    return f"<details>{summary}{inside}</details>" if inside else ""


def verdict_heading(found: Diagnosis) -> str:
    """The verdict as a heading, firm or so far."""
    firm = found.verdict == "problem found" or not found.pending
    return found.verdict.capitalize() if firm else "Not all tests have answered"


def _verdict(told: ReportContext) -> Iterator[str]:
    diagnosis = told.found
    yield f'<h1 class="eyebrow">Is this posterior right? · {escape(told.path)}</h1>'
    yield card.html(diagnosis_card(diagnosis, told.answers, told.asked), words="")
    yield f'<p class="eyebrow">{escape(read_line(diagnosis))}</p>'


def _claims(found: Diagnosis) -> list[dict[str, object]]:
    """Each kind of claim with its p in the verdict's family, the smallest first."""
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
    if record.status == "not run":
        return dict.fromkeys(_METHOD_COLUMNS, "–") | {"Test": record.title, "Statistic": "not run"}
    cells = [
        record.title,
        record.about,
        f"{record.statistic:.4g}",
        pvalue_text(record.pvalue),
        pvalue_text(found.adjusted.get(record.label)),
        f"{record.draws_p:,}",
        f"{record.draws_q:,}",
    ]
    return dict(zip(_METHOD_COLUMNS, cells, strict=True))


def _panel(told: ReportContext, panel: AnyQuestion, places: FigurePlaces) -> Iterator[str]:
    panel_answer = told.answers.get(panel.name)
    if panel_answer is None:
        yield f'<p class="aside">{escape(_why(told, panel))}</p>'
        return
    first, *more = panel_answer.describe(told.found) or ("Nothing to report.",)
    figures = panel_answer.figures(told.found)
    shown = 0 if panel_answer.finds(told.found) is False else _SHOWN
    yield f'<p class="lead">{escape(first)}</p>'
    yield places.of(figures[:shown])
    yield _folded("More", _more(told, panel, panel_answer, more, places.of(figures[shown:])))


def _why(told: ReportContext, panel: AnyQuestion) -> str:
    """Why a question has no answer: what still ran will not run on in a file."""
    asked, upload = told.asked or Asked.only(told.answers), told.found.upload
    if asked.state(panel, upload) == "running":
        return "This was not finished when the report was made."
    return asked.why(panel, upload)


def _more(
    told: ReportContext,
    panel: AnyQuestion,
    answer: AnyAnswer,
    sentences: Sequence[str],
    figures: str,
) -> Iterator[str]:
    """All that a question has beyond its first sentence and its first figures."""
    if sentences:
        yield f"<p>{escape(' '.join(sentences))}</p>"
    yield figures
    yield f'<p class="how"><b>How to read it.</b> {escape(panel.reading_guide)}</p>'
    if notes := answer.notes(told.found):
        yield f'<p class="how"><b>Method.</b> {escape(" ".join(notes))}</p>'
    yield html_table(answer.rows(told.found), told.rows)
    python = code(panel.code, path=told.path, seed=told.found.seed)
    yield f"<pre><code>{escape(python)}</code></pre>"


def _tests(told: ReportContext, places: FigurePlaces) -> Iterator[str]:
    diagnosis = told.found
    yield html_table([_row(record, diagnosis) for record in diagnosis.records], told.rows)
    if diagnosis.relabelled:
        yield "<h3>What is claimed</h3>"
        yield html_table(_claims(diagnosis), told.rows)
    for record in diagnosis.records:
        if record.status == "not run":
            sentence = f"{record.label} was not run. {record.reason}"
            yield f'<p class="aside">{escape(sentence)}</p>'
        elif weaker := diagnosis.remark(record):
            yield f'<p class="aside">{escape(weaker)}</p>'
    for record in diagnosis.records:
        drawings = pictures(record, alpha=diagnosis.alpha, names=diagnosis.upload.names)
        paragraph = " ".join(findings(record, diagnosis.upload.x_names))
        ranked = _parameters(diagnosis) if record.kind.ranks_parameters else []
        if not (drawings or paragraph or ranked):
            continue
        yield f"<h3>{escape(record.title)}</h3>"
        yield f"<p>{escape(paragraph)}</p>" if paragraph else ""
        yield places.of(drawings)
        yield html_table(ranked, told.rows)


def _parameters(found: Diagnosis) -> list[dict[str, object]]:
    """What SBC says of each parameter, the worst first."""
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


def _read(told: ReportContext) -> Iterator[str]:
    upload = told.found.upload
    yield f"<p>{escape(read_line(told.found))}</p>"
    yield f"<p>Parameters: {escape(first_text(upload.names, _LISTED))}.</p>"
    remarks = [*upload.warnings, *upload.notes]
    yield "".join(f'<p class="aside">{escape(remark)}</p>' for remark in remarks[:_LISTED])
    if len(remarks) > _LISTED:
        yield f'<p class="aside">{len(remarks) - _LISTED:,} more remarks are in the JSON.</p>'


def _methods(told: ReportContext) -> Iterator[str]:
    rests = (
        "p-values are adjusted by Holm over the tests that ran"
        if not told.found.relabelled
        else (
            "The verdict is one exact test of everything that is looked at: at each x the true "
            "value and q's draws are relabelled at random, and every claim is adjusted in that "
            "one family. The papers' tests are shown for comparison, adjusted by Holm among "
            "themselves, and do not count"
        )
    )
    yield (
        f"<p>{rests}: if q is correct, a problem is found in at most "
        f"{level_text(told.found.alpha)} of tables. No answer shows that a posterior is "
        "correct: each says what would have been found.</p><dl>"
    )
    further = {name: test.method for name, test in further_methods().items()}
    for record in told.found.records:
        method = further.get(record.name) or METHODS.get(record.name)
        if method is None:
            continue
        yield f"<dt>{escape(record.title)}</dt><dd>{escape(method.summary)}"
        yield f"<br><cite>{escape(str(method.paper))}</cite></dd>"
    yield "</dl>"


def _made(told: ReportContext) -> str:
    diagnosis = told.found
    facts = {
        "File": told.path,
        "Fingerprint of its numbers": diagnosis.upload.digest,
        "Level": level_text(diagnosis.alpha),
        "Seed": str(diagnosis.seed),
        "Made": told.when.strftime("%Y-%m-%d %H:%M %Z").strip(),
        **{name: version for name, version in numbers.library_versions().items()},
    }
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in facts.items()
    )
    return f'<div class="scroll"><table class="facts">{rows}</table></div>'
