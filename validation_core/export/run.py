"""One export: batches of rows drawn one after the other, failures left out and counted."""

from __future__ import annotations

import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from .arrays import Array, check_shape, float_type, log_density_type
from .draws_table import Table
from .progress import Log, printer, progress_line, rows_text
from .table_sizes import size_text, table_bytes
from .time_limit import check_seconds, time_limit

if TYPE_CHECKING:
    from typing import Unpack  # of Python 3.11: the one file runs on older ones

MEMORY_MB = 1000.0
"""Bound on a table and one batch of its draws, unless another is given."""
MAX_SECONDS = 60.0
"""Time for one batch, and for one row by itself, unless another is given."""
AT_ONCE = 100_000
"""Draws in a batch: more is no faster, and sbi's own cap."""
_WORK = 4096  # bytes that a flow needs for one draw besides its numbers, about
_BATCHES = 20  # at least, so that the time left is known early
_GIVE_UP = 3  # rows that fail before any succeeds: the fault is not theirs


class RunOptions(TypedDict, total=False):
    """Names of a table's columns and bounds of its drawing, as keywords; as in `from_sbi`."""

    theta_names: Sequence[str] | None
    x_names: Sequence[str] | None
    memory_mb: float
    max_seconds: float | None
    progress: bool


class RowMisfit(ValueError):
    """Draws of a wrong shape, as every row would give them: the export ends."""


