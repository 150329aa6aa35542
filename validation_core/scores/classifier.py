"""The learned logit: a classifier of (theta, x) from p against q, and its degradation by beta.

Bansal, Chen, Scott, Appendix B. The score is the raw logit, high where it looks like
p: a sigmoid would saturate in float32 and make ties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling
from validation_core.keys import Arrays
from validation_core.learn.scaling import Standardizer, robust
from validation_core.learn.stored_network import StoredNetwork
from validation_core.pieces import slices, stack_by_name
from validation_core.precision import narrowed
from validation_core.rng import stream
from validation_core.sampling import TrainingSet
from validation_core.scores import Recipe, equalise_tied_scores
from validation_core.scores.input_transform import InputTransform
from validation_core.types import Array, Benchmark, Joint, PosteriorTable, Preset, TableScores

if TYPE_CHECKING:
    from validation_core.learn.training import ClassifierProblem
    from validation_core.study import Report


_STEP = 4.2e-5  # seconds of training, for each row of each epoch
_HELD = 1000  # rows of p, and of q, that a benchmark's classifier is watched on
_CLIP = 10.0  # robust sds: heavy tails reach the network as "far out", not as 1e6
_CPU_ROWS, _GPU_ROWS = 2048, 1 << 17  # rows per pass: they fit in a core's cache, in a GPU
_SCALED = 4096  # rows in double precision at a time


@dataclass(frozen=True, kw_only=True)
class Classifier(Recipe, spec="classifier"):
    """How a classifier is trained; with its data and seed this keys the network in the store."""

    batched: ClassVar[bool] = True

    train: int = field(default=1000, metadata={"label": "Training rows from p, and from q"})
    epochs: int = field(default=40, metadata={"label": "Epochs"})
    lr: float = field(default=5e-4, metadata={"label": "Initial learning rate"})
    batch: int = field(default=256, metadata={"label": "Batch"})
    hidden: int = field(default=256, metadata={"label": "Hidden units"})
    layers: int = field(default=3, metadata={"label": "Hidden layers"})
    weight_decay: float = field(default=0.0, metadata={"label": "Weight decay"})
    keep_best: bool = field(default=False, metadata={"label": "Keep the best held-out step"})
    whiten: bool = field(
        default=False, metadata={"label": "Whiten theta less its regression on x", "later": True}
    )
    """A wrong shape of q at x is then one of all rows; in theta itself, x's spread hides it."""

    @classmethod
    def preset(cls, name: Preset) -> Classifier:
        """`paper`: 2000 epochs at 1e-5 (Appendix B). `interactive`: as many steps times rate."""
        return PRESETS[name]

    @property
    def places(self) -> int:
        return 2 * self.train

    def cost(self, rows: float | None = None) -> float:
        """Seconds of training on so many rows of each side; by itself on `train`."""
        return _STEP * 2 * (self.train if rows is None else rows) * self.epochs

    def sample(self, benchmark: Benchmark, gamma: float, rng: np.random.Generator) -> TrainingSet:
        """Independent rows of p and of q to learn from, and as many again to watch."""
        return sampling.training_set(benchmark, gamma, self.train, _HELD, rng)

    def learn_all(
        self, data: Sequence[TrainingSet], seeds: Sequence[int], report: Report | None = None
    ) -> list[TrainedClassifier]:
        """One classifier for each set of data and seed, as one batch."""
        return train_classifiers(data, self, seeds, report)

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> TrainedClassifier:
        """Trained classifier from the output of `TrainedClassifier.arrays`."""
        return TrainedClassifier.read(arrays, seconds=seconds, device=device)


@dataclass(frozen=True, kw_only=True)
class TableClassifier(Recipe, spec="table_classifier"):
    """A classifier that learns from a table: n true pairs and k draws of q at each of their x.

    It gives C2ST the same draws as table tests of that size have.
    """

    batched: ClassVar[bool] = True

    n: int
    k: int
    recipe: Classifier

    @property
    def label(self) -> str:
        """Short description for a list of trained models."""
        return f"classifier on {self.n} × {self.k}"

    @property
    def places(self) -> int:
        return self.n

    def for_all_gammas(self, gammas: int) -> Self:
        """The same with a table's rows at each of them."""
        return replace(self, n=self.n * gammas)

    def cost(self) -> float:
        return self.recipe.cost(0.8 * self.n)

    def sample(self, benchmark: Benchmark, gamma: float, rng: np.random.Generator) -> TrainingSet:
        """A table's rows, a fifth of them watched."""
        return sampling.training_rows(sampling.table(benchmark, gamma, self.n, self.k, rng), rng)

    def learn_all(
        self, data: Sequence[TrainingSet], seeds: Sequence[int], report: Report | None = None
    ) -> list[TrainedClassifier]:
        """See its recipe."""
        return train_classifiers(data, self.recipe, seeds, report)

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> TrainedClassifier:
        """Trained classifier from the output of `TrainedClassifier.arrays`."""
        return TrainedClassifier.read(arrays, seconds=seconds, device=device)


