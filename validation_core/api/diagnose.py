"""`diagnose`: is q right, how wrong, where, why, and which errors could have been missed.

If q is right, the truth and q's K draws at an x could change places. So the verdict asks which
slot plays the truth, in every row anew, 999 times over, and recomputes everything each time:
place, width, skew and tails of each parameter, pairs, the distance from q's centre, log densities
where there are any, the scores of the classifier, of trees within x, of DC, CoLT and TARP, and
all of it over x. The largest of them all, among those of the other labellings, is one p-value,
exact however the statistics depend on one another. Families have shares of the level; stepping
down gives each claim a p of its own, and no panel claims what the verdict does not: the chance
that anything on the page is wrongly claimed is the level. Rows that share one set of draws are
one pool, relabelled together. C2ST, Multiple, Uniform, SBC, TARP, CoLT and others keep their own
p-values beside it, by Holm among themselves, and do not count. Two samples p and q have no x:
there Holm over the tests that ran is the verdict, as it is when tests are asked for by name
(`--method`); questions are asked under relabelling all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from validation_core.api.ask import QuestionResult
from validation_core.api.helpers import helper_processes
from validation_core.api.keywords import checked_keywords
from validation_core.api.names import resolve_methods, resolve_question, resolve_questions
from validation_core.api.result import Result, Rows, check_not_read
from validation_core.api.table import Table, as_table
from validation_core.api.work import Watch, progress_watch, run_in_turn
from validation_core.diagnosis import Diagnosis, Record, tasks
from validation_core.diagnosis.card import Card, diagnosis_card
from validation_core.diagnosis.outcome import Outcome, outcome
from validation_core.diagnosis.questions import (
    ALIASES,
    Answers,
    AnyQuestion,
    Asked,
    TableStudy,
    answered_questions,
    question_studies,
    without_tests,
)
from validation_core.diagnosis.questions.calibration import CalibrationQuestion
from validation_core.diagnosis.questions.surface import PYTHON
from validation_core.diagnosis.tasks import RelabelTask
from validation_core.diagnosis.verdict import ENOUGH, NoClaims, Parameter, verdict
from validation_core.drawing.drawn import Drawn
from validation_core.engine import Task
from validation_core.mending import Mended
from validation_core.methods.base import Method
from validation_core.relabelling.claims import Claims
from validation_core.store import Store
from validation_core.tables import ProbabilitiesUpload, Upload
from validation_core.tables.reading import File

if TYPE_CHECKING:
    import xarray

_QUICK = 30_000  # numbers in the truths from which on a long question is asked only by name


@dataclass(frozen=True, eq=False, repr=False)
class DiagnosisResult(Result):
    """A verdict with the tests behind it, and the answers to further questions.

    `result["calibration"]` is the answer to one question, `for name in result` runs over those
    that were answered.

    Examples:
        >>> result = npt.diagnose(table, methods=["sbc", "tarp"], questions="size")
        >>> list(result), result.verdict
        (['size'], 'problem found')
        >>> [name for name, p in result.adjusted.items() if p <= 0.05]
        ['SBC', 'TARP']
    """

    diagnosis: Diagnosis
    answers: Answers
    """Answers by the name of the question, in reading order."""
    path: str
    """The file that the table came from."""
    left_out: tuple[str, ...] = ()
    """Long questions, which are asked of a large table only by name."""
    unfinished: tuple[str, ...] = field(default=())
    """Labels of tests for which the time budget did not suffice."""
    asked: Asked | None = None
    """State of each question; by default the answered ones were asked."""
    files: tuple[str, ...] = ()
    """All files that the table came from, where they have names."""

    @property
    def title(self) -> str:
        return self.card.title

    @property
    def table(self) -> Table:
        """The table that was diagnosed."""
        return Table.of(self.diagnosis.upload, self.path, self.files)

    @property
    def verdict(self) -> str:
        """`problem found`, `no problem found` or `not enough data`: never that q is right."""
        return self.diagnosis.verdict

    @property
    def nats_lower_bound(self) -> float:
        """Nats that q is wrong by at least, mean KL(p‖q) over x; 0 where that cannot be shown.

        The low end of the interval of what weights on q's draws regain on rows that they did not
        learn from, as `questions="mend"` asks: below KL(p‖q) in 97.5 of 100 tables or more, by a
        normal interval.

        Raises:
            KeyError: where that was not asked, or cannot be of this table.
        """
        found = self["mend"].numbers
        assert isinstance(found, Mended)
        return found.bound or 0.0

    def outcome(self, shift: float = ENOUGH) -> Outcome:
        """The verdict as a gate: `passed`, `problem`, `too little power`, or `mistake` of a file.

        Args:
            shift: bias of one parameter, in posterior sds, that a table must be able to show with
                power 0.8; where it is not, it has too little power.

        Raises:
            ValueError: for a bias that is not above zero.

        Examples:
            >>> npt.diagnose(table, methods=["sbc", "tarp"], questions="none").outcome()
            'problem'
        """
        return outcome(self.diagnosis, shift)

    @property
    def passed(self) -> bool:
        """Whether no problem was found by a table that finds a bias of half a posterior sd."""
        return self.outcome() == "passed"

    @property
    def pvalue(self) -> float | None:
        """Of the verdict: that of relabelling, or the smallest after Holm; None without tests."""
        return self.diagnosis.pvalue

    @property
    def pvalues(self) -> dict[str, float]:
        """Unadjusted p-values of the tests by label."""
        return {
            record.label: record.pvalue
            for record in self.diagnosis.records
            if record.pvalue is not None
        }

    @property
    def adjusted(self) -> Mapping[str, float]:
        """Adjusted p-values by label: that of relabelling, and Holm's over the others."""
        return self.diagnosis.adjusted

    @property
    def claims(self) -> Claims | NoClaims:
        """What questions may claim, all at one level; or why relabelling did not run."""
        return self.diagnosis.claims

    @property
    def records(self) -> tuple[Record, ...]:
        """Result of each test, with its arrays."""
        return self.diagnosis.records

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Ranks of each parameter's truths among q's draws, where SBC ran."""
        return self.diagnosis.parameters

    @property
    def questions(self) -> tuple[str, ...]:
        """Names of the answered questions, in reading order."""
        return tuple(self.answers)

    @property
    def card(self) -> Card:
        """The verdict at a glance: state, picture, how wrong, where, why, three next steps."""
        return diagnosis_card(self.diagnosis, self.answers, self.asked)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The card in words, any warning first, then the first sentence of each answer."""
        verdict = self.card
        warning = (verdict.warning,) if verdict.warning else ()
        facts = (f"{fact.label}: {fact.text}" for fact in verdict.facts)
        firsts = (self[name].sentences[:1] for name in self.questions)
        said = (first for several in firsts for first in several)
        return (*warning, verdict.sentence, *facts, *said)

    def __getitem__(self, question: str) -> QuestionResult:
        """The answer to one question.

        Raises:
            ValueError: for an unknown question.
            KeyError: for one that was not asked, or that this table cannot answer, with why.
        """
        wanted = resolve_question(question)
        answer = self.answers.get(wanted.name)
        if answer is None:
            asked, upload = self.asked or Asked.only(self.answers), self.diagnosis.upload
            if asked.state(wanted, upload) != "not asked":
                raise KeyError(asked.why(wanted, upload))
            raise KeyError(f"{wanted.title}: not asked; ask by questions=[{question!r}]")
        return QuestionResult(answer, self.diagnosis)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __iter__(self) -> Iterator[str]:
        return iter(self.questions)

    def __contains__(self, question: object) -> bool:
        return ALIASES.get(str(question), question) in self.answers

    def save(self, path: Path | str) -> Path:
        """Write a file: .html the report, .json every number, .csv or .tex the tests, .md or .xml
        a summary, .png the card, .nc the ranks.

        Raises:
            ValueError: for another suffix, or the file that the table was read from.
        """
        check_not_read(path, [self.path, *self.files])
        return super().save(path)

    def _asking(self) -> str:
        size = resolve_question(CalibrationQuestion.name)
        asked = self.asked
        if asked is None or asked.state(size, self.diagnosis.upload) == "not asked":
            return super()._asking()
        return asked.why(size, self.diagnosis.upload)

    def figures(self) -> tuple[Drawn, ...]:
        """Figures of the card, of every test, and of every answer."""
        from validation_core.panels.record import pictures

        found, names = self.diagnosis, self.diagnosis.upload.names
        picture = self.card.picture
        tests = [
            drawing
            for record in found.records
            for drawing in pictures(record, alpha=found.alpha, names=names)
        ]
        answers = (drawing for name in self.questions for drawing in self[name].figures())
        return (*([picture] if picture else []), *tests, *answers)

    def rows(self) -> Rows:
        """A row for each test."""
        return [
            {
                "method": record.label,
                "status": record.status,
                "statistic": record.statistic,
                "pvalue": self.pvalues.get(record.label),
                "pvalue_adjusted": self.adjusted.get(record.label),
                "counts": self.diagnosis.counts(record),
                "about": record.about,
                "reason": record.reason,
            }
            for record in self.diagnosis.records
        ]

    def to_json(self) -> str:
        """Every number, as the command line prints it."""
        from validation_core import report

        return report.as_json(self.diagnosis, self.answers, self.asked)

    def document(self) -> str:
        """The report: at most 5 MB of HTML, without the draws."""
        from validation_core import report

        return report.html(
            self.diagnosis,
            self.answers,
            path=self.path,
            asked=self.asked,
            files=self.files or None,
        )

    def image(self, suffix: str = ".png") -> bytes:
        """The card as PNG, 2,240 pixels across, or as vectors.

        Args:
            suffix: .png, .pdf or .svg.

        Raises:
            ValueError: for another suffix.
        """
        from validation_core.report import card

        return card.image(self.card, self.path, suffix)

    def to_datatree(self) -> xarray.DataTree:
        """Ranks, verdict and p-values for ArviZ: groups `prior_sbc`, `verdict`, `pvalues`.

        `npt.read` takes it back as a table of ranks.

        Raises:
            ValueError: for two samples, which have no x.
        """
        from validation_core.report.datatree import as_datatree

        return as_datatree(self.diagnosis, self.diagnosis.upload)

    def datatree(self) -> bytes:
        """The same as a netCDF file.

        Raises:
            ValueError: for two samples, which have no x.
        """
        from validation_core.report.datatree import datatree

        return datatree(self.diagnosis, self.diagnosis.upload)

    def _summary(self, ending: str) -> bytes:
        """The summary of this ending: Markdown, or JUnit's XML."""
        from validation_core.report.summaries import junit, markdown

        write = junit if ending == ".xml" else markdown
        said = self.outcome()
        return write(self.diagnosis, self.answers, said, self.path, self.asked).encode("utf-8")

    def _writers(self) -> Mapping[str, Callable[[], bytes]]:
        return {
            **super()._writers(),
            ".md": lambda: self._summary(".md"),
            ".xml": lambda: self._summary(".xml"),
            ".png": self.image,
            ".nc": self.datatree,
        }


