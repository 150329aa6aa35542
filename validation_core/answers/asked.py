"""Which methods are asked about self-made tables, what each reads, and what all of them say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from validation_core import statistics
from validation_core.answers.relabelled import Lookers, NullVerdict
from validation_core.answers.selfnull import (
    Float,
    Places,
    Pooled,
    Scored,
    Trials,
    pvalues,
    unfit,
)
from validation_core.diagnosis import learning
from validation_core.diagnosis.obstacles import obstacle, unusable
from validation_core.methods.omnibus import Omnibus
from validation_core.methods.sbc import SBC
from validation_core.rng import stream
from validation_core.types import Draws, Fixed, Method
from validation_core.uploads import Upload

_NUMBERS = 3_000_000  # of q's draws that are scored: 5000 rows of 10 parameters keep 60 draws
_FEWEST = 20  # draws at each x that are kept whatever the size


def needs_draws(upload: Upload) -> str | None:
    """Why no table can be made of an upload's own draws; None where it can."""
    if not isinstance(upload.data, Draws):
        return (
            "A draw of q plays the truth among the others at its x; two samples p and q have no "
            "x. Upload theta, x and theta_q."
        )
    if upload.k < 2:
        return (
            f"A draw of q plays the truth, so that each row needs at least 2; got {upload.k}. "
            "Upload more draws at each x."
        )
    return obstacle(SBC(), upload) or unusable(upload)


def thinned(upload: Upload) -> Upload:
    """The upload, of large tables with fewer draws at each x, evenly spaced in their order.

    A test's level does not depend on how many draws there are, and its power hardly beyond 60:
    scoring all draws of a large table would take longer than everything else.
    """
    data = upload.data
    assert isinstance(data, Draws)
    n, k, d = data.q.shape
    most = min(k, max(_FEWEST, _NUMBERS // (n * d)))
    if most == k:
        return upload
    places = np.arange(most) * k // most
    return replace(upload, data=replace(data, q=data.q[:, places]))


def parted(upload: Upload, methods: Sequence[Method]) -> tuple[list[Method], dict[str, str]]:
    """The methods that are asked, and why others that the diagnosis runs are not, by label.

    Methods that cannot run on the upload at all are in neither.
    """
    asked, left = [], {}
    for method in methods:
        if obstacle(method, upload) is None:
            reason = unfit(method, upload.k)
            if reason is None:
                asked.append(method)
            else:
                left[method.label] = reason
    return asked, left


@dataclass(frozen=True, eq=False)
class Panel:
    """Methods, the rows that each looks at and all draws there under the score that it reads."""

    methods: tuple[Method, ...]
    pools: tuple[Pooled | None, ...]
    """One for each method; methods that read one network share one, relabelling has its own."""
    places: tuple[Places | None, ...]
    """The rows that each looks at; None for all."""
    relabelled: NullVerdict | None = None
    """What relabelling looks at, where it is among the methods."""

    @classmethod
    def of(
        cls, upload: Upload, methods: Sequence[Method], seed: int,
        network: Callable[[Method], Any], known: Mapping[Any, Pooled] | None = None,
        unlearned: Callable[[], NullVerdict] | None = None,
    ) -> Panel:  # fmt: skip
        """What these methods read.

        Args:
            upload: a table.
            methods: those that are asked.
            seed: fixes which rows are tested on.
            network: the trained network that a method reads.
            known: pools by the score or network that they were made with.
            unlearned: relabelling without learned scores, where it has been worked out before.
        """
        assert isinstance(upload.data, Draws)
        data, places = upload.data, learning.kept(upload, seed)
        test = Draws(data.theta[places], data.x[places], data.q[places])
        made: dict[Any, Pooled] = dict(known or {})
        pools: list[Pooled | None] = []
        learned: dict[str, Pooled] = {}
        for method in methods:
            if isinstance(method, Omnibus):
                pools.append(None)
                continue
            read: Any = method.score() if isinstance(method, Fixed) else network(method)
            if read not in made:
                everywhere = isinstance(method, Fixed)
                rows = Draws(data.theta, data.x[:, :0], data.q) if everywhere else test
                made[read] = Pooled.of(read if everywhere else read.at(), rows)
            pools.append(made[read])
            if method.reads in _LEARNED:
                learned[_LEARNED[method.reads]] = made[read]
        at = tuple(None if isinstance(method, Fixed) else places for method in methods)
        relabelled = None
        if any(isinstance(method, Omnibus) for method in methods):
            relabelled = unlearned() if unlearned else NullVerdict.of(upload, seed)
            if learned:
                relabelled = relabelled.beside(Lookers(learned, places))
        return cls(tuple(methods), tuple(pools), at, relabelled)

    def pvalues(self, trials: Trials, seed: int, *names: str | int) -> Float:
        """The p-values (methods, T); each method has a stream of its own."""
        each = []
        for method, scored in zip(self.methods, self._scored(trials), strict=True):
            if scored is None:
                assert self.relabelled is not None
                each.append(self.relabelled.pvalues(trials))
            else:
                each.append(pvalues(method, scored, stream(seed, *names, method.label)))
        return np.stack(each) if each else np.empty((0, len(trials)))

    def ranks(self, trials: Trials, seed: int, *names: str | int) -> list[Float]:
        """Randomised ranks (T, S, n) of each method's rows."""
        return [
            scored.ranks(stream(seed, *names, method.label))
            for method, scored in zip(self.methods, self._scored(trials), strict=True)
            if scored is not None
        ]

    def _scored(self, trials: Trials) -> list[Scored | None]:
        made: dict[int, Scored] = {}
        for pool, places in zip(self.pools, self.places, strict=True):
            if pool is not None and id(pool) not in made:  # methods share a network's scores
                made[id(pool)] = pool.on(trials if places is None else trials.at(places))
        return [None if pool is None else made[id(pool)] for pool in self.pools]


_LEARNED = {"classifier": "classifier", "localizer": "colt", "reference": "tarp", "scorer": "dc"}
"""The verdict's name of a learned score, by what the methods that read it read."""


def together(pvalue: Float, methods: Sequence[Method], tests: int) -> Float:
    """The verdict's p-value (T,) of p-values (methods, T).

    Relabelling's own where it is among the methods; else the smallest, adjusted by Holm over so
    many tests. Those that were not asked count as if they had p = 1.
    """
    for method, own in zip(methods, pvalue, strict=True):
        if isinstance(method, Omnibus):
            return own
    missing = np.ones((max(0, tests - len(pvalue)), pvalue.shape[1]))
    return statistics.holm(np.concatenate([pvalue, missing]).T).min(-1)
