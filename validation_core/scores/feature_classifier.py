"""A classifier of images: a small head on frozen features.

Frozen features, a small head, and the label's embedding beside them.

Bansal, Chen, Scott, Appendix B.3. The logit of p against q is high where an image looks like p;
psi_beta moves the head and the embedding back to their random start, the features never move.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from validation_core import sampling, statistics
from validation_core.keys import Arrays
from validation_core.learn.scaling import moments
from validation_core.learn.stored_network import GIVEN, StoredNetwork
from validation_core.pieces import slices
from validation_core.rng import stream
from validation_core.sampling import TrainingSet
from validation_core.scores import Recipe
from validation_core.scores.features import FeatureKind, extract
from validation_core.types import Array, Benchmark, ImageShape, Joint, Preset

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from validation_core.learn.perceptron import Parameters, Tensors
    from validation_core.study import Report


_HELD = 512  # rows of p, and of q, that the head is watched on
_CLIP = 10.0  # sds, as far as the head sees
_CHECKS = 20
_TRAINING_ROWS = 4096  # rows of a pass of the head
IMAGES_SCORED_AT_ONCE = 4096  # images described at a time when rows are scored: 50 MB of pixels
_STEP = 1.5e-5  # seconds of training, for each row of each epoch
_DESCRIBED: dict[FeatureKind, float] = {"filters": 6e-5, "pretrained": 2e-3, "inception": 0.2}
"""Seconds for the features of an image of 32 x 32."""


@dataclass(frozen=True, kw_only=True)
class FeatureClassifier(Recipe, spec="feature_classifier"):
    """How the head is trained; with its data and seed this keys the network in the store."""

    features: FeatureKind = field(default="filters", metadata={"label": "Features"})
    shape: ImageShape = field(default=(32, 32, 3), metadata={"label": "Height, width, colours"})
    conditional: bool = field(default=True, metadata={"label": "Sees the label"})
    train: int = field(default=1024, metadata={"label": "Training images of p, and of q"})
    epochs: int = field(default=200, metadata={"label": "Epochs"})
    lr: float = field(default=1e-4, metadata={"label": "Initial learning rate"})
    batch: int = field(default=256, metadata={"label": "Batch"})
    embedding: int = field(default=64, metadata={"label": "Numbers that say the label"})
    hidden: tuple[int, ...] = field(default=(256, 128), metadata={"label": "Hidden units"})
    dropout: float = field(default=0.5, metadata={"label": "Dropout"})

    @classmethod
    def preset(cls, name: Preset, **chosen: Any) -> FeatureClassifier:
        """`paper`: 200 epochs at 1e-4 (Appendix B.3). `interactive`: as many steps times rate, in
        a quarter of the time; its AUC is within 0.02 of the paper's."""
        return replace(PRESETS[name], **chosen)

    @property
    def label(self) -> str:
        """Short description for a list of trained models."""
        return "image classifier" + (", without labels" if not self.conditional else "")

    @property
    def places(self) -> int:
        return 2 * self.train

    def cost(self) -> float:
        images = 2 * (self.train + _HELD)
        return _STEP * 2 * self.train * self.epochs + _DESCRIBED[self.features] * images

    def sample(self, benchmark: Benchmark, gamma: float, rng: np.random.Generator) -> TrainingSet:
        """Independent rows of p and of q to learn from, and more to watch."""
        return sampling.training_set(benchmark, gamma, self.train, _HELD, rng)

    def images(self, theta: Array) -> NDArray[np.floating]:
        """Rows (n, H W C) as images (n, H, W, C).

        Raises:
            ValueError: where they have another number of pixels.
        """
        if theta.shape[1:] != (int(np.prod(self.shape)),):
            raise ValueError(
                f"Images of shape {self.shape} are rows of {int(np.prod(self.shape))} numbers; "
                f"got rows of {theta.shape[1:]}. Give the recipe the shape of your images."
            )
        return np.asarray(theta).reshape(len(theta), *self.shape)

    def learn_all(
        self, data: Sequence[TrainingSet], seeds: Sequence[int], report: Report | None = None
    ) -> list[TrainedFeatureClassifier]:
        """One head for each set of data and seed."""
        from validation_core.learn.in_turn import train_in_turn

        return train_in_turn(_learn, data, self, seeds, report)

    def read(self, arrays: Arrays, *, seconds: float, device: str) -> TrainedFeatureClassifier:
        """Trained classifier from the output of `TrainedFeatureClassifier.arrays`."""
        return TrainedFeatureClassifier.read(arrays, recipe=self, seconds=seconds, device=device)


