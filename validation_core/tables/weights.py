"""Weighted draws: importance weights of true values and draws, and the equal draws made of them.

At each x the true value theta_0 and draws theta_1..theta_K of any proposal r, each with the weight
w = pi / r of the posterior pi that is claimed, up to one factor for each x. If pi is right, the
joint density of the slots is w_0 r_0 .. r_K: given the unordered set S of them, slot j is the true
value with chance w_j / sum w.

Draw L slots of S anew, with replacement, by those chances. Given S the true value's slot and these
L are then independent with one law, so that they are exchangeable: the table of true values and
new draws is one of equal draws, in which every rank is uniform and every relabelling within x is
exact, whatever r is and however few draws there are. A relabelling of the new table lets slot j of
the old one play the true value with chance w_j / sum w. The true value stays among the candidates,
which is what makes it exact; it makes errors look smaller by its share of the weight.

References:
    Sampling importance resampling: Rubin (1988). Prior draws weighted by a ratio, or by a
    surrogate likelihood, and importance-weighted posteriors (dingo) are such tables; so are true
    values from a proposal r with draws for the prior, w = r / prior at every slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from validation_core.rng import stream
from validation_core.tables.shapes import reshaped
from validation_core.tables.shared_draws import shared_draw_groups
from validation_core.tables.source import Order
from validation_core.tables.truth_weights import weights_of_truths
from validation_core.types import Array, Integers, PosteriorTable

WEIGHTS = ("log_w", "log_w_draws")
"""Log weights of true values (N,) and of draws (N, K)."""
LINEAR = ("w", "w_draws")
"""The same, not as logarithms."""
FEWEST_EFFECTIVE = 5.0
"""Effective slots of a typical row, at least: below, the true value outweighs all draws."""
VERSION = 1.0
"""Of the drawing anew: part of a weighted table's digest."""
_DRAWS = 200  # drawn anew at each x at least, where there are fewer
_TIMES = 10  # as many as there are draws, at most
_NUMBERS = 20_000_000  # of a table that is made larger than it was
_EQUAL = 1e-5  # nats: weights that differ less are equal
_REVERSED = float(np.log(1e6))  # a right weight is taken for its reciprocal once in 1e6 tables

Places = Integers


@dataclass(frozen=True, eq=False)
class Weighting:
    """The weighted draws that a table's equal draws were made of."""

    q: Array
    """(N, K, D) the draws as they came."""
    arrays: Mapping[str, Array]
    """log_w (N,), where it came, log_w_draws (N, K), and densities of these draws."""
    effective: float
    """(sum w)^2 / sum w^2 over the K draws of a row, the median of all."""
    slots: float
    """The same over its K + 1 slots, the true value's among them."""
    share: float
    """Share of its row's weight that a true value has, the mean of all."""
    error: float | None = None
    """Typical error in nats of true values' weights, where they were estimated; None: exact."""

    def text(self) -> str:
        """The draws as they came, in words: `60 weighted draws (26.4 effective)`."""
        return f"{self.q.shape[1]:,} weighted draws ({self.effective:.1f} effective)"

    def to_json(self) -> dict[str, float | bool]:
        """Its numbers, as the JSON of a diagnosis has them."""
        return {
            "draws": self.q.shape[1],
            "effective": self.effective,
            "share_of_true_value": self.share,
            "exact": self.error is None,
        }


class EqualDraws(NamedTuple):
    """A table of equal draws, made of weighted ones."""

    q: Array
    """(N, L, D)."""
    densities: dict[str, Array]
    """Densities at them, and log weights where the true values' are known."""
    weighting: Weighting
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


class GivenWeights(NamedTuple):
    """The weights of a file."""

    logs: dict[str, Array]
    """log_w (N,) and log_w_draws (N, K), or log_w_draws alone; empty without weights."""
    warnings: tuple[str, ...]

    def undefined(self) -> dict[str, Array]:
        """The weights by name, finite but where they are NaN or above all numbers: a weight may
        be 0."""
        return {name: np.where(np.isneginf(array), 0, array) for name, array in self.logs.items()}


def read_weights(
    arrays: Mapping[str, NDArray[np.generic]], sizes: tuple[int, int], order: Order
) -> GivenWeights:
    """Read the weights that fit a table; linear ones become logarithms.

    An array is that of the true values or of the draws by its shape, whatever its name; by its
    name where K is 1.

    Args:
        arrays: the file's arrays by role.
        sizes: (N, K) of the table.
        order: the order of theta_q's axes in the file, which weights of its draws share.

    Raises:
        ValueError: for negative linear weights.
    """
    found: dict[str, Array] = {}
    warnings: list[str] = []
    for name in (*WEIGHTS, *LINEAR):
        if name not in arrays:
            continue
        role, array = _by_shape(name, arrays[name], sizes, order)
        if array is None:
            warnings.append(_unfit(name, arrays[name], sizes))
        elif role in found:
            warnings.append(
                f"{role} came twice: {name} was left unread. Save the weights once, as logarithms."
            )
        else:
            found[role] = _logs(name, array) if name in LINEAR else array
    truths, draws = (found.get(name) for name in WEIGHTS)
    if truths is not None and (draws is None or not np.isfinite(truths).any()):
        del found["log_w"]
        if draws is None:
            warnings.append(
                "log_w must come with log_w_draws (N, K), the weights of the draws; got it "
                "alone. It was left unread: save the same ratio of densities at every draw."
            )
    elif truths is not None and draws is not None and _stands_in(truths, draws):
        del found["log_w"]
        warnings.append(
            f"The weight is the same, {np.exp(truths[0]):.3g}, at every true value, and differs "
            "among draws: it was taken for a placeholder and left unread. Save as log_w (N,) the "
            "ratio of densities at theta that the draws' weights are."
        )
    return GivenWeights(found, tuple(warnings))


