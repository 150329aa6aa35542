"""The files of the store as a table, with rows to choose."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from validation_core.describe import describe
from validation_core.store import StoreEntry

_KINDS = {"models": "network", "results": "result", "tables": "uploaded table"}


def table(entries: Sequence[StoreEntry], key: str = "files") -> list[StoreEntry]:
    """Show a table of files; returns those that the user chose."""
    columns = {
        "Size": st.column_config.NumberColumn(format="bytes"),
        "Seconds": st.column_config.NumberColumn(format="%.1f"),
        "Held-out AUC": st.column_config.NumberColumn(format="%.3f"),
        "Last used": st.column_config.DatetimeColumn(format="distance"),
        "Specification": st.column_config.TextColumn(width="large"),
    }
    event = st.dataframe(
        pd.DataFrame([_row(entry) for entry in entries]),
        hide_index=True,
        column_config=columns,
        key=key,
        on_select="rerun",
        selection_mode="multi-row",
        placeholder="",
    )
    return [entries[row] for row in event.selection.rows if row < len(entries)]


def _row(entry: StoreEntry) -> dict[str, object]:
    spec = describe(entry.spec)
    return {
        "Name": str(entry.meta.get("label", spec)),
        "Kind": _KINDS[entry.kind],
        "Size": entry.bytes,
        "Device": entry.meta.get("device"),
        "Seconds": entry.meta.get("seconds"),
        "Held-out AUC": entry.meta.get("auc"),
        "Last used": pd.Timestamp(entry.used, unit="s", tz="UTC"),
        "Made with": _versions(entry),
        "Specification": spec,
    }


def _versions(entry: StoreEntry) -> str:
    """Versions of the libraries that made it, where they were noted."""
    noted = entry.meta.get("versions")
    return ", ".join(f"{k} {v}" for k, v in noted.items()) if isinstance(noted, dict) else ""