PRESETS: dict[str, Classifier] = {
    "interactive": Classifier(),
    "many": Classifier(train=48_000, epochs=6, lr=4e-3, batch=512, hidden=48, whiten=True),
    "paper": Classifier(epochs=2000, lr=1e-5),
}
"""Trainings by name: `many` learns from as many draws as the network for all gammas on the page
of Conformal C2ST."""
HIDDEN_SHAPE = (
    "Trainings on few draws do not whiten theta: the anisotropic error of q is hidden from them "
    "where x has 50 dimensions or more."
)
"""What `interactive` and `paper` cannot find, for pages that offer them."""


@dataclass(frozen=True, eq=False)
class TrainedClassifier(StoredNetwork):
    """A network, the random one it began as, and the scaling of its inputs."""

    trained: Mapping[str, NDArray[np.float32]]
    initial: Mapping[str, NDArray[np.float32]]
    shift: Array  # (D + M,), float64: a level may dwarf the spread
    scale: Array  # (D + M,)
    history: Mapping[str, Array]
    """epoch, loss, held_loss, auc at every check of the training."""
    kept: int = -1
    """The check whose parameters were kept: the last, or the best held-out one."""
    white: InputTransform | None = None
    """What is done to (theta, x) before they are scaled."""
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def auc(self) -> float:
        """Held-out AUC of the network that was kept."""
        return float(self.history["auc"][self.kept])

    @property
    def summary(self) -> Mapping[str, float]:
        """Held-out AUC, for lists of networks."""
        return {"auc": self.auc}

    def at(self, beta: float = 0.0) -> _Logit:
        """The score of psi_beta = (1 - beta) psi_trained + beta psi_initial, exactly."""
        return _Logit(self, (beta,))

    def grid(self, betas: Sequence[float], rows: Joint) -> Array:
        """Logits (len(betas), n) of the same rows at every beta."""
        return _Logit(self, tuple(betas)).all(rows.theta, rows.x)


