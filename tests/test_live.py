"""The live chart's description: what is packed, and what is refused."""

import json

import numpy as np
import pytest

from validation_core.drawing import live
from validation_core.drawing.marks import (
    SYMBOLS,
    Axis,
    Bars,
    Heat,
    Image,
    Line,
    Panel,
    Points,
    Shades,
    Slider,
    over,
)
from validation_core.drawing.power_curves import LEVEL_KEY, line_key
from validation_core.types import MethodStyle

X = np.linspace(0, 1, 5)
EDGES = np.linspace(-1, 1, 4)
ROWS = np.linspace(0, 1, 3)
UNIT = Axis((0, 1))


def made(*marks, sliders=None, **panel):
    sliders = sliders or [Slider("x", X, label="X")]
    return live.payload(sliders=sliders, panels=[Panel(marks, x=UNIT, y=UNIT, **panel)])


def unpacked(payload):
    """The description, and a function: a packed array -> its numbers, as live.js reads them."""
    message = payload.message(payload.start)
    size = int.from_bytes(message[:4], "little")
    head, rest = json.loads(message[4 : 4 + size]), message[4 + size :]

    def numbers(packed):
        kind = {1: "<i1", 2: "<i2", 4: "<f4"}[packed.get("bytes", 4)]
        shape = packed["shape"]
        offset = packed["first"] * np.dtype(kind).itemsize
        values = np.frombuffer(rest, kind, int(np.prod(shape)), offset).reshape(shape)
        if "step" not in packed:
            return values
        return np.where(
            values == np.iinfo(kind).min, np.nan, packed["middle"] + packed["step"] * values
        )

    return head, numbers


def heat(values, **options):
    return Heat(EDGES, ROWS, Shades(values, **{"limit": 2, **options}))


def test_heat_travels_as_bytes():
    values = np.zeros((2, 3))
    values[0] = [2, -2, 1]
    values[1] = [np.nan, 9, -np.inf]
    head, numbers = unpacked(made(heat(values)))
    (mark,) = head["panels"][0]["marks"]
    assert mark["values"]["bytes"] == 1
    np.testing.assert_array_equal(numbers(mark["values"]), [[127, -127, 64], [-128, 127, -127]])
    np.testing.assert_array_equal(numbers(mark["x"]), [-1, 1])
    np.testing.assert_array_equal(numbers(mark["y"]), [0, 1])


def test_heat_over_sliders_is_off_by_half_a_step_at_most():
    sliders = [Slider("x", X, label="X"), Slider("a", [1, 2], label="A")]
    values = np.random.default_rng(0).uniform(-2, 2, (2, 5, 2, 3))
    payload = made(heat(over(values, "a", "x")), sliders=sliders)
    head, numbers = unpacked(payload)
    packed = head["panels"][0]["marks"][0]["values"]
    assert packed["by"] == [1, 0]
    result = numbers(packed) * (2 / 127)
    assert np.abs(result - values).max() <= 1 / 127 + 1e-9
    assert len(payload.body) <= values.size + 4 * 4 + 3


def test_coarse_numbers_are_off_by_half_a_step_at_most():
    values = np.random.default_rng(0).normal(size=(5, 40))
    values[0, 3] = np.nan
    payload = made(Line(over(values, "x", coarse=True), np.arange(40.0), color="red"))
    head, numbers = unpacked(payload)
    result = numbers(head["panels"][0]["marks"][0]["x"])
    assert np.isnan(result[0, 3])
    assert np.isnan(result).sum() == 1
    assert np.nanmax(np.abs(result - values)) <= np.ptp(values[np.isfinite(values)]) / 65_000
    assert len(payload.body) <= 2 * values.size + 4 * 40 + 4


def test_coarse_numbers_on_few_even_steps_are_exact_in_bytes():
    """Counts over a sample's size, less the diagonal, as of an ECDF."""
    counts = np.random.default_rng(0).integers(0, 101, (5, 21))
    values = counts / 100 - np.linspace(0, 1, 21)
    values[0, 3] = np.nan
    head, numbers = unpacked(made(Line(np.arange(21.0), over(values, "x", coarse=True), color="")))
    packed = head["panels"][0]["marks"][0]["y"]
    assert packed["bytes"] == 1
    np.testing.assert_allclose(numbers(packed), values, rtol=0, atol=1e-12)


def test_equal_blocks_travel_once():
    once, twice = (
        made(*lines)
        for lines in ([Line(EDGES, EDGES, color="")], [Line(EDGES, EDGES, color="")] * 2)
    )
    assert len(once.body) == len(twice.body) == 4 * len(EDGES)


def test_numbers_after_bytes_are_read_where_they_lie():
    """Three bytes over five places end between two float32."""
    line = np.arange(10.0).reshape(5, 2)
    tall = Heat([0, 1], EDGES, Shades(over(np.full((5, 3, 1), 2.0), "x"), limit=2))
    head, numbers = unpacked(
        made(Line([0, 1], [2, 3], color=""), tall,
             Line([0, 1], over(line, "x"), color=""))
    )  # fmt: skip
    first, colors, last = head["panels"][0]["marks"]
    np.testing.assert_array_equal(numbers(first["y"]), [2, 3])
    assert (numbers(colors["values"]) == 127).all()
    np.testing.assert_array_equal(numbers(last["y"]), line)


def test_pixels_travel_as_bytes():
    pixels = np.random.default_rng(0).integers(0, 256, (5, 2, 3, 3)).astype(np.uint8)
    head, numbers = unpacked(made(Image((0, 1), (0, 2), over(pixels, "x"))))
    (mark,) = head["panels"][0]["marks"]
    assert mark["kind"] == "image"
    assert mark["pixels"]["by"] == [0]
    np.testing.assert_array_equal(numbers(mark["pixels"]).view(np.uint8), pixels)


