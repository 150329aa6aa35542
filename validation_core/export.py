"""Draws of your posterior, saved as a table that NPT Lab reads: sbi, BayesFlow, any sampler.

This file stands alone: put it beside your script, in the environment of your model. It needs
NumPy, and Python 3.10 or later.

    from export import from_sbi, needs, suggest

    table = from_sbi(posterior, theta, x, k=200)  # theta (N, D), x (N, ...) from your simulator
    table.save("posterior.npz")

`theta` and `x` must be fresh simulations: theta from the prior, x from the simulator at theta,
none of them used to train the posterior. `print(needs())` says which test needs how many of them,
`print(suggest(n, d, dim_x))` how many draws at each x to take.

Sizes are printed before anything is drawn; Ctrl-C keeps the rows that are done. A row whose draws
fail (an error, more than `max_seconds`, NaN) is left out and counted. That depends on its x and
never on its theta, so the tests remain valid for the other rows; they say nothing of q there.
"""

from __future__ import annotations

import inspect
import math
import os
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "NEEDS",
    "SNIPPETS",
    "Table",
    "from_bayesflow",
    "from_callable",
    "from_sbi",
    "needs",
    "save",
    "suggest",
]

Array = NDArray[Any]
Log = Callable[[str], None]

MEMORY_MB = 1000.0
MAX_SECONDS = 60.0

_NUMBER = 4  # bytes of a float32
_WORK = 4096  # bytes that a flow needs for one draw besides its numbers, about
_AT_ONCE = 100_000  # draws in a batch: more is no faster, and sbi's own cap
_BATCHES = 20  # at least, so that the time left is known early
_GIVE_UP = 3  # rows that fail before any succeeds: the fault is not theirs
_COARSE = 1e-3  # of a column's sd: rounding to float32 beyond this would make ties
_PROPOSED = 200  # draws that estimate how much of q lies inside the prior


class Need(NamedTuple):
    """The size of table that a test needs."""

    test: str
    rows: str
    """Simulations (theta, x)."""
    draws: str
    """Draws of q at each x."""
    note: str


NEEDS: tuple[Need, ...] = (
    Need("SBC", "200 to 1,000", "100 to 1,000", "p-values are exact for any number"),
    Need("HPD coverage", "200 to 1,000", "100 to 1,000", "needs log q at true values and draws"),
    Need("TARP", "200 to 500", "100 to 1,000", "half of the rows place its references"),
    Need("C2ST, conformal C2ST", "1,000 to 10,000", "1 to 50", "half of the rows train"),
    Need("CoLT", "500 to 5,000", "50 to 200", "half of the rows train"),
    Need("L-C2ST", "2,000 to 10,000", "1 to 50", "and 1,000 draws at the observation itself"),
    Need("DC", "500 to 5,000", "10 to 50", "half of the rows train"),
    Need("MMD-FUSE", "200 to 2,000", "1", "cost grows with the square of the rows"),
    Need("Symmetric divergence", "200 to 1,000", "10 to 100", "needs log q and log p(theta, x)"),
)
"""Simulations and draws that each test needs; with fewer it runs with less power."""


def needs() -> str:
    """`NEEDS` as text to print."""
    rows = [Need("test", "simulations", "draws at each", "note"), *NEEDS]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = ("  ".join((*map(str.ljust, row[:3], widths), row.note)) for row in rows)
    return "\n".join(lines)


class Suggestion(NamedTuple):
    """The number of draws to take at each x, and the size of the file."""

    k: int
    megabytes: float

    def __str__(self) -> str:
        return f"k = {self.k} draws at each x: a file of {_size(self.megabytes * 1e6)}"


def suggest(n: int, d: int, dim_x: int = 1, *, megabytes: float = 40.0) -> Suggestion:
    """The draws at each x that serve every test in a file of at most `megabytes`.

    200 draws are enough for every rank and 20 for every classifier, so that more rows are worth
    more than more draws; 1,000 pay only where rows are few.

    Args:
        n: simulations.
        d: parameters.
        dim_x: numbers in one x.
        megabytes: of the file; a browser takes 40 within seconds. It is exceeded only where not
            even one draw at each x fits.
    """
    for k in (1000 if n < 500 else 200, 200, 100, 50, 20, 10, 5, 2, 1):
        size = table_bytes(n, k, d, dim_x, densities=True) / 1e6
        if size <= megabytes:
            break
    return Suggestion(k, size)


