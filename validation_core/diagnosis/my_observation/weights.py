"""What do importance weights say? log p - log q of q's own draws at an observation, or near it."""

from __future__ import annotations

import math

import numpy as np

from validation_core.diagnosis.my_observation.answer import ObservationAnswer
from validation_core.diagnosis.my_observation.pictures import weights_shown
from validation_core.statistics.pareto_smoothing import SmoothedWeights, pareto_smoothed
from validation_core.text import count_text, number_text, scaled_text
from validation_core.types import Array, Float

FEWEST = 10
"""Draws with both densities below which weights say nothing."""
_EACH, _TOGETHER = 30, 100  # draws below which nearly equal weights have a tail that looks heavy
_TITLE = "What do importance weights say?"
_CANNOT = (
    "Weights see q only where it has draws: posterior mass without a draw stays unseen. Densities "
    "may lack a constant, and the log evidence lacks it too."
)


def log_ratios(log_joint: Array, log_q: Array) -> Float:
    """log p - log q of draws (K,), where both are known: -inf where p has no mass."""
    joint, q = (np.asarray(part, dtype=np.float64).ravel() for part in (log_joint, log_q))
    with np.errstate(invalid="ignore"):
        ratio = joint - q
    return ratio[np.isfinite(q) & ~np.isnan(ratio) & (ratio < np.inf)]


def weights(ratios: list[Float], where: str) -> ObservationAnswer | None:
    """Answer what weights say of q's draws at an x, or at several near it.

    Args:
        ratios: log p - log q (K,) of the draws at each x, the observation's own or the nearest
            first.
        where: `at your observation`, or where else these draws are.

    Returns:
        None where fewer than 10 draws have a weight.
    """
    known = [ratio for ratio in ratios if np.isfinite(ratio).sum() >= FEWEST]
    if not known:
        return None
    each = [pareto_smoothed(ratio) for ratio in known]
    first, ratio = each[0], known[0]
    finite = ratio[np.isfinite(ratio)]
    told = [one for one in each if not math.isnan(one.k)]
    k = float(np.median([one.k for one in told])) if told else math.nan
    counts = [len(one.log_weights) for one in told]
    wrong = k > first.reliable_below and min(counts) >= _EACH and sum(counts) >= _TOGETHER
    effective = float(np.median([one.effective / len(one.log_weights) for one in each]))
    spread = float(np.median([one[np.isfinite(one)].std() for one in known]))
    return ObservationAnswer(
        name="weights",
        title=_TITLE,
        sentences=(
            _answer(first, k, effective, where, wrong=wrong),
            f"log p less log q varies by {number_text(spread, 2)} nats (sd) over q's draws; 0 if "
            "q were the posterior.",
            *_evidence(first, ratio, alone=len(known) == 1),
        ),
        cannot=_CANNOT,
        wrong=True if wrong else None,
        pvalue=None,
        drawn=(weights_shown(finite),),
        rows=[
            {
                "x, the nearest first": at,
                "effective share of draws": one.effective / len(one.log_weights),
                "Pareto k": one.k,
                "sd of log p - log q, nats": float(of[np.isfinite(of)].std()),
            }
            for at, (one, of) in enumerate(zip(each, known, strict=True))
        ],
        numbers={
            "pareto_k": k,
            "effective_share": effective,
            "spread_nats": spread,
            "log_evidence": _log_mean(first, ratio)[0] if len(known) == 1 else None,
            "log_evidence_error": _log_mean(first, ratio)[1] if len(known) == 1 else None,
            "observations": len(known),
        },
    )


def _answer(
    smoothed: SmoothedWeights, k: float, effective: float, where: str, *, wrong: bool
) -> str:
    count, below = count_text(len(smoothed.log_weights), "draw"), smoothed.reliable_below
    kept = f"weights keep {number_text(100 * effective, 2)}% of {count}"
    if math.isnan(k):
        return f"Too few draws that differ for a Pareto k {where}: {kept}. Bring more."
    words = f"{kept} (Pareto k {number_text(k, 2)})"
    if wrong:
        return (
            f"q misses posterior mass {where}: {words}; above {below:.2f} no average of "
            "them can be trusted."
        )
    if k > below:
        return (
            f"Too few draws to tell whether q misses posterior mass {where}: {words}; below "
            f"{below:.2f} averages of so few can be trusted. Bring more."
        )
    return f"Weights can mend q {where}: {words}; below {below:.2f} their averages can be trusted."


def _log_mean(smoothed: SmoothedWeights, ratio: Array) -> tuple[float, float]:
    """log of the mean weight, an estimate of log p(x_o), with its standard error."""
    top = float(ratio.max())
    mean = top + math.log(float(np.exp(ratio - top).mean()))
    count = len(ratio)
    return mean, math.sqrt(max(1 / smoothed.effective - 1 / count, 0.0))


def _evidence(smoothed: SmoothedWeights, ratio: Array, *, alone: bool) -> tuple[str, ...]:
    if not alone:
        return ()
    mean, error = _log_mean(smoothed, ratio)
    return (f"Log evidence {scaled_text(mean, error, 5)} ± {number_text(error, 2)} nats.",)
