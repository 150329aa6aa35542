"""Known defects put into a table by moving or by choosing the truth: which q would have beside it.

A draw of q that plays the truth makes an exact table; moved, or chosen with unequal chances, it
makes one whose q has a named defect of a known size. The K draws themselves are never touched, so
that whatever is worked out from them is worked out once for all injections.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from validation_core import keys
from validation_core.diagnosis.injections.following import follow_x, followed_x_nats
from validation_core.diagnosis.injections.injection import Apply, Injection
from validation_core.diagnosis.injections.moves import (
    bias_all,
    heavy_tails,
    ignores_x,
    in_one_parameter,
    inside_support,
    light_tails,
    missing_mode,
    outside_spurious_mode,
    spurious_mode,
    support_leak,
    too_narrow,
    too_wide,
    wrong_correlation,
)
from validation_core.diagnosis.injections.normal_nats import (
    bias_in_all_nats,
    bias_in_one_nats,
    missing_mode_nats,
    spurious_mode_nats,
    width_nats,
)
from validation_core.diagnosis.injections.tilts import MODE_TILT, TILTS

_SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4)
_SD = (0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 1.0)
_TIMES = (1.01, 1.03, 1.06, 1.1, 1.2, 1.4, 2.0)
_DEGREES = (0.005, 0.02, 0.05, 0.1, 0.2, 0.4, 1.0)


def _widths(cause: str, apply: Apply, *, wide: bool) -> tuple[Injection, Injection]:
    """A width that is wrong by a factor, in one parameter and in all."""
    title = cause.replace("_", " ")
    every = Injection(
        name=cause,
        cause=cause,
        title=f"{title} in all parameters",
        unit="times",
        apply=apply,
        strengths=_TIMES,
        spread="all",
        nats=width_nats(single=False, wide=wide),
    )
    one = replace(
        every,
        name=f"{cause}_one",
        title=f"{title} in one parameter",
        apply=in_one_parameter(apply),
        spread="one",
        nats=width_nats(single=True, wide=wide),
        least_dims=2,
    )
    return one, every


INJECTIONS: Mapping[str, Injection] = keys.by_name(
    Injection(
        name="bias",
        cause="bias",
        title="biased in one parameter",
        unit="posterior sd",
        apply=in_one_parameter(bias_all),
        strengths=_SD,
        spread="one",
        nats=bias_in_one_nats,
    ),
    Injection(
        name="bias_all",
        cause="bias",
        title="biased in all parameters",
        unit="posterior sd",
        apply=bias_all,
        strengths=_SD,
        spread="all",
        nats=bias_in_all_nats,
        least_dims=2,
    ),
    *_widths("too_wide", too_wide, wide=True),
    *_widths("too_narrow", too_narrow, wide=False),
    Injection(
        name="wrong_correlation",
        cause="wrong_correlation",
        title="wrongly correlated",
        apply=wrong_correlation,
        unit="times too wide along a direction",
        least_dims=2,
        strengths=(1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0),
    ),
    Injection(
        name="heavy_tails",
        cause="heavy_tails",
        title="too heavy in its tails",
        apply=heavy_tails,
        unit="1 / degrees of freedom",
        strengths=_DEGREES,
        spread="all",
    ),
    Injection(
        name="light_tails",
        cause="light_tails",
        title="too light in its tails",
        apply=light_tails,
        unit="1 / degrees of freedom",
        strengths=_DEGREES,
        spread="all",
    ),
    Injection(
        name="missing_mode",
        cause="missing_mode",
        title="missing a mode",
        unit="share of the truth's mass",
        strengths=_SHARES,
        apply=missing_mode,
        nats=missing_mode_nats,
    ),
    Injection(
        name="spurious_mode",
        cause="spurious_mode",
        title="putting mass where the truth never is",
        unit="share of q's mass",
        strengths=_SHARES,
        apply=spurious_mode,
        pick=outside_spurious_mode,
        nats=spurious_mode_nats,
    ),
    Injection(
        name="ignores_x",
        cause="ignores_x",
        title="blind to x",
        unit="correlation of the truth's residuals with x",
        apply=ignores_x,
        pick=follow_x,
        strengths=(0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 0.9),
        nats=followed_x_nats,
        exact=True,
    ),
    Injection(
        name="support_leak",
        cause="support_leak",
        title="leaking out of the truth's support",
        unit="share of q's mass",
        strengths=_SHARES,
        apply=support_leak,
        pick=inside_support,
        spread="all",
    ),
)
"""Defects that move the truth, those in one parameter before those in all."""
DEFECTS: Mapping[str, Injection] = {**INJECTIONS, **TILTS, MODE_TILT.name: MODE_TILT}
"""All that can be put into a table."""
