"""Ranks, and all that is said of them, beside sbi."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.against.peer import Peer
from benchmarks.against.turns import faster, saved, timed, turns
from benchmarks.lab import Lab
from benchmarks.rows import Row
from validation_core import scores, statistics
from validation_core.methods import SBC
from validation_core.rng import stream
from validation_core.statistics import uniformity
from validation_core.statistics.histograms import histogram_band
from validation_core.types import PosteriorTable

N, K, D = 1000, 1000, 10
TIMES = 7


def rows(lab: Lab) -> Iterator[Row]:
    """From draws in memory on both sides, in the order in which each keeps them."""
    rng = stream(0, "against", "sbc")
    theta, x, q = (rng.standard_normal(shape, np.float32) for shape in ((N, D), (N, D), (N, K, D)))
    file, drawn = saved(lab, "sbc", theta=theta, x=x, q=q), PosteriorTable(theta, x, q)
    with Peer("sbc") as peer:
        answer = peer.ask("ranks", file)
        same = _below(drawn) == answer["ranks"]
        seconds = turns(
            lambda: peer.ask("ranks", file)["seconds"], lambda: timed(lambda: _ranks(drawn)), TIMES
        )
        row = faster(
            f"SBC ranks and KS, N = {N}, K = {K}, D = {D}, against sbi's _run_sbc", 8.0, seconds,
            f"median of {TIMES}, theirs with {answer['threads']} threads and without KS; "
            f"{'the same' if same else 'OTHER'} ranks",
        )  # fmt: skip
        yield row._replace(ok=row.ok and same)
        seconds = turns(
            lambda: peer.ask("check", file)["seconds"], lambda: timed(lambda: _complete(drawn)), 1
        )
        yield faster(
            "SBC complete (ranks, KS, Holm, bands) against sbi's check_sbc", 25.0, seconds,
            "theirs without the ranking, ours with it and no band remembered",
        )  # fmt: skip


def _below(drawn: PosteriorTable) -> list[list[int]]:
    made = scores.apply(SBC().score(), drawn)
    below, _ = statistics.count(made.truth, made.draws)
    return below.T.astype(int).tolist()


def _ranks(drawn: PosteriorTable) -> None:
    made = scores.apply(SBC().score(), drawn)
    statistics.ks(statistics.conformal_ranks(made.truth, made.draws, stream(0, "ties")))


def _complete(drawn: PosteriorTable) -> None:
    uniformity.ecdf_band_on_grid.cache_clear()
    histogram_band.cache_clear()
    found = SBC().test(scores.apply(SBC().score(), drawn), stream(0, "ties")).arrays
    statistics.ecdf_difference(found["u"])
    statistics.ecdf_band(N)
    bins = statistics.bins(N, K)
    statistics.histogram(found["u"], bins)
    histogram_band(N, bins)
