"""`diagnose FILE`: run the diagnosis of the page in this process."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from validation_core import Record, Result, Store, Table, diagnosis, reliability
from validation_core.api import diagnose
from validation_core.api.names import resolve_questions
from validation_core.cli.options import (
    NoteLines,
    add_json_option,
    add_table_options,
    check_writable,
    parse_file,
    parse_level,
    parse_methods,
    parse_path,
    parse_seconds,
    parse_seed,
    read_table,
    write_json_text,
)
from validation_core.cli.process import tell
from validation_core.cli.stream import WAIT, add_stream_options, run_stream
from validation_core.diagnosis import Diagnosis, findings
from validation_core.diagnosis.card import CARD_ENDINGS
from validation_core.diagnosis.outcome import EXIT_CODES, Outcome, outcome
from validation_core.diagnosis.questions import QUESTIONS, Asked
from validation_core.diagnosis.questions.calibration import CalibrationQuestion
from validation_core.diagnosis.questions.calibration.figure_names import USUAL_NAMES
from validation_core.diagnosis.questions.surface import TERMINAL
from validation_core.diagnosis.tasks import DiagnoseTask
from validation_core.diagnosis.verdict import ENOUGH, read_line
from validation_core.drawing.drawn import FIGURE_ENDINGS
from validation_core.drawing.image import FigureLook
from validation_core.engine import Task
from validation_core.methods.base import Method
from validation_core.tables import ProbabilitiesUpload, SamplesUpload
from validation_core.text import did_you_mean, equals, list_text, signed_text

_FIGURES = (*FIGURE_ENDINGS, ".html")
_FILE = """\
A file is .npz (or several .npy, or a folder of them), HDF5 (MATLAB's -v7.3 and Julia's too), an
ArviZ netCDF / DataTree, .json, a store of zarr (pip install 'zarr>=3'), long or melted .csv or
.parquet; text with spaces between its columns, as numpy.savetxt writes theta.txt, is one array.
Nothing is ever unpickled, nothing is read before its declared size has been accepted. It holds

  theta                       (N, D)         the true parameters, drawn from the prior
  x                           (N, ...)       the data simulated from each; axes are flattened
  theta_q                     (N, K, D)      K draws from q at each x; (K, N, D) is recognised
                                             when unambiguous, asked about otherwise
  log_q, log_q_draws          (N,), (N, K)   optional: log q at theta and at the draws;
                                             coverage of highest-density regions
  log_joint, log_joint_draws  (N,), (N, K)   optional: log p(theta, x), normalised or not; with
                                             the pair above the symmetric divergence,
                                             alone a test quantity; so is log_likelihood
  x_summary                   (N, S)         optional: read in place of a wide x
  quantity_NAME, quantity_NAME_draws         optional: a test quantity of your own at theta (N,)
                                             and at the draws (N, K), up to 20 of them; NaN leaves
                                             a row out of its test
  log_w, log_w_draws          (N,), (N, K)   optional: log weights, claimed density over the one
                                             drawn from; w, w_draws (weights) where no logarithms
  x_o, theta_o                (M,), (K', D)  optional: your own observation, or several (J, M), and
                                             q's draws at the first
  x_rep                       (L, M)         optional: data simulated at these draws
  theta_names, x_names        (D,), (M,)     optional labels
  periods                     (D,)           optional: of parameters that are angles, 0 for others;
                                             recognised where it is left out
  bounds                      (D, 2)         optional: the prior's least and greatest value of each
                                             parameter, NaN or infinite where there is none
  discrete                    (D,)           optional: 1 for parameters that are counts or classes

or two plain sample sets, p (n, d) and q (n', d), without conditioning; or ranks (N, D) of theta
among q's draws with max_rank, their number, or pit (N, D) in [0, 1], without the draws (also the
stats of R's SBC as .csv, prior_sbc of ArviZ, and what --datatree wrote); or probabilities (N, C)
of C models or classes with the true class label (N,), perhaps x, and class_names (C,), by which
label may name its class, or columns prob_NAME beside label, a number or a name. x may be left
out; complex x is read as two columns each; trials padded with NaN are recognised, other NaN in x
are missing values with --missing mask. Names that sbi, BayesFlow and tarp use are understood;
--map theta=NAME --map x=NAME gives others, x=NAME+NAME joins columns. A long table has one row
for each draw with sim, draw (-1 is the true value), theta_*, x_*, log_*, quantity_*, perhaps
weight, or true values in columns such as mass_true beside mass; of other names --map
sim=NAME,draw=NAME,theta=NAME+NAME,theta_q=NAME+NAME,x=NAME says which is which. Draws in
numbered columns, mass_0, mass_1, ... beside mass, are named by --map theta=mass --map
'theta_q=mass_*'. An ArviZ file has groups posterior, prior and observed_data or
prior_predictive. HDF5 may have a group for each simulation, and files of one simulation each
(results of bilby) are rows of one table. Where all axes are reversed, as MATLAB, Julia and R
store them, --order DKN says so. Below N = 50 no classifier is trained, below K = 10 ranks are
coarse; a thousand simulations with a hundred draws each make a good table.

Positive parameters over decades are read by their logarithm (--logarithms none: as saved). Where
rows, columns or scale of theta_q are not theta's, that is said before any verdict, with the line
of code against it; --correct rows, columns or scale corrects it while reading, --correct thin=5
uses every 5th draw of a chain, --correct one_row one row of each repeated theta.

True values and draws are converted to one float type, the narrowest they were saved in, so that
equal numbers stay equal. Rows must have draws of their own: where q was sampled once and pasted
at several rows (a constant x, a few distinct x), they are one pool, and Relabelling alone runs.
"""


_ONE_WORD = ("ranks", "reliability")
"""Titles of figures that are one word."""
_FAILING: dict[str, tuple[Outcome, ...]] = {
    "never": (),
    "problem": ("problem",),
    "power": ("problem", "too little power"),
}
"""Outcomes that end with a code of their own, by --fail-on."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.formatter_class, parser.epilog = argparse.RawDescriptionHelpFormatter, _FILE
    option = parser.add_argument
    option(
        "files", type=parse_file, nargs="+", metavar="FILE", help="one file, several, or a folder"
    )
    usual = ", ".join(method.name for method in diagnosis.default_methods())
    further = ", ".join(diagnosis.further_names())
    option(
        "--method",
        action="append",
        metavar="NAME[:field=value,...]|all",
        help=f"default: {usual}; all: {further} too",
    )
    option("--alpha", type=parse_level, default=0.05, help="level of the whole diagnosis")
    option("--seed", type=parse_seed, default=0)
    option("--budget", type=parse_seconds, metavar="SECONDS", help="what takes longer is not run")
    add_table_options(parser)
    option(
        "--questions",
        "--answers",  # its name before
        default="usual",
        metavar="NAME,...|usual|all|none",
        help=f"beyond the verdict: {', '.join(_names())}; usual: all, as far as they are quick",
    )
    option("--report", type=parse_path(".html"), metavar="PATH.html", help="write an HTML report")
    option(
        "--card",
        type=parse_path(*CARD_ENDINGS),
        metavar="PATH.png",
        help="write the verdict as .png, .pdf or .svg",
    )
    option(
        "--figure",
        action="append",
        type=_figure,
        default=[],
        metavar="NAME=PATH",
        help=f"write a figure, with one of the endings {', '.join(_FIGURES)}: "
        f"{', '.join(USUAL_NAMES)}, or a title of the report",
    )
    option(
        "--figure-style",
        choices=["screen", "paper"],
        default="screen",
        help="of --figure; paper: no title, letters of 8 points, a journal's column wide",
    )
    option("--figure-width", type=_width, metavar="INCHES", help="of the whole figure of --figure")
    option(
        "--datatree",
        type=parse_path(".nc"),
        metavar="PATH.nc",
        help="write the ranks as ArviZ reads them",
    )
    option(
        "--markdown",
        type=parse_path(".md", ".markdown", ".txt"),
        metavar="PATH.md",
        help="write a summary, as of a CI job",
    )
    option(
        "--junit",
        type=parse_path(".xml"),
        metavar="PATH.xml",
        help="write the verdict as a test report",
    )
    add_json_option(parser)
    gate = parser.add_argument_group(
        "gate",
        "Exit code 0: passed. 1: a problem was found. 2: the file or an option is to be corrected "
        "first. 3: too little power to tell.",
    )
    gate.add_argument(
        "--fail-on",
        choices=list(_FAILING),
        default="never",
        help="problem: end with 1 where q is found wrong; power: with 3, too, where the table is "
        "too small to find the bias of --shift; by default a diagnosis that ran ends with 0",
    )
    gate.add_argument(
        "--shift",
        type=float,
        default=ENOUGH,
        metavar="SD",
        help="bias of one parameter, in posterior sds, that is to be found with power 0.8; "
        f"default {ENOUGH:g}",
    )
    add_stream_options(parser)
    parser.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    """Read the file, run the tests that can run, print the diagnosis, and return the exit code.

    Raises:
        ValueError: for a file or options that cannot be used.
    """
    if chosen.stream:
        return run_stream(chosen)
    _check_used(chosen)
    wanted, questions = _wanted(chosen.method), _asked(chosen.questions)
    names = [name for name, _ in chosen.figure]
    table = read_table(chosen.files, chosen)
    figures = [path for _, path in chosen.figure]
    if not chosen.shift > 0:
        raise ValueError(f"--shift is a bias above 0 posterior sd; got {chosen.shift:g}. Try 0.5.")
    from validation_core.report import summaries  # imports the figures

    short = [(chosen.markdown, summaries.markdown), (chosen.junit, summaries.junit)]
    others = [chosen.report, chosen.card, chosen.datatree, chosen.json, *figures]
    check_writable(*others, *(path for path, _ in short), read=chosen.files)
    if isinstance(table.upload, ProbabilitiesUpload):
        _reliability(table, chosen)
        return 0
    if chosen.datatree and isinstance(table.upload, SamplesUpload):
        raise ValueError(
            f"A DataTree holds ranks of true values among q's draws at each x; got "
            f"{table.upload.held}. Leave --datatree out."
        )
    _check_figures(names)
    result = diagnose.diagnose(
        table,
        wanted,
        _with_figures(questions, names),
        alpha=chosen.alpha,
        seed=chosen.seed,
        budget=chosen.budget,
        progress=_TestLines(),
    )
    assert result.asked is not None, "a diagnosis says what was asked"
    result = replace(result, asked=replace(result.asked, surface=TERMINAL))
    if chosen.report:
        chosen.report.write_text(result.document(), encoding="utf-8")
    if chosen.card:
        chosen.card.write_bytes(result.image(chosen.card.suffix.lower() or ".png"))
    said = outcome(result.diagnosis, chosen.shift)
    if said != "mistake":
        if chosen.datatree:
            chosen.datatree.write_bytes(result.datatree())
    elif figures or chosen.datatree:
        tell("--figure and --datatree: not written before the file is corrected")
    for path, write in short:
        if path is not None:
            text = write(result.diagnosis, result.answers, said, result.path, result.asked)
            path.write_text(text, encoding="utf-8")
    write_json_text(result.to_json, chosen.json, lambda: print_diagnosis(result))
    if said != "mistake":
        _save_figures(result, chosen)  # a title that none has is an error beside the verdict
    return EXIT_CODES[said] if said in ("mistake", *_FAILING[chosen.fail_on]) else 0


def _check_used(chosen: argparse.Namespace) -> None:
    """Refuse options of other options that are not given.

    Raises:
        ValueError: for the first of them.
    """
    if not chosen.figure and (chosen.figure_width or chosen.figure_style != "screen"):
        raise ValueError(
            "--figure-style and --figure-width are of --figure; got none. Name one: --figure "
            "ecdf=ecdf.pdf."
        )
    if chosen.wait != WAIT:
        raise ValueError(
            "--wait is of --stream; got a whole table. Add --stream, or leave it out."
        )


def _reliability(table: Table, chosen: argparse.Namespace) -> None:
    """Test probabilities of classes, and print the answer.

    Raises:
        ValueError: for outputs that it has not.
    """
    if chosen.datatree or chosen.card:
        raise ValueError(
            "Probabilities of classes have no ranks and no card; got --datatree or --card. Take "
            "--report, --figure reliability=PATH or --json."
        )
    result = reliability(table, alpha=chosen.alpha, seed=chosen.seed, progress=False)
    if chosen.report:
        chosen.report.write_text(result.document(), encoding="utf-8")

    def aloud() -> None:
        print(f"{table.n:,} rows with probabilities of {len(table.names)} classes.")
        for text in (*table.warnings, *table.notes):
            print(f"  {text}")
        print(f"\n{result.verdict.capitalize()}. {' '.join(result.sentences)}\n")
        for row in result.rows():
            print(f"  {row['class']}: said {row['said']:.1%}, happened {row['happened']:.1%}")

    write_json_text(result.to_json, chosen.json, aloud)
    _save_figures(result, chosen)


def _save_figures(result: Result, chosen: argparse.Namespace) -> None:
    """Write the figures that were asked for.

    Raises:
        ValueError: where the result has no such figure, or for a width that none has.
    """
    for name, path in chosen.figure:
        result.save_figure(name, path, style=chosen.figure_style, width=chosen.figure_width)


def _figure(text: str) -> tuple[str, Path]:
    """`NAME=PATH`, for argparse."""
    name, _, path = text.rpartition("=")
    if not name or Path(path).suffix.lower() not in _FIGURES:
        raise argparse.ArgumentTypeError(
            f"NAME=PATH, with an ending of {', '.join(_FIGURES)}; got {text!r}"
        )
    return name, Path(path)


def _width(text: str) -> float:
    """The width of a figure in inches, for argparse."""
    try:
        return FigureLook(width=float(text)).width or 0.0
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"a figure is 1 to 60 inches wide; got {text!r}; try 3.3, a journal's column"
        ) from None


def _check_figures(names: Sequence[str]) -> None:
    """Refuse, before anything runs, a name that no figure can have.

    Other titles are words of what was found, and known only then.

    Raises:
        ValueError: for one word that is not a usual name or a title of one word.
    """
    for name in names:
        if " " in name.strip() or name in USUAL_NAMES or name.casefold() in _ONE_WORD:
            continue
        known = list(USUAL_NAMES)
        raise ValueError(
            f"--figure takes {list_text(known, 'or')}, or a title of the report; got {name!r}. "
            f"{did_you_mean(name, known)}"
        )


def _with_figures(questions: str | tuple[str, ...], names: Sequence[str]) -> str | Sequence[str]:
    """The questions with the one that makes the figures of usual names."""
    if questions in ("usual", "all") or not any(name in USUAL_NAMES for name in names):
        return questions
    others = () if isinstance(questions, str) else questions
    return tuple(dict.fromkeys((*others, CalibrationQuestion.name)))


class _TestLines(NoteLines):
    """Prints a line for each piece of work, with its p-value."""

    def end(self, task: Task, seconds: float, store: Store) -> None:
        record = task.load(store) if isinstance(task, DiagnoseTask) else None
        suffix = f": p {equals(record.pvalue)}" if record else ""
        tell(f"{seconds:6.1f} s  {task.label}{suffix}")

    def late(self, task: Task) -> None:
        tell(f"out of time before: {task.label}")

    def left_out(self, question: str) -> None:
        tell(f"left out of a table this large: {question} (--questions {question} asks for it)")


def _names() -> tuple[str, ...]:
    return tuple(question.name for question in QUESTIONS)


def _asked(text: str) -> str | tuple[str, ...]:
    """The questions of these names.

    Raises:
        ValueError: for an unknown name.
    """
    questions = text if text in ("usual", "all", "none") else tuple(text.split(","))
    resolve_questions(questions)
    return questions


def _wanted(texts: Sequence[str] | None) -> Sequence[Method]:
    """The chosen methods, by default the usual ones.

    The name of a further method alone has options that suit a table, as on the page.
    """
    specs = [text for text in texts or () if text != "all"]
    further = diagnosis.further_methods() if texts else {}
    chosen_methods = [
        further[text].method if text in further else method
        for text, method in zip(specs, parse_methods(specs), strict=True)
    ]
    labels = [method.label for method in chosen_methods]
    unasked = diagnosis.default_methods() if not specs else ()
    others = diagnosis.with_further(tuple(further)) if "all" in (texts or ()) else unasked
    return [*(method for method in others if method.label not in labels), *chosen_methods]


def _claimed(found: Diagnosis, record: Record) -> Iterator[str]:
    """Each kind of error that is found, with the clearest claim or, of magnitudes, its numbers."""
    if not found.counts(record):
        return
    for family in found.families():
        if family["pvalue"] <= found.alpha:
            pvalue, claim = equals(family["pvalue"]), family["claim"]
            clearest = f"clearest: {claim}" if family["named"] else claim
            yield f"{family['title']}: p {pvalue}; {clearest}."
            if family["sentence"] is not None:
                yield f"  {family['sentence']}"


def print_diagnosis(result: diagnose.DiagnosisResult) -> None:
    """Print the card, the line of each test, and the answers."""
    found, verdict = result.diagnosis, result.card
    print(read_line(found))
    for text in (*found.upload.warnings, *found.upload.notes):
        print(f"  {text}")
    print(f"\n{verdict.warning}" if verdict.warning else "")
    print(f"{verdict.title}. {verdict.sentence}")
    for fact in verdict.facts:
        print(f"  {fact.label}: {fact.text}")
    for i, step in enumerate(verdict.next_steps, 1):
        print(f"  {'Next:' if i == 1 else '     '} {i}. {step}")
    if found.upload.unusable:
        return
    print()
    for record in found.records:
        text = (
            f"p {equals(record.pvalue)}, adjusted {equals(found.adjusted[record.label])}; "
            f"{record.about} {signed_text(record.statistic, '.4g')}"
            if record.statistic is not None
            else f"not run: {record.reason}"
        )
        print(f"  {record.label:<14} {text}")
        more = (
            *findings(record, found.upload.x_names),
            *_claimed(found, record),
            found.remark(record),
        )
        for line in filter(None, more):
            print(f"{'':<17}{line}")
    asked = result.asked or Asked.only(result.answers)
    for question in QUESTIONS:
        answer = result.answers.get(question.name)
        if answer is not None:
            print(f"\n{question.title}")
            for line in answer.describe(found):
                print(f"  {line}")
        elif asked.names is None or question.name in asked.names:
            print(f"\n{question.title}\n  {asked.why(question, found.upload)}")
