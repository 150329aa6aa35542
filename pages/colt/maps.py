"""Where q is wrong: a map in theta at one x, chosen in a map over x."""

from typing import Literal

import streamlit as st

from pages.colt.controls import ColtChoice, owner, slider
from pages.colt.data import LocalizerMaps
from pages.ui import live
from pages.ui.forms import number, segmented
from validation_core.localization import Maps
from validation_core.panels.colt import where
from validation_core.panels.colt.theta import ThetaAxes
from validation_core.panels.gamma_scale import GammaScale
from validation_core.text import share_text


def show_where(chosen: ColtChoice, located: LocalizerMaps, sight: ThetaAxes) -> None:
    """Both maps under gamma and x."""
    maps, alpha = located.maps[0], chosen.alpha
    name = "x" if maps.x_at.shape[1] == 1 else "place"
    payload = live.once(
        ("where", located.key, sight, alpha),
        lambda: where.payload(
            located.maps,
            located.rates,
            sight,
            alpha,
            located.gammas,
            chosen.start_among(located.gammas),
            [chosen.benchmark.is_exact(gamma) for gamma in located.gammas],
            GammaScale.of(chosen.benchmark),
        ),
    )
    several = len(located.gammas) > 1
    key = f"where-{owner(chosen.benchmark)}-{name}-{several}"
    now = live.chart(payload, key=key, url=(*slider(located.gammas), name), save_as="CoLT")
    st.caption(where.how_to_read(maps, sight) + _bent(located.key, maps, sight))
    tied = float(located.maps[located.gammas.index(now[0]) if several else 0].tied)
    if tied > 0.01:
        st.caption(
            f"{share_text(tied)} of true values tie with a draw of q: ties are broken at random, "
            "and say nothing about q."
        )


def directions(d: int) -> ThetaAxes:
    """The two directions of theta that are shown, and their origin."""
    if d == 1:
        return ThetaAxes()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        onto = _onto(d) if d > 2 else "pca"
        axes = {"fixed": "Fixed", "around": "Around q"}
        about = segmented(
            "Axes of θ",
            axes,
            f"axes{min(d, 3)}",
            first="fixed" if d == 2 else "around",
            help="Fixed: one scale for every x. Around q: from the mean of q's draws at each x, "
            "in their standard deviations.",
        )
    return ThetaAxes(onto, around=about == "around")


def _onto(d: int) -> tuple[int, int] | Literal["pca"]:
    names = {"pca": "Principal components", "pair": "Two parameters"}
    if segmented("Directions of θ", names, "onto") == "pca":
        return "pca"
    across, up = (
        number(label, 1, d, first, key, width=110) - 1
        for label, first, key in (("Across, θ", 1, "across"), ("Up, θ", 2, "up"))
    )
    return across, up if up != across else (across + 1) % d


@st.cache_resource(show_spinner=False, max_entries=32)
def _bent(key: str, _localization: Maps, sight: ThetaAxes) -> str:
    """The curvature of the true posterior in words; cached by the task's key."""
    return where.bend_text(_localization, sight)