@checked_keywords(answers="questions")
def diagnose(
    table: Table | Upload | File | Mapping[str, ArrayLike],
    methods: str | Sequence[str | Method] | None = None,
    questions: str | Sequence[str] = "usual",
    *,
    alpha: float = 0.05,
    seed: int = 0,
    budget: float | None = None,
    as_saved: bool = False,
    store: Store | None = None,
    progress: bool | Watch = True,
) -> DiagnosisResult:
    """Test whether q is the posterior, and where it is not, show how, where and why.

    If q is right, a problem is found with probability at most `alpha`. Earlier results for the
    same numbers, options and seed are read from the store. Other cores help with work of seconds,
    their number set by NPTLAB_WORKERS.
    Where rows, columns or scales of the draws are not those of the true values, nothing is tested,
    and the result says how to correct the file.

    Args:
        table: theta (N, D), x (N, ...), theta_q (N, K, D); or a file that holds them.
        methods: by default the usual ones, `all` for further ones too, or some by name.
        questions: `usual` (all that are quick on a table of this size), `all`, `none`, or some of
            size (calibration), over_x (where_x), in_theta (where_theta), observation, cause,
            sensitivity, checker (type1_error), in_nats and mend.
        alpha: level of the whole diagnosis.
        seed: of the split into training and test rows, of networks and of tie-breakers.
        budget: seconds after which the work stops: tests and questions that did not end are told
            as not run. What ended is kept; what was under way starts anew another time.
        as_saved: whether a file is tested that looks mistaken: its draws are meant as they are.
        store: of networks and results; by default the user's cache folder, with the shipped
            gallery behind it.
        progress: True for a bar on terminals and in notebooks, False for silence, or a `Watch`.

    Raises:
        TypeError: for what is no table, or an unknown keyword.
        ValueError: for a table or names that cannot be used.

    Examples:
        >>> npt.diagnose(table, methods=["sbc", "tarp"], questions="none").verdict
        'problem found'
    """
    chosen, asked = resolve_methods(methods), resolve_questions(questions)
    if not chosen:
        alone = asked[0].name if asked else CalibrationQuestion.name
        raise ValueError(
            "A diagnosis has one test or more, whose verdict it tells; got methods=[]. Leave "
            f'methods out for the usual ones, or ask without them: npt.ask("{alone}", table).'
        )
    known = as_table(table)
    upload = known.upload
    if isinstance(upload, ProbabilitiesUpload):
        raise ValueError(
            "A diagnosis compares true values with draws; got probabilities of classes. Test them "
            "with npt.reliability(table)."
        )
    if as_saved:
        upload = upload.as_meant()
    if upload.unusable:
        why = "Rows, columns or scales of the draws are to be corrected first."
        untested = [Record.not_run(method, why) for method in chosen]
        found = verdict(untested, upload, alpha=alpha, seed=seed)
        names = frozenset(question.name for question in asked)
        state = Asked(names, surface=PYTHON)
        return DiagnosisResult(found, {}, known.path, asked=state, files=known.files)
    tasks.register_upload(upload)
    store = store or Store.usual()
    with progress_watch(progress) as watch:
        for notice in store.notices:
            watch.note(notice)
        queue, left_out = _queue(upload, chosen, asked, seed, everything=questions != "usual")
        for question in left_out:
            watch.left_out(question)
        if budget is None:  # relabelling without learned scores is not needed in one process
            queue = [task for task in queue if not _preliminary(task)]
        under = _asked_under(queue, upload, seed, store)
        queue = [*under, *queue]
        with helper_processes(queue, store, [upload], budget) as helpers:
            ordered = tasks.work_beside_helpers(queue) if helpers else queue
            run_in_turn(ordered, store, watch, budget, helpers=helpers)
    records, _ = tasks.records(store, upload, chosen, seed)
    relabelling = next((task.load(store) for task in under), None)
    answered = {record.label: record for record in records}
    spent = f"The budget of {budget or 0:g} s was spent before it could run."
    names = frozenset(question.name for question in asked) - frozenset(left_out)
    all_records = [
        answered.get(method.label) or Record.not_run(method, spent) for method in chosen
    ]
    found = verdict(all_records, upload, alpha=alpha, seed=seed, asked_under=relabelling)
    allowed = not isinstance(found.claims, NoClaims)
    answers = answered_questions(store, upload, chosen, seed, asked) if allowed else {}
    unfinished = tuple(method.label for method in chosen if method.label not in answered)
    state = Asked(names, surface=PYTHON, unable=without_tests(upload, chosen, seed))
    open_ = [one for one in asked if one.name not in answers]
    late = budget is not None and (
        bool(unfinished) or any(state.state(one, upload) == "not ended" for one in open_)
    )
    return DiagnosisResult(
        found, answers, known.path, left_out, unfinished, replace(state, late=late), known.files
    )