@dataclass(frozen=True, eq=False, kw_only=True)
class Table:
    """Draws at each x: what `save` writes."""

    theta: Array
    """(N, D): the parameters that each x was simulated from."""
    x: Array
    """(N, ...)."""
    theta_q: Array
    """(N, K, D) in float32: K draws of q at each x."""
    log_q: Array | None = None
    """(N,): log q(theta | x)."""
    log_q_draws: Array | None = None
    """(N, K): log q at each draw, given its x."""
    theta_names: Sequence[str] | None = None
    x_names: Sequence[str] | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Rows that are missing, by reason."""

    def save(self, path: str | os.PathLike[str], **more: Any) -> Path:
        """Write the table as an .npz file and return its path.

        Args:
            path: of the file.
            more: further arguments of `save`: x_o and theta_o, log_joint and log_joint_draws.
        """
        return save(
            path,
            self.theta,
            self.x,
            self.theta_q,
            **{
                "log_q": self.log_q,
                "log_q_draws": self.log_q_draws,
                "theta_names": self.theta_names,
                "x_names": self.x_names,
                **more,
            },
        )


def save(
    path: str | os.PathLike[str],
    theta: ArrayLike,
    x: ArrayLike,
    theta_q: ArrayLike,
    *,
    log_q: ArrayLike | None = None,
    log_q_draws: ArrayLike | None = None,
    log_joint: ArrayLike | None = None,
    log_joint_draws: ArrayLike | None = None,
    x_o: ArrayLike | None = None,
    theta_o: ArrayLike | None = None,
    theta_names: Sequence[str] | None = None,
    x_names: Sequence[str] | None = None,
) -> Path:
    """Write a table as an .npz file in float32, nothing pickled.

    Args:
        path: of the file; `.npz` is added where it is missing.
        theta: (N, D), or (N,) for one parameter.
        x: (N, ...): the data simulated from each.
        theta_q: (N, K, D): draw k of q at x_i is theta_q[i, k].
        log_q: (N,): log q(theta | x), normalised.
        log_q_draws: (N, K): the same at each draw.
        log_joint: (N,): log p(theta, x), up to one constant for all rows and draws.
        log_joint_draws: (N, K): the same at each draw with its x.
        x_o: your own observation, shaped like one x; with
        theta_o: (K_o, D): draws of q there.
        theta_names: D labels.
        x_names: one label for each number in x.

    A column that float32 would round to steps above a thousandth of its sd is kept in float64,
    with the other columns of its array.

    Raises:
        ValueError: for shapes that do not belong together.
    """
    truth, data, draws = _matrix(theta), _numpy(x), _numpy(theta_q)
    n, d = truth.shape
    draws = draws[..., None] if draws.ndim == 2 and d == 1 else draws
    if draws.ndim != 3 or draws.shape[0] != n or draws.shape[2] != d or len(data) != n:
        raise ValueError(
            f"A table holds theta (N, D), x (N, ...) and theta_q (N, K, D); got {truth.shape}, "
            f"{data.shape} and {draws.shape}. Put the simulations on the first axis, the draws at "
            f"each on the second, the parameters on the last."
        )
    width = data[0].size
    arrays = {"theta": truth, "x": data.reshape(n, width), "theta_q": draws}
    kinds = {"theta": _kind(truth, draws), "x": _kind(data.reshape(n, width))}
    kinds["theta_q"] = kinds["theta"]  # a truth rounded otherwise than its draws would stand out
    densities = {
        "log_q": log_q,
        "log_q_draws": log_q_draws,
        "log_joint": log_joint,
        "log_joint_draws": log_joint_draws,
    }
    for name, values in densities.items():
        if values is not None:
            shape = draws.shape[:2] if name.endswith("draws") else (n,)
            arrays[name] = _shaped(name, _numpy(values), shape)
    if x_o is not None or theta_o is not None:
        observation, there = _numpy(x_o), _numpy(theta_o)
        lone = x_o is None or theta_o is None
        if lone or observation.size != width or there.ndim != 2 or there.shape[1] != d:
            raise ValueError(
                f"x_o must be shaped like one x, {data.shape[1:]}, and theta_o (K_o, {d}); got "
                f"{observation.shape} and {there.shape}. Give both, or neither."
            )
        arrays |= {"x_o": observation.reshape(-1), "theta_o": there}
        kinds |= {"x_o": kinds["x"], "theta_o": kinds["theta"]}
    packed = {name: array.astype(kinds.get(name, np.float32)) for name, array in arrays.items()}
    for name, labels, count in (("theta_names", theta_names, d), ("x_names", x_names, width)):
        if labels is not None:
            packed[name] = _shaped(name, np.array([str(label) for label in labels]), (count,))
    return _write(Path(path), packed)


class _Posterior(Protocol):
    """Of sbi; it may also have `sample_batched` and `log_prob_batched`."""

    @property
    def sample(self) -> Callable[..., ArrayLike]: ...


def from_sbi(
    posterior: _Posterior,
    theta: ArrayLike,
    x: ArrayLike,
    k: int = 200,
    *,
    log_q: bool = True,
    norm_posterior: bool = True,
    theta_names: Sequence[str] | None = None,
    x_names: Sequence[str] | None = None,
    seed: int = 0,
    memory_mb: float = MEMORY_MB,
    max_seconds: float | None = MAX_SECONDS,
    progress: bool = True,
) -> Table:
    """k draws of an sbi posterior at each x, batched where the posterior can.

    Args:
        posterior: returned by `inference.build_posterior()`, without a default x.
        theta: (N, D), fresh from the prior.
        x: (N, ...), simulated from each.
        k: draws at each x.
        log_q: whether to evaluate log q where the posterior has a normalised one (a
            DirectPosterior; MCMC knows it only up to a constant, so that it is left out).
        norm_posterior: divide by the mass of q inside the prior, estimated at each x from k draws
            (at least 200). Without it, log q is off by a constant at each x where q leaks: HPD
            coverage does not mind, the symmetric divergence does.
        theta_names: D labels.
        x_names: one label for each number in x.
        seed: of torch's generator, which is put back as it was afterwards. MCMC posteriors also
            use NumPy's, which is left alone.
        memory_mb: bound on the table and on one batch of draws, from which its rows follow.
        max_seconds: for one batch, and for one row by itself: rejection sampling may never end
            where q puts its mass outside the prior.
        progress: whether to report progress on stderr.

    Raises:
        ValueError: for shapes that do not fit, a table beyond `memory_mb`, or a posterior that
            fails at every x.
    """
    import torch

    truth, data = _matrix(theta), _numpy(x).astype(np.float32)
    data = data[:, None] if data.ndim == 1 else data
    device = getattr(posterior, "_device", "cpu")
    batched: Callable[..., ArrayLike] | None = getattr(posterior, "sample_batched", None)
    timed = {"max_sampling_time": max_seconds} if max_seconds else {}

    def at(rows: Array) -> object:
        return torch.as_tensor(data[rows], device=device)

    def draw(rows: Array) -> Array:
        own = {"show_progress_bars": False, **timed}
        if batched is None or len(rows) == 1:
            samples = posterior.sample((k,), x=at(rows), **_known(posterior.sample, own))
            return _numpy(samples)[None]
        own["max_sampling_batch_size"] = max(1, min(10_000, _AT_ONCE // len(rows)))
        samples = batched((k,), x=at(rows), **_known(batched, own))
        return np.swapaxes(_numpy(samples), 0, 1)

    density: Callable[..., ArrayLike] | None = getattr(posterior, "log_prob_batched", None)

    def log_prob(rows: Array, draws: Array) -> Array:
        assert density is not None
        both = np.concatenate([truth[rows, None], draws], axis=1).astype(np.float32)
        points = torch.as_tensor(both.swapaxes(0, 1).copy(), device=device)
        leak = {"leakage_correction_params": {"num_rejection_samples": max(k, _PROPOSED)}}
        with torch.no_grad():
            log_densities = density(
                points,
                x=at(rows),
                norm_posterior=norm_posterior,
                **_known(density, leak if norm_posterior else {}),
            )
        return np.swapaxes(_numpy(log_densities), 0, 1)

    known = density is not None and "norm_posterior" in inspect.signature(density).parameters
    run = _Run(
        draw=draw,
        log_prob=log_prob if log_q and known else None,
        theta=truth,
        x=data,
        k=k,
        memory_mb=memory_mb,
        max_seconds=max_seconds,
        say=_sayer(progress),
    )
    if log_q and not known:
        run.say(f"log q is left out: {type(posterior).__name__} has no normalised density.")
    with torch.random.fork_rng(), warnings.catch_warnings():
        # sbi samples from torch's own generator and takes no other.
        torch.manual_seed(seed)  # noqa: TID251
        warnings.filterwarnings("ignore", message=".*(memory|batched sampling).*")
        return run.table(theta_names, x_names)


class _Approximator(Protocol):
    """Of BayesFlow; it may also have `log_prob`."""

    @property
    def sample(self) -> Callable[..., Mapping[str, ArrayLike]]: ...


def from_bayesflow(
    approximator: _Approximator,
    theta: Mapping[str, ArrayLike] | ArrayLike,
    x: Mapping[str, ArrayLike] | ArrayLike,
    k: int = 200,
    *,
    log_q: bool = True,
    x_variable: str = "x",
    theta_names: Sequence[str] | None = None,
    seed: int = 0,
    memory_mb: float = MEMORY_MB,
    max_seconds: float | None = MAX_SECONDS,
    progress: bool = True,
) -> Table:
    """k draws of a BayesFlow 2 approximator (or workflow) at each x.

    Args:
        approximator: with `sample(num_samples=, conditions=)`, its adapter included.
        theta: (N, D_j) arrays by variable, as your simulator names them; or one (N, D) array
            whose columns are the variables in the order in which `sample` returns them.
        x: (N, ...) arrays by variable: all conditions that `sample` needs, nothing else; or one
            array, passed as `x_variable`. A condition that is the same for every row must be
            repeated on the first axis.
        k: draws at each x.
        log_q: whether to evaluate log q, where the approximator can and `theta` is by variable.
        x_variable: the name of x where it is one array.
        theta_names: D labels instead of the variables' names.
        seed: given to `sample` where it takes one, else to `keras.utils.set_random_seed`, which
            seeds Python and NumPy too.
        memory_mb: as in `from_sbi`.
        max_seconds: as in `from_sbi`.
        progress: as in `from_sbi`.

    Raises:
        ValueError: as `from_sbi` does.
    """
    conditions = {name: _numpy(a) for name, a in _named(x, x_variable).items()}
    parts = {n: _matrix(a) for n, a in theta.items()} if isinstance(theta, Mapping) else {}
    truth = np.concatenate([*parts.values()], axis=1) if parts else _matrix(theta)
    data = np.concatenate([a.reshape(len(a), -1) for a in conditions.values()], axis=1)
    takes_seed = "seed" in inspect.signature(approximator.sample).parameters
    if not takes_seed and "keras" in sys.modules:
        sys.modules["keras"].utils.set_random_seed(seed)

    def conditions_at(rows: Array) -> dict[str, Array]:
        return {name: a[rows] for name, a in conditions.items()}

    def draw(rows: Array) -> Array:
        own = {"seed": seed + int(rows[0])} if takes_seed else {}
        samples = approximator.sample(num_samples=k, conditions=conditions_at(rows), **own)
        arrays = {name: _numpy(a) for name, a in samples.items() if not parts or name in parts}
        missing = [name for name in parts if name not in arrays]
        if missing:
            raise _RowMisfit(
                f"`sample` must return every variable of theta; got {', '.join(samples)} without "
                f"{', '.join(missing)}. Name theta's variables as the simulator does."
            )
        ordered = [arrays[name] for name in parts or arrays]
        return np.concatenate([a.reshape(len(rows), k, -1) for a in ordered], axis=2)

    density: Callable[..., ArrayLike] | None = getattr(approximator, "log_prob", None)

    def log_prob(rows: Array, draws: Array) -> Array:
        assert density is not None
        both = np.concatenate([truth[rows, None], draws], axis=1).astype(np.float32)
        flat = both.reshape(-1, both.shape[2])
        edges = np.cumsum([a.shape[1] for a in parts.values()])[:-1]
        points = dict(zip(parts, np.split(flat, edges, axis=1), strict=True))
        repeated = {n: np.repeat(a, both.shape[1], axis=0) for n, a in conditions_at(rows).items()}
        return _numpy(density({**repeated, **points})).reshape(both.shape[:2])

    known = bool(parts) and density is not None
    run = _Run(
        draw=draw,
        log_prob=log_prob if log_q and known else None,
        theta=truth,
        x=data,
        k=k,
        memory_mb=memory_mb,
        max_seconds=max_seconds,
        say=_sayer(progress),
    )
    if log_q and not known:
        run.say("log q is left out: it needs theta by variable and an approximator with log_prob.")
    labels = [label for name, a in parts.items() for label in _labels(name, a)]
    x_labels = [label for name, a in conditions.items() for label in _labels(name, a)]
    return run.table(theta_names or labels or None, x_labels)


def from_callable(
    sample: Callable[[Array, int], ArrayLike] | None,
    theta: ArrayLike,
    x: ArrayLike,
    k: int = 200,
    *,
    sample_batch: Callable[[Array, int], ArrayLike] | None = None,
    log_q: Callable[[Array, Array], ArrayLike] | None = None,
    theta_names: Sequence[str] | None = None,
    x_names: Sequence[str] | None = None,
    memory_mb: float = MEMORY_MB,
    max_seconds: float | None = MAX_SECONDS,
    progress: bool = True,
) -> Table:
    """k draws at each x from anything that samples: its randomness is its own.

    Args:
        sample: `sample(x_i, k)` returns (k, D); None where `sample_batch` is given.
        theta: (N, D), fresh from the prior.
        x: (N, ...), simulated from each.
        k: draws at each x.
        sample_batch: `sample_batch(xs, k)` for xs (b, ...) returns (b, k, D).
        log_q: `log_q(thetas, x_i)` for thetas (r, D) returns (r,): log q(theta | x_i), normalised.
        theta_names: as in `from_sbi`.
        x_names: as in `from_sbi`.
        memory_mb: as in `from_sbi`.
        max_seconds: as in `from_sbi`.
        progress: as in `from_sbi`.

    Raises:
        ValueError: as `from_sbi` does, or when neither sampler is given.
    """
    if sample is None and sample_batch is None:
        raise ValueError(
            "A sampler must be given; got neither `sample` nor `sample_batch`. Pass "
            "sample(x_i, k), which returns (k, D)."
        )
    truth, data = _matrix(theta), _numpy(x)

    def draw(rows: Array) -> Array:
        if sample_batch is not None:
            return _numpy(sample_batch(data[rows], k))
        assert sample is not None
        return np.stack([_numpy(sample(data[row], k)) for row in rows])

    def log_prob(rows: Array, draws: Array) -> Array:
        assert log_q is not None
        both = np.concatenate([truth[rows, None], draws], axis=1)
        return np.stack([_numpy(log_q(r, data[i])) for r, i in zip(both, rows, strict=True)])

    run = _Run(
        draw=draw,
        log_prob=log_prob if log_q else None,
        theta=truth,
        x=data,
        k=k,
        memory_mb=memory_mb,
        max_seconds=max_seconds,
        say=_sayer(progress),
        alone=sample_batch is None,
    )
    return run.table(theta_names, x_names)


class _RowMisfit(ValueError):
    """A misfit that every row would share: it ends the run."""


class _Late(TimeoutError):
    """A batch took longer than `max_seconds`."""


@dataclass(kw_only=True)
class _Run:
    """One export: batches of rows drawn one after the other, failures left out and counted."""

    draw: Callable[[Array], Array]
    """Rows (b,) to their draws (b, K, D)."""
    log_prob: Callable[[Array, Array], Array] | None
    """Rows (b,) and draws (b, K, D) to log q of the truth and of each draw, (b, 1 + K)."""
    theta: Array
    x: Array
    k: int
    memory_mb: float
    max_seconds: float | None
    say: Log
    alone: bool = False
    """Whether rows can only be drawn one at a time."""
    lost: Counter[str] = field(default_factory=Counter)
    error: Exception | None = None

    def table(self, theta_names: Sequence[str] | None, x_names: Sequence[str] | None) -> Table:
        batch = most = self._plan()
        (n, d), k = self.theta.shape, self.k
        draws = np.empty((n, k, d), np.float32)
        logs = np.empty((n, k + 1), np.float32) if self.log_prob else None
        indices, done, started = np.empty(n, np.intp), 0, time.monotonic()
        start = 0
        try:
            while start < n:
                rows = np.arange(start, min(start + (1 if self.alone else batch), n))
                good, samples, whole = self._drawn(rows, first=done == 0)
                place = slice(done, done + len(good))
                draws[place], indices[place] = samples, good
                if logs is not None and len(good):
                    logs = self._densities(logs, place, good, samples)
                done, start = done + len(good), start + len(rows)
                batch = min(2 * batch, most) if whole else max(1, batch // 2)
                self.say("\r" + _progress(start, n, time.monotonic() - started))
        except KeyboardInterrupt:
            if not done:
                raise
            self.lost["interrupted"] = n - start
            self.say(f"Interrupted: the {done:,} rows that are done are kept.")
        self._tell(done)
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
        """Rows in a batch; says the sizes first, refuses what cannot fit."""
        (n, d), k = self.theta.shape, self.k
        if len(self.x) != n or n < 1 or k < 1:
            raise ValueError(
                f"theta and x must have one row for each simulation, and k be at least 1; got "
                f"{n} and {len(self.x)} rows, k = {k}. Pass the pairs that the simulator made."
            )
        width, densities = self.x[0].size, self.log_prob is not None
        total, limit = table_bytes(n, k, d, width, densities), self.memory_mb * 1e6
        if total > limit:
            each = _NUMBER * n * (d + densities)
            most = int((limit - table_bytes(n, 0, d, width, densities)) // each)
            remedy = f"k = {most} is the most that fits" if most > 0 else "pass fewer rows"
            raise ValueError(
                f"The table must fit in memory_mb = {self.memory_mb:g}; got {n:,} rows x {k:,} "
                f"draws x {d:,} parameters, which take {_size(total)}. Here {remedy}; or raise "
                f"memory_mb."
            )
        for_one = k * (_NUMBER * (2 * d + width) + _WORK)
        batch = min(int((limit - total) // for_one), _AT_ONCE // k, math.ceil(n / _BATCHES))
        batch = 1 if self.alone else max(1, batch)
        self.say(
            f"{n:,} rows x {k:,} draws x {d:,} parameters{' with log q' * densities}: "
            f"{_size(total)} in float32, {_rows(batch)} at a time."
        )
        return batch

    def _drawn(self, rows: Array, first: bool) -> tuple[Array, Array, bool]:
        """Rows that succeeded, their draws, and whether they did as one batch."""
        samples = self._attempt(rows)
        if samples is not None:
            return *self._finite(rows, samples), True
        if len(rows) == 1:
            self._fail(first)
            return rows[:0], np.empty((0, self.k, self.theta.shape[1])), False
        pieces: list[tuple[Array, Array]] = []
        for row in rows:
            good, draws, _ = self._drawn(row[None], first and not pieces)
            if len(good):
                pieces.append((good, draws))
        if not pieces:
            return rows[:0], np.empty((0, self.k, self.theta.shape[1])), False
        return (
            np.concatenate([good for good, _ in pieces]),
            np.concatenate([draws for _, draws in pieces]),
            False,
        )

    def _attempt(self, rows: Array) -> Array | None:
        try:
            with _within(self.max_seconds):
                samples = np.asarray(self.draw(rows))
        except _RowMisfit:
            raise
        except Exception as error:  # whatever a model raises at some x
            self.error = error
            self.alone |= isinstance(error, NotImplementedError)
            return None
        shape = (len(rows), self.k, self.theta.shape[1])
        if samples.shape == shape[:2] and shape[2] == 1:
            samples = samples[..., None]
        if samples.shape != shape:
            raise _RowMisfit(
                f"Draws must come as {shape}: {shape[1]} at each x, one column for each of "
                f"theta's {shape[2]}; got {samples.shape}. Check what the sampler returns."
            )
        return samples

    def _finite(self, rows: Array, found: Array) -> tuple[Array, Array]:
        with np.errstate(over="ignore"):
            found = found.astype(np.float32, copy=False)
        good = np.isfinite(found).all(axis=(1, 2))
        if not good.all():
            self.lost["draws that are NaN or infinite"] += int((~good).sum())
        return rows[good], found[good]

    def _fail(self, first: bool) -> None:
        error = self.error
        late = isinstance(error, TimeoutError) or "max_sampling_time" in str(error)
        reason = f"longer than {self.max_seconds:g} s" if late else f"{type(error).__name__}"
        self.lost[reason] += 1
        if first and sum(self.lost.values()) >= min(_GIVE_UP, len(self.theta)):
            raise ValueError(
                f"q must give {self.k} draws at each x; got none at the first "
                f"{sum(self.lost.values())} rows ({reason}: {_line(error)}). "
                + (
                    "Its mass may lie outside the prior, or it is slow: raise max_seconds."
                    if late
                    else "Try the sampler on one row by itself."
                )
            ) from error

    def _densities(self, logs: Array, place: slice, rows: Array, found: Array) -> Array | None:
        assert self.log_prob is not None
        try:
            with _within(self.max_seconds):
                values = np.asarray(self.log_prob(rows, found))
            logs[place] = _shaped("log q", values, (len(rows), self.k + 1))
        except Exception as error:  # whatever a model raises; the draws are worth keeping
            self.say(f"log q is left out: {type(error).__name__}: {_line(error)}")
            self.log_prob = None
            return None
        return logs

    def _tell(self, done: int) -> None:
        if self.lost:
            listed = "; ".join(f"{_rows(count)}: {reason}" for reason, count in self.lost.items())
            self.say(f"Kept {_rows(done)}. Left out, so that q is not tested there: {listed}.")
        if not done:
            raise ValueError(
                f"At least one row must have draws; got none ({', '.join(self.lost)}). Try the "
                f"sampler on one row by itself."
            )


@contextmanager
def _within(seconds: float | None) -> Iterator[None]:
    """Raise `_Late` after so many seconds: on Unix in the main thread; elsewhere do nothing."""
    main = threading.current_thread() is threading.main_thread()
    if not seconds or not main or not hasattr(signal, "setitimer"):
        yield
        return

    def expire(*_: object) -> None:
        raise _Late(f"took longer than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, expire)
    started = time.monotonic()
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        # An alarm set by other code goes on as if it had not been interrupted.
        rest = max(left - (time.monotonic() - started), 0.01) if left else 0.0
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, rest, interval)


def _sayer(progress: bool) -> Log:
    """A function that writes to stderr; a line that begins with a return is written over."""
    live, last = sys.stderr.isatty(), [time.monotonic(), 0.0]

    def say(text: str) -> None:
        now = time.monotonic()
        if text.startswith("\r"):
            if now - last[0] < (0.2 if live else 10.0) and "done" not in text:
                return
            last[:] = [now, float(live and not text.endswith("\n"))]
            print(text if live else text.strip(), end="" if live else "\n", file=sys.stderr)
        else:
            print("\n" * int(last[1]) + text, file=sys.stderr)
            last[1] = 0.0
        sys.stderr.flush()

    return say if progress else lambda _: None


def _progress(done: int, n: int, seconds: float) -> str:
    if done >= n:
        return f"{n:,} rows done in {_time(seconds)}.{' ' * 30}\n"
    return f"{done:,} of {n:,} rows, about {_time(seconds / done * (n - done))} left   "


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def table_bytes(n: int, k: int, d: int, width: int, densities: bool) -> int:
    return _NUMBER * n * (d + width + k * d + (1 + k) * densities)


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def _line(error: BaseException | None) -> str:
    return " ".join(str(error).split())[:200]


def _numpy(values: object) -> Array:
    """Numbers of NumPy, torch (on any device), or anything NumPy can read."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.asarray(values)