PRESETS: dict[Preset, FeatureClassifier] = {
    "interactive": FeatureClassifier(epochs=50, lr=4e-4),
    "paper": FeatureClassifier(),
}


@dataclass(frozen=True, eq=False)
class TrainedFeatureClassifier(StoredNetwork):
    """A head, the random one it began as, and the scaling of the features."""

    trained: Mapping[str, NDArray[np.float32]]
    initial: Mapping[str, NDArray[np.float32]]
    shift: Array  # (F,)
    scale: Array  # (F,)
    history: Mapping[str, Array]
    """epoch, loss (with dropout), held_loss, auc at every check of the training."""
    recipe: FeatureClassifier = field(metadata=GIVEN)
    seconds: float = 0.0
    device: str = "cpu"

    @property
    def auc(self) -> float:
        """AUC on held-out images."""
        return float(self.history["auc"][-1])

    @property
    def summary(self) -> Mapping[str, float]:
        """Held-out AUC, for lists of networks."""
        return {"auc": self.auc}

    def at(self, beta: float = 0.0) -> _HeadLogit:
        """The score of psi_beta = (1 - beta) psi_trained + beta psi_initial, exactly."""
        return _HeadLogit(self, beta)

    def grid(self, betas: Sequence[float], rows: Joint) -> Array:
        """Logits (len(betas), n) of the same rows at every beta; features are worked out once."""
        out = np.empty((len(betas), len(rows)), np.float32)
        for part in slices(len(rows), IMAGES_SCORED_AT_ONCE):
            images = self.recipe.images(rows.theta[part])
            described = extract(self.recipe.features, images)
            out[:, part] = self.logits(betas, described, rows.x[part])
        return out

    def logits(self, betas: Sequence[float], described: Array, x: Array) -> Array:
        """Logits (len(betas), n) of images by their features (n, F) and labels x (n, M)."""
        import torch

        from validation_core.learn import perceptron

        device = perceptron.pick_device()
        heads = [
            perceptron.tensors(
                perceptron.interpolate_parameters(self.trained, self.initial, beta), device
            )
            for beta in betas
        ]
        out = np.empty((len(betas), len(described)), np.float32)
        with torch.inference_mode():
            for part in slices(len(described), _TRAINING_ROWS):
                z, labels = (
                    torch.from_numpy(np.asarray(rows, np.float32)).to(device)
                    for rows in (_standard(described[part], self.shift, self.scale), x[part])
                )
                for row, head in zip(out, heads, strict=True):
                    row[part] = _forward(head, z, labels).cpu().numpy()
        return out


def _scaling(described: Array) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Means and sds (F,)."""
    shift, scale = moments(np.asarray(described, np.float64))
    return shift.astype(np.float32), scale.astype(np.float32)


def _standard(described: Array, shift: Array, scale: Array) -> NDArray[np.float32]:
    """Features in sds from their mean, clipped. Single precision is enough: their levels are
    within a few sds of 0."""
    z = (np.asarray(described, np.float32) - shift) / scale
    return np.clip(z, -_CLIP, _CLIP).astype(np.float32, copy=False)


@dataclass(frozen=True, eq=False)
class _HeadLogit:
    """The logit at one beta."""

    network: TrainedFeatureClassifier
    beta: float

    def __call__(self, theta: Array, x: Array) -> Array:
        return self.network.grid((self.beta,), Joint(theta, x))[0]


def _forward(
    head: Tensors, z: Tensor, x: Tensor, drop: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """Logits (n,) of standardised features (n, F) and labels (n, M); `drop` thins out units."""
    import torch
    from torch.nn import functional

    from validation_core.learn import perceptron

    if "label_weight" in head:
        embedded = torch.addmm(head["label_bias"], x, head["label_weight"])
        z = torch.cat([z, embedded], dim=1)

    def activation(h: Tensor) -> Tensor:
        active = functional.relu(h)
        return active if drop is None else drop(active)

    layers = {name: tensor for name, tensor in head.items() if not name.startswith("label")}
    return perceptron.forward(layers, z, activation=activation).squeeze(-1)


def _start(recipe: FeatureClassifier, features: int, labels: int, seed: int) -> Parameters:
    """PyTorch's default start of the head, and of the embedding where labels are seen."""
    from validation_core.learn import perceptron

    inputs = features + recipe.embedding * recipe.conditional
    head = perceptron.perceptron(stream(seed, "initial"), [inputs, *recipe.hidden, 1])
    if not recipe.conditional:
        return head
    weight, bias = perceptron.layer(stream(seed, "initial embedding"), labels, recipe.embedding)
    return {**head, "label_weight": weight, "label_bias": bias}


