"""Uniformity of the truth's ranks among q's draws."""

import streamlit as st

from pages.colt.controls import ColtChoice, owner, slider
from pages.colt.data import LocalizerMaps
from pages.ui import live
from validation_core.panels.colt import power
from validation_core.panels.gamma_scale import GammaScale


def ranks(chosen: ColtChoice, located: LocalizerMaps) -> None:
    """Histogram and ECDF of the ranks under gamma, and their distance along it."""
    several = len(located.gammas) > 1
    payload = live.once(
        ("ranks", located.key, chosen.alpha),
        lambda: power.ranks(
            located.maps,
            chosen.alpha,
            located.gammas,
            chosen.start_among(located.gammas),
            [chosen.benchmark.is_exact(gamma) for gamma in located.gammas],
            GammaScale.of(chosen.benchmark),
        ),
    )
    key = f"ranks-{owner(chosen.benchmark)}-{several}"
    live.chart(payload, key=key, url=slider(located.gammas), save_as="Ranks in the region")
    n = len(located.maps[0].u_quote)
    st.caption(
        "A rank is the share of q's draws at the same x that lie nearer to the centre than "
        f"the true value. {n} simulations, used for nothing else. If q were correct: level "
        "bars, and the line inside the grey band in 95 of 100 samples."
    )
