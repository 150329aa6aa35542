"""Principal curves of clouds whose middle line is known."""

import numpy as np
import pytest

from validation_core.benchmarks.gaussian import Gaussian
from validation_core.benchmarks.spiral import HIGH, LOW
from validation_core.rng import stream
from validation_core.statistics.curves import principal_curve, project_on_polyline


def _turned(points, degrees):
    angle = np.deg2rad(degrees)
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def _arc(radius, turn, n, seed, noise=0.07):
    rng = stream(seed, "arc", n)
    angle = rng.uniform(0, turn, n)
    circle = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return circle + noise * radius * rng.standard_normal((n, 2))


@pytest.mark.parametrize("degrees", [0, 35, 90])
def test_a_line_does_not_bend(degrees):
    rng = stream(0, "line")
    along = rng.uniform(-5, 5, 1000)
    flat = np.stack([along, 0.3 * rng.standard_normal(1000)], axis=1)
    curve = principal_curve(_turned(flat, degrees))
    assert curve.settled
    assert curve.total_abs_curvature / curve.length < 0.03
    assert curve.total_abs_curvature < 0.3
    assert curve.length == pytest.approx(9.8, abs=0.3)
    assert curve.distance == pytest.approx(0.09, rel=0.1)
    back = _turned(curve.points, -degrees)
    assert np.abs(back[:, 1]).max() < 0.15


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("radius", "turn"), [(1.0, np.pi), (2.0, 0.6 * np.pi), (0.3, np.pi)])
def test_an_arc_has_the_curvature_of_its_circle(radius, turn, seed):
    curve = principal_curve(_arc(radius, turn, 2000, seed))
    assert curve.settled
    assert curve.total_abs_curvature / curve.length == pytest.approx(1 / radius, rel=0.1)
    assert curve.length == pytest.approx(radius * turn, rel=0.05)
    assert curve.total_abs_curvature == pytest.approx(turn, rel=0.1)
    assert np.abs(np.hypot(*curve.points.T) / radius - 1).max() < 0.05
    # All of it turns one way.
    signed = np.trapezoid(curve.curvature, curve.arc)
    assert abs(signed) == pytest.approx(curve.total_abs_curvature, rel=0.02)


def test_the_sign_tells_left_from_right():
    """y = x^3 turns right up to the origin and left from there, seen in the direction of x."""
    rng = stream(1, "cubic")
    x = rng.uniform(-1.2, 1.2, 4000)
    curve = principal_curve(np.stack([3 * x, x**3], 1) + 0.03 * rng.standard_normal((4000, 2)))
    x = curve.points[:, 0] / 3
    assert np.all(np.diff(x) > 0)
    assert curve.curvature[x < -0.3].max() < 0 < curve.curvature[x > 0.3].min()


def test_a_curve_of_several_turns_with_a_start():
    """The spiral r = y, whose curvature is (2 + y^2) / (1 + y^2)^(3/2)."""
    rng = stream(2, "spiral")
    y = rng.uniform(LOW, HIGH, 4000)
    bare = np.stack([y * np.cos(y), y * np.sin(y)], 1)
    corners = np.linspace(LOW, HIGH, 12)
    start = corners[:, None] * np.stack([np.cos(corners), np.sin(corners)], 1)
    samples = bare + 0.3 * rng.standard_normal((4000, 2))
    curve = principal_curve(samples, freedom=14, start=start)
    fine = np.linspace(LOW, HIGH, 4001)
    length = np.trapezoid(np.sqrt(1 + fine**2), fine)
    turned = np.trapezoid((2 + fine**2) / (1 + fine**2), fine)  # curvature times speed
    assert curve.length == pytest.approx(length, rel=0.05)
    assert curve.total_abs_curvature == pytest.approx(turned, rel=0.1)
    assert curve.distance < 2 * 0.3**2


def test_a_larger_gain_bends_the_gaussian_family_more():
    """Radians turned by clouds at single x, the middle one of twelve."""
    turned = {}
    for gain in (0.25, 1.0, 4.0):
        bench = Gaussian(dim_x=2, dim_theta=2, curved=True, gain=gain)
        clouds = [
            bench.theta(np.repeat(bench.x(1, stream(k, "x")), 1000, axis=0), 0.0, stream(k))
            for k in range(12)
        ]
        turned[gain] = np.median(
            [principal_curve(cloud, freedom=4).total_abs_curvature for cloud in clouds]
        )
    assert turned[4.0] > 1.5 * turned[1.0] > 3 * turned[0.25]


def test_shapes_and_arc_length():
    curve = principal_curve(_arc(1.0, np.pi, 500, 9))
    assert curve.points.shape == (200, 2)
    assert curve.arc.shape == curve.curvature.shape == (200,)
    assert curve.arc[0] == 0
    polyline = np.hypot(*np.diff(curve.points, axis=0).T)
    np.testing.assert_allclose(np.diff(curve.arc), polyline, rtol=1e-3)


def test_scale_and_place_do_not_matter():
    cloud = _arc(1.0, 2.0, 800, 4)
    one, other = principal_curve(cloud), principal_curve(1e4 * cloud + [3e5, -1e5])
    np.testing.assert_allclose(other.arc, 1e4 * one.arc, rtol=1e-4)
    assert other.total_abs_curvature == pytest.approx(one.total_abs_curvature, rel=1e-3)


def test_projection_is_the_nearest_point():
    line = np.array([[0, 0], [1, 0], [1, 1.0]])
    samples = np.array([[0.4, 0.3], [1.2, 0.5], [-1, 0.0], [1, 3.0]])
    place, distance = project_on_polyline(samples, line)
    np.testing.assert_allclose(place, [0.4, 1.5, 0.0, 2.0])
    assert distance == pytest.approx((0.09 + 0.04 + 1 + 4) / 4)


def test_few_places_and_repeated_samples_are_no_accident():
    corners = np.repeat([[0, 0], [1, 0.2], [2, 0.9], [3, 2.0]], 10, axis=0)
    curve = principal_curve(corners, freedom=8)
    assert np.isfinite(curve.points).all()
    assert np.isfinite(curve.curvature).all()
    exact = principal_curve(np.stack([np.linspace(0, 1, 50), np.linspace(0, 2, 50)], 1))
    assert exact.total_abs_curvature < 1e-4
    assert exact.distance < 1e-12


@pytest.mark.parametrize(
    ("samples", "options", "match"),
    [
        (np.zeros((30, 3)), {}, r"samples \(n, 2\), 20 or more; got \(30, 3\)"),
        (np.zeros((10, 2)), {}, "20 or more"),
        (np.zeros((30, 2)), {}, "one point repeated"),
        (np.full((30, 2), np.nan), {}, "finite"),
        (np.eye(30)[:, :2], {"freedom": 2}, "between 4 and 30; got 2"),
        (np.eye(30)[:, :2], {"start": [[0, 0]]}, "two points or more"),
    ],
)
def test_bad_input_says_what_is_wanted(samples, options, match):
    with pytest.raises(ValueError, match=match):
        principal_curve(samples, **options)
