"""Relabelling within x on an upload: with every score that the other tests learn, in one maximum.

It answers twice: at once without learned scores, then with all of them. The first answer uses only
the share of the level that these families have in the whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from validation_core import keys, models, scores
from validation_core.diagnosis import learning
from validation_core.diagnosis.obstacles import obstacle, within
from validation_core.diagnosis.records import Record
from validation_core.diagnosis.sources import Uploaded, table
from validation_core.keys import Specification
from validation_core.localization import over_x
from validation_core.methods import DC, TARP, CoLT, Omnibus, WithinX
from validation_core.methods.base import Method
from validation_core.models import Training
from validation_core.omnibus import Learned, columns, nearest, relabelled
from validation_core.omnibus.battery import SHARES
from validation_core.omnibus.features import RATIOS
from validation_core.scores import Recipe
from validation_core.study import Report
from validation_core.tables import Upload
from validation_core.types import PosteriorTable

if TYPE_CHECKING:
    from validation_core.store import Store

DC_ROWS = 5000
"""Rows up to which the score of discriminative calibration is learned unasked: within 3 s."""

How = Callable[[Upload, Method], Recipe | None]
"""A recipe for the network that a method reads on an upload."""


def learned(upload: Upload, how: How = learning.recipe) -> Mapping[str, Recipe]:
    """How each learned score that counts in the verdict is trained, by its name."""
    methods: dict[str, Method] = {
        "tarp": TARP(),
        "classifier": WithinX(),
        "dc": DC(),
        "colt": CoLT(),
    }
    recipes: dict[str, Recipe] = {}
    for name, method in methods.items():
        if obstacle(method, upload) is not None:
            continue
        if name == "dc" and upload.n > DC_ROWS:
            continue
        recipe = how(upload, method)
        assert recipe is not None
        recipes[name] = recipe
    if within(upload) is None:
        recipes["slots"] = learning.slot_recipe(upload)
    return recipes


def networks(upload: Upload, seed: int, how: How = learning.recipe) -> dict[str, Any]:
    """Every learned score that counts in the verdict, trained here and kept nowhere."""
    trained = {}
    for name, recipe in learned(upload, how).items():
        data = learning.training_set(upload, recipe, seed)
        (trained[name],) = recipe.learn_all([data], [seed])
    return trained


def record(
    upload: Upload,
    method: Omnibus,
    seed: int,
    networks: Mapping[str, Any],
    *,
    whole: bool = True,
    report: Callable[[float], None] = lambda done: None,
) -> Record:
    """The test of a table with the learned scores of these networks, by name.

    Args:
        whole: whether these are all that there will be.
        report: told the fraction done.
    """
    reason = obstacle(method, upload)
    if reason is not None:
        return Record.not_run(method, reason)
    assert isinstance(upload.data, PosteriorTable)
    start = time.perf_counter()
    rows = upload.data
    learned_scores = [_read(upload, name, network, seed) for name, network in networks.items()]
    train, _ = learning.places(upload, seed)
    observed = None
    if upload.observed is not None:
        observed = nearest(over_x.distances(rows.x, upload.observed[0][None])[0])
    result = relabelled(
        rows,
        seed,
        relabelings=method.relabelings,
        learned=learned_scores,
        densities=upload.densities,
        groups=upload.groups,
        training=train,
        near=observed,
        report=report,
    )
    families = {claim.family for claim in result.claims}
    there = sum(SHARES[family] for family in families)
    later = 0.0 if whole else sum(SHARES[family] for family in ("learned", "learned_over_x"))
    effect = {
        "relabelings": result.relabelings,
        "least_pvalue": 1 / (result.relabelings + 1),
        "share": there / (there + later),
        "scores": list(networks),
        "whole": whole,
        "claims": len(result.claims),
    }
    return Record(
        name=method.name,
        label=method.label,
        title=method.title,
        status="ran",
        about=method.statistic,
        statistic=float(result.evidence.max()),
        pvalue=result.pvalue,
        draws_p=upload.n,
        draws_q=upload.n * upload.k,
        seconds=time.perf_counter() - start,
        effect=effect,
        arrays=result.arrays(),
    )


def _read(upload: Upload, name: str, network: Any, seed: int) -> Learned:
    """What a network says of the truths and of those draws that may play them."""
    assert isinstance(upload.data, PosteriorTable)
    data, rows = upload.data, learning.kept(upload, seed)
    among = columns(*data.q.shape)
    if name == "slots":  # the players first, seen among the others
        network = replace(network, scored=len(among))
        rest = np.setdiff1d(np.arange(upload.k), among)[: network.frame.whole]
        indices = np.concatenate([among, rest])
    else:
        indices = among
    few = PosteriorTable(data.theta[rows], data.x[rows], data.q[np.ix_(rows, indices)])
    read = scores.apply(network.at(), few)
    values = np.concatenate([read.truth[0][:, None], read.draws[0]], axis=1)
    return Learned(name, rows, values, name in RATIOS)


@dataclass(frozen=True, kw_only=True)
class RelabelTask(Specification, spec="relabel"):
    """The test on one upload: at once, or with the learned scores."""

    digest: str
    method: Omnibus
    seed: int = 0
    names: tuple[str, ...] = ()
    """Learned scores; none for the answer at once."""
    recipes: tuple[Recipe, ...] = ()
    whole: bool = True

    @property
    def label(self) -> str:
        return f"{self.method.label} {'with learned scores, ' * bool(self.names)}an uploaded table"

    @property
    def trainings(self) -> tuple[Training, ...]:
        """The networks that it reads."""
        source = Uploaded(digest=self.digest)
        return tuple(
            Training(source=source, recipe=recipe, seed=self.seed) for recipe in self.recipes
        )

    @property
    def needs(self) -> frozenset[str]:
        """Keys of the networks: the engine lets their training come first."""
        return frozenset(keys.key(training) for training in self.trainings)

    def done(self, store: Store) -> bool:
        return store.has("results", self.key)

    def run(self, store: Store, report: Report) -> None:
        """Test, training the networks that the store lacks."""
        upload = table(store, self.digest)
        networks = {
            name: models.trained(store, training, report)
            for name, training in zip(self.names, self.trainings, strict=True)
        }
        answer = record(
            upload,
            self.method,
            self.seed,
            networks,
            whole=self.whole,
            report=lambda done: report(done, {}),
        )
        answer.keep(store, self.key, spec=keys.text(self), label=self.label)
        report(1.0, {})

    def load(self, store: Store) -> Record | None:
        """The stored record, or None."""
        return Record.load(store, self.key)


def tasks(
    upload: Upload, method: Omnibus, seed: int, how: How = learning.recipe
) -> tuple[RelabelTask, ...]:
    """The answer at once and, where something can be learned, the whole one."""
    recipes = learned(upload, how)
    first = RelabelTask(digest=upload.digest, method=method, seed=seed, whole=not recipes)
    if not recipes:
        return (first,)
    whole = RelabelTask(
        digest=upload.digest,
        method=method,
        seed=seed,
        names=tuple(recipes),
        recipes=tuple(recipes.values()),
    )
    return first, whole