@dataclass(kw_only=True)
class ExportRun:
    """Draws of a sampler at the rows of a table, batch by batch.

    A batch that fails is drawn again row by row; a row that fails is left out and counted.
    """

    draw: Callable[[Array], Array]
    """Rows (b,) to their draws (b, K, D)."""
    log_prob: Callable[[Array, Array], Array] | None
    """Rows (b,) and draws (b, K, D) to log q of the truth and of each draw, (b, 1 + K)."""
    theta: Array
    """The truths (N, D)."""
    x: Array
    """The data (N, ...)."""
    k: int
    """Draws at each x."""
    memory_mb: float
    max_seconds: float | None
    say: Log
    alone: bool = False
    """Whether rows can only be drawn one at a time."""
    kind: type[np.floating] | None = None
    """Float type of the draws, which the truths and the first draws show to be needed."""
    lost: Counter[str] = field(default_factory=Counter)
    """Rows that were left out, by reason."""
    error: Exception | None = None
    """The last error of the sampler."""

    def table(self, theta_names: Sequence[str] | None, x_names: Sequence[str] | None) -> Table:
        """Draw at every row and return the table; Ctrl-C ends it with the rows that are done.

        Raises:
            ValueError: for a table beyond `memory_mb`, a sampler that fails at every row, or
                draws of a wrong shape.
            KeyboardInterrupt: when no row is done yet.
        """
        batch = most = self._plan()
        (n, d), k = self.theta.shape, self.k
        logs = np.empty((n, k + 1), np.float32) if self.log_prob else None
        indices, done, started = np.empty(n, np.intp), 0, time.monotonic()
        start = 0
        try:
            while start < n:
                rows = np.arange(start, min(start + (1 if self.alone else batch), n))
                good, samples, whole = self._draw_rows(rows, first=done == 0)
                place = slice(done, done + len(good))
                if not done:
                    draws = np.empty((n, k, d), samples.dtype)
                draws[place], indices[place] = samples, good
                if logs is not None and len(good):
                    logs = self._fill_densities(logs, place, good, samples)
                done, start = done + len(good), start + len(rows)
                batch = min(2 * batch, most) if whole else max(1, batch // 2)
                self.say("\r" + progress_line(start, n, time.monotonic() - started))
        except KeyboardInterrupt:
            if not done:
                raise
            self.lost["interrupted"] = n - done - sum(self.lost.values())
            self.say(f"Interrupted: the {done:,} rows that are done are kept.")
        self._report_losses(done)
        return Table(
            theta=self.theta[indices[:done]],
            x=self.x[indices[:done]],
            theta_q=draws[:done],
            log_q=None if logs is None else logs[:done, 0],
            log_q_draws=None if logs is None else logs[:done, 1:],
            theta_names=theta_names,
            x_names=x_names,
            left_out=dict(self.lost),
        )

    def _plan(self) -> int:
        """Return the rows in a batch, and say the sizes.

        Raises:
            TypeError: for a `max_seconds` that is no number.
            ValueError: for rows that do not pair, no time, or a table beyond `memory_mb`.
        """
        check_seconds(self.max_seconds)
        (n, d), k = self.theta.shape, self.k
        if len(self.x) != n or n < 1 or k < 1:
            raise ValueError(
                f"theta and x must have one row for each simulation, and k be at least 1; got "
                f"{n} and {len(self.x)} rows, k = {k}. Pass the pairs that the simulator made."
            )
        width, densities = self.x[0].size, self.log_prob is not None
        kind = np.dtype(float_type(self.theta))
        number, limit = kind.itemsize, self.memory_mb * 1e6
        total = table_bytes(n, k, d, width, densities, number)
        if total > limit:
            each = number * n * (d + densities)
            most = int((limit - table_bytes(n, 0, d, width, densities, number)) // each)
            remedy = f"k = {most} is the most that fits" if most > 0 else "pass fewer rows"
            raise ValueError(
                f"The table must fit in memory_mb = {self.memory_mb:g}; got {n:,} rows x {k:,} "
                f"draws x {d:,} parameters, which take {size_text(total)}. Here {remedy}; or "
                f"raise memory_mb."
            )
        for_one = k * (number * (2 * d + width) + _WORK)
        batch = min(int((limit - total) // for_one), AT_ONCE // k, math.ceil(n / _BATCHES))
        batch = 1 if self.alone else max(1, batch)
        self.say(
            f"{n:,} rows x {k:,} draws x {d:,} parameters{' with log q' * densities}: "
            f"{size_text(total)} in {kind}, {rows_text(batch)} at a time."
        )
        return batch

    def _draw_rows(self, rows: Array, first: bool) -> tuple[Array, Array, bool]:
        """Draw at some rows, one by one where they fail together.

        Args:
            rows: their indices (b,).
            first: whether no row has succeeded so far.

        Returns:
            indices of the rows that succeeded (g,), their draws (g, K, D), and whether they were
            drawn as one batch.
        """
        samples = self._try_batch(rows)
        if samples is not None:
            return *self._finite_rows(rows, samples), True
        if len(rows) == 1:
            self._count_failure(first)
            return rows[:0], np.empty((0, self.k, self.theta.shape[1])), False
        pieces: list[tuple[Array, Array]] = []
        for row in rows:
            good, draws, _ = self._draw_rows(row[None], first and not pieces)
            if len(good):
                pieces.append((good, draws))
        if not pieces:
            return rows[:0], np.empty((0, self.k, self.theta.shape[1])), False
        return (
            np.concatenate([good for good, _ in pieces]),
            np.concatenate([draws for _, draws in pieces]),
            False,
        )

    def _try_batch(self, rows: Array) -> Array | None:
        """Return the draws (b, K, D) at some rows; None where the sampler fails.

        Raises:
            RowMisfit: for draws of another shape.
        """
        try:
            with time_limit(self.max_seconds):
                samples = np.asarray(self.draw(rows))
        except RowMisfit:
            raise
        except Exception as error:  # whatever a model raises at some x
            self.error = error
            self.alone |= isinstance(error, NotImplementedError)
            return None
        shape = (len(rows), self.k, self.theta.shape[1])
        if samples.shape == shape[:2] and shape[2] == 1:
            samples = samples[..., None]
        if samples.shape != shape:
            raise RowMisfit(
                f"Draws must come as {shape}: {shape[1]} at each x, one column for each of "
                f"theta's {shape[2]}; got {samples.shape}. Check what the sampler returns."
            )
        return samples

    def _finite_rows(self, rows: Array, samples: Array) -> tuple[Array, Array]:
        """Return the rows whose draws are finite, with these draws in the table's type."""
        if self.kind is None:
            self.kind = float_type(self.theta, samples)
        with np.errstate(over="ignore"):
            samples = samples.astype(self.kind, copy=False)
        good = np.isfinite(samples).all(axis=(1, 2))
        if not good.all():
            self.lost["draws that are NaN or infinite"] += int((~good).sum())
        return rows[good], samples[good]

    def _count_failure(self, first: bool) -> None:
        """Count a row at which the sampler failed.

        Raises:
            ValueError: when the first rows fail, and none has succeeded.
        """
        error = self.error
        late = isinstance(error, TimeoutError) or "max_sampling_time" in str(error)
        reason = f"longer than {self.max_seconds:g} s" if late else f"{type(error).__name__}"
        self.lost[reason] += 1
        failed = sum(self.lost.values())
        if first and failed >= min(_GIVE_UP, len(self.theta)):
            remedy = (
                "Its mass may lie outside the prior, or it is slow: raise max_seconds."
                if late
                else "Try the sampler on one row by itself."
            )
            raise ValueError(
                f"q must give {self.k} draws at each x; got none at the first {failed} rows "
                f"({reason}: {_on_one_line(error)}). {remedy}"
            ) from error

    def _fill_densities(
        self, logs: Array, place: slice, rows: Array, samples: Array
    ) -> Array | None:
        """Write log q of some rows into its array (N, 1 + K); return None where it fails."""
        assert self.log_prob is not None
        try:
            with time_limit(self.max_seconds):
                values = np.asarray(self.log_prob(rows, samples))
            check_shape("log q", values, (len(rows), self.k + 1))
            wide = np.promote_types(logs.dtype, log_density_type(values))
            logs = logs.astype(wide, copy=False)
            logs[place] = values
        except Exception as error:  # whatever a model raises; the draws are worth keeping
            words = f"{type(error).__name__}: {_on_one_line(error)}"
            warnings.warn(f"log q is left out: {words}", stacklevel=2)  # in silence too
            self.log_prob = None
            return None
        return logs

    def _report_losses(self, done: int) -> None:
        """Say which rows were left out.

        Raises:
            ValueError: when all were.
        """
        if self.lost:
            counts = (f"{rows_text(count)}: {reason}" for reason, count in self.lost.items())
            self.say(
                f"Kept {rows_text(done)}. Left out, so that q is not tested there: "
                f"{'; '.join(counts)}."
            )
        if not done:
            raise ValueError(
                f"At least one row must have draws; got none ({', '.join(self.lost)}). Try the "
                f"sampler on one row by itself."
            )


def _on_one_line(error: BaseException | None) -> str:
    """The beginning of an error's message, without line breaks."""
    return " ".join(str(error).split())[:200]


def run_table(
    draw: Callable[[Array], Array],
    log_prob: Callable[[Array, Array], Array] | None,
    theta: Array,
    x: Array,
    k: int,
    *,
    alone: bool = False,
    **options: Unpack[RunOptions],
) -> Table:
    """Draw k times at each row of theta (N, D) and x (N, ...), and return the table.

    Args:
        draw: as in `ExportRun`.
        log_prob: as in `ExportRun`.
        theta: the truths (N, D).
        x: the data (N, ...).
        k: draws at each x.
        alone: whether rows can only be drawn one at a time.
        options: fields of `RunOptions`.

    Raises:
        ValueError: as `ExportRun.table` does.
        TypeError: for an option that there is not.
    """
    if unknown := options.keys() - RunOptions.__annotations__.keys():
        raise TypeError(
            f"The options are {', '.join(RunOptions.__annotations__)}; got {min(unknown)}."
        )
    run = ExportRun(
        draw=draw,
        log_prob=log_prob,
        theta=theta,
        x=x,
        k=k,
        memory_mb=options.get("memory_mb", MEMORY_MB),
        max_seconds=options.get("max_seconds", MAX_SECONDS),
        say=printer(options.get("progress", True)),
        alone=alone,
    )
    return run.table(options.get("theta_names"), options.get("x_names"))
