"""A diagnosis as pieces of work: each method on an uploaded table, results in the store.

Methods that read a classifier share one network under one key; whichever starts first trains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from validation_core.codec import dump, load
from validation_core.diagnosis import learning
from validation_core.diagnosis.method_runs import (
    Network,
    RecipeChooser,
    learned_score_recipes,
    run_method,
    run_relabelling,
)
from validation_core.diagnosis.plan import method_obstacle
from validation_core.keys import Specification
from validation_core.localization import MapTask
from validation_core.methods import Omnibus
from validation_core.methods.base import Method
from validation_core.methods.record import Effects, Record
from validation_core.scores import Recipe, trained_scores
from validation_core.scores.localizer import Localizer
from validation_core.scores.trained_scores import Training, TrainTask
from validation_core.store import StoreFullError
from validation_core.study import Report, Study
from validation_core.tables import TableUpload, Upload
from validation_core.types import PosteriorTable

if TYPE_CHECKING:
    from validation_core.array_files import Stored
    from validation_core.store import Store

live_uploads: WeakValueDictionary[str, Upload] = WeakValueDictionary()
"""Uploads by their digest that this process need not read again."""


def register_upload(upload: Upload) -> None:
    """Let tasks of this process use an upload for as long as it is alive, without the store."""
    live_uploads[upload.digest] = upload


def save_upload(store: Store, upload: Upload) -> None:
    """Save an upload in the store, from which worker processes read it; note a lack of room."""
    if not store.has("tables", upload.digest):
        meta = {"label": f"{upload.n} rows", "names": list(upload.names)}
        try:
            store.save("tables", upload.digest, upload.arrays(), spec="upload", meta=meta)
        except StoreFullError as error:
            store.note(str(error))


def load_upload(store: Store, digest: str) -> Upload:
    """The upload of a digest.

    Raises:
        ValueError: when the store has let it go.
    """
    if digest in live_uploads:
        return live_uploads[digest]
    stored = store.load("tables", digest)
    if stored is None:
        raise ValueError(
            f"A diagnosis needs its table in the store; got none for {digest}. Upload it again."
        )
    upload = Upload.of(stored.arrays, order="NKD", logarithms=())
    register_upload(upload)
    return upload


def load_table(store: Store, digest: str) -> TableUpload:
    """The table of draws at each x of a digest.

    Raises:
        ValueError: when the store has let it go, or for two samples.
    """
    upload = load_upload(store, digest)
    if not isinstance(upload, TableUpload):
        raise ValueError(
            f"A question compares true values with q's draws at the same x; got {upload.held} "
            f"({digest}). Upload theta, x and theta_q."
        )
    return upload


@dataclass(frozen=True, kw_only=True)
class UploadSource(Specification, spec="uploaded"):
    """An upload as the source of a network's training rows (see `trained_scores`)."""

    version: ClassVar[int] = 2

    digest: str

    @property
    def label(self) -> str:
        """Its name in a list of trained models."""
        return f"Uploaded table {self.digest[:8]}"

    def training_set(self, recipe: Recipe, seed: int, store: Store) -> Any:
        """The rows that no test looks at."""
        return learning.build_training_set(load_upload(store, self.digest), recipe, seed)

    def test_table(
        self, n: int, k: int, rng: np.random.Generator, *, seed: int, store: Store
    ) -> PosteriorTable:
        """The rows that no network of this seed learns from, however many were asked for."""
        del n, k, rng
        return learning.held_out_table(load_upload(store, self.digest), seed)


class _RecordStudy(Study[Record]):
    """A study of an upload that gives a method's record."""

    def _older(self, stored: Stored) -> Record:
        """A record as one mapping, its effect flat, its arrays under their own names."""
        arrays, tree = dump({"arrays": stored.arrays})
        record = stored.meta["record"]
        assert isinstance(record, dict), "a record was kept as an object"
        effect = dump(Effects.of(record["effect"]))[1]
        return load(Record, arrays, {**record, "effect": effect, **tree})


