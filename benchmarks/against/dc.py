"""Our discriminative calibration, its penalty chosen and its p-value, beside the authors' fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks import rows as table
from benchmarks.against.peer import Peer
from benchmarks.against.turns import faster, saved, timed, turns
from benchmarks.lab import Lab, say
from benchmarks.rows import Row
from validation_core import sampling, scores
from validation_core.benchmarks.gaussian import Gaussian
from validation_core.methods import DC
from validation_core.rng import stream
from validation_core.types import Outcome, PosteriorTable

N, M = 1000, 10
TIMES = 3
_PENALTIES = (1e-2, 1e-3, 1e-4, 1e-5)  # those that the authors choose from


def rows(lab: Lab) -> Iterator[Row]:
    """Their fit with the penalty that is best on the held-out rows, which flatters it."""
    wide = Gaussian(perturbation="covariance_scaling")
    yield from _compare(lab, "their example, q twice too wide", *_example())
    tables = (sampling.table(wide, 0.8, N, M, stream(0, "against", "dc", i)) for i in range(2))
    yield from _compare(lab, f"{wide.label}, gamma 0.8", *tables)


def _example() -> list[PosteriorTable]:
    """y about theta with a known spread; the posterior's mean, and twice its deviation."""
    made = []
    for i in range(2):
        rng = stream(0, "against", "dc example", i)
        theta = rng.standard_normal((N, 2))
        x = theta + 0.1 * rng.standard_normal((N, 2))
        q = (x / 1.01)[:, None] + 2 * 101**-0.5 * rng.standard_normal((N, M, 2))
        made.append(PosteriorTable(theta, x, q))
    return made


def _compare(lab: Lab, what: str, learn: PosteriorTable, held: PosteriorTable) -> Iterator[Row]:
    file = saved(
        lab, "dc", theta=learn.theta, x=learn.x, q=learn.q,
        held_theta=held.theta, held_x=held.x, held_q=held.q,
    )  # fmt: skip
    fits: dict[float, dict[str, Any]] = {}
    found: list[Outcome] = []
    with Peer("dc") as peer:
        for penalty in _PENALTIES:
            fits[penalty] = peer.ask("fit", file, penalty=penalty)
            say(f"their penalty {penalty:g}: {fits[penalty]}")
        best = max(fits, key=lambda penalty: fits[penalty]["divergence"])
        seconds = turns(
            lambda: peer.ask("fit", file, penalty=best)["seconds"],
            lambda: timed(lambda: found.append(_test(learn, held))), TIMES,
        )  # fmt: skip
    yield faster(
        f"DC our features, N = {N}, m = {M}, on {what}, against one DiscCalibration fit", 2.0,
        seconds,
        f"median of {TIMES}, theirs on all cores with penalty {best:g}, no p; ours with penalties "
        f"chosen and p = {float(found[0].pvalue):.3f}; their other fits took "
        + ", ".join(f"{one['seconds']:.3g} s" for at, one in fits.items() if at != best),
    )  # fmt: skip
    theirs, ours = fits[best]["divergence"], float(found[0].statistic)
    all_theirs = ", ".join(f"{one['divergence']:.4f}" for one in fits.values())
    yield table.at_least(
        "its held-out divergence against the best of their four penalties", "nats",
        f"theirs {all_theirs}", divergence=(ours, theirs),
    )  # fmt: skip


def _test(learn: PosteriorTable, held: PosteriorTable) -> Outcome:
    method = DC(m=M)
    (trained,) = method.recipe(N, M).learn_all([learn], [0])
    return method.test(scores.apply(trained.at(), held), stream(0, "slots"))
