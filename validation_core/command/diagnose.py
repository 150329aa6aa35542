"""`diagnose FILE`: the page's diagnosis, in this process."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from validation_core import diagnosis, panels, report, uploads
from validation_core.answers import Found
from validation_core.command import memory
from validation_core.command.options import json_option, level, methods, put, tell, writable
from validation_core.diagnosis import Diagnosis, Record, equals, findings, tasks
from validation_core.diagnosis.relabelling import RelabelTask
from validation_core.diagnosis.tasks import DiagnoseTask
from validation_core.engine import WorkerPool
from validation_core.engine.tasks import perform
from validation_core.panels import Panel
from validation_core.report.datatree import datatree
from validation_core.store import Store
from validation_core.types import Blocks, Method
from validation_core.uploads import Upload

_QUICK = 30_000  # numbers of the truths from which on a long answer is asked for by name
_SHARED = 64e6  # bytes of a table that is worth copying to a second process


class _Spent(Exception):
    """The time that a diagnosis was given has gone."""


def add(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    option = parser.add_argument
    option("file", type=Path)
    usual = ", ".join(method.name for method in diagnosis.default_methods())
    further = ", ".join(diagnosis.further_methods())
    option(
        "--method", action="append", metavar="NAME[:field=value,...]|all",
        help=f"default: {usual}; all: {further} too",
    )  # fmt: skip
    option("--alpha", type=level, default=0.05, help="level of the whole diagnosis")
    option("--seed", type=int, default=0)
    option("--budget", type=float, metavar="SECONDS", help="methods that take longer are not run")
    option("--order", choices=("NKD", "KND"), help="axes of theta_q, where N = K leaves it open")
    option(
        "--answers", default="usual", metavar="NAME,...|usual|all|none",
        help=f"beyond the verdict: {', '.join(_names())}; usual: all, as far as they are quick",
    )  # fmt: skip
    option("--report", type=Path, metavar="PATH.html", help="write an HTML report")
    option("--datatree", type=Path, metavar="PATH.nc", help="write the ranks as ArviZ reads them")
    json_option(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> None:
    """Read the file, run what can run, and print the diagnosis.

    Raises:
        ValueError: for a file or options that cannot be used.
    """
    wanted, asked = _wanted(chosen.method), _asked(chosen.answers)
    upload = uploads.read(chosen.file, order=chosen.order)
    _writable(chosen, upload)
    tasks.hold(upload)
    store = Store()
    for notice in store.notices:
        tell(notice)
    further = panels.tasks(asked, upload, wanted, chosen.seed)
    if chosen.answers == "usual":  # what waits for nothing: of a long answer, its first stage
        long = panels.tasks([one for one in asked if one.long], upload, wanted, chosen.seed)
        quick = upload.n * upload.dims[0] <= _QUICK
        further = [task for task in further if task not in long or (quick and not task.needs)]
        if long and not quick:
            tell("left out of a table this large: sensitivity (--answers sensitivity asks for it)")
    queue = [*tasks.tasks(upload, wanted, chosen.seed), *further]
    if chosen.budget is None:  # nobody waits for relabelling's answer without learned scores
        queue = [one for one in queue if not (isinstance(one, RelabelTask) and not one.whole)]
    with _beside(queue, store, upload):
        _run_in_turn(queue, store, chosen.budget)
    records, _ = tasks.records(store, upload, wanted, chosen.seed)
    answered = {record.label: record for record in records}
    late = f"The budget of {chosen.budget or 0:g} s was spent before it could run."
    records = [
        answered.get(method.label) or diagnosis.Record.not_run(method, late) for method in wanted
    ]
    found = diagnosis.verdict(records, upload, alpha=chosen.alpha, seed=chosen.seed)
    answers = panels.answered(store, upload, wanted, chosen.seed, asked)
    if chosen.report:
        chosen.report.write_text(
            report.html(found, answers, path=str(chosen.file)), encoding="utf-8"
        )
    if chosen.datatree:
        chosen.datatree.write_bytes(datatree(found, upload))
    put(
        lambda: report.as_json(found, answers), chosen.json,
        lambda: _read_aloud(found, answers, asked),
    )  # fmt: skip


def _writable(chosen: argparse.Namespace, upload: uploads.Upload) -> None:
    """Refuse what could not be written once all has run.

    Raises:
        ValueError: for a file that cannot be written, or the ranks of two samples.
    """
    writable(chosen.report, chosen.datatree, chosen.json)
    if chosen.datatree and isinstance(upload.data, Blocks):
        raise ValueError(
            "A DataTree holds ranks of the truth among q's draws at each x; got two samples p and "
            "q, which have no x. Leave --datatree out."
        )


def _names() -> tuple[str, ...]:
    return tuple(panel.name for panel in panels.PANELS)


def _asked(text: str) -> tuple[Panel, ...]:
    """The panels of these names, in their order.

    Raises:
        ValueError: for a name that no panel has.
    """
    every = {"usual": _names(), "all": _names(), "none": ()}
    names = every.get(text, tuple(text.split(",")))
    asked = {panels.by_name(name) for name in names}
    return tuple(panel for panel in panels.PANELS if panel in asked)


def _wanted(texts: Sequence[str] | None) -> Sequence[Method]:
    """The methods that were asked for, by default those that run unasked.

    A further method's bare name is that method with options that suit a table, as on the page.
    """
    named = [text for text in texts or () if text != "all"]
    further = diagnosis.further_methods()
    made = [
        further[text].method if text in further else method
        for text, method in zip(named, methods(named), strict=True)
    ]
    labels = [method.label for method in made]
    unasked = diagnosis.default_methods() if not named else ()
    every = diagnosis.with_further(tuple(further)) if "all" in (texts or ()) else unasked
    return [*(method for method in every if method.label not in labels), *made]


@contextmanager
def _beside(queue: Sequence[Any], store: Store, upload: Upload) -> Iterator[None]:
    """The dearest training in a process of its own, while this one goes on with the others.

    Whoever comes to it first trains, and the other waits for it: without a second core, or where
    the table is large, this process does both.
    """
    dear = tasks.dearest(queue)
    size = sum(array.nbytes for array in upload.arrays().values())
    if dear is None or dear.done(store) or (os.cpu_count() or 1) < 2 or size > _SHARED:
        yield
        return
    tasks.keep(store, upload)
    pool = WorkerPool(1)
    try:
        pool.submit(perform, dear, store, lambda fraction, live: None)
        yield
    finally:
        pool.shutdown()


def _run_in_turn(queue: Sequence[Any], store: Store, budget: float | None) -> None:
    start = time.perf_counter()

    def spent(fraction: float, live: Mapping[str, Any]) -> None:
        if budget is not None and time.perf_counter() - start > budget:
            raise _Spent

    for task in queue:
        try:
            spent(0.0, {})
            if not task.done(store):
                task.run(store, spent)
        except _Spent:
            tell(f"out of time before: {task.label}")
            return
        memory.release()  # a table may be nearly all that fits
        record = task.load(store) if isinstance(task, DiagnoseTask) else None
        said = f": p {equals(record.pvalue)}" if record else ""
        tell(f"{time.perf_counter() - start:6.1f} s  {task.label}{said}")


def _claimed(found: Diagnosis, record: Record) -> Iterator[str]:
    """Each kind of claim that is made, with its clearest one."""
    if found.claims is None or not found.counts(record):
        return
    for one in found.claims.families(found.upload.names, found.upload.x_names):
        if one["pvalue"] <= found.alpha:
            yield f"{one['title']}: p {equals(one['pvalue'])}; most of all {one['claim']}."


def _read_aloud(
    found: Diagnosis, answers: Mapping[str, Found], asked: Sequence[Panel]
) -> None:  # fmt: skip
    print(report.read_line(found))
    for said in (*found.upload.warnings, *found.upload.notes):
        print(f"  {said}")
    print(f"\n{found.verdict.capitalize()}. {found.sentence}\n")
    for record in found.records:
        said = (
            f"p {equals(record.pvalue)}, adjusted {equals(found.adjusted[record.label])}; "
            f"{record.about} {record.statistic:.4g}"
            if record.status == "ran"
            else f"not run: {record.reason}"
        )
        print(f"  {record.label:<14} {said}")
        more = (*findings(record, found.upload.x_names), *_claimed(found, record),
                found.remark(record))  # fmt: skip
        for line in filter(None, more):
            print(f"{'':<17}{line}")
    for panel in asked:
        reason = panel.module.obstacle(found.upload)
        if panel.name in answers:
            print(f"\n{panel.title}")
            for line in panels.told(panel, answers[panel.name], found):
                print(f"  {line}")
        elif reason is not None:
            print(f"\n{panel.title}\n  {reason}")
