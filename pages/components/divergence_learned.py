"""If q had no density: the divergence as a classifier sees it, beside the exact one."""

import numpy as np
import streamlit as st

from pages.components import jobs, live
from pages.components.divergence_words import size, tick
from pages.components.services import services
from validation_core.figures.style import NULL, method_style
from validation_core.simulations import Run
from validation_core.simulations.learned import DRAWS, TESTED, Compared, Learned
from validation_core.simulations.terms import Scale, scale
from validation_core.statistics.divergence import Divergence
from validation_core.types import Array

SKL, LEARNED = method_style("skl").color, method_style("c2st").color


def show(run: Run) -> None:
    """A button, then both divergences and their terms."""
    st.subheader("If q had no density", anchor=False)
    st.markdown(
        "Many estimators give draws and no density. A classifier that learns to tell the truth "
        "from q's draws estimates log p − log q by its logit; its divergence is an **estimate**, "
        "and on average at most the true one, by as much as the classifier overlooks."
    )
    task = Learned(of=run)
    try:
        assert task.needs
    except ValueError as error:
        st.info(jobs.plain(str(error)), icon=":material/info:")
        return
    found = task.load(services().store) if task.done(services().store) else None
    if found is not None:
        _figures(task.key, found)
        return
    state = jobs.latest([task])
    if state is None:
        st.button(
            "Estimate it by a classifier", key="run-learned", icon=":material/model_training:",
            on_click=lambda: jobs.ensure([task], task.label, start=True, again=True),
        )  # fmt: skip
        st.caption(
            f"Trains on {task.rows:,} simulations with {DRAWS} draws of q each, and tests on "
            f"{TESTED:,} new ones. The estimate will stand here, beside the exact value."
        )
    jobs.panel(state)


def _figures(key: str, found: Compared) -> None:
    st.markdown(
        f"The classifier's **estimate** is {_said(found.estimate)}; the exact densities give "
        f"{_said(found.exact)}. Its AUC is {found.auc.estimate:.3f}, of at most "
        f"{found.auc_exact.estimate:.3f} that the log ratio itself has."
    )
    if found.estimate.high < found.exact.low / 2:
        st.markdown(
            "The classifier overlooks most of it: from draws alone an estimate near 0 is no "
            "evidence that q is right."
        )
    if found.exact.heavy:
        st.markdown(
            "The exact terms have a heavy tail: a few make the mean, and its interval says too "
            f"little. Their median is {size(found.exact.median)}, their largest "
            f"{size(found.exact.largest)} nats."
        )
    live.chart(_chart(key, found), key="learned")
    st.caption(
        "Both divergences have their 95% intervals. Term by term, each point is one of the same "
        "simulations: on the dotted line the classifier agrees with the densities, and what lies "
        "below it for large terms is what the classifier overlooks. If q were right, both means "
        "would be 0 within their intervals, and the points would lie about the middle."
    )


def _said(one: Divergence) -> str:
    lost = f", {one.infinite} terms that are not finite left out" if one.infinite else ""
    return f"{size(one.estimate)} nats (95% interval {size(one.low)} to {size(one.high)}{lost})"


@st.cache_resource(show_spinner=False, max_entries=16)
def _chart(key: str, _found: Compared) -> live.Payload:
    both = np.stack([_found.d_estimate, _found.d_exact])
    both = both[:, np.isfinite(both).all(0)].astype(float)
    return live.payload(sliders=[], panels=[_means(_found), _scatter(both)])


def _means(found: Compared) -> dict:
    two = (found.estimate, found.exact)
    axis = scale(np.array([[one.estimate, one.low, one.high] for one in two]))
    ends = np.array([end for one in two for end in (one.low, one.high, 0.0)])
    marks = [live.vline(0.0, color=NULL, width=1)]
    looks = ((0.7, "classifier's estimate", LEARNED), (0.3, "exact", SKL))
    for one, (height, label, color) in zip(two, looks, strict=True):
        low, mid, high = (axis.at(np.array([v])) for v in (one.low, one.estimate, one.high))
        marks += [
            live.line([low[0], high[0]], [height] * 2, color=color, width=3),
            live.points(mid, [height], color=color, size=11, symbol="diamond"),
            live.note(float(mid[0]), height + 0.1, label, color=color, anchor="middle"),
        ]
    return live.panel(
        marks, title="The divergence", height=270, y=live.axis((0, 1), hidden=True),
        x=_axis(axis, ends, "nats (symmetric-log axis)", 0.35),
        caption=f"Logits were multiplied by {found.slope:.2g} so that they are log ratios on "
        "rows other than their own.",
    )  # fmt: skip


def _scatter(both: Array) -> dict:
    axes = [scale(row[None]) for row in both]
    axis = max(axes, key=lambda one: one.unit)
    at = axis.at(both)
    ends = np.array([both.min(), both.max()])
    line = axis.at(ends)
    return live.panel(
        [
            live.line(line, line, color=NULL, dash="2 4", width=1.5),
            live.points(at[1], at[0], color=LEARNED, size=3.5, opacity=0.5),
        ],
        title="Term by term", square=True,
        x=_axis(axis, ends, "exact d in nats (symmetric-log)", 0.05),
        y=_axis(axis, ends, "estimated d in nats", 0.05),
    )  # fmt: skip


def _axis(axis: Scale, ends: Array, label: str, room: float) -> dict:
    low, high = min(float(ends.min()), 0.0), max(float(ends.max()), 0.0)
    nats = axis.ticks(low, high, 7)
    places = axis.at(np.array([low, high]))
    more = max(room * float(places[1] - places[0]), 0.1)
    limits = (float(places[0]) - more, float(places[1]) + more)
    return live.axis(limits, label, ticks=axis.at(nats), shown=[tick(float(v)) for v in nats])
