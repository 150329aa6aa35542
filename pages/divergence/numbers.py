"""The numbers behind the Symmetric divergence page: a table, and a file to take away."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from pages.ui import forms
from validation_core.symmetric_divergence import MS, Plan, Terms
from validation_core.symmetric_divergence.curves import rows


def numbers(plan: Plan, terms: Mapping[tuple[int, int], Terms]) -> None:
    """Table and download; nothing is made before it is opened."""
    opened = st.expander("The numbers", key="divergence-numbers", on_change="rerun")
    if not opened.open:
        return
    with opened:
        frame = pd.DataFrame(rows(plan, terms, MS))
        if frame.empty:
            st.caption("No run is there yet.")
            return
        _table(frame, plan)
        st.download_button(
            "CSV",
            frame.to_csv(index=False),
            "divergence.csv",
            "text/csv",
            key="download-divergence",
            icon=":material/download:",
            on_click="ignore",
        )


def _table(found: pd.DataFrame, plan: Plan) -> None:
    m = forms.choice(
        "Draws weighed, M",
        ["own", *MS],
        "table-m",
        words=lambda m: "As inferred" if m == "own" else f"{m}",
    )
    selection = found[found["m"] == (found["trained_m"] if m == "own" else m)]
    names = {
        "model_label": "Model",
        "inference_label": "Inference",
        "iterations": "Iterations",
        "skl": "SKL, nats",
        "ci_low": "95% from",
        "ci_high": "to",
        "median": "Median of d",
        "median_low": "median from",
        "median_high": "median to",
        "largest": "Largest d",
        "carried": "its share of SKL",
        "heavy": "Heavy tail",
        "failures": "Without q",
    }
    st.dataframe(
        selection[list(names)].rename(columns=names),
        hide_index=True,
        column_config={
            names[column]: st.column_config.NumberColumn(format="%.4g")
            for column in (
                "skl",
                "ci_low",
                "ci_high",
                "median",
                "median_low",
                "median_high",
                "largest",
                "carried",
            )
        },
    )
    st.caption(
        f"Over {plan.datasets} data sets; where one has no q, no mean is given, since the "
        "others are the easier ones. Where the largest d has more than half of SKL, that mean "
        "rests on one data set. A heavy tail (its shape is above one half) means that the "
        "variance of the terms may be infinite: then intervals are too narrow. Numbers below 0 "
        "are noise about a small divergence."
    )