def _by_shape(
    name: str, given: NDArray[np.generic], sizes: tuple[int, int], order: Order
) -> tuple[str, Array | None]:
    """The role of weights by their shape, and the array (N,) or (N, K); None where none fits."""
    n, k = sizes
    truths = reshaped(given, (n,))
    draws = reshaped(given, (n, k) if order == "NKD" else (k, n))
    if draws is not None and (name.endswith("_draws") or truths is None):
        return "log_w_draws", draws if order == "NKD" else np.ascontiguousarray(draws.T)
    return "log_w", truths


def _logs(name: str, weights: Array) -> Array:
    """Logarithms of linear weights.

    Raises:
        ValueError: for negative ones.
    """
    if (weights < 0).any():
        raise ValueError(
            f"Weights must be 0 or more; got {float(np.nanmin(weights)):.4g} in {name}. If they "
            f"are logarithms, save them as {name.replace('w', 'log_w', 1)}."
        )
    with np.errstate(divide="ignore"):
        return np.log(weights)


def _stands_in(truths: Array, draws: Array) -> bool:
    """Whether true values' weights are one number, as a placeholder is, and draws' are not."""
    if np.ptp(truths[np.isfinite(truths)]) > 0 or len(truths) < 2:
        return False
    finite = draws[np.isfinite(draws)]
    return len(np.unique(finite[:1000])) > 2


def _unfit(name: str, array: NDArray[np.generic], sizes: tuple[int, int]) -> str:
    n, k = sizes
    turned = array.ndim == 2 and sorted(array.shape) == sorted(sizes)
    remedy = f"{name}.T" if turned else f"log_w ({n},) and log_w_draws ({n}, {k})"
    return (
        f"{name} must hold weights of the {n:,} true values ({n},) or of their draws ({n}, {k}); "
        f"got {array.dtype} of shape {array.shape}. It was left unread, so that all draws "
        f"count equally here: save {remedy} to use it."
    )


def weigh(
    data: PosteriorTable, logs: Mapping[str, Array], densities: Mapping[str, Array]
) -> EqualDraws | None:
    """Draw anew from weighted slots, so that the draws of a table count equally.

    Args:
        data: theta (N, D), x, q (N, K, D).
        logs: log_w (N,) and log_w_draws (N, K); the first may be missing.
        densities: log densities beside the table.

    Returns:
        the table of equal draws; None where all weights of each row are equal, so that the draws
        count equally as they are.

    Raises:
        ValueError: for weights that leave fewer than FEWEST_EFFECTIVE slots of a typical row, or
            rows that share their draws.
    """
    draws = np.asarray(logs["log_w_draws"], np.float64)
    if _equal(draws) and ("log_w" not in logs or _equal(_joined(logs["log_w"], draws))):
        return None
    if shared_draw_groups(data) is not None:
        raise ValueError(
            "Weighted draws must be drawn anew at each x; got rows that share one set of draws, "
            "so that an unlucky set would count at each of them. Draw K times for every x, say "
            "prior.sample((N, K)), and weigh those."
        )
    truths, error, notes, warnings = weights_of_truths(data, logs, draws, densities)
    log_w = _joined(truths, draws)
    if error is None and (told := _reversed(log_w)):
        log_w, notes = -log_w, (*notes, told)
    chances = shares(log_w)
    slots_left, effective = _effective(chances), _effective(shares(log_w[:, 1:]))
    share = float(chances[:, 0].mean())
    if slots_left < FEWEST_EFFECTIVE:
        raise ValueError(
            f"Weights must leave at least {FEWEST_EFFECTIVE:g} effective values in a typical row, "
            f"(sum w)^2 / sum w^2 over its true value and draws; got {slots_left:.1f} of "
            f"{log_w.shape[1]}, the true value having {share:.0%} of the weight. With so few no "
            "test could see an error: take more draws at each x, or draw from a proposal nearer "
            "to the posterior."
        )
    new = _new_draws(data.q.shape)
    slots = _drawn_slots(chances, new, stream(0, "weights"))
    table, lost = _of_slots(densities, slots)
    if error is None:
        table |= {"log_w": log_w[:, 0], "log_w_draws": np.take_along_axis(log_w, slots, axis=1)}
    weighting = Weighting(data.q, {**densities, **logs}, effective, slots_left, share, error)
    whole = np.concatenate([data.theta[:, None], data.q], axis=1)
    told_zero = int((chances[:, 0] == 0).sum())
    return EqualDraws(
        np.take_along_axis(whole, slots[..., None], axis=1),
        table,
        weighting,
        (*notes, _told(weighting, new), *lost),
        (*warnings, *_impossible(told_zero, len(chances))),
    )


