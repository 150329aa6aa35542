"""Tools for an agent: questions about the tables of one folder, each bounded in time.

Nothing is written but the store of results, and no file outside the folder is read: links and `..`
are resolved first. A table is parsed in a child process of bounded memory and time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from validation_core.agents.answers import Listing, Snippet, ToolAnswer, ToolVerdict
from validation_core.api.compare import compare
from validation_core.api.diagnose import DiagnosisResult, diagnose
from validation_core.api.names import resolve_question
from validation_core.api.observation import observation
from validation_core.api.result import Result
from validation_core.api.table import Table, read
from validation_core.api.work import SilentProgress
from validation_core.diagnosis.questions import AnyQuestion
from validation_core.diagnosis.questions.surface import TOOLS
from validation_core.export import SNIPPETS
from validation_core.report.numbers import dumps
from validation_core.store import Store
from validation_core.tables import ProbabilitiesUpload
from validation_core.tables.server_files import list_files, resolve_in_folder

SECONDS = 45.0
"""Time of a call; clients often give up after a minute."""
_LEAST, _MOST = 5.0, 600.0
_ROWS = 8
_BEFORE = (
    'Put export.py beside the script: `python -c "from validation_core.export.one_file import '
    'one_file; print(one_file())" > export.py`, or write `from validation_core.export import` in '
    "place of `from export import`. Simulations must be fresh: theta from the prior, x from the "
    "simulator, none of them used in training. A thousand with a hundred draws each make a good "
    "table; save it in the folder of this server."
)


class FolderTools:
    """Tools over the tables of one folder.

    Args:
        folder: no file outside of it is read.
        store: of results; by default the user's cache folder.

    Raises:
        ValueError: for what is no folder.
    """

    def __init__(self, folder: Path, store: Store | None = None) -> None:
        if not folder.is_dir():
            raise ValueError(f"Tools read the tables of a folder; got {folder}. Name a folder.")
        self.folder, self._store = folder.resolve(), store

    def list_tables(self) -> Listing:
        """List the files in the folder that may hold a table: theta, x, and draws of q."""
        found = list_files(self.folder)
        empty = "" if found.files else "No table yet: how_to_save says how to make one."
        return Listing(files=list(found.files), note=found.cut or empty)

    def how_to_save(self, estimator: str = "any sample(x, k)") -> Snippet:
        """Give a script that saves an estimator's draws as a table, to run in its environment.

        Args:
            estimator: the package that q was trained with, such as sbi or BayesFlow; otherwise
                `any sample(x, k)`.
        """
        if estimator not in SNIPPETS:
            raise ValueError(
                f"There is a script for {', '.join(SNIPPETS)}; got {estimator!r}. Take one of "
                "these: `any sample(x, k)` serves every sampler."
            )
        return Snippet(code=SNIPPETS[estimator], before=_BEFORE, others=list(SNIPPETS))

    def diagnose(
        self,
        file: str,
        alpha: float = 0.05,
        seconds: float = SECONDS,
        corrections: Sequence[str] = (),
        arrays: dict[str, str] | None = None,
        order: str | None = None,
        as_saved: bool = False,
    ) -> ToolVerdict:
        """Test whether q is the posterior: verdict, p-value, how wrong, where, why, next steps.

        The p-value is exact: at most a share alpha of correct q end with a problem. Without one,
        `facts` say what could have been missed. Never call q correct: no test can show that.

        Args:
            file: a path from list_tables.
            alpha: level of the whole diagnosis.
            seconds: time; what did not run is listed. What ended is kept, and what was under way
                starts anew: ask again with more.
            corrections: mistakes of the file to correct, where the verdict names them: rows,
                columns, scale, one_row, thin=M.
            arrays: names of the file's arrays by role where they are not recognised, as
                {"theta": "params", "x": "data", "theta_q": "draws"}.
            order: NKD or KND, the axes of the draws, where N = K leaves it open.
            as_saved: whether draws that look mistaken are meant as they are.
        """
        with self._table(file, corrections, arrays, order, as_saved=as_saved) as table:
            if isinstance(table.upload, ProbabilitiesUpload):
                raise ValueError(
                    "A diagnosis compares true values with draws; got probabilities of classes. "
                    f"Run `nptlab diagnose {file}` in a shell."
                )
            return self._verdict(table, alpha, seconds)

    def ask(
        self,
        file: str,
        question: str,
        alpha: float = 0.05,
        seconds: float = SECONDS,
        corrections: Sequence[str] = (),
        arrays: dict[str, str] | None = None,
        order: str | None = None,
        as_saved: bool = False,
    ) -> ToolAnswer:
        """Ask one question about q, under the error rate of the verdict.

        Args:
            file: a path from list_tables.
            question: size (how wrong is each parameter), over_x (at which x), in_theta (where in
                theta), cause, sensitivity (what could have been missed), checker (can the tests
                be trusted here), in_nats, or mend (would weights on q's draws help, in nats).
            alpha: level of everything that it claims.
            seconds: time; a question that did not end says so: ask again with more.
            corrections: as in diagnose.
            arrays: as in diagnose.
            order: as in diagnose.
            as_saved: as in diagnose.
        """
        wanted = resolve_question(question)
        with self._table(file, corrections, arrays, order, as_saved=as_saved) as table:
            result = self._diagnosed(table, question, alpha, seconds)
            if question not in result:
                return _unanswered(wanted, result, seconds)
            answer = result[question]
            return _answer(answer, answer.sentences, answer.notes)

    def observation(
        self,
        file: str,
        x_o: Sequence[float] | None = None,
        row: int | None = None,
        local: bool = False,
        seconds: float = SECONDS,
        corrections: Sequence[str] = (),
        arrays: dict[str, str] | None = None,
        order: str | None = None,
        as_saved: bool = False,
    ) -> ToolAnswer:
        """Say what can be said of q at one observation, the worst first.

        Args:
            file: a path from list_tables.
            x_o: the observation, as many numbers as x has columns; by default the one in the file.
            row: or, in its place, that of a row of the table, which then plays the observation.
            local: whether L-C2ST and CoLT are trained too, which takes longer.
            seconds: time.
            corrections: as in diagnose.
            arrays: as in diagnose.
            order: as in diagnose.
            as_saved: as in diagnose.
        """
        with self._table(file, corrections, arrays, order, as_saved=as_saved) as table:
            result = observation(
                table,
                None if x_o is None else list(x_o),
                rows=() if row is None else row,
                local=local,
                store=self._store,
                progress=_Deadline(seconds),
            )
            return _answer(result, result.sentences, [*result.left_out.values()])

    def compare(self, files: Sequence[str], seconds: float = SECONDS) -> ToolAnswer:
        """Say which of several tables of the same simulations is nearest to the true posterior.

        Args:
            files: two or more paths from list_tables, with the same theta and x in every row.
            seconds: time.
        """
        tables = {}
        for file in files:
            with self._table(file) as table:
                tables[file] = table
        result = compare(tables, store=self._store, progress=_Deadline(seconds))
        return _answer(result, result.sentences, [])

    @contextmanager
    def _table(
        self,
        file: str,
        corrections: Sequence[str] = (),
        arrays: dict[str, str] | None = None,
        order: Any = None,
        *,
        as_saved: bool = False,
    ) -> Iterator[Table]:
        """A table of the folder; messages name the file as the agent did.

        Raises:
            ValueError: for a path that leads out of the folder, or a file that is no table.
        """
        path = resolve_in_folder(self.folder, file)
        try:
            table = read(path, corrections=list(corrections), arrays=arrays, order=order)
            yield table.as_meant() if as_saved else table
        except (ValueError, OSError, MemoryError) as error:
            raise ValueError(str(error).replace(str(path), file)) from error

    def _diagnosed(
        self, table: Table, questions: str, alpha: float, seconds: float
    ) -> DiagnosisResult:
        result = diagnose(
            table,
            questions=questions,
            alpha=alpha,
            budget=_bounded(seconds),
            store=self._store,
            progress=_Notes(),
        )
        assert result.asked is not None, "a diagnosis says what was asked"
        return replace(result, asked=replace(result.asked, surface=TOOLS))

    def _verdict(self, table: Table, alpha: float, seconds: float) -> ToolVerdict:
        result = self._diagnosed(table, "usual", alpha, seconds)
        card = result.card
        warning = [card.warning] if card.warning else []
        return ToolVerdict(
            verdict=result.verdict,
            outcome=result.outcome(),
            pvalue=result.pvalue,
            sentence=f"{card.title}. {card.sentence}",
            facts={fact.label: fact.text for fact in card.facts},
            next_steps=list(card.next_steps),
            tests={label: float(p) for label, p in result.adjusted.items()},
            table=card.loaded,
            warnings=[*warning, *table.warnings, *table.notes],
            not_done=[*result.unfinished, *result.left_out],
        )


class _Notes(SilentProgress):
    """Says nothing: an agent's standard output is the protocol."""

    def note(self, text: str) -> None: ...


class _Deadline(_Notes):
    """Ends work whose time is over.

    Args:
        seconds: that it may take.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = _bounded(seconds)
        self._end = time.monotonic() + self._seconds

    def begin(self, label: str) -> None:
        self.progress(0, 0.0, 1, 0.0)

    def progress(self, done: int, part: float, total: int, seconds: float) -> None:
        """End the work where its time is over.

        Raises:
            ValueError: then.
        """
        if time.monotonic() > self._end:
            raise ValueError(_late(self._seconds))


def _bounded(seconds: float) -> float:
    return min(max(float(seconds), _LEAST), _MOST)


def _late(seconds: float) -> str:
    """That some work did not end in this time, and what to do."""
    more = f"ask again with more seconds, at most {_MOST:g}"
    if seconds >= _MOST:
        more = "run nptlab in a shell, where no time is set"
    return (
        f"It did not end within {seconds:g} s. What ended is kept, and what was under way starts "
        f"anew: {more}."
    )


def _unanswered(wanted: AnyQuestion, result: DiagnosisResult, seconds: float) -> ToolAnswer:
    """Why a question has no answer; where the file is mistaken, how, and what corrects it."""
    asked, upload = result.asked, result.diagnosis.upload
    assert asked is not None, "a diagnosis says what was asked"
    if upload.unusable:
        return ToolAnswer(
            title=wanted.title,
            sentences=[asked.why(wanted, upload), *result.sentences],
            notes=list(result.card.next_steps),
        )
    if asked.late and asked.state(wanted, upload) == "not ended":
        return ToolAnswer(title=wanted.title, sentences=[_late(_bounded(seconds))])
    return ToolAnswer(title=wanted.title, sentences=[asked.why(wanted, upload)])


def _answer(result: Result, sentences: Sequence[str], notes: Sequence[str]) -> ToolAnswer:
    """A result's words, and the first rows of its table as JSON has them."""
    rows = json.loads(dumps([dict(row) for row in result.rows()[:_ROWS]]))
    return ToolAnswer(title=result.title, sentences=list(sentences), notes=list(notes), rows=rows)
