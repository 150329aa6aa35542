"""Draws on another scale than the true values: standardised, in other units, or logarithms.

A column is said to be so only where most true values lie beyond all draws as it stands, or the
draws' centres vary several times too much or too little, and where true values rank among
the draws as usual on the other scale: then the file is wrong, whatever q is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import scipy  # its parts load at first use: a child that reads files needs none
from numpy.typing import NDArray

from validation_core.types import Array, PosteriorTable

_ROWS, _COLUMNS, _FEWEST, _FEWEST_DRAWS = 1000, 100, 20, 8
_HOPELESS = 0.5  # share of true values beyond all draws, of those that a right q has within
_FACTOR = 2.5  # of a change of scale: less may be a q of the wrong width
_PLAIN = 5.0  # of one that is told where true values lie among the draws
_FOLLOWS = 0.3  # rank correlation of true values with the draws' centre on the other scale
_CLEARLY = 0.8  # of the same where neither a known unit nor a standardised column explains it
_CENTRE, _NARROWEST, _WIDEST = 0.3, 0.7, 1.4  # mean and sd of normal scores that are usual
_STANDARD = 0.2  # how far mean and log sd of standardised numbers are from 0
_NEAR = 0.1  # of a known factor
_STANDARDISED = "the draws are standardised"
_EXACT = 1e-3  # of q's spread, to which fitted numbers are given


class OtherScale(NamedTuple):
    """A change of scale that turns q's draws of one parameter into usual ones."""

    column: int
    """The parameter's place among theta's columns."""
    formula: str
    """The true value from a draw: `50 + 28.9 q`."""
    reading: str
    """The likely mistake: `the draws are standardised`."""
    correlation: float
    """Of the true values with the centres of q's draws on their scale."""
    code: str
    """The formula in Python: `50 + 28.9 * q`."""
    turn: Callable[[Array], Array]
    """The formula as a function of draws."""
    fitted: bool
    """Whether its numbers were fitted to the table."""


class _Fit(NamedTuple):
    """A formula that fits, as in `OtherScale`."""

    formula: str
    reading: str
    code: str
    turn: Callable[[Array], Array]
    fitted: bool = False


def other_scales(
    data: PosteriorTable, among: NDArray[np.intp] | None = None
) -> Iterator[OtherScale]:
    """Find the parameters whose draws fit their true values only on another scale.

    Args:
        data: the table.
        among: rows that are finite; None for all.
    """
    k, d = data.q.shape[1:]
    among = np.arange(len(data)) if among is None else among
    n = len(among)
    if n < _FEWEST or k < _FEWEST_DRAWS:
        return
    hopeless = 1 - _HOPELESS * (1 - 2 / (k + 1))
    rows = among[np.linspace(0, n - 1, min(n, _ROWS)).astype(int)]

    def column(j: int, *, others: bool) -> OtherScale | None:
        """A column's scale; where the draws of others are standardised, its own may be so too."""
        theta, q = data.theta[rows, j].astype(np.float64), data.q[rows, :, j].astype(np.float64)
        if not (np.ptp(theta) > 0 and np.ptp(q) > 0):
            return None
        beyond = bool(((theta < q.min(1)) | (theta > q.max(1))).mean() >= hopeless)
        found = _affine(theta, q, least=_FACTOR if beyond else _PLAIN, others=others)
        found = found or (_logarithm(theta, q) if beyond else None)
        if found is None:
            return None
        r = float(np.corrcoef(theta, found.turn(q).mean(1))[0, 1])
        formula, reading, code, turn, fitted = found
        return OtherScale(j, formula, reading, r, code, turn, fitted)

    columns = range(min(d, _COLUMNS))
    scales = [column(j, others=False) for j in columns]
    if any(scale is not None and scale.reading == _STANDARDISED for scale in scales):
        scales = [scales[j] or column(j, others=True) for j in columns]
    yield from (scale for scale in scales if scale is not None)


def _affine(theta: Array, q: Array, least: float, *, others: bool) -> _Fit | None:
    """theta = a + b q, by least squares on the draws' centres; None where ranks do not fit.

    Args:
        theta: true values (n,).
        q: draws (n, K).
        least: factor b, or 1 / b, that is not an error of q.
        others: whether the draws of other parameters are standardised.
    """
    centre = q.mean(1)
    spread = centre.var() - q.var(1).mean() / q.shape[1]  # without the centres' own noise
    if not spread > 0:
        return None
    slope = float(((theta - theta.mean()) * (centre - centre.mean())).mean() / spread)
    start = float(theta.mean() - slope * centre.mean())
    if not slope > 0:
        return None
    gap = max(theta.min() - q.max(), q.min() - theta.max())
    apart = gap > np.ptp(theta) and abs(slope - 1) < _NEAR  # an origin, not a bias
    same = 1 / least < slope < least
    # Standardised draws that no true value lies among: a q that is wrong is about their place.
    about = _standard(q, 2 * _STANDARD if others else _STANDARD)
    standard = least < _PLAIN and (gap > 0 or others) and about
    for known in _KNOWN:
        if same and least == _PLAIN:
            continue
        if known.fits(start, slope, theta) and _fits((theta - known.start) / known.slope, q):
            return known.fit
    if (same and not (apart or standard)) or not _fits((theta - start) / slope, q):
        return None
    if apart:
        reading = "the draws count from another origin"
    elif about:
        reading = _STANDARDISED
    elif _standard(theta):
        reading = "the true values are standardised"
    elif np.corrcoef(theta, centre)[0, 1] > _CLEARLY:
        reading = "the draws are in other units"
    else:
        return None  # as likely a q that is far too narrow about the same place
    error = _EXACT * slope * float(np.sqrt(q.var(1).mean()))
    slope_text = _digits(slope, error / max(float(np.abs(q).max()), 1e-300))
    start_text = _digits(start, error)
    a, b = float(start_text), float(slope_text)
    return _Fit(
        f"{start_text} + {slope_text} q",
        reading,
        f"{start_text} + {slope_text} * q",
        lambda draws: np.asarray(a + b * draws.astype(np.float64)),
        fitted=True,
    )