def _asked_under(
    queue: Sequence[Task], upload: Upload, seed: int, store: Store
) -> tuple[RelabelTask, ...]:
    """Relabelling for the questions in the queue, where no test in it is relabelling."""
    studies = [task for task in queue if isinstance(task, TableStudy)]
    if not studies or any(isinstance(task, RelabelTask) for task in queue):
        return ()
    return (tasks.relabelling_for(upload, studies, seed, store),)


def _queue(
    upload: Upload,
    methods: Sequence[Method],
    asked: Sequence[AnyQuestion],
    seed: int,
    *,
    everything: bool,
) -> tuple[list[Task], tuple[str, ...]]:
    """The tasks to run, and the questions that are left out unless `everything` is asked."""
    further: Sequence[Task] = question_studies(asked, upload, methods, seed)
    left_out: tuple[str, ...] = ()
    if not everything:  # of a long question only the first stage
        slow = [question for question in asked if question.long]
        long = question_studies(slow, upload, methods, seed)
        quick = upload.n * upload.dims[0] <= _QUICK
        further = [task for task in further if task not in long or (quick and not task.needs)]
        if long and not quick:
            left_out = tuple(question.name for question in slow)
    return [*tasks.tasks(upload, methods, seed), *further], left_out


def _preliminary(task: Task) -> bool:
    return isinstance(task, RelabelTask) and not task.whole
