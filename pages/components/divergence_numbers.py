"""The numbers behind the Symmetric divergence page: a table, and a file to take away."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from validation_core.simulations import MS, Plan, Terms, summary, tested
from validation_core.statistics.divergence import HEAVY, tail_shape


def frame(plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> pd.DataFrame:
    """A row for each run that is there and each M; raw numbers, below 0 too."""
    rows = []
    for (i, j), of in terms.items():
        model, inference = plan.models[i], plan.inferences[j]
        found = summary(of.d)
        for at in np.flatnonzero(of.done):
            for place, m in enumerate(MS):
                tail = tail_shape(np.abs(of.d[at, place]))
                rows.append(
                    {"model": model.label, "inference": inference.label,
                     "iterations": plan.iterations[at], "m": m, "datasets": plan.datasets,
                     "seed": plan.seed,
                     **{name: float(getattr(found, name)[at, place]) for name in found._fields},
                     "tail": tail, "heavy": bool(tail > HEAVY),
                     "failures": int(of.failures[at]), "seconds": float(of.seconds[at])}
                )  # fmt: skip
    return pd.DataFrame(rows)


def numbers(plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> None:
    """Table and download; nothing is made before it is opened."""
    opened = st.expander("The numbers", key="divergence-numbers", on_change="rerun")
    if not opened.open:
        return
    with opened:
        found = frame(plan, terms)
        if found.empty:
            st.caption("No run is there yet.")
            return
        _table(found, plan)
        st.download_button(
            "CSV", found.to_csv(index=False), "divergence.csv", "text/csv",
            key="download-divergence", icon=":material/download:", on_click="ignore",
        )  # fmt: skip


def _table(found: pd.DataFrame, plan: Plan) -> None:
    m = st.selectbox(
        "Draws weighed, M", ["own", *MS], key="table-m",
        format_func=lambda m: "As inferred" if m == "own" else f"{m}",
    )  # fmt: skip
    own = {inference.label: tested(inference) for inference in plan.inferences}
    wanted = found["inference"].map(own) if m == "own" else m
    shown = found[found["m"] == wanted]
    names = {
        "model": "Model", "inference": "Inference", "iterations": "Iterations",
        "mean": "SKL, nats", "low": "95% from", "high": "to", "median": "Median",
        "largest": "Largest", "heavy": "Heavy tail", "failures": "Without q",
    }  # fmt: skip
    st.dataframe(
        shown[list(names)].rename(columns=names), hide_index=True,
        column_config={
            names[one]: st.column_config.NumberColumn(format="%.4g")
            for one in ("mean", "low", "high", "median", "largest")
        },
    )  # fmt: skip
    st.caption(
        f"Over {plan.datasets} data sets; one without q leaves no mean of the others, which are "
        "the easier ones. A heavy tail (its shape is above one half) means that the variance of "
        "the terms may be infinite: then intervals say too little. Numbers below 0 are noise "
        "about a small divergence."
    )