def _joined(truths: Array, draws: Array) -> Array:
    """Log weights (N, 1 + K) of all slots, the true value's first."""
    return np.concatenate([np.asarray(truths, np.float64)[:, None], draws], axis=1)


def _equal(logs: Array) -> bool:
    """Whether the weights (N, S) of each row are equal."""
    return bool(np.isfinite(logs).all() and np.ptp(logs, axis=1).max(initial=0) < _EQUAL)


def shares(log_w: Array) -> Array:
    """Weights (N, S) of sum 1 in each row, from their logs; equal ones where a row has none."""
    top = log_w.max(axis=1, keepdims=True)
    w = np.exp(log_w - np.where(np.isfinite(top), top, 0.0))
    w = np.where(np.isfinite(top), w, 1.0)
    return np.asarray(w / w.sum(axis=1, keepdims=True))


def _effective(chances: Array) -> float:
    """Effective number, in the median, of weights (N, S) of sum 1 in each row."""
    return float(np.median(1 / np.square(chances).sum(axis=1)))


def _reversed(log_w: Array) -> str | None:
    """A note that weights are taken for their reciprocals; None where they are not.

    The chance that slot 0 is the true value is a likelihood of the weights. Its ratio for the
    reciprocals has expectation 1 if the weights are right, so that it exceeds 1e6 in at most one
    of 1e6 tables (Markov).
    """
    if not np.isfinite(log_w).all():
        return None
    gain = _log_chance_of_truth(-log_w) - _log_chance_of_truth(log_w)
    if gain.sum() < _REVERSED:
        return None
    return (
        "The weights were read as their reciprocals: log_w is the log density that true values "
        "have less the one that draws have (proposal / prior where theta came from a proposal), "
        f"and the true values fit its reverse exp({gain.sum():.0f}) times better. Save -log_w and "
        "-log_w_draws."
    )


def _log_chance_of_truth(log_w: Array) -> Array:
    """Log chance (N,) of slot 0, from log weights (N, S)."""
    top = log_w.max(axis=1)
    return np.asarray(
        log_w[:, 0] - top - np.log(np.exp(log_w - top[:, None]).sum(axis=1)), np.float64
    )


def _new_draws(shape: Sequence[int]) -> int:
    """Number of draws taken anew at each x, for weighted draws (N, K, D)."""
    n, k, d = shape
    return max(k, min(_DRAWS, _TIMES * k, _NUMBERS // max(1, n * d)))


def _drawn_slots(chances: Array, count: int, rng: np.random.Generator) -> Places:
    """Slots (N, L) drawn with replacement by their chances (N, S)."""
    last = chances.shape[1] - 1
    out = np.empty((len(chances), count), np.int64)
    for row, (own, u) in enumerate(zip(chances, rng.random(out.shape), strict=True)):
        total = own.cumsum()
        out[row] = np.minimum(total.searchsorted(u * total[-1], side="right"), last)
    return out


def _of_slots(
    densities: Mapping[str, Array], slots: Places
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Densities at the new draws, and notes on those that say nothing of them."""
    out: dict[str, Array] = {}
    lost = [name for name in ("log_q", "log_q_draws") if name in densities]
    stems = {name.removesuffix("_draws") for name in densities} - {"log_q"}
    for stem in sorted(stems):
        names = (stem, f"{stem}_draws")
        if set(names) <= densities.keys():
            truth, draws = (densities[name] for name in names)
            whole = np.concatenate([truth[:, None], draws], axis=1)
            out |= {stem: truth, names[1]: np.take_along_axis(whole, slots, axis=1)}
        else:
            lost += [name for name in names if name in densities]
    notes = (
        f"{', '.join(lost)}: left unread beside weights, which the densities of the unweighted "
        "draws say nothing of.",
    )
    return out, notes * bool(lost)


def weight_notes(logs: Mapping[str, Array], equal: EqualDraws | None) -> tuple[str, ...]:
    """What was made of weighted draws; nothing where there were none."""
    if not logs:
        return ()
    return equal.notes if equal else ("Weights are equal at every x: draws count equally.",)


def _told(weighting: Weighting, new: int) -> str:
    """What was made of the weighted draws."""
    exact = "tests stay exact" if weighting.error is None else "all count equally"
    return (
        f"{weighting.text()} at each x: {new:,} were drawn anew by weight from the true value and "
        f"its draws, so that {exact}. The true value is one of them at {weighting.share:.0%}, and "
        "sizes of errors look smaller by about as much."
    )


def _impossible(count: int, n: int) -> tuple[str, ...]:
    """A warning of true values that the claimed posterior excludes."""
    return (
        f"The weight of {count:,} of {n:,} true values is 0: the posterior that the weights claim "
        "excludes them, which no right one does.",
    ) * bool(count)
