"""The numbers behind the curves: a table, files to take away, the command that makes them."""

import json

import pandas as pd
import streamlit as st

from pages.compare.controls import CompareChoice
from validation_core.cli.power_line import command_line
from validation_core.panels.power import by_network
from validation_core.sweep.progress import Progress, progress_rows

_SHOWN = {
    "label": "Test",
    "gamma": "gamma",
    "beta": "beta",
    "rejections": "Rejected",
    "trials": "Trials",
    "rate": "Power",
    "low": "95% from",
    "high": "to",
    "statistic": "Mean statistic",
}


def comparison_frame(progress: Progress) -> pd.DataFrame:
    """One row for each method and place; options as JSON, so that a CSV holds them."""
    records = progress_rows(progress)
    for row in records:
        row["options"] = json.dumps(row["options"], sort_keys=True)
    return pd.DataFrame(records)


def _table(progress: Progress) -> pd.DataFrame:
    """The columns shown; power by each network where there are several."""
    frame = comparison_frame(progress).rename(columns=_SHOWN)[list(_SHOWN.values())]
    if any(cell.networks for cell in progress.cells):
        networks = [by_network(cell) for cell in progress.cells]
        frame.insert(list(frame).index("Power") + 1, "By network", networks)
    return frame


def numbers(chosen: CompareChoice, progress: Progress) -> None:
    """Table, downloads, command line; nothing is made before it is opened."""
    opened = st.expander(
        "The numbers, and the command that makes them", key="compare-numbers", on_change="rerun"
    )
    if not opened.open:
        return
    with opened:
        st.dataframe(_table(progress), hide_index=True)
        cells, name = comparison_frame(progress), "comparison"
        with st.container(horizontal=True):
            _download("CSV", cells.to_csv(index=False), f"{name}.csv", "text/csv")
            _download(
                "Parquet",
                cells.to_parquet(index=False),
                f"{name}.parquet",
                "application/vnd.apache.parquet",
            )
            document = json.dumps({"cells": progress_rows(progress)}, indent=1)
            _download("JSON", document, f"{name}.json", "application/json")
        st.caption("The same trials on the command line, from the same store or on a cluster:")
        st.code(command_line(chosen.sweep, chosen.comparison), language="sh", wrap_lines=True)


def _download(label: str, data: str | bytes, name: str, kind: str) -> None:
    st.download_button(
        label,
        data,
        name,
        kind,
        key=f"download-{label}",
        icon=":material/download:",
        on_click="ignore",
    )