@dataclass(frozen=True, kw_only=True)
class DiagnoseTask(_RecordStudy, spec="diagnose"):
    """One method on one upload."""

    version: ClassVar[int] = 5

    digest: str
    method: Method
    seed: int = 0
    recipe: Recipe | None = None
    """How the network that the method reads is trained; None where it reads none."""

    @property
    def label(self) -> str:
        return f"{self.method.label} on an uploaded table"

    @property
    def training(self) -> Training | None:
        """The network that this task reads, if its method reads one."""
        if self.recipe is None:
            return None
        source = UploadSource(digest=self.digest)
        return Training(source=source, recipe=self.recipe, seed=self.seed)

    @property
    def trainings(self) -> tuple[Training, ...]:
        return () if self.training is None else (self.training,)

    def compute(self, store: Store, report: Report) -> Record:
        """Test, training the network where the store lacks it."""

        def network() -> Network:
            (training,) = self.trainings
            return trained_scores.trained(store, training, report)

        return run_method(load_upload(store, self.digest), self.method, self.seed, network=network)


@dataclass(frozen=True, kw_only=True)
class RelabelTask(_RecordStudy, spec="relabel"):
    """The test on one upload: at once, or with the learned scores, which leave that as it is."""

    version: ClassVar[int] = 5

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
        source = UploadSource(digest=self.digest)
        return tuple(
            Training(source=source, recipe=recipe, seed=self.seed) for recipe in self.recipes
        )

    @property
    def first(self) -> RelabelTask | None:
        """The answer at once, which the one with learned scores goes on from; None without any."""
        return replace(self, names=(), recipes=(), whole=False) if self.names else None

    def compute(self, store: Store, report: Report) -> Record:
        """Test, training the networks that the store lacks."""
        upload = load_table(store, self.digest)
        networks = {
            name: trained_scores.trained(store, training, report)
            for name, training in zip(self.names, self.trainings, strict=True)
        }
        first = self.first
        return run_relabelling(
            upload,
            self.method,
            self.seed,
            networks,
            whole=self.whole,
            first=None if first is None else first.load(store),
            report=lambda done: report(done, {}),
        )


def _relabel_tasks(
    upload: Upload, method: Omnibus, seed: int, how: RecipeChooser = learning.recipe
) -> tuple[RelabelTask, ...]:
    """The answer at once and, where something can be learned, the whole one."""
    recipes = learned_score_recipes(upload, how) if method.learned else {}
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


def relabelling_for(
    upload: Upload, studies: Iterable[Study[Any]], seed: int, store: Store
) -> RelabelTask:
    """Relabelling under which the questions of these studies are asked.

    The verdict's own, where the store has it; else with those learned scores that the questions
    train anyway: no other network is trained for it.
    """
    networks = {training for study in studies for training in study.trainings}
    _, *own = _relabel_tasks(upload, Omnibus(), seed)
    first = RelabelTask(digest=upload.digest, method=Omnibus(), seed=seed, whole=not own)
    for whole in own:
        if whole.done(store):
            return whole
        read = [
            (name, recipe)
            for name, recipe, training in zip(
                whole.names, whole.recipes, whole.trainings, strict=True
            )
            if training in networks
        ]
        if read:
            names, recipes = zip(*read, strict=True)
            return replace(whole, names=names, recipes=recipes)
    return first


TableWork = DiagnoseTask | RelabelTask | TrainTask
_Piece = TypeVar("_Piece")


def tasks(
    upload: Upload, methods: Sequence[Method], seed: int, how: RecipeChooser = learning.recipe
) -> tuple[TableWork, ...]:
    """List the work for these methods in turn: each network is followed by all that read it.

    Relabelling answers first and, with what all networks have learned, last; before it the
    localizer, which takes longest. Methods that meet an obstacle are left out: their record is
    known without work.

    Args:
        upload: the table, or two samples.
        methods: in the order in which they run.
        seed: of the split, of networks and of tie-breakers.
        how: a recipe for the network that a method reads.
    """
    queues: dict[Training | str, list[TableWork]] = {}
    last: list[RelabelTask] = []
    for method in methods:
        if method_obstacle(method, upload) is not None:
            continue
        if isinstance(method, Omnibus):
            first, *whole = _relabel_tasks(upload, method, seed, how)
            queues[method.label] = [first]
            last += whole
            continue
        task = _task(upload, method, seed, how)
        before = [TrainTask(trainings=(task.training,))] if task.training else []
        queues.setdefault(task.training or method.label, [*before]).append(task)
    for network in (network for task in last for network in task.trainings):
        queues.setdefault(network, [TrainTask(trainings=(network,))])
    ordered = sorted(queues.values(), key=lambda queue: _localizes(queue[0]))
    return (*(task for queue in ordered for task in queue), *last)