class _FeaturePart:
    """One side's standardised features and labels, as tensors."""

    def __init__(self, z: NDArray[np.float32], x: Array, device: str) -> None:
        import torch

        self.z = torch.from_numpy(z).to(device)
        self.x = torch.from_numpy(np.asarray(x, np.float32)).to(device)


def _learn(
    data: TrainingSet, recipe: FeatureClassifier, seed: int, report: Report | None = None
) -> TrainedFeatureClassifier:
    """A head trained on `data`; the seed fixes its start, the rows' order and dropout."""
    from validation_core.learn import perceptron, training

    device = perceptron.pick_device()

    def whole() -> tuple[Parameters, Parameters, Array, Array, dict[str, Array]]:
        sides = data.p, data.q, data.held_p, data.held_q
        described = [extract(recipe.features, recipe.images(side.theta)) for side in sides]
        shift, scale = _scaling(np.concatenate(described[:2]))
        parts = [
            _FeaturePart(_standard(rows, shift, scale), side.x, device)
            for rows, side in zip(described, sides, strict=True)
        ]
        start = _start(recipe, len(shift), data.p.x.shape[1], seed)
        trained, history = _fit(parts, start, recipe, seed, report, device)
        return trained, start, shift, scale, history

    (trained, start, shift, scale, history), seconds = training.timed(whole)
    return TrainedFeatureClassifier(
        trained, start, shift, scale, history, recipe=recipe, seconds=seconds, device=device
    )


def _fit(
    parts: Sequence[_FeaturePart],
    start: Parameters,
    recipe: FeatureClassifier,
    seed: int,
    report: Report | None,
    device: str,
) -> tuple[Parameters, dict[str, Array]]:
    """The trained head, and loss and AUC on the way."""
    import torch
    from torch.nn import functional

    from validation_core.learn import perceptron, training
    from validation_core.learn.adam import Adam

    head = perceptron.learnable(start, device)
    adam = Adam([(head.values(), recipe.lr)], over=recipe.epochs)
    mask = torch.Generator(device).manual_seed(int(stream(seed, "dropout").integers(2**62)))
    keep = 1 - recipe.dropout

    def drop(h: Tensor) -> Tensor:
        return h * torch.empty_like(h).bernoulli_(keep, generator=mask) / keep

    def loss(batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        z, x, label = batch
        return functional.binary_cross_entropy_with_logits(_forward(head, z, x, drop), label)

    rounds = _rounds(parts, recipe, stream(seed, "order"))
    interval = max(1, recipe.epochs // _CHECKS)
    rows: list[dict[str, float]] = []
    for epoch, losses in enumerate(training.descend(adam, rounds, loss), 1):
        live: dict[str, float] = {}
        if epoch % interval == 0 or epoch == recipe.epochs:
            mean = float(torch.stack(losses).mean())
            live = {"epoch": float(epoch), "loss": mean, **_held(head, parts)}
            rows.append(live)
        if report:
            report(epoch / recipe.epochs, live)
    history = {name: np.array([row[name] for row in rows], np.float32) for name in rows[0]}
    return perceptron.arrays(head), history


def _rounds(
    parts: Sequence[_FeaturePart], recipe: FeatureClassifier, rng: np.random.Generator
) -> Iterator[list[tuple[Tensor, Tensor, Tensor]]]:
    """The batches of each epoch, half p and half q: features, labels, and 1 for p."""
    import torch

    from validation_core.learn import training

    p, q = parts[:2]
    n = len(p.z)
    cuts = training.equal_slices(n, max(1, round(2 * n / recipe.batch)))
    for _ in range(recipe.epochs):
        orders = [torch.from_numpy(rng.permutation(n)).to(p.z.device) for _ in range(2)]
        batches = []
        for cut in cuts:
            mine, theirs = orders[0][cut], orders[1][cut]
            label = torch.zeros(len(mine) + len(theirs), device=p.z.device)
            label[: len(mine)] = 1
            batches.append(
                (torch.cat([p.z[mine], q.z[theirs]]), torch.cat([p.x[mine], q.x[theirs]]), label)
            )
        yield batches


def _held(head: Tensors, parts: Sequence[_FeaturePart]) -> dict[str, float]:
    """Loss and AUC on the rows that are watched."""
    import torch
    from torch.nn import functional

    with torch.no_grad():
        p, q = (_forward(head, part.z, part.x) for part in parts[2:])
        held = (functional.softplus(-p).mean() + functional.softplus(q).mean()) / 2
    auc = statistics.auc(p.cpu().numpy(), q.cpu().numpy())
    return {"held_loss": float(held), "auc": float(auc)}