def _matrix(theta: object) -> Array:
    array = _numpy(theta)
    if array.ndim not in (1, 2) or not len(array) or array.dtype.kind not in "fiub":
        raise ValueError(
            f"theta must hold numbers as (N, D); got {array.dtype} of shape {array.shape}. Put "
            f"the simulations on the first axis."
        )
    return array.reshape(len(array), -1)


def _shaped(name: str, array: Array, shape: tuple[int, ...]) -> Array:
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}; got {array.shape}. Reshape it.")
    return array


def _kind(*arrays: Array) -> type[np.floating]:
    """float32 unless it would make ties: where a column's level dwarfs its spread."""
    for array in arrays:
        rows = array.reshape(-1, array.shape[-1])
        if rows.dtype.itemsize > 4 and rows.size:
            step = np.abs(rows).max(axis=0) * np.finfo(np.float32).eps / 2
            spread = rows.std(axis=0)
            # NaN does not enter the level: the reader drops its row with a warning.
            if np.any((step > _COARSE * spread) & (spread > 0)):
                return np.float64
    return np.float32


def _named(arrays: Mapping[str, ArrayLike] | ArrayLike, name: str) -> Mapping[str, ArrayLike]:
    return arrays if isinstance(arrays, Mapping) else {name: arrays}


def _labels(name: str, array: Array) -> list[str]:
    width = array[0].size
    return [name] if width == 1 else [f"{name}[{i}]" for i in range(width)]


