"""One method on one uploaded table: the rows that it tests, and the record it gives.

SBC, MMD-FUSE and the symmetric divergence learn nothing and read every row; what learns is
tested on the half of the rows that it did not learn from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from validation_core import sampling, scores
from validation_core.diagnosis import learning
from validation_core.diagnosis.plan import method_obstacle, slots_obstacle
from validation_core.localization import neighbours
from validation_core.methods import DC, TARP, Omnibus, WithinX
from validation_core.methods.base import Method
from validation_core.methods.colt import CoLT
from validation_core.methods.record import LISTED, Effects, Record
from validation_core.provenance import Stopwatch
from validation_core.relabelling import UNLEARNED, relabelled
from validation_core.relabelling.families import RATIOS
from validation_core.relabelling.pools import players
from validation_core.relabelling.result import OmnibusResult
from validation_core.relabelling.table_statistics import LearnedScore, nearest, playing_draws
from validation_core.rng import stream
from validation_core.scores import Recipe
from validation_core.scores.classifier import TrainedClassifier
from validation_core.scores.quantities import ranked_quantities
from validation_core.tables import RanksUpload, TableUpload, Upload
from validation_core.types import (
    Array,
    Budget,
    ClassProbabilities,
    Outcome,
    PosteriorTable,
    Scores,
    TruthRanks,
    TwoSamples,
)

_LOOKED = 1000  # draws of q that a local test looks at: bounds what a record holds of its nulls
Network = Any
"""A `scores.base.Trained` that scores: it has `at(beta) -> Score`."""


class _MethodInput(NamedTuple):
    """The scores that a method is given; of a local test also where it looks."""

    scores: Scores
    rows: np.ndarray = np.zeros(0, int)
    """Places (P,) in the upload."""
    looked: PosteriorTable | None = None
    """The table there."""


def run_method(
    upload: Upload, method: Method, seed: int, *, network: Callable[[], Network]
) -> Record:
    """A method's record on an upload.

    Args:
        upload: what was read.
        method: the test with its options.
        seed: fixes the split, the draws, and the tie-breakers; streams are named, so that a
            method's result does not depend on which others run.
        network: gives the network that the method reads; called only where it reads one.
    """
    reason = method_obstacle(method, upload)
    if reason is not None:
        return Record.not_run(method, reason)
    if isinstance(upload, RanksUpload):
        return _on_ranks(upload, method, seed)
    trained = network() if method.needs_training else None
    watch = Stopwatch()
    read = _read(upload, method, seed, trained)
    outcome = method.test(read.scores, stream(seed, *method.stream))
    if method.learns_anew:  # a test that learns uses up what it learns from
        train, _ = learning.training_and_held_out_rows(upload, seed)
        outcome = replace(outcome, budget=method.budget(len(train), upload.k))
    effect, arrays = _learnt(method, trained, upload, seed)
    effect = _with_outcome(effect, method, outcome)
    if method.ranks_parameters and (own := ranked_quantities(upload.own_quantities)):
        effect = replace(effect, quantities=tuple(own))
    if read.looked is not None:
        effect = _with_place(effect, read.rows, read.looked.x, int(outcome.arrays["worst"]))
        arrays["theta_q"] = read.looked.q
    return Record.ran(method, outcome, watch.seconds, effect, arrays)


def _on_ranks(upload: RanksUpload, method: Method, seed: int) -> Record:
    """The record of a method that tests ranks that came without draws."""
    watch = Stopwatch()
    outcome = method.test_ranks(upload.data, stream(seed, *method.stream))
    outcome = replace(outcome, budget=Budget(upload.n, upload.n * upload.k))
    effect = _with_outcome(Effects(), method, outcome)
    return Record.ran(method, outcome, watch.seconds, effect, {})


def _learnt(
    method: Method, trained: Network | None, upload: Upload, seed: int
) -> tuple[Effects, dict[str, Array]]:
    """Effects and arrays that the network itself adds to a record."""
    if trained is None:
        return Effects(), {}
    effect = Effects(training_seconds=trained.seconds)
    if isinstance(trained, TrainedClassifier):
        return replace(effect, classifier_auc=trained.auc), {}
    if isinstance(method, CoLT) and isinstance(upload, TableUpload):
        arrays = _centre(trained, upload.data.x[learning.held_out_rows(upload, seed)])
        return replace(effect, localizer_distance=trained.summary["held"]), arrays
    return effect, {}


def _with_outcome(effect: Effects, method: Method, outcome: Outcome) -> Effects:
    """With names and numbers of one outcome, no leading axes, and what its null can tell."""
    own = Effects.of(method.effects(outcome))
    effect = replace(effect, numbers=own.numbers, words=own.words)
    if not method.resamples:
        return effect
    least = float(outcome.effect.get("least_pvalue", 1 / (method.resamples + 1)))
    return replace(effect, relabelings=method.resamples, least_pvalue=least)


def _with_place(effect: Effects, rows: np.ndarray, x: Array, worst: int) -> Effects:
    """With where a local test found most.

    Args:
        effect: of everything else.
        rows: places (P,), among the rows that were read, of all observations it looked at.
        x: these observations (P, M).
        worst: which of them.
    """
    return replace(
        effect,
        row=int(rows[worst]),
        x_o=tuple(x[worst].tolist()) if x.shape[1] <= LISTED else None,
        rows=tuple(rows.tolist()) if len(rows) > 1 else None,
    )


def _centre(localizer: Network, x: Array) -> dict[str, Array]:
    """The learnt centre (D,) at the observation (M,) of x (n, M) nearest to the median of all."""
    middle = x[_nearest(x, 1)]
    return {"x_median": middle[0], "centre": localizer.at().centre(middle)[0]}


def _nearest(x: Array, count: int) -> np.ndarray:
    """The rows whose observations are nearest to the median of all."""
    x = np.asarray(x, dtype=np.float64)
    scale = x.std(0)
    off = (x - np.median(x, axis=0)) / np.where(scale > 0, scale, 1.0)
    return np.square(off).sum(1).argsort(kind="stable")[:count]


def _read(upload: Upload, method: Method, seed: int, trained: Network | None) -> _MethodInput:
    if isinstance(upload, TableUpload) and (method.layout == "table" or method.learns_anew):
        return _read_table(upload, method, seed, trained)
    data = upload.data
    assert not isinstance(data, TruthRanks | ClassProbabilities), "they are tested as they are"
    rng = stream(seed, "diagnose", "blocks")
    if method.is_fixed:
        blocks = _blocks(data, rng, method.most_rows(upload))
        return _MethodInput(scores.apply(method.score(), blocks))
    assert trained is not None
    blocks = _test_blocks(upload, seed, rng)
    calibration = method.budget(1, 1).p  # rows of p for each of q
    if calibration > 1:
        blocks = replace(
            blocks, q=sampling.joint_rows(blocks.q, slice(len(blocks.p) // calibration))
        )
    return _MethodInput(scores.apply(trained.at(), blocks))


def _read_table(
    upload: TableUpload, method: Method, seed: int, trained: Network | None
) -> _MethodInput:
    """The input of a method that compares the truth with q's draws at its own x."""
    if method.learns_anew:
        return _at_median(method, upload, seed)
    known = method.known_scores(upload)
    if known is not None:
        return _MethodInput(known)
    if method.is_fixed:
        x = upload.data.x if method.reads_x else upload.data.x[:, :0]
        return _MethodInput(scores.apply(method.score(), replace(upload.data, x=x)))
    assert trained is not None
    rows, most = learning.held_out_rows(upload, seed), method.budget(1, upload.k).q
    held = sampling.rows_view(upload.in_no_order.data, rows, most)
    return _MethodInput(scores.apply(trained.at(), held))


