"""`check`: a diagnosis from a prior, a simulator and an estimator's sampler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

from numpy.typing import ArrayLike, NDArray

from validation_core.api.diagnose import DiagnosisResult, diagnose
from validation_core.api.keywords import checked_keywords
from validation_core.api.table import Table
from validation_core.api.work import Watch, progress_watch
from validation_core.export.any_sampler import from_callable
from validation_core.export.arrays import as_matrix, as_numpy
from validation_core.export.progress import printer, rows_text
from validation_core.export.simulating import simulated
from validation_core.export.time_limit import check_seconds
from validation_core.methods.base import Method
from validation_core.store import Store
from validation_core.tables.named_columns import is_frame

_TRIED = (2, 3)  # x and draws at each, to see that `sample` gives what it should
_FEWEST = 4
_OF_PRIOR = "n parameters, (n, D)"
_OF_LOG_Q = "log q at each of thetas, (r,)"


@checked_keywords()
def check(
    prior: Callable[[int], ArrayLike],
    simulate: Callable[[Any], ArrayLike],
    sample: Callable[[Any, int], ArrayLike],
    n: int = 1000,
    draws: int = 100,
    *,
    log_q: Callable[[Any, Any], ArrayLike] | None = None,
    names: Sequence[str] = (),
    x_names: Sequence[str] = (),
    methods: str | Sequence[str | Method] | None = None,
    questions: str | Sequence[str] = "usual",
    alpha: float = 0.05,
    seed: int = 0,
    max_seconds: float | None = 60.0,
    budget: float | None = None,
    store: Store | None = None,
    progress: bool | Watch = True,
) -> DiagnosisResult:
    """Simulate from your prior, draw from your estimator at each x, and diagnose the table.

    The simulations are fresh: none of them trained the estimator. Functions may work with NumPy
    or torch: `simulate` is given theta as `prior` made it, `sample` x as `simulate` made it. Their
    randomness is their own. A row whose simulation or draws fail is left out, and counted in a
    message; that depends on x alone, so that tests remain valid for the others.

    Args:
        prior: prior(n) draws n parameters, (n, D).
        simulate: simulate(theta) of theta (b, D) simulates data of each, (b, ...).
        sample: sample(x, k) of x (b, ...) draws k times from q at each, (b, k, D).
        n: simulations.
        draws: draws of q at each x.
        log_q: log_q(thetas, x_i) of thetas (r, D) and one x gives log q(theta | x_i), normalised:
            (r,).
        names: labels of the D parameters.
        x_names: labels of the numbers in x.
        methods: as in `diagnose`.
        questions: as in `diagnose`.
        alpha: level of the whole diagnosis.
        seed: of the diagnosis.
        max_seconds: time for one batch of draws, and for one row by itself.
        budget: seconds of the diagnosis; tests and questions that would take longer are not run.
        store: of networks and results; by default the user's cache folder, with the shipped
            gallery behind it.
        progress: True for a bar on terminals and in notebooks, False for silence, or a `Watch`.

    Returns:
        as `diagnose` does; its `table` holds the simulations and the draws.

    Raises:
        TypeError: for an unknown keyword, or what is no number.
        ValueError: for a function that fails or gives another shape, with its name, what it was
            asked and what it gave.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> def prior(n):
        ...     return rng.standard_normal((n, 2))
        >>> def simulate(theta):
        ...     return theta + rng.standard_normal(theta.shape)
        >>> def sample(x, k):  # sd 0.7 is right
        ...     return x[:, None] / 2 + 0.35 * rng.standard_normal((len(x), k, 2))
        >>> result = npt.check(prior, simulate, sample, 200, 50, methods="sbc", questions="none")
        >>> result.verdict, result.table
        ('problem found', Table(200 rows, 50 draws of q at each, 2 parameters, 2 data))
    """
    advice = "Take a thousand and a hundred."
    for name, least, got in (("n", _FEWEST, n), ("draws", 1, draws)):
        if not isinstance(got, Integral):
            raise TypeError(f"{name} is a whole number; got {got!r}. {advice}")
        if got < least:
            raise ValueError(f"{name} is at least {least}; got {got}. {advice}")
    check_seconds(max_seconds)
    _check_function("prior(n)", _OF_PRIOR, prior)
    _check_function("simulate(theta)", "data of each theta, (b, ...)", simulate)
    _check_function("sample(x, k)", "k draws at each x, (b, k, D)", sample)
    if log_q is not None:
        _check_function("log_q(thetas, x_i)", _OF_LOG_Q, log_q)
    theta = _called("prior(n)", _OF_PRIOR, prior, n)
    truth, axes = as_matrix(theta), as_numpy(theta).shape[1:]
    if len(truth) != n:
        raise ValueError(
            f"prior(n) must draw n parameters, (n, D); asked for n = {n:,}, got shape "
            f"{(len(truth), *axes)}. Put the draws on the first axis."
        )
    kinds: dict[str, Any] = {}

    def simulations(rows: NDArray[Any]) -> ArrayLike:
        kinds["x"] = simulate(_alike(rows.reshape(len(rows), *axes), theta))
        return kinds["x"]

    loud = progress is True
    truth, x, lost = simulated(simulations, truth, printer(loud))
    like = kinds["x"]
    _try(sample, _alike(x[: _TRIED[0]].copy(), like), truth.shape[1])
    log_q_at = log_q and (lambda rows, at: log_q(_alike(rows, theta), _alike(at, like)))
    if log_q_at is not None:
        _try_density(log_q_at, truth[: _TRIED[0]].copy(), x[0].copy())
    table = from_callable(
        None,
        truth,
        x,
        draws,
        sample_batch=lambda rows, k: sample(_alike(rows, like), k),
        log_q=log_q_at,
        max_seconds=max_seconds,
        progress=loud,
    )
    lost = {**lost, **table.left_out}
    if lost:
        with progress_watch(progress) as watch:
            left = ", ".join(f"{rows_text(count)}: {why}" for why, count in lost.items())
            watch.note(f"Left out, so that q is not tested there: {left}.")
    drawn = Table(
        table.theta.astype(table.theta_q.dtype),  # rounded as its draws are
        table.x,
        table.theta_q,
        names=names,
        x_names=x_names,
        log_q=table.log_q,
        log_q_draws=table.log_q_draws,
        order="NKD",
    )
    return diagnose(
        drawn,
        methods,
        questions,
        alpha=alpha,
        seed=seed,
        budget=budget,
        store=store,
        progress=progress,
    )


def _alike(rows: NDArray[Any], like: Any) -> Any:
    """Rows as a tensor of the same type and place as another, or a frame of the same columns."""
    if hasattr(like, "new_tensor"):
        return like.new_tensor(rows)
    framed = is_frame(like) and rows.ndim == 2  # not at one x alone
    return type(like)(rows, columns=like.columns) if framed else rows


def _check_function(name: str, rule: str, function: object) -> None:
    """Refuse what is no function.

    Raises:
        ValueError: for that.
    """
    if not callable(function):
        remedy = (
            "Pass prior=lambda n: prior.sample((n,))."
            if name == "prior(n)" and hasattr(function, "sample")
            else "Pass one."
        )
        raise ValueError(
            f"{name} must be a function that gives {rule}; got {type(function).__name__}. {remedy}"
        )


def _called(name: str, rule: str, function: Callable[..., Any], *given: Any) -> Any:
    """What a user's function gives.

    Raises:
        ValueError: where it fails.
    """
    try:
        return function(*given)
    except Exception as error:  # whatever a user's function raises
        asked = ", ".join(str(getattr(one, "shape", one)) for one in given)
        raise ValueError(
            f"{name} must give {rule}; asked with {asked}, it raised {type(error).__name__}: "
            f"{' '.join(str(error).split())[:200]}. Try it by itself."
        ) from error


def _try(sample: Callable[[Any, int], ArrayLike], x: Any, d: int) -> None:
    """Ask for a few draws.

    Raises:
        ValueError: where that fails, or they have another shape.
    """
    rule, k = f"k draws of theta at each x, (b, k, {d})", _TRIED[1]
    shape = as_numpy(_called("sample(x, k)", rule, sample, x, k)).shape
    expected = (len(x), k, d)
    if shape != expected and not (d == 1 and shape == expected[:2]):
        advice = (
            "Swap its first two axes."
            if shape == (k, len(x), d)
            else "Draw at every row of x, one column for each parameter."
        )
        raise ValueError(
            f"sample(x, k) must give {rule}; asked with x {tuple(x.shape)} and k = {k}, got "
            f"{shape} in place of {expected}. {advice}"
        )


def _try_density(log_q: Callable[[Any, Any], ArrayLike], thetas: Any, x: Any) -> None:
    """Ask for log q at a few parameters.

    Raises:
        ValueError: where that fails, or has another shape.
    """
    name = "log_q(thetas, x_i)"
    shape = as_numpy(_called(name, _OF_LOG_Q, log_q, thetas, x)).shape
    if shape != (len(thetas),):
        raise ValueError(
            f"{name} must give {_OF_LOG_Q}; asked with thetas {thetas.shape} and x_i {x.shape}, "
            f"got {shape} in place of {(len(thetas),)}. Sum over the parameters."
        )