def _known(function: Callable[..., object], options: Mapping[str, object]) -> dict[str, object]:
    """The options that this version of a function takes."""
    parameters = inspect.signature(function).parameters
    return {name: value for name, value in options.items() if name in parameters}


def _write(path: Path, arrays: Mapping[str, Any]) -> Path:
    path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Renamed once it is whole: a run that is stopped leaves the old file as it was.
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            np.savez(file, **arrays)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    return path


_SBI = """\
import torch
from sbi.inference import NPE
from sbi.utils import BoxUniform

from export import from_sbi

prior = BoxUniform(-2 * torch.ones(2), 2 * torch.ones(2))


def simulate(theta):
    return theta + 0.5 * torch.randn_like(theta)


# Your own training stands here.
theta = prior.sample((2000,))
inference = NPE(prior=prior)
inference.append_simulations(theta, simulate(theta)).train(max_num_epochs=30)
posterior = inference.build_posterior()

# Fresh simulations: none of them was used to train.
theta = prior.sample((500,))
table = from_sbi(posterior, theta, simulate(theta), k=200, theta_names=["mass", "spin"])
table.save("posterior.npz")
"""

_BAYESFLOW = """\
import bayesflow as bf
import numpy as np

from export import from_bayesflow

rng = np.random.default_rng(0)


def prior():
    return {"mass": rng.normal(size=1), "spin": rng.normal(size=2)}


def likelihood(mass, spin):
    return {"x": np.concatenate([mass, spin]) + 0.5 * rng.normal(size=3)}


# Your own training stands here.
simulator = bf.make_simulator([prior, likelihood])
workflow = bf.BasicWorkflow(
    simulator=simulator,
    inference_network=bf.networks.CouplingFlow(depth=2),
    inference_variables=["mass", "spin"],
    inference_conditions=["x"],
)
workflow.fit_online(epochs=10, batch_size=64, num_batches_per_epoch=50)

# Fresh simulations: none of them was used to train.
test = simulator.sample(500)
theta = {"mass": test["mass"], "spin": test["spin"]}
table = from_bayesflow(workflow.approximator, theta, {"x": test["x"]}, k=200)
table.save("posterior.npz")
"""

_ANY = '''\
import numpy as np

from export import from_callable

rng = np.random.default_rng(0)


def sample(x, k):
    """k draws of your posterior at one x, as (k, D): here a Gaussian that is known exactly."""
    return 0.8 * x + np.sqrt(0.2) * rng.normal(size=(k, x.size))


def log_q(theta, x):
    """log q at each row of theta, given one x: leave it out where your posterior has none."""
    return -0.5 * ((theta - 0.8 * x) ** 2 / 0.2 + np.log(2 * np.pi * 0.2)).sum(axis=1)


# Fresh simulations: theta from the prior, x from the simulator at theta.
theta = rng.normal(size=(1000, 2))
x = theta + 0.5 * rng.normal(size=theta.shape)
table = from_callable(sample, theta, x, k=200, log_q=log_q)
table.save("posterior.npz")
'''

SNIPPETS: Mapping[str, str] = {"sbi": _SBI, "BayesFlow": _BAYESFLOW, "any sample(x, k)": _ANY}
"""Complete examples by the tool they are for, each ending in a file to upload."""
