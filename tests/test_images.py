"""The images: exact crops, corruptions against the packages that define them, CIFAR-10 refused."""

import hashlib

import numpy as np
import pytest
from scipy import stats
from scipy.ndimage import gaussian_filter

from validation_core import sampling
from validation_core.benchmarks import image_sources
from validation_core.benchmarks.corruptions import corrupt
from validation_core.benchmarks.images import Images
from validation_core.explorers.highdim.images.study import ImagesStudy, draw_examples
from validation_core.rng import common, stream

CORRUPTIONS = ("blur", "swirl", "noise")
SIZE = 20 * 3073
"""Bytes of a small file of CIFAR-10: two images of each label."""
DIGESTS = {
    0: "04dfc661f6b4ea61d6f5fd16fbf5a22a",
    1: "4ab8b8aa43bc6ca865a1889e8eb467fd",
    2: "d35026e03c7ad9c3d4f532cd26762840",
    3: "bb3b3b55b1c47b6e9cb237c84cecb0b5",
    4: "1ce86d6151fdaa7e4afc6e5a252f7b10",
    5: "ff3b97312da28f88bfb05a9b583c9ee5",
    6: "93d6cf254a7168dfa98c13893b6af034",
    8: "65dddddbfb5b502962ea5bedaf30dbc4",
    9: "751351c03f6c38b8a00e502a3b747c7e",
}
"""Heads of the SHA-256 of photographs by label, reduced and cut. A JPEG, as label 7, may differ by
a level where another library decodes it."""


def _crops(n, seed=0):
    bench = Images()
    x = bench.x(n, stream(seed, "x"))
    return bench.theta(x, 0.0, stream(seed, "theta")).reshape(n, *bench.shape), x


def test_every_photograph_is_there_in_colour_and_larger_than_a_crop():
    for label in range(image_sources.LABELS):
        pixels = image_sources.load_photograph(label)
        assert pixels.dtype == np.uint8
        assert min(pixels.shape[:2]) > 2 * image_sources.SIDE
        assert np.abs(np.diff(pixels.astype(int), axis=2)).mean() > 1, "grey"


@pytest.mark.parametrize(("label", "digest"), list(DIGESTS.items()))
def test_shipped_photographs_are_those_that_results_were_made_from(label, digest):
    """Keys name the benchmark, not its pixels: other ones would go unseen."""
    pixels = image_sources.load_photograph(label)
    assert hashlib.sha256(pixels.tobytes()).hexdigest()[:32] == digest


def test_crops_are_pieces_of_the_photograph_that_the_label_names():
    labels, u = np.arange(10), stream(1).random((10, 2))
    crops = image_sources.crop_photographs(labels, u)
    for label, crop, place in zip(labels, crops, u, strict=True):
        whole = image_sources.load_photograph(label)
        down, across = (place * (np.array(whole.shape[:2]) - 31)).astype(int)
        np.testing.assert_array_equal(crop, whole[down : down + 32, across : across + 32])


@pytest.mark.parametrize("corner", [0.0, 1 - 1e-12])
def test_the_outermost_crops_lie_within(corner):
    crops = image_sources.crop_photographs(np.arange(10), np.full((10, 2), corner))
    for label, crop in enumerate(crops):
        whole = image_sources.load_photograph(label)
        part = slice(None, 32) if corner == 0 else slice(-32, None)
        np.testing.assert_array_equal(crop, whole[part, part])


def test_places_and_labels_are_uniform():
    bench = Images()
    x = bench.x(20_000, stream(2))
    assert stats.chisquare(x.sum(axis=0)).pvalue > 1e-4
    assert set(np.unique(x)) == {0, 1}
    assert (x.sum(axis=1) == 1).all()
    # The first pixel of a crop of a photograph is any of those at which one fits.
    theta = bench.theta(np.tile(np.eye(10)[2], (20_000, 1)), 0.0, stream(3))
    whole = image_sources.load_photograph(2)[:-31, :-31]
    levels = np.round(127.5 * (theta[:, 0] + 1)).astype(int)
    expected = np.bincount(whole[..., 0].ravel(), minlength=256) * 20_000 / whole[..., 0].size
    kept = expected > 5
    seen = np.bincount(levels, minlength=256)[kept]
    assert stats.chisquare(seen, expected[kept] * seen.sum() / expected[kept].sum()).pvalue > 1e-4


