"""Where in theta q's mass is wrong, as a record: shares of tenths and strips, and maps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from validation_core import codec, statistics
from validation_core.diagnosis.questions.base import Json
from validation_core.types import Array

STRIPS = (-1.5, -0.5, 0.5, 1.5)
"""Edges of the strips of a parameter, in q's sds around its mean."""
Frame = Literal["sd", "own"]


@dataclass(frozen=True)
class Share:
    """The truth's share of a region against q's, with an exact interval."""

    count: int
    """Truths in the region."""
    n: int
    """Truths in all."""
    q: float
    truth: float
    low: float
    high: float
    ratio: float | None
    """How many times as frequent the truth is; None where q has no draw."""
    ratio_low: float | None
    ratio_high: float | None

    @classmethod
    def of(cls, count: int, n: int, k: int, q_share: float, tests: int) -> Share:
        """With an interval that holds for all `tests`.

        q's share is itself an average over k draws a row: as if of n k / (k + 1) rows rather
        than n.

        Args:
            count: truths in the region.
            n: truths in all.
            k: draws of q at each.
            q_share: share of q's draws there.
            tests: regions that share the 5%.
        """
        worth = k / (k + 1)
        low, high = statistics.clopper_pearson(count * worth, n * worth, 1 - 0.05 / tests)
        shares = (count / n, float(low), float(high))
        ratios = [share / q_share if q_share > 0 else None for share in shares]
        return cls(int(count), int(n), float(q_share), *shares, *ratios)

    @property
    def differs(self) -> bool:
        """Whether the interval leaves out q's share."""
        return not self.low <= self.q <= self.high

    @property
    def apart(self) -> float:
        """How far q's share lies outside the interval; below 0 inside."""
        return max(self.low - self.q, self.q - self.high)


@dataclass(frozen=True)
class Tenth:
    """A tenth of q's draws by learned ratio."""

    share: Share = field(metadata=codec.shown(flat=True))
    claimed: float
    """How many times as frequent the truth is there, as the score claims."""


@dataclass(frozen=True)
class ThetaStrip:
    """A strip of one parameter."""

    parameter: int
    strip: int
    """Which, from 0, between the edges STRIPS."""
    share: Share = field(metadata=codec.shown(flat=True))


@dataclass(frozen=True, eq=False)
class RatioMap:
    """The learned log ratio of p to q over one parameter or two."""

    of: tuple[int, ...]
    """Which parameters."""
    frame: Frame
    """In q's sds around its mean at each x, or on the parameters' own axes."""
    ratio: Array
    """(C, C), the second parameter up; or (2, C): along one, and half of its 95% interval."""
    edges: Array
    """Of the cells: (2, C + 1), or (C + 1,)."""
    truth: Array
    """Some truths: (n', 2) or (n',)."""


@dataclass(frozen=True)
class HeldOutNats:
    """By how much each score tells the truth among its row's draws, on rows held out."""

    within: float
    classifier: float


@dataclass(frozen=True, eq=False)
class MassInTheta:
    """Where in theta q puts too much or too little mass."""

    rows: int
    scored: int
    """Draws."""
    draws: int
    parameters: int
    pvalue: float
    """That the truth's score ranks anywhere among q's draws' at the same x."""
    deciles: tuple[Tenth, ...]
    """The lowest ratio first."""
    missing: Share
    """Where the score holds the truth for much more frequent."""
    excess: Share
    """For much rarer."""
    chosen: tuple[int, ...]
    """Parameters that are mapped."""
    strips: tuple[ThetaStrip, ...]
    maps: tuple[RatioMap, ...]
    score: Literal["", "within", "classifier"] = ""
    """Which score was read."""
    held: HeldOutNats | None = None

    @property
    def off(self) -> list[ThetaStrip]:
        """Strips whose interval leaves out q's share, those farthest from it first."""
        differing = [strip for strip in self.strips if strip.share.differs]
        return sorted(differing, key=lambda strip: -strip.share.apart)

    def to_json(self) -> Json:
        """Every number; maps are named by their frame and place in it."""
        fields = codec.fields_to_json(self)
        frames = [part.frame for part in self.maps]
        for i, (part, frame) in enumerate(zip(fields["maps"], frames, strict=True)):
            part["drawn"] = f"{frame}{frames[:i].count(frame)}"
        return {**fields, "held": fields["held"] or {}}
