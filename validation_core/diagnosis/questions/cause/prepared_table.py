"""A table made ready for its cause: at most so many rows, its points ranked, and its features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from validation_core.diagnosis.injections.draw_pool import DrawPool
from validation_core.diagnosis.questions.cause.ranked_rows import (
    PointScores,
    RankedRows,
    StandardisedDraws,
)
from validation_core.rng import stream
from validation_core.types import Array, PosteriorTable

ROWS, DRAWS, PARAMETERS = 1500, 200, 16
"""What is looked at of a larger table: bounds the time."""
NUMBERS, FEWER = 2_000_000, 40
"""Numbers of q's draws beyond which fewer draws are looked at, and how many then: the table
itself is large, and what is worked out from these draws is 15 times as large as they are."""
_SMALL = 1e-4  # variances are never taken for less
_EDGES = np.array([-1.645, -0.8416, 0.0, 0.8416, 1.645, 2.326])  # 5, 20, 50, 80, 95, 99%
_FAR = (3.5, 5.0, 6.5)  # scores beyond all draws by some units of their spread
_MODES = 0.02  # share of rows with two modes that makes two modes a matter of the table
_LOOKED = 50_000  # draws of q that say how much of it lies beyond the truths
_CROWD = 0.02  # of the true values' range: where they stand close if it ends sharply


@dataclass(frozen=True, eq=False)
class _CauseFeatures:
    """The features of truths in one table: what depends on no truth is worked out once."""

    ranked: RankedRows
    x: Array

    @cached_property
    def directions(self) -> tuple[Array, Array]:
        """Uncorrelated directions of x (n, r) and of the rows' means (n, s)."""
        means = self.ranked.points.mean(1)
        return tuple(DrawPool(self.ranked.points, a).followed for a in (self.x, means))  # type: ignore[return-value]

    @cached_property
    def linear(self) -> Array:
        """Orthonormal columns (n, p): linear functions of x and of the rows' means."""
        return _columns(np.concatenate(self.directions, axis=1))

    @cached_property
    def bent(self) -> Array:
        """Orthonormal columns (n, p): products of the leading directions, beyond `linear`."""
        lead = np.clip(np.concatenate([a[:, :4] for a in self.directions], axis=1), -3, 3)
        i, j = np.triu_indices(lead.shape[1])
        products = lead[:, i] * lead[:, j]
        return _columns(products - self.linear @ (self.linear.T @ products))

    @cached_property
    def beside(self) -> NDArray[np.intp]:
        """The row whose x and mean are nearest: (n,)."""
        from scipy.spatial import cKDTree

        at = np.concatenate(self.directions, axis=1)
        if not at.shape[1]:
            return np.roll(np.arange(len(at)), 1)
        return np.asarray(np.asarray(cKDTree(at).query(at, k=2)[1])[:, 1])

    @cached_property
    def modes(self) -> Array:
        """1 for rows with two modes, where the table has such rows to speak of: (n,)."""
        clear = self.ranked.groups.clear
        return clear * float(clear.mean() > _MODES)

    def of(self, scores: PointScores) -> dict[str, Array]:
        """Each feature of T sets of truths: (T,) by name."""
        left = {}
        features: dict[str, Array] = {}
        for name, score in (("w", scores.marginal), ("v", scores.white)):
            mean = score.mean(1)
            fit = self.linear.T @ score
            left[name] = score - mean[:, None] - self.linear @ fit
            features |= _named(name, self._place(mean, fit, left[name]))
            features |= _named(name, _shape(left[name]))
        features |= self._width(left["w"], left["v"]) | self._correlation(left["w"], left["v"])
        features |= self._radius(scores.radius) | self._modes(scores.minor)
        features |= self._edges(scores.theta)
        for name, score in (("w", scores.marginal), ("v", scores.white)):
            features[f"far_{name}"] = np.sqrt((np.abs(score) > 4.5).mean((1, 2)))
        return features

    def _place(self, mean: Array, fit: Array, left: Array) -> dict[str, Array]:
        """Where scores lie: on average, along linear functions of x, along products."""
        n, var = left.shape[1], np.maximum(left.var(1), _SMALL)
        share = np.square(fit).sum(1) / n
        follow = share / (share + var)
        bent = np.square(self.bent.T @ left).sum(1) / n
        beside = np.square(left - left[:, self.beside]).mean(1) / 2
        return {
            "bias": np.sqrt(np.square(mean).mean(1)),
            "bias_max": np.abs(mean).max(1),
            "follow": follow.mean(1),
            "follow_max": follow.max(1),
            "bent": (bent / var).mean(1),
            "near": np.log(np.maximum(beside, _SMALL)).mean(1),
        }

    def _width(self, w: Array, v: Array) -> dict[str, Array]:
        """How wide scores are: per parameter, along the sample's axes, along each row's own."""
        log_w, log_v = (np.log(np.maximum(a.var(1), _SMALL)) for a in (w, v))
        eigen = np.log(
            np.maximum(np.linalg.eigvalsh(np.swapaxes(v, 1, 2) @ v / v.shape[1]), _SMALL)
        )
        turned = np.swapaxes(v, 0, 1) @ self.ranked.whitening.axes
        frame = np.log(np.maximum(np.square(turned).mean(0), _SMALL))  # (T, D)
        return {
            "width_w": log_w.mean(1),
            "width_w_min": log_w.min(1),
            "width_w_max": log_w.max(1),
            "width_v": log_v.mean(1),
            "eigen_low": eigen[:, 0],
            "eigen_high": eigen[:, -1],
            "eigen_spread": eigen.std(1),
            "narrowest": frame[:, 0],
            "widest": frame[:, -1],
            "frame_low": frame.min(1),
            "frame_high": frame.max(1),
            "frame_spread": frame.std(1),
        }

    def _correlation(self, w: Array, v: Array) -> dict[str, Array]:
        """How far correlations are from those among q's own draws; none for one parameter."""
        i, j = np.triu_indices(w.shape[2], 1)
        if not len(i):
            return {}
        usual = self.usual[i, j]
        off = _correlations(w)[:, i, j] - usual
        return {
            "cor_w": np.sqrt(np.square(off).mean(1)),
            "cor_w_max": np.abs(off).max(1),
            "cor_w_more": (off * np.sign(usual)).mean(1),
            "cor_v": np.sqrt(np.square(_correlations(v)[:, i, j]).mean(1)),
        }

    def _radius(self, r: Array) -> dict[str, Array]:
        """The law of the radius' scores, and whether it depends on x."""
        above = (r[..., None] > _EDGES).mean(1)  # (T, 6)
        off = r - r.mean(1, keepdims=True)
        total = np.maximum(np.square(off).sum(1), 1e-9)
        return {
            "radius": r.mean(1),
            "radius_sd": np.log(np.maximum(r.std(1), 1e-3)),
            **{f"radius_{k}": above[:, k] for k in range(len(_EDGES))},
            "radius_inner": above[:, 0] - above[:, 2],
            **{f"far_{k}": np.sqrt((r > far).mean(1)) for k, far in enumerate(_FAR)},
            "radius_follow": np.square(off @ self.linear).sum(1) / total,
            "radius_bent": np.square(off @ self.bent).sum(1) / total,
        }

    def _modes(self, minor: NDArray[np.bool_]) -> dict[str, Array]:
        """Truths in the smaller of two modes beside the share of q's points there."""
        weight, share = self.modes, self.ranked.groups.share
        if not weight.any():
            return {}
        sd = np.sqrt(max((weight * share * (1 - share)).sum(), 1.0))
        return {
            "minor": ((minor - share) * weight).sum(1) / sd,
            "minor_ratio": (minor * weight).sum(1) / (weight * share).sum(),
        }

    def _edges(self, theta: Array) -> dict[str, Array]:
        """q's mass beyond the truths' range, truths that stand close where it ends, and how far
        they spread beside all points."""
        low, high, points = theta.min(1), theta.max(1), self._looked
        beyond = np.stack(
            [
                points[:, j].searchsorted(low[:, j])
                + len(points)
                - points[:, j].searchsorted(high[:, j], side="right")
                for j in range(theta.shape[2])
            ],
            axis=1,
        ) / len(points)
        spread = np.log(np.maximum(theta.std(1) / np.maximum(points.std(0), 1e-300), _SMALL))
        room = (high - low) * _CROWD
        crowd = np.stack(
            [(theta < (low + room)[:, None]).mean(1), (theta > (high - room)[:, None]).mean(1)]
        )
        return {
            "leak": np.sqrt(beyond.mean(1)),
            "leak_max": np.sqrt(beyond.max(1)),
            "edge": np.sqrt(crowd.mean((0, 2))),
            "edge_max": np.sqrt(crowd.max((0, 2))),
            "spread": spread.mean(1),
            "spread_min": spread.min(1),
        }

    @cached_property
    def _looked(self) -> Array:
        """Points of all rows, each parameter in order: (L, D)."""
        points = self.ranked.points.reshape(-1, self.ranked.points.shape[2])
        return np.sort(points[:: max(1, len(points) // _LOOKED)], axis=0)

    @cached_property
    def usual(self) -> Array:
        """Correlation of the normal scores of a row's points, over all rows: (D, D)."""
        d, size = self.ranked.points.shape[2], self.ranked.ranks.shape[2]
        w = ndtri((self.ranked.ranks[:, :d] + 0.5) / size)  # (n, D, K + 1)
        return np.asarray(np.mean(w @ np.swapaxes(w, 1, 2) / np.square(w).sum(2)[:, :1, None], 0))


def _named(suffix: str, numbers: dict[str, Array]) -> dict[str, Array]:
    return {f"{name}_{suffix}": feature for name, feature in numbers.items()}


def _shape(left: Array) -> dict[str, Array]:
    """Tails, centre and skewness of standardised scores (T, n, D), over parameters."""
    z = left / np.sqrt(np.maximum(left.var(1, keepdims=True), _SMALL))
    square = z * z
    fourth, third = np.log(np.square(square).mean(1) / 3), np.abs((square * z).mean(1))
    return {
        "tails": fourth.mean(1),
        "tails_min": fourth.min(1),
        "tails_max": fourth.max(1),
        "centre": (square < 0.25).mean((1, 2)),
        "skew": np.sqrt(np.square(third).mean(1)),
        "skew_max": third.max(1),
    }


def _correlations(a: Array) -> Array:
    """(T, D, D) of (T, n, D)."""
    cov = np.swapaxes(a, 1, 2) @ a / a.shape[1]
    sd = np.sqrt(np.maximum(np.einsum("tdd->td", cov), _SMALL))
    return cov / (sd[:, :, None] * sd[:, None])


def _columns(a: Array) -> Array:
    """An orthonormal basis (n, p) of centred columns (n, c)."""
    a = a - a.mean(0)
    if not a.size:
        return a
    left, size, _ = np.linalg.svd(a, full_matrices=False)
    return np.asarray(left[:, size > 1e-3 * max(size[0], 1e-12)])


def subsample(
    table: PosteriorTable, seed: int, columns: NDArray[np.intp] | None = None
) -> tuple[PosteriorTable, NDArray[np.intp]]:
    """Take the part of a table that is looked at, and say which parameters it has.

    Args:
        table: the whole.
        seed: fixes which rows are looked at.
        columns: the parameters to look at; all of them, at most as many as can be.
    """
    n, k, d = table.q.shape
    rows = np.sort(stream(seed, "cause", "rows").permutation(n)[:ROWS])
    if columns is None:
        columns = np.linspace(0, d - 1, min(d, PARAMETERS)).astype(int)
    most = DRAWS if len(rows) * len(columns) * min(k, DRAWS) <= NUMBERS else FEWER
    draws = np.linspace(0, k - 1, min(k, most)).astype(int)
    q = table.q[np.ix_(rows, draws, columns)]
    return PosteriorTable(table.theta[rows][:, columns], table.x[rows], q), columns


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """A table made ready: its points without ties, q's draws among them, its features."""

    ranked: RankedRows
    pool: DrawPool
    features: _CauseFeatures
    seed: int

    @classmethod
    def of(cls, table: PosteriorTable, seed: int) -> PreparedTable:
        """Prepare a table."""
        ranked = RankedRows.of(table, stream(seed, "cause", "ties"))
        pool = StandardisedDraws(ranked.points[:, 1:], table.x, ranked=ranked)
        return cls(ranked, pool, _CauseFeatures(ranked, table.x), seed)

    @cached_property
    def errors(self) -> Array:
        """(q's mean - theta) / q's sd: (n, D)."""
        return np.asarray((self.pool.mean - self.ranked.points[:, 0]) / self.pool.sd)

    @cached_property
    def ranks(self) -> Array:
        """Randomised ranks of the truth in each coordinate: (n, C)."""
        size = self.ranked.ranks.shape[2]
        noise = stream(self.seed, "cause", "ranks").random(self.ranked.ranks.shape[:2])
        return np.asarray((self.ranked.ranks[..., 0] + noise) / size)

    @property
    def radius(self) -> Array:
        """Ranks of the radius: (n,)."""
        return np.asarray(self.ranks[:, -1])

    @cached_property
    def halves(self) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Places of the rows that choose, and of those that are quoted."""
        order = stream(self.seed, "cause", "halves").permutation(len(self.errors))
        return order[: len(order) // 2], order[len(order) // 2 :]

    @cached_property
    def widths(self) -> Array:
        """ln of q's sd by the spread of its errors: (D,)."""
        return -np.log(np.maximum(self.errors.std(0), 1e-6))