def test_theta_is_single_and_in_its_limits():
    images, _ = _crops(100)
    assert images.dtype == np.float32
    assert images.min() >= -1
    assert images.max() <= 1
    rows = images.reshape(len(images), -1)
    np.testing.assert_array_equal(rows[:, 3:6], images[:, 0, 1], "rows of pixels, then colours")


def test_names_that_are_none_are_refused():
    with pytest.raises(ValueError, match="corruption is one of blur, swirl, noise; got 'rain'"):
        Images(corruption="rain")
    with pytest.raises(ValueError, match="source is one of photographs, cifar10; got 'mnist'"):
        Images(source="mnist")


@pytest.mark.parametrize("kind", CORRUPTIONS)
def test_nothing_is_done_at_gamma_zero(kind):
    bench = Images(corruption=kind)
    x = bench.x(300, stream(4))
    clean, same = bench.theta(x, 0.0, stream(5)), bench.q(x, 0.0, stream(5))
    np.testing.assert_array_equal(clean, same)


@pytest.mark.parametrize("kind", CORRUPTIONS)
@pytest.mark.parametrize("draw", [stream, common])
def test_the_crop_does_not_hang_on_gamma(kind, draw):
    """At a gamma of nothing much all images are still the same ones."""
    bench = Images(corruption=kind)
    x = bench.x(50, draw(6, "x"))
    clean, small = (bench.q(x, gamma, draw(7, "q")) for gamma in (0.0, 1e-6))
    np.testing.assert_allclose(small, clean, atol=1e-4)
    assert np.abs(bench.q(x, bench.gammas[-1], draw(7, "q")) - clean).max() > 0.01


@pytest.mark.parametrize("gamma", [0.35, 0.39, 1.2])
def test_blur_is_scipys_one_image_at_a_time(gamma):
    images, _ = _crops(8)
    blurred = corrupt("blur", images, gamma, stream(8))
    for image, after in zip(images, blurred, strict=True):
        for colour in range(3):
            np.testing.assert_array_equal(
                after[..., colour], gaussian_filter(image[..., colour], gamma)
            )


@pytest.mark.parametrize(
    ("gamma", "expected"),
    [
        (0.04, [-0.9999675, -0.4753134, -0.8192368, 0.2196492]),
        (0.25, [-0.9997347, -0.1504745, -0.7670147, 0.195427]),
        (0.5, [-0.9993206, 0.0203496, -0.7125938, 0.1669017]),
        (3.0, [-0.9869997, 0.3666143, -0.8756997, -0.0995077]),
    ],
)
def test_swirl_is_skimages(gamma, expected):
    """Four pixels of `skimage.transform.swirl(image, strength=gamma, radius=32)` of 0.26."""
    image = np.arange(1024, dtype=np.float32).reshape(1, 32, 32, 1) ** 2 % 1021 / 510.5 - 1
    swirled = corrupt("swirl", image, gamma, stream(9))
    rows, columns = (0, 10, 16, 31), (0, 20, 17, 4)
    np.testing.assert_allclose(swirled[0, rows, columns, 0], expected, atol=2e-6)


def test_noise_has_its_sd_and_is_clipped():
    images, _ = _crops(100)
    away = corrupt("noise", images, 0.01, stream(10)) - images
    assert away.std() == pytest.approx(0.01, rel=0.01)
    assert stats.kstest(away.ravel()[::7] / 0.01, "norm").pvalue > 1e-4
    assert np.abs(corrupt("noise", images, 5.0, stream(11))).max() == 3


