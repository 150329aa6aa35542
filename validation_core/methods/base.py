"""Base class of the methods: everything a method declares, with common defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np

from validation_core.drawing.drawn import Drawn
from validation_core.drawing.rank_pictures import rank_figures
from validation_core.keys import Specification, known_specifications
from validation_core.scores import Recipe
from validation_core.text import interval_text
from validation_core.types import (
    Array,
    Benchmark,
    Budget,
    LogDensity,
    MethodStyle,
    Outcome,
    Paper,
    PosteriorTable,
    PowerCell,
    Score,
    Scores,
    TableScores,
    TruthRanks,
)

if TYPE_CHECKING:
    from validation_core.methods.record import Effect, Record
    from validation_core.statistics import Uniformity
    from validation_core.tables import TableUpload, Upload
    from validation_core.tables.ranges import Range


LEARN_ROWS = 50
"""Rows of an upload below which half of them teach a network nothing."""
RANK_ROWS = 5

Layout = Literal["blocks", "table"]
ScoreKind = Literal["fixed", "classifier", "recipe", "trial"]

RELABELLED = 1.5e-8
"""Seconds for one simulation under one relabeling, on one 2.x GHz core as all of these."""
RANKED = 0.02
"""Seconds for a million draws ranked."""
_LOGITS = 5.0  # seconds for a million rows under the shared classifier
_COPIES = 4  # of a table while it is drawn, scored and ranked


class Work(NamedTuple):
    """Size of one test, from which its cost is estimated."""

    rows: float
    """Millions of rows scored; wide rows of a user's table count more than once."""
    n: int
    """Simulations."""
    k: int
    """Draws of q at each."""
    d: int
    """Parameters."""
    most: int | None = None
    """Rows of each side that there are; None where as many are drawn as it asks for."""


class Further(NamedTuple):
    """A method that runs on request, with options that suit a table."""

    method: Method
    seconds: float
    """Seconds on 1000 rows with 200 draws of two parameters, on one core, training included."""
    adds: str
    """The question that only this method answers, in a line."""


class RecordView(NamedTuple):
    """How the record of a method is drawn."""

    alpha: float = 0.05
    """Level whose critical value is marked."""
    names: Sequence[str] = ()
    """Of the parameters."""
    only: int | None = None
    """Index of the ranked quantity to draw; by default the worst ones."""