@pytest.mark.parametrize(
    "pixels", [np.zeros((2, 3, 3)), np.zeros((2, 3), np.uint8), np.zeros((2, 3, 4), np.uint8)]
)
def test_pixels_of_another_kind_are_refused(pixels):
    with pytest.raises(ValueError, match="Pixels are uint8"):
        Image((0, 1), (0, 1), pixels)


@pytest.mark.parametrize("limit", [0, -1.0, np.nan, np.inf])
def test_the_limit_of_a_heat_is_positive(limit):
    with pytest.raises(ValueError, match=r"positive number; got .*Give the size"):
        heat(np.zeros((2, 3)), limit=limit)


@pytest.mark.parametrize("values", [np.zeros((3, 2)), np.zeros(6), np.zeros((5, 2, 3))])
def test_the_values_of_a_heat_fit_its_edges(values):
    with pytest.raises(ValueError, match=r"\(H, W\) = \(2, 3\).*got .*Put rows"):
        heat(values)


def test_the_values_of_a_heat_fit_its_edges_after_the_sliders():
    with pytest.raises(ValueError, match=r"got \(2, 3\) over \['x'\]"):
        heat(over(np.zeros((2, 3)), "x"))
    with pytest.raises(ValueError, match="leading axes"):
        made(heat(over(np.zeros((4, 2, 3)), "x")))


@pytest.mark.parametrize("edges", [[0], [0, 0, 0], [2, 1, 0], [0, 1, 4], [[0, 1]], [0, np.nan]])
def test_the_edges_of_a_heat_rise_evenly(edges):
    with pytest.raises(ValueError, match=r"x edges .* even steps; got .*Take"):
        Heat(edges, ROWS, Shades(np.zeros((2, 3)), limit=1))


@pytest.mark.parametrize("mark", [
    Bars([0, 1], [1], color="", upright=False),
    Points([0], [1], color="", left=[-1], right=[1]),
    Points([0], [1], color=Shades([1], limit=1)),
    Heat(EDGES, ROWS, Shades(np.zeros((2, 3)), limit=1, middle=0.5)),
])  # fmt: skip
def test_what_only_plotly_draws_is_refused(mark):
    with pytest.raises(ValueError, match=r"does not draw .*; plotly does"):
        made(mark)


def test_logarithmic_axes_are_refused():
    panel = Panel([], x=Axis((1, 10), log=True), y=UNIT)
    with pytest.raises(ValueError, match="does not draw a logarithmic axis"):
        live.payload(panels=[panel])


def test_places_of_a_press_are_packed():
    path = np.stack([X, X**2], 1)
    head, numbers = unpacked(made(click="x", at=path))
    (panel,) = head["panels"]
    assert panel["click"] == "x"
    np.testing.assert_allclose(numbers(panel["at"]), path, atol=1e-7)
    direct = unpacked(made(click="x"))[0]["panels"][0]
    assert (direct["click"], direct["at"]) == ("x", None)


def test_places_of_a_press_may_run_over_another_slider():
    sliders = [Slider("x", X, label="X"), Slider("a", [1, 2], label="A")]
    head, _ = unpacked(made(sliders=sliders, click="x", at=over(np.ones((2, 5, 2)), "a")))
    packed = head["panels"][0]["at"]
    assert (packed["by"], packed["shape"]) == ([1], [2, 5, 2])


def test_a_press_moves_a_slider_that_is_there():
    with pytest.raises(ValueError, match=r"got 'y'. Name one of \['x'\]"):
        made(click="y")
    with pytest.raises(ValueError, match="Name the slider to move"):
        made(at=np.ones((5, 2)))


@pytest.mark.parametrize("at", [np.ones((4, 2)), np.ones(5), over(np.ones((5, 2)), "x")])
def test_a_press_has_a_place_for_every_value(at):
    with pytest.raises(ValueError, match=r"shape \(5, 2\).*got .*Leave `at` out"):
        made(click="x", at=at)


def test_legends_travel_in_their_order():
    message = over([f"at {x:g}" for x in X], "x")
    head, numbers = unpacked(made(legend=[("p", "#0072B2", "cross"), (message, "", "dash")]))
    first, second = head["panels"][0]["legend"]
    assert first == {"label": "p", "color": "#0072B2", "symbol": "cross"}
    words = [second["label"]["strings"][int(i)] for i in numbers(second["label"])]
    assert words == list(message.values)


def test_a_lines_key_has_its_dash():
    head, _ = unpacked(made(legend=[line_key("q", MethodStyle("#0072B2", "dot")), LEVEL_KEY]))
    assert [key["symbol"] for key in head["panels"][0]["legend"]] == ["2 3", "6 4"]


def test_legends_show_known_symbols():
    for symbol in SYMBOLS:
        made(legend=[("p", "", symbol)])
    with pytest.raises(ValueError, match=r"got 'heart'. Take the one nearest"):
        made(legend=[("p", "", "heart")])


def test_nothing_new_unless_asked_for():
    head, _ = unpacked(made(Points([0], [1], color="")))
    assert head["sliders"][0]["play"] is False
    (panel,) = head["panels"]
    assert (panel["square"], panel["click"], panel["legend"]) == (False, None, [])
    assert panel["height"] == 230
    assert Slider("x", X, label="X", play=True).play is True


def test_int8_payloads_have_digests_of_their_own():
    first, other = (made(heat(np.full((2, 3), value))) for value in (1.0, -1.0))
    assert first.digest != other.digest
    assert first.digest == made(heat(np.full((2, 3), 1.0))).digest
