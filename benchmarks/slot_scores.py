"""The score within x beside today's classifier and DC's: power, level, seconds, memory.

Both scores learn on one half of each table and are tested on the other, by the exact KS test of
the truth's rank within x; DC by its permutations. Defects are made with q right but for one
thing, N = 1000, K = 200, D = 3, x three standard normals and theta = x + .7 noise. Every table
leaves a line in a file below --cache, and a later run goes on from there.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import rows as table
from benchmarks.lab import ROOT, Lab, say
from benchmarks.rows import Row
from validation_core import sampling, scores
from validation_core.diagnosis import learning
from validation_core.methods import DC, WithinX
from validation_core.methods.base import Method
from validation_core.rng import stream
from validation_core.statistics import binomial_bounds
from validation_core.tables import Upload
from validation_core.types import Array, PosteriorTable

N, K, D = 1000, 200, 3
SIGMA = 0.7
ALPHA = 0.05
FULL, QUICK = 24, 4
SPLITS = 3
"""Ways in which a real table is cut in two."""
REAL = ("two_moons_well_trained", "two_moons_undertrained", "sir_well_trained",
        "sir_undertrained")  # fmt: skip
METHODS: Mapping[str, Method] = {
    "classifier": WithinX(), "within": WithinX(), "DC": DC(), "DC within": DC(net="within"),
}  # fmt: skip

Noise = tuple[Array, Array]
"""Standardised truths (n, D) and draws (n, K, D)."""
Defect = Callable[[Array, Array, Array, np.random.Generator], Noise]


def _none(x: Array, z: Array, q: Array, rng: np.random.Generator) -> Noise:
    return z, q


def _correlated(x: Array, z: Array, q: Array, rng: np.random.Generator) -> Noise:
    """Correlations of .3 that q lacks."""
    lower = np.linalg.cholesky(0.7 * np.eye(D) + 0.3)
    return z @ lower.T, q


def _three_way(x: Array, z: Array, q: Array, rng: np.random.Generator) -> Noise:
    """sign(z1 z2 z3) is + with probability .75: every pair is independent."""
    wanted = np.where(rng.random(len(z)) < 0.75, 1.0, -1.0)
    z[:, 2] *= wanted * np.sign(z.prod(axis=1))
    return z, q


def _rare_shift(x: Array, z: Array, q: Array, rng: np.random.Generator) -> Noise:
    """One sd in the 5% of x beyond 1.645."""
    z[x[:, 0] > 1.645, 0] += 1
    return z, q


def _truncated(x: Array, z: Array, q: Array, rng: np.random.Generator) -> Noise:
    """q ends at 2 sd."""
    while (far := np.abs(q) > 2).any():
        q[far] = rng.standard_normal(int(far.sum()))
    return z, q


def _heavy(x: Array, z: Array, q: Array, rng: np.random.Generator) -> Noise:
    """t with 5 degrees of freedom, of variance 1."""
    return rng.standard_t(5, z.shape) * np.sqrt(3 / 5), q


DEFECTS: Mapping[str, Defect] = {
    "correlation .3 missing": _correlated, "three-way dependence": _three_way,
    "1 sd in 5% of x": _rare_shift, "q ends at 2 sd": _truncated, "t5 tails": _heavy,
    "nothing wrong": _none,
}  # fmt: skip


def defect(name: str, trial: int) -> Upload:
    """A fresh table with one defect."""
    rng = stream(trial, "slot scores", name)
    x, right = rng.standard_normal((2, N, D))
    z, q = DEFECTS[name](x, right, rng.standard_normal((N, K, D)), rng)
    return Upload.of({"theta": x + SIGMA * z, "x": x, "theta_q": x[:, None] + SIGMA * q})


def real(name: str) -> Upload:
    """A table of an estimator that was really trained."""
    arrays = np.load(ROOT.parent / "shared" / "data" / f"{name}.npz")
    return Upload.of({part: arrays[part] for part in ("theta", "x", "theta_q")})


def pvalues(upload: Upload, seed: int) -> dict[str, float]:
    """The p-value of every method, and the seconds of both scores."""
    found: dict[str, float] = {}
    assert isinstance(upload.data, PosteriorTable)
    for name, method in METHODS.items():
        start = time.process_time()
        recipe: Any = learning.recipe(upload, method)
        if name == "within":
            recipe = learning.slot_recipe(upload)
        data = learning.build_training_set(upload, recipe, seed)
        trained = recipe.learn_all([data], [seed])[0]
        most = method.budget(1, upload.k).q
        held = sampling.rows_view(upload.data, learning.held_out_rows(upload, seed), most)
        read = scores.apply(trained.at(), held)
        found[f"{name} seconds"] = time.process_time() - start
        found[name] = float(method.test(read, stream(seed, "slot scores", name)).pvalue)
    return found


def rows(lab: Lab) -> Iterator[Row]:
    """Real tables, defects, the level, and what it takes."""
    kept = (lab.kept or lab.folder) / "slot_scores.jsonl"
    kept.parent.mkdir(parents=True, exist_ok=True)
    trials = FULL if lab.full else QUICK
    if (ROOT.parent / "shared" / "data").is_dir():
        for name in REAL:
            found = [_one(kept, name, seed) for seed in range(SPLITS)]
            each = "; ".join(
                f"{method} " + " ".join(f"{one[method]:.1e}" for one in found)
                for method in METHODS
            )
            yield table.told(f"p-values on {name}, {SPLITS} splits", each)
    for name in DEFECTS:
        found = [_one(kept, name, trial) for trial in range(trials)]
        yield _power(name, found)
    yield from _takes()


def _power(name: str, found: list[dict[str, float]]) -> Row:
    """Rejections at 5% and the median p-value of each method."""
    shares = {one: float(np.mean([p[one] <= ALPHA for p in found])) for one in METHODS}
    each = ", ".join(
        f"{one} {share:.2f} (p {np.median([p[one] for p in found]):.0e})"
        for one, share in shares.items()
    )
    if name == "nothing wrong":
        low, high = binomial_bounds(len(found), ALPHA, 0.999)
        ok = all(low <= round(share * len(found)) <= high for share in shares.values())
        return table.told(f"rejections at 5%, {name}, of {len(found)}", each, ok)
    told = table.told(f"rejections at 5%, {name}, of {len(found)}", each)
    return told._replace(numbers=shares)


def _one(kept: Path, name: str, trial: int) -> dict[str, float]:
    """From the file, or worked out and added to it."""
    key = f"{name}/{trial}"
    if kept.exists():
        for line in kept.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            if one["key"] == key:
                return one["found"]
    upload = real(name) if name in REAL else defect(name, trial)
    found = pvalues(upload, trial)
    with kept.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"key": key, "found": found}) + "\n")
    say(f"{key}: " + ", ".join(f"{one} {found[one]:.1e}" for one in METHODS))
    return found


SIZES: Mapping[tuple[int, int, int], tuple[float, float]] = {
    (1000, 200, 3): (2.5, 150.0), (5000, 1000, 10): (6.0, 150.0),
}  # fmt: skip
"""(N, K, D): seconds on one core and MB beyond the table, at most."""


def _takes() -> Iterator[Row]:
    for (n, k, d), (seconds, memory) in SIZES.items():
        command = [sys.executable, "-m", "benchmarks.slot_scores", str(n), str(k), str(d)]
        out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        found = json.loads(out)
        yield table.at_most(
            f"learning and scoring within x, N = {n}, K = {k}, D = {d}: processor seconds, MB",
            "", learning=(found["learning"], seconds), all=(found["all"], seconds),
            memory=(found["memory"], memory),
        )  # fmt: skip


def _measure(n: int, k: int, d: int) -> dict[str, float]:
    """Processor seconds, and MB at the peak beyond what the table and the libraries take."""
    for size in ((60, 10, 2), (n, k, d)):  # libraries are loaded by the first, small one
        rng = stream(0, "slot scores", "size")
        x, theta = rng.standard_normal((size[0], 3)), rng.standard_normal((size[0], size[2]))
        q = rng.standard_normal(size, dtype=np.float32)
        upload = Upload.of({"theta": theta.astype(np.float32), "x": x, "theta_q": q})
        assert isinstance(upload.data, PosteriorTable)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()
        recipe = learning.slot_recipe(upload)
        data = learning.build_training_set(upload, recipe, 0)
        trained = recipe.learn_all([data], [0])[0]
        learnt = time.process_time() - start
        held = sampling.rows_view(upload.data, learning.held_out_rows(upload, 0))
        scores.apply(trained.at(), held)
        took = time.process_time() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"learning": learnt, "all": took, "memory": (peak - before) / 1024}


if __name__ == "__main__":
    print(json.dumps(_measure(*map(int, sys.argv[1:4]))))