def _test_blocks(upload: Upload, seed: int, rng: np.random.Generator) -> TwoSamples:
    """Independent rows, in no order, that no network of this seed learns from."""
    if isinstance(upload, TableUpload):
        return sampling.blocks_of_rows(upload.data, rng, learning.held_out_rows(upload, seed))
    _, test = learning.split_upload(upload, seed)
    return _blocks(test, rng)


def _blocks(
    data: PosteriorTable | TwoSamples, rng: np.random.Generator, most: int | None = None
) -> TwoSamples:
    """Independent rows in no order, at most so many of each side: a table is split by x."""
    if isinstance(data, PosteriorTable):
        data = sampling.blocks_of_rows(data, rng)
    elif most is not None:
        data = TwoSamples(
            *(sampling.joint_rows(side, rng.permutation(len(side))) for side in (data.p, data.q))
        )
    return TwoSamples(*(sampling.joint_rows(side, slice(most)) for side in (data.p, data.q)))


def _at_median(method: Method, upload: TableUpload, seed: int) -> _MethodInput:
    """The input of a local test, learnt on other rows, at the observations nearest the median."""
    train, test = learning.training_and_held_out_rows(upload, seed)
    (rows, each), (points, draws) = method.sizes(len(train), upload.k)
    learn = sampling.take(upload.in_no_order.data, train[:rows], each)
    score = method.learn(learn, stream(seed, "diagnose", "local"))
    at = test[_nearest(upload.data.x[test], points)]
    observed = sampling.take(upload.in_no_order.data, at, min(draws, _LOOKED))
    return _MethodInput(scores.apply(score, observed), at, observed)


