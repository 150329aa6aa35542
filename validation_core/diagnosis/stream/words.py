"""A stream's evidence in words."""

from __future__ import annotations

from collections.abc import Sequence

from validation_core.diagnosis.evidence import RankEvidence
from validation_core.relabelling.claims import parameter_name
from validation_core.text import count_text, list_text, number_text, said_equals

_NAMED = 3


def stream_sentences(
    found: RankEvidence, names: Sequence[str], alpha: float, left_out: int, repeats: int
) -> tuple[str, ...]:
    """What the rows so far say of q.

    Args:
        found: the evidence.
        names: of the parameters.
        alpha: level.
        left_out: rows left out for NaN.
        repeats: rows left out since they came before.
    """
    after, n = found.first_beyond(alpha), len(found.wealth)
    line, p = f"{1 / alpha:.3g} to 1", said_equals(found.pvalue)
    reasons = {"NaN or infinite numbers": left_out, "the theta and x of an earlier row": repeats}
    lost = [f"{count_text(n, 'row')} left out: {why}." for why, n in reasons.items() if n]
    if after is None:
        return (
            f"Not decided after {count_text(n, 'row')}: the evidence against q was never above "
            f"{number_text(found.most, 2)} to 1; {line} rejects (p {p}).",
            "That is no proof that q is right.",
            *lost,
        )
    rows = f"{after:,} of {n:,} rows" if n > after else count_text(after, "row")
    return (
        f"q is wrong: decided after {rows} (p {p}, valid however often one looks).",
        *_clearest(found, names, alpha),
        *lost,
    )


def score_titles(found: RankEvidence, names: Sequence[str]) -> list[str]:
    """Each score in words."""
    own = [parameter_name(names, int(which)) for which in found.parameters]
    others = ["the distance of true values from q's middle"] * (len(own) > 1)
    learned = ["a score learned from the rows before"]
    return [*own, *others, *learned][: len(found.each)]


def _clearest(found: RankEvidence, names: Sequence[str], alpha: float) -> tuple[str, ...]:
    """A sentence that names the scores whose own evidence rejects; none where none does."""
    titles = score_titles(found, names)
    clear = [titles[i] for i in found.clear_scores(alpha)[:_NAMED]]
    return (f"Clearest in {list_text(clear)}.",) if clear else ()
