"""Parameters that are pixels: shapes that a user names, maps over them, images as uploads."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from validation_core.diagnosis import pixel_pictures
from validation_core.diagnosis.pixels import pixel_maps, shape_of
from validation_core.tables import Upload
from validation_core.types import PosteriorTable

N, K, SIDE = 400, 60, 4
WRONG, NARROW = 5, 10
"""Pixels of which q is one sd too high, and half as wide."""


def table():
    rng = np.random.default_rng(0)
    d = SIDE * SIDE
    x = rng.standard_normal((N, d))
    theta = x + rng.standard_normal((N, d))
    q = x[:, None] + rng.standard_normal((N, K, d))
    q[..., WRONG] += 1
    q[..., NARROW] = x[:, None, NARROW] + 0.5 * rng.standard_normal((N, K))
    return PosteriorTable(theta, x, q)


def test_what_is_wrong_is_at_its_pixel():
    maps = pixel_maps(table())
    right = np.delete(np.arange(SIDE**2), [WRONG, NARROW])
    assert maps.bias[WRONG] == pytest.approx(1, abs=0.2)
    assert np.abs(maps.bias[right]).max() < 0.25
    assert maps.spread[NARROW] == pytest.approx(2, abs=0.25)
    assert np.abs(maps.spread[right] - 1).max() < 0.15
    assert set(np.flatnonzero(maps.pvalue < 0.05 / SIDE**2)) == {WRONG, NARROW}


def test_pixels_of_one_draw_or_of_none_that_differ():
    rng = np.random.default_rng(1)
    one = PosteriorTable(rng.random((30, 16)), rng.random((30, 2)), np.zeros((30, 1, 16)))
    maps = pixel_maps(one)
    assert all(np.isfinite(part).all() for part in maps)


@pytest.mark.parametrize(
    ("text", "numbers", "shape"),
    [("16 x 16", 256, (16, 16, 1)), ("4,4,3", 48, (4, 4, 3)), ("(2 × 8)", 16, (2, 8, 1))],
)
def test_shapes_that_are_named(text, numbers, shape):
    assert shape_of(text, numbers) == shape


@pytest.mark.parametrize(
    "text", ["16", "16 x 17", "4 x 4 x 4 x 4", "eight by two", "8 x 2 x 16", "-4 x -64", "0 x 0"]
)
def test_shapes_that_do_not_fit(text):
    with pytest.raises(ValueError, match=r"A shape is|An image of"):
        shape_of(text, 256)


def test_images_are_read_as_pixels():
    flat = table()
    arrays = {"theta": flat.theta, "x": flat.x, "theta_q": flat.q}
    shaped = {
        "theta": flat.theta.reshape(N, SIDE, SIDE),
        "x": flat.x.reshape(N, SIDE, SIDE),
        "theta_q": flat.q.reshape(N, K, SIDE, SIDE),
    }
    one, other = Upload.of(arrays), Upload.of(shaped)
    assert one.digest == other.digest
    assert (one.image, other.image) == ((), (SIDE, SIDE))
    assert other.dims == (SIDE**2, SIDE**2)


def test_images_that_differ_from_their_draws_are_refused():
    flat = table()
    shaped = {
        "theta": flat.theta.reshape(N, SIDE, SIDE),
        "x": flat.x,
        "theta_q": flat.q.reshape(N, K, 2, 8),
    }
    with pytest.raises(ValueError, match="must have shape"):
        Upload.of(shaped)


def test_maps_are_drawn_in_colours_and_in_grey():
    maps = pixel_maps(table())
    payload = pixel_pictures.payload(maps, (SIDE, SIDE, 1), (SIDE, SIDE, 1), 0.05)
    assert "2 of 16 pixels reject" in payload.head
    assert payload.head.count('"kind":"image"') == 4
    first = pixel_pictures.grey_pixels(maps.truth, (SIDE, SIDE, 1), (-1, 1))
    assert first.shape == (8, SIDE, SIDE, 3)
    assert first[0, 0, 0, 0] == np.rint(np.clip((maps.truth[0, 0] + 1) / 2, 0, 1) * 255)


def _page():
    from pages.diagnose import pixels
    from tests import test_pixels
    from validation_core.tables import Upload

    rows = test_pixels.table()
    pixels.show(Upload.of({"theta": rows.theta, "x": rows.x, "theta_q": rows.q}), 0.05)


def test_the_page_draws_once_the_shape_is_named():
    page = AppTest.from_function(_page, default_timeout=120).run()
    assert not page.exception
    assert [box.label for box in page.text_input] == ["Shape of θ, where it is an image"]
    page.text_input[0].set_value("3 x 5").run()
    assert "Name a shape" in page.caption[0].value
    assert not page.header
    page.text_input[0].set_value("4 x 4").run()
    assert not page.exception
    assert page.header[0].value == "Which pixels are wrong?"
