"""Random defects of the Gaussian and curved families: how often the right cause is named."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import rows as table
from benchmarks.lab import Lab, say
from benchmarks.rows import Row
from validation_core import diagnosis, sampling
from validation_core.benchmarks import Gaussian
from validation_core.benchmarks.perturbations import Perturbation
from validation_core.diagnosis import tasks
from validation_core.diagnosis.questions.cause.study import find_likely_cause
from validation_core.methods import SBC, WithinX
from validation_core.rng import stream
from validation_core.store import Store
from validation_core.tables import Upload
from validation_core.types import PosteriorTable

N, K = 1000, 200
DEFECTS, FEW, EXACT = 200, 42, 20
FIRST = 1000  # the tables before were looked at while the limits were chosen
SIZES = ((2, 2), (3, 3), (5, 5), (10, 10))

STRENGTHS: dict[Perturbation, tuple[float, float]] = {
    "mean_shift": (0.1, 0.3),
    "covariance_scaling": (0.4, 1.4),
    "anisotropic": (1.0, 3.0),
    "heavy_tail": (0.2, 0.6),
    "additional_mode": (0.1, 0.4),
    "mode_collapse": (0.1, 0.6),
    "blind_prior": (1.0, 1.0),
}
"""Between which gamma is drawn; of those, defects count that the tests below find."""

CAUSES: dict[Perturbation, str] = {
    "mean_shift": "bias",
    "covariance_scaling": "too_wide",
    "anisotropic": "wrong_correlation",
    "heavy_tail": "heavy_tails",
    "additional_mode": "spurious_mode",
    "mode_collapse": "missing_mode",
    "blind_prior": "ignores_x",
}
"""What each perturbation is called here."""


class Defect(NamedTuple):
    """A table whose defect is known."""

    cause: str
    label: str
    draws: PosteriorTable


def defect(i: int) -> Defect:
    """The i-th: perturbations in turn; size, bend and gamma at random."""
    rng = stream(i, "cause", "defect")
    perturbation = list(CAUSES)[i % len(CAUSES)]
    dim_x, dim_theta = SIZES[rng.integers(len(SIZES))]
    benchmark = Gaussian(
        perturbation=perturbation,
        dim_x=dim_x,
        dim_theta=dim_theta,
        curved=bool(rng.random() < 0.5),
    )
    gamma = float(rng.uniform(*STRENGTHS[perturbation]))
    draws = sampling.table(benchmark, gamma, N, K, rng)
    return Defect(CAUSES[perturbation], f"{benchmark.label}, gamma {gamma:.2f}", draws)


def exact(i: int) -> PosteriorTable:
    """An exact posterior, straight and curved in turn."""
    rng = stream(i, "cause", "exact")
    dim_x, dim_theta = SIZES[rng.integers(len(SIZES))]
    benchmark = Gaussian(dim_x=dim_x, dim_theta=dim_theta, curved=i % 2 == 1)
    return sampling.table(benchmark, 0.0, N, K, rng)


def found_by_tests(draws: PosteriorTable, folder: Path) -> bool:
    """Whether SBC or the rank of the truth within x finds it at 5%, after Holm's correction."""
    upload = Upload.of({"theta": draws.theta, "x": draws.x, "theta_q": draws.q}, order="NKD")
    store = Store(folder)
    for methods in ((SBC(),), (SBC(), WithinX())):  # the second learns: only where it must
        tasks.register_upload(upload)
        for task in tasks.tasks(upload, methods, 0):
            task.run(store, lambda fraction, live: None)
        records, _ = tasks.records(store, upload, methods, 0)
        if diagnosis.verdict(records, upload, alpha=0.025).verdict == "problem found":
            return True
    return False


def rows(lab: Lab) -> Iterator[Row]:
    """The confusion table, exact posteriors, and the time of one table of ten parameters."""
    wanted = DEFECTS if lab.full else FEW
    confusion: Counter[tuple[str, str]] = Counter()
    skipped, i = 0, FIRST - 1
    while sum(confusion.values()) < wanted:
        i += 1
        item = defect(i)
        if not found_by_tests(item.draws, lab.folder / "cause"):
            skipped += 1
            continue
        got = find_likely_cause(item.draws, i).cause
        confusion[item.cause, got] += 1
        if got != item.cause:
            say(f"{item.label}: {item.cause} told as {got}")
    total = sum(confusion.values())
    right = sum(count for (truth, got), count in confusion.items() if truth == got) / total
    unclear = sum(count for (_, got), count in confusion.items() if got in ("unclear", "none"))
    row = table.at_least(
        f"right cause of {total} random defects", "of all", f"{unclear} unclear, {skipped} not "
        f"counted: no test finds them; {_table(confusion)}", right=(right, 0.8),
    )  # fmt: skip
    yield row._replace(numbers={**row.numbers, "confusion": _plain(confusion)})
    counter = Counter(find_likely_cause(exact(FIRST + i), i).cause for i in range(EXACT))
    wrong = EXACT - counter["none"] - counter["unclear"]
    yield table.at_most(
        f"causes named for {EXACT} exact posteriors", "", str(dict(counter)), wrong=(wrong, 1)
    )
    start = time.perf_counter()
    find_likely_cause(exact_of_ten(), 0)
    seconds = time.perf_counter() - start
    yield table.at_most(f"cause, N = {N}, K = {K}, D = 10", "s", "", all=(seconds, 12.0))


def exact_of_ten() -> PosteriorTable:
    """Ten parameters."""
    return sampling.table(Gaussian(dim_x=10, dim_theta=10), 0.0, N, K, stream(0, "ten"))


def _plain(confusion: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    message: dict[str, dict[str, int]] = {}
    for (truth, got), count in sorted(confusion.items()):
        message.setdefault(truth, {})[got] = count
    return message


def _table(confusion: Counter[tuple[str, str]]) -> str:
    return "; ".join(
        f"{truth}: " + ", ".join(f"{got} {count}" for got, count in row.items())
        for truth, row in _plain(confusion).items()
    )
