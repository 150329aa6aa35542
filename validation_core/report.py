"""A diagnosis as one HTML file that needs nothing else: verdict, table, pictures, JSON.

Everything a user named is escaped: the file may be opened by somebody else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape

from validation_core.diagnosis import Diagnosis, Record, findings, pvalue_text
from validation_core.figures.diagnosis import pictures
from validation_core.figures.outcome import Drawn

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;"
    "color:#22272e;background:#fff}table{border-collapse:collapse}td,th{padding:.3rem .8rem .3rem "
    "0;text-align:left;vertical-align:top;border-bottom:1px solid #dadde2}figure{margin:1.5rem 0}"
    "figcaption{color:#5a626d;font-size:.9rem}pre{overflow:auto;font-size:.8rem}"
)
_HEADINGS = ("Test", "Statistic", "Value", "p", "p, adjusted", "Draws of p", "Draws of q")


def html(diagnosis: Diagnosis) -> str:
    """The whole document; plotly's script is inside it once."""
    return "".join(_document(diagnosis))


def _document(diagnosis: Diagnosis) -> Iterator[str]:
    title = escape(diagnosis.verdict.capitalize())
    yield f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>"
    yield f"<style>{_STYLE}</style></head><body><h1>{title}</h1>"
    yield f"<p>{escape(diagnosis.sentence)}</p><p>{escape(read_line(diagnosis))}</p>"
    for said in (*diagnosis.upload.warnings, *diagnosis.upload.notes):
        yield f"<p>{escape(said)}</p>"
    yield "<table><tr>" + "".join(f"<th>{name}</th>" for name in _HEADINGS) + "</tr>"
    for record in diagnosis.records:
        yield _row(record, diagnosis.adjusted.get(record.label))
    yield "</table>"
    for record in diagnosis.records:
        if told := " ".join(findings(record, diagnosis.upload.x_names)):
            yield f"<p>{escape(record.label)}: {escape(told)}</p>"
        if weaker := diagnosis.remark(record):
            yield f"<p>{escape(weaker)}</p>"
    script: bool | str = True
    for title, figure, words in _figures(diagnosis):
        drawn = figure.to_html(full_html=False, include_plotlyjs=script)
        yield f"<figure><h3>{escape(title)}</h3>{drawn}<figcaption>{escape(words)}</figcaption>"
        yield "</figure>"
        script = False
    as_json = json.dumps(diagnosis.to_json(), indent=1)
    yield f"<details><summary>JSON</summary><pre>{escape(as_json)}</pre></details></body></html>"


def _row(record: Record, adjusted: float | None) -> str:
    if record.status == "not run":
        cells = [record.title, f"not run: {record.reason}"]
        return f"<tr><td>{escape(cells[0])}</td><td colspan='6'>{escape(cells[1])}</td></tr>"
    cells = [
        record.title, record.about, f"{record.statistic:.4g}", pvalue_text(record.pvalue),
        pvalue_text(adjusted), f"{record.draws_p:,}", f"{record.draws_q:,}",
    ]  # fmt: skip
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _figures(diagnosis: Diagnosis) -> Iterator[Drawn]:
    for record in diagnosis.records:
        shown = pictures(record, alpha=diagnosis.alpha, names=diagnosis.upload.names)
        for one in shown:
            yield one._replace(title=f"{record.title}: {one.title.lower()}")


def read_line(diagnosis: Diagnosis) -> str:
    """What was read, in a line."""
    upload = diagnosis.upload
    dim_theta, dim_x = upload.dims
    said = (
        f"{upload.n} rows with {upload.k} draws of q at each, {dim_theta} parameters, {dim_x} data"
        if upload.k
        else f"Two samples, {upload.n} points in the smaller one, {dim_theta} quantities"
    )
    lost = "".join(f"; {count} rows left out ({why})" for why, count in upload.dropped.items())
    return f"{said}{lost}. Level {100 * diagnosis.alpha:.3g}%, seed {diagnosis.seed}."