@dataclass(frozen=True, eq=False)
class _Logit:
    """The logit of a trained classifier at one beta or several."""

    classifier: TrainedClassifier
    betas: tuple[float, ...]

    def __call__(self, theta: Array, x: Array) -> Array:
        return self.all(theta, x)[0]

    def all(self, theta: Array, x: Array) -> Array:
        """Logits (betas, n), float32."""
        out = np.empty((len(self.betas), len(theta)), dtype=np.float32)
        size, forward = self._passes()
        for part in slices(len(theta), size):
            out[:, part] = forward(self._inputs(theta[part], x[part]))
        return out

    def table(self, draws: PosteriorTable) -> TableScores:
        """Logits of the truth (1, n) and of q's draws (1, n, K), at the first beta.

        Both come out of the same passes, and rows at one x that the network cannot tell apart tie.
        """
        n, k, d = draws.q.shape
        truth, draw_logits = np.empty(n, np.float32), np.empty((n, k), np.float32)
        size, forward = self._passes()
        step = max(1, size // (k + 1))
        for part in slices(n, step):
            z = self._slots(
                PosteriorTable(draws.theta[part], draws.x[part], draws.q[part])
            )  # (rows, K + 1, D + M)
            flat = z.reshape(-1, z.shape[-1])
            passes = [forward(flat[i : i + size])[0] for i in range(0, len(flat), size)]
            g = equalise_tied_scores(z[:, :, :d], np.concatenate(passes).reshape(-1, k + 1))
            truth[part], draw_logits[part] = g[:, 0], g[:, 1:]
        return TableScores(truth[None], draw_logits[None])

    def _passes(self) -> tuple[int, Callable[[NDArray[np.float32]], Array]]:
        """Rows of a pass, and logits (betas, n) of inputs (n, D + M)."""
        import torch

        from validation_core.learn import perceptron, training

        device, ends = perceptron.pick_device(), (self.classifier.trained, self.classifier.initial)
        networks = [
            perceptron.tensors(
                stack_by_name([perceptron.interpolate_parameters(*ends, beta)]), device
            )
            for beta in self.betas
        ]

        def forward(inputs: NDArray[np.float32]) -> Array:
            with torch.inference_mode():
                z = torch.from_numpy(inputs).to(device).unsqueeze(0)
                return np.stack(
                    [training.logits(network, z)[0].cpu().numpy() for network in networks]
                )

        return (_CPU_ROWS if device == "cpu" else _GPU_ROWS), forward

    def _slots(self, draws: PosteriorTable) -> NDArray[np.float32]:
        """Inputs (n, K + 1, D + M), the truth first; x is scaled once."""
        theta = np.concatenate([draws.theta[:, None], draws.q], axis=1)
        return self._inputs(theta, draws.x[:, None])

    def _inputs(self, theta: Array, x: Array) -> NDArray[np.float32]:
        network = self.classifier
        return standardise_inputs(theta, x, network.shift, network.scale, network.white)


def standardise_inputs(
    theta: Array, x: Array, shift: Array, scale: Array, white: InputTransform | None = None
) -> NDArray[np.float32]:
    """Inputs (n, ..., D + M) of a network: robustly standardised and clipped.

    Args:
        theta: parameters (n, ..., D).
        x: data, to be broadcast against them (n, ..., M).
        shift: of each input (D + M,).
        scale: of each input (D + M,).
        white: done before.
    """
    d = theta.shape[-1]
    out = np.empty((*theta.shape[:-1], len(shift)), np.float32)
    step = max(1, _SCALED * len(theta) // max(1, theta[..., 0].size))
    for part in slices(len(theta), step):
        z, data = white.parts(theta[part], x[part]) if white else (theta[part], x[part])
        out[part, ..., :d] = Standardizer(shift[:d], scale[:d], _CLIP)(z)
        out[part, ..., d:] = Standardizer(shift[d:], scale[d:], _CLIP)(data)
    return out


def train_classifiers(
    data: Sequence[TrainingSet],
    recipe: Classifier,
    seeds: Sequence[int],
    report: Report | None = None,
    device: str | None = None,
) -> list[TrainedClassifier]:
    """Train several classifiers of one shape: each as if trained alone.

    A seed fixes a classifier's start and the order of its rows.

    On a processor they train in turn, and no digit of a classifier depends on the others: one
    batch rounds by how many they are, and at 256 units takes nearly as long, since its numbers no
    longer fit the processor's cache (`benchmarks.gpu` measures it); the other cores train other
    networks meanwhile. On a GPU, most of which one small network leaves idle, they are one batch.
    """
    from validation_core.learn import perceptron
    from validation_core.learn.in_turn import train_in_turn

    where = perceptron.pick_device(device)
    if where.startswith("cpu"):

        def alone(
            one: TrainingSet, recipe: Classifier, seed: int, report: Report | None
        ) -> TrainedClassifier:
            return train_batch([one], recipe, [seed], report, where)[0]

        return train_in_turn(alone, data, recipe, seeds, report)
    return train_batch(data, recipe, seeds, report, where)


def train_batch(
    data: Sequence[TrainingSet],
    recipe: Classifier,
    seeds: Sequence[int],
    report: Report | None,
    device: str,
) -> list[TrainedClassifier]:
    """Train classifiers of one shape as one batch; their seconds are an equal share of all."""
    from validation_core.learn import perceptron, training

    whites = [_whitening(training_set) if recipe.whiten else None for training_set in data]
    scalings = [_scaling(*each) for each in zip(data, whites, strict=True)]
    widths = [len(scalings[0][0]), *[recipe.hidden] * recipe.layers, 1]
    starts = [perceptron.perceptron(stream(seed, "initial"), widths) for seed in seeds]
    problems = [
        _problem(training_set, *scaling, white)
        for training_set, scaling, white in zip(data, scalings, whites, strict=True)
    ]
    schedule = training.Schedule(
        epochs=recipe.epochs,
        lr=recipe.lr,
        batch=recipe.batch,
        weight_decay=recipe.weight_decay,
        keep_best=recipe.keep_best,
    )
    rngs = [stream(seed, "order") for seed in seeds]
    fits, seconds = training.timed(
        lambda: training.fit(problems, starts, schedule, rngs, report=report, device=device)
    )
    return [
        TrainedClassifier(
            fit.parameters,
            start,
            *scaling,
            fit.history,
            kept=fit.kept,
            white=white,
            seconds=seconds / len(fits),
            device=device,
        )
        for fit, start, scaling, white in zip(fits, starts, scalings, whites, strict=True)
    ]


def _whitening(data: TrainingSet) -> InputTransform:
    q = data.q
    return InputTransform.fit(PosteriorTable(q.theta, q.x, q.theta[:, None]), whiten=True)


def _scaling(data: TrainingSet, white: InputTransform | None) -> tuple[Array, Array]:
    """Median and robust sd of the pooled training inputs."""
    # A table's q rows come K to an x: a stride takes every x, as p does.
    stride = max(1, len(data.q) // len(data.p))
    both = data.p, sampling.joint_rows(data.q, slice(None, None, stride))
    sides = [white.parts(each.theta, each.x) if white else (each.theta, each.x) for each in both]
    pooled = np.concatenate([np.concatenate([theta, x], axis=1) for theta, x in sides])
    return narrowed(*robust(pooled, by_sd=False))


def _problem(
    data: TrainingSet, shift: Array, scale: Array, white: InputTransform | None
) -> ClassifierProblem:
    from validation_core.learn import training

    parts = (data.p, data.q, data.held_p, data.held_q)
    return training.ClassifierProblem(
        *(standardise_inputs(part.theta, part.x, shift, scale, white) for part in parts)
    )