def _localizes(task: TableWork) -> bool:
    return isinstance(task, TrainTask) and isinstance(task.trainings[0].recipe, Localizer)


def longest_training(work: Sequence[object]) -> TrainTask | None:
    """The training that takes longest, if one of these does: a localizer's."""
    return next((task for task in work if isinstance(task, TrainTask) and _localizes(task)), None)


def work_beside_helpers(work: Sequence[_Piece]) -> list[_Piece | RelabelTask]:
    """The same work in order for a process that helpers join.

    The process begins with the training that takes longest: helpers are still starting. Before
    relabelling with learned scores, which waits for that training, comes its answer at once: a
    helper can work it out meanwhile, so that little is left to do.
    """
    dear = longest_training(work)
    ordered: list[_Piece | RelabelTask] = [task for task in work if task is dear]
    for task in work:
        first = task.first if isinstance(task, RelabelTask) else None
        ordered += [one for one in (first, task) if one is not None and one not in ordered]
    return ordered


def schedule_work(work: Sequence[_Piece]) -> list[_Piece]:
    """The same work, so that workers side by side end soonest and the card is there first.

    What reads no network begins, the card's place and cause among it; then the training that takes
    longest, beside which all others fit.
    """
    dear = longest_training(work)

    def turn(task: _Piece) -> int:
        if task is dear:
            return 1
        reads = bool(getattr(task, "needs", None))
        return 2 if reads or isinstance(task, TrainTask) else 0

    return sorted(work, key=turn)


def maps(
    upload: Upload, methods: Sequence[Method], seed: int, how: RecipeChooser = learning.recipe
) -> tuple[MapTask, ...]:
    """A map of the ball of the first localizer that these methods train; none without one."""
    for method in methods:
        if method.localizes and method_obstacle(method, upload) is None:
            training = _task(upload, method, seed, how).training
            return (MapTask(training=training, seed=seed),) if training else ()
    return ()


def records(
    store: Store,
    upload: Upload,
    methods: Sequence[Method],
    seed: int,
    how: RecipeChooser = learning.recipe,
) -> tuple[list[Record], int]:
    """Records of the methods that have answered or cannot run, and how many are to come.

    Relabelling's answer without learned scores stands in for the whole one until that is there.

    Args:
        store: of the results.
        upload: that the methods were asked about.
        methods: in the order of their records.
        seed: as in `tasks`.
        how: as in `tasks`.
    """
    answers: list[Record] = []
    waiting = 0
    saved = upload.saved_rows if isinstance(upload, TableUpload) else None
    for method in methods:
        reason = method_obstacle(method, upload)
        if reason is not None:
            answers.append(Record.not_run(method, reason))
            continue
        if isinstance(method, Omnibus):
            loaded = [task.load(store) for task in _relabel_tasks(upload, method, seed, how)]
            waiting += loaded[-1] is None
            record = next((answer for answer in reversed(loaded) if answer), None)
        else:
            record = _task(upload, method, seed, how).load(store)
            waiting += record is None
        if record is not None:
            answers.append(record.at_saved_rows(saved))
    return answers, waiting


def method_training(upload: Upload, method: Method, seed: int) -> Training | None:
    """The network that a method reads on an upload; None if it reads none."""
    return _task(upload, method, seed, learning.recipe).training


def slot_score_training(upload: Upload, seed: int) -> Training:
    """The score that sees each draw among the others at its x; see `plan.slots_obstacle`."""
    source = UploadSource(digest=upload.digest)
    return Training(source=source, recipe=learning.slot_recipe(upload), seed=seed)


def _task(upload: Upload, method: Method, seed: int, how: RecipeChooser) -> DiagnoseTask:
    recipe = how(upload, method)
    return DiagnoseTask(digest=upload.digest, method=method, seed=seed, recipe=recipe)