DC_ROWS = 5000
"""Rows up to which the score of discriminative calibration is learned unasked: within 3 s."""
RecipeChooser = Callable[[Upload, Method], Recipe | None]
"""A recipe for the network that a method reads on an upload."""


def learned_score_recipes(
    upload: Upload, how: RecipeChooser = learning.recipe
) -> Mapping[str, Recipe]:
    """How each learned score that counts in the verdict is trained, by its name."""
    methods: dict[str, Method] = {
        "tarp": TARP(),
        "classifier": WithinX(),
        "dc": DC(),
        "colt": CoLT(),
    }
    recipes: dict[str, Recipe] = {}
    for name, method in methods.items():
        if method_obstacle(method, upload) is not None:
            continue
        if name == "dc" and upload.n > DC_ROWS:
            continue
        recipe = how(upload, method)
        assert recipe is not None
        recipes[name] = recipe
    if slots_obstacle(upload) is None:
        recipes["slots"] = learning.slot_recipe(upload)
    return recipes


def run_relabelling(
    upload: TableUpload,
    method: Omnibus,
    seed: int,
    networks: Mapping[str, Any],
    *,
    whole: bool = True,
    first: Record | None = None,
    report: Callable[[float], None] = lambda done: None,
) -> Record:
    """The test of a table with the learned scores of these networks, by name.

    Args:
        upload: a table.
        method: the test with its options.
        seed: fixes the labellings, the split and the tie-breakers.
        networks: trained ones, by the name of their score.
        whole: whether these are all that there will be.
        first: what was found before any score was learned, where that is known.
        report: told the fraction done.
    """
    reason = method_obstacle(method, upload)
    if reason is not None:
        return Record.not_run(method, reason)
    watch = Stopwatch()
    upload = upload.in_no_order  # some draws play the true value, and some are set aside
    rows = upload.data
    learned_scores = [
        _learned_scores(upload, name, network, seed) for name, network in networks.items()
    ]
    train, _ = learning.training_and_held_out_rows(upload, seed)
    observed = None
    if upload.observed is not None:
        observed = nearest(neighbours.distances(rows.x, upload.observed[0][None])[0])
    result = relabelled(
        rows,
        seed,
        relabelings=method.relabelings,
        learned=learned_scores,
        densities=upload.densities,
        quantities=list(upload.own_quantities.values()),
        groups=upload.groups,
        training=train,
        near=observed,
        bounds=upload.widened_bounds,
        share=1.0 if whole else UNLEARNED,
        first=None if first is None else OmnibusResult.read(first.arrays),
        report=report,
    )
    effect = Effects(
        relabelings=result.relabelings,
        least_pvalue=1 / (result.relabelings + 1),
        scores=tuple(networks),
        whole=whole,
        claims=len(result.claims),
        quantities=tuple(upload.own_quantities) or None,
    )
    return Record(
        name=method.name,
        label=method.label,
        title=method.title,
        status="ran",
        about=method.statistic,
        statistic=float(result.minus_log_p.max()),
        pvalue=result.pvalue,
        draws_p=upload.n,
        draws_q=upload.n * upload.k,
        seconds=watch.seconds,
        effect=effect,
        arrays=result.arrays(),
    )


def _learned_scores(upload: TableUpload, name: str, network: Any, seed: int) -> LearnedScore:
    """A network's scores of the true values and of those draws that may play them."""
    data, rows = upload.data, learning.held_out_rows(upload, seed)
    among = playing_draws(*data.q.shape)
    if name == "slots":  # the players first, seen among the others
        network = replace(network, scored=len(among))
        rest = np.setdiff1d(np.arange(upload.k), among)
        rest = rest[players(len(rest), network.frame.whole)]
        indices = np.concatenate([among, rest])
    else:
        indices = among
    few = PosteriorTable(data.theta[rows], data.x[rows], data.q[np.ix_(rows, indices)])
    read = scores.apply(network.at(), few)
    values = np.concatenate([read.truth[0][:, None], read.draws[0]], axis=1)
    return LearnedScore(name, rows, values, name in RATIOS)