def _digits(value: float, error: float) -> str:
    """A number with the digits that an error leaves, three at least."""
    size = math.log10(max(abs(value), 1e-300) / max(error, 1e-300))
    return f"{value:.{min(17, max(3, math.ceil(size)))}g}"


class _Unit(NamedTuple):
    """A known change of units: theta = start + slope q."""

    slope: float
    start: float
    formula: str
    reading: str
    code: str

    def fits(self, start: float, slope: float, theta: Array) -> bool:
        """Whether fitted numbers are these."""
        near = max(_NEAR * abs(self.start), float(np.ptp(theta)) / 2)
        return abs(slope / self.slope - 1) < _NEAR and (
            not self.start or abs(start - self.start) < near
        )

    @property
    def fit(self) -> _Fit:
        return _Fit(
            self.formula,
            self.reading,
            self.code,
            lambda draws: np.asarray(self.start + self.slope * draws.astype(np.float64)),
        )


def _factor(slope: float, formula: str, larger: str, smaller: str) -> tuple[_Unit, _Unit]:
    """A change of units by a factor: readings where the true values are larger, and smaller."""
    return (
        _Unit(slope, 0.0, f"{formula} q", larger, f"{formula} * q"),
        _Unit(1 / slope, 0.0, f"q / {formula}", smaller, f"q / {formula}"),
    )


_TURN = 180 / np.pi
_KNOWN: tuple[_Unit, ...] = (
    _Unit(
        _TURN, 0.0, f"{_TURN:.3g} q", "true values are in degrees, the draws in radians",
        "np.rad2deg(q)",
    ),
    _Unit(
        1 / _TURN, 0.0, f"{1 / _TURN:.3g} q", "true values are in radians, the draws in degrees",
        "np.deg2rad(q)",
    ),
    *_factor(
        100.0, "100", "true values are in percent, the draws fractions",
        "true values are fractions, the draws in percent",
    ),
    *(
        unit
        for power in (3, 6, 9)
        for unit in _factor(
            10.0**power, f"1e{power}", f"the draws are {10**power:,} times too small",
            f"the draws are {10**power:,} times too large",
        )
    ),
    _Unit(1.8, 32.0, "32 + 1.8 q", "true values are in °F, the draws in °C", "32 + 1.8 * q"),
    _Unit(
        1 / 1.8, -32 / 1.8, "(q - 32) / 1.8", "true values are in °C, the draws in °F",
        "(q - 32) / 1.8",
    ),
    _Unit(1.0, 273.15, "273.15 + q", "true values are in K, the draws in °C", "273.15 + q"),
    _Unit(1.0, -273.15, "q - 273.15", "true values are in °C, the draws in K", "q - 273.15"),
    _Unit(
        float(np.log(10)), 0.0, "2.3026 q",
        "true values are natural logarithms, the draws logarithms to base 10", "np.log(10) * q",
    ),
    _Unit(
        1 / float(np.log(10)), 0.0, "q / 2.3026",
        "true values are logarithms to base 10, the draws natural logarithms", "q / np.log(10)",
    ),
)  # fmt: skip


class _Law(NamedTuple):
    """A formula that is not linear."""

    back: Callable[[Array], Array]
    """The draw from the true value."""
    reading: str
    code: str
    turn: Callable[[Array], Array]


_LOGARITHMS: Mapping[str, _Law] = {
    "exp(q)": _Law(np.log, "the draws are natural logarithms", "np.exp(q)", np.exp),
    "10^q": _Law(
        np.log10, "the draws are logarithms to base 10", "10.0**q", lambda a: np.asarray(10.0**a)
    ),
}
_POWERS: Mapping[str, _Law] = {
    "log(q)": _Law(np.exp, "the true values are natural logarithms", "np.log(q)", np.log),
    "log10(q)": _Law(
        lambda a: np.asarray(10.0**a),
        "the true values are logarithms to base 10",
        "np.log10(q)",
        np.log10,
    ),
}


def _logarithm(theta: Array, q: Array) -> _Fit | None:
    """theta = exp(q), 10^q, log(q) or log10(q); None where ranks do not fit."""
    forms = {**(_LOGARITHMS if theta.min() > 0 else {}), **(_POWERS if q.min() > 0 else {})}
    for formula, law in forms.items():
        with np.errstate(over="ignore"):
            if _fits(law.back(theta), q):
                return _Fit(formula, law.reading, law.code, law.turn)
    return None


def _fits(theta: Array, q: Array) -> bool:
    """Whether true values (n,) follow the draws (n, K) and rank among them as usual."""
    ranks = np.stack([_ranks(theta), _ranks(q.mean(1))])
    if np.corrcoef(ranks)[0, 1] < _FOLLOWS:
        return False
    below = (q < theta[:, None]).sum(1) + 0.5 * (q == theta[:, None]).sum(1)
    score = scipy.special.ndtri((below + 0.5) / (q.shape[1] + 1))
    return bool(abs(score.mean()) < _CENTRE and _NARROWEST < score.std() < _WIDEST)


def _ranks(values: Array) -> Array:
    """Ranks (n,) from 0, ties in the order of their places."""
    return np.asarray(values.argsort().argsort(), dtype=np.float64)


def _standard(values: Array, near: float = _STANDARD) -> bool:
    """Whether numbers have about mean 0 and standard deviation 1."""
    return abs(float(values.mean())) < near and abs(np.log(values.std())) < near