def test_pieces_of_many_images_are_what_each_is_alone():
    """Images are corrupted some thousand at a time."""
    images, _ = _crops(2100)
    for kind in ("blur", "swirl"):
        whole = corrupt(kind, images, 0.4, stream(12))
        np.testing.assert_allclose(
            whole[2040:], corrupt(kind, images[2040:], 0.4, stream(12)), atol=1e-6
        )
    whole = corrupt("noise", images, 0.2, stream(12))
    alone = images + 0.2 * stream(12).standard_normal(images.shape)
    np.testing.assert_allclose(whole, alone, atol=1e-6)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Six small files, the red plane of each image its number."""
    rng = np.random.default_rng(0)
    for i, name in enumerate(image_sources.CIFAR10_FILES):
        rows = rng.integers(256, size=(20, 3073), dtype=np.uint8)
        rows[:, 0] = np.arange(20) % 10
        rows[:, 1:1025] = 20 * i + np.arange(20)[:, None]
        rows.tofile(tmp_path / name)
    monkeypatch.setenv("NPTLAB_CIFAR10", str(tmp_path))
    monkeypatch.setattr(image_sources, "CIFAR10_BYTES", SIZE)
    image_sources.load_cifar10.cache_clear()
    yield tmp_path
    image_sources.load_cifar10.cache_clear()


def test_cifar10_is_read_plane_by_plane(folder):
    raw = np.fromfile(folder / "data_batch_2.bin", np.uint8).reshape(-1, 3073)
    images, labels = image_sources.read_cifar10_file(folder / "data_batch_2.bin")
    assert images.shape == (20, 32, 32, 3)
    np.testing.assert_array_equal(labels, np.arange(20) % 10)
    for colour in range(3):
        plane = raw[7, 1 + 1024 * colour :][:1024].reshape(32, 32)
        np.testing.assert_array_equal(images[7, ..., colour], plane)


def test_cifar10_draws_images_of_the_label_with_replacement(folder):
    bench = Images(source="cifar10")
    x = np.eye(10)[np.repeat(np.arange(10), 600)]
    theta = bench.theta(x, 0.0, stream(13)).reshape(-1, *bench.shape)
    number = np.round(127.5 * (theta[:, 0, 0, 0] + 1)).astype(int)
    np.testing.assert_array_equal(number % 10, np.repeat(np.arange(10), 600))
    counts = np.bincount(number, minlength=120)
    assert (counts > 0).all()
    assert stats.chisquare(counts).pvalue > 1e-4
    assert bench.gammas == (0.0, 0.36, 0.37, 0.38, 0.39)
    assert bench.names[0] == "airplane"
    assert image_sources.missing("cifar10") == ""
    shown = draw_examples(ImagesStudy(benchmark=bench))
    assert shown.labels[:2] == ("airplane", "bird")
    assert shown.corrupted.shape == (5, 6, 32, 32, 3)


def test_cifar10_is_asked_for_where_no_folder_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("NPTLAB_CIFAR10", raising=False)
    bench = Images(source="cifar10")
    x = bench.x(3, stream(14))
    with pytest.raises(ValueError, match=r"start NPT Lab with NPTLAB_CIFAR10 set"):
        bench.theta(x, 0.0, stream(15))
    assert "NPTLAB_CIFAR10" in image_sources.missing("cifar10")
    assert image_sources.missing("photographs") == ""
    monkeypatch.setenv("NPTLAB_CIFAR10", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="nowhere', which is no folder"):
        bench.theta(x, 0.0, stream(15))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.unlink(), "got no data_batch_3.bin in"),
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "is cut short at 61,360"),
        (lambda path: path.write_bytes(path.read_bytes() * 2), "has another size at 122,920"),
        (
            lambda path: path.write_bytes(
                path.read_bytes()[: 2 * 3073] + b"\x0b" + bytes(18 * 3073 - 1)
            ),
            "Labels of CIFAR-10 are 0 to 9; got 11 in row 3 of data_batch_3.bin",
        ),
    ],
    ids=["missing", "truncated", "wrong size", "label"],
)  # fmt: skip
def test_a_spoilt_file_of_cifar10_is_refused_in_words(folder, spoil, words):
    spoil(folder / "data_batch_3.bin")
    bench = Images(source="cifar10")
    with pytest.raises(ValueError, match=words):
        bench.theta(bench.x(3, stream(16)), 0.0, stream(17))
    assert words in image_sources.missing("cifar10")


def test_the_real_size_of_a_file():
    assert image_sources.CIFAR10_BYTES == 10_000 * 3073


def test_blocks_and_tables_of_images():
    bench = Images(corruption="noise")
    blocks = sampling.blocks(bench, 0.004, 30, 20, stream(18))
    assert blocks.q.theta.dtype == np.float32
    assert bench.log_ratio(blocks.p.theta, blocks.p.x, 0.0) is None
    assert bench.classifier.shape == bench.shape
    draws = sampling.table(bench, 0.0, 5, 3, stream(19))
    assert draws.q.shape == (5, 3, 3072)
