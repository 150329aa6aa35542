"""Conformal C2ST workbench: a benchmark, a classifier, and every picture under gamma and beta."""

import streamlit as st

from pages.conformal import studies
from pages.conformal.controls import ConformalChoice, choose
from pages.conformal.training import trained
from pages.ui import address, jobs, live
from pages.ui.forms import segmented
from pages.ui.services import stored
from validation_core.drawing.live import Payload
from validation_core.explorers.conformal import pictures, power_panels, theory_panels
from validation_core.explorers.conformal.study import Conformal
from validation_core.explorers.conformal.view import ConformalView, MeasuredPower

VIEWS = {name: name for name in ("Ranks", "Scores", "Other tests", "Theory")}
ALONG = {"gamma": "over gamma and beta", "m": "over m"}


@address.fragment
def _pictures(chosen: ConformalChoice, view: str, over_m: bool) -> None:
    """All figures, which follow the sliders of gamma and beta, and the parts below them."""
    counted = studies.counted(chosen, over_m=over_m)
    look, views = _look(chosen, view, over_m)
    if views is None:
        return
    payload = live.once(
        (
            "conformal",
            look.study.key,
            look.view,
            look.alpha,
            look.over_m,
            look.oracle,
            (counted.study.key, len(counted.trials), counted.old) if counted else None,
        ),
        lambda: pictures.payload(look, views, counted),
    )
    gamma = _chart(chosen, payload)
    st.caption(f"{pictures.how_to_read(look, views.pool)} {_network(chosen, counted)}")
    _below(chosen, counted, gamma, look)


@address.fragment
def _theory(chosen: ConformalChoice) -> None:
    """Both sides of the paper's inequalities, which follow the same sliders."""
    measured = studies.theory(chosen)
    payload = live.once(
        ("conformal theory", chosen.theory.key, measured is not None),
        lambda: theory_panels.theory_payload(chosen.learned, measured),
    )
    _chart(chosen, payload)
    if measured is None:
        st.caption("The theory's numbers come when the classifier has learnt.")
    else:
        st.caption(theory_panels.how_to_read_theory())


def _chart(chosen: ConformalChoice, payload: Payload) -> float:
    """The figures of any view; returns gamma."""
    perturbation = chosen.learned.benchmark.perturbation
    address.owned("gamma", perturbation)
    gamma, _ = live.chart(
        payload, key=f"conformal-{perturbation}", url=("gamma", "beta"), save_as="Conformal C2ST"
    )
    return gamma


def _look(
    chosen: ConformalChoice, view: str, over_m: bool
) -> tuple[ConformalView, Conformal | None]:
    """The figures of the classifier, or of the oracle while it trains."""
    study = studies.seen(chosen)
    if study is None:
        look = ConformalView(chosen.study, view, chosen.alpha, over_m, oracle=True)
        return look, studies.by_oracle(chosen.study.key, chosen.study)
    if (study.n, study.m) != (chosen.study.n, chosen.study.m):
        st.caption(
            f"Still the ranks for n = {study.n} and m = {study.m}: new ones are being computed."
        )
    return ConformalView(study, view, chosen.alpha, over_m), stored(study)


def _below(
    chosen: ConformalChoice, counted: MeasuredPower | None, gamma: float, look: ConformalView
) -> None:
    with st.container(horizontal=True):
        numbers = st.expander("The numbers", key="numbers", on_change="rerun")
        opened = st.expander("How the classifier was trained", key="trained", on_change="rerun")
    if numbers.open and counted:
        table = power_panels.power_table(counted, chosen.alpha)
        numbers.dataframe(table, hide_index=True)
    if opened.open and not look.oracle:
        with opened:
            trained(chosen.learned, gamma)


def _network(chosen: ConformalChoice, counted: MeasuredPower | None) -> str:
    """The classifiers that score, the draws from which they learn, and how many power is of."""
    count, rows = len(chosen.learned.gammas), chosen.learned.recipe.train
    draws = f"{rows:,} draws of p and {rows:,} of q"
    more = len(counted.trials) - 1 if counted and not counted.old else 0
    if chosen.learned.each and count > 1:
        others = f" Power is a mean over these and {more} more at each." if more else ""
        return f"{count} classifiers, one for each gamma, learn from {draws} each.{others}"
    over = f" over all {count} gammas" if count > 1 else ""
    others = f" Power is a mean over it and {more} more like it." if more else ""
    return f"One classifier learns from {draws}{over}.{others}"


live.one_screen(1.7)
st.title("Can a weak classifier still find what is wrong with q?", anchor=False)
jobs.notices()
chosen = choose()
benchmark = chosen.learned.benchmark
st.markdown(f"{benchmark.label}: {benchmark.summary}.")
with st.container(horizontal=True, horizontal_alignment="distribute"):
    view = segmented("View", VIEWS, "view", label_visibility="collapsed")
    along = "gamma"
    if view != "Theory":
        with st.container(horizontal=True, vertical_alignment="center", width="content"):
            st.markdown("Power", width="content")
            along = segmented("Power", ALONG, "along", label_visibility="collapsed")
if view == "Theory":
    _theory(chosen)
else:
    _pictures(chosen, view, along == "m")
jobs.panel(studies.ask(chosen, over_m=along == "m", theory=view == "Theory"), follow=True)
