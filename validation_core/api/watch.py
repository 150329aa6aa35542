"""`watch`: evidence against q while its rows come, valid at every moment at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from validation_core.api.keywords import checked_keywords
from validation_core.api.result import Result
from validation_core.api.table import Table
from validation_core.diagnosis.evidence import RankEvidence
from validation_core.diagnosis.evidence_curve import evidence_curve
from validation_core.diagnosis.stream.learner import can_learn, learn_within
from validation_core.diagnosis.stream.rows import StreamRows
from validation_core.diagnosis.stream.running import RunningEvidence
from validation_core.diagnosis.stream.words import score_titles, stream_sentences
from validation_core.drawing.drawn import Drawn
from validation_core.tables import TableUpload, Upload


@dataclass(frozen=True, eq=False, repr=False)
class StreamResult(Result):
    """What the rows of a stream say of q so far.

    Examples:
        >>> *_, last = npt.watch([table])
        >>> last.sentences[0]
        'q is wrong: decided after 9 of 60 rows (p < 0.0001, valid however often one looks).'
        >>> last.decided_after, last.pvalue < 0.05
        (9, True)
    """

    evidence: RankEvidence
    names: tuple[str, ...]
    """Of the parameters."""
    alpha: float
    """Level at which it is decided."""
    left_out: int
    """Rows left out for NaN or infinite numbers."""
    repeats: int = 0
    """Rows left out since their theta and x came before."""
    warnings: tuple[str, ...] = ()
    """Of the tables among the rows, each once."""

    @property
    def title(self) -> str:
        return "Looking at every moment"

    @property
    def n(self) -> int:
        """Rows so far."""
        return len(self.evidence.wealth)

    @property
    def evalue(self) -> float:
        """The evidence against q now, to 1: of mean 1 or less at any moment if q is right."""
        return float(np.exp(min(self.evidence.wealth[-1], 700.0))) if self.n else 1.0

    @property
    def pvalue(self) -> float:
        """p-value of q so far: valid at every moment at once, since it never grows."""
        return self.evidence.pvalue

    @property
    def decided_after(self) -> int | None:
        """The number of rows after which q was found wrong; None while it is not."""
        return self.evidence.first_beyond(self.alpha)

    @property
    def decided(self) -> bool:
        """Whether q was found wrong."""
        return self.decided_after is not None

    @property
    def sentences(self) -> tuple[str, ...]:
        left_out = self.left_out, self.repeats
        told = stream_sentences(self.evidence, self.names, self.alpha, *left_out)
        return (*told, *self.warnings)

    def figures(self) -> tuple[Drawn, ...]:
        """The evidence after each row."""
        return (
            Drawn(
                "Evidence against q, row after row",
                evidence_curve(self.evidence.wealth, self.alpha, "rows", "after %{x} rows"),
                "Bets against q, each placed before its row is seen. If q were correct, the line "
                f"would ever reach {1 / self.alpha:.3g} to 1 in at most {100 * self.alpha:.3g}% "
                "of streams, however long they are.",
            ),
        )

    def rows(self) -> list[dict[str, str | float]]:
        """The evidence of each score by itself, the clearest first."""
        titles = score_titles(self.evidence, self.names)
        most = self.evidence.each.max(axis=1, initial=0.0)
        return [
            {"score": titles[i], "log evidence, largest": float(most[i])}
            for i in np.argsort(-most, kind="stable")
        ]

    def to_json(self) -> str:
        """The decision, its p-value, and the log evidence after each row."""
        from validation_core.report.numbers import dumps

        return dumps(
            {
                "rows": self.n,
                "left_out": self.left_out,
                "repeats": self.repeats,
                "level": self.alpha,
                "decided_after": self.decided_after,
                "pvalue": self.pvalue,
                "evidence": self.evalue,
                "sentences": list(self.sentences),
                "scores": self.rows(),
                "log_evidence": self.evidence.wealth,
            }
        )


@checked_keywords()
def watch(
    rows: Iterable[Mapping[str, Any] | Table | Upload] | Mapping[str, Any] | Table | Upload,
    *,
    alpha: float = 0.05,
    seed: int = 0,
    learn: bool = True,
) -> Iterator[StreamResult]:
    """Bet against q on each row as it comes; the bets are evidence that holds whenever one looks.

    Under a correct q the rank of a true value among q's draws is uniform whatever came before it,
    so that the wealth of one who bets on it grows by no more than chance: the probability that it
    ever reaches 1 / alpha is at most alpha (Ville's inequality; the proof is in
    `validation_core.statistics.betting`). Stop as soon as a state is decided, or whenever you
    like; the order of rows must not depend on their ranks.

    Bets are on each parameter's ranks, on the distance from q's middle, and on a score that trees
    and a network learn from the rows before, so that each row is bet on before it is learned from.

    Args:
        rows: any iterable of rows by name, theta (D,), theta_q (K, D) and perhaps x (M,); of
            several together, theta (n, D), theta_q (n, K, D), x (n, M); or of tables; or one
            table. NaN leaves a row out, and so does the theta and x of a row before it.
        alpha: level.
        seed: of tie-breakers, of what is learned, and of which draws of a row are read where not
            all are.
        learn: whether a score is learned from earlier rows: at 50 of them, and whenever there are
            half as many again, which takes about a second each.

    Yields:
        what the rows so far say, after each item.

    Raises:
        ValueError: for rows that are none, or of other sizes than the first.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> def rows():  # q too narrow: sd 0.5, where 1 is right
        ...     while True:
        ...         x = rng.standard_normal(2)
        ...         theta, theta_q = rng.normal(x, 1), rng.normal(x, 0.5, (100, 2))
        ...         yield {"theta": theta, "x": x, "theta_q": theta_q}
        >>> for state in npt.watch(rows()):
        ...     if state.decided:
        ...         break
        >>> state.n == state.decided_after < 50
        True
    """
    if isinstance(rows, Table | Upload | Mapping):
        rows = [rows]  # several rows together are one item
    reader, running = StreamRows(seed), None
    for item in rows:
        upload = item.upload if isinstance(item, Table) else item
        if isinstance(upload, Upload) and not isinstance(upload, TableUpload):
            raise ValueError(
                f"A stream needs draws of q at each x; got {upload.held}. Send theta and theta_q."
            )
        table = reader.table(upload)
        assert reader.sizes is not None, "rows have sizes"
        if running is None:
            learner = learn_within if learn and can_learn(reader.sizes[2]) else None
            running = RunningEvidence(reader.sizes[0], seed, learner)
        running.add(table)
        yield StreamResult(
            running.evidence(),
            reader.names,
            alpha,
            left_out=reader.left_out,
            repeats=reader.repeats,
            warnings=reader.warnings,
        )