class Method(Specification):
    """A test: its score, the layout of its draws, and its statistic.

    A subclass is a frozen dataclass whose fields are the test's options. Its `name` is also what
    stored keys call it.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[Paper]
    summary: ClassVar[str]
    statistic: ClassVar[str]
    """Name of the statistic, in a few words."""
    style: ClassVar[MethodStyle] = MethodStyle()
    """Colour, dash and symbol in every figure."""
    turn: ClassVar[int] = 100
    """Order among the tests that a diagnosis runs by default: those without training first."""
    runs_unasked: ClassVar[bool] = True
    """Whether a diagnosis runs it by default; else on request, with the options of `further`."""
    meaning: ClassVar[str] = ""
    """How to read a histogram of its ranks that is not flat, a sentence."""
    about: ClassVar[str] = "the centre"
    """Origin of its distances, where it ranks distances."""
    repeats_findings: ClassVar[bool] = False
    """Whether panels and captions of a diagnosis already state its findings."""
    ranks_parameters: ClassVar[bool] = False
    """Whether it ranks single parameters or quantities, each with a p-value of its own."""
    decides: ClassVar[bool] = False
    """Whether its p-value alone is the verdict of a diagnosis of a table."""
    layout: ClassVar[Layout] = "table"
    """Truth and draws at the same x, or independent rows of p and of q."""
    score_kind: ClassVar[ScoreKind] = "fixed"
    """Where its score is from: `score` without learning; the classifier that several methods
    share; its own `recipe`, once for all trials; or `learn`, anew in each trial."""
    pooled: ClassVar[bool] = True
    """Whether blocks' scores of many trials are one pool: not where a test weighs whole rows."""
    localizes: ClassVar[bool] = False
    """Whether its network is a localizer, whose ball can be mapped."""
    reads_x: ClassVar[bool] = True
    """Whether a fixed score looks at x, which a table repeats for every draw."""
    pools_groups: ClassVar[bool] = False
    """Whether it takes rows that share their draws for one pool: others need independent rows."""
    scores_by_number: ClassVar[bool] = False
    """Whether wide rows take as much longer to score as they have numbers: by trees, which read
    one after another, not by networks, which read all at once."""
    ranks_only: ClassVar[bool] = False
    """Whether it reads nothing but the ranks of truths among draws, by `of_ranks`."""

    def __init_subclass__(cls, *, spec: str | None = None, **options: object) -> None:
        """Register the class under its name."""
        own = f"method:{cls.name}" if "name" in cls.__dict__ else None
        super().__init_subclass__(spec=spec or own, **options)
        cls.ranks_only = cls.of_ranks is not Method.of_ranks

    @property
    def label(self) -> str:
        """Name with its options, as a legend shows it."""
        return self.title

    @property
    def label_of_several(self) -> str:
        """Label of several instances that differ in the number of draws."""
        return self.label

    @property
    def seed_name(self) -> str:
        """Name of its random streams, which stays as it is when the label is reworded."""
        return self.label

    @property
    def stream(self) -> tuple[str, ...]:
        """Names of the random stream that breaks ties in a diagnosis."""
        return "diagnose", self.seed_name

    @property
    def needs_training(self) -> bool:
        """Whether its score is learnt once for all trials, by a network kept under its key."""
        return self.score_kind in ("classifier", "recipe")

    @property
    def needs_x(self) -> bool:
        """Whether what it learns is a function of x, as a ball's centre or a local test is."""
        return self.localizes or self.learns_anew

    @property
    def tests_ranks(self) -> bool:
        """Whether it tests ranks that came without draws, by `test_ranks`."""
        return False

    @property
    def learns_anew(self) -> bool:
        """Whether it learns in every trial: its test and its training cannot be parted."""
        return self.score_kind == "trial"

    @property
    def reads_classifier(self) -> bool:
        """Whether it reads the classifier that several methods share."""
        return self.score_kind == "classifier"

    @property
    def is_fixed(self) -> bool:
        """Whether its score is made without learning."""
        return self.score_kind == "fixed"

    @property
    def runs_network(self) -> bool:
        """Whether scoring runs a neural network, which a GPU does faster."""
        return not self.is_fixed

    @property
    def degrades(self) -> bool:
        """Whether its network can be moved back to its random start, by beta."""
        return self.reads_classifier

    @property
    def stage(self) -> str:
        """The stage of a sensitivity search that runs it: `ranks`, `classifier`, `localizer`, or
        none where it takes too long at each strength."""
        if self.reads_classifier:
            return "classifier"
        return "ranks" if self.is_fixed else ""

    @property
    def verdict_score(self) -> str:
        """Name of its learned score in the exact verdict; "" where it has none."""
        return "classifier" if self.reads_classifier else ""

    def budget(self, n: int, k: int = 1) -> Budget:
        """Draws used by one test of n points (with k draws of q at each x, for tables)."""
        return Budget(n, n * k if self.layout == "table" else n)

    def test(self, scores: Scores, rng: np.random.Generator) -> Outcome:
        """Statistic and p-value for each leading index of the scores."""
        raise NotImplementedError(f"{type(self).__name__} has no test yet: write its `test`")

    def score(self, log_q: LogDensity | None = None) -> Score:
        """Of a fixed method: its score; `log_q` is the estimator's log density, where known."""
        raise NotImplementedError(f"{self.title} reads a score that is learnt")

    def score_on(self, benchmark: Benchmark, gamma: float) -> Score:
        """Of a fixed method: its score on a benchmark.

        Raises:
            ValueError: where the benchmark lacks the densities that the score needs.
        """
        return self.score(_log_q(benchmark, gamma))

    def recipe(self, n: int, k: int, benchmark: Benchmark | None = None) -> Recipe:
        """The recipe of its own, for tests of n simulations with k draws of q at each."""
        raise NotImplementedError(f"{self.title} has no recipe of its own")

    def sizes(self, n: int, k: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Of one that learns anew: rows and draws per row of the table it learns from, and of the
        one it looks at."""
        return (n, k), (n, k)

    def learn(self, train: PosteriorTable, rng: np.random.Generator) -> Score:
        """Of one that learns anew: the score of one trial."""
        raise NotImplementedError(f"{self.title} learns nothing in a trial")

    def known_scores(self, upload: TableUpload) -> TableScores | None:
        """Scores that an upload contains; None where they are computed."""
        del upload
        return None

    def most_rows(self, upload: Upload) -> int:
        """Largest number of rows of each side that a fixed test of blocks reads."""
        return self.budget(upload.n, 1).p

    def least_rows(self, *, table: bool) -> tuple[int, str]:
        """Fewest rows of a table, else of two samples, that it can run on, and its use of them."""
        del table
        if self.is_fixed:
            return RANK_ROWS, "ranks every row"
        return LEARN_ROWS, "learns its score on half of the rows"

    def obstacle(self, upload: Upload) -> str | None:
        """Reason why an upload with enough rows cannot serve its options; or None."""
        del upload
        return None

    @property
    def in_spreads(self) -> bool:
        """Whether it measures columns in units of their spread: no square of them is taken."""
        return self.reads_classifier

    def squared(self, upload: Upload) -> Sequence[Range]:
        """Columns of an upload whose squares it takes, and that reach too far for that."""
        theta, x = upload.extreme
        return (*theta, *x)

    @classmethod
    def further(cls) -> Further | None:
        """How a diagnosis runs it on request; None where it runs by default."""
        return None

    def effects(self, outcome: Outcome) -> dict[str, Effect]:
        """Effects of an outcome on an upload beyond its p-value, by plain names."""
        del outcome
        return {}

    @classmethod
    def findings(cls, record: Record, x_names: Sequence[str] = ()) -> tuple[str, ...]:
        """Findings of its record beyond the p-value, in sentences."""
        del record, x_names
        return ()

    @classmethod
    def silent_because(cls, benchmark: Benchmark, cell: PowerCell) -> tuple[str, str]:
        """Why it misses an error that another test finds there, and the demonstration of that."""
        del benchmark
        if cell.beta > 0 and cls().degrades:
            return (
                "its degraded network hardly tells the samples apart, or ranks them the wrong "
                "way round.",
                "collapse",
            )
        return "what it looks at is little changed by this error at this number of draws.", ""

    @classmethod
    def pictures(cls, record: Record, view: RecordView) -> Sequence[Drawn]:
        """The pictures of its record, in reading order; by default of its ranks, if any."""
        del view
        if "u" not in record.arrays:
            return ()
        return rank_figures(record.arrays["u"], cls.meaning)

    @classmethod
    def training_figures(cls, summary: Mapping[str, float]) -> list[Drawn]:
        """Figures of the training of its network, where there are any."""
        del summary
        return []

    def unfit(self, k: int) -> str | None:
        """Reason not to run it on many tables with k draws at each x, or None."""
        del k
        return "it trains anew for every table" if self.learns_anew else None

    @property
    def resamples(self) -> int:
        """Relabelings or permutations within one test; 0 for a known law."""
        return 0

    @property
    def scoring(self) -> float:
        """Seconds to score a million rows."""
        return _LOGITS if self.reads_classifier else 0.0

    def rows(self, n: int, k: int, pooled: bool = False) -> int:
        """Rows drawn for one test; pooled trials share their calibration draws."""
        del pooled
        return sum(self.budget(n, k))

    def places(self, n: int, k: int) -> int:
        """Distinct x at which one test needs draws of q."""
        del k
        return n if self.layout == "table" else self.budget(n, 1).q

    def cost(self, work: Work) -> float:
        """Seconds of one test, without drawing."""
        return work.n * self.resamples * RELABELLED + work.rows * (self.scoring + RANKED)

    def memory(self, n: int, rows: int, width: int) -> float:
        """Bytes for trials of n points, whose rows have so many numbers each."""
        del n
        chunk = 10 if self.layout == "blocks" else 1  # trials drawn at once
        return 8.0 * _COPIES * rows * width * chunk

    def test_ranks(self, ranks: TruthRanks, rng: np.random.Generator) -> Outcome:
        """Of one that ranks parameters: its test of ranks that came without draws."""
        raise NotImplementedError(f"{self.title} needs more than ranks of single parameters")

    def of_ranks(self, u: Array) -> Uniformity:
        """Statistic (...) and p-value (...) of `test` for ranks u (..., S, n)."""
        raise NotImplementedError(f"{self.title} reads more than ranks")


def kind_of(name: str) -> type[Method]:
    """The method of that name; `Method` itself, with its defaults, for one that is gone."""
    kind = known_specifications().get(f"method:{name}")
    return kind if kind is not None and issubclass(kind, Method) else Method


def _log_q(benchmark: Benchmark, gamma: float) -> LogDensity | None:
    """log q_gamma(theta|x) of a benchmark, or None where it does not know it."""
    if type(benchmark).log_q is Benchmark.log_q:  # one of its own always knows it
        theta, x = (np.zeros((1, width)) for width in benchmark.dims)
        if benchmark.log_q(theta, x, gamma) is None:
            return None

    def density(theta: Array, x: Array) -> Array:
        known = benchmark.log_q(theta, x, gamma)
        assert known is not None
        return known

    return density


def effect_interval_text(effect: Mapping[str, float], name: str, form: str = ".1%") -> str:
    """A number with its interval, by its name in an effect."""
    return interval_text((effect[name], effect[f"{name}_low"], effect[f"{name}_high"]), form)
